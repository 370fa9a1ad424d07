"""The nearest samples with trusted labels, for people who decide about a doubtful one."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fuselearn.datasets.scaling import scale_features


def find_trusted_neighbours(
    X: Any, is_suspect: npt.NDArray[np.bool_], places: npt.NDArray[np.intp], n_neighbours: int = 3
) -> npt.NDArray[np.intp]:
    """Find the nearest samples that are not suspects, after scaling the features.

    Parameters
    ----------
    X : {array-like, DataFrame} of shape (n_samples, n_features)
    is_suspect : bool array of shape (n_samples,)
    places : int array of shape (n_asked,)
        The samples whose neighbours are asked for.
    n_neighbours : int, default=3

    Returns
    -------
    int array of shape (n_asked, n_found)
        Numbers of samples, the nearest first; fewer than ``n_neighbours`` if there are not as many.

    Examples
    --------
    >>> X = [[0.0], [1.0], [1.1], [5.0]]
    >>> find_trusted_neighbours(X, np.array([False, True, False, False]), np.array([1]), 2)
    array([[2, 0]])
    """
    from sklearn.neighbors import NearestNeighbors  # takes long to import

    features = scale_features(X)
    trusted = np.flatnonzero(~is_suspect)
    search = NearestNeighbors(n_neighbors=min(n_neighbours, len(trusted))).fit(features[trusted])
    found: npt.NDArray[np.intp] = trusted[search.kneighbors(features[places], return_distance=False)]
    return found
