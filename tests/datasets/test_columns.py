"""What a column contains is detected from its cells."""

import datetime
import decimal
import uuid

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuselearn.datasets import DatasetError
from fuselearn.datasets.columns import DATE_FORMATS, parse_dates, recognize

RNG = np.random.default_rng(0)


def kind_of(cells, name="x", **options):
    return recognize(pd.Series(cells, name=name), **options).kind


TEXT_NUMBERS = [*map(str, range(40))]
KINDS = {
    "number": [
        ("size", [1.5, None, 2]), ("size", range(100)), ("paid", range(100)), ("empty", [None, None]),
        ("id", [1, 2, 3]), ("id", RNG.integers(5, size=100)), ("id", RNG.normal(size=100)),
        ("humidity", RNG.permutation(100)), ("number of rooms", RNG.permutation(100)),
        ("size", ["1", "2.5", "unknown"]), ("size", [*TEXT_NUMBERS, *["many"] * 35]), ("when", ["2020", "2021"]),
        ("price", [decimal.Decimal("1.5"), None]),
    ],
    "identifier": [
        ("id", range(100)), ("id", [*range(99), None]), ("PassengerId", RNG.permutation(100)),
        ("customer_id", RNG.permutation(100)), ("ID Number", RNG.permutation(100)), ("Unnamed: 0", range(50)),
        ("row", range(7, 57)), ("customer", [f"C{i}" for i in range(100)]),
        ("key", [str(uuid.UUID(int=i)) for i in range(100)]),
    ],
    "category": [
        ("customer", [f"C{i % 40}" for i in range(100)]), ("customer", [f"C{i}" for i in range(19)]),
        ("note", ["called twice"] * 100), ("colour", ["red", "green", None] * 9), ("size", ["1", "2", "3+"] * 30),
        ("size", [*TEXT_NUMBERS, *["many"] * 45]), ("size", ["unknown", "none", "-"]), ("mixed", ["a", 1]),
        ("code", pd.Categorical([f"c{i}" for i in range(100)])),
    ],
    "text": [("note", [f"called {i} times" for i in range(100)])],
    "boolean": [("flag", [True, False]), ("flag", [True, None]), ("flag", pd.array([True, None], dtype="boolean"))],
    "date": [
        ("when", pd.to_datetime(["2020-01-01", None])), ("when", [datetime.date(2020, 1, 1), None]),
        ("when", pd.to_timedelta([1, 2], unit="h")), ("when", ["2020-01-01", "2020-12-31"]),
    ],
}  # fmt: skip


@pytest.mark.parametrize(("kind", "name", "cells"), [(kind, *case) for kind, cases in KINDS.items() for case in cases])
def test_kinds(kind, name, cells):
    assert kind_of(cells, name) == kind


def test_what_is_kept_is_a_feature():
    assert kind_of(range(100), "id", keep=True) == "number"
    for name, text in (("customer", "C{}"), ("note", "called {} times")):
        assert kind_of(list(map(text.format, range(100))), name, keep=True) == "category"


def test_words_are_remembered_as_they_stand():
    cells = [*map(str, range(60)), " Unknown ", "n/a", "-"]
    assert recognize(pd.Series(cells, name="x")).words == ("-", "Unknown", "n/a")


times = st.datetimes(datetime.datetime(1950, 1, 1), datetime.datetime(2049, 12, 31))


@settings(max_examples=50)
@given(st.sampled_from([form for form in DATE_FORMATS if "%Y" in form]), st.lists(times, min_size=2, unique=True))
def test_dates_of_every_format_become_days(form, dates):
    dates = [date.replace(second=0, microsecond=0) for date in dates]
    text = pd.Series([date.strftime(form) for date in dates], name="when")
    column = recognize(text)
    assert column.kind == "date"
    found = parse_dates(text, column.format).to_numpy()
    # Where all days are at most 12, day and month cannot be told apart, and the month is taken to come first.
    if column.format == form or not all(date.day <= 12 for date in dates):
        expected = [pd.to_datetime(cell, format=form).timestamp() / 86400 for cell in text]
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)


def test_days_are_counted_in_universal_time_and_times_are_parts_of_a_day():
    cells = pd.Series(["1970-01-02", "1970-01-01T12:00:00Z", "1970-01-01 12:00:00+12:00", "1969-12-31"])
    assert parse_dates(cells, "ISO8601").tolist() == [1.0, 0.5, 0.0, -1.0]
    column = recognize(pd.Series(["06:00", "23:59"], name="at"))
    assert parse_dates(pd.Series(["06:00", "18:00"]), column.format).tolist() == [0.25, 0.75]


def test_of_two_numbers_the_day_is_the_one_above_twelve():
    assert recognize(pd.Series(["03/04/2020", "05/06/2020"], name="x")).format == "%m/%d/%Y"
    assert recognize(pd.Series(["03/04/2020", "25/06/2020"], name="x")).format == "%d/%m/%Y"


@pytest.mark.parametrize("cells", [["1,5", "2,25", "3"], ["1,234", "12,345.5"], ["1.234,5", "1,5"]])
def test_numbers_with_commas_are_not_guessed_at(cells):
    with pytest.raises(DatasetError, match="Column 'price' contains numbers with commas, such as '1"):
        recognize(pd.Series(cells, name="price"))


def test_nested_values_are_refused():
    with pytest.raises(DatasetError, match="Column 'x' contains nested values"):
        recognize(pd.Series([[1], [2]], name="x"))
