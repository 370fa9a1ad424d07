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

from fuselearn._kernels import kernel, larger, vectorised

TOLERANCE = 1e-3
# Of the tolerance: how far float32 residuals may be from the true ones.
_TOLERATED_DRIFT = 0.05
# Of the rows: with more unsettled ones, a copy of their part of the Gram matrix costs more than it saves.
_LARGEST_PART = 0.5
# Of a bound: what rounding may keep a coefficient off it.
_ROUNDING = 1e-9
_SMALLEST_CURVATURE = np.float32(1e-12)
_TWO = np.float32(2.0)
_CHUNK = 256


def solve(gram, signs, bounds, max_steps, tolerance):  # type: ignore[no-untyped-def]
    """Train one support vector machine.

    Parameters
    ----------
    gram : float32 array of shape (n_rows, n_rows)
    signs : float64 array of shape (n_rows,)
        -1 or 1.
    bounds : float64 array of shape (n_rows,)
        C times the weight of each row.
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
    coefficients = np.zeros(len(signs))
    residuals = signs.copy()
    converged = improve(gram, signs, bounds, coefficients, residuals, max_steps, tolerance)
    return coefficients, residuals, find_intercept(signs, bounds, coefficients, residuals), converged


@kernel
def improve(gram, signs, bounds, coefficients, residuals, max_steps, tolerance):  # type: ignore[no-untyped-def]
    """Move coefficients and residuals, in place, to the optimum, and tell whether it is reached.

    The coefficients must sum to zero and keep to the bounds. Steps are made in bouts. In a bout, residuals are float32,
    which is faster; after it they are brought up to date in float64. If rounding is found to matter, further bouts are
    in float64. Once most rows seem settled, a bout is about the others only, on their part of the Gram matrix.
    """
    n = len(signs)
    upper, lower = np.empty(n), np.empty(n)
    rows = np.empty(n, dtype=np.int64)
    for k in range(n):
        upper[k] = bounds[k] if signs[k] > 0 else 0.0
        lower[k] = 0.0 if signs[k] > 0 else -bounds[k]
        rows[k] = k
    changes = np.empty(n)
    bout = n
    # What drift is tolerated at either end must not leave the gap too wide.
    bout_tolerance = (1.0 - 2.0 * _TOLERATED_DRIFT) * tolerance
    precise = False
    while True:
        highest, lowest = _measure_range(upper, lower, coefficients, residuals)
        if highest - lowest <= tolerance:
            return True
        if max_steps <= 0:
            return False
        block = gram if len(rows) == n else take_block(gram, rows)
        moved, expected = _take(coefficients, rows), _take(residuals, rows)
        tops, bottoms = _take(upper, rows), _take(lower, rows)
        if precise:
            n_steps = _descend(block, tops, bottoms, moved, expected, min(bout, max_steps), bout_tolerance)
        else:
            rounded = np.empty(len(rows), dtype=np.float32)
            for k in range(len(rows)):
                rounded[k] = expected[k]
            n_steps = _descend(block, tops, bottoms, moved, rounded, min(bout, max_steps), bout_tolerance)
            for k in range(len(rows)):
                expected[k] = rounded[k]
        max_steps -= max(n_steps, 1)
        changes[:] = 0.0
        for k in range(len(rows)):
            changes[rows[k]] = coefficients[rows[k]] - moved[k]
            coefficients[rows[k]] = moved[k]
        add_rows(residuals, gram, changes)
        drift = 0.0
        for k in range(len(rows)):
            drift = max(drift, abs(residuals[rows[k]] - expected[k]))
        precise = precise or drift > _TOLERATED_DRIFT * tolerance
        rows = _find_unsettled(upper, lower, coefficients, residuals)
        bout = 10 * n


@kernel
def _find_unsettled(upper, lower, coefficients, residuals):  # type: ignore[no-untyped-def]
    """List the rows that may still move: rows between their bounds, and rows on a bound that others could draw back.

    If those are too many to be worth a copy of their Gram matrix, all rows are listed.
    """
    n = len(residuals)
    highest, lowest = _measure_range(upper, lower, coefficients, residuals)
    rows = np.empty(n, dtype=np.int64)
    n_rows = 0
    for k in range(n):
        at_top = coefficients[k] >= upper[k]
        at_bottom = coefficients[k] <= lower[k]
        if not ((at_top and residuals[k] > highest) or (at_bottom and residuals[k] < lowest)):
            rows[n_rows] = k
            n_rows += 1
    if n_rows > _LARGEST_PART * n:
        for k in range(n):
            rows[k] = k
        n_rows = n
    return rows[:n_rows]


@kernel
def _take(values, rows):  # type: ignore[no-untyped-def]
    taken = np.empty(len(rows))
    for k in range(len(rows)):
        taken[k] = values[rows[k]]
    return taken


@kernel
def take_block(gram, rows):  # type: ignore[no-untyped-def]
    """Copy the kernel values between some rows into a matrix of their own."""
    block = np.empty((len(rows), len(rows)), dtype=gram.dtype)
    for i in range(len(rows)):
        row, copied = gram[rows[i]], block[i]
        for j in range(len(rows)):
            copied[j] = row[rows[j]]
    return block


@kernel
def _descend(gram, upper, lower, coefficients, residuals, max_steps, tolerance):  # type: ignore[no-untyped-def]
    """Move pairs until no pair is further from the optimum than the tolerance, or the steps are used up."""
    n = len(residuals)
    diagonal = np.empty(n, dtype=np.float32)
    no_rise = np.empty_like(residuals)
    no_fall = np.empty_like(residuals)
    gains = np.empty_like(residuals)
    for k in range(n):
        diagonal[k] = gram[k, k]
        _mark_limits(k, upper, lower, coefficients, no_rise, no_fall)
    i = 0
    j = 0
    move = 0.0
    for step in range(max_steps + 1):
        i, highest = _move_and_find_highest(residuals, no_rise, gram[i], gram[j], residuals.dtype.type(move))
        j, gap = _find_partner(residuals, no_fall, diagonal, gram[i], diagonal[i], highest, gains)
        if not gap > tolerance or step == max_steps:
            break
        curvature = max(gram[i, i] + gram[j, j] - _TWO * gram[i, j], _SMALLEST_CURVATURE)
        move = (np.float64(residuals[i]) - residuals[j]) / curvature
        room_up = upper[i] - coefficients[i]
        room_down = coefficients[j] - lower[j]
        move = min(move, room_up, room_down)
        # A row that has reached its bound is put on it exactly: whether it may move is read from its coefficient.
        coefficients[i] = upper[i] if move == room_up else coefficients[i] + move
        coefficients[j] = lower[j] if move == room_down else coefficients[j] - move
        _mark_limits(i, upper, lower, coefficients, no_rise, no_fall)
        _mark_limits(j, upper, lower, coefficients, no_rise, no_fall)
    return step


@kernel
def find_intercept(signs, bounds, coefficients, residuals):  # type: ignore[no-untyped-def]
    """Return the mean residual of the rows strictly between their bounds, or the middle of what the others allow."""
    total = 0.0
    n_free = 0
    highest = -np.inf
    lowest = np.inf
    for k in range(len(signs)):
        if bounds[k] == 0.0:
            continue
        # A coefficient that only rounding keeps off its bound does not know the intercept.
        size = signs[k] * coefficients[k] / bounds[k]
        may_grow = size < 1.0 - _ROUNDING
        may_shrink = size > _ROUNDING
        if may_grow and may_shrink:
            total += residuals[k]
            n_free += 1
        if may_grow if signs[k] > 0 else may_shrink:
            highest = max(highest, residuals[k])
        if may_shrink if signs[k] > 0 else may_grow:
            lowest = min(lowest, residuals[k])
    if n_free > 0:
        return total / n_free
    if highest > -np.inf and lowest < np.inf:
        return (highest + lowest) / 2
    # Rows of one sign, or none at all.
    return highest if highest > -np.inf else (lowest if lowest < np.inf else 0.0)


@kernel
def _measure_range(upper, lower, coefficients, residuals):  # type: ignore[no-untyped-def]
    """Return the largest residual of the rows that may rise, and the smallest of those that may fall."""
    highest = -np.inf
    lowest = np.inf
    for k in range(len(residuals)):
        if coefficients[k] < upper[k]:
            highest = max(highest, residuals[k])
        if coefficients[k] > lower[k]:
            lowest = min(lowest, residuals[k])
    return highest, lowest


@vectorised
def add_row(residuals, row, factor):  # type: ignore[no-untyped-def]
    """Add a multiple of one row of the Gram matrix."""
    for k in range(len(residuals)):
        residuals[k] += factor * row[k]


@vectorised
def add_rows(residuals, gram, factors):  # type: ignore[no-untyped-def]
    """Add multiples of rows of the Gram matrix, four at a time, as the sum costs more than the products."""
    used = np.empty(len(factors) + 3, dtype=np.int64)
    n_used = 0
    for k in range(len(factors)):
        if factors[k] != 0.0:
            used[n_used] = k
            n_used += 1
    for first in range(0, n_used, 4):
        # The last four may not be full: the missing rows count nothing.
        for missing in range(n_used, first + 4):
            used[missing] = used[first]
        a, b, c, d = used[first], used[first + 1], used[first + 2], used[first + 3]
        left = n_used - first
        times_a = factors[a]
        times_b = factors[b] if left > 1 else 0.0
        times_c = factors[c] if left > 2 else 0.0
        times_d = factors[d] if left > 3 else 0.0
        row_a, row_b, row_c, row_d = gram[a], gram[b], gram[c], gram[d]
        for k in range(len(residuals)):
            residuals[k] += (times_a * row_a[k] + times_b * row_b[k]) + (times_c * row_c[k] + times_d * row_d[k])


@kernel
def _mark_limits(k, upper, lower, coefficients, no_rise, no_fall):  # type: ignore[no-untyped-def]
    """Note, as an infinite penalty, whether a coefficient cannot rise and whether it cannot fall."""
    no_rise[k] = 0.0 if coefficients[k] < upper[k] else -np.inf
    no_fall[k] = 0.0 if coefficients[k] > lower[k] else np.inf


@kernel
def _move_and_find_highest(residuals, no_rise, up_row, down_row, move):  # type: ignore[no-untyped-def]
    """Bring the residuals up to date with the last move, and find the largest that belongs to a row that may rise.

    The loop gives the largest value of each chunk, without a branch; only the best chunk is searched for the place.
    """
    n = len(residuals)
    none = residuals.dtype.type(-np.inf)
    highest = none
    best = 0
    for start in range(0, n, _CHUNK):
        stop = min(start + _CHUNK, n)
        part, barred = residuals[start:stop], no_rise[start:stop]
        up, down = up_row[start:stop], down_row[start:stop]
        largest = none
        for k in range(len(part)):
            moved = part[k] - move * (up[k] - down[k])
            part[k] = moved
            largest = larger(largest, moved + barred[k])
        if largest > highest:
            highest = largest
            best = start
    stop = min(best + _CHUNK, n)
    part, barred = residuals[best:stop], no_rise[best:stop]
    place = n
    for k in range(len(part)):
        place = min(place, k if part[k] + barred[k] == highest else n)
    return min(best + place, n - 1), highest


@kernel
def _find_partner(residuals, no_fall, diagonal, row, own, highest, gains):  # type: ignore[no-untyped-def]
    """Find the row that may fall by which the pair gains most, and how far from the optimum the solution is."""
    n = len(residuals)
    zero = residuals.dtype.type(0.0)
    best_gain = zero
    gap = zero
    best = 0
    for start in range(0, n, _CHUNK):
        stop = min(start + _CHUNK, n)
        part, barred, gain = residuals[start:stop], no_fall[start:stop], gains[start:stop]
        product, other = row[start:stop], diagonal[start:stop]
        largest = zero
        widest = zero
        for k in range(len(part)):
            distance = larger(highest - (part[k] + barred[k]), zero)
            curvature = larger(own + other[k] - _TWO * product[k], _SMALLEST_CURVATURE)
            gain[k] = distance * distance / curvature
            widest = larger(widest, distance)
            largest = larger(largest, gain[k])
        gap = max(gap, widest)
        if largest > best_gain:
            best_gain = largest
            best = start
    gain = gains[best : min(best + _CHUNK, n)]
    place = n
    for k in range(len(gain)):
        place = min(place, k if gain[k] == best_gain else n)
    return min(best + place, n - 1), gap
