"""Tables of any kind become one float matrix."""

from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest

from fuselearn.learners import TableCoder
from fuselearn.learners.table import refuse_odd_cells

LIBRARIES = [pytest.param(pd.DataFrame, id="pandas"), pytest.param(pl.DataFrame, id="polars")]
nan = np.nan


@pytest.mark.parametrize("frame", LIBRARIES)
def test_numbers_booleans_and_gaps(frame):
    coder = TableCoder()
    coded = coder.fit_transform(frame({"a": [1, 2, 3], "b": [0.5, None, -1.0], "c": [True, False, True]}))
    np.testing.assert_array_equal(coded, [[1, 0.5, 1], [2, nan, 0], [3, -1, 1]])
    assert coded.dtype == np.float64
    assert coder.n_categories_.tolist() == [0, 0, 0]


def test_a_thousand_columns_of_numbers_are_read_in_one_go(monkeypatch):
    frame = pd.DataFrame(np.arange(2000).reshape(2, 1000)).astype({0: float, 1: bool})
    expected = TableCoder().fit_transform(frame.astype({2: object}))
    monkeypatch.setattr("fuselearn.learners.table._numbers", None)
    coded = TableCoder().fit_transform(frame)
    np.testing.assert_array_equal(coded, expected)
    assert coded.dtype == np.float64


@pytest.mark.parametrize("frame", LIBRARIES)
def test_text_is_sorted_into_categories(frame):
    coder = TableCoder()
    coded = coder.fit_transform(frame({"a": ["pear", None, "apple", "pear"]}))
    np.testing.assert_array_equal(coded.ravel(), [1, nan, 0, 1])
    assert coder.categories_[0].tolist() == ["apple", "pear"]
    assert coder.n_categories_.tolist() == [2]


def test_pandas_categories_keep_their_declared_order():
    column = pd.Categorical(["low", None, "high"], categories=["low", "middle", "high"], ordered=True)
    coder = TableCoder()
    np.testing.assert_array_equal(coder.fit_transform(pd.DataFrame({"a": column})).ravel(), [0, nan, 2])
    assert coder.n_categories_.tolist() == [3]


def test_polars_enums_keep_their_declared_order():
    column = pl.Series(["low", None, "high"], dtype=pl.Enum(["low", "middle", "high"]))
    coder = TableCoder()
    np.testing.assert_array_equal(coder.fit_transform(pl.DataFrame({"a": column})).ravel(), [0, nan, 2])
    assert coder.n_categories_.tolist() == [3]


def test_polars_categories_do_not_depend_on_other_columns():
    columns = {"a": ["x", "y"], "b": ["u", "x"]}
    coder = TableCoder()
    coded = coder.fit_transform(pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.Categorical)))
    for f, values in enumerate(columns.values()):
        assert np.array(coder.categories_[f])[coded[:, f].astype(int)].tolist() == values


@pytest.mark.parametrize("values", [[3, 1, 2], [2.5, 1.5, 2.0], [True, False, True]])
def test_pandas_categories_may_be_of_any_type(values):
    frame = pd.DataFrame({"a": pd.Categorical(values)})
    coder = TableCoder()
    coded = coder.fit_transform(frame)
    np.testing.assert_array_equal(np.array(coder.categories_[0])[coded.ravel().astype(int)], values)
    np.testing.assert_array_equal(coder.transform(pd.DataFrame({"a": values})), coded)


@pytest.mark.parametrize("dtype", ["Int64", "Float64", "boolean"])
def test_nullable_pandas_types(dtype):
    frame = pd.DataFrame({"a": pd.array([1, None, 0], dtype=dtype)})
    np.testing.assert_array_equal(TableCoder().fit_transform(frame).ravel(), [1, nan, 0])


def test_numbers_in_an_object_column_stay_numbers():
    frame = pd.DataFrame({"a": pd.Series([2, None, 10], dtype=object)})
    coder = TableCoder()
    np.testing.assert_array_equal(coder.fit_transform(frame).ravel(), [2, nan, 10])
    assert coder.categories_ == [None]


@pytest.mark.parametrize("later", LIBRARIES)
@pytest.mark.parametrize("first", LIBRARIES)
def test_unknown_categories_become_minus_one(first, later):
    coder = TableCoder()
    coder.fit_transform(first({"a": ["x", "y"], "b": [1.0, 2.0]}))
    coded = coder.transform(later({"a": ["y", "new", None], "b": [3.0, 4.0, None]}))
    np.testing.assert_array_equal(coded, [[1, 3], [-1, 4], [nan, nan]])


