"""Grow a tree that looks at few of many columns in each node.

Keeping every column sorted, as `presorted` does, costs more here than sorting the few drawn columns of each node anew.
The trees are the same.
"""

import numpy as np

from fuselearn._kernels import inlined, kernel
from fuselearn.engines.tree.presorted import _random_cut, _try_subsets
from fuselearn.engines.tree.random import draw_into, mix
from fuselearn.engines.tree.splitting import (
    FEATURE,
    FIRST_RIGHT,
    HAS_MISSING,
    LAST_LEFT,
    MISSING_LEFT,
    SPLIT_NUMBERS,
    goes_left,
    is_terminal,
    push,
    write_split,
)
from fuselearn.engines.tree.subsets import category_flag, make_categories
from fuselearn.engines.tree.targets import add_row, add_squares, sum_of

# Up to this many rows are sorted by insertion, more by counting the two bytes of their codes.
INSERTION_ROWS = 32
CODE_SHIFT = np.uint64(32)
ROW_MASK = np.uint64(2**32 - 1)


@kernel
def grow_sampled(growth, columns, codes, target, multilabel, weights, counts, rows, root_key, limits):  # type: ignore[no-untyped-def]
    """Grow the tree of the root, a leaf that holds ``rows``, into ``growth``; ``codes`` has a line per column."""
    nodes, values, _, used = growth
    if is_terminal(nodes, values, 0, 0, limits, multilabel):
        return
    n_rows = len(rows)
    n_features, n_classes = len(columns.n_codes), values.shape[1]
    features = np.empty(n_features, dtype=np.int64)
    most_codes = 0
    for f in range(n_features):
        most_codes = max(most_codes, columns.n_codes[f])
    left = np.empty(n_classes)
    products = np.empty(len(counts))
    found = make_categories(columns.is_category, columns.n_codes, n_classes)
    members = rows.astype(np.uint32)  # the rows of each node lie together
    aside = np.empty(n_rows, dtype=np.uint32)
    sorted_keys = np.empty((2, n_rows), dtype=np.uint64)
    order = np.empty((1, n_rows), dtype=np.uint32)
    split = np.empty(SPLIT_NUMBERS, dtype=np.int64)
    sides = np.empty(most_codes + 1, dtype=np.uint8)
    best_sides = np.empty(most_codes + 1, dtype=np.uint8)

    # A node waits on the stack as (node, first row, row after the last, depth).
    stack = np.empty((min(limits.max_depth, n_rows) + 2, 4), dtype=np.int64)
    keys = np.empty(len(stack), dtype=np.uint64)
    push(stack, 0, 0, 0, n_rows, 0)
    keys[0] = root_key
    n_waiting = 1
    while n_waiting > 0:
        n_waiting -= 1
        node, start, end, depth = (
            stack[n_waiting, 0], stack[n_waiting, 1], stack[n_waiting, 2], stack[n_waiting, 3]
        )  # fmt: skip
        key = keys[n_waiting]
        gain = _find_split(
            columns, codes, members, order, sorted_keys, target, multilabel, weights, counts, nodes, values,
            features, left, products, found, node, start, end, key, limits, split, sides, best_sides,
        )  # fmt: skip
        if split[FEATURE] < 0:
            continue

        # The first unused node becomes the left child; its class weights are summed up here.
        f = split[FEATURE]
        is_category = category_flag(columns.is_category, f)
        left_weight = 0.0
        left_count = 0
        child = used[0]
        sums = values[child]
        for j in range(n_classes):
            sums[j] = 0.0
        n_left = start
        n_aside = 0
        for k in range(start, end):
            i = members[k]
            if goes_left(codes[f, i], split, best_sides, columns.n_codes[f], is_category):
                add_row(target, i, float(weights[i]), sums, left)
                left_weight += float(weights[i])
                left_count += counts[i]
                members[n_left] = i
                n_left += 1
            else:
                aside[n_aside] = i
                n_aside += 1
        for k in range(n_aside):
            members[n_left + k] = aside[k]
        write_split(growth, columns, is_category, node, split, best_sides, gain, left_weight, left_count)
        for side in range(2):
            if not is_terminal(nodes, values, child + side, depth + 1, limits, multilabel):
                push(stack, n_waiting, child + side, n_left if side else start, end if side else n_left, depth + 1)
                keys[n_waiting] = mix(key, side)
                n_waiting += 1


