"""Metrics for multi-label predictions, with the convention of the multi-label literature for empty labels.

::

    F1 = 2 TP / (2 TP + FP + FN),  and `empty` where TP = FP = FN = 0

A label that is neither in the test samples nor predicted is predicted perfectly, so its F1 is 1, as in Mulan and mldr
and in published scores. scikit-learn's default is 0. Small folds lack many rare labels, so the two conventions differ
widely there.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.metrics import accuracy_score, hamming_loss, label_ranking_loss

from fuselearn._messages import show
from fuselearn.multilabel.data.labels import LabelTable, check_same_labels, label_names, read_labels, read_probabilities

__all__ = ["example_f1", "macro_f1", "micro_f1", "multilabel_scores"]


def macro_f1(Y_true: Any, Y_pred: Any, *, empty: float = 1.0) -> float:
    """Compute the mean F1 over the labels.

    Parameters
    ----------
    Y_true, Y_pred : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_labels)
        Zeros and ones.
    empty : float, default=1.0
        F1 of a label that is neither true nor predicted for any sample.

    Returns
    -------
    float
        From 0 to 1.

    Examples
    --------
    The second label is empty; the first has one true positive and one false negative.

    >>> from fuselearn.multilabel import macro_f1
    >>> Y_true, Y_pred = [[1, 0], [1, 0]], [[1, 0], [0, 0]]
    >>> round(macro_f1(Y_true, Y_pred), 3), round(macro_f1(Y_true, Y_pred, empty=0.0), 3)
    (0.833, 0.333)
    """
    return float(_f1(*_read_pair(Y_true, Y_pred), empty, axis=0).mean())


def micro_f1(Y_true: Any, Y_pred: Any, *, empty: float = 1.0) -> float:
    """Compute F1 over all entries together, so that frequent labels have more weight.

    Parameters
    ----------
    Y_true, Y_pred : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_labels)
        Zeros and ones.
    empty : float, default=1.0
        F1 if no label is true or predicted for any sample.

    Returns
    -------
    float
        From 0 to 1.

    Examples
    --------
    >>> from fuselearn.multilabel import micro_f1
    >>> micro_f1([[1, 0], [1, 1]], [[1, 0], [0, 0]])
    0.5
    """
    return float(_f1(*_read_pair(Y_true, Y_pred), empty, axis=None))


def example_f1(Y_true: Any, Y_pred: Any, *, empty: float = 1.0) -> float:
    """Compute the mean over the samples of F1 between the predicted and the true set of labels.

    Parameters
    ----------
    Y_true, Y_pred : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_labels)
        Zeros and ones.
    empty : float, default=1.0
        F1 of a sample without labels, true or predicted.

    Returns
    -------
    float
        From 0 to 1.

    Examples
    --------
    >>> from fuselearn.multilabel import example_f1
    >>> example_f1([[1, 1, 0], [0, 0, 0]], [[1, 0, 1], [0, 0, 0]])
    0.75
    """
    return float(_f1(*_read_pair(Y_true, Y_pred), empty, axis=1).mean())


def multilabel_scores(Y_true: Any, Y_pred: Any, probabilities: Any = None, *, empty: float = 1.0) -> dict[str, float]:
    """Compute all metrics of one set of predictions.

    Parameters
    ----------
    Y_true, Y_pred : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_labels)
        Zeros and ones.
    probabilities : array of shape (n_samples, n_labels), or scikit-learn's list of arrays, optional
        Used for the ranking loss.
    empty : float, default=1.0
        F1 of empty labels or samples, as for `macro_f1` and `example_f1`.

    Returns
    -------
    dict of str to float
        Higher is better for ``macro_f1``, ``micro_f1``, ``example_f1`` and ``subset_accuracy`` (the fraction of samples
        with all labels correct); lower is better for ``hamming_loss`` (the fraction of wrong entries) and, with
        probabilities, ``ranking_loss`` (the mean fraction of wrongly ordered pairs of a true and a false label).

    Examples
    --------
    >>> from fuselearn.multilabel import multilabel_scores
    >>> multilabel_scores([[1, 0], [1, 1]], [[1, 0], [1, 0]])
    {'macro_f1': 0.5, 'micro_f1': 0.8, 'example_f1': 0.833..., 'subset_accuracy': 0.5, 'hamming_loss': 0.25}
    """
    truth, predicted = _read_pair(Y_true, Y_pred)
    scores = {
        "macro_f1": _f1(truth, predicted, empty, axis=0).mean(),
        "micro_f1": _f1(truth, predicted, empty, axis=None),
        "example_f1": _f1(truth, predicted, empty, axis=1).mean(),
        "subset_accuracy": accuracy_score(truth, predicted),
        "hamming_loss": hamming_loss(truth, predicted),
    }
    if probabilities is not None:
        table = read_probabilities(probabilities, truth.shape[1])
        # scikit-learn treats a single column as classes; a single label is always in order.
        scores["ranking_loss"] = label_ranking_loss(truth, table) if truth.shape[1] > 1 else 0.0
    return {name: float(score) for name, score in scores.items()}


def _read_pair(Y_true: Any, Y_pred: Any) -> tuple[LabelTable, LabelTable]:
    truth, predicted = read_labels(Y_true, "Y_true"), read_labels(Y_pred, "Y_pred")
    if truth.shape != predicted.shape:
        raise ValueError(f"Y_true and Y_pred must have the same shape, not {truth.shape} and {predicted.shape}.")
    check_same_labels(
        label_names(Y_true), label_names(Y_pred), "Y_true and Y_pred have different label names or another order"
    )
    return truth, predicted


def _f1(truth: LabelTable, predicted: LabelTable, empty: float, axis: int | None) -> npt.NDArray[np.float64]:
    if not 0 <= empty <= 1:
        raise ValueError(f"empty must be a number from 0 to 1, not {show(empty)}.")
    both = (truth & predicted).sum(axis=axis)
    marked = truth.sum(axis=axis) + predicted.sum(axis=axis)
    return np.where(marked > 0, 2 * both / np.maximum(marked, 1), empty)
