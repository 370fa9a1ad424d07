"""Label powerset: a multi-class model over label sets."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from fuselearn import CARTClassifier, SVMClassifier
from fuselearn.multilabel import BinaryRelevanceClassifier, LabelPowersetClassifier
from fuselearn.multilabel.methods.powerset import find_label_sets

SMALL_TREE = CARTClassifier(min_samples_split=2, complexity=None)
BASES = [None, "tree", LogisticRegression()]


def encode(Y):
    """Number label sets as they appear, by a plain loop."""
    sets = []
    for labels in Y.tolist():
        if labels not in sets:
            sets.append(labels)
    return np.array(sets), np.array([sets.index(labels) for labels in Y.tolist()])


def test_a_label_has_the_probability_of_the_sets_that_contain_it():
    X = np.repeat([[0.0], [1.0]], 4, axis=0)
    Y = [[1, 0], [1, 0], [1, 1], [1, 0], [0, 1], [0, 0], [0, 1], [1, 1]]
    model = LabelPowersetClassifier(SMALL_TREE).fit(X, Y)
    np.testing.assert_array_equal(model.label_sets_, [[1, 0], [1, 1], [0, 1], [0, 0]])
    np.testing.assert_array_equal(model.predict_proba([[0.0], [1.0]]), [[1.0, 0.25], [0.25, 0.75]])
    np.testing.assert_array_equal(model.predict([[0.0], [1.0]]), [[1, 0], [0, 1]])


def test_the_most_probable_set_need_not_have_the_most_probable_labels():
    X = np.zeros((10, 1))
    Y = [[1, 0, 0]] * 4 + [[0, 1, 0]] * 3 + [[0, 1, 1]] * 3
    model = LabelPowersetClassifier(SMALL_TREE).fit(X, Y)
    np.testing.assert_allclose(model.predict_proba([[0.0]]), [[0.4, 0.6, 0.3]])
    np.testing.assert_array_equal(model.predict([[0.0]]), [[1, 0, 0]])
    np.testing.assert_array_equal(model.with_decision(0.5, X, Y).predict([[0.0]]), [[0, 1, 0]])
    again = LabelPowersetClassifier(SMALL_TREE, decision="half").fit(X, Y).with_decision("set", X, Y)
    np.testing.assert_array_equal(again.predict([[0.0]]), [[1, 0, 0]])


@pytest.mark.parametrize("estimator", [LogisticRegression(), CARTClassifier(min_samples_split=5)])
def test_probabilities_are_those_of_a_classifier_of_the_sets(labelled, estimator):
    X, Y = labelled
    sets, numbers = encode(Y)
    estimator.fit(X, numbers)
    model = LabelPowersetClassifier(estimator).fit(X, Y)
    np.testing.assert_allclose(model.predict_proba(X), estimator.predict_proba(X) @ sets, atol=1e-12)
    np.testing.assert_array_equal(model.predict(X), sets[estimator.predict(X)])
    np.testing.assert_array_equal(model.label_sets_, sets)


def test_a_classifier_without_probabilities_votes_for_a_set(labelled):
    X, Y = labelled
    sets, numbers = encode(Y)
    expected = sets[LinearSVC(random_state=0).fit(X, numbers).predict(X)]
    np.testing.assert_array_equal(LabelPowersetClassifier(LinearSVC()).fit(X, Y).predict(X), expected)


@pytest.mark.parametrize("probability", ["logistic", "sign"])
def test_machines_tell_each_set_from_all_others(labelled, probability):
    X, Y = labelled
    sets, numbers = encode(Y)
    machine = SVMClassifier(C=0.3, gamma=0.1, probability=probability)
    one_against_all = np.eye(len(sets), dtype=int)[numbers]
    scores = BinaryRelevanceClassifier(machine).fit(X, one_against_all).predict_proba(X)
    sums = scores.sum(axis=1, keepdims=True)
    shares = np.divide(scores, sums, out=np.tile(one_against_all.mean(axis=0), (80, 1)), where=sums > 0)
    assert (sums == 0).any() == (probability == "sign")
    np.testing.assert_allclose(LabelPowersetClassifier(machine).fit(X, Y).predict_proba(X), shares @ sets, atol=1e-12)


@pytest.mark.parametrize("estimator", BASES, ids=str)
def test_a_single_set_is_what_all_rows_get(labelled, estimator):
    X, _ = labelled
    for labels in ([1, 0, 1], [0, 0, 0]):
        model = LabelPowersetClassifier(estimator).fit(X, np.tile(labels, (80, 1)))
        np.testing.assert_array_equal(model.predict_proba(X[:3]), np.tile(labels, (3, 1)))


def test_sets_are_numbered_as_they_appear():
    Y = np.array([[0, 0], [1, 1], [0, 1], [1, 1], [1, 0]], dtype=np.int8)
    sets, numbers = find_label_sets(Y, np.array([0, 2, 1, 1, 1], dtype=np.int32))
    np.testing.assert_array_equal(sets, [[1, 1], [0, 1], [1, 0]])
    np.testing.assert_array_equal(numbers, [-1, 0, 1, 0, 2])


def test_its_own_decision_is_among_those_listed(labelled):
    with pytest.raises(ValueError, match="decision must be 'set' or 'half' or"):
        LabelPowersetClassifier(decision="sets").fit(*labelled)
