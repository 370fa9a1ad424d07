"""Algorithm 1 of the KFHE paper: two Kalman filters side by side.

kf-m estimates the scores y of the training samples; its measurements are trained models h_t. kf-w estimates the weights
w by which the next model's training sample is drawn; it raises the weights of samples that are still wrong. The loop
knows neither classes nor labels: what is wrong, the :class:`Truth` says.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from fuselearn.engines.filters import WEIGHTINGS, update_weights
from fuselearn.ensembles.components import refuse_other_size
from fuselearn.fusion import Halfway, ImplicitMeasurement, KalmanFilter

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Scores = npt.NDArray[np.float64]
Weights = npt.NDArray[np.float64]


class Errors(NamedTuple):
    """How wrong a measurement is."""

    error: float
    """R, the weighted mean of the loss."""
    model_error: float
    """The same for the model alone."""
    estimate_error: float
    """The same for the estimate before the measurement."""


class Measurement(NamedTuple):
    """What a trained model says about the training samples."""

    z: Scores | Halfway
    """The mean of the estimate y and the model's scores."""
    loss: npt.NDArray[Any]
    """How wrong z is for each sample, from 0 to 1; bool where it is either right or wrong."""
    errors: Errors


class Filters(Protocol):
    """kf-m and kf-w, as the loop sees them."""

    def predict(self) -> None:
        """Perform the time update of both."""
        ...

    def train(self, seed: int) -> Any:
        """Train a model on a sample drawn by the weights."""
        ...

    def measure(self, h: Any) -> Errors:
        """Compute the errors of the measurement z = (y + h) / 2."""
        ...

    def reset(self) -> None:
        """Let kf-w begin again, with the initial weights."""
        ...

    def update(self, h: Any, error: float) -> tuple[float, float]:
        """Perform the measurement update of both, with the model measured last; return gain and variance of kf-m."""
        ...


@dataclass(frozen=True)
class Truth:
    """The right answers for the training samples; subclasses say what is wrong.

    Parameters
    ----------
    shares : array of shape (n_samples,)
        What each sample counts; they sum to 1.
    """

    shares: Weights

    is_exact: ClassVar[bool] = False
    """Whether sums do not depend on the order of the samples."""

    def losses(self, scores: Scores) -> npt.NDArray[Any]:
        """Return how wrong the scores of each sample are, from 0 to 1."""
        raise NotImplementedError

    def mean(self, loss: npt.NDArray[Any]) -> float:
        """Return the weighted mean of losses."""
        return float(self.shares @ loss)

    def error(self, scores: Scores) -> float:
        """Return the weighted mean of the losses of scores."""
        return self.mean(self.losses(scores))

    def measure(self, y: Scores, h: Any) -> Measurement:
        """Compute the measurement z = (y + h) / 2 and its error."""
        scores = h.scores()
        z = 0.5 * (y + scores)
        loss = self.losses(z)
        return Measurement(z, loss, Errors(self.mean(loss), self.error(scores), self.error(y)))


@dataclass
class FilterRun:
    """Both filters, the models that they have taken in, and the trace of it."""

    kf_m: KalmanFilter
    kf_w: KalmanFilter
    models: list[Any]
    gains: list[float] = field(default_factory=list)
    variances: list[float] = field(default_factory=list)
    errors: list[float] = field(default_factory=list)
    train_errors: list[float] = field(default_factory=list)
    resets: list[int] = field(default_factory=list)

    @property
    def is_certain(self) -> bool:
        """Whether the last gain was 0: then no measurement can change the estimate any more."""
        return bool(self.gains) and self.gains[-1] == 0.0


def train_kfhe(
    start: Any,
    train: Callable[[Weights, int], Any],
    truth: Truth,
    seeds: list[int],
    *,
    weighting: str = "exponential",
    guessing_error: float = math.inf,
    announce: Callable[..., bool] = lambda t, h, **facts: False,
) -> FilterRun:
    """Train one model per seed, each on a sample drawn by the weights of kf-w, and fuse them by kf-m.

    Parameters
    ----------
    start : Component or FilterRun
        h_0, the model trained on all samples, whose scores are the first estimate; or an earlier run to continue.
    train : callable
        ``train(weights, seed)`` returns a model trained on samples drawn by the weights.
    truth : Truth
        What measurements are compared with; its shares are the initial weights.
    seeds : list of int
        One for each measurement.
    weighting : {"exponential", "linear", "symmetric"}
        How the weights are measured, see `measure_weights`.
    guessing_error : float
        A model with at least this error is discarded, once, and replaced by one drawn with the initial weights.
    announce : callable
        ``announce(t, h, error=..., gain=...)`` is called after each measurement; training ends if it returns True.
    """
    run = start
    if not isinstance(start, FilterRun):
        h_0 = start
        run = FilterRun(KalmanFilter(h_0.scores(), 1.0), KalmanFilter(truth.shares, 1.0), [h_0])
    filters = ArrayFilters(run.kf_m, run.kf_w, train, truth, weighting=weighting)
    return run_filters(filters, run, seeds, guessing_error=guessing_error, announce=announce)


