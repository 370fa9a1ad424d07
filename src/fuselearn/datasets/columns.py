"""The kinds of the raw columns of a table, detected by their cells, and the conversion of columns to features."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import infer_dtype, is_bool_dtype, is_datetime64_any_dtype, is_integer_dtype, is_numeric_dtype
from pandas.api.types import is_timedelta64_dtype as is_timedelta

from fuselearn.datasets.dataset import DatasetError

LEAST_DISTINCT = 20
"""A column with fewer distinct values is categorical."""

WORD_FRACTION = 0.5
MOST_WORDS = 5
"""Maximum fraction of words, and maximum number of distinct words, in a column of numbers or dates."""

WORDS_FOR_MISSING = frozenset(
    [
        *("-", "--", "---", ".", "..", "?", "*", "#", "n/a", "na", "n.a.", "n.a", "nan", "none", "nil", "null", "tbd"),
        *("missing", "unknown", "undefined", "unspecified", "unavailable", "not available", "not applicable"),
        *("not known", "no data", "(null)", "(none)", "(missing)", "(unknown)"),
        *("#n/a", "#na", "#value!", "#div/0!", "#ref!", "#num!"),
    ]
)

_DAYS = (
    *("%Y/%m/%d", "%Y.%m.%d", "%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y", "%m-%d-%Y", "%d-%m-%Y", "%d-%b-%Y"),
    *("%d.%m.%y", "%m/%d/%y", "%d/%m/%y", "%d-%b-%y"),
    *("%d %b %Y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y", "%b %d %Y", "%B %d %Y"),
)
_CLOCKS = ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p")
DATE_FORMATS = ("ISO8601", *(day + clock for day in _DAYS for clock in _CLOCKS), "%H:%M", "%H:%M:%S")
"""Tried in this order, so that 03/04/2020 is March 4, as in pandas."""

_DATE_PARTS = {"%Y": r"\d{4}", "%b": "[A-Za-z]{3}", "%B": "[A-Za-z]{3,9}", "%p": "[AaPp][Mm]"}
_COMMA_NUMBER = re.compile(r"[-+]?\d+(,\d+)+(\.\d+)?|[-+]?\d{1,3}(\.\d{3})*,\d+")
_ID_NAME = re.compile(
    r"ids?|uuid|guid|identifier|key|pk|index|idx|unnamed|(row|user|customer|client|order|record|patient)id"
)
_ROW_NAME = re.compile(r"rows?|nr|no|num|number|line|record|sample|case|obs|observation|seq")
_NAME_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_TRUTH = {"true": 1.0, "false": 0.0, "1": 1.0, "0": 0.0, "1.0": 1.0, "0.0": 0.0}

NESTED = "Column {} contains nested values; a feature must contain numbers or text."

# The kinds of values in object columns, by pandas' inferred types.
_KINDS = {
    "empty": "number",
    "boolean": "boolean",
    **dict.fromkeys(("integer", "floating", "decimal", "mixed-integer-float"), "number"),
    **dict.fromkeys(("date", "datetime", "datetime64", "timedelta", "timedelta64"), "date"),
}


@dataclass(frozen=True)
class Column:
    """The kind of a column, and how its cells are converted to feature values.

    Parameters
    ----------
    name : str
    kind : {"number", "category", "boolean", "date", "identifier", "text", "dropped"}
        The last three are not features.
    as_text : bool, default=False
        Whether cells need a conversion: text to numbers or dates, numeric categories to text.
    format : str, default=""
        Format of dates stored as text.
    words : tuple of str, default=()
        Cells that are read as missing numbers or dates.
    example : str, default=""
        An example of a cell.
    n_values : int, default=0
        Number of distinct values of text, categories and identifiers.
    n_cells : int, default=0
        Number of samples with a value, for text and identifiers.
    """

    name: str
    kind: str
    as_text: bool = False
    format: str = ""
    words: tuple[str, ...] = ()
    example: str = ""
    n_values: int = 0
    n_cells: int = 0

    @property
    def is_feature(self) -> bool:
        """Whether the column is a feature."""
        return self.kind not in ("identifier", "text", "dropped")

    @property
    def is_unchanged(self) -> bool:
        """Whether the cells are used unchanged."""
        return self.kind in ("number", "category") and not self.as_text


def recognize(column: pd.Series, *, keep: bool = False) -> Column:
    """Detect the kind of a column.

    Parameters
    ----------
    column : Series
    keep : bool, default=False
        Whether the column is a feature even if it looks like an identifier or free text.

    Returns
    -------
    Column

    Raises
    ------
    DatasetError
        If the cells cannot be feature values, or are numbers with ambiguous commas.

    Examples
    --------
    >>> column = recognize(pd.Series(["12", "unknown", "7"], name="age"))
    >>> column.kind, column.words
    ('number', ('unknown',))
    >>> recognize(pd.Series(["31.12.2020", "1.1.2021"], name="when")).format
    '%d.%m.%Y'
    """
    name, dtype = str(column.name), column.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        is_text = infer_dtype(dtype.categories, skipna=True) == "string"
        return Column(name, "category", as_text=not is_text, n_values=len(dtype.categories))
    if is_bool_dtype(dtype):
        return Column(name, "boolean")
    if is_numeric_dtype(dtype):
        if not keep and _is_number_of_sample(column):
            return Column(name, "identifier", n_values=column.nunique(), n_cells=int(column.count()))
        return Column(name, "number")
    held = infer_dtype(column, skipna=True)
    if held == "string":
        return _recognize_text(column.dropna().str.strip(), name, keep)
    kind = "date" if is_datetime64_any_dtype(dtype) or is_timedelta(dtype) else _KINDS.get(held)
    if kind == "date":
        return Column(name, kind, example="".join(map(str, column.dropna().iloc[:1])))
    if kind is not None:
        return Column(name, kind, as_text=True)
    try:
        return Column(name, "category", as_text=True, n_values=column.nunique())
    except TypeError as error:
        raise DatasetError(NESTED.format(repr(name))) from error


def _recognize_text(cells: pd.Series, name: str, keep: bool) -> Column:
    values = cells.drop_duplicates()
    column = Column(name, "category", example=str(cells.iloc[0]), n_values=len(values), n_cells=len(cells))
    words = _words_among(cells, values, _parse_numbers(values), least=2, many=LEAST_DISTINCT + 1)
    if words is not None:
        return replace(column, kind="number", as_text=True, words=words)
    form = _find_date_format(cells, values)
    if form is not None:
        words = tuple(sorted(values[_parse_dates(values, form).isna()]))
        return replace(column, kind="date", as_text=True, format=form, words=words)
    _refuse_commas(name, values)
    if not keep and len(values) >= LEAST_DISTINCT and len(values) > len(cells) / 2:
        has_phrases = values.str.contains(r"\S\s+\S").mean() > 0.5
        return replace(column, kind="text" if has_phrases else "identifier")
    return column


def _shape(form: str) -> re.Pattern[str]:
    """Return a pattern for cells of a date format, which is faster to match than to parse."""
    if form == "ISO8601":
        return re.compile(r"\d{4}-\d{1,2}\b.*")  # pandas would accept a year alone, too
    return re.compile(re.sub("%[A-Za-z]", lambda code: _DATE_PARTS.get(code.group(), r"\d{1,2}"), re.escape(form)))


_SHAPES = {form: _shape(form) for form in DATE_FORMATS}


def _find_date_format(cells: pd.Series, values: pd.Series) -> str | None:
    """Return the date format of most cells, if the other cells are a few words."""
    found, best = None, 0
    first = values.iloc[: MOST_WORDS + 1].tolist()
    for form, shape in _SHAPES.items():
        if any(shape.fullmatch(value) for value in first):
            dates = _parse_dates(values, form)
            n_dates = int(dates.notna().sum())
            if n_dates > best and _words_among(cells, values, dates, least=1, many=1) is not None:
                found, best = form, n_dates
    return found


def _words_among(
    cells: pd.Series, values: pd.Series, parsed: pd.Series, *, least: int, many: int
) -> tuple[str, ...] | None:
    """List the words in a column of numbers or dates, or return None if it is not one.

    Words that stand for a missing value are accepted if there are at least `least` parsed values; other words must be
    few, among at least `many` parsed values.
    """
    words = tuple(sorted(values[parsed.isna()]))
    if all(word.casefold() in WORDS_FOR_MISSING for word in words):
        return words if not words or parsed.nunique() >= least else None
    few = len(words) <= MOST_WORDS and cells.isin(words).mean() <= WORD_FRACTION
    return words if few and parsed.nunique() >= many else None


def _refuse_commas(name: str, values: pd.Series) -> None:
    with_comma = values[values.map(lambda value: bool(_COMMA_NUMBER.fullmatch(value)))]
    n_numbers = len(with_comma) + int(_parse_numbers(values).notna().sum())
    if len(with_comma) and n_numbers >= (1 - WORD_FRACTION) * len(values):
        example = with_comma.iloc[0]
        raise DatasetError(
            f"Column {name!r} contains numbers with commas, such as {example!r}. If the comma is the decimal "
            f"mark, pass "
            "decimal=',' (--decimal , on the command line); otherwise drop the column or remove the commas."
        )


def _is_number_of_sample(column: pd.Series) -> bool:
    """Return whether integers are identifiers: the column name suggests it, and values hardly repeat."""
    parts = [part.lower() for part in _NAME_PARTS.findall(str(column.name))]
    is_id, is_row = (any(name.fullmatch(part) for part in parts[:1] + parts[-1:]) for name in (_ID_NAME, _ROW_NAME))
    if not (is_id or is_row):
        return False
    numbers = column.dropna().to_numpy(dtype=np.float64)
    if len(numbers) < LEAST_DISTINCT or not np.equal(np.mod(numbers, 1), 0).all():
        return False
    if is_row and np.equal(np.diff(numbers), 1).all():
        return True
    n_values = len(np.unique(numbers))
    return is_id and n_values >= LEAST_DISTINCT and n_values > len(numbers) / 2


def convert(frame: pd.DataFrame, columns: Iterable[Column]) -> pd.DataFrame:
    """Convert columns to numbers and categories; cells of a different kind raise an error."""
    return pd.DataFrame({column.name: _convert(frame[column.name], column) for column in columns}, index=frame.index)


def _convert(cells: pd.Series, column: Column) -> pd.Series:
    if column.kind == "category":
        return _to_categories(cells, column.as_text)
    if column.kind == "date" and infer_dtype(cells, skipna=True) != "string":
        return _count_days(cells)
    if column.kind == "number" and is_numeric_dtype(cells.dtype) and not is_bool_dtype(cells.dtype):
        return _to_plain(cells)
    if column.kind == "boolean" and is_bool_dtype(cells.dtype) and not cells.isna().any():
        return cells.astype("float64")
    text = cells.astype("object").where(cells.notna(), None).map(_to_text, na_action="ignore")
    if column.kind == "boolean":
        numbers = text.str.casefold().map(_TRUTH).astype("float64")
    elif column.kind == "date":
        numbers = parse_dates(text, column.format or "ISO8601")
    else:
        numbers = _parse_numbers(text)
    words = WORDS_FOR_MISSING | {word.casefold() for word in column.words} | {""}
    strange = numbers.isna() & text.notna() & ~text.str.casefold().isin(words)
    if strange.any():
        kinds = {"boolean": "either true or false", "date": f"a date such as {column.example!r}"}
        expected, found = kinds.get(column.kind, "a number"), text[strange].iloc[0]
        raise DatasetError(f"Column {column.name!r} contains {found!r}, where the model expects {expected}.")
    return numbers


def tidy_features(frame: pd.DataFrame, where: str) -> pd.DataFrame:
    """Convert every column to numbers or categories, without parsing text."""
    if all(isinstance(dtype, np.dtype) and dtype.kind in "iuf" for dtype in frame.dtypes):
        return frame.copy()
    tidy = {name: _tidy_feature(frame[name], where) for name in frame.columns}
    return pd.DataFrame(tidy, index=frame.index, columns=frame.columns)


def _tidy_feature(column: pd.Series, where: str) -> pd.Series:
    if is_bool_dtype(column.dtype) and not column.isna().any():
        return column.astype("int64")
    if is_numeric_dtype(column.dtype):
        return _to_plain(column)
    if is_datetime64_any_dtype(column.dtype) or is_timedelta(column.dtype):
        raise DatasetError(f"Column {column.name!r} of {where} contains dates; use a TableCleaner, or drop the column.")
    try:
        return column.astype("category")
    except TypeError as error:
        raise DatasetError(NESTED.format(f"{column.name!r} of {where}")) from error


def _to_plain(cells: pd.Series) -> pd.Series:
    """Convert pandas' nullable numbers to integers, or to floats if values are missing."""
    if isinstance(cells.dtype, np.dtype):
        return cells
    return cells.astype("int64" if is_integer_dtype(cells.dtype) and not cells.isna().any() else "float64")


