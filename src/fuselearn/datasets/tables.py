"""Read the user's own table from CSV, Parquet or ARFF, multi-class or multi-label, in one file or in parts."""

from __future__ import annotations

import gzip
import hashlib
import os
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import sparse

from fuselearn._extras import require
from fuselearn.datasets.arff import ArffTable, read_arff, read_attribute_names
from fuselearn.datasets.cleaning import TableCleaner
from fuselearn.datasets.dataset import Dataset, DatasetError, name_columns
from fuselearn.datasets.delimited import MISSING, TextFormat, read_delimited, read_names
from fuselearn.datasets.recognition import tidy_features
from fuselearn.datasets.targets import Labels, find_target

SEPARATORS = {".csv": None, ".tsv": "\t"}

FRAME_FEATURES = 100
"""A sparse ARFF file with more numeric features than this becomes a sparse array."""

Split = tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]


def read_table(
    path: str | os.PathLike[str],
    target: str | None = None,
    labels: Labels | None = None,
    *,
    sep: str | None = None,
    missing: Sequence[str] = MISSING,
    encoding: str = "utf-8",
    decimal: str = ".",
    cleaner: TableCleaner | None = None,
) -> Dataset:
    r"""Read a table with classes or labels from a file.

    Parameters
    ----------
    path : str or path
        A ``.csv``, ``.tsv``, ``.parquet`` or ``.arff`` file; CSV, TSV and ARFF also gzipped
        (``.gz``). The first line of a CSV file holds the names of the columns.
    target : str, optional
        The column with the classes.
    labels : optional
        The label columns of a multi-label table, in one of these forms: a list of names, or text with names separated
        by commas; a common prefix, which is removed, such as ``"label_*"`` (the star may be left out); Mulan's XML file
        (a path that ends with ``.xml``); a number n for the first n columns, negative for the last n, as in MEKA, which
        as text is ``"+6"`` or ``"-6"``, while ``"6"`` means the end of the table whose columns hold 0 and 1 only.
    sep : str, optional
        Separator of a CSV file. By default the comma, semicolon, tab or bar that splits the first lines into the most
        cells, and a tab for TSV.
    missing : sequence of str
        The cells of a CSV file that are read as missing. "None" is not among them by default,
        since it is often the name of a category.
    encoding : str, default="utf-8"
        Encoding of CSV and ARFF files.
    decimal : str, default="."
        The decimal mark in CSV files.
    cleaner : TableCleaner, optional
        Transformer for the features, which is fitted. By default, numeric columns stay numbers and all others become
        categories.

    Returns
    -------
    Dataset
        It unpacks into ``X, y``. X is a DataFrame, or a sparse array if an ARFF file has sparse samples with more than
        100 features, all of them numbers.

    Notes
    -----
    Without `target` and `labels`, the file itself must define the target. The first of these is used: MEKA's ``-C n``
    in the relation of an ARFF file; Mulan's XML file next to the ARFF file, with the same stem, or with that of the
    dataset whose part it is (``emotions.xml`` for ``emotions-train.arff``); columns whose names start with ``label:``;
    a column ``class``.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from fuselearn.datasets import read_table
    >>> path = pathlib.Path(tempfile.mkdtemp(), "fruit.csv")
    >>> _ = path.write_text("weight,color,kind\n150,red,apple\n120,yellow,pear\n")
    >>> X, y = read_table(path, target="kind")
    >>> X["color"].dtype.name, y.tolist()
    ('category', ['apple', 'pear'])
    """
    return split_table(read_whole(Path(path), TextFormat(sep, encoding, decimal, missing)), target, labels, cleaner)


class Parts(NamedTuple):
    """A dataset, and how its publisher has split it.

    .. versionadded:: 0.2

    Attributes
    ----------
    data : Dataset
        The samples of all files, in the order of the files.
    splits : list of pairs of arrays
        The indices of the training and of the test samples of each split, for ``cv=`` of scikit-learn's functions.

    Examples
    --------
    >>> import numpy as np
    >>> from fuselearn.datasets import Parts, load_dataset
    >>> parts = Parts(load_dataset("iris"), [(np.arange(0, 150, 2), np.arange(1, 150, 2))])
    >>> data, splits = parts
    >>> data.name, len(splits)
    ('iris', 1)
    """

    data: Dataset
    splits: list[Split]


