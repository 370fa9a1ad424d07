"""Rows of values end in the same leaves as the coded rows that a tree grew on."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from fuselearn._core import ClassTarget, Forest, TreeSettings
from fuselearn.learners import forests
from fuselearn.learners.forests import apply_forest, sum_leaf_values
from fuselearn.learners.table import code_columns, code_entries
from fuselearn.learners.trees import grow_tree

# Samples are sorted by the leaves of the first tree from so many samples and trees on.
SORTED_SAMPLES, SORTING_TREES = 1024, 8
BLOCK_SAMPLES = 1 << 16

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
        grow_tree(
            columns, ClassTarget(y.astype(np.int32), 3), rng.poisson(0.7, n_rows).astype(np.int32), control, seed=t
        )
        for t in range(n_trees)
    ]
    return X, columns, trees


def of_leaves(trees, values):
    """Choose the values of leaves among those of all nodes."""
    return np.concatenate([own[tree.nodes["feature"] < 0] for tree, own in zip(trees, values, strict=True)])


@settings(max_examples=20)
@given(st.integers(0, 2**32 - 1))
def test_training_rows_drawn_or_not_end_where_their_codes_do(seed):
    X, columns, trees = forest_of(seed)
    applied = apply_forest(Forest(trees, N_CATEGORIES), X)
    for t, tree in enumerate(trees):
        np.testing.assert_array_equal(applied[:, t], tree.apply(columns))


def test_new_rows_go_where_the_nodes_send_them(leaves_by_hand):
    _, _, trees = forest_of(0)
    new = mixed_table(np.random.default_rng(99), 500)
    new[::5, 2] = 37.0  # declared, but not seen in training
    new[::7, 3] = -1.0  # unknown
    new[::11, 3] = 3.0
    new[::13, 0] = np.nan
    new[::17, 1] = np.nan
    applied = apply_forest(Forest(trees, N_CATEGORIES), new)
    np.testing.assert_array_equal(applied.T, [leaves_by_hand(tree, new, N_CATEGORIES) for tree in trees])


def test_values_missing_or_unknown_at_prediction_only_go_with_the_heavier_child():
    X = np.column_stack([np.repeat([0.0, 1.0], [3, 9]), np.repeat([1.0, 0.0], [3, 9])])
    n_categories = np.array([0, 2], dtype=np.int32)
    y = np.repeat([0, 1], [3, 9]).astype(np.int32)
    control = TreeSettings(min_split=2, min_leaf=1, complexity=-1.0)
    ones = np.ones(12, dtype=np.int32)
    for columns, kinds in ((slice(0, 1), n_categories[:1]), (slice(1, 2), n_categories[1:])):
        tree = grow_tree(code_columns(X[:, columns], kinds), ClassTarget(y, 2), ones, control)
        forest = Forest([tree], kinds)
        shares = tree.shares()[apply_forest(forest, np.array([[np.nan], [np.nan]]))[:, 0]]
        assert shares.tolist() == [[0.0, 1.0], [0.0, 1.0]]
    for unknown in (-1.0, 2.0, 1e300):
        assert tree.shares()[apply_forest(forest, np.array([[unknown]]))[0, 0]].tolist() == [0.0, 1.0]


@pytest.mark.parametrize("n_rows", [150, 2 * SORTED_SAMPLES + 3, BLOCK_SAMPLES + 1_500])
def test_leaf_values_are_summed_over_the_trees(n_rows):
    _, _, trees = forest_of(1, n_trees=SORTING_TREES)
    X = mixed_table(np.random.default_rng(0), n_rows)
    forest = Forest(trees, N_CATEGORIES)
    values = of_leaves(trees, [(t + 1) * tree.shares() for t, tree in enumerate(trees)])
    applied = apply_forest(forest, X)
    expected = sum((t + 1) * tree.shares()[applied[:, t]] for t, tree in enumerate(trees))
    np.testing.assert_allclose(sum_leaf_values(forest, values, X), expected, rtol=1e-12)


def test_rows_without_categories_are_summed_in_any_order_of_theirs():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2 * SORTED_SAMPLES, 3))
    columns = code_columns(X)
    y = (X[:, 0] * X[:, 1] > 0).astype(np.int32)
    trees = [
        grow_tree(columns, ClassTarget(y, 2), rng.poisson(1.0, len(X)).astype(np.int32), TreeSettings(complexity=-1.0))
        for _ in range(SORTING_TREES)
    ]
    forest = Forest(trees, np.zeros(3, dtype=np.int32))
    values = of_leaves(trees, [tree.shares() for tree in trees])
    together = sum_leaf_values(forest, values, X)
    alone = np.concatenate([sum_leaf_values(forest, values, X[k : k + 1]) for k in range(0, len(X), 97)])
    np.testing.assert_array_equal(together[::97], alone)


def test_missing_values_of_one_block_do_not_reach_the_next(leaves_by_hand):
    """The samples that fill up the last group of a block keep the codes of the block before."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 5)), rng.integers(0, 3, 200).astype(np.int32)
    control = TreeSettings(min_split=2, min_leaf=1, complexity=-1.0)
    counts = rng.poisson(1.0, (SORTING_TREES, 200)).astype(np.int32)
    trees = [grow_tree(code_columns(X), ClassTarget(y, 3), drawn, control) for drawn in counts]
    forest = Forest(trees, np.zeros(5, dtype=np.int32))
    new = rng.normal(size=(BLOCK_SAMPLES + 3, 5))
    new[:BLOCK_SAMPLES] = np.nan
    applied = apply_forest(forest, new)
    np.testing.assert_array_equal(applied.T, [leaves_by_hand(tree, new, np.zeros(5, dtype=np.int32)) for tree in trees])
    values = of_leaves(trees, [tree.shares() for tree in trees])
    expected = sum(tree.shares()[applied[:, t]] for t, tree in enumerate(trees))
    np.testing.assert_allclose(sum_leaf_values(forest, values, new), expected, rtol=1e-12)


