"""Base class of multi-label models that are a sum of trees: packing, prediction and pickling."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from fuselearn._parameters import count_threads
from fuselearn.engines.forests import (
    Forest,
    LeafCollector,
    LeafValues,
    restore_leaf_values,
    stack_trees,
    sum_leaf_values,
    unstack_trees,
)
from fuselearn.engines.tables import SparseTable, Table, code_columns, code_entries, is_mostly_zero
from fuselearn.engines.trees import Tree
from fuselearn.learners import TableCoder
from fuselearn.learners.tree import as_table, fit_coder
from fuselearn.multilabel.learning.base import Scores


class SummedTrees:
    """The sum of the values of the leaves that a sample reaches, one leaf per tree: part of a ``MultilabelClassifier``.

    Subclasses code X with ``_code_table``, pass their trees to ``_keep_trees``, and implement ``_node_values``. Of the
    values of nodes only those of leaves are kept, apart from the trees.
    """

    n_jobs: int | None
    _coder_: TableCoder
    _trees_: list[Tree]
    _leaf_values_: LeafValues

    def __sklearn_tags__(self) -> Any:
        """Return scikit-learn's tags of the estimator."""
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags

    def _code_table(self, X: Any, max_bins: int | None = None) -> Table:
        """Code a validated training X for the tree engine."""
        self._coder_, matrix = fit_coder(X)
        return code_columns(matrix, self._coder_.n_categories_, max_bins, count_threads(self.n_jobs))

    def _code_entries(self, X: Any) -> Table | SparseTable:
        """Code a validated training X for the tree engine, without its zeros if most values are zero."""
        table = as_table(X)
        self._coder_ = TableCoder().fit(table)
        matrix = table if sparse.issparse(table) else self._coder_.transform(table)
        if not self._coder_.n_categories_.any() and is_mostly_zero(matrix):
            return code_entries(matrix)
        return self._code_table(X)

    def _node_values(self, tree: Tree) -> npt.NDArray[np.float64]:
        """Return the value that each node of a grown tree adds to the sum, label by label."""
        raise NotImplementedError

    def _keep_trees(self, trees: Iterable[Tree]) -> None:
        """Store grown trees for prediction. If they come one by one, the values of all nodes are never held at once."""
        self._trees_, collector = [], LeafCollector()
        for tree in trees:
            collector.add(tree.nodes["feature"] < 0, self._node_values(tree))
            self._trees_.append(tree.with_values(np.empty((tree.n_nodes, 0))))
        if self._trees_:
            self._leaf_values_ = collector.collect()
            self._pack()

    def _pack(self) -> None:
        self._forest_ = Forest(self._trees_, self._coder_.n_categories_, self._leaf_values_.numbers)

    def _trees_with_leaf_values(self) -> Iterator[tuple[Tree, npt.NDArray[np.float64]]]:
        """Yield each tree with the values of its leaves, in an array that has a row for each node."""
        rows, numbers = self._leaf_values_
        for tree, first in zip(self._trees_, self._forest_.roots, strict=True):
            yield tree, rows[numbers[first : first + len(tree.nodes)]]

    def _sum_trees(self, X: Any) -> Scores:
        """Sum the leaf values for the samples of a validated X."""
        table = as_table(X)
        samples = table if sparse.issparse(table) else self._coder_.transform(table)
        return sum_leaf_values(self._forest_, self._leaf_values_.rows, samples, count_threads(self.n_jobs))

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for copies and files: the trees in a compact form, not packed for prediction."""
        kept: dict[str, Any] = super().__getstate__()  # type: ignore[assignment]
        state = {k: v for k, v in kept.items() if k not in ("_forest_", "_leaf_values_")}
        if state.get("_trees_"):
            state["_trees_"] = stack_trees(self._trees_)
            state["_leaf_values_"] = self._leaf_values_._asdict()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore the model of a copy or a file; one of an earlier version has the values of all nodes."""
        super().__setstate__(state)  # type: ignore[misc]
        if not state.get("_trees_"):
            return
        trees = unstack_trees(state["_trees_"], self._coder_.n_categories_)
        if "_leaf_values_" not in state:
            self._keep_trees(trees)
            return
        self._trees_ = trees
        self._leaf_values_ = restore_leaf_values(state["_leaf_values_"], trees)
        self._pack()


def sum_impurity_decreases(tree: Tree, n_features: int) -> npt.NDArray[np.float64]:
    """Compute for each label and feature the total decrease of Gini impurity by splits on the feature.

    With w the weight of the samples in a node and v that of those with the label, its impurity times its weight is
    2 v (w - v) / w. The decrease of a split is the value of the node minus those of its two children.

    Parameters
    ----------
    tree : Tree
        Its ``values`` are the weights of the labels in each node.
    n_features : int

    Returns
    -------
    array of shape (n_labels, n_features)

    Examples
    --------
    Two of four samples have the label; a split on the second of three features separates them.

    >>> from fuselearn.engines.trees import NODE
    >>> nodes = np.zeros(3, dtype=NODE)
    >>> nodes["feature"], nodes["left"], nodes["weight"] = (1, -1, -1), (1, -1, -1), (4, 2, 2)
    >>> sum_impurity_decreases(Tree(nodes, np.array([[2.0], [2.0], [0.0]]), np.empty(0, np.uint32)), 3)
    array([[0., 2., 0.]])
    """
    weight = tree.nodes["weight"][:, None]
    impurity = 2 * tree.values * (weight - tree.values) / np.where(weight > 0, weight, 1.0)
    splits = np.flatnonzero(tree.nodes["feature"] >= 0)
    left = tree.nodes["left"][splits]
    # Gini impurity is concave, so only rounding can make a decrease negative.
    decreases = np.maximum(impurity[splits] - impurity[left] - impurity[left + 1], 0.0)
    sums = np.zeros((n_features, tree.values.shape[1]))
    np.add.at(sums, tree.nodes["feature"][splits], decreases)
    return np.ascontiguousarray(sums.T)


def scale_rows(importances: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Normalise each row to a sum of 1; rows of zeros are unchanged.

    Examples
    --------
    >>> scale_rows(np.array([[1.0, 3.0], [0.0, 0.0]]))
    array([[0.25, 0.75],
           [0.  , 0.  ]])
    """
    sums = importances.sum(axis=1, keepdims=True)
    return importances / np.where(sums > 0, sums, 1.0)
