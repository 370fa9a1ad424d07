"""Many trees: their predictions for new samples, values of leaves that they share, and their arrays for files.

Samples of a coded table go down a single tree by its own ``apply`` and ``vote``.

A tree that is grown to the end has about as many leaves as samples, and with hundreds of labels the values of its nodes
take most of the memory of a forest. But a leaf with a single sample has the labels of that sample in every tree, so
equal values are kept once (`LeafValues`), and only for leaves: the values of other nodes follow from them.

For files, one array per field of the node record, over all trees, takes fewer bytes than records do: whole numbers
shrink to the smallest type that holds them. On the way back everything that is used as an index is checked, because a
descent does not look: a forged file must not lead it out of its arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from fuselearn import _core
from fuselearn._core import NODE, Forest, Tree

# A sparse matrix is made dense so many values at a time.
DENSE_VALUES = 1 << 22
# Trees are put together so many nodes at a time, while these are in the processor's cache.
BLOCK_NODES = 4096

Stored = dict[str, npt.NDArray[Any]]


def sum_leaf_values(
    forest: Forest, leaf_values: npt.NDArray[np.float64], X: Any, n_threads: int = 1
) -> npt.NDArray[np.float64]:
    """Return for each sample the sum of the values of the leaves that it reaches, one leaf per tree.

    X is an array or a sparse matrix, which is made dense a few samples at a time. ``leaf_values[k]`` belongs to leaf k
    of the forest.

    Examples
    --------
    >>> from fuselearn.engines.trees import NODE, Tree
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
    """Return for each sample and tree the node of that tree in which the sample ends."""
    return _predict_dense(lambda dense: forest.apply(dense, n_threads), X, forest.n_trees, np.int32)


def _predict_dense(
    predict: Callable[[npt.NDArray[np.floating]], npt.NDArray[Any]], X: Any, n_outputs: int, dtype: type
) -> npt.NDArray[Any]:
    """Predict from floats; a sparse matrix is made dense a few samples at a time."""
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
    """Return an array of floats as it is, and other numbers as doubles."""
    X = np.asarray(X)
    return X if X.dtype in (np.float64, np.float32) else X.astype(np.float64)


class LeafValues(NamedTuple):
    """The values of the leaves of several trees.

    ``rows[numbers[k]]`` are the values of node ``k``, counted over all trees, one after the other. Nodes that are no
    leaves have the number -1.
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
    LeafValues(rows=array([[1., 0.],
           [0., 1.]]), numbers=array([-1,  0,  1,  1], dtype=int32))
    """

    def __init__(self) -> None:
        self._rows: dict[bytes, int] = {}
        self._numbers: list[npt.NDArray[np.int32]] = []

    def add(self, is_leaf: npt.NDArray[np.bool_], values: npt.NDArray[np.float64]) -> None:
        """Add a tree, given which of its nodes are leaves, and the values of all nodes."""
        n_bytes = values.itemsize * values.shape[1]
        rows = np.ascontiguousarray(values[is_leaf]).view(f"V{n_bytes}").ravel().tolist()
        numbers = np.full(len(is_leaf), -1, dtype=np.int32)
        numbers[is_leaf] = [self._rows.setdefault(row, len(self._rows)) for row in rows]
        self._numbers.append(numbers)

    def collect(self) -> LeafValues:
        """Return the values of at least one tree; the collector is empty afterwards."""
        n_values = len(next(iter(self._rows))) // np.dtype(np.float64).itemsize
        rows = np.empty((len(self._rows), n_values))
        while self._rows:  # so that there are never two copies of all
            row, number = self._rows.popitem()
            rows[number] = np.frombuffer(row)
        numbers = np.concatenate(self._numbers)
        self._numbers.clear()
        return LeafValues(rows, numbers)


def restore_leaf_values(stored: Mapping[str, npt.NDArray[Any]], trees: Sequence[Tree]) -> LeafValues:
    """Return the leaf values of a file, after checking that they belong to these trees: kernels do not look."""
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
        raise ValueError("The values of the leaves do not fit the trees.")
    return LeafValues(np.ascontiguousarray(rows), numbers)


def stack_trees(trees: Sequence[Tree]) -> Stored:
    """Bring trees into a few arrays.

    Parameters
    ----------
    trees : sequence of Tree
        At least one; all with values of the same width.

    Returns
    -------
    dict of arrays
        One per field of the node record, ``values`` and ``subsets``, tree after tree, and how many nodes
        (``n_nodes``) and words of subsets (``n_words``) each tree has.
    """
    nodes = np.concatenate([tree.nodes for tree in trees])
    stored = {name: _narrow(nodes[name]) for name in _FIELDS}
    stored["values"] = _narrow(np.concatenate([tree.values for tree in trees]))
    stored["subsets"] = np.concatenate([tree.subsets for tree in trees])
    stored["n_nodes"] = np.array([len(tree.nodes) for tree in trees])
    stored["n_words"] = np.array([len(tree.subsets) for tree in trees])
    return stored


def unstack_trees(stored: Mapping[str, npt.NDArray[Any]], n_categories: npt.NDArray[np.int32]) -> list[Tree]:
    """Turn the arrays back into trees, after checking that they are trees over columns like these.

    Parameters
    ----------
    stored : mapping of arrays
        As ``stack_trees`` makes them.
    n_categories : int32 array of shape (n_columns,)
        Number of categories of each column, 0 for a numeric column.

    Returns
    -------
    list of Tree
    """
    if not set(stored) == {*_FIELDS, "values", "subsets", "n_nodes", "n_words"}:
        raise ValueError("The arrays of the trees are not the expected ones.")
    if any(not isinstance(part, np.ndarray) or part.dtype.kind not in "biuf" for part in stored.values()):
        raise ValueError("The trees hold something other than arrays of numbers.")
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
        raise ValueError("The arrays of the trees do not fit together.")
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
    """Return the same numbers in the smallest type of whole numbers that holds them, or as they are."""
    numbers = np.ascontiguousarray(numbers)
    if numbers.dtype.kind == "b" or numbers.size == 0:
        return numbers
    low, high = numbers.min(), numbers.max()
    for kind in (np.uint8, np.int8, np.uint16, np.int16, np.uint32, np.int32):
        if low >= np.iinfo(kind).min and high <= np.iinfo(kind).max:  # NaN is nowhere between
            narrow = numbers.astype(kind)
            # Bytes are compared, because -0.0 is not 0.0 and must not become it.
            return narrow if narrow.astype(numbers.dtype).tobytes() == numbers.tobytes() else numbers
    return numbers


_FIELDS = NODE.names or ()
