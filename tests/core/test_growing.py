"""Grown trees against an exact search, against scikit-learn, against rpart, and against themselves."""

import json
import pickle
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_iris, load_wine
from sklearn.tree import DecisionTreeClassifier

from fuselearn._core import (
    NODE,
    ClassTarget,
    GrowingTree,
    LabelTarget,
    StoragePlan,
    TreeSettings,
    count_bins,
    merge_bins,
)
from fuselearn.learners.table import code_columns
from fuselearn.learners.trees import grow_tree, make_label_target
from fuselearn.scale.tasks import count_classes, descend, list_drawn

RPART = json.loads((Path(__file__).parent / "data" / "rpart.json").read_text())
seeds = st.integers(0, 2**32 - 1)
few = settings(max_examples=25)


def tied_table(rng, n_rows, n_columns, missing=0.0):
    """Make a table of few distinct values."""
    X = rng.integers(0, 5, size=(n_rows, n_columns)) / 4
    X[rng.random(X.shape) < missing] = np.nan
    return X


def partition(leaves):
    """Number leaves in the order of their first rows, so that partitions can be compared."""
    _, first, numbers = np.unique(leaves, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[numbers]


class TestAgainstExactSearch:
    @few
    @given(seeds, st.integers(2, 3), st.booleans())
    def test_categories_are_split_by_the_best_subset(self, grow, judge, seed, n_classes, has_missing):
        rng = np.random.default_rng(seed)
        X = rng.integers(0, 6, size=(30, 2)).astype(float)
        X[:, 1] = tied_table(rng, 30, 1)[:, 0]
        if has_missing:
            X[rng.random(X.shape) < 0.2] = np.nan
        y, counts = rng.integers(0, n_classes, 30), rng.integers(0, 3, 30)
        n_categories = np.array([6, 0], dtype=np.int32)
        columns, tree = grow(X, y, counts=counts, n_categories=n_categories, n_classes=n_classes)
        leaves = judge(tree, X, y, counts, n_categories=n_categories)
        np.testing.assert_array_equal(tree.apply(columns), leaves)


class TestFirstWins:
    def test_the_first_of_two_equal_columns(self, grow):
        x = np.repeat([0.0, 1.0], 4)
        _, tree = grow(np.column_stack([np.zeros(8), x, x]), np.repeat([0, 1], 4))
        assert tree.nodes["feature"].tolist() == [1, -1, -1]

    def test_the_first_of_two_equal_columns_with_a_category_between_them(self, grow):
        # The score of both cuts, 329 / 19, is no floating-point number; that of the category is worse.
        x = np.repeat([0.0, 1.0], [2, 19])
        X, n_categories = np.column_stack([x, np.arange(21) % 2, x]), np.array([0, 2, 0], dtype=np.int32)
        _, tree = grow(X, np.repeat([0, 1, 2, 3], [2, 1, 1, 17]), n_categories=n_categories)
        assert tree.nodes["feature"][0] == 0

    def test_the_first_of_two_equal_cuts(self, grow):
        # Cutting off the first or the last row is equally good.
        _, tree = grow(np.arange(4.0)[:, None], np.array([1, 0, 0, 1]))
        assert tree.nodes["threshold"][0] == 0.5

    def test_missing_values_go_right_if_both_sides_are_equally_good(self, grow):
        X = np.array([[0.0], [0.0], [1.0], [1.0], [np.nan], [np.nan]])
        _, tree = grow(X, np.array([0, 0, 1, 1, 0, 1]))
        assert not tree.nodes["missing_left"][0]


class TestCuts:
    def test_half_way_between_neighbors(self, grow):
        _, tree = grow(np.array([[1.0], [2.0], [5.0], [7.0]]), np.array([0, 0, 1, 1]))
        assert tree.nodes["threshold"][0] == 3.5

    def test_half_way_between_the_rows_that_were_drawn(self, grow):
        counts = np.array([1, 1, 0, 0, 1])
        columns, tree = grow(np.array([[1.0], [2.0], [3.0], [5.0], [6.0]]), np.array([0, 0, 0, 1, 1]), counts=counts)
        assert tree.nodes["threshold"][0] == 4.0
        assert tree.apply(columns).tolist() == [1, 1, 1, 2, 2]

    def test_neighboring_floating_point_numbers(self, grow):
        x = np.array([1.0, np.nextafter(1.0, 2.0)])
        _, tree = grow(np.repeat(x, 3)[:, None], np.repeat([0, 1], 3))
        assert x[0] < tree.nodes["threshold"][0] <= x[1]

    def test_the_largest_and_smallest_numbers(self, grow):
        for x in ([-1e308, 1e308], [1e308, 1.7e308], [0.0, 5e-324], [-5e-324, 0.0]):
            _, tree = grow(np.repeat(x, 3)[:, None], np.repeat([0, 1], 3))
            assert x[0] < tree.nodes["threshold"][0] <= x[1]

    def test_zero_and_minus_zero_are_one_value(self, grow):
        _, tree = grow(np.array([[0.0], [-0.0], [0.0], [-0.0]]), np.array([0, 1, 0, 1]))
        assert tree.n_leaves == 1

    def test_only_missing_values_on_the_right(self, grow):
        columns, tree = grow(np.array([[1.0], [1.0], [np.nan], [np.nan]]), np.array([0, 0, 1, 1]))
        assert np.isinf(tree.nodes["threshold"][0])
        assert tree.apply(columns).tolist() == [1, 1, 2, 2]


class TestPlainData:
    def test_one_row(self, grow):
        _, tree = grow(np.array([[1.0, 2.0]]), np.array([1]))
        assert tree.n_leaves == 1
        assert tree.depth == 0
        assert tree.shares().tolist() == [[0.0, 1.0]]

    def test_constant_and_empty_columns_are_passed_over(self, grow):
        X = np.column_stack([np.ones(6), np.full(6, np.nan), np.arange(6)])
        _, tree = grow(X, np.repeat([0, 1], 3))
        assert tree.nodes["feature"].tolist() == [2, -1, -1]

    def test_nothing_but_constant_and_empty_columns(self, grow):
        X = np.column_stack([np.ones(6), np.full(6, np.nan)])
        for table in (X, X[:, :1], X[:, 1:]):
            _, tree = grow(table, np.repeat([0, 1], 3))
            assert tree.n_leaves == 1

    def test_gain_is_the_impurity_removed(self, grow):
        # Gini 2 p (1 - p) of 8 rows, half and half, is worth 4 rows; of the parts 4|0 and 1|3, 0 and 1.5.
        X = np.array([0, 0, 0, 1, 1, 1, 1, 1.0])[:, None]
        y = np.array([0, 0, 0, 0, 1, 1, 1, 1])
        _, tree = grow(X, y, TreeSettings(min_split=2, min_leaf=1, max_depth=1, complexity=-1.0))
        gini = [8 * 2 * 0.5 * 0.5, 0.0, 5 * 2 * 0.2 * 0.8]
        assert tree.nodes["gain"][0] == pytest.approx(gini[0] - gini[1] - gini[2])

    def test_labels_that_nobody_or_everybody_has(self, grow):
        Y = np.array([[0, 1, 0], [0, 1, 0], [0, 1, 1], [0, 1, 1]])
        _, tree = grow(np.arange(4.0)[:, None], Y)
        assert tree.shares().tolist() == [[0, 1, 0.5], [0, 1, 0], [0, 1, 1]]

    def test_no_labels_at_all(self, grow):
        _, tree = grow(np.arange(4.0)[:, None], np.zeros((4, 2), dtype=int))
        assert tree.n_leaves == 1
        assert tree.shares().tolist() == [[0, 0]]


class TestCountsAndWeights:
    @pytest.fixture(scope="class")
    @classmethod
    def data(cls):
        rng = np.random.default_rng(3)
        X = np.round(rng.normal(size=(120, 4)), 1)
        return X, (X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=120) > 0).astype(int), rng.integers(0, 4, 120)

    limits = TreeSettings(min_split=12, min_leaf=4, complexity=0.01)

    def test_counts_equal_copies_of_rows(self, grow, data):
        X, y, counts = data
        columns, counted = grow(X, y, self.limits, counts)
        copies = np.repeat(np.arange(len(X)), counts)
        copied_columns, copied = grow(X[copies], y[copies], self.limits)
        np.testing.assert_array_equal(counted.values, copied.values)
        np.testing.assert_array_equal(counted.nodes["threshold"], copied.nodes["threshold"])
        np.testing.assert_array_equal(counted.apply(columns)[copies], copied.apply(copied_columns))

    def test_rows_with_count_zero_take_no_part(self, grow, data):
        X, y, counts = data
        _, with_zeros = grow(X, y, self.limits, (counts > 0).astype(int))
        _, without = grow(X[counts > 0], y[counts > 0], self.limits)
        np.testing.assert_array_equal(with_zeros.nodes["threshold"], without.nodes["threshold"])
        np.testing.assert_array_equal(with_zeros.values, without.values)

    def test_weights_equal_to_counts_give_the_counted_splits(self, grow, data, unlimited):
        X, y, counts = data
        columns, counted = grow(X, y, unlimited, counts)
        _, weighted = grow(X, y, unlimited, (counts > 0).astype(int), weights=counts.astype(float))
        for name in ("feature", "cut", "left"):
            np.testing.assert_array_equal(weighted.nodes[name], counted.nodes[name])
        np.testing.assert_allclose(weighted.nodes["weight"], counted.nodes["weight"])
        np.testing.assert_allclose(weighted.values, counted.values)
        np.testing.assert_array_equal(weighted.apply(columns), counted.apply(columns))

    def test_a_common_factor_of_all_weights_changes_nothing(self, grow, data):
        X, y, _ = data
        weights = np.random.default_rng(0).uniform(0.1, 3, len(X))
        _, tree = grow(X, y, self.limits, weights=weights)
        assert tree.n_leaves > 2
        for factor in (1e-6, 7.3, 1e9):
            _, scaled = grow(X, y, self.limits, weights=factor * weights)
            for name in ("feature", "cut", "left", "count", "threshold"):
                np.testing.assert_array_equal(scaled.nodes[name], tree.nodes[name])
            np.testing.assert_allclose(scaled.values, factor * tree.values)

    def test_limits_count_rows_and_not_weights(self, grow):
        X, y = np.arange(6.0)[:, None], np.repeat([0, 1], 3)
        limits = TreeSettings(min_split=6, min_leaf=3, complexity=-1.0)
        _, tree = grow(X, y, limits, weights=np.full(6, 0.5))
        assert tree.n_leaves == 2
        _, tree = grow(X[1:], y[1:], limits, weights=np.full(5, 100.5))
        assert tree.n_leaves == 1

    def test_weights_agree_with_scikit_learn(self, grow):
        rng = np.random.default_rng(5)
        X = rng.permuted(np.tile(np.arange(200.0), (3, 1)), axis=1).T
        y = (X[:, 0] + X[:, 1] + 40 * rng.normal(size=200) > 200).astype(int)
        weights = rng.uniform(0.2, 2, 200)
        columns, tree = grow(X, y, TreeSettings(min_split=20, min_leaf=7, complexity=-1.0), weights=weights)
        other = DecisionTreeClassifier(min_samples_split=20, min_samples_leaf=7, random_state=0).fit(X, y, weights)
        assert tree.n_leaves == other.get_n_leaves()
        shares = tree.shares()[tree.apply(columns)]
        np.testing.assert_allclose(shares, other.predict_proba(X), atol=1e-9)


