"""Send rows down trees: coded rows down one tree, or rows of values down a packed forest.

A packed forest lays the nodes of all its trees out in one array of small records. A leaf points to itself, so
several rows can descend side by side, each step taken by all of them, which keeps the processor busy while
single nodes are fetched from memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from fuselearn.engines.tree.coding import CodedColumns
from fuselearn.engines.tree.nodes import Tree

PACKED_NODE = np.dtype(
    [
        ("threshold", np.float64),  # values below it go left; +inf in a leaf
        ("feature", np.int32),  # 0 in a leaf
        ("left", np.int32),  # the right child follows; a leaf points to itself
        ("leaf", np.int32),  # number of the leaf in the forest, -1 in a split
        ("first_word", np.int32),  # of a category split; -1 in other nodes
        ("n_categories", np.int32),
        ("missing_left", np.bool_),
        ("heavier_left", np.bool_),
    ],
    align=True,
)

# So many rows go down a tree side by side, and so many before the next tree has its turn.
ABREAST = 8
BLOCK_ROWS = 2048
# Threads are worth starting from this many (row, tree) pairs on.
THREADED_WORK = 500_000


class PackedForest(NamedTuple):
    """The nodes of several trees in one array, with the place of each tree's root."""

    nodes: npt.NDArray[np.void]
    subsets: npt.NDArray[np.uint32]
    roots: npt.NDArray[np.int64]


def pack_forest(trees: Sequence[Tree], n_categories: npt.NDArray[np.int32]) -> PackedForest:
    """Lay out trees for prediction.

    Leaves are numbered through the forest, tree by tree, in the order of their nodes.
    """
    sizes = [len(tree.nodes) for tree in trees]
    n_words = [len(tree.subsets) for tree in trees]
    roots = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    words = np.concatenate([[0], np.cumsum(n_words)])
    grown = np.concatenate([tree.nodes for tree in trees])
    shift = np.repeat(roots[:-1], sizes)
    is_leaf = grown["feature"] < 0
    is_category = grown["is_category"]

    nodes = np.empty(len(grown), dtype=PACKED_NODE)
    nodes["threshold"] = np.where(is_leaf, np.inf, grown["threshold"])
    nodes["feature"] = np.where(is_leaf, 0, grown["feature"])
    nodes["left"] = np.where(is_leaf, np.arange(len(grown)), grown["left"] + shift)
    nodes["leaf"] = np.where(is_leaf, np.cumsum(is_leaf) - 1, -1)
    nodes["first_word"] = np.where(is_category, grown["cut"] + np.repeat(words[:-1], sizes), -1)
    nodes["n_categories"] = np.where(is_category, n_categories[nodes["feature"]], 0)
    nodes["missing_left"] = is_leaf | grown["missing_left"]
    nodes["heavier_left"] = grown["heavier_left"]
    subsets = np.concatenate([tree.subsets for tree in trees])
    return PackedForest(nodes, subsets, roots[:-1])


def sum_leaf_values(
    forest: PackedForest,
    leaf_values: npt.NDArray[np.float64],
    X: npt.NDArray[np.floating],
    n_threads: int = 1,
) -> npt.NDArray[np.float64]:
    """Give for each row the sum of the values of the leaves that it reaches, one leaf per tree."""
    sums = np.zeros((len(X), leaf_values.shape[1]))
    _over_rows(lambda rows: _sum_block(forest, leaf_values, X[rows], sums[rows]), X, forest, n_threads)
    return sums


def apply_forest(
    forest: PackedForest, X: npt.NDArray[np.floating], n_threads: int = 1
) -> npt.NDArray[np.int32]:
    """Give for each row and tree the node of the forest that the row ends in."""
    reached = np.empty((len(X), len(forest.roots)), dtype=np.int32)
    _over_rows(lambda rows: _apply_block(forest, X[rows], reached[rows]), X, forest, n_threads)
    return reached


