"""Platt scaling: a sigmoid that turns decision values into probabilities.

    P(positive | f) = 1 / (1 + exp(slope f + offset))

minimizes the cross entropy to targets slightly inside 0 and 1; see ``cpp/svm/platt.hpp``.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fuselearn import _core

Floats = npt.NDArray[np.float64]


def fit_sigmoid(values: Floats, signs: Floats, weights: Floats) -> tuple[float, float]:
    """Fit the slope and the offset.

    Parameters
    ----------
    values : float64 array of shape (n,)
        Decision values.
    signs : float64 array of shape (n,)
        -1 or 1.
    weights : float64 array of shape (n,)
        How often each value counts.

    Returns
    -------
    slope, offset : float

    Examples
    --------
    >>> slope, offset = fit_sigmoid(np.array([-1.0, 1.0]), np.array([-1.0, 1.0]), np.array([9.0, 9.0]))
    >>> round(1 / (1 + np.exp(slope + offset)), 3)
    np.float64(0.909)
    """
    return _core.fit_sigmoid(values, signs, weights)
