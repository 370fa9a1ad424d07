"""Linear machines by coordinate descent, against other programs and against the solver on Gram matrices."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.svm import SVC, LinearSVC

from fuselearn.learners.kernels import compute_gram
from fuselearn.learners.svm import deal_folds, train_columns, train_linear_columns

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


class NaiveMachine:
    """Dual coordinate descent as ``cpp/svm/linear.hpp`` describes it, one number at a time."""

    def __init__(self, signs, bounds):
        self.X, self.signs, self.bounds = X[ROWS], signs, bounds
        self.squares = (self.X**2).sum(axis=1)
        self.coefficients, self.weights = np.zeros(len(signs)), np.zeros(X.shape[1])
        positive, negative = bounds[signs > 0].sum(), bounds[signs < 0].sum()
        self.intercept = 1.0 if positive > negative else -1.0
        self.step = max(0.03 * self.squares.mean(), 1.0 / min(positive, negative))
        self.settled_above, self.settled_below = np.inf, -np.inf

    def visit(self, k):
        """Set a coefficient to its best value; return its residual, or nothing if it stays on a bound."""
        upper, lower = (self.bounds[k], 0.0) if self.signs[k] > 0 else (0.0, -self.bounds[k])
        old, residual = self.coefficients[k], self.signs[k] - self.X[k] @ self.weights - self.intercept
        if (old >= upper and residual >= 0) or (old <= lower and residual <= 0):
            return None, self.settled_below <= residual <= self.settled_above
        self.coefficients[k] = np.clip(old + residual / (self.squares[k] + self.step), lower, upper)
        self.intercept += self.step * (self.coefficients[k] - old)
        self.weights += (self.coefficients[k] - old) * self.X[k]
        return residual, True

    def make_pass(self, waiting, number):
        residuals, blocks = [0.0], np.arange(-(-len(waiting) // 32))
        for turn in range(len(blocks)):
            block = draw_into(blocks, turn, number)
            part = waiting[32 * block : 32 * block + 32]
            for place in range(len(part)):
                residual, stays = self.visit(draw_into(part, place, mix(number, int(block))))
                residuals += [] if residual is None else [residual]
                part[place] = part[place] if stays else -1
        return max(residuals), min(residuals), waiting[waiting >= 0]

    def descend(self, max_passes, tolerance=1e-3):
        everything = np.flatnonzero(self.bounds)
        waiting, n_left, number = everything.copy(), max_passes * len(everything), 0
        while n_left > 0:
            n_left, number = n_left - max(len(waiting), 1), number + 1
            highest, lowest, waiting = self.make_pass(waiting, number)
            total = self.coefficients.sum()
            is_done = highest - lowest <= tolerance
            if is_done and len(waiting) == len(everything) and abs(self.step * total) <= tolerance:
                return True
            self.intercept += self.step * total
            waiting = everything.copy() if is_done else waiting
            self.settled_above = np.inf if is_done or highest == 0 else highest
            self.settled_below = -np.inf if is_done or lowest == 0 else lowest
        return False


def mix(key, salt):
    mask = 2**64 - 1
    z = (key + 0x9E3779B97F4A7C15 * (salt + 1)) & mask
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
    return z ^ (z >> 31)


def draw_into(items, position, key):
    other = position + int((mix(key, position) >> 11) / 2**53 * (len(items) - position))
    items[[position, other]] = items[[other, position]]
    return items[position]


@FORMS
@pytest.mark.parametrize("max_passes", [1, 2, 3, 4, 1000])
@pytest.mark.parametrize("C", [0.01, 0.1])
def test_every_pass_is_that_of_a_plain_program(form, C, max_passes):
    trained = train(form, C, max_passes=max_passes)
    for c, signs in enumerate(SIGNS[:, ROWS]):
        naive = NaiveMachine(signs, C * COUNTS[ROWS])
        assert trained.converged[c] == naive.descend(max_passes)
        np.testing.assert_allclose(trained.coefficients[c], naive.weights, rtol=1e-9, atol=1e-12)
        assert trained.intercepts[c] == pytest.approx(naive.intercept, rel=1e-9)
