"""Looking up many numbers at once gives what a binary search gives."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuselearn.engines.tree.lookup import count_not_above

numbers = st.floats(allow_nan=False, allow_infinity=False)


def check(looked_up, ascending, lookup=count_not_above):
    counts = np.full(len(looked_up), -7, dtype=np.int32)
    lookup(looked_up, ascending, counts)
    expected = np.searchsorted(ascending, looked_up, side="right")
    expected[np.isnan(looked_up)] = -7
    np.testing.assert_array_equal(counts, expected)


def around(ascending):
    """Give each number and its two neighbours, in no particular order, several times."""
    with np.errstate(over="ignore"):
        near = np.concatenate([ascending, np.nextafter(ascending, -np.inf), np.nextafter(ascending, np.inf)])
    near = near[np.isfinite(near)]
    return np.random.default_rng(0).permutation(np.tile(near, 4))


@settings(max_examples=100)
@given(st.lists(numbers, min_size=1, max_size=40, unique=True), st.lists(numbers, max_size=20))
def test_any_numbers(ascending, others):
    ascending = np.sort(np.array(ascending))
    check(np.concatenate([others, around(ascending)]), ascending)


@pytest.mark.parametrize("n_ascending", [0, 1, 7, 8, 9, 1_000])
@pytest.mark.parametrize("n_numbers", [0, 1, 50, 5_000])
def test_few_and_many(n_ascending, n_numbers):
    rng = np.random.default_rng(1)
    check(rng.normal(size=n_numbers), np.sort(rng.normal(size=n_ascending)))


@pytest.mark.parametrize(
    "ascending",
    [
        1.7e308 * np.linspace(-1, 1, 50),
        np.arange(50) * 5e-324,
        np.concatenate([np.arange(30) * 1e-12, 1e9 + np.arange(30)]),
        np.concatenate([np.arange(20.0), [np.inf]]),
        np.full(20, 3.0),
    ],
    ids=["huge", "tiny", "clustered", "up to infinity", "all equal"],
)
def test_unusual_ranges(ascending):
    check(around(ascending), ascending)


def test_infinity_among_the_sorted_numbers_stays_inside_the_table():
    # As plain Python, since compiled code writes where an index points to.
    ascending = np.concatenate([np.arange(20.0), [np.inf]])
    check(around(ascending), ascending, count_not_above.py_func)


@pytest.mark.parametrize("n_finite", [0, 5, 20])
@pytest.mark.parametrize("compiled", [False, True])
def test_infinite_numbers(n_finite, compiled):
    """Infinity among the sorted numbers is the threshold that sends all numbers left, infinity included."""
    lookup = count_not_above if compiled else count_not_above.py_func
    looked_up = np.tile([-np.inf, -1.0, 3.5, 1e308, np.inf], 30)
    for first, last in (([], []), ([-np.inf], []), ([], [np.inf]), ([-np.inf], [np.inf])):
        ascending = np.concatenate([first, np.arange(float(n_finite)), last])
        counts = np.empty(len(looked_up), dtype=np.int32)
        lookup(looked_up, ascending, counts)
        expected = np.searchsorted(ascending[ascending < np.inf], looked_up, side="right")
        np.testing.assert_array_equal(counts, expected)


def test_missing_numbers_are_left_alone():
    looked_up = np.full(100, np.nan)
    looked_up[::3] = 2.0
    check(looked_up, np.arange(10.0))
    check(looked_up[:3], np.arange(10.0))
