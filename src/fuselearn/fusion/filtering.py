"""Kalman filters with a scalar variance, and Algorithm 1 of the KFHE paper, which runs two of them in parallel.

kf-m estimates the scores y of the training samples; its measurements are trained models h_t. kf-w estimates the weights
w for drawing the training samples of the next model; it raises the weights of misclassified samples. The loop works for
multi-class and multi-label data: :class:`Truth` defines the loss. It only handles scalars, the gains and variances:
:class:`States` stores y and w, in memory or in parts.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from fuselearn._core import pull, pull_halfway, update_weights
from fuselearn._messages import show
from fuselearn._parameters import check_choice
from fuselearn.fusion.problem import never_stop

WEIGHTINGS = ("exponential", "linear", "symmetric", "printed exponential", "printed linear")
"""How the weights of misclassified samples increase; the core uses the indices of this order."""
VARIANTS = ("program", "paper")
"""The authors' program, or the algorithm printed in the paper."""
MOST_REPEATS = 100
"""Maximum number of repetitions of a measurement where the paper has no limit."""

Scores = npt.NDArray[np.float64]
Weights = npt.NDArray[np.float64]


class ScalarFilter:
    """The recursion of variance and gain, which does not depend on the state.

    ::

        time update:         P <- a^2 P + Q,
        measurement update:  K = P / (P + R),     P <- (1 - K) P.

    The state may therefore be stored anywhere: in memory, on disk or on a cluster.

    Parameters
    ----------
    variance : float
        P, the variance of the initial estimate.
    process_noise : float
        Q, the variance added by every time update.
    transition : float
        a, the factor of the time update.

    Attributes
    ----------
    variance : float
    gain : float
        K of the last measurement update, NaN before the first.

    Examples
    --------
    >>> recursion = ScalarFilter(variance=1.0)
    >>> recursion.update(error=1.0), recursion.update(error=1.0)
    (0.5, 0.3333333333333333)
    """

    def __init__(self, variance: float = 1.0, process_noise: float = 0.0, transition: float = 1.0) -> None:
        for name, number in (("variance", variance), ("process_noise", process_noise)):
            if not 0 <= number < math.inf:
                raise ValueError(f"{name} must be a finite number of at least 0, not {show(number)}.")
        if not math.isfinite(transition):
            raise ValueError(f"transition must be a finite number, not {show(transition)}.")
        self.variance = float(variance)
        self.process_noise = float(process_noise)
        self.transition = float(transition)
        self.gain = np.nan

    def predict(self) -> None:
        """Perform the time update."""
        self.variance = self.transition**2 * self.variance + self.process_noise

    def update(self, error: float) -> float:
        """Perform the measurement update for a measurement with variance R, and return the gain."""
        if not 0 <= error < math.inf:
            raise ValueError(f"error must be a finite number of at least 0, not {show(error)}.")
        uncertainty = self.variance + error
        self.gain = self.variance / uncertainty if uncertainty > 0 else 0.0
        self.variance -= self.gain * self.variance
        return self.gain


