"""Samples drawn with replacement, as counts, against plain Python with the same arithmetic."""

import math
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from fuselearn._core import (
    draw_counts,
    draw_covering_counts,
    draw_covering_poisson_counts,
    draw_poisson_counts,
    draw_uniforms,
)
from fuselearn.fusion.problem import MOST_TRIES

weight_lists = st.lists(st.sampled_from([0.0, 1e-9, 0.5, 1.0, 3.0]), min_size=1, max_size=30).filter(any)
seeds = st.integers(0, 2**63 - 1)

MASK = 2**64 - 1


def mix(key, salt):
    """The finalizer of SplitMix64."""
    z = (key + 0x9E3779B97F4A7C15 * (salt + 1)) & MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def uniform(key):
    return (key >> 11) / 2**53


def exponential(key):
    """-log(1 - u) by the series of the core, term by term."""
    number = 1.0 - uniform(key)
    (bits,) = struct.unpack("<q", struct.pack("<d", number))
    m, exponent = (1 + (bits & (2**52 - 1)) / 2**52), (bits >> 52) - 1023
    if m - 1 >= 1865452045155277 / 2**52:
        m, exponent = m / 2, exponent + 1
    ratio = (m - 1.0) / (m + 1.0)
    square = ratio * ratio
    series = 1.0 / 23.0
    for divisor in range(21, 1, -2):
        series = series * square + 1.0 / divisor
    return -(exponent * 0.6931471805599453 + 2.0 * (ratio + ratio * square * series))


def draw_naively(key, weights, n_draws):
    """Merge sorted uniform numbers with the running sums of the weights."""
    spacings = [exponential(mix(key, k)) for k in range(n_draws + 1)]
    total = 0.0
    for spacing in spacings:
        total += spacing
    sums = np.cumsum(weights).tolist()
    scale = sums[-1] / total
    last = max(i for i, weight in enumerate(weights) if weight > 0)
    counts, sample, position = [0] * len(weights), 0, 0.0
    for spacing in spacings[:-1]:
        position += spacing * scale
        while sample < last and (sums[sample] < position or weights[sample] == 0):
            sample += 1
        counts[sample] += 1
    return counts


def draw_poisson_naively(seed, n_tries, rates, first):
    """Count arrivals, sample by sample."""
    counts = []
    for number, rate in enumerate(rates, start=first):
        key = mix(mix(seed, n_tries), number)
        count, time = 0, exponential(mix(key, 0))
        while time < rate:
            count += 1
            time += exponential(mix(key, count))
        counts.append(count)
    return counts


def some_keys(n_keys):
    return [mix(7, k) for k in range(n_keys)]


def test_uniform_numbers_are_the_high_bits_of_keys():
    assert draw_uniforms(7, 0, 1_000).tolist() == [uniform(key) for key in some_keys(1_000)]
    assert draw_uniforms(2**64 - 1, 2**40, 3).tolist() == [uniform(mix(2**64 - 1, 2**40 + k)) for k in range(3)]


def test_exponential_numbers_are_logarithms_of_uniform_ones():
    extremes = [0, 1, 2**11, 2**12, 2**63 - 1, 2**63, 2**63 + 2**11, 2**64 - 1]
    around_a_half = [2**63 + k * 2**11 for k in range(-50, 50)]
    for key in [*extremes, *around_a_half, *some_keys(5_000)]:
        assert exponential(key) == pytest.approx(-math.log1p(-uniform(key)), rel=1e-15)


def test_random_numbers_follow_their_laws():
    assert stats.kstest(draw_uniforms(7, 0, 5_000), "uniform").pvalue > 0.01
    assert stats.kstest([exponential(key) for key in some_keys(5_000)], "expon").pvalue > 0.01


@settings(max_examples=60, deadline=None)
@given(seeds, st.integers(1, 300), st.integers(0, 600), st.floats(0, 0.9))
def test_draws_merge_sorted_uniform_numbers_with_sums_of_weights(seed, n_samples, n_draws, zeros):
    rng = np.random.default_rng(seed)
    weights = rng.exponential(size=n_samples) * (rng.random(n_samples) >= zeros)
    weights[rng.integers(n_samples)] = 1.0
    assert draw_counts(seed, weights, n_draws).tolist() == draw_naively(seed, weights.tolist(), n_draws)


@settings(max_examples=60, deadline=None)
@given(seeds, st.integers(1, 40), st.integers(0, 50), st.integers(1, 4), st.integers(1, 5))
def test_covering_draws_are_draws_with_other_keys(seed, n_samples, n_draws, n_classes, max_tries):
    rng = np.random.default_rng(seed)
    weights, classes = rng.random(n_samples) + 0.01, rng.integers(0, n_classes, n_samples).astype(np.int32)
    tries = [draw_naively(mix(seed, attempt), weights.tolist(), n_draws) for attempt in range(max_tries)]
    covering = [counts for counts in tries if len(set(classes[np.array(counts) > 0])) == n_classes]
    found = draw_covering_counts(seed, weights, n_draws, classes, n_classes, max_tries)
    assert found.tolist() == [*covering, tries[-1]][0]


