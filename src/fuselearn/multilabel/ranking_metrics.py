"""Metrics for the probabilities of labels: the order of labels and of samples, and calibration.

Samples and labels for which a metric is not defined have a stated convention, and never raise a warning:

- A sample without any label, or with all labels, has nothing to order: its ranking loss is 0 and its ranking precision
  1, as in scikit-learn. The coverage of a sample without labels is 0, as in Mulan; its one-error is 1, as in MEKA,
  Mulan and mldr, since its first label is wrong.
- A label that no test sample has, or that all have, is left out of the macro-averaged AUC and average precision. If
  every label is left out, they are NaN, and so are the micro averages if no entry, or every entry, is 1.
- Entries that are NaN in `Y_true`, labels that are not known, do not count, nor do samples without any known label.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.metrics import (
    average_precision_score,
    label_ranking_average_precision_score,
    label_ranking_loss,
    roc_auc_score,
)
from sklearn.metrics import coverage_error as sklearn_coverage

from fuselearn.multilabel.data.labels import UNKNOWN, PartialTable, read_partial_labels, read_probabilities

__all__ = [
    "coverage",
    "label_calibration_error",
    "label_ranking_average_precision",
    "macro_auc",
    "macro_average_precision",
    "micro_auc",
    "micro_average_precision",
    "one_error",
    "ranking_loss",
]

N_BINS = 10
ROUNDING = 1e-9
"""How far sums of floating-point numbers may leave the interval from 0 to 1."""

Floats = npt.NDArray[np.float64]


def one_error(Y_true: Any, probabilities: Any) -> float:
    """Compute the fraction of samples whose most probable label is not one of their labels.

    .. versionadded:: 0.2

    Parameters
    ----------
    Y_true : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_labels)
        Zeros and ones.
    probabilities : array of shape (n_samples, n_labels), or scikit-learn's list of arrays
        Probabilities, or other scores that are higher for more likely labels.

    Returns
    -------
    float
        From 0 to 1; lower is better. If several labels are equally probable, the fraction of wrong ones among them
        counts. A sample without labels counts as an error.

    Examples
    --------
    >>> from fuselearn.multilabel import one_error
    >>> one_error([[1, 0, 0], [0, 1, 1]], [[0.9, 0.1, 0.3], [0.8, 0.6, 0.7]])
    0.5
    """
    return _one_error(*_read_scored(Y_true, probabilities))


def coverage(Y_true: Any, probabilities: Any) -> float:
    """Compute how far down the ranking of labels one must go, on average, to find all labels of a sample.

    ::

        coverage of a sample = largest rank of its labels - 1

    as in Mulan and in the literature; scikit-learn's ``coverage_error`` does not subtract 1.

    .. versionadded:: 0.2

    Parameters
    ----------
    Y_true, probabilities
        As for `one_error`.

    Returns
    -------
    float
        From 0 to n_labels - 1; lower is better. Of equally probable labels, all have the largest rank. 0 for a sample
        without labels.

    Examples
    --------
    >>> from fuselearn.multilabel import coverage
    >>> coverage([[1, 0, 0], [0, 1, 1]], [[0.9, 0.1, 0.3], [0.8, 0.6, 0.7]])
    1.0
    """
    return _coverage(*_read_scored(Y_true, probabilities))


def ranking_loss(Y_true: Any, probabilities: Any) -> float:
    """Compute the mean fraction of pairs of a true and a false label of a sample in the wrong order.

    .. versionadded:: 0.2

    Parameters
    ----------
    Y_true, probabilities
        As for `one_error`.

    Returns
    -------
    float
        From 0 to 1; lower is better. A pair of equal probabilities is in the wrong order. 0 for a sample with no label
        or all labels.

    Examples
    --------
    >>> from fuselearn.multilabel import ranking_loss
    >>> ranking_loss([[1, 0, 0], [0, 1, 1]], [[0.9, 0.1, 0.3], [0.8, 0.6, 0.7]])
    0.5
    """
    return _ranking_loss(*_read_scored(Y_true, probabilities))


def label_ranking_average_precision(Y_true: Any, probabilities: Any) -> float:
    """Compute the mean over the labels of a sample of the fraction of its labels among those ranked as high.

    .. versionadded:: 0.2

    Parameters
    ----------
    Y_true, probabilities
        As for `one_error`.

    Returns
    -------
    float
        From above 0 to 1; higher is better. 1 for a sample with no label or all labels.

    Examples
    --------
    >>> from fuselearn.multilabel import label_ranking_average_precision
    >>> round(label_ranking_average_precision([[1, 0, 0], [0, 1, 1]], [[0.9, 0.1, 0.3], [0.8, 0.6, 0.7]]), 4)
    0.7917
    """
    return _ranking_precision(*_read_scored(Y_true, probabilities))


def macro_auc(Y_true: Any, probabilities: Any) -> float:
    """Compute the mean over the labels of the area under the ROC curve.

    .. versionadded:: 0.2

    Parameters
    ----------
    Y_true, probabilities
        As for `one_error`.

    Returns
    -------
    float
        From 0 to 1; higher is better. Labels that no sample has, or all samples, are left out; NaN without any other.

    Examples
    --------
    The third label is left out.

    >>> from fuselearn.multilabel import macro_auc
    >>> macro_auc([[1, 0, 0], [0, 1, 0], [1, 1, 0]], [[0.9, 0.5, 0.1], [0.4, 0.3, 0.2], [0.7, 0.8, 0.1]])
    0.75
    """
    return average_known(auc_by_label(*_read_scored(Y_true, probabilities)))


def micro_auc(Y_true: Any, probabilities: Any) -> float:
    """Compute the area under the ROC curve over all entries together.

    .. versionadded:: 0.2

    Parameters
    ----------
    Y_true, probabilities
        As for `one_error`.

    Returns
    -------
    float
        From 0 to 1; higher is better. NaN if no sample has a label, or all samples have all labels.

    Examples
    --------
    >>> from fuselearn.multilabel import micro_auc
    >>> micro_auc([[1, 0], [0, 1]], [[0.9, 0.5], [0.4, 0.3]])
    0.5
    """
    return _micro(roc_auc_score, *_read_scored(Y_true, probabilities))


def macro_average_precision(Y_true: Any, probabilities: Any) -> float:
    """Compute the mean over the labels of the average precision, the area under the precision-recall curve.

    .. versionadded:: 0.2

    Parameters
    ----------
    Y_true, probabilities
        As for `one_error`.

    Returns
    -------
    float
        From 0 to 1; higher is better. Labels that no sample has, or all samples, are left out; NaN without any other.

    Examples
    --------
    >>> from fuselearn.multilabel import macro_average_precision
    >>> macro_average_precision([[1, 0], [0, 1], [1, 1]], [[0.9, 0.5], [0.4, 0.3], [0.7, 0.8]])
    0.9166...
    """
    return average_known(precision_by_label(*_read_scored(Y_true, probabilities)))


def micro_average_precision(Y_true: Any, probabilities: Any) -> float:
    """Compute the average precision over all entries together.

    .. versionadded:: 0.2

    Parameters
    ----------
    Y_true, probabilities
        As for `one_error`.

    Returns
    -------
    float
        From 0 to 1; higher is better. NaN if no sample has a label, or all samples have all labels.

    Examples
    --------
    >>> from fuselearn.multilabel import micro_average_precision
    >>> micro_average_precision([[1, 0], [0, 1]], [[0.9, 0.5], [0.4, 0.3]])
    0.75
    """
    return _micro(average_precision_score, *_read_scored(Y_true, probabilities))


def label_calibration_error(Y_true: Any, probabilities: Any) -> float:
    """Compute the mean over the labels of the expected calibration error, in ten bins of equal width.

    ::

        error of a label = sum over bins of  (samples in the bin / all samples) * |fraction positive - mean probability|

    .. versionadded:: 0.2

    Parameters
    ----------
    Y_true : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_labels)
        Zeros and ones.
    probabilities : array of shape (n_samples, n_labels), or scikit-learn's list of arrays
        From 0 to 1.

    Returns
    -------
    float
        From 0 to 1; lower is better. Defined for every label, also one that no sample has.

    Examples
    --------
    >>> from fuselearn.multilabel import label_calibration_error
    >>> round(label_calibration_error([[1, 0], [0, 0]], [[0.75, 0.1], [0.75, 0.1]]), 4)
    0.175
    """
    truth, scores = _read_scored(Y_true, probabilities)
    return average_known(calibration_by_label(truth, scores))


def probability_scores(truth: PartialTable, scores: Floats) -> dict[str, float]:
    """Compute all metrics of this module, by name."""
    return {
        "one_error": _one_error(truth, scores),
        "coverage": _coverage(truth, scores),
        "ranking_loss": _ranking_loss(truth, scores),
        "label_ranking_average_precision": _ranking_precision(truth, scores),
        "macro_auc": average_known(auc_by_label(truth, scores)),
        "micro_auc": _micro(roc_auc_score, truth, scores),
        "macro_average_precision": average_known(precision_by_label(truth, scores)),
        "micro_average_precision": _micro(average_precision_score, truth, scores),
        "calibration_error": average_known(calibration_by_label(truth, scores)),
    }


def auc_by_label(truth: PartialTable, scores: Floats) -> Floats:
    """Compute the area under the ROC curve of each label; NaN for one that no sample has, or all samples."""
    return _by_label(roc_auc_score, truth, scores)


def precision_by_label(truth: PartialTable, scores: Floats) -> Floats:
    """Compute the average precision of each label; NaN for one that no sample has, or all samples."""
    return _by_label(average_precision_score, truth, scores)


def calibration_by_label(truth: PartialTable, probabilities: Floats) -> Floats:
    """Compute the expected calibration error of each label."""
    if probabilities.min() < -ROUNDING or probabilities.max() > 1 + ROUNDING:
        raise ValueError(
            "probabilities must lie between 0 and 1 for the calibration error; they lie between "
            f"{probabilities.min():g} and {probabilities.max():g}."
        )
    n_labels, known = truth.shape[1], truth != UNKNOWN
    bins = np.clip((probabilities * N_BINS).astype(np.intp), 0, N_BINS - 1)
    places = (bins + N_BINS * np.arange(n_labels)).ravel()
    gaps = np.bincount(places, weights=np.where(known, truth - probabilities, 0.0).ravel(), minlength=N_BINS * n_labels)
    sums, n_known = np.abs(gaps).reshape(n_labels, N_BINS).sum(axis=1), known.sum(axis=0)
    return np.divide(sums, n_known, out=np.full(n_labels, np.nan), where=n_known > 0)


def check_scores(probabilities: Any, truth: PartialTable) -> Floats:
    """Return the probabilities of labels as one array of the shape of the labels, without missing values."""
    scores = read_probabilities(probabilities, truth.shape[1])
    if len(scores) != len(truth):
        raise ValueError(f"Expected probabilities of {len(truth)} samples, but there are {len(scores)}.")
    if not np.isfinite(scores).all():
        raise ValueError("probabilities must be finite, but they hold NaN or infinite values.")
    return scores


def _read_scored(Y_true: Any, probabilities: Any) -> tuple[PartialTable, Floats]:
    truth = read_partial_labels(Y_true, "Y_true")
    return truth, check_scores(probabilities, truth)


def _one_error(truth: PartialTable, scores: Floats) -> float:
    truth, scores, _ = _put_unknown_last(truth, scores)
    is_first = scores == scores.max(axis=1, keepdims=True)
    return float(1 - ((truth * is_first).sum(axis=1) / is_first.sum(axis=1)).mean())


def _coverage(truth: PartialTable, scores: Floats) -> float:
    truth, scores, _ = _put_unknown_last(truth, scores)
    has_labels = truth.any(axis=1)
    if truth.shape[1] == 1 or not has_labels.any():
        return 0.0
    return float((sklearn_coverage(truth[has_labels], scores[has_labels]) - 1) * has_labels.mean())


def _ranking_loss(truth: PartialTable, scores: Floats) -> float:
    # scikit-learn treats a single column as classes; a single label is always in order.
    if truth.shape[1] == 1:
        return 0.0
    truth, scores, n_known = _put_unknown_last(truth, scores)
    # scikit-learn divides by the number of pairs of labels, one of which the sample has; those that are not known are
    # never in the wrong order, but count as pairs.
    n_negative, n_known_negative = truth.shape[1] - truth.sum(axis=1), n_known - truth.sum(axis=1)
    factors = np.divide(n_negative, n_known_negative, out=np.ones(len(truth)), where=n_known_negative > 0)
    return float(label_ranking_loss(truth, scores, sample_weight=factors) * factors.mean())


def _ranking_precision(truth: PartialTable, scores: Floats) -> float:
    if truth.shape[1] == 1:
        return 1.0
    truth, scores, _ = _put_unknown_last(truth, scores)
    return float(label_ranking_average_precision_score(truth, scores))


def _put_unknown_last(truth: PartialTable, scores: Floats) -> tuple[PartialTable, Floats, npt.NDArray[np.intp]]:
    """Treat labels that are not known as negative and the least probable, and leave out samples without others.

    No metric of a sample's first or true labels depends on them then. Also return how many labels are known.
    """
    known = truth != UNKNOWN
    kept = known.any(axis=1)
    hidden = np.where(known, scores, scores.min() - 1.0)
    return (truth == 1).astype(np.int8)[kept], hidden[kept], known.sum(axis=1)[kept]


def _by_label(measure: Any, truth: PartialTable, scores: Floats) -> Floats:
    positives, negatives = (truth == 1).sum(axis=0), (truth == 0).sum(axis=0)
    values = np.full(truth.shape[1], np.nan)
    for label in np.flatnonzero((positives > 0) & (negatives > 0)):
        known = truth[:, label] != UNKNOWN
        values[label] = measure(truth[known, label], scores[known, label])
    return values


def _micro(measure: Any, truth: PartialTable, scores: Floats) -> float:
    return float(_by_label(measure, truth.reshape(-1, 1), scores.reshape(-1, 1))[0])


def average_known(values: Floats) -> float:
    """Average the values that are not NaN; without any, NaN."""
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else float("nan")
