"""Rows of values end in the same leaves as the coded rows that a tree grew on."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuselearn.engines.tree import (
    TreeSettings,
    apply_codes,
    apply_forest,
    code_columns,
    grow_tree,
    pack_forest,
    predicting,
    sum_leaf_values,
    vote_codes,
)

N_CATEGORIES = np.array([0, 0, 40, 3], dtype=np.int32)


def mixed_table(rng, n_rows):
    """Make two numeric columns and two of categories, with gaps in three of them."""
    X = np.column_stack(
        [
            rng.normal(size=n_rows).round(1),
            rng.choice([1.0, 1.0 + 2**-52, 1e308, -1e308], n_rows),
            rng.integers(0, 35, n_rows),
            rng.integers(0, 3, n_rows),
        ]
    )
    X[rng.random(X.shape) < [0.2, 0.05, 0.1, 0.0]] = np.nan
    return X


def forest_of(seed, n_rows=150, n_trees=5, **limits):
    """Grow trees on samples that leave many rows out."""
    rng = np.random.default_rng(seed)
    X, y = mixed_table(rng, n_rows), rng.integers(0, 3, n_rows)
    columns = code_columns(X, N_CATEGORIES)
    control = TreeSettings(min_split=2, min_leaf=1, complexity=-1.0).replace(**limits)
    trees = [
        grow_tree(columns, y.astype(np.int32), 3, rng.poisson(0.7, n_rows).astype(np.int32), control, seed=t)
        for t in range(n_trees)
    ]
    return X, columns, trees


@settings(max_examples=20)
@given(st.integers(0, 2**32 - 1))
def test_training_rows_drawn_or_not_end_where_their_codes_do(seed):
    X, columns, trees = forest_of(seed)
    applied = apply_forest(pack_forest(trees, N_CATEGORIES), X)
    for t, tree in enumerate(trees):
        np.testing.assert_array_equal(applied[:, t], apply_codes(tree, columns))


def test_new_rows_go_where_the_nodes_send_them(leaves_by_hand):
    _, _, trees = forest_of(0)
    new = mixed_table(np.random.default_rng(99), 500)
    new[::5, 2] = 37.0  # declared, but not seen in training
    new[::7, 3] = -1.0  # unknown
    new[::11, 3] = 3.0
    new[::13, 0] = np.nan
    new[::17, 1] = np.nan
    applied = apply_forest(pack_forest(trees, N_CATEGORIES), new)
    np.testing.assert_array_equal(applied.T, [leaves_by_hand(tree, new, N_CATEGORIES) for tree in trees])


def test_values_missing_or_unknown_at_prediction_only_go_with_the_heavier_child():
    X = np.column_stack([np.repeat([0.0, 1.0], [3, 9]), np.repeat([1.0, 0.0], [3, 9])])
    n_categories = np.array([0, 2], dtype=np.int32)
    y = np.repeat([0, 1], [3, 9]).astype(np.int32)
    control = TreeSettings(min_split=2, min_leaf=1, complexity=-1.0)
    ones = np.ones(12, dtype=np.int32)
    for columns, kinds in ((slice(0, 1), n_categories[:1]), (slice(1, 2), n_categories[1:])):
        tree = grow_tree(code_columns(X[:, columns], kinds), y, 2, ones, control)
        forest = pack_forest([tree], kinds)
        shares = tree.shares()[apply_forest(forest, np.array([[np.nan], [np.nan]]))[:, 0]]
        assert shares.tolist() == [[0.0, 1.0], [0.0, 1.0]]
    for unknown in (-1.0, 2.0, 1e300):
        assert tree.shares()[apply_forest(forest, np.array([[unknown]]))[0, 0]].tolist() == [0.0, 1.0]


@pytest.mark.parametrize("n_rows", [150, 2 * predicting.ARRANGED_ROWS + 3, predicting.BLOCK_ROWS + 1_500])
def test_leaf_values_are_summed_over_the_trees(n_rows):
    _, _, trees = forest_of(1, n_trees=predicting.ARRANGED_TREES)
    X = mixed_table(np.random.default_rng(0), n_rows)
    forest = pack_forest(trees, N_CATEGORIES)
    values = np.concatenate([(t + 1) * tree.shares() for t, tree in enumerate(trees)])[forest.leaves]
    applied = apply_forest(forest, X)
    expected = sum((t + 1) * tree.shares()[applied[:, t]] for t, tree in enumerate(trees))
    np.testing.assert_allclose(sum_leaf_values(forest, values, X), expected, rtol=1e-12)


def test_rows_without_categories_are_summed_in_any_order_of_theirs():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2 * predicting.ARRANGED_ROWS, 3))
    columns = code_columns(X)
    y = (X[:, 0] * X[:, 1] > 0).astype(np.int32)
    trees = [
        grow_tree(columns, y, 2, rng.poisson(1.0, len(X)).astype(np.int32), TreeSettings(complexity=-1.0))
        for _ in range(predicting.ARRANGED_TREES)
    ]
    forest = pack_forest(trees, np.zeros(3, dtype=np.int32))
    values = np.concatenate([tree.shares() for tree in trees])[forest.leaves]
    together = sum_leaf_values(forest, values, X)
    alone = np.concatenate([sum_leaf_values(forest, values, X[k : k + 1]) for k in range(0, len(X), 97)])
    np.testing.assert_array_equal(together[::97], alone)


def test_missing_values_of_one_block_do_not_reach_the_next(leaves_by_hand):
    """The samples that fill up the last group of a block keep the codes of the block before."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 5)), rng.integers(0, 3, 200).astype(np.int32)
    control = TreeSettings(min_split=2, min_leaf=1, complexity=-1.0)
    counts = rng.poisson(1.0, (predicting.ARRANGED_TREES, 200)).astype(np.int32)
    trees = [grow_tree(code_columns(X), y, 3, drawn, control) for drawn in counts]
    forest = pack_forest(trees, np.zeros(5, dtype=np.int32))
    new = rng.normal(size=(predicting.BLOCK_ROWS + 3, 5))
    new[: predicting.BLOCK_ROWS] = np.nan
    applied = apply_forest(forest, new)
    np.testing.assert_array_equal(applied.T, [leaves_by_hand(tree, new, forest.n_categories) for tree in trees])
    values = np.concatenate([tree.shares() for tree in trees])[forest.leaves]
    expected = sum(tree.shares()[applied[:, t]] for t, tree in enumerate(trees))
    np.testing.assert_allclose(sum_leaf_values(forest, values, new), expected, rtol=1e-12)


