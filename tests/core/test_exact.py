"""Sums without rounding errors."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuselearn._core import exact_sum, sum_units
from fuselearn.scale.tasks import from_units

numbers = st.lists(st.one_of(st.floats(-1e300, 1e300), st.floats(-1e-300, 1e-300)), max_size=30)


@given(numbers)
def test_sums_are_those_of_the_standard_library(values):
    assert exact_sum(np.array(values, dtype=np.float64)) == math.fsum(values)


@given(numbers, st.integers(0, 30), st.randoms(use_true_random=False))
def test_neither_order_nor_division_matters(values, place, random):
    total = sum_units(np.array(values, dtype=np.float64))
    random.shuffle(values)
    parts = np.array(values[:place], dtype=np.float64), np.array(values[place:], dtype=np.float64)
    assert sum(sum_units(part) for part in parts) == total


def test_the_smallest_numbers_count():
    smallest = 2.0**-1074
    assert sum_units(np.full(3, smallest)) == 3
    assert from_units(3) == 3 * smallest


@given(numbers)
def test_units_are_whole_numbers(values):
    expected = sum(Fraction(value) * 2**1074 for value in values)
    assert sum_units(np.array(values, dtype=np.float64)) == expected


@pytest.mark.parametrize(
    ("values", "total"),
    [
        ([1e16, 1.0, -1e16, 1.0, 0.5, 0.25, 0.125], 2.875),
        ([2.0**53, 1.0], 2.0**53),  # halfway: to the even one
        ([2.0**53, 1.0, 2.0**-1074], 2.0**53 + 2),  # the smallest number decides
        ([2.0**53 + 2, 1.0], 2.0**53 + 4),
        ([-(2.0**53), -1.0, -(2.0**-1000)], -(2.0**53) - 2),
        ([2.0**-1022, -(2.0**-1074)], 2.0**-1022 - 2.0**-1074),
        ([1.7e308, 1.7e308, -1.7e308], 1.7e308),
        ([0.1, -0.1], 0.0),
        ([], 0.0),
    ],
)
def test_sums_are_rounded_once(values, total):
    values = np.array(values, dtype=np.float64)
    assert exact_sum(values) == total
    assert from_units(sum_units(values)) == total


@pytest.mark.parametrize("sum_up", [sum_units, exact_sum])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_only_finite_numbers_have_a_sum(sum_up, value):
    with pytest.raises(ValueError, match="values must be finite"):
        sum_up(np.array([1.0, value]))


def test_a_sum_that_no_number_holds_is_refused():
    with pytest.raises(ValueError, match="too large"):
        exact_sum(np.array([1.7e308, 1.7e308]))


def test_only_arrays_of_double_precision_are_summed():
    with pytest.raises(TypeError, match="values must be an array of float64"):
        exact_sum(np.ones(3, dtype=np.float32))
