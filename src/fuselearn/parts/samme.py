"""AdaBoost.SAMME on a table in parts."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fuselearn.engines.exact import sum_units
from fuselearn.engines.tree import TreeSettings
from fuselearn.ensembles.boosted_classifier import frequent_first
from fuselearn.ensembles.boosting import BoostRun, boost
from fuselearn.parts.ensemble import PartedEnsemble
from fuselearn.parts.part import Draw, Part, bind_tree
from fuselearn.parts.sums import Weights, add_exactly, normalise, share_weights
from fuselearn.parts.table import PartedTable, TreeOrder
from fuselearn.sensors import TreeComponent


class PartedBoosted:
    """The weights of the samples of a table in parts, as the loop of boosting sees them."""

    weights: list[Any]

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
        held = [self.session.hold(component)] * len(self.weights)
        self.wrong = self.session.map(find_wrong, self.table.parts, held)
        (error,) = add_exactly(self.session, self.session.map(sum_wrong, self.weights, self.wrong))
        return error

    def raise_wrong(self, factor: float) -> None:
        """Multiply the weights of the samples that the tree measured last gets wrong, and scale all."""
        raised = self.session.map(raise_part, self.weights, self.wrong, [factor] * len(self.weights))
        self.weights = normalise(self.session, raised)

    def reset(self) -> None:
        """Let the weights be what they were at first."""
        parts = self.table.parts
        self.weights = self.session.map(share_weights, parts, [self.table.total_weight] * len(parts))


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
        self.weights_ = np.concatenate(table.session.fetch(boosted.weights))
        self.class_order_ = frequent_first(table.class_counts)
        self._keep(run.components, np.array(run.alphas), np.ones(len(run.components), dtype=bool))


def find_wrong(part: Part, h: TreeComponent) -> npt.NDArray[np.bool_]:
    """Return which samples of a part a tree gets wrong."""
    return bind_tree(h, part).votes() != part.target


def sum_wrong(weights: Weights, wrong: npt.NDArray[np.bool_]) -> tuple[int]:
    """Sum up the weights of the samples that are wrong."""
    return (sum_units(weights[wrong]),)


def raise_part(weights: Weights, wrong: npt.NDArray[np.bool_], factor: float) -> Weights:
    """Multiply the weights of the samples that are wrong."""
    return weights * np.where(wrong, factor, 1.0)
