"""Bagging and forests on a table in parts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from fuselearn.engines.draws import MOST_TRIES
from fuselearn.ensembles.bags import BagPlan, poisson_rate
from fuselearn.ensembles.boosted_classifier import frequent_first
from fuselearn.learners import TreeComponent
from fuselearn.parts.ensemble import PartedEnsemble
from fuselearn.parts.part import Draw
from fuselearn.parts.table import PartedTable, TreeOrder

# Trees are grown so many at a time: a level of all of them takes hardly longer to submit than that of one.
TREES_AT_ONCE = 16


class PartedBagging(PartedEnsemble):
    """Equal votes of trees that are grown on a table in parts."""

    n_estimators: int
    vote: str
    _plan_bags: Any
    _announcer: Any

    def _fit_table(self, table: PartedTable, rng: np.random.Generator) -> None:
        plan = self._plan_bags(table.n_samples, None, leave_out=False)
        if not plan.bootstrap and not table.has_whole_weights:
            raise ValueError("Without bootstrap, weights must be whole numbers here; set bootstrap=True.")
        components: list[TreeComponent] = []
        features = []
        announce = self._announcer(self.n_estimators)
        for order, component in self._train(table, plan, rng.integers(2**63, size=self.n_estimators)):
            components.append(component)
            features.append(order.features)
            if announce(len(components), component):
                break
        self._features_ = np.array(features)
        self.class_order_ = frequent_first(table.class_counts)
        coefficients = np.full(len(components), 1.0 / len(components))
        self._keep(components, coefficients, np.full(len(components), self.vote == "class"))

    def _train(self, table: PartedTable, plan: BagPlan, seeds: Any) -> Iterator[tuple[TreeOrder, TreeComponent]]:
        for start in range(0, len(seeds), TREES_AT_ONCE):
            yield from self._train_some(table, plan, seeds[start : start + TREES_AT_ONCE])

    def _train_some(self, table: PartedTable, plan: BagPlan, seeds: Any) -> Iterator[tuple[TreeOrder, TreeComponent]]:
        """Draw samples and features for each tree, and grow it; draw again while it has no split."""
        rngs = [np.random.default_rng(seed) for seed in seeds]
        orders = [self._draw(table, plan, rng) for rng in rngs]
        components = table.grow(orders)
        for _ in range(MOST_TRIES - 1):
            again = [k for k, component in enumerate(components) if component.tree.n_leaves == 1]
            if not again:
                break
            for k in again:
                orders[k] = self._draw(table, plan, rngs[k])
            for k, component in zip(again, table.grow([orders[k] for k in again]), strict=True):
                components[k] = component
        return zip(orders, components, strict=True)

    def _draw(self, table: PartedTable, plan: BagPlan, rng: np.random.Generator) -> TreeOrder:
        features = plan.draw_features(rng)
        draw = Draw(None)
        if plan.bootstrap:
            draw = Draw(int(rng.integers(2**62)), poisson_rate(plan.n_draws, table.total_weight))
        return TreeOrder(features, draw, self._base()._engine_settings(len(features)), int(rng.integers(2**31)))