def test_trees_without_a_split_need_no_column():
    (tree,) = forest_of(5, n_trees=1, min_split=10**6)[2]
    assert apply_forest(Forest([tree], np.zeros(0, dtype=np.int32)), np.empty((3, 0))).tolist() == [[0]] * 3


def test_leaves_may_share_their_values():
    _, _, trees = forest_of(2)
    X = mixed_table(np.random.default_rng(0), 100)
    shares = np.concatenate([tree.shares() for tree in trees])
    is_leaf = np.concatenate([tree.nodes["feature"] < 0 for tree in trees])
    distinct, numbers = np.unique(shares[is_leaf], axis=0, return_inverse=True)
    assert len(distinct) < is_leaf.sum()
    leaf_numbers = np.full(len(is_leaf), -1, dtype=np.int32)
    leaf_numbers[is_leaf] = numbers.ravel()
    shared = sum_leaf_values(Forest(trees, N_CATEGORIES, leaf_numbers), distinct, X)
    np.testing.assert_array_equal(shared, sum_leaf_values(Forest(trees, N_CATEGORIES), shares[is_leaf], X))


@pytest.mark.parametrize("n_samples", [500_000 // SORTING_TREES + 1, 2 * BLOCK_SAMPLES + 5])
def test_threads_do_not_change_the_sums(n_samples):
    _, _, trees = forest_of(4, n_trees=SORTING_TREES)
    X = mixed_table(np.random.default_rng(0), n_samples)
    forest = Forest(trees, N_CATEGORIES)
    values = of_leaves(trees, [tree.shares() for tree in trees])
    alone = sum_leaf_values(forest, values, X), apply_forest(forest, X)
    shared = sum_leaf_values(forest, values, X, n_threads=3), apply_forest(forest, X, n_threads=3)
    for one, other in zip(alone, shared, strict=True):
        np.testing.assert_array_equal(one, other)


def test_trees_without_a_split():
    X, _, trees = forest_of(5, n_trees=3, min_split=10**6)
    assert [tree.n_leaves for tree in trees] == [1, 1, 1]
    assert (apply_forest(Forest(trees, N_CATEGORIES), X) == 0).all()


def test_splits_on_missing_alone_among_many_cuts():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 1))
    y = np.floor(8 * X[:, 0]).astype(np.int32) % 2
    missing = rng.random(400) < 0.3
    X[missing], y[missing] = np.nan, 2
    columns = code_columns(X)
    control = TreeSettings(min_split=2, min_leaf=1, complexity=-1.0)
    tree = grow_tree(columns, ClassTarget(y, 3), np.ones(400, dtype=np.int32), control)
    assert np.isinf(tree.nodes["threshold"]).any()
    forest = Forest([tree], np.zeros(1, dtype=np.int32))
    np.testing.assert_array_equal(apply_forest(forest, X)[:, 0], tree.apply(columns))
    np.testing.assert_array_equal(tree.vote(columns), y)


