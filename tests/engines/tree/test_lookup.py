"""A forest ranks numbers among its thresholds as a binary search does, however the thresholds are spread."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuselearn.engines.tree import NODE, Forest, Tree, apply_forest, code_columns, sum_leaf_values
from fuselearn.engines.tree.coding import encode_rows

numbers = st.floats(allow_nan=False, allow_infinity=False)


def search_tree(thresholds):
    """Make a balanced tree whose leaves are between neighboring thresholds, and count those below each leaf."""
    nodes, n_below = np.zeros(2 * len(thresholds) + 1, dtype=NODE), np.zeros(2 * len(thresholds) + 1)
    nodes["feature"] = nodes["left"] = -1
    n_nodes, waiting = 1, [(0, 0, len(thresholds))]
    while waiting:
        node, first, last = waiting.pop()
        n_below[node] = first
        if first < last:
            middle = (first + last) // 2
            nodes["feature"][node], nodes["threshold"][node], nodes["left"][node] = 0, thresholds[middle], n_nodes
            waiting += [(n_nodes, first, middle), (n_nodes + 1, middle + 1, last)]
            n_nodes += 2
    return Tree(nodes, n_below[:, None], np.empty(0, dtype=np.uint32))


def count_reached(looked_up, thresholds):
    """Count how many thresholds each number reaches: a sample goes right if it is not below."""
    tree = search_tree(thresholds)
    forest = Forest([tree], np.zeros(1, dtype=np.int32))
    counts = sum_leaf_values(forest, tree.values[tree.nodes["feature"] < 0], looked_up[:, None])[:, 0]
    np.testing.assert_array_equal(tree.values[apply_forest(forest, looked_up[:, None])[:, 0], 0], counts)
    return counts


def check(looked_up, ascending):
    expected = np.searchsorted(ascending[ascending < np.inf], looked_up, side="right")
    np.testing.assert_array_equal(count_reached(looked_up, ascending), expected)
    distinct = np.unique(ascending)
    codes = np.maximum(np.searchsorted(distinct[distinct < np.inf], looked_up, side="right") - 1, 0)
    np.testing.assert_array_equal(encode_rows(looked_up[:, None], code_columns(distinct[:, None]))[:, 0], codes)


def around(ascending):
    """Give each number and its two neighbors, in no particular order, several times."""
    with np.errstate(over="ignore"):
        near = np.concatenate([ascending, np.nextafter(ascending, -np.inf), np.nextafter(ascending, np.inf)])
    near = near[np.isfinite(near)]
    return np.random.default_rng(0).permutation(np.tile(near, 4))


@settings(max_examples=100)
@given(st.lists(numbers, min_size=1, max_size=40, unique=True), st.lists(numbers, max_size=20))
def test_any_numbers(ascending, others):
    ascending = np.sort(np.array(ascending))
    check(np.concatenate([others, around(ascending)]), ascending)


@pytest.mark.parametrize("n_ascending", [1, 7, 8, 9, 1_000])
@pytest.mark.parametrize("n_numbers", [0, 1, 50, 5_000])
def test_few_and_many(n_ascending, n_numbers):
    rng = np.random.default_rng(1)
    check(rng.normal(size=n_numbers), np.sort(rng.normal(size=n_ascending)))


@pytest.mark.parametrize("n_thresholds", [65_533, 65_534, 65_535, 70_000])
def test_more_thresholds_than_codes_of_two_bytes(n_thresholds):
    rng = np.random.default_rng(2)
    thresholds = np.sort(rng.normal(size=n_thresholds))
    looked_up = np.concatenate([rng.choice(thresholds, 3_000), rng.normal(size=1_000), thresholds[[0, -1]]])
    expected = np.searchsorted(thresholds, looked_up, side="right")
    np.testing.assert_array_equal(count_reached(looked_up, thresholds), expected)
    looked_up[::3] = np.nan  # no threshold is to the left of nodes that send missing values right
    expected[::3] = n_thresholds
    np.testing.assert_array_equal(count_reached(looked_up, thresholds), expected)


@pytest.mark.parametrize(
    "ascending",
    [
        1.7e308 * np.linspace(-1, 1, 50),
        np.arange(50) * 5e-324,
        np.concatenate([np.arange(30) * 1e-12, 1e9 + np.arange(30)]),
        np.concatenate([np.arange(20.0), [np.inf]]),
        np.full(20, 3.0),
        np.array([-0.0, 0.0, 1.0]),
    ],
    ids=["huge", "tiny", "clustered", "up to infinity", "all equal", "two zeros"],
)
def test_unusual_ranges(ascending):
    check(around(ascending), ascending)


@pytest.mark.parametrize("n_finite", [1, 5, 20])
def test_infinite_numbers(n_finite):
    """Infinity among the thresholds sends all numbers left, infinity included."""
    looked_up = np.tile([-np.inf, -1.0, 3.5, 1e308, np.inf], 30)
    for last in ([], [np.inf]):
        ascending = np.concatenate([np.arange(float(n_finite)), last])
        expected = np.searchsorted(ascending[ascending < np.inf], looked_up, side="right")
        np.testing.assert_array_equal(count_reached(looked_up, ascending), expected)
