"""Balanced k-means over labels, given how often each two of them occur together."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fuselearn import _core


def cluster_labels(
    co_occurrences: npt.NDArray[np.float64], first: npt.NDArray[np.int64], capacity: int, most_rounds: int
) -> npt.NDArray[np.int64]:
    """Divide labels into clusters of at most ``capacity``, starting from some labels as the centers.

    Examples
    --------
    >>> pairs = np.kron(np.eye(2), np.ones((2, 2)))
    >>> cluster_labels(pairs, np.array([0, 3]), 2, 10)
    array([0, 0, 1, 1])
    """
    return _core.cluster_labels(co_occurrences, first, capacity, most_rounds)
