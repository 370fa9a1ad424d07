"""A table whose parts are coded and kept where a session keeps them, and on which trees are grown."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.utils.class_weight import compute_sample_weight

from fuselearn._validation import require_two_classes
from fuselearn.engines.exact import from_units
from fuselearn.engines.sampling import MOST_TRIES
from fuselearn.engines.tree import Table, Tree, TreeSettings
from fuselearn.engines.tree.levels import GrowingTree
from fuselearn.parts.checkpoint import Checkpoint
from fuselearn.parts.part import (
    Count,
    Descent,
    Draw,
    Facts,
    Recipe,
    add_arrays,
    code_part,
    count_part,
    descend_part,
    describe_part,
    draw_part,
    find_edges,
    get_upper,
    merge_tallies,
    sample_values,
    sum_weights,
    tally_part,
)
from fuselearn.parts.session import Session
from fuselearn.sensors import TableCoder, TreeComponent
from fuselearn.sensors.table import MOST_CATEGORIES

# Bin edges are computed from all values if there are at most so many, and else from about as many.
EDGE_VALUES = 2**23
# So many bins that hold samples are counted in one round, at most: a bound on memory and on what travels at a time.
BINS_AT_ONCE = 2**22
NUMBERS = "biuf"

Counts = npt.NDArray[np.int64]


class TreeOrder(NamedTuple):
    """A tree that is to be grown: on which features, on which samples, how, and with which seed."""

    features: npt.NDArray[np.intp]
    draw: Draw
    settings: TreeSettings
    seed: int
    cover: bool = False
    """Whether to draw again while a class is missing, rather than while all are."""


class PartedTable:
    """Coded parts, and trees that are grown on them.

    Parameters
    ----------
    session : Session
        What performs the tasks and keeps their results.
    parts : sequence of tuples
        X, y and sample_weight, or None, of each part, as values that the session's ``map_parts`` understands.
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
    columns : Table
        What the codes mean.
    total_weight : float
        Sum of the sample weights, each times the weight of its class.
    has_whole_weights : bool
        Whether all weights are whole numbers.
    parts : list
        The coded parts, as the session keeps them.
    checkpoint : Checkpoint or None
        Where trees are saved, and from where they are taken if an earlier fit has saved them.
    """

    checkpoint: Checkpoint | None = None

    def __init__(
        self, session: Session, parts: Sequence[tuple[Any, Any, Any]], max_bins: int | None, class_weight: Any
    ) -> None:
        self.session = session
        tables, targets, weights = zip(*parts, strict=True)
        numbers = range(len(tables))
        facts = session.fetch(session.map_parts(describe_part, numbers, tables, targets, weights))
        self.n_samples = sum(part.n_samples for part in facts)
        if self.n_samples == 0:
            raise ValueError("X has no samples; at least one is needed.")
        self.n_features, self.names, self.coder = agree_on_features(facts)
        self.classes, self.class_counts = agree_on_classes(facts)
        firsts = np.cumsum([0, *(part.n_samples for part in facts[:-1])]).tolist()
        share = EDGE_VALUES / (self.n_samples * self.n_features)
        coders = [session.hold(self.coder)] * len(tables)
        samples = session.map_parts(sample_values, numbers, tables, coders, firsts, [share] * len(tables))
        columns = session.submit(find_edges, samples, self.coder, max_bins)
        factors = self._class_factors(class_weight)
        recipe = session.submit(Recipe, self.coder, columns, self.classes, share < 1, factors)
        del samples
        self.parts = session.map_parts(code_part, numbers, tables, targets, weights, [recipe] * len(tables), firsts)
        self.columns: Table = session.fetch(columns)
        if share < 1:
            upper = session.merge(take_largest, session.map(get_upper, self.parts))
            self.columns = self.columns.with_upper(upper)
        units, are_whole = zip(*session.fetch(session.map(sum_weights, self.parts)), strict=True)
        self.total_weight = from_units(sum(units))
        self.has_whole_weights = all(are_whole) and self.total_weight < 2**31
        session.settle(self.parts)
        if self.total_weight == 0:
            raise ValueError("sample_weight is zero for every sample; at least one sample must count.")

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.classes)

    def grow(self, orders: Sequence[TreeOrder], weights: list[Any] | None = None) -> list[TreeComponent]:
        """Grow several trees at the same time, or take them from the checkpoint.

        Parameters
        ----------
        orders : sequence of TreeOrder
        weights : list, optional
            For each part, the weights by which its samples are drawn, if these are not those of the table.
        """
        saved = [None if self.checkpoint is None else self.checkpoint.find(order) for order in orders]
        asked = [order for order, tree in zip(orders, saved, strict=True) if tree is None]
        grown = iter(self._grow(asked, weights) if asked else [])
        trees = []
        for order, tree in zip(orders, saved, strict=True):
            if tree is None:
                tree = next(grown)
                if self.checkpoint is not None:
                    self.checkpoint.save(order, tree)
            trees.append(TreeComponent(tree, self.coder.n_categories_))
        return trees

    def _grow(self, orders: Sequence[TreeOrder], weights: list[Any] | None) -> list[Tree]:
        """Grow trees level by level."""
        session = self.session
        drawn, totals = self._draw(orders, weights)
        columns = [self.columns.select(order.features) for order in orders]
        trees = [
            GrowingTree(own, total, order.settings, order.seed)
            for own, total, order in zip(columns, totals, orders, strict=True)
        ]
        growing = list(range(len(trees)))
        while growing:
            rounds = [trees[t].rounds(BINS_AT_ONCE // len(growing)) for t in growing]
            for nodes in zip_longest(*rounds):
                self._split(drawn, orders, trees, growing, nodes)
            splits = [trees[t].end_level() for t in growing]
            descents = [
                Descent(k, orders[t].features, splits[k]) for k, t in enumerate(growing) if not trees[t].has_grown
            ]
            growing = [t for t in growing if not trees[t].has_grown]
            if growing:
                drawn = session.map(descend_part, self.parts, drawn, [session.hold(descents)] * len(self.parts))
        return [tree.finish().with_features(order.features) for order, tree in zip(orders, trees, strict=True)]

    def _draw(self, orders: Sequence[TreeOrder], weights: list[Any] | None) -> tuple[list[Any], Counts]:
        """Draw samples for trees, again where a class is missing, or all are; also return how many of each class."""
        session, n_parts = self.session, len(self.parts)
        draws = [order.draw for order in orders]
        drawn_by = [None] * n_parts if weights is None else weights
        while True:
            drawn = session.map(draw_part, self.parts, [session.hold(draws)] * n_parts, drawn_by)
            counted = session.map(count_part, self.parts, drawn, [self.n_classes] * n_parts)
            totals: Counts = session.merge(add_arrays, counted)
            found = [
                (total > 0).all() if order.cover else (total > 0).any()
                for total, order in zip(totals, orders, strict=True)
            ]
            again = [not ok and draw.n_tries < MOST_TRIES - 1 for ok, draw in zip(found, draws, strict=True)]
            if not any(again):
                return drawn, totals
            draws = [
                draw._replace(n_tries=draw.n_tries + 1) if rejected else draw
                for draw, rejected in zip(draws, again, strict=True)
            ]

    def _split(
        self, drawn: list[Any], orders: Sequence[TreeOrder], trees: list[GrowingTree], growing: list[int], nodes: Any
    ) -> None:
        """Split some nodes of each of the growing trees, or none where these are None."""
        session, n_parts, squared = self.session, len(self.parts), self.columns.is_category is not None
        asked = [
            Count(k, orders[t].features, nodes[k], self.n_classes, squared)
            for k, t in enumerate(growing)
            if nodes[k] is not None
        ]
        tallies = session.map(tally_part, self.parts, drawn, [session.hold(asked)] * n_parts)
        for count, bins in zip(asked, session.merge(merge_tallies, tallies), strict=True):
            trees[growing[count.tree]].split(count.nodes, bins)

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


def take_largest(uppers: Sequence[npt.NDArray[np.float64]]) -> npt.NDArray[np.float64]:
    """Return the largest value of each code in any part."""
    largest: npt.NDArray[np.float64] = np.maximum.reduce(uppers)
    return largest


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
