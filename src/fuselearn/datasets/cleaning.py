"""Transformers that turn the raw columns of a table into features; they are the first step of a pipeline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from fuselearn._extras import require
from fuselearn.datasets.dataset import DatasetError, name_columns, require_columns, require_trained

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Column", "SparseColumns", "TableCleaner", "first_step"]


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
        return self.kind not in ("identifier", "text", "dropped")


# skrub's Cleaner neither drops identifiers and free text nor reads "unknown" among numbers, and keeps dates as dates.
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
    columns_ : list
        What each column holds: its ``name``, its ``kind`` and so on.
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
        from fuselearn.datasets.recognition import recognize

        chosen = set(self.choose(list(frame.columns)))
        kept = chosen if self.only is not None else set(self.keep)
        self.columns_ = [
            recognize(frame[name], keep=name in kept) if name in chosen else Column(name, "dropped")
            for name in frame.columns
        ]
        used = [column.name for column in self.columns_ if column.is_feature]
        if not used:
            raise DatasetError(f"No column looks like a feature; list those among {name_columns(chosen)} to keep.")
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
        check_is_fitted(self)
        frame = _as_pandas(X)
        from fuselearn.datasets.recognition import convert

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
        return all(column.kind in ("number", "category") and not column.as_text for column in self.columns_)

    @property
    def left_out(self) -> list[str]:
        """The columns that are not used; none if no table of columns was fitted."""
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

    It lets a model that was trained on a sparse matrix find its features by name in DataFrames and files.

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
        """Do nothing; there is nothing to learn."""
        return self

    def transform(self, X: Any) -> sparse.csr_array:
        """Return the features as a sparse matrix.

        A DataFrame may have the features in any order and among others; anything else must have exactly these features
        in this order.
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
