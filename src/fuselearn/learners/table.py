"""Convert tables of any kind to one float matrix, and this to integer codes, once for hundreds of trees.

`TableCoder` converts DataFrames to numbers, category codes, and NaN for missing values; `NumberEncoder`, for SVMs and
nearest neighbors, to finite numbers. `code_columns` computes the codes. A numeric feature with up to 65,535 distinct
values is *rank-coded*: the code of a value is its rank among the distinct values, and a tree grown on codes is exactly
the tree grown on the values. A feature with more distinct values, or with more than ``max_bins``, is binned by
quantiles. The values of a categorical feature are its codes. Missing values have the code after the last one.

A table with mostly zeros is stored sparsely (`code_entries`): only the other values, its *entries*, are stored. The
codes are the same, including the code of zero, so trees do not depend on the storage. The storage depends on the values
of the table, not on whether it was passed as a sparse matrix.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from types import NoneType
from typing import Any, Self

import narwhals as nw
import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.utils import check_array
from sklearn.utils.sparsefuncs import csc_median_axis_0

from fuselearn import _core
from fuselearn._core import SparseTable, Table

MOST_CATEGORIES = 65_535
MAX_CODES = 65_535
BINS_BEYOND = 255
TAKE_MISSING = (
    "Impute missing values, for example with sklearn.impute.SimpleImputer in a pipeline, or use an estimator that "
    "supports them: SVMClassifier(impute=True), KFHEClassifier or ForestClassifier for multi-class data; "
    "FusedMultilabelClassifier, PCTForestClassifier or estimator=CARTClassifier() for multi-label data."
)
BLOCK_ELEMENTS = 4_000_000
# A table is stored sparsely if it has at least this many values per entry.
VALUES_PER_ENTRY = 10
# One-hot encoded tables with more columns than this stay sparse.
DENSE_CATEGORIES = 1_000


class TableCoder:
    """Encode DataFrames, arrays and sparse matrices for the tree engine.

    In a DataFrame of pandas, polars or another library supported by narwhals, columns of categories or strings are
    encoded as 0, 1, ..., in the order of the categorical dtype, or sorted for strings. Numeric and Boolean columns are
    converted to floats. Missing values are encoded as NaN, categories unknown in ``fit`` as -1.

    Attributes
    ----------
    categories_ : list of (array or None)
        The categories of each column, None for a numeric column.
    n_categories_ : int32 array of shape (n_columns,)
        Number of categories of each column, 0 for a numeric column.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"size": [1.5, None], "color": pd.Categorical(["red", "blue"])})
    >>> coder = TableCoder()
    >>> coder.fit_transform(frame)
    array([[1.5, 1. ],
           [nan, 0. ]])
    >>> coder.transform(pd.DataFrame({"size": [2], "color": ["green"]}))
    array([[ 2., -1.]])
    """

    categories_: list[npt.NDArray[Any] | None]
    n_categories_: npt.NDArray[np.int32]

    @property
    def n_features_in_(self) -> int:
        """Number of columns."""
        return len(self.n_categories_)

    def fit(self, X: Any) -> Self:
        """Learn the categories of a table."""
        frame = as_frame(X)
        if frame is None or has_numbers_only(X):
            self.categories_ = [None] * X.shape[1]
        else:
            self.categories_ = [_categories(column) for column in frame.iter_columns()]
        self.n_categories_ = np.array(
            [0 if levels is None else len(levels) for levels in self.categories_], dtype=np.int32
        )
        return self

    def fit_transform(self, X: Any) -> npt.NDArray[np.floating]:
        """Learn the categories of a table and code it."""
        return self.fit(X).transform(X)

    def transform(self, X: Any) -> npt.NDArray[np.floating]:
        """Code a table with the categories learned."""
        frame = as_frame(X)
        if frame is None:
            if self.n_categories_.any():
                raise TypeError(
                    f"The model was fitted on a DataFrame with {np.count_nonzero(self.n_categories_)} categorical "
                    "column(s); pass a DataFrame with the same columns, not an array."
                )
            return X.toarray() if sparse.issparse(X) else X
        if has_numbers_only(X) and not self.n_categories_.any():
            numbers: npt.NDArray[np.float64] = X.to_numpy(dtype=np.float64)
            if not np.isinf(numbers).any():
                return numbers
        matrix = np.empty(frame.shape)
        for f, (column, levels) in enumerate(zip(frame.iter_columns(), self.categories_, strict=True)):
            matrix[:, f] = _numbers(column) if levels is None else _category_numbers(column, levels)
        return matrix

    def one_hot(self, coded: npt.NDArray[np.floating]) -> list[npt.NDArray[Any]]:
        """Return a matrix for each column of a coded table: its numbers, or its categories one-hot encoded."""
        return [coded[:, [f]] if n == 0 else coded[:, [f]] == np.arange(n) for f, n in enumerate(self.n_categories_)]


def has_numbers_only(frame: Any) -> bool:
    """Return whether all columns of a pandas DataFrame are NumPy numbers, which are converted at once."""
    return hasattr(frame, "iloc") and all(isinstance(t, np.dtype) and t.kind in "biuf" for t in frame.dtypes)


def as_frame(X: Any) -> nw.DataFrame[Any] | None:
    """Return a DataFrame of any library as a narwhals DataFrame; None if ``X`` is not a DataFrame."""
    if isinstance(X, np.ndarray):
        return None
    try:
        frame = nw.from_native(X, eager_only=True, pass_through=True)
    except nw.exceptions.DuplicateError as error:
        raise ValueError(f"Column names must be unique. {error}") from error
    return frame if isinstance(frame, nw.DataFrame) else None


def has_missing(X: Any) -> bool:
    """Return whether any value of a DataFrame, an array or a sparse matrix is missing."""
    frame = as_frame(X)
    if frame is None:
        values = X.data if sparse.issparse(X) else np.asarray(X)
        return values.dtype.kind == "f" and bool(np.isnan(values).any())
    return any(
        bool((column.is_null() | column.is_nan() if column.dtype.is_float() else column.is_null()).any())
        for column in frame.iter_columns()
    )


def refuse_odd_cells(X: Any) -> None:
    """Raise an error for an object column that mixes scalars with values of other types, such as lists.

    The check is done here, because learners only validate the samples that are drawn for them.
    """
    for name, cells in _object_columns(X):
        kinds = {type(cell) for cell in cells}
        odd = [kind.__name__ for kind in kinds if not _is_scalar(kind)]
        if odd and len(kinds) > 1:
            raise TypeError(
                f"Column {name!r} of X has a value of type {odd[0]}; "
                "the argument must be a table of strings and numbers."
            )


@contextmanager
def naming_text() -> Iterator[None]:
    """Replace NumPy's error "could not convert string to float" by advice to pass a DataFrame."""
    try:
        yield
    except ValueError as error:
        found = re.match("could not convert string to float: .*?('.*')", str(error))
        if found is None:
            raise
        raise ValueError(
            f"X is an array that contains the string {found[1]}. Pass a DataFrame instead: its string columns are "
            "treated as categories."
        ) from error


