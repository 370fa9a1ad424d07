"""Find the place of many numbers among sorted ones.

A binary search waits for memory at each step. Where many numbers are looked up, a table over equal stretches of
the range first narrows the search to the few sorted numbers that share the number's stretch.
"""

import numpy as np

from fuselearn._kernels import inlined, kernel

STRETCHES_PER_NUMBER = 4
MOST_STRETCHES = 1 << 16
TABLE_PAYS_FROM = 2


@kernel
def count_not_above(numbers, ascending, counts):  # type: ignore[no-untyped-def]
    """Write for each number how many of the ascending ones do not exceed it; leave NaN's entries alone.

    Infinity among the ascending ones is above every number, infinity included.
    """
    n_ascending = len(ascending)
    while n_ascending > 0 and ascending[n_ascending - 1] == np.inf:
        n_ascending -= 1
    if len(numbers) < TABLE_PAYS_FROM * n_ascending or n_ascending < 8 or ascending[0] == -np.inf:
        for i in range(len(numbers)):
            if numbers[i] == numbers[i]:
                counts[i] = _search(numbers[i], ascending, 0, n_ascending)
        return

    smallest = ascending[0]
    largest = ascending[n_ascending - 1]
    n_stretches = min(STRETCHES_PER_NUMBER * n_ascending, MOST_STRETCHES)
    # Halves keep the width finite; the formula for the stretch is monotone whatever its rounding.
    width = 0.5 * largest - 0.5 * smallest
    scale = n_stretches / width if width > 0.0 else 0.0
    if not scale < np.inf:
        scale = 0.0
    first = np.zeros(n_stretches + 2, dtype=np.int64)
    for k in range(n_ascending):
        first[_stretch(ascending[k], smallest, scale, n_stretches) + 1] += 1
    for s in range(n_stretches + 1):
        first[s + 1] += first[s]
    for i in range(len(numbers)):
        number = numbers[i]
        if number != number:
            continue
        if number < smallest:
            counts[i] = 0
        elif number >= largest:
            counts[i] = n_ascending
        else:
            s = np.uint64(_stretch(number, smallest, scale, n_stretches))
            start, end = first[s], first[s + np.uint64(1)]
            if end - start > 1:
                counts[i] = _search(number, ascending, start, end)
            else:  # most stretches have one sorted number or none, and no branch is needed to tell which
                counts[i] = start + ((end > start) & (ascending[np.uint64(start)] <= number))


@inlined
def _stretch(number, smallest, scale, n_stretches):  # type: ignore[no-untyped-def]
    return min(int((0.5 * number - 0.5 * smallest) * scale), n_stretches)


@inlined
def _search(number, ascending, start, end):  # type: ignore[no-untyped-def]
    while start < end:
        middle = (start + end) // 2
        if ascending[middle] <= number:
            start = middle + 1
        else:
            end = middle
    return start