class TestInvariances:
    @pytest.fixture(scope="class")
    @classmethod
    def data(cls):
        rng = np.random.default_rng(8)
        X = rng.normal(size=(150, 4))
        return X, np.argmax(X[:, :3] + 0.8 * rng.normal(size=(150, 3)), axis=1)

    limits = TreeSettings(min_split=10, min_leaf=3, complexity=-1.0)

    @pytest.fixture(scope="class")
    @classmethod
    def leaves(cls, grow, data):
        columns, tree = grow(*data, cls.limits)
        return partition(tree.apply(columns))

    @pytest.mark.parametrize("transform", [np.exp, np.cbrt, lambda x: 1e-200 * x, lambda x: 1e300 * x])
    def test_increasing_functions_of_a_column_leave_the_partition(self, grow, data, leaves, transform):
        X, y = data
        columns, tree = grow(transform(X), y, self.limits)
        np.testing.assert_array_equal(partition(tree.apply(columns)), leaves)

    def test_the_order_of_the_rows_does_not_matter(self, grow, data, leaves):
        X, y = data
        order = np.random.default_rng(0).permutation(len(X))
        columns, tree = grow(X[order], y[order], self.limits)
        back = np.argsort(order)
        np.testing.assert_array_equal(partition(tree.apply(columns)[back]), leaves)

    def test_the_numbering_of_the_classes_does_not_matter(self, grow, data, leaves):
        X, y = data
        columns, tree = grow(X, np.array([2, 0, 1])[y], self.limits)
        np.testing.assert_array_equal(partition(tree.apply(columns)), leaves)

    def test_the_layout_and_precision_of_the_table_do_not_matter(self, grow, data, assert_same_tree):
        X, y = data
        X = X.astype(np.float32)
        _, tree = grow(X, y, self.limits)
        for table in (X.astype(np.float64), np.asfortranarray(X)):
            assert_same_tree(grow(table, y, self.limits)[1], tree)

    def test_one_hot_labels_give_the_multi_class_tree(self, grow, data, leaves):
        X, y = data
        columns, tree = grow(X, np.eye(3, dtype=int)[y], self.limits)
        np.testing.assert_array_equal(partition(tree.apply(columns)), leaves)


