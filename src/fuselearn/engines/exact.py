"""Exact sums of floating-point numbers, which do not depend on the order or on how the numbers are divided.

Every finite double-precision number is a multiple of 2**-1074. In these units sums are whole numbers of Python, without
rounding; only the total is rounded, once.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fuselearn import _core
from fuselearn._core import exact_sum

UNITS = 2**1074


def sum_units(values: npt.NDArray[np.float64]) -> int:
    """Sum up finite numbers, in units of 2**-1074.

    Examples
    --------
    >>> sum_units(np.array([1e100, 1.0, -1e100])) == sum_units(np.ones(1))
    True
    """
    return read_units(_core.sum_units(values))


def read_units(stored: bytes) -> int:
    """Read a sum as the core returns it.

    Examples
    --------
    >>> read_units(bytes([255, 255]))
    -1
    """
    return int.from_bytes(stored, "little", signed=True)


def from_units(total: int) -> float:
    """Return the nearest number to a sum.

    Examples
    --------
    >>> from_units(sum_units(np.full(10, 0.1)))
    1.0
    """
    return total / UNITS
