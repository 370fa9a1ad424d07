"""Code books: the codewords of the classes.

A code book has one row per class, the *codeword*, and one column per bit. Each bit divides the classes into two groups
and is learned by one classifier. Useful books have distinct rows, and no column that is constant (no binary problem),
or equal or complementary to another column (the same problem twice, with the same errors).

A binary book contains 0 and 1. A ternary book contains -1 and 1, and 0 where a class is not used for a bit.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from fuselearn._core import climb
from fuselearn._parameters import check_choice, check_whole_number, make_generator

CodeBook = npt.NDArray[np.int8]

KINDS = ("auto", "exhaustive", "hamming", "random", "one-vs-rest", "one-vs-one")
BITS_PER_DOUBLING = 10
MOST_EXHAUSTIVE_CLASSES = 13
MOST_SWEEPS = 20
MOST_STEPS = 100_000_000
_MOST_EXPONENT = 1_000
_WORD_BITS = 62


def make_code(
    n_classes: int, n_bits: int | None = None, *, kind: str = "auto", n_restarts: int = 500, random_state: Any = None
) -> CodeBook:
    """Create a code book for output codes.

    An exhaustive code has one bit for each division of C classes into two groups. The codewords of any two classes
    differ in 2^(C-2) of its 2^(C-1) - 1 bits; no book is better per bit. A search improves random books bit by bit. It
    flips a bit if this decreases ::

        sum over pairs of classes of 2^(-distance of their codewords),

    which is dominated by close pairs, and if no columns become constant, equal or complementary. The book with the
    largest minimum Hamming distance of all restarts is returned. The search ends early if no book can be better and,
    for large books, after a fixed amount of work, so that the same seed gives the same book.

    .. versionadded:: 0.2

    Parameters
    ----------
    n_classes : int
    n_bits : int, optional
        From ceil(log2(n_classes)) to 2^(n_classes - 1) - 1. By default 10 log2(n_classes), rounded up, or all
        2^(n_classes - 1) - 1 splits if they are fewer.
    kind : {"auto", "exhaustive", "hamming", "random", "one-vs-rest", "one-vs-one"}, default="auto"
        "exhaustive": all divisions, for up to 13 classes. "hamming": a large minimum Hamming distance, by search.
        "random": a random book with distinct rows and distinct columns. "one-vs-rest": one bit per class. "one-vs-one":
        one bit per pair of classes, without the other classes. "auto": exhaustive if ``n_bits`` covers all divisions,
        as by default for up to five classes; otherwise "hamming".
    n_restarts : int, default=500
        Maximum number of random books to start the search from.
    random_state : int, Generator, RandomState or None, default=None

    Returns
    -------
    int8 array of shape (n_classes, n_bits)
        With entries 0 and 1; for "one-vs-one" -1 and 1, with 0 for classes that are not used for a bit.

    References
    ----------
    Dietterich, T. G. and Bakiri, G. (1995). Solving multiclass learning problems via error-correcting output codes.
    Journal of Artificial Intelligence Research 2, 263-286.
    Allwein, E. L., Schapire, R. E. and Singer, Y. (2000). Reducing multiclass to binary: a unifying approach for margin
    classifiers. Journal of Machine Learning Research 1, 113-141.

    Examples
    --------
    >>> from fuselearn.combine import make_code
    >>> make_code(4)
    array([[1, 1, 1, 1, 1, 1, 1],
           [0, 0, 0, 0, 1, 1, 1],
           [0, 0, 1, 1, 0, 0, 1],
           [0, 1, 0, 1, 0, 1, 0]], dtype=int8)
    >>> make_code(4, 3, kind="random", random_state=0)
    array([[0, 1, 0],
           [0, 1, 1],
           [0, 0, 1],
           [1, 1, 0]], dtype=int8)
    >>> make_code(3, kind="one-vs-one")
    array([[-1, -1,  0],
           [ 1,  0, -1],
           [ 0,  1,  1]], dtype=int8)
    """
    check_choice("kind", kind, KINDS)
    check_whole_number("n_restarts", n_restarts, 1)
    n_splits = count_splits(n_classes)
    if kind in _BOOKS:
        book = _BOOKS[kind](n_classes)
        if n_bits not in (None, book.shape[1]):
            raise ValueError(
                f"n_bits is {n_bits}, but a code of the kind {kind!r} for {n_classes} classes has {book.shape[1]} "
                "bits; omit n_bits, or use a 'hamming' code."
            )
        return book
    if n_bits is None:
        n_bits = min(int(np.ceil(BITS_PER_DOUBLING * np.log2(n_classes))), n_splits)
    if kind == "auto" and n_bits == n_splits:
        return exhaustive_code(n_classes)
    check_n_bits(n_classes, n_bits)
    rng = make_generator(random_state)
    return random_code(n_classes, n_bits, rng) if kind == "random" else search_code(n_classes, n_bits, n_restarts, rng)


def exhaustive_code(n_classes: int) -> CodeBook:
    """Return the code book with every split of the classes into two groups."""
    if not 2 <= n_classes <= MOST_EXHAUSTIVE_CLASSES:
        raise ValueError(
            f"An exhaustive code supports 2 to {MOST_EXHAUSTIVE_CLASSES} classes; "
            f"{n_classes} classes would need 2^{n_classes - 1} - 1 bits."
        )
    splits = _bits(np.arange(count_splits(n_classes)), n_classes - 1).T[::-1]
    return np.vstack([np.ones((1, splits.shape[1]), dtype=np.int8), splits])


def one_vs_rest_code(n_classes: int) -> CodeBook:
    """Return the code book with a bit for each class; a single bit suffices for two classes."""
    return np.eye(n_classes, dtype=np.int8)[:, int(n_classes == 2) :]


def one_vs_one_code(n_classes: int) -> CodeBook:
    """Return the ternary code book with a bit for each pair of classes, 1 for the second one."""
    first, second = np.triu_indices(n_classes, 1)
    classes = np.eye(n_classes, dtype=np.int8)
    return classes[:, second] - classes[:, first]


_BOOKS = {"exhaustive": exhaustive_code, "one-vs-rest": one_vs_rest_code, "one-vs-one": one_vs_one_code}


def random_code(n_classes: int, n_bits: int, rng: np.random.Generator) -> CodeBook:
    """Draw a random code book with distinct rows and distinct columns."""
    # Rows or columns, whichever have fewer distinct values, are drawn without replacement; the other is checked.
    draw = _draw_rows if n_bits <= 2 * np.log2(n_classes) else _draw_columns
    while True:
        code = draw(n_classes, n_bits, rng)
        if has_distinct_rows(code) and has_useful_columns(code):
            return code


def search_code(n_classes: int, n_bits: int, n_restarts: int, rng: np.random.Generator) -> CodeBook:
    """Search for a code book with a large minimum Hamming distance, as :func:`make_code` describes."""
    bound = distance_bound(n_classes, n_bits)
    prices = _price_distances(n_bits)
    best, best_distance, steps = np.empty((0, 0), dtype=np.int8), -1, 0
    for _ in range(n_restarts):
        bits = np.ascontiguousarray(random_code(n_classes, n_bits, rng).T)
        sweeps = climb(bits, prices, MOST_SWEEPS)
        distance = min_distance(bits.T)
        if distance > best_distance:
            best, best_distance = np.ascontiguousarray(bits.T), distance
        steps += sweeps * n_bits * n_classes**2 + n_bits**2 * n_classes
        if best_distance == bound or steps > MOST_STEPS:
            break
    return best


def read_code(code: Any, n_classes: int) -> CodeBook:
    """Validate a user-defined code book, with entries 0 and 1, or -1 and 1, or -1, 0 and 1."""
    book = np.asarray(code)
    if book.ndim != 2 or book.shape[0] != n_classes or book.shape[1] == 0:
        raise ValueError(
            f"code must have a row for each of the {n_classes} classes and a column per bit, not shape {book.shape}."
        )
    if book.dtype.kind not in "biuf" or not np.isin(book, (-1, 0, 1)).all():
        raise ValueError(
            "code must contain only 0 and 1, or only -1, 0 and 1, where 0 means that a class is not used for a bit."
        )
    book = (book if (book == 0).any() else book > 0).astype(np.int8)
    alike = np.argwhere(np.triu(pairwise_distances(book) == 0, 1))
    if len(alike):
        first, second = alike[0]
        raise ValueError(f"code has equal rows {first} and {second}; every class needs a distinct codeword.")
    return book


def read_bits(code: CodeBook) -> tuple[npt.NDArray[np.int8], npt.NDArray[np.int8]]:
    """Return masks of the classes with a 1 and with a 0 in each bit; a class that a bit ignores is in neither.

    Examples
    --------
    >>> read_bits(np.array([[-1], [0], [1]], dtype=np.int8))
    (array([[0],
           [0],
           [1]], dtype=int8), array([[1],
           [0],
           [0]], dtype=int8))
    """
    zero = -1 if (code < 0).any() else 0
    return (code == 1).astype(np.int8), (code == zero).astype(np.int8)


def count_bits(code: CodeBook) -> int:
    """Return the maximum number of bits that use a class."""
    return int(np.sum(read_bits(code), axis=(0, 2)).max())


def check_n_bits(n_classes: int, n_bits: int) -> None:
    """Check that useful code books of this size exist."""
    fewest = (n_classes - 1).bit_length()
    if n_bits < fewest:
        raise ValueError(f"n_bits must be at least {fewest} for {n_classes} classes, not {n_bits}.")
    if n_bits > count_splits(n_classes):
        raise ValueError(
            f"{n_classes} classes can be split into two groups in {count_splits(n_classes)} ways, so n_bits must be at "
            f"most {count_splits(n_classes)}, not {n_bits}."
        )


def count_splits(n_classes: int) -> int:
    """Return the number of ways to split classes into two groups, 2^(n_classes - 1) - 1."""
    return int(2 ** (n_classes - 1) - 1)


def has_distinct_rows(code: CodeBook) -> bool:
    """Return whether all codewords differ."""
    return len({row.tobytes() for row in code}) == len(code)


def has_useful_columns(code: CodeBook) -> bool:
    """Return whether no column is constant, or equal or complementary to another one."""
    columns = np.ascontiguousarray((code ^ code[0]).T)
    return bool(columns.any(axis=1).all()) and len({column.tobytes() for column in columns}) == len(columns)


def pairwise_distances(code: CodeBook) -> npt.NDArray[np.int64]:
    """Return the Hamming distance of each pair of codewords: the number of bits of both that differ.

    Examples
    --------
    >>> pairwise_distances(np.array([[0, 0, 1], [0, 1, 0], [1, 1, 1]]))
    array([[0, 2, 2],
           [2, 0, 2],
           [2, 2, 0]])
    """
    ones, zeros = (bits.astype(np.int64) for bits in read_bits(code))
    return ones @ zeros.T + zeros @ ones.T


def min_distance(code: CodeBook) -> int:
    """Return the minimum Hamming distance d of two codewords; floor((d - 1) / 2) wrong bits are always corrected.

    Examples
    --------
    >>> min_distance(exhaustive_code(5))
    8
    """
    return int(pairwise_distances(code)[np.triu_indices(len(code), 1)].min())


def distance_bound(n_classes: int, n_bits: int) -> int:
    """Return a minimum distance that no code book without equal or complementary columns can exceed.

    A bit that splits C classes into groups of a and C - a separates a (C - a) pairs of classes. The minimum distance is
    at most the mean distance of all pairs (Plotkin's argument), which is largest for the most balanced splits.

    Examples
    --------
    >>> distance_bound(50, 100)
    51
    """
    told_apart, n_left = 0, n_bits
    for size in range(n_classes // 2, 0, -1):
        n_splits = math.comb(n_classes, size) // (2 if 2 * size == n_classes else 1)
        told_apart += min(n_left, n_splits) * size * (n_classes - size)
        n_left -= min(n_left, n_splits)
    return told_apart // math.comb(n_classes, 2)


def _draw_rows(n_classes: int, n_bits: int, rng: np.random.Generator) -> CodeBook:
    return _bits(rng.choice(2**n_bits, n_classes, replace=False), n_bits)


def _draw_columns(n_classes: int, n_bits: int, rng: np.random.Generator) -> CodeBook:
    """Draw columns whose first bit is 0, so that no two of them are complementary."""
    n_drawn = min(n_classes - 1, _WORD_BITS)
    code = rng.integers(0, 2, (n_classes, n_bits), dtype=np.int8)
    code[0] = 0
    code[1 : n_drawn + 1] = _bits(1 + rng.choice(2**n_drawn - 1, n_bits, replace=False), n_drawn).T
    return code


def _bits(words: npt.NDArray[np.int64], n_bits: int) -> CodeBook:
    """Write numbers in binary, one per row, the lowest bit first."""
    return ((words[:, None] >> np.arange(n_bits)) & 1).astype(np.int8)


def _price_distances(n_bits: int) -> npt.NDArray[np.float64]:
    """Return the price change of a pair at each distance if it moves (0) closer and (1) apart by one bit."""
    # Centered on the typical distance, against overflow and underflow with long codewords.
    exponents = np.clip(n_bits // 2 - np.arange(-1.0, n_bits + 2), -_MOST_EXPONENT, _MOST_EXPONENT)
    price = np.exp2(exponents)
    return np.stack([price[:-2] - price[1:-1], price[2:] - price[1:-1]])
