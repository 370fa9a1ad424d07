"""The tree learner: a coded table on which the CART engine grows a tree per label."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.utils import check_array

from fuselearn._parameters import count_features
from fuselearn.engines.tree import (
    CodedColumns,
    PackedForest,
    Tree,
    apply_codes,
    apply_forest,
    code_columns,
    grow_tree,
    pack_forest,
    stack_trees,
    unstack_trees,
)
from fuselearn.engines.tree.coding import order_rows
from fuselearn.ensembles.cart import CARTClassifier, tree_settings, wrap_tree
from fuselearn.multilabel.learners.protocols import (
    Counts,
    Indices,
    Labels,
    Scores,
    check_sample,
    list_classes,
    refuse_settings,
)
from fuselearn.sensors.table import TableCoder, as_frame
from fuselearn.sensors.tree import TreeComponent, select_columns

# Threads are worth starting from this many (row, column, tree) triples on.
THREADED_WORK = 100_000


class TreeLearner:
    """Code a table once and grow any number of trees on it.

    Parameters
    ----------
    X : array, sparse matrix or frame
        NaN means missing; category columns of a frame are split by subsets. A sparse matrix is made dense.
    tree : CARTClassifier
        Its parameters are used, but for ``random_state`` and ``n_jobs``.
    n_threads : int
        Threads for coding, growing and predicting.
    """

    def __init__(self, X: Any, tree: CARTClassifier, n_threads: int) -> None:
        self.coder = TableCoder()
        matrix = self.coder.fit_transform(as_table(X))
        self.n_rows, self.n_columns = matrix.shape
        self.tree = tree
        self.settings = tree_settings(tree, self.n_columns)
        self.table = code_columns(matrix, self.coder.n_categories_, tree.max_bins, n_threads)
        self.appended = np.empty((self.n_rows, 0), dtype=np.int8)
        # The table with what has been appended, and where each column of it is in rows that are given for prediction.
        self.columns = self.table
        self.places = np.arange(self.n_columns)
        self.n_threads = n_threads

    def train(
        self,
        Y: Labels,
        counts: Counts,
        seed: int,
        *,
        weights: npt.NDArray[np.float64] | None = None,
        **settings: Any,
    ) -> TreeBlock:
        """Grow a tree per label on the rows drawn."""
        check_sample(Y, counts, self.n_rows)
        refuse_settings(settings, "The tree learner")
        n_labels = Y.shape[1]
        targets = np.ascontiguousarray(Y.T, dtype=np.int32)
        within = self.n_threads if n_labels < self.n_threads else 1

        def grow(label: int) -> Tree:
            return grow_tree(
                self.columns, targets[label], 2, counts, self.settings, weights=weights, seed=seed, n_threads=within
            )

        work = self.n_rows * len(self.places) * n_labels
        trees = _map(grow, n_labels, self.n_threads if within == 1 and work >= THREADED_WORK else 1)
        return TreeBlock(trees, self)

    def train_classes(
        self,
        classes: Labels,
        counts: Counts,
        seed: int,
        *,
        labels: Labels | None = None,
        weights: npt.NDArray[np.float64] | None = None,
        **settings: Any,
    ) -> TreeClassBlock:
        """Grow one tree over all classes."""
        check_sample(classes, counts, self.n_rows)
        refuse_settings(settings, "The tree learner")
        rows, numbers = list_classes(classes, counts)
        columns = self.columns
        if len(rows) != self.n_rows or (np.diff(rows) == 0).any():
            codes = columns.codes[rows]
            columns = columns._replace(codes=codes, order=order_rows(codes))
        tree = grow_tree(
            columns, numbers.astype(np.int32), classes.shape[1], counts[rows], self.settings,
            weights=None if weights is None else weights[rows], seed=seed, n_threads=self.n_threads,
        )  # fmt: skip
        return TreeClassBlock([tree], self)

    def extend(self, columns: npt.NDArray[np.integer]) -> Self:
        """Give a learner whose coded table has label columns appended."""
        appended = np.hstack([self.appended, columns])
        return self._with(
            appended=appended,
            columns=append_columns(self.columns, columns),
            places=np.concatenate([self.places, self.n_columns + np.arange(self.appended.shape[1], appended.shape[1])]),
        )

    def restrict(self, features: npt.NDArray[np.intp]) -> Self:
        """Give a learner on some of the coded columns."""
        table = select_columns(self.table, features)
        return self._with(table=table, columns=table, places=self.places[features])

    def _with(self, **changes: Any) -> Self:
        other = object.__new__(type(self))
        vars(other).update(vars(self) | changes)
        other.settings = self.settings._replace(max_features=count_features(self.tree.max_features, len(other.places)))
        return other

    def prepare(self, X: Any) -> npt.NDArray[np.floating]:
        """Turn new rows into numbers, category numbers and NaN."""
        return self.coder.transform(as_table(X))

    def adapt(self, rows: Any) -> Any:
        """Give prepared rows as they are: trees find their columns in them."""
        return rows

    def estimators(self, block: TreeBlock, names: npt.NDArray[Any] | None = None) -> list[Any]:
        """Give each tree as a classifier of its own."""
        coder = TableCoder()
        coder.categories_ = [*self.coder.categories_, *[None] * block.n_appended]
        coder.n_categories_ = block.n_categories
        moved = (_move_features(tree, block.places) for tree in block.trees)
        components = (TreeComponent(tree, block.n_categories) for tree in moved)
        return [wrap_tree(self.tree, component, coder, np.array([0, 1]), names) for component in components]

    def unbind(self) -> None:
        """Let go of the coded table."""
        del self.table, self.columns, self.appended


class TreeBlock:
    """One tree per label."""

    def __init__(self, trees: list[Tree], learner: TreeLearner) -> None:
        self.trees = trees
        self.places = learner.places
        self.n_appended = learner.appended.shape[1]
        self.n_categories = np.pad(learner.coder.n_categories_, (0, self.n_appended))
        self.n_threads = learner.n_threads
        # What was appended is kept apart from the table, which the blocks of a chain share.
        self.bound: tuple[CodedColumns, npt.NDArray[np.int8]] | None = (learner.table, learner.appended)
        self.forest: PackedForest | None = None

    def probabilities(
        self, rows: Any = None, extra: npt.NDArray[Any] | None = None, only: Indices | None = None
    ) -> Scores:
        """Give the share of training rows with the label in each row's leaf, tree by tree."""
        if rows is None:
            columns = self._bound_columns(extra, only)
            return np.column_stack([tree.shares()[apply_codes(tree, columns), 1] for tree in self.trees])
        reached, roots = self._reach(rows, extra, only)
        return np.concatenate([tree.shares()[:, 1] for tree in self.trees])[reached + roots]

    def _reach(
        self, rows: Any, extra: npt.NDArray[Any] | None, only: Indices | None
    ) -> tuple[npt.NDArray[np.integer], npt.NDArray[np.integer]]:
        """Find each row's leaf in each tree, and where the nodes of each tree begin."""
        rows = rows if only is None else rows[only]
        if self.n_appended:
            assert extra is not None, "rows for an extended learner come with its appended columns"
            rows = np.hstack([rows, extra])
        if self.forest is None:
            self.forest = pack_forest([_move_features(tree, self.places) for tree in self.trees], self.n_categories)
        return apply_forest(self.forest, rows, self.n_threads), self.forest.roots

    def _bound_columns(self, extra: npt.NDArray[Any] | None, only: Indices | None) -> CodedColumns:
        """Give the coded training rows, or some of them, with what was appended."""
        if self.bound is None:
            raise RuntimeError("The block no longer has its training data; pass the rows.")
        table, appended = self.bound
        if extra is None:
            extra = appended if only is None else appended[only]
        codes = table.codes if only is None else table.codes[only]
        return table._replace(
            codes=np.hstack([codes, extra.astype(codes.dtype)]) if self.n_appended else codes,
            n_codes=np.pad(table.n_codes, (0, self.n_appended), constant_values=2),
        )

    def unbind(self) -> None:
        """Let go of the coded table."""
        self.bound = None

    def __getstate__(self) -> dict[str, Any]:
        """Give what a copy or a file keeps: the trees in a compact form, for rows that are given for prediction."""
        moved = [_move_features(tree, self.places) for tree in self.trees]
        return {**vars(self), "trees": stack_trees(moved), "places": None, "bound": None, "forest": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Become the block of a copy or a file."""
        vars(self).update(state)
        self.trees = unstack_trees(state["trees"], self.n_categories)
        self.places = np.arange(len(self.n_categories))


class TreeClassBlock(TreeBlock):
    """One tree over several classes."""

    def probabilities(
        self, rows: Any = None, extra: npt.NDArray[Any] | None = None, only: Indices | None = None
    ) -> Scores:
        """Give the class shares in each row's leaf."""
        (tree,) = self.trees
        if rows is None:
            return tree.shares()[apply_codes(tree, self._bound_columns(extra, only))]
        reached, _ = self._reach(rows, extra, only)
        return tree.shares()[reached[:, 0]]


def append_columns(columns: CodedColumns, labels: npt.NDArray[np.integer]) -> CodedColumns:
    """Append columns of 0 and 1, coded as what they are, to a coded table."""
    n_appended = labels.shape[1]
    codes = labels.astype(columns.codes.dtype)
    n_codes = np.concatenate([columns.n_codes, np.full(n_appended, 2, dtype=np.int32)])
    bounds = np.tile([0.0, 1.0], n_appended)
    return CodedColumns(
        codes=np.hstack([columns.codes, codes]),
        n_codes=n_codes,
        offsets=np.concatenate([[0], np.cumsum(n_codes, dtype=np.int64)]),
        lower=np.concatenate([columns.lower, bounds]),
        upper=np.concatenate([columns.upper, bounds]),
        is_category=None if columns.is_category is None else np.pad(columns.is_category, (0, n_appended)),
        order=np.concatenate([columns.order, order_rows(codes)]),
    )


def _move_features(tree: Tree, places: npt.NDArray[np.intp]) -> Tree:
    """Let the splits of a tree name columns by their places in rows for prediction."""
    nodes = tree.nodes.copy()
    is_split = nodes["feature"] >= 0
    nodes["feature"][is_split] = places[nodes["feature"][is_split]]
    return tree._replace(nodes=nodes)


def as_table(X: Any) -> Any:
    """Check an array of numbers or gaps; frames are for the coder to check."""
    if as_frame(X) is not None:
        return X
    X = X.toarray() if sparse.issparse(X) else X
    return check_array(X, dtype=[np.float64, np.float32], ensure_all_finite="allow-nan", input_name="X")


def _map(work: Callable[[int], Tree], n_items: int, n_threads: int) -> list[Tree]:
    if n_threads == 1:
        return [work(item) for item in range(n_items)]
    with ThreadPoolExecutor(n_threads) as pool:
        return list(pool.map(work, range(n_items)))