def _is_scalar(kind: type) -> bool:
    """Return whether values of a type are scalars: missing, or comparable and not containers."""
    if issubclass(kind, NoneType | str | bytes):
        return True
    return not issubclass(kind, Iterable | Callable) and any("__lt__" in vars(base) for base in kind.__mro__[:-1])


def _object_columns(X: Any) -> Iterator[tuple[Any, Any]]:
    frame = as_frame(X)
    if frame is not None:
        yield from ((column.name, column.to_list()) for column in frame.iter_columns() if column.dtype == nw.Object)
    elif X.dtype == object:
        yield from enumerate(X.T)


def _categories(column: nw.Series[Any]) -> npt.NDArray[Any] | None:
    """Return the categories of a column, None for a numeric column."""
    native = column.to_native()
    if hasattr(native, "cat") and hasattr(native.cat, "categories"):  # pandas: any type, in the declared order
        levels = np.asarray(native.cat.categories)
    elif column.dtype == nw.Enum:
        levels = np.asarray(native.dtype.categories, dtype=object)
    elif column.dtype in (nw.String, nw.Categorical, nw.Object):
        values = column.drop_nulls().to_numpy()
        if column.dtype == nw.Object and all(isinstance(v, int | float | np.number) for v in values):
            return None
        try:
            levels = np.array(sorted(set(values)), dtype=object)
        except TypeError as error:
            raise TypeError(
                f"Column {column.name!r} mixes types that cannot be sorted together, such as strings and numbers."
            ) from error
    else:
        return None
    if len(levels) > MOST_CATEGORIES:
        raise ValueError(
            f"Column {column.name!r} has {len(levels):,} categories; at most {MOST_CATEGORIES:,} are supported."
        )
    return levels