def test_codes_follow_the_training_categories_whatever_is_declared_later():
    coder = TableCoder()
    coder.fit_transform(pd.DataFrame({"a": pd.Categorical(["x", "y"])}))
    later = pd.DataFrame({"a": pd.Categorical(["y", "x"], categories=["z", "y", "x"])})
    np.testing.assert_array_equal(coder.transform(later).ravel(), [1, 0])


@pytest.mark.parametrize("frame", LIBRARIES)
def test_a_text_column_without_any_value(frame):
    empty = pd.Series([None, None], dtype="str") if frame is pd.DataFrame else pl.Series([None, None], dtype=pl.String)
    coder = TableCoder()
    assert np.isnan(coder.fit_transform(frame({"a": empty}))).all()
    assert coder.transform(frame({"a": ["x", "y"]})).shape == (2, 1)


def test_arrays_pass_through():
    X = np.array([[1.0, nan], [2.0, 3.0]])
    coder = TableCoder()
    assert coder.fit_transform(X) is X
    assert coder.n_categories_.tolist() == [0, 0]
    assert coder.transform(X) is X


def test_an_array_cannot_stand_for_categories():
    coder = TableCoder()
    coder.fit_transform(pd.DataFrame({"a": ["x", "y"]}))
    with pytest.raises(TypeError, match="1 categorical column"):
        coder.transform(np.zeros((1, 1)))


@pytest.mark.parametrize("frame", LIBRARIES)
@pytest.mark.parametrize("bad", [np.inf, -np.inf])
def test_infinite_values_are_refused_with_the_name_of_the_column(frame, bad):
    with pytest.raises(ValueError, match="'size' has infinite"):
        TableCoder().fit_transform(frame({"ok": [1.0, 2.0], "size": [1.0, bad]}))


@pytest.mark.parametrize("frame", LIBRARIES)
def test_text_where_numbers_were_is_refused_with_the_name_of_the_column(frame):
    coder = TableCoder()
    coder.fit_transform(frame({"size": [1.0, 2.0]}))
    for values in (["tall"], ["1"]):
        with pytest.raises(ValueError, match="'size' was numeric"):
            coder.transform(frame({"size": values}))


def test_dates_are_refused_with_the_name_of_the_column():
    with pytest.raises(TypeError, match="'day'"):
        TableCoder().fit_transform(pd.DataFrame({"day": pd.date_range("2020-01-01", periods=2)}))


def test_mixed_types_are_refused_with_the_name_of_the_column():
    with pytest.raises(TypeError, match="'size' mixes types"):
        TableCoder().fit_transform(pd.DataFrame({"size": ["tall", 3]}))


def test_too_many_categories_are_refused_with_the_name_of_the_column():
    with pytest.raises(ValueError, match=r"'id' has 65,536 categories"):
        TableCoder().fit_transform(pd.DataFrame({"id": np.arange(65_536).astype(str)}))


class TestOddCells:
    @pytest.mark.parametrize("cell", [{"a": 1}, [1], (1,), np.ones(2), object(), print], ids=lambda c: type(c).__name__)
    def test_a_cell_unlike_the_others_is_refused(self, cell):
        column = np.array([1.0, None, 2.0], dtype=object)
        column[1] = cell
        for table, name in ((np.column_stack([[1, 2, 3], column]), "1"), (pd.DataFrame({"a": column}), "'a'")):
            message = f"Column {name} of X has a value of type {type(cell).__name__}; .* table of strings and numbers"
            with pytest.raises(TypeError, match=message):
                refuse_odd_cells(table)

    @pytest.mark.parametrize(
        "cell", [None, nan, pd.NA, True, "text", b"bytes", 7, np.float32(1), pd.Timestamp(0), Decimal("1.5")], ids=repr
    )
    def test_numbers_text_times_and_gaps_may_be_mixed(self, cell):
        table = np.array([[1.0, "a"], [2, cell]], dtype=object)
        refuse_odd_cells(table)
        refuse_odd_cells(pd.DataFrame(table))

    def test_a_whole_column_of_others_is_for_the_learner_to_judge(self):
        """Such as lists of words, which a pipeline may count."""
        refuse_odd_cells(pd.DataFrame({"words": [["a", "b"], ["c"]], "n": [1, 2]}))
        refuse_odd_cells(pl.DataFrame({"words": [["a", "b"], ["c"]], "n": [1, 2]}))