@pytest.mark.parametrize("has_special", [False, True])
def test_no_code_leads_out_of_the_forest(has_special):
    """Whatever the codes are, a descent ends in a leaf of its tree."""
    _, _, trees = forest_of(9)
    forest = pack_forest(trees, N_CATEGORIES)
    rng = np.random.default_rng(0)
    small, any_code, few = (rng.integers(0, bound, (4_000, 4)) for bound in (50, 2**32, 9))
    special = int(predicting.SPECIAL) + small
    codes = np.choose(rng.integers(0, 4, (4_000, 4)), [small, any_code, special, 2**32 - 1 - few])
    for t, tree in enumerate(trees):
        reached = np.empty(4_000, dtype=np.uint32)
        predicting._descend(forest, t, codes.astype(np.uint32), 4_000, has_special, reached)
        assert np.isin(reached, forest.roots[t] + np.arange(len(tree.nodes))).all()
        assert (forest.nodes["leaf"][reached] >= 0).all()


def test_trees_without_a_split_need_no_column():
    (tree,) = forest_of(5, n_trees=1, min_split=10**6)[2]
    assert apply_forest(pack_forest([tree], np.zeros(0, dtype=np.int32)), np.empty((3, 0))).tolist() == [[0]] * 3


def test_leaves_are_listed_once_each():
    _, _, trees = forest_of(2)
    features = np.concatenate([tree.nodes["feature"] for tree in trees])
    leaves = pack_forest(trees, N_CATEGORIES).leaves
    np.testing.assert_array_equal(np.sort(leaves), np.flatnonzero(features < 0))


