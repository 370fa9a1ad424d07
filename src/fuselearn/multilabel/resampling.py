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
from fuselearn._parameters import check_choice, check_number, check_whole_number, make_generator
from fuselearn.learners.table import as_frame
from fuselearn.multilabel.labels import LabelTable, read_labels
from fuselearn.multilabel.statistics import find_imbalance

Positions = npt.NDArray[np.intp]


def resample_labels(
    X: Any,
    Y: Any,
    method: str = "ros",
    *,
    fraction: float = 0.25,
    n_neighbors: int = 5,
    random_state: Any = None,
) -> tuple[Any, Any]:
    """Resample training data to make its labels less imbalanced.

    ==========  =======================================================================================
    ``method``  effect
    ==========  =======================================================================================
    "ros"       clones random samples of each minority label in turn, until its imbalance ratio is at most the mean of
                the original data (ML-ROS)
    "rus"       deletes random samples that have no minority label (ML-RUS)
    "smote"     adds a synthetic sample for each sample of a minority label. Each of its features is drawn between those
                of the sample and of a random one of its nearest neighbors with the same label. It has the labels that
                more than half of the sample and all these neighbors have (MLSMOTE)
    ==========  =======================================================================================

    .. versionadded:: 0.2

    Parameters
    ----------
    X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)
        Any features; "smote" needs dense numbers without missing values, and measures Euclidean distances between them:
        scale the features first.
    Y : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_labels)
        Zeros and ones, or Booleans.
    method : {"ros", "rus", "smote"}, default="ros"
    fraction : float, default=0.25
        Maximum number of samples that "ros" clones or "rus" deletes, as a fraction of all.
    n_neighbors : int, default=5
        Number of neighbors of "smote"; fewer if fewer samples have the label. A label with a single sample adds none.
    random_state : int, RandomState, Generator or None, default=None
        Seed of all choices.

    Returns
    -------
    X, Y
        The samples that are kept, in their order, followed by the new ones; in the types given.

    Notes
    -----
    Resample training data only: clones of test samples would bias test scores upward. If labels are nearly balanced,
    "smote" adds too many samples, and the data may become more imbalanced: compare ``mean_imbalance_ratio`` of
    `describe_labels` for the original and the resampled labels. If all labels are equally frequent, none is a minority
    label, and the data are unchanged.

    References
    ----------
    Charte, F., Rivera, A. J., del Jesus, M. J. and Herrera, F. (2015). Addressing imbalance in multilabel
    classification: measures and random resampling algorithms. Neurocomputing 163, 3-16.

    Charte, F., Rivera, A. J., del Jesus, M. J. and Herrera, F. (2015). MLSMOTE: approaching imbalanced multilabel
    learning through synthetic instance generation. Knowledge-Based Systems 89, 385-397.

    Examples
    --------
    >>> from fuselearn.multilabel import resample_labels
    >>> X, Y = np.arange(6.0)[:, None], np.array([[1, 0], [1, 0], [1, 0], [1, 0], [0, 1], [0, 1]])
    >>> resample_labels(X, Y, "rus", random_state=0)[0].ravel()
    array([0., 1., 2., 4., 5.])
    >>> X_more, Y_more = resample_labels(X, Y, "smote", random_state=0)
    >>> X_more[6:].round(1).tolist(), Y_more[6:].tolist()
    ([[4.6], [4.7]], [[0, 1], [0, 1]])
    """
    check_choice("method", method, ("ros", "rus", "smote"))
    check_number("fraction", fraction, 0.0)
    check_whole_number("n_neighbors", n_neighbors, 1)
    labels = read_labels(Y, "Y")
    check_consistent_length(X, labels)
    ratios, mean = find_imbalance(labels.sum(axis=0, dtype=np.int64))
    minority, rng, n_changed = np.flatnonzero(ratios > mean), make_generator(random_state), int(fraction * len(labels))
    if method == "smote":
        if sparse.issparse(X) or sparse.issparse(Y):
            raise TypeError(
                "method='smote' needs dense X and Y, because interpolated samples are rarely sparse; use 'ros'."
            )
        values = check_array(X, dtype=np.float64, input_name="X")
        values, labels = _add_between(values, labels, minority, n_neighbors, rng)
        return _like(X, values), _like(Y, labels.astype(np.int64))
    clone_or_delete = _clone_minority if method == "ros" else _delete_majority
    samples = clone_or_delete(labels, minority, mean, n_changed, rng)
    return take_rows(X, samples), take_rows(Y, samples)


def _clone_minority(
    labels: LabelTable, minority: Positions, mean: float, n_clones: int, rng: np.random.Generator
) -> Positions:
    """Return the indices of all samples, followed by clones of samples of minority labels."""
    positives = labels.sum(axis=0, dtype=np.int64)
    bags = {label: np.flatnonzero(labels[:, label]) for label in minority}
    clones: list[int] = []
    while bags and len(clones) < n_clones:
        for label in list(bags)[: n_clones - len(clones)]:
            clones.append(int(rng.choice(bags[label])))
            positives += labels[clones[-1]]
            if find_imbalance(positives)[0][label] <= mean:
                del bags[label]
    return np.array([*range(len(labels)), *clones])


def _delete_majority(
    labels: LabelTable, minority: Positions, mean: float, n_deleted: int, rng: np.random.Generator
) -> Positions:
    """Return the indices of the samples to keep, after deleting some without minority labels."""
    candidates = np.flatnonzero(~labels[:, minority].any(axis=1)) if len(minority) else np.arange(0)
    deleted = rng.choice(candidates, min(n_deleted, len(candidates)), replace=False)
    return np.setdiff1d(np.arange(len(labels)), deleted)


def _add_between(
    values: npt.NDArray[np.float64], labels: LabelTable, minority: Positions, n_neighbors: int, rng: np.random.Generator
) -> tuple[npt.NDArray[np.float64], LabelTable]:
    """Return all samples, followed by synthetic ones of minority labels."""
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
    return np.vstack(new_values), np.vstack(new_labels)


def _like(table: Any, values: npt.NDArray[Any]) -> Any:
    """Return values as an array, or as a DataFrame with the columns of ``table`` if ``table`` is a DataFrame."""
    frame = as_frame(table)
    if frame is None:
        return values
    return nw.from_numpy(values, schema=list(frame.columns), backend=frame.implementation).to_native()
