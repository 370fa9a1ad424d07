"""Fill in missing numbers, for learners that take none."""

from __future__ import annotations

from typing import Any, Self

import narwhals as nw
import numpy as np
import numpy.typing as npt
from scipy import sparse

from fuselearn.learners.table import TableCoder, as_frame, has_missing


class MedianImputer:
    """Replace missing numbers by the median of their feature, and append features that say where they were.

    The indicators are 0 and 1, for features with missing values in training. Tables keep their kind, and categories of
    a DataFrame stay as they are. Missing values of a sparse matrix without any in training become 0.

    Attributes
    ----------
    medians_ : array of shape (n_features,)
        NaN for features with categories.
    marked_ : int array of shape (n_marked,)
        Features with an indicator.

    Examples
    --------
    >>> imputer = MedianImputer().fit(np.array([[1.0, 5.0], [2.0, np.nan], [4.0, 9.0]]))
    >>> imputer.transform(np.array([[np.nan, np.nan], [3.0, 6.0]]))
    array([[2., 7., 1.],
           [3., 6., 0.]])
    """

    medians_: npt.NDArray[np.float64]
    marked_: npt.NDArray[np.intp]

    def fit(self, X: Any) -> Self:
        """Learn the medians of a table."""
        self.coder_ = TableCoder().fit(X)
        is_category = self.coder_.n_categories_ > 0
        if sparse.issparse(X) and not has_missing(X):
            self.medians_, self.marked_ = np.zeros(X.shape[1]), np.empty(0, dtype=np.intp)
            return self
        numbers = self.coder_.transform(X)
        missing = np.isnan(numbers) & ~is_category
        self.marked_ = np.flatnonzero(missing.any(axis=0))
        known = np.where(missing.all(axis=0), 0.0, numbers)  # a feature without any number becomes 0
        self.medians_ = np.where(is_category, np.nan, np.nanmedian(np.where(is_category, 0.0, known), axis=0))
        return self

    def transform(self, X: Any) -> Any:
        """Return a table without missing numbers, followed by the indicators."""
        if not len(self.marked_) and not has_missing(X):
            return X
        numbers, frame = self.coder_.transform(X), as_frame(X)
        missing = np.isnan(numbers)
        filled = np.where(missing, self.medians_, numbers)
        indicators = missing[:, self.marked_].astype(np.float64)
        if frame is None:
            joined = np.hstack([filled, indicators])
            return sparse.csr_array(joined) if sparse.issparse(X) else joined
        names = frame.columns
        numeric = np.flatnonzero(~np.isnan(self.medians_))
        columns = [(names[f], filled[:, f]) for f in numeric if missing[:, f].any()]
        columns += [(f"{names[f]} is missing", indicators[:, k]) for k, f in enumerate(self.marked_)]
        if frame.implementation.is_pandas():  # a new series would be aligned by its index
            X = X.copy(deep=False)
            for name, values in columns:
                X[name] = values
            return X
        series = [nw.new_series(name, values, backend=frame.implementation) for name, values in columns]
        return frame.with_columns(*series).to_native()
