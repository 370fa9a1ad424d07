"""Platt scaling: a sigmoid that turns decision values into probabilities.

    P(positive | f) = 1 / (1 + exp(slope f + offset))

minimises the cross entropy to targets slightly inside 0 and 1, by Newton's method with backtracking.

References
----------
J. Platt: Probabilistic outputs for support vector machines. Advances in Large Margin Classifiers, 1999.
H.-T. Lin, C.-J. Lin, R. C. Weng: A note on Platt's probabilistic outputs for support vector machines. Machine Learning
68, 2007.
"""

import numpy as np

from fuselearn._kernels import kernel

_MAX_STEPS = 100
_SMALLEST_STEP = 1e-10
_RIDGE = 1e-12
_GRADIENT = 1e-5


@kernel
def fit_sigmoid(values, signs, weights):  # type: ignore[no-untyped-def]
    """Fit the slope and the offset.

    Parameters
    ----------
    values : float64 array of shape (n,)
        Decision values.
    signs : float64 array of shape (n,)
        -1 or 1.
    weights : float64 array of shape (n,)
        How often each value counts.

    Returns
    -------
    slope, offset : float
    """
    n = len(values)
    positive = 0.0
    negative = 0.0
    for k in range(n):
        if signs[k] > 0:
            positive += weights[k]
        else:
            negative += weights[k]
    high = (positive + 1.0) / (positive + 2.0)
    low = 1.0 / (negative + 2.0)
    slope = 0.0
    offset = np.log((negative + 1.0) / (positive + 1.0))
    chances = np.empty(n)
    loss = _evaluate(values, signs, weights, high, low, slope, offset, chances)
    for _ in range(_MAX_STEPS):
        slope_slope, offset_offset, slope_offset = _RIDGE, _RIDGE, 0.0
        slope_change, offset_change = 0.0, 0.0
        for k in range(n):
            curvature = weights[k] * chances[k] * (1.0 - chances[k])
            slope_slope += values[k] * values[k] * curvature
            offset_offset += curvature
            slope_offset += values[k] * curvature
            excess = weights[k] * ((high if signs[k] > 0 else low) - chances[k])
            slope_change += values[k] * excess
            offset_change += excess
        if abs(slope_change) < _GRADIENT and abs(offset_change) < _GRADIENT:
            break
        determinant = slope_slope * offset_offset - slope_offset * slope_offset
        slope_step = -(offset_offset * slope_change - slope_offset * offset_change) / determinant
        offset_step = -(slope_slope * offset_change - slope_offset * slope_change) / determinant
        descent = slope_change * slope_step + offset_change * offset_step
        step = 1.0
        improved = False
        while step >= _SMALLEST_STEP:
            new_slope = slope + step * slope_step
            new_offset = offset + step * offset_step
            new_loss = _evaluate(values, signs, weights, high, low, new_slope, new_offset, chances)
            if new_loss < loss + 1e-4 * step * descent:
                slope, offset, loss = new_slope, new_offset, new_loss
                improved = True
                break
            step /= 2.0
        if not improved:
            break
    return slope, offset


@kernel
def _evaluate(values, signs, weights, high, low, slope, offset, chances):  # type: ignore[no-untyped-def]
    """Return the cross entropy, and write the probabilities into ``chances``."""
    loss = 0.0
    for k in range(len(values)):
        exponent = slope * values[k] + offset
        target = high if signs[k] > 0 else low
        small = np.exp(-abs(exponent))
        chances[k] = (small if exponent >= 0 else 1.0) / (1.0 + small)
        # log(1 + e^x) is x + log(1 + e^-x) where x is positive: neither side overflows.
        loss += weights[k] * (target * exponent + max(-exponent, 0.0) + np.log1p(small))
    return loss
