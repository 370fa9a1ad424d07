"""The scores of one fold, for multi-class and multi-label data."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from sklearn import metrics

from fuselearn.multilabel.metrics import multilabel_scores

__all__ = ["LOSSES", "SCORES", "calibration_error", "name_score", "score_classes", "score_labels"]

SCORES = {
    "multiclass": ("macro_f1", "accuracy", "balanced_accuracy", "log_loss", "auc", "brier", "calibration_error"),
    "multilabel": (
        "macro_f1", "accuracy", "log_loss", "micro_f1", "hamming_loss", "auc", "calibration_error", "example_f1",
        "macro_precision", "micro_precision", "example_precision", "macro_recall", "micro_recall", "example_recall",
        "macro_jaccard", "micro_jaccard", "example_jaccard", "one_error", "coverage", "ranking_loss",
        "label_ranking_average_precision", "micro_auc", "macro_average_precision", "micro_average_precision",
    ),
}  # fmt: skip
"""The scores of a fold, by task."""
LOSSES = ("log_loss", "hamming_loss", "brier", "calibration_error", "one_error", "coverage", "ranking_loss")
"""The scores of which lower is better."""
N_BINS = 10

Probabilities = npt.NDArray[np.float64]


def name_score(score: str) -> str:
    """Return what a score is called in tables.

    Examples
    --------
    >>> name_score("macro_f1"), name_score("auc"), name_score("hamming_loss")
    ('macro F1', 'AUC', 'Hamming loss')
    """
    proper = {"f1": "F1", "auc": "AUC", "hamming": "Hamming", "jaccard": "Jaccard", "brier": "Brier score"}
    return " ".join(proper.get(word, word) for word in score.split("_"))


def score_classes(
    truth: npt.ArrayLike, predicted: npt.ArrayLike, n_classes: int, probabilities: Probabilities | None = None
) -> dict[str, float]:
    """Score the predictions on one fold.

    ::

        F1 of class c  = 2 (correct in c) / (samples of c + samples predicted as c),  0 where 0 / 0
        macro F1       = mean of F1 over all classes of the dataset
        balanced accuracy = mean over the classes in the fold of (correct in c) / (samples of c)
        AUC            = mean over the classes in the fold of the area under the ROC curve against the others
        Brier score    = mean over the samples of the squared error summed over the classes, from 0 to 2

    A class without a sample in the fold counts with an F1 of 0, as in the R package PerfMeas that
    the KFHE paper used; scikit-learn's default leaves out a class that is neither in the fold nor
    predicted. For the log loss, probabilities are first divided by their sum over the classes.

    Parameters
    ----------
    truth, predicted : array-like of int, shape (n_samples,)
        Classes, numbered from 0.
    n_classes : int
        Number of classes of the dataset, in this fold or not.
    probabilities : array of shape (n_samples, n_classes), optional
        Without them, log loss, AUC, Brier score and calibration error are missing.

    Returns
    -------
    scores : dict of float
        Keys of ``SCORES["multiclass"]``. The AUC of a single class is missing.

    Examples
    --------
    >>> from fuselearn.lab.scoring import score_classes
    >>> score_classes([0, 0, 1, 1], [0, 0, 1, 0], n_classes=3)
    {'macro_f1': 0.48888..., 'accuracy': 0.75, 'balanced_accuracy': 0.75}
    """
    truth, predicted = np.asarray(truth, dtype=np.intp), np.asarray(predicted, dtype=np.intp)
    classes, present = np.arange(n_classes), np.unique(truth)
    if predicted.min() < 0 or predicted.max() >= n_classes:
        raise ValueError(
            f"predicted must hold classes from 0 to {n_classes - 1}; it has values from "
            f"{predicted.min()} to {predicted.max()}."
        )
    scores = {
        "macro_f1": metrics.f1_score(truth, predicted, labels=classes, average="macro", zero_division=0),
        "accuracy": metrics.accuracy_score(truth, predicted),
        "balanced_accuracy": metrics.recall_score(truth, predicted, labels=present, average="macro"),
    }
    if probabilities is not None:
        table = np.asarray(probabilities, dtype=np.float64)
        scores["log_loss"] = metrics.log_loss(truth, table / table.sum(axis=1, keepdims=True), labels=classes)
        if len(present) > 1:
            scores["auc"] = np.mean([metrics.roc_auc_score(truth == c, table[:, c]) for c in present])
        scores["brier"] = metrics.brier_score_loss(truth, table, labels=classes, scale_by_half=False)
        scores["calibration_error"] = calibration_error(truth, table)
    return {name: float(value) for name, value in scores.items()}


def score_labels(
    truth: npt.ArrayLike, predicted: npt.ArrayLike, probabilities: Probabilities | None = None
) -> dict[str, float]:
    """Score the predicted labels of one fold.

    The scores of a label that neither occurs in the fold nor is predicted count as 1, as in the KFHE-HOMER paper:
    otherwise a rare label would lower the score of every method. AUC and average precision leave out labels that no
    sample of the fold has, or every sample. The log loss is the mean over all samples and labels, the accuracy the
    fraction of samples with every label right.

    Parameters
    ----------
    truth, predicted : array-like of 0 and 1, shape (n_samples, n_labels)
    probabilities : array of shape (n_samples, n_labels), optional
        Used for the log loss and for the scores of probabilities.

    Returns
    -------
    scores : dict of float
        Keys of ``SCORES["multilabel"]``; those that are not defined on the fold are missing.

    Examples
    --------
    >>> from fuselearn.lab.scoring import score_labels
    >>> scores = score_labels([[1, 0, 0], [1, 1, 0]], [[1, 0, 0], [1, 0, 0]])
    >>> round(scores["macro_f1"], 4), scores["accuracy"], round(scores["hamming_loss"], 4)
    (0.6667, 0.5, 0.1667)
    """
    truth, predicted = np.asarray(truth), np.asarray(predicted)
    if predicted.shape != truth.shape or not np.isin(predicted, (0, 1)).all():
        raise ValueError(f"predicted must hold 0 and 1 in the shape {truth.shape}; it has the shape {predicted.shape}.")
    # Measures that classes have, too, are called as for classes.
    called = {"subset_accuracy": "accuracy", "macro_auc": "auc"}
    found = multilabel_scores(truth, predicted, probabilities, empty=1.0)
    scores = {called.get(name, name): float(value) for name, value in found.items() if not np.isnan(value)}
    if probabilities is not None:
        scores["log_loss"] = float(metrics.log_loss(truth.ravel(), probabilities.ravel()))
    return scores


def calibration_error(truth: npt.ArrayLike, probabilities: npt.ArrayLike) -> float:
    """Return the expected calibration error of the most probable class, in ten bins of equal width.

    ::

        error = sum over bins of  (samples in the bin / all samples) * |accuracy - mean probability|

    Parameters
    ----------
    truth : array-like of int, shape (n_samples,)
        Classes, numbered from 0.
    probabilities : array-like of shape (n_samples, n_classes)

    Examples
    --------
    >>> from fuselearn.lab.scoring import calibration_error
    >>> round(calibration_error([0, 1], [[0.75, 0.25], [0.75, 0.25]]), 4)
    0.25
    """
    table = np.asarray(probabilities, dtype=np.float64)
    confidence, right = table.max(axis=1), table.argmax(axis=1) == np.asarray(truth)
    bins = np.minimum((confidence * N_BINS).astype(np.intp), N_BINS - 1)
    return float(np.abs(np.bincount(bins, weights=right - confidence)).sum() / len(bins))
