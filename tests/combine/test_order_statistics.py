"""Medians and trimmed means by a selection network, against NumPy and SciPy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import trim_mean

from fuselearn.combine.order_statistics import _sorting_network, mean_of_middle, weighted_median


@given(st.integers(0, 2**32 - 1), st.integers(1, 40), st.integers(0, 131), st.booleans())
def test_the_median(seed, n_members, n_cells, with_ties):
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 4, (n_members, n_cells)) / 4 if with_ties else rng.normal(size=(n_members, n_cells))
    found = mean_of_middle(values, (n_members - 1) // 2)
    np.testing.assert_array_equal(found, np.median(values, axis=0))


@given(st.integers(0, 2**32 - 1), st.integers(1, 30), st.floats(0, 0.49))
def test_the_trimmed_mean(seed, n_members, share):
    values = np.random.default_rng(seed).normal(size=(n_members, 70))
    n_cut = int(share * n_members)
    np.testing.assert_allclose(mean_of_middle(values, n_cut), trim_mean(values, share, axis=0), atol=1e-14)


@pytest.mark.parametrize("n_members", range(1, 12))
def test_the_network_sorts_all_zeros_and_ones(n_members):
    """A network that sorts all rows of 0 and 1 sorts everything."""
    rows = (np.arange(2**n_members)[:, None] >> np.arange(n_members)) & 1
    for low, high in _sorting_network(n_members):
        assert 0 <= low < high < n_members
        rows[:, [low, high]] = np.sort(rows[:, [low, high]], axis=1)
    assert (np.diff(rows, axis=1) >= 0).all()


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_hundred_members_of_either_precision(kind):
    values = np.random.default_rng(0).normal(size=(100, 50)).astype(kind)
    np.testing.assert_allclose(mean_of_middle(values, 49), np.median(values.astype(np.float64), axis=0), rtol=1e-12)


def test_gaps_stay_gaps():
    values = np.arange(15.0).reshape(5, 3)
    values[3, 1] = np.nan
    np.testing.assert_array_equal(mean_of_middle(values, 2), [6, np.nan, 8])


def test_the_values_stay_as_they_are():
    values = np.random.default_rng(0).normal(size=(5, 7))
    before = values.copy()
    mean_of_middle(values, 2)
    weighted_median(values, np.ones(5))
    np.testing.assert_array_equal(values, before)


class TestWeightedMedian:
    def test_half_of_the_weight_by_hand(self):
        values = np.array([[1.0, 3.0], [2.0, 2.0], [9.0, 1.0]])
        assert weighted_median(values, np.array([1.0, 1.0, 3.0])).tolist() == [9.0, 1.0]
        assert weighted_median(values, np.array([3.0, 1.0, 1.0])).tolist() == [1.0, 3.0]
        # Exactly half of the weight lies at 9 or at 1, so the next value counts as well.
        assert weighted_median(values, np.array([1.0, 1.0, 2.0])).tolist() == [5.5, 1.5]

    def test_half_is_half_in_spite_of_rounding(self):
        assert 0.1 + 0.2 != 0.3
        assert weighted_median(np.array([[1.0], [2.0], [4.0]]), np.array([0.1, 0.2, 0.3])).tolist() == [3.0]

    def test_members_without_weight_do_not_count(self):
        values = np.array([[5.0], [1.0], [2.0], [3.0], [4.0]])
        assert weighted_median(values, np.array([0.0, 1.0, 0.0, 0.0, 1.0])).tolist() == [2.5]

    @given(st.integers(0, 2**32 - 1), st.integers(1, 9))
    def test_whole_weights_are_copies(self, seed, n_members):
        rng = np.random.default_rng(seed)
        values = rng.integers(0, 5, (n_members, 20)).astype(float)
        weights = rng.integers(0, 4, n_members)
        weights[0] += not weights.any()
        expected = np.median(np.repeat(values, weights, axis=0), axis=0)
        np.testing.assert_array_equal(weighted_median(values, weights.astype(float)), expected)
