"""Read the user's own table from CSV, Parquet or ARFF, multi-class or multi-label."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from fuselearn._extras import require
from fuselearn.datasets.arff import ArffTable, read_arff, read_attribute_names
from fuselearn.datasets.dataset import Dataset, DatasetError
from fuselearn.datasets.delimited import MISSING, TextFormat, malformed, read_delimited, read_names
from fuselearn.datasets.label_columns import LabelColumns, Labels, find_label_columns
from fuselearn.datasets.targets import (
    CLASS_COLUMN,
    class_names,
    code_labels,
    name_columns,
    require_columns,
    tidy_features,
)

if TYPE_CHECKING:
    import pandas as pd

    from fuselearn.datasets.cleaning import TableCleaner

SEPARATORS = {".csv": None, ".tsv": "\t"}

FRAME_FEATURES = 100
"""A sparse ARFF file with more numeric features than this becomes a sparse array."""


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
    >>> _ = path.write_text("weight,colour,kind\n150,red,apple\n120,yellow,pear\n")
    >>> X, y = read_table(path, target="kind")
    >>> X["colour"].dtype.name, y.tolist()
    ('category', ['apple', 'pear'])
    """
    require("Reading a table", "pandas", "pyarrow")
    path = Path(path)
    if target is not None and labels is not None:
        raise DatasetError("Pass either target (one class per sample) or labels, not both.")
    table = read_whole(path, TextFormat(sep, encoding, decimal, missing))
    if table.n_rows == 0:
        raise DatasetError(f"{path} has column names but no samples.")
    where, name = str(path), path.name.split(".")[0]
    found = None if target is not None else find_label_columns(table, labels, path)
    if found is not None:
        y = code_labels(table.frame(found.columns), where).set_axis(found.names, axis=1)
    elif target is None and CLASS_COLUMN not in table.columns:
        raise DatasetError(
            f"{path} does not define a target: name the target, a column with one class per sample, or the label "
            f"columns. The columns are {name_columns(table.columns)}."
        )
    else:
        found = LabelColumns([CLASS_COLUMN if target is None else target])
        require_columns(table.columns, found.columns, where, "use as the target")
        y = class_names(table.frame(found.columns)[found.columns[0]], where)
    taken = set(found.columns)
    features = [column for column in table.columns if column not in taken]
    X, names = _read_features(table, features, cleaner, where)
    return Dataset(X, y, name, f"The table {path.name}.", where, names)


def _read_features(
    table: FrameTable | ArffTable, names: list[str], cleaner: TableCleaner | None, where: str
) -> tuple[Any, list[str]]:
    """Return the features and their names."""
    if not names:
        raise DatasetError(f"{where} has no feature columns besides the target.")
    chosen = names if cleaner is None else cleaner.choose(names, where)
    if isinstance(table, ArffTable) and fits_matrix(table, chosen):
        return table.matrix(chosen), chosen
    frame = table.frame(names)
    X = tidy_features(frame, where) if cleaner is None else cleaner.fit_transform(frame)
    return X, list(X.columns)


def fits_matrix(table: FrameTable | ArffTable, names: Sequence[str]) -> bool:
    """Return whether features are read as a sparse array."""
    return isinstance(table, ArffTable) and len(names) > FRAME_FEATURES and table.fits_matrix(names)


class FrameTable(NamedTuple):
    """A table that is read as a DataFrame."""

    content: pd.DataFrame

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return [str(name) for name in self.content.columns]

    @property
    def n_rows(self) -> int:
        """Number of samples."""
        return len(self.content)

    def frame(self, names: Sequence[str]) -> pd.DataFrame:
        """Return some of the columns."""
        return self.content[list(names)]


def read_whole(path: Path, form: TextFormat) -> FrameTable | ArffTable:
    """Read all columns of a file, whatever their role."""
    if not path.is_file():
        raise FileNotFoundError(f"There is no file {path}.")
    kind = file_kind(path)
    with reading_errors(path, form):
        if kind in SEPARATORS:
            return FrameTable(read_delimited(path, csv_options(path, form)))
        if kind == ".parquet":
            return FrameTable(_read_parquet(path))
        return read_arff(path, form.encoding)


def file_kind(path: Path) -> str:
    """Return ".csv", ".tsv", ".arff" or ".parquet", or refuse the file."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    kind = suffixes[-2] if suffixes[-1:] == [".gz"] and len(suffixes) > 1 else (suffixes or [""])[-1]
    kind = {".pq": ".parquet"}.get(kind, kind)
    if kind not in (*SEPARATORS, ".arff", ".parquet"):
        raise DatasetError(
            f"{path} has an unknown extension; .csv, .tsv and .arff (each also with .gz) and .parquet can be read."
        )
    return kind


def csv_options(path: Path, form: TextFormat) -> dict[str, Any]:
    """Return the options with which pandas reads a CSV or TSV file."""
    return form.options(path, SEPARATORS[file_kind(path)])


def read_columns(path: Path, form: TextFormat) -> list[str]:
    """Return the names of a file's columns without reading its samples."""
    if not path.is_file():
        raise FileNotFoundError(f"There is no file {path}.")
    kind = file_kind(path)
    with reading_errors(path, form):
        if kind in SEPARATORS:
            return read_names(path, csv_options(path, form))
        if kind == ".parquet":
            return _parquet_columns(path)
        return read_attribute_names(path, form.encoding)


@contextmanager
def reading_errors(path: Path, form: TextFormat) -> Iterator[None]:
    """Turn the errors of a reader into messages for the user."""
    import pandas as pd

    try:
        yield
    except pd.errors.EmptyDataError as error:
        raise DatasetError(f"{path} is empty.") from error
    except pd.errors.ParserError as error:
        raise malformed(path, error) from error
    except UnicodeError as error:
        raise DatasetError(
            f"{path} cannot be read as {form.encoding} text ({error}). Pass its encoding (--encoding on the command "
            "line), often latin-1, cp1252 or utf-16."
        ) from error
    except (EOFError, zlib.error, OSError) as error:
        raise DatasetError(f"{path} cannot be read: {error}.") from error


def _read_parquet(path: Path) -> pd.DataFrame:
    import pandas as pd

    with _parquet_errors(path):
        return pd.read_parquet(path).rename(columns=str).reset_index(drop=True)


def _parquet_columns(path: Path) -> list[str]:
    with _parquet_errors(path):
        from pyarrow.parquet import read_schema

        return [str(name) for name in read_schema(path).names]


@contextmanager
def _parquet_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except ValueError as error:
        raise DatasetError(f"{path} is not a readable Parquet file: {error}") from error
