"""A forest of multi-label trees against trees grown the long way, in exact arithmetic, and against scikit-learn's."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.feature_selection import SelectFromModel
from sklearn.metrics import label_ranking_average_precision_score
from sklearn.tree import DecisionTreeClassifier

from fuselearn._core import draw_counts
from fuselearn.datasets import make_digit_pairs
from fuselearn.learners.table import code_columns
from fuselearn.learners.trees import grow_tree, make_label_target
from fuselearn.multilabel import PCTForestClassifier
from fuselearn.multilabel.decisions import CardinalityThreshold, PerLabelThresholds
from fuselearn.multilabel.methods.label_trees import sum_impurity_decreases
from fuselearn.multilabel.methods.pct_forest import restore_weights


def make_table(seed, with_ties):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 9, (40, 3)).astype(float) if with_ties else rng.normal(size=(40, 3)).round(2)
    Y = (X @ rng.normal(size=(3, 3)) + rng.normal(size=(40, 3)) > 0).astype(int)
    return X, Y, 3 * rng.normal(size=(30, 3))


def purity(counts, Y):
    return sum(Fraction(int(with_label) ** 2, int(counts.sum())) for with_label in counts @ Y)


def grow(X, Y, counts, min_leaf=1, max_depth=99):
    """Try every cut; of equally good ones, the first cut of the first feature is taken."""
    best = (purity(counts, Y), None, None)
    for f in range(X.shape[1]):
        values = np.unique(X[counts > 0, f])
        for cut in (values[:-1] + values[1:]) / 2:
            left = counts * (X[:, f] < cut)
            if min(left.sum(), (counts - left).sum()) >= min_leaf:
                best = max(best, (purity(left, Y) + purity(counts - left, Y), f, cut), key=lambda found: found[0])
    _, f, cut = best
    if f is None or max_depth == 0:
        return counts @ Y / counts.sum()
    goes_left = X[:, f] < cut
    return f, cut, *(grow(X, Y, counts * side, min_leaf, max_depth - 1) for side in (goes_left, ~goes_left))


def ask(tree, X):
    answers = []
    for x in X:
        node = tree
        while isinstance(node, tuple):
            f, cut, left, right = node
            node = left if x[f] < cut else right
        answers.append(node)
    return np.array(answers)


def draw_samples(seed, n_trees, n_draws, weights):
    seeds = np.random.default_rng(seed).integers(2**62, size=n_trees)
    return [draw_counts(int(s), weights, n_draws).astype(int) for s in seeds]


@pytest.mark.parametrize("with_ties", [False, True])
@pytest.mark.parametrize(
    ("parameters", "limits"),
    [({}, {}), ({"min_samples_leaf": 4}, {"min_leaf": 4}), ({"max_depth": 2}, {"max_depth": 2})],
)
def test_probabilities_are_the_mean_of_trees_on_drawn_samples(parameters, limits, with_ties):
    X, Y, new = make_table(1, with_ties)
    weights = np.random.default_rng(0).choice([0.0, 0.5, 2.0], 40)
    for sample_weight in (None, weights):
        forest = PCTForestClassifier(3, max_features=None, random_state=7, **parameters).fit(X, Y, sample_weight)
        samples = draw_samples(7, 3, 40, np.ones(40) if sample_weight is None else weights)
        expected = np.mean([ask(grow(X, Y, counts, **limits), new) for counts in samples], axis=0)
        np.testing.assert_allclose(forest.predict_proba(new), expected, rtol=1e-12)


@pytest.mark.parametrize(("max_samples", "n_draws"), [(12, 12), (0.25, 10)])
def test_out_of_bag_scores_are_those_of_trees_that_have_not_seen_the_sample(max_samples, n_draws):
    X, Y, _ = make_table(2, with_ties=False)
    forest = PCTForestClassifier(8, max_features=None, max_samples=max_samples, random_state=1).fit(X, Y)
    total, n_trees = np.zeros(Y.shape), np.zeros((40, 1))
    for counts in draw_samples(1, 8, n_draws, np.ones(40)):
        total += ask(grow(X, Y, counts), X) * (counts == 0)[:, None]
        n_trees += (counts == 0)[:, None]
    assert n_trees.all()
    np.testing.assert_allclose(forest.oob_decision_function_, total / n_trees, rtol=1e-12)


def test_samples_that_every_tree_has_seen_have_no_out_of_bag_score():
    X, Y, _ = make_table(3, with_ties=False)
    forest = PCTForestClassifier(2, max_samples=3.0, random_state=0).fit(X, Y)
    seen = np.all([counts > 0 for counts in draw_samples(0, 2, 120, np.ones(40))], axis=0)
    assert 0 < seen.sum() < 40
    np.testing.assert_array_equal(np.isnan(forest.oob_decision_function_), np.repeat(seen[:, None], 3, axis=1))


@pytest.mark.parametrize("weighted", [False, True])
def test_without_bootstrap_it_is_scikit_learns_tree_of_all_labels(weighted):
    rng = np.random.default_rng(0)
    X, weights = rng.normal(size=(80, 3)), rng.random(80) if weighted else None
    Y = np.column_stack([X[:, 1] > 0.3, X[:, 1] + X[:, 2] > 0, rng.random(80) < 0.5]).astype(int)
    ours = PCTForestClassifier(1, bootstrap=False, max_features=None, max_depth=3).fit(X, Y, weights)
    theirs = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, Y, weights)
    expected = np.column_stack([p[:, 1] for p in theirs.predict_proba(X)])
    np.testing.assert_allclose(ours.predict_proba(X), expected)


def test_features_of_a_node_are_drawn_uniformly():
    """A stump has to split on the one feature that it was given, informative or not."""
    X, Y, _ = make_table(4, with_ties=False)
    forest = PCTForestClassifier(300, max_features=1, max_depth=1, random_state=0).fit(X, Y)
    numbers = np.bincount([tree.nodes["feature"][0] for tree in forest._fused_.models[0].trees])
    assert np.abs(numbers - 100).max() < 4 * np.sqrt(300 * 1 / 3 * 2 / 3)


def test_random_cuts_are_drawn_from_the_whole_range():
    """Nine cuts in ten part 10 from 0 and 1, where half of the samples have the labels; the best one parts 0 from 1."""
    X, Y = np.repeat([0.0, 1.0, 10.0], 20)[:, None], np.repeat([[1, 1], [0, 0], [0, 0]], 20, axis=0)
    for splitter, share in (("best", 0.0), ("random", 0.45)):
        forest = PCTForestClassifier(200, splitter=splitter, max_depth=1, random_state=0).fit(X, Y)
        np.testing.assert_allclose(forest.predict_proba([[1.0]]), [[share, share]], atol=0.05)


def test_random_cuts_are_as_good_as_scikit_learns():
    X, Y = make_digit_pairs(500, random_state=0)
    X, Y = X.to_numpy(), Y.to_numpy()
    ours = PCTForestClassifier(50, splitter="random", random_state=0).fit(X[:300], Y[:300]).predict_proba(X[300:])
    theirs = ExtraTreesClassifier(50, bootstrap=True, random_state=0).fit(X[:300], Y[:300]).predict_proba(X[300:])
    theirs = np.column_stack([p[:, 1] for p in theirs])
    precision = label_ranking_average_precision_score
    assert precision(Y[300:], ours) > precision(Y[300:], theirs) - 0.02


@pytest.mark.parametrize("rule", [CardinalityThreshold(), PerLabelThresholds(0)])
def test_rules_use_out_of_bag_scores(rule):
    X, Y, new = make_table(5, with_ties=False)
    forest = PCTForestClassifier(30, decision=rule, random_state=0).fit(X, Y)
    expected = rule.fit(forest.oob_decision_function_, Y)
    np.testing.assert_array_equal(forest.predict(new), expected(forest.predict_proba(new)))


def test_categories_and_gaps_are_taken_as_they_are():
    rng = np.random.default_rng(0)
    colour = rng.choice(["red", "green", "blue"], 120)
    size = np.where(rng.random(120) < 0.1, np.nan, rng.normal(size=120))
    Y = np.column_stack([colour == "red", (size > 0) | np.isnan(size)]).astype(int)
    X = pd.DataFrame({"colour": pd.Categorical(colour), "size": size})
    tree = PCTForestClassifier(1, bootstrap=False, max_features=None).fit(X, Y)
    np.testing.assert_array_equal(tree.predict_proba(X), Y)
    assert tree.feature_names_in_.tolist() == ["colour", "size"]


def grown_trees(forest):
    """Return the trees with the weights of the labels in all nodes."""
    return [restore_weights(tree, shares) for tree, shares in forest._fused_.models[0].trees_with_values()]


@pytest.mark.parametrize("weighted", [False, True])
def test_weights_in_all_nodes_follow_from_the_leaves(weighted):
    X, Y, _ = make_table(9, with_ties=True)
    weights = np.random.default_rng(0).random(40) if weighted else None
    forest = PCTForestClassifier(1, bootstrap=False, max_features=None, min_samples_leaf=3).fit(X, Y, weights)
    settings = forest._settings()
    counts, target = np.ones(40, dtype=np.int32), make_label_target(Y)
    tree = grow_tree(code_columns(X), target, counts, settings, weights=weights)
    np.testing.assert_allclose(grown_trees(forest)[0].values, tree.values, rtol=1e-14 if weighted else 0)


def test_leaves_with_the_same_labels_share_their_values():
    """Trees that are grown to the end have a leaf for almost every sample that they have seen."""
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(200, 5)), (rng.random((200, 300)) < 0.1).astype(int)
    forest = PCTForestClassifier(20, random_state=0).fit(X, Y)
    assert sum(tree.n_leaves for tree in forest._fused_.models[0].trees) > 2000
    assert sorted(map(tuple, forest._fused_.models[0].leaf_values.rows)) == sorted(map(tuple, Y))
    assert all(tree.values.size == 0 for tree in forest._fused_.models[0].trees)


@pytest.mark.parametrize("splitter", ["best", "random"])
def test_sparse_tables_have_the_forest_of_their_dense_copy(splitter, monkeypatch):
    rng = np.random.default_rng(0)
    X = sparse.random_array((120, 60), density=0.08, random_state=rng, format="coo")
    X.data[::20] = np.nan
    X.data[::7] *= -1
    Y = (rng.random((120, 5)) < 0.3).astype(int)
    weights = rng.random(120)
    dense = X.toarray()
    for given in ({}, {"sample_weight": weights}):
        forest = PCTForestClassifier(10, splitter=splitter, random_state=0)
        expected = forest.fit(dense, Y, **given).predict_proba(dense)
        oob = forest.oob_decision_function_
        monkeypatch.setattr("fuselearn.learners.forests.DENSE_VALUES", 60 * 50)  # predicts in parts
        for table in (X.tocsr(), X.tocsc(), pd.DataFrame(dense), pd.DataFrame.sparse.from_spmatrix(X)):
            forest.fit(table, Y, **given)
            np.testing.assert_array_equal(forest.predict_proba(table), expected)
            np.testing.assert_array_equal(forest.oob_decision_function_, oob)
        monkeypatch.undo()


def test_sparse_tables_are_learned_as_well_as_scikit_learn_does():
    rng = np.random.default_rng(1)
    # From a dense array, since random_array of older SciPys has indices of 64 bits, which scikit-learn's trees refuse.
    X = sparse.csr_array(np.where(rng.random((600, 300)) < 0.05, rng.random((600, 300)), 0.0))
    Y = ((X @ rng.normal(size=(300, 6))) + 0.1 * rng.normal(size=(600, 6)) > 0.5).astype(int)
    ours = PCTForestClassifier(50, random_state=0).fit(X[:400], Y[:400]).predict_proba(X[400:])
    theirs = RandomForestClassifier(50, random_state=0).fit(X[:400], Y[:400]).predict_proba(X[400:])
    theirs = np.column_stack([p[:, 1] for p in theirs])
    precision = label_ranking_average_precision_score
    assert precision(Y[400:], ours) > precision(Y[400:], theirs) - 0.02


class TestImportances:
    def test_by_hand(self):
        """The root splits on feature 1, four samples to each side, and its left child on feature 0, two to each.

        Impurities times weights, 2 v (w - v) / w, of the root and the left child; all other nodes are pure:
        label 0 with 4 of 8 and 4 of 4 has 4 and 0, so feature 1 removes 4; label 1 with 2 of 8 and 2 of 4 has 3 and 2,
        so feature 1 removes 1 and feature 0 removes 2; label 2 is constant.
        """
        X = np.array([[0, 0], [0, 0], [1, 0], [1, 0], [1, 1], [1, 1], [1, 1], [1, 1]], dtype=float)
        Y = np.array([[1, 1, 1, 1, 0, 0, 0, 0], [1, 1, 0, 0, 0, 0, 0, 0], [1] * 8]).T
        forest = PCTForestClassifier(1, bootstrap=False, max_features=None).fit(X, Y)
        np.testing.assert_allclose(forest.feature_importances_, [[0, 1], [2 / 3, 1 / 3], [0, 0]])
        [tree] = grown_trees(forest)
        np.testing.assert_allclose(sum_impurity_decreases(tree, 2), [[0, 4], [2, 1], [0, 0]])

    @pytest.mark.parametrize("limits", [{"max_depth": 3}, {"min_samples_leaf": 8}])
    def test_one_label_has_those_of_scikit_learn(self, limits):
        rng = np.random.default_rng(1)
        X, weights = rng.normal(size=(150, 4)), rng.random(150)  # with weights, no two cuts are equally good
        Y = (X[:, :1] + X[:, 1:2] ** 2 + 0.5 * rng.normal(size=(150, 1)) > 0.6).astype(int)
        settings = {"bootstrap": False, "max_features": None, **limits}
        ours = PCTForestClassifier(3, **settings).fit(X, Y, weights)
        theirs = RandomForestClassifier(3, random_state=0, **settings).fit(X, Y[:, 0], weights)
        np.testing.assert_allclose(ours.feature_importances_, [theirs.feature_importances_], rtol=1e-9)

    def test_all_labels_together_have_those_of_scikit_learn(self):
        """There, the impurity of a node is the mean over the labels."""
        rng = np.random.default_rng(2)
        X, weights = rng.normal(size=(150, 4)), rng.random(150)
        Y = (X[:, :3] + 0.5 * rng.normal(size=(150, 3)) > 0.3).astype(int)
        forest = PCTForestClassifier(1, bootstrap=False, max_features=None, min_samples_leaf=8).fit(X, Y, weights)
        total = sum_impurity_decreases(grown_trees(forest)[0], 4).sum(axis=0)
        theirs = DecisionTreeClassifier(min_samples_leaf=8, random_state=0).fit(X, Y, weights)
        np.testing.assert_allclose(total / total.sum(), theirs.feature_importances_, rtol=1e-9)

    def test_trees_count_alike_and_each_label_sums_to_one(self):
        X, Y, _ = make_table(8, with_ties=True)
        Y[:, 1] = np.arange(40) == 3  # constant in some of the drawn samples
        forest = PCTForestClassifier(5, random_state=0).fit(X, Y)
        decreases = np.array([sum_impurity_decreases(tree, 3) for tree in grown_trees(forest)])
        assert not decreases.any(axis=2).all()
        shares = decreases / np.maximum(decreases.sum(axis=2, keepdims=True), 1e-300)
        total = shares.sum(axis=0)
        np.testing.assert_allclose(forest.feature_importances_, total / total.sum(axis=1, keepdims=True))
        np.testing.assert_allclose(forest.feature_importances_.sum(axis=1), 1.0)

    def test_they_tell_which_feature_a_label_follows_from(self):
        rng = np.random.default_rng(3)
        X = rng.normal(size=(200, 6))
        forest = PCTForestClassifier(20, random_state=0).fit(X, (X[:, [4, 1, 0]] > 0.5).astype(int))
        assert forest.feature_importances_.argmax(axis=1).tolist() == [4, 1, 0]
        chosen = SelectFromModel(forest, max_features=3, threshold=-np.inf, prefit=True).get_support()
        assert np.flatnonzero(chosen).tolist() == [0, 1, 4]


def test_fewer_samples_are_drawn_or_none():
    with pytest.raises(ValueError, match=r"max_samples=0\.5 has no effect with bootstrap=False"):
        PCTForestClassifier(bootstrap=False, max_samples=0.5).fit([[0.0], [1.0]], [[0, 1], [1, 0]])
