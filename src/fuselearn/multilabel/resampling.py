"""Resampling of training data with imbalanced labels: ML-ROS, ML-RUS and MLSMOTE.

A label is a *minority* label if its imbalance ratio, the positives of the most frequent label divided by its own, is
above the mean over all labels (IRLbl > MeanIR, see `describe_labels`).
"""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import check_array, check_consistent_length

from fuselearn._compat import take_rows
from fuselearn._parameters import check_number, check_whole_number, make_generator
from fuselearn.learners.table import as_frame
from fuselearn.multilabel.labels import LabelTable, read_labels
from fuselearn.multilabel.statistics import find_imbalance


def ml_ros(X: Any, Y: Any, fraction: float = 0.25, *, random_state: Any = None) -> tuple[Any, Any]:
    """Clone random samples of minority labels (ML-ROS).

    One sample of each minority label is cloned in turn, until the imbalance ratio of the label is at most the mean of
    the original data.

    .. versionadded:: 0.2

    Parameters
    ----------
    X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)
    Y : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_labels)
        Zeros and ones, or Booleans.
    fraction : float, default=0.25
        Maximum number of clones, as a fraction of the samples.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the choice of samples.

    Returns
    -------
    X, Y
        All samples, followed by the clones, in the types given.

    See Also
    --------
    mlsmote : New samples between neighbors instead of clones.
    ml_rus : Delete samples instead.

    Notes
    -----
    Resample training data only: a clone of a test sample would make a model look better than it is.

    References
    ----------
    Charte, F., Rivera, A. J., del Jesus, M. J. and Herrera, F. (2015). Addressing imbalance in multilabel
    classification: measures and random resampling algorithms. Neurocomputing 163, 3-16.

    Examples
    --------
    >>> from fuselearn.multilabel import ml_ros
    >>> X, Y = [[1.0], [2.0], [3.0], [4.0]], [[1, 0], [1, 0], [1, 0], [0, 1]]
    >>> ml_ros(np.array(X), np.array(Y), fraction=0.5)[0].ravel()
    array([1., 2., 3., 4., 4.])
    """
    check_number("fraction", fraction, 0.0)
    labels, minority, mean = _find_minority(X, Y)
    rng = make_generator(random_state)
    positives = labels.sum(axis=0, dtype=np.int64)
    bags = {label: np.flatnonzero(labels[:, label]) for label in minority}
    clones: list[int] = []
    n_clones = int(fraction * len(labels))
    while bags and len(clones) < n_clones:
        for label in list(bags)[: n_clones - len(clones)]:
            clones.append(int(rng.choice(bags[label])))
            positives += labels[clones[-1]]
            if find_imbalance(positives)[0][label] <= mean:
                del bags[label]
    samples = np.array([*range(len(labels)), *clones])
    return take_rows(X, samples), take_rows(Y, samples)


def ml_rus(X: Any, Y: Any, fraction: float = 0.25, *, random_state: Any = None) -> tuple[Any, Any]:
    """Delete random samples that have no minority label (ML-RUS).

    .. versionadded:: 0.2

    Parameters
    ----------
    X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)
    Y : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_labels)
        Zeros and ones, or Booleans.
    fraction : float, default=0.25
        Number of samples to delete, as a fraction of all; at most those without any minority label. If all labels are
        equally frequent, none is a minority label, and no sample is deleted.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the choice of samples.

    Returns
    -------
    X, Y
        The other samples, in their order and in the types given.

    See Also
    --------
    ml_ros : Clone samples instead.

    References
    ----------
    Charte, F., Rivera, A. J., del Jesus, M. J. and Herrera, F. (2015). Addressing imbalance in multilabel
    classification: measures and random resampling algorithms. Neurocomputing 163, 3-16.

    Examples
    --------
    >>> from fuselearn.multilabel import ml_rus
    >>> X, Y = [[1.0], [2.0], [3.0], [4.0]], [[1, 0], [1, 0], [1, 0], [0, 1]]
    >>> ml_rus(np.array(X), np.array(Y), fraction=0.5, random_state=0)[1].tolist()
    [[1, 0], [0, 1]]
    """
    check_number("fraction", fraction, 0.0)
    labels, minority, _ = _find_minority(X, Y)
    candidates = np.flatnonzero(~labels[:, minority].any(axis=1)) if len(minority) else np.arange(0)
    n_deleted = min(int(fraction * len(labels)), len(candidates))
    deleted = make_generator(random_state).choice(candidates, n_deleted, replace=False)
    samples = np.setdiff1d(np.arange(len(labels)), deleted)
    return take_rows(X, samples), take_rows(Y, samples)


