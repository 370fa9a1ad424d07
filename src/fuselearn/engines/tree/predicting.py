"""Send rows down trees: coded rows down the tree they grew, or rows of values down a packed forest.

A packed forest answers "is the value below the threshold?" with whole numbers: all thresholds of a column, over all
trees, are sorted, and a value is coded once by how many of them it reaches. Nodes then are small records, laid out
level by level, and a leaf points to itself, so that several rows descend side by side, which keeps the processor
busy while nodes are fetched from memory.

No code leads out of the forest, so that a descent is safe whatever is in its buffers, such as the codes of an earlier
block: at a leaf no code is larger than the cut, a split has both children, and words of subsets are looked up inside of
their array only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fuselearn._kernels import inlined, kernel, record
from fuselearn.engines.tree.coding import CodedColumns
from fuselearn.engines.tree.lookup import count_not_above
from fuselearn.engines.tree.nodes import Tree

PACKED_NODE = record(
    [
        # larger codes go right, none in a leaf; in a category split, the first word of its subset
        ("cut", np.uint32),
        ("feature", np.uint32),  # 0 in a leaf
        ("left", np.uint32),  # the right child follows; a leaf points to itself
        ("leaf", np.int32),  # number of the leaf in the forest, -1 in a split
    ]
)
# Values that are not compared with a threshold have codes from here on: categories, unknown categories, missing.
SPECIAL = np.uint32(1 << 31)
UNKNOWN = np.uint32((1 << 32) - 2)
MISSING = np.uint32((1 << 32) - 1)
MISSING_LEFT, UNKNOWN_LEFT = np.uint8(1), np.uint8(2)

# So many rows go down a tree side by side, and so many before the next tree has its turn.
ABREAST = 8
BLOCK_ROWS = 16384
# So many columns are coded together.
NEIGHBOURS = 8
# Rows are brought into the form that kernels take so many at a time.
CHUNK_ROWS = 1 << 17
# Rows are brought into a better order if there are at least so many, for at least so many trees.
ARRANGED_ROWS, ARRANGED_TREES = 1024, 8
# Threads are worth starting from this many (row, tree) pairs on.
THREADED_WORK = 500_000


class PackedForest(NamedTuple):
    """Several trees laid out for prediction.

    ``thresholds[starts[f]:starts[f + 1]]`` are the sorted thresholds of column ``f``; ``n_categories[f]`` is 0 for a
    numeric column. ``place`` gives for each node of the forest its node in the tree that it came from.
    """

    nodes: npt.NDArray[np.void]
    flags: npt.NDArray[np.uint8]
    subsets: npt.NDArray[np.uint32]
    roots: npt.NDArray[np.int64]
    thresholds: npt.NDArray[np.float64]
    starts: npt.NDArray[np.int64]
    n_categories: npt.NDArray[np.int32]
    place: npt.NDArray[np.int32]


def pack_forest(trees: Sequence[Tree], n_categories: npt.NDArray[np.int32]) -> PackedForest:
    """Lay out trees for prediction.

    Parameters
    ----------
    trees : sequence of Tree
    n_categories : int32 array of shape (n_columns,)
        Number of categories of each column, 0 for a numeric column.

    Returns
    -------
    PackedForest
        Its leaves are numbered through, tree by tree, in the order in which ``leaf_rows`` lists them.
    """
    sizes = np.array([len(tree.nodes) for tree in trees])
    roots = np.concatenate([[0], np.cumsum(sizes)])
    order = np.concatenate([_level_order(tree.nodes) for tree in trees])
    shift = np.repeat(roots[:-1], sizes)
    grown = np.concatenate([tree.nodes for tree in trees])[order + shift]
    new_place = np.empty(len(order), dtype=np.int64)
    new_place[order + shift] = np.arange(len(order))
    first_words = np.concatenate([[0], np.cumsum([len(tree.subsets) for tree in trees])])[:-1]

    is_leaf = grown["feature"] < 0
    is_category = grown["is_category"]
    numeric = ~is_leaf & ~is_category
    thresholds, starts, cuts = _sort_thresholds(
        grown["feature"][numeric], grown["threshold"][numeric], len(n_categories)
    )
    nodes = np.empty(len(grown), dtype=PACKED_NODE)
    nodes["cut"] = np.iinfo(np.uint32).max
    nodes["cut"][numeric] = cuts
    nodes["cut"][is_category] = (grown["cut"] + np.repeat(first_words, sizes))[is_category]
    nodes["feature"] = np.where(is_leaf, 0, grown["feature"])
    left = np.where(is_leaf, 0, grown["left"]) + shift
    nodes["left"] = np.where(is_leaf, np.arange(len(grown)), new_place[left])
    nodes["leaf"] = np.where(is_leaf, np.cumsum(is_leaf) - 1, -1)
    return PackedForest(
        nodes=nodes,
        flags=MISSING_LEFT * grown["missing_left"] + UNKNOWN_LEFT * grown["heavier_left"],
        subsets=np.concatenate([tree.subsets for tree in trees]),
        roots=roots[:-1],
        thresholds=thresholds,
        starts=starts,
        n_categories=n_categories,
        place=order.astype(np.int32),
    )


def leaf_rows(tree: Tree) -> npt.NDArray[np.int64]:
    """List the leaves of a tree in the order in which a packed forest numbers them."""
    order = _level_order(tree.nodes)
    return order[tree.nodes["feature"][order] < 0]


def sum_leaf_values(
    forest: PackedForest,
    leaf_values: npt.NDArray[np.float64],
    X: npt.NDArray[np.floating],
    n_threads: int = 1,
) -> npt.NDArray[np.float64]:
    """Return for each sample the sum of the values of the leaves that it reaches, one leaf per tree."""
    sums = np.zeros((len(X), leaf_values.shape[1]))
    _over_rows(
        lambda rows: _sum_rows(forest, leaf_values, _as_doubles(X[rows]), sums[rows]), forest, X.shape, n_threads
    )
    return sums


def apply_forest(forest: PackedForest, X: npt.NDArray[np.floating], n_threads: int = 1) -> npt.NDArray[np.int32]:
    """Return for each sample and tree the node of that tree in which the row ends."""
    reached = np.empty((len(X), len(forest.roots)), dtype=np.int32)
    _over_rows(lambda rows: _apply_rows(forest, _as_doubles(X[rows]), reached[rows]), forest, X.shape, n_threads)
    return reached


def apply_codes(tree: Tree, columns: CodedColumns) -> npt.NDArray[np.int32]:
    """Return the leaf of each row of the coded table that a tree grew on."""
    return _apply_codes(tree.nodes, tree.subsets, columns.codes, columns.n_codes)


def vote_codes(tree: Tree, columns: CodedColumns) -> npt.NDArray[np.int32]:
    """Return the majority class in each row's leaf, the first of equal ones, for a coded table."""
    return _vote_codes(tree.nodes, tree.values, tree.subsets, columns.codes, columns.n_codes)


