"""Turn tables of any kind into numbers among which distances mean something."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.preprocessing import StandardScaler

from fuselearn._validation import read_table
from fuselearn.learners.table import TableCoder, as_frame

Floats = npt.NDArray[np.float64]


def scale_features(X: Any) -> Floats:
    """Scale numbers to mean 0 and variance 1, and turn categories into columns of 0 and 1.

    Two samples of different categories have a distance of 1 in that feature. A missing number becomes the mean, and a
    missing category belongs to none.

    Parameters
    ----------
    X : {array-like, DataFrame} of shape (n_samples, n_features)

    Returns
    -------
    array of shape (n_samples, n_scaled)

    Examples
    --------
    >>> scale_features([[1.0], [3.0], [None]])
    array([[-1.],
           [ 1.],
           [ 0.]])
    """
    if sparse.issparse(X):
        raise ValueError("X is a sparse matrix, in which distances are not measured; pass X.toarray().")
    table = read_table("X", X)
    coder = TableCoder()
    if as_frame(table) is None:
        try:
            coded = coder.fit_transform(np.asarray(table, dtype=np.float64))
        except (TypeError, ValueError) as error:
            raise ValueError(f"X must be an array of numbers, or a DataFrame, which may have text: {error}.") from error
        if np.isinf(coded).any():
            raise ValueError("X has infinite values; expected numbers, or NaN for missing ones.")
    else:
        coded = coder.fit_transform(table)
    parts = coder.one_hot(coded)
    return np.hstack([part / np.sqrt(2) if part.dtype == bool else _standardise(part) for part in parts])


def _standardise(column: npt.NDArray[np.floating]) -> Floats:
    """Scale a feature; a constant one, or one without any value, becomes 0."""
    if np.isnan(column).all():
        return np.zeros_like(column)
    # Divided by the largest value first, numbers near the end of the range have a finite variance.
    scaled = StandardScaler().fit_transform(column / (np.nanmax(np.abs(column)) or 1.0))
    return np.nan_to_num(scaled)
