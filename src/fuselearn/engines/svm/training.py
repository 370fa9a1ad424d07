"""Train the support vector machines of several label columns on the same rows.

Calibration by Platt's method needs decision values of rows that the machine has not seen. They come from
cross-validation over drawn copies, as if the copies had been written out: a row drawn three times may be in three
folds, and counts in each. Every fold starts from the solution on all rows, and works off the difference.

This is what libsvm does with a written-out sample. Its copies make a machine too sure, as a fold knows some of the rows
that it leaves out; but so should members of an ensemble be, whose mean is less sure than they are. With all copies of a
row in one fold, E-HOMER has larger calibration errors and a smaller macro F1 on most of the papers' datasets
(``benchmarks/calibration.py``).
Weights that do not come from draws are no copies: a row with a weight is in one fold.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fuselearn._kernels import kernel
from fuselearn.engines.svm.platt import fit_sigmoid
from fuselearn.engines.svm.smo import TOLERANCE, add_row, add_rows, find_intercept, improve

# A sigmoid through thousands of values does not feel their last digit: probabilities change by less than 0.001.
FOLD_SLACK = 10.0
ROWS_FOR_THREADS = 200


class TrainedColumns(NamedTuple):
    """One support vector machine per label column."""

    coefficients: npt.NDArray[np.float64]  # (n_columns, n_rows)
    intercepts: npt.NDArray[np.float64]  # (n_columns,)
    slopes: npt.NDArray[np.float64]  # (n_columns,), of Platt's sigmoid
    offsets: npt.NDArray[np.float64]  # (n_columns,)
    converged: npt.NDArray[np.bool_]  # (n_columns,)
    left_out: npt.NDArray[np.float64]  # (n_columns, n_left_out), decision values of rows left out, fold by fold


def train_columns(
    gram: npt.NDArray[np.float32],
    signs: npt.NDArray[np.float64],
    weights: npt.NDArray[np.float64],
    C: float,
    *,
    folds: npt.NDArray[np.float64] | None = None,
    max_steps: int | None = None,
    tolerance: float = TOLERANCE,
    n_threads: int = 1,
) -> TrainedColumns:
    """Train one support vector machine per column.

    Parameters
    ----------
    gram : float32 array of shape (n_rows, n_rows)
        Kernel values between the rows of this training alone.
    signs : float64 array of shape (n_columns, n_rows)
        -1 or 1.
    weights : float64 array of shape (n_rows,)
    C : float
        The bound of a coefficient is C times the weight of its row.
    folds : float64 array of shape (n_folds, n_rows), optional
        Weight of each row that is left out in each fold, as :func:`deal_folds` gives it. Without it no sigmoid is
        fitted.
    max_steps : int, optional
        Steps of one solution; by default a hundred per row, and at least 100,000.
    tolerance : float
    n_threads : int
    """
    n_columns, n_rows = signs.shape
    signs = np.ascontiguousarray(signs)
    if folds is None:
        folds = np.empty((0, n_rows))
    if max_steps is None:
        max_steps = 100 * max(n_rows, 1000)

    def train(column: int) -> tuple[Any, ...]:
        return train_column(gram, signs[column], weights, C, folds, max_steps, tolerance)

    return train_each(train, n_columns, n_threads if n_rows >= ROWS_FOR_THREADS else 1)


def train_each(train: Callable[[int], tuple[Any, ...]], n_columns: int, n_threads: int) -> TrainedColumns:
    """Train the machine of each column by a function of its number, which returns the fields of TrainedColumns."""
    if n_threads > 1 and n_columns > 1:
        with ThreadPoolExecutor(min(n_threads, n_columns)) as pool:
            trained = list(pool.map(train, range(n_columns)))
    else:
        trained = [train(column) for column in range(n_columns)]
    return TrainedColumns(*(np.array(part) for part in zip(*trained, strict=True)))


def deal_folds(counts: npt.NDArray[np.integer], n_folds: int, seed: int) -> npt.NDArray[np.float64]:
    """Deal drawn copies at random to folds whose sizes differ by at most one.

    Parameters
    ----------
    counts : int array of shape (n_rows,)
        Number of copies of each row.
    n_folds : int
    seed : int

    Returns
    -------
    float64 array of shape (n_folds, n_rows)
        Number of copies of each row in each fold.

    Examples
    --------
    >>> folds = deal_folds(np.array([3, 0, 2, 1]), 2, seed=0)
    >>> folds.sum(axis=0)
    array([3., 0., 2., 1.])
    >>> folds.sum(axis=1)
    array([3., 3.])
    """
    n_rows = len(counts)
    copies = np.random.default_rng(seed).permutation(np.repeat(np.arange(n_rows), counts))
    fold = np.arange(len(copies)) * n_folds // max(len(copies), 1)
    return np.bincount(fold * n_rows + copies, minlength=n_folds * n_rows).reshape(n_folds, n_rows).astype(np.float64)


@kernel
def train_column(gram, signs, weights, C, folds, max_steps, tolerance):  # type: ignore[no-untyped-def]
    """Solve for one column and, if there are folds, fit the sigmoid to cross-validated decision values."""
    n = len(signs)
    bounds = C * weights
    coefficients, residuals = np.zeros(n), signs.copy()
    converged = improve(gram, signs, bounds, coefficients, residuals, max_steps, tolerance)
    intercept = find_intercept(signs, bounds, coefficients, residuals)
    if len(folds) == 0:
        return coefficients, intercept, 0.0, 0.0, converged, np.empty(0)

    n_values = 0
    for f in range(len(folds)):
        for k in range(n):
            n_values += folds[f, k] > 0
    values, value_signs, value_weights = np.empty(n_values), np.empty(n_values), np.empty(n_values)
    n_values = 0
    for f in range(len(folds)):
        for k in range(n):
            bounds[k] = max(C * (weights[k] - folds[f, k]), 0.0)
        fold_coefficients, fold_residuals = coefficients.copy(), residuals.copy()
        _move_inside(gram, signs, bounds, fold_coefficients, fold_residuals)
        reached = improve(gram, signs, bounds, fold_coefficients, fold_residuals, max_steps, FOLD_SLACK * tolerance)
        converged = converged and reached
        fold_intercept = find_intercept(signs, bounds, fold_coefficients, fold_residuals)
        for k in range(n):
            if folds[f, k] > 0:
                values[n_values] = signs[k] - fold_residuals[k] + fold_intercept
                value_signs[n_values] = signs[k]
                value_weights[n_values] = folds[f, k]
                n_values += 1
    slope, offset = fit_sigmoid(values, value_signs, value_weights)
    return coefficients, intercept, slope, offset, converged, values


@kernel
def _move_inside(gram, signs, bounds, coefficients, residuals):  # type: ignore[no-untyped-def]
    """Cut coefficients to lower bounds, and take as much from the other side, from the rows that want it most."""
    changes = np.zeros(len(signs))
    surplus = 0.0
    for k in range(len(signs)):
        inside = signs[k] * min(signs[k] * coefficients[k], bounds[k])
        changes[k] = coefficients[k] - inside
        coefficients[k] = inside
        surplus += inside
    add_rows(residuals, gram, changes)
    heavy = 1.0 if surplus > 0.0 else -1.0
    while heavy * surplus > 0.0:
        most = -1
        for k in range(len(signs)):
            if heavy * coefficients[k] > 0.0 and (most < 0 or heavy * (residuals[k] - residuals[most]) < 0.0):
                most = k
        if most < 0:
            break
        change = min(heavy * coefficients[most], heavy * surplus)
        coefficients[most] -= heavy * change
        surplus -= heavy * change
        add_row(residuals, gram[most], heavy * change)
