"""The search for a node's best split in a table of which only entries are listed, see `sparse_coding`.

The entries of a node's samples tell which columns may vary in it, and features are drawn among these. A column's items
are its entries and one item for all samples whose value is zero. The class weights of that item are what the entries
leave of the node's. So the work is in proportion to the entries, however many zeros and columns there are.

Splits of sparse tables cut off few samples. The larger child of a split is searched next, and what is known of its
entries is what is known of its parent's, less those of its sibling.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fuselearn._kernels import borrowing, inner
from fuselearn.engines.tree.random import draw_into, mix
from fuselearn.engines.tree.searching import NO_KEY, Feature, has_tried_enough, run_of, try_feature
from fuselearn.engines.tree.sorting import FEW_ROWS, row_of, sort_by_bytes, sort_few, word_of
from fuselearn.engines.tree.targets import add_row

NOT_LISTED = -1
# What is known of the node at hand: its first row, the row after its last one, and its number of columns with entries
# and of entries; and how many nodes have been looked at by column.
START, END, N_PRESENT, N_ENTRIES, STAMP = 0, 1, 2, 3, 4


class EntryBuffers(NamedTuple):
    """The entries of the node at hand.

    ``n_seen[f]`` is their number in column ``f``, and ``present[places[f]]`` is ``f`` if there are any. For columns
    that are looked at, ``ends[f]`` is the end of the entries in ``listed``. ``stamps`` mark the rows of the node.
    """

    node: npt.NDArray[np.int64]
    n_seen: npt.NDArray[np.int64]
    places: npt.NDArray[np.int64]
    present: npt.NDArray[np.int64]
    ends: npt.NDArray[np.int64]
    listed: npt.NDArray[np.uint64]
    stamps: npt.NDArray[np.int64]


@inner
def make_entry_buffers(columns, rows):  # type: ignore[no-untyped-def]
    """Make the buffers for the nodes of a tree that is grown on these rows."""
    starts, n_features, n_entries = columns.codes.starts, len(columns.n_codes), 0
    for row in rows:
        n_entries += starts[row + 1] - starts[row]
    return EntryBuffers(
        np.zeros(5, dtype=np.int64),
        np.zeros(n_features, dtype=np.int64),
        np.empty(n_features, dtype=np.int64),
        np.empty(n_features, dtype=np.int64),
        np.full(n_features, NOT_LISTED, dtype=np.int64),
        np.empty(n_entries, dtype=np.uint64),
        np.zeros(len(starts) - 1, dtype=np.int64),
    )


@borrowing
def search_entries(space, entries, items, columns, parent, search, key, limits):  # type: ignore[no-untyped-def]
    """Search all features that vary in a node, or a random choice of them, and write the best split into ``search``."""
    _turn_to(entries, columns, space.words, parent)
    features, n_features = search.features, len(search.features)
    draws = limits.max_features < n_features
    n_present = _list_present(entries, features, draws)
    start = 0
    while start < n_present and not has_tried_enough(columns, parent, search, limits):
        end = min(start + limits.max_features, n_present)
        for position in range(start, end if draws else start):
            draw_into(features[:n_present], position, key)
        _list_entries(entries, columns, space.words, parent, features, start, end)
        for position in range(start, end):
            f = features[position]
            if not has_tried_enough(columns, parent, search, limits):
                run = _read_column(space, entries, items, columns, parent, f)
                random_key = mix(key, n_features + f) if limits.random_cuts else NO_KEY
                try_feature(columns, items, parent, search, space.words, run, Feature(f, random_key), limits)
            entries.ends[f] = NOT_LISTED
        start = end


@borrowing
def _turn_to(entries, columns, words, parent):  # type: ignore[no-untyped-def]
    """Describe the entries of a node: those of the last node less some, if the node is its larger child."""
    node, start, end = entries.node, parent.start, parent.end
    is_below = node[START] <= start and end <= node[END]
    if is_below and 2 * (end - start) >= node[END] - node[START]:
        _count_entries(entries, columns, words, node[START], start, -1)
        _count_entries(entries, columns, words, end, node[END], -1)
    else:
        for k in range(node[N_PRESENT]):
            entries.n_seen[entries.present[k]] = 0
        node[N_PRESENT] = node[N_ENTRIES] = 0
        _count_entries(entries, columns, words, start, end, 1)
    node[START], node[END] = start, end


@borrowing
def _count_entries(entries, columns, words, start, end, sign):  # type: ignore[no-untyped-def]
    """Add the entries of some rows to those of the node at hand, or take them away."""
    n_seen, places, present, node = entries.n_seen, entries.places, entries.present, entries.node
    starts = columns.codes.starts
    for k in range(start, end):
        row = np.int64(words[0, k])
        node[N_ENTRIES] += sign * (starts[row + 1] - starts[row])
        for e in range(starts[row], starts[row + 1]):
            f = columns.codes.columns[e]
            if n_seen[f] == 0:
                places[f] = node[N_PRESENT]
                present[node[N_PRESENT]] = f
                node[N_PRESENT] += 1
            n_seen[f] += sign
            if n_seen[f] == 0:
                node[N_PRESENT] -= 1
                last = present[node[N_PRESENT]]
                present[places[f]] = last
                places[last] = places[f]


@borrowing
def _list_present(entries, features, draws):  # type: ignore[no-untyped-def]
    """List the columns with entries, in ascending order unless they are drawn from; return how many they are."""
    n_present = entries.node[N_PRESENT]
    if draws:
        for k in range(n_present):
            features[k] = entries.present[k]
        return n_present
    n_listed = 0
    for f in range(len(entries.n_seen)):
        features[n_listed] = f
        n_listed += entries.n_seen[f] > 0
        if n_listed == n_present:
            break
    return n_present


@borrowing
def _list_entries(entries, columns, words, parent, features, start, end):  # type: ignore[no-untyped-def]
    """List the node's entries in some columns, column by column: from all columns, or from all rows if that is less."""
    n_listed = n_in_columns = 0
    for position in range(start, end):
        f = features[position]
        entries.ends[f] = n_listed
        n_listed += entries.n_seen[f]
        n_in_columns += columns.by_column.starts[f + 1] - columns.by_column.starts[f]
    if n_in_columns < entries.node[N_ENTRIES]:
        _list_by_column(entries, columns, words, parent, features, start, end)
        return
    starts, places, codes = columns.codes.starts, columns.codes.columns, columns.codes.codes
    for k in range(parent.start, parent.end):
        row = np.int64(words[0, k])
        for e in range(starts[row], starts[row + 1]):
            place = entries.ends[places[e]]
            if place != NOT_LISTED:
                entries.listed[place] = word_of(codes[e], row)
                entries.ends[places[e]] = place + 1


