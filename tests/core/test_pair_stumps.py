"""The best split for weights on (row, label) pairs, against trying every split."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuselearn._core import Forest, PairTable, find_stump, left_samples, make_stump_tree
from fuselearn.learners.forests import apply_forest
from fuselearn.learners.table import code_columns

N_COLUMNS, N_LABELS = 4, 3
seeds, sizes, shares = st.integers(0, 10_000), st.integers(1, 25), st.sampled_from([0.0, 0.15, 0.9])


def problem(seed, n_rows=25, missing=0.15):
    """Make a table with ties and gaps whose first column holds categories, and weights of pairs."""
    rng = np.random.default_rng(seed)
    X = rng.integers(5, size=(n_rows, N_COLUMNS)).astype(float)
    X[rng.random(X.shape) < missing] = np.nan
    X[:, rng.random(N_COLUMNS) < 0.2] = 2.0
    n_categories = np.array([5, 0, 0, 0], dtype=np.int32)
    pairs = rng.random((n_rows, N_LABELS))
    has_label = rng.random(pairs.shape) < 0.4
    return X, n_categories, pairs * has_label, pairs * ~has_label


def all_sides(X, n_categories):
    """List every way to split the rows in two."""
    for f in range(N_COLUMNS):
        column, missing = X[:, f], np.isnan(X[:, f])
        if n_categories[f]:
            yield missing
            yield from (column == value for value in np.unique(column[~missing]))
        else:
            for value in np.unique(column[~missing]):
                yield column <= value
                yield (column <= value) | missing


def score(left, positive, negative):
    return sum(
        np.sqrt(positive[side].sum(axis=0) * negative[side].sum(axis=0)).sum()
        for side in (left, ~left)
    )  # fmt: skip


@settings(max_examples=40, deadline=None)
@given(seeds, sizes, shares)
def test_no_other_split_is_better(seed, n_rows, missing):
    X, n_categories, positive, negative = problem(seed, n_rows, missing)
    table = PairTable(code_columns(X, n_categories))
    stump = find_stump(table, positive, negative, 0, N_COLUMNS)
    scores = [score(side, positive, negative) for side in all_sides(X, n_categories) if 0 < side.sum() < n_rows]
    if not scores:
        assert stump.feature == -1
        return
    left = left_samples(table, stump)
    assert stump.score == pytest.approx(min(scores))
    assert score(left, positive, negative) == pytest.approx(min(scores))


@settings(max_examples=40, deadline=None)
@given(seeds, sizes, shares)
def test_the_tree_sends_rows_where_the_stump_does(seed, n_rows, missing):
    X, n_categories, positive, negative = problem(seed, n_rows, missing)
    table = PairTable(code_columns(X, n_categories))
    stump = find_stump(table, positive, negative, 0, N_COLUMNS)
    if stump.feature < 0:
        return
    left = left_samples(table, stump)
    tree = make_stump_tree(table, stump, np.zeros((2, N_LABELS)))
    reached = apply_forest(Forest([tree], n_categories), X)[:, 0]
    np.testing.assert_array_equal(reached == 1, left)


def test_of_equal_columns_the_first_is_taken():
    X, _, positive, negative = problem(0)
    X = np.column_stack([X[:, 1], X[:, 1]])
    table = PairTable(code_columns(X))
    assert find_stump(table, positive, negative, 0, 2).feature == 0
    assert find_stump(table, positive, negative, 1, 2).feature == 1


def test_rows_that_are_all_alike_cannot_be_split():
    table = PairTable(code_columns(np.ones((4, 2))))
    assert find_stump(table, np.ones((4, 1)), np.ones((4, 1)), 0, 2).feature == -1


@settings(max_examples=20, deadline=None)
@given(seeds)
def test_stretches_without_a_better_cut_are_left_out_and_no_other(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(300, N_COLUMNS))
    X[rng.random(X.shape) < 0.1 * (seed % 3)] = np.nan
    pairs, has_label = rng.random((300, N_LABELS)), rng.random((300, N_LABELS)) < 0.3 + 0.05 * (X[:, 1:2] > 1)
    positive, negative = pairs * has_label, pairs * ~has_label
    table = PairTable(code_columns(X))
    stump = find_stump(table, positive, negative, 0, table.n_columns)
    scores = [score(side, positive, negative) for side in all_sides(X, np.zeros(N_COLUMNS, dtype=int)) if side.any()]
    assert stump.score == pytest.approx(min(scores))
    assert score(left_samples(table, stump), positive, negative) == pytest.approx(min(scores))


def test_threads_change_nothing():
    rng = np.random.default_rng(0)
    X, has_label = rng.normal(size=(4000, 40)), rng.random((4000, 9)) < 0.4
    pairs = rng.random((4000, 9))
    table = PairTable(code_columns(X))
    one, three = (
        find_stump(table, pairs * has_label, pairs * ~has_label, 0, table.n_columns, n_threads=n) for n in (1, 3)
    )
    assert (one.feature, one.last, one.score) == (three.feature, three.last, three.score)


@pytest.mark.parametrize(
    ("positive", "negative", "features", "kind", "message"),
    [
        (np.ones((3, 1)), np.ones((4, 1)), range(2), ValueError, r"positive must be as long as the table \(4\)"),
        (np.ones((4, 1)), np.ones((4, 2)), range(2), ValueError, "Each sample in negative must be as long as"),
        (-np.ones((4, 1)), np.ones((4, 1)), range(2), ValueError, "positive must hold finite numbers"),
        (np.ones((4, 1)), np.full((4, 1), np.nan), range(2), ValueError, "negative must hold finite numbers"),
        (np.ones((4, 1)), np.ones((4, 1)), range(3), ValueError, "must be a range of the table's features"),
        (np.ones((4, 1)), np.ones(4), range(2), TypeError, "negative must be an array of float64 with 2 dimensions"),
    ],
)
def test_wrong_weights_get_a_sentence(positive, negative, features, kind, message):
    table = PairTable(code_columns(np.arange(8.0).reshape(4, 2)))
    with pytest.raises(kind, match=message):
        find_stump(table, positive, negative, features.start, features.stop)


def test_without_a_split_there_is_no_tree():
    table = PairTable(code_columns(np.ones((4, 2))))
    stump = find_stump(table, np.ones((4, 1)), np.ones((4, 1)), 0, table.n_columns)
    with pytest.raises(ValueError, match="must have a feature of the table"):
        left_samples(table, stump)
    with pytest.raises(ValueError, match="must have a feature of the table"):
        make_stump_tree(table, stump, np.zeros((2, 1)))
