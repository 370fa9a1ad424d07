"""The two filters of KFHE on a table in parts: every part has its piece of their states, the driver their scalars."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fuselearn.engines.exact import sum_units
from fuselearn.engines.fusing import EXPONENTIAL, WEIGHTINGS, measure_weights, pull
from fuselearn.engines.tree import TreeSettings
from fuselearn.ensembles.filtering import Errors, Scores, Weights
from fuselearn.ensembles.kfhe import Compared, ExactClassTruth
from fuselearn.fusion import Halfway, KalmanFilter
from fuselearn.learners import TreeComponent
from fuselearn.parts.part import Draw, Part, bind_tree, divide_weights
from fuselearn.parts.sums import add_exactly, add_units, from_all_units, from_one_sum
from fuselearn.parts.table import PartedTable, Source, TreeOrder


class States(NamedTuple):
    """What the filters estimate for the samples of a part; the weights are still to be divided by their sum."""

    scores: Scores
    weights: Weights


class Step(NamedTuple):
    """What parts need to know for a measurement update of the weights."""

    gain: float
    weights_gain: float
    n_samples: int
    weighting: int
    total: float | None = None
    """What the measured weights are divided by, if they are."""


class PartedFilters:
    """kf-m and kf-w of the samples of a table in parts.

    Parameters
    ----------
    table : PartedTable
    settings : TreeSettings
    vote : {"class", "probability"}
    weighting : {"exponential", "linear", "symmetric"}
        How the weights are measured, see `measure_weights`.
    """

    def __init__(self, table: PartedTable, settings: TreeSettings, vote: str, *, weighting: str) -> None:
        self.table, self.session, self.settings = table, table.session, settings
        self.vote, self.weighting = vote, WEIGHTINGS.index(weighting)
        nothing = np.empty(0)
        self.kf_m, self.kf_w = KalmanFilter(nothing), KalmanFilter(nothing)

    def start(self, seed: int) -> TreeComponent:
        """Train h_0, whose scores are the first estimate, on all samples, or on a draw if weights are no counts."""
        parts, total = self.table.parts, self.table.total_weight
        if self.table.has_whole_weights:
            h = self._grow(Draw(None), seed, Source(parts))
        else:
            h = self._grow(self._draw(seed), seed, Source(parts, total))
        self.truths = self.session.map(make_truth, parts, given=(total, self.vote))
        self.states = self.session.map(begin_states, parts, self.truths, given=(h,))
        self.divisor: Any = None
        return h

    def predict(self) -> None:
        """Perform the time update of both, which changes nothing in parts."""
        self.kf_m.predict()
        self.kf_w.predict()

    def train(self, seed: int) -> TreeComponent:
        """Grow a tree on a sample drawn by the weights."""
        return self._grow(self._draw(seed), seed, Source(self.states, self.divisor))

    def measure(self, h: TreeComponent) -> Errors:
        """Compute the errors of the measurement z = (y + h) / 2."""
        self.compared, units = self.session.advance(
            compare_part, add_units, self.table.parts, self.truths, self.states, given=(h,)
        )
        return Errors(*from_all_units(units))

    def reset(self) -> None:
        """Let kf-w begin again, with the initial weights."""
        self.kf_w.variance = 1.0
        self.states, self.divisor = self.session.map(reset_weights, self.truths, self.states), None

    def update(self, h: TreeComponent, error: float) -> tuple[float, float]:
        """Perform the measurement update of both."""
        nothing = np.empty(0)
        gain = self.kf_m.update(nothing, error)
        step = Step(gain, self.kf_w.update(nothing, error), self.table.n_samples, self.weighting)
        kept = (self.truths, self.states, self.compared)
        if self.weighting != EXPONENTIAL:
            (total,) = add_exactly(self.session, self.session.map(sum_measured, *kept, given=(self.divisor, step)))
            step = step._replace(total=total)
        self.states, self.divisor = self.session.advance(
            update_states, add_units, *kept, given=(self.divisor, step), later=from_one_sum
        )
        return gain, self.kf_m.variance

    def estimate_error(self) -> float:
        """Return the error of the estimate."""
        (error,) = add_exactly(self.session, self.session.map(sum_wrong, self.truths, self.states))
        return error

    def fetch_weights(self) -> npt.NDArray[np.float64]:
        """Return the weights of all samples."""
        return np.concatenate(self.session.fetch(self.session.map(divide_weights, self.states, given=(self.divisor,))))

    def _draw(self, seed: int) -> Draw:
        return Draw(seed, float(self.table.n_samples))

    def _grow(self, draw: Draw, seed: int, source: Source) -> TreeComponent:
        cover = draw.seed is not None
        order = TreeOrder(np.arange(self.table.n_features), draw, self.settings, seed, cover)
        (component,) = self.table.grow([order], source)
        return component


def make_truth(part: Part, total: float, vote: str) -> ExactClassTruth:
    """Return the right answers for a part."""
    return ExactClassTruth(divide_weights(part, total), part.target, vote)


def begin_states(part: Part, truth: ExactClassTruth, h: TreeComponent) -> States:
    """Return the scores of the first model, and the initial weights."""
    return States(np.ascontiguousarray(bind_tree(h, part).scores()), truth.shares)


def reset_weights(truth: ExactClassTruth, states: States) -> States:
    """Return the initial weights beside the estimate."""
    return states._replace(weights=truth.shares)


def compare_part(
    part: Part, truth: ExactClassTruth, states: States, h: TreeComponent
) -> tuple[Compared, tuple[int, int, int]]:
    """Compute what a model measures, and the sums of the weights of what is wrong."""
    compared = truth.compare(states.scores, bind_tree(h, part))
    return compared, compared.units


def sum_measured(
    truth: ExactClassTruth, states: States, compared: Compared, divisor: float | None, step: Step
) -> tuple[int]:
    """Sum up the measured weights."""
    weights = divide_weights(states, divisor)
    return (sum_units(measure_weights(weights, compared.loss, truth.shares, step.n_samples, step.weighting)),)


def update_states(
    truth: ExactClassTruth, states: States, compared: Compared, divisor: float | None, step: Step
) -> tuple[States, tuple[int]]:
    """Pull the estimate and the weights towards what is measured; also sum up the weights, which is not 1 yet."""
    scores, z = states.scores.copy(), compared.z
    if isinstance(z, Halfway):
        z.pull(scores, step.gain)
    else:
        pull(scores.ravel(), z.ravel(), step.gain)
    weights = states.weights.copy() if divisor is None else states.weights / divisor
    measured = measure_weights(weights, compared.loss, truth.shares, step.n_samples, step.weighting)
    if step.total is not None:
        measured /= step.total
    pull(weights, measured, step.weights_gain)
    return States(scores, weights), (sum_units(weights),)


def sum_wrong(truth: ExactClassTruth, states: States) -> tuple[int]:
    """Sum up the weights of the samples where the estimate is wrong."""
    return (truth.units(truth.losses(states.scores)),)
