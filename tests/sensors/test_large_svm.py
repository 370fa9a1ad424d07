"""Machines for tables that are too large for a Gram matrix."""

import warnings

import numpy as np
import pytest
from scipy import sparse

from fuselearn import SVMClassifier
from fuselearn.sensors import large_svm
from fuselearn.sensors.svm import SVMLearner

rng = np.random.default_rng(0)
X = rng.normal(size=(400, 5)) * [1, 3, 1, 1, 1]
Y = np.column_stack([X[:, 0] + X[:, 1] > 1, (X**2).sum(axis=1) > 8, rng.random(400) < 0.1, np.ones(400)]).astype(int)
COUNTS = rng.poisson(2, 400)
NEW = rng.normal(size=(300, 5)) * [1, 3, 1, 1, 1]


def bound(data, n_threads=1, **parameters):
    return SVMLearner(data, SVMClassifier(**parameters), n_threads)


def train(learner, labels, drawn, seed=0, **parameters):
    """Train a machine per label; numbers drawn that are floats are weights."""
    weights = None if drawn.dtype.kind in "iu" else drawn
    return learner.with_params(**parameters).train(labels, np.ceil(drawn).astype(np.int32), seed, weights=weights)


@pytest.fixture
def bind(monkeypatch):
    def bind(data, *, large=True, **settings):
        monkeypatch.setattr(large_svm, "N_FEATURES", 80)
        monkeypatch.setattr(large_svm, "LARGEST_GRAM", 1000 if large else 2**31)
        if not large:
            return bound(data, **settings)
        with pytest.warns(UserWarning, match="Gram matrix of 400 rows would take more than 2 GB"):
            return bound(data, **settings)

    return bind


def test_the_limit_is_two_gigabytes_of_float32():
    assert not large_svm.is_too_large(23_170)
    assert large_svm.is_too_large(23_171)


@pytest.mark.parametrize("probability", ["platt", "logistic", "sign"])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_probabilities_are_about_as_good_as_those_of_the_exact_machines(bind, kernel, probability):
    """Of the labels that the kernel can learn: one of two for a linear one."""
    truth = np.column_stack([NEW[:, 0] + NEW[:, 1] > 1, (NEW**2).sum(axis=1) > 8])[:, : 1 + (kernel == "rbf")]
    errors = []
    for large in (True, False):
        learner = bind(X, large=large)
        block = train(learner, Y, COUNTS, kernel=kernel, probability=probability)
        chances = block.scores(learner.prepare(NEW))
        assert chances.shape == (300, 4)
        assert (chances[:, 3] == 1.0).all()
        errors.append(((chances[:, : truth.shape[1]] - truth) ** 2).mean())
    assert errors[0] < errors[1] + 0.02 < 0.15


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_counts_are_copies(bind, kernel):
    copies = np.repeat(np.arange(400), COUNTS)
    learner = bind(X, scaling=None)
    weighted = train(learner, Y, COUNTS, kernel=kernel, probability="logistic").scores(learner.prepare(NEW))
    features = learner.table.bound_rows().features(train(learner, Y, COUNTS, kernel=kernel, probability="sign").kernel)
    signs, cost = np.where(Y[:, :3].T > 0, 1.0, -1.0), 1.0 if kernel == "rbf" else 0.2
    machines = [
        large_svm.train_linear(features[rows], signs[:, rows], weights, None, C=cost, n_threads=1)
        for rows, weights in ((copies, np.ones(len(copies))), (np.arange(400), COUNTS.astype(float)))
    ]
    np.testing.assert_allclose(machines[0].coefficients, machines[1].coefficients, atol=0.02)
    assert weighted.shape == (300, 4)


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_sparse_equals_dense_and_threads_change_nothing(bind, kernel):
    chances = []
    for form, n_threads in ((np.asarray, 1), (np.asarray, 2), (sparse.csr_array, 1)):
        learner = bind(form(X), n_threads=n_threads)
        block = train(learner, Y, COUNTS, kernel=kernel)
        chances.append(block.scores(learner.prepare(form(NEW))))
    np.testing.assert_array_equal(chances[0], chances[1])
    np.testing.assert_allclose(chances[0], chances[2], atol=0.01)


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_new_rows_need_no_training_rows(bind, kernel):
    learner = bind(X)
    block = train(learner, Y, COUNTS, kernel=kernel)
    bound = block.scores()
    learner.unbind()
    assert learner.table._training_X is None
    np.testing.assert_allclose(block.scores(learner.prepare(X)), bound, atol=1e-5)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_appended_columns_are_columns_like_others(bind, kernel, form):
    """A label that equals an appended column is learned from it."""
    learner = bind(form(X))
    extended = learner.extend(Y[:, 2:3])
    block = train(extended, Y[:, 2:3], COUNTS, kernel=kernel, C=10.0)
    assert ((block.scores() > 0.5) == Y[:, 2:3]).mean() > 0.98
    extended.unbind()
    turned = 1 - Y[:, 2:3]
    assert ((block.scores(learner.prepare(form(X)), turned) > 0.5) == turned).mean() > 0.95


def test_a_fold_without_positives(bind):
    lonely = np.zeros((400, 1), dtype=int)
    lonely[5] = 1
    learner = bind(X)
    chances = train(learner, lonely, np.ones(400, dtype=int)).scores()
    assert ((chances >= 0) & (chances <= 1)).all()


def test_small_tables_give_no_warning(bind):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        bind(X, large=False)
