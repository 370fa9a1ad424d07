"""Fuse the probabilities of several multi-label models by a weighted sum of log-odds for each label."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import expit, logit

Labels = npt.NDArray[np.int8]
Scores = npt.NDArray[np.float64]
Weights = npt.NDArray[np.float64]

# Probabilities are clipped to this distance from 0 and 1, so that no single model dominates the sum.
LEAST_PROBABILITY = 1e-3
# Shrinkage of the weights of a label toward the common weights: as strong as this many samples with a log-odds of 1.
COMMON_PENALTY = 1.0
LABEL_PENALTY = 20.0
MOST_STEPS = 100
TOLERANCE = 1e-12


class LogOddsFusion(NamedTuple):
    """Weights and intercepts of a fusion.

    With the probabilities p_kj of K models for label j, the fused one is ::

        expit(b_j + sum over k of w_kj logit p_kj),         w_kj >= 0.
    """

    weights: Weights
    """Array of shape (n_models, n_labels)."""
    intercepts: Weights
    """Array of shape (n_labels,)."""

    def fuse(self, probabilities: Scores) -> Scores:
        """Return the fused probabilities, from an array of shape (n_models, n_samples, n_labels)."""
        return expit(np.einsum("kij,kj->ij", log_odds(probabilities), self.weights) + self.intercepts)


def log_odds(probabilities: Scores) -> Scores:
    """Return the log-odds of clipped probabilities.

    Examples
    --------
    >>> log_odds(np.array([0.0, 0.5, 0.999])).round(1)
    array([-6.9,  0. ,  6.9])
    """
    return logit(np.clip(probabilities, LEAST_PROBABILITY, 1 - LEAST_PROBABILITY))


def fit_log_odds(probabilities: Scores, Y: Labels, weights: Weights) -> LogOddsFusion:
    """Fit the fusion with the smallest log loss on held-out samples.

    Weights common to all labels are fitted first, shrunk toward the mean of the models. The weights of each label are
    shrunk toward the common weights, most strongly for rare labels.

    Parameters
    ----------
    probabilities : array of shape (n_models, n_samples, n_labels)
    Y : array of shape (n_samples, n_labels)
        Zeros and ones.
    weights : array of shape (n_samples,)
        Weights of the samples, with a mean of 1.

    Returns
    -------
    LogOddsFusion
    """
    n_models, _, n_labels = probabilities.shape
    tables = [np.column_stack([*log_odds(probabilities[:, :, j]), np.ones(len(Y))]) for j in range(n_labels)]
    targets = Y.T.astype(np.float64)
    mean = np.append(np.full(n_models, 1 / n_models), 0.0)
    common = _minimize(tables, targets, weights, mean, COMMON_PENALTY)
    own = np.array([_minimize([tables[j]], targets[[j]], weights, common, LABEL_PENALTY) for j in range(n_labels)])
    return LogOddsFusion(own[:, :-1].T, own[:, -1])


def _minimize(tables: list[Scores], targets: Scores, weights: Weights, center: Weights, penalty: float) -> Weights:
    """Minimize the log loss of one or several labels plus the penalty times the squared distance to the center.

    The solver is a projected Newton method: all coefficients except the last, the intercept, are nonnegative.
    """
    rows, target, weights = np.vstack(tables), targets.ravel(), np.tile(weights, len(tables))
    is_bounded = np.arange(len(center)) < len(center) - 1

    def loss(found: Weights, odds: Scores) -> float:
        return float(
            penalty * (found - center) @ (found - center) + weights @ (np.logaddexp(0.0, odds) - target * odds)
        )

    found, odds = center.copy(), rows @ center
    lowest = loss(found, odds)
    for _ in range(MOST_STEPS):
        p = expit(odds)
        gradient = 2 * penalty * (found - center) + rows.T @ (weights * (p - target))
        free = ~(is_bounded & (found <= 0.0) & (gradient > 0.0))
        if np.abs(gradient[free]).max(initial=0.0) < TOLERANCE * len(target):
            break
        own = rows[:, free]
        curvature = 2 * penalty * np.eye(own.shape[1]) + own.T @ (own * (weights * p * (1.0 - p))[:, None])
        step = np.zeros_like(found)
        step[free] = np.linalg.solve(curvature, -gradient[free])
        for length in 0.5 ** np.arange(30):
            candidate = np.where(is_bounded, np.maximum(found + length * step, 0.0), found + length * step)
            odds = rows @ candidate
            if (reached := loss(candidate, odds)) < lowest:
                break
        else:  # rounding errors exceed any further decrease
            break
        found, lowest = candidate, reached
    return found
