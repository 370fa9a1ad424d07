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
    aligned_ranks,
    average_ranks,
    bootstrap_ranks,
    mid_ranks,
    score_table,
    win_tie_loss,
)
from fuselearn.lab.statistics.ranks import check_scores

TIDY = pd.DataFrame(
    {
        "dataset": ["wine"] * 4 + ["iris"] * 4,
        "noise": [0.0, 0.0, 0.2, 0.2] * 2,
        "method": ["kfhe", "cart"] * 4,
        "score": [0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2],
    }
)


whole_tables = st.tuples(st.integers(1, 7), st.integers(1, 6)).flatmap(
    lambda shape: arrays(np.int64, shape, elements=st.integers(0, 20))
)


def named(values):
    values = np.asarray(values)
    return pd.DataFrame(
        values,
        index=[f"data{i}" for i in range(values.shape[0])],
        columns=[f"method{j}" for j in range(values.shape[1])],
    )


def test_score_table_chooses_a_level_and_keeps_the_order_of_appearance():
    table = score_table(TIDY, noise=0.2)
    assert list(table.index) == ["wine", "iris"]
    assert list(table.columns) == ["kfhe", "cart"]
    assert table.to_numpy().tolist() == [[0.7, 0.6], [0.3, 0.2]]


def test_score_table_leaves_a_missing_pair_empty_and_ranking_names_it():
    with pytest.raises(ValueError, match="method 'cart' on dataset 'iris' has nan"):
        mid_ranks(score_table(TIDY.drop(index=7), noise=0.2))


@pytest.mark.parametrize(
    ("results", "noise", "message"),
    [
        (TIDY, None, "one row per dataset, method; .* for dataset 'wine', method 'kfhe'"),
        (TIDY, 0.3, r"noise must be one of \[0.0, 0.2\]; got 0.3"),
        (TIDY.drop(columns="method"), None, "columns dataset, method, score; method not found"),
        (TIDY.iloc[:0], None, "results must have at least one row"),
    ],
)
def test_score_table_refuses_what_is_no_table(results, noise, message):
    with pytest.raises(ValueError, match=message):
        score_table(results, noise=noise)


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


def test_mid_ranks_by_hand():
    ranks = mid_ranks(named([[0.3, 0.9, 0.3, 0.1], [0.5, 0.5, 0.5, 0.5]]))
    assert_frame_equal(ranks, named([[2.5, 1.0, 2.5, 4.0], [2.5, 2.5, 2.5, 2.5]]))


def test_low_scores_can_be_best():
    assert mid_ranks([[0.3, 0.9, 0.1]], higher_is_better=False).to_numpy().tolist() == [[2, 3, 1]]


def test_rounding_makes_scores_tie_that_print_alike():
    scores = [[0.99996, 1.0, 0.5]]
    assert mid_ranks(scores).to_numpy().tolist() == [[2, 1, 3]]
    assert mid_ranks(scores, digits=4).to_numpy().tolist() == [[1.5, 1.5, 3]]


def test_list_array_and_frame_agree():
    scores = [[0.3, 0.9], [0.2, 0.1]]
    assert_frame_equal(mid_ranks(scores), mid_ranks(np.array(scores)))
    assert_frame_equal(mid_ranks(scores), mid_ranks(pd.DataFrame(scores)))


@given(whole_tables)
def test_mid_ranks_of_a_dataset_always_have_the_same_sum(scores):
    k = scores.shape[1]
    assert_allclose(mid_ranks(scores).sum(axis=1), k * (k + 1) / 2)


@given(whole_tables)
def test_a_rank_is_one_plus_the_better_plus_half_the_equal(scores):
    better = (scores[:, None, :] > scores[:, :, None]).sum(axis=2)
    equal = (scores[:, None, :] == scores[:, :, None]).sum(axis=2) - 1
    assert_allclose(mid_ranks(scores), 1 + better + equal / 2)


@given(whole_tables)
def test_monotone_transformations_leave_mid_ranks_unchanged(scores):
    assert_frame_equal(mid_ranks(scores), mid_ranks(np.exp(scores / 7.0) - 3))


@given(whole_tables)
def test_errors_rank_like_negative_scores(scores):
    assert_frame_equal(mid_ranks(-scores), mid_ranks(scores, higher_is_better=False))
    assert_frame_equal(aligned_ranks(-scores), aligned_ranks(scores, higher_is_better=False))


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