class TestAgainstScikitLearn:
    """scikit-learn draws the order of columns; with distinct values and many different counts that does not matter."""

    @pytest.mark.parametrize("n_classes", [2, 3])
    @pytest.mark.parametrize(("min_leaf", "max_depth"), [(1, 6), (4_000, 30), (10_000, 30)])
    @pytest.mark.parametrize("n_rows", [150, pytest.param(1_999, marks=pytest.mark.slow), 6_000])
    def test_leaves_and_training_probabilities(self, grow, n_rows, min_leaf, max_depth, n_classes):
        self.compare(grow, n_rows, min_leaf, max_depth, n_classes)

    def test_large_data_in_branches_and_threads(self, grow):
        self.compare(grow, 60_000, 50_000, 30, 3, n_threads=2)

    def compare(self, grow, n_rows, min_leaf, max_depth, n_classes, **kwargs):
        rng = np.random.default_rng(n_rows + n_classes)
        X = rng.permuted(np.tile(np.arange(n_rows), (4, 1)), axis=1).T.astype(np.float32)
        y = (X[:, :n_classes] / n_rows + 0.5 * rng.normal(size=(n_rows, n_classes))).argmax(axis=1)
        counts = rng.integers(1, 1_000, n_rows)
        limits = TreeSettings(min_split=2 * min_leaf, min_leaf=min_leaf, max_depth=max_depth, complexity=-1.0)
        columns, tree = grow(X, y, limits, counts, **kwargs)
        other = DecisionTreeClassifier(
            min_weight_fraction_leaf=(min_leaf - 0.5) / counts.sum(), max_depth=max_depth, random_state=0
        ).fit(X, y, sample_weight=counts)
        assert tree.n_leaves == other.get_n_leaves() > 1
        assert tree.depth == other.get_depth()
        shares = tree.shares()[tree.apply(columns)]
        np.testing.assert_allclose(shares, other.predict_proba(X), atol=1e-12)


