"""Numbers are read as Python reads them, and anything that is not plain is left alone."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuselearn.datasets.decimals import read_numbers
from fuselearn.datasets.tables import MISSING


def read(text, n_columns=1, wanted=None, separator=","):
    return read_numbers(text, separator, n_columns, range(n_columns) if wanted is None else wanted, MISSING)


def bits(numbers):
    return np.asarray(numbers, dtype=np.float64).view(np.uint64).tolist()


digits = st.text("0123456789", min_size=1, max_size=22)
decimals = st.builds(
    "{}{}{}{}".format,
    st.sampled_from(["", "-"]),
    digits,
    st.one_of(st.just(""), st.just("."), digits.map(".{}".format)),
    st.one_of(st.just(""), st.builds("{}{}".format, st.sampled_from(["e", "E", "e+", "e-"]), st.integers(0, 330))),
)
floats = st.floats(allow_nan=False, allow_infinity=False)


@given(st.lists(st.one_of(decimals, floats.map(repr), floats.map("{:.16e}".format)), min_size=1, max_size=30))
def test_every_decimal_becomes_the_nearest_float(cells):
    # Where most cells are in doubt, the reader gives up; two plain rows for each outweigh them.
    numbers = read("\n".join([*cells, *["1"] * 4 * len(cells)]).encode())
    assert bits(numbers[: len(cells), 0]) == bits([float(cell) for cell in cells])


@pytest.mark.parametrize(
    "cell",
    [
        "9007199254740993", "9007199254740992.5", "9007199254740991.5", "1e23", "8.5e22", "1e22", "123456789e-22",
        "2.2250738585072011e-308", "5e-324", "2e-324", "1.7976931348623157e308", "1e400", "-1e400", "0e-30", "-0",
        "-0.0", "0e99999999999999999999", "18446744073709551615", "18446744073709551616", "1.", ".5", "-.5e1",
        "0.1000000000000000055511151231257827021181583404541015625", "179769313486231580793e289", "9" * 19, "1" * 40,
        "0.5000000000000000277555756156289135105907917022705078125", "4503599627370497.5", "4503599627370496.5",
    ],
)  # fmt: skip
def test_hard_cases(cell):
    assert bits(read(f"{cell}\n".encode())[:, 0]) == bits([float(cell)])


def test_random_floats_of_seventeen_digits():
    numbers = np.random.default_rng(0).normal(size=(20_000, 3)) * 10.0 ** np.arange(-200, 201, 200)
    text = "".join(f"{a!r},{b:.16e},{c!r}\n" for a, b, c in numbers.tolist())
    assert bits(read(text.encode(), 3)) == bits(numbers)


def test_missing_cells_are_nan():
    numbers = read("".join(f"{word},1\n" for word in MISSING).encode(), 2)
    assert np.isnan(numbers[:, 0]).all()
    assert (numbers[:, 1] == 1).all()


def test_columns_are_chosen_by_their_place():
    numbers = read("Zoë\t1\t2\tx,y\nmax\t3\t\t!\r\n".encode(), 4, [2, 1], "\t")
    np.testing.assert_array_equal(numbers, [[2, 1], [math.nan, 3]])


@pytest.mark.parametrize("text", [b"1,2\n3,4\n", b"1,2\r\n3,4\r\n", b"1,2\n3,4", b"\n\r\n1,2\n\n\n3,4\r\n\r\n"])
def test_line_ends_and_blank_lines(text):
    assert read(text, 2).tolist() == [[1, 2], [3, 4]]


def test_blank_lines_are_no_missing_cells_of_a_single_column():
    assert read(b"1\r\n\r\n2\n\n3").tolist() == [[1], [2], [3]]


def test_no_rows():
    assert read(b"", 2).shape == (0, 2)


@pytest.mark.parametrize(
    "text",
    [
        b"1\n", b"1,2,3\n", b"1,2\n3\n", b"1,2,\n", b'"1",2\n', b"1, 2\n", b"1 ,2\n", b" \n", b"+1,2\n", b"inf,2\n",
        b"1e,2\n",
        b"-,2\n", b".,2\n", b"1.2.3,2\n", b"one,2\n", b"NaNs,2\n", b"None,2\n", b"0x10,2\n", b"1_0,2\n", b"1\r2,3\n",
        b"1,2\r3,4\n", b"NA\0,2\n", b"\xef\xbb\xbf1,2\n", b"1e5e,2\n", b"--1,2\n", b"1-,2\n", "١,2\n".encode(),
    ],
)  # fmt: skip
def test_what_is_not_plain_is_left_alone(text):
    assert read(text, 2) is None


def test_cells_to_skip_may_be_quoted():
    text = b'1,"a, b",2\n3,"two\r\n\nlines",4\r\n5,"say ""no""",6\n7,"",8\n9,"""",10\n'
    assert read(text, 3, [0, 2]).tolist() == [[1, 2], [3, 4], [5, 6], [7, 8], [9, 10]]


@pytest.mark.parametrize("cell", [b'"', b'a"b', b'"a"b', b'"""', b'"a" ', b"\xff", b"a\rb"])
def test_cells_to_skip_must_be_harmless(cell):
    assert read(b"1," + cell + b",2\n", 3, [0, 2]) is None


def test_many_cells_in_doubt_are_left_alone():
    assert read(b"0.1000000000000000055511151231257827\n" * 100) is None