@inlined
def _find_split(  # type: ignore[no-untyped-def]
    columns, codes, members, order, sorted_keys, target, multilabel, weights, counts, nodes, values,
    features, left, products, found, node, start, end, key, limits, split, sides, best_sides,
):  # fmt: skip
    """Search a random choice of columns; write the best split and return its gain."""
    n_features, n_classes = len(features), values.shape[1]
    n_rows = end - start
    totals = values[node]
    weight = nodes[node].weight
    count = nodes[node].count
    squares = 0.0
    for j in range(n_classes):
        squares += totals[j] * totals[j]
    best, best_below = squares + limits.min_gain * weight, weight
    split[FEATURE] = -1
    chosen = -1
    n_tried = 0
    for g in range(n_features):
        features[g] = g
    for k in range(start, end):
        products[members[k]] = float(weights[members[k]]) * sum_of(target, members[k], totals)
    for position in range(n_features):
        if n_tried >= limits.max_features and chosen >= 0:
            break
        f = draw_into(features, position, key)
        if not _sort_members(codes[f], members, start, end, sorted_keys[0], sorted_keys[1]):
            continue
        n_tried += 1
        random_key = mix(key, n_features + position) if limits.random_cuts else np.uint64(0)
        split[FEATURE] = -1
        if category_flag(columns.is_category, f):
            for k in range(n_rows):
                order[0, k] = sorted_keys[0, k] & ROW_MASK
            best = _try_subsets(
                columns.is_category, found, codes[f : f + 1], order, target, multilabel, weights, counts, totals,
                weight, count, 0, n_rows, 0, random_key, limits.min_leaf, best / best_below, split, sides,
            )  # fmt: skip
            best_below = 1.0
            if split[FEATURE] >= 0:
                best_sides[:] = sides
        else:
            stop = n_rows
            while _code(sorted_keys[0, stop - 1]) == columns.n_codes[f]:
                stop -= 1
            only_cut = -1
            if limits.random_cuts:
                first_code, last_code = _code(sorted_keys[0, 0]), _code(sorted_keys[0, stop - 1])
                only_cut = _random_cut(columns, f, first_code, last_code, random_key)
            best, best_below = _try_cuts(
                sorted_keys[0], target, weights, counts, products, squares, weight, count, left,
                stop, n_rows, only_cut, limits.min_leaf, best, best_below, split,
            )  # fmt: skip
        if split[FEATURE] >= 0:
            chosen = f
    split[FEATURE] = chosen
    return best / best_below - squares / weight


@inlined
def _try_cuts(  # type: ignore[no-untyped-def]
    sorted_keys, target, weights, counts, products, squares, weight, count, left,
    stop, end, only_cut, min_leaf, best, best_below, split,
):  # fmt: skip
    """Do what the function of this name in `presorted` does, with the products of each row known beforehand."""
    has_missing = stop < end
    for missing_left in range(2 if has_missing else 1):
        left_squares = 0.0
        left_products = 0.0
        left_weight = 0.0
        left_count = 0
        for j in range(len(left)):
            left[j] = 0.0
        for k in range(stop, end if missing_left else stop):
            i = sorted_keys[k] & ROW_MASK
            left_squares += add_squares(target, i, float(weights[i]), left)
            left_products += products[i]
            left_weight += float(weights[i])
            left_count += counts[i]
        next_code = _code(sorted_keys[0])
        for k in range(stop if has_missing and not missing_left else stop - 1):
            i = sorted_keys[k] & ROW_MASK
            left_squares += add_squares(target, i, float(weights[i]), left)
            left_products += products[i]
            left_weight += float(weights[i])
            left_count += counts[i]
            code = next_code
            next_code = _code(sorted_keys[k + 1])
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
                split[FEATURE] = 0
                split[LAST_LEFT] = code
                split[FIRST_RIGHT] = next_code
                split[MISSING_LEFT] = missing_left
                split[HAS_MISSING] = has_missing
    return best, best_below


@inlined
def _code(key):  # type: ignore[no-untyped-def]
    return np.int64(key >> CODE_SHIFT)


@kernel
def _sort_members(codes, members, start, end, keys, aside):  # type: ignore[no-untyped-def]
    """Sort the rows of a node by their codes, each as code * 2**32 + row; return whether there are different codes."""
    n_rows = end - start
    lowest = codes[members[start]]
    highest = lowest
    for k in range(n_rows):
        i = members[start + k]
        code = codes[i]
        lowest = min(lowest, code)
        highest = max(highest, code)
        keys[k] = (np.uint64(code) << CODE_SHIFT) | np.uint64(i)
    if lowest == highest:
        return False
    if n_rows <= INSERTION_ROWS:
        for k in range(1, n_rows):
            key = keys[k]
            place = k
            while place > 0 and keys[place - 1] > key:
                keys[place] = keys[place - 1]
                place -= 1
            keys[place] = key
        return True
    _sort_byte(keys, aside, n_rows, CODE_SHIFT)
    if highest < 256:
        keys[:n_rows] = aside[:n_rows]
    else:
        _sort_byte(aside, keys, n_rows, CODE_SHIFT + np.uint64(8))
    return True


@inlined
def _sort_byte(keys, ordered, n_rows, shift):  # type: ignore[no-untyped-def]
    """Sort keys by one of their bytes, those with equal bytes in the order in which they come."""
    starts = np.zeros(257, dtype=np.uint32)
    for k in range(n_rows):
        starts[((keys[k] >> shift) & np.uint64(255)) + np.uint64(1)] += 1
    for b in range(256):
        starts[b + 1] += starts[b]
    for k in range(n_rows):
        byte = (keys[k] >> shift) & np.uint64(255)
        ordered[starts[byte]] = keys[k]
        starts[byte] += 1