class KalmanFilter(ScalarFilter):
    """Estimate an array from noisy measurements of it.

    The estimate x has a common variance P for all of its entries. It may change between measurements, ::

        time update:         x <- a x,             P <- a^2 P + Q,

    and a measurement z with variance R moves it toward z by the gain K, ::

        measurement update:  K  = P / (P + R),     x <- x + K (z - x),     P <- (1 - K) P.

    A measurement without error (R = 0) replaces the estimate and sets P to 0. Once P = 0, the gain is 0 even if R = 0.

    Parameters
    ----------
    state : array
        Initial estimate; copied.
    variance : float
        Variance P of the initial estimate.
    process_noise : float
        Q, the variance added by every time update.
    transition : float
        a, the factor of the time update.

    Attributes
    ----------
    state : array
        The estimate.
    variance : float
        Its variance.
    gain : float
        Gain of the last measurement update, NaN before the first.

    See Also
    --------
    fuselearn.KFHEClassifier : An ensemble whose members are measurements for this filter.

    Examples
    --------
    Three equally good measurements are averaged with the first estimate:

    >>> kf = KalmanFilter(np.array([0.0]), variance=1.0)
    >>> for z in (4.0, 8.0, 12.0):
    ...     _ = kf.update(np.array([z]), error=1.0)
    >>> kf.state, kf.variance
    (array([6.]), 0.25)

    References
    ----------
    Kalman, R. E. (1960). A new approach to linear filtering and prediction problems. Journal of Basic Engineering
    82(1), 35-45.
    """

    def __init__(
        self, state: npt.ArrayLike, variance: float = 1.0, process_noise: float = 0.0, transition: float = 1.0
    ) -> None:
        self.state: npt.NDArray[np.float64] = np.array(state, dtype=np.float64, order="C")
        super().__init__(variance, process_noise, transition)

    def predict(self) -> None:
        """Perform the time update."""
        super().predict()
        if self.transition != 1.0:
            self.state *= self.transition

    def update(self, measurement: npt.ArrayLike, error: float) -> float:  # type: ignore[override]
        """Perform the measurement update and return the gain.

        Parameters
        ----------
        measurement : array
            z, of the state's shape.
        error : float
            R, the measurement's variance.
        """
        z = np.ascontiguousarray(measurement, dtype=np.float64)
        if z.shape != self.state.shape:
            raise ValueError(f"measurement has shape {z.shape}; the state has shape {self.state.shape}.")
        gain = super().update(error)
        pull(self.state.ravel(), z.ravel(), gain)
        return gain


class Errors(NamedTuple):
    """Errors of a measurement."""

    error: float
    """R, the weighted mean of the loss."""
    model_error: float
    """Weighted mean of the loss of the model alone."""
    estimate_error: float
    """Weighted mean of the loss of the estimate before the measurement."""


class Measurement(NamedTuple):
    """The measurement z by a trained model: the mean of the estimate y and the model's scores."""

    z: Scores | None
    """None for a model that votes, as z = (y + one_hot(votes)) / 2 is then not stored."""
    votes: npt.NDArray[np.int32] | None
    loss: npt.NDArray[Any]
    """Loss of z for each sample, from 0 to 1; Boolean for the zero-one loss."""
    errors: Any

    def pull(self, y: Scores, gain: float) -> None:
        """Compute y <- y + K (z - y) in place."""
        if self.votes is not None:
            pull_halfway(y, self.votes, gain)
        else:
            assert self.z is not None, "a measurement has either votes or scores"
            pull(y.ravel(), self.z.ravel(), gain)


class States(Protocol):
    """Interface to the states of kf-m and kf-w, in memory or elsewhere, and to the models that measure them."""

    def train(self, seed: int) -> Any:
        """Train a model on samples drawn with the weights."""
        ...

    def measure(self, h: Any) -> Errors:
        """Compute the errors of the measurement z = (y + h) / 2."""
        ...

    def out_of_bag_error(self) -> float:
        """Add the votes of the last measured model, and return the weighted error of the out-of-bag votes."""
        ...

    def reset(self) -> None:
        """Reset the weights to their initial values."""
        ...

    def update(self, h: Any, gain: float, weights_gain: float) -> None:
        """Update the estimate and the weights with the last measurement."""
        ...


@dataclass(frozen=True)
class Truth:
    """The true target of the training samples; subclasses define the loss.

    Parameters
    ----------
    shares : array of shape (n_samples,)
        Weight of each sample; they sum to 1.
    """

    shares: Weights

    is_exact: bool = field(default=False, kw_only=True)
    """Whether sums are exact, so that they depend neither on the order of the samples nor on their storage."""

    def losses(self, scores: Scores) -> npt.NDArray[Any]:
        """Return the loss of the scores of each sample, from 0 to 1."""
        raise NotImplementedError

    def mean(self, loss: npt.NDArray[Any]) -> float:
        """Return the weighted mean of losses."""
        return float(self.shares @ loss)

    def error(self, scores: Scores) -> float:
        """Return the weighted mean of the losses of scores."""
        return self.mean(self.losses(scores))

    def measure(self, y: Scores, scores: Scores) -> Measurement:
        """Compute the measurement z = (y + h) / 2 from the scores of a model, and its error."""
        z = 0.5 * (y + scores)
        loss = self.losses(z)
        return Measurement(z, None, loss, Errors(self.mean(loss), self.error(scores), self.error(y)))


