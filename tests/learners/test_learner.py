"""What all learners promise, for models over several classes and for parameters that vary."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from sklearn.naive_bayes import GaussianNB

from fuselearn import CARTClassifier, SVMClassifier
from fuselearn.base import check_base
from fuselearn.learners import bind, class_list_target, class_target, label_target

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 3)).round(1)
COUNTS = rng.poisson(1, 60).astype(np.int32)
CLASSES = np.eye(3, dtype=np.int8)[(X[:, 0] > 0).astype(int) + (X[:, 1] > 0)]
CLASSES[:5] = 0
CLASSES[5:15, 2] = 1
ESTIMATORS = [SVMClassifier(), CARTClassifier(min_samples_split=5), GaussianNB()]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_bound_rows_chosen_rows_and_passed_rows_get_the_same_answers(estimator):
    learner = bind(estimator, X)
    block = learner.train(class_list_target(CLASSES, COUNTS), COUNTS, 0)
    scores = block.scores(learner.prepare(X))
    np.testing.assert_allclose(scores.sum(axis=1), 1.0)
    np.testing.assert_allclose(block.scores(), scores, atol=1e-6)
    only = np.array([30, 2, 17])
    np.testing.assert_allclose(block.scores(only=only), scores[only], atol=1e-6)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_rows_of_no_class_are_left_out(estimator):
    learner = bind(estimator, X)
    counts = np.where(CLASSES.any(axis=1), COUNTS, 0).astype(np.int32)
    first, second = (learner.train(class_list_target(CLASSES, drawn), drawn, 0).scores() for drawn in (COUNTS, counts))
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("estimator", ESTIMATORS[1:], ids=str)
def test_rows_of_several_classes_stand_for_copies(estimator):
    rows, numbers = np.nonzero(CLASSES * (COUNTS > 0)[:, None])
    assert len(np.unique(rows)) < len(rows)
    copies = bind(estimator, X[rows]).train(class_target(numbers.astype(np.int32), 3), COUNTS[rows], 0)
    learner = bind(estimator, X)
    rows = learner.prepare(X)
    np.testing.assert_allclose(
        learner.train(class_list_target(CLASSES, COUNTS), COUNTS, 0).scores(rows), copies.scores(rows), atol=1e-9
    )


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_appended_labels_are_features(estimator):
    learner = bind(estimator, X)
    target = np.eye(2, dtype=np.int8)[rng.integers(0, 2, 60)]
    extended = learner.extend(target[:, :1])
    block = extended.train(class_list_target(target, np.ones(60, dtype=np.int32)), np.ones(60, dtype=np.int32), 0)
    assert (block.scores().argmax(axis=1) == target.argmax(axis=1)).all()
    np.testing.assert_allclose(block.scores(learner.prepare(X), appended=target[:, :1]), block.scores(), atol=1e-6)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_at_least_one_row_needs_a_class(estimator):
    with pytest.raises(ValueError, match="No sample that was drawn is of a class"):
        bind(estimator, X).train(class_list_target(np.zeros((60, 2), dtype=np.int8), COUNTS), COUNTS, 0)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_targets_and_counts_that_do_not_fit_the_table(estimator):
    learner = bind(estimator, X)
    for target in (label_target(CLASSES[:4]), class_target(np.zeros(4, dtype=np.int32), 2)):
        with pytest.raises(ValueError, match="The table has 60 samples"):
            learner.train(target, COUNTS, 0)
    with pytest.raises(ValueError, match="No sample was drawn"):
        learner.train(label_target(CLASSES), np.zeros(60, dtype=np.int32), 0)


@pytest.mark.parametrize(
    ("estimator", "params"),
    [
        (SVMClassifier(probability="logistic"), {"C": 9.0, "kernel": "linear"}),
        (CARTClassifier(), {"min_samples_split": 3, "complexity": None}),
        (GaussianNB(), {"var_smoothing": 1.0}),
    ],
    ids=str,
)
def test_parameters_that_vary_on_one_bound_table(estimator, params):
    learner = bind(estimator, X)
    varied, fresh = learner.with_params(**params), bind(clone(estimator).set_params(**params), X)
    for target in (label_target(CLASSES), class_target((X.sum(axis=1) > 0).astype(np.int32), 2)):
        first, second, third = (one.train(target, COUNTS, 0).scores() for one in (varied, fresh, learner))
        np.testing.assert_array_equal(first, second)
        assert (first != third).any()


@pytest.mark.parametrize(
    ("estimator", "params"), [(SVMClassifier(), {"scaling": None}), (CARTClassifier(), {"max_bins": 9})], ids=str
)
def test_parameters_of_the_binding_cannot_vary(estimator, params):
    with pytest.raises(ValueError, match=f"{next(iter(params))} cannot vary"):
        bind(estimator, X).with_params(**params)


@pytest.mark.parametrize("value", [LinearRegression(), "forest", GaussianNB, 3])
def test_what_is_no_classifier(value):
    with pytest.raises(TypeError, match="estimator must be a classifier or None"):
        check_base(value, "classifier")