def read_parts(paths: Sequence[str | os.PathLike[str]], **options: Any) -> Parts:
    r"""Read a dataset from a training and a test file, or from the files of fixed folds.

    .. versionadded:: 0.2

    Parameters
    ----------
    paths : sequence of str or path
        Two files are a training and a test part, in this order. Three or more are folds, each of which is the test part
        once.
    **options
        Those of `read_table`: ``target``, ``labels`` and so on, for all of the files.

    Returns
    -------
    Parts
        It unpacks into the dataset and the splits.

    Raises
    ------
    DatasetError
        If there are fewer than two files, or they have other features or labels.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from fuselearn.datasets import read_parts
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> header = "@relation 'songs: -C 1'\n@attribute sad {0,1}\n@attribute speed numeric\n@data\n"
    >>> _ = (folder / "songs-train.arff").write_text(header + "1,60\n0,90\n")
    >>> _ = (folder / "songs-test.arff").write_text(header + "1,70\n")
    >>> data, splits = read_parts([folder / "songs-train.arff", folder / "songs-test.arff"])
    >>> data.y["sad"].tolist(), [(train.tolist(), test.tolist()) for train, test in splits]
    ([1, 0, 1], [([0, 1], [2])])
    """
    if isinstance(paths, str | os.PathLike) or len(paths) < 2:
        raise DatasetError("paths must be a list of two files or more: a training and a test part, or folds.")
    parts = [read_table(path, **options) for path in paths]
    first = parts[0]
    for part in parts[1:]:
        _require_same(first, part)
    ends = np.cumsum([part.X.shape[0] for part in parts])
    folds = np.split(np.arange(ends[-1]), ends[:-1])
    splits = [(np.concatenate([*folds[:k], *folds[k + 1 :]]), fold) for k, fold in enumerate(folds)]
    X, y = _stack([part.X for part in parts]), _stack([part.y for part in parts])
    names = f"The tables {', '.join(Path(path).name for path in paths)}."
    data = Dataset(X, y, first.name, names, ", ".join(map(str, paths)), first.feature_names)
    return Parts(data, splits[1:] if len(folds) == 2 else splits)


def _require_same(one: Dataset, other: Dataset) -> None:
    """Refuse a part that has not the features and labels of the first one, in the same order."""
    if one.task != other.task:
        raise DatasetError(f"{one.source} has {one.task} data, but {other.source} has {other.task} data.")
    kinds = [("features", list(one.feature_names), list(other.feature_names))]
    if one.task == "multilabel":
        kinds.append(("labels", list(one.y.columns), list(other.y.columns)))
    for kind, names, others in kinds:
        if names != others:
            differing = next((name for name in (*names, *others) if (name in names) != (name in others)), None)
            what = f"of which {differing!r} is in one of them only" if differing else "in another order"
            raise DatasetError(f"{one.source} and {other.source} have different {kind}, {what}.")


def _stack(tables: list[Any]) -> Any:
    """Put tables below each other; categories are those of all of them."""
    if sparse.issparse(tables[0]):
        return sparse.csr_array(sparse.vstack(tables))
    if tables[0].ndim == 1:
        return pd.concat(tables, ignore_index=True)
    columns = {name: _join([table[name] for table in tables]) for name in tables[0].columns}
    return pd.DataFrame(columns, columns=tables[0].columns)


def _join(columns: list[pd.Series]) -> pd.Series:
    """Put columns below each other; if one holds categories, so does the result."""
    if not any(isinstance(column.dtype, pd.CategoricalDtype) for column in columns):
        return pd.concat(columns, ignore_index=True)
    known = [column.cat.categories if hasattr(column, "cat") else column.dropna().unique() for column in columns]
    categories = list(dict.fromkeys(value for values in known for value in values))
    joined = pd.concat([column.astype(object) for column in columns], ignore_index=True)
    return joined.astype(pd.CategoricalDtype(categories))


class FrameTable:
    """The content of a file that pandas reads as a DataFrame."""

    relation = ""

    def __init__(self, path: Path, content: pd.DataFrame) -> None:
        self.path = path
        self.content = content
        self.columns = [str(name) for name in content.columns]
        self.n_rows = len(content)

    def frame(self, names: Sequence[str]) -> pd.DataFrame:
        """Return some of the columns."""
        return self.content[list(names)]

    def fits_matrix(self, names: Sequence[str]) -> bool:
        """Return False: only samples of ARFF files are sparse."""
        return False


