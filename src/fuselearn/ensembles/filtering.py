"""The loop of KFHE: two Kalman filters side by side.

The model filter (the papers' kf-m) estimates the scores of the training rows; its measurements are trained models. The
weight filter (kf-w) estimates how much each row should count when the next model's training sample is drawn; it raises
the weights of rows that are still wrong. The loop knows neither classes nor labels: what a measurement is, and how
wrong it is, is for the caller to say.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from fuselearn._kernels import kernel
from fuselearn.filters import KalmanFilter

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Weights = npt.NDArray[np.float64]


class Measurement(NamedTuple):
    """What a trained model says about the training rows."""

    scores: npt.NDArray[np.float64]
    """The measurement z: the mean of the estimate and the model's scores."""
    loss: npt.NDArray[Any]
    """How wrong z is in each row, from 0 to 1; bool where it is either right or wrong."""
    error: float
    """R, the weighted mean of the loss."""
    own_error: float
    """The same for the model alone."""
    estimate_error: float
    """The same for the estimate before the measurement."""


class Step(NamedTuple):
    """A trained model, and the errors of its measurement."""

    component: Any
    error: float
    own_error: float
    estimate_error: float


class FilterRun(NamedTuple):
    """What the loop leaves behind."""

    components: list[Any]
    gains: Weights
    variances: Weights
    errors: Weights
    train_errors: Weights
    resets: npt.NDArray[np.int64]
    weights: Weights


def run_filters(
    first: Any,
    step: Callable[[KalmanFilter, KalmanFilter, int, float], Step],
    error_of: Callable[[npt.NDArray[np.float64]], float],
    shares: Weights,
    seeds: list[int],
    *,
    guessing_error: float | None = None,
    process_noise: float = 0.0,
) -> FilterRun:
    """Train one model per seed, each on a sample that the weight filter draws, and fuse them.

    Parameters
    ----------
    first : Component
        The model trained on all rows; its scores are the first estimate.
    step : callable
        ``step(models, weights, seed, error_limit)`` trains a model on rows drawn by the weight filter, and lets both
        filters take it in, unless its own error reaches the limit.
    error_of : callable
        Error of an estimate on the training rows.
    shares : array of shape (n_rows,)
        Initial row weights, in all 1.
    seeds : list of int
        One for each measurement.
    guessing_error : float, optional
        A model with at least this error is thrown away, once, and replaced by one drawn with the initial weights.
    process_noise : float
        Variance added to both filters before each measurement.
    """
    components = [first]
    models = KalmanFilter(first.scores(), process_noise=process_noise)
    weights = KalmanFilter(shares, process_noise=process_noise)
    error_limit = math.inf if guessing_error is None else guessing_error
    gains, variances, errors, train_errors, resets = [], [], [], [], []
    for t, seed in enumerate(seeds, start=1):
        models.predict()
        weights.predict()
        taken = step(models, weights, seed, error_limit)
        train_errors.append(taken.estimate_error)
        if taken.own_error >= error_limit:
            weights.state[:] = shares
            weights.variance = 1.0
            resets.append(t)
            taken = step(models, weights, seed + 1, math.inf)
        components.append(taken.component)
        gains.append(models.gain)
        variances.append(models.variance)
        errors.append(taken.error)
        if models.gain == 0.0:  # the estimate is certain, so no measurement can change it any more
            break
    train_errors.append(error_of(models.state))
    return FilterRun(
        components=components,
        gains=np.array(gains),
        variances=np.array(variances),
        errors=np.array(errors),
        train_errors=np.array(train_errors),
        resets=np.array(resets, dtype=np.int64),
        weights=weights.state,
    )


def take_in(
    component: Any,
    measured: Measurement,
    models: KalmanFilter,
    weights: KalmanFilter,
    shares: Weights,
    linear: bool,
    error_limit: float,
) -> Step:
    """Let both filters take in what a model says, unless its own error reaches the limit."""
    if measured.own_error < error_limit:
        models.update(measured.scores, measured.error)
        pull_weights(weights.state, measured.loss, shares, linear, weights.weigh(measured.error))
    return Step(component, measured.error, measured.own_error, measured.estimate_error)


@kernel
def pull_weights(weights, loss, shares, linear, gain):  # type: ignore[no-untyped-def]
    """Measure the row weights, in which wrong rows count more, pull them towards that, and let them sum to one.

    Exponential: w_i exp(loss_i + 1/n). Linear: 1/n + w_i loss_i, scaled to sum to one; 1/n is the initial weight.
    """
    measured_sum = 1.0
    if linear:
        measured_sum = 0.0
        for i in range(len(weights)):
            measured_sum += shares[i] + weights[i] * loss[i]
    right_factor = math.exp(1.0 / len(weights))
    total = 0.0
    for i in range(len(weights)):
        if linear:
            measured = (shares[i] + weights[i] * loss[i]) / measured_sum
        else:
            factor = 1.0 if loss[i] == 0 else math.e if loss[i] == 1 else math.exp(loss[i])
            measured = weights[i] * (factor * right_factor)
        weights[i] += gain * (measured - weights[i])
        total += weights[i]
    for i in range(len(weights)):
        weights[i] /= total


def closed_form_coefficients(gains: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Give each model's weight in the final estimate.

    The recursion y_t = (1 - K_t/2) y_{t-1} + (K_t/2) h_t unrolls to a weighted sum of h_0, ..., h_T with the weights
    (K_t / 2) times the product of (1 - K_s / 2) over all later s, and K_0 / 2 read as 1.

    Examples
    --------
    >>> closed_form_coefficients(np.array([1.0, 0.5]))
    array([0.375, 0.375, 0.25 ])
    """
    share = np.concatenate([[1.0], gains / 2])
    kept_later = np.concatenate([np.cumprod((1.0 - gains / 2)[::-1])[::-1], [1.0]])
    return share * kept_later


class FilterTrace:
    """The fitted attributes of an estimator that is trained by :func:`run_filters`, and their figure."""

    n_iter_: int
    gains_: Weights
    variances_: Weights
    measurement_errors_: Weights
    train_errors_: Weights
    resets_: npt.NDArray[np.int64]
    weights_: Weights

    def _keep_trace(self, run: FilterRun) -> None:
        self.n_iter_ = len(run.gains)
        self.gains_ = run.gains
        self.variances_ = run.variances
        self.measurement_errors_ = run.errors
        self.train_errors_ = run.train_errors
        self.resets_ = run.resets
        self.weights_ = run.weights

    def plot_trace(self) -> Figure:
        """Draw the filter at work: gain, variance, measurement error and training error per measurement.

        Returns
        -------
        matplotlib.figure.Figure
            Show it in a notebook, or write it with ``savefig``.
        """
        from fuselearn.ensembles.trace import draw_trace

        check_is_fitted(self)
        return draw_trace(self)
