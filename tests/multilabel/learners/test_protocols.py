"""What all learners promise for models over several classes."""

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

from fuselearn import CARTClassifier
from fuselearn.multilabel.learners import bind_learner

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 3)).round(1)
COUNTS = rng.poisson(1, 60).astype(np.int32)
CLASSES = np.eye(3, dtype=np.int8)[(X[:, 0] > 0).astype(int) + (X[:, 1] > 0)]
CLASSES[:5] = 0
CLASSES[5:15, 2] = 1
ESTIMATORS = [None, CARTClassifier(min_samples_split=5), GaussianNB()]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_bound_rows_chosen_rows_and_passed_rows_get_the_same_answers(estimator):
    learner = bind_learner(estimator, X)
    block = learner.train_classes(CLASSES, COUNTS, 0)
    scores = block.probabilities(learner.prepare(X))
    np.testing.assert_allclose(scores.sum(axis=1), 1.0)
    np.testing.assert_allclose(block.probabilities(), scores, atol=1e-6)
    only = np.array([30, 2, 17])
    np.testing.assert_allclose(block.probabilities(only=only), scores[only], atol=1e-6)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_rows_of_no_class_are_left_out(estimator):
    learner = bind_learner(estimator, X)
    counts = np.where(CLASSES.any(axis=1), COUNTS, 0).astype(np.int32)
    first, second = (learner.train_classes(CLASSES, drawn, 0).probabilities() for drawn in (COUNTS, counts))
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("estimator", ESTIMATORS[1:], ids=str)
def test_rows_of_several_classes_stand_for_copies(estimator):
    rows, numbers = np.nonzero(CLASSES * (COUNTS > 0)[:, None])
    assert len(np.unique(rows)) < len(rows)
    copies = bind_learner(estimator, X[rows]).train_classes(np.eye(3, dtype=np.int8)[numbers], COUNTS[rows], 0)
    learner = bind_learner(estimator, X)
    rows = learner.prepare(X)
    np.testing.assert_allclose(
        learner.train_classes(CLASSES, COUNTS, 0).probabilities(rows), copies.probabilities(rows), atol=1e-9
    )


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_appended_labels_are_features(estimator):
    learner = bind_learner(estimator, X)
    target = np.eye(2, dtype=np.int8)[rng.integers(0, 2, 60)]
    extended = learner.extend(target[:, :1])
    block = extended.train_classes(target, np.ones(60, dtype=np.int32), 0)
    assert (block.probabilities().argmax(axis=1) == target.argmax(axis=1)).all()
    np.testing.assert_allclose(block.probabilities(learner.prepare(X), target[:, :1]), block.probabilities(), atol=1e-6)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_at_least_one_row_needs_a_class(estimator):
    with pytest.raises(ValueError, match="No row that was drawn is of a class"):
        bind_learner(estimator, X).train_classes(np.zeros((60, 2), dtype=np.int8), COUNTS, 0)
