"""Trees for gradient boosting of many labels: one tree for all of them, with a vector of values in each leaf.

With G_j and H_j the sums of the gradients and Hessians of label j over the rows of a side, a node is split where

    sum over sides and labels of G_j^2 / (H_j + l2)

is largest, and a leaf adds -G_j / (H_j + l2) to the score of label j: a step of Newton's method. A tree grows level by
level. The sums of a feature's codes are computed feature by feature, so that they stay in the processor's cache, and
for all codes but the most frequent one, whose sums are what remains of the node's: where most values are zero, as in
texts, hardly anything has to be added up.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fuselearn._kernels import inner, kernel, vectorised
from fuselearn.engines.tree.coding import CodedColumns
from fuselearn.engines.tree.nodes import NODE, Tree
from fuselearn.engines.tree.splitting import (
    FEATURE,
    FIRST_RIGHT,
    HAS_MISSING,
    LAST_LEFT,
    MISSING_LEFT,
    SPLIT_NUMBERS,
    Growth,
    goes_left,
    make_leaf,
    write_split,
)
from fuselearn.engines.tree.subsets import ABSENT, LEFT, category_flag

# A split must gain this much, in units of the loss.
LEAST_GAIN = 1e-9
# Added to every sum of Hessians: without any known label in a leaf, and without l2, the value is 0 and not 0 / 0.
LEAST_HESSIAN = 1e-12
# Threads are worth starting from this many (row, feature, label) triples of a level on.
THREADED_WORK = 1_000_000
# So many codes are sorted sooner than all codes of a column are looked at.
FEW_CODES = 24


class GradientSettings(NamedTuple):
    """How a tree is grown."""

    max_depth: int
    min_leaf: int
    l2: float


class GradientTable(NamedTuple):
    """A coded table, its codes column by column, and the most frequent code of each column."""

    columns: CodedColumns
    codes: npt.NDArray[np.uint16]
    frequent: npt.NDArray[np.int64]


class Level(NamedTuple):
    """The leaves that may be split: their numbers, and where the rows of each begin and end."""

    nodes: npt.NDArray[np.int64]
    bounds: npt.NDArray[np.int64]
    rows: npt.NDArray[np.int32]


class Split(NamedTuple):
    """A split as `write_split` reads it."""

    split: npt.NDArray[np.int64]
    sides: npt.NDArray[np.uint8]


def make_gradient_table(columns: CodedColumns) -> GradientTable:
    """Prepare a coded table for any number of trees."""
    codes = np.ascontiguousarray(columns.codes.T, dtype=np.uint16)
    frequent = np.array([np.bincount(column).argmax() for column in codes], dtype=np.int64)
    return GradientTable(columns, codes, frequent)


def grow_gradient_tree(
    table: GradientTable,
    statistics: npt.NDArray[np.float64],
    rows: npt.NDArray[np.int32],
    features: npt.NDArray[np.int64],
    settings: GradientSettings,
    *,
    n_threads: int = 1,
) -> Tree:
    """Grow a tree.

    Parameters
    ----------
    table : GradientTable
    statistics : array of shape (n_rows, 2 * n_labels)
        The gradients of the labels' losses in each row, then the Hessians; both are 0 where a label is not known.
    rows : int32 array
        The rows that take part, in ascending order.
    features : int64 array
        The columns that splits may be on; of equally good splits, that of the first column is taken.
    settings : GradientSettings
    n_threads : int
        Threads that share the features on large data. The tree does not depend on it.

    Returns
    -------
    Tree
        ``values`` has the sums of gradients and Hessians in each node.
    """
    growth, level = _plant(table.columns, statistics, rows, settings.max_depth, settings.min_leaf)
    l2 = settings.l2 + LEAST_HESSIAN
    for depth in range(settings.max_depth):
        if len(level.nodes) == 0:
            break
        gains, splits = _search(table, statistics, growth, level, features, settings.min_leaf, l2, n_threads)
        may_grow = depth + 1 < settings.max_depth
        level = _split(table, statistics, growth, level, gains, splits, settings.min_leaf, may_grow)
    n_nodes, n_words = growth.used
    return Tree(growth.nodes[:n_nodes].copy(), growth.values[:n_nodes].copy(), growth.subsets[:n_words].copy())


def newton_values(tree: Tree, l2: float) -> npt.NDArray[np.float64]:
    """Return what each node of a grown tree adds to the score of each label."""
    gradients, hessians = np.hsplit(tree.values, 2)
    return -gradients / (hessians + l2 + LEAST_HESSIAN)


def gains_by_label(tree: Tree, n_features: int, l2: float) -> npt.NDArray[np.float64]:
    """Return by how much splits on each feature raise the criterion, label by label.

    Returns
    -------
    array of shape (n_labels, n_features)
    """
    gradients, hessians = np.hsplit(tree.values, 2)
    scores = gradients**2 / (hessians + l2 + LEAST_HESSIAN)
    splits = np.flatnonzero(tree.nodes["feature"] >= 0)
    left = tree.nodes["left"][splits]
    gains = np.zeros((n_features, scores.shape[1]))
    np.add.at(gains, tree.nodes["feature"][splits], scores[left] + scores[left + 1] - scores[splits])
    return np.ascontiguousarray(gains.T)


def _search(
    table: GradientTable,
    statistics: npt.NDArray[np.float64],
    growth: Growth,
    level: Level,
    features: npt.NDArray[np.int64],
    min_leaf: int,
    l2: float,
    n_threads: int,
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    """Search the best split of each node of a level; of equally good ones the first is taken."""

    def search(part: npt.NDArray[np.int64]) -> Any:
        return _search_features(table, statistics, growth.values, level, part, min_leaf, l2)

    if n_threads == 1 or len(level.rows) * len(features) * statistics.shape[1] < THREADED_WORK:
        return search(features)
    with ThreadPoolExecutor(n_threads) as pool:
        found = list(pool.map(search, np.array_split(features, n_threads)))
    gains, splits = (np.stack(part) for part in zip(*found, strict=True))
    best, nodes = gains.argmax(axis=0), np.arange(len(level.nodes))
    return gains[best, nodes], splits[best, nodes]


@kernel
def _plant(columns, statistics, rows, max_depth, min_leaf):  # type: ignore[no-untyped-def]
    """Make the root and the buffers that the largest possible tree needs."""
    n_leaves = max(1, len(rows) // max(1, min_leaf))
    if max_depth < 31:
        n_leaves = min(n_leaves, 1 << max_depth)
    n_nodes = 2 * n_leaves - 1
    n_words = 0
    for f in range(len(columns.n_codes)):
        if category_flag(columns.is_category, f):
            n_words = max(n_words, (columns.n_codes[f] + 31) // 32)
    growth = Growth(
        np.empty(n_nodes, dtype=NODE),
        np.empty((n_nodes, statistics.shape[1])),
        np.empty(n_words * (n_nodes // 2), dtype=np.uint32),
        np.zeros(2, dtype=np.int64),
    )
    growth.used[0] = 1
    _sum_rows(statistics, rows, growth.values[0])
    make_leaf(growth.nodes, np.int64(0), float(len(rows)), np.int64(len(rows)))
    n_first = 1 if len(rows) >= 2 * min_leaf else 0
    bounds = np.zeros(2, dtype=np.int64)
    bounds[1] = len(rows)
    return growth, Level(np.zeros(n_first, dtype=np.int64), bounds[: n_first + 1], rows.copy())


@inner
def _sum_rows(statistics, rows, sums):  # type: ignore[no-untyped-def]
    sums[:] = 0.0
    for row in rows:
        for j in range(len(sums)):
            sums[j] += statistics[row, j]


@vectorised
def _search_features(table, statistics, values, level, features, min_leaf, l2):  # type: ignore[no-untyped-def]
    """Search some of the features; return the gain and the split of each node, the gain being 0 without any."""
    columns, n_nodes, width = table.columns, len(level.nodes), statistics.shape[1]
    gains = np.zeros(n_nodes)
    splits = np.empty((n_nodes, SPLIT_NUMBERS), dtype=np.int64)
    splits[:, FEATURE] = -1
    parent_scores = np.empty(n_nodes)
    for k in range(n_nodes):
        totals = values[level.nodes[k]]
        parent_scores[k] = _score(totals, totals, l2) + LEAST_GAIN
    most_codes = 0
    for f in features:
        most_codes = max(most_codes, columns.n_codes[f] + 1)
    sums = np.zeros((most_codes, width))
    counts = np.zeros(most_codes, dtype=np.int64)
    present = np.empty(most_codes, dtype=np.int64)
    left, with_missing = np.empty(width), np.empty(width)
    for f in features:
        codes, missing, frequent = table.codes[f], np.int64(columns.n_codes[f]), table.frequent[f]
        is_category = category_flag(columns.is_category, f)
        for k in range(n_nodes):
            totals, n_rows = values[level.nodes[k]], level.bounds[k + 1] - level.bounds[k]
            n_other = n_present = 0
            for i in range(level.bounds[k], level.bounds[k + 1]):
                row = level.rows[i]
                code = codes[row]
                if code != frequent:
                    n_other += 1
                    if counts[code] == 0:
                        present[n_present] = code
                        n_present += 1
                    counts[code] += 1
                    for j in range(width):
                        sums[code, j] += statistics[row, j]
            if n_other == 0:
                continue
            if n_other < n_rows:
                counts[frequent] = n_rows - n_other
                present[n_present] = frequent
                n_present += 1
            _put_in_order(present, n_present, counts, missing)
            if n_other < n_rows:
                for j in range(width):
                    sums[frequent, j] = totals[j]
                for code in present[:n_present]:
                    if code != frequent:
                        for j in range(width):
                            sums[frequent, j] -= sums[code, j]
            n_missing = counts[missing]
            n_left, last = 0, -1
            left[:] = 0.0
            for code in present[:n_present]:
                if is_category:
                    if min(counts[code], n_rows - counts[code]) >= min_leaf:
                        gain = _score(sums[code], totals, l2) - parent_scores[k]
                        if gain > gains[k]:
                            gains[k] = gain
                            _note(splits[k], f, code, code, code == missing, n_missing > 0)
                    continue
                if last >= 0:
                    if min(n_left, n_rows - n_left) >= min_leaf:
                        gain = _score(left, totals, l2) - parent_scores[k]
                        if gain > gains[k]:
                            gains[k] = gain
                            _note(splits[k], f, last, code, False, n_missing > 0)
                    n_joined = n_left + n_missing
                    if code < missing and n_missing > 0 and min(n_joined, n_rows - n_joined) >= min_leaf:
                        for j in range(width):
                            with_missing[j] = left[j] + sums[missing, j]
                        gain = _score(with_missing, totals, l2) - parent_scores[k]
                        if gain > gains[k]:
                            gains[k] = gain
                            _note(splits[k], f, last, code, True, True)
                for j in range(width):
                    left[j] += sums[code, j]
                n_left += counts[code]
                last = code
            for code in present[:n_present]:
                counts[code] = 0
                for j in range(width):
                    sums[code, j] = 0.0
    return gains, splits


@inner
def _put_in_order(present, n_present, counts, missing):  # type: ignore[no-untyped-def]
    """Sort the codes that are present; of a deep tree's many nodes, most have few."""
    if n_present > FEW_CODES:
        n_present = 0
        for code in range(missing + 1):
            if counts[code] > 0:
                present[n_present] = code
                n_present += 1
        return
    for k in range(1, n_present):
        code, place = present[k], k
        while place > 0 and present[place - 1] > code:
            present[place] = present[place - 1]
            place -= 1
        present[place] = code


