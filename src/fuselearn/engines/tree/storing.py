"""Bring many trees into a few arrays, as model files and pickles hold them, and back.

One array per field of the node record, over all trees, takes fewer bytes than records do: whole numbers shrink to the
smallest type that holds them. On the way back everything that is used as an index is checked, because a
descent does not look: a forged file must not lead it out of its arrays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from fuselearn import _core
from fuselearn._core import NODE, Tree

# Trees are put together so many nodes at a time, while these are in the processor's cache.
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
