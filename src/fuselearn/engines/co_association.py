"""Many clusterings of the same samples: how seldom two samples are in the same cluster."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fuselearn import _core

NOT_DRAWN = -1
NO_CLUSTER = -2


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
