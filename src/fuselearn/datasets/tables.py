"""Reading the user's own table: CSV, Parquet or ARFF, multi-class or multi-label."""

from __future__ import annotations

import codecs
import os
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from fuselearn.datasets.arff import meka_label_count, read_arff, read_mulan_labels
from fuselearn.datasets.dataset import Dataset, DatasetError
from fuselearn.datasets.storage import exact_floats
from fuselearn.datasets.targets import (
    CLASS_COLUMN,
    LABEL_PREFIX,
    name_columns,
    split_classes,
    split_labels,
)

if TYPE_CHECKING:
    import pandas as pd

MISSING = ("", "?", "NA", "N/A", "NaN", "nan", "null", "NULL")

_SEPARATORS = {".csv": ",", ".tsv": "\t"}


class _Labels(NamedTuple):
    columns: list[str]
    prefix: str = ""


def read_table(
    path: str | os.PathLike[str],
    target: str | None = None,
    labels: Sequence[str] | str | int | os.PathLike[str] | None = None,
    *,
    sep: str | None = None,
    missing: Sequence[str] = MISSING,
    encoding: str = "utf-8",
) -> Dataset:
    r"""Read a table with classes or labels from a file.

    Parameters
    ----------
    path : str or path
        A ``.csv``, ``.tsv``, ``.parquet`` or ``.arff`` file; CSV, TSV and ARFF also gzipped, with
        ``.gz`` behind. The first line of a CSV file holds the names of the columns.
    target : str, optional
        The column of classes.
    labels : optional
        The columns of labels of a multi-label table, in one of four forms: a list of names; a
        prefix that all of them share, and which is cut off; a number n for the first n columns,
        negative for the last n; or Mulan's XML file (a path that ends with ``.xml``).
    sep : str, optional
        What separates the cells of a CSV file. By default a comma, and a tab for TSV.
    missing : sequence of str
        The cells of a CSV file that are read as missing. "None" is not among them by default,
        since it is often the name of a category.
    encoding : str, default="utf-8"
        Of CSV and ARFF files.

    Returns
    -------
    Dataset
        It unpacks into ``X, y``. Numeric columns stay numbers, all others become categories.

    Notes
    -----
    Without `target` and `labels`, the file must say itself what to predict. The first that applies
    is used: MEKA's ``-C n`` in the relation of an ARFF file; an XML file of Mulan beside the ARFF
    file, with the same stem; columns whose names start with ``label:``; a column ``class``.

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
    path = Path(path)
    if target is not None and labels is not None:
        raise DatasetError("Name either a target (one class per row) or labels, not both.")
    if not path.is_file():
        raise FileNotFoundError(f"There is no file {path}.")
    _refuse_unknown_encoding(encoding)
    try:
        frame, relation = _read(path, sep, missing, encoding)
    except UnicodeDecodeError as error:
        raise DatasetError(f"{path} cannot be read as {encoding} text ({error}); pass the right encoding.") from error
    except (EOFError, zlib.error, OSError) as error:
        raise DatasetError(f"{path} cannot be read: {error}.") from error
    if len(frame) == 0:
        raise DatasetError(f"{path} has column names but no rows.")
    where, name = str(path), path.name.split(".")[0]
    found = None if target is not None else _find_labels(frame, labels, relation, path)
    if found is not None:
        X, Y = split_labels(frame, found.columns, where)
        Y = Y.rename(columns=lambda column: str(column).removeprefix(found.prefix))
        return Dataset(X, Y, name, f"The table {path.name}.", where)
    if target is None and CLASS_COLUMN not in frame.columns:
        raise DatasetError(
            f"{path} does not say what to predict: pass target='...' for one class per row or "
            f"labels=[...] for several labels. The columns are {name_columns(frame.columns)}."
        )
    X, y = split_classes(frame, CLASS_COLUMN if target is None else target, where)
    return Dataset(X, y, name, f"The table {path.name}.", where)


def _refuse_unknown_encoding(encoding: str) -> None:
    try:
        codecs.lookup(encoding)
    except LookupError as error:
        raise DatasetError(f"There is no encoding called {encoding!r}.") from error


def file_kind(path: Path) -> str:
    """Return ".csv", ".tsv", ".arff" or ".parquet", or refuse the file."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    kind = suffixes[-2] if suffixes[-1:] == [".gz"] and len(suffixes) > 1 else (suffixes or [""])[-1]
    kind = {".pq": ".parquet"}.get(kind, kind)
    if kind not in (*_SEPARATORS, ".arff", ".parquet"):
        raise DatasetError(
            f"{path} has an unknown ending; .csv, .tsv and .arff (each also with .gz) and .parquet can be read."
        )
    return kind


def separator(path: Path) -> str:
    """Return what separates the cells of a CSV or TSV file."""
    return _SEPARATORS[file_kind(path)]


def text_encoding(encoding: str) -> str:
    """Return an encoding that skips a byte order mark, which Excel writes, and which would become part of a name."""
    return "utf-8-sig" if encoding.lower().replace("_", "-") in ("utf-8", "utf8") else encoding


