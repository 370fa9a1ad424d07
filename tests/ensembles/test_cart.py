"""The tree's public face."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.datasets import load_iris, load_wine
from sklearn.exceptions import NotFittedError
from sklearn.tree import DecisionTreeClassifier

from fuselearn import BaggedClassifier, CARTClassifier, KFHEClassifier, SVMClassifier
from fuselearn.learners import bind, class_target, trees
from fuselearn.multilabel import BinaryRelevanceClassifier

X, y = load_wine(return_X_y=True)


class TestFittedTree:
    @pytest.fixture(scope="class")
    @classmethod
    def tree(cls):
        return CARTClassifier().fit(X, y)

    def test_rows_of_a_leaf_share_its_class_frequencies(self, tree):
        leaves = tree.apply(X)
        probabilities = tree.predict_proba(X)
        assert len(np.unique(leaves)) == tree.get_n_leaves() == 5
        for leaf in np.unique(leaves):
            frequencies = np.bincount(y[leaves == leaf], minlength=3) / np.sum(leaves == leaf)
            np.testing.assert_allclose(probabilities[leaves == leaf], np.tile(frequencies, (np.sum(leaves == leaf), 1)))
        np.testing.assert_array_equal(tree.predict(X), probabilities.argmax(axis=1))

    def test_depth_is_that_of_the_deepest_leaf(self, tree):
        nodes = tree.tree_.nodes

        def depth(node):
            return 0 if nodes["feature"][node] < 0 else 1 + max(depth(nodes["left"][node] + side) for side in (0, 1))

        assert tree.get_depth() == depth(0)

    def test_importances_are_shares_of_the_impurity_removed(self):
        limits = {"min_samples_split": 20, "min_samples_leaf": 7}
        ours = CARTClassifier(complexity=None, **limits).fit(X, y)
        other = DecisionTreeClassifier(random_state=0, **limits).fit(X, y)
        assert ours.get_n_leaves() == other.get_n_leaves()
        assert ours.feature_importances_.sum() == pytest.approx(1.0)
        # The two break ties between columns differently in one small node.
        np.testing.assert_allclose(ours.feature_importances_, other.feature_importances_, atol=0.02)

    def test_no_split_has_no_importances(self):
        tree = CARTClassifier().fit(np.zeros((30, 2)), np.arange(30) % 2)
        assert tree.feature_importances_.tolist() == [0.0, 0.0]


class TestExport:
    def test_numbers(self):
        tree = CARTClassifier(min_samples_split=2).fit([[0.0], [0.0], [1.0], [1.0]], ["no", "no", "yes", "yes"])
        assert tree.export_text() == "x[0] < 0.5: class no (2 of 2)\nx[0] >= 0.5: class yes (2 of 2)"
        assert tree.export_text(decimals=0).startswith("x[0] < 0:")

    def test_categories_and_nesting(self):
        frame = pd.DataFrame({"colour": ["red", "blue", "green", "red"] * 5, "size": [1.0, 2.0, 1.0, 3.0] * 5})
        tree = CARTClassifier(min_samples_split=2).fit(frame, ["a", "b", "c", "d"] * 5)
        text = tree.export_text()
        for class_name in "abcd":
            assert f"class {class_name} (5 of 5)" in text
        assert "colour in {" in text
        assert "\n  " in text

    def test_missing_values(self):
        tree = CARTClassifier(min_samples_split=2).fit([[1.0], [1.0], [np.nan], [np.nan]], [0, 0, 1, 1])
        assert tree.export_text() == "x[0] is not missing: class 0 (2 of 2)\nx[0] is missing: class 1 (2 of 2)"

    def test_a_single_leaf(self):
        assert CARTClassifier().fit([[0.0], [1.0], [2.0]], [0, 1, 1]).export_text() == "class 1 (2 of 3)"


class TestLimits:
    @pytest.mark.parametrize(("min_samples_split", "smallest"), [(2, 1), (10, 3), (20, 7), (30, 10)])
    def test_the_smallest_leaf_is_a_third_of_the_smallest_split(self, min_samples_split, smallest):
        rng = np.random.default_rng(0)
        data, labels = rng.normal(size=(500, 3)), rng.integers(0, 2, 500)
        tree = CARTClassifier(min_samples_split=min_samples_split, complexity=None).fit(data, labels)
        assert np.bincount(tree.apply(data))[np.unique(tree.apply(data))].min() == smallest

    def test_max_depth(self):
        for depth in (1, 2, 3):
            assert CARTClassifier(max_depth=depth, complexity=None, min_samples_split=2).fit(X, y).get_depth() == depth

    def test_no_limit_on_the_depth(self):
        # Target alternate along one column, so each cut takes off one row.
        data, labels = np.arange(200.0)[:, None], np.arange(200) % 2
        tree = CARTClassifier(max_depth=None, min_samples_split=2, complexity=None).fit(data, labels)
        assert tree.get_n_leaves() == 200
        assert tree.get_depth() > 30
        assert CARTClassifier(min_samples_split=2, complexity=None).fit(data, labels).get_depth() == 30

    def test_complexity(self):
        leaves = [CARTClassifier(complexity=c).fit(X, y).get_n_leaves() for c in (None, 0.01, 0.2, 1.0)]
        assert leaves == [8, 5, 3, 1]

    def test_max_bins(self):
        rng = np.random.default_rng(0)
        data = rng.normal(size=(300, 1))
        labels = (data[:, 0] > 1.0).astype(int)
        exact = CARTClassifier().fit(data, labels)
        coarse = CARTClassifier(max_bins=2).fit(data, labels)
        assert exact.score(data, labels) == 1.0
        assert coarse.get_n_leaves() <= 2
        assert coarse.score(data, labels) < 1.0


class TestRandomness:
    def train(self, seed, **kwargs):
        tree = CARTClassifier(min_samples_split=2, complexity=None, random_state=seed, **kwargs)
        return tree.fit(X, y).tree_.nodes["threshold"].tolist()

    @pytest.mark.parametrize("choice", [{"max_features": 2}, {"max_features": "sqrt"}, {"splitter": "random"}])
    def test_the_seed_decides(self, choice):
        assert self.train(1, **choice) == self.train(1, **choice)
        assert self.train(1, **choice) != self.train(2, **choice)

    def test_all_columns_leave_nothing_to_chance(self):
        assert self.train(1) == self.train(2) == self.train(None, max_features=1.0)

    def test_random_states_of_all_kinds(self):
        for make in (np.random.RandomState, np.random.default_rng):
            assert self.train(make(0), max_features=1) == self.train(make(0), max_features=1)


class TestSampleWeight:
    counts = np.random.default_rng(0).integers(0, 4, len(y))

    def test_other_weights_are_shares(self):
        weights = self.counts + 0.25
        tree = CARTClassifier().fit(X, y, sample_weight=weights)
        scaled = CARTClassifier().fit(X, y, sample_weight=8.5 * weights)
        np.testing.assert_allclose(scaled.predict_proba(X), tree.predict_proba(X))
        leaves = tree.apply(X)
        for leaf in np.unique(leaves):
            shares = np.bincount(y[leaves == leaf], weights=weights[leaves == leaf], minlength=3)
            np.testing.assert_allclose(tree.predict_proba(X)[leaves == leaf][0], shares / shares.sum())


class TestClassWeight:
    X, y = load_iris(return_X_y=True)
    y = np.where(np.random.default_rng(0).random(150) < 0.2, 0, y)
    names = np.array(["a", "b", "c"])[y]

    def test_a_dict_is_a_sample_weight(self):
        weights = {"a": 0.5, "b": 3.0, "c": 0.0}
        by_class = CARTClassifier(class_weight=weights).fit(self.X, self.names)
        by_sample = CARTClassifier().fit(self.X, self.names, sample_weight=[weights[name] for name in self.names])
        np.testing.assert_array_equal(by_class.predict_proba(self.X), by_sample.predict_proba(self.X))

    def test_balanced_classes_have_the_same_weight_in_the_root(self):
        tree = CARTClassifier(class_weight="balanced").fit(self.X, self.names).tree_
        np.testing.assert_allclose(tree.shares()[0], 1 / 3, rtol=1e-6)

    def test_it_is_multiplied_by_sample_weights(self):
        given = np.random.default_rng(0).random(150)
        by_class = CARTClassifier(class_weight={"b": 3.0}).fit(self.X, self.names, given)
        by_sample = CARTClassifier().fit(self.X, self.names, given * np.where(self.names == "b", 3.0, 1.0))
        np.testing.assert_array_equal(by_class.predict_proba(self.X), by_sample.predict_proba(self.X))

    def test_samples_stay_copies_if_they_were(self):
        """A sample of weight 3 is three samples, whatever its class counts."""
        copied = np.repeat(np.arange(150), 3)
        by_class = CARTClassifier(class_weight={"b": 2.0}).fit(self.X, self.names, np.full(150, 3))
        written_out = CARTClassifier(class_weight={"b": 2.0}).fit(self.X[copied], self.names[copied])
        np.testing.assert_array_equal(by_class.predict_proba(self.X), written_out.predict_proba(self.X))

    def test_a_base_learner_has_it_for_each_sample_drawn(self):
        heavy, even = (
            BaggedClassifier(CARTClassifier(class_weight=weights), n_estimators=4, random_state=0).fit(self.X, self.y)
            for weights in ({0: 50.0}, None)
        )
        assert (heavy.predict(self.X) == 0).sum() > (even.predict(self.X) == 0).sum()

    @pytest.mark.parametrize("base", [CARTClassifier, SVMClassifier])
    def test_a_class_with_a_weight_need_not_be_drawn(self, base):
        learner = bind(base(class_weight={"c": 2.0}), self.X)
        target = class_target(self.y.astype(np.int32), 3, np.array(["a", "b", "c"]))
        component = learner.train(target, (self.y < 2).astype(np.int32), seed=0)
        assert set(component.votes()) == {0, 1}

    def test_labels_have_none(self):
        labels = np.eye(3, dtype=int)[self.y]
        with pytest.raises(ValueError, match="class_weight is not supported for multi-label"):
            BinaryRelevanceClassifier(CARTClassifier(class_weight="balanced")).fit(self.X, labels)

    def test_negative_and_infinite_weights_are_refused(self):
        for given in ({"a": -1.0}, {"a": np.inf}):
            with pytest.raises(ValueError, match="class_weight"):
                CARTClassifier(class_weight=given).fit(self.X, self.names)


def test_distinct_numbers_give_the_tree_of_scikit_learn():
    rng = np.random.default_rng(0)
    data = rng.normal(size=(1_500, 3)).astype(np.float32)
    labels = np.digitize(data[:, 0] * data[:, 1] + 0.3 * rng.normal(size=1_500), [-0.3, 0.3])
    counts = rng.integers(1, 1_000, 1_500)
    ours = CARTClassifier(min_samples_split=20_000, min_samples_leaf=10_000, complexity=None)
    other = DecisionTreeClassifier(min_weight_fraction_leaf=9_999.5 / counts.sum(), random_state=0)
    for tree in (ours, other):
        tree.fit(data, labels, sample_weight=counts)
    assert ours.get_n_leaves() == other.get_n_leaves() > 20
    np.testing.assert_allclose(ours.predict_proba(data), other.predict_proba(data), atol=1e-12)


def test_missing_values_at_fit_and_predict():
    data = X.copy()
    data[np.random.default_rng(0).random(X.shape) < 0.3] = np.nan
    tree = CARTClassifier(min_samples_split=2, complexity=None).fit(data, y)
    assert tree.score(data, y) == 1.0
    assert tree.predict(np.full((1, 13), np.nan)).shape == (1,)


def test_single_precision_gives_the_same_tree():
    iris_X, iris_y = load_iris(return_X_y=True)
    single = CARTClassifier().fit(iris_X.astype(np.float32), iris_y)
    double = CARTClassifier().fit(iris_X.astype(np.float32).astype(np.float64), iris_y)
    np.testing.assert_array_equal(single.predict_proba(iris_X), double.predict_proba(iris_X))


def test_a_tree_that_is_not_fitted_cannot_be_looked_at():
    for method, *arguments in (("apply", X), ("get_depth",), ("get_n_leaves",), ("export_text",)):
        with pytest.raises(NotFittedError):
            getattr(CARTClassifier(), method)(*arguments)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_unknown_and_missing_categories_go_with_the_heavier_child(frame):
    column = ["red"] * 3 + ["blue"] * 9
    model = CARTClassifier(min_samples_split=2).fit(frame({"colour": column}), column)
    assert model.predict(frame({"colour": ["pink", "red", None]})).tolist() == ["blue", "red", "blue"]


def test_jobs_do_not_matter_on_large_data():
    generator = np.random.default_rng(0)
    data = generator.normal(size=(40_000, 3))
    labels = np.digitize(data[:, 0] + data[:, 1] + generator.normal(size=40_000), [-1, 1])
    for model in (CARTClassifier(), KFHEClassifier(n_estimators=1, random_state=0)):
        alone, together = (model.set_params(n_jobs=n).fit(data, labels).predict_proba(data) for n in (None, 2))
        np.testing.assert_array_equal(alone, together)


def test_sparse_tables_too_wide_for_trees_are_refused(monkeypatch):
    monkeypatch.setattr(trees, "LARGEST_CODES", 1)
    with pytest.raises(ValueError, match=r"Trees would need .* Select features, or use SVMClassifier"):
        CARTClassifier().fit(sparse.csr_array(X), y)
