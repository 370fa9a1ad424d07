"""Reading tables that are handed on to models as they are."""

from __future__ import annotations

from typing import Any

import numpy as np


def read_rows(name: str, X: Any) -> Any:
    """Check that a parameter is a table with rows; lists become arrays."""
    rows = X if hasattr(X, "shape") else np.asarray(X)
    if len(rows.shape) != 2 or rows.shape[0] == 0:
        raise ValueError(f"{name} must be a table with rows and columns, not of shape {tuple(rows.shape)}.")
    return rows
