"""Sums without rounding errors."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fuselearn.engines import exact
from fuselearn.engines.exact import exact_sum, from_units, sum_units

numbers = st.lists(st.floats(-1e300, 1e300), max_size=30)


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


def test_long_arrays_are_summed_in_blocks(monkeypatch):
    monkeypatch.setattr(exact, "BLOCK", 3)
    assert exact_sum(np.array([1e16, 1.0, -1e16, 1.0, 0.5, 0.25, 0.125])) == 2.875
