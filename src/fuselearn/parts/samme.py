"""AdaBoost.SAMME on a table in parts."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fuselearn.engines.exact import sum_units
from fuselearn.engines.trees import TreeSettings
from fuselearn.ensembles.boosted_classifier import frequent_first
from fuselearn.ensembles.boosting import BoostRun, boost
from fuselearn.learners import TreeComponent
from fuselearn.parts.ensemble import PartedEnsemble
from fuselearn.parts.part import Draw, Part, bind_tree, divide_weights
from fuselearn.parts.sums import add_units, from_all_units, from_one_sum
from fuselearn.parts.table import PartedTable, Source, TreeOrder


class Weighted(NamedTuple):
    """The weights of the samples of a part, still to be divided by their sum."""

    weights: npt.NDArray[np.float64]


class PartedBoosted:
    """The weights of the samples of a table in parts, as the loop of boosting sees them."""

    weights: Source

    def __init__(self, table: PartedTable, settings: TreeSettings) -> None:
        self.table, self.session, self.settings = table, table.session, settings
        self.reset()

    def train(self, seed: int) -> TreeComponent:
        """Grow a tree on a sample drawn by the weights."""
        draw = Draw(seed, float(self.table.n_samples))
        order = TreeOrder(np.arange(self.table.n_features), draw, self.settings, seed)
        (component,) = self.table.grow([order], self.weights)
        return component

    def measure(self, component: TreeComponent) -> float:
        """Return the weight of the samples that a tree gets wrong."""
        self.wrong, units = self.session.advance(
            find_wrong, add_units, self.table.parts, self.weights.kept, given=(self.weights.divisor, component)
        )
        (error,) = from_all_units(units)
        return error

    def raise_wrong(self, factor: float) -> None:
        """Multiply the weights of the samples that the tree measured last gets wrong, and scale all."""
        kept, divisor = self.weights
        self.weights = Source(
            *self.session.advance(raise_part, add_units, kept, self.wrong, given=(divisor, factor), later=from_one_sum)
        )

    def reset(self) -> None:
        """Let the weights be what they were at first."""
        self.weights = Source(self.table.parts, self.table.total_weight)

    def fetch_weights(self) -> npt.NDArray[np.float64]:
        """Return the weights of all samples."""
        kept, divisor = self.weights
        return np.concatenate(self.session.fetch(self.session.map(divide_weights, kept, given=(divisor,))))


class PartedSAMME(PartedEnsemble):
    """Trees that are boosted."""

    n_estimators: int
    _announcer: Any

    def _fit_table(self, table: PartedTable, rng: np.random.Generator) -> None:
        boosted = PartedBoosted(table, self._base()._engine_settings(table.n_features))
        run = BoostRun()
        boost(boosted, run, rng, self.n_estimators, table.n_classes, self._announcer(self.n_estimators))
        self.estimator_errors_ = np.array(run.errors)
        self.resets_ = np.array(run.resets, dtype=np.int64)
        self.weights_ = boosted.fetch_weights()
        self.class_order_ = frequent_first(table.class_counts)
        self._keep(run.components, np.array(run.alphas), np.ones(len(run.components), dtype=bool))


def find_wrong(part: Part, source: Any, divisor: float, h: TreeComponent) -> tuple[npt.NDArray[np.bool_], tuple[int]]:
    """Return which samples of a part a tree gets wrong, and the sum of their weights."""
    wrong = bind_tree(h, part).votes() != part.target
    return wrong, (sum_units(divide_weights(source, divisor)[wrong]),)


def raise_part(source: Any, wrong: npt.NDArray[np.bool_], divisor: float, factor: float) -> tuple[Weighted, tuple[int]]:
    """Multiply the weights of the samples that are wrong, and sum up all."""
    weights = divide_weights(source, divisor) * np.where(wrong, factor, 1.0)
    return Weighted(weights), (sum_units(weights),)
