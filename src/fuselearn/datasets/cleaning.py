"""A transformer that turns the raw columns of a table into features."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from fuselearn._extras import require
from fuselearn.datasets.dataset import DatasetError
from fuselearn.datasets.recognition import WORDS_FOR_MISSING, Column, parse_dates, parse_numbers, recognise, to_days
from fuselearn.datasets.targets import name_columns, require_columns

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["TableCleaner", "first_step"]

_TRUTH = {"true": 1.0, "false": 0.0, "1": 1.0, "0": 0.0, "1.0": 1.0, "0.0": 0.0}


class TableCleaner(TransformerMixin, BaseEstimator):
    """Turn the raw columns of a DataFrame into numbers and categories, and drop those that are not features.

    Dates become days since 1970-01-01, Boolean values 0 and 1. A column of numbers or dates with a few words in it,
    such as "unknown", is read as numbers or dates, with the words as missing values. Identifiers and free text, whose
    values are nearly all different, are dropped. All other text becomes categories. ``transform`` applies what ``fit``
    has decided, so that a pipeline accepts raw new samples.

    Parameters
    ----------
    drop : sequence of str, default=()
        Columns to leave out.
    only : sequence of str, optional
        The only columns to use, whatever they look like; all by default.
    keep : sequence of str, default=()
        Columns to use even if they look like identifiers or free text.

    Attributes
    ----------
    columns_ : list of Column
        What each column holds.
    feature_names_in_ : ndarray of str
        The columns that are used. New samples need no others.
    n_features_in_ : int
        Number of columns that are used.

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
        """Return the columns left by `drop` and `only`; refuse unknown names."""
        for purpose, chosen in (("leave out", self.drop), ("use", self.only or ()), ("keep", self.keep)):
            require_columns(names, chosen, f"{where}, apart from the target,", purpose)
        left = [name for name in names if name not in self.drop and (self.only is None or name in self.only)]
        if not left:
            raise DatasetError(f"{where} has no features left: none of {name_columns(names)} may be used.")
        return left

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
        kept = chosen if self.only is not None else set(self.keep)
        self.columns_ = [
            recognise(frame[name], keep=name in kept) if name in chosen else Column(name, "dropped")
            for name in frame.columns
        ]
        used = [column.name for column in self.columns_ if column.is_feature]
        if not used:
            raise DatasetError(
                f"No column looks like a feature: {name_columns(chosen)} hold identifiers or free text. List those to "
                "keep."
            )
        self.feature_names_in_ = np.array(used, dtype=object)
        self.n_features_in_ = len(used)
        return self

    def transform(self, X: Any) -> pd.DataFrame:
        """Convert the columns to features.

        Parameters
        ----------
        X : DataFrame
            It must have the columns that are used, in any order; others are ignored.

        Returns
        -------
        DataFrame
            Numbers and categories.

        Raises
        ------
        DatasetError
            If a column is missing, or holds values of another kind than in ``fit``.
        """
        import pandas as pd

        check_is_fitted(self)
        frame = _as_pandas(X)
        missing = [name for name in self.feature_names_in_ if name not in frame.columns]
        if missing:
            raise DatasetError(f"X lacks the columns {name_columns(missing)}, which the model was trained on.")
        clean = {column.name: _clean(frame[column.name], column) for column in self.columns_ if column.is_feature}
        return pd.DataFrame(clean, index=frame.index)

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
        return all(column.is_plain for column in self.columns_)

    def describe_columns(self) -> list[dict[str, Any]]:
        """Describe the columns that are used, for the header of a model file."""
        described = []
        for column in self.columns_:
            if column.is_feature:
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


def first_step(model: Any) -> Any:
    """Return the first step of a pipeline, or None for other models."""
    steps = getattr(model, "steps", None)
    return steps[0][1] if steps else None


def _as_pandas(X: Any) -> pd.DataFrame:
    require("A TableCleaner", "pandas")
    import pandas as pd

    if isinstance(X, pd.DataFrame):
        frame = X.rename(columns=str)
        if not frame.columns.is_unique:
            raise DatasetError(f"X has two columns named {frame.columns[frame.columns.duplicated()][0]!r}.")
        return frame
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        raise TypeError(f"X must be a DataFrame; got {type(X).__name__}.")
    return pd.DataFrame(frame.to_dict(as_series=False))


def _clean(cells: pd.Series, column: Column) -> pd.Series:
    from pandas.api import types

    if column.kind == "category":
        return _to_categories(cells, column.as_text)
    if column.kind == "date" and not _is_text(cells):
        return to_days(cells if types.is_timedelta64_dtype(cells.dtype) else _to_dates(cells))
    if column.kind == "number" and types.is_numeric_dtype(cells.dtype) and not types.is_bool_dtype(cells.dtype):
        if isinstance(cells.dtype, np.dtype):
            return cells
        whole = types.is_integer_dtype(cells.dtype) and not cells.isna().any()
        return cells.astype("int64" if whole else "float64")
    return _parse(cells, column)


def _parse(cells: pd.Series, column: Column) -> pd.Series:
    """Convert cells to numbers, and refuse those that cannot be converted."""
    text = cells.astype("object").where(cells.notna(), None).map(_to_text, na_action="ignore")
    if column.kind == "boolean":
        numbers = text.str.casefold().map(_TRUTH).astype("float64")
    elif column.kind == "date":
        numbers = parse_dates(text, column.format or "ISO8601")
    else:
        numbers = parse_numbers(text)
    words = WORDS_FOR_MISSING | {word.casefold() for word in column.words} | {""}
    strange = numbers.isna() & text.notna() & ~text.str.casefold().isin(words)
    if strange.any():
        wanted = f"date such as {column.example!r}" if column.kind == "date" else column.kind
        expected = "either true or false" if column.kind == "boolean" else f"a {wanted}"
        raise DatasetError(
            f"Column {column.name!r} holds {text[strange].iloc[0]!r}, where the model expects {expected}."
        )
    return numbers


def _to_text(cell: Hashable) -> str:
    # A missing value turns integers into floats.
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell).strip()


def _is_text(cells: pd.Series) -> bool:
    from pandas.api.types import infer_dtype

    return infer_dtype(cells, skipna=True) == "string"


def _to_dates(cells: pd.Series) -> pd.Series:
    import pandas as pd

    try:
        return pd.to_datetime(cells, utc=True)
    except (TypeError, ValueError) as error:
        raise DatasetError(f"Column {cells.name!r} holds values that are not dates: {error}.") from error


def _to_categories(cells: pd.Series, as_text: bool) -> pd.Series:
    if as_text or not (hasattr(cells, "cat") or _is_text(cells)):
        cells = cells.astype("object").map(_to_text, na_action="ignore")
    return cells.astype("category")
