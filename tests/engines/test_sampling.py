"""Samples drawn with replacement, as counts."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from fuselearn.engines.sampling import MOST_TRIES, draw_covering_poisson_counts, draw_poisson_counts
from fuselearn.engines.tree.random import mix, uniform
from fuselearn.sensors import draw_counts, draw_covering_counts

weight_lists = st.lists(st.sampled_from([0.0, 1e-9, 0.5, 1.0, 3.0]), min_size=1, max_size=30).filter(any)
seeds = st.integers(0, 2**63 - 1)


@settings(max_examples=60)
@given(seeds, weight_lists, st.integers(0, 50))
def test_as_many_rows_as_asked_for_and_none_without_weight(seed, weights, n_draws):
    weights = np.array(weights)
    counts = draw_counts(seed, weights, n_draws)
    assert counts.dtype == np.int32
    assert counts.sum() == n_draws
    assert (counts >= 0).all()
    assert (counts[weights == 0] == 0).all()


@settings(max_examples=60)
@given(seeds, st.integers(1, 40), st.integers(0, 50), st.floats(0, 0.9))
def test_draws_are_sorted_uniform_numbers_among_sums_of_weights(seed, n_rows, n_draws, zeros):
    rng = np.random.default_rng(seed)
    weights = rng.exponential(size=n_rows) * (rng.random(n_rows) >= zeros)
    weights[rng.integers(n_rows)] = 1.0
    uniforms = np.array([uniform(np.uint64(mix(np.uint64(seed), k))) for k in range(n_draws + 1)])
    positions = np.cumsum(-np.log1p(-uniforms))
    rows = np.searchsorted(weights.cumsum(), positions[:-1] * weights.sum() / positions[-1])
    np.testing.assert_array_equal(draw_counts(seed, weights, n_draws), np.bincount(rows, minlength=n_rows))


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
        counts = draw_covering_counts(seed, np.ones(100), 100, classes, 3)
        assert counts.sum() == 100
        assert (np.bincount(classes, weights=counts) > 0).all()


def test_a_single_try_may_miss_a_class():
    classes = np.array([0] * 99 + [1], dtype=np.int32)
    counts = [draw_covering_counts(seed, np.ones(100), 100, classes, 2, max_tries=1) for seed in range(50)]
    missed = np.mean([c[-1] == 0 for c in counts])
    assert 0.15 < missed < 0.6


def test_what_cannot_be_covered_is_drawn_nevertheless():
    classes = np.array([0, 0, 1], dtype=np.int32)
    counts = draw_covering_counts(3, np.array([1.0, 1.0, 0.0]), 5, classes, 2)
    assert counts.sum() == 5
    assert counts[2] == 0


def test_a_covering_sample_is_drawn_by_the_weights():
    classes = np.array([0, 1, 0, 1], dtype=np.int32)
    weights = np.array([0.1, 0.4, 0.4, 0.1])
    mean = np.mean([draw_covering_counts(seed, weights, 40, classes, 2) for seed in range(500)], axis=0)
    np.testing.assert_allclose(mean, 40 * weights, atol=0.6)


@settings(max_examples=60)
@given(seeds, st.lists(st.sampled_from([0.0, 1e-9, 0.5, 1.0, 7.0]), max_size=30), st.integers(0, 2**40), st.data())
def test_poisson_counts_depend_on_the_numbers_of_rows_and_not_on_their_parts(seed, rates, first, data):
    rates = np.array(rates)
    middle = data.draw(st.integers(0, len(rates)))
    parts = draw_poisson_counts(seed, rates[:middle], first), draw_poisson_counts(seed, rates[middle:], first + middle)
    counts = draw_poisson_counts(seed, rates, first)
    assert counts.dtype == np.int32
    assert counts.tolist() == [*parts[0], *parts[1]]
    assert (counts[rates == 0] == 0).all()


@pytest.mark.parametrize("rate", [0.3, 1.0, 4.0])
def test_poisson_counts_have_a_poisson_distribution(rate):
    n_rows = 50_000
    found = np.bincount(draw_poisson_counts(11, np.full(n_rows, rate)), minlength=20)[:20]
    expected = n_rows * stats.poisson(rate).pmf(np.arange(20))
    common = expected >= 5
    assert stats.chisquare(found[common], expected[common] * found[common].sum() / expected[common].sum()).pvalue > 0.01


def test_other_tries_are_other_draws():
    rates = np.ones(50)
    assert not np.array_equal(draw_poisson_counts(3, rates), draw_poisson_counts(3, rates, n_tries=1))
    assert not np.array_equal(draw_poisson_counts(3, rates), draw_poisson_counts(4, rates))


def test_poisson_draws_are_repeated_until_all_classes_are_covered():
    classes = np.array([0, 0, 1], dtype=np.int32)
    for seed in range(20):
        counts = draw_covering_poisson_counts(seed, np.array([0.5, 0.5, 0.5]), classes, 2)
        assert counts[2] > 0
        assert counts[:2].any()
    last = draw_poisson_counts(5, np.array([1.0, 1.0, 0.0]), n_tries=MOST_TRIES - 1)
    np.testing.assert_array_equal(draw_covering_poisson_counts(5, np.array([1.0, 1.0, 0.0]), classes, 2), last)
