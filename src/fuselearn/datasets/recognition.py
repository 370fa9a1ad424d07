"""Recognise what a column holds: numbers, dates, categories, identifiers or free text.

Files say little about their columns. A number column with the word "unknown" in it is text to every reader, and so are
dates; a customer number is a number. Here the cells decide, by a few rules that can be explained to the user.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fuselearn.datasets.dataset import DatasetError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["LEFT_OUT", "Column", "parse_dates", "parse_numbers", "recognise"]

LEFT_OUT = ("identifier", "text", "dropped")
"""The kinds of columns that are not features."""

LEAST_DISTINCT = 20
"""A column with fewer different values is categorical, whatever they are."""

WORD_SHARE = 0.5
MOST_WORDS = 5
"""Largest fraction of words, and number of different words, in a column of numbers or dates."""

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
"""Tried in this order, so that of 03/04/2020 the month comes first, as in pandas."""

_DATE_PARTS = {"%Y": r"\d{4}", "%b": "[A-Za-z]{3}", "%B": "[A-Za-z]{3,9}", "%p": "[AaPp][Mm]"}
_COMMA_NUMBER = re.compile(r"[-+]?\d+(,\d+)+(\.\d+)?|[-+]?\d{1,3}(\.\d{3})*,\d+")
_ID_NAME = re.compile(
    r"ids?|uuid|guid|identifier|key|pk|index|idx|unnamed|(row|user|customer|client|order|record|patient)id"
)
_ROW_NAME = re.compile(r"rows?|nr|no|num|number|line|record|sample|case|obs|observation|seq")
_NAME_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


@dataclass(frozen=True)
class Column:
    """The kind of a column, and how its cells become feature values.

    Parameters
    ----------
    name : str
    kind : {"number", "category", "boolean", "date", "identifier", "text", "dropped"}
        The last three are not features.
    as_text : bool, default=False
        Whether cells have to be converted: text to numbers or dates, category numbers to text.
    format : str, default=""
        Format of dates that are text.
    words : tuple of str, default=()
        Cells that are read as missing numbers or dates.
    example : str, default=""
        A cell.
    n_values : int, default=0
        Number of different values of text, categories and identifiers.
    n_cells : int, default=0
        Number of samples in which text and identifiers have a value.
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
        return self.kind not in LEFT_OUT

    @property
    def is_plain(self) -> bool:
        """Whether the column is used unchanged."""
        return self.kind in ("number", "category") and not self.as_text


def recognise(column: pd.Series, *, keep: bool = False) -> Column:
    """Recognise what a column holds.

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
        If its cells cannot be feature values, or are numbers with commas, which are ambiguous.

    Examples
    --------
    >>> import pandas as pd
    >>> column = recognise(pd.Series(["12", "unknown", "7"], name="age"))
    >>> column.kind, column.words
    ('number', ('unknown',))
    >>> recognise(pd.Series(["31.12.2020", "1.1.2021"], name="when")).format
    '%d.%m.%Y'
    """
    from pandas.api import types

    name = str(column.name)
    if isinstance(column.dtype, types.CategoricalDtype):
        categories = column.cat.categories
        return Column(name, "category", as_text=_holds(categories) != "string", n_values=len(categories))
    if types.is_datetime64_any_dtype(column.dtype) or types.is_timedelta64_dtype(column.dtype):
        return Column(name, "date", example=_example(column))
    if types.is_bool_dtype(column.dtype):
        return Column(name, "boolean")
    if types.is_numeric_dtype(column.dtype):
        if not keep and _is_number_of_sample(column):
            return Column(name, "identifier", n_values=column.nunique(), n_cells=int(column.count()))
        return Column(name, "number")
    return _recognise_objects(column, name, keep)


def _recognise_objects(column: pd.Series, name: str, keep: bool) -> Column:
    held = _holds(column)
    if held == "empty":
        return Column(name, "number", as_text=True)
    if held == "string":
        return _recognise_text(column.dropna().str.strip(), name, keep)
    if held == "boolean":
        return Column(name, "boolean", as_text=True)
    if held in ("date", "datetime", "datetime64", "timedelta", "timedelta64"):
        return Column(name, "date", example=_example(column))
    if held in ("integer", "floating", "decimal", "mixed-integer-float"):
        return Column(name, "number", as_text=True)
    try:
        n_values = column.nunique()
    except TypeError as error:
        raise DatasetError(f"Column {name!r} holds nested values; a feature must hold numbers or text.") from error
    return Column(name, "category", as_text=True, n_values=n_values)


