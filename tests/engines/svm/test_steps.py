"""The loops inside the solver, against plain NumPy, around the sizes of their chunks.

Numbers are small multiples of 1/8, so that sums are exact in any order and ties are ties.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuselearn.engines.svm import smo, take_block, training

SIZES = st.integers(1, 40) | st.sampled_from([smo._CHUNK + step for step in (-1, 0, 1)] + [2 * smo._CHUNK + 1])
SEEDS = st.integers(0, 10_000)
KINDS = st.sampled_from([np.float32, np.float64])
few = settings(max_examples=40)


def eighths(rng, *shape, kind=np.float64):
    return (rng.integers(-40, 41, shape) / 8).astype(kind)


def some_gram(rng, n, kind=np.float32):
    """Make a symmetric matrix; that it is no Gram matrix does not matter to a single step."""
    half = rng.integers(-20, 21, (n, n))
    return ((half + half.T) / 8).astype(kind)


def some_limits(rng, n, share, infinity, kind):
    """Bar a share of the rows, all of them if it is 1."""
    return np.where(rng.random(n) < share, infinity, 0.0).astype(kind)


@few
@given(SEEDS, SIZES, KINDS, st.sampled_from([0.0, 0.5, 1.0]))
def test_the_highest_row_that_may_rise(seed, n, kind, share):
    rng = np.random.default_rng(seed)
    residuals, (up, down) = eighths(rng, n, kind=kind), eighths(rng, 2, n, kind=np.float32)
    no_rise, move = some_limits(rng, n, share, -np.inf, kind), kind(rng.integers(-8, 9) / 8)
    moved = residuals - move * (up - down)
    place, highest = smo._move_and_find_highest(residuals, no_rise, up, down, move)
    np.testing.assert_array_equal(residuals, moved)
    assert highest == (moved + no_rise).max()
    assert place == (moved + no_rise).argmax()


@few
@given(SEEDS, SIZES, KINDS, st.sampled_from([0.0, 0.5, 1.0]))
def test_the_partner_by_which_a_pair_gains_most(seed, n, kind, share):
    rng = np.random.default_rng(seed)
    residuals, no_fall = eighths(rng, n, kind=kind), some_limits(rng, n, share, np.inf, kind)
    row, diagonal = eighths(rng, 2, n, kind=np.float32)
    own, highest = np.float32(rng.integers(0, 41) / 8), kind(rng.integers(-40, 41) / 8)
    distances = np.maximum(highest - (residuals + no_fall), 0)
    gains = distances**2 / np.maximum(own + diagonal - 2 * row, np.float32(1e-12))
    place, gap = smo._find_partner(residuals, no_fall, diagonal, row, own, highest, np.empty(n, dtype=kind))
    assert place == gains.astype(kind).argmax()
    assert gap == distances.max()


@few
@given(SEEDS, SIZES, st.integers(0, 9))
def test_sums_of_rows_of_the_gram_matrix(seed, n, n_used):
    """Rows are added four at a time, and the last four may be fewer."""
    rng = np.random.default_rng(seed)
    gram, residuals, factors = some_gram(rng, n), eighths(rng, n), np.zeros(n)
    used = rng.permutation(n)[:n_used]
    factors[used] = eighths(rng, len(used))
    expected = residuals + factors @ gram.astype(float)
    one_by_one = residuals.copy()
    for k in used:
        smo.add_row(one_by_one, gram[k], factors[k])
    smo.add_rows(residuals, gram, factors)
    np.testing.assert_array_equal(residuals, expected)
    np.testing.assert_array_equal(one_by_one, expected)


@few
@given(SEEDS, st.integers(1, 40), st.integers(0, 60))
def test_a_block_of_the_gram_matrix(seed, n, n_taken):
    rng = np.random.default_rng(seed)
    gram, rows = some_gram(rng, n), rng.integers(0, n, n_taken)
    np.testing.assert_array_equal(take_block(gram, rows), gram[np.ix_(rows, rows)])


def some_solution(rng, n):
    """Make signs, bounds, some of them 0, and coefficients at a bound, between both, or at 0."""
    signs, bounds = rng.choice([-1.0, 1.0], n), rng.integers(0, 5, n) / 2
    return signs, bounds, signs * bounds * rng.choice([0.0, 0.5, 1.0], n)


@few
@given(SEEDS, st.integers(1, 12))
def test_the_intercept(seed, n):
    rng = np.random.default_rng(seed)
    (signs, bounds, coefficients), residuals = some_solution(rng, n), eighths(rng, n)
    sizes = signs * coefficients
    may_grow, may_shrink = sizes < bounds, sizes > 0
    is_free = may_grow & may_shrink
    above = residuals[np.where(signs > 0, may_grow, may_shrink)]
    below = residuals[np.where(signs > 0, may_shrink, may_grow)]
    if is_free.any():
        expected = residuals[is_free].mean()
    elif len(above) and len(below):
        expected = (above.max() + below.min()) / 2
    else:
        expected = above.max() if len(above) else below.min() if len(below) else 0.0
    assert smo.find_intercept(signs, bounds, coefficients, residuals) == pytest.approx(expected)


@few
@given(SEEDS, SIZES)
def test_rows_that_are_unsettled(seed, n):
    rng = np.random.default_rng(seed)
    (signs, bounds, coefficients), residuals = some_solution(rng, n), eighths(rng, n)
    upper, lower = np.where(signs > 0, bounds, 0.0), np.where(signs > 0, 0.0, -bounds)
    highest = residuals[coefficients < upper].max(initial=-np.inf)
    lowest = residuals[coefficients > lower].min(initial=np.inf)
    is_settled = (coefficients == upper) & (residuals > highest) | (coefficients == lower) & (residuals < lowest)
    rows = np.flatnonzero(~is_settled)
    expected = rows if len(rows) <= smo._LARGEST_PART * n else np.arange(n)
    np.testing.assert_array_equal(smo._find_unsettled(upper, lower, coefficients, residuals), expected)


@few
@given(SEEDS, SIZES)
def test_coefficients_move_inside_of_lower_bounds(seed, n):
    """What is cut off on one side is taken from the other, from the rows with the most extreme residuals first."""
    rng = np.random.default_rng(seed)
    (signs, bounds, coefficients), gram = some_solution(rng, n), some_gram(rng, n)
    residuals = signs - gram.astype(float) @ coefficients
    lower_bounds = np.maximum(bounds - rng.integers(0, 3, n) / 2, 0.0)
    expected = signs * np.minimum(signs * coefficients, lower_bounds)
    expected_residuals = signs - gram.astype(float) @ expected
    heavy = np.sign(expected.sum())
    while heavy * expected.sum() > 0:
        own = np.flatnonzero(heavy * expected > 0)
        most = own[(heavy * expected_residuals[own]).argmin()]
        change = min(heavy * expected[most], heavy * expected.sum())
        expected[most] -= heavy * change
        expected_residuals += heavy * change * gram[most].astype(float)
    training._move_inside(gram, signs, lower_bounds, coefficients, residuals)
    np.testing.assert_array_equal(coefficients, expected)
    np.testing.assert_array_equal(residuals, expected_residuals)
    assert coefficients.sum() == 0.0
