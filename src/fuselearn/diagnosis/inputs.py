"""Reading tables that are handed on to models as they are."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse


def read_rows(name: str, X: Any) -> Any:
    """Check that a parameter is a table with samples; lists become arrays, and sparse matrices get rows to take."""
    if sparse.issparse(X):
        X = X.tocsr()
    rows = X if hasattr(X, "shape") else np.asarray(X)
    if len(rows.shape) != 2 or rows.shape[0] == 0:
        raise ValueError(f"{name} must be a table with rows and columns, not of shape {tuple(rows.shape)}.")
    return rows
