"""Linear machines by coordinate descent, against other programs and against the solver on Gram matrices."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.svm import SVC, LinearSVC

from fuselearn.engines.svm import compute_gram, deal_folds, train_columns, train_linear_columns

rng = np.random.default_rng(0)
N = 300
X = rng.normal(size=(N, 8)) * (rng.random((N, 8)) < 0.5) + 0.5
SCORES = X @ rng.normal(size=(8, 2)) + rng.normal(size=(N, 2))
SIGNS = np.where(SCORES.T > [[2.0], [0.0]], 1.0, -1.0)
COUNTS = rng.poisson(1.0, N)
ROWS = np.flatnonzero(COUNTS)
FORMS = pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])


def train(form=np.asarray, C=1.0, **options):
    return train_linear_columns(form(X), ROWS, SIGNS[:, ROWS], COUNTS[ROWS].astype(float), C, **options)


def decide(trained):
    return trained.coefficients @ X.T + trained.intercepts[:, None]


@FORMS
@pytest.mark.parametrize("C", [1e-4, 0.01, 1.0, 10.0])
def test_decision_values_are_those_of_libsvm(form, C):
    trained = train(form, C)
    assert trained.converged.all()
    for signs, values in zip(SIGNS, decide(trained), strict=True):
        other = SVC(kernel="linear", C=C, tol=1e-5).fit(X[ROWS], signs[ROWS], sample_weight=COUNTS[ROWS])
        np.testing.assert_allclose(values, other.decision_function(X), atol=0.01)


@FORMS
def test_decision_values_are_those_of_liblinear_whose_penalty_on_the_intercept_is_small(form):
    for signs, values in zip(SIGNS, decide(train(form, 0.1)), strict=True):
        other = LinearSVC(loss="hinge", C=0.1, intercept_scaling=30.0, tol=1e-6, max_iter=10**6, random_state=0)
        other.fit(X[ROWS], signs[ROWS], sample_weight=COUNTS[ROWS])
        np.testing.assert_allclose(values, other.decision_function(X), atol=0.02)


@FORMS
def test_rows_left_out_and_sigmoids_are_those_of_the_solver_on_gram_matrices(form):
    folds = deal_folds(COUNTS[ROWS], 5, seed=0)
    ours = train(form, folds=folds)
    gram = compute_gram(X[ROWS], "linear", 1.0)
    others = train_columns(gram, SIGNS[:, ROWS], COUNTS[ROWS].astype(float), 1.0, folds=folds)
    np.testing.assert_allclose(ours.left_out, others.left_out, atol=0.06)
    np.testing.assert_allclose(ours.slopes, others.slopes, rtol=0.01)
    np.testing.assert_allclose(ours.offsets, others.offsets, atol=0.02)


@FORMS
def test_rows_drawn_twice_are_two_rows(form):
    copies = np.repeat(np.arange(N), COUNTS)
    written_out = train_linear_columns(form(X), copies, SIGNS[:, copies], np.ones(len(copies)), 1.0)
    np.testing.assert_allclose(decide(written_out), decide(train(form)), atol=0.01)


@FORMS
def test_rows_sorted_by_sign_and_threads_change_little_and_nothing(form):
    order = np.argsort(SIGNS[0, ROWS], kind="stable")
    ordered = train_linear_columns(form(X), ROWS[order], SIGNS[:, ROWS[order]], COUNTS[ROWS[order]].astype(float), 1.0)
    np.testing.assert_allclose(decide(ordered), decide(train(form)), atol=0.01)
    np.testing.assert_array_equal(decide(train(form, n_threads=2)), decide(train(form)))


@FORMS
def test_a_fold_that_leaves_out_all_positives(form):
    signs = np.where(np.arange(N) < 2, 1.0, -1.0)[None]
    folds = np.zeros((2, N))
    folds[0, :100], folds[1, 100:] = 1.0, 1.0
    trained = train_linear_columns(form(X), np.arange(N), signs, np.ones(N), 1.0, folds=folds)
    np.testing.assert_array_equal(trained.left_out[0, :100], -1.0)
    assert np.isfinite([trained.slopes, trained.offsets]).all()


def test_rows_without_values_have_the_sign_of_most():
    signs = np.array([[1.0, -1.0, -1.0]])
    trained = train_linear_columns(np.zeros((3, 2)), np.arange(3), signs, np.ones(3), 1.0)
    np.testing.assert_allclose(trained.intercepts, -1.0, atol=0.01)
    np.testing.assert_array_equal(trained.coefficients, 0.0)


def test_too_few_passes_are_told():
    assert not train(max_passes=1).converged.any()
