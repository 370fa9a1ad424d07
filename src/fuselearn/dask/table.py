"""A table whose parts are coded and kept on the workers of a cluster, and on which trees are grown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from distributed import Future
from sklearn.utils.class_weight import compute_sample_weight

from fuselearn._validation import require_two_classes
from fuselearn.dask.collections import list_parts
from fuselearn.dask.parts import (
    Draw,
    Facts,
    Order,
    Recipe,
    code_part,
    count_orders,
    describe_part,
    find_edges,
    find_upper,
    merge_orders,
    sample_values,
    sum_weights,
)
from fuselearn.dask.session import Session
from fuselearn.engines.exact import from_units
from fuselearn.engines.sampling import MOST_TRIES
from fuselearn.engines.tree import CodedColumns, Tree, TreeSettings
from fuselearn.engines.tree.levels import GrowingTree
from fuselearn.sensors import TableCoder, TreeComponent
from fuselearn.sensors.table import MOST_CATEGORIES
from fuselearn.sensors.tree import select_columns

# Bin edges are computed from all values if there are at most so many, and else from about as many.
EDGE_VALUES = 2**23
NUMBERS = "biuf"


class TreeOrder(NamedTuple):
    """A tree that is to be grown: on which features, on which samples, how, and with which seed."""

    features: npt.NDArray[np.intp]
    draw: Draw
    settings: TreeSettings
    seed: int
    cover: bool = False
    """Whether to draw again while a class is missing, rather than while all are."""


class DaskTable:
    """Coded parts on a cluster.

    Parameters
    ----------
    session : Session
    X, y, sample_weight : collections
        See :func:`~fuselearn.dask.collections.list_parts`.
    max_bins : int or None
        As that of :class:`~fuselearn.CARTClassifier`.
    class_weight : dict, "balanced" or None

    Attributes
    ----------
    n_samples, n_features : int
    names : list of str or None
        Names of the features.
    classes : array of shape (n_classes,)
    class_counts : array of shape (n_classes,)
    coder : TableCoder
    total_weight : float
        Sum of the sample weights, each times the weight of its class.
    has_whole_weights : bool
        Whether all weights are whole numbers.
    parts : list of Future
    """

    def __init__(
        self, session: Session, X: Any, y: Any, sample_weight: Any, max_bins: int | None, class_weight: Any
    ) -> None:
        self.session = session
        tables, targets, weights = zip(*list_parts(X, y, sample_weight), strict=True)
        numbers = range(len(tables))
        facts = session.fetch(session.map_delayed(describe_part, numbers, tables, targets, weights))
        self.n_samples = sum(part.n_samples for part in facts)
        if self.n_samples == 0:
            raise ValueError("X has no samples; at least one is needed.")
        self.n_features, self.names, self.coder = agree_on_features(facts)
        self.classes, self.class_counts = agree_on_classes(facts)
        firsts = np.cumsum([0, *(part.n_samples for part in facts[:-1])]).tolist()
        columns = self._find_edges(tables, firsts, max_bins)
        factors = self._class_factors(class_weight)
        recipe = session.submit(Recipe, self.coder, columns, self.classes, factors)
        self.parts: list[Future] = session.map_delayed(
            code_part, numbers, tables, targets, weights, [recipe] * len(tables), firsts
        )
        self.columns: CodedColumns = session.fetch(columns)
        units, are_whole = zip(*session.fetch(session.map(sum_weights, self.parts)), strict=True)
        self.total_weight = from_units(sum(units))
        self.has_whole_weights = all(are_whole) and self.total_weight < 2**31
        if self.total_weight == 0:
            raise ValueError("sample_weight is zero for every sample; at least one sample must count.")

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.classes)

    def grow(self, orders: Sequence[TreeOrder], weights: list[Future] | None = None) -> list[TreeComponent]:
        """Grow several trees at the same time, level by level.

        Parameters
        ----------
        orders : sequence of TreeOrder
        weights : list of Future, optional
            For each part, the weights by which its samples are drawn, if these are not those of the table.
        """
        orders = list(orders)
        drawn_by = [None] * len(self.parts) if weights is None else weights
        columns = [select_columns(self.columns, order.features) for order in orders]
        trees = [self._plant(order, own) for order, own in zip(orders, columns, strict=True)]
        while waiting := [t for t, tree in enumerate(trees) if len(tree.leaves)]:
            asked = self.session.hold([Order(trees[t].level, orders[t].features, orders[t].draw) for t in waiting])
            counted = self.session.map(count_orders, self.parts, [asked] * len(self.parts), drawn_by)
            for t, bins in zip(waiting, self.session.merge(merge_orders, counted), strict=True):
                drawn = trees[t].class_counts(bins) > 0 if trees[t].depth == 0 else np.ones(1, dtype=bool)
                if (drawn.all() if orders[t].cover else drawn.any()) or orders[t].draw.n_tries == MOST_TRIES - 1:
                    trees[t].split(bins)
                else:
                    draw = orders[t].draw
                    orders[t] = orders[t]._replace(draw=draw._replace(n_tries=draw.n_tries + 1))
        return [
            TreeComponent(_place(tree.finish(), order.features), self.coder.n_categories_)
            for order, tree in zip(orders, trees, strict=True)
        ]

    def _plant(self, order: TreeOrder, columns: CodedColumns) -> GrowingTree:
        return GrowingTree(columns, self.n_classes, order.settings, order.seed)

    def _find_edges(self, tables: Sequence[Any], firsts: list[int], max_bins: int | None) -> Future:
        """Make codes for the values, of all samples or of as many as are enough for bins."""
        session, numbers = self.session, range(len(tables))
        share = EDGE_VALUES / (self.n_samples * self.n_features)
        coders, shares = [session.hold(self.coder)] * len(tables), [share] * len(tables)
        samples = session.map_delayed(sample_values, numbers, tables, coders, firsts, shares)
        columns = session.submit(find_edges, samples, self.coder, max_bins)
        if share >= 1:
            return columns
        uppers = session.map_delayed(find_upper, numbers, tables, coders, [columns] * len(tables))
        return session.submit(raise_upper, columns, uppers)

    def _class_factors(self, class_weight: Any) -> npt.NDArray[np.float64] | None:
        if class_weight is None:
            return None
        if class_weight == "balanced":
            return self.n_samples / (self.n_classes * self.class_counts.astype(np.float64))
        factors: npt.NDArray[np.float64] = compute_sample_weight(class_weight, self.classes)
        return factors


def agree_on_features(facts: Sequence[Facts]) -> tuple[int, list[str] | None, TableCoder]:
    """Check that all parts have the same features; return their number, their names and a coder for them."""
    n_features, names = facts[0].n_features, facts[0].names
    for number, part in enumerate(facts):
        if part.n_features != n_features:
            raise ValueError(f"Part {number} of X has {part.n_features} features; part 0 has {n_features}.")
        if part.names != names:
            raise ValueError(f"Part {number} of X has features of other names than part 0: {part.names}, not {names}.")
    categories = [_agree_on_categories(f, facts) for f in range(n_features)]
    coder = TableCoder()
    coder.categories_ = categories
    coder.n_categories_ = np.array([0 if levels is None else len(levels) for levels in categories], dtype=np.int32)
    return n_features, names, coder


def agree_on_classes(facts: Sequence[Facts]) -> tuple[npt.NDArray[Any], npt.NDArray[np.int64]]:
    """Return the classes of all parts, and how many samples each has."""
    filled = [(number, part) for number, part in enumerate(facts) if part.n_samples]
    for number, part in filled:
        if (part.labels.dtype.kind in NUMBERS) != (filled[0][1].labels.dtype.kind in NUMBERS):
            raise TypeError(
                f"Part {number} of y holds {part.labels.dtype}, part {filled[0][0]} {filled[0][1].labels.dtype}; "
                "labels must be numbers everywhere or text everywhere."
            )
    labels = np.concatenate([part.labels for _, part in filled])
    classes, places = np.unique(labels, return_inverse=True)
    require_two_classes(classes)
    counts = np.zeros(len(classes), dtype=np.int64)
    np.add.at(counts, places, np.concatenate([part.label_counts for _, part in filled]))
    return classes, counts


def raise_upper(columns: CodedColumns, uppers: Sequence[npt.NDArray[np.float64]]) -> CodedColumns:
    """Let the codes of a sample reach as far as the values of all parts."""
    return columns._replace(upper=np.maximum.reduce([columns.upper, *uppers]))


def _agree_on_categories(f: int, facts: Sequence[Facts]) -> npt.NDArray[Any] | None:
    """Return the categories of a feature: those that all parts declare, or all texts that any part has."""
    name = f if facts[0].names is None else repr(facts[0].names[f])
    found = [(number, part.categories[f]) for number, part in enumerate(facts) if part.categories[f].is_known]
    if not found:
        return None
    first_number, first = found[0]
    for number, other in found:
        if (other.levels is None) != (first.levels is None) or other.is_declared != first.is_declared:
            raise TypeError(
                f"Feature {name} has numbers in one part of X and categories in another, or categories and text: see "
                f"parts {first_number} and {number}."
            )
        if first.is_declared and list(other.levels) != list(first.levels):  # type: ignore[arg-type]
            raise ValueError(
                f"Feature {name} has other categories in part {number} than in part {first_number}; give all parts "
                "the same type of categories: X.categorize() does it for a Dask DataFrame."
            )
    if first.levels is None or first.is_declared:
        return first.levels
    levels = sorted(set().union(*(other.levels for _, other in found)))  # type: ignore[arg-type]
    if len(levels) > MOST_CATEGORIES:
        raise ValueError(f"Feature {name} has {len(levels):,} categories; at most {MOST_CATEGORIES:,} are possible.")
    return np.array(levels, dtype=object)


def _place(tree: Tree, features: npt.NDArray[np.intp]) -> Tree:
    """Let the splits of a tree name features by their numbers in the table."""
    is_split = tree.nodes["feature"] >= 0
    tree.nodes["feature"][is_split] = features[tree.nodes["feature"][is_split]]
    return tree
