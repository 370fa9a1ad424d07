"""Code a table of which most values are zero: only the other values are listed.

A listed value is an *entry*. Columns have the codes that `coding` gives them, zero included, so that a tree is the same
however the table is held. Which way a table is held follows from its values, and not from whether it was passed as a
sparse matrix.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from fuselearn import _core
from fuselearn._core import SparseTable
from fuselearn.engines.tree.coding import BINS_BEYOND, MAX_CODES

# A table is held sparsely if it has at least so many values per entry.
VALUES_PER_ENTRY = 10


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
