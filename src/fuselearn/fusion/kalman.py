"""A Kalman filter whose uncertainty is one number and whose state is an array of any shape, kept here or elsewhere."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from fuselearn._core import pull
from fuselearn._messages import show


class ScalarFilter:
    """The recursion of variance and gain, which does not depend on the state.

    In formulas, ::

        time update:         P <- a^2 P + Q,
        measurement update:  K = P / (P + R),     P <- (1 - K) P.

    So the state may be kept anywhere: in memory, on disk or on a cluster.

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


class KalmanFilter:
    """Estimate an array from noisy measurements of it.

    The estimate x has one variance P for all of its entries. Between measurements it may change, ::

        time update:         x <- a x,             P <- a^2 P + Q,

    and a measurement z with the error R pulls it towards z by the gain K, ::

        measurement update:  K  = P / (P + R),     x <- x + K (z - x),     P <- (1 - K) P.

    A measurement without error (R = 0) replaces the estimate and leaves no uncertainty; once P = 0, the gain is 0 even
    if R = 0.

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
        self._scalar = ScalarFilter(variance, process_noise, transition)

    @property
    def variance(self) -> float:
        """P, the variance of the estimate."""
        return self._scalar.variance

    @property
    def gain(self) -> float:
        """K of the last measurement update, NaN before the first."""
        return self._scalar.gain

    def predict(self) -> None:
        """Perform the time update."""
        self._scalar.predict()
        if self._scalar.transition != 1.0:
            self.state *= self._scalar.transition

    def update(self, measurement: npt.ArrayLike, error: float) -> float:
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
        gain = self._scalar.update(error)
        pull(self.state.ravel(), z.ravel(), gain)
        return gain
