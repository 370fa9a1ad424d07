"""Flips are counted where labels are almost certainly absent; thresholds are learned as if labels were correct."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import f1_score

from fuselearn.datasets import corrupt_labels
from fuselearn.multilabel.decisions import CardinalityThreshold, MacroF1Thresholds, MicroF1Threshold
from fuselearn.multilabel.decisions.noise import correct_labels, estimate_noise_rate

RULES = [MacroF1Thresholds(), MicroF1Threshold(), CardinalityThreshold()]


def rare_labels(n_samples=2000, n_labels=12, seed=0):
    """Make probabilities of rare labels, and labels drawn by them."""
    rng = np.random.default_rng(seed)
    scores = rng.beta(0.1, 1.5, size=(n_samples, n_labels))
    return scores, (rng.random(scores.shape) < scores).astype(np.int8)


@given(st.floats(0.08, 0.35), st.integers(0, 1000))
def test_the_fraction_of_flipped_labels_is_found(rate, seed):
    scores, Y = rare_labels(seed=seed)
    assert estimate_noise_rate(scores, Y) == 0.0
    noisy = corrupt_labels(Y, rate, random_state=seed)
    assert estimate_noise_rate(rate + (1 - 2 * rate) * scores, noisy) == pytest.approx(rate, abs=0.08)


def test_forgotten_labels_are_no_flips():
    scores, Y = rare_labels()
    assert estimate_noise_rate(scores, corrupt_labels(Y, 0.3, "forgotten", random_state=0)) == 0.0


def test_few_samples_are_not_enough():
    scores, Y = rare_labels(20, 4)
    assert estimate_noise_rate(scores, 1 - Y) == 0.0


def test_unknown_labels_do_not_count():
    scores, Y = rare_labels()
    noisy = corrupt_labels(Y, 0.2, random_state=0)
    half = np.random.default_rng(1).random(Y.shape) < 0.5
    found = estimate_noise_rate(scores, np.where(half, noisy, np.int8(-1)))
    assert found == pytest.approx(0.2, abs=0.05)


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
