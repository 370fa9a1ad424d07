"""Columns side by side give the trees that one column after the other gives."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuselearn.engines.tree import Tree, TreeSettings, apply_codes, code_columns
from fuselearn.engines.tree.abreast import MOST_CLASSES, MOST_COUNT, MOST_WEIGHT, can_grow_abreast, sort_entries
from fuselearn.engines.tree.growing import grow_small, grow_small_abreast


def draw(rng, n_rows, most):
    """Draw rows so that some are left out and others drawn often, at most MOST_WEIGHT times in all."""
    counts = np.minimum(rng.geometric(0.4, size=n_rows) - 1, most)
    if most > MOST_COUNT:
        counts[rng.integers(n_rows)] = most
    while counts.sum() > MOST_WEIGHT:
        counts //= 2
    return np.maximum(counts, counts.sum() == 0).astype(np.int32)


def assert_same_trees(X, y, counts, n_classes, chosen):
    columns = code_columns(X)
    assert can_grow_abreast(columns, n_classes, chosen.max_features, chosen.random_cuts)
    expected = grow_small(columns, y, False, counts, counts, n_classes, chosen, 0)
    *tree, leaves = grow_small_abreast(columns, sort_entries(columns, y), y, counts, n_classes, chosen)
    for part, other in zip(tree, expected, strict=True):
        np.testing.assert_array_equal(part, other)
    np.testing.assert_array_equal(leaves, apply_codes(Tree(*expected), columns))
    return Tree(*expected)


@settings(max_examples=150, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    n_rows=st.integers(1, 300),
    n_columns=st.integers(1, 40),
    n_classes=st.integers(1, MOST_CLASSES),
    n_values=st.sampled_from([1, 2, 5, 400]),
    most=st.sampled_from([1, 3, MOST_COUNT, MOST_COUNT + 1, 500]),
    min_split=st.integers(2, 20),
    min_leaf=st.integers(1, 7),
    max_depth=st.integers(1, 30),
    complexity=st.sampled_from([-1.0, 0.0, 0.01, 0.2]),
)
def test_trees_are_those_of_one_column_after_the_other(
    seed, n_rows, n_columns, n_classes, n_values, most, min_split, min_leaf, max_depth, complexity
):
    rng = np.random.default_rng(seed)
    X = rng.integers(n_values, size=(n_rows, n_columns)) / 4
    y = rng.integers(n_classes, size=n_rows).astype(np.int32)
    learnable = rng.random(n_rows) < 0.7
    y[learnable] = (X[learnable, 0] * 4 * n_classes / n_values).astype(np.int32)
    chosen = TreeSettings(min_split, min_leaf, max_depth, complexity)
    assert_same_trees(X, y, draw(rng, n_rows, most), n_classes, chosen)


def test_the_largest_table_grows_the_same_tree():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(MOST_WEIGHT, 17))
    y = rng.integers(3, size=MOST_WEIGHT).astype(np.int32)
    y[X[:, 16] > 0] = 2
    tree = assert_same_trees(X, y, np.ones(MOST_WEIGHT, dtype=np.int32), 3, TreeSettings(2, 1, 30, -1.0))
    assert tree.nodes["feature"][0] == 16
    assert len(tree.nodes) > 500


def test_the_first_column_and_the_first_cut_win_ties():
    X = np.repeat(np.arange(6.0)[:, None], 20, axis=1)
    y = np.array([0, 1, 0, 0, 1, 0], dtype=np.int32)
    tree = assert_same_trees(X, y, np.ones(6, dtype=np.int32), 2, TreeSettings(2, 1, 1, -1.0))
    assert tree.nodes["feature"][0] == 0
    assert tree.nodes["threshold"][0] == 0.5  # as good as 4.5


@pytest.mark.parametrize(
    ("reason", "X", "n_classes", "chosen"),
    [
        ("missing", np.array([[0.0], [np.nan]]), 2, TreeSettings()),
        ("categories", np.array([[0.0], [1.0]]), 2, TreeSettings()),
        ("rows", np.zeros((MOST_WEIGHT + 1, 1)), 2, TreeSettings()),
        ("classes", np.zeros((5, 1)), MOST_CLASSES + 1, TreeSettings()),
        ("some columns", np.zeros((5, 3)), 2, TreeSettings(max_features=2)),
        ("random cuts", np.zeros((5, 3)), 2, TreeSettings(random_cuts=True)),
    ],
)
def test_other_tables_are_left_to_other_growers(reason, X, n_classes, chosen):
    n_categories = np.full(X.shape[1], 2 if reason == "categories" else 0, dtype=np.int32)
    columns = code_columns(X, n_categories)
    assert not can_grow_abreast(columns, n_classes, chosen.max_features, chosen.random_cuts)
