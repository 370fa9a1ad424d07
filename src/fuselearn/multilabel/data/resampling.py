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
from fuselearn._parameters import check_number, check_whole_number
from fuselearn._random import make_generator
from fuselearn.learners.table import as_frame
from fuselearn.multilabel.data.labels import LabelTable, read_labels

__all__ = ["ml_ros", "ml_rus", "mlsmote"]

Indices = npt.NDArray[np.intp]


def ml_ros(X: Any, Y: Any, share: float = 0.25, *, random_state: Any = None) -> tuple[Any, Any]:
    """Clone random samples of minority labels (ML-ROS).

    The minority labels take turns, and each clones one of its samples, until its imbalance ratio is no more than the
    mean that the data began with.

    .. versionadded:: 0.2

    Parameters
    ----------
    X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)
    Y : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_labels)
        Zeros and ones, or Booleans.
    share : float, default=0.25
        Samples to clone at most, as a share of all samples.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the choice of samples.

    Returns
    -------
    X, Y
        Of the types given: all samples, and the clones behind them.

    See Also
    --------
    mlsmote : New samples between neighbours instead of clones.
    ml_rus : Delete samples instead.

    Notes
    -----
    Resample training data only: clones of a sample that is tested on would make a model look better than it is.

    References
    ----------
    Charte, F., Rivera, A. J., del Jesus, M. J. and Herrera, F. (2015). Addressing imbalance in multilabel
    classification: measures and random resampling algorithms. Neurocomputing 163, 3-16.

    Examples
    --------
    >>> from fuselearn.multilabel import ml_ros
    >>> X, Y = [[1.0], [2.0], [3.0], [4.0]], [[1, 0], [1, 0], [1, 0], [0, 1]]
    >>> ml_ros(np.array(X), np.array(Y), share=0.5)[0].ravel()
    array([1., 2., 3., 4., 4.])
    """
    check_number("share", share, 0.0)
    labels = _read(X, Y)
    rng = make_generator(random_state)
    positives = labels.sum(axis=0, dtype=np.int64)
    ratios, mean = _find_imbalance(positives)
    bags = {label: np.flatnonzero(labels[:, label]) for label in np.flatnonzero(ratios > mean)}
    clones: list[int] = []
    n_clones = int(share * len(labels))
    while bags and len(clones) < n_clones:
        for label in list(bags)[: n_clones - len(clones)]:
            clones.append(int(rng.choice(bags[label])))
            positives += labels[clones[-1]]
            if _find_imbalance(positives)[0][label] <= mean:
                del bags[label]
    rows = np.concatenate([np.arange(len(labels)), np.array(clones, dtype=np.intp)])
    return take_rows(X, rows), take_rows(Y, rows)


def ml_rus(X: Any, Y: Any, share: float = 0.25, *, random_state: Any = None) -> tuple[Any, Any]:
    """Delete random samples that have no minority label (ML-RUS).

    .. versionadded:: 0.2

    Parameters
    ----------
    X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)
    Y : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_labels)
        Zeros and ones, or Booleans.
    share : float, default=0.25
        Samples to delete, as a share of all samples; at most those without any minority label. Data without minority
        labels, whose labels are equally frequent, stay as they are.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the choice of samples.

    Returns
    -------
    X, Y
        Of the types given: the other samples, in their order.

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
    >>> ml_rus(np.array(X), np.array(Y), share=0.5, random_state=0)[1].tolist()
    [[1, 0], [0, 1]]
    """
    check_number("share", share, 0.0)
    labels = _read(X, Y)
    ratios, mean = _find_imbalance(labels.sum(axis=0, dtype=np.int64))
    is_minority = ratios > mean
    candidates = np.flatnonzero(~labels[:, is_minority].any(axis=1)) if is_minority.any() else np.arange(0)
    n_deleted = min(int(share * len(labels)), len(candidates))
    deleted = make_generator(random_state).choice(candidates, n_deleted, replace=False)
    rows = np.setdiff1d(np.arange(len(labels)), deleted)
    return take_rows(X, rows), take_rows(Y, rows)


def mlsmote(X: Any, Y: Any, n_neighbors: int = 5, *, random_state: Any = None) -> tuple[Any, Any]:
    """Add synthetic samples of minority labels, between neighbours (MLSMOTE).

    For each minority label and each sample that has it, one of the nearest neighbours that have it, too, is drawn. Each
    feature of the new sample is drawn uniformly between those of the two. The new sample has the labels that more than
    half of the sample and all its neighbours have.

    .. versionadded:: 0.2

    Parameters
    ----------
    X : {array-like, DataFrame} of shape (n_samples, n_features)
        Numbers, without missing values. Distances are Euclidean: scale the features first.
    Y : {array-like, DataFrame} of shape (n_samples, n_labels)
        Zeros and ones, or Booleans.
    n_neighbors : int, default=5
        Number of neighbours; fewer if fewer samples have the label. A label of one sample adds none.
    random_state : int, RandomState, Generator or None, default=None
        Seed of neighbours and features.

    Returns
    -------
    X, Y
        Arrays, or DataFrames if given as such: all samples, and the synthetic ones behind them.

    See Also
    --------
    ml_ros : Clones instead of synthetic samples; any kind of features.

    Notes
    -----
    Resample training data only: samples near one that is tested on would make a model look better than it is. All
    samples of a minority label get a synthetic one. If labels are nearly balanced, that is too many, and the data may
    become more imbalanced: compare ``mean_imbalance_ratio`` of `describe_labels` before and after.

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
    labels = _read(X, Y)
    values = check_array(X, dtype=np.float64, input_name="X")
    rng = make_generator(random_state)
    ratios, mean = _find_imbalance(labels.sum(axis=0, dtype=np.int64))
    new_values, new_labels = [values], [labels]
    for label in np.flatnonzero(ratios > mean):
        bag = np.flatnonzero(labels[:, label])
        if len(bag) < 2:
            continue
        neighbours = bag[_find_neighbours(values[bag], n_neighbors)]
        chosen = rng.permuted(neighbours, axis=1)[:, 0]
        steps = rng.random((len(bag), values.shape[1]))
        new_values.append(values[bag] + steps * (values[chosen] - values[bag]))
        votes = labels[bag].astype(np.int64) + labels[neighbours].sum(axis=1, dtype=np.int64)
        new_labels.append((2 * votes > neighbours.shape[1] + 1).astype(labels.dtype))
    return _like(X, np.vstack(new_values)), _like(Y, np.vstack(new_labels).astype(np.int64))


def _read(X: Any, Y: Any) -> LabelTable:
    labels = read_labels(Y, "Y")
    check_consistent_length(X, labels)
    return labels


def _find_imbalance(positives: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.float64], float]:
    """Return the imbalance ratio of each label, NaN for those without positives, and their mean."""
    ratios = positives.max() / np.where(positives > 0, positives, np.nan)
    return ratios, float(np.nanmean(ratios)) if positives.any() else np.nan


def _find_neighbours(values: npt.NDArray[np.float64], n_neighbors: int) -> Indices:
    """Return the numbers of the nearest other samples of each sample."""
    search = NearestNeighbors(n_neighbors=min(n_neighbors, len(values) - 1)).fit(values)
    return np.asarray(search.kneighbors(return_distance=False))


def _like(table: Any, values: npt.NDArray[Any]) -> Any:
    """Return values as an array, or as a DataFrame with the columns of ``table``, if that is one."""
    frame = as_frame(table)
    if frame is None:
        return values
    return nw.from_numpy(values, schema=list(frame.columns), backend=frame.implementation).to_native()
