"""Estimates of flipped and forgotten labels, and thresholds that allow for them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import f1_score

from fuselearn.datasets import corrupt_labels
from fuselearn.multilabel.decisions import CardinalityThreshold, MacroF1Thresholds, MicroF1Threshold
from fuselearn.multilabel.label_noise import correct_labels, estimate_label_frequency, estimate_noise_rate

RULES = [MacroF1Thresholds(), MicroF1Threshold(), CardinalityThreshold()]


def rare_labels(n_samples=2000, n_labels=12, seed=0):
    """Make probabilities of rare labels, and labels drawn by them."""
    rng = np.random.default_rng(seed)
    scores = rng.beta(0.1, 1.5, size=(n_samples, n_labels))
    return scores, (rng.random(scores.shape) < scores).astype(np.int8)


@given(st.floats(0.03, 0.35), st.integers(0, 1000))
def test_the_fraction_of_flipped_labels_is_found(rate, seed):
    scores, Y = rare_labels(seed=seed)
    assert estimate_noise_rate(scores, Y) == 0.0
    noisy = corrupt_labels(Y, rate, random_state=seed)
    found = estimate_noise_rate(rate + (1 - 2 * rate) * scores, noisy)
    assert found == pytest.approx(rate, abs=0.02 + 0.1 * rate)


def test_forgotten_labels_are_no_flips():
    scores, Y = rare_labels()
    assert estimate_noise_rate(scores, corrupt_labels(Y, 0.3, "forgotten", random_state=0)) == 0.0


def test_labels_that_cannot_be_predicted_are_no_flips():
    """Two standard errors are exceeded by chance in 2 % of all cases."""
    frequencies, n_found = np.array([0.1, 0.15, 0.2, 0.3, 0.7]), 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        scores = frequencies + rng.normal(0, 0.02, size=(400, 5))
        n_found += estimate_noise_rate(scores, (rng.random((400, 5)) < frequencies).astype(np.int8)) > 0
    assert n_found <= 6


def test_few_samples_are_not_enough():
    scores, Y = rare_labels(20, 4)
    assert estimate_noise_rate(scores, 1 - Y) == 0.0


def test_unknown_labels_do_not_count():
    scores, Y = rare_labels()
    noisy = corrupt_labels(Y, 0.2, random_state=0)
    half = np.random.default_rng(1).random(Y.shape) < 0.5
    found = estimate_noise_rate(scores, np.where(half, noisy, np.int8(-1)))
    assert found == pytest.approx(0.2, abs=0.05)


@given(st.floats(0.4, 0.65), st.integers(0, 1000))
def test_the_fraction_of_given_labels_is_found_if_one_label_is_easy(frequency, seed):
    """The first half of the samples has the labels; the scores of the second one say nothing."""
    rng = np.random.default_rng(seed)
    Y = np.repeat(np.array([[1, 1], [0, 0]], dtype=np.int8), 10_000, axis=0)
    scores = np.c_[0.9 * Y[:, 0] + 0.1 * rng.random(20_000), 0.4 + 0.2 * rng.random(20_000)]
    given_labels = corrupt_labels(Y, 1 - frequency, "forgotten", random_state=seed)
    found = estimate_label_frequency(scores, given_labels)
    # The larger one of two estimates, one of them from 250 samples with a standard error of 0.03.
    assert found == pytest.approx(max(0.4, 0.9 * frequency + 0.1 * frequency / 2), abs=0.15)
    alone = estimate_label_frequency(scores[:, :1], given_labels[:, :1])
    assert frequency - 0.03 < alone < frequency + 0.15  # the larger one of two estimates


def test_labels_that_are_hard_to_predict_are_not_forgotten():
    """The probabilities of one label reach 1, and those of 19 labels .65."""
    highest = np.r_[1.0, np.full(19, 0.65)]
    for seed in range(20):
        rng = np.random.default_rng(seed)
        scores = highest * rng.random((1000, 20)) ** 2
        assert estimate_label_frequency(scores, (rng.random(scores.shape) < scores).astype(np.int8)) == 1.0


def test_flips_are_not_taken_for_forgotten_labels():
    """Each fourth of the highest scores is a negative, which is evidence unless many of the lowest are positives."""
    scores, Y = np.linspace(1, 0, 400)[:, None], np.zeros((400, 1), dtype=np.int8)
    Y[:80] = np.tile([1, 1, 1, 0], 20)[:, None]
    assert estimate_label_frequency(scores, Y) == pytest.approx(0.75, abs=0.02)
    Y[320::8] = 1
    assert estimate_label_frequency(scores, Y) == 1.0


def test_unknown_labels_do_not_count_as_forgotten():
    scores, Y = np.linspace(1, 0, 200)[:, None], np.r_[np.ones(80), np.zeros(120)].astype(np.int8)[:, None]
    Y[:80:4] = 0  # each fourth is forgotten
    assert estimate_label_frequency(scores, Y) == pytest.approx(22 / 30)
    Y[:80:4] = -1
    assert estimate_label_frequency(scores, Y) == 1.0


def test_few_positives_say_nothing_about_forgotten_ones():
    scores, Y = np.linspace(1, 0, 100)[:, None], np.zeros((100, 1), dtype=np.int8)
    Y[60:89] = 1
    assert estimate_label_frequency(scores, Y) == 1.0
    Y[89] = 1
    assert estimate_label_frequency(scores, Y) == 0.4


def test_labels_of_few_positives_say_nothing_about_forgotten_ones():
    scores, Y = np.tile(np.linspace(1, 0, 100)[:, None], 5), np.zeros((100, 5), dtype=np.int8)
    Y[60:67] = 1
    assert estimate_label_frequency(scores, Y) == 1.0
    Y[67, 0] = 1
    assert estimate_label_frequency(scores, Y) == 0.4


@given(st.floats(0.0, 0.4))
def test_corrected_labels_have_the_expectation_of_the_correct_ones(rate):
    flipped = correct_labels(np.array([1, 0], dtype=np.int8), rate)
    assert (1 - rate) * flipped[0] + rate * flipped[1] == pytest.approx(1.0)
    assert rate * flipped[0] + (1 - rate) * flipped[1] == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_thresholds_of_flipped_labels_are_those_of_correct_ones(rule):
    scores, Y = rare_labels(5000)
    noisy = corrupt_labels(Y, 0.2, random_state=0)
    said = 0.2 + 0.6 * scores
    best = rule.fit(scores, Y)(scores)
    fooled = rule.fit(said, noisy)(said)
    aware = rule.set_params(noise_rate="auto").fit(said, noisy)(said)
    assert rule.noise_rate_ == pytest.approx(0.2, abs=0.03)
    rule.set_params(noise_rate=0.0)
    for average in ("macro", "micro"):
        f1_aware, f1_fooled, f1_best = (f1_score(Y, labels, average=average) for labels in (aware, fooled, best))
        assert f1_fooled / 0.7 < f1_best < f1_aware / 0.85


@pytest.mark.parametrize("rule", RULES, ids=repr)
@pytest.mark.parametrize("rate", ["much", 0.5, -0.1])
def test_impossible_rates_are_refused(rule, rate):
    with pytest.raises(ValueError, match="noise_rate must be"):
        type(rule)(noise_rate=rate).fit(*rare_labels(50))
