"""Probabilities of classes from machines that tell each class from all others.

Each machine knows the probability p_c of its class given its own decision value alone. All of them together know more:

    P(class c) is in proportion to  p_c^sharpness * share_c^balance

where share_c is the class's share of the training rows. With many rare classes every machine is unsure, and a sharpness
of 1 makes nearly equal probabilities of large differences between the machines. More than 1 counts the shares, which
each p_c contains, more than once; a balance below 0 takes that back. Both are fitted to rows left out of training.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize

Floats = npt.NDArray[np.float64]

# Two numbers do not need more, and the largest problems would need much memory.
_MOST_ROWS = 5_000
_BOUNDS = ((-3.0, 3.0), (-3.0, 3.0))
_SMALLEST = np.finfo(np.float64).tiny


class Coupling(NamedTuple):
    """How probabilities of machines become those of classes."""

    shares: Floats  # (n_classes,)
    sharpness: float = 1.0
    balance: float = 0.0

    @property
    def log_shares(self) -> Floats:
        """Logarithms of the shares; 0 for a class without rows, whose machine always says 0."""
        return np.log(np.where(self.shares > 0.0, self.shares, 1.0))

    def apply(self, chances: Floats) -> Floats:
        """Return the probabilities of the classes.

        Parameters
        ----------
        chances : array of shape (n_rows, n_classes)
            The machines' probabilities.

        Returns
        -------
        array of shape (n_rows, n_classes)
            Rows sum to one. Where all chances are 0, they are the shares.

        Examples
        --------
        >>> Coupling(np.array([0.5, 0.5]), sharpness=2.0).apply(np.array([[0.2, 0.4], [0.0, 0.0]]))
        array([[0.2, 0.8],
               [0.5, 0.5]])
        """
        possible = chances > 0.0
        logarithms = self.sharpness * np.log(np.where(possible, chances, 1.0)) + self.balance * self.log_shares
        logarithms[~possible] = -np.inf
        largest = logarithms.max(axis=1, keepdims=True)
        known = np.isfinite(largest)
        powers = np.where(known, np.exp(logarithms - np.where(known, largest, 0.0)), self.shares)
        return powers / powers.sum(axis=1, keepdims=True)


def fit_coupling(
    shares: Floats,
    chances: Floats,
    labels: npt.NDArray[np.integer],
    truth: npt.NDArray[np.bool_],
    weights: Floats,
) -> Coupling:
    """Find the coupling whose probabilities of labels fit rows that the machines have not seen.

    The probability of a label is that of all classes with the label. Its cross entropy to targets slightly inside 0
    and 1, as in Platt's method, is minimised.

    Parameters
    ----------
    shares : array of shape (n_classes,)
        The share of each class in training.
    chances : array of shape (n_rows, n_classes)
        The machines' probabilities for rows left out of their training.
    labels : array of shape (n_classes, n_labels)
        1 where a class has a label, else 0.
    truth : array of shape (n_rows, n_labels)
    weights : array of shape (n_rows,)
    """
    step = -(-len(chances) // _MOST_ROWS)
    known = shares > 0.0  # a class without rows has no chance, whatever the coupling
    chances = np.maximum(np.compress(known, chances[::step], axis=1), _SMALLEST)
    truth, weights = truth[::step], weights[::step, None]
    positive, negative = (weights * truth).sum(axis=0), (weights * ~truth).sum(axis=0)
    targets = np.where(truth, (positive + 1.0) / (positive + 2.0), 1.0 / (negative + 2.0))
    members = labels[known].astype(np.float64)
    logarithms, log_shares = np.log(chances), np.log(shares[known])

    def measure(parameters: Floats) -> tuple[float, Floats]:
        """Return the cross entropy and its slopes by the logarithm of the sharpness and by the balance."""
        sharpness, balance = float(np.exp(parameters[0])), float(parameters[1])
        classes = Coupling(shares[known], sharpness, balance).apply(chances)
        likely = np.clip(classes @ members, _SMALLEST, 1.0)
        unlikely = np.clip(1.0 - likely, np.finfo(np.float64).eps, 1.0)
        loss = -(weights * (targets * np.log(likely) + (1.0 - targets) * np.log(unlikely))).sum()
        by_label = weights * ((1.0 - targets) / unlikely - targets / likely)
        by_class = classes * (by_label @ members.T)
        # Probabilities sum to one, so that what all classes gain alike changes nothing.
        by_class -= classes * by_class.sum(axis=1, keepdims=True)
        slopes = [sharpness * (by_class * logarithms).sum(), (by_class * log_shares).sum()]
        return float(loss), np.array(slopes)

    found = minimize(measure, np.zeros(2), jac=True, bounds=_BOUNDS, method="L-BFGS-B")
    return Coupling(shares, float(np.exp(found.x[0])), float(found.x[1]))
