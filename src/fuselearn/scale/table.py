"""A binned table in parts, stored by a session, and trees grown on it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.utils.class_weight import compute_sample_weight

from fuselearn._core import GrowingTree, Table, Tree, TreeSettings
from fuselearn.base import require_two_classes
from fuselearn.fusion.problem import MOST_TRIES
from fuselearn.learners import TableCoder, TreeModel
from fuselearn.learners.table import MOST_CATEGORIES
from fuselearn.scale import tasks
from fuselearn.scale.checkpoint import Checkpoint
from fuselearn.scale.session import Kept, Session, Task
from fuselearn.scale.tasks import Count, Draw, Facts, Recipe, from_units

# Bin edges are computed from all values up to this number, else from a sample of about this size.
EDGE_VALUES = 2**23
# Maximum number of nonempty bins that are counted in one round, which limits memory and communication.
BINS_AT_ONCE = 2**22
NUMBERS = "biuf"


class TreeOrder(NamedTuple):
    """The definition of a tree to grow: features, drawn samples, settings and seed."""

    features: npt.NDArray[np.int64]
    draw: Draw
    settings: TreeSettings
    seed: int
    cover: bool = False
    """Whether to repeat the draw until every class is drawn, rather than until any sample is."""


class KeptWeights(NamedTuple):
    """The weights for drawing samples: stored results with the attribute ``weights``, and their divisor or None."""

    kept: Kept
    divisor: Any = None


class TableInParts:
    """A table in coded parts, for growing trees.

    Parameters
    ----------
    session : Session
        Runs the tasks and stores their results.
    parts : sequence of tuples
        X, y and sample_weight (or None) of each part, as arguments for the session's ``map``.
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
        The meaning of the codes.
    total_weight : float
        Sum of the sample weights, multiplied by the class weights.
    has_whole_weights : bool
        Whether all weights are integers.
    parts : Kept
        The coded parts, stored by the session.
    checkpoint : Checkpoint or None
        Stores finished trees, and provides the trees of an interrupted fit.
    """

    checkpoint: Checkpoint | None = None

    def __init__(
        self, session: Session, parts: Sequence[tuple[Any, Any, Any]], max_bins: int | None, class_weight: Any
    ) -> None:
        self.session = session
        tables, targets, weights = zip(*parts, strict=True)
        numbers = range(len(tables))
        facts = session.fetch(session.map(tasks.describe_part, numbers, tables, targets, weights))
        self.n_samples = sum(part.n_samples for part in facts)
        if self.n_samples == 0:
            raise ValueError("X has no samples; at least one is required.")
        self.n_features, self.names, self.coder = agree_on_features(facts)
        self.classes, self.class_counts = agree_on_classes(facts)
        firsts = np.cumsum([0, *(part.n_samples for part in facts[:-1])]).tolist()
        fraction = EDGE_VALUES / (self.n_samples * self.n_features)
        samples = session.map(tasks.sample_values, numbers, tables, firsts, given=(self.coder, fraction))
        columns = session.submit(tasks.find_edges, samples, self.coder, max_bins)
        factors = self._class_factors(class_weight)
        recipe = session.submit(Recipe, self.coder, columns, self.classes, fraction < 1, factors)
        del samples
        parts = session.map(tasks.code_part, numbers, tables, targets, weights, firsts, given=(recipe,))
        self.columns: Table = session.fetch(columns)
        if fraction < 1:
            _, upper = session.advance(tasks.get_upper, np.maximum.reduce, parts)
            self.columns = self.columns.with_upper(upper)
        units, are_whole = zip(*session.fetch(session.map(tasks.sum_weights, parts)), strict=True)
        self.total_weight = from_units(sum(units))
        self.has_whole_weights = all(are_whole) and self.total_weight < 2**31
        self.parts = session.settle(parts)
        if self.total_weight == 0:
            raise ValueError("sample_weight is zero for every sample; at least one weight must be positive.")

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.classes)

    def sum_exactly(self, task: Task, *kept: Kept, given: Sequence[Any] = ()) -> float:
        """Add the exact sums that a task returns for each part."""
        _, units = self.session.advance(task, sum, *kept, given=given)
        return from_units(units)

    def grow(self, orders: Sequence[TreeOrder], source: KeptWeights | None = None) -> list[TreeModel]:
        """Grow several trees at the same time, or read them from the checkpoint.

        Parameters
        ----------
        orders : sequence of TreeOrder
        source : KeptWeights, optional
            The weights for drawing samples; by default the sample weights of the table.
        """
        saved = [None if self.checkpoint is None else self.checkpoint.find(order) for order in orders]
        asked = [order for order, tree in zip(orders, saved, strict=True) if tree is None]
        grown = iter(self._grow(asked, source or KeptWeights(self.parts)) if asked else [])
        trees = []
        for order, tree in zip(orders, saved, strict=True):
            if tree is None:
                tree = next(grown)
                if self.checkpoint is not None:
                    self.checkpoint.save(order, tree)
            trees.append(TreeModel(tree, self.coder.n_categories_))
        return trees

    def _grow(self, orders: Sequence[TreeOrder], source: KeptWeights) -> list[Tree]:
        """Grow trees level by level; the nodes of a large level are split in several rounds."""
        growing, rounds = list(range(len(orders))), [[(0, 1)] for _ in orders]
        counts = [self._count(t, order, np.zeros(1, dtype=np.int64)) for t, order in enumerate(orders)]
        drawn, totals, counted = self._draw(orders, source, counts)
        n_bins = BINS_AT_ONCE // len(orders)
        trees = [
            GrowingTree(self.columns.select(order.features), total, order.settings, order.seed, n_bins)
            for total, order in zip(totals, orders, strict=True)
        ]

        def ask(number: int) -> list[Count]:
            return [
                self._count(position, orders[t], trees[t].counted_nodes(*rounds[position][number]))
                for position, t in enumerate(growing)
                if number < len(rounds[position])
            ]

        def advance(task: Task, drawn: Kept, *given: Any) -> tuple[Kept, Any]:
            return self.session.advance(task, tasks.merge_tallies, self.parts, drawn, given=given)

        while True:
            for number in range(max(map(len, rounds))):
                if number > 0:
                    counts = ask(number)
                    _, counted = advance(tasks.count_more, drawn, counts)
                for count, bins in zip(counts, counted, strict=True):
                    trees[growing[count.tree]].split(*rounds[count.tree][number], bins)
            splits = [(position, trees[t].end_level()) for position, t in enumerate(growing)]
            splits = [split for split in splits if not trees[growing[split[0]]].has_grown]
            growing = [t for t in growing if not trees[t].has_grown]
            if not growing:
                return [tree.finish().with_features(order.features) for order, tree in zip(orders, trees, strict=True)]
            rounds = [trees[t].rounds(BINS_AT_ONCE // len(growing)) for t in growing]
            counts = ask(0)
            drawn, counted = advance(tasks.advance_trees, drawn, splits, counts)

    def _draw(self, orders: Sequence[TreeOrder], source: KeptWeights, counts: list[Count]) -> tuple[Kept, Any, Any]:
        """Draw samples for trees, repeatedly if classes or all samples are missing, and count those in the roots."""
        draws = [order.draw for order in orders]
        while True:
            drawn, (totals, counted) = self.session.advance(
                tasks.begin_trees, tasks.merge_begun, self.parts, source.kept, given=(source.divisor, draws, counts)
            )
            found = [
                (total > 0).all() if order.cover else (total > 0).any()
                for total, order in zip(totals, orders, strict=True)
            ]
            again = [not ok and draw.n_tries < MOST_TRIES - 1 for ok, draw in zip(found, draws, strict=True)]
            if not any(again):
                return drawn, totals, counted
            draws = [
                draw._replace(n_tries=draw.n_tries + 1) if rejected else draw
                for draw, rejected in zip(draws, again, strict=True)
            ]

    def covering_draw(self, draw: Draw, source: KeptWeights) -> Draw:
        """Return the first draw that contains samples of all classes."""
        given = (source.divisor, self.n_classes)
        while True:
            _, totals = self.session.advance(
                tasks.count_drawn, np.add.reduce, self.parts, source.kept, given=(draw, *given)
            )
            if (totals > 0).all() or draw.n_tries == MOST_TRIES - 1:
                return draw
            draw = draw._replace(n_tries=draw.n_tries + 1)

    def _count(self, position: int, order: TreeOrder, nodes: npt.NDArray[np.int64]) -> Count:
        is_category = self.columns.is_category
        squared = order.settings.correct_for_chance and is_category is not None and is_category[order.features].any()
        return Count(position, order.features, nodes, self.n_classes, bool(squared))

    def _class_factors(self, class_weight: Any) -> npt.NDArray[np.float64] | None:
        if class_weight is None:
            return None
        if class_weight == "balanced":
            return self.n_samples / (self.n_classes * self.class_counts.astype(np.float64))
        return compute_sample_weight(class_weight, self.classes)


def agree_on_features(facts: Sequence[Facts]) -> tuple[int, list[str] | None, TableCoder]:
    """Check that all parts have the same features; return their number, their names and a coder."""
    n_features, names = facts[0].n_features, facts[0].names
    for number, part in enumerate(facts):
        if part.n_features != n_features:
            raise ValueError(f"Part {number} of X has {part.n_features} features; part 0 has {n_features}.")
        if part.names != names:
            raise ValueError(f"Part {number} of X has different feature names than part 0: {part.names}, not {names}.")
    categories = [_agree_on_categories(f, facts) for f in range(n_features)]
    coder = TableCoder()
    coder.categories_ = categories
    coder.n_categories_ = np.array([0 if levels is None else len(levels) for levels in categories], dtype=np.int32)
    return n_features, names, coder


def agree_on_classes(facts: Sequence[Facts]) -> tuple[npt.NDArray[Any], npt.NDArray[np.int64]]:
    """Return the classes of all parts and their numbers of samples."""
    filled = [(number, part) for number, part in enumerate(facts) if part.n_samples]
    for number, part in filled:
        if (part.labels.dtype.kind in NUMBERS) != (filled[0][1].labels.dtype.kind in NUMBERS):
            raise TypeError(
                f"Part {number} of y has dtype {part.labels.dtype}, part {filled[0][0]} "
                f"{filled[0][1].labels.dtype}; labels must be numbers in all parts or strings in all parts."
            )
    labels = np.concatenate([part.labels for _, part in filled])
    classes, positions = np.unique(labels, return_inverse=True)
    require_two_classes(classes)
    counts = np.zeros(len(classes), dtype=np.int64)
    np.add.at(counts, positions, np.concatenate([part.label_counts for _, part in filled]))
    return classes, counts


def _agree_on_categories(f: int, facts: Sequence[Facts]) -> npt.NDArray[Any] | None:
    """Return the categories of a feature: those of its categorical dtype, or all strings of all parts."""
    name = f if facts[0].names is None else repr(facts[0].names[f])
    found = [(number, part.categories[f]) for number, part in enumerate(facts) if part.categories[f].is_known]
    if not found:
        return None
    first_number, first = found[0]
    for number, other in found:
        if (other.levels is None) != (first.levels is None) or other.is_declared != first.is_declared:
            raise TypeError(
                f"Feature {name} has different types in parts {first_number} and {number} of X; it must be numeric, "
                "categorical or string in all parts."
            )
        if first.is_declared and list(other.levels) != list(first.levels):  # type: ignore[arg-type]
            raise ValueError(
                f"Feature {name} has different categories in part {number} than in part {first_number}; use the "
                f"same categorical dtype in all parts, for a Dask DataFrame by X.categorize()."
            )
    if first.levels is None or first.is_declared:
        return first.levels
    levels = sorted(set().union(*(other.levels for _, other in found)))  # type: ignore[arg-type]
    if len(levels) > MOST_CATEGORIES:
        raise ValueError(f"Feature {name} has {len(levels):,} categories; at most {MOST_CATEGORIES:,} are supported.")
    return np.array(levels, dtype=object)
