"""The losses that stacking minimises over held-out answers, and the choice of the shrinkage by cross-validation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from fuselearn._messages import show
from fuselearn._parameters import check_number
from fuselearn.combine.weight_solvers import SMALLEST_PROBABILITY, least_squares_weights, log_loss_weights

Array = npt.NDArray[np.float64]

CANDIDATES = (0.0, *(10.0 ** (power / 2) for power in range(-8, 5)), np.inf)


@dataclass(frozen=True)
class SquaredError:
    """The weighted mean of (target - sum_k w_k answer_k)^2.

    Parameters
    ----------
    answers : array of shape (n_cells, n_members)
        A cell is a sample, or a sample and one of its outputs, classes or labels.
    target : array of shape (n_cells,)
    shares : array of shape (n_cells,)
        What each cell counts.
    """

    answers: Array
    target: Array
    shares: Array

    def part(self, chosen: npt.NDArray[np.bool_]) -> Self:
        """Take some of the cells."""
        return type(self)(self.answers[chosen], self.target[chosen], self.shares[chosen])

    def best_weights(self, constraint: str | None, shrinkage: float) -> Array:
        """Minimise the loss plus shrinkage sum_k (w_k - 1/K)^2."""
        roots = np.sqrt(self.shares / self.shares.sum())
        return least_squares_weights(self.answers * roots[:, None], self.target * roots, constraint, shrinkage)

    def total(self, weights: Array) -> float:
        """Sum the losses of the cells, each times its share."""
        return float(self.shares @ (self.target - self.answers @ weights) ** 2)


@dataclass(frozen=True)
class LogLoss:
    """The weighted mean of -log(sum_k w_k p_k), p_k being what member k gives to the right class.

    Parameters
    ----------
    probabilities : array of shape (n_cells, n_members)
        A cell is a sample, or a sample and one of its labels.
    shares : array of shape (n_cells,)
        What each cell counts.
    """

    probabilities: Array
    shares: Array

    def part(self, chosen: npt.NDArray[np.bool_]) -> Self:
        """Take some of the cells."""
        return type(self)(self.probabilities[chosen], self.shares[chosen])

    def best_weights(self, constraint: str | None, shrinkage: float) -> Array:
        """Minimise the loss plus shrinkage sum_k (w_k - 1/K)^2."""
        return log_loss_weights(self.probabilities, self.shares / self.shares.sum(), constraint, shrinkage)

    def total(self, weights: Array) -> float:
        """Sum the losses of the cells, each times its share."""
        mixed = np.maximum(self.probabilities, SMALLEST_PROBABILITY) @ weights
        return float(-self.shares @ np.log(np.maximum(mixed, SMALLEST_PROBABILITY)))


def cross_validate_shrinkage(
    loss: SquaredError | LogLoss, folds: npt.NDArray[np.intp], constraint: str | None
) -> dict[float, float]:
    """Return the loss of each candidate for the shrinkage on cells that its weights were not learned from.

    Parameters
    ----------
    loss : SquaredError or LogLoss
    folds : array of shape (n_cells,)
        Each fold is left out once.
    constraint : {None, "non-negative", "simplex"}

    Returns
    -------
    dict
        From candidate, the largest first, to mean loss. Infinity stands for equal weights.
    """
    totals = dict.fromkeys(reversed(CANDIDATES), 0.0)
    for fold in np.unique(folds):
        inside, outside = loss.part(folds != fold), loss.part(folds == fold)
        for candidate in totals:
            totals[candidate] += outside.total(inside.best_weights(constraint, candidate))
    return {candidate: total / loss.shares.sum() for candidate, total in totals.items()}


def best_shrinkage(losses: dict[float, float]) -> float:
    """Choose the candidate with the smallest loss, the largest of equal ones."""
    least = min(losses.values())
    return max(candidate for candidate, value in losses.items() if value <= least + 1e-12 * abs(least))


def check_shrinkage(shrinkage: Any) -> None:
    """Check that the shrinkage is "auto", infinity or a number of at least 0."""
    if isinstance(shrinkage, str):
        if shrinkage != "auto":
            raise ValueError(f"shrinkage must be 'auto' or a number of at least 0, not {show(shrinkage)}.")
    elif shrinkage != np.inf:
        check_number("shrinkage", shrinkage, 0)
