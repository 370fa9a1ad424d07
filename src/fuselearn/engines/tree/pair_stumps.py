"""The best split of a table whose weights belong to (row, label) pairs, as boosting for many labels needs it.

A table of n rows with L labels is never written out as n times L rows: a cut has a positive and a negative weight per
label on either side, and these are summed up along a sorted column.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fuselearn._kernels import kernel
from fuselearn.engines.tree.coding import CodedColumns
from fuselearn.engines.tree.nodes import NODE, Tree
from fuselearn.engines.tree.splitting import place_cut


class PairTable(NamedTuple):
    """A coded table and the order of its rows in each column."""

    columns: CodedColumns
    codes: npt.NDArray[np.unsignedinteger]
    order: npt.NDArray[np.uint32]


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


def make_pair_table(columns: CodedColumns) -> PairTable:
    """Prepare a coded table for any number of stumps."""
    codes = np.ascontiguousarray(columns.codes.T)
    order = columns.order
    if not order.shape[1]:  # a large table comes without
        order = np.argsort(codes, axis=1, kind="stable").astype(np.uint32)
    return PairTable(columns, codes, order)


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
        table.codes, table.order, columns.n_codes, is_category, positive, negative, features.start, features.stop
    )
    return Stump(float(found[0]), int(found[1]), int(found[2]), int(found[3]), bool(found[4]))


def left_rows(table: PairTable, stump: Stump) -> npt.NDArray[np.bool_]:
    """Return which rows of the table go left."""
    codes = table.codes[stump.feature]
    is_left = (codes >= stump.first) & (codes <= stump.last)
    is_left[codes == table.columns.n_codes[stump.feature]] = stump.missing_left
    return is_left


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
        codes = table.codes[f]
        first_right = int(codes[~is_left & (codes > stump.last)].min(initial=columns.n_codes[f]))
        nodes["threshold"][0], nodes["cut"][0] = place_cut(columns, f, stump.last, first_right)
    return Tree(nodes, np.vstack([np.zeros(votes.shape[1]), votes]), subsets)


@kernel
def _find(codes, order, n_codes, is_category, positive, negative, first_feature, end_feature):  # type: ignore[no-untyped-def]
    n_rows, n_labels = positive.shape
    all_positive, all_negative = np.zeros(n_labels), np.zeros(n_labels)
    for i in range(n_rows):
        for j in range(n_labels):
            all_positive[j] += positive[i, j]
            all_negative[j] += negative[i, j]
    missing = (np.empty(n_labels), np.empty(n_labels))
    left = (np.empty(n_labels), np.empty(n_labels))
    best = np.inf
    feature, first, last, missing_left = -1, 0, 0, False
    for f in range(first_feature, end_feature):
        rows, values = order[f], codes[f]
        n_known = n_rows
        while n_known > 0 and values[rows[n_known - 1]] == n_codes[f]:
            n_known -= 1
        n_missing = n_rows - n_known
        _clear(missing)
        for k in range(n_known, n_rows):
            _add(missing, positive, negative, rows[k])
        if is_category[f] and 0 < n_missing < n_rows:  # missing values against all others
            score = _score(missing[0], missing[1], all_positive, all_negative)
            if score < best:
                best, feature, first, last, missing_left = score, f, np.int64(n_codes[f]), np.int64(n_codes[f]), True
        _clear(left)
        n_left = 0
        for k in range(n_known):
            code = np.int64(values[rows[k]])
            _add(left, positive, negative, rows[k])
            n_left += 1
            if k + 1 < n_known and values[rows[k + 1]] == code:
                continue
            if n_left == n_rows:
                break
            first_code = code if is_category[f] else 0
            score = _score(left[0], left[1], all_positive, all_negative)
            if score < best:
                best, feature, first, last, missing_left = score, f, first_code, code, False
            if is_category[f]:  # each category against all others
                _clear(left)
                n_left = 0
            elif n_missing > 0 and k + 1 < n_known:
                score = _score_with(left, missing, all_positive, all_negative)
                if score < best:
                    best, feature, first, last, missing_left = score, f, first_code, code, True
    return best, feature, first, last, missing_left


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
def _score(positive, negative, all_positive, all_negative):  # type: ignore[no-untyped-def]
    score = 0.0
    for j in range(len(positive)):
        other = max(all_positive[j] - positive[j], 0.0) * max(all_negative[j] - negative[j], 0.0)
        score += np.sqrt(positive[j] * negative[j]) + np.sqrt(other)
    return score


@kernel
def _score_with(left, missing, all_positive, all_negative):  # type: ignore[no-untyped-def]
    score = 0.0
    for j in range(len(all_positive)):
        positive, negative = left[0][j] + missing[0][j], left[1][j] + missing[1][j]
        other = max(all_positive[j] - positive, 0.0) * max(all_negative[j] - negative, 0.0)
        score += np.sqrt(positive * negative) + np.sqrt(other)
    return score
