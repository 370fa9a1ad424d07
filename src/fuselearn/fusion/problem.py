"""What ``fit`` hands to an algorithm, and what the algorithm hands back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from fuselearn.fusion.weighted_sum import WeightedSum
from fuselearn.learners import Learner, Model, Target, count_all_samples
from fuselearn.learners.target import Counts, Indices, Scores, Weights

MOST_TRIES = 100
"""Maximum number of draws until every class is among the samples drawn, or a tree has a split."""


def never_stop(number: int, model: Model, **facts: float) -> bool:
    """Train on."""
    return False


@dataclass(frozen=True)
class Problem:
    """A bound table, the target, and how the fit goes on.

    An algorithm is a function ``train_x(problem, **settings)`` that returns :class:`Trained`.
    """

    learner: Learner
    target: Target
    weights: Weights | None
    """Sample weights; None means that all samples weigh the same. A fold is held out by weights of 0."""
    rng: np.random.Generator
    X: Any
    """The table as ``fit`` has checked it."""
    on_iteration: Callable[..., bool] = never_stop
    """``on_iteration(number, model, **facts)`` is called after each member, counted from 1; True ends training."""
    out_of_bag: bool = False
    """Whether out-of-bag scores are wanted."""
    n_jobs: int | None = None
    previous: Trained | None = None
    """What an earlier fit returned, if this one continues it."""
    n_used: int | None = None
    """Number of samples that take part, if some are held out."""

    @property
    def n_samples(self) -> int:
        """Number of samples of the bound table."""
        return self.learner.n_samples

    @property
    def n_draws(self) -> int:
        """Number of samples that a sample of the whole size has."""
        return self.learner.n_samples if self.n_used is None else self.n_used

    @property
    def initial_weights(self) -> Weights:
        """Sample weights, in proportion; all 1 if there are none."""
        return np.ones(self.n_samples) if self.weights is None else self.weights

    @cached_property
    def samples(self) -> Any:
        """The training samples as models take new ones."""
        return self.learner.training_samples(self.X)

    def train(
        self, counts: Counts, seed: int, *, weights: Weights | None = None, features: npt.NDArray[np.intp] | None = None
    ) -> Any:
        """Train a model on the samples drawn, and on all or some of the features."""
        learner = self.learner if features is None else self.learner.restrict(features)
        return learner.train(self.target, counts, seed, weights=weights)

    def train_on_all(self, seed: int) -> Any:
        """Train a model on all samples as they are, or as their weights say."""
        counts, weights = count_all_samples(self.weights, self.n_samples, copies=self.learner.counts_copies)
        return self.learner.train(self.target, counts, seed, weights=weights)


@dataclass
class Trained:
    """A trained ensemble and the trace of its training."""

    fused: WeightedSum
    trace: dict[str, Any] = field(default_factory=dict)
    """Fitted attributes by name, such as ``gains_``."""
    out_of_bag: OutOfBag | None = None
    state: Any = None
    """What a later fit needs to continue this one."""


class OutOfBag:
    """Mean scores of the training samples by the members that were not trained on them.

    Examples
    --------
    >>> out_of_bag = OutOfBag(3, 2)
    >>> out_of_bag.add(np.array([0, 1]), np.array([[1.0, 0.0], [0.0, 1.0]]))
    >>> out_of_bag.add(np.array([1]), np.array([[1.0, 0.0]]), weight=3.0)
    >>> out_of_bag.mean()
    array([[1.  , 0.  ],
           [0.75, 0.25],
           [ nan,  nan]])
    """

    def __init__(self, n_samples: int, n_columns: int) -> None:
        self.total = np.zeros((n_samples, n_columns))
        self.weight = np.zeros(n_samples)

    def add(self, samples: Indices, scores: Scores, weight: float = 1.0) -> None:
        """Add the scores of a member for the samples that it was not trained on."""
        self.total[samples] += weight * scores
        self.weight[samples] += weight

    def scale(self, factor: float) -> None:
        """Multiply the weights of all members so far."""
        self.total *= factor
        self.weight *= factor

    def mean(self) -> Scores:
        """Return the weighted mean; NaN for samples that all members were trained on."""
        return self.total / np.where(self.weight > 0.0, self.weight, np.nan)[:, None]
