"""Values of leaves that many trees share.

A tree that is grown to the end has about as many leaves as samples, and with hundreds of labels the values of its nodes
take most of the memory of a forest. But a leaf with a single sample has the labels of that sample in every tree, so
equal values are kept once, and only for leaves: the values of other nodes follow from them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fuselearn._core import Tree


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


def restore_weights(tree: Tree, leaf_shares: npt.NDArray[np.float64]) -> Tree:
    """Return a tree with the weight of each label in all nodes, given the labels' shares in its leaves.

    Parameters
    ----------
    tree : Tree
    leaf_shares : array of shape (n_nodes, n_labels)
        Rows of nodes that are no leaves are ignored.

    Examples
    --------
    >>> from fuselearn.engines.tree import NODE
    >>> nodes = np.zeros(3, dtype=NODE)
    >>> nodes["feature"], nodes["left"], nodes["weight"] = (1, -1, -1), (1, -1, -1), (5, 3, 2)
    >>> tree = Tree(nodes, np.empty((3, 0)), np.empty(0, np.uint32))
    >>> restore_weights(tree, np.array([[0.0], [1 / 3], [1.0]])).values
    array([[3.],
           [1.],
           [2.]])
    """
    weight = tree.nodes["weight"]
    values = leaf_shares * weight[:, None]
    if (weight == np.rint(weight)).all():  # copies of samples have been counted
        np.rint(values, out=values)
    return tree.with_leaf_values(values)
