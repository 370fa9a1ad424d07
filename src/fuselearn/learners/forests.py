"""Trained trees: models of one tree or one per label, forests packed for prediction, and arrays of trees for files.

A file has one array per field of the node record over all trees, with integers in the smallest dtype that holds them,
which takes fewer bytes than records. On loading, everything that is used as an index is checked, because prediction
does not check bounds and a forged file must not read outside of the arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from fuselearn import _core
from fuselearn._core import NODE, Forest, Table, Tree
from fuselearn.learners.learner import Bound, Indices, LabelModel, Model, Scores

# Number of values of a sparse matrix that are converted to dense at once.
DENSE_VALUES = 1 << 22
# Number of nodes that are packed at once, so that they stay in the processor's cache.
BLOCK_NODES = 4096

Stored = dict[str, npt.NDArray[Any]]


class TreeModel(Model):
    """A classification or regression tree; the scores of a regression tree are means.

    Examples
    --------
    >>> from fuselearn import CARTClassifier
    >>> from fuselearn.learners import bind, class_target
    >>> learner = bind(CARTClassifier(min_samples_split=2), np.arange(4.0)[:, None])
    >>> target = class_target(np.array([0, 0, 1, 1], dtype=np.int32), 2)
    >>> learner.train(target, np.ones(4, dtype=np.int32), seed=0).scores()
    array([[1., 0.],
           [1., 0.],
           [0., 1.],
           [0., 1.]])
    """

    __slots__ = ("bound", "n_categories", "tree")

    def __init__(self, tree: Tree, n_categories: npt.NDArray[np.int32], bound: Bound | None = None) -> None:
        self.tree = tree
        self.n_categories = n_categories
        self.bound = Bound() if bound is None else bound

    def scores(self, X: Any = None, *, appended: npt.NDArray[Any] | None = None, only: Indices | None = None) -> Scores:
        """Return the class fractions, or the mean, in the leaf of each sample."""
        return self.tree.shares()[self._leaves(X, appended, only)]

    def votes(self, X: Any = None) -> npt.NDArray[np.int32]:
        """Return the majority class in the leaf of each sample; ties go to the first class."""
        if X is None:
            return self.tree.vote(_bound_columns(self.bound))
        return self.tree.values.argmax(axis=1).astype(np.int32)[self._leaves(X, None, None)]

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for a copy or a file: the tree, without the coded table."""
        return store_trees([self])

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore the model of a copy or a file."""
        (restored,) = restore_trees(state)
        self.__init__(restored.tree, restored.n_categories)  # type: ignore[misc]

    def _leaves(self, X: Any, appended: npt.NDArray[Any] | None, only: Indices | None) -> npt.NDArray[np.int32]:
        if X is None:
            return self.tree.apply(_bound_columns(self.bound, appended, only))
        forest = Forest([self.tree], self.n_categories)
        return apply_forest(forest, _complete(X, appended, only, len(self.n_categories)))[:, 0]


class LabelTrees(LabelModel):
    """Trees, one per label.

    Examples
    --------
    >>> from fuselearn import CARTClassifier
    >>> from fuselearn.learners import bind, label_target
    >>> learner = bind(CARTClassifier(min_samples_split=2), np.arange(4.0)[:, None])
    >>> target = label_target(np.array([[0, 1], [0, 1], [1, 1], [1, 0]]))
    >>> learner.train(target, np.ones(4, dtype=np.int32), seed=0).scores()
    array([[0., 1.],
           [0., 1.],
           [1., 1.],
           [1., 0.]])
    """

    def __init__(
        self, trees: list[Tree], n_categories: npt.NDArray[np.int32], bound: Bound | None = None, n_threads: int = 1
    ) -> None:
        self.trees = trees
        self.n_categories = n_categories
        self.bound = Bound() if bound is None else bound
        self.n_threads = n_threads
        self.forest: Forest | None = None

    def scores(self, X: Any = None, *, appended: npt.NDArray[Any] | None = None, only: Indices | None = None) -> Scores:
        """Return the fraction of training samples with each label in the leaf of each sample."""
        if X is None:
            columns = _bound_columns(self.bound, appended, only)
            return np.column_stack([tree.shares()[tree.apply(columns), 1] for tree in self.trees])
        if self.forest is None:
            self.forest = Forest(self.trees, self.n_categories)
        reached = apply_forest(self.forest, _complete(X, appended, only, len(self.n_categories)), self.n_threads)
        return np.concatenate([tree.shares()[:, 1] for tree in self.trees])[reached + self.forest.roots]

    def split(self) -> list[TreeModel]:
        """Return each tree as a separate model of the classes 0 and 1."""
        return [TreeModel(tree, self.n_categories) for tree in self.trees]

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for a copy or a file: the trees in compact form, without the coded table."""
        return {**vars(self), "trees": stack_trees(self.trees), "forest": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore the model of a copy or a file."""
        vars(self).update(state)
        self.trees = unstack_trees(state["trees"], self.n_categories)


def _bound_columns(bound: Bound, appended: npt.NDArray[Any] | None = None, only: Indices | None = None) -> Table:
    """Return all or some of the coded training samples, with appended features."""
    table: Table = bound.table
    if appended is None:
        appended = bound.appended if only is None else bound.appended[only]
    chosen = table if only is None else table.take(only.astype(np.int64, copy=False))
    return chosen.append_flags(appended.astype(np.uint8)) if appended.shape[1] else chosen


def _complete(X: Any, appended: npt.NDArray[Any] | None, only: Indices | None, n_features: int) -> Any:
    """Select samples and append the features of an extended learner."""
    X = X if only is None else X[only]
    if appended is not None:
        X = np.hstack([X, appended])
    assert X.shape[1] == n_features, "samples for an extended learner need its appended features"
    return X


def store_trees(models: Sequence[TreeModel]) -> dict[str, Any]:
    """Convert the trees of an ensemble to a few arrays, for copies and files."""
    return {"trees": stack_trees([model.tree for model in models]), "n_categories": models[0].n_categories}


def restore_trees(state: dict[str, Any]) -> list[TreeModel]:
    """Convert the arrays of ``store_trees`` back to models, after validating them."""
    n_categories = np.ascontiguousarray(state["n_categories"], dtype=np.int32)
    return [TreeModel(tree, n_categories) for tree in unstack_trees(state["trees"], n_categories)]


class PackedTrees:
    """A weighted sum of trees in a layout for fast prediction.

    Parameters
    ----------
    models : sequence of TreeModel
    coefficients : array of shape (n_models,)
    voting : bool array of shape (n_models,)
        Whether a tree contributes its vote, 1 for a single class, instead of its scores.
    """

    def __init__(
        self, models: Sequence[TreeModel], coefficients: npt.NDArray[np.float64], voting: npt.NDArray[np.bool_]
    ) -> None:
        trees = [model.tree for model in models]
        self.forest = Forest(trees, models[0].n_categories)
        values = [
            tree_values(tree, coefficient, votes)
            for tree, coefficient, votes in zip(trees, coefficients, voting, strict=True)
        ]
        is_leaf = np.concatenate([tree.nodes["feature"] < 0 for tree in trees])
        self.leaf_values = np.concatenate(values)[is_leaf]

    def scores(self, X: npt.NDArray[np.floating], n_threads: int = 1) -> npt.NDArray[np.float64]:
        """Return the weighted sum of the trees' scores or votes for each sample."""
        return sum_leaf_values(self.forest, self.leaf_values, X, n_threads)

    def leaves(self, X: npt.NDArray[np.floating], n_threads: int = 1) -> npt.NDArray[np.int32]:
        """Return the node index of the leaf of each sample in each tree."""
        return apply_forest(self.forest, X, n_threads)


def tree_values(tree: Tree, coefficient: float, votes: bool) -> npt.NDArray[np.float64]:
    """Return the contribution of each node: the coefficient times its vote or its scores."""
    scores = tree.shares()
    values = np.eye(scores.shape[1])[scores.argmax(axis=1)] if votes else scores
    return coefficient * values


def sum_leaf_values(
    forest: Forest, leaf_values: npt.NDArray[np.float64], X: Any, n_threads: int = 1
) -> npt.NDArray[np.float64]:
    """Return the sum of the values of the leaves of each sample, one leaf per tree.

    X is an array or a sparse matrix, which is converted to dense in batches. ``leaf_values[k]`` are the values of leaf
    k of the forest.

    Examples
    --------
    >>> nodes = np.zeros(3, dtype=NODE)
    >>> nodes["feature"], nodes["left"], nodes["threshold"] = (0, -1, -1), (1, -1, -1), (0.5, 0, 0)
    >>> tree = Tree(nodes, np.array([[2.0, 2.0], [2.0, 0.0], [0.0, 2.0]]), np.empty(0, np.uint32))
    >>> forest = Forest([tree], np.zeros(1, dtype=np.int32))
    >>> sum_leaf_values(forest, np.array([[-1.0], [1.0]]), np.array([[0.4], [0.5], [np.nan]])).ravel()
    array([-1.,  1.,  1.])
    """
    return _predict_dense(
        lambda dense: forest.sum_leaf_values(leaf_values, dense, n_threads), X, leaf_values.shape[1], np.float64
    )


def apply_forest(forest: Forest, X: Any, n_threads: int = 1) -> npt.NDArray[np.int32]:
    """Return the node index of the leaf of each sample in each tree."""
    return _predict_dense(lambda dense: forest.apply(dense, n_threads), X, forest.n_trees, np.int32)


def _predict_dense(
    predict: Callable[[npt.NDArray[np.floating]], npt.NDArray[Any]], X: Any, n_outputs: int, dtype: type
) -> npt.NDArray[Any]:
    """Predict from floats; a sparse matrix is converted to dense in batches."""
    if not sparse.issparse(X):
        return predict(_as_floats(X))
    X = X.tocsr()
    n_samples, n_features = X.shape
    predicted = np.empty((n_samples, n_outputs), dtype=dtype)
    size = max(16, DENSE_VALUES // max(1, n_features))
    for start in range(0, n_samples, size):
        samples = slice(start, start + size)
        predicted[samples] = predict(_as_floats(X[samples].toarray()))
    return predicted


def _as_floats(X: Any) -> npt.NDArray[np.floating]:
    """Return an array of floats unchanged, and other numbers as float64."""
    X = np.asarray(X)
    return X if X.dtype in (np.float64, np.float32) else X.astype(np.float64)


def stack_trees(trees: Sequence[Tree]) -> Stored:
    """Convert trees to a few arrays.

    Parameters
    ----------
    trees : sequence of Tree
        At least one; all with values of the same width.

    Returns
    -------
    dict of arrays
        One per field of the node record, ``values`` and ``subsets``, concatenated over the trees, and the number of
        nodes (``n_nodes``) and of words of subsets (``n_words``) of each tree.
    """
    nodes = np.concatenate([tree.nodes for tree in trees])
    stored = {name: _narrow(nodes[name]) for name in _FIELDS}
    stored["values"] = _narrow(np.concatenate([tree.values for tree in trees]))
    stored["subsets"] = np.concatenate([tree.subsets for tree in trees])
    stored["n_nodes"] = np.array([len(tree.nodes) for tree in trees])
    stored["n_words"] = np.array([len(tree.subsets) for tree in trees])
    return stored


def unstack_trees(stored: Mapping[str, npt.NDArray[Any]], n_categories: npt.NDArray[np.int32]) -> list[Tree]:
    """Convert the arrays back to trees, after checking that they are valid trees for these columns.

    Parameters
    ----------
    stored : mapping of arrays
        As returned by ``stack_trees``.
    n_categories : int32 array of shape (n_columns,)
        Number of categories of each column, 0 for a numeric column.

    Returns
    -------
    list of Tree
    """
    if not set(stored) == {*_FIELDS, "values", "subsets", "n_nodes", "n_words"}:
        raise ValueError("The model file is invalid: it does not have the expected arrays of trees.")
    if any(not isinstance(part, np.ndarray) or part.dtype.kind not in "biuf" for part in stored.values()):
        raise ValueError("The model file is invalid: its trees are not arrays of numbers.")
    n_nodes, n_words = stored["n_nodes"].astype(np.int64), stored["n_words"].astype(np.int64)
    total = len(stored["feature"])
    if (
        any(stored[name].shape != (total,) for name in _FIELDS)
        or stored["values"].ndim != 2
        or len(stored["values"]) != total
        or stored["subsets"].ndim != 1
        or n_nodes.ndim != 1
        or n_nodes.shape != n_words.shape
        or (n_nodes < 1).any()
        or (n_words < 0).any()
        or n_nodes.sum() != total
        or n_words.sum() != len(stored["subsets"])
    ):
        raise ValueError("The model file is invalid: the lengths of its arrays of trees do not match.")
    n_categories = np.ascontiguousarray(n_categories, dtype=np.int32)
    ends, word_ends = np.cumsum(n_nodes), np.cumsum(n_words)
    trees: list[Tree] = []
    while len(trees) < len(n_nodes):
        first = len(trees)
        start, word_start = ends[first] - n_nodes[first], word_ends[first] - n_words[first]
        last = max(first, int(np.searchsorted(ends, start + BLOCK_NODES)) - 1)
        block, words = slice(start, ends[last]), slice(word_start, word_ends[last])
        nodes = np.empty(ends[last] - start, dtype=NODE)
        for name in _FIELDS:
            nodes[name] = stored[name][block]
        trees += _core.unstack_trees(
            nodes,
            stored["values"][block].astype(np.float64),
            stored["subsets"][words].astype(np.uint32),
            n_nodes[first : last + 1],
            n_words[first : last + 1],
            n_categories,
        )
    return trees


def _narrow(numbers: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Convert numbers to the smallest integer dtype that holds them exactly, or return them unchanged."""
    numbers = np.ascontiguousarray(numbers)
    if numbers.dtype.kind == "b" or numbers.size == 0:
        return numbers
    low, high = numbers.min(), numbers.max()
    for kind in (np.uint8, np.int8, np.uint16, np.int16, np.uint32, np.int32):
        if low >= np.iinfo(kind).min and high <= np.iinfo(kind).max:  # NaN is nowhere between
            narrow = numbers.astype(kind)
            # Bytes are compared, because -0.0 must not become 0.0.
            return narrow if narrow.astype(numbers.dtype).tobytes() == numbers.tobytes() else numbers
    return numbers


_FIELDS = NODE.names or ()
