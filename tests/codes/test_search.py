"""The search for far codewords, against sizes whose best code is known."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuselearn.codes.codebook import (
    distance_bound,
    exhaustive_code,
    has_distinct_rows,
    has_useful_columns,
    min_distance,
    random_code,
)
from fuselearn.codes.search import search_code


@pytest.mark.parametrize(
    ("n_classes", "n_bits", "best"),
    [
        (8, 4, 2),  # words of even weight
        (8, 7, 4),  # the simplex code
        (16, 7, 3),  # Hamming's code
        (16, 8, 4),  # the same with a parity bit
        (12, 11, 6),  # rows of a Hadamard matrix
        (4, 7, 4),
        (2, 1, 1),
    ],
)
def test_finds_the_best_codes_where_they_are_known(n_classes, n_bits, best):
    assert min_distance(search_code(n_classes, n_bits, random_state=0)) == best


@settings(max_examples=25)
@given(st.integers(3, 30), st.integers(5, 40), st.integers(0, 100))
def test_books_are_useful_and_better_than_random_ones(n_classes, n_bits, seed):
    n_bits = min(n_bits, exhaustive_code(n_classes).shape[1]) if n_classes < 7 else n_bits
    code = search_code(n_classes, n_bits, n_restarts=3, random_state=seed)
    assert code.shape == (n_classes, n_bits)
    assert has_distinct_rows(code)
    assert has_useful_columns(code)
    drawn = [min_distance(random_code(n_classes, n_bits, random_state=k)) for k in range(3)]
    assert max(drawn) <= min_distance(code) <= distance_bound(n_classes, n_bits)


@settings(max_examples=15)
@given(st.integers(3, 9), st.integers(4, 8), st.integers(0, 100))
def test_no_single_flip_makes_a_book_better(n_classes, n_bits, seed):
    n_bits = min(n_bits, exhaustive_code(n_classes).shape[1])
    code = search_code(n_classes, n_bits, n_restarts=1, random_state=seed)

    def price(book):
        distances = (book[:, None] != book[None]).sum(axis=2)[np.triu_indices(n_classes, 1)]
        return np.exp2(-distances.astype(float)).sum()

    for c, b in np.ndindex(code.shape):
        flipped = code.copy()
        flipped[c, b] ^= 1
        if has_useful_columns(flipped):
            assert price(flipped) >= price(code)


def test_fifty_classes_and_a_hundred_bits():
    assert min_distance(search_code(50, 100, n_restarts=20, random_state=0)) >= 47


def test_long_codewords_neither_overflow_nor_stand_still():
    code = search_code(12, 1_500, n_restarts=1, random_state=0)
    assert min_distance(code) > min_distance(random_code(12, 1_500, random_state=0)) + 20


def test_the_seed_decides():
    first, same, other = (search_code(10, 20, n_restarts=2, random_state=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, same)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize("value", [0, 1.5, "many"])
def test_restarts(value):
    with pytest.raises((TypeError, ValueError), match="n_restarts must be"):
        search_code(5, 10, n_restarts=value)


def test_bits():
    with pytest.raises(ValueError, match="n_bits must be at least 4"):
        search_code(10, 3)
