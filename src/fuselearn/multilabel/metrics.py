"""Scores of multi-label predictions, with the convention for empty labels of the multi-label literature.

::

    F1 = 2 TP / (2 TP + FP + FN),  and `empty` where TP = FP = FN = 0

A label that is neither in the test rows nor predicted is predicted perfectly, so F1 is 1 there: the rule of Mulan and
mldr, without which the scores of papers cannot be compared. scikit-learn's default counts 0. Folds of small data lack
many a rare label, so the two rules differ widely there.
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
    """Return the mean over the labels of F1, every label with the same weight.

    Parameters
    ----------
    Y_true, Y_pred : array, sparse matrix or frame of shape (n_rows, n_labels)
        Zeros and ones.
    empty : float, default=1.0
        F1 of a label that is nowhere true and nowhere predicted.

    Returns
    -------
    float
        From 0 to 1.

    Examples
    --------
    The second label is empty; the first has one hit and one miss.

    >>> from fuselearn.multilabel import macro_f1
    >>> Y_true, Y_pred = [[1, 0], [1, 0]], [[1, 0], [0, 0]]
    >>> round(macro_f1(Y_true, Y_pred), 3), round(macro_f1(Y_true, Y_pred, empty=0.0), 3)
    (0.833, 0.333)
    """
    return float(_f1(*_read_pair(Y_true, Y_pred), empty, axis=0).mean())


def micro_f1(Y_true: Any, Y_pred: Any, *, empty: float = 1.0) -> float:
    """Return F1 of all entries of the table together, so that frequent labels weigh more.

    Parameters
    ----------
    Y_true, Y_pred : array, sparse matrix or frame of shape (n_rows, n_labels)
        Zeros and ones.
    empty : float, default=1.0
        The score if no label is true or predicted anywhere.

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
    """Return the mean over the rows of F1 between the predicted and the true set of labels.

    Parameters
    ----------
    Y_true, Y_pred : array, sparse matrix or frame of shape (n_rows, n_labels)
        Zeros and ones.
    empty : float, default=1.0
        F1 of a row that has no label, true or predicted.

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
    """Return all scores of one set of predictions.

    Parameters
    ----------
    Y_true, Y_pred : array, sparse matrix or frame of shape (n_rows, n_labels)
        Zeros and ones.
    probabilities : array of shape (n_rows, n_labels), or scikit-learn's list of arrays, optional
        For the ranking loss.
    empty : float, default=1.0
        F1 where nothing is true or predicted.

    Returns
    -------
    dict of str to float
        ``macro_f1``, ``micro_f1``, ``example_f1`` and ``subset_accuracy`` (the share of rows with all labels right) are
        better high; ``hamming_loss`` (the share of wrong entries) and, with probabilities, ``ranking_loss`` (the mean
        share of pairs of a true and a false label that are in wrong order) are better low.

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
        # scikit-learn takes a single column for classes; one label alone is always in order.
        scores["ranking_loss"] = label_ranking_loss(truth, table) if truth.shape[1] > 1 else 0.0
    return {name: float(score) for name, score in scores.items()}


def _read_pair(Y_true: Any, Y_pred: Any) -> tuple[LabelTable, LabelTable]:
    truth, predicted = read_labels(Y_true, "Y_true"), read_labels(Y_pred, "Y_pred")
    if truth.shape != predicted.shape:
        raise ValueError(f"Y_true and Y_pred must have the same shape, not {truth.shape} and {predicted.shape}.")
    check_same_labels(label_names(Y_true), label_names(Y_pred), "Y_true and Y_pred have labels of other names or order")
    return truth, predicted


def _f1(truth: LabelTable, predicted: LabelTable, empty: float, axis: int | None) -> npt.NDArray[np.float64]:
    if not 0 <= empty <= 1:
        raise ValueError(f"empty must be a number from 0 to 1, not {show(empty)}.")
    both = (truth & predicted).sum(axis=axis)
    marked = truth.sum(axis=axis) + predicted.sum(axis=axis)
    return np.where(marked > 0, 2 * both / np.maximum(marked, 1), empty)
