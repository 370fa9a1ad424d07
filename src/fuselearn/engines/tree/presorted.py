"""Grow a tree, or the lower part of one, on columns that are sorted once.

The rows of the subtree are copied out and every column's order is found by counting, once. A split then
keeps each column sorted by dealing its order out to the two children, so that no node ever sorts. Weights are
whole numbers, so all sums are exact.
"""

import numpy as np
from numba import types
from numba.extending import overload

from fuselearn._kernels import inlined, kernel
from fuselearn.engines.tree.chance import lessen, point_from_right_to_left, squared_lengths
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
    random_cut,
    write_split,
)
from fuselearn.engines.tree.subsets import category_flag, keep_subset, make_categories, search_subset
from fuselearn.engines.tree.targets import add_row, sum_of, take


@kernel
def grow_presorted(growth, columns, target, multilabel, weights, counts, rows, root, root_depth, root_key, limits):  # type: ignore[no-untyped-def]
    """Grow the subtree of ``root``, a leaf that holds ``rows``, into ``growth``."""
    nodes, values, _, used = growth
    if is_terminal(nodes, values, root, root_depth, limits, multilabel):
        return
    n_rows = len(rows)
    n_features, n_classes = len(columns.n_codes), values.shape[1]
    codes, order = _sort_columns(columns.codes, columns.n_codes, columns.order, rows)
    target = take(target, rows)
    row_weight = np.empty(n_rows)
    row_count = np.empty(n_rows, dtype=np.int32)
    for i in range(n_rows):
        row_weight[i] = weights[rows[i]]
        row_count[i] = counts[rows[i]]

    features = np.empty(n_features, dtype=np.int64)
    most_codes = 0
    for f in range(n_features):
        most_codes = max(most_codes, columns.n_codes[f])
    left = np.empty(n_classes)
    found = make_categories(columns.is_category, columns.n_codes, n_classes)
    is_left = np.empty(n_rows, dtype=np.uint8)
    aside = np.empty(n_rows, dtype=np.uint32)
    split = np.empty(SPLIT_NUMBERS, dtype=np.int64)
    sides = np.empty(most_codes + 1, dtype=np.uint8)

    # A node waits on the stack as (node, first row, row after the last, depth). For each split above it at most one
    # node waits, and each of these splits has cut off at least one row.
    stack = np.empty((min(limits.max_depth - root_depth, n_rows) + 2, 4), dtype=np.int64)
    keys = np.empty(len(stack), dtype=np.uint64)
    push(stack, 0, root, 0, n_rows, root_depth)
    keys[0] = root_key
    n_waiting = 1
    while n_waiting > 0:
        n_waiting -= 1
        node, start, end, depth = (
            stack[n_waiting, 0], stack[n_waiting, 1], stack[n_waiting, 2], stack[n_waiting, 3]
        )  # fmt: skip
        key = keys[n_waiting]
        gain = _find_split(
            columns, codes, order, target, multilabel, row_weight, row_count, nodes, values,
            features, left, found, node, start, end, key, limits, split, sides,
        )  # fmt: skip
        if split[FEATURE] < 0:
            continue

        # The first unused node becomes the left child; its class weights are summed up here.
        f = split[FEATURE]
        is_category = category_flag(columns.is_category, f)
        left_weight = 0.0
        left_count = np.int64(0)
        n_left_rows = 0
        child = used[0]
        sums = values[child]
        for j in range(n_classes):
            sums[j] = 0.0
        for k in range(start, end):
            i = order[f, k]
            is_left[i] = goes_left(codes[f, i], split, sides, columns.n_codes[f], is_category)
            if is_left[i]:
                add_row(target, i, row_weight[i], sums, left)
                left_weight += row_weight[i]
                left_count += row_count[i]
                n_left_rows += 1
        write_split(growth, columns, is_category, node, split, sides, gain, left_weight, left_count)

        grow_left = not is_terminal(nodes, values, child, depth + 1, limits, multilabel)
        grow_right = not is_terminal(nodes, values, child + 1, depth + 1, limits, multilabel)
        if grow_left and grow_right:
            _deal_out(order, start, end, is_left, aside)
            bounds = (start, start + n_left_rows, end)
        else:  # at most one child goes on, so the other one's rows may be overwritten
            if grow_left or grow_right:
                _keep_side(order, start, end, is_left, np.uint8(1 if grow_left else 0))
            bounds = (start, start + n_left_rows, start + n_left_rows)
            if grow_right:
                bounds = (start, start, start + (end - start) - n_left_rows)
        for side in range(2):
            if grow_right if side else grow_left:
                push(stack, n_waiting, child + side, bounds[side], bounds[side + 1], depth + 1)
                keys[n_waiting] = mix(key, side)
                n_waiting += 1


