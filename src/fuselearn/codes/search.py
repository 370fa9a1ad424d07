"""Search for code books whose codewords are as far apart as possible."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fuselearn._kernels import kernel
from fuselearn._parameters import check_whole_number
from fuselearn._random import make_generator
from fuselearn.codes.codebook import CodeBook, check_n_bits, distance_bound, min_distance, random_code

MOST_SWEEPS = 20
MOST_STEPS = 100_000_000
_MOST_EXPONENT = 1_000


def search_code(n_classes: int, n_bits: int, *, n_restarts: int = 500, random_state: Any = None) -> CodeBook:
    """Search for a code book with a large minimum Hamming distance.

    Random books are improved bit by bit: a bit is flipped if that lowers

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
        sweeps = _climb(bits, prices, MOST_SWEEPS)
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


@kernel
def _climb(bits, prices, most_sweeps):  # type: ignore[no-untyped-def]
    """Flip bits, in place, while any flip makes the book better; give the number of sweeps over all bits.

    The book is transposed, shape (n_bits, n_classes), so that the innermost loop runs over neighbours in memory.
    """
    n_bits, n_classes = bits.shape
    row_distances = _count_differences(bits.T)
    column_distances = _count_differences(bits)
    ones = np.zeros(n_bits, dtype=np.int64)
    for b in range(n_bits):
        for c in range(n_classes):
            ones[b] += bits[b, c]

    for sweep in range(most_sweeps):
        n_flips = 0
        for c in range(n_classes):
            distances = row_distances[c]
            for b in range(n_bits):
                column = bits[b]
                bit = column[c]
                change = -prices[1, 0]  # what the loop adds for the class itself
                for other in range(n_classes):
                    change += prices[1 - (column[other] ^ bit), distances[other]]
                if change >= 0 or not _stays_useful(bits, column_distances[b], ones[b], b, c):
                    continue
                for other in range(n_classes):
                    if other != c:
                        step = 1 - 2 * (column[other] ^ bit)
                        row_distances[c, other] += step
                        row_distances[other, c] += step
                for other in range(n_bits):
                    if other != b:
                        step = 1 - 2 * (bits[other, c] ^ bit)
                        column_distances[b, other] += step
                        column_distances[other, b] += step
                ones[b] += 1 - 2 * bit
                column[c] = 1 - bit
                n_flips += 1
        if n_flips == 0:
            return sweep + 1
    return most_sweeps


@kernel
def _stays_useful(bits, distances, n_ones, b, c):  # type: ignore[no-untyped-def]
    """Return whether flipping the bit of class ``c`` leaves column ``b`` unlike every other and not constant."""
    n_bits, n_classes = bits.shape
    bit = bits[b, c]
    n_ones += 1 - 2 * bit
    if n_ones == 0 or n_ones == n_classes:
        return False
    for other in range(n_bits):
        distance = distances[other] + 1 - 2 * (bits[other, c] ^ bit)
        if other != b and (distance == 0 or distance == n_classes):
            return False
    return True


@kernel
def _count_differences(rows):  # type: ignore[no-untyped-def]
    n_rows, n_columns = rows.shape
    counts = np.zeros((n_rows, n_rows), dtype=np.int64)
    for i in range(n_rows):
        for j in range(i):
            for k in range(n_columns):
                counts[i, j] += rows[i, k] ^ rows[j, k]
            counts[j, i] = counts[i, j]
    return counts