@vectorised
def _score(left, totals, l2):  # type: ignore[no-untyped-def]
    """Return the criterion of a split whose left side has these sums, and both sides together the totals."""
    n_labels = len(left) // 2
    score = 0.0
    for j in range(n_labels):
        g, h = left[j], left[n_labels + j] + l2
        other_g, other_h = totals[j] - g, totals[n_labels + j] - left[n_labels + j] + l2
        score += (g * g * other_h + other_g * other_g * h) / (h * other_h)
    return score


@inner
def _note(split, f, last_left, first_right, missing_left, has_missing):  # type: ignore[no-untyped-def]
    split[FEATURE] = f
    split[LAST_LEFT] = last_left
    split[FIRST_RIGHT] = first_right
    split[MISSING_LEFT] = missing_left
    split[HAS_MISSING] = has_missing


@kernel
def _split(table, statistics, growth, level, gains, splits, min_leaf, may_grow):  # type: ignore[no-untyped-def]
    """Write the splits of a level, and return the level below, without nodes that cannot be split."""
    columns = table.columns
    most_codes = 0
    for f in range(len(columns.n_codes)):
        most_codes = max(most_codes, columns.n_codes[f] + 1)
    sides = np.empty(most_codes, dtype=np.uint8)
    nodes = np.empty(2 * len(level.nodes), dtype=np.int64)
    bounds = np.zeros(len(nodes) + 1, dtype=np.int64)
    rows = np.empty(len(level.rows), dtype=np.int32)
    n_next = n_placed = 0
    for k in range(len(level.nodes)):
        split = splits[k]
        f = split[FEATURE]
        if f < 0:
            continue
        own = level.rows[level.bounds[k] : level.bounds[k + 1]]
        codes, missing = table.codes[f], columns.n_codes[f]
        is_category = category_flag(columns.is_category, f)
        if is_category:
            sides[: missing + 1] = ABSENT
            for row in own:
                sides[codes[row]] = LEFT if codes[row] == split[LAST_LEFT] else 0
        is_left = np.empty(len(own), dtype=np.bool_)
        n_left = 0
        for i in range(len(own)):
            is_left[i] = goes_left(codes[own[i]], split, sides, missing, is_category)
            n_left += is_left[i]
        child = growth.used[0]
        _sum_rows(statistics, own[is_left], growth.values[child])
        write_split(growth, columns, level.nodes[k], Split(split, sides), gains[k], float(n_left), np.int64(n_left))
        for side in range(2):
            n_side = len(own) - n_left if side else n_left
            if not may_grow or n_side < 2 * min_leaf:
                continue
            for i in range(len(own)):
                if is_left[i] != side:
                    rows[n_placed] = own[i]
                    n_placed += 1
            nodes[n_next] = child + side
            n_next += 1
            bounds[n_next] = n_placed
    return Level(nodes[:n_next], bounds[: n_next + 1], rows[:n_placed])