@kernel
def _sort_columns(table, n_codes, table_order, rows):  # type: ignore[no-untyped-def]
    """Copy the codes of some rows column by column, and find the order of each column."""
    n_rows, n_features = len(rows), len(n_codes)
    codes = np.empty((n_features, n_rows), dtype=np.uint16)
    order = np.empty((n_features, n_rows + 1), dtype=np.uint32)  # with a place to spare, see below
    for i in range(n_rows):
        for f in range(n_features):
            codes[f, i] = table[rows[i], f]
    if table_order.shape[1] > 0:
        _keep_drawn(table_order, rows, order)
        return codes, order
    starts = np.empty(257, dtype=np.uint32)
    by_low_byte = np.empty(n_rows, dtype=np.uint32)
    for f in range(n_features):
        # Codes below 256 need one counting pass, the others one for each byte.
        n_passes = 1 if n_codes[f] < 256 else 2
        for byte in range(n_passes):
            n_buckets = n_codes[f] + 1 if n_passes == 1 else 256
            for b in range(n_buckets + 1):
                starts[b] = 0
            for i in range(n_rows):
                starts[((codes[f, i] >> (8 * byte)) & 255) + 1] += 1
            for b in range(n_buckets):
                starts[b + 1] += starts[b]
            for k in range(n_rows):
                i = by_low_byte[k] if byte == 1 else k
                bucket = (codes[f, i] >> (8 * byte)) & 255
                order[f, starts[bucket]] = i
                starts[bucket] += 1
            if byte == 0 and n_passes == 2:
                for k in range(n_rows):
                    by_low_byte[k] = order[f, k]
    return codes, order


@kernel
def _keep_drawn(table_order, rows, order):  # type: ignore[no-untyped-def]
    """Derive the order of some rows from the order of all."""
    n_rows = len(rows)
    place = np.empty(table_order.shape[1], dtype=np.uint32)
    place[:] = n_rows
    for i in range(n_rows):
        place[rows[i]] = i
    for f in range(len(order)):
        k = 0
        for position in range(table_order.shape[1]):
            i = place[table_order[f, position]]
            # Written in any case, and kept if the row was drawn: cheaper than a branch that cannot be foreseen.
            order[f, k] = i
            k += i < n_rows


@inlined
def _find_split(  # type: ignore[no-untyped-def]
    columns, codes, order, target, multilabel, row_weight, row_count, nodes, values,
    features, left, found, node, start, end, key, limits, split, sides,
):  # fmt: skip
    """Search all columns, or a random choice of them; write the best split and return its gain."""
    n_features, n_classes = len(features), values.shape[1]
    totals = values[node]
    weight = nodes[node].weight
    count = nodes[node].count
    squares = 0.0
    for j in range(n_classes):
        squares += totals[j] * totals[j]
    # The best score so far is kept as a fraction: comparing fractions takes no division and, on small data, is exact.
    best, best_below = squares + limits.min_gain * weight, weight
    split[FEATURE] = -1
    n_tried = 0
    for position in range(n_features):
        if n_tried >= limits.max_features and split[FEATURE] >= 0:
            break
        f = column_at(position, features, key, limits.max_features)
        first_code = np.int64(codes[f, order[f, start]])
        if first_code == codes[f, order[f, end - 1]]:
            continue
        n_tried += 1
        random_key = mix(key, n_features + position) if limits.random_cuts else np.uint64(0)
        if category_flag(columns.is_category, f):
            best = try_subsets(
                columns.is_category, found, codes, order, target, multilabel, row_weight, row_count, totals,
                weight, count, start, end, f, random_key, limits, best / best_below, split, sides,
            )  # fmt: skip
            best_below = 1.0
        else:
            stop = end
            while codes[f, order[f, stop - 1]] == columns.n_codes[f]:
                stop -= 1
            only_cut = -1
            if limits.random_cuts:
                last_code = np.int64(codes[f, order[f, stop - 1]])
                only_cut = random_cut(columns, f, first_code, last_code, random_key)
            best, best_below = _try_cuts(
                codes, order, target, row_weight, row_count, totals, squares, weight, count, left,
                start, stop, end, f, only_cut, limits.min_leaf, best, best_below, split,
            )  # fmt: skip
    return best / best_below - squares / weight


