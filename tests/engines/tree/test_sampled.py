"""Sorting the drawn columns in each node gives the trees that sorting all columns once gives."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuselearn.engines.tree import TreeSettings, code_columns, grow_tree, labels_target
from fuselearn.engines.tree.growing import MANY_TIMES, grow_on_few_columns, grow_small
from fuselearn.engines.tree.sampled import lay_out_columns


def table(seed, n_rows=90, n_columns=12):
    """Make numbers with ties and gaps, and three columns of categories."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_columns)).round(1)
    X[rng.random(X.shape) < 0.1] = np.nan
    n_categories = np.zeros(n_columns, dtype=np.int32)
    n_categories[:3] = 4
    X[:, :3] = rng.integers(4, size=(n_rows, 3))
    return code_columns(X, n_categories), rng


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
    arguments = (columns, target, labels, counts, counts, 5, chosen, seed)
    assert_same(grow_on_few_columns(None, *arguments), grow_small(*arguments))


@pytest.mark.parametrize("n_values", [50, 5000])
def test_large_nodes_are_sorted_by_one_byte_or_by_two(n_values):
    rng = np.random.default_rng(0)
    X = rng.integers(n_values, size=(3000, 8)).astype(float)
    columns = code_columns(X, np.zeros(8, dtype=np.int32))
    target = (X[:, 3] > n_values / 2).astype(np.int32)
    arguments = (columns, target, False, np.ones(3000, dtype=np.int32), np.ones(3000, dtype=np.int32), 2)
    arguments += (TreeSettings(2, 1, 50, -1.0, 2), 1)
    assert_same(grow_on_few_columns(None, *arguments), grow_small(*arguments))


def test_it_is_chosen_where_few_of_many_columns_are_looked_at(monkeypatch):
    columns, rng = table(0)
    asked = []
    for name in ("grow_on_few_columns", "grow_small"):
        monkeypatch.setattr(
            f"fuselearn.engines.tree.growing.{name}", lambda *_, name=name: asked.append(name) or [0] * 3
        )
    for max_features in (12 // MANY_TIMES, 12 // MANY_TIMES + 1):
        target = rng.integers(2, size=90).astype(np.int32)
        grow_tree(columns, target, 2, np.ones(90, dtype=np.int32), TreeSettings(max_features=max_features))
    assert asked == ["grow_on_few_columns", "grow_small"]


@pytest.mark.parametrize("n_values", [3, 5000])
def test_tables_too_large_for_ranks_give_the_same_trees(n_values, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.integers(n_values, size=(300, 8)).astype(float)
    columns = code_columns(X, np.zeros(8, dtype=np.int32))
    target = labels_target(rng.random((300, 5)) < 0.3)
    ones = np.ones(300, dtype=np.int32)
    ranked = lay_out_columns(columns)
    monkeypatch.setattr("fuselearn.engines.tree.sampled.RANKED_ROWS", 299)
    plain = lay_out_columns(columns)
    assert ranked.ranks.shape == (8, 300)
    assert plain.ranks.shape == (8, 0)
    arguments = (columns, target, True, ones, ones, 5, TreeSettings(2, 1, 50, -1.0, 2), 1)
    assert_same(grow_on_few_columns(ranked, *arguments), grow_on_few_columns(plain, *arguments))
