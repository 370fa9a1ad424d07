"""The loop of two filters, with measurements written down by hand."""

import math

import numpy as np
import pytest

from fuselearn.ensembles.kfhe import ClassTruth
from fuselearn.fusion.filtering import (
    ArrayStates,
    Errors,
    FilterRun,
    Measurement,
    ResetRule,
    Truth,
    closed_form_coefficients,
    run_filters,
)
from fuselearn.learners import Model


class Scripted(Model):
    """A model whose scores are given."""

    def __init__(self, scores):
        self.given = np.asarray(scores, dtype=float)

    def scores(self, X=None):
        return self.given


class Script(Truth):
    """Measure what a list says, and remember with which estimate, weights and seed a model was trained."""

    def __init__(self, *steps):
        super().__init__(np.full(2, 0.5))
        vars(self).update(steps=list(steps), asked=[], estimates=[])

    def train(self, weights, seed):
        self.asked.append((weights.copy(), seed))
        return f"model {len(self.asked)}"

    def compare(self, y, h):
        self.estimates.append(y.copy())
        scores, loss, error, model_error = self.steps[len(self.estimates) - 1]
        return Measurement((y + scores) / 2, None, np.asarray(loss), Errors(error, model_error, 0.25))

    def losses(self, scores):
        return scores[:, 0]


FIRST = np.array([[1.0], [0.0]])


def begin(script, weighting="exponential"):
    return ArrayStates(FIRST, script, script.train, script.compare, weighting=weighting)


def run(script, seeds, **settings):
    return run_filters(begin(script), FilterRun(["model 0"]), seeds, **settings)


def weights_after(script, weighting="exponential"):
    states = begin(script, weighting)
    run_filters(states, FilterRun(["model 0"]), [1])
    return states.w


def test_two_steps_by_hand():
    script = Script((np.array([[0.0], [1.0]]), [0.0, 0.5], 0.25, 0.3), (np.array([[1.0], [1.0]]), [0.0, 0.0], 0.5, 0.3))
    result = run(script, [7, 8])
    first_gain = 1 / 1.25
    variance = 1 - first_gain
    second_gain = variance / (variance + 0.5)
    np.testing.assert_allclose(result.gains, [first_gain, second_gain])
    np.testing.assert_allclose(result.variances, [variance, (1 - second_gain) * variance])
    np.testing.assert_allclose(script.estimates[1], [[0.6], [0.4]])  # y + K (z - y) with z = 1/2
    grown = 0.5 + first_gain * (0.5 * math.exp(0.5) * np.exp([0.0, 0.5]) - 0.5)
    np.testing.assert_allclose(script.asked[1][0], grown / grown.sum())
    assert [seed for _, seed in script.asked] == [7, 8]
    assert result.models[1:] == ["model 1", "model 2"]
    assert result.train_errors == [0.25, 0.25]


def test_the_estimate_is_the_closed_form_sum():
    first, second = np.array([[0.0], [1.0]]), np.array([[1.0], [1.0]])
    script = Script((first, [0.0, 0.0], 0.25, 0.3), (second, [0.0, 0.0], 0.5, 0.3))
    states, result = begin(script), FilterRun(["model 0"])
    run_filters(states, result, [1, 2])
    weights = closed_form_coefficients(np.array(result.gains))
    estimate = weights[0] * np.array([[1.0], [0.0]]) + weights[1] * first + weights[2] * second
    np.testing.assert_allclose(states.y, estimate)
    assert weights.sum() == pytest.approx(1)


def test_right_or_wrong_is_loss_of_nought_or_one():
    steps = [(np.zeros((2, 1)), [True, False], 0.25, 0.3)]
    as_bool = weights_after(Script(*steps))
    as_float = weights_after(Script((steps[0][0], [1.0, 0.0], 0.25, 0.3)))
    np.testing.assert_allclose(as_bool, as_float)
    assert as_bool[0] > as_bool[1]


def test_linear_weights_by_hand():
    weights = weights_after(Script((np.zeros((2, 1)), [0.5, 0.0], 1.0, 0.3)), "linear")
    measured = np.array([0.75, 0.5]) / 1.25
    expected = 0.5 + 0.5 * (measured - 0.5)
    np.testing.assert_allclose(weights, expected / expected.sum())


def test_a_model_no_better_than_guessing_is_measured_again_with_fresh_weights():
    good, bad = (np.zeros((2, 1)), [1.0, 0.0], 0.2, 0.3), (np.zeros((2, 1)), [1.0, 0.0], 0.2, 0.5)
    script = Script(good, bad, good)
    result = run(script, [10, 20], reset=ResetRule(0.5))
    assert result.resets == [2]
    assert [seed for _, seed in script.asked] == [10, 20, 21]
    np.testing.assert_array_equal(script.asked[2][0], [0.5, 0.5])
    assert result.models[1:] == ["model 1", "model 3"]