def run_filters(
    filters: Filters, run: FilterRun, seeds: list[int], *, guessing_error: float, announce: Callable[..., bool]
) -> FilterRun:
    """Do the work of :func:`train_kfhe`, wherever the states of the filters are kept."""
    for t, seed in enumerate([] if run.is_certain else seeds, start=len(run.models)):
        filters.predict()

        h = filters.train(seed)
        errors = filters.measure(h)
        run.train_errors.append(errors.estimate_error)
        if errors.model_error >= guessing_error:
            filters.reset()
            h = filters.train(seed + 1)
            errors = filters.measure(h)
            run.resets.append(t)

        gain, variance = filters.update(h, errors.error)

        run.models.append(h)
        run.gains.append(gain)
        run.variances.append(variance)
        run.errors.append(errors.error)
        if announce(t, h, error=errors.error, gain=gain) or run.is_certain:
            break
    return run


class ArrayFilters:
    """The filters with their states in memory."""

    def __init__(
        self,
        kf_m: KalmanFilter,
        kf_w: KalmanFilter,
        train: Callable[[Weights, int], Any],
        truth: Truth,
        *,
        weighting: str,
    ) -> None:
        self.kf_m, self.kf_w, self.truth = kf_m, kf_w, truth
        self.weighting = WEIGHTINGS.index(weighting)
        self.train_on = train

    def predict(self) -> None:
        """Perform the time update of both."""
        self.kf_m.predict()
        self.kf_w.predict()

    def train(self, seed: int) -> Any:
        """Train a model on a sample drawn by the weights."""
        return self.train_on(self.kf_w.state, seed)

    def measure(self, h: Any) -> Errors:
        """Compute the errors of the measurement."""
        self.measured = self.truth.measure(self.kf_m.state, h)
        return self.measured.errors

    def reset(self) -> None:
        """Let kf-w begin again, with the initial weights."""
        self.kf_w.state[:], self.kf_w.variance = self.truth.shares, 1.0

    def update(self, h: Any, error: float) -> tuple[float, float]:
        """Perform the measurement update of both."""
        self.kf_m.update(self.measured.z, error)
        self.kf_w.update(RaisedWeights(self.measured.loss, self.truth, self.weighting), error)
        return self.kf_m.gain, self.kf_m.variance


class RaisedWeights(ImplicitMeasurement):
    """The measurement of the weights w by kf-w, in which wrong samples count more.

    Parameters
    ----------
    loss : array of shape (n_samples,)
        How wrong each sample is, from 0 to 1.
    truth : Truth
    weighting : int
        How much more they count, see `measure_weights`.
    """

    __slots__ = ("loss", "truth", "weighting")

    def __init__(self, loss: npt.NDArray[Any], truth: Truth, weighting: int) -> None:
        self.loss, self.truth, self.weighting = loss, truth, weighting

    def pull(self, state: Weights, gain: float) -> None:
        """Compute w <- w + K (z - w) in place, and scale w to sum to one."""
        update_weights(state, self.loss, self.truth.shares, gain, self.weighting, is_exact=self.truth.is_exact)


def closed_form_coefficients(gains: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return each model's weight in the final estimate.

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
    """The fitted attributes of an estimator that is trained by :func:`train_kfhe`, and their figure."""

    n_iter_: int
    gains_: Weights
    variances_: Weights
    measurement_errors_: Weights
    train_errors_: Weights
    resets_: npt.NDArray[np.int64]
    weights_: Weights
    _run_: FilterRun  # without its models; kept by ``warm_start``
    _components_: Sequence[Any]

    def _keep_trace(self, run: FilterRun, last_error: float) -> None:
        """Keep the trace of a run, after which the estimate has this error."""
        self.n_iter_ = len(run.gains)
        self.gains_ = np.array(run.gains)
        self.variances_ = np.array(run.variances)
        self.measurement_errors_ = np.array(run.errors)
        self.train_errors_ = np.array([*run.train_errors, last_error])
        self.resets_ = np.array(run.resets, dtype=np.int64)
        self.weights_ = run.kf_w.state

    def _earlier_run(self, n_samples: int) -> FilterRun:
        """Return the filters as the last fit has left them, to be continued."""
        refuse_other_size(len(self.weights_), n_samples)
        return replace(self._run_, models=list(self._components_))

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
