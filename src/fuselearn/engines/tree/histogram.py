"""Grow a tree on histograms: the way for nodes with more rows than codes.

A node's histogram holds, for every column and code, the class counts of its rows. It is filled for the smaller
child of a split only; the larger child's is its parent's less its sibling's, exactly, since all entries are
whole numbers. Nodes that became too small for a histogram are grown on sorted columns.

Only multi-class targets whose weights are counts are grown here.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fuselearn._kernels import borrowing, kernel
from fuselearn.engines.tree.random import mix
from fuselearn.engines.tree.searching import (
    FACTS,
    Items,
    begin_search,
    describe,
    gain_of,
    list_features,
    make_search,
    next_feature,
    run_of,
    try_feature,
)
from fuselearn.engines.tree.sorted_columns import grow_sorted, list_rows, make_sorted_columns, place_rows
from fuselearn.engines.tree.sorting import word_of
from fuselearn.engines.tree.splitting import FEATURE, Root, goes_left, is_terminal, push, write_split
from fuselearn.engines.tree.subsets import category_flag


class Histogram(NamedTuple):
    """The histogram of a node; bins are the items of its columns.

    The bins of column ``f`` are ``starts[f]`` to ``starts[f + 1] - 1``; the last of them is for missing values. The
    weights of the node's ``rows`` are needed to tell copies of a row from other rows, which the bins do not.
    """

    bins: Items
    starts: npt.NDArray[np.int64]
    words: npt.NDArray[np.uint64]
    rows: npt.NDArray[np.int32]
    weights: npt.NDArray[np.void]


@kernel
def grow_histogram(growth, columns, by_column, target, counts, rows, root, limits, small_node, branch_size):  # type: ignore[no-untyped-def]
    """Grow the subtree of ``root``, a leaf that holds ``rows``, and reorder ``rows`` by node on the way.

    Nodes below the root with at most ``branch_size`` rows are not grown but returned, as an array of (node,
    first row, row after the last, depth) and an array of their keys.
    """
    nodes, values = growth.nodes, growth.values
    # Branches are leaves of a tree that has room in nodes, so they are at most as many as its leaves. Rows per leaf say
    # nothing about that: min_leaf counts copies.
    branches = np.empty((len(nodes) // 2 + 1 if branch_size else 0, 4), dtype=np.int64)
    branch_keys = np.empty(len(branches), dtype=np.uint64)
    n_branches = 0
    if is_terminal(growth, root.node, root.depth, limits):
        return branches[:0], branch_keys[:0]
    n_features, n_classes = len(columns.n_codes), values.shape[1]
    starts = np.empty(n_features + 1, dtype=np.int64)
    starts[0] = 0
    most_codes = 0
    for f in range(n_features):
        starts[f + 1] = starts[f] + columns.n_codes[f] + 1
        most_codes = max(most_codes, columns.n_codes[f] + 1)
    search = make_search(columns, n_classes)
    items = list_rows(target, counts, counts)
    space = make_sorted_columns(columns, by_column, len(counts), min(small_node, len(rows)))
    bin_facts = np.empty(starts[n_features], dtype=FACTS)
    words = np.empty((1, most_codes + 1), dtype=np.uint64)  # one to spare, see `_list_bins`
    aside = np.empty(len(rows), dtype=np.int32)

    # The node at place s of the stack has its histogram at place s, too. The larger child waits while the smaller one,
    # at most half of its parent, is grown, so few places are ever taken.
    n_places = min(limits.max_depth - root.depth, int(np.log2(len(rows))) + 1) + 2
    stack = np.empty((n_places, 4), dtype=np.int64)
    keys = np.empty(n_places, dtype=np.uint64)
    histograms = np.empty((n_places + 1, starts[n_features], n_classes), dtype=np.int32)
    push(stack, 0, root.node, 0, len(rows), root.depth)
    keys[0] = root.key
    n_waiting = 1
    if len(rows) > small_node:
        _fill(histograms[0], columns.codes, starts, target, counts, rows)
    while n_waiting > 0:
        n_waiting -= 1
        node, start, end, depth = (
            stack[n_waiting, 0], stack[n_waiting, 1], stack[n_waiting, 2], stack[n_waiting, 3]
        )  # fmt: skip
        key = keys[n_waiting]
        if end - start <= branch_size and node != root.node:
            branches[n_branches] = stack[n_waiting]
            branch_keys[n_branches] = key
            n_branches += 1
            continue
        if end - start <= small_node:
            place_rows(space, columns, rows[start:end], items.facts)
            grow_sorted(growth, columns, items, space, search, Root(node, depth, key), end - start, limits)
            continue
        counted = histograms[n_waiting]
        histogram = Histogram(Items(counted, bin_facts), starts, words, rows[start:end], items.facts)
        parent = describe(growth, node, start, end)
        gain = _find_split(histogram, columns, parent, search, key, limits)
        if search.split[FEATURE] < 0:
            continue

        # The first unused node becomes the left child.
        child = growth.used[0]
        left_count = _sum_left(counted, starts, columns, search, values[child])
        write_split(growth, columns, node, search, gain, float(left_count), left_count)
        middle = start + _deal_out(columns, rows[start:end], search, aside)

        # The smaller child is counted, the larger child's histogram is what remains of the parent's. So the larger
        # one waits at the parent's place, and the smaller one above it.
        smaller = 0 if middle - start < end - middle else 1
        larger = 1 - smaller
        bounds = (start, middle, end)
        grow_smaller = not is_terminal(growth, child + smaller, depth + 1, limits)
        grow_larger = not is_terminal(growth, child + larger, depth + 1, limits)
        smaller_rows = rows[bounds[smaller] : bounds[smaller + 1]]
        n_larger = end - start - len(smaller_rows)
        if grow_larger and n_larger > max(small_node, branch_size):
            _fill(histograms[n_waiting + 1], columns.codes, starts, target, counts, smaller_rows)
            _subtract(counted, histograms[n_waiting + 1])
        elif grow_smaller and len(smaller_rows) > max(small_node, branch_size):
            _fill(counted, columns.codes, starts, target, counts, smaller_rows)
        for size in range(2):
            side = smaller if size else larger
            if grow_smaller if size else grow_larger:
                push(stack, n_waiting, child + side, bounds[side], bounds[side + 1], depth + 1)
                keys[n_waiting] = mix(key, side)
                n_waiting += 1
    return branches[:n_branches], branch_keys[:n_branches]


@borrowing
def _fill(histogram, codes, starts, target, counts, rows):  # type: ignore[no-untyped-def]
    """Count the rows of a node, per column, code and class."""
    n_features = codes.shape[1]
    histogram[:] = 0
    for k in range(len(rows)):
        row = rows[k]
        count = counts[row]
        j = target[row]
        for f in range(n_features):
            histogram[starts[f] + codes[row, f], j] += count


@borrowing
def _subtract(histogram, other):  # type: ignore[no-untyped-def]
    for b in range(histogram.shape[0]):
        for j in range(histogram.shape[1]):
            histogram[b, j] -= other[b, j]


@borrowing
def _find_split(histogram, columns, parent, search, key, limits):  # type: ignore[no-untyped-def]
    """Search all features, or a random choice of them; write the best split into ``search`` and return its gain."""
    begin_search(parent, search, limits)
    list_features(search, limits)
    for position in range(len(search.features)):
        feature = next_feature(columns, parent, search, position, key, limits)
        if feature.number < 0:
            break
        run = _list_bins(histogram, columns, parent, feature.number, limits.less_chance)
        try_feature(columns, histogram.bins, parent, search, histogram.words, run, feature, limits)
    return gain_of(parent, search)


@borrowing
def _list_bins(histogram, columns, parent, f, with_squares):  # type: ignore[no-untyped-def]
    """Write the bins of a column that are not empty in the order of their codes, and return where they are."""
    counted, facts = histogram.bins
    words, totals, first = histogram.words, parent.totals, histogram.starts[f]
    none, n_bins = np.int64(0), 0
    for code in range(histogram.starts[f + 1] - first):
        weight, product = 0, 0.0
        for j in range(len(totals)):
            weight += counted[first + code, j]
            product += counted[first + code, j] * totals[j]
        facts[first + code].weight = weight
        facts[first + code].count = weight
        facts[first + code].product = product
        # Written in any case, and kept if not empty: cheaper than a branch that cannot be foreseen.
        words[0, n_bins] = word_of(code, first + code)
        n_bins += weight > 0
    if with_squares and category_flag(columns.is_category, f):
        for b in range(first, histogram.starts[f + 1]):
            facts[b].squares = 0.0
        for row in histogram.rows:
            facts[first + columns.codes[row, f]].squares += histogram.weights[row].squares
    return run_of(words, none, none, n_bins, columns.n_codes[f])


@borrowing
def _sum_left(counted, starts, columns, search, sums):  # type: ignore[no-untyped-def]
    """Sum up the class counts on the left of a split, and return the sum of all."""
    f = search.split[FEATURE]
    is_category, missing_code = category_flag(columns.is_category, f), columns.n_codes[f]
    left_count = 0
    for j in range(len(sums)):
        class_count = 0
        for code in range(missing_code + 1):
            if goes_left(code, search.split, search.sides, missing_code, is_category):
                class_count += counted[starts[f] + code, j]
        sums[j] = class_count
        left_count += class_count
    return left_count


@borrowing
def _deal_out(columns, rows, search, aside):  # type: ignore[no-untyped-def]
    """Reorder a node's rows so that the left ones come first; return how many these are."""
    f = search.split[FEATURE]
    is_category, missing_code = category_flag(columns.is_category, f), columns.n_codes[f]
    n_left = n_aside = 0
    for row in rows:
        if goes_left(columns.codes[row, f], search.split, search.sides, missing_code, is_category):
            rows[n_left] = row
            n_left += 1
        else:
            aside[n_aside] = row
            n_aside += 1
    for k in range(n_aside):
        rows[n_left + k] = aside[k]
    return n_left
