"""Kernels of the search for code books: bits are flipped while that moves codewords apart."""

from __future__ import annotations

import numpy as np

from fuselearn._kernels import kernel


@kernel
def climb(bits, prices, most_sweeps):  # type: ignore[no-untyped-def]
    """Flip bits, in place, while any flip makes the book better; return the number of sweeps over all bits.

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
