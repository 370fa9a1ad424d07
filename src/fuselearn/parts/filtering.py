"""The two filters of KFHE on a table in parts: every part has its piece of their states, the driver their scalars."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fuselearn.engines.exact import from_units, sum_units
from fuselearn.engines.fusing import measure_weights
from fuselearn.engines.tree import CodedColumns, TreeSettings
from fuselearn.ensembles.filtering import Errors
from fuselearn.ensembles.kfhe import Compared, ExactClassTruth
from fuselearn.filters import KalmanFilter
from fuselearn.parts.part import Draw, Part
from fuselearn.parts.table import PartedTable, TreeOrder
from fuselearn.sensors import TreeComponent


class PartFilters(NamedTuple):
    """The filters of the samples of one part. Tasks copy what they change."""

    kf_m: KalmanFilter
    kf_w: KalmanFilter
    truth: ExactClassTruth


class Step(NamedTuple):
    """What parts need to know for a measurement update."""

    error: float
    n_samples: int
    linear: bool


class PartedFilters:
    """kf-m and kf-w of the samples of a table in parts.

    Parameters
    ----------
    table : PartedTable
    settings : TreeSettings
    vote : {"class", "probability"}
    linear : bool
        Whether weights are measured as in KFHE-l instead of KFHE-e.
    """

    def __init__(self, table: PartedTable, settings: TreeSettings, vote: str, *, linear: bool) -> None:
        self.table, self.session, self.settings = table, table.session, settings
        self.vote, self.linear = vote, linear
        nothing = np.empty(0)
        self.kf_m, self.kf_w = KalmanFilter(nothing), KalmanFilter(nothing)

    def start(self, seed: int) -> TreeComponent:
        """Train h_0, whose scores are the first estimate, on all samples, or on a draw if weights are no counts."""
        total = self.table.total_weight
        if self.table.has_whole_weights:
            h = self._grow(Draw(None), seed, None)
        else:
            h = self._grow(self._draw(seed), seed, self._map_parts(share_weights, total))
        self.filters = self._map_parts(begin_filters, self.session.hold(h), total, self.vote)
        return h

    def predict(self) -> None:
        """Perform the time update of both, which changes nothing in parts."""
        self.kf_m.predict()
        self.kf_w.predict()

    def train(self, seed: int) -> TreeComponent:
        """Grow a tree on a sample drawn by the weights."""
        return self._grow(self._draw(seed), seed, self.session.map(get_weights, self.filters))

    def measure(self, h: TreeComponent) -> Errors:
        """Compute the errors of the measurement z = (y + h) / 2."""
        held = [self.session.hold(h)] * len(self.filters)
        self.compared = self.session.map(compare_part, self.table.parts, self.filters, held)
        return Errors(*self._sum(self.session.map(get_units, self.compared)))

    def reset(self) -> None:
        """Let kf-w begin again, with the initial weights."""
        self.kf_w.variance = 1.0
        self.filters = self.session.map(reset_part, self.filters)

    def update(self, h: TreeComponent, error: float) -> tuple[float, float]:
        """Perform the measurement update of both."""
        nothing = np.empty(0)
        self.kf_m.update(nothing, error)
        self.kf_w.update(nothing, error)
        steps = [Step(error, self.table.n_samples, self.linear)] * len(self.filters)
        total: float | None = None
        if self.linear:
            (total,) = self._sum(self.session.map(sum_measured, self.filters, self.compared, steps))
        totals = [total] * len(self.filters)
        self.filters = self.session.map(update_part, self.filters, self.compared, steps, totals)
        (total,) = self._sum(self.session.map(sum_state, self.filters))
        self.filters = self.session.map(normalise_part, self.filters, [total] * len(self.filters))
        return self.kf_m.gain, self.kf_m.variance

    def estimate_error(self) -> float:
        """Return the error of the estimate."""
        (error,) = self._sum(self.session.map(sum_wrong, self.filters))
        return error

    def weights(self) -> npt.NDArray[np.float64]:
        """Fetch the weights of all samples."""
        return np.concatenate(self.session.fetch(self.session.map(get_weights, self.filters)))

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

    def _sum(self, futures: list[Any]) -> tuple[float, ...]:
        """Add up exact sums of parts."""
        return tuple(from_units(total) for total in self.session.merge(add_units, futures))


def share_weights(part: Part, total: float) -> npt.NDArray[np.float64]:
    """Return what each sample counts."""
    return part.weights / total


def begin_filters(part: Part, h: TreeComponent, total: float, vote: str) -> PartFilters:
    """Let the scores of the first model be the estimate, and the shares the weights."""
    shares = share_weights(part, total)
    truth = ExactClassTruth(shares, part.target, vote)
    return PartFilters(KalmanFilter(bind_tree(h, part).scores(), 1.0), KalmanFilter(shares, 1.0), truth)


def get_weights(filters: PartFilters) -> npt.NDArray[np.float64]:
    """Return the weights by which samples are drawn."""
    return filters.kf_w.state


def compare_part(part: Part, filters: PartFilters, h: TreeComponent) -> Compared:
    """Compute what a model measures."""
    return filters.truth.compare(filters.kf_m.state, bind_tree(h, part))


def get_units(compared: Compared) -> tuple[int, int, int]:
    """Return the shares of the samples that are wrong."""
    return compared.units


def sum_measured(filters: PartFilters, compared: Compared, step: Step) -> tuple[int]:
    """Sum up the measured weights."""
    return (sum_units(_measure_weights(filters, compared.loss, step)),)


def update_part(filters: PartFilters, compared: Compared, step: Step, total: float | None) -> PartFilters:
    """Perform the measurement update; the weights do not sum to one yet."""
    kf_m, kf_w = copy.deepcopy(filters.kf_m), copy.deepcopy(filters.kf_w)
    weights = _measure_weights(filters, compared.loss, step)
    if total is not None:
        weights /= total
    kf_m.update(compared.z, step.error)
    kf_w.update(weights, step.error)
    return PartFilters(kf_m, kf_w, filters.truth)


def sum_state(filters: PartFilters) -> tuple[int]:
    """Sum up the weights."""
    return (sum_units(filters.kf_w.state),)


def sum_wrong(filters: PartFilters) -> tuple[int]:
    """Sum up the shares of the samples where the estimate is wrong."""
    return (filters.truth.units(filters.truth.losses(filters.kf_m.state)),)


def normalise_part(filters: PartFilters, total: float) -> PartFilters:
    """Divide the weights by the sum of those of all parts."""
    kf_w = copy.deepcopy(filters.kf_w)
    kf_w.state /= total
    return filters._replace(kf_w=kf_w)


def reset_part(filters: PartFilters) -> PartFilters:
    """Let kf-w begin again, with the initial weights."""
    return filters._replace(kf_w=KalmanFilter(filters.truth.shares, 1.0))


def add_units(parts: list[tuple[int, ...]]) -> tuple[int, ...]:
    """Add up exact sums."""
    return tuple(sum(units) for units in zip(*parts, strict=True))


def bind_tree(h: TreeComponent, part: Part) -> TreeComponent:
    """Let a tree answer for the samples of a part."""
    n_samples, n_features = part.codes.shape
    nothing = np.empty(0)
    columns = CodedColumns(
        codes=part.codes,
        n_codes=part.n_codes,
        offsets=np.empty(0, dtype=np.int64),
        lower=nothing,
        upper=nothing,
        is_category=None,
        order=np.empty((n_features, 0), dtype=np.uint32),
    )
    return TreeComponent(h.tree, h.n_categories, columns, np.empty((n_samples, 0), dtype=np.int8))


def _measure_weights(filters: PartFilters, loss: npt.NDArray[np.bool_], step: Step) -> npt.NDArray[np.float64]:
    weights: npt.NDArray[np.float64] = measure_weights(
        filters.kf_w.state, loss, filters.truth.shares, step.n_samples, step.linear
    )
    return weights