def apply_codes(tree: Tree, columns: CodedColumns) -> npt.NDArray[np.int32]:
    """Give the leaf of each row of a coded table."""
    return _apply_codes(tree.nodes, tree.subsets, columns.codes, columns.n_codes)


def _over_rows(work, X, forest, n_threads):  # type: ignore[no-untyped-def]
    """Do the work for all rows, in as many parts as there are threads if that is worth it."""
    if n_threads <= 1 or len(X) * len(forest.roots) < THREADED_WORK:
        work(slice(None))
        return
    bounds = np.linspace(0, len(X), n_threads + 1).astype(int)
    with ThreadPoolExecutor(n_threads) as pool:
        list(pool.map(work, [slice(a, b) for a, b in zip(bounds[:-1], bounds[1:], strict=True)]))


@njit(nogil=True, cache=True)
def _sum_block(forest, leaf_values, X, sums):  # type: ignore[no-untyped-def]
    nodes, subsets, roots = forest
    reached = np.empty(ABREAST, dtype=np.int64)
    n_classes = sums.shape[1]
    for block in range(0, len(X), BLOCK_ROWS):
        for t in range(len(roots)):
            for first in range(block, min(block + BLOCK_ROWS, len(X)), ABREAST):
                n_rows = min(ABREAST, len(X) - first)
                _descend(nodes, subsets, roots[t], X, first, n_rows, reached)
                for r in range(n_rows):
                    leaf = nodes[reached[r]].leaf
                    for j in range(n_classes):
                        sums[first + r, j] += leaf_values[leaf, j]


@njit(nogil=True, cache=True)
def _apply_block(forest, X, applied):  # type: ignore[no-untyped-def]
    nodes, subsets, roots = forest
    reached = np.empty(ABREAST, dtype=np.int64)
    for t in range(len(roots)):
        for first in range(0, len(X), ABREAST):
            n_rows = min(ABREAST, len(X) - first)
            _descend(nodes, subsets, roots[t], X, first, n_rows, reached)
            for r in range(n_rows):
                applied[first + r, t] = reached[r]


@njit(nogil=True, cache=True, inline="always")
def _descend(nodes, subsets, root, X, first, n_rows, reached):  # type: ignore[no-untyped-def]
    """Find the leaves of a few neighbouring rows in one tree."""
    for r in range(n_rows):
        reached[r] = root
    moving = True
    while moving:
        moving = False
        for r in range(n_rows):
            here = reached[r]
            value = X[first + r, nodes[here].feature]
            left = value < nodes[here].threshold
            if value != value:
                left = nodes[here].missing_left
            elif nodes[here].first_word >= 0:
                left = _in_subset(nodes, subsets, here, value)
            there = nodes[here].left + (0 if left else 1)
            moving |= there != here
            reached[r] = there


@njit(nogil=True, cache=True)
def _in_subset(nodes, subsets, node, value):  # type: ignore[no-untyped-def]
    """Tell whether a category goes left; a category that the table did not have follows the heavier child."""
    if not 0 <= value < nodes[node].n_categories:
        return nodes[node].heavier_left
    category = int(value)
    word = subsets[nodes[node].first_word + category // 32]
    return (word >> np.uint32(category % 32)) & np.uint32(1) == 1


@njit(nogil=True, cache=True)
def _apply_codes(nodes, subsets, codes, n_codes):  # type: ignore[no-untyped-def]
    leaves = np.empty(len(codes), dtype=np.int32)
    for i in range(len(codes)):
        node = 0
        while nodes[node].feature >= 0:
            f = nodes[node].feature
            code = np.int64(codes[i, f])
            if code == n_codes[f]:
                left = nodes[node].missing_left
            elif nodes[node].is_category:
                word = subsets[nodes[node].cut + code // 32]
                left = (word >> np.uint32(code % 32)) & np.uint32(1) == 1
            else:
                left = code <= nodes[node].cut
            node = nodes[node].left + (0 if left else 1)
        leaves[i] = node
    return leaves