def test_threads_do_not_change_the_sums(monkeypatch):
    _, _, trees = forest_of(4, n_trees=predicting.ARRANGED_TREES)
    X = mixed_table(np.random.default_rng(0), 3 * predicting.ARRANGED_ROWS - 1)
    forest = pack_forest(trees, N_CATEGORIES)
    values = np.concatenate([tree.shares() for tree in trees])[forest.leaves]
    alone = sum_leaf_values(forest, values, X), apply_forest(forest, X)
    monkeypatch.setattr(predicting, "THREADED_WORK", 0)
    shared = sum_leaf_values(forest, values, X, n_threads=3), apply_forest(forest, X, n_threads=3)
    for one, other in zip(alone, shared, strict=True):
        np.testing.assert_array_equal(one, other)


def test_trees_without_a_split():
    X, _, trees = forest_of(5, n_trees=3, min_split=10**6)
    assert [tree.n_leaves for tree in trees] == [1, 1, 1]
    assert (apply_forest(pack_forest(trees, N_CATEGORIES), X) == 0).all()


def test_splits_on_missing_alone_among_many_cuts():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 1))
    y = np.floor(8 * X[:, 0]).astype(np.int32) % 2
    missing = rng.random(400) < 0.3
    X[missing], y[missing] = np.nan, 2
    columns = code_columns(X)
    control = TreeSettings(min_split=2, min_leaf=1, complexity=-1.0)
    tree = grow_tree(columns, y, 3, np.ones(400, dtype=np.int32), control)
    assert np.isinf(tree.nodes["threshold"]).any()
    forest = pack_forest([tree], np.zeros(1, dtype=np.int32))
    np.testing.assert_array_equal(apply_forest(forest, X)[:, 0], apply_codes(tree, columns))
    np.testing.assert_array_equal(vote_codes(tree, columns), y)


@pytest.mark.parametrize("max_bins", [5, 50])
def test_binned_values_end_in_the_leaves_of_their_bins(max_bins):
    rng = np.random.default_rng(6)
    X, y = rng.normal(size=(300, 2)), rng.integers(0, 2, 300).astype(np.int32)
    columns = code_columns(X, max_bins=max_bins)
    control = TreeSettings(min_split=2, min_leaf=1, complexity=-1.0)
    for seed in range(5):
        counts = np.random.default_rng(seed).poisson(0.3, 300).astype(np.int32)
        tree = grow_tree(columns, y, 2, counts, control)
        applied = apply_forest(pack_forest([tree], np.zeros(2, dtype=np.int32)), X)[:, 0]
        np.testing.assert_array_equal(applied, apply_codes(tree, columns))


def test_more_distinct_values_than_codes():
    rng = np.random.default_rng(7)
    X = rng.permuted(np.tile(np.arange(70_000.0), (3, 1)), axis=1).T
    X[:, 2] %= 1_000
    y = (X[:, 0] + X[:, 1] > 70_000).astype(np.int32)
    columns = code_columns(X)
    assert columns.n_codes.tolist() == [255, 255, 1_000]
    tree = grow_tree(columns, y, 2, np.ones(70_000, dtype=np.int32), TreeSettings(complexity=-1.0))
    applied = apply_forest(pack_forest([tree], np.zeros(3, dtype=np.int32)), X)[:, 0]
    np.testing.assert_array_equal(applied, apply_codes(tree, columns))
    assert np.mean(tree.values[applied].argmax(axis=1) == y) > 0.98


def test_votes_are_majorities_and_the_first_of_equal_classes():
    X = np.array([[0.0], [0.0], [0.0], [1.0], [1.0]])
    y = np.array([2, 2, 0, 2, 1], dtype=np.int32)
    control = TreeSettings(min_split=5, min_leaf=1, complexity=-1.0)
    columns = code_columns(X)
    tree = grow_tree(columns, y, 3, np.ones(5, dtype=np.int32), control)
    assert tree.n_leaves == 2
    assert vote_codes(tree, columns).tolist() == [2, 2, 2, 1, 1]
    _, columns, trees = forest_of(8)
    for tree in trees:
        np.testing.assert_array_equal(vote_codes(tree, columns), tree.values.argmax(axis=1)[apply_codes(tree, columns)])
