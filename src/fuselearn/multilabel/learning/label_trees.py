"""Base class of multi-label models that are a sum of trees: packing, prediction and pickling."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fuselearn._parameters import count_threads
from fuselearn.engines.tree import (
    CodedColumns,
    Tree,
    code_columns,
    pack_forest,
    stack_trees,
    sum_leaf_values,
    unstack_trees,
)
from fuselearn.multilabel.learning.base import Scores
from fuselearn.sensors import TableCoder
from fuselearn.sensors.tree import as_table, fit_coder


class SummedTrees:
    """The sum of the values of the leaves that a sample reaches, one leaf per tree: part of a ``MultilabelClassifier``.

    Subclasses code X with ``_code_table``, pass their trees to ``_keep_trees``, and implement ``_node_values``.
    """

    n_jobs: int | None
    _coder_: TableCoder
    _trees_: list[Tree]

    def __sklearn_tags__(self) -> Any:
        """Return scikit-learn's tags of the estimator."""
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags

    def _code_table(self, X: Any) -> CodedColumns:
        """Code a validated training X for the tree engine."""
        self._coder_, matrix = fit_coder(X)
        return code_columns(matrix, self._coder_.n_categories_, None, count_threads(self.n_jobs))

    def _node_values(self, tree: Tree) -> npt.NDArray[np.float64]:
        """Return the value that each node of a tree adds to the sum, label by label."""
        raise NotImplementedError

    def _keep_trees(self, trees: list[Tree]) -> None:
        """Store grown trees for prediction."""
        self._trees_ = trees
        if trees:
            self._forest_ = pack_forest(trees, self._coder_.n_categories_)
            self._leaf_values_ = np.concatenate([self._node_values(tree) for tree in trees])[self._forest_.leaves]

    def _sum_trees(self, X: Any) -> Scores:
        """Sum the leaf values for the samples of a validated X."""
        rows = self._coder_.transform(as_table(X))
        return sum_leaf_values(self._forest_, self._leaf_values_, rows, count_threads(self.n_jobs))

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for copies and files: the trees in a compact form, not packed for prediction."""
        kept: dict[str, Any] = super().__getstate__()  # type: ignore[assignment]
        state = {k: v for k, v in kept.items() if k not in ("_forest_", "_leaf_values_")}
        if state.get("_trees_"):
            state["_trees_"] = stack_trees(self._trees_)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore the model of a copy or a file."""
        super().__setstate__(state)  # type: ignore[misc]
        if state.get("_trees_"):
            self._keep_trees(unstack_trees(state["_trees_"], self._coder_.n_categories_))


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

    >>> from fuselearn.engines.tree.nodes import NODE
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
