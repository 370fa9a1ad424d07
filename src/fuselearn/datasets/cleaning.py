"""Detect the types of the raw columns of a table and convert them to features, as the first step of a pipeline.

Readers return a numeric column with the word "unknown" in it, or a column of dates, as text, and a customer number as a
number. The cleaner decides by the cells, with a few simple rules. skrub's Cleaner keeps identifiers and free text,
needs a list of the words for missing numbers, and leaves dates as dates; and model files contain only estimators of
fuselearn and scikit-learn.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from fuselearn.datasets.columns import Column, convert, recognize
from fuselearn.datasets.dataset import DatasetError, name_columns, require_columns, require_trained

LABEL_PREFIX = "label:"
"""Prefix of label columns in files that the library writes."""


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
