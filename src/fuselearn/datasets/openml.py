"""Download a registered dataset from OpenML and convert it to the registry's form.

OpenML's copies are tables as their donors left them: row names among the features, numbers declared
as nominal, labels written TRUE and FALSE. The steps here undo that, dataset by dataset; whether the
result is what the registry expects is checked by the caller.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from fuselearn._messages import show
from fuselearn.datasets.dataset import DatasetError
from fuselearn.datasets.registry import DatasetInfo
from fuselearn.datasets.targets import class_names, code_labels, tidy_features

if TYPE_CHECKING:
    import pandas as pd

    Pair = tuple[pd.DataFrame, Any]

# Codes that look like numbers but have no order.
_CATEGORICAL = {"cmc": ("Husbands_occupation",)}
_ROW_NAMES = {"flags": "name", "genbase": "protein"}


class FetchError(DatasetError):
    """OpenML could not be reached, or did not answer as expected."""


def fetch(info: DatasetInfo) -> tuple[pd.DataFrame, pd.Series | pd.DataFrame]:
    """Download the copy named in the registry and convert it."""
    from http.client import HTTPException

    from sklearn.datasets import fetch_openml

    assert info.openml is not None
    try:
        # The pandas parser of scikit-learn 1.9 fails on labels that are written TRUE and FALSE.
        bunch = fetch_openml(data_id=info.openml.data_id, as_frame=True, cache=False, n_retries=2, parser="liac-arff")
    except (OSError, ValueError, HTTPException) as error:
        reason = str(error) or type(error).__name__
        raise FetchError(f"{info.openml} could not be downloaded: {reason}") from error
    found = bunch.details["name"]
    if info.openml.name and found.lower() != info.openml.name.lower():
        raise FetchError(f"{info.openml} is a dataset called {show(found)}.")
    return adapt(info, bunch.data, bunch.target)


def adapt(info: DatasetInfo, X: pd.DataFrame, y: Any) -> tuple[pd.DataFrame, Any]:
    """Convert a table from OpenML to the form of the registry."""
    where = str(info.openml)
    X = X.drop(columns=_ROW_NAMES.get(info.name, ""), errors="ignore").reset_index(drop=True)
    X = _number_nominals(tidy_features(X, where), keep=_CATEGORICAL.get(info.name, ()))
    y = y.reset_index(drop=True)
    if info.task == "multilabel":
        if y.ndim != 2:
            raise FetchError(f"{where} has one target column, not {info.classes} labels.")
        y = code_labels(y, where)
    else:
        y = class_names(y, where).astype(str).rename("class")
    step = _STEPS.get(info.name)
    return step(X, y) if step else (X, y)


def _number_nominals(X: pd.DataFrame, keep: tuple[str, ...]) -> pd.DataFrame:
    """Convert nominal columns that hold numbers to numbers, and unordered codes to c1, c2."""
    import pandas as pd
    from pandas.api.types import is_numeric_dtype

    columns: dict[Any, pd.Series] = {}
    for name, column in X.items():
        if isinstance(column.dtype, pd.CategoricalDtype):
            column = _as_numbers(column.cat.remove_unused_categories())
        if name in keep and is_numeric_dtype(column.dtype):
            # With the letter, the codes remain text when the table is stored and read again.
            column = column.map("c{:.0f}".format, na_action="ignore").astype("category")
        columns[name] = column
    return pd.DataFrame(columns)


def _as_numbers(column: pd.Series) -> pd.Series:
    import pandas as pd

    text = column.astype("object")
    if {str(value).lower() for value in column.cat.categories} <= {"false", "true"}:
        text = text.map(lambda value: int(str(value).lower() == "true"), na_action="ignore")
    numbers = pd.to_numeric(text, errors="coerce")
    return column if (numbers.isna() & column.notna()).any() else numbers


def _drop_constant_columns(X: pd.DataFrame, y: pd.Series) -> Pair:
    return X.loc[:, X.nunique() > 1], y


def _drop_incomplete_rows(X: pd.DataFrame, y: pd.Series) -> Pair:
    complete = X.notna().all(axis=1)
    return X[complete].reset_index(drop=True), y[complete].reset_index(drop=True)


def _join_two_spellings(X: pd.DataFrame, y: pd.Series) -> Pair:
    """Join the two smallest of five classes: 'very_low' (24 samples) and 'Very Low' (26)."""
    sizes = y.value_counts()
    if len(sizes) != 5:
        return X, y
    larger, smaller = sizes.index[-2:]
    return X, y.replace({smaller: larger})


def _code_yes_no(X: pd.DataFrame, Y: pd.DataFrame) -> Pair:
    return code_labels(X, "genbase"), Y


def _train_part_with_none(X: pd.DataFrame, Y: pd.DataFrame) -> Pair:
    X, Y = X.iloc[:322], Y.iloc[:322]
    return X, Y.assign(none=(Y.sum(axis=1) == 0).astype("int64"))


_STEPS: dict[str, Callable[[Any, Any], Any]] = {
    "mushroom": _drop_constant_columns,
    "ionosphere": _drop_constant_columns,
    "ilpd": _drop_incomplete_rows,
    "knowledge": _join_two_spellings,
    "genbase": _code_yes_no,
    "birds": _train_part_with_none,
}
