"""Reading rows of decimal numbers from CSV text, exactly and without the interpreter's lock.

A general reader of CSV files looks at each character several times: for quotes, for cells, for missing values, for
numbers. Where all columns that matter hold numbers, one pass is enough. It knows plain text only: cells of the form
``-12.5e-3``, missing values, cells to skip; lines that have one cell per column. For all else it gives up, and a
general reader has to look.

A cell w·10^q with a whole number w is turned into the nearest float as follows. If w < 2^53 and abs(q) <= 22, then
w and 10^abs(q) are floats, and one multiplication or division rounds once [1]_. Else the upper 64 bits U of the product
of w and the upper 64 bits of 10^q bound the value: U <= value < U + 2, in units of U's last bit. A float takes 53 of
these bits, and unless the others lie right below one half, both bounds round to the same float. The cells left in
doubt, about one of a thousand with 17 digits, are left to Python, whose ``float`` is exact.

References
----------
.. [1] Clinger, W. D. (1990). How to read floating point numbers accurately. PLDI 1990, 92-101.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from fuselearn._kernels import eight_bytes, float_of, high_product, inlined, kernel, leading_zeros

__all__ = ["read_numbers"]

MOST_DIGITS = 19  # of which each whole number fits into 64 bits
LARGEST_EXPONENT = 280  # far enough from where floats end that no product of 19 digits gets there
DOUBTS_PER_ROW = 0.25  # where more cells are in doubt, a general reader is faster

_MINUS, _PLUS, _POINT, _ZERO, _QUOTE = np.frombuffer(b'-+.0"', dtype=np.uint8)
_NEWLINE, _RETURN, _LOWER_E, _UPPER_E = np.frombuffer(b"\n\reE", dtype=np.uint8)


def read_numbers(
    text: bytes | bytearray, separator: str, n_columns: int, wanted: Sequence[int], missing: Sequence[str]
) -> npt.NDArray[np.float64] | None:
    r"""Read rows of numbers, or say that the text is not as plain as that.

    Parameters
    ----------
    text : bytes or bytearray
        Lines in UTF-8.
    separator : str
        One character of ASCII.
    n_columns : int
        Cells in a line.
    wanted : sequence of int
        The columns to read; the others are skipped.
    missing : sequence of str
        Cells that are read as NaN, of at most seven bytes.

    Returns
    -------
    ndarray of shape (n_rows, len(wanted)) or None
        None if anything is unusual: a line that is too short or too long, a cell that is neither a plain number nor
        missing, a cell to skip with a quote but not around it, text that is no UTF-8.

    Examples
    --------
    >>> read_numbers(b"1.5,red,2\n?,green,-3e2\n", ",", 3, [0, 2], ["", "?"])
    array([[   1.5,    2. ],
           [   nan, -300. ]])
    >>> read_numbers(b"one,red,2\n", ",", 3, [0, 2], ["", "?"])
    """
    if len(wanted) < n_columns and not _is_utf8(text):
        return None
    if not text.endswith(b"\n"):
        text += b"\n"
    characters = np.frombuffer(text, dtype=np.uint8)
    n_lines = _count_lines(characters)
    numbers = np.empty((n_lines, len(wanted)))
    places = np.full(n_columns, -1)
    places[list(wanted)] = np.arange(len(wanted))
    doubts = np.empty((int(n_lines * DOUBTS_PER_ROW) + 10, 4), dtype=np.int64)
    codes = np.array([_pack(word) for word in missing], dtype=np.uint64)
    n_rows, n_doubts = _read_rows(
        characters, np.uint8(ord(separator)), places, codes, _SCALES, _EXPONENTS, _POWERS,
        numbers, doubts,
    )  # fmt: skip
    if n_rows < 0:
        return None
    for row, place, start, end in doubts[:n_doubts].tolist():
        numbers[row, place] = float(text[start:end])
    return numbers[:n_rows]


def _is_utf8(text: bytes | bytearray) -> bool:
    if text.isascii():
        return True
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def _pack(word: str) -> int:
    """Pack a short word and its length into a number, as `_missing_end` does."""
    return int.from_bytes(word.encode(), "little") | len(word.encode()) << 56


def _scale_powers() -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.int64]]:
    """Give the upper 64 bits of each power of ten, rounded down, and the power of two that they are multiplied by."""
    scales, exponents = [], []
    for q in range(-LARGEST_EXPONENT, LARGEST_EXPONENT + 1):
        above, below = 10 ** max(q, 0), 10 ** max(-q, 0)
        exponent = above.bit_length() - below.bit_length() - 64
        scale = (above << max(-exponent, 0)) // (below << max(exponent, 0))
        if scale >> 64:
            exponent += 1
            scale = (above << max(-exponent, 0)) // (below << max(exponent, 0))
        scales.append(scale)
        exponents.append(exponent)
    return np.array(scales, dtype=np.uint64), np.array(exponents)


_SCALES, _EXPONENTS = _scale_powers()
_POWERS = 10.0 ** np.arange(23)


@kernel
def _count_lines(text):  # type: ignore[no-untyped-def]
    n_lines = 0
    for character in text:
        n_lines += character == _NEWLINE
    return n_lines


@kernel
def _read_rows(text, separator, places, missing, scales, exponents, powers, numbers, doubts):  # type: ignore[no-untyped-def]
    """Fill in numbers; give how many rows there are, or -1, and how many cells are in doubt."""
    row, n_doubts, here = 0, 0, 0
    while here < len(text):
        if text[here] == _NEWLINE or text[here] == _RETURN:  # a blank line is no row
            here += 1
            continue
        for column in range(len(places)):
            place = places[column]
            start = here
            if place < 0:
                here = _skip(text, separator, here)
            else:
                here, digits, exponent, n_digits, negative = _scan_number(text, here)
                if n_digits == 0:
                    here = _missing_end(text, separator, start, missing)
                    numbers[row, place] = np.nan
                elif digits < np.uint64(1 << 53) and n_digits <= MOST_DIGITS and -22 <= exponent <= 22:
                    value = np.float64(digits)
                    value = value * powers[exponent] if exponent >= 0 else value / powers[-exponent]
                    numbers[row, place] = -value if negative else value
                else:
                    nearest = np.uint64(0)
                    if digits > 0 and n_digits <= MOST_DIGITS and abs(exponent) <= LARGEST_EXPONENT:
                        q = exponent + LARGEST_EXPONENT
                        nearest = _round(digits, scales[q], exponents[q])
                    numbers[row, place] = float_of(np.int64(nearest | np.uint64(negative) << np.uint64(63)))
                    if nearest == 0:
                        if n_doubts == len(doubts):
                            return -1, 0
                        doubts[n_doubts, 0], doubts[n_doubts, 1] = row, place
                        doubts[n_doubts, 2], doubts[n_doubts, 3] = start, here
                        n_doubts += 1
            if here < 0 or not _ends_cell(text, separator, here, column == len(places) - 1):
                return -1, 0
            if text[here] == _RETURN:
                here += 1
            here += 1
        row += 1
    return row, n_doubts


@inlined
def _scan_number(text, here):  # type: ignore[no-untyped-def]
    """Give where a number ends, its digits, its power of ten, how many digits there are, and whether it is negative."""
    negative = text[here] == _MINUS
    if negative:
        here += 1
    digits, n_digits, exponent = np.uint64(0), 0, 0
    start = here
    while np.uint8(text[here] - _ZERO) <= 9:
        digits = digits * np.uint64(10) + np.uint64(text[here] - _ZERO)
        here += 1
    n_digits = here - start
    if text[here] == _POINT:
        here += 1
        start = here
        while here + 8 <= len(text):
            word = eight_bytes(text, here) ^ np.uint64(0x3030303030303030)
            if not _are_digits(word):
                break
            digits = digits * np.uint64(100_000_000) + _join_digits(word)
            here += 8
        while np.uint8(text[here] - _ZERO) <= 9:
            digits = digits * np.uint64(10) + np.uint64(text[here] - _ZERO)
            here += 1
        exponent = start - here
        n_digits += here - start
    if n_digits > 0 and (text[here] == _LOWER_E or text[here] == _UPPER_E):
        here += 1
        below = text[here] == _MINUS
        here += np.int64(below or text[here] == _PLUS)
        power, start = 0, here
        while np.uint8(text[here] - _ZERO) <= 9:
            power = min(power * 10 + np.int64(text[here] - _ZERO), 10_000)
            here += 1
        if here == start:
            n_digits = 0
        exponent += -power if below else power
    return here, digits, exponent, n_digits, negative


@inlined
def _are_digits(word):  # type: ignore[no-untyped-def]
    """Tell whether all eight bytes are at most 9: neither they nor they plus 6 reach into the upper four bits."""
    return ((word | (word + np.uint64(0x0606060606060606))) & np.uint64(0xF0F0F0F0F0F0F0F0)) == 0


@inlined
def _join_digits(word):  # type: ignore[no-untyped-def]
    """Join eight digits, of which the lowest byte is the first, to one number: to pairs, to fours, to all."""
    pairs = (word * np.uint64(10) + (word >> np.uint64(8))) & np.uint64(0x00FF00FF00FF00FF)
    fours = (pairs * np.uint64(100) + (pairs >> np.uint64(16))) & np.uint64(0x0000FFFF0000FFFF)
    return (fours * np.uint64(10_000) + (fours >> np.uint64(32))) & np.uint64(0xFFFFFFFF)


@inlined
def _round(digits, scale, exponent):  # type: ignore[no-untyped-def]
    """Give the bits of the float nearest to digits·scale·2^exponent, or 0 if that is in doubt."""
    shift = leading_zeros(digits)
    product = high_product(digits << shift, scale)
    n_spare = np.uint64(10) + (product >> np.uint64(63))
    half = np.uint64(1) << (n_spare - np.uint64(1))
    spare = product & (half + half - np.uint64(1))
    if spare == half or spare == half - np.uint64(1):
        return np.uint64(0)
    # Adding the rounded bit to the number as a whole carries over into the exponent where it has to.
    power = np.uint64(exponent + 64 - np.int64(shift) + np.int64(n_spare) + 1074)
    return (power << np.uint64(52)) + (product >> n_spare) + np.uint64(spare > half)


@kernel
def _missing_end(text, separator, here, missing):  # type: ignore[no-untyped-def]
    """Give where a cell that is a missing value ends, or -1."""
    word, length = np.uint64(0), np.uint64(0)
    while not (text[here] == separator or text[here] == _NEWLINE or text[here] == _RETURN):
        if length == 7:
            return -1
        word |= np.uint64(text[here]) << (np.uint64(8) * length)
        length += np.uint64(1)
        here += 1
    word |= length << np.uint64(56)
    for known in missing:
        if known == word:
            return here
    return -1


@kernel
def _skip(text, separator, here):  # type: ignore[no-untyped-def]
    """Give where a cell ends, with or without quotes around it, or -1 if that is not plain to see."""
    if text[here] == _QUOTE:
        here += 1
        while here < len(text):
            if text[here] == _QUOTE:
                here += 1
                if text[here] != _QUOTE:  # two of them are a quote inside of the cell
                    return here
            here += 1
        return -1
    while not (text[here] == separator or text[here] == _NEWLINE or text[here] == _RETURN):
        if text[here] == _QUOTE:
            return -1
        here += 1
    return here


@inlined
def _ends_cell(text, separator, here, last):  # type: ignore[no-untyped-def]
    if not last:
        return text[here] == separator
    return text[here] == _NEWLINE or (text[here] == _RETURN and text[here + 1] == _NEWLINE)
