"""Detect the types of the raw columns of a table and convert them to features, as the first step of a pipeline.

Readers return a numeric column with the word "unknown" in it, or a column of dates, as text, and a customer number as a
number. The cleaner decides by the cells, with a few simple rules. skrub's Cleaner keeps identifiers and free text,
needs a list of the words for missing numbers, and leaves dates as dates; and model files contain only estimators of
fuselearn and scikit-learn.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt
import pandas as pd
from pandas.api.types import infer_dtype, is_bool_dtype, is_datetime64_any_dtype, is_integer_dtype, is_numeric_dtype
from pandas.api.types import is_timedelta64_dtype as is_timedelta
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from fuselearn.datasets.dataset import DatasetError, name_columns, require_columns, require_trained

LABEL_PREFIX = "label:"
"""Prefix of label columns in files that the library writes."""

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


class TableCleaner(TransformerMixin, BaseEstimator):
    """Convert the raw columns of a DataFrame to numbers and categories, and drop columns that are not features.

    Dates are converted to days since 1970-01-01, and Boolean values to 0 and 1. In a column of numbers or dates, a few
    words such as "unknown" are read as missing values. Identifiers and free text, with nearly all values distinct, are
    dropped. All other text becomes categories. ``fit`` detects the conversions and ``transform`` applies them, so that
    a pipeline accepts raw new samples.

    Parameters
    ----------
    drop : sequence of str, default=()
        Columns to drop.
    only : sequence of str, optional
        Columns to use, even if they look like identifiers or free text; all others are dropped. By default all columns
        are considered.
    keep : sequence of str, default=()
        Columns to use even if they look like identifiers or free text.

    Attributes
    ----------
    columns_ : list
        Detected columns, with attributes such as ``name`` and ``kind``.
    feature_names_in_ : ndarray of str
        Columns that are used. New samples need only these.
    n_features_in_ : int
        Number of columns used.

    See Also
    --------
    fuselearn.datasets.read_table : Read a table from a file, optionally with a cleaner.

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn.pipeline import make_pipeline
    >>> from fuselearn import CARTClassifier
    >>> from fuselearn.datasets import TableCleaner
    >>> frame = pd.DataFrame({"since": ["2020-01-01", "2020-01-03", "unknown"] * 9, "age": ["30", "?", "50"] * 9})
    >>> TableCleaner().fit_transform(frame).head(3)
         since   age
    0  18262.0  30.0
    1  18264.0   NaN
    2      NaN  50.0
    >>> model = make_pipeline(TableCleaner(), CARTClassifier()).fit(frame, ["a", "b", "a"] * 9)
    >>> model.predict(pd.DataFrame({"age": ["n/a"], "since": ["2021-12-31"], "note": ["new"]}))
    array(['b'], dtype='<U1')
    """

    columns_: list[Column]
    feature_names_in_: npt.NDArray[np.object_]
    n_features_in_: int

    def __init__(
        self, *, drop: Sequence[str] = (), only: Sequence[str] | None = None, keep: Sequence[str] = ()
    ) -> None:
        self.drop = drop
        self.only = only
        self.keep = keep

    def choose(self, names: Sequence[str], where: str = "The table") -> list[str]:
        """Return the columns left by `drop` and `only`, without unnamed labels. Unknown names raise an error."""
        for purpose, chosen in (("leave out", self.drop), ("use", self.only or ()), ("keep", self.keep)):
            require_columns(names, chosen, f"{where}, apart from the target,", purpose)
        allowed = names if self.only is None else self.only
        unnamed = self.find_labels(names)
        left = [name for name in names if name in allowed and name not in self.drop and name not in unnamed]
        if not left:
            raise DatasetError(f"{where} has no features left: none of {name_columns(names)} may be used.")
        return left

    def find_labels(self, names: Sequence[str]) -> list[str]:
        """Return the columns that look like labels and are not named by `drop`, `only` or `keep`."""
        if self.only is not None:
            return []
        return [name for name in names if name.startswith(LABEL_PREFIX) and name not in (*self.drop, *self.keep)]

    def fit(self, X: Any, y: Any = None) -> TableCleaner:
        """Learn how to convert each column.

        Parameters
        ----------
        X : DataFrame
            A DataFrame of pandas, polars or another library that narwhals supports.
        y : None
            Ignored.

        Returns
        -------
        self : TableCleaner
            Fitted transformer.
        """
        frame = _as_pandas(X)
        chosen = set(self.choose(list(frame.columns)))
        warn_of_labels(self.find_labels(list(frame.columns)))
        kept = chosen if self.only is not None else set(self.keep)
        self.columns_ = [
            recognize(frame[name], keep=name in kept) if name in chosen else Column(name, "dropped")
            for name in frame.columns
        ]
        used = [column.name for column in self.columns_ if column.is_feature]
        if not used:
            raise DatasetError(
                f"No column looks like a feature. Name the columns to keep (keep=...): {name_columns(chosen)}."
            )
        self.feature_names_in_ = np.array(used, dtype=object)
        self.n_features_in_ = len(used)
        return self

    def transform(self, X: Any) -> pd.DataFrame:
        """Convert the columns to features.

        Parameters
        ----------
        X : DataFrame
            Must contain the columns that are used, in any order; other columns are ignored.

        Returns
        -------
        DataFrame
            Numbers and categories.

        Raises
        ------
        DatasetError
            If a column is missing, or has values of a different kind than in ``fit``.
        """
        check_is_fitted(self)
        frame = _as_pandas(X)
        require_trained(frame.columns, self.feature_names_in_, "X")
        return convert(frame, [column for column in self.columns_ if column.is_feature])

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:
        """Return the names of the features.

        Parameters
        ----------
        input_features : None
            Ignored.

        Returns
        -------
        ndarray of str
        """
        check_is_fitted(self)
        return self.feature_names_in_.copy()

    @property
    def is_idle(self) -> bool:
        """Whether all columns are used unchanged, so that a model needs no cleaner."""
        return all(column.is_unchanged for column in self.columns_)

    @property
    def left_out(self) -> list[str]:
        """The columns that are not used; empty if no DataFrame was fitted."""
        return [column.name for column in getattr(self, "columns_", ()) if not column.is_feature]

    def describe_columns(self) -> list[dict[str, Any]]:
        """Describe the columns that are used, for the header of a model file."""
        described = []
        for column in (column for column in self.columns_ if column.is_feature):
            n_categories = column.n_values if column.kind == "category" else 0
            about = {"categories": n_categories, "format": column.format, "words": list(column.words)}
            described.append({"name": column.name, "type": column.kind} | {k: v for k, v in about.items() if v})
        return described

    def __sklearn_tags__(self) -> Any:
        """Return scikit-learn's tags: DataFrames with text, categories and missing values are accepted."""
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.input_tags.allow_nan = True
        return tags


