"""The best split of a table whose weights belong to (row, label) pairs, as boosting for many labels needs it.

A table of n rows with L labels is never written out as n times L rows: a cut has a positive and a negative weight per
label on either side, and these are summed up along a sorted column. In a sparse table, rows that are zero in the column
come as one, whose weights are what the entries leave of all.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fuselearn._kernels import kernel, larger, vectorised
from fuselearn.engines.tree.coding import CodedColumns
from fuselearn.engines.tree.nodes import NODE, Tree
from fuselearn.engines.tree.sparse_coding import ColumnEntries, SparseColumns
from fuselearn.engines.tree.splitting import place_cut


class PairTable(NamedTuple):
    """A coded table and the entries of its columns, sorted by code.

    A row that has no entry in column ``f`` has the code ``rest[f]``. Tables that are not sparse list all their values.
    """

    columns: CodedColumns | SparseColumns
    n_rows: int
    entries: ColumnEntries
    rest: npt.NDArray[np.int32]


class Stump(NamedTuple):
    """A split into two sides, and how good it is.

    ``first`` and ``last`` are the smallest and the largest code on the left; missing values go left if
    ``missing_left``. The column is -1 if there is nothing to split.
    """

    score: float
    feature: int
    first: int
    last: int
    missing_left: bool


def make_pair_table(columns: CodedColumns | SparseColumns) -> PairTable:
    """Prepare a coded table for any number of stumps."""
    if isinstance(columns, SparseColumns):
        return PairTable(columns, len(columns.codes.starts) - 1, columns.by_column, columns.codes.zeros)
    codes = np.ascontiguousarray(columns.codes.T)
    n_columns, n_rows = codes.shape
    order = columns.order
    if not order.shape[1]:  # a large table comes without
        order = np.argsort(codes, axis=1, kind="stable").astype(np.uint32)
    ordered = np.take_along_axis(codes, order, axis=1).astype(np.uint16)
    entries = ColumnEntries(n_rows * np.arange(n_columns + 1), order.ravel(), ordered.ravel())
    return PairTable(columns, n_rows, entries, np.zeros(n_columns, dtype=np.int32))


def find_stump(
    table: PairTable, positive: npt.NDArray[np.float64], negative: npt.NDArray[np.float64], features: range
) -> Stump:
    """Find the split with the smallest sum over sides and labels of sqrt(positive weight * negative weight).

    Parameters
    ----------
    table : PairTable
    positive, negative : arrays of shape (n_rows, n_labels)
        The weight of each pair, in the one if the row has the label and in the other if not.
    features : range
        Columns to look at; of equally good ones the first is taken, and in it the first cut.
    """
    columns = table.columns
    is_category = np.zeros(len(columns.n_codes), dtype=np.bool_) if columns.is_category is None else columns.is_category
    found = _find(
        table.entries, table.rest, columns.n_codes, is_category, positive, negative, features.start, features.stop
    )
    return Stump(float(found[0]), int(found[1]), int(found[2]), int(found[3]), bool(found[4]))


def left_rows(table: PairTable, stump: Stump) -> npt.NDArray[np.bool_]:
    """Return which rows of the table go left."""
    codes = _codes_of(table, stump.feature)
    is_left = (codes >= stump.first) & (codes <= stump.last)
    is_left[codes == table.columns.n_codes[stump.feature]] = stump.missing_left
    return is_left


def _codes_of(table: PairTable, f: int) -> npt.NDArray[np.int64]:
    """Return the codes of all rows in a column."""
    codes = np.full(table.n_rows, table.rest[f], dtype=np.int64)
    own = slice(table.entries.starts[f], table.entries.starts[f + 1])
    codes[table.entries.rows[own]] = table.entries.codes[own]
    return codes


def make_tree(table: PairTable, stump: Stump, is_left: npt.NDArray[np.bool_], votes: npt.NDArray[np.float64]) -> Tree:
    """Write a stump as a tree whose leaves hold the two sides' votes, the left ones first."""
    columns, f = table.columns, stump.feature
    nodes = np.zeros(3, dtype=NODE)
    nodes["feature"] = (f, -1, -1)
    nodes["left"] = (1, -1, -1)
    nodes["cut"] = -1
    nodes["count"] = (len(is_left), is_left.sum(), (~is_left).sum())
    nodes["weight"] = nodes["count"]
    nodes["missing_left"][0] = stump.missing_left
    nodes["heavier_left"][0] = nodes["count"][1] >= nodes["count"][2]
    subsets = np.empty(0, dtype=np.uint32)
    if columns.is_category is not None and columns.is_category[f]:
        subsets = np.zeros((columns.n_codes[f] + 31) // 32, dtype=np.uint32)
        if stump.first < columns.n_codes[f]:
            subsets[stump.first // 32] = np.uint32(1 << (stump.first % 32))
        nodes["is_category"][0] = True
        nodes["cut"][0] = 0
    else:
        codes = _codes_of(table, f)
        first_right = int(codes[~is_left & (codes > stump.last)].min(initial=columns.n_codes[f]))
        nodes["threshold"][0], nodes["cut"][0] = place_cut(columns, f, stump.last, first_right)
    return Tree(nodes, np.vstack([np.zeros(votes.shape[1]), votes]), subsets)


@kernel
def _find(entries, rest_codes, n_codes, is_category, positive, negative, first_feature, end_feature):  # type: ignore[no-untyped-def]
    starts, rows, codes = entries
    n_rows, n_labels = positive.shape
    every = (np.zeros(n_labels), np.zeros(n_labels))
    for i in range(n_rows):
        _add(every, positive, negative, i)
    missing = (np.empty(n_labels), np.empty(n_labels))
    left = (np.empty(n_labels), np.empty(n_labels))
    rest = (np.empty(n_labels), np.empty(n_labels))
    joint = (np.empty(n_labels), np.empty(n_labels))
    best = np.inf
    feature, first, last, missing_left = -1, 0, 0, False
    for f in range(first_feature, end_feature):
        start, end = starts[f], starts[f + 1]
        n_rest = n_rows - (end - start)
        if n_rest > 0:
            _sum_rest(rest, every, positive, negative, rows, start, end)
        known = end
        while known > start and codes[known - 1] == n_codes[f]:
            known -= 1
        n_missing = end - known
        _clear(missing)
        for k in range(known, end):
            _add(missing, positive, negative, rows[k])
        if is_category[f] and 0 < n_missing < n_rows:  # missing values against all others
            score = _score(missing[0], missing[1], every[0], every[1])
            if score < best:
                best, feature, first, last, missing_left = score, f, np.int64(n_codes[f]), np.int64(n_codes[f]), True
        _clear(left)
        n_left, k, rest_waits = 0, start, n_rest > 0
        while k < known or rest_waits:
            if rest_waits and (k == known or rest_codes[f] <= codes[k]):
                code = np.int64(rest_codes[f])
                _add_all(left, rest)
                n_left += n_rest
                rest_waits = False
            else:
                code = np.int64(codes[k])
                _add(left, positive, negative, rows[k])
                n_left += 1
                k += 1
            if (k < known and codes[k] == code) or (rest_waits and rest_codes[f] == code):
                continue
            if n_left == n_rows:
                break
            first_code = code if is_category[f] else 0
            score = _score(left[0], left[1], every[0], every[1])
            if score < best:
                best, feature, first, last, missing_left = score, f, first_code, code, False
            if is_category[f]:  # each category against all others
                _clear(left)
                n_left = 0
            elif n_missing > 0 and (k < known or rest_waits):
                for part in range(2):
                    joint[part][:] = left[part] + missing[part]
                score = _score(joint[0], joint[1], every[0], every[1])
                if score < best:
                    best, feature, first, last, missing_left = score, f, first_code, code, True
    return best, feature, first, last, missing_left


@kernel
def _sum_rest(rest, every, positive, negative, rows, start, end):  # type: ignore[no-untyped-def]
    """Sum the weights of the rows that have no entry in a column: what entries leave of all."""
    _clear(rest)
    for k in range(start, end):
        _add(rest, positive, negative, rows[k])
    for part in range(2):
        for j in range(len(rest[part])):
            rest[part][j] = max(every[part][j] - rest[part][j], 0.0)


@kernel
def _clear(sums):  # type: ignore[no-untyped-def]
    sums[0][:] = 0.0
    sums[1][:] = 0.0


@kernel
def _add(sums, positive, negative, i):  # type: ignore[no-untyped-def]
    for j in range(positive.shape[1]):
        sums[0][j] += positive[i, j]
        sums[1][j] += negative[i, j]


@kernel
def _add_all(sums, others):  # type: ignore[no-untyped-def]
    for j in range(len(sums[0])):
        sums[0][j] += others[0][j]
        sums[1][j] += others[1][j]


@vectorised
def _score(positive, negative, all_positive, all_negative):  # type: ignore[no-untyped-def]
    score = 0.0
    for j in range(len(positive)):
        other = larger(all_positive[j] - positive[j], 0.0) * larger(all_negative[j] - negative[j], 0.0)
        score += np.sqrt(positive[j] * negative[j]) + np.sqrt(other)
    return score
