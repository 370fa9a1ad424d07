"""Sequential minimal optimisation of a weighted support vector machine.

With signs y_i of -1 or 1, kernel values K_ij and an upper bound c_i per row, the solver maximises

    sum_i y_i b_i - 1/2 sum_ij b_i b_j K_ij,   where   sum_i b_i = 0   and   0 <= y_i b_i <= c_i.

The coefficients b_i are those of the decision function f(x) = sum_i b_i K(x, x_i) + intercept. A row drawn w times has
the bound c_i = C w: the optimum is the same as with w copies of it. The residual r_i = y_i - sum_j b_j K_ij is the
gradient. At the optimum no residual of a row that may rise exceeds that of a row that may fall. Each step moves one
such pair, the second of the two chosen for the largest gain.

References
----------
R.-E. Fan, P.-H. Chen, C.-J. Lin: Working set selection using second order information for training support vector
machines. Journal of Machine Learning Research 6, 2005.
"""

import numpy as np

from fuselearn._kernels import kernel, vectorised

TOLERANCE = 1e-3
_CHUNK = 128
_SMALLEST_CURVATURE = np.float32(1e-12)


@kernel
def solve(gram, signs, bounds, start, max_steps, tolerance):  # type: ignore[no-untyped-def]
    """Train one support vector machine.

    Parameters
    ----------
    gram : float32 array of shape (n_rows, n_rows)
    signs : float64 array of shape (n_rows,)
        -1 or 1.
    bounds : float64 array of shape (n_rows,)
        C times the weight of each row.
    start : float64 array of shape (n_rows,)
        Coefficients to start from. They must sum to zero and keep to the bounds.
    max_steps : int
    tolerance : float

    Returns
    -------
    coefficients : float64 array of shape (n_rows,)
    residuals : float64 array of shape (n_rows,)
        y - K b, so that the decision values are y - residuals + intercept.
    intercept : float
    converged : bool
    """
    coefficients = start.copy()
    residuals = signs.copy()
    for j in range(len(start)):
        if start[j] != 0.0:
            add_row(residuals, gram[j], -start[j])
    converged = improve(gram, signs, bounds, coefficients, residuals, max_steps, tolerance)
    return coefficients, residuals, find_intercept(signs, bounds, coefficients, residuals), converged


@kernel
def improve(gram, signs, bounds, coefficients, residuals, max_steps, tolerance):  # type: ignore[no-untyped-def]
    """Move pairs of coefficients, in place, until the optimum is reached or the steps are used up."""
    n = len(signs)
    diagonal = np.empty(n, dtype=np.float32)
    no_rise = np.empty(n)
    no_fall = np.empty(n)
    for k in range(n):
        diagonal[k] = gram[k, k]
        _mark_limits(k, signs, bounds, coefficients, no_rise, no_fall)
    i = 0
    j = 0
    move = 0.0
    for _ in range(max_steps + 1):
        i, highest = _move_and_find_highest(residuals, no_rise, gram[i], gram[j], move)
        j, gap = _find_partner(residuals, no_fall, diagonal, gram[i], diagonal[i], highest)
        if not gap > tolerance:
            return True
        curvature = max(gram[i, i] + gram[j, j] - np.float32(2) * gram[i, j], _SMALLEST_CURVATURE)
        move = (residuals[i] - residuals[j]) / curvature
        room_up = (bounds[i] if signs[i] > 0 else 0.0) - coefficients[i]
        room_down = coefficients[j] - (0.0 if signs[j] > 0 else -bounds[j])
        if room_up <= min(move, room_down):
            move = room_up
            coefficients[j] -= move
            coefficients[i] = bounds[i] if signs[i] > 0 else 0.0
        elif room_down <= move:
            move = room_down
            coefficients[i] += move
            coefficients[j] = 0.0 if signs[j] > 0 else -bounds[j]
        else:
            coefficients[i] += move
            coefficients[j] -= move
        _mark_limits(i, signs, bounds, coefficients, no_rise, no_fall)
        _mark_limits(j, signs, bounds, coefficients, no_rise, no_fall)
    return False


