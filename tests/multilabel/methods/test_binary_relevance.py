"""Binary relevance: one two-class model per label."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.multioutput import MultiOutputClassifier
from sklearn.tree import DecisionTreeClassifier

from fuselearn import CARTClassifier, SVMClassifier
from fuselearn.learners import bind, label_target
from fuselearn.multilabel import BinaryRelevanceClassifier


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