@inlined
def _try_cuts(  # type: ignore[no-untyped-def]
    codes, order, target, row_weight, row_count, totals, squares, weight, count, left,
    start, stop, end, f, only_cut, min_leaf, best, best_below, split,
):  # fmt: skip
    """Walk along a sorted column and keep the best cut, with missing values on the right, then on the left.

    With L and R the class weights on the two sides, the best cut has the largest sum(L^2) / weight(L) +
    sum(R^2) / weight(R), and sum(R^2) follows from sum(L^2) and sum(L * (L + R)).
    """
    has_missing = stop < end
    for missing_left in range(2 if has_missing else 1):
        left_squares = 0.0
        left_products = 0.0
        left_weight = 0.0
        left_count = 0
        for j in range(len(left)):
            left[j] = 0.0
        # Missing values come first if they go left; otherwise they are the last that may remain on the right.
        for k in range(stop, end if missing_left else stop):
            i = order[f, k]
            more_squares, more_products = add_row(target, i, row_weight[i], left, totals)
            left_squares += more_squares
            left_products += more_products
            left_weight += row_weight[i]
            left_count += row_count[i]
        next_code = codes[f, order[f, start]]
        for k in range(start, stop if has_missing and not missing_left else stop - 1):
            i = order[f, k]
            more_squares, more_products = add_row(target, i, row_weight[i], left, totals)
            left_squares += more_squares
            left_products += more_products
            left_weight += row_weight[i]
            left_count += row_count[i]
            code = next_code
            next_code = codes[f, order[f, k + 1]]
            if code == next_code or left_count < min_leaf:
                continue
            if count - left_count < min_leaf:
                break
            right_squares = squares - 2.0 * left_products + left_squares
            right_weight = weight - left_weight
            score = left_squares * right_weight + right_squares * left_weight
            below = left_weight * right_weight
            if score * best_below > best * below and (only_cut < 0 or code <= only_cut < next_code):
                best, best_below = score, below
                split[FEATURE] = f
                split[LAST_LEFT] = code
                split[FIRST_RIGHT] = next_code
                split[MISSING_LEFT] = missing_left
                split[HAS_MISSING] = has_missing
    return best, best_below


def try_subsets(  # type: ignore[no-untyped-def]
    is_category, found, codes, order, target, multilabel, row_weight, row_count, totals,
    weight, count, start, end, f, random_key, limits, best, split, sides,
):  # fmt: skip
    """Sum up the categories of a node and keep the best subset of them."""
    n_present = 0
    for k in range(start, end):
        i = order[f, k]
        if n_present == 0 or codes[f, i] != found.codes[n_present - 1]:
            found.codes[n_present] = codes[f, i]
            found.weights[n_present] = 0.0
            found.squares[n_present] = 0.0
            found.counts[n_present] = 0
            for j in range(len(totals)):
                found.sums[n_present, j] = 0.0
            n_present += 1
        add_row(target, i, row_weight[i], found.sums[n_present - 1], totals)
        found.weights[n_present - 1] += row_weight[i]
        found.squares[n_present - 1] += float(row_weight[i]) * float(row_weight[i])
        found.counts[n_present - 1] += row_count[i]
    score, n_groups = search_subset(found, n_present, totals, weight, count, multilabel, random_key, limits)
    if score > best and limits.less_chance and random_key == 0:
        point_from_right_to_left(found, n_groups, totals, weight)
        lengths = squared_lengths(totals, found.direction)
        if multilabel:  # a row's labels add up, so that only the row knows its position
            lengths = 0.0
            for k in range(start, end):
                i = order[f, k]
                lengths += row_weight[i] * sum_of(target, i, found.direction) ** 2
        score = lessen(found, n_groups, totals, weight, lengths, multilabel, score)
    if score <= best:
        return best
    split[FEATURE] = f
    keep_subset(found, n_present, sides)
    return score


@overload(try_subsets)
def _compile_try_subsets(  # type: ignore[no-untyped-def]
    is_category, found, codes, order, target, multilabel, row_weight, row_count, totals,
    weight, count, start, end, f, random_key, limits, best, split, sides,
):  # fmt: skip
    def nothing(  # type: ignore[no-untyped-def]
        is_category, found, codes, order, target, multilabel, row_weight, row_count, totals,
        weight, count, start, end, f, random_key, limits, best, split, sides,
    ):  # fmt: skip
        return best

    # Compiled to nothing for tables without category columns, which spares them the wait.
    return nothing if isinstance(is_category, types.NoneType) else try_subsets


@inlined
def _keep_side(order, start, end, is_left, side):  # type: ignore[no-untyped-def]
    """Move the rows of one side to the front in every column, still sorted."""
    for f in range(len(order)):
        n_kept = start
        for k in range(start, end):
            i = order[f, k]
            order[f, n_kept] = i
            n_kept += is_left[i] == side


@inlined
def _deal_out(order, start, end, is_left, aside):  # type: ignore[no-untyped-def]
    """Reorder every column's rows so that the left ones come first, each side still sorted."""
    for f in range(len(order)):
        n_left = start
        n_aside = 0
        # Both places are written and one of them is kept: a wrong guess at a branch would cost more.
        for k in range(start, end):
            i = order[f, k]
            order[f, n_left] = i
            aside[n_aside] = i
            n_left += is_left[i]
            n_aside += 1 - is_left[i]
        for k in range(n_aside):
            order[f, n_left + k] = aside[k]
