"""The solver against the same steps in plain NumPy, to the bit."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuselearn._core import fit_sigmoid, solve_svm, take_block
from fuselearn.learners.kernels import compute_gram
from fuselearn.learners.svm import deal_folds, train_columns

LANES = 16
FOLD_SLACK = 10.0
# Sizes around full lanes, and so small that everything is settled early.
SIZES = st.integers(1, 40) | st.sampled_from([2 * LANES, 5 * LANES - 1, 9 * LANES + 1])
few = settings(max_examples=60, deadline=None)


class NaiveProblem:
    def __init__(self, gram, signs, bounds):
        self.gram, self.signs = gram, signs
        self.upper, self.lower = np.where(signs > 0, bounds, 0.0), np.where(signs > 0, 0.0, -bounds)

    def measure_range(self, coefficients, residuals):
        highest = residuals[coefficients < self.upper].max(initial=-np.inf)
        lowest = residuals[coefficients > self.lower].min(initial=np.inf)
        return highest, lowest

    def add_rows(self, residuals, factors):
        """Four rows at a time, as in the core."""
        used = np.flatnonzero(factors)
        for first in range(0, len(used), 4):
            rows = [factors[k] * self.gram[k].astype(float) for k in used[first : first + 4]]
            rows += [np.zeros(len(residuals))] * (4 - len(rows))
            residuals += (rows[0] + rows[1]) + (rows[2] + rows[3])

    def descend(self, chosen, coefficients, residuals, max_steps, tolerance):
        """Steps by the second-order rule, with residuals of the given precision, in place; return their number."""
        gram, upper, lower = self.gram[np.ix_(chosen, chosen)], self.upper[chosen], self.lower[chosen]
        diagonal, step = gram.diagonal(), 0
        while True:
            may_rise, may_fall = coefficients < upper, coefficients > lower
            candidates = np.where(may_rise, residuals, -np.inf)
            i = candidates.argmax()
            distances = np.where(may_fall, np.maximum(candidates[i] - residuals, 0), 0).astype(residuals.dtype)
            curvatures = np.maximum(diagonal[i] + diagonal - 2 * gram[i], np.float32(1e-12))
            j = (distances * distances / curvatures).argmax()
            if not distances.max() > tolerance or step == max_steps:
                return step
            move = (float(residuals[i]) - float(residuals[j])) / float(curvatures[j])
            room_up, room_down = upper[i] - coefficients[i], coefficients[j] - lower[j]
            move = min(move, room_up, room_down)
            coefficients[i] = upper[i] if move == room_up else coefficients[i] + move
            coefficients[j] = lower[j] if move == room_down else coefficients[j] - move
            residuals -= residuals.dtype.type(move) * (gram[i] - gram[j])
            step += 1

    def improve(self, coefficients, residuals, max_steps, tolerance):
        n = len(residuals)
        chosen, most, kind = np.arange(n), n, np.float32
        highest, lowest = self.measure_range(coefficients, residuals)
        while highest - lowest > tolerance:
            if max_steps <= 0:
                return False
            moved, rounded = coefficients[chosen], residuals[chosen].astype(kind)
            steps = self.descend(chosen, moved, rounded, min(most, max_steps), (1.0 - 2.0 * 0.05) * tolerance)
            max_steps -= max(steps, 1)
            changes = np.zeros(n)
            changes[chosen] = coefficients[chosen] - moved
            coefficients[chosen] = moved
            self.add_rows(residuals, changes)
            if abs(residuals[chosen] - rounded).max() > 0.05 * tolerance:
                kind = np.float64
            highest, lowest = self.measure_range(coefficients, residuals)
            stays = (coefficients >= self.upper) & (residuals > highest)
            stays |= (coefficients <= self.lower) & (residuals < lowest)
            chosen, most = np.flatnonzero(~stays), 10 * n
            if len(chosen) > 0.5 * n:
                chosen = np.arange(n)
        return True

    def move_inside(self, coefficients, residuals):
        """Cut coefficients; what is too much on one side is taken from the most extreme residuals first."""
        inside = np.clip(coefficients, self.lower, self.upper)
        changes, coefficients[:] = coefficients - inside, inside
        self.add_rows(residuals, changes)
        surplus = np.add.accumulate(np.append(0.0, coefficients))[-1]
        heavy = np.sign(surplus)
        while heavy * surplus > 0 and (heavy * coefficients > 0).any():
            own = np.flatnonzero(heavy * coefficients > 0)
            most = own[(heavy * residuals[own]).argmin()]
            change = min(heavy * coefficients[most], heavy * surplus)
            coefficients[most] -= heavy * change
            surplus -= heavy * change
            residuals += heavy * change * self.gram[most].astype(float)

    def find_intercept(self, coefficients, residuals):
        slack = 1e-9 * (self.upper - self.lower)
        may_rise, may_fall = coefficients < self.upper - slack, coefficients > self.lower + slack
        if (may_rise & may_fall).any():
            free = residuals[may_rise & may_fall]
            return np.add.accumulate(np.append(0.0, free))[-1] / len(free)
        highest, lowest = residuals[may_rise].max(initial=-np.inf), residuals[may_fall].min(initial=np.inf)
        known = [limit for limit in (highest, lowest) if np.isfinite(limit)]
        return sum(known) / len(known) if known else 0.0


def draw_problem(seed, n):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, rng.integers(1, 4)))
    X[: n // 3] = X[-(n // 3) :] if n >= 3 else X[: n // 3]  # ties
    signs = np.where(X[:, 0] + rng.normal(size=n) > rng.normal() / 2, 1.0, -1.0)
    gram = compute_gram(X, ("linear", "rbf")[seed % 2], 0.5)
    return gram, signs, rng.integers(0, 4, n)


@few
@given(st.integers(0, 10_000), SIZES, st.sampled_from([0.01, 1.0, 50.0]), st.sampled_from([1e-3, 1e-6]))
def test_solutions_are_equal_to_the_bit(seed, n, C, tolerance):
    gram, signs, weights = draw_problem(seed, n)
    bounds = C * weights
    naive, coefficients, residuals = NaiveProblem(gram, signs, bounds), np.zeros(n), signs.copy()
    converged = naive.improve(coefficients, residuals, 3000, tolerance)
    found = solve_svm(gram, signs, bounds, 3000, tolerance)
    np.testing.assert_array_equal(found[0], coefficients)
    np.testing.assert_array_equal(found[1], residuals)
    assert found[2] == naive.find_intercept(coefficients, residuals)
    assert found[3] == converged


@few
@given(st.integers(0, 10_000), SIZES, st.sampled_from([0.1, 1.0, 20.0]))
def test_folds_start_from_the_solution_on_all_samples(seed, n, C):
    gram, signs, counts = draw_problem(seed, n)
    weights, folds = counts.astype(float), deal_folds(counts, 3, seed)
    trained = train_columns(gram, signs[None], weights, C, folds=folds)
    coefficients, residuals = np.zeros(n), signs.copy()
    naive = NaiveProblem(gram, signs, C * weights)
    converged = naive.improve(coefficients, residuals, 100_000, 1e-3)
    values = []
    for fold in folds:
        naive = NaiveProblem(gram, signs, np.maximum(C * (weights - fold), 0.0))
        moved, remaining = coefficients.copy(), residuals.copy()
        naive.move_inside(moved, remaining)
        converged &= naive.improve(moved, remaining, 100_000, FOLD_SLACK * 1e-3)
        values.append((signs - remaining + naive.find_intercept(moved, remaining))[fold > 0])
    np.testing.assert_array_equal(trained.coefficients[0], coefficients)
    np.testing.assert_array_equal(trained.left_out[0], np.concatenate(values))
    left_out = np.nonzero(folds)
    sigmoid = fit_sigmoid(np.concatenate(values), signs[left_out[1]], folds[left_out])
    assert (trained.slopes[0], trained.offsets[0]) == sigmoid
    assert trained.converged[0] == converged


@pytest.mark.parametrize("n", [0, 1, 7, 40])
def test_a_block_of_the_gram_matrix(n):
    rng = np.random.default_rng(n)
    gram, samples = rng.normal(size=(12, 12)).astype(np.float32), rng.integers(0, 12, n)
    np.testing.assert_array_equal(take_block(gram, samples), gram[np.ix_(samples, samples)])
