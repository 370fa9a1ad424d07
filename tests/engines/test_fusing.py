"""Kernels of the Kalman-filter ensembles against the formulas in NumPy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuselearn.engines.fusing import WEIGHTINGS, compare_votes, measure_weights, normalize


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 30), st.integers(2, 4))
def test_votes_are_scores_of_zero_and_one(seed, n_samples, n_classes):
    rng = np.random.default_rng(seed)
    estimate = rng.integers(0, 5, size=(n_samples, n_classes)) / 4  # so that ties are common
    truth, votes = rng.integers(0, n_classes, size=(2, n_samples)).astype(np.int32)
    shares = rng.dirichlet(np.ones(n_samples))
    wrong, errors = compare_votes(estimate, votes, truth, shares)
    z, scores = (estimate + np.eye(n_classes)[votes]) / 2, np.eye(n_classes)[votes]
    np.testing.assert_array_equal(wrong, z.argmax(axis=1) != truth)
    expected = [shares[of.argmax(axis=1) != truth].sum() for of in (z, scores, estimate)]
    np.testing.assert_allclose(errors, expected, atol=1e-12)


@pytest.mark.parametrize(("truth", "is_wrong"), [(0, False), (1, True)])
def test_ties_go_to_the_first_class(truth, is_wrong):
    votes, truth = np.array([0], dtype=np.int32), np.array([truth], dtype=np.int32)
    wrong, _ = compare_votes(np.array([[0.0, 1.0, 0.0]]), votes, truth, np.ones(1))
    assert wrong.tolist() == [is_wrong]


def test_no_error_is_exactly_zero():
    """The filter's early stop asks for an error of zero, not of nearly zero."""
    truth = np.arange(7, dtype=np.int32) % 2
    _, errors = compare_votes(np.eye(2)[truth], truth, truth, np.full(7, 1 / 7))
    assert errors == (0.0, 0.0, 0.0)


def test_every_sample_wrong_is_an_error_of_one():
    truth, votes = np.zeros(7, dtype=np.int32), np.ones(7, dtype=np.int32)
    _, errors = compare_votes(np.eye(2)[votes], votes, truth, np.full(7, 1 / 7))
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
    }[weighting]
    measured = measure_weights(weights, loss, shares, n_samples, WEIGHTINGS.index(weighting))
    np.testing.assert_allclose(measured, expected, rtol=1e-12)


def test_normalized_weights_sum_to_one():
    weights = np.array([1.0, 3.0])
    normalize(weights)
    assert weights.tolist() == [0.25, 0.75]
