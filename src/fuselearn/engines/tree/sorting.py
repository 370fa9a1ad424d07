"""Sort the rows of a node by the codes of a column.

A sorted row is a word of 64 bits, ``code * 2**32 + row``. Rows with equal codes come in any order. Nothing here waits
for a branch that depends on how two codes compare: a wrong guess costs more than the work it saves.
"""

from __future__ import annotations

import numpy as np

from fuselearn._kernels import inlined, kernel, lowest_bit

CODE_SHIFT = np.uint64(32)
ROW_MASK = np.uint64(2**32 - 1)
# Up to this many rows, each is compared with each.
FEW_ROWS = 64
FEW_BITS = np.uint32(6)

# Tables of up to this many rows can be ranked. There, ``code * 2**16 + row`` fits into 32 bits.
RANKED_ROWS = 2**16
RANKED_SHIFT = np.uint64(16)
RANKED_MASK = np.uint64(2**16 - 1)
WORD_SHIFT = np.uint64(6)
BIT_MASK = np.uint64(63)
ONE = np.uint64(1)


@inlined
def code_of(key):  # type: ignore[no-untyped-def]
    """Return the code of a sorted row."""
    return np.int64(key >> CODE_SHIFT)


@inlined
def row_of(key):  # type: ignore[no-untyped-def]
    """Return the number of a sorted row."""
    return key & ROW_MASK


@kernel
def sort_few(codes, f, rows, start, end, keys, ordered):  # type: ignore[no-untyped-def]
    """Sort up to ``FEW_ROWS`` rows, unless all codes are equal; return whether they differ.

    A row's place is the number of smaller keys. The table is read row by row: the few rows of a node stay in the
    processor's cache from one column to the next.
    """
    n_rows = end - start
    first = codes[rows[start], f]
    differ = False
    for k in range(n_rows):
        code = codes[rows[start + k], f]
        differ |= code != first
        keys[k] = (np.uint32(code) << FEW_BITS) | np.uint32(k)
    if not differ:
        return False
    for k in range(n_rows):
        own = keys[k]
        place = 0
        for other in range(n_rows):
            place += keys[other] < own
        ordered[place] = (np.uint64(own >> FEW_BITS) << CODE_SHIFT) | np.uint64(rows[start + k])
    return True


@kernel
def sort_by_rank(ranks, table_keys, rows, start, end, marks, ordered):  # type: ignore[no-untyped-def]
    """Set a bit for the rank of each row, and read off the bits; ``marks`` has none set before and after."""
    for k in range(start, end):
        rank = np.uint64(ranks[rows[k]])
        marks[rank >> WORD_SHIFT] |= ONE << (rank & BIT_MASK)
    n = 0
    for word in range(np.uint64(len(marks))):
        bits = marks[word]
        if bits == 0:
            continue
        marks[word] = 0
        first = word << WORD_SHIFT
        while bits != 0:
            key = np.uint64(table_keys[first + lowest_bit(bits)])
            ordered[n] = ((key >> RANKED_SHIFT) << CODE_SHIFT) | (key & RANKED_MASK)
            bits &= bits - ONE
            n += 1


@kernel
def sort_by_bytes(codes, rows, start, end, aside, ordered):  # type: ignore[no-untyped-def]
    """Sort rows by counting the two bytes of their codes."""
    for k in range(end - start):
        i = rows[start + k]
        ordered[k] = (np.uint64(codes[i]) << CODE_SHIFT) | np.uint64(i)
    _sort_byte(ordered, aside, end - start, CODE_SHIFT)
    _sort_byte(aside, ordered, end - start, CODE_SHIFT + np.uint64(8))


@inlined
def _sort_byte(keys, ordered, n_rows, shift):  # type: ignore[no-untyped-def]
    """Sort keys by one of their bytes, those with equal bytes in the order in which they come."""
    starts = np.zeros(257, dtype=np.uint32)
    for k in range(n_rows):
        starts[((keys[k] >> shift) & np.uint64(255)) + np.uint64(1)] += 1
    for b in range(256):
        starts[b + 1] += starts[b]
    for k in range(n_rows):
        byte = (keys[k] >> shift) & np.uint64(255)
        ordered[starts[byte]] = keys[k]
        starts[byte] += 1
