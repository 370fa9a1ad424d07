"""Bring many trees into a few arrays, as model files and pickles hold them, and back.

One array per field of the node record, over all trees, takes fewer bytes than records do: whole numbers shrink to the
smallest type that holds them. On the way back everything that kernels use as an index is checked, because kernels
themselves do not look: a forged file must not lead them out of their arrays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from fuselearn._kernels import kernel
from fuselearn.engines.tree.nodes import NODE, Tree

FAULTS = (
    "is sound",
    "has children out of place",
    "has no parent or several",
    "splits a column that does not exist",
    "takes numbers for categories, or categories for numbers",
    "refers to categories out of place",
    "has a threshold that is no number",
)

# Node records are put together so many at a time, while they are in the processor's cache.
BLOCK_NODES = 4096

Stored = dict[str, npt.NDArray[Any]]


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
    nodes = np.empty(total, dtype=NODE)
    for start in range(0, total, BLOCK_NODES):
        block = slice(start, start + BLOCK_NODES)
        for name in _FIELDS:
            nodes[name][block] = stored[name][block]
    fault = _find_fault(nodes, n_nodes, n_words, n_categories)
    if fault:
        raise ValueError(f"A node of a tree {FAULTS[fault]}.")
    values = np.ascontiguousarray(stored["values"], dtype=np.float64)
    subsets = np.ascontiguousarray(stored["subsets"], dtype=np.uint32)
    ends, word_ends = np.cumsum(n_nodes), np.cumsum(n_words)
    return [
        Tree(nodes[end - size : end], values[end - size : end], subsets[word_end - words : word_end])
        for end, size, word_end, words in zip(ends, n_nodes, word_ends, n_words, strict=True)
    ]


@kernel
def _find_fault(nodes, n_nodes, n_words, n_categories):  # type: ignore[no-untyped-def]
    """Return what is wrong with nodes that are no trees, as a number in ``FAULTS``; 0 if nothing is.

    Every node other than a root must be the child of exactly one earlier node of its tree, so that every descent ends.
    """
    has_parent = np.zeros(len(nodes), dtype=np.bool_)
    first = 0
    for t in range(len(n_nodes)):
        for k in range(n_nodes[t]):
            node = nodes[first + k]
            if k > 0 and not has_parent[first + k]:
                return 2
            if node.feature < 0:
                if node.is_category:
                    return 4
                continue
            left = np.int64(node.left)
            if left <= k or left + 1 >= n_nodes[t]:
                return 1
            if has_parent[first + left] or has_parent[first + left + 1]:
                return 2
            has_parent[first + left] = has_parent[first + left + 1] = True
            if node.feature >= len(n_categories):
                return 3
            categories = np.int64(n_categories[node.feature])
            if node.is_category != (categories > 0):
                return 4
            if node.is_category and (node.cut < 0 or node.cut + (categories + 31) // 32 > n_words[t]):
                return 5
            if not node.is_category and not node.threshold > -np.inf:  # infinity is above all numbers, not missing ones
                return 6
        first += n_nodes[t]
    return 0


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
