"""Ranks and tests of significance: by hand, invariances, as SciPy has it, and at the level that is promised."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from pandas.testing import assert_frame_equal, assert_series_equal
from scipy import stats

from fuselearn.lab.statistics import (
    aligned_posthoc,
    aligned_ranks,
    aligned_test,
    average_ranks,
    check_scores,
    finner,
    friedman_posthoc,
    friedman_test,
    resampled_t_test,
    wilcoxon_test,
    win_tie_loss,
)

whole_tables = st.tuples(st.integers(2, 7), st.integers(3, 6)).flatmap(
    lambda shape: arrays(np.int64, shape, elements=st.integers(0, 20))
)
probabilities = arrays(np.float64, st.integers(1, 12), elements=st.floats(0, 1))
STEPS = [[0.9, 0.8, 0.7, 0.6], [0.6, 0.5, 0.4, 0.3], [0.4, 0.3, 0.2, 0.1], [0.8, 0.7, 0.6, 0.5]]


def scores_from_ranks(ranks):
    return -np.asarray(ranks, dtype=float)


def test_friedman_by_hand():
    # Mean ranks 1.25, 2 and 2.75: 12 * 4 / (3 * 4) * (13.125 - 3 * 16 / 4) = 4.5.
    test = friedman_test(scores_from_ranks([[1, 2, 3], [1, 3, 2], [2, 1, 3], [1, 2, 3]]))
    assert test.statistic == pytest.approx(4.5)
    assert test.p_value == pytest.approx(math.exp(-4.5 / 2))


def test_friedman_posthoc_by_hand():
    # The error is sqrt(3 * 4 / (6 * 4)) = sqrt(1 / 2).
    ranks = [[1, 2, 3], [1, 3, 2], [2, 1, 3], [1, 2, 3]]
    result = friedman_posthoc(scores_from_ranks(ranks))
    pairs = result.pairs
    assert pairs[["method", "versus"]].to_numpy().tolist() == [[0, 1], [0, 2], [1, 2]]
    assert result.mean_ranks.to_list() == [1.25, 2, 2.75]
    assert_allclose(pairs["z"], np.array([0.75, 1.5, 0.75]) * math.sqrt(2))
    assert_allclose(pairs["p_value"], [0.288844, 0.033895, 0.288844], atol=1e-6)
    assert_allclose(pairs["p_corrected"], finner(pairs["p_value"]))


def test_aligned_test_by_hand():
    # The ranks are [1, 3, 6] and [3, 3, 5]: columns sum to 4, 6, 11 and rows to 10, 11.
    # 2 * (173 - 147) / (91 - 221 / 3) = 52 / (52 / 3) = 3.
    test = aligned_test([[10, 7, 1], [5, 5, 2]])
    assert test.statistic == pytest.approx(3.0)
    assert test.p_value == pytest.approx(math.exp(-1.5))


def test_aligned_posthoc_by_hand():
    # The error is sqrt(3 * 7 / 6) = sqrt(3.5).
    result = aligned_posthoc([[10, 7, 1], [5, 5, 2]], control=2)
    assert result.mean_ranks.to_list() == [2, 3, 5.5]
    assert result.pairs[["method", "versus"]].to_numpy().tolist() == [[2, 0], [2, 1]]
    assert_allclose(result.pairs["z"], np.array([3.5, 2.5]) / math.sqrt(3.5))
    assert_allclose(result.pairs["p_value"], [0.061369, 0.181449], atol=1e-6)


def test_finner_by_hand():
    # 1 - 0.99 ** 3, 1 - 0.97 ** 1.5, and 1 - 0.96 ** 1 = 0.04, lifted to the value before it.
    corrected = finner([0.04, 0.01, 0.03])
    assert_allclose(corrected, [0.0446613, 0.029701, 0.0446613], atol=1e-6)


def test_the_aligned_posthoc_test_is_liberal_and_the_plain_one_is_not():
    rng = np.random.default_rng(0)
    alarms = np.zeros(2)
    for _ in range(200):
        scores = rng.normal(size=(20, 2))
        alarms += [test(scores).p_corrected(0, 1) < 0.05 for test in (aligned_posthoc, friedman_posthoc)]
    assert alarms[0] / 200 == pytest.approx(1 / 7, abs=0.05)
    assert alarms[1] / 200 <= 0.07


@given(whole_tables)
@settings(max_examples=25)
def test_monotone_transformations_leave_friedman_unchanged(scores):
    transformed = np.exp(scores / 7.0) - 3
    assert friedman_test(scores).statistic == friedman_test(transformed).statistic
    assert_frame_equal(friedman_posthoc(scores).pairs, friedman_posthoc(transformed).pairs)


@given(whole_tables, st.data())
@settings(max_examples=25)
def test_a_constant_per_dataset_leaves_the_aligned_tests_unchanged(scores, data):
    shift = data.draw(arrays(np.int64, (len(scores), 1), elements=st.integers(-50, 50)))
    before, after = scores / 100, scores / 100 + shift / 10
    assert aligned_test(before).statistic == aligned_test(after).statistic
    assert_frame_equal(aligned_posthoc(before).pairs, aligned_posthoc(after).pairs)


def test_a_large_difference_moves_aligned_ranks_but_not_plain_ones():
    near = np.array([[0.51, 0.50, 0.49], [0.52, 0.50, 0.48], [0.40, 0.50, 0.60]])
    far = near.copy()
    far[0] = [0.9, 0.5, 0.1]
    assert friedman_test(near).statistic == friedman_test(far).statistic
    assert aligned_test(near).statistic != aligned_test(far).statistic


@given(st.integers(2, 5), st.integers(3, 5))
@settings(max_examples=25)
def test_methods_that_always_tie_do_not_differ(n, k):
    scores = np.full((n, k), 0.3)
    for test in (friedman_test(scores), aligned_test(scores)):
        assert (test.statistic, test.p_value) == (0.0, 1.0)
    assert friedman_posthoc(scores).pairs["p_corrected"].eq(1).all()


@given(probabilities)
@settings(max_examples=25)
def test_finner_raises_p_values_and_keeps_their_order(p):
    corrected = finner(p)
    assert (corrected >= p * (1 - 1e-12)).all()
    assert (corrected <= 1).all()
    assert (np.diff(corrected[np.argsort(p)]) >= 0).all()


@given(probabilities, st.randoms(use_true_random=False))
@settings(max_examples=25)
def test_finner_does_not_depend_on_the_order(p, random):
    order = list(range(len(p)))
    random.shuffle(order)
    assert_allclose(finner(p[order]), finner(p)[order])


def test_finner_leaves_one_p_value_alone_and_keeps_tiny_ones():
    assert finner([0.3]) == pytest.approx(0.3)
    assert finner([1e-30, 0.5])[0] == pytest.approx(2e-30)
    assert finner([]).shape == (0,)


def test_digits_decide_what_ties():
    scores = np.array([[0.50001, 0.5, 0.1], [0.50001, 0.5, 0.1]])
    assert friedman_posthoc(scores, digits=4).mean_ranks.to_list() == [1.5, 1.5, 3]
    assert aligned_posthoc(scores, digits=4).mean_ranks.to_list() == [2.5, 2.5, 5.5]
    assert friedman_posthoc(scores, digits=4).p_corrected(0, 1) == 1
    assert aligned_posthoc(scores, digits=4).p_corrected(0, 1) == 1


@pytest.mark.parametrize("test", [friedman_test, friedman_posthoc, aligned_test, aligned_posthoc])
def test_every_test_names_the_missing_score(test):
    scores = pd.DataFrame(
        [[0.9, 0.8, 0.7], [0.6, np.nan, 0.4]],
        index=["iris", "wine"],
        columns=["KFHE", "Bagging", "CART"],
    )
    with pytest.raises(ValueError, match="method 'Bagging' on dataset 'wine' has nan"):
        test(scores)


def test_ten_folds_cannot_be_more_certain_than_two_in_1024():
    test = wilcoxon_test(np.arange(1, 11) / 10, np.zeros(10))
    assert test.p_value == pytest.approx(2 / 1024)


def test_wilcoxon_by_hand():
    # Only {}, {1} and {2} of the 16 sets of ranks sum to 2 or less.
    test = wilcoxon_test([1, 0, 3, 4], [0, 2, 0, 0])
    assert (test.statistic, test.p_value) == (2, 0.375)


def test_wilcoxon_with_ties_and_zeros_by_hand():
    # Ranks 1.5, 1.5, 3 (negative), 4: mean 5, variance 7.5 - 6 / 48; z = (5 - 3 - 0.5) / sd.
    test = wilcoxon_test([1, 1, 0, 3, 7], [0, 0, 2, 0, 7])
    assert test.statistic == 3
    z = 1.5 / math.sqrt(7.375)
    assert test.p_value == pytest.approx(math.erfc(z / math.sqrt(2)))


def test_fold_differences_tie_in_spite_of_rounding():
    scores, versus = [0.9, 0.8, 0.3, 0.1 + 0.2], [0.8, 0.7, 0.2, 0.3]
    # Three equal differences and a zero: ranks 2, 2 and 2 have mean 3 and variance 3.5 - 24 / 48.
    z = (3 - 0 - 0.5) / math.sqrt(3.5 - 0.5)
    assert wilcoxon_test(scores, versus).p_value == pytest.approx(math.erfc(z / math.sqrt(2)))


def test_equal_folds_do_not_differ():
    assert wilcoxon_test([0.5, 0.6], [0.5, 0.6]) == (0, 1)


def test_fifty_differences_are_approximated():
    difference = np.arange(1, 51) * np.where(np.arange(50) % 3, 1, -1)
    for n, method in ((49, "exact"), (50, "approx")):
        expected = stats.wilcoxon(difference[:n], correction=True, method=method).pvalue
        assert wilcoxon_test(difference[:n], np.zeros(n)).p_value == pytest.approx(expected, rel=1e-12)


@given(arrays(np.int64, (8, 2), elements=st.integers(0, 9)))
def test_wilcoxon_is_symmetric(folds):
    there, back = wilcoxon_test(*folds.T), wilcoxon_test(*folds.T[::-1])
    assert there == back


def test_the_resampled_t_test_by_hand():
    # Differences 1, 2, 3, 6: mean 3, variance 14 / 3; t = 3 / sqrt((1 / 4 + 1 / 3) * 14 / 3).
    test = resampled_t_test([1, 3, 3, 7], [0, 1, 0, 1], n_splits=4)
    assert test.statistic == pytest.approx(3 / math.sqrt(7 / 12 * 14 / 3))
    assert test.p_value == pytest.approx(2 * stats.t.sf(test.statistic, 3))


def test_the_correction_fades_as_test_folds_get_small():
    first, second = np.random.default_rng(0).normal(size=(2, 12))
    assert resampled_t_test(first, second, n_splits=10**9).p_value == pytest.approx(
        stats.ttest_rel(first, second).pvalue
    )


def test_more_repeats_of_the_same_folds_give_little():
    first, second = np.array([0.8, 0.9, 0.85, 0.8]), np.array([0.7, 0.8, 0.8, 0.75])
    once, often = (resampled_t_test(np.tile(first, n), np.tile(second, n), n_splits=4) for n in (1, 100))
    # Without the summand 1 / 3 it would be sqrt(399 / 3) = 11.5 times as large.
    growth = math.sqrt((1 / 4 + 1 / 3) * 4 / 3 / ((1 / 400 + 1 / 3) * 400 / 399))
    assert often.statistic / once.statistic == pytest.approx(growth)
    assert growth < 1.6


@given(arrays(np.int64, (8, 2), elements=st.integers(0, 9)))
def test_the_resampled_t_test_is_symmetric(folds):
    there, back = resampled_t_test(*folds.T, n_splits=4), resampled_t_test(*folds.T[::-1], n_splits=4)
    assert there.p_value == back.p_value
    assert there.statistic == -back.statistic
    assert 0 < there.p_value <= 1


def test_a_constant_difference_is_as_certain_as_its_signs():
    test = resampled_t_test([0.9, 0.8, 0.7, 0.6, 0.5], [0.8, 0.7, 0.6, 0.5, 0.4], n_splits=5)
    assert test.p_value == 2 / 2**5
    assert test.statistic == math.inf
    equal = resampled_t_test([0.5, 0.6], [0.5, 0.6], n_splits=2)
    assert (equal.statistic, equal.p_value) == (0, 1)


def test_folds_that_share_training_samples_keep_the_level():
    """Three repeats of five folds: differences of the same data have a correlation of 1 / 5."""
    rng = np.random.default_rng(0)
    shared, own = math.sqrt(0.2) * rng.normal(size=(1000, 1)), math.sqrt(0.8) * rng.normal(size=(1000, 15))
    none = np.zeros(15)
    tables = shared + own
    corrected = np.mean([resampled_t_test(scores, none, n_splits=5).p_value < 0.05 for scores in tables])
    naive = np.mean([stats.ttest_1samp(scores, 0).pvalue < 0.05 for scores in tables])
    assert corrected == pytest.approx(0.05, abs=0.02)
    assert naive > 0.3


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: friedman_test([[1, 2], [2, 1]]), r"at least 2 datasets .* 3 methods .* 2 and 2"),
        (lambda: aligned_test([[1, 2, 3]]), r"at least 2 datasets .* got 1 and 3"),
        (
            lambda: aligned_posthoc(STEPS, control="Stacking"),
            r"control must be one of the methods \[0, 1, 2, 3\]; got 'Stacking'",
        ),
        (lambda: finner([0.1, 1.2]), "p_values must be between 0 and 1; number 1 is 1.2"),
        (lambda: finner([np.nan]), "p_values must be between 0 and 1; number 0 is nan"),
        (lambda: finner([[0.1]]), "p_values must have one dimension"),
        (
            lambda: friedman_posthoc([[1, 2, 3], [2, 1, 3]], control=0).p_corrected(1, 2),
            "method 1 and versus 2 were not compared",
        ),
        (lambda: wilcoxon_test([1, 2], [1, 2, 3]), "one number per fold; got the shapes"),
        (lambda: wilcoxon_test([1, 2], [1, np.nan]), "versus must be finite .* fold 1 has nan"),
        (lambda: resampled_t_test([1, 2], [1, 2, 3], n_splits=2), "one number per fold; got the shapes"),
        (lambda: resampled_t_test([1], [2], n_splits=2), "at least two folds; got one"),
        (lambda: resampled_t_test([1, 2], [2, 2], n_splits=1), "n_splits must be at least 2; got 1"),
    ],
)
def test_wrong_input_gets_a_sentence(call, message):
    with pytest.raises(ValueError, match=message):
        call()


all_tables = st.tuples(st.integers(1, 7), st.integers(1, 6)).flatmap(
    lambda shape: arrays(np.int64, shape, elements=st.integers(0, 20))
)


def named(values):
    values = np.asarray(values)
    return pd.DataFrame(
        values,
        index=[f"data{i}" for i in range(values.shape[0])],
        columns=[f"method{j}" for j in range(values.shape[1])],
    )


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, None])
def test_scores_that_are_not_finite_are_refused_by_name(value):
    scores = named(np.full((3, 2), 0.5)).astype(object)
    scores.loc["data1", "method0"] = value
    with pytest.raises(ValueError, match=r"method 'method0' on dataset 'data1' has (nan|-?inf)"):
        check_scores(scores)


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ([0.1, 0.2], r"two dimensions, datasets by methods; got an array of shape \(2,\)"),
        (np.zeros((0, 3)), "at least 1 datasets .* got 0 and 3"),
        ([["a", "b"]], "scores must be finite numbers"),
        (pd.DataFrame([[1, 2]], columns=["A", "A"]), "every method once; 'A' is repeated"),
        (pd.DataFrame([[1], [2]], index=["x", "x"]), "every dataset once; 'x' is repeated"),
    ],
)
def test_tables_that_cannot_be_ranked_are_refused(scores, message):
    with pytest.raises(ValueError, match=message):
        check_scores(scores)


def test_aligned_ranks_by_hand():
    # Means 6 and 4 leave [4, 1, -5] and [1, 1, -2]; the three ones share ranks 2, 3 and 4.
    ranks = aligned_ranks(named([[10, 7, 1], [5, 5, 2]]))
    assert_frame_equal(ranks, named([[1.0, 3.0, 6.0], [3.0, 3.0, 5.0]]))


def test_aligned_scores_tie_in_spite_of_rounding():
    scores = [[0.9, 0.8], [0.8, 0.7], [0.3, 0.2]]
    assert 0.9 - 0.8 != 0.8 - 0.7
    assert aligned_ranks(scores).to_numpy().tolist() == [[2, 5]] * 3
    assert aligned_ranks(scores, tie_tolerance=0).to_numpy().tolist() != [[2, 5]] * 3


def test_a_negative_tie_tolerance_is_refused():
    with pytest.raises(ValueError, match="tie_tolerance must be at least 0"):
        aligned_ranks([[1, 2]], tie_tolerance=-1)


@given(all_tables, st.data())
def test_a_constant_per_dataset_leaves_aligned_ranks_unchanged(scores, data):
    shift = data.draw(arrays(np.int64, (len(scores), 1), elements=st.integers(-50, 50)))
    assert_frame_equal(aligned_ranks(scores / 100), aligned_ranks(scores / 100 + shift / 10))


@given(all_tables, st.randoms(use_true_random=False))
def test_the_order_of_the_columns_does_not_matter(scores, random):
    columns = list(range(scores.shape[1]))
    random.shuffle(columns)
    shuffled = aligned_ranks(scores[:, columns] / 100).to_numpy()
    assert_array_equal(shuffled, aligned_ranks(scores / 100).to_numpy()[:, columns])


@given(all_tables)
def test_aligned_ranks_have_the_sum_of_all_ranks(scores):
    n = scores.size
    assert_allclose(aligned_ranks(scores).to_numpy().sum(), n * (n + 1) / 2)


def test_average_ranks_by_hand():
    ranks = average_ranks(named([[0.3, 0.9, 0.3, 0.1], [0.5, 0.5, 0.5, 0.5]]))
    assert ranks.to_dict() == {"method0": 2.5, "method1": 1.75, "method2": 2.5, "method3": 3.25}


def test_rounding_makes_scores_tie_that_print_alike():
    scores = [[0.99996, 1.0, 0.5]]
    assert average_ranks(scores).to_list() == [2, 1, 3]
    assert average_ranks(scores, digits=4).to_list() == [1.5, 1.5, 3]


def test_list_array_and_frame_agree():
    scores = [[0.3, 0.9], [0.2, 0.1]]
    assert_series_equal(average_ranks(scores), average_ranks(np.array(scores)))
    assert_series_equal(average_ranks(scores), average_ranks(pd.DataFrame(scores)))


@given(all_tables)
def test_a_rank_is_one_plus_the_better_plus_half_the_equal(scores):
    better = (scores[:, None, :] > scores[:, :, None]).sum(axis=2)
    equal = (scores[:, None, :] == scores[:, :, None]).sum(axis=2) - 1
    assert_allclose(average_ranks(scores), (1 + better + equal / 2).mean(axis=0))


@given(all_tables)
def test_monotone_transformations_leave_ranks_unchanged(scores):
    assert_series_equal(average_ranks(scores), average_ranks(np.exp(scores / 7.0) - 3))


def test_wins_ties_and_losses_by_hand():
    counts = win_tie_loss(named([[0.9, 0.8], [0.5, 0.5], [0.1, 0.2], [0.4, 0.3]]))
    assert counts.loc[("method0", "method1")].to_dict() == {"wins": 2, "ties": 1, "losses": 1}
    assert counts.loc[("method1", "method0")].to_list() == [1, 1, 2]
    assert len(counts) == 2


def test_wins_follow_the_digits():
    scores = [[0.12341, 0.12344]]
    assert win_tie_loss(scores).loc[(0, 1)].to_list() == [0, 0, 1]
    assert win_tie_loss(scores, digits=4).loc[(0, 1)].to_list() == [0, 1, 0]


@given(all_tables)
def test_every_dataset_is_won_tied_or_lost(scores):
    assert (win_tie_loss(scores).sum(axis=1) == len(scores)).all()
