"""What an estimator that is a single tree can tell about it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from fuselearn._parameters import check_whole_number, count_threads
from fuselearn.engines.trees import Tree
from fuselearn.ensembles.table_estimator import validate_numbers
from fuselearn.learners.fusion import WeightedSum
from fuselearn.learners.table import TableCoder
from fuselearn.learners.tree import TreeComponent, TreeLearner, fit_coder


class SingleTree:
    """What a ``TableEstimator`` that is a single tree has beside: the tree, its leaves, and its description."""

    n_jobs: int | None
    n_features_in_: int
    feature_names_in_: npt.NDArray[Any]
    _coder_: Any
    _fused_: WeightedSum
    _adopt_alone: Callable[[Any], None]
    _read_rows: Callable[[Any], Any]

    @property
    def tree_(self) -> Tree:
        """Nodes, class weights and category subsets as arrays."""
        check_is_fitted(self)
        (component,) = self._fused_.components
        return component.tree  # type: ignore[attr-defined]

    def apply(self, X: Any) -> npt.NDArray[np.int32]:
        """Return the number of the leaf that each sample ends in.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        rows = self._read_rows(X)
        return self._fused_.leaves(rows, count_threads(self.n_jobs))[:, 0]

    def get_depth(self) -> int:
        """Return the number of splits on the longest path."""
        check_is_fitted(self)
        return self.tree_.depth

    def get_n_leaves(self) -> int:
        """Return the number of leaves."""
        check_is_fitted(self)
        return self.tree_.n_leaves

    @property
    def feature_importances_(self) -> npt.NDArray[np.float64]:
        """Impurity removed by each feature's splits, less what is put down to chance, as shares that sum to one."""
        return tree_importances(self.tree_, self.n_features_in_)

    def export_text(self, *, decimals: int = 2) -> str:
        """Write the tree out, one line per node.

        Parameters
        ----------
        decimals : int, default=2
            Digits behind the point of cut points and weights.
        """
        check_is_fitted(self)
        lines: list[str] = []
        self._write_node(0, "", "", decimals, lines)
        return "\n".join(lines)

    def _write_node(self, node: int, indent: str, condition: str, decimals: int, lines: list[str]) -> None:
        record = self.tree_.nodes[node]
        if record["feature"] < 0:
            leaf = self._describe_leaf(node, decimals)
            lines.append(f"{indent}{condition}: {leaf}" if condition else leaf)
            return
        if condition:
            lines.append(indent + condition)
            indent += "  "
        for side, side_condition in enumerate(self._conditions(node, decimals)):
            self._write_node(record["left"] + side, indent, side_condition, decimals, lines)

    def _conditions(self, node: int, decimals: int) -> tuple[str, str]:
        """Return which samples go to the left and which to the right."""
        record = self.tree_.nodes[node]
        feature = record["feature"]
        name = self.feature_names_in_[feature] if hasattr(self, "feature_names_in_") else f"x[{feature}]"
        if record["is_category"]:
            left, right = self._sides(record)
            return f"{name} in {left}", f"{name} in {right}"
        if np.isinf(record["threshold"]):
            return f"{name} is not missing", f"{name} is missing"
        cut = shorten(record["threshold"], decimals)
        return f"{name} < {cut}", f"{name} >= {cut}"

    def _sides(self, record: Any) -> tuple[str, str]:
        """Name the categories on the left and on the right of a split."""
        levels = None if self._coder_ is None else self._coder_.categories_[record["feature"]]
        assert levels is not None, "category splits are made on category columns only"
        numbers = np.arange(len(levels))
        words = self.tree_.subsets[record["cut"] + numbers // 32]
        is_left = (words >> (numbers % 32).astype(np.uint32)) & 1 == 1
        left, right = (", ".join(map(str, levels[side])) for side in (is_left, ~is_left))
        return "{" + left + "}", "{" + right + "}"

    def _describe_leaf(self, node: int, decimals: int) -> str:
        """Describe what a leaf predicts."""
        raise NotImplementedError

    _validate_table = staticmethod(validate_numbers)

    def _bind_table(self, X: Any, n_threads: int) -> TreeLearner:
        """Bind a table to the tree engine."""
        coder, matrix = fit_coder(X)
        return TreeLearner(matrix, coder, self, n_threads)

    def _take_over(self, component: TreeComponent, coder: TableCoder, names: npt.NDArray[Any] | None) -> None:
        """Become the fitted estimator of a grown tree."""
        self.n_features_in_ = len(coder.n_categories_)
        if names is not None:
            self.feature_names_in_ = names
        self._coder_ = coder
        self._adopt_alone(component)


def tree_importances(tree: Tree, n_features: int) -> npt.NDArray[np.float64]:
    """Return the impurity removed by each feature's splits, as shares that sum to one."""
    is_split = tree.nodes["feature"] >= 0
    gains = np.zeros(n_features)
    np.add.at(gains, tree.nodes["feature"][is_split], tree.nodes["gain"][is_split])
    return gains / gains.sum() if gains.any() else gains


def shorten(number: float, decimals: int) -> str:
    """Write a number with at most so many digits behind the point."""
    return f"{number:.{decimals}f}".rstrip("0").rstrip(".") if decimals > 0 else f"{number:.0f}"


def read_depth(max_depth: int | None) -> int:
    """Check the parameter ``max_depth`` and return the most splits on a path, which None does not limit."""
    return 2**31 - 1 if max_depth is None else check_whole_number("max_depth", max_depth, 1)


def check_bins(max_bins: int | None) -> None:
    """Check the parameter ``max_bins``."""
    if max_bins is not None:
        check_whole_number("max_bins", max_bins, 2)
        if max_bins > 65_535:
            raise ValueError(f"max_bins must be at most 65535, not {max_bins}.")
