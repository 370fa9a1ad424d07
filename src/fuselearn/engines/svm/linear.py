"""Linear support vector machines by dual coordinate descent, on the features themselves, without a Gram matrix.

The problem is that of :mod:`~fuselearn.engines.svm.smo` for products of samples: the hinge loss, and an intercept that
is not penalized; see ``cpp/svm/linear.hpp``. liblinear penalizes the intercept. With the costs of texts, C divided by
thousands of features, its intercept stays near zero; scaled up, it does not converge on Nystroem features.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from fuselearn import _core
from fuselearn.engines.svm.gram import measure_rows
from fuselearn.engines.svm.smo import TOLERANCE
from fuselearn.engines.svm.training import TrainedColumns, count_threads

_MOST_PASSES = 1000


def train_linear_columns(
    X: Any,
    rows: npt.NDArray[np.integer],
    signs: npt.NDArray[np.float64],
    weights: npt.NDArray[np.float64],
    C: float,
    *,
    folds: npt.NDArray[np.float64] | None = None,
    max_passes: int = _MOST_PASSES,
    tolerance: float = TOLERANCE,
    n_threads: int = 1,
) -> TrainedColumns:
    """Train one linear machine per column, as :func:`~fuselearn.engines.svm.train_columns` does on a Gram matrix.

    Parameters
    ----------
    X : float array or sparse CSR array of shape (n_samples, n_features)
    rows : int array of shape (n_rows,)
        The rows of ``X`` to train on.
    signs, weights, C, folds, tolerance, n_threads
        As in :func:`~fuselearn.engines.svm.train_columns`.
    max_passes : int
        Steps of one solution, in passes over all rows.

    Returns
    -------
    TrainedColumns
        The coefficients are weights of the features.

    Examples
    --------
    >>> X, signs = np.array([[0.0], [1.0], [3.0], [4.0]]), np.array([[-1.0, -1.0, 1.0, 1.0]])
    >>> trained = train_linear_columns(X, np.arange(4), signs, np.ones(4), 10.0)
    >>> trained.coefficients.round(2), trained.intercepts.round(2)
    (array([[1.]]), array([-2.]))
    """
    settings = (
        rows.astype(np.int64, copy=False),
        2.0 * measure_rows(X, "rbf")[rows].astype(np.float64, copy=False),
        signs,
        weights,
        C,
        np.empty((0, len(rows))) if folds is None else folds,
        max_passes,
        tolerance,
        count_threads(n_threads, len(rows)),
    )
    if sparse.issparse(X):
        values = X.data.astype(np.float64, copy=False)
        return TrainedColumns(*_core.train_sparse_linear_svms(values, X.indices, X.indptr, X.shape[1], *settings))
    return TrainedColumns(*_core.train_linear_svms(X, *settings))
