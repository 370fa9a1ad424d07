"""Steps of the Kalman-filter ensembles: measurement updates in place, and votes compared with the truth."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fuselearn import _core
from fuselearn._core import ClassFilters, compare_votes, pull, pull_halfway
from fuselearn.engines.exact import read_units

WEIGHTINGS = ("exponential", "linear", "symmetric")
"""How the weights of wrong samples are measured, see `measure_weights`."""
EXPONENTIAL, LINEAR, SYMMETRIC = range(3)

Floats = npt.NDArray[np.float64]


def compare_votes_in_units(
    estimate: Floats, votes: npt.NDArray[np.int32], truth: npt.NDArray[np.int32], fractions: Floats
) -> tuple[npt.NDArray[np.bool_], tuple[int, int, int]]:
    """Compare votes as `compare_votes` does, with exact sums in units of 2**-1074, for a part of the samples.

    Examples
    --------
    >>> votes, truth = np.array([0, 0], dtype=np.int32), np.array([0, 1], dtype=np.int32)
    >>> _, units = compare_votes_in_units(np.eye(2), votes, truth, np.array([0.75, 0.25]))
    >>> [count / 2**1074 for count in units]
    [0.25, 0.25, 0.0]
    """
    wrong, (error, vote_error, estimate_error) = _core.compare_votes_in_units(estimate, votes, truth, fractions)
    return wrong, (read_units(error), read_units(vote_error), read_units(estimate_error))


def measure_weights(
    weights: Floats, loss: npt.NDArray[np.bool_] | Floats, first_weights: Floats, n_samples: int, weighting: int
) -> Floats:
    """Compute the measurement of the sample weights, in which wrong samples count more.

    `weighting` is a position in `WEIGHTINGS`. Exponential: w_i exp(loss_i + 1/n), for n samples in all. Linear: 1/n +
    w_i loss_i, where 1/n is the initial weight. Symmetric: w_i exp(2 loss_i - 1). The caller scales the last two to
    sum to one.

    Examples
    --------
    >>> first = np.array([0.5, 0.5])
    >>> measure_weights(np.array([0.4, 0.6]), np.array([True, False]), first, 2, LINEAR)
    array([0.9, 0.5])
    """
    measure: Any = _core.measure_weights_of_wrong if loss.dtype == bool else _core.measure_weights
    return measure(weights, loss, first_weights, n_samples, weighting)


def update_weights(
    weights: Floats,
    loss: npt.NDArray[np.bool_] | Floats,
    first_weights: Floats,
    gain: float,
    weighting: int,
    *,
    is_exact: bool = False,
) -> None:
    """Pull weights, in place, towards those of :func:`measure_weights`, and scale them to sum to one.

    Parameters
    ----------
    weights, loss, first_weights, weighting
        As those of :func:`measure_weights`, for all samples.
    gain : float
        K in w <- w + K (z - w).
    is_exact : bool, default=False
        Whether sums do not depend on the order of the samples.

    Examples
    --------
    >>> weights = np.array([0.5, 0.5])
    >>> update_weights(weights, np.array([True, False]), weights.copy(), 1.0, SYMMETRIC)
    >>> weights.round(3)
    array([0.881, 0.119])
    """
    update: Any = _core.update_weights_of_wrong if loss.dtype == bool else _core.update_weights
    update(weights, loss, first_weights, gain, weighting, is_exact)
