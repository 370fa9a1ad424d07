"""Multi-label models that are sums of trees with a vector of values per leaf, and the coded table for growing them.

A fully grown tree has about as many leaves as samples, and with hundreds of labels the values of its nodes take most of
the memory of a forest. A leaf with a single sample has the labels of that sample in every tree, so identical values are
stored once (`LeafValues`), and only for leaves: the values of inner nodes follow from them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.special import expit

from fuselearn._core import Forest, SparseTable, Table, Tree
from fuselearn.learners import Bound, LabelModel, Learner, TableCoder
from fuselearn.learners.forests import stack_trees, sum_leaf_values, unstack_trees
from fuselearn.learners.learner import Indices
from fuselearn.learners.table import code_columns, code_entries, is_mostly_zero
from fuselearn.learners.trees import as_table, fit_coder
from fuselearn.multilabel.base import Scores


class LabelTableCoder(TableCoder):
    """A coder that returns sparse matrices unchanged."""

    def transform(self, X: Any) -> Any:
        """Return samples as numbers, category codes and NaN."""
        table = as_table(X)
        return table if sparse.issparse(table) else super().transform(table)


class LabelTable(Learner):
    """A coded table for growing trees that split for all labels at once.

    Parameters
    ----------
    X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)
    n_threads : int
    max_bins : int, optional
        Features with more distinct values are binned into this many bins.
    skip_zeros : bool, default=True
        Whether zeros are not stored if most values are zero.
    """

    def __init__(self, X: Any, n_threads: int, max_bins: int | None = None, *, skip_zeros: bool = True) -> None:
        self.n_samples, self.n_features = X.shape
        self.n_threads = n_threads
        self.coder = LabelTableCoder().fit(as_table(X))
        matrix = self.coder.transform(X)
        if skip_zeros and not self.coder.n_categories_.any() and is_mostly_zero(matrix):
            self.bound = Bound(code_entries(matrix))
        else:
            self.bound = Bound(code_columns(fit_coder(X)[1], self.coder.n_categories_, max_bins, n_threads))

    @property
    def columns(self) -> Table | SparseTable:
        """The coded table."""
        return self.bound.table

    def release(self) -> None:
        """Release the coded table."""
        self.bound.release()


class LabelForest(LabelModel):
    """A sum of trees with values for all labels.

    Only the values of leaves are stored, separately from the trees.

    Parameters
    ----------
    trees : iterable of (Tree, array of shape (n_nodes, n_labels))
        Trees and the values of their nodes. With a generator, the values of all trees are never in memory at once.
    n_categories : int array of shape (n_features,)
    start : array of shape (n_labels,)
        Constant added to the sum.
    divisor : float
        Divisor of the sum.
    is_logistic : bool
        Whether the result is a log-odds instead of a probability.
    n_threads : int
        Threads for prediction.
    """

    def __init__(
        self,
        trees: Iterable[tuple[Tree, Scores]],
        n_categories: npt.NDArray[np.int32],
        *,
        start: Scores,
        divisor: float = 1.0,
        is_logistic: bool = False,
        n_threads: int = 1,
    ) -> None:
        self.n_categories = n_categories
        self.start = start
        self.divisor = divisor
        self.is_logistic = is_logistic
        self.n_threads = n_threads
        self.trees: list[Tree] = []
        self.leaf_values: LeafValues | None = None
        collector = LeafCollector()
        for tree, values in trees:
            collector.add(tree.nodes["feature"] < 0, values)
            self.trees.append(tree.with_values(np.empty((tree.n_nodes, 0))))
        if self.trees:
            self.leaf_values = collector.collect()
            self.forest = Forest(self.trees, n_categories, self.leaf_values.numbers)

    def scores(self, X: Any = None, *, appended: Any = None, only: Indices | None = None) -> Scores:
        """Return the probability of each label."""
        if X is None:
            raise RuntimeError("A forest stores no training samples; pass X.")
        X = X if only is None else X[only]
        total = np.tile(self.start, (X.shape[0], 1))
        if self.leaf_values is not None:
            total += sum_leaf_values(self.forest, self.leaf_values.rows, X, self.n_threads)
        total /= self.divisor
        # Sums of zeros and ones are exact; other sums of probabilities may exceed the number of trees by rounding.
        return expit(total) if self.is_logistic else np.minimum(total, 1.0)

    def trees_with_values(self) -> Iterator[tuple[Tree, Scores]]:
        """Yield each tree with the values of its leaves, in an array with one row per node."""
        if self.leaf_values is None:
            return
        rows, numbers = self.leaf_values
        for tree, first in zip(self.trees, self.forest.roots, strict=True):
            yield tree, rows[numbers[first : first + len(tree.nodes)]]

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for a copy or a file: the trees in compact form, not packed for prediction."""
        state = {name: value for name, value in vars(self).items() if name != "forest"}
        if self.leaf_values is not None:
            state |= {"trees": stack_trees(self.trees), "leaf_values": self.leaf_values._asdict()}
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore the model from the state of a copy or a file."""
        vars(self).update(state)
        if state["leaf_values"] is not None:
            self.trees = unstack_trees(state["trees"], self.n_categories)
            self.leaf_values = restore_leaf_values(state["leaf_values"], self.trees)
            self.forest = Forest(self.trees, self.n_categories, self.leaf_values.numbers)


class LeafValues(NamedTuple):
    """The values of the leaves of several trees.

    ``rows[numbers[k]]`` are the values of node ``k``, where the nodes of all trees are numbered consecutively. Inner
    nodes have the number -1.
    """

    rows: npt.NDArray[np.float64]
    numbers: npt.NDArray[np.int32]


class LeafCollector:
    """Collect the values of leaves tree by tree.

    Examples
    --------
    Two trees, the second of which is a single leaf.

    >>> collector = LeafCollector()
    >>> collector.add(np.array([False, True, True]), np.array([[0.5, 0.5], [1.0, 0.0], [0.0, 1.0]]))
    >>> collector.add(np.array([True]), np.array([[0.0, 1.0]]))
    >>> collector.collect()
    LeafValues(rows=array([[0., 1.],
           [1., 0.]]), numbers=array([-1,  1,  0,  0], dtype=int32))
    """

    def __init__(self) -> None:
        self._rows: dict[bytes, int] = {}
        self._numbers: list[npt.NDArray[np.int32]] = []

    def add(self, is_leaf: npt.NDArray[np.bool_], values: npt.NDArray[np.float64]) -> None:
        """Add a tree, given a mask of its leaves and the values of all nodes."""
        n_bytes = values.itemsize * values.shape[1]
        leaves = np.ascontiguousarray(values[is_leaf]).view(f"V{n_bytes}").ravel()
        rows, own = np.unique(leaves, return_inverse=True)  # most leaves of a tree have the same values
        known = [self._rows.setdefault(row, len(self._rows)) for row in rows.tolist()]
        numbers = np.full(len(is_leaf), -1, dtype=np.int32)
        numbers[is_leaf] = np.array(known, dtype=np.int32)[own]
        self._numbers.append(numbers)

    def collect(self) -> LeafValues:
        """Return the values of at least one tree; the collector is empty afterwards."""
        n_values = len(next(iter(self._rows))) // np.dtype(np.float64).itemsize
        rows = np.empty((len(self._rows), n_values))
        while self._rows:  # entries are removed one by one, so that memory never holds two copies
            row, number = self._rows.popitem()
            rows[number] = np.frombuffer(row)
        numbers = np.concatenate(self._numbers)
        self._numbers.clear()
        return LeafValues(rows, numbers)


def restore_leaf_values(stored: Mapping[str, npt.NDArray[Any]], trees: Sequence[Tree]) -> LeafValues:
    """Return the leaf values of a file, after checking that they fit the trees, which kernels do not check."""
    rows, numbers = stored.get("rows"), stored.get("numbers")
    is_leaf = np.concatenate([tree.nodes["feature"] < 0 for tree in trees])
    if not (
        isinstance(rows, np.ndarray)
        and isinstance(numbers, np.ndarray)
        and rows.dtype == np.float64
        and rows.ndim == 2
        and numbers.dtype == np.int32
        and numbers.shape == is_leaf.shape
        and (numbers[is_leaf] >= 0).all()
        and (numbers[is_leaf] < len(rows)).all()
    ):
        raise ValueError("The values of the leaves do not match the trees.")
    return LeafValues(np.ascontiguousarray(rows), numbers)


def sum_impurity_decreases(tree: Tree, n_features: int) -> npt.NDArray[np.float64]:
    """Compute for each label and feature the total decrease of Gini impurity by splits on the feature.

    With w the weight of the samples in a node and v the weight of those with the label, the weighted impurity of the
    node is 2 v (w - v) / w. The decrease by a split is the value of the node minus the values of its two children.

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

    >>> from fuselearn._core import NODE
    >>> nodes = np.zeros(3, dtype=NODE)
    >>> nodes["feature"], nodes["left"], nodes["weight"] = (1, -1, -1), (1, -1, -1), (4, 2, 2)
    >>> sum_impurity_decreases(Tree(nodes, np.array([[2.0], [2.0], [0.0]]), np.empty(0, np.uint32)), 3)
    array([[0., 2., 0.]])
    """
    weight = tree.nodes["weight"][:, None]
    impurity = 2 * tree.values * (weight - tree.values) / np.where(weight > 0, weight, 1.0)
    splits = np.flatnonzero(tree.nodes["feature"] >= 0)
    left = tree.nodes["left"][splits]
    # Gini impurity is concave, so decreases are negative only by rounding.
    decreases = np.maximum(impurity[splits] - impurity[left] - impurity[left + 1], 0.0)
    sums = np.zeros((n_features, tree.values.shape[1]))
    np.add.at(sums, tree.nodes["feature"][splits], decreases)
    return np.ascontiguousarray(sums.T)


def scale_rows(importances: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Normalize each row to a sum of 1; rows of zeros are unchanged.

    Examples
    --------
    >>> scale_rows(np.array([[1.0, 3.0], [0.0, 0.0]]))
    array([[0.25, 0.75],
           [0.  , 0.  ]])
    """
    sums = importances.sum(axis=1, keepdims=True)
    return importances / np.where(sums > 0, sums, 1.0)
