"""The score of an ensemble with one more member, for all candidates at once.

Greedy selection needs this thousands of times. For common metrics it takes one pass over the outputs of the candidates;
any other scikit-learn metric is computed once per candidate.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.metrics import get_scorer

from fuselearn._core import average_logarithms, tally_classes
from fuselearn.combine.classes import Classes
from fuselearn.learners.learner import Scores, Weights


class KnownValues(RegressorMixin, BaseEstimator):
    """A fitted regressor with given predictions, as input for scorers."""

    def __init__(self, predictions: npt.NDArray[Any]) -> None:
        self.predictions = predictions

    def __sklearn_is_fitted__(self) -> bool:
        """Return True, as no fit is needed."""
        return True

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the predictions of the samples."""
        return self.predictions


class KnownClasses(ClassifierMixin, BaseEstimator):
    """A fitted classifier with given predictions."""

    def __init__(self, predictions: npt.NDArray[Any], probabilities: Any, classes: Any) -> None:
        self.predictions = predictions
        self.probabilities = probabilities
        self.classes_ = classes

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the classes of the samples."""
        return self.predictions

    def predict_proba(self, X: Any) -> Any:
        """Return their class probabilities."""
        return self.probabilities


class Candidates(NamedTuple):
    """Members to choose from, and a metric that is better when larger.

    Attributes
    ----------
    values : array of shape (n_members, ...)
        Values to sum over the chosen members.
    scores : callable
        ``scores(total, size, members)`` returns the score of the mean of ``size`` members, whose values sum to
        ``total``, and each of some candidates.
    """

    values: Scores
    scores: Callable[[Scores, int, npt.NDArray[np.intp]], Scores]


def by_cells(values: Scores, weights: Weights, score: Callable[[Scores], Scores]) -> Candidates:
    """Score candidates by the weighted mean of a function of each cell's mean value.

    Parameters
    ----------
    values : array of shape (n_members, n_cells)
        A cell is a sample, or a sample and one of its labels or outputs.
    weights : array of shape (n_cells,)
    score : callable
    """
    fractions = weights / weights.sum()

    def scores(total: Scores, size: int, members: npt.NDArray[np.intp]) -> Scores:
        # A sum of products, since a dot product would start BLAS threads thousands of times.
        return np.array([(fractions * score((total + values[k]) / (size + 1))).sum() for k in members])

    return Candidates(values, scores)


def by_log_loss(probabilities: Scores, weights: Weights | None) -> Candidates:
    """Score candidates by the negative log loss, from their probabilities of the correct class of each cell."""
    values, smallest = np.ascontiguousarray(probabilities), np.finfo(np.float64).eps
    if weights is None:
        return Candidates(values, lambda total, size, members: average_logarithms(values, total, size + 1.0, members))
    return by_cells(values, weights, lambda p: np.log(np.maximum(p, smallest)))


def by_squared_error(residuals: Scores, weights: Weights, score: Callable[[Scores], Scores]) -> Candidates:
    """Score candidates by a function of their mean squared error.

    Parameters
    ----------
    residuals : array of shape (n_members, n_cells)
        Predictions less the target.
    weights : array of shape (n_cells,)
    score : callable
        Converts mean squared errors to scores.
    """
    values = residuals * np.sqrt(weights / weights.sum())
    squares = (values**2).sum(axis=1)

    def scores(total: Scores, size: int, members: npt.NDArray[np.intp]) -> Scores:
        # In the square of a sum, only the mixed term depends on the candidate.
        errors = (total @ total + 2 * (values @ total) + squares)[members] / (size + 1) ** 2
        return score(np.maximum(errors, 0.0))

    return Candidates(values, scores)


def by_confusion(
    outputs: Scores, truth: npt.NDArray[np.intp], weights: Weights, score: Callable[[Scores], Scores]
) -> Candidates:
    """Score candidates by a function of the confusion matrix.

    Samples whose predicted class no candidate can change, because its lead is too large, are counted once for all
    candidates. As more members are chosen, fewer samples can change.

    Parameters
    ----------
    outputs : array of shape (n_members, n_samples, n_classes)
    truth : array of shape (n_samples,)
        Class indices.
    weights : array of shape (n_samples,)
    score : callable
        Converts confusion matrices of shape (n_candidates, n_classes, n_classes), with true classes in rows, to scores.
    """
    values, largest_change = np.ascontiguousarray(outputs), np.ptp(outputs, axis=2).max(axis=0)

    def scores(total: Scores, size: int, members: npt.NDArray[np.intp]) -> Scores:
        leads = np.sort(total, axis=1)[:, -2:]
        in_doubt = leads[:, 1] - leads[:, 0] <= largest_change * (1 + 1e-9)
        settled = np.zeros((total.shape[1], total.shape[1]))
        np.add.at(settled, (truth[~in_doubt], total[~in_doubt].argmax(axis=1)), weights[~in_doubt])
        return score(settled + tally_classes(values, members, total, truth, weights, np.flatnonzero(in_doubt)))

    return Candidates(values, scores)


def by_scorer(
    outputs: Scores,
    target: npt.NDArray[Any],
    scorer: Callable[..., float],
    classes: Classes | None,
    weights: Weights | None,
) -> Candidates:
    """Score candidates by any scikit-learn scorer, one at a time.

    Parameters
    ----------
    outputs : array of shape (n_members, n_samples, ...)
    target : array of shape (n_samples, ...)
        As expected by scorers.
    scorer : callable
        ``scorer(estimator, X, y)``.
    classes : Classes or None
        None for regression.
    weights : array of shape (n_samples,) or None
        For scorers that support ``sample_weight``.
    """
    parameters = inspect.signature(scorer).parameters.values()
    takes_weights = any(p.name == "sample_weight" or p.kind is p.VAR_KEYWORD for p in parameters)
    settings = {"sample_weight": weights} if weights is not None and takes_weights else {}

    def score(mean: Scores) -> float:
        known: KnownValues | KnownClasses = KnownValues(mean)
        if classes is not None:
            known = KnownClasses(classes.decode(mean.argmax(axis=-1)), classes.as_table(mean), classes.attribute)
        return float(scorer(known, np.arange(len(target))[:, None], target, **settings))

    return Candidates(
        outputs, lambda total, size, members: np.array([score((total + outputs[k]) / (size + 1)) for k in members])
    )


def accuracy(tables: Scores) -> Scores:
    """Return the fraction of samples predicted correctly."""
    return np.einsum("kcc->k", tables) / tables.sum(axis=(1, 2))


def balanced_accuracy(tables: Scores) -> Scores:
    """Return the mean recall of the classes that occur."""
    actual = tables.sum(axis=2)
    correct = np.einsum("kcc->kc", tables)
    return np.divide(correct, actual, out=np.zeros_like(correct), where=actual > 0).sum(axis=1) / (actual > 0).sum(
        axis=1
    )


def f1_by_class(tables: Scores) -> Scores:
    """Return F1 of each class, 0 for a class that neither occurs nor is predicted."""
    correct = np.einsum("kcc->kc", tables)
    either = tables.sum(axis=1) + tables.sum(axis=2)
    return np.divide(2 * correct, either, out=np.zeros_like(correct), where=either > 0)


def f1_macro(tables: Scores) -> Scores:
    """Return the mean F1 of the classes that occur or are predicted."""
    seen = (tables.sum(axis=1) + tables.sum(axis=2)) > 0
    return f1_by_class(tables).sum(axis=1) / seen.sum(axis=1)


def f1_weighted(tables: Scores) -> Scores:
    """Return the mean F1 of the classes, each with the weight of its samples."""
    actual = tables.sum(axis=2)
    return (f1_by_class(tables) * actual).sum(axis=1) / actual.sum(axis=1)


def f1_binary(tables: Scores) -> Scores:
    """Return F1 of the second of two classes."""
    return f1_by_class(tables)[:, 1]


TABLE_SCORES: dict[str, Callable[[Scores], Scores]] = {
    "accuracy": accuracy,
    "balanced_accuracy": balanced_accuracy,
    "f1_macro": f1_macro,
    "f1_micro": accuracy,  # the same for one class per sample
    "f1_weighted": f1_weighted,
}


def candidates_for_classes(
    scoring: Any, outputs: Scores, target: npt.NDArray[Any], classes: Classes, weights: Weights | None
) -> Candidates:
    """Make candidates of classifiers.

    Parameters
    ----------
    scoring : str, callable or None
        A scorer or its name; None means the negative log loss, over samples and labels for multi-label data.
    outputs : array of shape (n_members, n_samples, n_classes) or (n_members, n_samples, n_labels, 2)
    target : array of shape (n_samples,) or (n_samples, n_labels)
    classes : Classes
    weights : array of shape (n_samples,) or None

    Returns
    -------
    Candidates
    """
    truth, is_single = classes.encode(target), classes.n_labels is None
    if scoring is None or (scoring == "neg_log_loss" and is_single):
        correct = np.take_along_axis(outputs, truth[None, ..., None], axis=-1).reshape(len(outputs), -1)
        return by_log_loss(correct, None if weights is None else np.repeat(weights, correct.shape[1] // len(truth)))
    score = TABLE_SCORES.get(scoring) if is_single and isinstance(scoring, str) else None
    if is_single and scoring == "f1" and len(classes.values) == 2 and classes.values[1] == 1:
        score = f1_binary
    if score is not None:
        return by_confusion(outputs, truth, np.ones(len(truth)) if weights is None else weights, score)
    return by_scorer(outputs, target, get_scorer(scoring), classes, weights)


def candidates_for_numbers(
    scoring: Any, outputs: Scores, target: npt.NDArray[np.float64], weights: Weights | None
) -> Candidates:
    """Make candidates of regressors.

    Parameters
    ----------
    scoring : str, callable or None
        A scorer or its name; None means the negative mean squared error.
    outputs : array of shape (n_members, n_samples) or (n_members, n_samples, n_outputs)
    target : array of shape (n_samples,) or (n_samples, n_outputs)
    weights : array of shape (n_samples,) or None

    Returns
    -------
    Candidates
    """
    residuals = (outputs - target).reshape(len(outputs), -1)
    counted = np.ones(len(target)) if weights is None else weights
    cells = np.repeat(counted, residuals.shape[1] // len(target))
    if scoring is None or scoring == "neg_mean_squared_error":
        return by_squared_error(residuals, cells, np.negative)
    if scoring == "neg_mean_absolute_error":
        return by_cells(residuals, cells, lambda mean: -np.abs(mean))
    if scoring == "neg_root_mean_squared_error" and target.ndim == 1:
        return by_squared_error(residuals, cells, lambda errors: -np.sqrt(errors))
    spread = np.average((target - np.average(target, axis=0, weights=counted)) ** 2, axis=0, weights=counted)
    if scoring == "r2" and target.ndim == 1 and spread > 0:
        return by_squared_error(residuals, cells, lambda errors: 1 - errors / spread)
    return by_scorer(outputs, target, get_scorer(scoring), None, weights)