def mlsmote(X: Any, Y: Any, n_neighbors: int = 5, *, random_state: Any = None) -> tuple[Any, Any]:
    """Add synthetic samples of minority labels, between neighbors (MLSMOTE).

    For each minority label and each sample that has it, one of its nearest neighbors with the same label is drawn. Each
    feature of the new sample is drawn uniformly between those of the two. The new sample has the labels that more than
    half of the sample and all its neighbors have.

    .. versionadded:: 0.2

    Parameters
    ----------
    X : {array-like, DataFrame} of shape (n_samples, n_features)
        Numbers, without missing values. Distances are Euclidean: scale the features first.
    Y : {array-like, DataFrame} of shape (n_samples, n_labels)
        Zeros and ones, or Booleans.
    n_neighbors : int, default=5
        Number of neighbors; fewer if fewer samples have the label. A label of one sample adds none.
    random_state : int, RandomState, Generator or None, default=None
        Seed of neighbors and features.

    Returns
    -------
    X, Y
        All samples, followed by the synthetic ones; arrays, or DataFrames if given as such.

    See Also
    --------
    ml_ros : Clones instead of synthetic samples; any kind of features.

    Notes
    -----
    Resample training data only: a sample near a test sample would make a model look better than it is. There is one
    synthetic sample for each sample of a minority label. If labels are nearly balanced, that is too many, and the data
    may become more imbalanced: compare ``mean_imbalance_ratio`` of `describe_labels` before and after.

    References
    ----------
    Charte, F., Rivera, A. J., del Jesus, M. J. and Herrera, F. (2015). MLSMOTE: approaching imbalanced multilabel
    learning through synthetic instance generation. Knowledge-Based Systems 89, 385-397.

    Examples
    --------
    >>> from fuselearn.multilabel import mlsmote
    >>> X, Y = np.arange(6.0)[:, None], np.array([[1, 0], [1, 0], [1, 0], [1, 0], [0, 1], [0, 1]])
    >>> X_more, Y_more = mlsmote(X, Y, random_state=0)
    >>> X_more[6:].round(1).tolist(), Y_more[6:].tolist()
    ([[4.6], [4.7]], [[0, 1], [0, 1]])
    """
    check_whole_number("n_neighbors", n_neighbors, 1)
    if sparse.issparse(X) or sparse.issparse(Y):
        raise TypeError("mlsmote needs dense X and Y: samples between two sparse ones are hardly sparse; use ml_ros.")
    labels, minority, _ = _find_minority(X, Y)
    values = check_array(X, dtype=np.float64, input_name="X")
    rng = make_generator(random_state)
    new_values, new_labels = [values], [labels]
    for label in minority:
        bag = np.flatnonzero(labels[:, label])
        if len(bag) < 2:
            continue
        search = NearestNeighbors(n_neighbors=min(n_neighbors, len(bag) - 1)).fit(values[bag])
        neighbors = bag[search.kneighbors(return_distance=False)]
        chosen = rng.permuted(neighbors, axis=1)[:, 0]
        steps = rng.random((len(bag), values.shape[1]))
        new_values.append(values[bag] + steps * (values[chosen] - values[bag]))
        votes = labels[bag].astype(np.int64) + labels[neighbors].sum(axis=1, dtype=np.int64)
        new_labels.append((2 * votes > neighbors.shape[1] + 1).astype(labels.dtype))
    return _like(X, np.vstack(new_values)), _like(Y, np.vstack(new_labels).astype(np.int64))


def _find_minority(X: Any, Y: Any) -> tuple[LabelTable, npt.NDArray[np.intp], float]:
    """Return the validated labels, the indices of those with more than the mean imbalance ratio, and the mean."""
    labels = read_labels(Y, "Y")
    check_consistent_length(X, labels)
    ratios, mean = find_imbalance(labels.sum(axis=0, dtype=np.int64))
    return labels, np.flatnonzero(ratios > mean), mean


def _like(table: Any, values: npt.NDArray[Any]) -> Any:
    """Return values as an array, or as a DataFrame with the columns of ``table``, if that is one."""
    frame = as_frame(table)
    if frame is None:
        return values
    return nw.from_numpy(values, schema=list(frame.columns), backend=frame.implementation).to_native()