def test_a_printed_reset_is_repeated_without_a_limit_of_its_own():
    good, bad = (np.zeros((2, 1)), [1.0, 0.0], 0.2, 0.3), (np.zeros((2, 1)), [1.0, 0.0], 0.2, 0.5)
    result = run(Script(bad, bad, bad, good), [10], reset=ResetRule(0.5, most_repeats=5, is_limited=False))
    assert result.resets == [1, 1, 1]
    assert result.models[1:] == ["model 4"]
    with pytest.raises(ValueError, match="3 consecutive models were no better than guessing"):
        run(Script(*[bad] * 9), [10], reset=ResetRule(0.5, most_repeats=3, is_limited=False))


def test_weights_without_anything_to_learn_are_reset_after_the_measurement():
    step = (np.zeros((2, 1)), [1.0, 0.0], 0.2, 0.3)
    script, errors, seen = Script(step, step, step), iter([0.4, 0.5, 0.4]), []

    def judge(h, w):
        seen.append((h, w.copy()))
        return next(errors)

    states = ArrayStates(FIRST, script, script.train, script.compare, weighting="exponential", out_of_bag_error=judge)
    result = run_filters(states, FilterRun(["model 0"]), [1, 2, 3], reset=ResetRule(out_of_bag_error=0.5))
    assert result.resets == [3]  # before the third
    assert result.models[1:] == ["model 1", "model 2", "model 3"]  # none is discarded
    np.testing.assert_array_equal(script.asked[2][0], [0.5, 0.5])
    # The errors are measured under the weights that each model was drawn by.
    for (weights, _), (_, judged_by) in zip(script.asked, seen, strict=True):
        np.testing.assert_array_equal(weights, judged_by)
    never = run(Script(step, step, step), [1, 2, 3])
    np.testing.assert_array_equal(result.gains, never.gains)  # kf-m goes on


def test_it_ends_once_the_gain_is_nought():
    sure = (np.zeros((2, 1)), [0.0, 0.0], 0.0, 0.0)
    assert run(Script(sure, sure, sure), [1, 2, 3]).gains == [1.0, 0.0]


def test_an_earlier_run_goes_on():
    steps = [(rng.random((2, 1)), rng.random(2), *rng.random(2)) for rng in map(np.random.default_rng, range(5))]
    whole = run(Script(*steps), [1, 2, 3, 4, 5])
    script = Script(*steps)
    states, continued = begin(script), FilterRun(["model 0"])
    run_filters(states, continued, [1, 2])
    run_filters(states, continued, [3, 4, 5])
    assert continued.gains == whole.gains
    assert continued.models == whole.models


def test_it_ends_when_told_to():
    steps = [(np.zeros((2, 1)), [1.0, 0.0], 0.2, 0.3)] * 3
    assert len(run(Script(*steps), [1, 2, 3], on_iteration=lambda t, h, **_: (t, h) == (2, "model 2")).gains) == 2


def test_closed_form_by_hand():
    # y1 = 1/2 h0 + 1/2 h1, y2 = 3/4 y1 + 1/4 h2
    np.testing.assert_allclose(closed_form_coefficients(np.array([1.0, 0.5])), [0.375, 0.375, 0.25])


def test_scores_are_measured_by_plain_steps():
    y, h = np.array([[0.9, 0.1], [0.6, 0.4]]), Scripted([[0.0, 1.0], [0.0, 1.0]])
    truth = ClassTruth(np.array([0.25, 0.75]), np.array([1, 0], dtype=np.int32), "probability")
    measured = truth.compare(y, h)
    np.testing.assert_allclose(measured.z, [[0.45, 0.55], [0.3, 0.7]])
    assert measured.loss.tolist() == [False, True]
    assert measured.errors == (0.75, 0.75, 0.25)


@pytest.mark.parametrize("seed", range(5))
def test_votes_measure_what_scores_of_zero_and_one_do(seed):
    rng = np.random.default_rng(seed)
    y, classes = rng.random((20, 3)), rng.integers(0, 3, 20).astype(np.int32)
    h = Scripted(np.eye(3)[rng.integers(0, 3, 20)])
    pulled = []
    for vote in ("class", "probability"):
        measured = ClassTruth(np.full(20, 0.05), classes, vote).compare(y, h)
        pulled.append(y.copy())
        measured.pull(pulled[-1], 0.7)
    np.testing.assert_allclose(*pulled, atol=1e-12)


def test_truth_leaves_losses_to_subclasses():
    with pytest.raises(NotImplementedError):
        Truth(np.ones(1)).losses(np.ones((1, 1)))
