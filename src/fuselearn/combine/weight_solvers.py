"""Optimal weights for a sum of members.

For squared error, this is a least-squares problem, solved by non-negative least squares (Lawson and Hanson, 1974) under
constraints. Log loss is minimized by Newton's method, where each step is a problem of the same form. Any other loss is
minimized by SciPy's sequential least squares (SLSQP).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.linalg import null_space
from scipy.optimize import minimize, nnls
from sklearn.exceptions import ConvergenceWarning

Array = npt.NDArray[np.float64]

MAX_STEPS = 100
SMALLEST_PROBABILITY = 1e-15


def least_squares_weights(outputs: Array, target: Array, constraint: str | None, shrinkage: float = 0.0) -> Array:
    """Minimize |outputs w - target|^2 + shrinkage sum_k (w_k - 1/K)^2.

    Parameters
    ----------
    outputs : array of shape (n_samples, n_members)
    target : array of shape (n_samples,)
    constraint : {None, "non-negative", "simplex"}
        Constraint on the weights: None, non-negative, or non-negative with sum 1.
    shrinkage : float, default=0.0
        From 0 to infinity, where all weights are 1/K.

    Returns
    -------
    array of shape (n_members,)

    Examples
    --------
    >>> outputs, target = np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([2.0, -1.0])
    >>> for constraint in (None, "non-negative", "simplex"):
    ...     print(least_squares_weights(outputs, target, constraint))
    [ 2. -1.]
    [2. 0.]
    [1. 0.]
    """
    n_members = outputs.shape[1]
    if np.isinf(shrinkage):
        return np.full(n_members, 1 / n_members)
    return _SOLVERS[constraint](*_append_shrinkage(outputs, target, shrinkage))


def log_loss_weights(probabilities: Array, fractions: Array, constraint: str | None, shrinkage: float = 0.0) -> Array:
    """Minimize -sum_i fractions_i log(sum_k w_k p_ik) + shrinkage sum_k (w_k - 1/K)^2 over weights of sum 1.

    Newton's method replaces the loss by its quadratic model around the last weights, the least-squares problem with
    samples p_i / (p_i w) and the target 2, and shortens a step that does not lower the loss. The logarithm is
    self-concordant, so this ends at the minimum.

    Parameters
    ----------
    probabilities : array of shape (n_samples, n_members)
        Probabilities of the correct classes by each member, clipped at 1e-15.
    fractions : array of shape (n_samples,)
        Weights of the samples, of sum 1.
    constraint : {None, "non-negative", "simplex"}
        Whether weights can be negative (None). The other two are the same here, since the sum is always 1.
    shrinkage : float, default=0.0
        From 0 to infinity, where all weights are 1/K.

    Returns
    -------
    array of shape (n_members,)

    Examples
    --------
    One member gives 0.9 to the correct class of three samples, another one to that of the fourth:

    >>> probabilities = np.array([[0.9, 0.1], [0.9, 0.1], [0.9, 0.1], [0.1, 0.9]])
    >>> log_loss_weights(probabilities, np.full(4, 0.25), "simplex")
    array([0.8125, 0.1875])
    """
    n_members = probabilities.shape[1]
    weights = np.full(n_members, 1 / n_members)
    if np.isinf(shrinkage) or n_members == 1:
        return weights
    counted = fractions > 0
    table = np.maximum(probabilities[counted], SMALLEST_PROBABILITY)
    roots = np.sqrt(fractions[counted])
    solve = _sum_to_one if constraint is None else _simplex

    def loss(weights: Array) -> float:
        mixed = table @ weights
        if not (mixed > 0).all():
            return np.inf
        return float(-(roots**2) @ np.log(mixed) + shrinkage * ((weights - 1 / n_members) ** 2).sum())

    now = loss(weights)
    for _ in range(MAX_STEPS):
        scale = roots / (table @ weights)
        model = _append_shrinkage(table * scale[:, None], 2 * roots, 2 * shrinkage)
        step = solve(*model) - weights
        slope = -(scale * roots) @ (table @ step) + 2 * shrinkage * (weights - 1 / n_members) @ step
        if slope > -1e-14 * max(1.0, abs(now)):
            break
        length = 1.0
        while (then := loss(weights + length * step)) > now + 1e-4 * length * slope and length > 1e-10:
            length /= 2
        if then >= now:
            break
        weights, now = weights + length * step, then
    return weights


def any_loss_weights(
    loss: Callable[[Array], float], n_members: int, constraint: str | None, shrinkage: float = 0.0
) -> Array:
    """Minimize loss(w) / loss(1/K) + shrinkage sum_k (w_k - 1/K)^2, starting from equal weights.

    Parameters
    ----------
    loss : callable
        Mean loss of the sum with some weights.
    n_members : int
    constraint : {None, "non-negative", "simplex"}
        Constraint on the weights: None, non-negative, or non-negative with sum 1.
    shrinkage : float, default=0.0
        From 0 to infinity, where all weights are 1/K.

    Returns
    -------
    array of shape (n_members,)

    Examples
    --------
    >>> any_loss_weights(lambda w: (w[0] - 0.7) ** 2 + (w[1] - 0.7) ** 2, 2, "simplex")
    array([0.5, 0.5])
    """
    equal = np.full(n_members, 1 / n_members)
    unit = abs(loss(equal)) or 1.0
    if np.isinf(shrinkage):
        return equal
    found = minimize(
        lambda weights: loss(weights) / unit + shrinkage * ((weights - equal) ** 2).sum(),
        equal,
        method="SLSQP",
        bounds=None if constraint is None else [(0.0, None)] * n_members,
        constraints=[{"type": "eq", "fun": lambda weights: weights.sum() - 1.0}] if constraint == "simplex" else [],
        options={"maxiter": 1_000, "ftol": 1e-9},
    )
    if not found.success:
        warnings.warn(f"The weights may not be optimal: {found.message}.", ConvergenceWarning, stacklevel=2)
    return found.x


def _append_shrinkage(outputs: Array, target: Array, shrinkage: float) -> tuple[Array, Array]:
    """Reduce a least-squares problem to K + 1 samples, and append K samples that shrink the weights toward 1/K."""
    n_members = outputs.shape[1]
    corner: Array = np.linalg.qr(np.column_stack([outputs, target]), mode="r")  # type: ignore[assignment]
    if shrinkage == 0:
        return corner[:, :-1], corner[:, -1]
    pull = np.sqrt(shrinkage)
    rows = np.vstack([corner[:, :-1], pull * np.eye(n_members)])
    return rows, np.append(corner[:, -1], np.full(n_members, pull / n_members))


def _free(outputs: Array, target: Array) -> Array:
    """Solve without a constraint; of several solutions, return the one closest to 1/K."""
    equal = np.full(outputs.shape[1], 1 / outputs.shape[1])
    return equal + np.linalg.lstsq(outputs, target - outputs @ equal)[0]


def _sum_to_one(outputs: Array, target: Array) -> Array:
    """Solve for weights of any sign whose sum is 1."""
    n_members = outputs.shape[1]
    equal = np.full(n_members, 1 / n_members)
    directions = null_space(np.ones((1, n_members)))
    return equal + directions @ np.linalg.lstsq(outputs @ directions, target - outputs @ equal)[0]


def _non_negative(outputs: Array, target: Array) -> Array:
    return nnls(outputs, target, maxiter=30 * outputs.shape[1])[0]


def _simplex(outputs: Array, target: Array) -> Array:
    """Solve for weights that are not negative and have the sum 1, by non-negative least squares.

    If w has the sum 1, then outputs w - target = B w with B = outputs - target 1'. The solution u of

        minimize |B u|^2 + c^2 (sum u - 1)^2  over u >= 0

    is a multiple of the w sought: for u = s w the best s leaves |B w|^2 c^2 / (|B w|^2 + c^2), which grows with |B w|.
    """
    residuals = outputs - target[:, None]
    size = float(np.sqrt((residuals**2).sum(axis=0).min()))
    if size == 0:  # some members have no error
        perfect = (residuals == 0).all(axis=0)
        return perfect / perfect.sum()
    rows = np.vstack([residuals / size, np.ones(outputs.shape[1])])
    scaled = _non_negative(rows, np.append(np.zeros(len(outputs)), 1.0))
    return scaled / scaled.sum()


_SOLVERS: dict[str | None, Any] = {None: _free, "non-negative": _non_negative, "simplex": _simplex}
