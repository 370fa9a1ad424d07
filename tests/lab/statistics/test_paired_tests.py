"""Two methods over the same folds: by hand, as SciPy has it, and at the level that is promised."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from fuselearn.lab.statistics.paired_tests import resampled_t_test, wilcoxon_test


def test_ten_folds_cannot_be_more_certain_than_two_in_1024():
    test = wilcoxon_test(np.arange(1, 11) / 10, np.zeros(10))
    assert test.p_value == pytest.approx(2 / 1024)
    assert test.exact
    assert test.mean_difference == pytest.approx(0.55)


def test_wilcoxon_by_hand():
    # Only {}, {1} and {2} of the 16 sets of ranks sum to 2 or less.
    test = wilcoxon_test([1, 0, 3, 4], [0, 2, 0, 0])
    assert (test.statistic, test.p_value, test.n_used) == (2, 0.375, 4)


def test_wilcoxon_with_ties_and_zeros_by_hand():
    # Ranks 1.5, 1.5, 3 (negative), 4: mean 5, variance 7.5 - 6 / 48; z = (5 - 3 - 0.5) / sd.
    test = wilcoxon_test([1, 1, 0, 3, 7], [0, 0, 2, 0, 7])
    assert (test.statistic, test.n_used, test.exact) == (3, 4, False)
    z = 1.5 / math.sqrt(7.375)
    assert test.p_value == pytest.approx(math.erfc(z / math.sqrt(2)))


def test_fold_differences_tie_in_spite_of_rounding():
    test = wilcoxon_test([0.9, 0.8, 0.3, 0.1 + 0.2], [0.8, 0.7, 0.2, 0.3])
    assert test.n_used == 3
    assert not test.exact


def test_equal_folds_do_not_differ():
    test = wilcoxon_test([0.5, 0.6], [0.5, 0.6])
    assert (test.p_value, test.n_used, test.mean_difference) == (1, 0, 0)


def test_many_folds_are_approximated():
    difference = np.arange(1, 51) * np.where(np.arange(50) % 3, 1, -1)
    assert not wilcoxon_test(difference, np.zeros(50)).exact
    assert wilcoxon_test(difference[:49], np.zeros(49)).exact


@given(arrays(np.int64, (8, 2), elements=st.integers(0, 9)))
def test_wilcoxon_is_symmetric(folds):
    there, back = wilcoxon_test(*folds.T), wilcoxon_test(*folds.T[::-1])
    assert there.p_value == back.p_value
    assert there.mean_difference == -back.mean_difference
    flipped = wilcoxon_test(*folds.T, higher_is_better=False)
    assert flipped.mean_difference == back.mean_difference
    assert flipped.p_value == there.p_value


# The corrected resampled t-test


def test_the_resampled_t_test_by_hand():
    # Differences 1, 2, 3, 6: mean 3, variance 14 / 3; t = 3 / sqrt((1 / 4 + 1 / 3) * 14 / 3).
    test = resampled_t_test([1, 3, 3, 7], [0, 1, 0, 1], n_splits=4)
    assert test.mean_difference == 3
    assert test.degrees_of_freedom == 3
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
    assert there.mean_difference == -back.mean_difference
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
