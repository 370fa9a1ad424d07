"""Loops over label matrices: stratified folds, clusters of labels, and the best number of labels."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy import sparse

from fuselearn import _core
from fuselearn._core import cluster_labels, find_best_sizes

Indices = npt.NDArray[np.int64]


def deal_samples(
    labels: sparse.csr_array, label_order: Indices, room: Indices, fractions: Indices, draws: npt.NDArray[np.float64]
) -> npt.NDArray[np.int32]:
    """Deal samples to folds by iterative stratification.

    The samples of the rarest label that is left are dealt, again and again; then the samples without labels.

    Parameters
    ----------
    labels : sparse array of shape (n_samples, n_labels)
        What is stored is a label of the sample.
    label_order : array of shape (n_labels,)
        Of equally rare labels the first one in this order is dealt.
    room : array of shape (n_folds,)
        The number of samples of each fold; they sum to n_samples.
    fractions : array of shape (n_folds,)
        What each fold should get of every label, in whole numbers of any sum.
    draws : array of shape (n_samples,)
        Numbers in [0, 1) that choose between equal folds.

    Returns
    -------
    array of shape (n_samples,)
        The fold of each sample.

    Examples
    --------
    >>> labels = sparse.csr_array(np.array([[1, 0], [1, 0], [0, 1], [0, 1]]))
    >>> both = np.array([0, 1])
    >>> deal_samples(labels, both, np.array([2, 2]), np.array([1, 1]), np.zeros(4))
    array([0, 1, 0, 1], dtype=int32)
    """
    by_label = labels.tocsc()
    lists = (labels.indptr, labels.indices, by_label.indptr, by_label.indices)
    starts, own_labels, label_starts, samples = (part.astype(np.int64, copy=False) for part in lists)
    return _core.deal_samples(starts, own_labels, label_starts, samples, label_order, room, fractions, draws)
