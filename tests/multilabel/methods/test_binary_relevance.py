"""Binary relevance, alone and stacked."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.multioutput import MultiOutputClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from fuselearn import CARTClassifier, SVMClassifier
from fuselearn.base import prepare_samples
from fuselearn.learners import bind, label_target
from fuselearn.multilabel import BinaryRelevanceClassifier, StackedBinaryRelevanceClassifier


def test_trees_are_those_of_single_labels(labelled):
    X, Y = labelled
    for estimator, tree in (("tree", CARTClassifier()), (CARTClassifier(max_depth=2), CARTClassifier(max_depth=2))):
        expected = np.column_stack([tree.fit(X, y).predict_proba(X)[:, 1] for y in Y.T])
        np.testing.assert_array_equal(BinaryRelevanceClassifier(estimator).fit(X, Y).predict_proba(X), expected)


def test_classifiers_are_those_of_scikit_learns_wrapper(labelled):
    X, Y = labelled
    ours = BinaryRelevanceClassifier(LogisticRegression()).fit(X, Y)
    theirs = MultiOutputClassifier(LogisticRegression()).fit(X, Y)
    np.testing.assert_allclose(ours.predict_proba(X), np.column_stack([p[:, 1] for p in theirs.predict_proba(X)]))
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_machines_are_those_of_the_engine(labelled, kernel):
    X, Y = labelled
    model = BinaryRelevanceClassifier(
        SVMClassifier(C=3.0, kernel=kernel, gamma=0.3, scaling="minmax", probability="logistic")
    )
    learner = bind(model.estimator, X)
    expected = learner.train(label_target(Y), np.ones(80, dtype=np.int32), 0).scores(learner.prepare(X[:9]))
    np.testing.assert_array_equal(model.fit(X, Y).predict_proba(X[:9]), expected)


class TestImportances:
    @pytest.mark.parametrize("estimator", [CARTClassifier(min_samples_split=5), DecisionTreeClassifier(max_depth=2)])
    def test_each_label_has_those_of_its_model(self, labelled, estimator):
        X, Y = labelled
        model = BinaryRelevanceClassifier(estimator).fit(X, np.column_stack([Y, np.ones(80, int)]))
        assert model.feature_importances_.shape == (5, 5)
        for label in range(3):  # the fourth has equally good cuts
            alone = clone(estimator).fit(X, Y[:, label])
            np.testing.assert_allclose(model.feature_importances_[label], alone.feature_importances_)
        assert not model.feature_importances_[4].any()

    def test_a_base_learner_without_importances_gives_none(self, labelled):
        assert not hasattr(BinaryRelevanceClassifier().fit(*labelled), "feature_importances_")
        assert not hasattr(BinaryRelevanceClassifier(LogisticRegression()).fit(*labelled), "feature_importances_")
        assert not hasattr(BinaryRelevanceClassifier("tree"), "feature_importances_")


class TestEstimators:
    def test_trees_have_names_and_can_be_read(self, labelled):
        X, Y = labelled
        frame = pd.DataFrame(X, columns=list("abcde"))
        model = BinaryRelevanceClassifier("tree").fit(frame, Y)
        alone = CARTClassifier().fit(frame, Y[:, 0])
        assert model.estimators_[0].export_text() == alone.export_text()
        chances = np.column_stack([tree.predict_proba(frame)[:, 1] for tree in model.estimators_])
        np.testing.assert_array_equal(chances, model.predict_proba(frame))

    def test_classifiers_are_the_clones(self, labelled):
        X, Y = labelled
        model = BinaryRelevanceClassifier(LogisticRegression()).fit(X, Y)
        np.testing.assert_allclose(model.estimators_[1].coef_, LogisticRegression().fit(X, Y[:, 1]).coef_)
        assert len(model.estimators_) == 4

    def test_machines_are_none(self, labelled):
        assert not hasattr(BinaryRelevanceClassifier().fit(*labelled), "estimators_")

    def test_nor_are_there_any_before_the_fit(self):
        assert not hasattr(BinaryRelevanceClassifier("tree"), "estimators_")


def test_the_second_level_learns_from_scores_of_samples_left_out(labelled, recorder):
    # The nearest neighbor of a sample that was learned is the sample itself, so its score would be its label.
    X, Y = labelled
    StackedBinaryRelevanceClassifier(KNeighborsClassifier(1), recorder, random_state=0).fit(X, Y)
    assert len(recorder.tables) == 4
    for (table, target, _), label in zip(recorder.tables, Y.T, strict=True):
        np.testing.assert_array_equal(table, recorder.tables[0][0])
        np.testing.assert_array_equal(target, label)
    table = recorder.tables[0][0]
    distances = np.linalg.norm(X[:, None] - X, axis=2) + np.diag(np.full(80, np.inf))
    nearest = Y[distances.argmin(axis=1)]
    assert (table == nearest).mean() > 0.85  # a fifth of the neighbors are in the same fold
    assert (table != Y).mean() > 0.1


@pytest.mark.parametrize("base", [CARTClassifier(min_samples_split=4), LogisticRegression(), SVMClassifier()])
def test_predictions_are_those_of_two_levels_in_a_row(labelled, recorder, base):
    X, Y = labelled
    model = StackedBinaryRelevanceClassifier(base, recorder, random_state=0).fit(X, Y)
    (stacked,) = model._fused_.models
    first = stacked.first.scores(prepare_samples(model, X))
    # The recorder reads the last of its features: the score of the last label.
    expected = np.repeat(np.where(first[:, -1:] > 0.5, 0.75, 0.25), 4, axis=1)
    np.testing.assert_array_equal(model.predict_proba(X), expected)
    if not isinstance(base, SVMClassifier):  # whose folds of Platt's method depend on the seed
        np.testing.assert_allclose(first, BinaryRelevanceClassifier(base).fit(X, Y).predict_proba(X))


def test_folds_can_be_given(labelled, recorder):
    X, Y = labelled
    halves = [(np.arange(40, 80), np.arange(40)), (np.arange(40), np.arange(40, 80))]
    StackedBinaryRelevanceClassifier("tree", recorder, cv=halves).fit(X, Y)
    expected = [BinaryRelevanceClassifier("tree").fit(X[a], Y[a]).predict_proba(X[b]) for a, b in halves]
    np.testing.assert_array_equal(recorder.tables[0][0], np.vstack(expected))
    with pytest.raises(ValueError, match="cv must hold out every sample"):
        StackedBinaryRelevanceClassifier("tree", cv=halves[:1]).fit(X, Y)


def test_a_label_is_learned_from_the_scores_of_others():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    Y = np.column_stack([X[:, 0] > 0, X[:, 1] > 0, (X[:, 0] > 0) & (X[:, 1] > 0)]).astype(int)
    base = LogisticRegression(C=0.01)  # too stiff for the third label, which the scores of the others explain
    stacked = StackedBinaryRelevanceClassifier(clone(base), CARTClassifier(), random_state=0).fit(X[:300], Y[:300])
    alone = BinaryRelevanceClassifier(base).fit(X[:300], Y[:300])
    wrong = [(model.predict(X[300:])[:, 2] != Y[300:, 2]).mean() for model in (stacked, alone)]
    assert wrong[0] < 0.5 * wrong[1]


def test_samples_without_weight_do_not_count(labelled):
    X, Y = labelled
    weights = np.repeat([1.0, 0.0], 40)
    model = StackedBinaryRelevanceClassifier("tree", random_state=0)
    expected = clone(model).fit(X[:40], Y[:40]).predict_proba(X)
    np.testing.assert_allclose(model.fit(X, Y, weights).predict_proba(X), expected)


def test_one_sample_is_not_enough(labelled):
    X, Y = labelled
    with pytest.raises(ValueError, match="one sample is not enough"):
        StackedBinaryRelevanceClassifier("tree").fit(X[:1], Y[:1])
