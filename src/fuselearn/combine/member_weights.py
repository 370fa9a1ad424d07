"""Weights of members that need no training: given by the user, or by how well each member does alone."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt

from fuselearn._messages import show
from fuselearn._parameters import check_choice

Weights = npt.NDArray[np.float64]


def read_member_weights(weights: npt.ArrayLike, n_members: int) -> Weights:
    """Check that there is a weight for each member, none negative, not all zero."""
    try:
        read = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"weights must be {n_members} numbers, one for each member, not {show(weights)}.") from error
    if read.shape != (n_members,):
        raise ValueError(f"weights must be {n_members} numbers, one for each member; their shape is {read.shape}.")
    if not np.isfinite(read).all() or (read < 0).any():
        raise ValueError(f"weights must be finite numbers of at least 0, not {read.tolist()}.")
    if not read.any():
        raise ValueError("weights are all zero; at least one member must count.")
    return read


def check_member_weights(weights: Any, kept: npt.NDArray[np.bool_]) -> Weights | None:
    """Check a ``weights`` parameter, which has an entry for each listed member, and take those of members not dropped.

    Weights by performance, not known yet, sum up to the number of members.
    """
    if weights is None:
        return None
    if isinstance(weights, str):
        check_choice("weights", weights, ("performance",))
        return np.ones(int(kept.sum()))
    return read_member_weights(read_member_weights(weights, len(kept))[kept], int(kept.sum()))


def accuracy_weights(accuracies: npt.ArrayLike, n_rows: int, n_classes: int) -> npt.NDArray[np.float64]:
    """Turn shares of right predictions into weights for votes.

    ::

        a_k = (accuracy_k n + 1) / (n + 2)
        w_k = max(0, log(a_k / (1 - a_k)) + log(C - 1)),  scaled to a sum of K

    A member that is no better than guessing gets 0. If none is, all get 1, with a warning.

    Examples
    --------
    >>> accuracy_weights([0.9, 0.7, 0.4], n_rows=1000, n_classes=2).round(2)
    array([2.16, 0.84, 0.  ])
    """
    smoothed = (np.asarray(accuracies) * n_rows + 1) / (n_rows + 2)
    weights = np.maximum(0.0, np.log(smoothed / (1 - smoothed)) + np.log(n_classes - 1))
    if not weights.any():
        warnings.warn("No member predicts better than a guess out of fold; all get the same weight.", stacklevel=2)
        return np.ones(len(weights))
    return weights * (len(weights) / weights.sum())


def inverse_error_weights(errors: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Turn mean squared errors into weights in inverse proportion, scaled to a sum of K.

    Examples
    --------
    >>> inverse_error_weights(np.array([1.0, 2.0, 4.0]))
    array([1.71428571, 0.85714286, 0.42857143])
    >>> inverse_error_weights(np.array([0.0, 1.0]))
    array([2., 0.])
    """
    smallest = errors.min()
    weights = smallest / errors if smallest > 0 else (errors == 0).astype(np.float64)
    return weights * (len(weights) / weights.sum())