@pytest.mark.parametrize("max_bins", [5, 50])
def test_binned_values_end_in_the_leaves_of_their_bins(max_bins):
    rng = np.random.default_rng(6)
    X, y = rng.normal(size=(300, 2)), rng.integers(0, 2, 300).astype(np.int32)
    columns = code_columns(X, max_bins=max_bins)
    control = TreeSettings(min_split=2, min_leaf=1, complexity=-1.0)
    for seed in range(5):
        counts = np.random.default_rng(seed).poisson(0.3, 300).astype(np.int32)
        tree = grow_tree(columns, ClassTarget(y, 2), counts, control)
        applied = apply_forest(Forest([tree], np.zeros(2, dtype=np.int32)), X)[:, 0]
        np.testing.assert_array_equal(applied, tree.apply(columns))


def test_more_distinct_values_than_codes():
    rng = np.random.default_rng(7)
    X = rng.permuted(np.tile(np.arange(70_000.0), (3, 1)), axis=1).T
    X[:, 2] %= 1_000
    y = (X[:, 0] + X[:, 1] > 70_000).astype(np.int32)
    columns = code_columns(X)
    assert columns.n_codes.tolist() == [255, 255, 1_000]
    tree = grow_tree(columns, ClassTarget(y, 2), np.ones(70_000, dtype=np.int32), TreeSettings(complexity=-1.0))
    applied = apply_forest(Forest([tree], np.zeros(3, dtype=np.int32)), X)[:, 0]
    np.testing.assert_array_equal(applied, tree.apply(columns))
    assert np.mean(tree.values[applied].argmax(axis=1) == y) > 0.98


def test_votes_are_majorities_and_the_first_of_equal_classes():
    X = np.array([[0.0], [0.0], [0.0], [1.0], [1.0]])
    y = np.array([2, 2, 0, 2, 1], dtype=np.int32)
    control = TreeSettings(min_split=5, min_leaf=1, complexity=-1.0)
    columns = code_columns(X)
    tree = grow_tree(columns, ClassTarget(y, 3), np.ones(5, dtype=np.int32), control)
    assert tree.n_leaves == 2
    assert tree.vote(columns).tolist() == [2, 2, 2, 1, 1]
    _, columns, trees = forest_of(8)
    for tree in trees:
        np.testing.assert_array_equal(tree.vote(columns), tree.values.argmax(axis=1)[tree.apply(columns)])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    "arrange",
    [
        np.asfortranarray,
        lambda X: np.repeat(X, 2, axis=0)[::2],
        lambda X: np.ascontiguousarray(X[::-1])[::-1],
        lambda X: np.ascontiguousarray(X[:, ::-1])[:, ::-1],
        lambda X: np.frombuffer(b"x" + X.tobytes(), dtype=np.uint8)[1:].view(X.dtype).reshape(X.shape),
    ],
    ids=["Fortran", "every second sample", "samples backwards", "features backwards", "not aligned"],
)
def test_samples_may_lie_in_any_way(arrange, dtype):
    _, _, trees = forest_of(7)
    with np.errstate(over="ignore"):
        X = mixed_table(np.random.default_rng(0), 300).astype(dtype)
    forest, values = Forest(trees, N_CATEGORIES), of_leaves(trees, [tree.shares() for tree in trees])
    arranged = arrange(X)
    np.testing.assert_array_equal(arranged, X)
    if arranged.flags.owndata:
        arranged.flags.writeable = False
    np.testing.assert_array_equal(apply_forest(forest, arranged), apply_forest(forest, X.astype(np.float64)))
    np.testing.assert_array_equal(sum_leaf_values(forest, values, arranged), sum_leaf_values(forest, values, X))


def test_sparse_samples_are_made_dense_a_few_at_a_time(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 3)) * (rng.random((100, 3)) < 0.3)
    tree = grow_tree(
        code_columns(X), ClassTarget((X[:, 0] > 0).astype(np.int32), 2), np.ones(100, dtype=np.int32),
        TreeSettings(min_split=2, min_leaf=1),
    )  # fmt: skip
    forest = Forest([tree], np.zeros(3, dtype=np.int32))
    monkeypatch.setattr(forests, "DENSE_VALUES", 60)
    monkeypatch.setattr(sparse.csr_array, "toarray", refuse_long(sparse.csr_array.toarray))
    for matrix in (sparse.csr_array(X), sparse.csc_array(X)):
        np.testing.assert_array_equal(apply_forest(forest, matrix), apply_forest(forest, X))
        values = of_leaves([tree], [tree.shares()])
        np.testing.assert_array_equal(sum_leaf_values(forest, values, matrix), sum_leaf_values(forest, values, X))


