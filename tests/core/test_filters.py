"""Steps of the Kalman-filter ensembles against plain loops and the formulas in NumPy."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuselearn._core import compare_votes, compare_votes_in_units, measure_weights, pull, pull_halfway, update_weights
from fuselearn.fusion.filtering import WEIGHTINGS


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 30), st.integers(2, 4))
def test_votes_are_scores_of_zero_and_one(seed, n_samples, n_classes):
    rng = np.random.default_rng(seed)
    estimate = rng.integers(0, 5, size=(n_samples, n_classes)) / 4  # so that ties are common
    truth, votes = rng.integers(0, n_classes, size=(2, n_samples)).astype(np.int32)
    shares = rng.dirichlet(np.ones(n_samples))
    wrong, errors = compare_votes(estimate, votes, truth, shares, is_exact=False)
    z, scores = (estimate + np.eye(n_classes)[votes]) / 2, np.eye(n_classes)[votes]
    np.testing.assert_array_equal(wrong, z.argmax(axis=1) != truth)
    expected = [shares[of.argmax(axis=1) != truth].sum() for of in (z, scores, estimate)]
    np.testing.assert_allclose(errors, expected, atol=1e-12)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 30), st.integers(2, 4))
def test_exact_sums_are_exact(seed, n_samples, n_classes):
    rng = np.random.default_rng(seed)
    estimate = rng.random((n_samples, n_classes))
    truth, votes = rng.integers(0, n_classes, size=(2, n_samples)).astype(np.int32)
    fractions = rng.dirichlet(np.ones(n_samples))
    wrong, units = compare_votes_in_units(estimate, votes, truth, fractions)
    np.testing.assert_array_equal(wrong, compare_votes(estimate, votes, truth, fractions, is_exact=False)[0])
    rounded = compare_votes(estimate, votes, truth, fractions, is_exact=True)[1]
    of_each = (wrong, votes != truth, estimate.argmax(axis=1) != truth)
    for count, error, is_wrong in zip(units, rounded, of_each, strict=True):
        assert count == sum(Fraction(value) for value in fractions[is_wrong]) * 2**1074
        assert error == math.fsum(fractions[is_wrong])


@pytest.mark.parametrize(("truth", "is_wrong"), [(0, False), (1, True)])
def test_ties_go_to_the_first_class(truth, is_wrong):
    votes, truth = np.array([0], dtype=np.int32), np.array([truth], dtype=np.int32)
    wrong, _ = compare_votes(np.array([[0.0, 1.0, 0.0]]), votes, truth, np.ones(1), is_exact=False)
    assert wrong.tolist() == [is_wrong]


def test_no_error_is_exactly_zero():
    """The filter's early stop asks for an error of zero, not of nearly zero."""
    truth = np.arange(7, dtype=np.int32) % 2
    _, errors = compare_votes(np.eye(2)[truth], truth, truth, np.full(7, 1 / 7), is_exact=False)
    assert errors == (0.0, 0.0, 0.0)


def test_every_sample_wrong_is_an_error_of_one():
    truth, votes = np.zeros(7, dtype=np.int32), np.ones(7, dtype=np.int32)
    _, errors = compare_votes(np.eye(2)[votes], votes, truth, np.full(7, 1 / 7), is_exact=False)
    assert errors == pytest.approx((1.0, 1.0, 1.0), abs=1e-15)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 30), st.sampled_from(WEIGHTINGS), st.booleans())
def test_measured_weights_are_those_of_the_formulas(seed, n_samples, weighting, right_or_wrong):
    rng = np.random.default_rng(seed)
    weights, shares = rng.dirichlet(np.ones(n_samples), size=2)
    loss = rng.random(n_samples)
    loss = loss < 0.5 if right_or_wrong else loss
    expected = {
        "exponential": weights * np.exp(loss + 1 / n_samples),
        "linear": shares + weights * loss,
        "symmetric": weights * np.exp(loss + (loss - 1.0)),
        "printed exponential": weights * np.exp(loss * 1.0),
        "printed linear": weights * loss,
    }[weighting]
    measured = measure_weights(weights, loss, shares, n_samples, WEIGHTINGS.index(weighting))
    np.testing.assert_allclose(measured, expected, rtol=1e-12)


def pull_plainly(state, measurement, gain):
    return [x + gain * (z - x) for x, z in zip(state, measurement, strict=True)]


def scale_plainly(weights, is_exact):
    total = math.fsum(weights) if is_exact else 0.0
    if not is_exact:
        for weight in weights:
            total += weight
    return [weight / total for weight in weights]


