"""Bags: which samples and features each model of a sampling ensemble gets."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fuselearn._parameters import count_draws, count_features
from fuselearn.sensors import draw_counts


class BagPlan(NamedTuple):
    """How the samples and features of a bag are drawn."""

    chances: npt.NDArray[np.float64]
    """Of each sample, in proportion, to be drawn."""
    n_draws: int
    bootstrap: bool
    """Whether samples are drawn with replacement."""
    n_columns: int
    n_features: int
    """How many of the features are drawn."""

    def draw_features(self, rng: np.random.Generator) -> npt.NDArray[np.intp]:
        """Draw features, without replacement."""
        return np.sort(rng.choice(self.n_columns, self.n_features, replace=False))

    def draw_counts(self, rng: np.random.Generator) -> npt.NDArray[np.int32]:
        """Draw samples; return how often each was drawn."""
        if self.bootstrap:
            return draw_counts(int(rng.integers(2**62)), self.chances, self.n_draws)
        if not self.leaves_rows_out:
            return (self.chances > 0).astype(np.int32)
        counts = np.zeros(len(self.chances), dtype=np.int32)
        share = self.chances / self.chances.sum()
        counts[rng.choice(len(self.chances), self.n_draws, replace=False, p=share)] = 1
        return counts

    @property
    def leaves_rows_out(self) -> bool:
        """Whether samples can stay out of a bag."""
        return self.bootstrap or self.n_draws < len(self.chances)


def plan_bags(
    shape: tuple[int, int],
    weights: npt.NDArray[np.float64] | None,
    *,
    max_samples: int | float,
    bootstrap: bool,
    max_features: int | float | str | None = None,
    leave_out: bool = False,
) -> BagPlan:
    """Check the parameters of an ensemble that say how bags are drawn.

    Parameters
    ----------
    shape : (n_samples, n_features)
        Of the table.
    weights : array of shape (n_samples,) or None
        Samples of more weight are drawn more often.
    max_samples, bootstrap, max_features
        As those of :class:`~fuselearn.BaggedClassifier`.
    leave_out : bool, default=False
        Whether to refuse bags that leave no samples out.
    """
    n_samples, n_columns = shape
    n_draws = count_draws(max_samples, n_samples, largest_share=1)
    n_features = count_features(max_features, n_columns)
    chances = np.ones(n_samples) if weights is None else weights
    if not bootstrap and n_draws > n_samples:
        raise ValueError(f"max_samples must be at most the {n_samples} samples without bootstrap, not {n_draws}.")
    if not bootstrap and np.count_nonzero(chances) < n_draws < n_samples:
        raise ValueError(
            f"sample_weight is positive for {np.count_nonzero(chances)} samples only; {n_draws} cannot be drawn "
            "without replacement."
        )
    plan = BagPlan(chances, n_draws, bootstrap, n_columns, n_features)
    if leave_out and not plan.leaves_rows_out:
        raise ValueError("oob_score needs samples to be left out: set bootstrap=True or max_samples below 1.")
    return plan