def _recognise_text(cells: pd.Series, name: str, keep: bool) -> Column:
    values = cells.drop_duplicates()
    column = Column(name, "category", example=str(cells.iloc[0]), n_values=len(values), n_cells=len(cells))
    words = _words_among(cells, values, parse_numbers(values), least=2, many=LEAST_DISTINCT + 1)
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


def parse_numbers(cells: pd.Series) -> pd.Series:
    """Parse text as numbers; NaN for other text."""
    import pandas as pd

    return pd.to_numeric(cells, errors="coerce").astype("float64")


def parse_dates(cells: pd.Series, form: str) -> pd.Series:
    """Parse text as days since 1970-01-01, in UTC where there is a time zone; NaN for other text.

    Times without a day become parts of a day.
    """
    days = to_days(_parse_dates(cells, form))
    return days % 1 if form.startswith("%H") else days


def to_days(dates: pd.Series) -> pd.Series:
    """Count the days since 1970-01-01, or in a span of time."""
    import pandas as pd

    if not pd.api.types.is_timedelta64_dtype(dates.dtype):
        dates = pd.to_datetime(dates, utc=True) - pd.Timestamp(0, tz="UTC")
    return dates / pd.Timedelta(days=1)


def _shape(form: str) -> re.Pattern[str]:
    """Return a pattern for cells of a date format, which is faster to match than to parse."""
    if form == "ISO8601":
        return re.compile(r"\d{4}-\d{1,2}\b.*")  # pandas would accept a year alone, too
    return re.compile(re.sub("%[A-Za-z]", lambda code: _DATE_PARTS.get(code.group(), r"\d{1,2}"), re.escape(form)))


_SHAPES = {form: _shape(form) for form in DATE_FORMATS}


def _parse_dates(cells: pd.Series, form: str) -> pd.Series:
    import pandas as pd

    if form == "ISO8601":
        cells = cells.where(cells.str.fullmatch(_SHAPES[form]))
    return pd.to_datetime(cells, format=form, errors="coerce", utc=True)


def _find_date_format(cells: pd.Series, values: pd.Series) -> str | None:
    """Return the format in which most of the cells are dates, if the others are a few words."""
    found, best = None, 0
    first = values.iloc[: MOST_WORDS + 1].tolist()
    for form, shape in _SHAPES.items():
        if not any(shape.fullmatch(value) for value in first):
            continue
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
    n_parsed = parsed.nunique()
    if not words:
        return ()
    if all(word.casefold() in WORDS_FOR_MISSING for word in words):
        return words if n_parsed >= least else None
    few = len(words) <= MOST_WORDS and cells.isin(words).mean() <= WORD_SHARE
    return words if few and n_parsed >= many else None


def _refuse_commas(name: str, values: pd.Series) -> None:
    with_comma = values[values.map(lambda value: bool(_COMMA_NUMBER.fullmatch(value)))]
    n_numbers = len(with_comma) + int(parse_numbers(values).notna().sum())
    if len(with_comma) and n_numbers >= (1 - WORD_SHARE) * len(values):
        raise DatasetError(
            f"Column {name!r} holds numbers with commas, such as {with_comma.iloc[0]!r}. If the comma is the decimal "
            "mark, pass decimal=',' (--decimal , on the command line); otherwise drop the column or remove the commas."
        )


def _is_number_of_sample(column: pd.Series) -> bool:
    """Return whether integers only identify the samples: the column name says so, and they hardly repeat."""
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


def _holds(column: Any) -> str:
    from pandas.api.types import infer_dtype

    held: str = infer_dtype(column, skipna=True)
    return held


def _example(column: pd.Series) -> str:
    present = column.dropna()
    return str(present.iloc[0]) if len(present) else ""