def _to_categories(cells: pd.Series, as_text: bool) -> pd.Series:
    if as_text or not (hasattr(cells, "cat") or infer_dtype(cells, skipna=True) == "string"):
        cells = cells.astype("object").map(_to_text, na_action="ignore")
    return cells.astype("category")


def _to_text(cell: Hashable) -> str:
    # A missing value turns integers into floats.
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell).strip()


def _parse_numbers(cells: pd.Series) -> pd.Series:
    """Parse text as numbers; NaN for other text."""
    return pd.to_numeric(cells, errors="coerce").astype("float64")


def parse_dates(cells: pd.Series, form: str) -> pd.Series:
    """Parse text as days since 1970-01-01, in UTC where there is a time zone; NaN for other text.

    Times without a day become parts of a day.
    """
    days = _count_days(_parse_dates(cells, form))
    return days % 1 if form.startswith("%H") else days


def _parse_dates(cells: pd.Series, form: str) -> Any:
    if form == "ISO8601":
        cells = cells.where(cells.str.fullmatch(_SHAPES[form]))
    return pd.to_datetime(cells, format=form, errors="coerce", utc=True)


def _count_days(dates: pd.Series) -> pd.Series:
    """Count the days since 1970-01-01, or in a span of time."""
    if not is_timedelta(dates.dtype):
        try:
            dates = pd.to_datetime(dates, utc=True) - pd.Timestamp(0, tz="UTC")
        except (TypeError, ValueError) as error:
            raise DatasetError(f"Column {dates.name!r} contains values that are not dates: {error}.") from error
    return dates / pd.Timedelta(days=1)
