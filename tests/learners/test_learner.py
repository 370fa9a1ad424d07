"""What all learners and their models promise: trees, SVMs and clones, for classes, labels and lists of classes."""

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from fuselearn import CARTClassifier, SVMClassifier
from fuselearn.base import check_base
from fuselearn.learners import bind, class_list_target, class_target, label_target

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 3)).round(1)
NEW = rng.normal(size=(20, 3)).round(1)
COUNTS = rng.poisson(1, 60).astype(np.int32)
CLASSES = np.eye(3, dtype=np.int8)[(X[:, 0] > 0).astype(int) + (X[:, 1] > 0)]
CLASSES[:5] = 0
CLASSES[5:15, 2] = 1
LABELS = rng.integers(0, 2, (60, 2)).astype(np.int8)
TARGETS = {
    "classes": class_target(CLASSES.argmax(axis=1).astype(np.int32), 3),
    "labels": label_target(CLASSES),
    "lists of classes": class_list_target(CLASSES, COUNTS),
}
ESTIMATORS = [SVMClassifier(), CARTClassifier(min_samples_split=5), GaussianNB()]
LINEAR = SVMClassifier(kernel="linear")
every_kind = pytest.mark.parametrize("estimator", [*ESTIMATORS, LINEAR], ids=str)
every_target = pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
CLOSE = {"rtol": 0.0, "atol": 1e-6}


@every_target
@every_kind
def test_bound_samples_chosen_ones_and_passed_ones_get_the_same_scores(estimator, target):
    learner = bind(estimator, X)
    model = learner.train(target, COUNTS, 0)
    samples, only = learner.prepare(X), np.array([30, 2, 17])
    scores = model.scores(samples)
    assert scores.shape == (60, target.n_columns)
    np.testing.assert_allclose(model.scores(), scores, **CLOSE)
    np.testing.assert_allclose(model.scores(only=only), scores[only], **CLOSE)
    np.testing.assert_allclose(model.scores(samples, only=only), scores[only], **CLOSE)
    if target.task == "classes":
        np.testing.assert_allclose(scores.sum(axis=1), 1.0)
        np.testing.assert_array_equal(model.votes(samples), model.votes())


@every_target
@every_kind
def test_models_of_appended_labels_and_chosen_features(estimator, target):
    """They are those of a narrower table, and take any labels, for bound samples and for others."""
    features, extra = np.array([2, 0]), rng.integers(0, 2, (20, 2))
    chosen, narrow = bind(estimator, X).restrict(features), bind(estimator, X[:, features])
    models = [one.extend(LABELS[:, :1]).extend(LABELS[:, 1:]).train(target, COUNTS, 0) for one in (chosen, narrow)]
    given = [chosen.prepare(NEW), narrow.prepare(NEW[:, features])]
    first, second = (model.scores(rows, appended=extra) for model, rows in zip(models, given, strict=True))
    np.testing.assert_allclose(first, second, rtol=0.0, atol=1e-3)
    some, model = np.array([7, 3, 11]), models[1]
    np.testing.assert_allclose(model.scores(given[1], appended=extra[some], only=some), second[some], **CLOSE)
    np.testing.assert_allclose(model.scores(only=some), model.scores()[some], **CLOSE)
    others, bound = 1 - LABELS, narrow.prepare(X[:, features])
    np.testing.assert_allclose(model.scores(appended=others), model.scores(bound, appended=others), rtol=0.0, atol=1e-5)


@every_target
@every_kind
def test_released_models_take_passed_samples_only(estimator, target):
    learner = bind(estimator, X)
    model, extended = (one.train(target, COUNTS, 0) for one in (learner, learner.extend(LABELS)))
    before, after = model.scores(learner.prepare(NEW)), extended.scores(learner.prepare(NEW), appended=LABELS[:20])
    learner.release()
    np.testing.assert_array_equal(model.scores(learner.prepare(NEW)), before)
    np.testing.assert_array_equal(extended.scores(learner.prepare(NEW), appended=LABELS[:20]), after)
    for released in (model, extended):
        with pytest.raises(RuntimeError, match="training data"):
            released.scores()


@every_kind
def test_labels_that_are_constant_on_the_samples_drawn(estimator):
    labels = np.column_stack([COUNTS == 0, COUNTS > 0]).astype(np.int8)
    scores = bind(estimator, X).train(label_target(labels), COUNTS, 0).scores()
    np.testing.assert_array_equal(scores, np.tile([0.0, 1.0], (60, 1)))


@pytest.mark.parametrize(
    "estimator", [SVMClassifier(), CARTClassifier(max_features=1), DecisionTreeClassifier(max_features=1)], ids=str
)
def test_the_seed_decides_and_neither_threads_nor_the_order_of_the_labels(estimator):
    def train(seed, n_threads=1, labels=CLASSES):
        return bind(estimator, X, n_threads).train(label_target(labels), COUNTS, seed).scores()

    np.testing.assert_array_equal(train(1), train(1, labels=CLASSES[:, ::-1])[:, ::-1])
    with parallel_config("threading"):  # processes take seconds to start
        np.testing.assert_array_equal(train(1), train(1, n_threads=2))
    assert (train(1) != train(2)).any()


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
    with pytest.raises(ValueError, match="No drawn sample has a class"):
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
    with pytest.raises(ValueError, match=f"{next(iter(params))} cannot differ"):
        bind(estimator, X).with_params(**params)


@pytest.mark.parametrize("value", [LinearRegression(), "forest", GaussianNB, 3])
def test_what_is_no_classifier(value):
    with pytest.raises(TypeError, match="estimator must be a classifier or None"):
        check_base(value, "classifier")
