"""Code books: the textbook's exhaustive code, random books that are always useful, and sentences for bad ones."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuselearn.codes.codebook import (
    check_n_bits,
    count_splits,
    distance_bound,
    exhaustive_code,
    fewest_bits,
    has_distinct_rows,
    has_useful_columns,
    min_distance,
    pairwise_distances,
    random_code,
    read_code,
)


@st.composite
def sizes(draw):
    """Draw numbers of classes and bits for which useful books exist."""
    n_classes = draw(st.integers(2, 80))
    return n_classes, draw(st.integers(fewest_bits(n_classes), min(count_splits(n_classes), 200)))


class TestExhaustive:
    def test_five_classes_as_in_the_textbook(self):
        words = ["111111111111111", "000000001111111", "000011110000111", "001100110011001", "010101010101010"]
        np.testing.assert_array_equal(exhaustive_code(5), [[int(bit) for bit in word] for word in words])

    @pytest.mark.parametrize("n_classes", range(2, 11))
    def test_every_pair_of_classes_is_told_apart_by_half_of_the_splits(self, n_classes):
        code = exhaustive_code(n_classes)
        assert code.shape == (n_classes, 2 ** (n_classes - 1) - 1)
        distances = pairwise_distances(code)[np.triu_indices(n_classes, 1)]
        assert (distances == 2 ** (n_classes - 2)).all()
        assert has_distinct_rows(code)
        assert has_useful_columns(code)

    @pytest.mark.parametrize("n_classes", [1, 14, 100])
    def test_too_many_classes(self, n_classes):
        with pytest.raises(ValueError, match="2 to 13 classes"):
            exhaustive_code(n_classes)


class TestRandom:
    @given(sizes(), st.integers(0, 1000))
    def test_books_are_useful(self, size, seed):
        code = random_code(*size, random_state=seed)
        assert code.shape == size
        assert set(np.unique(code)) == {0, 1}
        assert has_distinct_rows(code)
        assert has_useful_columns(code)

    @pytest.mark.parametrize(("n_classes", "n_bits"), [(3, 2), (3, 3), (4, 2), (4, 7), (5, 15), (8, 3), (8, 127)])
    def test_the_extremes_exist(self, n_classes, n_bits):
        code = random_code(n_classes, n_bits, random_state=0)
        assert has_distinct_rows(code)
        assert has_useful_columns(code)

    def test_the_seed_decides(self):
        first, same, other = (random_code(10, 20, random_state=seed) for seed in (1, 1, 2))
        np.testing.assert_array_equal(first, same)
        assert not np.array_equal(first, other)


class TestDistances:
    code = np.array([[0, 0, 0, 0], [0, 0, 1, 1], [1, 1, 1, 0]], dtype=np.int8)

    def test_by_hand(self):
        assert pairwise_distances(self.code).tolist() == [[0, 2, 3], [2, 0, 3], [3, 3, 0]]
        assert min_distance(self.code) == 2

    @given(sizes(), st.integers(0, 1000))
    def test_no_book_exceeds_the_bound(self, size, seed):
        assert min_distance(random_code(*size, random_state=seed)) <= distance_bound(*size)

    @pytest.mark.parametrize("n_bits", [2, 3, 4, 5, 6, 7])
    def test_the_bound_holds_for_every_book_of_four_classes(self, n_bits):
        best = max(
            min_distance(exhaustive_code(4)[:, list(columns)]) for columns in itertools.combinations(range(7), n_bits)
        )
        assert best <= distance_bound(4, n_bits) <= best + 1
        assert distance_bound(4, 7) == 4

    def test_by_counting_pairs(self):
        # Ten splits of five classes have two and three, telling six pairs apart; the eleventh tells four apart.
        assert distance_bound(5, 11) == (10 * 6 + 4) // 10


class TestColumns:
    @pytest.mark.parametrize(
        "column", [[0, 0, 0, 0], [1, 1, 1, 1], [0, 0, 1, 1], [1, 1, 0, 0]], ids=["zeros", "ones", "equal", "complement"]
    )
    def test_useless_ones(self, column):
        book = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], dtype=np.int8)
        assert has_useful_columns(book)
        assert not has_useful_columns(np.column_stack([book, column]).astype(np.int8))


class TestReading:
    def test_signs_stand_for_bits(self):
        np.testing.assert_array_equal(read_code([[-1, 1], [1, 1]], 2), [[0, 1], [1, 1]])

    @pytest.mark.parametrize("code", [np.eye(3), np.eye(3, dtype=bool), np.eye(3).tolist()])
    def test_numbers_of_any_type(self, code):
        book = read_code(code, 3)
        assert book.dtype == np.int8
        np.testing.assert_array_equal(book, np.eye(3))

    def test_equal_rows_are_named(self):
        with pytest.raises(ValueError, match="equal rows, 1 and 3"):
            read_code([[0, 0], [0, 1], [1, 1], [0, 1]], 4)

    @pytest.mark.parametrize("code", [[[0, 1]], [0, 1, 1], np.zeros((3, 0)), np.zeros((3, 2, 2))])
    def test_shapes(self, code):
        with pytest.raises(ValueError, match="a row for each of the 3 classes"):
            read_code(code, 3)

    @pytest.mark.parametrize(
        "code", [[[0, 2], [1, 0]], [[-1, 0], [1, 1]], [[0.5, 1], [1, 0]], [["a", "b"], ["c", "d"]]]
    )
    def test_other_values(self, code):
        with pytest.raises(ValueError, match="only 0 and 1, or only -1 and 1"):
            read_code(code, 2)

    @pytest.mark.parametrize("code", [[[0, np.nan], [1, 0]]])
    def test_missing_values(self, code):
        with pytest.raises(ValueError, match="only 0 and 1"):
            read_code(code, 2)


@pytest.mark.parametrize(("n_bits", "problem"), [(2, "at least 3 to tell 5 classes apart"), (16, "at most 15")])
def test_numbers_of_bits_that_are_impossible(n_bits, problem):
    with pytest.raises(ValueError, match=problem):
        check_n_bits(5, n_bits)


@pytest.mark.parametrize(
    ("n_classes", "n_bits"), [(2, 1), (3, 2), (4, 2), (5, 3), (8, 3), (9, 4), (1024, 10), (1025, 11)]
)
def test_the_fewest_bits(n_classes, n_bits):
    assert fewest_bits(n_classes) == n_bits
