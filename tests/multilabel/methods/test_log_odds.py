"""The fusion of log-odds: identities, another program's solution, and labels with few samples."""

import numpy as np
import pytest
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegression

from fuselearn.multilabel.methods import log_odds
from fuselearn.multilabel.methods.log_odds import LogOddsFusion, fit_log_odds


def simulate(n_samples=400, n_labels=3, noise=(0.5, 1.0), seed=0):
    """Draw log-odds, labels that follow them, and models that know them more or less."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(-1, 2, size=(n_samples, n_labels))
    Y = (rng.random(truth.shape) < expit(truth)).astype(np.int8)
    return np.stack([expit(truth + scale * rng.normal(size=truth.shape)) for scale in noise]), Y


def loss(fusion, probabilities, Y):
    fused = fusion.fuse(probabilities)
    return -np.mean(np.log(np.where(Y == 1, fused, 1 - fused)))


def test_equal_weights_are_a_mean_of_log_odds():
    probabilities = np.array([[[0.5, 0.8]], [[0.8, 0.8]]])
    fusion = LogOddsFusion(np.full((2, 2), 0.5), np.zeros(2))
    np.testing.assert_allclose(fusion.fuse(probabilities), [[expit(logit(0.8) / 2), 0.8]])


def test_it_is_scikit_learns_logistic_regression_without_penalty(monkeypatch):
    monkeypatch.setattr(log_odds, "LABEL_PENALTY", 0.0)
    probabilities, Y = simulate(noise=(1.0, 1.0))
    fusion = fit_log_odds(probabilities, Y, np.ones(400))
    for j in range(3):
        table = logit(probabilities[:, :, j].clip(1e-3, 1 - 1e-3)).T
        expected = LogisticRegression(C=np.inf, tol=1e-8).fit(table, Y[:, j])
        np.testing.assert_allclose(fusion.weights[:, j], expected.coef_[0], atol=1e-4)
        assert fusion.intercepts[j] == pytest.approx(expected.intercept_[0], abs=1e-4)


def test_the_better_model_has_more_weight():
    assert (np.diff(fit_log_odds(*simulate(noise=(0.3, 2.0)), np.ones(400)).weights, axis=0) < 0).all()


def test_it_is_better_than_any_model_and_their_mean_on_new_samples():
    fusion = fit_log_odds(*simulate(2000), np.ones(2000))
    new = simulate(2000, seed=1)
    alone = [LogOddsFusion(np.outer(row, np.ones(3)), np.zeros(3)) for row in ([1, 0], [0, 1], [0.5, 0.5])]
    assert loss(fusion, *new) < min(loss(one, *new) for one in alone)


def test_no_weight_is_negative():
    probabilities, Y = simulate()
    fusion = fit_log_odds(np.stack([probabilities[1], 1 - probabilities[0]]), Y, np.ones(400))
    np.testing.assert_array_equal(fusion.weights[1], 0.0)


def test_a_label_without_samples_has_the_common_weights():
    """The intercept alone says that there are none."""
    probabilities, Y = simulate()
    Y[:, 2] = 0
    weights = fit_log_odds(probabilities, Y, np.ones(400)).weights
    few = fit_log_odds(probabilities[:, :4], Y[:4], np.ones(4)).weights
    assert np.ptp(few, axis=1).max() < 0.1
    assert np.isfinite(weights).all()


def test_a_weight_of_two_is_a_sample_drawn_twice():
    probabilities, Y = simulate(60)
    counts = np.random.default_rng(0).integers(0, 3, size=60)
    weighted = fit_log_odds(probabilities, Y, counts.astype(float))
    drawn = fit_log_odds(np.repeat(probabilities, counts, axis=1), np.repeat(Y, counts, axis=0), np.ones(counts.sum()))
    np.testing.assert_allclose(weighted.weights, drawn.weights, atol=1e-6)


def test_sure_probabilities_are_finite():
    fusion = fit_log_odds(np.array([[[1.0], [0.0]]]), np.array([[1], [0]], dtype=np.int8), np.ones(2))
    assert np.isfinite(fusion.fuse(np.array([[[1.0], [0.0]]]))).all()
