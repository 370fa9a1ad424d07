"""The number of most probable labels with the largest expected F1."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fuselearn import _core


def find_best_sizes(ordered: npt.NDArray[np.float64], empty: float) -> npt.NDArray[np.int64]:
    """Return the best number of labels for each row of falling probabilities.

    Examples
    --------
    >>> find_best_sizes(np.array([[0.4, 0.4], [0.2, 0.1]]), 1.0)
    array([2, 0])
    """
    return _core.find_best_sizes(ordered, empty)