@dataclass(frozen=True)
class ResetRule:
    """When the weights and the variance of kf-w are reset to their initial values."""

    guessing_error: float = math.inf
    """A model with at least this training error is replaced by one trained on samples drawn with initial weights."""
    out_of_bag_error: float = math.inf
    """The weights are also reset if the weighted error of the out-of-bag votes of all models is at least this: the
    weights then emphasize samples that cannot be learned. No model is replaced."""
    most_repeats: int = 1
    """Maximum number of replacements of a model; the last one is kept, whatever its error."""
    is_limited: bool = True
    """Whether the algorithm has this limit; otherwise reaching it raises an error."""


NEVER = ResetRule()


@dataclass
class FilterRun:
    """Both filters, the models fused so far, and the trace."""

    models: list[Any]
    kf_m: ScalarFilter = field(default_factory=ScalarFilter)
    kf_w: ScalarFilter = field(default_factory=ScalarFilter)
    gains: list[float] = field(default_factory=list)
    variances: list[float] = field(default_factory=list)
    errors: list[float] = field(default_factory=list)
    train_errors: list[float] = field(default_factory=list)
    resets: list[int] = field(default_factory=list)

    @property
    def is_certain(self) -> bool:
        """Whether the last gain was 0, so that no measurement can change the estimate anymore."""
        return bool(self.gains) and self.gains[-1] == 0.0

    def trace(self, last_error: float, sample_weights: Weights) -> dict[str, Any]:
        """Return the fitted attributes, given the error of the final estimate."""
        return {
            "n_iter_": len(self.gains),
            "gains_": np.array(self.gains),
            "variances_": np.array(self.variances),
            "measurement_errors_": np.array(self.errors),
            "train_errors_": np.array([*self.train_errors, last_error]),
            "resets_": np.array(self.resets, dtype=np.int64),
            "sample_weights_": sample_weights,
        }


def check_weighting(weighting: Any, variant: str) -> None:
    """Raise an error for a weighting that is unknown or not available for the variant."""
    check_choice("weighting", weighting, WEIGHTINGS[:3])
    if variant == "paper" and weighting == "symmetric":
        raise ValueError('weighting="symmetric" is only available with variant="program".')


def run_filters(
    states: States,
    run: FilterRun,
    seeds: list[int],
    *,
    reset: ResetRule = NEVER,
    on_iteration: Callable[..., bool] = never_stop,
) -> FilterRun:
    """Train one model per seed, each on samples drawn with the weights of kf-w, and fuse them with kf-m.

    Parameters
    ----------
    states : States
    run : FilterRun
        Contains h_0, whose scores are the first estimate, or the models of a previous fit; it is updated in place.
    seeds : list of int
        One for each measurement.
    reset : ResetRule
    on_iteration : callable
        ``on_iteration(t, h, error=..., gain=...)`` is called after each measurement; training ends if it returns True.
    """
    for t, seed in enumerate([] if run.is_certain else seeds, start=len(run.models)):
        run.kf_m.predict()
        run.kf_w.predict()

        h = states.train(seed)
        errors = states.measure(h)
        run.train_errors.append(errors.estimate_error)
        for repeat in range(reset.most_repeats):
            if errors.model_error < reset.guessing_error:
                break
            states.reset()
            run.kf_w.variance = 1.0
            h = states.train(seed + 1 + repeat)
            errors = states.measure(h)
            run.resets.append(t)
        if errors.model_error >= reset.guessing_error and not reset.is_limited:
            raise ValueError(
                f"{reset.most_repeats} consecutive models were no better than guessing, and the algorithm of the paper "
                'has no limit. Use another estimator, or variant="program", which repeats a measurement once.'
            )

        gain = run.kf_m.update(errors.error)
        if reset.out_of_bag_error < math.inf and states.out_of_bag_error() >= reset.out_of_bag_error:
            states.update(h, gain, 0.0)
            states.reset()
            run.kf_w.variance = 1.0
            run.resets.append(t + 1)
        else:
            states.update(h, gain, run.kf_w.update(errors.error))

        run.models.append(h)
        run.gains.append(gain)
        run.variances.append(run.kf_m.variance)
        run.errors.append(errors.error)
        if on_iteration(t, h, error=errors.error, gain=gain) or run.is_certain:
            break
    return run