@settings(max_examples=60, deadline=None)
@given(seeds, st.lists(st.floats(0, 9), max_size=600), st.integers(0, 2**40), st.integers(0, 5))
def test_poisson_counts_count_arrivals(seed, rates, first, n_tries):
    found = draw_poisson_counts(seed, np.array(rates, dtype=np.float64), first, n_tries)
    assert found.tolist() == draw_poisson_naively(seed, n_tries, rates, first)


@settings(max_examples=60)
@given(seeds, weight_lists, st.integers(0, 50))
def test_as_many_rows_as_asked_for_and_none_without_weight(seed, weights, n_draws):
    weights = np.array(weights)
    counts = draw_counts(seed, weights, n_draws)
    assert counts.dtype == np.int32
    assert counts.sum() == n_draws
    assert (counts >= 0).all()
    assert (counts[weights == 0] == 0).all()


@settings(max_examples=30)
@given(seeds, weight_lists)
def test_the_seed_decides_and_the_scale_of_the_weights_does_not(seed, weights):
    weights = np.array(weights)
    counts = draw_counts(seed, weights, 20)
    np.testing.assert_array_equal(draw_counts(seed, weights, 20), counts)
    np.testing.assert_array_equal(draw_counts(seed, 4 * weights, 20), counts)


def test_seeds_differ():
    weights = np.ones(50)
    samples = {tuple(draw_counts(seed, weights, 50)) for seed in range(200)}
    assert len(samples) == 200


def test_counts_are_multinomial():
    """Means are n p, variances n p (1 - p), and covariances - n p q, within what 4,000 samples can tell."""
    chances = np.array([0.4, 0.0, 0.3, 0.2, 0.1])
    n_draws, n_samples = 10, 4_000
    samples = np.array([draw_counts(seed, 7 * chances, n_draws) for seed in range(n_samples)])
    expected = n_draws * (np.diag(chances) - np.outer(chances, chances))
    error = np.sqrt(np.diag(expected) / n_samples)
    assert (np.abs(samples.mean(axis=0) - n_draws * chances) <= 4 * error).all()
    np.testing.assert_allclose(np.cov(samples.T), expected, atol=0.2)


def test_a_bootstrap_sample_leaves_out_about_one_row_in_e():
    left_out = [np.mean(draw_counts(seed, np.ones(1_000), 1_000) == 0) for seed in range(50)]
    assert np.mean(left_out) == pytest.approx(1 / np.e, abs=0.005)


def test_covering_samples_have_every_class():
    classes = np.array([0] * 96 + [1, 1, 2, 2], dtype=np.int32)
    for seed in range(50):
        counts = draw_covering_counts(seed, np.ones(100), 100, classes, 3, MOST_TRIES)
        assert counts.sum() == 100
        assert (np.bincount(classes, weights=counts) > 0).all()


def test_a_single_try_may_miss_a_class():
    classes = np.array([0] * 99 + [1], dtype=np.int32)
    counts = [draw_covering_counts(seed, np.ones(100), 100, classes, 2, max_tries=1) for seed in range(50)]
    missed = np.mean([c[-1] == 0 for c in counts])
    assert 0.15 < missed < 0.6


def test_what_cannot_be_covered_is_drawn_nevertheless():
    classes = np.array([0, 0, 1], dtype=np.int32)
    counts = draw_covering_counts(3, np.array([1.0, 1.0, 0.0]), 5, classes, 2, MOST_TRIES)
    assert counts.sum() == 5
    assert counts[2] == 0


def test_a_covering_sample_is_drawn_by_the_weights():
    classes = np.array([0, 1, 0, 1], dtype=np.int32)
    weights = np.array([0.1, 0.4, 0.4, 0.1])
    mean = np.mean([draw_covering_counts(seed, weights, 40, classes, 2, MOST_TRIES) for seed in range(500)], axis=0)
    np.testing.assert_allclose(mean, 40 * weights, atol=0.6)


@settings(max_examples=60)
@given(seeds, st.lists(st.sampled_from([0.0, 1e-9, 0.5, 1.0, 7.0]), max_size=30), st.integers(0, 2**40), st.data())
def test_poisson_counts_depend_on_the_numbers_of_rows_and_not_on_their_parts(seed, rates, first, data):
    rates = np.array(rates)
    middle = data.draw(st.integers(0, len(rates)))
    parts = (
        draw_poisson_counts(seed, rates[:middle], first, n_tries=0),
        draw_poisson_counts(seed, rates[middle:], first + middle, n_tries=0),
    )
    counts = draw_poisson_counts(seed, rates, first, n_tries=0)
    assert counts.dtype == np.int32
    assert counts.tolist() == [*parts[0], *parts[1]]
    assert (counts[rates == 0] == 0).all()


