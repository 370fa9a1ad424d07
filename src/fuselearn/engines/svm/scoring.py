"""Decision values of many support vector machines, from kernel values or from weights of features."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fuselearn import _core

Floats = npt.NDArray[np.float64]


def decide(
    kernel_rows: npt.NDArray[np.float32],
    asked: npt.NDArray[np.integer],
    support: npt.NDArray[np.int32],
    coefficients: npt.NDArray[np.float32],
    intercepts: Floats,
) -> Floats:
    """Return the decision values of some samples, which do not depend on what other samples are asked for.

    Parameters
    ----------
    kernel_rows : float32 array of shape (n, n_train)
        Kernel values between samples and those trained on.
    asked : int array of shape (n_asked,)
        Indices of the samples to decide for.
    support : int32 array of shape (n_support,)
    coefficients : float32 array of shape (n_columns, n_support)
    intercepts : float64 array of shape (n_columns,)

    Returns
    -------
    float64 array of shape (n_asked, n_columns)

    Examples
    --------
    >>> kernel_rows, support = np.array([[1.0, 2.0, 3.0]], dtype=np.float32), np.array([0, 2], dtype=np.int32)
    >>> decide(kernel_rows, np.array([0]), support, np.array([[1.0, -1.0]], dtype=np.float32), np.array([0.5]))
    array([[-1.5]])
    """
    return _core.decide(kernel_rows, asked.astype(np.int64, copy=False), support, coefficients, intercepts)


def collapse(X: Floats, support: npt.NDArray[np.integer], coefficients: Floats) -> Floats:
    """Turn coefficients of samples into weights of features, which give the same products.

    Parameters
    ----------
    X : float64 array of shape (n_samples, n_features)
    support : int array of shape (n_support,)
    coefficients : float64 array of shape (n_columns, n_support)

    Returns
    -------
    float64 array of shape (n_columns, n_features)

    Examples
    --------
    >>> collapse(np.array([[1.0, 2.0], [0.0, 1.0]]), np.array([0, 1]), np.array([[2.0, -1.0]]))
    array([[2., 3.]])
    """
    return _core.collapse(X, support.astype(np.int32, copy=False), coefficients)
