"""The scores of one fold, for multi-class and multi-label data."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from sklearn import metrics
from sklearn.metrics import accuracy_score, f1_score, recall_score, roc_auc_score

from fuselearn.multilabel.metrics import multilabel_scores

__all__ = [
    "LABEL_SCORES",
    "LOSSES",
    "SCORES",
    "Scores",
    "brier_score",
    "calibration_error",
    "log_loss",
    "score_fold",
    "score_labels",
    "score_names",
]

LABEL_SCORES = {
    "example_f1": "F1 of samples",
    "macro_precision": "macro-averaged precision",
    "micro_precision": "micro-averaged precision",
    "example_precision": "precision of samples",
    "macro_recall": "macro-averaged recall",
    "micro_recall": "micro-averaged recall",
    "example_recall": "recall of samples",
    "macro_jaccard": "macro-averaged Jaccard index",
    "micro_jaccard": "micro-averaged Jaccard index",
    "example_jaccard": "Jaccard index of samples",
    "one_error": "one-error",
    "coverage": "coverage",
    "ranking_loss": "ranking loss",
    "label_ranking_average_precision": "label ranking average precision",
    "micro_auc": "micro-averaged AUC",
    "macro_average_precision": "macro-averaged average precision",
    "micro_average_precision": "micro-averaged average precision",
}
"""The scores that only multi-label data have, and their names."""
SCORES = {
    "macro_f1": "macro-averaged F1",
    "accuracy": "accuracy",
    "balanced_accuracy": "balanced accuracy",
    "log_loss": "log loss",
    "micro_f1": "micro-averaged F1",
    "hamming_loss": "Hamming loss",
    "auc": "area under the ROC curve",
    "brier": "Brier score",
    "calibration_error": "expected calibration error",
    **LABEL_SCORES,
}
"""The columns of scores in a store, and their names."""
LOSSES = ("log_loss", "hamming_loss", "brier", "calibration_error", "one_error", "coverage", "ranking_loss")
"""Those of which lower is better."""
N_BINS = 10


@dataclass(frozen=True)
class Scores:
    """The scores of one method on one fold.

    `log_loss`, `auc`, `brier` and `calibration_error` are None without probabilities. For multi-class data, micro F1
    and Hamming loss are None: they would repeat the accuracy, and so are the `LABEL_SCORES`. For multi-label data, the
    accuracy is the fraction of samples with every label right, `auc` and `calibration_error` are means over the labels,
    and the balanced accuracy and `brier` are None.
    """

    macro_f1: float
    accuracy: float
    balanced_accuracy: float | None = None
    log_loss: float | None = None
    micro_f1: float | None = None
    hamming_loss: float | None = None
    auc: float | None = None
    brier: float | None = None
    calibration_error: float | None = None
    example_f1: float | None = None
    macro_precision: float | None = None
    micro_precision: float | None = None
    example_precision: float | None = None
    macro_recall: float | None = None
    micro_recall: float | None = None
    example_recall: float | None = None
    macro_jaccard: float | None = None
    micro_jaccard: float | None = None
    example_jaccard: float | None = None
    one_error: float | None = None
    coverage: float | None = None
    ranking_loss: float | None = None
    label_ranking_average_precision: float | None = None
    micro_auc: float | None = None
    macro_average_precision: float | None = None
    micro_average_precision: float | None = None


def score_names(task: str) -> list[str]:
    """Return the columns of scores for a task; those of labels are for ``"multilabel"`` only."""
    return [name for name in SCORES if task == "multilabel" or name not in LABEL_SCORES]


def score_fold(
    truth: npt.ArrayLike, predicted: npt.ArrayLike, n_classes: int, probabilities: npt.NDArray[np.float64] | None = None
) -> Scores:
    """Score the predictions on one fold.

    ::

        F1 of class c  = 2 (correct in c) / (samples of c + samples predicted as c),  0 where 0 / 0
        macro F1       = mean of F1 over all classes of the dataset
        balanced accuracy = mean over the classes in the fold of (correct in c) / (samples of c)

    A class without a sample in the fold counts with an F1 of 0, as in the R package PerfMeas that
    the KFHE paper used; scikit-learn's default leaves out a class that is neither in the fold nor
    predicted.

    Parameters
    ----------
    truth, predicted : array-like of int, shape (n_samples,)
        Classes, numbered from 0.
    n_classes : int
        Number of classes of the dataset, in this fold or not.
    probabilities : array of shape (n_samples, n_classes), optional
        Used for the log loss, the AUC, the Brier score and the calibration error.

    Returns
    -------
    scores : Scores

    Examples
    --------
    >>> from fuselearn.lab.running.scoring import score_fold
    >>> score_fold([0, 0, 1, 1], [0, 0, 1, 0], n_classes=3)
    Scores(macro_f1=0.48888..., accuracy=0.75, balanced_accuracy=0.75, log_loss=None, ...)
    """
    truth, predicted = np.asarray(truth, dtype=np.intp), np.asarray(predicted, dtype=np.intp)
    if predicted.min() < 0 or predicted.max() >= n_classes:
        raise ValueError(
            f"predicted must hold classes from 0 to {n_classes - 1}; it has values from "
            f"{predicted.min()} to {predicted.max()}."
        )
    return Scores(
        macro_f1=float(f1_score(truth, predicted, labels=np.arange(n_classes), average="macro", zero_division=0)),
        accuracy=float(accuracy_score(truth, predicted)),
        balanced_accuracy=float(recall_score(truth, predicted, labels=np.unique(truth), average="macro")),
        log_loss=None if probabilities is None else log_loss(truth, probabilities),
        auc=None if probabilities is None else _auc(truth, probabilities),
        brier=None if probabilities is None else brier_score(truth, probabilities),
        calibration_error=None if probabilities is None else calibration_error(truth, probabilities),
    )


def _auc(truth: npt.NDArray[np.intp], probabilities: npt.NDArray[np.float64]) -> float | None:
    """Average the area under the ROC curve of each class that occurs against the others; None for a single class."""
    present = np.unique(truth)
    if len(present) < 2:
        return None
    return float(np.mean([roc_auc_score(truth == c, probabilities[:, c]) for c in present]))


def score_labels(
    truth: npt.ArrayLike, predicted: npt.ArrayLike, probabilities: npt.NDArray[np.float64] | None = None
) -> Scores:
    """Score the predicted labels of one fold.

    The scores of a label that neither occurs in the fold nor is predicted count as 1, as in the KFHE-HOMER paper:
    otherwise a rare label would lower the score of every method. AUC and average precision leave out labels that no
    sample of the fold has, or every sample. The log loss is the mean over all samples and labels.

    Parameters
    ----------
    truth, predicted : array-like of 0 and 1, shape (n_samples, n_labels)
    probabilities : array of shape (n_samples, n_labels), optional
        Used for the log loss and for the scores of probabilities.

    Returns
    -------
    scores : Scores

    Examples
    --------
    >>> from fuselearn.lab.running.scoring import score_labels
    >>> scores = score_labels([[1, 0, 0], [1, 1, 0]], [[1, 0, 0], [1, 0, 0]])
    >>> round(scores.macro_f1, 4), scores.accuracy, round(scores.hamming_loss, 4)
    (0.6667, 0.5, 0.1667)
    """
    truth, predicted = np.asarray(truth), np.asarray(predicted)
    if predicted.shape != truth.shape or not np.isin(predicted, (0, 1)).all():
        raise ValueError(f"predicted must hold 0 and 1 in the shape {truth.shape}; it has the shape {predicted.shape}.")
    # Shared columns have the names of classes; a score that is not defined on the fold is missing.
    columns = {"subset_accuracy": "accuracy", "macro_auc": "auc"}
    scores = {
        columns.get(name, name): value
        for name, value in multilabel_scores(truth, predicted, probabilities).items()
        if not np.isnan(value)
    }
    if probabilities is not None:
        scores["log_loss"] = float(metrics.log_loss(truth.ravel(), probabilities.ravel()))
    return Scores(**scores)


def log_loss(truth: npt.ArrayLike, probabilities: npt.ArrayLike) -> float:
    """Return the mean of -log(probability of the true class).

    Probabilities are first divided by their sum over the classes. One of 0 counts as the smallest
    step of a double above 1, about 2e-16, so that a single confident mistake costs 36 and not
    infinity.

    Parameters
    ----------
    truth : array-like of int, shape (n_samples,)
        Classes, numbered from 0.
    probabilities : array-like of shape (n_samples, n_classes)

    Examples
    --------
    >>> from fuselearn.lab.running.scoring import log_loss
    >>> round(log_loss([0, 1], [[0.5, 0.5], [0.5, 0.5]]), 4)
    0.6931
    """
    table = np.asarray(probabilities, dtype=np.float64)
    table = table / table.sum(axis=1, keepdims=True)
    return float(metrics.log_loss(truth, table, labels=np.arange(table.shape[1])))


def brier_score(truth: npt.ArrayLike, probabilities: npt.ArrayLike) -> float:
    """Return the mean over the samples of the squared error summed over the classes, from 0 to 2.

    Parameters
    ----------
    truth, probabilities
        As for `log_loss`.

    Examples
    --------
    >>> from fuselearn.lab.running.scoring import brier_score
    >>> round(brier_score([0, 1], [[0.5, 0.5], [0.2, 0.8]]), 4)
    0.29
    """
    table = np.asarray(probabilities, dtype=np.float64)
    return float(metrics.brier_score_loss(truth, table, labels=np.arange(table.shape[1]), scale_by_half=False))


def calibration_error(truth: npt.ArrayLike, probabilities: npt.ArrayLike) -> float:
    """Return the expected calibration error of the most probable class, in ten bins of equal width.

    ::

        error = sum over bins of  (samples in the bin / all samples) * |accuracy - mean probability|

    Parameters
    ----------
    truth, probabilities
        As for `log_loss`.

    Examples
    --------
    >>> from fuselearn.lab.running.scoring import calibration_error
    >>> round(calibration_error([0, 1], [[0.75, 0.25], [0.75, 0.25]]), 4)
    0.25
    """
    table = np.asarray(probabilities, dtype=np.float64)
    confidence, right = table.max(axis=1), table.argmax(axis=1) == np.asarray(truth)
    bins = np.minimum((confidence * N_BINS).astype(np.intp), N_BINS - 1)
    return float(np.abs(np.bincount(bins, weights=right - confidence)).sum() / len(bins))
