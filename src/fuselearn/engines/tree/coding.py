"""Code every column of a table once, so that hundreds of trees can share the work.

A numeric column with up to 65,535 distinct values is *rank-coded*: the code of a value is its rank among
the distinct values, and a tree grown on codes is exactly the tree grown on the values. A column with more
distinct values, or with more than ``max_bins``, is cut into bins that hold about equally many rows. A
category column already is a code. Missing values get the code after the last one.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fuselearn._kernels import kernel
from fuselearn.engines.tree.lookup import count_not_above

MAX_CODES = 65_535
BINS_BEYOND = 255
BLOCK_ELEMENTS = 4_000_000
# Tables of up to this many rows are sorted once and for all. Codes of one byte would save them no time, but all growers
# would be compiled for these, too.
ORDERED_ROWS = 4_000


class CodedColumns(NamedTuple):
    """A table of codes and what is needed to turn a code back into a cut point.

    Code ``c`` of column ``f`` stands for the values from ``lower[offsets[f] + c]`` to
    ``upper[offsets[f] + c]``, which are equal in a rank-coded column. The code ``n_codes[f]`` means missing.
    ``is_category`` is None if no column is one: kernels are then compiled without that case. ``order[f]`` lists the
    rows by their code in column ``f``; large tables do without it and have no columns there.
    """

    codes: npt.NDArray[np.unsignedinteger]
    n_codes: npt.NDArray[np.int32]
    offsets: npt.NDArray[np.int64]
    lower: npt.NDArray[np.float64]
    upper: npt.NDArray[np.float64]
    is_category: npt.NDArray[np.bool_] | None
    order: npt.NDArray[np.uint32]


def code_columns(
    X: Any,
    n_categories: npt.NDArray[np.int32] | None = None,
    max_bins: int | None = None,
    n_threads: int = 1,
) -> CodedColumns:
    """Code the columns of a matrix.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_rows, n_columns)
        Floats; NaN means missing. A category column holds the numbers 0, 1, ... of its categories. A sparse matrix is
        made dense a few columns at a time.
    n_categories : array of shape (n_columns,), optional
        Number of categories of each column, 0 for a numeric column. By default all are numeric.
    max_bins : int, optional
        Numeric columns with more distinct values are binned. By default 65,535 distinct values are kept
        apart, and a column with more than that is cut into 255 bins.
    n_threads : int
        Threads to spread the columns over.

    Returns
    -------
    CodedColumns

    Examples
    --------
    >>> columns = code_columns(np.array([[0.5], [2.0], [np.nan], [0.5]]))
    >>> columns.codes.ravel(), columns.n_codes, columns.lower
    (array([0, 1, 2, 0], dtype=uint16), array([2], dtype=int32), array([0.5, 2. ]))
    """
    n_rows, n_columns = X.shape
    if n_categories is None:
        n_categories = np.zeros(n_columns, dtype=np.int32)
    most_codes = MAX_CODES if max_bins is None else max_bins
    n_bins = BINS_BEYOND if max_bins is None else max_bins

    codes = np.empty((n_rows, n_columns), dtype=np.uint16)

    def code_block(block: slice) -> tuple[npt.NDArray[Any], ...]:
        columns = X[:, block].toarray() if hasattr(X, "toarray") else X[:, block]
        values = np.array(columns.T, dtype=np.float64, order="C")  # kernels would be compiled again for a view
        return _code_block(
            values,
            np.sort(values, axis=1),
            n_categories[block],
            most_codes,
            n_bins,
            codes[:, block],
        )

    blocks = list(_column_blocks(n_rows, n_columns))
    if n_threads > 1 and len(blocks) > 1:
        with ThreadPoolExecutor(n_threads) as pool:
            coded = list(pool.map(code_block, blocks))
    else:
        coded = [code_block(block) for block in blocks]

    n_codes = np.concatenate([part[0] for part in coded])
    if n_rows > ORDERED_ROWS and n_codes.max(initial=0) <= 255:
        codes = codes.astype(np.uint8)
    return CodedColumns(
        codes=codes,
        n_codes=n_codes,
        offsets=np.concatenate([[0], np.cumsum(n_codes, dtype=np.int64)]),
        lower=np.concatenate([part[1] for part in coded]),
        upper=np.concatenate([part[2] for part in coded]),
        is_category=n_categories > 0 if n_categories.any() else None,
        order=order_rows(codes),
    )


def encode_rows(X: npt.NDArray[np.floating], columns: CodedColumns) -> npt.NDArray[np.unsignedinteger]:
    """Code other rows by the codes of a table.

    Examples
    --------
    >>> columns = code_columns(np.array([[0.5], [2.0], [np.nan], [0.5]]))
    >>> encode_rows(np.array([[np.nan], [2.5], [1.9]]), columns).ravel()
    array([2, 1, 0], dtype=uint8)
    """
    codes = np.empty(X.shape, dtype=np.uint8 if columns.n_codes.max(initial=0) <= 255 else np.uint16)
    values = np.array(X.T, dtype=np.float64, order="C")
    _encode_columns(values, columns.lower, columns.offsets, codes)
    return codes


def raise_upper(
    X: npt.NDArray[np.floating], codes: npt.NDArray[np.unsignedinteger], columns: CodedColumns
) -> npt.NDArray[np.float64]:
    """Return the largest value of each code, in the table and in other rows that have been coded by it.

    Examples
    --------
    >>> columns, X = code_columns(np.array([[0.5], [2.0]])), np.array([[np.nan], [2.5], [1.9]])
    >>> raise_upper(X, encode_rows(X, columns), columns)
    array([1.9, 2.5])
    """
    upper = columns.upper.copy()
    _raise_upper(np.ascontiguousarray(X, dtype=np.float64), codes, columns.offsets, upper)
    return upper


def order_rows(codes: npt.NDArray[np.unsignedinteger]) -> npt.NDArray[np.uint32]:
    """Sort the rows of a small table by each column's codes."""
    if len(codes) > ORDERED_ROWS:
        return np.empty((codes.shape[1], 0), dtype=np.uint32)
    return np.ascontiguousarray(np.argsort(codes, axis=0, kind="stable").T, dtype=np.uint32)


