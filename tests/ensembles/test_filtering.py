"""The loop of two filters, with measurements written down by hand."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuselearn.ensembles.filtering import (
    Measurement,
    closed_form_coefficients,
    pull_weights,
    run_filters,
    take_in,
)


class Scripted:
    """A component whose scores are given."""

    def __init__(self, scores):
        self.given = np.asarray(scores, dtype=float)

    def scores(self):
        return self.given


class Script:
    """Measure what a list says, and remember with which estimate, weights and seed it was asked."""

    def __init__(self, *steps, linear=False):
        self.steps = list(steps)
        self.asked = []
        self.linear = linear

    def __call__(self, models, weights, seed, error_limit):
        self.asked.append((models.state.copy(), weights.state.copy(), seed))
        scores, loss, error, own_error = self.steps[len(self.asked) - 1]
        measured = Measurement((models.state + scores) / 2, np.asarray(loss), error, own_error, 0.25)
        shares = np.full(2, 0.5)
        return take_in(f"model {len(self.asked)}", measured, models, weights, shares, self.linear, error_limit)


def run(script, seeds, **settings):
    shares = np.full(2, 0.5)
    return run_filters(
        Scripted([[1.0], [0.0]]), script, lambda estimate: float(estimate.sum()), shares, seeds, **settings
    )


def test_two_steps_by_hand():
    script = Script((np.array([[0.0], [1.0]]), [0.0, 0.5], 0.25, 0.3), (np.array([[1.0], [1.0]]), [0.0, 0.0], 0.5, 0.3))
    result = run(script, [7, 8])
    first_gain = 1 / 1.25
    variance = 1 - first_gain
    second_gain = variance / (variance + 0.5)
    np.testing.assert_allclose(result.gains, [first_gain, second_gain])
    np.testing.assert_allclose(result.variances, [variance, (1 - second_gain) * variance])
    np.testing.assert_allclose(script.asked[1][0], [[0.6], [0.4]])  # y + K (z - y) with z = 1/2
    grown = 0.5 + first_gain * (0.5 * math.exp(0.5) * np.exp([0.0, 0.5]) - 0.5)
    np.testing.assert_allclose(script.asked[1][1], grown / grown.sum())
    assert [seed for _, _, seed in script.asked] == [7, 8]
    assert result.components[1:] == ["model 1", "model 2"]
    np.testing.assert_allclose(result.train_errors[:2], 0.25)
    assert len(result.train_errors) == 3


def test_the_estimate_is_the_closed_form_sum():
    first, second = np.array([[0.0], [1.0]]), np.array([[1.0], [1.0]])
    script = Script((first, [0.0, 0.0], 0.25, 0.3), (second, [0.0, 0.0], 0.5, 0.3))
    result = run(script, [1, 2])
    weights = closed_form_coefficients(result.gains)
    estimate = weights[0] * np.array([[1.0], [0.0]]) + weights[1] * first + weights[2] * second
    assert result.train_errors[-1] == pytest.approx(estimate.sum())
    assert weights.sum() == pytest.approx(1)


def test_right_or_wrong_is_loss_of_nought_or_one():
    steps = [(np.zeros((2, 1)), [True, False], 0.25, 0.3)]
    as_bool = run(Script(*steps), [1]).weights
    as_float = run(Script((steps[0][0], [1.0, 0.0], 0.25, 0.3)), [1]).weights
    np.testing.assert_allclose(as_bool, as_float)
    assert as_bool[0] > as_bool[1]


def test_linear_weights_by_hand():
    result = run(Script((np.zeros((2, 1)), [0.5, 0.0], 1.0, 0.3), linear=True), [1])
    measured = np.array([0.75, 0.5]) / 1.25
    expected = 0.5 + 0.5 * (measured - 0.5)
    np.testing.assert_allclose(result.weights, expected / expected.sum())


@settings(max_examples=40)
@given(st.integers(0, 10_000), st.integers(1, 30), st.booleans(), st.sampled_from([0.0, 0.3, 1.0]), st.booleans())
def test_weights_are_those_of_the_formulas(seed, n_rows, linear, gain, right_or_wrong):
    rng = np.random.default_rng(seed)
    weights, shares, loss = rng.dirichlet(np.ones(n_rows)), rng.dirichlet(np.ones(n_rows)), rng.random(n_rows)
    loss = loss < 0.5 if right_or_wrong else loss
    measured = shares + weights * loss if linear else weights * np.exp(loss + 1 / n_rows)
    expected = weights + gain * (measured / (measured.sum() if linear else 1.0) - weights)
    pull_weights(weights, loss, shares, linear, gain)
    np.testing.assert_allclose(weights, expected / expected.sum(), rtol=1e-12)


def test_a_model_no_better_than_guessing_is_measured_again_with_fresh_weights():
    good, bad = (np.zeros((2, 1)), [1.0, 0.0], 0.2, 0.3), (np.zeros((2, 1)), [1.0, 0.0], 0.2, 0.5)
    script = Script(good, bad, good)
    result = run(script, [10, 20], guessing_error=0.5)
    assert result.resets.tolist() == [2]
    assert [seed for _, _, seed in script.asked] == [10, 20, 21]
    np.testing.assert_array_equal(script.asked[2][1], [0.5, 0.5])
    assert result.components[1:] == ["model 1", "model 3"]


def test_it_ends_once_the_gain_is_nought():
    sure = (np.zeros((2, 1)), [0.0, 0.0], 0.0, 0.0)
    assert run(Script(sure, sure, sure), [1, 2, 3]).gains.tolist() == [1.0, 0.0]


def test_process_noise_keeps_it_going():
    sure = (np.zeros((2, 1)), [0.0, 0.0], 0.0, 0.0)
    assert run(Script(sure, sure, sure), [1, 2, 3], process_noise=0.1).gains.tolist() == [1.0, 1.0, 1.0]


def test_closed_form_by_hand():
    # y1 = 1/2 h0 + 1/2 h1, y2 = 3/4 y1 + 1/4 h2
    np.testing.assert_allclose(closed_form_coefficients(np.array([1.0, 0.5])), [0.375, 0.375, 0.25])