def _over_rows(work: Callable[[slice], None], forest: PackedForest, shape: tuple[int, ...], n_threads: int) -> None:
    """Do the work for all rows, part by part, with several threads if that is worth it."""
    n_rows, n_columns = shape
    if n_columns != len(forest.n_categories):  # kernels do not look
        raise ValueError(f"The trees expect {len(forest.n_categories)} columns, not {n_columns}.")
    parts = [slice(start, start + CHUNK_ROWS) for start in range(0, n_rows, CHUNK_ROWS)]
    if n_threads > 1 and n_rows * len(forest.roots) >= THREADED_WORK:
        n_parts = n_threads * -(-len(parts) // n_threads)
        parts = [slice(a, b) for a, b in pairwise(np.linspace(0, n_rows, n_parts + 1).astype(int))]
        with ThreadPoolExecutor(n_threads) as pool:
            list(pool.map(work, parts))
    else:
        for rows in parts:
            work(rows)


def _as_doubles(X: npt.NDArray[np.floating]) -> npt.NDArray[np.float64]:
    """Bring rows into the one form that kernels are compiled for."""
    return np.require(X, dtype=np.float64, requirements=["C", "W"])


def _sort_thresholds(features, thresholds, n_columns):  # type: ignore[no-untyped-def]
    """Sort the distinct thresholds of each column, and give each threshold's rank in its column."""
    order = np.lexsort((thresholds, features))
    f, t = features[order], thresholds[order]
    is_new = np.ones(len(f), dtype=bool)
    is_new[1:] = (f[1:] != f[:-1]) | (t[1:] != t[:-1])
    starts = np.searchsorted(f[is_new], np.arange(n_columns + 1)).astype(np.int64)
    ranks = np.empty(len(f), dtype=np.int64)
    ranks[order] = np.cumsum(is_new) - 1
    return t[is_new], starts, ranks - starts[features]


@kernel
def _level_order(nodes):  # type: ignore[no-untyped-def]
    """List the nodes level by level; the two children of a node stay neighbours."""
    order = np.zeros(len(nodes), dtype=np.int64)
    n_listed = 1
    for k in range(len(nodes)):
        if nodes[order[k]].feature >= 0:
            order[n_listed] = nodes[order[k]].left
            order[n_listed + 1] = nodes[order[k]].left + 1
            n_listed += 2
    return order


@kernel
def _sum_rows(forest, leaf_values, X, sums):  # type: ignore[no-untyped-def]
    n_values = leaf_values.shape[1]
    codes, reached = _make_buffers(X)
    arrange = len(X) >= ARRANGED_ROWS and len(forest.roots) >= ARRANGED_TREES
    arranged = np.zeros(codes.shape, dtype=np.uint32) if arrange else codes
    order = np.empty(len(codes), dtype=np.uint32)
    for i in range(len(codes)):
        order[i] = i
    first_tree = np.int64(0)  # a literal would let the descent be compiled twice
    block_sums = np.empty((len(codes), n_values))
    for block in range(0, len(X), BLOCK_ROWS):
        n_rows = min(BLOCK_ROWS, len(X) - block)
        has_special = _code_rows(forest, X, block, n_rows, codes)
        if arrange:
            _descend(forest, first_tree, codes, n_rows, has_special, reached)
            _sort_by_leaf(forest, reached, n_rows, order)
            for i in range(n_rows):
                for f in range(codes.shape[1]):
                    arranged[i, f] = codes[order[i], f]
        for i in range(n_rows):
            for j in range(n_values):
                block_sums[i, j] = 0.0
        for t in range(len(forest.roots)):
            _descend(forest, t, arranged, n_rows, has_special, reached)
            for i in range(n_rows):
                leaf = forest.nodes[reached[i]].leaf
                for j in range(n_values):
                    block_sums[i, j] += leaf_values[leaf, j]
        for i in range(n_rows):
            for j in range(n_values):
                sums[block + order[i], j] = block_sums[i, j]


@kernel
def _apply_rows(forest, X, applied):  # type: ignore[no-untyped-def]
    codes, reached = _make_buffers(X)
    for block in range(0, len(X), BLOCK_ROWS):
        n_rows = min(BLOCK_ROWS, len(X) - block)
        has_special = _code_rows(forest, X, block, n_rows, codes)
        for t in range(len(forest.roots)):
            _descend(forest, t, codes, n_rows, has_special, reached)
            for i in range(n_rows):
                applied[block + i, t] = forest.place[reached[i]]


@kernel
def _sort_by_leaf(forest, reached, n_rows, order):  # type: ignore[no-untyped-def]
    """Order rows by the leaf that they have reached in the first tree.

    Neighbours then take similar ways through the other trees, too, so that few of those that descend side by side wait
    for the last one.
    """
    n_leaves = 0
    for i in range(n_rows):
        n_leaves = max(n_leaves, forest.nodes[reached[i]].leaf + 1)
    places = np.zeros(n_leaves + 1, dtype=np.int64)
    for i in range(n_rows):
        places[forest.nodes[reached[i]].leaf + 1] += 1
    for leaf in range(n_leaves):
        places[leaf + 1] += places[leaf]
    for i in range(n_rows):
        leaf = forest.nodes[reached[i]].leaf
        order[places[leaf]] = i
        places[leaf] += 1


@kernel
def _make_buffers(X):  # type: ignore[no-untyped-def]
    """Make buffers for a block's codes and nodes reached, filled up to whole groups of samples that descend abreast.

    There is at least one column, because the descent reads one at a leaf as well.
    """
    n_rows = (min(BLOCK_ROWS, len(X)) + ABREAST - 1) // ABREAST * ABREAST
    return np.zeros((n_rows, max(1, X.shape[1])), dtype=np.uint32), np.empty(n_rows, dtype=np.uint32)


@kernel
def _code_rows(forest, X, block, n_rows, codes):  # type: ignore[no-untyped-def]
    """Code a block of rows by how many of the forest's thresholds each value reaches.

    Tells whether any code is special, that is not to be compared with a threshold.
    """
    has_special = False
    n_columns = X.shape[1]
    # A few neighbouring columns at a time, so that each line of memory is fetched once.
    values = np.empty((NEIGHBOURS, n_rows))
    reached = np.empty((NEIGHBOURS, n_rows), dtype=np.uint32)
    for start in range(0, n_columns, NEIGHBOURS):
        width = min(NEIGHBOURS, n_columns - start)
        for i in range(n_rows):
            for k in range(width):
                values[k, i] = X[block + i, start + k]
                reached[k, i] = MISSING
        for k in range(width):
            n_categories = forest.n_categories[start + k]
            if n_categories > 0:
                for i in range(n_rows):
                    if values[k, i] == values[k, i]:
                        known = 0 <= values[k, i] < n_categories
                        reached[k, i] = SPECIAL + np.uint32(values[k, i]) if known else UNKNOWN
            else:
                first, last = forest.starts[start + k], forest.starts[start + k + 1]
                count_not_above(values[k], forest.thresholds[first:last], reached[k])
        for i in range(n_rows):
            for k in range(width):
                codes[i, start + k] = reached[k, i]
                has_special |= reached[k, i] >= SPECIAL
    return has_special


def _make_descend(has_special):  # type: ignore[no-untyped-def]
    """Make the innermost loop of prediction, with or without a look at special codes."""

    @inlined
    def descend(nodes, flags, subsets, root, codes, first, reached):  # type: ignore[no-untyped-def]
        """Find the leaves of a few neighbouring rows in one tree."""
        for r in range(first, first + ABREAST):
            reached[r] = root
        moved = np.uint32(1)
        while moved != 0:
            moved = np.uint32(0)
            for r in range(first, first + ABREAST):
                here = reached[r]
                code = codes[r, nodes[here].feature]
                right = np.uint32(code > nodes[here].cut)
                if has_special and code >= SPECIAL:
                    right = np.uint32(not _special_goes_left(nodes, flags, subsets, here, code))
                there = np.uint32(nodes[here].left + right)
                moved |= there ^ here
                reached[r] = there

    return descend


_descend_plainly, _descend_specially = _make_descend(False), _make_descend(True)


@kernel
def _descend(forest, t, codes, n_rows, has_special, reached):  # type: ignore[no-untyped-def]
    """Find the leaves of all rows of a block in one tree."""
    nodes, flags, subsets, root = forest.nodes, forest.flags, forest.subsets, forest.roots[t]
    for first in range(0, n_rows, ABREAST):
        if has_special:
            _descend_specially(nodes, flags, subsets, root, codes, first, reached)
        else:
            _descend_plainly(nodes, flags, subsets, root, codes, first, reached)


@kernel
def _special_goes_left(nodes, flags, subsets, node, code):  # type: ignore[no-untyped-def]
    """Send a category or a missing value left or right; a leaf keeps it by saying left."""
    if nodes[node].leaf >= 0:
        return True
    if code == MISSING:
        return flags[node] & MISSING_LEFT != 0
    category = np.int64(code - SPECIAL)
    place = np.int64(nodes[node].cut) + category // 32
    if code == UNKNOWN or place >= len(subsets):
        return flags[node] & UNKNOWN_LEFT != 0
    return (subsets[place] >> np.uint32(category % 32)) & np.uint32(1) == 1


@kernel
def _apply_codes(nodes, subsets, codes, n_codes):  # type: ignore[no-untyped-def]
    leaves = np.empty(len(codes), dtype=np.int32)
    for i in range(len(codes)):
        leaves[i] = _leaf_of_codes(nodes, subsets, codes, n_codes, i)
    return leaves


@inlined
def choose_classes(values):  # type: ignore[no-untyped-def]
    """Return the majority class of every node, the first of equal ones."""
    choices = np.zeros(len(values), dtype=np.int32)
    for node in range(len(values)):
        for j in range(1, values.shape[1]):
            if values[node, j] > values[node, choices[node]]:
                choices[node] = j
    return choices


@kernel
def _vote_codes(nodes, values, subsets, codes, n_codes):  # type: ignore[no-untyped-def]
    choices = choose_classes(values)
    votes = np.empty(len(codes), dtype=np.int32)
    for i in range(len(codes)):
        votes[i] = choices[_leaf_of_codes(nodes, subsets, codes, n_codes, i)]
    return votes


@inlined
def _leaf_of_codes(nodes, subsets, codes, n_codes, i):  # type: ignore[no-untyped-def]
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
    return node