def _category_numbers(column: nw.Series[Any], levels: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    native = column.to_native()
    if not nw.dependencies.is_pandas_series(native):
        codes = {level: code for code, level in enumerate(levels)}
        return np.array([np.nan if v is None else codes.get(v, -1) for v in column.to_list()], dtype=np.float64)
    import pandas as pd

    numbers = pd.Index(levels).get_indexer(native).astype(np.float64)
    numbers[np.asarray(native.isna())] = np.nan
    return numbers


def _numbers(column: nw.Series[Any]) -> npt.NDArray[np.float64]:
    """Convert a numeric column to floats; raise an error for other columns."""
    if column.dtype in (nw.String, nw.Categorical, nw.Enum):
        raise ValueError(f"Column {column.name!r} was numeric in fit and now has the type {column.dtype}.")
    if column.dtype.is_temporal():
        raise TypeError(
            f"Column {column.name!r} has the type {column.dtype}; convert dates and times to numbers or categories."
        )
    try:
        numbers = column.cast(nw.Float64).to_numpy().astype(np.float64)
    except Exception as error:  # each library has its own exception for a failed cast
        raise ValueError(f"Column {column.name!r} was numeric in fit and now has the type {column.dtype}.") from error
    if np.isinf(numbers).any():
        raise ValueError(f"Column {column.name!r} has infinite values; expected numbers, or NaN for missing ones.")
    return numbers


class NumberEncoder:
    """Convert tables of any kind to finite numbers; categories are one-hot encoded.

    Parameters
    ----------
    user : str, default="support vector machines"
        Name of the method that uses the numbers, for error messages.
    impute : bool, default=False
        Whether missing numbers are replaced by the median of their column. For each column with missing values in
        ``fit``, a missing-value indicator is appended. Missing categories are encoded as zeros in any case.

    Examples
    --------
    >>> import pandas as pd
    >>> encoder = NumberEncoder()
    >>> encoder.fit_transform(pd.DataFrame({"color": ["red", "blue"], "size": [1.5, 2.0]}))
    array([[0. , 1. , 1.5],
           [1. , 0. , 2. ]])
    >>> encoder.transform(pd.DataFrame({"color": ["green"], "size": [3.0]}))
    array([[0., 0., 3.]])
    """

    def __init__(self, user: str = "support vector machines", *, impute: bool = False) -> None:
        self.user = user
        self.impute = impute
        self.coder = TableCoder()

    def fit_transform(self, X: Any) -> Any:
        """Learn the categories and the medians of a table, and convert it to numbers."""
        X = _check_numbers(X, self.user, self.impute)
        self.coder.fit(X)
        # A numeric column has one output column, a categorical one as many as categories.
        self.widths = np.maximum(self.coder.n_categories_, 1)
        numbers = self._spread(X)
        if not self.impute:
            return numbers
        self.gaps = np.unique(find_missing(numbers)[1])
        self.medians = find_medians(numbers, self.gaps)
        return self._fill(numbers)

    def transform(self, X: Any) -> Any:
        """Convert a table to numbers, with the learned categories and medians."""
        numbers = self._spread(_check_numbers(X, self.user, self.impute))
        return self._fill(numbers) if self.impute else numbers

    def columns_of(self, features: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
        """Return the output columns of features of the table."""
        ends = np.cumsum(self.widths)
        columns = np.concatenate([np.arange(ends[f] - self.widths[f], ends[f]) for f in features])
        return np.append(columns, ends[-1] + np.flatnonzero(np.isin(self.gaps, columns))) if self.impute else columns

    def _fill(self, numbers: Any) -> Any:
        """Replace missing numbers by medians, and append missing-value indicators."""
        samples, columns = find_missing(numbers)
        if len(samples):
            numbers = numbers.copy()
            if sparse.issparse(numbers):
                numbers.data[np.isnan(numbers.data)] = self.medians[columns]
            else:
                numbers[samples, columns] = self.medians[columns]
        if not len(self.gaps):
            return numbers
        is_marked = np.isin(columns, self.gaps)
        marked = samples[is_marked], np.searchsorted(self.gaps, columns[is_marked])
        marks = sparse.csr_array((np.ones(len(marked[0])), marked), shape=(numbers.shape[0], len(self.gaps)))
        if sparse.issparse(numbers):
            return sparse.hstack([numbers, marks], format="csr")
        return np.hstack([numbers, marks.toarray()])

    def _spread(self, X: Any) -> Any:
        is_category = self.coder.n_categories_ > 0
        if sparse.issparse(X) and not is_category.any():
            return X
        frame, coded = as_frame(X), self.coder.transform(X)
        if frame is None:
            return coded
        for f in [] if self.impute else np.flatnonzero(np.isnan(coded).any(axis=0) & ~is_category):
            raise ValueError(
                f"Column {frame.columns[f]!r} has missing values, which {self.user} do not support. {TAKE_MISSING}"
            )
        if not is_category.any():
            return coded
        parts = self.coder.one_hot(coded)
        if self.widths[is_category].sum() <= DENSE_CATEGORIES:
            return np.hstack(parts, dtype=np.float64)
        return sparse.hstack([sparse.csr_array(part, dtype=np.float64) for part in parts], format="csr")


def find_missing(numbers: Any) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Return the samples and columns of missing numbers, in the order of the entries of a sparse matrix."""
    if not sparse.issparse(numbers):
        samples, columns = np.nonzero(np.isnan(numbers))
        return samples, columns
    places = np.flatnonzero(np.isnan(numbers.data))
    return np.searchsorted(numbers.indptr, places, side="right") - 1, numbers.indices[places].astype(np.intp)


def find_medians(numbers: Any, gaps: npt.NDArray[np.intp]) -> npt.NDArray[np.float64]:
    """Return the median of the known numbers of each column, 0 if there are none."""
    if sparse.issparse(numbers):
        medians = csc_median_axis_0(sparse.csc_matrix(numbers))
    else:
        medians = np.median(numbers, axis=0)
    for column in gaps:
        own = numbers[:, [column]].toarray() if sparse.issparse(numbers) else numbers[:, [column]]
        known = own[~np.isnan(own)]
        medians[column] = np.median(known) if len(known) else 0.0
    return medians


@naming_text()
def _check_numbers(X: Any, user: str, impute: bool) -> Any:
    """Validate an array of numbers; the coder validates DataFrames."""
    if as_frame(X) is not None:
        return X
    X = check_array(X, dtype=np.float64, accept_sparse="csr", ensure_all_finite="allow-nan", input_name="X")
    if not impute and has_missing(X):
        raise ValueError(f"Input X contains NaN, which {user} do not support. {TAKE_MISSING}")
    if sparse.issparse(X):
        X = sparse.csr_array((X.data, X.indices, X.indptr), shape=X.shape)  # check_format modifies the matrix
        X.check_format(full_check=True)  # kernels do not check indices
    return X


def code_columns(
    X: Any, n_categories: npt.NDArray[np.int32] | None = None, max_bins: int | None = None, n_threads: int = 1
) -> Table:
    """Compute the codes of the columns of a matrix.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_columns)
        Floats; NaN means missing. The values of a categorical column are 0, 1, ... A sparse matrix is converted to
        dense in blocks of columns.
    n_categories : array of shape (n_columns,), optional
        Number of categories of each column, 0 for a numeric column. By default all are numeric.
    max_bins : int, optional
        Numeric columns with more distinct values are binned. By default, columns with more than 65,535 distinct values
        are binned into 255 bins.
    n_threads : int
        Number of threads.

    Returns
    -------
    Table

    Examples
    --------
    >>> table = code_columns(np.array([[0.5], [2.0], [np.nan], [0.5]]))
    >>> table.codes.ravel(), table.n_codes, table.lower
    (array([0, 1, 2, 0], dtype=uint8), array([2], dtype=int32), array([0.5, 2. ]))
    """
    n_samples, n_columns = X.shape
    if n_categories is None:
        n_categories = np.zeros(n_columns, dtype=np.int32)
    most_codes = MAX_CODES if max_bins is None else max_bins
    n_bins = BINS_BEYOND if max_bins is None else max_bins

    codes = np.empty((n_samples, n_columns), dtype=np.uint16)

    def code(block: slice) -> tuple[npt.NDArray[Any], ...]:
        columns = X[:, block].toarray() if hasattr(X, "toarray") else X[:, block]
        values = np.array(columns.T, dtype=np.float64, order="C")
        # NumPy's sort uses SIMD instructions.
        return _core.code_block(
            values, np.sort(values, axis=1), n_categories[block], most_codes, n_bins, codes, block.start
        )

    blocks = list(_column_blocks(n_samples, n_columns))
    if n_threads > 1 and len(blocks) > 1:
        with ThreadPoolExecutor(n_threads) as pool:
            coded = list(pool.map(code, blocks))
    else:
        coded = [code(block) for block in blocks]

    n_codes, lower, upper = (np.concatenate(parts) for parts in zip(*coded, strict=True))
    if n_codes.max(initial=0) <= 255:
        codes = codes.astype(np.uint8)
    return Table(codes, n_codes, lower, upper, n_categories > 0)


def _column_blocks(n_samples: int, n_columns: int) -> Iterator[slice]:
    """Split the columns into blocks whose sorted copy is small compared with the table."""
    width = max(1, BLOCK_ELEMENTS // max(1, n_samples))
    for start in range(0, n_columns, width):
        yield slice(start, min(start + width, n_columns))


def is_mostly_zero(X: Any) -> bool:
    """Return whether an array or a sparse matrix of numbers has few entries; missing values are entries."""
    n_entries = X.count_nonzero() if sparse.issparse(X) else np.count_nonzero(X)
    return bool(n_entries * VALUES_PER_ENTRY <= X.shape[0] * X.shape[1])


def code_entries(X: Any) -> SparseTable:
    """Compute the sparse codes of an array or a sparse matrix of numbers.

    Examples
    --------
    >>> table = code_entries(np.array([[0.0, 0.5], [0.0, -1.0], [0.0, 0.0], [np.nan, 0.0]]))
    >>> table.n_codes, table.zeros, table.lower
    (array([1, 3], dtype=int32), array([0, 1], dtype=int32), array([ 0. , -1. ,  0. ,  0.5]))
    >>> starts, samples, codes = table.by_column
    >>> starts.tolist(), samples.tolist(), codes.tolist()
    ([0, 1, 3], [3, 1, 0], [1, 0, 2])
    """
    matrix = sparse.csc_array(X, dtype=np.float64, copy=True)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    starts, samples = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32)
    return _core.code_entries(starts, samples, matrix.data, matrix.shape[0], MAX_CODES, BINS_BEYOND)