class ArrayStates:
    """The states y and w as arrays in memory.

    Parameters
    ----------
    y : array of shape (n_samples, n_columns)
        The first estimate.
    truth : Truth
        The true target; its ``shares`` are the initial weights.
    train : callable
        ``train(weights, seed)`` returns a model trained on samples drawn with the weights.
    measure : callable
        ``measure(y, h)`` returns the :class:`Measurement` of a model.
    weighting : str
        One of `WEIGHTINGS`.
    out_of_bag_error : callable, optional
        ``out_of_bag_error(votes, w)`` adds the votes of a model, and returns the weighted error of the out-of-bag
        votes.
    w : array of shape (n_samples,), optional
        Weights of a previous fit.
    """

    def __init__(
        self,
        y: Scores,
        truth: Truth,
        train: Callable[[Weights, int], Any],
        measure: Callable[[Scores, Any], Measurement],
        *,
        weighting: str,
        out_of_bag_error: Callable[[Any, Weights], float] | None = None,
        w: Weights | None = None,
    ) -> None:
        self.judge = out_of_bag_error
        self.y, self.truth = np.array(y, dtype=np.float64, order="C"), truth
        self.w = truth.shares.copy() if w is None else w
        self.train_on, self.compare = train, measure
        self.weighting = WEIGHTINGS.index(weighting)

    def train(self, seed: int) -> Any:
        """Train a model on samples drawn with the weights."""
        return self.train_on(self.w, seed)

    def measure(self, h: Any) -> Errors:
        """Compute the errors of the measurement by a model."""
        self.model, self.measured = h, self.compare(self.y, h)
        return self.measured.errors

    def out_of_bag_error(self) -> float:
        """Add the votes of the last measured model, and return the weighted error of the out-of-bag votes."""
        assert self.judge is not None, "the reset rule needs out-of-bag votes"
        return self.judge(self.model, self.w)

    def reset(self) -> None:
        """Reset the weights to their initial values."""
        self.w[:] = self.truth.shares

    def update(self, h: Any, gain: float, weights_gain: float) -> None:
        """Move y toward z, and w toward higher weights of wrong samples; w is normalized to a sum of one."""
        self.measured.pull(self.y, gain)
        update_weights(
            self.w, self.measured.loss, self.truth.shares, weights_gain, self.weighting, is_exact=self.truth.is_exact
        )


def closed_form_coefficients(gains: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the weight of each model in the final estimate.

    The recursion y_t = (1 - K_t/2) y_{t-1} + (K_t/2) h_t unrolls to a weighted sum of h_0, ..., h_T with the weights
    (K_t / 2) times the product of (1 - K_s / 2) over all s > t, where K_0 / 2 is replaced by 1.

    Examples
    --------
    >>> closed_form_coefficients(np.array([1.0, 0.5]))
    array([0.375, 0.375, 0.25 ])
    """
    factors = np.concatenate([[1.0], gains / 2])
    kept_later = np.concatenate([np.cumprod((1.0 - gains / 2)[::-1])[::-1], [1.0]])
    return factors * kept_later
