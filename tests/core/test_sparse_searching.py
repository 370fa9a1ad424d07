"""Trees that are grown on the entries of a table are those grown on all of its values."""

import numpy as np
import pytest
from scipy import sparse

from fuselearn._core import PairTable, TreeSettings, find_stump, left_samples
from fuselearn.learners.table import code_columns, code_entries
from fuselearn.learners.trees import grow_tree, make_label_target

UNLIMITED = TreeSettings(min_split=2, min_leaf=1, max_depth=99, complexity=-1.0)


def make_table(seed, share):
    rng = np.random.default_rng(seed)
    n_rows, n_columns = rng.integers(5, 150), rng.integers(1, 15)
    values = (
        rng.integers(-3, 4, (n_rows, n_columns)).astype(float) if seed % 2 else rng.normal(size=(n_rows, n_columns))
    )
    X = np.where(rng.random(values.shape) < share, values, 0.0)
    if seed % 3 == 0:
        X[rng.random(X.shape) < 0.05] = np.nan
    counts = rng.integers(0, 3, n_rows).astype(np.int32)
    counts[0] = 1
    return X, (rng.random((n_rows, 4)) < 0.3).astype(np.int8), counts, rng


@pytest.mark.parametrize("share", [0.05, 0.3, 0.95])
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(
    "settings",
    [UNLIMITED, UNLIMITED.replace(min_leaf=3, random_cuts=True), UNLIMITED.replace(min_leaf=4, complexity=0.01)],
)
def test_trees_are_those_of_the_dense_table(share, seed, settings):
    X, Y, counts, rng = make_table(seed, share)
    dense, entries = code_columns(X), code_entries(sparse.csr_array(X))
    for weights in (None, rng.random(len(X))):
        expected, tree = (
            grow_tree(columns, make_label_target(Y), counts, settings, weights=weights, seed=seed)
            for columns in (dense, entries)
        )
        for name in expected.nodes.dtype.names:
            np.testing.assert_array_equal(tree.nodes[name], expected.nodes[name])
        np.testing.assert_array_equal(tree.values, expected.values)
        np.testing.assert_array_equal(tree.apply(entries), tree.apply(dense))
        some = np.flatnonzero(counts == 0)
        np.testing.assert_array_equal(tree.apply(entries, some), tree.apply(dense)[some])


def test_features_are_drawn_among_those_that_vary():
    """Of a hundred features only three vary, and only one of them was drawn."""
    rng = np.random.default_rng(0)
    X = np.zeros((60, 100))
    X[:, [7, 30, 81]] = np.where(rng.random((60, 3)) < 0.3, rng.normal(size=(60, 3)), 0.0)
    X[:, 50] = 1.0
    target, counts = make_label_target(rng.integers(0, 2, (60, 2))), np.ones(60, dtype=np.int32)
    stumps = [
        grow_tree(code_entries(X), target, counts, UNLIMITED.replace(max_depth=1, max_features=1), seed=seed)
        for seed in range(300)
    ]
    numbers = np.bincount([stump.nodes["feature"][0] for stump in stumps], minlength=100)
    assert numbers.nonzero()[0].tolist() == [7, 30, 81]
    assert np.abs(numbers[[7, 30, 81]] - 100).max() < 4 * np.sqrt(300 * 1 / 3 * 2 / 3)


@pytest.mark.parametrize("share", [0.05, 0.3, 0.95])
@pytest.mark.parametrize("seed", range(6))
def test_stumps_are_those_of_the_dense_table(share, seed):
    X, Y, _, rng = make_table(seed, share)
    weights = rng.integers(1, 9, Y.shape).astype(float)  # so that sums are exact in any order
    tables = [PairTable(columns) for columns in (code_columns(X), code_entries(X))]
    for features in (range(X.shape[1]), *(range(f, f + 1) for f in range(X.shape[1]))):
        expected, stump = (
            find_stump(table, weights * Y, weights * (1 - Y), features.start, features.stop) for table in tables
        )
        for name in ("score", "feature", "first", "last", "missing_left"):
            assert getattr(stump, name) == getattr(expected, name)
        if stump.feature >= 0:
            np.testing.assert_array_equal(*(left_samples(table, stump) for table in tables))