class TestAgainstRpart:
    """rpart's class probabilities on data that scikit-learn bundles; ``counts`` is a sample drawn with replacement."""

    @pytest.mark.parametrize("sample", ["full", "sample"])
    @pytest.mark.parametrize(("pruning", "complexity"), [("unpruned", -1.0), ("default", 0.01)])
    @pytest.mark.parametrize("load", [load_iris, load_wine])
    def test_every_row_agrees(self, grow, load, pruning, complexity, sample):
        X, y = load(return_X_y=True)
        rpart = RPART[load.__name__.removeprefix("load_")]
        expected = rpart[f"{pruning} {sample}"]
        counts = np.array(list(rpart["counts"]), dtype=int) if sample == "sample" else None
        columns, tree = grow(X, y, TreeSettings(complexity=complexity), counts)
        leaf = ["abcdefghijklmnopqrstuvwxyz".index(letter) for letter in expected["rows"]]
        shares = tree.shares()[tree.apply(columns)]
        np.testing.assert_allclose(shares, np.array(expected["leaves"])[leaf], atol=1e-6)


class TestWaysOfGrowing:
    @pytest.fixture(scope="class")
    @classmethod
    def data(cls):
        rng = np.random.default_rng(1)
        X = np.round(rng.normal(size=(5_000, 5)), 1)
        X[:, 3] = rng.integers(0, 40, 5_000)
        X[:, 4] = rng.integers(0, 7, 5_000)
        X[rng.random(X.shape) < 0.05] = np.nan
        noisy = np.nan_to_num(X[:, 0]) + (X[:, 3] % 3 == 0) + (X[:, 4] == 5) + 0.5 * rng.normal(size=5_000)
        y = np.digitize(noisy, [0.2, 1.2])
        return X, y, rng.integers(0, 3, 5_000), np.array([0, 0, 0, 40, 7], dtype=np.int32)

    limits = TreeSettings(complexity=-1.0)

    @pytest.mark.parametrize("correct_for_chance", [False, True])
    @pytest.mark.parametrize("max_features", [2**31 - 1, 2])
    def test_all_storages_give_the_same_tree(self, grow, data, assert_same_tree, max_features, correct_for_chance):
        X, y, counts, n_categories = data
        limits = self.limits.replace(max_features=max_features, correct_for_chance=correct_for_chance)
        _, expected = grow(X, y, limits, counts, n_categories, seed=5, plan=StoragePlan(most_presorted=10**9))
        assert expected.n_leaves > 50
        plans = [
            *(StoragePlan(most_presorted=0, least_histogram=small_node) for small_node in (1, 64, 1_000)),
            StoragePlan(most_presorted=0, least_branch=10, n_branches=12),
            StoragePlan(most_presorted=10**9, most_sorted=100),
            StoragePlan(most_presorted=10**9, times_as_many=0),
            StoragePlan(most_presorted=10**9, times_as_many=0, samples_per_code=1e9),
        ]
        for plan in plans:
            _, tree = grow(X, y, limits, counts, n_categories, seed=5, plan=plan)
            assert_same_tree(tree, expected)

    @pytest.mark.parametrize("n_copies", [1, 1_000])
    def test_copies_do_not_bound_the_number_of_branches(self, grow, assert_same_tree, n_copies):
        """400 samples in 1,000 copies each hold 400 leaves of 1,000 copies, not the one that 400 // 1,000 allows."""
        rng = np.random.default_rng(0)
        X, y = rng.integers(0, 100, (400, 2)) / 4, rng.integers(0, 3, 400)
        limits = TreeSettings(min_split=2, min_leaf=n_copies, max_depth=50, complexity=-1.0)
        _, expected = grow(X, y, limits, np.full(400, n_copies))
        plan = StoragePlan(most_presorted=0, least_branch=1, n_branches=100, least_histogram=1, samples_per_code=0.0)
        _, tree = grow(X, y, limits, np.full(400, n_copies), plan=plan)
        assert expected.n_leaves > 100
        assert_same_tree(tree, expected)

    @pytest.mark.parametrize("n_values", [50, 5_000, 60_000])
    def test_nodes_of_all_sizes_are_sorted(self, grow, assert_same_tree, n_values):
        rng = np.random.default_rng(0)
        X = rng.integers(n_values, size=(3_000, 8)).astype(float)
        X[rng.random(X.shape) < 0.05] = np.nan
        Y = np.column_stack([X[:, 3] > n_values / 2, rng.random((3_000, 2)) < 0.3]).astype(int)
        limits = TreeSettings(min_split=2, min_leaf=1, max_depth=50, complexity=-1.0, max_features=2)
        trees = [grow(X, Y, limits, plan=StoragePlan(times_as_many=times))[1] for times in (4, 99)]
        assert_same_tree(*trees)

    @pytest.mark.parametrize("max_features", [2**31 - 1, 2])
    def test_threads_do_not_change_the_tree(self, grow, data, assert_same_tree, max_features):
        X, y, counts, n_categories = data
        limits, plan = self.limits.replace(max_features=max_features), StoragePlan(least_branch=10)
        trees = [grow(X, y, limits, counts, n_categories, n_threads=n, plan=plan)[1] for n in (1, 3)]
        assert_same_tree(*trees)

    def test_no_limit_on_the_depth_of_a_large_tree(self, grow):
        # A limit of two thousand million levels must not be provided for in memory.
        rng = np.random.default_rng(0)
        X, y = rng.normal(size=(30_000, 6)), rng.integers(0, 2, 30_000)
        limits = TreeSettings(min_leaf=500, max_depth=2**31 - 1, complexity=-1.0)
        _, tree = grow(X, y, limits)
        assert tree.n_leaves > 2


