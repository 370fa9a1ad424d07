"""Bags: which samples and features each model of a sampling ensemble gets."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fuselearn._parameters import check_choice, count_draws, count_features
from fuselearn.engines.draws import MOST_TRIES, draw_counts, draw_covering_poisson_counts
from fuselearn.engines.exact import exact_sum

SAMPLINGS = ("multinomial", "poisson")


class BagPlan(NamedTuple):
    """How the samples and features of a bag are drawn."""

    n_samples: int
    chances: npt.NDArray[np.float64] | None
    """Of each sample, in proportion, to be drawn; None means that all are equal."""
    n_draws: int
    bootstrap: bool
    """Whether samples are drawn with replacement."""
    n_columns: int
    n_features: int
    """How many of the features are drawn."""
    rate: float | None = None
    """Expected number of copies per unit of chance, if copies are drawn independently of all other samples."""

    def draw_features(self, rng: np.random.Generator) -> npt.NDArray[np.intp]:
        """Draw features, without replacement."""
        return np.sort(rng.choice(self.n_columns, self.n_features, replace=False))

    def draw_counts(self, rng: np.random.Generator) -> npt.NDArray[np.int32]:
        """Draw samples; return how often each was drawn."""
        chances = np.ones(self.n_samples) if self.chances is None else self.chances
        if self.bootstrap and self.rate is not None:
            any_sample = np.zeros(self.n_samples, dtype=np.int32)
            return draw_covering_poisson_counts(
                int(rng.integers(2**62)), self.rate * chances, any_sample, 1, MOST_TRIES
            )
        if self.bootstrap:
            return draw_counts(int(rng.integers(2**62)), chances, self.n_draws)
        if not self.leaves_rows_out:
            return (chances > 0).astype(np.int32)
        counts = np.zeros(self.n_samples, dtype=np.int32)
        counts[rng.choice(self.n_samples, self.n_draws, replace=False, p=chances / chances.sum())] = 1
        return counts

    @property
    def leaves_rows_out(self) -> bool:
        """Whether samples can stay out of a bag."""
        return self.bootstrap or self.n_draws < self.n_samples


def poisson_rate(n_draws: int, total_chance: float) -> float:
    """Return the expected number of draws per unit of chance."""
    return n_draws / total_chance


def plan_bags(
    shape: tuple[int, int],
    weights: npt.NDArray[np.float64] | None,
    *,
    max_samples: int | float,
    bootstrap: bool,
    max_features: int | float | str | None = None,
    leave_out: bool = False,
    sampling: str = "multinomial",
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
    sampling : {"multinomial", "poisson"}, default="multinomial"
        As that of :class:`~fuselearn.BaggedClassifier`.
    """
    check_choice("sampling", sampling, SAMPLINGS)
    n_samples, n_columns = shape
    n_draws = count_draws(max_samples, n_samples, largest_share=1)
    n_features = count_features(max_features, n_columns)
    if not bootstrap and n_draws > n_samples:
        raise ValueError(f"max_samples must be at most the {n_samples} samples without bootstrap, not {n_draws}.")
    n_positive = n_samples if weights is None else np.count_nonzero(weights)
    if not bootstrap and n_positive < n_draws < n_samples:
        raise ValueError(
            f"sample_weight is positive for {n_positive} samples only; {n_draws} cannot be drawn without replacement."
        )
    if not bootstrap and n_draws < n_samples and sampling == "poisson":
        raise ValueError("sampling='poisson' draws with replacement: set bootstrap=True, or max_samples=1.0.")
    rate = None
    if sampling == "poisson":
        rate = poisson_rate(n_draws, n_samples if weights is None else exact_sum(weights))
    plan = BagPlan(n_samples, weights, n_draws, bootstrap, n_columns, n_features, rate)
    if leave_out and not plan.leaves_rows_out:
        raise ValueError("oob_score needs samples to be left out: set bootstrap=True or max_samples below 1.")
    return plan
