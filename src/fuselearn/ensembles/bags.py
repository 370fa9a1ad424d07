"""Bags: which rows and columns each model of a sampling ensemble gets."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fuselearn._parameters import count_draws, count_features
from fuselearn._validation import read_weights
from fuselearn.sensors import draw_counts


class BagPlan(NamedTuple):
    """How the rows and columns of a bag are drawn."""

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
        counts = np.zeros(len(self.chances), dtype=np.int32)
        share = self.chances / self.chances.sum()
        counts[rng.choice(len(self.chances), self.n_draws, replace=False, p=share)] = 1
        return counts

    @property
    def leaves_rows_out(self) -> bool:
        """Whether samples can stay out of a bag."""
        return self.bootstrap or self.n_draws < len(self.chances)


def plan_bags(
    X: Any,
    n_rows: int,
    n_columns: int,
    *,
    max_samples: Any,
    max_features: Any,
    bootstrap: bool,
    sample_weight: Any,
) -> BagPlan:
    """Check the parameters that say how bags are drawn; samples of more weight are drawn more often."""
    n_draws = count_draws(max_samples, n_rows, largest_share=1)
    if not bootstrap and n_draws > n_rows:
        raise ValueError(f"max_samples must be at most the {n_rows} samples without bootstrap, not {n_draws}.")
    n_features = count_features(max_features, n_columns)
    weights = read_weights(sample_weight, X, n_rows)
    chances = np.ones(n_rows) if weights is None else weights
    if not bootstrap and np.count_nonzero(chances) < n_draws:
        raise ValueError(
            f"sample_weight is positive for {np.count_nonzero(chances)} samples only; {n_draws} cannot be drawn "
            "without replacement."
        )
    return BagPlan(chances, n_draws, bootstrap, n_columns, n_features)
