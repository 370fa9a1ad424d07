"""Exact sums of floating-point numbers, which do not depend on the order or on how the numbers are divided.

Every finite double-precision number is a multiple of 2**-1074. In these units sums are whole numbers of Python, without
rounding; only the total is rounded, once.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

UNITS = 2**1074
# A number is a whole number of 53 bits times a power of two; halves of these can be summed up in floating point.
LOW_BITS = 26
BLOCK = 2**26


def sum_units(values: npt.NDArray[np.float64]) -> int:
    """Sum up finite numbers, in units of 2**-1074.

    Examples
    --------
    >>> sum_units(np.array([1e100, 1.0, -1e100])) == sum_units(np.ones(1))
    True
    """
    return sum(_sum_block(values[start : start + BLOCK]) for start in range(0, len(values), BLOCK))


def from_units(total: int) -> float:
    """Return the nearest number to a sum.

    Examples
    --------
    >>> from_units(sum_units(np.full(10, 0.1)))
    1.0
    """
    return total / UNITS


def exact_sum(values: npt.NDArray[np.float64]) -> float:
    """Sum up finite numbers and round once, as :func:`math.fsum` does."""
    return from_units(sum_units(values))


def _sum_block(values: npt.NDArray[np.float64]) -> int:
    fractions, exponents = np.frexp(values)
    whole = np.ldexp(fractions, 53).astype(np.int64)
    # Of -1074 for the unit and 53 for the whole numbers, some remains below 0 for the smallest numbers.
    shifts = exponents.astype(np.int64) + (1074 - 53)
    lowest = min(int(shifts.min()), 0)
    low = np.bincount(shifts - lowest, weights=whole & (2**LOW_BITS - 1))
    high = np.bincount(shifts - lowest, weights=whole >> LOW_BITS)
    total = sum(((int(high[s]) << LOW_BITS) + int(low[s])) << int(s) for s in np.flatnonzero((low != 0) | (high != 0)))
    return total >> -lowest
