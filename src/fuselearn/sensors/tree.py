"""The tree sensor: a coded table on which the CART engine grows trees."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any

import numpy as np
import numpy.typing as npt

from fuselearn._kernels import kernel
from fuselearn.engines.tree import (
    CodedColumns,
    PackedForest,
    Tree,
    TreeSettings,
    apply_codes,
    apply_forest,
    code_columns,
    grow_tree,
    leaf_rows,
    pack_forest,
    stack_trees,
    sum_leaf_values,
    unstack_trees,
    vote_codes,
)
from fuselearn.engines.tree.growing import PRESORTED_ROWS, grow_small_inlined
from fuselearn.engines.tree.predicting import vote_small
from fuselearn.sensors.sampling import MOST_TRIES, draw_covering, draw_covering_counts

_NO_COUNTS = np.empty(0, dtype=np.int32)
_NO_WEIGHTS = np.empty(0)


class TreeSensor:
    """Code a table once and grow any number of trees on it.

    Parameters
    ----------
    X : float array of shape (n_rows, n_columns)
        Values, category numbers and NaN, as :class:`~fuselearn.sensors.TableCoder` makes them.
    n_categories : int32 array of shape (n_columns,)
        Number of categories of each column, 0 for a numeric column.
    target : int32 array of shape (n_rows,)
        Class numbers.
    n_classes : int
    settings : TreeSettings
    max_bins : int, optional
        See :func:`~fuselearn.engines.tree.code_columns`.
    n_threads : int
        Threads for coding and growing.
    """

    def __init__(
        self,
        X: npt.NDArray[np.floating],
        n_categories: npt.NDArray[np.int32],
        target: npt.NDArray[np.int32],
        n_classes: int,
        settings: TreeSettings,
        *,
        max_bins: int | None = None,
        n_threads: int = 1,
    ) -> None:
        self.n_rows = len(target)
        self.n_classes = n_classes
        self.columns = code_columns(X, n_categories, max_bins, n_threads)
        self.n_categories = n_categories
        self.target = target
        self.settings = settings
        self.n_threads = n_threads

    def measure(
        self,
        counts: npt.NDArray[np.int32],
        seed: int,
        *,
        weights: npt.NDArray[np.float64] | None = None,
        features: npt.NDArray[np.intp] | None = None,
    ) -> TreeComponent:
        """Grow a tree on the rows drawn."""
        if features is None and weights is None and self._is_small():
            return self._measure_small(counts, _NO_WEIGHTS, 0, seed)
        columns = self.columns if features is None else select_columns(self.columns, features)
        tree = grow_tree(
            columns, self.target, self.n_classes, counts, self.settings,
            weights=weights, seed=seed, n_threads=self.n_threads,
        )  # fmt: skip
        if features is not None:
            split = tree.nodes["feature"] >= 0
            tree.nodes["feature"][split] = features[tree.nodes["feature"][split]]
        return TreeComponent(tree, self.n_categories, self.columns)

    def measure_sample(self, weights: npt.NDArray[np.float64], seed: int, *, cover: bool = False) -> TreeComponent:
        """Draw rows by their weights and grow a tree on them."""
        tries = MOST_TRIES if cover else 1
        if self._is_small():
            return self._measure_small(_NO_COUNTS, weights, tries, seed)
        counts = draw_covering_counts(seed, weights, self.n_rows, self.target, self.n_classes, tries)
        return self.measure(counts, seed)

    def regroup(self, groups: npt.NDArray[np.int8]) -> TreeSensor:
        """Bind the same coded table to the question to which of two groups a row's class belongs."""
        sensor = copy(self)
        sensor.target = groups[self.target].astype(np.int32)
        sensor.n_classes = 2
        return sensor

    def _is_small(self) -> bool:
        return self.n_rows <= PRESORTED_ROWS

    def _measure_small(
        self, counts: npt.NDArray[np.int32], weights: npt.NDArray[np.float64], max_draws: int, seed: int
    ) -> TreeComponent:
        *tree, votes = _draw_grow_vote(
            self.columns, self.target, counts, weights, max_draws, self.n_classes, self.settings, seed
        )
        return TreeComponent(Tree(*tree), self.n_categories, self.columns, votes)


