"""Bagging and forests on a Dask cluster."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from fuselearn.dask.ensemble import DaskEnsemble
from fuselearn.dask.parts import Draw
from fuselearn.dask.table import DaskTable, TreeOrder
from fuselearn.engines.sampling import MOST_TRIES
from fuselearn.ensembles import BaggedClassifier, ForestClassifier
from fuselearn.ensembles.bags import BagPlan, poisson_rate
from fuselearn.sensors import TreeComponent

# Trees are grown so many at a time: a level of all of them takes hardly longer to submit than that of one.
TREES_AT_ONCE = 16


class DaskBagTraining(DaskEnsemble):
    """Equal votes of trees that are grown on a cluster."""

    n_estimators: int
    vote: str
    _plan_bags: Any
    _announce: Any

    def _fit_table(self, table: DaskTable, rng: np.random.Generator) -> None:
        plan = self._plan_bags(table.n_samples, None, leave_out=False)
        if not plan.bootstrap and not table.has_whole_weights:
            raise ValueError("Without bootstrap, weights on a cluster must be whole numbers; set bootstrap=True.")
        components: list[TreeComponent] = []
        features = []
        for order, component in self._train(table, plan, rng.integers(2**63, size=self.n_estimators)):
            components.append(component)
            features.append(order.features)
            if self._announce(len(components), self.n_estimators, component):
                break
        self._features_ = np.array(features)
        self.class_order_ = np.argsort(-table.class_counts, kind="stable")
        coefficients = np.full(len(components), 1.0 / len(components))
        self._keep(components, coefficients, np.full(len(components), self.vote == "class"))

    def _train(self, table: DaskTable, plan: BagPlan, seeds: Any) -> Iterator[tuple[TreeOrder, TreeComponent]]:
        for start in range(0, len(seeds), TREES_AT_ONCE):
            yield from self._train_some(table, plan, seeds[start : start + TREES_AT_ONCE])

    def _train_some(self, table: DaskTable, plan: BagPlan, seeds: Any) -> Iterator[tuple[TreeOrder, TreeComponent]]:
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

    def _draw(self, table: DaskTable, plan: BagPlan, rng: np.random.Generator) -> TreeOrder:
        features = plan.draw_features(rng)
        draw = Draw(None)
        if plan.bootstrap:
            draw = Draw(int(rng.integers(2**62)), poisson_rate(plan.n_draws, table.total_weight))
        return TreeOrder(features, draw, self._base()._engine_settings(len(features)), int(rng.integers(2**31)))


class DaskBaggedClassifier(DaskBagTraining, BaggedClassifier, local=BaggedClassifier):
    """:class:`~fuselearn.BaggedClassifier` of trees on a Dask cluster.

    The model is the same for any division of the samples into parts and for any number of workers, and the same as that
    of ``BaggedClassifier(sampling="poisson")`` on samples in the same order.

    Parameters
    ----------
    estimator, n_estimators, ..., n_jobs
        As those of :class:`~fuselearn.BaggedClassifier`, but for: ``estimator`` must be a ``CARTClassifier`` or None,
        ``sampling`` is ``"poisson"``, and ``oob_score`` and ``warm_start`` must be False.
    client : distributed.Client or None, default=None
        The cluster; None means the client that was made last.

    Attributes
    ----------
    client_ : distributed.Client
        The client that was used. All other attributes are those of :class:`~fuselearn.BaggedClassifier`.

    Examples
    --------
    >>> import dask.array as da
    >>> from dask.distributed import Client
    >>> from fuselearn.dask import DaskBaggedClassifier
    >>> client = Client(processes=False, dashboard_address=None)
    >>> X = da.random.default_rng(0).normal(size=(1000, 4), chunks=(250, 4))
    >>> model = DaskBaggedClassifier(n_estimators=5, random_state=0).fit(X, X[:, 0] > 0)
    >>> float((model.predict(X) == (X[:, 0] > 0)).mean().compute())
    1.0
    >>> client.close()
    """


class DaskForestClassifier(DaskBagTraining, ForestClassifier, local=ForestClassifier):
    """:class:`~fuselearn.ForestClassifier` on a Dask cluster.

    The model is the same for any division of the samples into parts and for any number of workers, and the same as that
    of ``ForestClassifier(sampling="poisson")`` on samples in the same order.

    Parameters
    ----------
    n_estimators, splitter, ..., n_jobs
        As those of :class:`~fuselearn.ForestClassifier`, but for: ``sampling`` is ``"poisson"``, and ``oob_score`` and
        ``warm_start`` must be False.
    client : distributed.Client or None, default=None
        The cluster; None means the client that was made last.

    Attributes
    ----------
    client_ : distributed.Client
        The client that was used. All other attributes are those of :class:`~fuselearn.ForestClassifier`.
    """
