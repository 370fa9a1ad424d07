"""Metrics for multi-label predictions, with the convention of the multi-label literature for empty labels.

::

    precision = TP / (TP + FP)    F1 = 2 TP / (2 TP + FP + FN)
    recall    = TP / (TP + FN)    Jaccard = TP / (TP + FP + FN)

each `empty` where TP = FP = FN = 0, and 0 where only its own denominator is 0.

A label that is neither in the test samples nor predicted is predicted perfectly, so its scores are 1, as in Mulan and
mldr and in published scores. scikit-learn's default is 0. Small folds lack many rare labels, so the two conventions
differ widely there. Entries of `Y_true` that are NaN, not known, do not count, nor do samples or labels of which
nothing is known. Metrics of probabilities are in `fuselearn.multilabel.ranking_metrics`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fuselearn._extras import require
from fuselearn._messages import show
from fuselearn._parameters import check_choice
from fuselearn.multilabel.data.labels import (
    UNKNOWN,
    LabelTable,
    PartialTable,
    check_same_labels,
    label_names,
    read_labels,
    read_partial_labels,
)
from fuselearn.multilabel.ranking_metrics import (
    auc_by_label,
    average_known,
    calibration_by_label,
    check_scores,
    precision_by_label,
    probability_scores,
)

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "example_f1",
    "label_jaccard",
    "label_precision",
    "label_recall",
    "label_scores",
    "macro_f1",
    "micro_f1",
    "multilabel_scores",
]

AVERAGES: dict[str, int | None] = {"macro": 0, "micro": None, "samples": 1}
"""The axis over which each kind of average counts."""


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
    return _average(_f1, Y_true, Y_pred, "macro", empty)


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
    return _average(_f1, Y_true, Y_pred, "micro", empty)


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
    return _average(_f1, Y_true, Y_pred, "samples", empty)


def label_precision(Y_true: Any, Y_pred: Any, *, average: str = "macro", empty: float = 1.0) -> float:
    """Compute the precision, the fraction of predicted labels that are right.

    .. versionadded:: 0.2

    Parameters
    ----------
    Y_true, Y_pred : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_labels)
        Zeros and ones.
    average : {"macro", "micro", "samples"}, default="macro"
        The mean over the labels, the value over all entries together, or the mean over the samples.
    empty : float, default=1.0
        Value of a label or sample that is neither true nor predicted. It is 0 if something is true and nothing
        predicted.

    Returns
    -------
    float
        From 0 to 1.

    Examples
    --------
    >>> from fuselearn.multilabel import label_precision
    >>> label_precision([[1, 0], [1, 1]], [[1, 1], [1, 1]])
    0.75
    """
    return _average(_precision, Y_true, Y_pred, average, empty)


def label_recall(Y_true: Any, Y_pred: Any, *, average: str = "macro", empty: float = 1.0) -> float:
    """Compute the recall, the fraction of true labels that are predicted.

    .. versionadded:: 0.2

    Parameters
    ----------
    Y_true, Y_pred, average
        As for `label_precision`.
    empty : float, default=1.0
        Value of a label or sample that is neither true nor predicted. It is 0 if something is predicted and nothing
        true.

    Returns
    -------
    float
        From 0 to 1.

    Examples
    --------
    >>> from fuselearn.multilabel import label_recall
    >>> label_recall([[1, 0], [1, 1]], [[1, 1], [0, 1]])
    0.75
    """
    return _average(_recall, Y_true, Y_pred, average, empty)


def label_jaccard(Y_true: Any, Y_pred: Any, *, average: str = "samples", empty: float = 1.0) -> float:
    """Compute the Jaccard index, the number of labels in both sets divided by the number in either.

    Averaged over the samples, it is what MEKA and Mulan call the accuracy.

    .. versionadded:: 0.2

    Parameters
    ----------
    Y_true, Y_pred
        As for `label_precision`.
    average : {"macro", "micro", "samples"}, default="samples"
        As for `label_precision`.
    empty : float, default=1.0
        Value of a label or sample that is neither true nor predicted.

    Returns
    -------
    float
        From 0 to 1.

    Examples
    --------
    >>> from fuselearn.multilabel import label_jaccard
    >>> label_jaccard([[1, 0], [1, 1]], [[1, 1], [1, 1]])
    0.75
    """
    return _average(_jaccard, Y_true, Y_pred, average, empty)


def multilabel_scores(Y_true: Any, Y_pred: Any, probabilities: Any = None, *, empty: float = 1.0) -> dict[str, float]:
    """Compute all metrics of one set of predictions.

    Parameters
    ----------
    Y_true, Y_pred : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_labels)
        Zeros and ones; NaN in ``Y_true`` where a label is not known.
    probabilities : array of shape (n_samples, n_labels), or scikit-learn's list of arrays, optional
        Adds the metrics of `fuselearn.multilabel.ranking_metrics`.
    empty : float, default=1.0
        Value of empty labels or samples, as for `macro_f1` and `example_f1`.

    Returns
    -------
    dict of str to float
        Higher is better, except for ``hamming_loss`` (the fraction of wrong entries), ``one_error``, ``coverage``,
        ``ranking_loss`` and ``calibration_error``. ``macro_`` is the mean over the labels, ``micro_`` the value over
        all entries, ``example_`` the mean over the samples. ``subset_accuracy`` is the fraction of samples with all
        labels right.

    See Also
    --------
    label_scores : The scores of each label.

    Examples
    --------
    >>> from fuselearn.multilabel import multilabel_scores
    >>> scores = multilabel_scores([[1, 0], [1, 1]], [[1, 0], [1, 0]])
    >>> scores["macro_f1"], scores["micro_f1"], scores["subset_accuracy"], scores["hamming_loss"]
    (0.5, 0.8, 0.5, 0.25)
    >>> list(multilabel_scores([[1, 0], [1, 1]], [[1, 0], [1, 0]], [[0.9, 0.2], [0.8, 0.3]]))[-9:]
    ['one_error', 'coverage', 'ranking_loss', 'label_ranking_average_precision', 'macro_auc', 'micro_auc',
    'macro_average_precision', 'micro_average_precision', 'calibration_error']
    """
    truth, predicted = _read_pair(Y_true, Y_pred)
    counts = {average: _count(truth, predicted, axis) for average, axis in AVERAGES.items()}
    names = {"macro": "macro", "micro": "micro", "samples": "example"}
    ratios = {"f1": _f1, "jaccard": _jaccard, "precision": _precision, "recall": _recall}
    scores = {
        f"{names[average]}_{name}": average_known(ratio(counted, empty))
        for name, ratio in ratios.items()
        for average, counted in counts.items()
    }
    known = truth != UNKNOWN
    wrong = (truth != predicted) & known
    scores["subset_accuracy"] = float(1.0 - wrong.any(axis=1)[known.any(axis=1)].mean())
    scores["hamming_loss"] = float(wrong[known].mean())
    if probabilities is not None:
        scores |= probability_scores(truth, check_scores(probabilities, truth))
    return scores


def label_scores(Y_true: Any, Y_pred: Any, probabilities: Any = None, *, empty: float = 1.0) -> pd.DataFrame:
    """Compute the scores of each label.

    .. versionadded:: 0.2

    Parameters
    ----------
    Y_true, Y_pred, probabilities, empty
        As for `multilabel_scores`.

    Returns
    -------
    DataFrame
        A line per label, named as in the DataFrame of labels, or numbered, with the columns ``positives`` (samples that
        have the label), ``predicted``, ``correct`` (both), ``precision``, ``recall``, ``f1`` and ``jaccard``. With
        probabilities also ``auc`` and ``average_precision``, NaN for a label that no sample has or all samples have,
        and ``calibration_error``.

    Examples
    --------
    >>> from fuselearn.multilabel import label_scores
    >>> print(label_scores([[1, 0], [1, 1]], [[1, 1], [1, 1]])[["positives", "predicted", "correct", "precision"]])
           positives  predicted  correct  precision
    label
    0              2          2        2        1.0
    1              1          2        1        0.5
    """
    require("A table of labels", "pandas")
    import pandas as pd

    truth, predicted = _read_pair(Y_true, Y_pred)
    names = next((names for names in map(label_names, (Y_true, Y_pred)) if names is not None), None)
    counts = _count(truth, predicted, axis=0)
    columns = {
        "positives": counts.actual,
        "predicted": counts.predicted,
        "correct": counts.both,
        "precision": _precision(counts, empty),
        "recall": _recall(counts, empty),
        "f1": _f1(counts, empty),
        "jaccard": _jaccard(counts, empty),
    }
    if probabilities is not None:
        scores = check_scores(probabilities, truth)
        columns["auc"] = auc_by_label(truth, scores)
        columns["average_precision"] = precision_by_label(truth, scores)
        columns["calibration_error"] = calibration_by_label(truth, scores)
    index = pd.RangeIndex(truth.shape[1], name="label") if names is None else pd.Index(names, name="label")
    return pd.DataFrame(columns, index=index)


class _Counts(NamedTuple):
    """Numbers of entries that are true and predicted, true, predicted, and known: per label, per sample, or of all."""

    both: npt.NDArray[np.int64]
    actual: npt.NDArray[np.int64]
    predicted: npt.NDArray[np.int64]
    known: npt.NDArray[np.int64]


def _average(ratio: Any, Y_true: Any, Y_pred: Any, average: str, empty: float) -> float:
    axis = AVERAGES[check_choice("average", average, tuple(AVERAGES))]
    return average_known(ratio(_count(*_read_pair(Y_true, Y_pred), axis), empty))


def _read_pair(Y_true: Any, Y_pred: Any) -> tuple[PartialTable, LabelTable]:
    truth, predicted = read_partial_labels(Y_true, "Y_true"), read_labels(Y_pred, "Y_pred")
    if truth.shape != predicted.shape:
        raise ValueError(f"Y_true and Y_pred must have the same shape, not {truth.shape} and {predicted.shape}.")
    check_same_labels(
        label_names(Y_true), label_names(Y_pred), "Y_true and Y_pred have different label names or another order"
    )
    return truth, predicted


def _count(truth: PartialTable, predicted: LabelTable, axis: int | None) -> _Counts:
    known = truth != UNKNOWN
    is_true, is_predicted = truth == 1, (predicted == 1) & known
    tables = (is_true & is_predicted, is_true, is_predicted, known)
    return _Counts(*(np.asarray(table.sum(axis=axis, dtype=np.int64)) for table in tables))


def _f1(counts: _Counts, empty: float) -> npt.NDArray[np.float64]:
    return _divide(2 * counts.both, counts.actual + counts.predicted, counts, empty)


def _precision(counts: _Counts, empty: float) -> npt.NDArray[np.float64]:
    return _divide(counts.both, counts.predicted, counts, empty)


def _recall(counts: _Counts, empty: float) -> npt.NDArray[np.float64]:
    return _divide(counts.both, counts.actual, counts, empty)


def _jaccard(counts: _Counts, empty: float) -> npt.NDArray[np.float64]:
    return _divide(counts.both, counts.actual + counts.predicted - counts.both, counts, empty)


def _divide(
    part: npt.NDArray[np.int64], whole: npt.NDArray[np.int64], counts: _Counts, empty: float
) -> npt.NDArray[np.float64]:
    """Divide, with 0 for a whole of 0, `empty` where nothing is true or predicted, and NaN where nothing is known."""
    if not 0 <= empty <= 1:
        raise ValueError(f"empty must be a number from 0 to 1, not {show(empty)}.")
    ratios = np.where(counts.actual + counts.predicted > 0, part / np.maximum(whole, 1), empty)
    return np.where(counts.known > 0, ratios, np.nan)