class TestRandomChoices:
    @pytest.fixture(scope="class")
    @classmethod
    def data(cls):
        rng = np.random.default_rng(2)
        X = np.round(rng.normal(size=(200, 6)), 1)
        return X, (X[:, 0] + X[:, 1] + rng.normal(size=200) > 0).astype(int)

    @pytest.mark.parametrize("choice", [{"max_features": 2}, {"random_cuts": True}])
    def test_the_seed_decides(self, grow, data, unlimited, choice, assert_same_tree):
        limits = unlimited.replace(**choice)
        _, tree = grow(*data, limits, seed=1)
        _, again = grow(*data, limits, seed=1)
        _, other = grow(*data, limits, seed=2)
        assert_same_tree(tree, again)
        assert not np.array_equal(tree.nodes["threshold"], other.nodes["threshold"])

    def test_without_random_choices_the_seed_is_of_no_account(self, grow, data, unlimited, assert_same_tree):
        assert_same_tree(grow(*data, unlimited, seed=1)[1], grow(*data, unlimited, seed=2)[1])

    def test_looking_at_one_column_per_node_still_separates_distinct_rows(self, grow, unlimited):
        rng = np.random.default_rng(0)
        X, y = rng.permuted(np.tile(np.arange(100.0), (3, 1)), axis=1).T, rng.integers(0, 2, 100)
        for seed in range(5):
            columns, tree = grow(X, y, unlimited.replace(max_features=1), seed=seed)
            np.testing.assert_array_equal(tree.shares()[tree.apply(columns)].argmax(axis=1), y)

    def test_every_column_has_its_turn_at_the_root(self, grow, unlimited):
        rng = np.random.default_rng(0)
        X, y = rng.normal(size=(100, 5)), rng.integers(0, 2, 100)
        limits = unlimited.replace(max_features=1)
        roots = [grow(X, y, limits, seed=seed)[1].nodes["feature"][0] for seed in range(500)]
        # 100 expected for each column, with a standard deviation of 9.
        assert np.abs(np.bincount(roots, minlength=5) - 100).max() < 40

    def test_constant_columns_do_not_count_as_looked_at(self, grow, unlimited):
        X = np.column_stack([np.zeros((20, 9)), np.arange(20)])
        for seed in range(5):
            _, tree = grow(X, np.repeat([0, 1], 10), unlimited.replace(max_features=1), seed=seed)
            assert tree.nodes["feature"].tolist() == [9, -1, -1]

    def test_random_cuts_are_uniform_between_the_smallest_and_the_largest_value(self, grow):
        # The values are squares, so half of the range lies above the 71st of 100.
        X, y = np.square(np.arange(101.0))[:, None], np.arange(101) % 2
        limits = TreeSettings(min_split=2, min_leaf=1, max_depth=1, complexity=-1.0, random_cuts=True)
        thresholds = [grow(X, y, limits, seed=seed)[1].nodes["threshold"][0] for seed in range(400)]
        assert 0.4 < np.mean(np.array(thresholds) > 5_000) < 0.6

    def test_random_cuts_take_missing_values_and_categories(self, grow, data, unlimited):
        X, y = data
        X = X.copy()
        X[::7, 0] = np.nan
        X[:, 1] = np.arange(200) % 5
        n_categories = np.array([0, 5, 0, 0, 0, 0], dtype=np.int32)
        columns, tree = grow(X, y, unlimited.replace(random_cuts=True), n_categories=n_categories, seed=3)
        assert set(tree.nodes["feature"]) >= {0, 1}
        leaves = tree.apply(columns)
        for node in np.unique(leaves):
            np.testing.assert_array_equal(np.bincount(y[leaves == node], minlength=2), tree.values[node])


