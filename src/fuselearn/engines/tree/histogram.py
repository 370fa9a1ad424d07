"""Grow a tree on histograms: the way for nodes with more rows than codes.

A node's histogram holds, for every column and code, the class counts of its rows. It is filled for the smaller
child of a split only; the larger child's is its parent's less its sibling's, exactly, since all entries are
whole numbers. Nodes that became too small for a histogram are handed to the presorted grower.

Only multi-class targets whose weights are counts are grown here.
"""

import numpy as np
from numba import types
from numba.extending import overload

from fuselearn._kernels import inlined, kernel
from fuselearn.engines.tree.chance import lessen, point_from_right_to_left, squared_lengths
from fuselearn.engines.tree.presorted import grow_presorted
from fuselearn.engines.tree.random import mix
from fuselearn.engines.tree.splitting import (
    FEATURE,
    FIRST_RIGHT,
    HAS_MISSING,
    LAST_LEFT,
    MISSING_LEFT,
    SPLIT_NUMBERS,
    column_at,
    goes_left,
    is_terminal,
    push,
    write_split,
)
from fuselearn.engines.tree.subsets import category_flag, keep_subset, make_categories, search_subset


@kernel
def grow_histogram(  # type: ignore[no-untyped-def]
    growth,
    columns,
    target,
    counts,
    rows,
    root,
    root_depth,
    root_key,
    limits,
    small_node,
    branch_size,
):
    """Grow the subtree of ``root``, a leaf that holds ``rows``, and reorder ``rows`` by node on the way.

    Nodes below the root with at most ``branch_size`` rows are not grown but returned, as an array of (node,
    first row, row after the last, depth) and an array of their keys.
    """
    nodes, values, _, used = growth
    # Branches are leaves of a tree that has room in nodes, so they are at most as many as its leaves. Rows per leaf say
    # nothing about that: min_leaf counts copies.
    branches = np.empty((len(nodes) // 2 + 1 if branch_size else 0, 4), dtype=np.int64)
    branch_keys = np.empty(len(branches), dtype=np.uint64)
    n_branches = 0
    if is_terminal(nodes, values, root, root_depth, limits, False):
        return branches[:0], branch_keys[:0]
    n_features, n_classes = len(columns.n_codes), values.shape[1]
    starts = np.empty(n_features + 1, dtype=np.int64)
    starts[0] = 0
    for f in range(n_features):
        starts[f + 1] = starts[f] + columns.n_codes[f] + 1
    features = np.empty(n_features, dtype=np.int64)
    left = np.empty(n_classes)
    found = make_categories(columns.is_category, columns.n_codes, n_classes)
    aside = np.empty(len(rows), dtype=np.int32)
    split = np.empty(SPLIT_NUMBERS, dtype=np.int64)
    sides = np.empty(columns.n_codes.max() + 1, dtype=np.uint8)

    # The node at place s of the stack has its histogram at place s, too. The larger child waits while the smaller one,
    # at most half of its parent, is grown, so few places are ever taken.
    n_places = min(limits.max_depth - root_depth, int(np.log2(len(rows))) + 1) + 2
    stack = np.empty((n_places, 4), dtype=np.int64)
    keys = np.empty(n_places, dtype=np.uint64)
    histograms = np.empty((n_places + 1, starts[n_features], n_classes), dtype=np.int32)
    push(stack, 0, root, 0, len(rows), root_depth)
    keys[0] = root_key
    n_waiting = 1
    if len(rows) > small_node:
        _fill(histograms[0], columns.codes, starts, target, counts, rows)
    while n_waiting > 0:
        n_waiting -= 1
        node, start, end, depth = (
            stack[n_waiting, 0], stack[n_waiting, 1], stack[n_waiting, 2], stack[n_waiting, 3]
        )  # fmt: skip
        key = keys[n_waiting]
        if end - start <= branch_size and node != root:
            branches[n_branches] = stack[n_waiting]
            branch_keys[n_branches] = key
            n_branches += 1
            continue
        if end - start <= small_node:
            grow_presorted(
                growth,
                columns,
                target,
                False,
                counts,
                counts,
                rows[start:end],
                node,
                depth,
                key,
                limits,
            )
            continue
        histogram = histograms[n_waiting]
        gain = _find_split(
            columns, starts, histogram, counts, rows[start:end], nodes, values, features, left, found,
            node, key, limits, split, sides,
        )  # fmt: skip
        if split[FEATURE] < 0:
            continue

        # The first unused node becomes the left child.
        f = split[FEATURE]
        is_category = category_flag(columns.is_category, f)
        missing_code = columns.n_codes[f]
        child = used[0]
        left_count = 0
        for j in range(n_classes):
            class_count = 0
            for code in range(missing_code + 1):
                if goes_left(code, split, sides, missing_code, is_category):
                    class_count += histogram[starts[f] + code, j]
            values[child, j] = class_count
            left_count += class_count
        write_split(growth, columns, is_category, node, split, sides, gain, float(left_count), left_count)
        middle = _deal_out(columns.codes, rows, start, end, f, split, sides, missing_code, is_category, aside)

        # The smaller child is counted, the larger child's histogram is what remains of the parent's. So the larger
        # one waits at the parent's place, and the smaller one above it.
        smaller = 0 if middle - start < end - middle else 1
        larger = 1 - smaller
        bounds = (start, middle, end)
        grow_smaller = not is_terminal(nodes, values, child + smaller, depth + 1, limits, False)
        grow_larger = not is_terminal(nodes, values, child + larger, depth + 1, limits, False)
        smaller_rows = rows[bounds[smaller] : bounds[smaller + 1]]
        n_larger = end - start - len(smaller_rows)
        if grow_larger and n_larger > max(small_node, branch_size):
            _fill(histograms[n_waiting + 1], columns.codes, starts, target, counts, smaller_rows)
            _subtract(histogram, histograms[n_waiting + 1])
        elif grow_smaller and len(smaller_rows) > max(small_node, branch_size):
            _fill(histogram, columns.codes, starts, target, counts, smaller_rows)
        for size in range(2):
            side = smaller if size else larger
            if grow_smaller if size else grow_larger:
                push(stack, n_waiting, child + side, bounds[side], bounds[side + 1], depth + 1)
                keys[n_waiting] = mix(key, side)
                n_waiting += 1
    return branches[:n_branches], branch_keys[:n_branches]


@kernel
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


@kernel
def _subtract(histogram, other):  # type: ignore[no-untyped-def]
    for b in range(histogram.shape[0]):
        for j in range(histogram.shape[1]):
            histogram[b, j] -= other[b, j]


@inlined
def _find_split(  # type: ignore[no-untyped-def]
    columns, starts, histogram, counts, rows, nodes, values, features, left, found, node, key, limits, split, sides
):
    """Search all columns, or a random choice of them; write the best split and return its gain."""
    n_features, n_classes = len(features), values.shape[1]
    totals = values[node]
    weight = nodes[node].weight
    squares = 0.0
    for j in range(n_classes):
        squares += totals[j] * totals[j]
    best, best_below = squares + limits.min_gain * weight, weight  # a fraction, as in the presorted grower
    split[FEATURE] = -1
    n_tried = 0
    for position in range(n_features):
        if n_tried >= limits.max_features and split[FEATURE] >= 0:
            break
        f = column_at(position, features, key, limits.max_features)
        bins = histogram[starts[f] : starts[f + 1]]
        if category_flag(columns.is_category, f):
            best, is_constant = _try_subsets(
                columns.is_category, found, bins, columns.codes, counts, rows, totals, weight, f, limits,
                best / best_below, split, sides,
            )  # fmt: skip
            best_below = 1.0
        else:
            best, best_below, is_constant = _try_cuts(
                bins, totals, weight, left, f, limits.min_leaf, best, best_below, split
            )
        n_tried += not is_constant
    return best / best_below - squares / weight


@kernel
def _try_cuts(bins, totals, weight, left, f, min_leaf, best, best_below, split):  # type: ignore[no-untyped-def]
    """Walk along a column's codes and keep the best cut; tell whether the column is constant.

    The last bin holds the missing values. They are taken last, so as to be on the right, and then first.
    """
    n_bins, n_classes = bins.shape
    n_missing = 0
    for j in range(n_classes):
        n_missing += bins[n_bins - 1, j]
    is_constant = True
    for missing_left in range(2 if n_missing > 0 else 1):
        left_weight = 0.0
        for j in range(n_classes):
            left[j] = bins[n_bins - 1, j] if missing_left else 0.0
            left_weight += left[j]
        last_code = -1
        for code in range(n_bins - missing_left):
            bin_weight = 0
            for j in range(n_classes):
                bin_weight += bins[code, j]
            if bin_weight == 0:
                continue
            if last_code >= 0:
                is_constant = False
                right_weight = weight - left_weight
                if right_weight < min_leaf:
                    break
                if left_weight >= min_leaf:
                    left_squares = 0.0
                    right_squares = 0.0
                    for j in range(n_classes):
                        left_squares += left[j] * left[j]
                        right_squares += (totals[j] - left[j]) * (totals[j] - left[j])
                    score = left_squares * right_weight + right_squares * left_weight
                    below = left_weight * right_weight
                    if score * best_below > best * below:
                        best, best_below = score, below
                        split[FEATURE] = f
                        split[LAST_LEFT] = last_code
                        split[FIRST_RIGHT] = code
                        split[MISSING_LEFT] = missing_left
                        split[HAS_MISSING] = n_missing > 0
            for j in range(n_classes):
                left[j] += bins[code, j]
            left_weight += bin_weight
            last_code = code
    return best, best_below, is_constant


def _try_subsets(  # type: ignore[no-untyped-def]
    is_category, found, bins, codes, counts, rows, totals, weight, f, limits, best, split, sides
):
    """Keep the best subset of a category column's codes; tell whether the column is constant."""
    n_bins, n_classes = bins.shape
    n_present = 0
    for code in range(n_bins):
        bin_weight = 0
        for j in range(n_classes):
            bin_weight += bins[code, j]
        if bin_weight == 0:
            continue
        found.codes[n_present] = code
        found.weights[n_present] = bin_weight
        found.counts[n_present] = bin_weight
        for j in range(n_classes):
            found.sums[n_present, j] = bins[code, j]
        n_present += 1
    if limits.less_chance:  # a histogram does not tell copies of a row from other rows
        by_code = found.positions
        for code in range(n_bins):
            by_code[code] = 0.0
        for row in rows:
            by_code[codes[row, f]] += float(counts[row]) * float(counts[row])
        for c in range(n_present):
            found.squares[c] = by_code[found.codes[c]]
    no_key = np.uint64(0)
    score, n_groups = search_subset(found, n_present, totals, weight, weight, False, no_key, limits)
    if score > best and limits.less_chance:
        point_from_right_to_left(found, n_groups, totals, weight)
        lengths = squared_lengths(totals, found.direction)
        score = lessen(found, n_groups, totals, weight, lengths, False, score)
    if score > best:
        best = score
        split[FEATURE] = f
        keep_subset(found, n_present, sides)
    return best, n_present < 2


@overload(_try_subsets)
def _compile_try_subsets(  # type: ignore[no-untyped-def]
    is_category, found, bins, codes, counts, rows, totals, weight, f, limits, best, split, sides
):
    def nothing(is_category, found, bins, codes, counts, rows, totals, weight, f, limits, best, split, sides):  # type: ignore[no-untyped-def]
        return best, True

    # Compiled to nothing for tables without category columns, which spares them the wait.
    return nothing if isinstance(is_category, types.NoneType) else _try_subsets


@inlined
def _deal_out(codes, rows, start, end, f, split, sides, missing_code, is_category, aside):  # type: ignore[no-untyped-def]
    """Reorder a node's rows so that the left ones come first; return the place of the first right one."""
    middle = start
    n_aside = 0
    for k in range(start, end):
        row = rows[k]
        if goes_left(codes[row, f], split, sides, missing_code, is_category):
            rows[middle] = row
            middle += 1
        else:
            aside[n_aside] = row
            n_aside += 1
    for k in range(n_aside):
        rows[middle + k] = aside[k]
    return middle
