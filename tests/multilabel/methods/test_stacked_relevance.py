"""Stacked binary relevance: what the second level learns from."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from fuselearn import CARTClassifier, SVMClassifier
from fuselearn.base import prepare_samples
from fuselearn.multilabel import BinaryRelevanceClassifier, StackedBinaryRelevanceClassifier


def test_the_second_level_learns_from_scores_of_samples_left_out(labelled, recorder):
    # The nearest neighbour of a sample that was learned is the sample itself, so its score would be its label.
    X, Y = labelled
    StackedBinaryRelevanceClassifier(KNeighborsClassifier(1), recorder, random_state=0).fit(X, Y)
    assert len(recorder.tables) == 4
    for (table, target, _), label in zip(recorder.tables, Y.T, strict=True):
        np.testing.assert_array_equal(table, recorder.tables[0][0])
        np.testing.assert_array_equal(target, label)
    table = recorder.tables[0][0]
    distances = np.linalg.norm(X[:, None] - X, axis=2) + np.diag(np.full(80, np.inf))
    nearest = Y[distances.argmin(axis=1)]
    assert (table == nearest).mean() > 0.85  # a fifth of the neighbours are in the same fold
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
    with pytest.raises(ValueError, match="cv must leave out every sample once"):
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
