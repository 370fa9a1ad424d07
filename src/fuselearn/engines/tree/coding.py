"""Code every column of a table once, so that hundreds of trees can share the work.

A numeric column with up to 65,535 distinct values is *rank-coded*: the code of a value is its rank among
the distinct values, and a tree grown on codes is exactly the tree grown on the values. A column with more
distinct values, or with more than ``max_bins``, is cut into bins that hold about equally many samples. A
category column already is a code. Missing values get the code after the last one.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt

from fuselearn._core import Table, code_block

MAX_CODES = 65_535
BINS_BEYOND = 255
BLOCK_ELEMENTS = 4_000_000


def code_columns(
    X: Any,
    n_categories: npt.NDArray[np.int32] | None = None,
    max_bins: int | None = None,
    n_threads: int = 1,
) -> Table:
    """Code the columns of a matrix.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_columns)
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
    Table

    Examples
    --------
    >>> table = code_columns(np.array([[0.5], [2.0], [np.nan], [0.5]]))
    >>> table.codes.ravel(), table.n_codes, table.lower
    (array([0, 1, 2, 0], dtype=uint8), array([2], dtype=int32), array([0.5, 2. ]))
    """
    n_samples, n_columns = X.shape
    if n_categories is None:
        n_categories = np.zeros(n_columns, dtype=np.int32)
    most_codes = MAX_CODES if max_bins is None else max_bins
    n_bins = BINS_BEYOND if max_bins is None else max_bins

    codes = np.empty((n_samples, n_columns), dtype=np.uint16)

    def code(block: slice) -> tuple[npt.NDArray[Any], ...]:
        columns = X[:, block].toarray() if hasattr(X, "toarray") else X[:, block]
        values = np.array(columns.T, dtype=np.float64, order="C")
        # NumPy sorts with the widest instructions that the processor has.
        return code_block(values, np.sort(values, axis=1), n_categories[block], most_codes, n_bins, codes, block.start)

    blocks = list(_column_blocks(n_samples, n_columns))
    if n_threads > 1 and len(blocks) > 1:
        with ThreadPoolExecutor(n_threads) as pool:
            coded = list(pool.map(code, blocks))
    else:
        coded = [code(block) for block in blocks]

    n_codes, lower, upper = (np.concatenate(parts) for parts in zip(*coded, strict=True))
    if n_codes.max(initial=0) <= 255:
        codes = codes.astype(np.uint8)
    return Table(codes, n_codes, lower, upper, n_categories > 0)


def encode_rows(X: npt.NDArray[np.floating], columns: Table) -> npt.NDArray[np.unsignedinteger]:
    """Code other samples by the codes of a table.

    Examples
    --------
    >>> table = code_columns(np.array([[0.5], [2.0], [np.nan], [0.5]]))
    >>> encode_rows(np.array([[np.nan], [2.5], [1.9]]), table).ravel()
    array([2, 1, 0], dtype=uint8)
    """
    return columns.encode(np.asarray(X, dtype=np.float64))


def raise_upper(
    X: npt.NDArray[np.floating], codes: npt.NDArray[np.unsignedinteger], columns: Table
) -> npt.NDArray[np.float64]:
    """Return the largest value of each code, in the table and in other samples that have been coded by it.

    Examples
    --------
    >>> table, X = code_columns(np.array([[0.5], [2.0]])), np.array([[np.nan], [2.5], [1.9]])
    >>> raise_upper(X, encode_rows(X, table), table)
    array([1.9, 2.5])
    """
    return columns.raise_upper(np.asarray(X, dtype=np.float64), codes)


def _column_blocks(n_samples: int, n_columns: int) -> Iterator[slice]:
    """Cut the columns into blocks whose sorted copy stays small beside the table."""
    width = max(1, BLOCK_ELEMENTS // max(1, n_samples))
    for start in range(0, n_columns, width):
        yield slice(start, min(start + width, n_columns))
