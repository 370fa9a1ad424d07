"""Split a raw table into features and classes, or features and labels.

Every reader ends here, so that CSV, Parquet, ARFF and downloaded tables have the same form: numeric
features stay numbers, everything else becomes a category, classes are names, labels are 0 and 1.
`where` names the table in error messages, usually by its file.
"""

from __future__ import annotations

import difflib
from collections.abc import Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fuselearn.datasets.dataset import DatasetError

if TYPE_CHECKING:
    import pandas as pd

    from fuselearn.datasets.registry import TargetSwap

LABEL_PREFIX = "label:"
CLASS_COLUMN = "class"

FEW_CLASSES, MANY_CLASSES = 10, 50

_LABEL_WORDS = {"0": 0, "1": 1, "0.0": 0, "1.0": 1, "false": 0, "true": 1, "no": 0, "yes": 1}


def name_columns(columns: Iterable[Hashable], limit: int = 8) -> str:
    """Quote the first `limit` column names for a message.

    >>> name_columns(["a", "b", "c"], limit=2)
    "'a', 'b' and 1 more"
    """
    names = [repr(str(column)) for column in columns]
    shown = ", ".join(names[:limit])
    return shown if len(names) <= limit else f"{shown} and {len(names) - limit} more"


def require_columns(columns: Iterable[Hashable], wanted: Sequence[str], where: str, purpose: str) -> None:
    """Refuse unknown columns, and suggest the nearest name."""
    columns = list(columns)
    for name in wanted:
        if name in columns:
            continue
        near = difflib.get_close_matches(str(name), [str(column) for column in columns], n=1)
        hint = f"; did you mean {near[0]!r}?" if near else "."
        raise DatasetError(
            f"{where} has no column {name!r} to {purpose}{hint} The columns are {name_columns(columns)}."
        )


def split_classes(frame: pd.DataFrame, target: str, where: str) -> tuple[pd.DataFrame, pd.Series]:
    """Split a table into features and one column of classes."""
    require_columns(frame.columns, [target], where, "use as the target")
    features = tidy_features(frame.drop(columns=[target]), where)
    return features, class_names(frame[target], where)


def swap_target(X: pd.DataFrame, y: pd.Series, swap: TargetSwap) -> tuple[pd.DataFrame, pd.Series]:
    """Make a feature the target, and the target a feature; a table in which that is done already is left as it is."""
    import pandas as pd

    if swap.feature not in X:
        return X, y
    X = X.assign(**{swap.former: y.astype("category")})
    for name in swap.numbers:
        X[name] = pd.to_numeric(X[name].astype(str).str.removeprefix("c"))
    return X, X.pop(swap.feature).astype(str).rename(CLASS_COLUMN)


def split_labels(frame: pd.DataFrame, labels: Sequence[str], where: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Split a table into features and several columns of labels."""
    if not labels:
        raise DatasetError(f"labels is empty; {where} needs at least one label column.")
    require_columns(frame.columns, labels, where, "use as the label")
    features = tidy_features(frame.drop(columns=list(labels)), where)
    return features, code_labels(frame[list(labels)], where)


def tidy_features(frame: pd.DataFrame, where: str) -> pd.DataFrame:
    """Convert every column to plain numbers or categories."""
    import pandas as pd

    if frame.shape[1] == 0:
        raise DatasetError(f"{where} has no feature columns besides the target.")
    if all(isinstance(dtype, np.dtype) and dtype.kind in "iuf" for dtype in frame.dtypes):
        return frame.copy()
    tidy = {name: _tidy_feature(frame[name], where) for name in frame.columns}
    return pd.DataFrame(tidy, index=frame.index, columns=frame.columns)


def _tidy_feature(column: pd.Series, where: str) -> pd.Series:
    from pandas.api import types

    if isinstance(column.dtype, np.dtype) and column.dtype.kind in "iuf":
        return column
    if types.is_bool_dtype(column.dtype) and not column.isna().any():
        return column.astype("int64")
    if types.is_numeric_dtype(column.dtype):
        # pandas' nullable numbers: plain floats can be missing, too.
        whole = types.is_integer_dtype(column.dtype) and not column.isna().any()
        return column.astype("int64" if whole else "float64")
    if types.is_datetime64_any_dtype(column.dtype) or types.is_timedelta64_dtype(column.dtype):
        raise DatasetError(
            f"Column {column.name!r} of {where} holds dates; convert them to numbers with a TableCleaner, or drop "
            "the column."
        )
    try:
        return column.astype("category")
    except TypeError as error:
        raise DatasetError(
            f"Column {column.name!r} of {where} holds nested values; a feature must hold numbers or text."
        ) from error


def class_names(column: pd.Series, where: str) -> pd.Series:
    """Validate a column of classes: no missing values, no measurements."""
    import pandas as pd

    _refuse_missing(column, where, "target")
    if isinstance(column.dtype, pd.CategoricalDtype):
        return column.astype(column.cat.categories.dtype)
    if pd.api.types.is_float_dtype(column.dtype):
        if not np.equal(np.mod(column.to_numpy(dtype=float), 1), 0).all():
            raise DatasetError(
                f"The target column {column.name!r} of {where} holds fractional numbers, which are "
                "measurements and not classes; choose a column of classes."
            )
        return column.astype("int64")
    return column.copy()


def doubt_classes(classes: pd.Series) -> str | None:
    """Return why the values of a target look like measurements or free text rather than classes, or None.

    Numbers are doubted if there are more than 50 different ones, or fewer than five samples of each on average; text if
    there are fewer than two. Up to ten classes are never doubted.

    >>> import pandas as pd
    >>> doubt_classes(pd.Series(range(30)))
    'has 30 different numbers in 30 samples, which look like measurements'
    >>> doubt_classes(pd.Series(["a", "b", "c"]))
    """
    from pandas.api.types import is_numeric_dtype

    n_samples, n_classes = len(classes), classes.nunique()
    if n_classes <= FEW_CLASSES:
        return None
    if is_numeric_dtype(classes.dtype):
        if n_classes > MANY_CLASSES or n_samples < 5 * n_classes:
            return f"has {n_classes} different numbers in {n_samples} samples, which look like measurements"
    elif n_samples < 2 * n_classes:
        return f"has {n_classes} different values in {n_samples} samples, which look like names or free text"
    return None


def code_labels(frame: pd.DataFrame, where: str) -> pd.DataFrame:
    """Encode label columns as 0 and 1; true/false and yes/no are accepted."""
    import pandas as pd

    coded = {name: _code_label(frame[name], where) for name in frame.columns}
    return pd.DataFrame(coded, index=frame.index, columns=frame.columns)


def _code_label(column: pd.Series, where: str) -> np.ndarray:
    _refuse_missing(column, where, "label")
    codes: dict[Any, int | None] = {value: _LABEL_WORDS.get(str(value).strip().lower()) for value in column.unique()}
    for value, code in codes.items():
        if code is None:
            raise DatasetError(
                f"The label column {column.name!r} of {where} holds {str(value)!r}; a label must "
                "be 0 or 1, false or true, no or yes."
            )
    return column.map(codes).to_numpy(dtype=np.int64)


def _refuse_missing(column: pd.Series, where: str, role: str) -> None:
    missing = column.isna().to_numpy()
    if missing.any():
        first = int(np.argmax(missing)) + 1
        raise DatasetError(
            f"The {role} column {column.name!r} of {where} has {int(missing.sum())} missing "
            f"value(s), the first in data row {first}."
        )
