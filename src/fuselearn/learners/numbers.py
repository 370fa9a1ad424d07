"""Turn tables of any kind into finite numbers, for support vector machines and nearest neighbors."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.utils import check_array

from fuselearn.learners.table import TableCoder, as_frame, explaining_text, has_missing

TAKE_MISSING = (
    "Fill in missing values, for example by sklearn.impute.SimpleImputer in a pipeline, or use trees, which take them: "
    "KFHEClassifier or ForestClassifier for classes, PCTForestClassifier or estimator=CARTClassifier() for labels."
)

# A table with more columns for categories than this is kept sparse.
DENSE_CATEGORIES = 1_000


class NumberEncoder:
    """Turn tables of any kind into finite numbers: categories become columns of 0 and 1.

    Parameters
    ----------
    user : str, default="support vector machines"
        Who takes the numbers, for messages.

    Examples
    --------
    >>> import pandas as pd
    >>> encoder = NumberEncoder()
    >>> encoder.fit_transform(pd.DataFrame({"colour": ["red", "blue"], "size": [1.5, 2.0]}))
    array([[0. , 1. , 1.5],
           [1. , 0. , 2. ]])
    >>> encoder.transform(pd.DataFrame({"colour": ["green"], "size": [3.0]}))
    array([[0., 0., 3.]])
    """

    def __init__(self, user: str = "support vector machines") -> None:
        self.user = user
        self.coder = TableCoder()

    def fit_transform(self, X: Any) -> Any:
        """Learn the categories of a table and turn it into numbers."""
        X = self._check(X)
        self.coder.fit(X)
        # Numeric columns take one place each, category columns one per category.
        self.widths = np.maximum(self.coder.n_categories_, 1)
        return self._spread(X)

    def transform(self, X: Any) -> Any:
        """Turn a table into numbers, with the categories learned."""
        return self._spread(self._check(X))

    def _check(self, X: Any) -> Any:
        """Check an array of numbers; frames are for the coder to check."""
        if as_frame(X) is not None:
            return X
        with explaining_text():
            X = check_array(X, dtype=np.float64, accept_sparse="csr", ensure_all_finite="allow-nan", input_name="X")
        if has_missing(X):
            raise ValueError(f"Input X contains NaN, which {self.user} cannot take. {TAKE_MISSING}")
        if sparse.issparse(X):
            X = sparse.csr_array((X.data, X.indices, X.indptr), shape=X.shape)  # a check leaves marks on what it checks
            X.check_format(full_check=True)  # kernels do not check indices
        return X

    def columns_of(self, features: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
        """List the columns of numbers that columns of the table have become."""
        ends = np.cumsum(self.widths)
        return np.concatenate([np.arange(ends[f] - self.widths[f], ends[f]) for f in features])

    def _spread(self, X: Any) -> Any:
        is_category = self.coder.n_categories_ > 0
        if sparse.issparse(X) and not is_category.any():
            return X
        frame, coded = as_frame(X), self.coder.transform(X)
        if frame is None:
            return coded
        for f in np.flatnonzero(np.isnan(coded).any(axis=0) & ~is_category):
            raise ValueError(
                f"Column {frame.columns[f]!r} has missing values, which {self.user} cannot take. {TAKE_MISSING}"
            )
        if not is_category.any():
            return coded
        parts = self.coder.one_hot(coded)
        if self.widths[is_category].sum() <= DENSE_CATEGORIES:
            return np.hstack(parts, dtype=np.float64)
        return sparse.hstack([sparse.csr_array(part, dtype=np.float64) for part in parts], format="csr")
