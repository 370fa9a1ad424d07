"""Label powersets and pruned sets, alone and in ensembles."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC

from fuselearn import CARTClassifier, SVMClassifier
from fuselearn._core import draw_counts
from fuselearn.multilabel import (
    BinaryRelevanceClassifier,
    EnsembleOfPrunedSetsClassifier,
    LabelPowersetClassifier,
    PrunedSetsClassifier,
)
from fuselearn.multilabel.methods.label_sets import find_label_sets, prune_sets

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
    with pytest.raises(
        ValueError, match=r"decision must be one of 'set', 'half', .*a threshold from 0 to 1, or a DecisionRule"
    ):
        LabelPowersetClassifier(decision="sets").fit(*labelled)


# Sets a, b, ab and c; abc is rare.
A, B, AB, C, ABC = [1, 0, 0], [0, 1, 0], [1, 1, 0], [0, 0, 1], [1, 1, 1]
MANY = [A] * 2 + [B] * 3 + [AB] * 2 + [C] * 4


def prune(rows, min_count, n_subsets, counts=None):
    Y = np.array(rows, dtype=np.int8)
    counts = np.ones(len(Y), dtype=np.int32) if counts is None else np.array(counts, dtype=np.int32)
    sets, classes = prune_sets(Y, counts, min_count, n_subsets)
    return sets.tolist(), classes


@pytest.mark.parametrize(
    ("n_subsets", "expected"), [(0, []), (1, [AB]), (2, [AB, C]), (3, [AB, C, B]), (9, [AB, C, B, A])]
)
def test_rare_sets_become_large_then_frequent_subsets(n_subsets, expected):
    sets, classes = prune([*MANY, ABC], 2, n_subsets)
    assert sets == [A, B, AB, C]
    assert [sets[k] for k in np.flatnonzero(classes[-1])] == sorted(expected, key=sets.index)
    np.testing.assert_array_equal(classes[:-1], np.eye(4)[[0, 0, 1, 1, 1, 2, 2, 3, 3, 3, 3]])


def test_rows_that_are_not_drawn_are_of_no_set_and_drawn_ones_count_as_often():
    sets, classes = prune([A, B, AB, B], 2, 1, [3, 0, 1, 1])
    assert sets == [A]
    assert classes.tolist() == [[1], [0], [1], [0]]


def test_a_row_with_labels_is_no_example_of_a_row_without():
    sets, classes = prune([[0, 0, 0]] * 3 + [A], 2, 2)
    assert sets == [[0, 0, 0]]
    assert classes.tolist() == [[1], [1], [1], [0]]


def test_the_most_frequent_sets_are_kept_if_all_are_rare():
    assert prune([A, B, B, C, C], 4, 1)[0] == [B, C]
    assert prune([A, B, C], 2, 1)[0] == [A, B, C]


def test_a_row_with_a_rare_set_is_a_copy_for_each_subset():
    X = np.repeat([[0.0], [1.0]], [5, 3], axis=0)
    Y = [A, A, AB, AB, ABC, C, C, C]
    model = PrunedSetsClassifier(CARTClassifier(min_samples_split=2, complexity=None)).fit(X, Y)
    # At 0 there are now two rows with a, three with ab and one with c.
    np.testing.assert_allclose(model.predict_proba([[0.0], [1.0]]), [[5 / 6, 1 / 2, 1 / 6], [0.0, 0.0, 1.0]])
    np.testing.assert_array_equal(model.label_sets_, [A, AB, C])


def copies(Y, min_count, n_subsets):
    """Give rows and their sets as pruned sets see them."""
    sets, classes = prune(Y, min_count, n_subsets)
    rows, numbers = np.nonzero(classes)
    return np.array(sets), rows, numbers


@pytest.mark.parametrize("estimator", [LogisticRegression(), CARTClassifier(min_samples_split=5)])
@pytest.mark.parametrize("n_subsets", [0, 1, 3])
def test_probabilities_are_those_of_a_classifier_of_the_copies(labelled, estimator, n_subsets):
    X = labelled[0]
    Y = (X[:, :3] > [0.0, 0.3, 0.9]).astype(int)
    sets, rows, numbers = copies(Y, 7, n_subsets)
    assert (np.diff(rows) == 0).any() == (n_subsets > 1)
    expected = estimator.fit(X[rows], numbers).predict_proba(X) @ sets
    model = PrunedSetsClassifier(estimator, min_count=7, n_subsets=n_subsets).fit(X, Y)
    np.testing.assert_allclose(model.predict_proba(X), expected, atol=1e-6)


def test_machines_take_a_row_with_several_sets_for_an_example_of_each(labelled):
    X, Y = labelled
    sets, classes = prune(Y, 5, 2)
    kept = classes.any(axis=1)
    scores = (
        BinaryRelevanceClassifier(SVMClassifier(probability="logistic"))
        .fit(X, classes, kept.astype(float))
        .predict_proba(X)
    )
    model = PrunedSetsClassifier(SVMClassifier(probability="logistic"), min_count=5).fit(X, Y)
    np.testing.assert_allclose(
        model.predict_proba(X), scores / scores.sum(axis=1, keepdims=True) @ np.array(sets), atol=1e-12
    )


@pytest.mark.parametrize("estimator", [None, "tree"])
def test_without_rare_sets_it_is_a_label_powerset(labelled, estimator):
    X, Y = labelled
    pruned = PrunedSetsClassifier(estimator, min_count=1, random_state=0).fit(X, Y)
    powerset = LabelPowersetClassifier(estimator, random_state=0).fit(X, Y)
    np.testing.assert_array_equal(pruned.predict_proba(X), powerset.predict_proba(X))


TREE = CARTClassifier(min_samples_split=4)


def members(X, Y, n_estimators, vote="class", estimator=TREE, **pruning):
    """Give the votes of the members, and which rows they have seen, by a plain loop."""
    for seed in np.random.default_rng(0).integers(2**62, size=n_estimators):
        drawn = draw_counts(int(np.random.default_rng(seed).integers(2**62)), np.ones(len(X)), len(X)) > 0
        model = PrunedSetsClassifier(estimator, **pruning).fit(X[drawn], Y[drawn])
        yield model.predict(X) if vote == "class" else model.predict_proba(X), drawn


@pytest.mark.parametrize("vote", ["class", "probability"])
@pytest.mark.parametrize(
    ("estimator", "pruning"), [(TREE, {}), (TREE, {"min_count": 6, "n_subsets": 1}), (GaussianNB(), {"min_count": 6})]
)
def test_votes_are_the_mean_of_pruned_sets_on_the_rows_drawn(labelled, vote, estimator, pruning):
    X, Y = labelled
    model = EnsembleOfPrunedSetsClassifier(estimator, 4, vote=vote, random_state=0, **pruning).fit(X, Y)
    votes = [votes for votes, _ in members(X, Y, 4, vote, estimator, **pruning)]
    np.testing.assert_allclose(model.predict_proba(X), np.mean(votes, axis=0), atol=1e-12)


def test_rules_that_learn_get_the_out_of_bag_votes(labelled):
    X, Y = labelled
    model = EnsembleOfPrunedSetsClassifier(TREE, 3, decision="cardinality", random_state=0).fit(X, Y)
    total, n_votes = np.zeros(Y.shape), np.zeros((80, 1))
    for votes, drawn in members(X, Y, 3):
        total += votes * ~drawn[:, None]
        n_votes += ~drawn[:, None]
    with np.errstate(invalid="ignore"):
        np.testing.assert_allclose(model.oob_decision_function_, total / n_votes)


@pytest.mark.parametrize("estimator", [SVMClassifier(probability="logistic"), TREE, GaussianNB()], ids=str)
def test_all_base_learners_take_columns_and_jobs(labelled, estimator):
    X, Y = labelled
    settings = {"max_features": 0.6, "decision": "per_label", "random_state": 0}
    n_jobs = 1 if isinstance(estimator, GaussianNB) else 2  # processes take seconds to start
    alone, together = (EnsembleOfPrunedSetsClassifier(estimator, 3, n_jobs=n, **settings) for n in (None, n_jobs))
    np.testing.assert_array_equal(alone.fit(X, Y).predict_proba(X), together.fit(X, Y).predict_proba(X))
