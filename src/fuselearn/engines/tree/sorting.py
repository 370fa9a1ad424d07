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
def word_of(code, row):  # type: ignore[no-untyped-def]
    """Return the word of a row."""
    return (np.uint64(code) << CODE_SHIFT) | np.uint64(row)


@inlined
def code_of(key):  # type: ignore[no-untyped-def]
    """Return the code of a sorted row."""
    return np.int64(key >> CODE_SHIFT)


@inlined
def row_of(key):  # type: ignore[no-untyped-def]
    """Return the number of a sorted row."""
    return key & ROW_MASK


@kernel
def sort_few(aside, n_rows, keys, words, line):  # type: ignore[no-untyped-def]
    """Sort up to ``FEW_ROWS`` words that lie aside by their codes. The place of each is the number of smaller keys."""
    for k in range(n_rows):
        keys[k] = (np.uint32(aside[0, k] >> CODE_SHIFT) << FEW_BITS) | np.uint32(k)
    for k in range(n_rows):
        own = keys[k]
        place = 0
        for other in range(n_rows):
            place += keys[other] < own
        words[line, place] = aside[0, k]


@kernel
def sort_by_rank(by_column, f, words, start, end, marks):  # type: ignore[no-untyped-def]
    """Sort the rows ``words[0, start:end]`` by a column into ``words[1]``.

    A bit is set for the rank of each row, and the bits are read off; ``marks`` has none set before and after.
    """
    for k in range(start, end):
        rank = np.uint64(by_column.ranks[f, words[0, k]])
        marks[rank >> WORD_SHIFT] |= ONE << (rank & BIT_MASK)
    n = 0
    for word in range(np.uint64(len(marks))):
        bits = marks[word]
        if bits == 0:
            continue
        marks[word] = 0
        first = word << WORD_SHIFT
        while bits != 0:
            key = np.uint64(by_column.keys[f, first + lowest_bit(bits)])
            words[1, n] = word_of(key >> RANKED_SHIFT, key & RANKED_MASK)
            bits &= bits - ONE
            n += 1


@kernel
def sort_by_bytes(words, line, n_rows, n_codes, aside):  # type: ignore[no-untyped-def]
    """Sort a line of words by counting the bytes of their codes, which are up to ``n_codes``."""
    first = np.int64(0)
    _sort_byte(words, line, n_rows, CODE_SHIFT, aside, first)
    if n_codes > 255:
        _sort_byte(aside, first, n_rows, CODE_SHIFT + np.uint64(8), words, line)
    else:
        for k in range(n_rows):
            words[line, k] = aside[0, k]


@kernel
def _sort_byte(words, line, n_rows, shift, ordered, ordered_line):  # type: ignore[no-untyped-def]
    """Sort words by one of their bytes, those with equal bytes in the order in which they come."""
    starts = np.zeros(257, dtype=np.uint32)
    for k in range(n_rows):
        starts[((words[line, k] >> shift) & np.uint64(255)) + np.uint64(1)] += 1
    for b in range(256):
        starts[b + 1] += starts[b]
    for k in range(n_rows):
        byte = (words[line, k] >> shift) & np.uint64(255)
        ordered[ordered_line, starts[byte]] = words[line, k]
        starts[byte] += 1
