"""Pruned sets: which sets are kept, what rows with other sets stand for, and what is learned from them."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from fuselearn import CARTClassifier, SVMClassifier
from fuselearn.multilabel import BinaryRelevanceClassifier, LabelPowersetClassifier, PrunedSetsClassifier
from fuselearn.multilabel.methods.pruned_sets import prune_sets

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


def test_whole_weights_count_as_rows(labelled):
    X, Y = labelled
    weights = np.random.default_rng(0).integers(0, 4, 80)
    tree = CARTClassifier(min_samples_split=5)
    weighted = PrunedSetsClassifier(tree, min_count=4).fit(X, Y, weights)
    copied = PrunedSetsClassifier(tree, min_count=4).fit(np.repeat(X, weights, axis=0), np.repeat(Y, weights, axis=0))
    np.testing.assert_array_equal(weighted.predict_proba(X), copied.predict_proba(X))
