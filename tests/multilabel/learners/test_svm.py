"""The SVM learner: tables of any kind as numbers, Gram matrices that are shared, extended or of chosen columns."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from fuselearn.multilabel.learners import bind_learner, check_svm_parameters
from fuselearn.multilabel.learners.svm import NumberEncoder
from fuselearn.sensors.svm import SVMSensor

rng = np.random.default_rng(0)
X = rng.normal(size=(70, 4)) * [1, 10, 0.1, 1]
Y = (X @ rng.normal(size=(4, 3)) + rng.normal(size=(70, 3)) > 0).astype(np.int8)
COUNTS = rng.poisson(1, 70).astype(np.int32)
NEW = rng.normal(size=(20, 4)) * [1, 10, 0.1, 1]
FAST = {"probability": "logistic", "gamma": 0.25}
kernels = pytest.mark.parametrize("kernel", ["rbf", "linear"])
libraries = pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])


@pytest.fixture(scope="module")
def learner():
    return bind_learner(None, X)


@kernels
def test_blocks_are_those_of_the_sensor(learner, kernel):
    block = learner.train(Y, COUNTS, 3, kernel=kernel, C=2.0)
    sensor = SVMSensor(X)
    other = sensor.train(Y, None, COUNTS, seed=3, kernel=kernel, C=2.0)
    np.testing.assert_array_equal(block.probabilities(learner.prepare(NEW)), other.probabilities(sensor.prepare(NEW)))
    np.testing.assert_array_equal(block.probabilities(only=np.array([5, 1])), other.probabilities()[[5, 1]])


@kernels
def test_appended_labels_are_features_like_others(kernel):
    learner = bind_learner(None, X, scaling=None)
    extended = learner.extend(Y[:, :1]).extend(Y[:, 1:2])
    block = extended.train(Y[:, 2:], COUNTS, 0, kernel=kernel, **FAST)
    wide = bind_learner(None, np.hstack([X, Y[:, :2]]), scaling=None)
    other = wide.train(Y[:, 2:], COUNTS, 0, kernel=kernel, **FAST)
    np.testing.assert_allclose(block.probabilities(), other.probabilities(), atol=1e-3)

    extra = rng.integers(0, 2, (20, 2))
    expected = other.probabilities(wide.prepare(np.hstack([NEW, extra])))
    rows = learner.prepare(NEW)
    np.testing.assert_allclose(block.probabilities(rows, extra), expected, atol=1e-3)
    some = np.array([7, 3])
    np.testing.assert_allclose(block.probabilities(rows, extra[some], some), expected[some], atol=1e-3)


def test_standardised_tables_get_labels_as_minus_one_and_one():
    standard = X / X.std(axis=0)
    given, scaled = bind_learner(None, np.hstack([standard, 2 * Y[:, :1] - 1]), scaling=None), bind_learner(None, X)
    expected = given.train(Y[:, 1:], COUNTS, 0, **FAST).probabilities()
    actual = scaled.extend(Y[:, :1]).train(Y[:, 1:], COUNTS, 0, **FAST).probabilities()
    np.testing.assert_allclose(actual, expected, atol=1e-3)


def test_bound_rows_may_get_other_labels_appended(learner):
    block = learner.extend(Y[:, :2]).train(Y[:, 2:], COUNTS, 0, **FAST)
    other = 1 - Y[:, :2]
    from_rows = block.probabilities(learner.prepare(X), other)
    np.testing.assert_allclose(block.probabilities(extra=other), from_rows, atol=1e-5)
    assert abs(block.probabilities() - from_rows).max() > 0.01


@kernels
def test_chosen_columns_and_appended_labels(learner, kernel):
    features, extra = np.array([3, 1]), rng.integers(0, 2, (20, 1))
    chosen = learner.restrict(features)
    block = chosen.extend(Y[:, :1]).train(Y[:, 1:], COUNTS, 0, kernel=kernel, **FAST)
    narrow = bind_learner(None, X[:, features])
    other = narrow.extend(Y[:, :1]).train(Y[:, 1:], COUNTS, 0, kernel=kernel, **FAST)
    expected = other.probabilities(narrow.prepare(NEW[:, features]), extra)
    for rows in (chosen.prepare(NEW), chosen.adapt(learner.prepare(NEW))):
        np.testing.assert_array_equal(block.probabilities(rows, extra), expected)
    prepared = learner.prepare(NEW)
    assert learner.adapt(prepared) is prepared


def test_labels_that_are_constant_on_the_drawn_rows(learner):
    labels = np.column_stack([COUNTS == 0, COUNTS > 0]).astype(np.int8)
    np.testing.assert_array_equal(learner.train(labels, COUNTS, 0).probabilities(), np.tile([0.0, 1.0], (70, 1)))


def test_weights_are_costs(learner):
    weights = COUNTS * 0.5
    drawn = (COUNTS > 0).astype(np.int32)
    weighted = learner.train(Y, drawn, 0, weights=weights, C=2.0, probability="logistic")
    counted = learner.train(Y, COUNTS, 0, C=1.0, probability="logistic")
    np.testing.assert_allclose(weighted.probabilities(), counted.probabilities(), atol=1e-3)


def test_only_rows_drawn_count_whatever_their_weights(learner):
    drawn = (np.arange(70) < 35).astype(np.int32)
    with_all, with_some = (
        learner.train(Y, drawn, 0, weights=weights, probability="logistic").probabilities()
        for weights in (np.full(70, 0.5), 0.5 * drawn)
    )
    np.testing.assert_array_equal(with_all, with_some)


@kernels
def test_without_gram_matrices_blocks_answer_for_passed_rows_only(kernel):
    learner = bind_learner(None, X)
    extended = learner.extend(Y[:, :1])
    blocks = [one.train(Y[:, 1:], COUNTS, 0, kernel=kernel) for one in (learner, extended)]
    rows = learner.prepare(NEW)
    extra = rng.integers(0, 2, (20, 1))
    expected = [block.probabilities(rows, extra) for block in blocks]
    for block in blocks:
        block.unbind()
    learner.unbind()
    rows = learner.prepare(NEW)
    for block, before in zip(blocks, expected, strict=True):
        np.testing.assert_array_equal(block.probabilities(rows, extra), before)
        with pytest.raises(RuntimeError, match="training data"):
            block.probabilities()


@libraries
def test_categories_become_columns(frame):
    encoder = NumberEncoder()
    encoded = encoder.fit_transform(frame({"a": [1.0, 2.0, 3.0], "c": ["x", None, "z"], "b": [4, 5, 6]}))
    np.testing.assert_array_equal(encoded, [[1, 1, 0, 4], [2, 0, 0, 5], [3, 0, 1, 6]])
    np.testing.assert_array_equal(encoder.transform(frame({"a": [0.5], "c": ["new"], "b": [0]})), [[0.5, 0, 0, 0]])
    np.testing.assert_array_equal(encoder.columns_of(np.array([2, 1])), [3, 1, 2])


def test_many_categories_stay_sparse():
    names = [f"name {k:04}" for k in range(1200)]
    encoded = NumberEncoder().fit_transform(pd.DataFrame({"name": names, "a": np.arange(1200.0)}))
    assert sparse.issparse(encoded)
    np.testing.assert_array_equal(encoded[:, :1200].toarray(), np.eye(1200))
    np.testing.assert_array_equal(encoded[:, [1200]].toarray().ravel(), np.arange(1200.0))


@libraries
def test_gaps_are_refused_by_name(frame):
    good, bad = frame({"a": [1.0, 2.0], "b": [1.0, 2.0]}), frame({"a": [1.0, 2.0], "b": [1.0, None]})
    for call in (lambda: bind_learner(None, bad), lambda: bind_learner(None, good).prepare(bad)):
        with pytest.raises(ValueError, match="Column 'b' has missing values"):
            call()


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_numbers_that_are_none(value, form, learner):
    bad = X.copy()
    bad[3, 1] = value
    for call in (lambda: bind_learner(None, form(bad)), lambda: learner.prepare(form(bad))):
        with pytest.raises(ValueError, match=r"Input X contains (NaN|infinity)"):
            call()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("C", 0), ("C", -1.0), ("C", "1"), ("C", np.inf), ("kernel", "poly"), ("kernel", None), ("gamma", -1.0),
        ("gamma", "scale"), ("probability", True), ("probability", "isotonic"), ("scaling", "robust"),
    ],
)  # fmt: skip
def test_bad_parameters(name, value):
    good = {"C": 1.0, "kernel": "rbf", "gamma": None, "probability": "platt", "scaling": None}
    check_svm_parameters(**good)
    with pytest.raises((ValueError, TypeError), match=f"{name} must be"):
        check_svm_parameters(**{**good, name: value})


def test_unknown_settings(learner):
    with pytest.raises(TypeError, match="depth"):
        learner.train(Y, COUNTS, 0, depth=3)
