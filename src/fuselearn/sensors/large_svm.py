"""Support vector machines without a Gram matrix, for tables too large for one.

Machines are linear in features of the rows: the columns themselves, or Nystroem features, whose products approximate a
radial kernel. The solver is scikit-learn's, with the squared hinge loss, which it can solve without drawing rows at
random.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.kernel_approximation import Nystroem
from sklearn.svm import LinearSVC

from fuselearn.engines.svm import TrainedColumns, fit_sigmoid

LARGEST_GRAM = 2 * 2**30
N_FEATURES = 300


def is_too_large(n_rows: int) -> bool:
    """Return whether a Gram matrix of so many rows, in float32, would take more than 2 GB."""
    return 4 * n_rows**2 > LARGEST_GRAM


def fit_radial_features(X: Any, gamma: float) -> Nystroem:
    """Choose rows by which radial kernel values are approximated."""
    return Nystroem(gamma=gamma, n_components=min(N_FEATURES, X.shape[0]), random_state=0).fit(X)


def train_linear(
    features: Any,
    signs: npt.NDArray[np.float64],
    weights: npt.NDArray[np.float64],
    folds: npt.NDArray[np.float64] | None,
    *,
    C: float,
    n_threads: int,
) -> TrainedColumns:
    """Train one linear machine per column, as :func:`~fuselearn.engines.svm.train_columns` does on a Gram matrix.

    The coefficients are those of the features.
    """

    def train(column: int) -> tuple[Any, ...]:
        own = signs[column]
        coefficients, intercept, converged = _solve(features, own, weights, C)
        slope = offset = 0.0
        left_out_values = np.empty(0)
        if folds is not None:
            values, left_out = np.empty(folds.shape), folds > 0
            for fold, left in enumerate(folds):
                fold_coefficients, fold_intercept, _ = _solve(features, own, weights - left, C)
                values[fold] = features @ fold_coefficients + fold_intercept
            every = np.broadcast_to(own, folds.shape)
            left_out_values = values[left_out]
            slope, offset = fit_sigmoid(left_out_values, every[left_out], folds[left_out])
        return coefficients, intercept, slope, offset, converged, left_out_values

    with ThreadPoolExecutor(n_threads) as pool:
        trained = list(pool.map(train, range(len(signs))))
    return TrainedColumns(*(np.array(part) for part in zip(*trained, strict=True)))


def _solve(
    features: Any, signs: npt.NDArray[np.float64], weights: npt.NDArray[np.float64], C: float
) -> tuple[npt.NDArray[np.float64], float, bool]:
    drawn = weights > 0
    if not (signs[drawn] > 0).any() or not (signs[drawn] < 0).any():
        return np.zeros(features.shape[1]), signs[drawn].mean() if drawn.any() else 0.0, True
    machine = LinearSVC(C=C, dual=False, tol=1e-3).fit(features, signs, sample_weight=weights)
    return machine.coef_[0], float(machine.intercept_[0]), machine.n_iter_ < machine.max_iter
