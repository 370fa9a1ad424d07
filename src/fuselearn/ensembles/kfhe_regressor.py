"""KFHE for regression: the same two Kalman filters, over regressors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator

from fuselearn._parameters import check_choice, check_flag, check_whole_number
from fuselearn._random import make_generator
from fuselearn.ensembles.cart_regressor import CARTRegressor
from fuselearn.ensembles.components import ComponentSequence
from fuselearn.ensembles.filtering import (
    Errors,
    FilterRun,
    FilterTrace,
    Measurement,
    Scores,
    Truth,
    closed_form_coefficients,
    train_kfhe,
)
from fuselearn.ensembles.table_regressor import TableRegressor, Weights, train_on_all
from fuselearn.learners import Component, Learner, Values, draw_counts

LOSSES = ("linear", "square", "exponential")
# A regressor with this error is no better than the mean of the target; less what rounding may take from a sum.
ERROR_OF_THE_MEAN = 1.0 - 1e-12


@dataclass(frozen=True)
class ValueTruth(Truth):
    """The true numbers of the training samples, as a column.

    Parameters
    ----------
    shares : array of shape (n_samples,)
    numbers : array of shape (n_samples, 1)
    variance : float
        Of the numbers; 1 if they are all the same.
    loss : {"linear", "square", "exponential"}
        How the loss of a sample grows with its absolute error.
    """

    numbers: Scores
    variance: float
    loss: str

    @classmethod
    def of(cls, numbers: Weights, weights: Weights, loss: str) -> ValueTruth:
        """Describe a target of numbers whose samples have these weights."""
        shares = weights / weights.sum()
        variance = float(shares @ (numbers - shares @ numbers) ** 2)
        return cls(shares, numbers[:, None], variance or 1.0, loss)

    def losses(self, scores: Scores) -> Weights:
        """Return the absolute errors over the largest one, or what the loss makes of them."""
        errors = np.abs(scores - self.numbers)[:, 0]
        largest = errors[self.shares > 0].max()
        relative = np.minimum(errors / largest, 1.0) if largest > 0 else np.zeros(len(errors))
        if self.loss == "square":
            return relative**2
        return 1.0 - np.exp(-relative) if self.loss == "exponential" else relative

    def error(self, scores: Scores) -> float:
        """Return the mean squared error over the variance of the target, but at most 1."""
        return min(1.0, float(self.shares @ (scores - self.numbers)[:, 0] ** 2) / self.variance)

    def measure(self, y: Scores, h: Component) -> Measurement:
        """Compute the measurement z = (y + h) / 2 and its error."""
        predictions = h.scores()
        z = 0.5 * (y + predictions)
        return Measurement(z, self.losses(z), Errors(self.error(z), self.error(predictions), self.error(y)))


class KFHERegressor(FilterTrace, ComponentSequence, TableRegressor):
    """An ensemble in which a Kalman filter fuses regressors, each a noisy measurement of the ideal one; experimental.

    With f the estimate of the training samples' targets y, P its variance and h_t the t-th regressor, ::

        measurement     z = (f + h_t) / 2,         with error   R = min(1, mean of (z - y)^2 / variance of y)
        gain            K = P / (P + R)
        estimate        f <- f + K (z - f),        variance     P <- (1 - K) P

    Errors are in units of the target's variance, as P is, which starts at 1: that of predicting the mean. A measurement
    worse than the mean counts as the mean, or an outlier in y could make R as large as it likes.

    The sample for h_t is drawn with sample weights w that a second filter estimates in the same way, from measurements
    in which samples count more the larger their error is, relative to the largest one, as in AdaBoost.R2. Training ends
    early once K is 0. The trained ensemble is a weighted sum of the regressors, with ``coefficients_``. The weights w
    start as ``sample_weight``, by which errors are weighted, too.

    .. versionadded:: 0.2

    Parameters
    ----------
    estimator : regressor or None, default=None
        Base learner: any scikit-learn regressor. None means ``CARTRegressor(min_samples_leaf=3)``.
    n_estimators : int, default=100
        Most regressors to train after the first one, which is trained on all samples.
    weighting : {"linear", "exponential"}, default="linear"
        How samples gain weight by their loss: the weight times the loss is added to the initial weight, or the weight
        is multiplied by exp(loss). The second follows outliers in the target more.
    loss : {"linear", "square", "exponential"}, default="linear"
        Loss of a sample, with e its absolute error over the largest one: e, e^2 or 1 - exp(-e), as in AdaBoost.R2.
    reset : bool, default=True
        Whether a regressor no better than the mean of the target (with an error of at least 1) is thrown away, once,
        and replaced by one drawn with the initial weights.
    warm_start : bool, default=False
        Whether ``fit`` adds to the regressors of the call before, on the same data, as if all were fitted at once.
    callback : callable or None, default=None
        ``callback(number, regressor)`` is called after each regressor, counted from 1; True ends training.
    verbose : int, default=0
        1 prints ten lines of progress with the error, the gain and the time left, more if the fit is long; 2 a line per
        regressor.
    random_state : int, RandomState or None, default=None
        Seed of the samples and of the base learners.
    n_jobs : int or None, default=None
        Threads for growing trees on large data and for prediction. Results do not depend on it.

    Attributes
    ----------
    n_features_in_, feature_names_in_
        The number of features; their names, if fitted on a DataFrame whose column names are text.
    estimators_ : list of regressors
        The first one and ``n_iter_`` others.
    n_iter_ : int
        Measurements made.
    gains_, variances_, measurement_errors_ : array of shape (n_iter,)
        Gain K, variance P and error R of each measurement.
    train_errors_ : array of shape (n_iter + 1,)
        Mean squared error of the estimate over the target's variance, at most 1, from the first regressor on.
    resets_ : array of int
        Measurements (counted from 1) before which the weights were reset.
    weights_ : array of shape (n_samples,)
        Final sample weights; they are large for samples that the ensemble fits worst.
    coefficients_ : array of shape (n_iter + 1,)
        Weight of each regressor in the ensemble; they sum to 1.
    feature_importances_ : array of shape (n_features,)
        Mean of the regressors' importances, weighted by ``coefficients_``; if they have any, as trees do.

    Notes
    -----
    Experimental: on ten tables it was worse than bagging, forests and gradient boosting on clean targets, and, with
    outliers in the target, better than boosting but far worse than bagging of trees with leaves of the same size; see
    the guide to ensembles. It may change or go without a deprecation.

    See Also
    --------
    KFHEClassifier : The ensemble for classes, for which it was invented.
    BaggedRegressor : The mean of regressors on bootstrap samples.
    sklearn.ensemble.AdaBoostRegressor : AdaBoost.R2.

    References
    ----------
    Pakrashi, A. and Mac Namee, B. (2019). Kalman Filter-based Heuristic Ensemble (KFHE): A new perspective on
    multi-class ensemble classification using Kalman filters. Information Sciences 485, 456-485.

    Drucker, H. (1997). Improving regressors using boosting techniques. ICML, 107-115.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.model_selection import cross_val_score
    >>> from fuselearn.ensembles import KFHERegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> float(round(cross_val_score(KFHERegressor(random_state=0), X, y, cv=5).mean(), 2))
    0.42
    """

    _run_: FilterRun

    def __init__(
        self,
        estimator: BaseEstimator | None = None,
        n_estimators: int = 100,
        *,
        weighting: str = "linear",
        loss: str = "linear",
        reset: bool = True,
        warm_start: bool = False,
        callback: Callable[[int, Any], Any] | None = None,
        verbose: int = 0,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.weighting = weighting
        self.loss = loss
        self.reset = reset
        self.warm_start = warm_start
        self.callback = callback
        self.verbose = verbose
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _default_estimator(self) -> CARTRegressor:
        return CARTRegressor(min_samples_leaf=3)

    def _check_parameters(self) -> None:
        n_estimators = check_whole_number("n_estimators", self.n_estimators, 1)
        check_choice("weighting", self.weighting, ("linear", "exponential"))
        check_choice("loss", self.loss, LOSSES)
        check_flag("reset", self.reset)
        self._check_members(n_estimators + 1, "_run_")

    def _fit_learner(self, learner: Learner, target: Values, weights: Weights | None) -> None:
        n_before, n_samples = self._n_before, learner.n_samples
        truth = ValueTruth.of(target.numbers, np.ones(n_samples) if weights is None else weights, self.loss)
        seeds = make_generator(self.random_state).integers(2**62, size=self.n_estimators + 1).tolist()

        def train(weights: Weights, seed: int) -> Component:
            component: Component = learner.train(target, draw_counts(seed, weights, n_samples), seed)
            return component

        run = train_kfhe(
            self._earlier_run(n_samples) if n_before else train_on_all(learner, target, weights, seeds[0]),
            train,
            truth,
            seeds[max(1, n_before) :],
            weighting=self.weighting,
            guessing_error=ERROR_OF_THE_MEAN if self.reset else np.inf,
            announce=self._announcer(self.n_estimators, max(0, n_before - 1)),
        )
        self._keep_trace(run, truth.error(run.kf_m.state))
        n_models = len(run.models)
        self._adopt(learner, run.models, closed_form_coefficients(self.gains_), np.zeros(n_models, dtype=bool))
        if self.warm_start:
            self._run_ = replace(run, models=[])

    def staged_predict(self, X: Any) -> Iterator[npt.NDArray[np.float64]]:
        """Predict with the first regressor and after each measurement.

        Parameters
        ----------
        X : {array-like, DataFrame} of shape (n_samples, n_features)

        Yields
        ------
        ndarray of shape (n_samples,)
            In all ``n_iter_ + 1`` of them; the last one is what ``predict`` gives.
        """
        rows = self._read_rows(X)
        estimate = self._components_[0].scores(rows)[:, 0]
        yield estimate
        for component, gain in zip(self._components_[1:], self.gains_, strict=True):
            estimate = (1.0 - gain / 2) * estimate + gain / 2 * component.scores(rows)[:, 0]
            yield estimate
