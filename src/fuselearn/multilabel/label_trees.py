"""The common part of multi-label models that are a sum of trees: packing, predicting, and what files keep of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fuselearn.engines.tree import Tree, leaf_rows, pack_forest, stack_trees, sum_leaf_values, unstack_trees
from fuselearn.ensembles.base import count_threads
from fuselearn.multilabel.base import MultilabelClassifier, Scores
from fuselearn.multilabel.learners.tree import as_table
from fuselearn.sensors import TableCoder


class LabelTreesClassifier(MultilabelClassifier):
    """A multi-label classifier that sums up what the leaves say that a row reaches, one leaf per tree.

    Subclasses set ``_coder_``, hand their trees to ``_adopt``, and write ``_node_values``.
    """

    _coder_: TableCoder
    _trees_: list[Tree]

    def _node_values(self, tree: Tree) -> npt.NDArray[np.float64]:
        """Give what a tree adds to the sum for rows that end in each node, label by label."""
        raise TypeError("Estimators define this.")

    def _adopt(self, trees: list[Tree]) -> None:
        """Keep grown trees, laid out for prediction."""
        self._trees_ = trees
        if trees:
            self._forest_ = pack_forest(trees, self._coder_.n_categories_)
            self._leaf_values_ = np.concatenate([self._node_values(tree)[leaf_rows(tree)] for tree in trees])

    def _sum_trees(self, X: Any) -> Scores:
        """Sum up the leaves' values for the rows of a checked table."""
        rows = self._coder_.transform(as_table(X))
        return sum_leaf_values(self._forest_, self._leaf_values_, rows, count_threads(self.n_jobs))

    def __getstate__(self) -> dict[str, Any]:
        """Give what a copy or a file keeps: the trees in a compact form, but not laid out for prediction."""
        state = {k: v for k, v in super().__getstate__().items() if k not in ("_forest_", "_leaf_values_")}
        if state.get("_trees_"):
            state["_trees_"] = stack_trees(self._trees_)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Become the model of a copy or a file."""
        super().__setstate__(state)
        if state.get("_trees_"):
            self._adopt(unstack_trees(state["_trees_"], self._coder_.n_categories_))
