"""Grow a tree that looks at few of many columns in each node.

Keeping every column sorted, as `presorted` does, costs more here than sorting the few drawn columns of each node anew.
The trees are the same.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fuselearn._kernels import inlined, kernel
from fuselearn.engines.tree.coding import CodedColumns
from fuselearn.engines.tree.presorted import try_subsets
from fuselearn.engines.tree.random import draw_into, mix
from fuselearn.engines.tree.sorting import (
    FEW_ROWS,
    RANKED_ROWS,
    code_of,
    row_of,
    sort_by_bytes,
    sort_by_rank,
    sort_few,
)
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
    random_cut,
    write_split,
)
from fuselearn.engines.tree.subsets import category_flag, make_categories
from fuselearn.engines.tree.targets import add_squares, sum_of

# What is known of a row in a node: its weight, how often it was drawn, and its weight times the sum of the node's
# weights of its classes.
WEIGHT, COUNT, PRODUCT = 0, 1, 2


class ByColumn(NamedTuple):
    """A coded table column by column, for many trees.

    In tables that are not too large, ``ranks[f, i]`` is the place of row ``i`` when sorted by column ``f``, and
    ``keys[f]`` lists ``code * 2**16 + row`` in that order. Larger tables do without and have no columns there.
    """

    codes: npt.NDArray[np.unsignedinteger]
    ranks: npt.NDArray[np.uint16]
    keys: npt.NDArray[np.uint32]


class Space(NamedTuple):
    """Room for sorting the rows of a node."""

    marks: npt.NDArray[np.uint64]
    few_keys: npt.NDArray[np.uint32]
    aside: npt.NDArray[np.uint64]


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


@kernel
def grow_sampled(growth, columns, by_column, target, multilabel, weights, counts, rows, root_key, limits):  # type: ignore[no-untyped-def]
    """Grow the tree of the root, a leaf that holds ``rows``, into ``growth``."""
    nodes, values, _, used = growth
    codes = by_column.codes
    if is_terminal(nodes, values, 0, 0, limits, multilabel):
        return
    n_rows = len(rows)
    n_features, n_classes = len(columns.n_codes), values.shape[1]
    features = np.empty(n_features, dtype=np.int64)
    most_codes = 0
    for f in range(n_features):
        most_codes = max(most_codes, columns.n_codes[f])
    left = np.empty(n_classes)
    facts = np.empty((len(counts), 3))
    for i in rows:
        facts[i, WEIGHT] = weights[i]
        facts[i, COUNT] = counts[i]
    found = make_categories(columns.is_category, columns.n_codes, n_classes)
    members = rows.astype(np.uint32)  # the rows of each node lie together
    aside = np.empty(n_rows, dtype=np.uint32)
    sorted_keys = np.empty(n_rows, dtype=np.uint64)
    space = Space(
        np.zeros(by_column.ranks.shape[1] // 64 + 1, dtype=np.uint64),
        np.empty(FEW_ROWS, dtype=np.uint32),
        np.empty(0 if by_column.ranks.shape[1] > 0 else n_rows, dtype=np.uint64),
    )
    order = np.empty((1, n_rows), dtype=np.uint32)
    split = np.empty(SPLIT_NUMBERS, dtype=np.int64)
    sides = np.empty(most_codes + 1, dtype=np.uint8)
    best_sides = np.empty(most_codes + 1, dtype=np.uint8)

    # A node waits on the stack as (node, first row, row after the last, depth). For each split above it at most one
    # node waits, and each of these splits has cut off at least one row.
    stack = np.empty((min(limits.max_depth, n_rows) + 2, 4), dtype=np.int64)
    keys = np.empty(len(stack), dtype=np.uint64)
    push(stack, 0, 0, 0, n_rows, 0)
    keys[0] = root_key
    # A column that is constant in a node is so in all nodes below it, and need not be looked at there.
    constants = np.empty((len(stack), n_features), dtype=np.bool_)
    constants[0] = False
    n_waiting = 1
    while n_waiting > 0:
        n_waiting -= 1
        node, start, end, depth = (
            stack[n_waiting, 0], stack[n_waiting, 1], stack[n_waiting, 2], stack[n_waiting, 3]
        )  # fmt: skip
        key = keys[n_waiting]
        constant = constants[n_waiting]
        gain = _find_split(
            columns, by_column, members, order, sorted_keys, space, constant, target, multilabel, weights, counts,
            nodes, values, features, left, facts, found, node, start, end, key, limits,
            split, sides, best_sides,
        )  # fmt: skip
        if split[FEATURE] < 0:
            continue

        # The first unused node becomes the left child; its class weights are summed up here.
        f = split[FEATURE]
        is_category = category_flag(columns.is_category, f)
        child = used[0]
        n_left, left_weight, left_count = _move_left(
            codes[f], members, aside, start, end, target, weights, counts, values[child],
            split, best_sides, columns.n_codes[f], is_category,
        )  # fmt: skip
        write_split(growth, columns, is_category, node, split, best_sides, gain, left_weight, left_count)
        for side in range(2):
            if not is_terminal(nodes, values, child + side, depth + 1, limits, multilabel):
                push(stack, n_waiting, child + side, n_left if side else start, end if side else n_left, depth + 1)
                keys[n_waiting] = mix(key, side)
                constants[n_waiting] = constant
                n_waiting += 1


@inlined
def _move_left(  # type: ignore[no-untyped-def]
    codes, members, aside, start, end, target, weights, counts, sums, split, sides, missing_code, is_category
):
    """Bring the rows that go left to the front, and sum up their classes."""
    for j in range(len(sums)):
        sums[j] = 0
    left_weight = 0.0
    left_count = 0
    n_left = start
    n_aside = 0
    # Both places are written and one of them is kept: a wrong guess at a branch would cost more.
    for k in range(start, end):
        i = members[k]
        left = np.int64(goes_left(codes[i], split, sides, missing_code, is_category))
        weight = float(left * weights[i])
        add_squares(target, i, weight, sums)
        left_weight += weight
        left_count += left * counts[i]
        members[n_left] = i
        aside[n_aside] = i
        n_left += left
        n_aside += 1 - left
    for k in range(n_aside):
        members[n_left + k] = aside[k]
    return n_left, left_weight, left_count


@inlined
def _find_split(  # type: ignore[no-untyped-def]
    columns, by_column, members, order, sorted_keys, space, constant, target, multilabel, weights, counts,
    nodes, values, features, left, facts, found, node, start, end, key, limits,
    split, sides, best_sides,
):  # fmt: skip
    """Search a random choice of columns; write the best split and return its gain."""
    n_features, n_classes = len(features), values.shape[1]
    codes = by_column.codes
    n_rows = end - start
    totals = values[node]
    weight = nodes[node].weight
    count = nodes[node].count
    squares = 0.0
    total = 0.0
    for j in range(n_classes):
        squares += totals[j] * totals[j]
        total += totals[j]
    best, best_below = squares + limits.min_gain * weight, weight
    split[FEATURE] = -1
    chosen = -1
    n_tried = 0
    for g in range(n_features):
        features[g] = g
    for k in range(start, end):
        i = members[k]
        facts[i, PRODUCT] = facts[i, WEIGHT] * sum_of(target, i, totals)
    for position in range(n_features):
        if n_tried >= limits.max_features and chosen >= 0:
            break
        f = draw_into(features, position, key)
        if constant[f]:
            continue
        if not _sort_column(columns.codes, by_column, f, members, start, end, space, sorted_keys):
            constant[f] = True
            continue
        n_tried += 1
        random_key = mix(key, n_features + position) if limits.random_cuts else np.uint64(0)
        split[FEATURE] = -1
        if category_flag(columns.is_category, f):
            for k in range(n_rows):
                order[0, k] = row_of(sorted_keys[k])
            best = try_subsets(
                columns.is_category, found, codes[f : f + 1], order, target, multilabel, weights, counts, totals,
                weight, count, 0, n_rows, 0, random_key, limits, best / best_below, split, sides,
            )  # fmt: skip
            best_below = 1.0
            if split[FEATURE] >= 0:
                best_sides[:] = sides
        else:
            stop = n_rows
            while code_of(sorted_keys[stop - 1]) == columns.n_codes[f]:
                stop -= 1
            only_cut = -1
            if limits.random_cuts:
                first_code, last_code = code_of(sorted_keys[0]), code_of(sorted_keys[stop - 1])
                only_cut = random_cut(columns, f, first_code, last_code, random_key)
            best, best_below = _try_cuts(
                sorted_keys, target, facts, squares, weight, count, left,
                stop, n_rows, only_cut, limits.min_leaf, best, best_below, split,
            )  # fmt: skip
        if split[FEATURE] >= 0:
            chosen = f
            # Both children are pure. A subset's score is rounded, so that it might still seem to be better.
            if best == total * best_below and columns.is_category is None:
                break
    split[FEATURE] = chosen
    return best / best_below - squares / weight


@inlined
def _try_cuts(  # type: ignore[no-untyped-def]
    sorted_keys, target, facts, squares, weight, count, left,
    stop, end, only_cut, min_leaf, best, best_below, split,
):  # fmt: skip
    """Do what the function of this name in `presorted` does, with the products of each row known beforehand."""
    has_missing = stop < end
    for missing_left in range(2 if has_missing else 1):
        left_squares = 0.0
        left_products = 0.0
        left_weight = 0.0
        left_count = 0.0
        for j in range(len(left)):
            left[j] = 0
        for k in range(stop, end if missing_left else stop):
            i = row_of(sorted_keys[k])
            left_squares += add_squares(target, i, facts[i, WEIGHT], left)
            left_products += facts[i, PRODUCT]
            left_weight += facts[i, WEIGHT]
            left_count += facts[i, COUNT]
        next_code = code_of(sorted_keys[0])
        for k in range(stop if has_missing and not missing_left else stop - 1):
            i = row_of(sorted_keys[k])
            left_squares += add_squares(target, i, facts[i, WEIGHT], left)
            left_products += facts[i, PRODUCT]
            left_weight += facts[i, WEIGHT]
            left_count += facts[i, COUNT]
            code = next_code
            next_code = code_of(sorted_keys[k + 1])
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
def _sort_column(table, by_column, f, members, start, end, space, sorted_keys):  # type: ignore[no-untyped-def]
    """Sort the rows of a node by a column, unless it is constant; return whether it is not."""
    if end - start <= FEW_ROWS:
        return sort_few(table, f, members, start, end, space.few_keys, sorted_keys)
    if _is_constant(by_column.codes[f], members, start, end):
        return False
    if by_column.ranks.shape[1] > 0:
        sort_by_rank(by_column.ranks[f], by_column.keys[f], members, start, end, space.marks, sorted_keys)
    else:
        sort_by_bytes(by_column.codes[f], members, start, end, space.aside, sorted_keys)
    return True


@kernel
def _is_constant(codes, members, start, end):  # type: ignore[no-untyped-def]
    for k in range(start + 1, end):
        if codes[members[k]] != codes[members[start]]:
            return False
    return True
