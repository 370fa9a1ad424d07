"""The loop of AdaBoost.SAMME: each classifier is trained on samples that the previous ones got wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from fuselearn.engines.draws import MOST_TRIES, draw_covering_poisson_counts
from fuselearn.engines.exact import exact_sum
from fuselearn.ensembles.components import error_of_guessing
from fuselearn.learners import Component, Sensor, TreeComponent, draw_covering_counts

Weights = npt.NDArray[np.float64]


class Boosted(Protocol):
    """The sample weights, as the loop sees them; they sum to one."""

    def train(self, seed: int) -> Any:
        """Train a classifier on a sample drawn by the weights."""
        ...

    def measure(self, component: Any) -> float:
        """Return the weight of the samples that a classifier gets wrong."""
        ...

    def raise_wrong(self, factor: float) -> None:
        """Multiply the weights of the samples that the classifier measured last gets wrong, and scale all."""
        ...

    def reset(self) -> None:
        """Let the weights be what they were at first."""
        ...


@dataclass
class BoostRun:
    """The classifiers so far, and the trace of their training."""

    components: list[Any] = field(default_factory=list)
    alphas: list[float] = field(default_factory=list)
    errors: list[float] = field(default_factory=list)
    resets: list[int] = field(default_factory=list)


def boost(
    boosted: Boosted,
    run: BoostRun,
    rng: np.random.Generator,
    n_estimators: int,
    n_classes: int,
    announce: Callable[..., bool],
) -> None:
    """Train classifiers until there are so many, or ``announce(t, component, error=..., weight=...)`` returns True."""
    guessing_error = error_of_guessing(n_classes)
    for t in range(len(run.components) + 1, n_estimators + 1):
        component = train_with_split(boosted, rng)
        error = boosted.measure(component)
        if 0.0 < error < guessing_error:
            alpha = _alpha(error, n_classes)
            boosted.raise_wrong(float(np.exp(alpha)))
        else:
            alpha = _alpha(0.001 if error == 0.0 else guessing_error - 0.001, n_classes)
            boosted.reset()
            run.resets.append(t)
        run.components.append(component)
        run.errors.append(error)
        run.alphas.append(alpha)
        if announce(t, component, error=error, weight=alpha):
            break


class ArrayBoosted:
    """Weights in memory.

    Parameters
    ----------
    sensor : Sensor
    initial : array of shape (n_samples,)
        Weights at first; they need not sum to one.
    poisson : bool
        Whether an independent Poisson number of copies of each sample is drawn, and sums are exact.

    Attributes
    ----------
    weights : array of shape (n_samples,)
    counts : array of shape (n_samples,)
        How often each sample was drawn for the classifier trained last.
    """

    def __init__(self, sensor: Sensor, initial: Weights, *, poisson: bool) -> None:
        self.sensor, self.poisson = sensor, poisson
        self.initial = initial / self._sum(initial)
        self.weights = self.initial.copy()
        self.truth = sensor.target.numbers

    @property
    def state(self) -> Any:
        """What a later fit continues with."""
        return self.weights

    @state.setter
    def state(self, state: Any) -> None:
        self.weights = state

    def train(self, seed: int) -> Component:
        """Train a classifier on a sample drawn by the weights."""
        n_samples = self.sensor.n_rows
        if self.poisson:
            any_sample = np.zeros(n_samples, dtype=np.int32)
            self.counts = draw_covering_poisson_counts(seed, n_samples * self.weights, any_sample, 1, MOST_TRIES)
        else:
            self.counts = draw_covering_counts(
                seed, self.weights, n_samples, self.truth, self.sensor.n_classes, max_tries=1
            )
        return self.sensor.measure(self.counts, seed)

    def measure(self, component: Component) -> float:
        """Return the weight of the samples that a classifier gets wrong."""
        self.wrong = component.votes() != self.truth
        return exact_sum(self.weights[self.wrong]) if self.poisson else float(self.weights @ self.wrong)

    def raise_wrong(self, factor: float) -> None:
        """Multiply the weights of the samples that the classifier measured last gets wrong, and scale all."""
        self.weights = self.weights * np.where(self.wrong, factor, 1.0)
        self.weights /= self._sum(self.weights)

    def reset(self) -> None:
        """Let the weights be what they were at first."""
        self.weights = self.initial.copy()

    def _sum(self, weights: Weights) -> float:
        return exact_sum(weights) if self.poisson else float(weights.sum())


def _alpha(error: float, n_classes: int) -> float:
    return float(np.log((1.0 - error) / error) + np.log(n_classes - 1.0))


def train_with_split(boosted: Boosted, rng: np.random.Generator) -> Any:
    """Train a classifier; draw again while it is a tree without a split."""
    for _ in range(MOST_TRIES):
        component = boosted.train(int(rng.integers(2**62)))
        if not isinstance(component, TreeComponent) or component.tree.n_leaves > 1:
            break
    return component
