"""What a column holds is told from its cells, by rules that a user can be told."""

import datetime
import decimal
import uuid

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuselearn.datasets import DatasetError
from fuselearn.datasets.recognition import DATE_FORMATS, parse_dates, recognize

RNG = np.random.default_rng(0)


def kind_of(cells, name="x", **options):
    return recognize(pd.Series(cells, name=name), **options).kind


@pytest.mark.parametrize(
    ("name", "cells", "kind"),
    [
        ("size", [1.5, None, 2], "number"),
        ("size", range(100), "number"),
        ("paid", range(100), "number"),
        ("id", range(100), "identifier"),
        ("id", [1, 2, 3], "number"),
        ("id", RNG.integers(5, size=100), "number"),
        ("id", RNG.normal(size=100), "number"),
        ("id", [*range(99), None], "identifier"),
        ("PassengerId", RNG.permutation(100), "identifier"),
        ("customer_id", RNG.permutation(100), "identifier"),
        ("ID Number", RNG.permutation(100), "identifier"),
        ("humidity", RNG.permutation(100), "number"),
        ("Unnamed: 0", range(50), "identifier"),
        ("row", range(7, 57), "identifier"),
        ("number of rooms", RNG.permutation(100), "number"),
        ("customer", [f"C{i}" for i in range(100)], "identifier"),
        ("key", [str(uuid.UUID(int=i)) for i in range(100)], "identifier"),
        ("customer", [f"C{i % 40}" for i in range(100)], "category"),
        ("customer", [f"C{i}" for i in range(19)], "category"),
        ("note", [f"called {i} times" for i in range(100)], "text"),
        ("note", ["called twice"] * 100, "category"),
        ("colour", ["red", "green", None] * 9, "category"),
        ("size", ["1", "2.5", "unknown"], "number"),
        ("size", ["1", "2", "3+"] * 30, "category"),
        ("size", [*map(str, range(40)), *["many"] * 35], "number"),
        ("size", [*map(str, range(40)), *["many"] * 45], "category"),
        ("size", ["unknown", "none", "-"], "category"),
        ("empty", [None, None], "number"),
        ("flag", [True, False], "boolean"),
        ("flag", [True, None], "boolean"),
        ("flag", pd.array([True, None], dtype="boolean"), "boolean"),
        ("when", pd.to_datetime(["2020-01-01", None]), "date"),
        ("when", [datetime.date(2020, 1, 1), None], "date"),
        ("when", pd.to_timedelta([1, 2], unit="h"), "date"),
        ("when", ["2020-01-01", "2020-12-31"], "date"),
        ("when", ["2020", "2021"], "number"),
        ("price", [decimal.Decimal("1.5"), None], "number"),
        ("code", pd.Categorical([f"c{i}" for i in range(100)]), "category"),
        ("mixed", ["a", 1], "category"),
    ],
)
def test_kinds(name, cells, kind):
    assert kind_of(cells, name) == kind


@pytest.mark.parametrize(
    ("name", "cells", "kind"),
    [
        ("id", range(100), "number"),
        ("customer", [f"C{i}" for i in range(100)], "category"),
        ("note", [f"called {i} times" for i in range(100)], "category"),
    ],
)
def test_what_is_kept_is_a_feature(name, cells, kind):
    assert kind_of(cells, name, keep=True) == kind


def test_words_are_remembered_as_they_stand():
    cells = [*map(str, range(60)), " Unknown ", "n/a", "-"]
    assert recognize(pd.Series(cells, name="x")).words == ("-", "Unknown", "n/a")


@settings(max_examples=50)
@given(
    st.sampled_from([form for form in DATE_FORMATS if "%Y" in form]),
    st.lists(
        st.datetimes(datetime.datetime(1950, 1, 1), datetime.datetime(2049, 12, 31)),
        min_size=2,
        max_size=30,
        unique=True,
    ),
)
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


@pytest.mark.parametrize(
    ("cell", "days"),
    [
        ("1970-01-02", 1.0),
        ("1970-01-01T12:00:00Z", 0.5),
        ("1970-01-01 12:00:00+12:00", 0.0),
        ("1969-12-31", -1.0),
    ],
)
def test_days_are_counted_in_universal_time(cell, days):
    assert parse_dates(pd.Series([cell]), "ISO8601").tolist() == [days]


def test_times_without_a_day_are_parts_of_a_day():
    column = recognize(pd.Series(["06:00", "23:59"], name="at"))
    assert parse_dates(pd.Series(["06:00", "18:00"]), column.format).tolist() == [0.25, 0.75]


def test_of_two_numbers_the_day_is_the_one_above_twelve():
    assert recognize(pd.Series(["03/04/2020", "05/06/2020"], name="x")).format == "%m/%d/%Y"
    assert recognize(pd.Series(["03/04/2020", "25/06/2020"], name="x")).format == "%d/%m/%Y"


@pytest.mark.parametrize("cells", [["1,5", "2,25", "3"], ["1,234", "12,345.5"], ["1.234,5", "1,5"]])
def test_numbers_with_commas_are_not_guessed_at(cells):
    with pytest.raises(DatasetError, match="Column 'price' holds numbers with commas, such as '1"):
        recognize(pd.Series(cells, name="price"))


def test_nested_values_are_refused():
    with pytest.raises(DatasetError, match="Column 'x' holds nested values"):
        recognize(pd.Series([[1], [2]], name="x"))