def update_plainly(weights, loss, first, gain, weighting, is_exact):
    n = len(weights)
    factor = {
        "exponential": lambda wrong: (math.e if wrong else 1.0) * math.exp(1 / n),
        "linear": float,
        "symmetric": lambda wrong: math.exp(2.0 * wrong - 1.0),
        "printed exponential": lambda wrong: math.e if wrong else 1.0,
        "printed linear": float,
    }[weighting]
    start = first if weighting == "linear" else [0.0] * n
    measured = [s + w * factor(wrong) for s, w, wrong in zip(start, weights, loss, strict=True)]
    if weighting in ("linear", "symmetric"):
        measured = scale_plainly(measured, is_exact)
    return scale_plainly(pull_plainly(weights, measured, gain), is_exact) if any(measured) else weights


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 200), st.sampled_from(WEIGHTINGS), st.booleans(), st.floats(0, 1))
def test_weights_are_updated_as_in_a_plain_program(seed, n_samples, weighting, is_exact, gain):
    rng = np.random.default_rng(seed)
    weights, first = rng.dirichlet(np.ones(n_samples), size=2)
    loss = rng.random(n_samples) < 0.3
    expected = update_plainly(weights.tolist(), loss.tolist(), first.tolist(), gain, weighting, is_exact)
    for given_loss in (loss, loss.astype(np.float64)):
        updated = weights.copy()
        update_weights(updated, given_loss, first, gain, WEIGHTINGS.index(weighting), is_exact=is_exact)
        assert updated.tolist() == expected


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 200), st.integers(1, 5), st.floats(0, 1))
def test_states_are_pulled_as_in_a_plain_program(seed, n_samples, n_classes, gain):
    rng = np.random.default_rng(seed)
    state, votes = rng.random((n_samples, n_classes)), rng.integers(0, n_classes, n_samples).astype(np.int32)
    z = 0.5 * (state + np.eye(n_classes)[votes])
    expected = np.reshape(pull_plainly(state.ravel().tolist(), z.ravel().tolist(), gain), state.shape)
    by_votes = state.copy()
    pull_halfway(by_votes, votes, gain)
    np.testing.assert_array_equal(by_votes, expected)
    pull(state.ravel(), z.ravel(), gain)
    np.testing.assert_array_equal(state, expected)


def test_bytes_other_than_0_and_1_are_true():
    weights, odd = np.full(2, 0.5), np.array([255, 0], dtype=np.uint8).view(bool)
    measured = measure_weights(weights, odd, weights, 2, WEIGHTINGS.index("linear"))
    assert measured.tolist() == [1.0, 0.5]


TWO, THREE = np.ones(2), np.ones(3)
VOTES = np.zeros(2, dtype=np.int32)
READ_ONLY = np.ones(2)
READ_ONLY.flags.writeable = False


@pytest.mark.parametrize(
    ("step", "said"),
    [
        (lambda: pull(TWO, THREE, 0.5), "measurement must be as long as state"),
        (lambda: pull(READ_ONLY, TWO, 0.5), "state is changed in place"),
        (lambda: pull(np.ones(4)[::2], TWO, 0.5), "state is changed in place"),
        (lambda: pull(TWO.astype(np.float32), TWO, 0.5), "state must be an array of float64"),
        (lambda: pull_halfway(np.ones((2, 2)), VOTES + 2, 0.5), "votes must hold numbers from 0 to 1"),
        (lambda: pull_halfway(np.ones((2, 2)), VOTES - 1, 0.5), "votes must hold numbers from 0 to 1"),
        (lambda: pull_halfway(np.ones((3, 2)), VOTES, 0.5), "votes must be as long as state"),
        (lambda: pull_halfway(np.ones(2), VOTES, 0.5), "state must be an array of float64 with 2 dimensions"),
        (
            lambda: compare_votes(np.ones((2, 2)), VOTES, VOTES + 2, TWO, is_exact=False),
            "truth must hold numbers from 0 to 1",
        ),
        (
            lambda: compare_votes(np.ones((2, 2)), VOTES, VOTES, THREE, is_exact=False),
            "fractions must be as long as estimate",
        ),
        (lambda: compare_votes(np.ones((2, 0)), VOTES, VOTES, TWO, is_exact=False), "votes must hold numbers"),
        (lambda: compare_votes_in_units(np.eye(2), VOTES, VOTES, TWO * np.nan), "fractions must be finite"),
        (lambda: measure_weights(TWO, THREE > 0, TWO, 2, 0), "loss must be as long as weights"),
        (lambda: measure_weights(TWO, TWO > 0, TWO, 2, 5), "weighting must be from 0 to 4"),
        (lambda: update_weights(TWO, TWO > 0, THREE, 0.5, 0), "first_weights must be as long as weights"),
        (lambda: update_weights(READ_ONLY, TWO > 0, TWO, 0.5, 0), "weights is changed in place"),
    ],
)
def test_strange_input_gets_a_sentence(step, said):
    with pytest.raises((TypeError, ValueError), match=said):
        step()
