"""Send rows down trees: coded rows down the tree they grew, or rows of values down a packed forest.

A value is coded once, by how many of the forest's thresholds it reaches. Several rows then descend side by side, which
keeps the processor busy while nodes are fetched from memory.

No code leads out of the forest, so that a descent is safe whatever is in its buffers, such as the codes of an earlier
block: at a leaf no code is larger than the cut, a split has both children, and words of subsets are looked up inside of
their array only.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from fuselearn._kernels import inlined, kernel
from fuselearn.engines.tree.coding import CodedColumns
from fuselearn.engines.tree.lookup import count_not_above
from fuselearn.engines.tree.nodes import Tree
from fuselearn.engines.tree.packing import MISSING_LEFT, UNKNOWN_LEFT, PackedForest
from fuselearn.engines.tree.sparse_coding import SparseColumns, code_at

# Values that are not compared with a threshold have codes from here on: categories, unknown categories, missing.
SPECIAL = np.uint32(1 << 31)
UNKNOWN = np.uint32((1 << 32) - 2)
MISSING = np.uint32((1 << 32) - 1)

# So many rows go down a tree side by side, and so many before the next tree has its turn.
ABREAST = 8
BLOCK_ROWS = 16384
# So many columns are coded together.
NEIGHBOURS = 8
# Rows are brought into the form that kernels take so many at a time, but of wide tables fewer.
CHUNK_ROWS, CHUNK_VALUES = 1 << 17, 1 << 22
# Rows are brought into a better order if there are at least so many, for at least so many trees.
ARRANGED_ROWS, ARRANGED_TREES = 1024, 8
# Threads are worth starting from this many (row, tree) pairs on.
THREADED_WORK = 500_000


def sum_leaf_values(
    forest: PackedForest,
    leaf_values: npt.NDArray[np.float64],
    X: Any,
    n_threads: int = 1,
) -> npt.NDArray[np.float64]:
    """Return for each sample the sum of the values of the leaves that it reaches, one leaf per tree.

    X is an array or a sparse matrix, which is made dense a few samples at a time.
    """
    if sparse.issparse(X):
        X = X.tocsr()
    sums = np.zeros((X.shape[0], leaf_values.shape[1]))
    _over_rows(
        lambda rows: _sum_rows(forest, leaf_values, _as_doubles(X[rows]), sums[rows]), forest, X.shape, n_threads
    )
    return sums


def apply_forest(forest: PackedForest, X: npt.NDArray[np.floating], n_threads: int = 1) -> npt.NDArray[np.int32]:
    """Return for each sample and tree the node of that tree in which the row ends."""
    reached = np.empty((len(X), len(forest.roots)), dtype=np.int32)
    _over_rows(lambda rows: _apply_rows(forest, _as_doubles(X[rows]), reached[rows]), forest, X.shape, n_threads)
    return reached


def apply_codes(
    tree: Tree, columns: CodedColumns | SparseColumns, rows: npt.NDArray[np.intp] | None = None
) -> npt.NDArray[np.int32]:
    """Return the leaf of each row, or of some rows, of the coded table that a tree grew on."""
    if rows is None:
        rows = np.arange(len(columns.codes.starts) - 1 if isinstance(columns, SparseColumns) else len(columns.codes))
    return _find_leaves(tree.nodes, tree.subsets, columns.codes, columns.n_codes, rows)


def vote_codes(tree: Tree, columns: CodedColumns) -> npt.NDArray[np.int32]:
    """Return the majority class in each row's leaf, the first of equal ones, for a coded table."""
    return _vote_codes(tree.nodes, tree.values, tree.subsets, columns.codes, columns.n_codes)


def _over_rows(work: Callable[[slice], None], forest: PackedForest, shape: tuple[int, ...], n_threads: int) -> None:
    """Do the work for all rows, part by part, with several threads if that is worth it."""
    n_rows, n_columns = shape
    chunk_rows = max(ABREAST, min(CHUNK_ROWS, CHUNK_VALUES // max(1, n_columns)))
    if n_columns != len(forest.n_categories):  # kernels do not look
        raise ValueError(f"The trees expect {len(forest.n_categories)} columns, not {n_columns}.")
    parts = [slice(start, start + chunk_rows) for start in range(0, n_rows, chunk_rows)]
    if n_threads > 1 and n_rows * len(forest.roots) >= THREADED_WORK:
        n_parts = n_threads * -(-len(parts) // n_threads)
        parts = [slice(a, b) for a, b in pairwise(np.linspace(0, n_rows, n_parts + 1).astype(int))]
        with ThreadPoolExecutor(n_threads) as pool:
            list(pool.map(work, parts))
    else:
        for rows in parts:
            work(rows)


def _as_doubles(X: Any) -> npt.NDArray[np.float64]:
    """Bring rows into the one form that kernels are compiled for."""
    return np.require(X.toarray() if sparse.issparse(X) else X, dtype=np.float64, requirements=["C", "W"])


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
def _find_leaves(nodes, subsets, codes, n_codes, rows):  # type: ignore[no-untyped-def]
    leaves = np.empty(len(rows), dtype=np.int32)
    for k in range(len(rows)):
        leaves[k] = _leaf_of_codes(nodes, subsets, codes, n_codes, rows[k])
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
        is_left = code_goes_left(nodes[node], subsets, code_at(codes, i, f), n_codes[f])
        node = nodes[node].left + (0 if is_left else 1)
    return node


@inlined
def code_goes_left(node, subsets, code, missing_code):  # type: ignore[no-untyped-def]
    """Send a code left or right at a node that is split."""
    if code == missing_code:
        left = node.missing_left
    elif node.is_category:
        left = (subsets[node.cut + code // 32] >> np.uint32(code % 32)) & np.uint32(1) == 1
    else:
        left = code <= node.cut
    return left