ALL = 2**31 - 1


class Problem(NamedTuple):
    """A table, what is to be learned from it, and how."""

    X: np.ndarray
    n_categories: np.ndarray
    y: np.ndarray
    n_classes: int
    counts: np.ndarray
    settings: TreeSettings
    seed: int

    @property
    def has_labels(self):
        return self.y.ndim == 2

    @property
    def target(self):
        return make_label_target(self.y) if self.has_labels else ClassTarget(self.y, self.n_classes)

    def grow(self, columns, **plan):
        return grow_tree(columns, self.target, self.counts, self.settings, seed=self.seed, plan=StoragePlan(**plan))


@st.composite
def problems(draw, widths, may_have_categories):
    """Draw small tables with ties, gaps, constant and empty columns, and samples with few and many copies."""
    seed, n_rows, n_columns = draw(st.integers(0, 10_000)), draw(st.integers(1, 40)), draw(st.sampled_from(widths))
    rng = np.random.default_rng(seed)
    X = rng.integers(0, draw(st.sampled_from([2, 5, 100])), (n_rows, n_columns)) / 4
    n_categories = np.zeros(n_columns, dtype=np.int32)
    if may_have_categories and draw(st.booleans()):
        n_categories[::2] = 6
        X[:, ::2] = rng.integers(0, 6, X[:, ::2].shape)
    X[rng.random(X.shape) < draw(st.sampled_from([0.0, 0.3]))] = np.nan
    for value in (1.0, np.nan):
        X[:, rng.random(n_columns) < draw(st.sampled_from([0.0, 0.3]))] = value
    n_classes = draw(st.sampled_from([1, 2, 3, 17]))
    has_labels = draw(st.booleans())
    y = rng.random((n_rows, n_classes)) < 0.3 if has_labels else rng.integers(0, n_classes, n_rows)
    copies = draw(st.sampled_from([1, 1, 40, 100_000]))
    chosen = TreeSettings(
        min_split=draw(st.sampled_from([2, 5, 5 * copies])),
        min_leaf=draw(st.sampled_from([1, 3, 2 * copies])),
        max_depth=draw(st.sampled_from([1, 3, ALL])),
        complexity=-1.0,
        max_features=draw(st.sampled_from([1, 2, ALL])),
        random_cuts=draw(st.booleans()),
        correct_for_chance=draw(st.booleans()),
    )
    counts = copies * rng.integers(0, 4, n_rows)
    counts[0] = max(counts[0], copies)
    return Problem(X, n_categories, y.astype(np.int32), n_classes, counts.astype(np.int32), chosen, seed)


