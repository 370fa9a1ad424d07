"""Download a registered dataset with scikit-learn's `fetch_openml`, and convert it to the registry's form.

OpenML's copies are tables as their donors left them: row names among the features, numbers declared
as nominal, labels written TRUE and FALSE. The steps here undo that, dataset by dataset; whether the
result is what the registry expects is checked by the caller.
"""

from __future__ import annotations

from typing import Any

import pandas as pd

from fuselearn.datasets.dataset import DatasetError
from fuselearn.datasets.recognition import tidy_features
from fuselearn.datasets.registry import DatasetInfo
from fuselearn.datasets.targets import CLASS_COLUMN, class_names, code_labels

Pair = tuple[pd.DataFrame, Any]

# Codes that look like numbers but have no order.
_CATEGORICAL = {"cmc": ("Husbands_occupation",)}
_ROW_NAMES = {"flags": "name", "genbase": "protein"}


def fetch(info: DatasetInfo) -> Pair:
    """Download the copy named in the registry and convert it."""
    from http.client import HTTPException

    from sklearn.datasets import fetch_openml

    try:
        # The pandas parser of scikit-learn 1.9 fails on labels that are written TRUE and FALSE.
        bunch = fetch_openml(data_id=info.openml, as_frame=True, cache=False, n_retries=2, parser="liac-arff")
    except (OSError, ValueError, HTTPException) as error:
        reason = str(error) or type(error).__name__
        raise DatasetError(f"OpenML dataset {info.openml} could not be downloaded: {reason}") from error
    return adapt(info, bunch.data, bunch.target)


def adapt(info: DatasetInfo, X: pd.DataFrame, y: Any) -> Pair:
    """Convert a table from OpenML to the form of the registry."""
    where = f"OpenML dataset {info.openml}"
    X = X.drop(columns=_ROW_NAMES.get(info.name, ""), errors="ignore").reset_index(drop=True)
    X = _number_nominals(tidy_features(X, where), keep=_CATEGORICAL.get(info.name, ()))
    y = y.reset_index(drop=True)
    if info.task == "multilabel":
        y = code_labels(y.to_frame() if y.ndim == 1 else y, where)
    else:
        y = class_names(y, where).astype(str).rename(CLASS_COLUMN)
    step = _STEPS.get(info.name)
    return step(X, y) if step else (X, y)


def swap_target_of_flags(X: pd.DataFrame, y: pd.Series) -> Pair:
    """Make the corner's color the target, as in the paper, and religion a feature, unless that is done already."""
    if "botright" not in X:
        return X, y
    X = X.assign(religion=y.astype("category"))
    for name in ("landmass", "zone", "language"):  # codes such as c5
        X[name] = pd.to_numeric(X[name].astype(str).str.removeprefix("c"))
    return X, X.pop("botright").astype(str).rename(CLASS_COLUMN)


def _number_nominals(X: pd.DataFrame, keep: tuple[str, ...]) -> pd.DataFrame:
    """Convert nominal columns that hold numbers to numbers, and unordered codes to c1, c2."""
    columns: dict[Any, pd.Series] = {}
    for name, column in X.items():
        if isinstance(column.dtype, pd.CategoricalDtype):
            column = _as_numbers(column.cat.remove_unused_categories())
        if name in keep and pd.api.types.is_numeric_dtype(column.dtype):
            # With the letter, the codes remain text when the table is stored and read again.
            column = column.map("c{:.0f}".format, na_action="ignore").astype("category")
        columns[name] = column
    return pd.DataFrame(columns)


def _as_numbers(column: pd.Series) -> pd.Series:
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
    classes = y.value_counts().index
    return X, y.replace({classes[4]: classes[3]}) if len(classes) == 5 else y


def _train_part_with_none(X: pd.DataFrame, Y: pd.DataFrame) -> Pair:
    X, Y = X.iloc[:322], Y.iloc[:322]
    return X, Y.assign(none=(Y.sum(axis=1) == 0).astype("int64"))


_STEPS: dict[str, Any] = {
    "mushroom": _drop_constant_columns,
    "ionosphere": _drop_constant_columns,
    "ilpd": _drop_incomplete_rows,
    "knowledge": _join_two_spellings,
    "genbase": lambda X, Y: (code_labels(X, "genbase"), Y),
    "birds": _train_part_with_none,
}