@given(whole_tables, st.data())
def test_a_constant_per_dataset_leaves_aligned_ranks_unchanged(scores, data):
    shift = data.draw(arrays(np.int64, (len(scores), 1), elements=st.integers(-50, 50)))
    assert_frame_equal(aligned_ranks(scores / 100), aligned_ranks(scores / 100 + shift / 10))


@given(whole_tables, st.randoms(use_true_random=False))
def test_the_order_of_the_columns_does_not_matter(scores, random):
    columns = list(range(scores.shape[1]))
    random.shuffle(columns)
    shuffled = aligned_ranks(scores[:, columns] / 100).to_numpy()
    assert_array_equal(shuffled, aligned_ranks(scores / 100).to_numpy()[:, columns])


@given(whole_tables)
def test_aligned_ranks_have_the_sum_of_all_ranks(scores):
    n = scores.size
    assert_allclose(aligned_ranks(scores).to_numpy().sum(), n * (n + 1) / 2)


def test_bootstrap_agrees_with_scipy():
    scores = np.random.default_rng(0).normal(size=(12, 3))
    ours = bootstrap_ranks(scores, confidence=0.9, n_resamples=20_000)
    theirs = stats.bootstrap(
        (mid_ranks(scores).to_numpy(),), np.mean, n_resamples=20_000, confidence_level=0.9, method="percentile"
    ).confidence_interval
    assert_allclose(ours["low"], theirs.low, atol=0.05)
    assert_allclose(ours["high"], theirs.high, atol=0.05)
    assert_series_equal(ours["mean"], average_ranks(scores), check_names=False)


def test_bootstrap_quantiles_by_hand():
    # Of two datasets, both, none or one is drawn twice: means 1, 2 and 1.5 with chances 1/4, 1/4
    # and 1/2. The middle 40 % therefore lie at 1.5, the middle 90 % reach from 1 to 2.
    scores = [[1, 0], [0, 1]]
    narrow = bootstrap_ranks(scores, confidence=0.4)
    wide = bootstrap_ranks(scores, confidence=0.9)
    assert (narrow.low[0], narrow.high[0]) == (1.5, 1.5)
    assert (wide.low[0], wide.high[0]) == (1.0, 2.0)


def test_bootstrap_repeats_with_the_seed_and_only_with_it():
    scores = np.random.default_rng(0).normal(size=(12, 3))
    first, again, other = (bootstrap_ranks(scores, random_state=seed, n_resamples=50) for seed in (1, 1, 2))
    assert_frame_equal(first, again)
    assert not first["low"].equals(other["low"])


@settings(max_examples=25)
@given(whole_tables)
def test_bootstrap_intervals_hold_ranks(scores):
    intervals = bootstrap_ranks(scores, n_resamples=200)
    assert (intervals.low >= 1).all()
    assert (intervals.low <= intervals.high).all()
    assert (intervals.high <= scores.shape[1]).all()


def test_one_dataset_leaves_no_doubt():
    intervals = bootstrap_ranks([[0.9, 0.8, 0.7]])
    assert intervals.low.to_list() == intervals.high.to_list() == [1, 2, 3]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"confidence": 95}, "confidence must be between 0 and 1, both excluded; got 95"),
        ({"n_resamples": 0}, "n_resamples must be at least 1; got 0"),
    ],
)
def test_bootstrap_refuses_wrong_options(options, message):
    with pytest.raises(ValueError, match=message):
        bootstrap_ranks([[1, 2]], **options)


def test_wins_ties_and_losses_by_hand():
    counts = win_tie_loss(named([[0.9, 0.8], [0.5, 0.5], [0.1, 0.2], [0.4, 0.3]]))
    assert counts.between("method0", "method1") == (2, 1, 1)
    assert counts.between("method1", "method0") == (1, 1, 2)
    assert counts.losses.loc["method0", "method1"] == 1
    assert counts.ties.loc["method0", "method0"] == 0


def test_wins_follow_the_direction_and_the_digits():
    scores = [[0.12341, 0.12344]]
    assert win_tie_loss(scores).between(0, 1) == (0, 0, 1)
    assert win_tie_loss(scores, higher_is_better=False).between(0, 1) == (1, 0, 0)
    assert win_tie_loss(scores, digits=4).between(0, 1) == (0, 1, 0)


@given(whole_tables)
def test_every_dataset_is_won_tied_or_lost(scores):
    counts = win_tie_loss(scores)
    total = (counts.wins + counts.ties + counts.losses).to_numpy()
    off_diagonal = ~np.eye(scores.shape[1], dtype=bool)
    assert (total[off_diagonal] == len(scores)).all()