def grow_plainly(problem):
    """Grow a tree on samples that are kept sorted by all features."""
    columns = code_columns(problem.X, problem.n_categories)
    return columns, problem.grow(columns, times_as_many=10**6)


def grow_otherwise(problem):
    """Grow the same tree in all other ways that are for a problem like this."""
    columns = code_columns(problem.X, problem.n_categories)
    yield "samples gathered in each node", problem.grow(columns, times_as_many=0)
    yield "samples gathered and never counted", problem.grow(columns, times_as_many=0, samples_per_code=1e9)
    yield "samples gathered above sorted ones", problem.grow(columns, times_as_many=10**6, most_sorted=6)
    if not problem.has_labels:
        yield "levels, samples in three places", grow_in_places(problem, columns)
        wide = columns.with_codes(columns.codes.astype(np.uint16))
        counted = {"most_presorted": 0, "times_as_many": 10**6, "samples_per_code": 0.0}
        yield "histograms", problem.grow(wide, **counted, least_histogram=1)
        yield "histograms above sorted samples", problem.grow(columns, **counted, least_histogram=6)
        yield "branches", problem.grow(columns, **counted, least_histogram=1, n_branches=5, least_branch=1)


def grow_in_places(problem, columns):
    """Grow a tree level by level from the counts of three places, one of which may be empty."""
    places = np.array_split(np.arange(len(problem.y)), sorted([problem.seed % 7, problem.seed % 11]))
    coded = [(columns.codes[samples], np.arange(len(columns.n_codes)), columns.n_codes) for samples in places]
    targets = [problem.y[samples] for samples in places]
    drawn = [list_drawn(problem.counts[samples]) for samples in places]
    totals = sum(count_classes(own, y, problem.n_classes) for own, y in zip(drawn, targets, strict=True))
    most_kept = (0, 60, 10**6)[problem.seed % 3]  # counts of parents are never, sometimes or always subtracted from
    growing_tree = GrowingTree(columns, totals, problem.settings, problem.seed, most_kept)
    squared = problem.settings.correct_for_chance and columns.is_category is not None
    while not growing_tree.has_grown:
        for nodes in growing_tree.rounds(1 + problem.seed % 100):
            counted = [
                count_bins(*own, *codes, y, problem.n_classes, growing_tree.counted_nodes(*nodes), squared)
                for own, codes, y in zip(drawn, coded, targets, strict=True)
            ]
            growing_tree.split(*nodes, pickle.loads(pickle.dumps(merge_bins(counted[::-1]))))
        splits = pickle.loads(pickle.dumps(growing_tree.end_level()))
        drawn = [descend(own, *codes, splits) for own, codes in zip(drawn, coded, strict=True)]
    return growing_tree.finish()


