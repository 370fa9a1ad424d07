"""Sequential minimal optimization of a weighted support vector machine, on a Gram matrix; see ``cpp/svm/smo.hpp``."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fuselearn import _core

TOLERANCE = 1e-3

Floats = npt.NDArray[np.float64]


def solve(
    gram: npt.NDArray[np.float32], signs: Floats, bounds: Floats, max_steps: int, tolerance: float = TOLERANCE
) -> tuple[Floats, Floats, float, bool]:
    """Train one support vector machine.

    Parameters
    ----------
    gram : float32 array of shape (n_samples, n_samples)
    signs : float64 array of shape (n_samples,)
        -1 or 1.
    bounds : float64 array of shape (n_samples,)
        C times the weight of each sample.
    max_steps : int
    tolerance : float

    Returns
    -------
    coefficients : float64 array of shape (n_samples,)
    residuals : float64 array of shape (n_samples,)
        y - K b, so that the decision values are y - residuals + intercept.
    intercept : float
    converged : bool
    """
    return _core.solve_svm(gram, signs, bounds, max_steps, tolerance)


def take_block(gram: npt.NDArray[np.float32], samples: npt.NDArray[np.integer]) -> npt.NDArray[np.float32]:
    """Copy the kernel values between some samples into a matrix of their own.

    Examples
    --------
    >>> take_block(np.arange(9, dtype=np.float32).reshape(3, 3), np.array([0, 2]))
    array([[0., 2.],
           [6., 8.]], dtype=float32)
    """
    return _core.take_block(gram, samples.astype(np.int64, copy=False))
