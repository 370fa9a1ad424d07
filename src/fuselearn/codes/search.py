"""Search for code books whose codewords are as far apart as possible."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fuselearn._parameters import check_whole_number
from fuselearn._random import make_generator
from fuselearn.codes.codebook import CodeBook, check_n_bits, distance_bound, min_distance, random_code
from fuselearn.engines.combining import climb

MOST_SWEEPS = 20
MOST_STEPS = 100_000_000
_MOST_EXPONENT = 1_000


def search_code(n_classes: int, n_bits: int, *, n_restarts: int = 500, random_state: Any = None) -> CodeBook:
    """Search for a code book with a large minimum Hamming distance.

    Random books are improved bit by bit: a bit is flipped if that lowers ::

        sum over pairs of classes of 2^(-distance of their codewords),

    which close pairs dominate, and if no two columns become equal or complementary and none constant. The best book of
    all restarts is returned. The search ends early when the distance reaches :func:`distance_bound`, and on large books
    when a fixed amount of work is done, whatever the clock says: the same seed gives the same book.

    Parameters
    ----------
    n_classes : int
    n_bits : int
        From ceil(log2(n_classes)) to 2^(n_classes - 1) - 1.
    n_restarts : int, default=500
        Most random books to start from.
    random_state : int, Generator, RandomState or None

    Returns
    -------
    int8 array of shape (n_classes, n_bits)

    Examples
    --------
    >>> from fuselearn.codes import min_distance, random_code, search_code
    >>> min_distance(random_code(50, 100, random_state=0))
    35
    >>> min_distance(search_code(50, 100, random_state=0))
    48
    """
    check_n_bits(n_classes, n_bits)
    check_whole_number("n_restarts", n_restarts, 1)
    rng = make_generator(random_state)
    bound = distance_bound(n_classes, n_bits)
    prices = _price_distances(n_bits)
    best, best_distance, steps = np.empty((0, 0), dtype=np.int8), -1, 0
    for _ in range(n_restarts):
        bits = np.ascontiguousarray(random_code(n_classes, n_bits, random_state=rng).T)
        sweeps = climb(bits, prices, MOST_SWEEPS)
        distance = min_distance(bits.T)
        if distance > best_distance:
            best, best_distance = np.ascontiguousarray(bits.T), distance
        steps += sweeps * n_bits * n_classes**2 + n_bits**2 * n_classes
        if best_distance == bound or steps > MOST_STEPS:
            break
    return best


def _price_distances(n_bits: int) -> npt.NDArray[np.float64]:
    """Return the price change of a pair at each distance if it moves (0) closer and (1) apart by one bit."""
    # Centred on the usual distance, so that long codewords neither overflow nor vanish.
    exponents = np.clip(n_bits // 2 - np.arange(-1.0, n_bits + 2), -_MOST_EXPONENT, _MOST_EXPONENT)
    price = np.exp2(exponents)
    return np.stack([price[:-2] - price[1:-1], price[2:] - price[1:-1]])
