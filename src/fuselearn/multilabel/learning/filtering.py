"""KFHE's two Kalman filters over multi-label models of any kind."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from fuselearn._parameters import check_choice, check_flag, check_verbose, check_whole_number, count_draws
from fuselearn._progress import ProgressLines
from fuselearn._validation import validate_rows
from fuselearn.engines.filters import WEIGHTINGS
from fuselearn.ensembles.filtering import FilterTrace, Truth, closed_form_coefficients, train_kfhe
from fuselearn.learners import Learner, count_all_samples, draw_counts
from fuselearn.multilabel.learning.fusion import LabelSum

Counts = npt.NDArray[np.int32]
Labels = npt.NDArray[np.int8]
Scores = npt.NDArray[np.float64]
Weights = npt.NDArray[np.float64]

# Hamming loss of random guessing.
GUESSING_LOSS = 0.5


@dataclass(frozen=True)
class LabelTruth(Truth):
    """The true labels of the training samples; scores above 0.5 mean the label.

    Examples
    --------
    >>> truth = LabelTruth(np.array([0.5, 0.5]), np.array([[True, False], [True, False]]))
    >>> truth.losses(np.array([[0.9, 0.5], [0.2, 0.8]]))
    array([0., 1.])
    """

    labels: npt.NDArray[np.bool_]

    def losses(self, scores: Scores) -> Weights:
        """Return the fraction of wrong labels of each sample."""
        return np.mean((scores > 0.5) != self.labels, axis=1)


class LabelFilterTrace(FilterTrace):
    """Fitted attributes and staged predictions of a multi-label ensemble fitted by :func:`fit_filtered`."""

    coefficients_: npt.NDArray[np.float64]
    n_jobs: int | None
    _fused_: LabelSum
    _bound_scores: Callable[[Scores], Scores]

    def staged_predict_proba(self, X: Any) -> Iterator[Scores]:
        """Yield label scores after the first classifier and after each measurement.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)

        Yields
        ------
        array of shape (n_samples, n_labels)
            ``n_iter_ + 1`` arrays in total; the last one equals ``predict_proba``.
        """
        check_is_fitted(self)
        answers = self._fused_.answers(validate_rows(self, X, reset=False), self.n_jobs)
        estimate = self._bound_scores(next(answers))
        yield estimate
        for gain, scores in zip(self.gains_, answers, strict=True):
            estimate = self._bound_scores((1.0 - gain / 2) * estimate + gain / 2 * scores)
            yield estimate


def check_filtering(estimator: Any) -> None:
    """Validate the parameters of the filters."""
    check_whole_number("n_estimators", estimator.n_estimators, 1)
    count_draws(estimator.max_samples, 1)
    check_choice("weighting", estimator.weighting, WEIGHTINGS)
    check_flag("reset", estimator.reset)
    check_verbose(estimator.verbose)


def fit_filtered(
    estimator: Any,
    learner: Learner,
    train_first: Callable[[Counts, Weights | None, int], Any],
    train_next: Callable[[Counts, int], Any],
    Y: Labels,
    weights: Weights | None,
    rng: np.random.Generator,
) -> None:
    """Fit a multi-label ensemble by the two Kalman filters of KFHE.

    Parameters
    ----------
    estimator : MultilabelClassifier
        With the parameters validated by :func:`check_filtering`.
    learner : Learner
        The learner that trains the models.
    train_first : callable
        Trains the model of the first estimate from counts, weights and a seed.
    train_next : callable
        Trains a model from the counts of a sample and a seed.
    Y, weights, rng
        As for ``MultilabelClassifier._fit_labels``.
    """
    n_rows = len(Y)
    shares = np.full(n_rows, 1.0 / n_rows) if weights is None else weights / weights.sum()
    seeds = rng.integers(2**62, size=estimator.n_estimators + 1).tolist()
    n_draws = count_draws(estimator.max_samples, n_rows)
    truth = LabelTruth(shares, Y > 0)
    progress = ProgressLines(type(estimator).__name__, estimator.verbose, estimator.n_estimators)

    def announce(number: int, model: Any, **facts: float) -> bool:
        progress.report(number, facts)
        return False

    run = train_kfhe(
        train_first(*count_all_samples(weights, n_rows, copies=learner.counts_copies), seeds[0]),
        lambda weights, seed: train_next(draw_counts(seed, weights, n_draws), seed),
        truth,
        seeds[1:],
        weighting=estimator.weighting,
        guessing_error=GUESSING_LOSS if estimator.reset else math.inf,
        announce=announce,
    )
    estimator._keep_trace(run, truth.error(run.kf_m.state))
    estimator.coefficients_ = closed_form_coefficients(estimator.gains_)
    fused = LabelSum(run.models, estimator.coefficients_, learner)
    if estimator._wants_honest_scores():
        after_first = LabelSum(run.models[1:], estimator.coefficients_[1:], learner)
        estimator.oob_decision_function_ = after_first.left_out_scores(Y.shape)
    estimator._adopt(fused)