@pytest.mark.parametrize("rate", [0.3, 1.0, 4.0])
def test_poisson_counts_have_a_poisson_distribution(rate):
    n_rows = 50_000
    found = np.bincount(draw_poisson_counts(11, np.full(n_rows, rate), first=0, n_tries=0), minlength=20)[:20]
    expected = n_rows * stats.poisson(rate).pmf(np.arange(20))
    common = expected >= 5
    assert stats.chisquare(found[common], expected[common] * found[common].sum() / expected[common].sum()).pvalue > 0.01


def test_other_tries_are_other_draws():
    rates = np.ones(50)
    assert not np.array_equal(
        draw_poisson_counts(3, rates, first=0, n_tries=0), draw_poisson_counts(3, rates, n_tries=1, first=0)
    )
    assert not np.array_equal(
        draw_poisson_counts(3, rates, first=0, n_tries=0), draw_poisson_counts(4, rates, first=0, n_tries=0)
    )


def test_poisson_draws_are_repeated_until_all_classes_are_covered():
    classes = np.array([0, 0, 1], dtype=np.int32)
    for seed in range(20):
        counts = draw_covering_poisson_counts(seed, np.array([0.5, 0.5, 0.5]), classes, 2, MOST_TRIES)
        assert counts[2] > 0
        assert counts[:2].any()
    last = draw_poisson_counts(5, np.array([1.0, 1.0, 0.0]), n_tries=MOST_TRIES - 1, first=0)
    np.testing.assert_array_equal(
        draw_covering_poisson_counts(5, np.array([1.0, 1.0, 0.0]), classes, 2, MOST_TRIES), last
    )


ONE_CLASS = np.zeros(2, dtype=np.int32)


@pytest.mark.parametrize(
    ("draw", "said"),
    [
        (lambda: draw_counts(1, np.ones(2, dtype=np.float32), 1), "weights must be an array of float64"),
        (lambda: draw_counts(1, np.ones((2, 1)), 1), "weights must be an array of float64 with 1 dimension"),
        (lambda: draw_counts(1, np.array([1.0, -1.0]), 1), "weights must be finite and not negative"),
        (lambda: draw_counts(1, np.array([1.0, np.nan]), 1), "weights must be finite"),
        (lambda: draw_counts(1, np.array([1.0, np.inf]), 1), "weights must be finite"),
        (lambda: draw_counts(1, np.zeros(2), 1), "weights must hold a positive number"),
        (lambda: draw_counts(1, np.empty(0), 1), "weights must hold a positive number"),
        (lambda: draw_counts(1, np.ones(2), -1), "n_draws must be from 0"),
        (
            lambda: draw_covering_counts(1, np.ones(2), 1, ONE_CLASS + 1, 1, MOST_TRIES),
            "classes must hold numbers from 0 to 0",
        ),
        (
            lambda: draw_covering_counts(1, np.ones(2), 1, ONE_CLASS - 1, 1, MOST_TRIES),
            "classes must hold numbers from 0 to 0",
        ),
        (
            lambda: draw_covering_counts(1, np.ones(3), 1, ONE_CLASS, 1, MOST_TRIES),
            "classes must be as long as weights",
        ),
        (lambda: draw_covering_counts(1, np.ones(2), 1, ONE_CLASS, 1, 0), "max_tries must be at least 1"),
        (lambda: draw_poisson_counts(1, np.array([np.inf]), first=0, n_tries=0), "rates must be finite"),
        (lambda: draw_poisson_counts(1, np.array([-1.0]), first=0, n_tries=0), "rates must be finite and not negative"),
        (lambda: draw_poisson_counts(1, np.ones(1), -1, n_tries=0), "first must not be negative"),
        (
            lambda: draw_covering_poisson_counts(1, np.ones(3), ONE_CLASS, 1, MOST_TRIES),
            "classes must be as long as rates",
        ),
        (lambda: draw_uniforms(1, 0, -1), "n_numbers must not be negative"),
    ],
)
def test_strange_input_gets_a_sentence(draw, said):
    with pytest.raises((TypeError, ValueError), match=said):
        draw()


def test_arrays_of_any_strides_are_taken():
    weights = np.arange(1.0, 21.0)
    weights.flags.writeable = False
    np.testing.assert_array_equal(draw_counts(3, weights[::-2], 30), draw_counts(3, weights[::-2].copy(), 30))
