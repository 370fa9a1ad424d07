"""Trees for gradient boosting: splits by hand, and the plain search of all of them."""

import numpy as np
import pytest

from fuselearn._core import GradientTable, grow_gradient_tree
from fuselearn._core import grow_gradient_tree as grow_in_core
from fuselearn.learners.table import code_columns
from fuselearn.multilabel.methods.gradient_boosting import gains_by_label, newton_values


def grow(X, G, H, *, categories=None, max_depth=3, min_leaf=1, l2=1.0, rows=None, features=None, n_threads=1):
    X = np.asarray(X, dtype=float)
    n_categories = None if categories is None else np.array(categories, dtype=np.int32)
    columns = code_columns(X, n_categories)
    rows = np.arange(len(X), dtype=np.int32) if rows is None else np.array(rows, dtype=np.int32)
    features = np.arange(X.shape[1]) if features is None else np.array(features)
    statistics = np.hstack([G, H]).astype(float)
    settings = max_depth, min_leaf, l2
    tree = grow_gradient_tree(GradientTable(columns), statistics, rows, features, *settings, n_threads=n_threads)
    return tree, tree.apply(columns)


def criterion(G, H, side, l2):
    return (G[side].sum(axis=0) ** 2 / (H[side].sum(axis=0) + l2)).sum()


def split_plainly(X, G, H, rows, is_category, min_leaf, l2):
    """Return the best gain of all splits of some rows, and the rows on its left."""
    best = (1e-9, None)
    for f in range(X.shape[1]):
        values = X[rows, f]
        missing, present = np.isnan(values), np.unique(values[~np.isnan(values)])
        if is_category[f]:
            sides = [values == value for value in present] + [missing]
        else:
            sides = [values <= value for value in present]
            sides += [side | missing for side in sides]
        for left in sides:
            if min(left.sum(), (~left).sum()) >= min_leaf:
                gain = criterion(G, H, rows[left], l2) + criterion(G, H, rows[~left], l2) - criterion(G, H, rows, l2)
                if gain > best[0] + 1e-12:
                    best = (gain, left)
    return best


def grow_plainly(X, G, H, rows, is_category, depth, min_leaf, l2, values):
    gain, left = split_plainly(X, G, H, rows, is_category, min_leaf, l2) if depth > 0 else (0.0, None)
    if left is None:
        values[rows] = -G[rows].sum(axis=0) / (H[rows].sum(axis=0) + l2)
        return 0.0
    below = [grow_plainly(X, G, H, rows[side], is_category, depth - 1, min_leaf, l2, values) for side in (left, ~left)]
    return gain + sum(below)


@pytest.mark.parametrize("kind", ["numbers", "zeros", "missing", "categories"])
@pytest.mark.parametrize(("n_labels", "min_leaf", "l2"), [(3, 4, 0.5), (9, 1, 3.0), (1, 2, 1.0), (2, 1, 0.1)])
def test_trees_are_those_of_a_plain_search(kind, n_labels, min_leaf, l2):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 9, (60, 4)).astype(float)
    if kind == "zeros":
        X[rng.random(X.shape) < 0.8] = 0.0
    if kind == "missing":
        X[rng.random(X.shape) < 0.2] = np.nan
    categories = [9, 0, 0, 9] if kind == "categories" else [0, 0, 0, 0]
    G, H = rng.normal(size=(60, n_labels)), rng.random((60, n_labels))
    tree, leaves = grow(X, G, H, categories=categories, min_leaf=min_leaf, l2=l2, max_depth=5)
    expected = np.empty_like(G)
    gain = grow_plainly(X, G, H, np.arange(60), np.array(categories) > 0, 5, min_leaf, l2, expected)
    np.testing.assert_allclose(newton_values(tree, l2)[leaves], expected, rtol=1e-6)
    assert gains_by_label(tree, 4, l2).sum() == pytest.approx(gain)


