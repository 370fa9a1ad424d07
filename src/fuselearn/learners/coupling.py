"""Class probabilities from one-vs-rest SVMs.

Each SVM estimates the probability p_c of its class from its own decision value. All SVMs together are more accurate:

    P(class c) is proportional to p_c^sharpness * fraction_c^balance

where fraction_c is the fraction of training samples of class c. With many rare classes every p_c is small, and a
sharpness of 1 results in nearly equal probabilities. A sharpness above 1 counts the class fractions, which each p_c
contains, more than once; a negative balance corrects this. Both are fitted to held-out samples.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

# Enough samples to fit two parameters; more would need much memory if there are many classes.
_MOST_ROWS = 5_000
_BOUND = 3.0
_MOST_STEPS, _MOST_HALVINGS, _TOLERANCE = 50, 20, 1e-6
_SMALLEST = np.finfo(np.float64).tiny


class Coupling(NamedTuple):
    """Conversion of the probabilities of one-vs-rest SVMs to class probabilities."""

    shares: Floats  # fraction of training samples of each class
    sharpness: float = 1.0
    balance: float = 0.0

    @property
    def log_shares(self) -> Floats:
        """Logarithms of the class fractions; 0 for a class without samples, whose SVM always predicts 0."""
        return np.log(np.where(self.shares > 0.0, self.shares, 1.0))

    def apply(self, probabilities: Floats) -> Floats:
        """Return the class probabilities.

        Parameters
        ----------
        probabilities : array of shape (n_samples, n_classes)
            The probabilities of the SVMs.

        Returns
        -------
        array of shape (n_samples, n_classes)
            Rows sum to one. If all SVMs predict 0, the probabilities are the class fractions.

        Examples
        --------
        >>> Coupling(np.array([0.5, 0.5]), sharpness=2.0).apply(np.array([[0.2, 0.4], [0.0, 0.0]]))
        array([[0.2, 0.8],
               [0.5, 0.5]])
        """
        possible = probabilities > 0.0
        logarithms = self.sharpness * np.log(np.where(possible, probabilities, 1.0)) + self.balance * self.log_shares
        logarithms[~possible] = -np.inf
        largest = logarithms.max(axis=1, keepdims=True)
        known = np.isfinite(largest)
        powers = np.where(known, np.exp(logarithms - np.where(known, largest, 0.0)), self.shares)
        return powers / powers.sum(axis=1, keepdims=True)


def fit_coupling(
    fractions: Floats,
    probabilities: Floats,
    labels: npt.NDArray[np.integer],
    truth: npt.NDArray[np.bool_],
    weights: Floats,
) -> Coupling:
    """Fit the coupling to held-out samples.

    The probability of a label is the total probability of the classes with this label. The coupling minimizes the cross
    entropy of the labels, with targets slightly inside 0 and 1 as in Platt's method.

    Parameters
    ----------
    fractions : array of shape (n_classes,)
        The fraction of training samples of each class.
    probabilities : array of shape (n_samples, n_classes)
        The probabilities of the SVMs for held-out samples.
    labels : array of shape (n_classes, n_labels)
        1 where a class has a label, else 0.
    truth : array of shape (n_samples, n_labels)
        The true labels of the held-out samples.
    weights : array of shape (n_samples,)
    """
    step = -(-len(probabilities) // _MOST_ROWS)
    known = fractions > 0.0  # the probability of a class without samples is 0 with any coupling
    probabilities = np.maximum(np.compress(known, probabilities[::step], axis=1), _SMALLEST)
    truth, weights = truth[::step], weights[::step, None]
    positive, negative = (weights * truth).sum(axis=0), (weights * ~truth).sum(axis=0)
    targets = np.where(truth, (positive + 1.0) / (positive + 2.0), 1.0 / (negative + 2.0))
    members = labels[known].astype(np.float64)
    logarithms, log_fractions = np.log(probabilities), np.log(fractions[known])

    def measure(parameters: Floats) -> tuple[float, Floats, Floats]:
        """Return the cross entropy, its gradient (logarithm of the sharpness, balance) and expected Hessian."""
        sharpness, balance = float(np.exp(parameters[0])), float(parameters[1])
        classes = Coupling(fractions[known], sharpness, balance).apply(probabilities)
        likely = np.clip(_sum_up(classes, members), _SMALLEST, 1.0)
        unlikely = np.clip(1.0 - likely, np.finfo(np.float64).eps, 1.0)
        loss = -(weights * (targets * np.log(likely) + (1.0 - targets) * np.log(unlikely))).sum()
        # Probabilities are normalized, so an equal change of all classes has no effect and is subtracted.
        gains = [
            _sum_up(classes * (gain - (classes * gain).sum(axis=1, keepdims=True)), members)
            for gain in (sharpness * logarithms, log_fractions)
        ]
        by_label = weights * ((1.0 - targets) / unlikely - targets / likely)
        information = weights / (likely * unlikely)
        curvature = [[(information * one * other).sum() for other in gains] for one in gains]
        return float(loss), np.array([(by_label * gain).sum() for gain in gains]), np.array(curvature)

    sharpness, balance = _minimize(measure, np.zeros(2))
    return Coupling(fractions, float(np.exp(sharpness)), float(balance))


def _sum_up(classes: Floats, members: Floats) -> Floats:
    """Return the sum over the classes with each label; no product is needed if the classes are the labels."""
    return (
        classes if len(members) == members.shape[1] and (members == np.eye(len(members))).all() else classes @ members
    )


def _minimize(measure: Callable[[Floats], tuple[float, Floats, Floats]], start: Floats) -> Floats:
    """Minimize a function of two bounded parameters by Fisher scoring with step halving.

    SciPy's solvers start BLAS threads even for 2 x 2 matrices, which would dominate the time on a busy computer.
    """
    found, (loss, slopes, curvature) = start, measure(start)
    for _ in range(_MOST_STEPS):
        stuck = ((found <= -_BOUND) & (slopes > 0.0)) | ((found >= _BOUND) & (slopes < 0.0))
        step = _newton_step(np.where(stuck, 0.0, slopes), np.where(stuck | stuck[:, None], np.eye(2), curvature))
        for halvings in range(_MOST_HALVINGS):
            tried = np.clip(found - step / 2.0**halvings, -_BOUND, _BOUND)
            measured = measure(tried)
            if measured[0] < loss:
                break
        else:
            return found
        change, found, (loss, slopes, curvature) = np.abs(tried - found).max(), tried, measured
        if change < _TOLERANCE:
            break
    return found


def _newton_step(slopes: Floats, curvature: Floats) -> Floats:
    """Solve the 2 x 2 system with a small ridge, which limits steps in directions without curvature."""
    (a, b), (_, c) = curvature
    ridge = 1e-4 * max(a, c) + _SMALLEST
    a, c = a + ridge, c + ridge
    return np.array([c * slopes[0] - b * slopes[1], a * slopes[1] - b * slopes[0]]) / max(a * c - b * b, _SMALLEST)