def malformed(path: Path, error: ValueError) -> DatasetError:
    """Say in a sentence what pandas found in a file that is no table."""
    reason = str(error).removeprefix("Error tokenizing data. C error: ").strip()
    return DatasetError(f"{path} is not a well-formed table: {reason}.")


def read_columns(path: Path) -> list[str]:
    """Return the names of a file's columns, without reading its rows where the format allows it."""
    kind = file_kind(path)
    if kind in _SEPARATORS:
        import pandas as pd

        try:
            head = pd.read_csv(path, sep=_SEPARATORS[kind], nrows=0, dtype=str, encoding=text_encoding("utf-8"))
        except pd.errors.EmptyDataError as error:
            raise DatasetError(f"{path} is empty.") from error
        except pd.errors.ParserError as error:
            raise malformed(path, error) from error
        except UnicodeDecodeError as error:
            raise DatasetError(f"{path} cannot be read as UTF-8 text ({error}).") from error
        return [str(name) for name in head.columns]
    if kind == ".parquet":
        return _parquet_columns(path)
    return [str(name) for name in read_frame(path).columns]


def read_frame(path: Path) -> pd.DataFrame:
    """Read all columns of a file, whatever they mean."""
    return _read(path, None, MISSING, "utf-8")[0]


def _read(path: Path, sep: str | None, missing: Sequence[str], encoding: str) -> tuple[pd.DataFrame, str]:
    """Read any format; the second value is the relation of an ARFF file, or nothing."""
    kind = file_kind(path)
    if kind in _SEPARATORS:
        return _read_csv(path, sep or _SEPARATORS[kind], missing, encoding), ""
    if kind == ".parquet":
        return _read_parquet(path), ""
    table = read_arff(path, encoding)
    return table.frame, table.relation


def _read_csv(path: Path, sep: str, missing: Sequence[str], encoding: str) -> pd.DataFrame:
    import pandas as pd

    encoding = text_encoding(encoding)
    try:
        # Two lines, since pandas would take surplus cells of the second one for an index.
        head = pd.read_csv(path, sep=sep, header=None, nrows=2, dtype=str, encoding=encoding, na_filter=False)
        _refuse_bad_names(head.iloc[0].tolist(), sep, path)
        return pd.read_csv(
            path,
            sep=sep,
            keep_default_na=False,
            na_values=list(missing),
            encoding=encoding,
            low_memory=False,
            **exact_floats(),
        )
    except pd.errors.EmptyDataError as error:
        raise DatasetError(f"{path} is empty.") from error
    except pd.errors.ParserError as error:
        raise malformed(path, error) from error


def _refuse_bad_names(names: list[str], sep: str, path: Path) -> None:
    for position, name in enumerate(names, start=1):
        if not name.strip():
            raise DatasetError(f"Column {position} of {path} has no name in the first line.")
        if name in names[: position - 1]:
            raise DatasetError(f"{path} has two columns named {name!r}.")
    if len(names) == 1:
        other = next((mark for mark in ";\t|," if mark != sep and mark in names[0]), None)
        hint = f"; are the cells separated by {other!r}? Then pass sep={other!r}" if other else ""
        raise DatasetError(f"{path} has only one column{hint}.")


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
    except ImportError as error:
        raise DatasetError(
            f"Reading {path} needs a Parquet engine, and none is installed: pip install pyarrow."
        ) from error
    except ValueError as error:
        raise DatasetError(f"{path} is not a readable Parquet file: {error}") from error


def _find_labels(
    frame: pd.DataFrame,
    labels: Sequence[str] | str | int | os.PathLike[str] | None,
    relation: str,
    path: Path,
) -> _Labels | None:
    """Tell which columns are labels, from the argument or from the file itself."""
    columns = [str(column) for column in frame.columns]
    if labels is None:
        count, xml = meka_label_count(relation), _mulan_file(path)
        if count is not None:
            return _Labels(_label_end(columns, count, path))
        if xml.is_file():
            return _Labels(read_mulan_labels(xml))
        labels = LABEL_PREFIX
        if not any(column.startswith(labels) for column in columns):
            return None
    if isinstance(labels, int):
        return _Labels(_label_end(columns, labels, path))
    if isinstance(labels, os.PathLike) or (isinstance(labels, str) and labels.lower().endswith(".xml")):
        xml = Path(labels)
        if not xml.is_file():
            raise FileNotFoundError(f"There is no label file {xml}.")
        return _Labels(read_mulan_labels(xml))
    if isinstance(labels, str):
        found = [column for column in columns if column.startswith(labels)]
        if not found:
            raise DatasetError(f"No column of {path} starts with {labels!r}. The columns are {name_columns(columns)}.")
        return _Labels(found, prefix=labels)
    return _Labels(list(labels))


def _mulan_file(path: Path) -> Path:
    stem = path.with_suffix("") if path.suffix == ".gz" else path
    # Only an ARFF file has a label file beside it; any other XML file is a stranger.
    return stem.with_suffix(".xml") if stem.suffix.lower() == ".arff" else Path(os.devnull)


def _label_end(columns: list[str], count: int, path: Path) -> list[str]:
    if not 0 < abs(count) < len(columns):
        raise DatasetError(f"{path} has {len(columns)} columns, of which {abs(count)} cannot be labels.")
    return columns[:count] if count > 0 else columns[count:]