def refuse_long(toarray):
    def convert(matrix):
        assert matrix.shape[0] <= 20
        return toarray(matrix)

    return convert


def test_some_samples_of_a_table_reach_the_leaves_that_they_reach_among_all():
    _, columns, trees = forest_of(3)
    chosen = np.array([5, 0, 149, 5, 77] * 4)
    for tree in trees:
        np.testing.assert_array_equal(tree.apply(columns, chosen), tree.apply(columns)[chosen])
        np.testing.assert_array_equal(tree.apply(columns.take(chosen)), tree.apply(columns)[chosen])


def test_a_sparse_table_sends_its_samples_where_a_dense_one_does():
    rng = np.random.default_rng(0)
    X = np.where(rng.random((300, 6)) < 0.2, rng.normal(size=(300, 6)).round(1), 0.0)
    X[rng.random(X.shape) < 0.02] = np.nan
    columns = code_columns(X)
    target = ClassTarget(rng.integers(0, 3, 300).astype(np.int32), 3)
    settings = TreeSettings(min_split=2, min_leaf=1, complexity=-1.0)
    tree = grow_tree(columns, target, np.ones(300, dtype=np.int32), settings)
    np.testing.assert_array_equal(tree.apply(code_entries(X)), tree.apply(columns))
    np.testing.assert_array_equal(tree.vote(code_entries(X)), tree.vote(columns))
    chosen = np.array([299, 3, 3])
    np.testing.assert_array_equal(tree.apply(code_entries(X), chosen), tree.apply(columns)[chosen])


class TestRefusals:
    @pytest.fixture
    def forest(self):
        return Forest(forest_of(0)[2], N_CATEGORIES)

    @pytest.mark.parametrize("X", [np.zeros((2, 3)), np.zeros((0, 5), dtype=np.float32)])
    def test_samples_with_another_number_of_features(self, forest, X):
        with pytest.raises(ValueError, match="X must have 4 columns, as the trees expect"):
            forest.apply(X)

    @pytest.mark.parametrize("X", [np.zeros(4), np.zeros((2, 4), dtype=int), [[0.0] * 4]])
    def test_samples_that_are_no_matrix_of_floats(self, forest, X):
        with pytest.raises(TypeError, match="X must be an array of float64 or float32 with 2 dimensions"):
            forest.apply(X)

    def test_values_of_too_few_leaves(self, forest):
        with pytest.raises(ValueError, match="leaf_values must have a row for each"):
            forest.sum_leaf_values(np.zeros((3, 1)), np.zeros((2, 4)))

    @pytest.mark.parametrize("change", [lambda n: n[:-1], lambda n: np.where(n == 0, -2, n)])
    def test_leaf_numbers_that_do_not_fit(self, change):
        trees = forest_of(0)[2]
        is_leaf = np.concatenate([tree.nodes["feature"] < 0 for tree in trees])
        numbers = np.where(is_leaf, np.cumsum(is_leaf) - 1, -1).astype(np.int32)
        Forest(trees, N_CATEGORIES, numbers)
        with pytest.raises(ValueError, match="leaf_numbers must"):
            Forest(trees, N_CATEGORIES, change(numbers).astype(np.int32))

    @pytest.mark.parametrize("n_categories", [[0, 0, 40], [0, 0, 0, 3], [0, 5, 40, 3], [0, 0, 400, 3]])
    def test_trees_of_other_features(self, n_categories):
        with pytest.raises(ValueError, match="A node of a tree"):
            Forest(forest_of(0)[2], np.array(n_categories, dtype=np.int32))

    @pytest.mark.parametrize("trees", [[None], [np.zeros(3)]])
    def test_something_that_is_no_tree(self, trees):
        with pytest.raises(TypeError, match="trees must hold trees"):
            Forest(trees, N_CATEGORIES)

    def test_a_table_with_other_columns(self):
        X, _, trees = forest_of(0)
        for use in (trees[0].apply, trees[0].vote):
            with pytest.raises(ValueError, match="A node of a tree"):
                use(code_columns(X[:, :2]))
            with pytest.raises(TypeError, match="table must be a Table or a SparseTable"):
                use(X)

    @pytest.mark.parametrize("samples", [[150], [-1]])
    def test_samples_that_a_table_does_not_have(self, samples):
        _, columns, trees = forest_of(0)
        with pytest.raises(ValueError, match="samples must hold numbers from 0 to 149"):
            trees[0].apply(columns, np.array(samples))
