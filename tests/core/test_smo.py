"""SMO reaches the optimum that libsvm reaches."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.svm import SVC

from fuselearn._core import solve_svm, take_block
from fuselearn.learners.kernels import compute_gram

STEPS = 10_000_000


def objective(gram, signs, coefficients):
    return signs @ coefficients - coefficients @ gram.astype(float) @ coefficients / 2


def draw_problem(seed, n=None):
    """Draw a Gram matrix, signs and weights; half of the problems have rows that occur twice."""
    rng = np.random.default_rng(seed)
    n = rng.integers(10, 90) if n is None else n
    X = rng.normal(size=(n, rng.integers(1, 6)))
    if seed % 2:
        X[: n // 3] = X[-(n // 3) :]
    signs = np.where(X[:, 0] + rng.normal(size=n) > rng.normal() / 2, 1.0, -1.0)
    signs[:2] = 1.0, -1.0
    kernel = ("linear", "rbf")[seed // 2 % 2]
    return compute_gram(X, kernel, 0.5), signs, rng.choice([0.5, 1.0, 2.0, 3.0], n)


def solve_with_libsvm(gram, signs, weights, C):
    machine = SVC(C=C, kernel="precomputed", tol=1e-4, shrinking=False).fit(gram, signs, sample_weight=weights)
    coefficients = np.zeros(len(signs))
    coefficients[machine.support_] = machine.dual_coef_[0]
    return coefficients, machine.decision_function(gram)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("C", [1e-3, 0.1, 1.0, 30.0, 1e3])
def test_objective_and_decisions_are_those_of_libsvm(seed, C):
    gram, signs, weights = draw_problem(seed)
    coefficients, residuals, intercept, converged = solve_svm(gram, signs, C * weights, STEPS, 1e-4)
    expected, decisions = solve_with_libsvm(gram, signs, weights, C)
    assert converged
    assert abs(coefficients.sum()) < 1e-9 * C * len(signs)
    sizes = signs * coefficients
    assert (sizes >= 0).all()
    assert (sizes <= C * weights).all()
    best = objective(gram, signs, expected)
    assert objective(gram, signs, coefficients) == pytest.approx(best, rel=1e-4)
    np.testing.assert_allclose(residuals, signs - gram.astype(float) @ coefficients, atol=1e-9 * C * len(signs))
    between = ((sizes > 0) & (sizes < C * weights)).any()
    if between:  # otherwise there is a choice of intercepts
        np.testing.assert_allclose(signs - residuals + intercept, decisions, atol=2e-3 * (1 + abs(decisions).max()))


@pytest.mark.parametrize("seed", range(4))
def test_weights_are_copies(seed):
    gram, signs, _ = draw_problem(seed)
    counts = np.random.default_rng(seed).integers(0, 4, len(signs))
    counts[:2] = 1
    copies = np.repeat(np.arange(len(signs)), counts)
    weighted = solve_svm(gram, signs, 2.0 * counts, STEPS, 1e-6)
    copied = solve_svm(take_block(gram, copies), signs[copies], np.full(len(copies), 2.0), STEPS, 1e-6)
    assert objective(gram, signs, weighted[0]) == pytest.approx(
        objective(take_block(gram, copies), signs[copies], copied[0]), rel=1e-6
    )
    decisions = signs - weighted[1] + weighted[2]
    np.testing.assert_allclose((signs[copies] - copied[1] + copied[2]), decisions[copies], atol=1e-3)


def test_rows_of_weight_zero_take_no_part():
    gram, signs, weights = draw_problem(6, n=60)
    weights[::3] = 0.0
    rows = np.flatnonzero(weights)
    coefficients, residuals, intercept, _ = solve_svm(gram, signs, weights, STEPS, 1e-6)
    part = solve_svm(take_block(gram, rows), signs[rows], weights[rows], STEPS, 1e-6)
    assert (coefficients[::3] == 0).all()
    np.testing.assert_allclose(coefficients[rows], part[0], atol=1e-4)
    np.testing.assert_allclose((signs - residuals + intercept)[rows], signs[rows] - part[1] + part[2], atol=1e-4)


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_rows_of_one_sign_are_all_given_it(sign):
    gram, _, weights = draw_problem(2)
    signs = np.full(len(weights), sign)
    coefficients, residuals, intercept, converged = solve_svm(gram, signs, weights, STEPS, 1e-3)
    assert converged
    assert (coefficients == 0).all()
    np.testing.assert_array_equal(signs - residuals + intercept, signs)


def test_no_weight_at_all():
    gram, signs, _ = draw_problem(2)
    coefficients, _, intercept, converged = solve_svm(gram, signs, np.zeros(len(signs)), STEPS, 1e-3)
    assert converged
    assert intercept == 0.0
    assert (coefficients == 0).all()


def test_rows_without_any_difference_leave_the_intercept_to_decide():
    """Three positives against two negatives in one place: every machine there says yes."""
    signs = np.array([1.0, 1.0, 1.0, -1.0, -1.0])
    for gram in (np.ones((5, 5), dtype=np.float32), np.zeros((5, 5), dtype=np.float32)):
        coefficients, residuals, intercept, converged = solve_svm(gram, signs, np.ones(5), STEPS, 1e-3)
        assert converged
        assert coefficients.sum() == pytest.approx(0.0)
        np.testing.assert_allclose(signs - residuals + intercept, 1.0, atol=1e-6)


def test_two_rows_by_hand():
    """x = 0 and 2 with a linear kernel: the margin is between them, f(x) = 1 - x."""
    gram = np.array([[0.0, 0.0], [0.0, 4.0]], dtype=np.float32)
    coefficients, _, intercept, _ = solve_svm(gram, np.array([1.0, -1.0]), np.full(2, 10.0), STEPS, 1e-3)
    np.testing.assert_allclose(coefficients, [0.5, -0.5])
    assert intercept == pytest.approx(1.0)


def test_steps_are_bounded():
    gram, signs, weights = draw_problem(4, n=80)
    *_, converged = solve_svm(gram, signs, 1e6 * weights, 20, 1e-3)
    assert not converged


def test_residuals_that_float32_cannot_tell_apart():
    """Far from zero the intercept is in the hundreds, where float32 has steps wider than this tolerance."""
    rng = np.random.default_rng(0)
    near = rng.integers(-8, 9, (60, 1)).astype(float)
    signs = np.where(near[:, 0] + 3.0 * rng.normal(size=60) > 0, 1.0, -1.0)
    weights = rng.random(60)
    far = solve_svm(compute_gram(near + 1000.0, "linear", 1.0), signs, weights, 100_000, 1e-5)
    expected = solve_svm(compute_gram(near, "linear", 1.0), signs, weights, 100_000, 1e-5)
    assert far[3]
    assert abs(far[2]) > 400.0
    np.testing.assert_allclose(signs - far[1] + far[2], signs - expected[1] + expected[2], atol=1e-4)


def test_a_problem_where_most_rows_settle_early():
    """A linear machine on many rows: the rows near the margin are few, and solved for on their own."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(700, 4))
    signs = np.where(X[:, 0] + 0.7 * rng.normal(size=700) > 0, 1.0, -1.0)
    gram = compute_gram(X, "linear", 1.0)
    coefficients, residuals, intercept, converged = solve_svm(gram, signs, np.full(700, 5.0), STEPS, 1e-4)
    expected, decisions = solve_with_libsvm(gram, signs, np.ones(700), 5.0)
    assert converged
    assert objective(gram, signs, coefficients) == pytest.approx(objective(gram, signs, expected), rel=1e-5)
    np.testing.assert_allclose(signs - residuals + intercept, decisions, atol=2e-3)


