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

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fuselearn import _core
from fuselearn.engines.svm.smo import TOLERANCE

SAMPLES_FOR_THREADS = 200


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
    n_samples = len(weights)
    return TrainedColumns(
        *_core.train_svms(
            gram,
            signs,
            weights,
            C,
            np.empty((0, n_samples)) if folds is None else folds,
            100 * max(n_samples, 1000) if max_steps is None else max_steps,
            tolerance,
            count_threads(n_threads, n_samples),
        )
    )


def count_threads(n_threads: int, n_samples: int) -> int:
    """Return the number of threads that are worth their start."""
    return n_threads if n_samples >= SAMPLES_FOR_THREADS else 1


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