def list_nodes(tree, n_codes, node=0):
    """List nodes from the root on, left before right."""
    record = tree.nodes[node]
    split = tuple(record[name] for name in ("feature", "threshold", "missing_left", "heavier_left", "count", "weight"))
    words = []
    if record["is_category"]:
        words = tree.subsets[record["cut"] : record["cut"] + (n_codes[record["feature"]] + 31) // 32].tolist()
    listed = [(*split, words, tree.values[node].tolist())]
    if record["feature"] >= 0:
        for child in (record["left"], record["left"] + 1):
            listed += list_nodes(tree, n_codes, child)
    return listed


def check_growers(problem):
    columns, expected = grow_plainly(problem)
    listed = list_nodes(expected, columns.n_codes)
    for name, tree in grow_otherwise(problem):
        assert list_nodes(tree, columns.n_codes) == listed, name
        for field in NODE.names:  # in the same places, though growers make them in different orders
            np.testing.assert_array_equal(tree.nodes[field], expected.nodes[field], name)


def check_plain_grower(judge, problem):
    columns, tree = grow_plainly(problem)
    leaves = judge(tree, problem.X, problem.y, problem.counts, problem.settings, seed=problem.seed)
    np.testing.assert_array_equal(tree.apply(columns), leaves)


def check_weights(judge, problem, scale):
    """Weights need not be counts, or anywhere near them."""
    weights = scale * np.random.default_rng(problem.seed).exponential(size=len(problem.X)).round(1) + 1e-300
    columns = code_columns(problem.X)
    tree = grow_tree(columns, problem.target, problem.counts, problem.settings, weights=weights, seed=problem.seed)
    judge(tree, problem.X, problem.y, problem.counts, problem.settings, weights=weights, seed=problem.seed)


narrow = problems(range(1, 6), False)
wide = problems([1, 2, 5, 15, 16, 17, 33], True)
scales = st.sampled_from([1e-6, 1.0, 1e9])


@settings(max_examples=60)
@given(narrow)
def test_the_plain_grower_finds_the_best_splits(judge, problem):
    check_plain_grower(judge, problem)


@settings(max_examples=80)
@given(wide)
def test_all_growers_grow_the_plain_tree(problem):
    check_growers(problem)


def test_what_was_constant_in_one_branch_is_not_in_the_next():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (400, 8)) / 4
    y = rng.integers(0, 2, 400).astype(np.int32)
    chosen = TreeSettings(min_split=2, min_leaf=1, max_depth=ALL, complexity=-1.0, max_features=2)
    no_categories = np.zeros(8, dtype=np.int32)
    check_growers(Problem(X, no_categories, y, 2, np.ones(400, dtype=np.int32), chosen, 0))


@settings(max_examples=40)
@given(narrow.filter(lambda problem: not problem.has_labels), scales)
def test_weighted_samples_are_split_best(judge, problem, scale):
    check_weights(judge, problem, scale)


@pytest.mark.slow
@settings(max_examples=1_000)
@given(narrow)
def test_the_plain_grower_finds_the_best_splits_of_many_tables(judge, problem):
    check_plain_grower(judge, problem)


@pytest.mark.slow
@settings(max_examples=1_000)
@given(wide)
def test_all_growers_grow_the_plain_tree_on_many_tables(problem):
    check_growers(problem)


@pytest.mark.slow
@settings(max_examples=500)
@given(narrow, scales)
def test_weighted_samples_of_many_tables_are_split_best(judge, problem, scale):
    check_weights(judge, problem, scale)


@pytest.mark.parametrize("kind", [bool, np.int64, np.float32])
def test_labels_may_be_of_any_type(grow, assert_same_tree, kind):
    Y, X = np.array([[1, 0], [0, 0], [1, 1]]), np.arange(3.0)[:, None]
    assert_same_tree(grow(X, Y.astype(kind))[1], grow(X, Y)[1])


def test_classes_and_labels_are_checked():
    with pytest.raises(ValueError, match=r"classes must hold numbers from 0 to 1 only\."):
        ClassTarget(np.array([0, 2], dtype=np.int32), 2)
    with pytest.raises(TypeError, match=r"classes must be an array of int32 with 1 dimension, not an array of int64"):
        ClassTarget(np.array([0, 1]), 2)
    with pytest.raises(ValueError, match=r"starts must rise from 0 to the number of labels\."):
        LabelTarget(np.array([0, 2, 1]), np.array([0], dtype=np.int32), 1)


def test_each_label_is_predicted_by_its_share(grow):
    Y = np.array([[1, 0], [1, 1], [0, 1], [0, 1]])
    X = np.array([[0.0], [0.0], [1.0], [1.0]])
    _, tree = grow(X, Y)
    assert tree.shares().tolist() == [[0.5, 0.75], [1.0, 0.5], [0.0, 1.0]]


def test_the_risk_of_labels_is_the_sum_of_their_minorities(grow):
    # Root: 6 rows, label 0 in 3 of them and label 1 in 2, so 3 + 2 wrong (row, label) pairs. The cut in the middle
    # makes label 0 certain and leaves 1 + 1 pairs wrong: it removes 3 of 5.
    X = np.array([[0.0], [0.0], [0.0], [1.0], [1.0], [1.0]])
    Y = np.array([[1, 1], [1, 0], [1, 0], [0, 1], [0, 0], [0, 0]])
    for complexity, n_leaves in ((0.59, 2), (0.61, 1)):
        _, tree = grow(X, Y, TreeSettings(min_split=2, min_leaf=1, complexity=complexity))
        assert tree.n_leaves == n_leaves
