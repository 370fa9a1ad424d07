"""How good an ensemble would be with one more member: scores of all candidates at once.

Greedy selection asks this thousands of times. For common metrics the answer needs one pass over what the candidates
say; for any other scikit-learn metric its scorer is asked once per candidate.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from sklearn.metrics import get_scorer

from fuselearn.combine.answers import Classes
from fuselearn.engines.combining import average_logarithms, tally_classes
from fuselearn.ensembles.out_of_bag import KnownClasses, KnownValues, score_known

Array = npt.NDArray[np.float64]


class Candidates(Protocol):
    """Members to choose from, and a metric that is better when larger.

    Attributes
    ----------
    values : array of shape (n_members, ...)
        What is summed up over the chosen members.
    """

    values: Array

    def scores(self, total: Array, size: int, members: npt.NDArray[np.intp]) -> Array:
        """Score the mean of ``size`` members whose values sum up to ``total`` and each of some candidates."""
        ...


class LogLossCandidates:
    """Candidates by their log loss: the mean of log p over samples, p being what the right class gets.

    Parameters
    ----------
    given : array of shape (n_members, n_cells)
        What each member gives to the right class.
    shares : array of shape (n_cells,) or None
        What each cell counts; None means the same for all.
    """

    def __init__(self, given: Array, shares: Array | None) -> None:
        self.values = np.ascontiguousarray(given)
        self.shares = None if shares is None else shares / shares.sum()

    def scores(self, total: Array, size: int, members: npt.NDArray[np.intp]) -> Array:
        """Return minus the log loss with each candidate."""
        if self.shares is None:
            return average_logarithms(self.values, total, size + 1.0, members)
        smallest = np.finfo(np.float64).eps
        mixed = ((total + self.values[k]) / (size + 1) for k in members)
        return np.array([(self.shares * np.log(np.maximum(p, smallest))).sum() for p in mixed])


class SquaredErrorCandidates:
    """Candidates by their mean squared error, or by a function of it.

    Parameters
    ----------
    residuals : array of shape (n_members, n_cells)
        Predictions less the target.
    shares : array of shape (n_cells,)
        What each cell counts.
    score : callable
        Turns mean squared errors into scores.
    """

    def __init__(self, residuals: Array, shares: Array, score: Callable[[Array], Array]) -> None:
        self.values = residuals * np.sqrt(shares / shares.sum())
        self.squares = (self.values**2).sum(axis=1)
        self.score = score

    def scores(self, total: Array, size: int, members: npt.NDArray[np.intp]) -> Array:
        """Score each candidate by the square of a sum, of which only the mixed term is new."""
        errors = (total @ total + 2 * (self.values @ total) + self.squares)[members] / (size + 1) ** 2
        return self.score(np.maximum(errors, 0.0))


class AbsoluteErrorCandidates:
    """Candidates by their mean absolute error.

    Parameters
    ----------
    residuals : array of shape (n_members, n_cells)
        Predictions less the target.
    shares : array of shape (n_cells,)
        What each cell counts.
    """

    def __init__(self, residuals: Array, shares: Array) -> None:
        self.values = residuals
        self.shares = shares / shares.sum()

    def scores(self, total: Array, size: int, members: npt.NDArray[np.intp]) -> Array:
        """Return minus the mean absolute error with each candidate."""
        # A sum of products instead of a dot product: that would wake up the threads of BLAS thousands of times.
        return np.array([-(self.shares * np.abs(total + self.values[k])).sum() / (size + 1) for k in members])


class ConfusionCandidates:
    """Candidates by any function of the table of true against predicted classes.

    Samples whose class no candidate can change, because it leads by more than any of them can turn around, are counted
    once for all. The more members are chosen, the fewer samples are left in doubt.

    Parameters
    ----------
    answers : array of shape (n_members, n_samples, n_classes)
    truth : array of shape (n_samples,)
        Class numbers.
    shares : array of shape (n_samples,)
        What each sample counts.
    score : callable
        Turns tables of shape (n_candidates, n_classes, n_classes), true classes in rows, into scores.
    """

    def __init__(
        self, answers: Array, truth: npt.NDArray[np.intp], shares: Array, score: Callable[[Array], Array]
    ) -> None:
        self.values = np.ascontiguousarray(answers)
        self.truth = truth
        self.shares = shares
        self.score = score
        self.most_turned = np.ptp(answers, axis=2).max(axis=0)

    def scores(self, total: Array, size: int, members: npt.NDArray[np.intp]) -> Array:
        """Score the table of each candidate."""
        leads = np.sort(total, axis=1)[:, -2:]
        in_doubt = leads[:, 1] - leads[:, 0] <= self.most_turned * (1 + 1e-9)
        n_classes = total.shape[1]
        settled = np.zeros((n_classes, n_classes))
        np.add.at(settled, (self.truth[~in_doubt], total[~in_doubt].argmax(axis=1)), self.shares[~in_doubt])
        samples = np.flatnonzero(in_doubt)
        return self.score(settled + tally_classes(self.values, members, total, self.truth, self.shares, samples))


def accuracy(tables: Array) -> Array:
    """Return the share of samples predicted rightly."""
    return np.einsum("kcc->k", tables) / tables.sum(axis=(1, 2))


def balanced_accuracy(tables: Array) -> Array:
    """Return the mean share of samples predicted rightly over the classes that there are."""
    actual = tables.sum(axis=2)
    right = np.einsum("kcc->kc", tables)
    return np.divide(right, actual, out=np.zeros_like(right), where=actual > 0).sum(axis=1) / (actual > 0).sum(axis=1)


def f1_by_class(tables: Array) -> Array:
    """Return F1 of each class, 0 where neither is any sample of it nor is it predicted."""
    right = np.einsum("kcc->kc", tables)
    either = tables.sum(axis=1) + tables.sum(axis=2)
    return np.divide(2 * right, either, out=np.zeros_like(right), where=either > 0)


def f1_macro(tables: Array) -> Array:
    """Return the mean F1 of the classes that are there or predicted."""
    seen = (tables.sum(axis=1) + tables.sum(axis=2)) > 0
    return f1_by_class(tables).sum(axis=1) / seen.sum(axis=1)


def f1_weighted(tables: Array) -> Array:
    """Return the mean F1 of the classes, each with the weight of its samples."""
    actual = tables.sum(axis=2)
    return (f1_by_class(tables) * actual).sum(axis=1) / actual.sum(axis=1)


def f1_binary(tables: Array) -> Array:
    """Return F1 of the second of two classes."""
    return f1_by_class(tables)[:, 1]


TABLE_SCORES: dict[str, Callable[[Array], Array]] = {
    "accuracy": accuracy,
    "balanced_accuracy": balanced_accuracy,
    "f1_macro": f1_macro,
    "f1_micro": accuracy,  # of one class per sample, they are the same
    "f1_weighted": f1_weighted,
}


class ScorerCandidates:
    """Candidates by any scikit-learn scorer, asked for one candidate at a time.

    Parameters
    ----------
    answers : array of shape (n_members, n_samples, ...)
    target : array of shape (n_samples, ...)
        As scorers take it.
    scorer : callable
        ``scorer(estimator, X, y)``.
    classes : Classes or None
        None for a regression.
    row_weights : array of shape (n_samples,) or None
        For scorers that take ``sample_weight``.
    """

    def __init__(
        self,
        answers: Array,
        target: npt.NDArray[Any],
        scorer: Callable[..., float],
        classes: Classes | None,
        row_weights: Array | None,
    ) -> None:
        self.values = answers
        self.target = target
        self.scorer = scorer
        self.classes = classes
        self.settings = {"sample_weight": row_weights} if row_weights is not None and _takes_weights(scorer) else {}

    def scores(self, total: Array, size: int, members: npt.NDArray[np.intp]) -> Array:
        """Ask the scorer about the mean with each candidate."""
        return np.array([self.score((total + self.values[k]) / (size + 1)) for k in members])

    def score(self, mean: Array) -> float:
        """Ask the scorer about given answers."""
        return score_known(self.scorer, self._known(mean), self.target, **self.settings)

    def _known(self, mean: Array) -> KnownValues | KnownClasses:
        if self.classes is None:
            return KnownValues(mean)
        classes = self.classes
        return KnownClasses(classes.decode(mean.argmax(axis=-1)), classes.as_table(mean), classes.attribute)


def _takes_weights(scorer: Callable[..., float]) -> bool:
    parameters = inspect.signature(scorer).parameters.values()
    return any(p.name == "sample_weight" or p.kind is p.VAR_KEYWORD for p in parameters)


def candidates_for_classes(
    scoring: Any, answers: Array, target: npt.NDArray[Any], classes: Classes, row_weights: Array | None
) -> Candidates:
    """Make candidates of classifiers.

    Parameters
    ----------
    scoring : str, callable or None
        A scorer or its name; None means minus the log loss, over samples and labels if there are several.
    answers : array of shape (n_members, n_samples, n_classes) or (n_members, n_samples, n_labels, 2)
    target : array of shape (n_samples,) or (n_samples, n_labels)
    classes : Classes
    row_weights : array of shape (n_samples,) or None

    Returns
    -------
    Candidates
    """
    truth = classes.encode(target)
    if scoring is None or (scoring == "neg_log_loss" and classes.n_labels is None):
        given = np.take_along_axis(answers, truth[None, ..., None], axis=-1).reshape(len(answers), -1)
        shares = None if row_weights is None else np.repeat(row_weights, given.shape[1] // len(truth))
        return LogLossCandidates(given, shares)
    by_table = _table_score(scoring, classes)
    if by_table is not None:
        shares = np.ones(len(truth)) if row_weights is None else row_weights
        return ConfusionCandidates(answers, truth, shares, by_table)
    return ScorerCandidates(answers, target, get_scorer(scoring), classes, row_weights)


def _table_score(scoring: Any, classes: Classes) -> Callable[[Array], Array] | None:
    if classes.n_labels is not None or not isinstance(scoring, str):
        return None
    if scoring == "f1" and len(classes.values) == 2 and classes.values[1] == 1:
        return f1_binary
    return TABLE_SCORES.get(scoring)


def candidates_for_numbers(
    scoring: Any, answers: Array, target: npt.NDArray[np.float64], row_weights: Array | None
) -> Candidates:
    """Make candidates of regressors.

    Parameters
    ----------
    scoring : str, callable or None
        A scorer or its name; None means minus the mean squared error.
    answers : array of shape (n_members, n_samples) or (n_members, n_samples, n_outputs)
    target : array of shape (n_samples,) or (n_samples, n_outputs)
    row_weights : array of shape (n_samples,) or None

    Returns
    -------
    Candidates
    """
    residuals = (answers - target).reshape(len(answers), -1)
    counts = np.ones(len(target)) if row_weights is None else row_weights
    shares = np.repeat(counts, residuals.shape[1] // len(target))
    if scoring is None or scoring == "neg_mean_squared_error":
        return SquaredErrorCandidates(residuals, shares, np.negative)
    if scoring == "neg_mean_absolute_error":
        return AbsoluteErrorCandidates(residuals, shares)
    if scoring == "neg_root_mean_squared_error" and target.ndim == 1:
        return SquaredErrorCandidates(residuals, shares, lambda errors: -np.sqrt(errors))
    spread = np.average((target - np.average(target, axis=0, weights=counts)) ** 2, axis=0, weights=counts)
    if scoring == "r2" and target.ndim == 1 and spread > 0:
        return SquaredErrorCandidates(residuals, shares, lambda errors: 1 - errors / spread)
    return ScorerCandidates(answers, target, get_scorer(scoring), None, row_weights)
