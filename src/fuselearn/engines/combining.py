"""Combine the scores of many members, compare many clusterings, and search for output codes.

``scipy.stats.rankdata`` returns the same ranks in 5 to 50 times the time: ``python -m benchmarks combining`` compares
them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fuselearn import _core
from fuselearn._core import average_logarithms, climb, tally_classes

# Instead of the cluster of a sample: it was not drawn, or it is noise.
NOT_DRAWN = -1
NO_CLUSTER = -2

Floats = npt.NDArray[np.floating]
Doubles = npt.NDArray[np.float64]


def sum_leads(scores: Floats, weights: Doubles) -> tuple[Doubles, int]:
    """Sum over the members, for each class, how many classes they score below it less how many above it.

    Parameters
    ----------
    scores : float32 or float64 array of shape (n_members, n_samples, n_classes)
    weights : array of shape (n_members,)
        Whole numbers make whole sums.

    Returns
    -------
    sums : array of shape (n_samples, n_classes)
    n_gaps : int
        The number of scores that are NaN.

    Examples
    --------
    >>> sum_leads(np.array([[[0.5, 0.3, 0.2]], [[0.4, 0.5, 0.1]]]), np.array([2.0, 1.0]))
    (array([[ 4.,  2., -6.]]), 0)
    """
    sum_up: Any = _core.sum_leads_f4 if scores.dtype == np.float32 else _core.sum_leads_f8
    return sum_up(scores, weights)


def measure_distances(clusters: npt.NDArray[np.signedinteger], n_threads: int) -> npt.NDArray[np.float64]:
    """Measure the distances between samples, as one of SciPy's condensed matrices.

    The distance of two samples is the fraction of the clusterings of both in which they are in different clusters, 1 if
    there is no such clustering.

    Parameters
    ----------
    clusters : int array of shape (n_samples, n_clusterings)
        The cluster of each sample in each clustering, `NOT_DRAWN`, or `NO_CLUSTER` for noise, which is in no cluster
        with any other sample.
    n_threads : int

    Examples
    --------
    >>> measure_distances(np.array([[0, 3, 1], [0, 4, 2], [-1, 4, -2]]), 1)
    array([0.66666667, 1.        , 0.5       ])
    """
    largest = max(clusters.max(initial=0), clusters.shape[1])
    if largest <= np.iinfo(np.int16).max:
        return _core.measure_distances_i2(clusters.astype(np.int16), n_threads)
    return _core.measure_distances_i4(clusters.astype(np.int32), n_threads)
