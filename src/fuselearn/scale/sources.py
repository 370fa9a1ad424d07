"""Tables on disk as lists of parts, which are read on demand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
from scipy import sparse

from fuselearn._extras import require
from fuselearn.learners.table import as_frame

# Number of values of a part, 64 MB in memory. Row groups of Parquet files are not split.
PART_VALUES = 2**23


class Source:
    """A part of a table, of a target or of weights, which is read on demand.

    Subclass it for other file formats: ``fit`` accepts lists of sources. ``read`` is called several times, from several
    threads, and must return the same data each time.

    .. versionadded:: 0.2

    Examples
    --------
    >>> import numpy as np
    >>> from fuselearn import ForestClassifier
    >>> from fuselearn.scale import DiskEnsemble, Source
    >>> class Drawn(Source):
    ...     def __init__(self, seed):
    ...         self.seed = seed
    ...     def read(self):
    ...         return np.random.default_rng(self.seed).normal(size=(500, 4))
    >>> class Sign(Drawn):
    ...     def read(self):
    ...         return super().read()[:, 0] > 0
    >>> model = DiskEnsemble(ForestClassifier(5, sampling="poisson", random_state=0))
    >>> model = model.fit([Drawn(0), Drawn(1)], [Sign(0), Sign(1)])
    >>> model.n_features_in_, model.classes_
    (4, array([False,  True]))
    """

    def read(self) -> Any:
        """Return the samples."""
        raise NotImplementedError


@dataclass(frozen=True)
class ArrayRows(Source):
    """A slice of an array, which may be mapped into memory, or of a DataFrame."""

    array: Any
    rows: slice

    def read(self) -> Any:
        """Return the slice, for a mapped array as an array in memory."""
        if isinstance(self.array, np.ndarray):
            return np.array(self.array[self.rows])
        return nw.from_native(self.array, eager_only=True)[self.rows].to_native()


@dataclass(frozen=True)
class ParquetRows(Source):
    """Columns of some row groups of a Parquet file: a table for a list of names, an array for a single name."""

    path: Path
    groups: tuple[int, ...]
    columns: tuple[str, ...] | str

    def read(self) -> Any:
        """Return the samples."""
        from pyarrow.parquet import ParquetFile

        columns = [self.columns] if isinstance(self.columns, str) else list(self.columns)
        with ParquetFile(self.path) as file:
            table = file.read_row_groups(list(self.groups), columns=columns, use_threads=False)
        if not isinstance(self.columns, str):
            return table
        column = table.column(0).combine_chunks()
        if hasattr(column, "dictionary_decode"):
            column = column.dictionary_decode()
        return column.to_numpy(zero_copy_only=False)


def list_parts(X: Any, y: Any, sample_weight: Any) -> list[tuple[Any, ...]]:
    """Split X, y and the weights into parts of the same samples.

    Parameters
    ----------
    X : array or DataFrame of shape (n_samples, n_features), path, list of paths, or list of Source
        A path is that of a ``.npy`` file, of a Parquet file or of a folder of Parquet files.
    y, sample_weight : array of shape (n_samples,), path of a ``.npy`` file, name of a column of Parquet files, or list
        of Source
    """
    if is_listed(X):
        given = [X, y, [None] * len(X) if sample_weight is None else sample_weight]
        if not (is_listed(y) and len(X) == len(y) == len(given[2])):
            raise ValueError("X is a list of sources; y and sample_weight must be lists of sources of the same length.")
        return list(zip(*given, strict=True))
    files = _list_files(X)
    if files is None:
        arrays = [_open_array(*given) for given in (("X", X), ("y", y), ("sample_weight", sample_weight))]
        for name, values in zip(("y", "sample_weight"), arrays[1:], strict=True):
            if values is not None and len(values) != len(arrays[0]):
                raise ValueError(f"X has {len(arrays[0])} samples and {name} {len(values)}.")
        return [
            tuple(None if values is None else ArrayRows(values, rows) for values in arrays)
            for rows in _row_blocks(arrays[0])
        ]
    for name, column in (("y", y), ("sample_weight", sample_weight)):
        if not isinstance(column, str) and not (column is None and name == "sample_weight"):
            raise TypeError(f"X is the path of Parquet files, so {name} must be the name of one of their columns.")
    columns = [y] if sample_weight is None else [y, sample_weight]
    return [
        (
            ParquetRows(path, groups, tuple(name for name in names if name not in columns)),
            ParquetRows(path, groups, y),
            None if sample_weight is None else ParquetRows(path, groups, sample_weight),
        )
        for path, groups, names in row_groups(files, columns)
    ]


def list_tables(X: Any, names: Sequence[str] | None) -> list[Source]:
    """Split the samples of X into parts; only feature columns of Parquet files are read."""
    if is_listed(X):
        return list(X)
    files = _list_files(X)
    if files is None:
        return [ArrayRows(X, rows) for X in [_open_array("X", X)] for rows in _row_blocks(X)]
    if names is None:
        raise ValueError("X is the path of Parquet files, but the model was trained without feature names.")
    return [ParquetRows(path, groups, tuple(names)) for path, groups, _ in row_groups(files, names)]


def is_listed(X: Any) -> bool:
    """Return whether X is a list of parts."""
    return isinstance(X, list | tuple) and len(X) > 0 and all(isinstance(part, Source) for part in X)


def _row_blocks(X: Any) -> Iterator[slice]:
    if len(X.shape) != 2:
        raise ValueError(f"X must have two dimensions, samples and features, not {len(X.shape)}.")
    if len(X) == 0:
        raise ValueError("X has no samples; at least one is required.")
    size = max(1, PART_VALUES // max(1, X.shape[1]))
    for start in range(0, len(X), size):
        yield slice(start, min(start + size, len(X)))


def row_groups(files: list[Path], needed: Sequence[str]) -> Iterator[tuple[Path, tuple[int, ...], list[str]]]:
    """Yield the row groups of each file, grouped if they are small, and the names of its columns."""
    require("Reading Parquet files", "pyarrow")
    from pyarrow import ArrowInvalid
    from pyarrow.parquet import ParquetFile

    for path in files:
        try:
            with ParquetFile(path) as file:
                names = file.schema_arrow.names
                sizes = [file.metadata.row_group(group).num_rows for group in range(file.num_row_groups)]
        except ArrowInvalid as error:
            raise ValueError(f"{path} is not a Parquet file: {error}") from error
        for name in needed:
            if name not in names:
                raise ValueError(f"{path} has no column {name!r}; its columns are {', '.join(names)}.")
        groups: list[int] = []
        n_values = 0
        for group, size in enumerate(sizes):
            if groups and n_values + size * len(names) > PART_VALUES:
                yield path, tuple(groups), names
                groups, n_values = [], 0
            groups.append(group)
            n_values += size * len(names)
        if groups:
            yield path, tuple(groups), names


def _list_files(X: Any) -> list[Path] | None:
    """Return the Parquet files at the path X; None for an array or a ``.npy`` file."""
    if isinstance(X, str | Path):
        path = Path(X)
        if not path.exists():
            raise FileNotFoundError(f"There is no file or folder {path}.")
        if path.suffix == ".npy":
            return None
        files = sorted(path.glob("**/*.parquet")) if path.is_dir() else [path]
        if not files:
            raise ValueError(f"The folder {path} contains no .parquet files.")
        return files
    if isinstance(X, list | tuple) and X and all(isinstance(path, str | Path) for path in X):
        return [file for path in X for file in _list_files(path) or []]
    return None


def _open_array(name: str, values: Any) -> Any:
    if isinstance(values, str | Path):
        if Path(values).suffix != ".npy":
            raise TypeError(f"{name} must be an array or the path of a .npy file, not {str(values)!r}.")
        return np.load(values, mmap_mode="r")
    if values is None or isinstance(values, np.ndarray) or (name == "X" and as_frame(values) is not None):
        return values
    if name == "X" and sparse.issparse(values):
        raise TypeError("X is sparse; fit the estimator itself in memory, without DiskEnsemble.")
    return np.asarray(values)