def _column_blocks(n_rows: int, n_columns: int) -> Iterator[slice]:
    """Cut the columns into blocks whose sorted copy stays small beside the table."""
    width = max(1, BLOCK_ELEMENTS // max(1, n_rows))
    for start in range(0, n_columns, width):
        yield slice(start, min(start + width, n_columns))


@kernel
def _code_block(values, sorted_values, n_categories, most_codes, n_bins, codes):  # type: ignore[no-untyped-def]
    """Code a few columns, given column by column; return their code counts and bounds."""
    n_columns, n_rows = values.shape
    n_codes = np.empty(n_columns, dtype=np.int32)
    # A numeric column has at most as many codes as values, as most_codes or as n_bins; a category column has its own.
    width = max(1, min(n_rows, max(most_codes, n_bins)))
    for f in range(n_columns):
        width = max(width, n_categories[f])
    lower = np.empty(n_columns * width)
    upper = np.empty(n_columns * width)
    used = 0
    for f in range(n_columns):
        if n_categories[f] > 0:
            n_codes[f] = n_categories[f]
            for c in range(n_categories[f]):
                lower[used + c] = c
                upper[used + c] = c
        else:
            n_codes[f] = summarise(sorted_values[f], most_codes, n_bins, lower[used:], upper[used:])
        _encode(values[f], lower[used : used + n_codes[f]], codes[:, f])
        used += n_codes[f]
    return n_codes, lower[:used].copy(), upper[:used].copy()


@kernel
def _encode_columns(values, lower, offsets, codes):  # type: ignore[no-untyped-def]
    for f in range(len(values)):
        _encode(values[f], lower[offsets[f] : offsets[f + 1]], codes[:, f])


@kernel
def _raise_upper(X, codes, offsets, upper):  # type: ignore[no-untyped-def]
    for i in range(X.shape[0]):
        for f in range(X.shape[1]):
            if not np.isnan(X[i, f]):
                place = offsets[f] + codes[i, f]
                upper[place] = max(upper[place], X[i, f])


@kernel
def summarise(ascending, most_codes, n_bins, lower, upper):  # type: ignore[no-untyped-def]
    """Write the bounds of each code of one sorted column, and return how many codes there are."""
    n_present = len(ascending)
    while n_present > 0 and np.isnan(ascending[n_present - 1]):
        n_present -= 1
    if n_present == 0:
        return 0
    n_distinct = 1
    for i in range(1, n_present):
        if ascending[i] != ascending[i - 1]:
            n_distinct += 1

    # Each code begins in a later bin than the one before, and so there are at most n_bins of them. In whole numbers:
    # rounded bounds of bins once let a bin begin twice.
    n_codes = 0
    lower[0] = ascending[0]
    last_bin = 0
    for i in range(1, n_present):
        if ascending[i] != ascending[i - 1]:
            this_bin = i if n_distinct <= most_codes else i * n_bins // n_present
            if this_bin > last_bin:
                upper[n_codes] = ascending[i - 1]
                n_codes += 1
                lower[n_codes] = ascending[i]
                last_bin = this_bin
    upper[n_codes] = ascending[n_present - 1]
    return n_codes + 1


@kernel
def _encode(values, lower, codes):  # type: ignore[no-untyped-def]
    """Code each value by the last code whose lower bound does not exceed it, or the first one if there is none.

    Codes are used as indices, so they stay in range even for a number that is no category.
    """
    # Missing values are left alone and so end up with the code after the last one.
    reached = np.empty(len(values), dtype=np.uint32)
    reached[:] = len(lower) + 1
    count_not_above(values, lower, reached)
    for i in range(len(values)):
        codes[i] = max(reached[i], 1) - 1
