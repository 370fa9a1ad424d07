"""Code the features of a table once, so that hundreds of trees can share the work.

A numeric feature with up to 65,535 distinct values is *rank-coded*: the code of a value is its rank among the distinct
values, and a tree grown on codes is exactly the tree grown on the values. A feature with more distinct values, or with
more than ``max_bins``, is cut into bins that hold about equally many samples. A categorical feature already is a code.
Missing values get the code after the last one.

A table of which most values are zero is held sparsely: only its *entries*, the other values, are listed. Its codes are
the same, zero included, so that trees are the same however the table is held. How it is held depends on its values, not
on whether it was passed as a sparse matrix.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from fuselearn import _core
from fuselearn._core import SparseTable, Table

MAX_CODES = 65_535
BINS_BEYOND = 255
BLOCK_ELEMENTS = 4_000_000
# A table is held sparsely if it has at least so many values per entry.
VALUES_PER_ENTRY = 10


def code_columns(
    X: Any, n_categories: npt.NDArray[np.int32] | None = None, max_bins: int | None = None, n_threads: int = 1
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
        return _core.code_block(
            values, np.sort(values, axis=1), n_categories[block], most_codes, n_bins, codes, block.start
        )

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


def _column_blocks(n_samples: int, n_columns: int) -> Iterator[slice]:
    """Cut the columns into blocks whose sorted copy stays small beside the table."""
    width = max(1, BLOCK_ELEMENTS // max(1, n_samples))
    for start in range(0, n_columns, width):
        yield slice(start, min(start + width, n_columns))


def is_mostly_zero(X: Any) -> bool:
    """Return whether an array or a sparse matrix of numbers has few entries; missing values are entries."""
    n_entries = X.count_nonzero() if sparse.issparse(X) else np.count_nonzero(X)
    return bool(n_entries * VALUES_PER_ENTRY <= X.shape[0] * X.shape[1])


def code_entries(X: Any) -> SparseTable:
    """Code the columns of an array or a sparse matrix of numbers.

    Examples
    --------
    >>> table = code_entries(np.array([[0.0, 0.5], [0.0, -1.0], [0.0, 0.0], [np.nan, 0.0]]))
    >>> table.n_codes, table.zeros, table.lower
    (array([1, 3], dtype=int32), array([0, 1], dtype=int32), array([ 0. , -1. ,  0. ,  0.5]))
    >>> starts, samples, codes = table.by_column
    >>> starts.tolist(), samples.tolist(), codes.tolist()
    ([0, 1, 3], [3, 1, 0], [1, 0, 2])
    """
    matrix = sparse.csc_array(X, dtype=np.float64, copy=True)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    starts, samples = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32)
    return _core.code_entries(starts, samples, matrix.data, matrix.shape[0], MAX_CODES, BINS_BEYOND)
