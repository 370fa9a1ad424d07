"""The search for code books: bits are flipped while that moves codewords apart."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fuselearn import _core


def climb(bits: npt.NDArray[np.int8], prices: npt.NDArray[np.float64], most_sweeps: int) -> int:
    """Flip bits, in place, while any flip makes the book better; return the number of sweeps over all bits.

    Parameters
    ----------
    bits : int8 array of shape (n_bits, n_classes)
        The book, transposed.
    prices : array of shape (2, n_bits + 1)
        By how much a pair of classes at each distance changes the price if it comes closer by one bit (0) or moves
        apart (1).
    most_sweeps : int

    Examples
    --------
    >>> bits = np.array([[0, 0, 1], [0, 1, 0]], dtype=np.int8)
    >>> climb(bits, np.array([[1.0, 0.5, 0.25], [-0.5, -0.25, 0.0]]), 10)
    1
    """
    return _core.climb(bits, prices, most_sweeps)
