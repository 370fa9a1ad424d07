"""KFHE's two Kalman filters over multi-label models of any kind."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fuselearn._core import draw_counts
from fuselearn._parameters import count_draws
from fuselearn.fusion import OutOfBag, Problem, Trained, WeightedSum
from fuselearn.fusion.filtering import (
    ArrayStates,
    FilterRun,
    Measurement,
    Truth,
    closed_form_coefficients,
    run_filters,
)
from fuselearn.learners import LabelModel, count_all_samples
from fuselearn.learners.target import Counts
from fuselearn.multilabel.base import Scores, Weights

# Hamming loss of random guessing.
GUESSING_LOSS = 0.5


@dataclass(frozen=True)
class LabelTruth(Truth):
    """The true labels of the training samples; scores above 0.5 mean the label.

    Examples
    --------
    >>> truth = LabelTruth(np.array([0.5, 0.5]), np.array([[True, False], [True, False]]))
    >>> truth.losses(np.array([[0.9, 0.5], [0.2, 0.8]]))
    array([0., 1.])
    """

    labels: npt.NDArray[np.bool_]

    def losses(self, scores: Scores) -> Weights:
        """Return the fraction of wrong labels of each sample."""
        return np.mean((scores > 0.5) != self.labels, axis=1)

    def compare(self, y: Scores, h: LabelModel) -> Measurement:
        """Compute the measurement of a model, which counts with the labels that it chooses."""
        return self.measure(y, h.decisions())


def train_filtered(
    problem: Problem,
    train_first: Callable[[Counts, Weights | None, int], LabelModel],
    train_next: Callable[[Counts, int], LabelModel],
    n_estimators: int = 100,
    *,
    max_samples: int | float = 2.0,
    weighting: str = "exponential",
    reset: bool = True,
) -> Trained:
    """Train KFHE on labels: h_0 on all samples, every later model on a sample drawn by the weights of kf-w.

    Parameters
    ----------
    problem : Problem
    train_first : callable
        ``train_first(counts, weights, seed)`` trains the model of the first estimate.
    train_next : callable
        ``train_next(counts, seed)`` trains a model on the samples drawn.
    n_estimators, max_samples, weighting, reset
        As those of :class:`~fuselearn.multilabel.KFHEMultilabelClassifier`.
    """
    initial, n_labels = problem.initial_weights, problem.target.n_columns
    truth = LabelTruth(initial / initial.sum(), problem.target.values > 0)
    n_draws = count_draws(max_samples, problem.n_draws)
    seeds = problem.rng.integers(2**62, size=n_estimators + 1).tolist()
    out_of_bag = OutOfBag(problem.n_samples, n_labels)
    left_out = np.empty(0, dtype=np.intp)

    def train(w: Weights, seed: int) -> LabelModel:
        nonlocal left_out
        counts = draw_counts(seed, w, n_draws)
        left_out = np.flatnonzero(counts == 0)
        return train_next(counts, seed)

    def on_iteration(t: int, h: LabelModel, *, error: float, gain: float) -> bool:
        if problem.out_of_bag:
            out_of_bag.scale(1.0 - gain / 2)
            out_of_bag.add(left_out, h.scores(only=left_out), gain / 2)
        return problem.on_iteration(t, h, error=error, gain=gain)

    copies = problem.learner.counts_copies
    run = FilterRun([train_first(*count_all_samples(problem.weights, problem.n_samples, copies=copies), seeds[0])])
    states = ArrayStates(run.models[0].decisions(), truth, train, truth.compare, weighting=weighting)
    run_filters(states, run, seeds[1:], guessing_error=GUESSING_LOSS if reset else math.inf, on_iteration=on_iteration)
    fused = WeightedSum(run.models, closed_form_coefficients(np.array(run.gains)), n_labels)
    return Trained(fused, run.trace(truth.error(states.y), states.w), out_of_bag)