class SparseColumns(TransformerMixin, BaseEstimator):
    """Select named numeric features and return them as a sparse matrix.

    With it, a model trained on a sparse matrix selects its features by name from DataFrames and files.

    Parameters
    ----------
    names : sequence of str
        The names of the features, in the order of the matrix.

    Examples
    --------
    >>> import pandas as pd
    >>> SparseColumns(["b", "a"]).fit_transform(pd.DataFrame({"a": [0, 1], "b": [2, 0], "c": [3, 3]})).toarray()
    array([[2., 0.],
           [0., 1.]])
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.names = names

    @property
    def feature_names_in_(self) -> npt.NDArray[np.object_]:
        """The names of the features."""
        return np.array(self.names, dtype=object)

    @property
    def n_features_in_(self) -> int:
        """The number of features."""
        return len(self.names)

    def fit(self, X: Any, y: Any = None) -> SparseColumns:
        """Do nothing; the transformer has no parameters to fit."""
        return self

    def transform(self, X: Any) -> sparse.csr_array:
        """Return the features as a sparse matrix.

        A DataFrame may have additional columns and any order; other input must have exactly these features in this
        order.
        """
        if hasattr(X, "columns"):
            require_trained(X.columns, self.names, "X")
            X = X[list(self.names)].to_numpy().astype(np.float64)
        if X.shape[1] != len(self.names):
            raise DatasetError(f"X has {X.shape[1]} features; the model was trained on {len(self.names)}.")
        return sparse.csr_array(X, dtype=np.float64)

    def describe_columns(self) -> list[dict[str, Any]]:
        """Describe the columns, for the header of a model file."""
        return [{"name": name, "type": "number"} for name in self.names]

    def __sklearn_is_fitted__(self) -> bool:
        """Return True: there is nothing to fit."""
        return True

    def __sklearn_tags__(self) -> Any:
        """Return scikit-learn's tags."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.requires_fit = False
        return tags


def warn_of_labels(names: Sequence[str]) -> None:
    """Warn that columns are dropped because they look like labels."""
    if names:
        warnings.warn(
            f"These columns look like labels and are not used as features: {name_columns(names)}. To use them, "
            f"pass TableCleaner(keep=...), or --keep on the command line.",
            stacklevel=3,
        )


def first_step(model: Any) -> Any:
    """Return the first step of a pipeline, or None for other models."""
    steps = getattr(model, "steps", None)
    return steps[0][1] if steps else None


def _as_pandas(X: Any) -> pd.DataFrame:
    if isinstance(X, pd.DataFrame):
        frame = X.rename(columns=str)
        if not frame.columns.is_unique:
            raise DatasetError(f"X has two columns named {frame.columns[frame.columns.duplicated()][0]!r}.")
        return frame
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        raise TypeError(f"X must be a DataFrame; got {type(X).__name__}.")
    return pd.DataFrame(frame.to_dict(as_series=False))


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