@pytest.mark.parametrize("n", [255, 256, 257, 513])
def test_problems_of_several_hundred_samples(n):
    for seed in range(4):
        gram, signs, weights = draw_problem(seed, n)
        coefficients, residuals, _, converged = solve_svm(gram, signs, weights, STEPS, 1e-4)
        assert converged
        expected, _ = solve_with_libsvm(gram, signs, weights, 1.0)
        assert objective(gram, signs, coefficients) == pytest.approx(objective(gram, signs, expected), rel=1e-5)
        np.testing.assert_allclose(residuals, signs - gram.astype(float) @ coefficients, atol=1e-6)


@given(
    st.lists(st.tuples(st.integers(-2, 2), st.booleans(), st.integers(0, 3)), min_size=1, max_size=12),
    st.sampled_from(["linear", "rbf"]),
    st.sampled_from([1e-3, 1.0, 1e3]),
)
def test_any_small_problem_ends_at_an_optimum(rows, kernel, C):
    X = np.array([[x] for x, _, _ in rows], dtype=float)
    signs = np.array([1.0 if positive else -1.0 for _, positive, _ in rows])
    bounds = C * np.array([weight for *_, weight in rows], dtype=float)
    gram = compute_gram(X, kernel, 1.0)
    coefficients, residuals, intercept, converged = solve_svm(gram, signs, bounds, STEPS, 1e-3)
    assert converged
    assert np.isfinite(intercept)
    sizes = signs * coefficients
    may_rise = np.where(signs > 0, sizes < bounds, sizes > 0)
    may_fall = np.where(signs > 0, sizes > 0, sizes < bounds)
    if may_rise.any() and may_fall.any():
        assert residuals[may_rise].max() - residuals[may_fall].min() <= 1e-3
