"""Algorithm 1 of the KFHE paper: two Kalman filters side by side.

kf-m estimates the scores y of the training samples; its measurements are trained models h_t. kf-w estimates the weights
w by which the next model's training sample is drawn; it raises the weights of samples that are still wrong. The loop
knows neither classes nor labels: what is wrong, the :class:`Truth` says.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from fuselearn.engines.fusing import measure_weights, normalise
from fuselearn.filters import Halfway, KalmanFilter

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Scores = npt.NDArray[np.float64]
Weights = npt.NDArray[np.float64]


class Measurement(NamedTuple):
    """What a trained model says about the training samples."""

    z: Scores | Halfway
    """The mean of the estimate y and the model's scores."""
    loss: npt.NDArray[Any]
    """How wrong z is for each sample, from 0 to 1; bool where it is either right or wrong."""
    error: float
    """R, the weighted mean of the loss."""
    model_error: float
    """The same for the model alone."""
    estimate_error: float
    """The same for the estimate before the measurement."""


@dataclass(frozen=True)
class Truth:
    """The right answers for the training samples; subclasses say what is wrong.

    Parameters
    ----------
    shares : array of shape (n_samples,)
        What each sample counts; they sum to 1.
    """

    shares: Weights

    def losses(self, scores: Scores) -> npt.NDArray[Any]:
        """Return how wrong the scores of each sample are, from 0 to 1."""
        raise NotImplementedError

    def error(self, scores: Scores) -> float:
        """Return the weighted mean of the losses."""
        return float(self.shares @ self.losses(scores))

    def measure(self, y: Scores, h: Any) -> Measurement:
        """Compute the measurement z = (y + h) / 2 and its error."""
        scores = h.scores()
        z = 0.5 * (y + scores)
        loss = self.losses(z)
        return Measurement(z, loss, float(self.shares @ loss), self.error(scores), self.error(y))


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
    linear: bool = False,
    guessing_error: float = math.inf,
    announce: Callable[[int, Any], bool] = lambda t, h: False,
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
    linear : bool
        Whether weights are measured as in KFHE-l instead of KFHE-e.
    guessing_error : float
        A model with at least this error is discarded, once, and replaced by one drawn with the initial weights.
    announce : callable
        ``announce(t, h)`` is called after each measurement; training ends if it returns True.
    """
    run = start
    if not isinstance(start, FilterRun):
        h_0 = start
        run = FilterRun(KalmanFilter(h_0.scores(), 1.0), KalmanFilter(truth.shares, 1.0), [h_0])
    kf_m, kf_w = run.kf_m, run.kf_w
    for t, seed in enumerate([] if run.is_certain else seeds, start=len(run.models)):
        kf_m.predict()
        kf_w.predict()

        h = train(kf_w.state, seed)
        measured = truth.measure(kf_m.state, h)
        run.train_errors.append(measured.estimate_error)
        if measured.model_error >= guessing_error:
            kf_w.state[:], kf_w.variance = truth.shares, 1.0
            h = train(kf_w.state, seed + 1)
            measured = truth.measure(kf_m.state, h)
            run.resets.append(t)

        kf_m.update(measured.z, measured.error)
        kf_w.update(measure_weights(kf_w.state, measured.loss, truth.shares, linear), measured.error)
        normalise(kf_w.state)

        run.models.append(h)
        run.gains.append(kf_m.gain)
        run.variances.append(kf_m.variance)
        run.errors.append(measured.error)
        if announce(t, h) or run.is_certain:
            break
    return run


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

    def _keep_trace(self, run: FilterRun, truth: Truth) -> None:
        self.n_iter_ = len(run.gains)
        self.gains_ = np.array(run.gains)
        self.variances_ = np.array(run.variances)
        self.measurement_errors_ = np.array(run.errors)
        self.train_errors_ = np.array([*run.train_errors, truth.error(run.kf_m.state)])
        self.resets_ = np.array(run.resets, dtype=np.int64)
        self.weights_ = run.kf_w.state

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
