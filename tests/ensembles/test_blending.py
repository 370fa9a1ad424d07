"""Blending an estimate with scores, against NumPy in plain steps, and with votes, against scores of 0 and 1."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuselearn.ensembles.blending import blend_scores, fuse_votes
from fuselearn.ensembles.filtering import take_in
from fuselearn.filters import KalmanFilter


def some_rows(seed, n_rows, n_classes):
    """Make an estimate in multiples of a quarter, so that ties are common, the truth, and what rows count."""
    rng = np.random.default_rng(seed)
    estimate = rng.integers(0, 5, size=(n_rows, n_classes)) / 4
    return estimate, rng.integers(0, n_classes, n_rows).astype(np.int32), rng.dirichlet(np.ones(n_rows)), rng


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 30), st.integers(2, 4))
def test_scores_equal_plain_steps(seed, n_rows, n_classes):
    estimate, truth, shares, rng = some_rows(seed, n_rows, n_classes)
    scores = rng.integers(0, 5, size=(n_rows, n_classes)) / 4
    found = blend_scores(estimate, scores, truth, shares)
    z = (estimate + scores) / 2
    np.testing.assert_array_equal(found.scores, z)
    np.testing.assert_array_equal(found.loss, z.argmax(axis=1) != truth)
    expected = [shares[of.argmax(axis=1) != truth].sum() for of in (z, scores, estimate)]
    np.testing.assert_allclose((found.error, found.own_error, found.estimate_error), expected, atol=1e-12)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 2**32 - 1), st.integers(1, 30), st.integers(2, 4), st.booleans(), st.sampled_from([math.inf, 0.5])
)
def test_votes_are_scores_of_nought_and_one(seed, n_rows, n_classes, linear, limit):
    estimate, truth, shares, rng = some_rows(seed, n_rows, n_classes)
    votes = rng.integers(0, n_classes, n_rows).astype(np.int32)
    models, weights = KalmanFilter(estimate, 0.7), KalmanFilter(shares, 0.4)
    other_models, other_weights = KalmanFilter(estimate, 0.7), KalmanFilter(shares, 0.4)
    errors = fuse_votes(models, weights, votes, truth, shares, linear, limit)
    measured = blend_scores(estimate, np.eye(n_classes)[votes], truth, shares)
    step = take_in("model", measured, other_models, other_weights, shares, linear, limit)
    np.testing.assert_allclose(errors, step[1:], atol=1e-12)
    for ours, other in ((models, other_models), (weights, other_weights)):
        np.testing.assert_allclose(ours.state, other.state, atol=1e-12)
        np.testing.assert_allclose((ours.variance, ours.gain), (other.variance, other.gain), atol=1e-12)


def test_ties_go_to_the_first_class():
    for truth, error in ((0, 0.0), (1, 1.0)):
        models, weights = KalmanFilter([[0.0, 1.0, 0.0]]), KalmanFilter([1.0])
        vote, right = np.array([0], dtype=np.int32), np.array([truth], dtype=np.int32)
        assert fuse_votes(models, weights, vote, right, np.ones(1), False, math.inf)[0] == error


def test_votes_no_better_than_the_limit_leave_the_filters_alone():
    models, weights = KalmanFilter(np.full((2, 2), 0.5)), KalmanFilter(np.full(2, 0.5))
    votes, truth = np.array([0, 1], dtype=np.int32), np.array([0, 0], dtype=np.int32)
    assert fuse_votes(models, weights, votes, truth, np.full(2, 0.5), False, 0.5)[1] == 0.5
    np.testing.assert_array_equal(models.state, 0.5)
    np.testing.assert_array_equal(weights.state, 0.5)
    assert (models.variance, weights.variance) == (1.0, 1.0)


def test_no_error_is_exactly_zero():
    """The filter's early stop asks for an error of zero, not of nearly zero."""
    truth = np.arange(7, dtype=np.int32) % 2
    shares = np.full(7, 1 / 7)
    right = KalmanFilter(np.eye(2)[truth])
    assert fuse_votes(right, KalmanFilter(shares), truth, truth, shares, False, 0.5) == (0.0, 0.0, 0.0)
    assert blend_scores(np.eye(2)[truth], np.eye(2)[truth], truth, shares).error == 0.0


def test_every_row_wrong_is_an_error_of_one():
    truth, votes = np.zeros(7, dtype=np.int32), np.ones(7, dtype=np.int32)
    shares = np.full(7, 1 / 7)
    errors = fuse_votes(KalmanFilter(np.eye(2)[votes]), KalmanFilter(shares), votes, truth, shares, False, math.inf)
    assert errors == pytest.approx((1.0, 1.0, 1.0), abs=1e-15)
