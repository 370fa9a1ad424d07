"""The two filters of KFHE on a table in parts: every part has its piece of their states, the driver their scalars."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fuselearn.engines.fusing import EXPONENTIAL, WEIGHTINGS, measure_weights, pull
from fuselearn.engines.tree import TreeSettings
from fuselearn.ensembles.filtering import Errors, Scores, Weights
from fuselearn.ensembles.kfhe import Compared, ExactClassTruth
from fuselearn.filters import Halfway, KalmanFilter
from fuselearn.parts.part import Draw, Part, bind_tree
from fuselearn.parts.sums import add_exactly, normalise, share_weights, sum_part
from fuselearn.parts.table import PartedTable, TreeOrder
from fuselearn.sensors import TreeComponent


class Step(NamedTuple):
    """What parts need to know for a measurement update of the weights."""

    gain: float
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
        total = self.table.total_weight
        if self.table.has_whole_weights:
            h = self._grow(Draw(None), seed, None)
        else:
            h = self._grow(self._draw(seed), seed, self._map_parts(share_weights, total))
        self.truths = self._map_parts(make_truth, total, self.vote)
        self.estimates = self._map_parts(begin_estimate, self.session.hold(h))
        self.weights = self.session.map(get_shares, self.truths)
        return h

    def predict(self) -> None:
        """Perform the time update of both, which changes nothing in parts."""
        self.kf_m.predict()
        self.kf_w.predict()

    def train(self, seed: int) -> TreeComponent:
        """Grow a tree on a sample drawn by the weights."""
        return self._grow(self._draw(seed), seed, self.weights)

    def measure(self, h: TreeComponent) -> Errors:
        """Compute the errors of the measurement z = (y + h) / 2."""
        held = [self.session.hold(h)] * len(self.truths)
        self.compared = self.session.map(compare_part, self.table.parts, self.truths, self.estimates, held)
        return Errors(*add_exactly(self.session, self.session.map(get_units, self.compared)))

    def reset(self) -> None:
        """Let kf-w begin again, with the initial weights."""
        self.kf_w.variance = 1.0
        self.weights = self.session.map(get_shares, self.truths)

    def update(self, h: TreeComponent, error: float) -> tuple[float, float]:
        """Perform the measurement update of both."""
        session, n_parts, nothing = self.session, len(self.truths), np.empty(0)
        gain = self.kf_m.update(nothing, error)
        self.estimates = session.map(update_estimate, self.estimates, self.compared, [gain] * n_parts)
        step = Step(self.kf_w.update(nothing, error), self.table.n_samples, self.weighting)
        states = (self.truths, self.weights, self.compared)
        if self.weighting != EXPONENTIAL:
            (total,) = add_exactly(session, session.map(sum_measured, *states, [step] * n_parts))
            step = step._replace(total=total)
        updated = session.map(update_weights, *states, [step] * n_parts)
        self.weights = normalise(session, updated)
        return gain, self.kf_m.variance

    def estimate_error(self) -> float:
        """Return the error of the estimate."""
        (error,) = add_exactly(self.session, self.session.map(sum_wrong, self.truths, self.estimates))
        return error

    def fetch_weights(self) -> npt.NDArray[np.float64]:
        """Return the weights of all samples."""
        return np.concatenate(self.session.fetch(self.weights))

    def _draw(self, seed: int) -> Draw:
        return Draw(seed, float(self.table.n_samples))

    def _grow(self, draw: Draw, seed: int, weights: list[Any] | None) -> TreeComponent:
        cover = draw.seed is not None
        order = TreeOrder(np.arange(self.table.n_features), draw, self.settings, seed, cover)
        (component,) = self.table.grow([order], weights)
        return component

    def _map_parts(self, function: Callable[..., Any], *given: Any) -> list[Any]:
        parts = self.table.parts
        return self.session.map(function, parts, *([value] * len(parts) for value in given))


def make_truth(part: Part, total: float, vote: str) -> ExactClassTruth:
    """Return the right answers for a part."""
    return ExactClassTruth(share_weights(part, total), part.target, vote)


def get_shares(truth: ExactClassTruth) -> npt.NDArray[np.float64]:
    """Return the initial weights."""
    return truth.shares


def begin_estimate(part: Part, h: TreeComponent) -> Scores:
    """Return the scores of the first model."""
    return np.ascontiguousarray(bind_tree(h, part).scores())


def compare_part(part: Part, truth: ExactClassTruth, y: Scores, h: TreeComponent) -> Compared:
    """Compute what a model measures."""
    return truth.compare(y, bind_tree(h, part))


def get_units(compared: Compared) -> tuple[int, int, int]:
    """Return the shares of the samples that are wrong."""
    return compared.units


def update_estimate(y: Scores, compared: Compared, gain: float) -> Scores:
    """Pull the estimate towards the measurement."""
    y, z = y.copy(), compared.z
    if isinstance(z, Halfway):
        z.pull(y, gain)
    else:
        pull(y.ravel(), z.ravel(), gain)
    return y


def sum_measured(truth: ExactClassTruth, weights: Weights, compared: Compared, step: Step) -> tuple[int]:
    """Sum up the measured weights."""
    return sum_part(measure_weights(weights, compared.loss, truth.shares, step.n_samples, step.weighting))


def update_weights(truth: ExactClassTruth, weights: Weights, compared: Compared, step: Step) -> Weights:
    """Pull the weights towards the measured ones; they do not sum to one yet."""
    measured = measure_weights(weights, compared.loss, truth.shares, step.n_samples, step.weighting)
    weights = weights.copy()
    if step.total is not None:
        measured /= step.total
    pull(weights, measured, step.gain)
    return weights


def sum_wrong(truth: ExactClassTruth, y: Scores) -> tuple[int]:
    """Sum up the shares of the samples where the estimate is wrong."""
    return (truth.units(truth.losses(y)),)