def test_a_split_by_hand():
    X, G, H = [[0.0], [1.0], [1.0], [2.0]], [[-1.0, 1.0], [2.0, 0.0], [2.0, 0.0], [2.0, 1.0]], np.ones((4, 2))
    tree, leaves = grow(X, G, H, max_depth=1)
    # After the first row: 1/2 + 1/2 on the left, 36/4 + 1/4 on the right. After the third: 9/4 + 1/4, and 4/2 + 1/2.
    np.testing.assert_array_equal(leaves, [1, 2, 2, 2])
    np.testing.assert_allclose(newton_values(tree, 1.0)[1:], [[0.5, -0.5], [-6 / 4, -1 / 4]])
    # Without the split: 25/5 + 4/5.
    np.testing.assert_allclose(gains_by_label(tree, 1, 1.0), [[0.5 + 9 - 5], [0.5 + 0.25 - 0.8]])


def test_only_rows_and_features_that_take_part_count():
    X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    G = np.array([[-1.0], [1.0], [-1.0], [1.0]])
    tree, _ = grow(X, G, np.ones((4, 1)), features=[1])
    assert tree.n_leaves == 1
    tree, _ = grow(X, G, np.ones((4, 1)), rows=[0, 1, 2])
    assert tree.nodes["count"].tolist() == [3, 2, 1]
    np.testing.assert_array_equal(tree.values[0], [-1, 3])


def test_a_label_that_is_known_nowhere_gets_nothing():
    tree, _ = grow([[0.0], [1.0]], [[1.0, 0.0], [-1.0, 0.0]], [[1.0, 0.0], [1.0, 0.0]], l2=0.0)
    np.testing.assert_allclose(newton_values(tree, 0.0), [[0, 0], [-1, 0], [1, 0]], atol=1e-9)


def test_threads_change_nothing():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 30))
    X[rng.random(X.shape) < 0.1] = np.nan
    G, H = rng.normal(size=(3000, 12)) + X[:, :1] > 0, rng.random((3000, 12))
    tree, _ = grow(X, G, H, max_depth=6)
    for n_threads in (2, 3):
        other, _ = grow(X, G, H, max_depth=6, n_threads=n_threads)
        np.testing.assert_array_equal(other.nodes, tree.nodes)
        np.testing.assert_array_equal(other.values, tree.values)


GIVEN = {
    "statistics": np.ones((4, 2)), "samples": np.arange(4, dtype=np.int32), "features": np.arange(2),
    "max_depth": 2, "min_leaf": 1, "l2": 1.0, "n_threads": 1,
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "value", "kind", "message"),
    [
        ("statistics", np.ones((3, 2)), ValueError, r"statistics must be as long as the table \(4\), not 3"),
        ("statistics", np.ones((4, 3)), ValueError, "a gradient and a Hessian for each label"),
        ("statistics", np.ones((4, 0)), ValueError, "a gradient and a Hessian for each label"),
        ("statistics", np.ones((4, 2), dtype=np.float32), TypeError, "statistics must be an array of float64"),
        ("samples", np.array([0, 4], dtype=np.int32), ValueError, "samples must hold numbers from 0 to 3 only"),
        ("samples", np.array([-1], dtype=np.int32), ValueError, "samples must hold numbers from 0 to 3 only"),
        ("samples", np.arange(4), TypeError, "samples must be an array of int32"),
        ("features", np.array([2]), ValueError, "features must hold numbers from 0 to 1 only"),
        ("max_depth", -1, ValueError, "max_depth must not be negative"),
        ("min_leaf", 0, ValueError, "min_leaf must be at least 1"),
        ("l2", np.nan, ValueError, "l2 must not be negative"),
        ("n_threads", 0, ValueError, "n_threads must be at least 1"),
    ],
)
def test_the_core_takes_what_fits_the_table_only(name, value, kind, message):
    table = GradientTable(code_columns(np.arange(8.0).reshape(4, 2)))
    with pytest.raises(kind, match=message):
        grow_in_core(table, **{**GIVEN, name: value})


def test_statistics_of_any_strides():
    table = GradientTable(code_columns(np.arange(8.0).reshape(4, 2)))
    statistics = np.random.default_rng(0).normal(size=(8, 4)) ** 2
    expected = grow_in_core(table, **{**GIVEN, "statistics": statistics[::2, :2].copy()})
    strided = grow_in_core(table, **{**GIVEN, "statistics": statistics[::2, :2]})
    np.testing.assert_array_equal(strided.values, expected.values)
    nothing = grow_in_core(table, **{**GIVEN, "samples": np.arange(0, dtype=np.int32)})
    np.testing.assert_array_equal(nothing.values, [[0.0, 0.0]])
