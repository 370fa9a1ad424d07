"""Sorting the drawn columns in each node gives the trees that sorting all columns once gives."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuselearn.engines.tree import TreeSettings, code_columns, labels_target, lay_out_if_few
from fuselearn.engines.tree.growing import MANY_TIMES, grow_whole
from fuselearn.engines.tree.sorted_columns import lay_out_columns, lay_out_nothing

LAYOUTS = (lay_out_columns, lay_out_nothing)


def table(seed, n_rows=90, n_columns=12):
    """Make numbers with ties and gaps, and three columns of categories."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_columns)).round(1)
    X[rng.random(X.shape) < 0.1] = np.nan
    n_categories = np.zeros(n_columns, dtype=np.int32)
    n_categories[:3] = 4
    X[:, :3] = rng.integers(4, size=(n_rows, 3))
    return code_columns(X, n_categories), rng


def grow(columns, by_column, target, counts, n_classes, chosen, seed):
    return grow_whole(columns, by_column, target, counts.astype(float), counts, n_classes, chosen, seed)


def assert_same(ours, theirs):
    for part, other in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(part, other)


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    labels=st.booleans(),
    max_features=st.integers(1, 3),
    min_leaf=st.integers(1, 5),
    random_cuts=st.booleans(),
)
def test_trees_are_those_of_sorted_columns(seed, labels, max_features, min_leaf, random_cuts):
    columns, rng = table(seed)
    counts = rng.integers(3, size=90).astype(np.int32)
    target = labels_target(rng.random((90, 5)) < 0.3) if labels else rng.integers(5, size=90).astype(np.int32)
    chosen = TreeSettings(2, min_leaf, 50, -1.0, max_features, random_cuts)
    assert_same(*(grow(columns, layout(columns), target, counts, 5, chosen, seed) for layout in LAYOUTS))


@pytest.mark.parametrize("n_values", [50, 5000])
def test_large_nodes_are_sorted_by_one_byte_or_by_two(n_values):
    rng = np.random.default_rng(0)
    X = rng.integers(n_values, size=(3000, 8)).astype(float)
    columns = code_columns(X, np.zeros(8, dtype=np.int32))
    target = (X[:, 3] > n_values / 2).astype(np.int32)
    given = (target, np.ones(3000, dtype=np.int32), 2, TreeSettings(2, 1, 50, -1.0, 2), 1)
    assert_same(*(grow(columns, layout(columns), *given) for layout in LAYOUTS))


def test_nodes_sort_where_they_look_at_few_of_many_columns():
    columns, _ = table(0)
    for max_features, is_laid_out in ((12 // MANY_TIMES, True), (12 // MANY_TIMES + 1, False)):
        by_column = lay_out_if_few(columns, TreeSettings(max_features=max_features))
        assert by_column.codes.shape == (12, 90 if is_laid_out else 0)


@pytest.mark.parametrize("n_values", [3, 5000])
def test_tables_too_large_for_ranks_give_the_same_trees(n_values, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.integers(n_values, size=(300, 8)).astype(float)
    columns = code_columns(X, np.zeros(8, dtype=np.int32))
    target = labels_target(rng.random((300, 5)) < 0.3)
    ones = np.ones(300, dtype=np.int32)
    ranked = lay_out_columns(columns)
    monkeypatch.setattr("fuselearn.engines.tree.sorted_columns.RANKED_ROWS", 299)
    plain = lay_out_columns(columns)
    assert ranked.ranks.shape == (8, 300)
    assert plain.ranks.shape == (8, 0)
    given = (target, ones, 5, TreeSettings(2, 1, 50, -1.0, 2), 1)
    assert_same(grow(columns, ranked, *given), grow(columns, plain, *given))
