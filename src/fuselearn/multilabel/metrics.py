"""Metrics of multi-label predictions: those that scikit-learn lacks, and all metrics at once.

::

    precision = TP / (TP + FP)    F1 = 2 TP / (2 TP + FP + FN)
    recall    = TP / (TP + FN)    Jaccard = TP / (TP + FP + FN)

`multilabel_scores` and `label_scores` differ from `sklearn.metrics` in two respects:

- Unknown labels, NaN in ``Y_true``, are ignored, and so are samples and labels without any known entry.
- The scores of a label that is *empty*, neither true nor predicted for any sample, are 0, as in scikit-learn with
  ``zero_division=0.0``. With ``empty=1.0`` they are 1, as in Mulan, mldr and many published results. Small folds lack
  many rare labels, so the two conventions differ widely there. A score is 0 where only its own denominator is 0.

Metrics of probabilities never raise a warning:

- The ranking loss of a sample without labels or with all labels is 0 and its ranking precision 1, as in scikit-learn.
  The coverage (scikit-learn's ``coverage_error`` minus 1) of a sample without labels is 0, as in Mulan; its one-error
  is 1, as in MEKA, Mulan and mldr, since its first label is wrong.
- The macro-averaged AUC and average precision exclude labels that are constant in the test samples, and are NaN if all
  labels are. The micro averages are NaN if no entry, or every entry, is 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sklearn.metrics import (
    average_precision_score,
    coverage_error,
    label_ranking_average_precision_score,
    label_ranking_loss,
    roc_auc_score,
)

from fuselearn._messages import show
from fuselearn.learners.clones import read_probabilities
from fuselearn.multilabel.labels import (
    UNKNOWN,
    LabelTable,
    PartialTable,
    check_same_labels,
    label_names,
    read_labels,
    read_partial_labels,
)

if TYPE_CHECKING:
    import pandas as pd

Floats = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]

CURVES = {"auc": roc_auc_score, "average_precision": average_precision_score}
N_BINS = 10
ROUNDING = 1e-9
"""Tolerance for rounding errors outside the interval from 0 to 1."""


def multilabel_scores(Y_true: Any, Y_pred: Any, probabilities: Any = None, *, empty: float = 0.0) -> dict[str, float]:
    """Compute all metrics of one set of predictions.

    Parameters
    ----------
    Y_true, Y_pred : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_labels)
        Zeros and ones; NaN in ``Y_true`` where a label is unknown.
    probabilities : array of shape (n_samples, n_labels), or scikit-learn's list of arrays, optional
        Adds the nine metrics of probabilities, from ``one_error`` to ``calibration_error``.
    empty : float, default=0.0
        F1, Jaccard index, precision and recall of a label or sample that is neither true nor predicted. With 0.0, all
        scores are those of `sklearn.metrics` with ``zero_division=0.0``; 1.0 is the convention of Mulan and of many
        papers.

    Returns
    -------
    dict of str to float
        Higher is better, except for ``hamming_loss`` (the fraction of wrong entries), ``one_error``, ``coverage``,
        ``ranking_loss`` and ``calibration_error``. ``macro_`` is the mean over the labels, ``micro_`` the value over
        all entries, ``example_`` the mean over the samples (``average="samples"`` in scikit-learn).
        ``subset_accuracy`` is the fraction of samples with all labels right.

    See Also
    --------
    label_scores : The scores of each label.

    Notes
    -----
    ``coverage`` is the number of steps down the ranking of labels that are needed to cover all labels of a sample, as
    in Mulan: one less than scikit-learn's ``coverage_error``. Constant labels are excluded from ``macro_auc`` and
    ``macro_average_precision``, which are NaN if all labels are constant. A sample without labels has a ``coverage`` of
    0 and a ``one_error`` of 1.

    Examples
    --------
    The third label is empty.

    >>> from fuselearn.multilabel import multilabel_scores
    >>> Y_true, Y_pred = [[1, 0, 0], [1, 1, 0]], [[1, 0, 0], [1, 0, 0]]
    >>> scores = multilabel_scores(Y_true, Y_pred)
    >>> round(scores["macro_f1"], 3), round(multilabel_scores(Y_true, Y_pred, empty=1.0)["macro_f1"], 3)
    (0.333, 0.667)
    >>> scores["micro_f1"], scores["subset_accuracy"], round(scores["hamming_loss"], 3)
    (0.8, 0.5, 0.167)
    >>> list(multilabel_scores(Y_true, Y_pred, [[0.9, 0.2, 0.1], [0.8, 0.3, 0.1]]))[-9:]
    ['one_error', 'coverage', 'ranking_loss', 'label_ranking_average_precision', 'macro_auc', 'micro_auc',
    'macro_average_precision', 'micro_average_precision', 'calibration_error']
    """
    truth, predicted = _read_pair(Y_true, Y_pred)
    kinds = {"macro": 0, "micro": None, "example": 1}
    ratios = {kind: _ratios(_count(truth, predicted, axis), empty) for kind, axis in kinds.items()}
    names = ("f1", "jaccard", "precision", "recall")
    scores = {f"{kind}_{name}": _mean_known(ratios[kind][name]) for name in names for kind in kinds}
    known = truth != UNKNOWN
    wrong = (truth != predicted) & known
    scores["subset_accuracy"] = float(1.0 - wrong.any(axis=1)[known.any(axis=1)].mean())
    scores["hamming_loss"] = float(wrong[known].mean())
    if probabilities is None:
        return scores
    table = _read_scores(probabilities, truth)
    by_label = _score_each_label(truth, table)
    micro = {name: _by_label(metric, truth.reshape(-1, 1), table.reshape(-1, 1)) for name, metric in CURVES.items()}
    return scores | {
        **_rank_labels(truth, table),
        "macro_auc": _mean_known(by_label["auc"]),
        "micro_auc": float(micro["auc"][0]),
        "macro_average_precision": _mean_known(by_label["average_precision"]),
        "micro_average_precision": float(micro["average_precision"][0]),
        "calibration_error": _mean_known(by_label["calibration_error"]),
    }


def label_scores(Y_true: Any, Y_pred: Any, probabilities: Any = None, *, empty: float = 0.0) -> pd.DataFrame:
    """Compute the scores of each label.

    .. versionadded:: 0.2

    Parameters
    ----------
    Y_true, Y_pred, probabilities, empty
        As for `multilabel_scores`.

    Returns
    -------
    DataFrame
        Indexed by the labels, by name if ``Y_true`` or ``Y_pred`` is a DataFrame, with the columns ``positives``
        (samples that have the label), ``predicted``, ``correct`` (both), ``precision``, ``recall``, ``f1`` and
        ``jaccard``. With probabilities also ``auc`` and ``average_precision``, NaN for a label of no sample or of all
        samples, and ``calibration_error``.

    Examples
    --------
    >>> from fuselearn.multilabel import label_scores
    >>> print(label_scores([[1, 0], [1, 1]], [[1, 1], [1, 1]])[["positives", "predicted", "correct", "precision"]])
           positives  predicted  correct  precision
    label
    0              2          2        2        1.0
    1              1          2        1        0.5
    """
    import pandas as pd

    truth, predicted = _read_pair(Y_true, Y_pred)
    both, actual, n_predicted, _ = counts = _count(truth, predicted, axis=0)
    columns: dict[str, npt.NDArray[Any]] = {"positives": actual, "predicted": n_predicted, "correct": both}
    columns |= _ratios(counts, empty)
    if probabilities is not None:
        columns |= _score_each_label(truth, _read_scores(probabilities, truth))
    names = next((names for names in map(label_names, (Y_true, Y_pred)) if names is not None), range(truth.shape[1]))
    return pd.DataFrame(columns, index=pd.Index(names, name="label"))


def _read_pair(Y_true: Any, Y_pred: Any) -> tuple[PartialTable, LabelTable]:
    truth, predicted = read_partial_labels(Y_true, "Y_true"), read_labels(Y_pred, "Y_pred")
    if truth.shape != predicted.shape:
        raise ValueError(f"Y_true and Y_pred must have the same shape, not {truth.shape} and {predicted.shape}.")
    check_same_labels(
        label_names(Y_true), label_names(Y_pred), "Y_true and Y_pred have different label names or another order"
    )
    return truth, predicted


def _read_scores(probabilities: Any, truth: PartialTable) -> Floats:
    scores = read_probabilities(probabilities, truth.shape[1])
    if len(scores) != len(truth):
        raise ValueError(f"Expected probabilities of {len(truth)} samples, got {len(scores)}.")
    if not np.isfinite(scores).all():
        raise ValueError("probabilities must be finite, but they contain NaN or infinite values.")
    return scores


def _count(truth: PartialTable, predicted: LabelTable, axis: int | None) -> list[Counts]:
    """Count the entries that are true and predicted, true, predicted, and known: per label, per sample, or all."""
    known = truth != UNKNOWN
    is_true, is_predicted = truth == 1, (predicted == 1) & known
    return [np.asarray(table.sum(axis=axis)) for table in (is_true & is_predicted, is_true, is_predicted, known)]


def _ratios(counts: list[Counts], empty: float) -> dict[str, Floats]:
    """Compute ratios: 0 for a denominator of 0, `empty` if nothing is true or predicted, NaN if nothing is known."""
    if not 0 <= empty <= 1:
        raise ValueError(f"empty must be a number from 0 to 1, not {show(empty)}.")
    both, actual, predicted, known = counts
    total = actual + predicted
    fractions = {
        "precision": (both, predicted),
        "recall": (both, actual),
        "f1": (2 * both, total),
        "jaccard": (both, total - both),
    }
    return {
        name: np.where(known > 0, np.where(total > 0, part / np.maximum(whole, 1), empty), np.nan)
        for name, (part, whole) in fractions.items()
    }


def _rank_labels(truth: PartialTable, scores: Floats) -> dict[str, float]:
    """Compute the metrics that rank the labels of each sample."""
    if truth.shape[1] == 1:  # scikit-learn would treat a single column as classes
        truth, scores = np.pad(truth, ((0, 0), (0, 1)), constant_values=UNKNOWN), np.pad(scores, ((0, 0), (0, 1)))
    # Unknown labels count as negative and the least probable, which changes neither the rank of others nor the first.
    known = truth != UNKNOWN
    kept = known.any(axis=1)
    scores = np.where(known, scores, scores.min() - 1.0)[kept]
    truth, n_known = (truth == 1).astype(np.int8)[kept], known.sum(axis=1)[kept]
    n_positive, is_first = truth.sum(axis=1), scores == scores.max(axis=1, keepdims=True)
    # scikit-learn divides by the number of pairs of a positive and a negative label, unknown ones included.
    n_negative, n_known_negative = truth.shape[1] - n_positive, n_known - n_positive
    factors = np.divide(n_negative, n_known_negative, out=np.ones(len(truth)), where=n_known_negative > 0)
    has_labels = n_positive > 0
    depth = coverage_error(truth[has_labels], scores[has_labels]) - 1 if has_labels.any() else 0.0
    return {
        "one_error": float(1 - ((truth * is_first).sum(axis=1) / is_first.sum(axis=1)).mean()),
        "coverage": float(depth * has_labels.mean()),
        "ranking_loss": float(label_ranking_loss(truth, scores, sample_weight=factors) * factors.mean()),
        "label_ranking_average_precision": float(label_ranking_average_precision_score(truth, scores)),
    }


def _score_each_label(truth: PartialTable, scores: Floats) -> dict[str, Floats]:
    """Compute the metrics that rank the samples of each label, and its calibration error."""
    values = {name: _by_label(metric, truth, scores) for name, metric in CURVES.items()}
    return {**values, "calibration_error": _calibration_errors(truth, scores)}


def _by_label(metric: Any, truth: PartialTable, scores: Floats) -> Floats:
    """Compute a metric of each label, NaN for constant labels."""
    values = np.full(truth.shape[1], np.nan)
    for label in np.flatnonzero((truth == 1).any(axis=0) & (truth == 0).any(axis=0)):
        known = truth[:, label] != UNKNOWN
        values[label] = metric(truth[known, label], scores[known, label])
    return values


def _calibration_errors(truth: PartialTable, probabilities: Floats) -> Floats:
    """Compute the expected calibration error of each label."""
    low, high = probabilities.min(), probabilities.max()
    if low < -ROUNDING or high > 1 + ROUNDING:
        raise ValueError(
            f"probabilities must be between 0 and 1 for the calibration error; they are between {low:g} and {high:g}."
        )
    n_labels, known = truth.shape[1], truth != UNKNOWN
    bins = np.clip((probabilities * N_BINS).astype(np.intp), 0, N_BINS - 1) + N_BINS * np.arange(n_labels)
    gaps = np.bincount(bins.ravel(), np.where(known, truth - probabilities, 0.0).ravel(), minlength=N_BINS * n_labels)
    sums, n_known = np.abs(gaps).reshape(n_labels, N_BINS).sum(axis=1), known.sum(axis=0)
    return np.divide(sums, n_known, out=np.full(n_labels, np.nan), where=n_known > 0)


def _mean_known(values: Floats) -> float:
    """Return the mean of the values that are not NaN, NaN if there are none."""
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else float("nan")
