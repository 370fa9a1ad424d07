"""The dataset that every loader returns, its error, and checks of column names."""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd
    from scipy import sparse


class DatasetError(ValueError):
    """Raised if a dataset or table cannot be used.

    Examples
    --------
    >>> from fuselearn.datasets import DatasetError, load_dataset
    >>> try:
    ...     load_dataset("irsi")
    ... except DatasetError as error:
    ...     print(error)
    Unknown dataset 'irsi'. Did you mean 'iris'...?...
    """


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Features with their classes or labels.

    It unpacks into the arguments of ``fit``: ``X, y = load_dataset("iris")``.

    Parameters
    ----------
    X : DataFrame or sparse array
        The features. Features that are not numeric have pandas' category dtype.
    y : Series or DataFrame
        Multi-class: a Series of class names. Multi-label: an indicator matrix, as a DataFrame with one column per
        label.
    name : str
        The name for `load_dataset`, or the stem of the file.
    description : str
        The topic of the data, in a sentence or two.
    source : str
        The source of this copy.
    feature_names : sequence of str, optional
        The names of the features; needed for a sparse array only.

    Examples
    --------
    >>> from fuselearn.datasets import load_dataset
    >>> iris = load_dataset("iris")
    >>> iris.task, iris.X.shape
    ('multiclass', (150, 4))
    >>> X, y = iris
    """

    X: pd.DataFrame | sparse.csr_array
    y: pd.Series | pd.DataFrame
    name: str
    description: str
    source: str
    feature_names: Sequence[str] = ()

    def __post_init__(self) -> None:
        """Take the feature names of a DataFrame."""
        if not self.is_sparse:
            object.__setattr__(self, "feature_names", [str(name) for name in self.X.columns])

    @property
    def is_sparse(self) -> bool:
        """Whether X is a sparse array."""
        return not hasattr(self.X, "columns")

    def dense(self) -> Dataset:
        """Return the same dataset with a DataFrame for X, however large it becomes."""
        if not self.is_sparse:
            return self
        import pandas as pd

        return dataclasses.replace(self, X=pd.DataFrame(self.X.toarray(), columns=list(self.feature_names)))

    @property
    def task(self) -> str:
        """``"multiclass"`` or ``"multilabel"``."""
        return "multilabel" if self.y.ndim == 2 else "multiclass"

    @property
    def n_classes(self) -> int:
        """Number of classes, or of labels."""
        return int(self.y.shape[1] if self.y.ndim == 2 else self.y.nunique())

    def __iter__(self) -> Iterator[pd.DataFrame | pd.Series | sparse.csr_array]:
        """Yield X, then y."""
        yield self.X
        yield self.y

    def __repr__(self) -> str:
        """Return name, size and source in one line."""
        (rows, features), kind = self.X.shape, "labels" if self.task == "multilabel" else "classes"
        size = f"{rows} samples, {features} features, {self.n_classes} {kind}"
        return f"Dataset({self.name!r}: {size}, from {self.source})"


def name_columns(columns: Iterable[Hashable], limit: int = 8) -> str:
    """Quote the first `limit` column names for a message.

    >>> name_columns(["a", "b", "c"], limit=2)
    "'a', 'b' and 1 more"
    """
    names = [repr(str(column)) for column in columns]
    shown = ", ".join(names[:limit])
    return shown if len(names) <= limit else f"{shown} and {len(names) - limit} more"


def require_trained(columns: Iterable[Hashable], names: Iterable[str], where: str) -> None:
    """Raise an error if a table lacks features of a model."""
    known = set(columns)
    missing = [name for name in names if name not in known]
    if missing:
        raise DatasetError(f"{where} has no columns {name_columns(missing)}, which the model was trained on.")


def require_columns(columns: Iterable[Hashable], wanted: Sequence[str], where: str, purpose: str) -> None:
    """Raise an error for unknown columns, and suggest the nearest name."""
    known = dict.fromkeys(columns)
    for name in wanted:
        if name not in known:
            near = difflib.get_close_matches(name, map(str, known), n=1)
            hint = f"; did you mean {near[0]!r}?" if near else "."
            said = f"{where} has no column {name!r} to {purpose}{hint}"
            raise DatasetError(f"{said} The columns are {name_columns(known)}.")
