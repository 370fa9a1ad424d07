"""Cost-complexity pruning by misclassified weight, as rpart does it."""

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine

from fuselearn._core import TreeSettings


def settings_with(complexity):
    return TreeSettings(min_split=2, min_leaf=1, complexity=complexity)


def rows_of(*groups):
    """Make rows from groups of (value, class, number of rows)."""
    values, classes, counts = map(np.array, zip(*groups, strict=True))
    return np.repeat(values, counts).astype(float)[:, None], np.repeat(classes, counts)


def smallest_best_subtree(tree, complexity):
    """Choose the subtree with the least (risk + worth of a split * number of splits), the smallest of equal ones."""
    risk = tree.nodes["weight"] - tree.values.max(axis=1)
    worth = complexity * risk[0]
    leaf_of = np.arange(len(tree.nodes))

    def cost(node):
        """Give the least cost of the subtree at a node, and its leaves."""
        left = tree.nodes["left"][node]
        if left < 0:
            return risk[node], [node]
        (left_cost, left_leaves), (right_cost, right_leaves) = cost(left), cost(left + 1)
        split_cost = left_cost + right_cost + worth
        return (risk[node], [node]) if risk[node] <= split_cost + 1e-9 else (split_cost, left_leaves + right_leaves)

    def fold(node, leaf):
        leaf_of[node] = leaf
        if tree.nodes["left"][node] >= 0:
            for child in (0, 1):
                fold(tree.nodes["left"][node] + child, leaf)

    _, leaves = cost(0)
    for leaf in leaves:
        fold(leaf, leaf)
    return leaf_of, len(leaves)


class TestByHand:
    # 30, 10, 4 and 2 rows of four classes, one after the other: 16 of 46 rows are wrong without a split. Cutting off
    # the first class corrects 10 of the 16, the second one 4 of them, and the last cut the remaining 2.
    X, y = rows_of((1, 0, 30), (2, 1, 10), (3, 2, 4), (4, 3, 2))

    def n_leaves(self, grow, complexity):
        return grow(self.X, self.y, settings_with(complexity))[1].n_leaves

    @pytest.mark.parametrize(
        ("complexity", "n_leaves"),
        [(-1.0, 4), (0.0, 4), (0.12, 4), (0.13, 3), (0.24, 3), (0.26, 2), (0.62, 2), (0.63, 1), (1.0, 1)],
    )
    def test_splits_go_one_by_one(self, grow, complexity, n_leaves):
        assert self.n_leaves(grow, complexity) == n_leaves

    def test_a_split_worth_exactly_the_complexity_goes(self, grow):
        assert self.n_leaves(grow, 0.25) == 2
        assert self.n_leaves(grow, np.nextafter(0.25, 0)) == 3

    def test_a_split_that_lowers_impurity_but_not_risk_goes_unless_pruning_is_off(self, grow):
        X, y = rows_of((0, 0, 10), (1, 0, 6), (1, 1, 4))
        assert grow(X, y, settings_with(-1.0))[1].n_leaves == 2
        assert grow(X, y, settings_with(0.0))[1].n_leaves == 1

    def test_a_useless_split_stays_if_those_below_it_are_worth_it(self, grow):
        # The first cut leaves class 0 ahead on both sides; together with the next one it removes 4 of 4 wrong rows.
        X, y = rows_of((0, 0, 9), (1, 1, 4), (2, 0, 5))
        assert grow(X, y, settings_with(0.49))[1].n_leaves == 3
        assert grow(X, y, settings_with(0.51))[1].n_leaves == 1

    def test_what_is_left_of_a_pruned_split_is_a_plain_leaf(self, grow):
        _, tree = grow(self.X, self.y, settings_with(0.45))
        leaf = tree.nodes[tree.nodes["feature"] < 0]
        for name in ("threshold", "gain"):
            assert (leaf[name] == 0).all()
        assert (leaf["left"] == -1).all()
        assert len(tree.nodes) == 2 * tree.n_leaves - 1


@pytest.mark.parametrize("complexity", [0.0, 0.002, 0.01, 0.03, 0.1, 0.3])
@pytest.mark.parametrize("seed", range(4))
def test_equals_the_smallest_subtree_of_least_cost(grow, seed, complexity):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(200, 3)), 1)
    y = np.digitize(X[:, 0] + 0.7 * rng.normal(size=200), [-0.5, 0.5])
    counts = rng.integers(0, 3, 200)
    columns, unpruned = grow(X, y, settings_with(-1.0), counts)
    _, pruned = grow(X, y, settings_with(complexity), counts)
    leaf_of, n_leaves = smallest_best_subtree(unpruned, complexity)
    assert pruned.n_leaves == n_leaves
    expected = unpruned.shares()[leaf_of[unpruned.apply(columns)]]
    np.testing.assert_array_equal(pruned.shares()[pruned.apply(columns)], expected)


def test_more_complexity_never_means_more_leaves(grow):
    X, y = load_wine(return_X_y=True)
    n_leaves = [grow(X, y, settings_with(c))[1].n_leaves for c in np.linspace(-0.01, 1, 60)]
    assert n_leaves == sorted(n_leaves, reverse=True)
    assert n_leaves[0] > n_leaves[-1] == 1


def test_rpart_defaults_prune_iris_to_three_leaves(grow):
    X, y = load_iris(return_X_y=True)
    assert grow(X, y, TreeSettings(complexity=-1.0))[1].n_leaves == 6
    assert grow(X, y, TreeSettings())[1].n_leaves == 3


def test_category_subsets_survive_pruning(grow):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 40, 400), rng.integers(0, 5, 400)]).astype(float)
    y = (rng.random(400) < np.where(X[:, 0] % 3 == 0, 0.9, 0.2)).astype(int)
    n_categories = np.array([40, 5], dtype=np.int32)
    columns, unpruned = grow(X, y, settings_with(-1.0), n_categories=n_categories)
    _, pruned = grow(X, y, settings_with(0.02), n_categories=n_categories)
    assert 1 < pruned.n_leaves < unpruned.n_leaves
    leaves = pruned.apply(columns)
    for node in np.unique(leaves):
        np.testing.assert_array_equal(np.bincount(y[leaves == node], minlength=2), pruned.values[node])