def split_table(
    table: FrameTable | ArffTable,
    target: str | None = None,
    labels: Labels | None = None,
    cleaner: TableCleaner | None = None,
) -> Dataset:
    """Return the features and the target of a table that has been read; the parameters are those of `read_table`."""
    where = str(table.path)
    if table.n_rows == 0:
        raise DatasetError(f"{where} has column names but no samples.")
    found = find_target(table, target, labels)
    if found is None:
        known = name_columns(table.columns)
        raise DatasetError(f"{where} does not define a target: name it, or the label columns. The columns are {known}.")
    y, taken = found.read(table), set(found.columns)
    names = [column for column in table.columns if column not in taken]
    if not names:
        raise DatasetError(f"{where} has no feature columns besides the target.")
    chosen = names if cleaner is None else cleaner.choose(names, where)
    if is_sparse(table, chosen):
        X: Any = table.matrix(chosen)  # type: ignore[union-attr]
    else:
        frame = table.frame(names)
        X = tidy_features(frame, where) if cleaner is None else cleaner.fit_transform(frame)
    file = table.path.name
    return Dataset(X, y, file.split(".")[0], f"The table {file}.", where, chosen)


def is_sparse(table: FrameTable | ArffTable, names: Sequence[str]) -> bool:
    """Return whether these columns are read as a sparse array."""
    return len(names) > FRAME_FEATURES and table.fits_matrix(names)


def read_whole(path: Path, form: TextFormat, dtype: Any = None, digest: Any = None) -> FrameTable | ArffTable:
    """Read all columns of a file, whatever their role.

    Parameters
    ----------
    path : Path
    form : TextFormat
        How the text of CSV and ARFF files is read.
    dtype : mapping, optional
        Types of columns of a CSV file.
    digest : hash object, optional
        Updated with the bytes of the file.
    """
    kind = file_kind(path)
    with open_table(path, form, digest) as file:
        if kind == ".arff":
            return read_arff(file, path, form.encoding)
        if kind == ".parquet":
            return FrameTable(path, pd.read_parquet(file).rename(columns=str).reset_index(drop=True))
        return FrameTable(path, read_delimited(file, path, form, SEPARATORS[kind], dtype))


def read_columns(path: Path, form: TextFormat) -> list[str]:
    """Return the names of a file's columns without reading its samples."""
    kind = file_kind(path)
    with open_table(path, form) as file:
        if kind == ".arff":
            return read_attribute_names(file, path, form.encoding)
        if kind == ".parquet":
            from pyarrow.parquet import read_schema

            return [str(name) for name in read_schema(file).names]
        return read_names(file, form.options(file, SEPARATORS[kind]), path)


def file_kind(path: Path) -> str:
    """Return ".csv", ".tsv", ".arff" or ".parquet", or refuse the file."""
    if not path.is_file():
        raise FileNotFoundError(f"There is no file {path}.")
    suffixes = [suffix.lower() for suffix in path.suffixes]
    kind = suffixes[-2] if suffixes[-1:] == [".gz"] and len(suffixes) > 1 else (suffixes or [""])[-1]
    kind = {".pq": ".parquet"}.get(kind, kind)
    if kind not in (*SEPARATORS, ".arff", ".parquet"):
        raise DatasetError(f"{path} has an unknown extension; .csv, .tsv, .arff (also with .gz) and .parquet are read.")
    if kind == ".parquet":
        require("Reading a Parquet file", "pyarrow")
    return kind


@contextmanager
def open_table(path: Path, form: TextFormat, digest: Any = None) -> Iterator[Any]:
    """Open a file, gzipped or not, and turn the errors of its reader into sentences."""
    try:
        with open(path, "rb") as raw:
            if digest is not None:
                hashlib.file_digest(raw, lambda: digest)
                raw.seek(0)
            yield gzip.GzipFile(fileobj=raw) if path.suffix.lower() == ".gz" else raw
    except DatasetError:
        raise
    except pd.errors.EmptyDataError as error:
        raise DatasetError(f"{path} is empty.") from error
    except pd.errors.ParserError as error:
        reason = str(error).removeprefix("Error tokenizing data. C error: ").strip()
        raise DatasetError(f"{path} is not a well-formed table: {reason}.") from error
    except UnicodeError as error:
        raise DatasetError(
            f"{path} cannot be read as {form.encoding} text ({error}). Pass its encoding (--encoding on the command "
            "line), often latin-1, cp1252 or utf-16."
        ) from error
    except (EOFError, zlib.error, OSError, ValueError) as error:
        raise DatasetError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}.") from error
