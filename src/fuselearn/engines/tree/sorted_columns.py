"""Grow a tree, or the lower part of one, on sorted columns: the way for nodes with few samples.

Where a node looks at most of the features, all of them are sorted once, and a split keeps each column sorted by dealing
its samples out to the two children. Where it looks at few of many features, these are sorted in each node anew; where
it tries one random cut of each, nothing needs to be sorted. The trees are the same. Weights are whole numbers, so all
sums are exact.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import types
from numba.extending import overload

from fuselearn._kernels import borrowing, inner, interpret
from fuselearn.engines.tree.coding import CodedColumns
from fuselearn.engines.tree.random import mix
from fuselearn.engines.tree.searching import (
    FACTS,
    Items,
    Run,
    begin_search,
    describe,
    gain_of,
    list_features,
    next_feature,
    run_of,
    try_feature,
)
from fuselearn.engines.tree.sorting import (
    FEW_ROWS,
    RANKED_ROWS,
    row_of,
    sort_by_bytes,
    sort_by_rank,
    sort_few,
    word_of,
)
from fuselearn.engines.tree.sparse_coding import code_at
from fuselearn.engines.tree.sparse_searching import EntryBuffers, make_entry_buffers, search_entries
from fuselearn.engines.tree.splitting import FEATURE, goes_left, is_terminal, push, write_split
from fuselearn.engines.tree.subsets import category_flag
from fuselearn.engines.tree.targets import add_row, sum_of


class ByColumn(NamedTuple):
    """A coded table column by column, for many trees whose nodes sort what they look at.

    In tables that are not too large, ``ranks[f, i]`` is the place of row ``i`` when sorted by column ``f``, and
    ``keys[f]`` lists ``code * 2**16 + row`` in that order. Larger tables do without and have no columns there. Where
    columns are kept sorted, there are none in ``codes`` either.
    """

    codes: npt.NDArray[np.unsignedinteger]
    ranks: npt.NDArray[np.uint16]
    keys: npt.NDArray[np.uint32]


class SortedColumns(NamedTuple):
    """The samples of the nodes that wait, and buffers.

    If columns are kept sorted, ``words[f, start:end]`` are the samples of a node in the order of column ``f``.
    Otherwise they are ``words[0, start:end]``, and ``words[1]`` is for the column that is looked at; ``constant[f]``
    holds the bounds of the last node in which column ``f`` was constant, as it is in all nodes below. ``entries`` is
    None unless the table is sparse; kernels are then compiled without what the other kind of table needs.
    """

    keeps: bool
    words: npt.NDArray[np.uint64]
    aside: npt.NDArray[np.uint64]
    is_left: npt.NDArray[np.uint8]
    few_keys: npt.NDArray[np.uint32]
    by_column: ByColumn | None
    constant: npt.NDArray[np.int64] | None
    marks: npt.NDArray[np.uint64] | None
    entries: EntryBuffers | None


def lay_out_columns(columns: CodedColumns) -> ByColumn:
    """Bring a coded table into the form in which nodes sort few of many columns."""
    codes = np.ascontiguousarray(columns.codes.T)
    n_columns, n_rows = codes.shape
    if n_rows > RANKED_ROWS:
        return ByColumn(codes, np.empty((n_columns, 0), dtype=np.uint16), np.empty((n_columns, 0), dtype=np.uint32))
    order = columns.order if columns.order.shape[1] > 0 else np.argsort(codes, axis=1, kind="stable")
    order = order.astype(np.uint32)
    ranks = np.empty(codes.shape, dtype=np.uint16)
    np.put_along_axis(ranks, order, np.arange(n_rows, dtype=np.uint16)[None], axis=1)
    ascending = np.take_along_axis(codes, order, axis=1).astype(np.uint32)
    return ByColumn(codes, ranks, (ascending << np.uint32(16)) | order)


def lay_out_nothing(columns: CodedColumns) -> ByColumn:
    """Return the layout of a table whose columns are kept sorted."""
    nothing = (columns.codes.shape[1], 0)
    return ByColumn(
        np.empty(nothing, dtype=columns.codes.dtype), np.empty(nothing, dtype=np.uint16), np.empty(nothing, np.uint32)
    )


@inner
def list_rows(target, weights, counts):  # type: ignore[no-untyped-def]
    """Return the rows of a table as items, and one more for rows that are zero in the column of a sparse table."""
    facts = np.empty(len(counts) + 1, dtype=FACTS)
    for i in range(len(counts)):
        facts[i].weight = weights[i]
        facts[i].count = counts[i]
        facts[i].squares = facts[i].weight * facts[i].weight
    return Items(target, facts)


@inner
def make_sorted_columns(columns, by_column, n_table, n_rows):  # type: ignore[no-untyped-def]
    """Make the buffers for up to ``n_rows`` of a table's ``n_table`` rows."""
    n_features = len(columns.n_codes)
    keeps = by_column.codes.shape[1] == 0
    n_words = n_rows + 1  # one to spare, see `keep_drawn`
    return SortedColumns(
        keeps,
        np.empty((n_features if keeps else 2, n_words), dtype=np.uint64),
        np.empty((1, n_words), dtype=np.uint64),
        np.empty(n_table, dtype=np.uint8),
        np.empty(FEW_ROWS, dtype=np.uint32),
        by_column,
        np.zeros((0 if keeps else n_features, 2), dtype=np.int64),
        np.zeros(by_column.ranks.shape[1] // 64 + 1, dtype=np.uint64),
        None,
    )


@inner
def make_sparse_space(columns, n_table, rows):  # type: ignore[no-untyped-def]
    """Make the buffers for some of the ``n_table`` rows of a sparse table, and write these rows into them."""
    words = np.empty((2, len(rows) + 1), dtype=np.uint64)
    for k in range(len(rows)):
        words[0, k] = rows[k]
    return SortedColumns(
        False,
        words,
        np.empty((1, len(rows) + 1), dtype=np.uint64),
        np.empty(n_table, dtype=np.uint8),
        np.empty(FEW_ROWS, dtype=np.uint32),
        None,
        None,
        None,
        make_entry_buffers(columns, rows),
    )


@borrowing
def place_rows(space, columns, rows, facts):  # type: ignore[no-untyped-def]
    """Write rows into the buffers, in the order of each column if columns are kept sorted."""
    words = space.words
    if not space.keeps:
        space.constant[:] = 0  # what is known of other rows that were here
        for k in range(len(rows)):
            words[0, k] = rows[k]
    elif columns.order.shape[1] > 0:
        _keep_drawn(columns, facts, words)
    else:
        for f in range(len(words)):
            if len(rows) <= FEW_ROWS:
                for k in range(len(rows)):
                    space.aside[0, k] = word_of(columns.codes[rows[k], f], rows[k])
                sort_few(space.aside, len(rows), space.few_keys, words, f)
            else:
                for k in range(len(rows)):
                    words[f, k] = word_of(columns.codes[rows[k], f], rows[k])
                sort_by_bytes(words, f, len(rows), columns.n_codes[f], space.aside)


@borrowing
def _keep_drawn(columns, facts, words):  # type: ignore[no-untyped-def]
    """Sort the rows that were drawn by leaving out the others from the order of all."""
    for f in range(len(words)):
        k = 0
        for position in range(columns.order.shape[1]):
            row = columns.order[f, position]
            # Written in any case, and kept if the row was drawn: cheaper than a branch that cannot be foreseen.
            words[f, k] = word_of(columns.codes[row, f], row)
            k += facts[row].count > 0


@borrowing
def _read_column(space, columns, parent, f, limits):  # type: ignore[no-untyped-def]
    """Read the samples of a node in a column, unless it is known to be constant, and return where they are.

    They are sorted, but for random cuts, where it is enough that missing values come last.
    """
    constant, start, end, missing_code = space.constant, parent.start, parent.end, columns.n_codes[f]
    first, drawn = np.int64(0), np.int64(1)  # literals would let everything that takes a line be compiled twice
    if constant[f, 0] <= start and end <= constant[f, 1]:
        return Run(drawn, first, first, first, first, first)
    if limits.random_cuts and not category_flag(columns.is_category, f):
        run = _put_missing_last(space, columns, f, start, end)
    elif _sort_rows(space, columns, f, start, end):
        run = run_of(space.words, drawn, first, end - start, missing_code)
    else:
        run = Run(drawn, first, first, first, first, first)
    if run.end == first:
        constant[f, 0], constant[f, 1] = start, end
    return run


@borrowing
def _put_missing_last(space, columns, f, start, end):  # type: ignore[no-untyped-def]
    """Read the rows of a node in a column and put those with missing values last; there are none if it is constant."""
    words, codes, missing_code = space.words, space.by_column.codes, np.int64(columns.n_codes[f])
    first, drawn = np.int64(0), np.int64(1)
    stop, last = first, end - start
    lowest, highest = missing_code, first - 1
    by_row = end - start <= FEW_ROWS  # rows stay in the processor's cache from one column to the next
    for k in range(start, end):
        row = words[0, k]
        code = np.int64(columns.codes[row, f] if by_row else codes[f, row])
        if code == missing_code:
            last -= 1
            words[drawn, last] = word_of(code, row)
        else:
            words[drawn, stop] = word_of(code, row)
            stop += 1
            lowest, highest = min(lowest, code), max(highest, code)
    if stop == first or (lowest == highest and stop == end - start):
        return Run(drawn, first, first, first, first, first)
    return Run(drawn, first, stop, end - start, lowest, highest)


@borrowing
def _sort_rows(space, columns, f, start, end):  # type: ignore[no-untyped-def]
    """Sort the rows of a node by a column, unless it is constant; return whether it is not."""
    words, codes, ranks, aside = space.words, space.by_column.codes, space.by_column.ranks, space.aside
    n_rows, drawn = end - start, np.int64(1)
    differ = False
    if n_rows <= FEW_ROWS:  # read row by row: they stay in the processor's cache from one column to the next
        first = columns.codes[words[0, start], f]
        for k in range(n_rows):
            row = words[0, start + k]
            code = columns.codes[row, f]
            differ |= code != first
            aside[0, k] = word_of(code, row)
        if differ:
            sort_few(aside, n_rows, space.few_keys, words, drawn)
        return differ
    for k in range(start + 1, end):
        if codes[f, words[0, k]] != codes[f, words[0, start]]:
            differ = True
            break
    if differ and ranks.shape[1] > 0:
        sort_by_rank(space.by_column, f, words, start, end, space.marks)
    elif differ:
        for k in range(n_rows):
            row = words[0, start + k]
            words[1, k] = word_of(codes[f, row], row)
        sort_by_bytes(words, drawn, n_rows, columns.n_codes[f], aside)
    return differ


@inner
def grow_sorted(growth, columns, items, space, search, root, n_rows, limits):  # type: ignore[no-untyped-def]
    """Grow the subtree of ``root``, a leaf that holds the first ``n_rows`` of ``space``, into ``growth``."""
    if is_terminal(growth, root.node, root.depth, limits):
        return
    words = space.words
    # A node waits on the stack as (node, first row, row after the last, depth). For each split above it at most one
    # node waits, and each of these splits has cut off at least one row.
    stack = np.empty((min(limits.max_depth - root.depth, n_rows) + 2, 4), dtype=np.int64)
    keys = np.empty(len(stack), dtype=np.uint64)
    push(stack, 0, root.node, 0, n_rows, root.depth)
    keys[0] = root.key
    n_waiting = 1
    while n_waiting > 0:
        n_waiting -= 1
        node, start, end, depth = (
            stack[n_waiting, 0], stack[n_waiting, 1], stack[n_waiting, 2], stack[n_waiting, 3]
        )  # fmt: skip
        key = keys[n_waiting]
        parent = describe(growth, node, start, end)
        for k in range(start, start if limits.random_cuts else end):
            i = row_of(words[0, k])
            items.facts[i].product = items.facts[i].weight * sum_of(items.target, i, parent.totals)
        gain = _find_split(space, space.entries, items, columns, parent, search, key, limits)
        if search.split[FEATURE] < 0:
            continue

        # The first unused node becomes the left child.
        child = growth.used[0]
        n_left, left_weight, left_count = _mark_left(space, columns, items, parent, search, growth.values[child])
        write_split(growth, columns, node, search, gain, left_weight, left_count)
        grow_left = not is_terminal(growth, child, depth + 1, limits)
        grow_right = not is_terminal(growth, child + 1, depth + 1, limits)
        if space.entries is not None:  # entries of a child that stays a leaf are taken from its parent's
            _deal_out(space, start, end, True, True)
        elif grow_left or grow_right:
            _deal_out(space, start, end, grow_left, grow_right)
        bounds = (start, start + n_left, end)
        larger = 1 if 2 * n_left < end - start else 0
        for turn in range(2):
            side = larger if turn else 1 - larger  # the node that waits last is the next one
            if grow_right if side else grow_left:
                push(stack, n_waiting, child + side, bounds[side], bounds[side + 1], depth + 1)
                keys[n_waiting] = mix(key, side)
                n_waiting += 1


@borrowing
def _find_split(space, entries, items, columns, parent, search, key, limits):  # type: ignore[no-untyped-def]
    """Search all features, or a random choice of them; write the best split into ``search`` and return its gain."""
    begin_search(parent, search, limits)
    search_node(space, entries, items, columns, parent, search, key, limits)
    return gain_of(parent, search)


def search_node(space, entries, items, columns, parent, search, key, limits):  # type: ignore[no-untyped-def]
    """Search the columns of a table, or the entries of a sparse one."""
    return interpret(_search_node, space, entries, items, columns, parent, search, key, limits)


@overload(search_node)
def _search_node(space, entries, items, columns, parent, search, key, limits):  # type: ignore[no-untyped-def]
    search_kind = _search_columns if isinstance(entries, types.NoneType) else search_entries

    def search_it(space, entries, items, columns, parent, search, key, limits):  # type: ignore[no-untyped-def]
        search_kind(space, entries, items, columns, parent, search, key, limits)

    return search_it


@borrowing
def _search_columns(space, entries, items, columns, parent, search, key, limits):  # type: ignore[no-untyped-def]
    list_features(search, limits)
    for position in range(len(search.features)):
        feature = next_feature(columns, parent, search, position, key, limits)
        f = feature.number
        if f < 0:
            break
        if space.keeps:
            run = run_of(space.words, f, parent.start, parent.end, columns.n_codes[f])
        else:
            run = _read_column(space, columns, parent, f, limits)
        try_feature(columns, items, parent, search, space.words, run, feature, limits)


@borrowing
def _mark_left(space, columns, items, parent, search, sums):  # type: ignore[no-untyped-def]
    """Mark the samples that go left, sum up their classes, and return how many they are, their weight and count."""
    f = search.split[FEATURE]
    is_category, missing_code = category_flag(columns.is_category, f), columns.n_codes[f]
    for j in range(len(sums)):
        sums[j] = 0.0
    n_left = 0
    left_weight = left_count = 0.0
    for k in range(parent.start, parent.end):
        i = row_of(space.words[0, k])
        left = np.int64(goes_left(code_at(columns.codes, i, f), search.split, search.sides, missing_code, is_category))
        space.is_left[i] = left
        add_row(items.target, i, left * items.facts[i].weight, sums)
        n_left += left
        left_weight += left * items.facts[i].weight
        left_count += left * items.facts[i].count
    return n_left, left_weight, np.int64(left_count)


@borrowing
def _deal_out(space, start, end, left, right):  # type: ignore[no-untyped-def]
    """Reorder a node's samples so that the left ones come first, each side in the order that it had.

    Those of a side that does not grow on, as ``left`` and ``right`` say, may be overwritten.
    """
    words, is_left, aside = space.words, space.is_left, space.aside
    for f in range(len(words) if space.keeps else 1):
        if not left:
            place = end - 1
            for k in range(end - 1, start - 1, -1):
                word = words[f, k]
                words[f, place] = word
                place -= 1 - is_left[row_of(word)]
            continue
        # Both places are written and one of them is kept: a wrong guess at a branch would cost more.
        place = start
        for k in range(start, end):
            word = words[f, k]
            words[f, place] = word
            aside[0, k - place] = word
            place += is_left[row_of(word)]
        for k in range(end - place if right else 0):
            words[f, place + k] = aside[0, k]