class TreeComponent:
    """One tree."""

    __slots__ = ("bound_votes", "columns", "n_categories", "tree")

    def __init__(
        self,
        tree: Tree,
        n_categories: npt.NDArray[np.int32],
        columns: CodedColumns | None = None,
        bound_votes: npt.NDArray[np.int32] | None = None,
    ) -> None:
        self.tree = tree
        self.n_categories = n_categories
        self.columns = columns
        self.bound_votes = bound_votes

    def scores(self, X: Any = None) -> npt.NDArray[np.float64]:
        """Give the class shares in each row's leaf."""
        return self.tree.shares()[self._leaves(X)]

    def votes(self, X: Any = None) -> npt.NDArray[np.int32]:
        """Give the majority class of each row's leaf, the first of equal ones."""
        if X is None and self.bound_votes is not None:
            return self.bound_votes
        if X is None:
            return vote_codes(self.tree, self._bound_columns())
        return self.tree.values.argmax(axis=1).astype(np.int32)[self._leaves(X)]

    def unbind(self) -> None:
        """Let go of the coded table."""
        self.columns = None
        self.bound_votes = None

    def __getstate__(self) -> dict[str, Any]:
        """Give what a copy or a file keeps: the tree, without the coded table."""
        return store_components([self])

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Become the component of a copy or a file."""
        (restored,) = restore_components(state)
        self.__init__(restored.tree, restored.n_categories)  # type: ignore[misc]

    def _leaves(self, X: Any) -> npt.NDArray[np.int32]:
        if X is not None:
            return apply_forest(pack_forest([self.tree], self.n_categories), X)[:, 0]
        return apply_codes(self.tree, self._bound_columns())

    def _bound_columns(self) -> CodedColumns:
        if self.columns is None:
            raise RuntimeError("The component no longer has its training data; pass the rows.")
        return self.columns


def store_components(components: Sequence[TreeComponent]) -> dict[str, Any]:
    """Bring the trees of one ensemble into a few arrays, for copies and files."""
    return {
        "trees": stack_trees([component.tree for component in components]),
        "n_categories": components[0].n_categories,
    }


def restore_components(state: dict[str, Any]) -> list[TreeComponent]:
    """Turn the arrays of ``store_components`` back into components, after checking them."""
    n_categories = np.ascontiguousarray(state["n_categories"], dtype=np.int32)
    return [TreeComponent(tree, n_categories) for tree in unstack_trees(state["trees"], n_categories)]


class PackedTrees:
    """A weighted sum of trees, laid out for fast prediction.

    Parameters
    ----------
    components : sequence of TreeComponent
    coefficients : array of shape (n_components,)
    by_class : bool array of shape (n_components,)
        Whether a component counts with its vote (one for a class) or with its scores.
    """

    def __init__(
        self,
        components: Sequence[TreeComponent],
        coefficients: npt.NDArray[np.float64],
        by_class: npt.NDArray[np.bool_],
    ) -> None:
        self.forest: PackedForest = pack_forest([c.tree for c in components], components[0].n_categories)
        leaf_values = []
        for component, coefficient, votes in zip(components, coefficients, by_class, strict=True):
            leaf_values.append(tree_values(component.tree, coefficient, votes)[leaf_rows(component.tree)])
        self.leaf_values = np.concatenate(leaf_values)

    def scores(self, X: npt.NDArray[np.floating], n_threads: int = 1) -> npt.NDArray[np.float64]:
        """Give the weighted sum of the components' scores or votes for each row."""
        return sum_leaf_values(self.forest, self.leaf_values, X, n_threads)

    def leaves(self, X: npt.NDArray[np.floating], n_threads: int = 1) -> npt.NDArray[np.int32]:
        """Give the leaf that each row ends in, tree by tree, as a node of that tree."""
        return apply_forest(self.forest, X, n_threads)


def tree_values(tree: Tree, coefficient: float, votes: bool) -> npt.NDArray[np.float64]:
    """Give what a tree adds to the sum for rows that end in each node: the coefficient times the vote or the shares."""
    shares = tree.shares()
    values = np.eye(shares.shape[1])[shares.argmax(axis=1)] if votes else shares
    return coefficient * values


@kernel
def _draw_grow_vote(columns, target, counts, weights, max_draws, n_classes, settings, seed):  # type: ignore[no-untyped-def]
    """Do it all in one call: on small data, calls cost as much as the work in them.

    Rows are drawn by their weights, unless ``max_draws`` is 0; then the counts are given.
    """
    if max_draws > 0:
        counts = draw_covering(seed, weights, len(target), target, n_classes, max_draws)
    nodes, values, subsets = grow_small_inlined(columns, target, False, counts, counts, n_classes, settings, seed)
    return nodes, values, subsets, vote_small(nodes, values, subsets, columns.codes, columns.n_codes)


def select_columns(columns: CodedColumns, features: npt.NDArray[np.intp]) -> CodedColumns:
    """Restrict a coded table to some of its columns."""
    ranges = [slice(columns.offsets[f], columns.offsets[f + 1]) for f in features]
    n_codes = columns.n_codes[features]
    is_category = None if columns.is_category is None else columns.is_category[features]
    return CodedColumns(
        order=np.ascontiguousarray(columns.order[features]),
        codes=np.ascontiguousarray(columns.codes[:, features]),
        n_codes=n_codes,
        offsets=np.concatenate([[0], np.cumsum(n_codes, dtype=np.int64)]),
        lower=np.concatenate([columns.lower[r] for r in ranges]),
        upper=np.concatenate([columns.upper[r] for r in ranges]),
        is_category=is_category if is_category is None or is_category.any() else None,
    )