@kernel
def find_intercept(signs, bounds, coefficients, residuals):  # type: ignore[no-untyped-def]
    """Give the mean residual of the rows strictly between their bounds, or the middle of what the others allow."""
    total = 0.0
    n_free = 0
    highest = -np.inf
    lowest = np.inf
    for k in range(len(signs)):
        size = signs[k] * coefficients[k]
        if 0.0 < size < bounds[k]:
            total += residuals[k]
            n_free += 1
        if bounds[k] > 0.0:
            if (size < bounds[k]) if signs[k] > 0 else (size > 0.0):
                highest = max(highest, residuals[k])
            if (size > 0.0) if signs[k] > 0 else (size < bounds[k]):
                lowest = min(lowest, residuals[k])
    if n_free > 0:
        return total / n_free
    if highest > -np.inf and lowest < np.inf:
        return (highest + lowest) / 2
    # Rows of one sign, or none at all.
    return highest if highest > -np.inf else (lowest if lowest < np.inf else 0.0)


@kernel
def _mark_limits(k, signs, bounds, coefficients, no_rise, no_fall):  # type: ignore[no-untyped-def]
    """Note, as an infinite penalty, whether a coefficient cannot rise and whether it cannot fall."""
    upper = bounds[k] if signs[k] > 0 else 0.0
    lower = 0.0 if signs[k] > 0 else -bounds[k]
    no_rise[k] = 0.0 if coefficients[k] < upper else -np.inf
    no_fall[k] = 0.0 if coefficients[k] > lower else np.inf


@vectorised
def add_row(residuals, row, factor):  # type: ignore[no-untyped-def]
    """Add a multiple of a row of the Gram matrix."""
    for k in range(len(residuals)):
        residuals[k] += factor * row[k]


@vectorised
def _move_and_find_highest(residuals, no_rise, up_row, down_row, move):  # type: ignore[no-untyped-def]
    """Bring the residuals up to date with the last move, and find the largest that belongs to a row that may rise.

    The loop gives the largest value of each chunk, without a branch; only the best chunk is searched for the place.
    """
    n = len(residuals)
    highest = -np.inf
    best = 0
    for start in range(0, n, _CHUNK):
        stop = min(start + _CHUNK, n)
        part, barred = residuals[start:stop], no_rise[start:stop]
        up, down = up_row[start:stop], down_row[start:stop]
        largest = -np.inf
        for k in range(len(part)):
            part[k] -= move * (up[k] - down[k])
            largest = max(largest, part[k] + barred[k])
        if largest > highest:
            highest = largest
            best = start
    place = best
    highest = -np.inf
    for k in range(best, min(best + _CHUNK, n)):
        if residuals[k] + no_rise[k] > highest:
            highest = residuals[k] + no_rise[k]
            place = k
    return place, highest


@vectorised
def _find_partner(residuals, no_fall, diagonal, row, own, highest):  # type: ignore[no-untyped-def]
    """Find the row that may fall by which the pair gains most, and how far from the optimum the solution is."""
    n = len(residuals)
    best_gain = np.float32(-1.0)
    best = 0
    gap = 0.0
    for start in range(0, n, _CHUNK):
        stop = min(start + _CHUNK, n)
        part, barred = residuals[start:stop], no_fall[start:stop]
        curve, other = row[start:stop], diagonal[start:stop]
        largest = np.float32(0.0)
        widest = np.float32(0.0)
        for k in range(len(part)):
            distance = np.float32(max(highest - (part[k] + barred[k]), 0.0))
            curvature = max(own + other[k] - np.float32(2) * curve[k], _SMALLEST_CURVATURE)
            widest = max(widest, distance)
            largest = max(largest, distance * distance / curvature)
        gap = max(gap, widest)
        if largest > best_gain:
            best_gain = largest
            best = start
    place = best
    best_gain = np.float32(-1.0)
    for k in range(best, min(best + _CHUNK, n)):
        distance = np.float32(max(highest - (residuals[k] + no_fall[k]), 0.0))
        curvature = max(own + diagonal[k] - np.float32(2) * row[k], _SMALLEST_CURVATURE)
        if distance * distance > best_gain * curvature:
            best_gain = distance * distance / curvature
            place = k
    return place, gap
