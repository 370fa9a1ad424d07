"""Blending an estimate with votes or scores, against NumPy in plain steps."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuselearn.sensors.votes import blend_scores, blend_votes


def plain(estimate, h, truth, shares):
    z = (estimate + h) / 2
    wrong = z.argmax(axis=1) != truth
    errors = [shares[of.argmax(axis=1) != truth].sum() for of in (z, h, estimate)]
    return z, wrong, *errors


@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1), st.integers(1, 30), st.integers(2, 4), st.booleans())
def test_equals_plain_steps(seed, n_rows, n_classes, by_class):
    rng = np.random.default_rng(seed)
    # Multiples of a quarter, so that ties are common.
    estimate = rng.integers(0, 5, size=(n_rows, n_classes)) / 4
    truth = rng.integers(0, n_classes, n_rows).astype(np.int32)
    shares = rng.dirichlet(np.ones(n_rows))
    if by_class:
        votes = rng.integers(0, n_classes, n_rows).astype(np.int32)
        found = blend_votes(estimate, votes, truth, shares)
        expected = plain(estimate, np.eye(n_classes)[votes], truth, shares)
    else:
        scores = rng.integers(0, 5, size=(n_rows, n_classes)) / 4
        found = blend_scores(estimate, scores, truth, shares)
        expected = plain(estimate, scores, truth, shares)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-12)


def test_ties_go_to_the_first_class():
    estimate = np.array([[0.0, 1.0, 0.0]])
    for truth, is_wrong in ((0, False), (1, True)):
        _, wrong, error, _, _ = blend_votes(
            estimate, np.array([0], dtype=np.int32), np.array([truth], dtype=np.int32), np.ones(1)
        )
        assert wrong.tolist() == [is_wrong]
        assert error == float(is_wrong)


def test_the_estimate_is_left_as_it_was():
    estimate = np.full((2, 2), 0.5)
    blend_votes(estimate, np.zeros(2, dtype=np.int32), np.zeros(2, dtype=np.int32), np.full(2, 0.5))
    np.testing.assert_array_equal(estimate, 0.5)


def test_no_error_is_exactly_zero():
    """The filter's early stop asks for an error of zero, not of nearly zero."""
    truth = np.arange(7, dtype=np.int32) % 2
    result = blend_votes(np.eye(2)[truth], truth, truth, np.full(7, 1 / 7))
    assert result[2:] == (0.0, 0.0, 0.0)
    assert blend_scores(np.eye(2)[truth], np.eye(2)[truth], truth, np.full(7, 1 / 7))[2] == 0.0


def test_every_row_wrong_is_an_error_of_one():
    truth = np.zeros(7, dtype=np.int32)
    votes = np.ones(7, dtype=np.int32)
    assert blend_votes(np.eye(2)[votes], votes, truth, np.full(7, 1 / 7))[2] == pytest.approx(1.0, abs=1e-15)