@borrowing
def _list_by_column(entries, columns, words, parent, features, start, end):  # type: ignore[no-untyped-def]
    starts, rows, codes = columns.by_column
    entries.node[STAMP] += 1
    stamps, stamp = entries.stamps, entries.node[STAMP]
    for k in range(parent.start, parent.end):
        stamps[words[0, k]] = stamp
    for position in range(start, end):
        f = features[position]
        place = entries.ends[f]
        for e in range(starts[f], starts[f + 1]):
            if stamps[rows[e]] == stamp:
                entries.listed[place] = word_of(codes[e], rows[e])
                place += 1
        entries.ends[f] = place


@borrowing
def _read_column(space, entries, items, columns, parent, f):  # type: ignore[no-untyped-def]
    """Sort the items of a column, and return where they are."""
    words, aside, facts = space.words, space.aside, items.facts
    first, line, n_items = np.int64(0), np.int64(1), entries.n_seen[f]
    for k in range(n_items):
        aside[0, k] = entries.listed[entries.ends[f] - n_items + k]
    if n_items < parent.end - parent.start:
        zero, rest = len(facts) - 1, items.target[2]
        for j in range(len(rest)):
            rest[j] = parent.totals[j]
        weight, count, product = parent.weight, float(parent.n_copies), parent.squares
        for k in range(n_items):
            i = row_of(aside[0, k])
            add_row(items.target, i, -facts[i].weight, rest)
            weight -= facts[i].weight
            count -= facts[i].count
            product -= facts[i].product
        facts[zero].weight, facts[zero].count, facts[zero].product = weight, count, product
        aside[0, n_items] = word_of(columns.codes.zeros[f], zero)
        n_items += 1
    if n_items <= FEW_ROWS:
        sort_few(aside, n_items, space.few_keys, words, line)
    else:
        for k in range(n_items):
            words[line, k] = aside[0, k]
        sort_by_bytes(words, line, n_items, columns.n_codes[f], aside)
    return run_of(words, line, first, n_items, columns.n_codes[f])
