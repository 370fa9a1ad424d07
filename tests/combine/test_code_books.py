"""Code books: the textbook's exhaustive code, the best known codes by search, books that are always useful."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuselearn.combine import make_code
from fuselearn.combine.code_books import (
    check_n_bits,
    count_splits,
    distance_bound,
    exhaustive_code,
    has_distinct_rows,
    has_useful_columns,
    min_distance,
    pairwise_distances,
    read_code,
)


@st.composite
def sizes(draw, most_classes=80, most_bits=200):
    """Draw numbers of classes and bits for which useful books exist."""
    n_classes = draw(st.integers(2, most_classes))
    fewest = int(np.ceil(np.log2(n_classes)))
    return n_classes, draw(st.integers(fewest, min(count_splits(n_classes), most_bits)))


def draw_code(n_classes, n_bits, seed=0):
    return make_code(n_classes, n_bits, kind="random", random_state=seed)


def search_code(n_classes, n_bits, n_restarts=500, seed=0):
    return make_code(n_classes, n_bits, kind="hamming", n_restarts=n_restarts, random_state=seed)


def assert_useful(code, shape):
    assert code.shape == shape
    assert set(np.unique(code)) <= {0, 1}
    assert has_distinct_rows(code)
    assert has_useful_columns(code)


class TestExhaustive:
    def test_five_classes_as_in_the_textbook(self):
        words = ["111111111111111", "000000001111111", "000011110000111", "001100110011001", "010101010101010"]
        np.testing.assert_array_equal(exhaustive_code(5), [[int(bit) for bit in word] for word in words])

    @pytest.mark.parametrize("n_classes", range(2, 11))
    def test_every_pair_of_classes_is_told_apart_by_half_of_the_splits(self, n_classes):
        code = make_code(n_classes, kind="exhaustive")
        assert_useful(code, (n_classes, 2 ** (n_classes - 1) - 1))
        assert (pairwise_distances(code)[np.triu_indices(n_classes, 1)] == 2 ** (n_classes - 2)).all()

    @pytest.mark.parametrize("n_classes", [1, 14, 100])
    def test_too_many_classes(self, n_classes):
        with pytest.raises(ValueError, match="2 to 13 classes"):
            make_code(n_classes, kind="exhaustive")


class TestRandom:
    @given(sizes(), st.integers(0, 1000))
    def test_books_are_useful_and_no_better_than_the_bound(self, size, seed):
        code = draw_code(*size, seed)
        assert_useful(code, size)
        assert min_distance(code) <= distance_bound(*size)

    @pytest.mark.parametrize("size", [(3, 2), (3, 3), (4, 2), (4, 7), (5, 15), (8, 3), (8, 127)])
    def test_the_extremes_exist(self, size):
        assert_useful(draw_code(*size), size)


class TestSearch:
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
    def test_finds_the_best_codes_where_they_are_known(self, n_classes, n_bits, best):
        assert min_distance(search_code(n_classes, n_bits)) == best

    @settings(max_examples=25)
    @given(sizes(30, 40), st.integers(0, 100))
    def test_books_are_useful_and_better_than_random_ones(self, size, seed):
        code = search_code(*size, n_restarts=3, seed=seed)
        assert_useful(code, size)
        drawn = np.median([min_distance(draw_code(*size, k)) for k in range(3)])
        assert drawn <= min_distance(code) <= distance_bound(*size)

    @settings(max_examples=15)
    @given(sizes(9, 8), st.integers(0, 100))
    def test_no_single_flip_makes_a_book_better(self, size, seed):
        code = search_code(*size, n_restarts=1, seed=seed)

        def price(book):
            return np.exp2(-pairwise_distances(book)[np.triu_indices(len(book), 1)].astype(float)).sum()

        for c, b in np.ndindex(code.shape):
            flipped = code.copy()
            flipped[c, b] ^= 1
            if has_useful_columns(flipped):
                assert price(flipped) >= price(code)

    def test_large_books(self):
        assert min_distance(search_code(50, 100, n_restarts=20)) >= 47
        # Long codewords neither overflow nor stand still.
        assert min_distance(search_code(12, 1_500, n_restarts=1)) > min_distance(draw_code(12, 1_500)) + 20


@pytest.mark.parametrize("make", [draw_code, lambda *size, seed: search_code(*size, 2, seed)])
def test_the_seed_decides(make):
    first, same, other = (make(10, 20, seed=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, same)
    assert not np.array_equal(first, other)


class TestDistances:
    def test_by_hand(self):
        code = np.array([[0, 0, 0, 0], [0, 0, 1, 1], [1, 1, 1, 0]], dtype=np.int8)
        assert pairwise_distances(code).tolist() == [[0, 2, 3], [2, 0, 3], [3, 3, 0]]
        assert min_distance(code) == 2

    def test_only_bits_of_both_classes_differ(self):
        assert pairwise_distances(np.array([[-1, 0, 1], [1, -1, -1], [0, 1, 1]])).tolist() == [
            [0, 2, 0],
            [2, 0, 2],
            [0, 2, 0],
        ]

    @pytest.mark.parametrize("n_bits", [2, 3, 4, 5, 6, 7])
    def test_the_bound_holds_for_every_book_of_four_classes(self, n_bits):
        best = max(min_distance(exhaustive_code(4)[:, list(kept)]) for kept in itertools.combinations(range(7), n_bits))
        assert best <= distance_bound(4, n_bits) <= best + 1

    def test_the_bound_by_counting_pairs(self):
        # Ten splits of five classes have two and three, telling six pairs apart; the eleventh tells four apart.
        assert distance_bound(5, 11) == (10 * 6 + 4) // 10


@pytest.mark.parametrize("column", [[0, 0, 0, 0], [1, 1, 1, 1], [0, 0, 1, 1], [1, 1, 0, 0]])
def test_constant_equal_and_complementary_columns_are_useless(column):
    book = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], dtype=np.int8)
    assert has_useful_columns(book)
    assert not has_useful_columns(np.column_stack([book, column]).astype(np.int8))


class TestReading:
    @pytest.mark.parametrize("code", [np.eye(3), np.eye(3, dtype=bool), np.eye(3).tolist(), 2 * np.eye(3) - 1])
    def test_numbers_of_any_type(self, code):
        book = read_code(code, 3)
        assert book.dtype == np.int8
        np.testing.assert_array_equal(book, np.eye(3))

    @pytest.mark.parametrize(
        ("code", "problem"),
        [
            ([[0, 0], [0, 1], [1, 1], [0, 1]], "equal rows 1 and 3"),
            ([[0, 1]], "a row for each of the 4 classes"),
            ([0, 1, 1, 1], "a row for each of the 4 classes"),
            (np.zeros((4, 0)), "a row for each of the 4 classes"),
            (np.zeros((4, 2, 2)), "a row for each of the 4 classes"),
            ([[-1, 0], [1, -1], [-1, 1], [1, 1]], "equal rows 0 and 2"),
            *((book * 4, "only 0 and 1, or only -1, 0 and 1") for book in ([[0, 2]], [[0.5, np.nan]], [["a", "b"]])),
        ],
    )
    def test_other_books_are_refused(self, code, problem):
        with pytest.raises(ValueError, match=problem):
            read_code(code, 4)


@pytest.mark.parametrize(
    ("n_classes", "settings", "problem"),
    [
        (5, {"n_bits": 2, "kind": "random"}, "n_bits must be at least 3 for 5 classes"),
        (10, {"n_bits": 3, "kind": "hamming"}, "n_bits must be at least 4"),
        (5, {"n_bits": 16}, "n_bits must be at most 15"),
        (5, {"n_bits": 9, "kind": "exhaustive"}, "the kind 'exhaustive' for 5 classes has 15 bits"),
        (5, {"n_bits": 5, "kind": "one-vs-one"}, "the kind 'one-vs-one' for 5 classes has 10 bits; omit n_bits"),
        (5, {"kind": "bch"}, "kind must be 'auto', 'exhaustive', 'hamming'"),
        *((5, {"n_restarts": value}, "n_restarts must be") for value in (0, 1.5, "many")),
    ],
)
def test_impossible_codes_are_refused(n_classes, settings, problem):
    with pytest.raises((TypeError, ValueError), match=problem):
        make_code(n_classes, **settings)


@pytest.mark.parametrize(("n_classes", "fewest"), [(2, 1), (4, 2), (5, 3), (8, 3), (9, 4), (1024, 10), (1025, 11)])
def test_the_least_number_of_bits(n_classes, fewest):
    check_n_bits(n_classes, fewest)
    with pytest.raises(ValueError, match=f"at least {fewest}"):
        check_n_bits(n_classes, fewest - 1)
