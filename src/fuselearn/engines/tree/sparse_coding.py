"""Code a table of which most values are zero: only the other values are listed.

A listed value is an *entry*. Columns have the codes that `coding` gives them, zero included, so that a tree is the same
however the table is held. Which way a table is held follows from its values, and not from whether it was passed as a
sparse matrix.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import types
from numba.extending import overload
from scipy import sparse

from fuselearn._kernels import interpret, kernel
from fuselearn.engines.tree.coding import BINS_BEYOND, MAX_CODES, summarise

# A table is held sparsely if it has at least so many values per entry.
VALUES_PER_ENTRY = 10


class RowEntries(NamedTuple):
    """Entries row by row: those of row ``i`` are ``starts[i]`` to ``starts[i + 1] - 1``, their ``columns`` ascending.

    ``zeros[f]`` is the code of zero in column ``f``.
    """

    starts: npt.NDArray[np.int64]
    columns: npt.NDArray[np.uint32]
    codes: npt.NDArray[np.uint16]
    zeros: npt.NDArray[np.int32]


class ColumnEntries(NamedTuple):
    """Entries column by column: those of column ``f`` are ``starts[f]`` to ``starts[f + 1] - 1``, sorted by code."""

    starts: npt.NDArray[np.int64]
    rows: npt.NDArray[np.uint32]
    codes: npt.NDArray[np.uint16]


class SparseColumns(NamedTuple):
    """A coded table without categories of which most values are zero; codes mean what they do in ``CodedColumns``."""

    codes: RowEntries
    n_codes: npt.NDArray[np.int32]
    offsets: npt.NDArray[np.int64]
    lower: npt.NDArray[np.float64]
    upper: npt.NDArray[np.float64]
    is_category: None
    by_column: ColumnEntries


def is_mostly_zero(X: Any) -> bool:
    """Return whether an array or a sparse matrix of numbers has few entries; missing values are entries."""
    n_entries = X.count_nonzero() if sparse.issparse(X) else np.count_nonzero(X)
    return bool(n_entries * VALUES_PER_ENTRY <= X.shape[0] * X.shape[1])


def code_entries(X: Any) -> SparseColumns:
    """Code the columns of an array or a sparse matrix of numbers.

    Examples
    --------
    >>> columns = code_entries(np.array([[0.0, 0.5], [0.0, -1.0], [0.0, 0.0], [np.nan, 0.0]]))
    >>> columns.n_codes, columns.codes.zeros, columns.lower
    (array([1, 3], dtype=int32), array([0, 1], dtype=int32), array([ 0. , -1. ,  0. ,  0.5]))
    >>> columns.by_column
    ColumnEntries(starts=array([0, 1, 3]), rows=array([3, 1, 0], dtype=uint32), codes=array([1, 0, 2], dtype=uint16))
    """
    matrix = sparse.csc_array(X, dtype=np.float64, copy=True)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    n_rows, n_columns = matrix.shape
    columns = np.repeat(np.arange(n_columns, dtype=np.uint32), np.diff(matrix.indptr))
    order = np.lexsort((matrix.data, columns))
    rows, starts = matrix.indices[order].astype(np.uint32), matrix.indptr.astype(np.int64)
    codes, n_codes, zeros, lower, upper = _code_sorted(matrix.data[order], starts, n_rows, MAX_CODES, BINS_BEYOND)
    by_row = np.argsort(rows, kind="stable")
    row_starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=n_rows))])
    return SparseColumns(
        codes=RowEntries(row_starts, columns[by_row], codes[by_row], zeros),
        n_codes=n_codes,
        offsets=np.concatenate([[0], np.cumsum(n_codes, dtype=np.int64)]),
        lower=lower,
        upper=upper,
        is_category=None,
        by_column=ColumnEntries(starts, rows, codes),
    )


@kernel
def _code_sorted(values, starts, n_rows, most_codes, n_bins):  # type: ignore[no-untyped-def]
    """Code the entries of each column, which are sorted, with missing ones last."""
    n_columns = len(starts) - 1
    n_codes, zeros = np.empty(n_columns, dtype=np.int32), np.empty(n_columns, dtype=np.int32)
    codes = np.empty(len(values), dtype=np.uint16)
    lower, upper = np.empty(len(values) + n_columns), np.empty(len(values) + n_columns)
    used = 0
    for f in range(n_columns):
        start, end = starts[f], starts[f + 1]
        n_zeros = n_rows - (end - start)
        if end - start < most_codes:  # each value has a code of its own, however many zeros there are
            n_zeros = min(n_zeros, 1)
        ascending = np.zeros(end - start + n_zeros)
        middle = start
        while middle < end and values[middle] < 0:
            middle += 1
        for k in range(start, end):
            ascending[k - start + (n_zeros if k >= middle else 0)] = values[k]
        own_lower = lower[used:]
        n_codes[f] = summarise(ascending, most_codes, n_bins, own_lower, upper[used:])
        zeros[f] = code = 0
        for k in range(start, end):
            while code + 1 < n_codes[f] and own_lower[code + 1] <= values[k]:
                code += 1
            codes[k] = n_codes[f] if np.isnan(values[k]) else code
        while zeros[f] + 1 < n_codes[f] and own_lower[zeros[f] + 1] <= 0:
            zeros[f] += 1
        used += n_codes[f]
    return codes, n_codes, zeros, lower[:used].copy(), upper[:used].copy()


def code_at(codes, row, f):  # type: ignore[no-untyped-def]
    """Return the code of a row in a column, given all codes of a table or its entries."""
    return interpret(_code_at, codes, row, f)


@overload(code_at)
def _code_at(codes, row, f):  # type: ignore[no-untyped-def]
    def find(codes, row, f):  # type: ignore[no-untyped-def]
        starts, columns = codes.starts, codes.columns
        start, end = starts[row], starts[row + 1]
        while start < end:
            middle = (start + end) // 2
            if columns[middle] < f:
                start = middle + 1
            else:
                end = middle
        if start < starts[row + 1] and columns[start] == f:
            return np.int64(codes.codes[start])
        return np.int64(codes.zeros[f])

    if isinstance(codes, types.Array):
        return lambda codes, row, f: np.int64(codes[row, f])
    return find
