"""Linear support vector machines by dual coordinate descent, on the features themselves, without a Gram matrix.

The problem is that of :mod:`~fuselearn.engines.svm.smo` for products of rows, K_ij = x_i.x_j: the hinge loss, and an
intercept that is not penalised. The machine keeps the weights w = sum_i b_i x_i up to date, so that the residual
r_i = y_i - w.x_i - intercept of a row takes as many products as the row has values. Each step sets the coefficient b_i
of one row to its best value. Blocks of rows, and the rows of a block, are taken in a new random order in each pass;
rows that seem settled on a bound are left out of the passes until the others are done.

Single steps cannot keep sum_i b_i = 0. The intercept is the multiplier of that condition: during a pass it follows
the sum, and after each pass it moves once more by as much (the method of multipliers), until the sum is zero.

References
----------
C.-J. Hsieh, K.-W. Chang, C.-J. Lin, S. S. Keerthi, S. Sundararajan: A dual coordinate descent method for large-scale
linear SVM. International Conference on Machine Learning, 2008.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import types
from numba.extending import overload
from scipy import sparse

from fuselearn._kernels import interpret, kernel, vectorised
from fuselearn.engines.svm.gram import measure_rows
from fuselearn.engines.svm.platt import fit_sigmoid
from fuselearn.engines.svm.scoring import dot
from fuselearn.engines.svm.smo import TOLERANCE, add_row
from fuselearn.engines.svm.training import FOLD_SLACK, ROWS_FOR_THREADS, TrainedColumns, train_each
from fuselearn.engines.tree.random import draw_into, mix

_MOST_PASSES = 1000
# Of the mean squared length of the rows: how far the intercept follows a change of a coefficient. With more, it
# overshoots; with less, it takes more passes to settle.
_INTERCEPT_STEP = 0.03
# Rows that are visited together: neighbours in memory. One by one, large tables take three times as long.
_BLOCK = 32
_SETTLED = -1


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
    table = (X.data, X.indices, X.indptr) if sparse.issparse(X) else X
    squares = 2.0 * measure_rows(X, "rbf")[rows]
    signs = np.ascontiguousarray(signs)
    if folds is None:
        folds = np.empty((0, len(rows)))

    def train(column: int) -> tuple[Any, ...]:
        machine = np.zeros(X.shape[1])
        return _train_column(table, rows, squares, signs[column], weights, C, folds, machine, max_passes, tolerance)

    return train_each(train, len(signs), n_threads if len(rows) >= ROWS_FOR_THREADS else 1)


def multiply(table, row, weights):  # type: ignore[no-untyped-def]
    """Return the product of a row, of an array or of the arrays of a CSR matrix, and weights of its features."""
    return interpret(_multiply, table, row, weights)


def add_multiple(weights, table, row, factor):  # type: ignore[no-untyped-def]
    """Add a multiple of a row to weights of its features."""
    return interpret(_add_multiple, weights, table, row, factor)


@overload(multiply)
def _multiply(table, row, weights):  # type: ignore[no-untyped-def]
    def multiply_sparse(table, row, weights):  # type: ignore[no-untyped-def]
        values, columns, starts = table
        part = slice(starts[row], starts[row + 1])
        return _dot_sparse(values[part], columns[part], weights)

    if isinstance(table, types.Array):
        return lambda table, row, weights: dot(table[row], weights)
    return multiply_sparse


@overload(add_multiple)
def _add_multiple(weights, table, row, factor):  # type: ignore[no-untyped-def]
    def add_sparse(weights, table, row, factor):  # type: ignore[no-untyped-def]
        values, columns, starts = table
        for k in range(starts[row], starts[row + 1]):
            weights[columns[k]] += factor * values[k]

    if isinstance(table, types.Array):
        return lambda weights, table, row, factor: add_row(weights, table[row], factor)
    return add_sparse


@vectorised
def _dot_sparse(values, columns, weights):  # type: ignore[no-untyped-def]
    total = 0.0
    for k in range(len(values)):
        total += values[k] * weights[columns[k]]
    return total


@kernel
def _train_column(  # type: ignore[no-untyped-def]
    table, rows, squares, signs, weights, C, folds, machine, max_passes, tolerance
):
    """Solve for one column and, if there are folds, fit the sigmoid to cross-validated decision values."""
    n = len(rows)
    problem = table, rows, squares, signs
    bounds, coefficients = C * weights, np.zeros(n)
    intercept, converged = _descend(problem, bounds, coefficients, machine, np.nan, max_passes, tolerance)
    if len(folds) == 0:
        return machine, intercept, 0.0, 0.0, converged, np.empty(0)

    n_values = np.count_nonzero(folds)
    values, value_signs, value_weights = np.empty(n_values), np.empty(n_values), np.empty(n_values)
    n_values = 0
    for f in range(len(folds)):
        fold_coefficients, fold_machine = coefficients.copy(), machine.copy()
        for k in range(n):
            bounds[k] = max(C * (weights[k] - folds[f, k]), 0.0)
            inside = signs[k] * min(signs[k] * coefficients[k], bounds[k])
            if inside != coefficients[k]:
                add_multiple(fold_machine, table, rows[k], inside - coefficients[k])
                fold_coefficients[k] = inside
        fold_intercept, reached = _descend(
            problem, bounds, fold_coefficients, fold_machine, intercept, max_passes, FOLD_SLACK * tolerance
        )
        converged = converged and reached
        for k in range(n):
            if folds[f, k] > 0:
                values[n_values] = multiply(table, rows[k], fold_machine) + fold_intercept
                value_signs[n_values] = signs[k]
                value_weights[n_values] = folds[f, k]
                n_values += 1
    slope, offset = fit_sigmoid(values, value_signs, value_weights)
    return machine, intercept, slope, offset, converged, values


@kernel
def _descend(problem, bounds, coefficients, machine, intercept, max_passes, tolerance):  # type: ignore[no-untyped-def]
    """Move coefficients and weights, in place, to the optimum; return the intercept and whether it is reached.

    The machine is the sum of the rows times their coefficients, which keep to the bounds but need not sum to zero.
    An intercept of NaN starts at the sign of most rows.
    """
    table, rows, squares, signs = problem
    positive, negative, square = 0.0, 0.0, 0.0
    for k in range(len(rows)):
        if signs[k] > 0:
            positive += bounds[k]
        else:
            negative += bounds[k]
        square += squares[k]
    if positive == 0.0 or negative == 0.0:
        machine[:] = 0.0
        return np.sign(positive - negative), True
    if np.isnan(intercept):
        intercept = 1.0 if positive > negative else -1.0
    step = max(_INTERCEPT_STEP * square / len(rows), 1.0 / min(positive, negative))
    total = coefficients.sum()
    intercept += step * total

    everything = np.flatnonzero(bounds > 0.0)
    waiting = everything.copy()
    settled_above, settled_below = np.inf, -np.inf
    n_steps, number = 0, 0
    while n_steps < max_passes * len(everything):
        n_steps += max(len(waiting), 1)
        number += 1
        highest, lowest = 0.0, 0.0
        blocks = np.arange(-(-len(waiting) // _BLOCK))
        for turn in range(len(blocks)):
            block = draw_into(blocks, turn, np.uint64(number))
            part, key = waiting[_BLOCK * block : _BLOCK * (block + 1)], mix(np.uint64(number), block)
            for place in range(len(part)):
                k = draw_into(part, place, key)
                upper, lower = (bounds[k], 0.0) if signs[k] > 0 else (0.0, -bounds[k])
                at_top, at_bottom = coefficients[k] >= upper, coefficients[k] <= lower
                residual = signs[k] - multiply(table, rows[k], machine) - intercept
                if (at_top and residual >= 0.0) or (at_bottom and residual <= 0.0):
                    if residual > settled_above or residual < settled_below:
                        part[place] = _SETTLED
                    continue
                highest, lowest = max(highest, residual), min(lowest, residual)
                moved = min(max(coefficients[k] + residual / (squares[k] + step), lower), upper)
                change = moved - coefficients[k]
                coefficients[k] = moved
                total += change
                intercept += step * change
                add_multiple(machine, table, rows[k], change)
        waiting = waiting[waiting != _SETTLED]
        is_done = highest - lowest <= tolerance
        if is_done and len(waiting) == len(everything) and abs(step * total) <= tolerance:
            return intercept, True
        intercept += step * total
        if is_done:
            waiting = everything.copy()
        settled_above = np.inf if is_done or highest == 0.0 else highest
        settled_below = -np.inf if is_done or lowest == 0.0 else lowest
    return intercept, False
