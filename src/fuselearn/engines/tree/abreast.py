"""Grow a tree on a small table of numbers, its columns side by side.

Every column is sorted once per table. A tree copies from it the rows that were drawn, each with its code, its class and
how often it was drawn in one word, sixteen columns abreast: one vector instruction then does for all of them what
`presorted` does column by column. The trees are the same.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fuselearn._kernels import inlined, kernel
from fuselearn.engines.tree.coding import CodedColumns
from fuselearn.engines.tree.scanning import (
    CLASS_BITS,
    CLASS_SHIFT,
    CODE_SHIFT,
    COUNT_BITS,
    COUNT_SHIFT,
    LANES,
    ROW_BITS,
    find_cuts,
)
from fuselearn.engines.tree.splitting import (
    FEATURE,
    FIRST_RIGHT,
    LAST_LEFT,
    SPLIT_NUMBERS,
    is_terminal,
    write_split,
)

# Rows and, in all, counts: up to here sums of squares, and comparisons of their fractions, are exact.
MOST_WEIGHT = 2_000
MOST_CLASSES = 1 << CLASS_BITS
ROW_MASK = np.uint32((1 << ROW_BITS) - 1)
CLASS_MASK = np.uint32((1 << CLASS_BITS) - 1)
MOST_COUNT = (1 << COUNT_BITS) - 1

Entries = npt.NDArray[np.uint32]


class Room(NamedTuple):
    """Arrays for passing use, made once per tree: see `find_cuts`."""

    totals: npt.NDArray[np.int32]
    scores: npt.NDArray[np.float64]
    belows: npt.NDArray[np.float64]
    places: npt.NDArray[np.int32]


def can_grow_abreast(columns: CodedColumns, n_classes: int, max_features: int, random_cuts: bool) -> bool:
    """Tell whether a table and the way of growing trees on it are of the kind that this module is for."""
    n_rows, n_columns = columns.codes.shape
    return (
        n_rows <= MOST_WEIGHT
        and n_classes <= MOST_CLASSES
        and columns.is_category is None
        and max_features >= n_columns
        and not random_cuts
        and not (columns.codes == columns.n_codes).any()  # nothing is missing
    )


def sort_entries(columns: CodedColumns, target: npt.NDArray[np.int32]) -> Entries:
    """List the entries of every column by their codes, without counts."""
    rows = columns.order
    codes = np.take_along_axis(columns.codes.T, rows, axis=1).astype(np.uint32)
    classes = target[rows].astype(np.uint32)
    return codes << np.uint32(CODE_SHIFT) | classes << np.uint32(CLASS_SHIFT) | rows


@inlined
def grow_abreast(growth, columns, table, counts, limits):  # type: ignore[no-untyped-def]
    """Grow the tree whose root holds the drawn rows into ``growth``; give the leaf of every row, drawn or not."""
    nodes, values, _, used = growth
    n_rows = len(counts)
    leaves = np.zeros(n_rows, dtype=np.int32)
    root = np.int64(0)  # a literal would let what takes a node be compiled twice
    if is_terminal(nodes, values, root, root, limits, False):
        return leaves
    n_features, n_classes = len(table), values.shape[1]
    entries = _draw_entries(table, counts)
    n_entries = entries.shape[1] - 1

    room = Room(
        np.empty((n_classes + 1) // 2, dtype=np.int32),
        np.empty(LANES),
        np.empty(LANES),
        np.empty(LANES, dtype=np.int32),
    )
    is_left = np.empty(n_rows, dtype=np.uint8)
    rows = np.empty(n_rows, dtype=np.uint32)
    aside = np.empty(max(n_rows, n_entries) + 1, dtype=np.uint32)
    for i in range(n_rows):
        rows[i] = i
    split = np.zeros(SPLIT_NUMBERS, dtype=np.int64)
    sides = np.empty(0, dtype=np.uint8)
    # A node waits on the stack as (node, depth, first entry, entry after the last, first row, row after the last). For
    # each split above it at most one node waits, and each of these splits has cut off at least one row.
    stack = np.empty((min(limits.max_depth, n_rows) + 2, 6), dtype=np.int64)
    _push(stack, 0, root, 0, 0, n_entries, 0, n_rows)
    n_waiting = 1
    while n_waiting > 0:
        n_waiting -= 1
        node, depth, start, end = stack[n_waiting, 0], stack[n_waiting, 1], stack[n_waiting, 2], stack[n_waiting, 3]
        first_row, last_row = stack[n_waiting, 4], stack[n_waiting, 5]
        f, last_left, gain = _find_split(
            entries, n_features, nodes[node].weight, values[node], start, end, limits, room
        )
        if f < 0:
            _settle(leaves, rows, first_row, last_row, node)
            continue

        # The first unused node becomes the left child; its class weights are summed up here.
        child = used[0]
        left_weight = 0.0
        for j in range(n_classes):
            values[child, j] = 0.0
        for k in range(start, last_left + 1):
            entry = entries[f // LANES, k, f % LANES]
            count = float((entry >> COUNT_SHIFT) & MOST_COUNT)
            values[child, (entry >> CLASS_SHIFT) & CLASS_MASK] += count
            left_weight += count
        split[FEATURE] = f
        split[LAST_LEFT] = entries[f // LANES, last_left, f % LANES] >> CODE_SHIFT
        split[FIRST_RIGHT] = entries[f // LANES, last_left + 1, f % LANES] >> CODE_SHIFT
        write_split(growth, columns, False, node, split, sides, gain, left_weight, np.int64(left_weight))

        first_right = _deal_out_rows(
            rows, np.uint64(first_row), np.uint64(last_row), columns.codes, f, nodes[node].cut, is_left, aside
        )

        grow_left = not is_terminal(nodes, values, child, depth + 1, limits, False)
        grow_right = not is_terminal(nodes, values, child + 1, depth + 1, limits, False)
        middle = last_left + 1
        if grow_left and grow_right:
            _deal_out(entries, n_features, f, start, end, is_left, aside)
        elif grow_left or grow_right:  # at most one child goes on, so the other one's entries may be overwritten
            _keep_side(entries, n_features, start, end, is_left, np.uint8(grow_left))
            if grow_right:
                middle, end = start, start + end - middle
        if grow_left:
            _push(stack, n_waiting, child, depth + 1, start, middle, first_row, first_right)
            n_waiting += 1
        else:
            _settle(leaves, rows, first_row, first_right, child)
        if grow_right:
            _push(stack, n_waiting, child + 1, depth + 1, middle, end, first_right, last_row)
            n_waiting += 1
        else:
            _settle(leaves, rows, first_right, last_row, child + 1)
    return leaves


@inlined
def _find_split(entries, n_features, weight, sums, start, end, limits, room):  # type: ignore[no-untyped-def]
    """Search all columns of a node; give the best split's column, or -1, the last entry on its left, and its gain."""
    squares = 0.0
    room.totals[:] = 0
    for j in range(len(sums)):
        room.totals[j // 2] += np.int32(sums[j]) << (16 * (j % 2))
        squares += sums[j] * sums[j]
    best, best_below = squares + limits.min_gain * weight, weight
    f = -1
    last_left = 0
    for block in range(len(entries)):
        find_cuts(
            entries[block], start, end, room.totals, np.int64(squares), np.int64(weight),
            limits.min_leaf, best, best_below, room.scores, room.belows, room.places,
        )  # fmt: skip
        for lane in range(min(LANES, n_features - block * LANES)):
            if room.places[lane] >= 0 and room.scores[lane] * best_below > best * room.belows[lane]:
                best, best_below = room.scores[lane], room.belows[lane]
                f = block * LANES + lane
                last_left = room.places[lane]
    return f, last_left, best / best_below - squares / weight


@inlined
def _settle(leaves, rows, start, end, leaf):  # type: ignore[no-untyped-def]
    """Note the leaf of some rows."""
    for k in range(start, end):
        leaves[rows[k]] = leaf


@inlined
def _push(stack, place, node, depth, start, end, first_row, last_row):  # type: ignore[no-untyped-def]
    """Let a node wait for its split."""
    stack[place, 0] = node
    stack[place, 1] = depth
    stack[place, 2] = start
    stack[place, 3] = end
    stack[place, 4] = first_row
    stack[place, 5] = last_row


@kernel
def _draw_entries(table, counts):  # type: ignore[no-untyped-def]
    """Copy the entries of the drawn rows from every column, with their counts."""
    n_features = len(table)
    n_entries = 0
    shifted = np.empty(len(counts), dtype=np.uint32)
    most = 0
    for i in range(len(counts)):
        n_entries += (counts[i] + MOST_COUNT - 1) // MOST_COUNT
        most = max(most, counts[i])
        shifted[i] = np.uint32(counts[i]) << COUNT_SHIFT
    # With a place to spare, and with the first entry where vector instructions expect it.
    n_blocks = (n_features + LANES - 1) // LANES
    memory = np.zeros((n_blocks * (n_entries + 1) + 1) * LANES, dtype=np.uint32)
    shift = (-memory.ctypes.data // 4) % LANES
    entries = memory[shift : len(memory) - LANES + shift].reshape((n_blocks, n_entries + 1, LANES))
    for f in range(n_features):
        block, lane = f // LANES, f % LANES
        place = np.uint64(0)  # an index known not to be negative saves a check
        for k in range(table.shape[1]):
            entry = table[f, k]
            if most <= MOST_COUNT:
                # Written in any case, and kept if the row was drawn: cheaper than a branch that cannot be foreseen.
                count = shifted[entry & ROW_MASK]
                entries[block, place, lane] = entry | count
                place += np.uint64(count > 0)
                continue
            count = counts[entry & ROW_MASK]
            while count > 0:  # a row that was drawn too often for one entry has several
                entries[block, place, lane] = entry | np.uint32(min(count, MOST_COUNT)) << COUNT_SHIFT
                place += np.uint64(1)
                count -= MOST_COUNT
    return entries


@kernel
def _deal_out_rows(rows, start, end, codes, f, cut, is_left, aside):  # type: ignore[no-untyped-def]
    """Reorder all rows of a node, drawn or not, so that the left ones come first; give the first right one's place."""
    n_left = start
    for k in range(start, end):
        i = rows[k]
        goes_left = np.int64(codes[i, f]) <= cut
        is_left[i] = goes_left
        rows[n_left] = i
        aside[k - n_left] = i
        n_left += np.uint64(goes_left)
    for k in range(end - n_left):
        rows[n_left + k] = aside[k]
    return np.int64(n_left)


@kernel
def _keep_side(entries, n_features, start, end, is_left, side):  # type: ignore[no-untyped-def]
    """Move the entries of one side to the front in every column, still sorted."""
    for f in range(n_features):
        block, lane = f // LANES, f % LANES
        n_kept = np.uint64(start)
        for k in range(np.uint64(start), np.uint64(end)):
            entry = entries[block, k, lane]
            entries[block, n_kept, lane] = entry
            n_kept += np.uint64(is_left[entry & ROW_MASK] == side)


@kernel
def _deal_out(entries, n_features, split_feature, start, end, is_left, aside):  # type: ignore[no-untyped-def]
    """Reorder every column's entries so that the left ones come first, each side still sorted."""
    for f in range(n_features):
        if f == split_feature:  # its order is the right one already
            continue
        block, lane = f // LANES, f % LANES
        n_left = np.uint64(start)
        # Both places are written and one of them is kept: a wrong guess at a branch would cost more.
        for k in range(np.uint64(start), np.uint64(end)):
            entry = entries[block, k, lane]
            entries[block, n_left, lane] = entry
            aside[k - n_left] = entry
            n_left += np.uint64(is_left[entry & ROW_MASK])
        for k in range(np.uint64(end) - n_left):
            entries[block, n_left + k, lane] = aside[k]
