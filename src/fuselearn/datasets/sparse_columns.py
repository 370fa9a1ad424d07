"""A transformer that selects named features and returns them as a sparse matrix."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin

from fuselearn.datasets.dataset import DatasetError
from fuselearn.datasets.targets import name_columns

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["SparseColumns"]


class SparseColumns(TransformerMixin, BaseEstimator):
    """Select named numeric features and return them as a sparse matrix.

    As the first step of a pipeline, it lets a model that was trained on a sparse matrix find its features by name in
    DataFrames and files.

    Parameters
    ----------
    names : sequence of str
        The names of the features, in the order of the matrix.

    Attributes
    ----------
    feature_names_in_ : ndarray of str
        The names of the features.
    n_features_in_ : int
        Number of features.

    Examples
    --------
    >>> import pandas as pd
    >>> from fuselearn.datasets import SparseColumns
    >>> SparseColumns(["b", "a"]).fit_transform(pd.DataFrame({"a": [0, 1], "b": [2, 0], "c": [3, 3]})).toarray()
    array([[2., 0.],
           [0., 1.]])
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.names = names

    @property
    def feature_names_in_(self) -> npt.NDArray[np.object_]:
        """The names of the features."""
        return np.array(self.names, dtype=object)

    @property
    def n_features_in_(self) -> int:
        """The number of features."""
        return len(self.names)

    def fit(self, X: Any, y: Any = None) -> SparseColumns:
        """Do nothing; there is nothing to learn.

        Parameters
        ----------
        X : {sparse matrix, DataFrame}
        y : None
            Ignored.

        Returns
        -------
        self : SparseColumns
        """
        return self

    def transform(self, X: Any) -> sparse.csr_array:
        """Return the features as a sparse matrix.

        Parameters
        ----------
        X : {sparse matrix, array-like, DataFrame}
            A DataFrame may have the features in any order and among others; anything else must have exactly these
            features in this order.

        Returns
        -------
        sparse array of shape (n_samples, n_features)
        """
        if hasattr(X, "columns"):
            X = self._select(X)
        if X.shape[1] != len(self.names):
            raise DatasetError(f"X has {X.shape[1]} features; the model was trained on {len(self.names)}.")
        return sparse.csr_array(X, dtype=np.float64)

    def _select(self, frame: pd.DataFrame) -> npt.NDArray[np.float64]:
        missing = [name for name in self.names if name not in set(frame.columns)]
        if missing:
            raise DatasetError(f"X lacks the columns {name_columns(missing)}, which the model was trained on.")
        return frame[list(self.names)].to_numpy().astype(np.float64)

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:
        """Return the names of the features.

        Parameters
        ----------
        input_features : None
            Ignored.

        Returns
        -------
        ndarray of str
        """
        return self.feature_names_in_

    def describe_columns(self) -> list[dict[str, Any]]:
        """Describe the columns, for the header of a model file."""
        return [{"name": name, "type": "number"} for name in self.names]

    def __sklearn_is_fitted__(self) -> bool:
        """Return True: there is nothing to fit."""
        return True

    def __sklearn_tags__(self) -> Any:
        """Return scikit-learn's tags."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.requires_fit = False
        return tags
