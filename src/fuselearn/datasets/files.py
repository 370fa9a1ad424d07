"""Read CSV, TSV, Parquet and ARFF files, whole or in blocks, gzipped or not."""

from __future__ import annotations

import codecs
import csv
import gzip
import hashlib
import io
import os
import re
import zlib
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

import numpy.typing as npt
import pandas as pd

from fuselearn._extras import require
from fuselearn._messages import find_file
from fuselearn.datasets.arff import ArffTable, read_arff, read_attribute_names
from fuselearn.datasets.dataset import DatasetError, require_columns, require_trained

BLOCK_ROWS = 50_000

SEPARATORS = {".csv": None, ".tsv": "\t"}

MISSING = ("", "?", "NA", "N/A", "NaN", "nan", "null", "NULL")

UNNAMED = "Unnamed: 0"
"""The name that pandas gives to an unnamed first column, as in a DataFrame written with its index."""

_MARKS = ",;\t|"

BEFORE_PANDAS_3_1 = tuple(map(int, pd.__version__.split(".")[:2])) < (3, 1)
"""Whether pandas is too old to parse floats exactly and to report all surplus cells."""


@dataclass(frozen=True)
class TextFormat:
    """The format of a text file that holds a table; the fields are parameters of `read_table`."""

    sep: str | None = None
    encoding: str = "utf-8"
    decimal: str = "."
    missing: Sequence[str] = MISSING

    def __post_init__(self) -> None:
        """Validate the values."""
        try:
            codecs.lookup(self.encoding)
        except LookupError as error:
            raise DatasetError(f"Unknown encoding {self.encoding!r}.") from error
        if self.sep is not None and len(self.sep) != 1:
            raise DatasetError(f"The separator must be a single character, such as ';' or a tab; got {self.sep!r}.")
        if len(self.decimal) != 1:
            raise DatasetError(f"The decimal mark must be a single character, such as ','; got {self.decimal!r}.")
        if self.sep == self.decimal:
            raise DatasetError(f"The separator and the decimal mark must differ; both are {self.sep!r}.")

    def options(self, file: BinaryIO, separator: str | None = None) -> dict[str, Any]:
        """Return the options with which pandas reads a file.

        Parameters
        ----------
        file : binary file
            The separator is detected in its first lines.
        separator : str, optional
            The separator that the file extension implies, if any.
        """
        return {
            "sep": self.sep or separator or find_separator(file, self),
            "decimal": self.decimal,
            "keep_default_na": False,
            "na_values": list(self.missing),
            "encoding": self.encoding,  # pandas skips a byte order mark
            "skipinitialspace": True,
            "low_memory": False,
            **exact_floats(),
        }


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


def replace_cells(
    path: Path, form: TextFormat, columns: Sequence[str], given: npt.NDArray[Any], others: npt.NDArray[Any]
) -> bytes:
    """Return a copy of a file in which some columns have other values; ARFF becomes CSV.

    Parameters
    ----------
    path : Path
    form : TextFormat
        How the text of CSV and ARFF files is read. The copy is in the same form.
    columns : sequence of str
    given : array of shape (n_samples, n_columns)
        Their values as they were read, which may be coded.
    others : array of shape (n_samples, n_columns)
        The new ones, coded in the same way. Each is spelled as in the first sample that has it.
    """
    kind = file_kind(path)
    separator: str | None = ","
    if kind in SEPARATORS:
        with open_table(path, form) as file:
            separator = form.options(file, SEPARATORS[kind])["sep"]
            content = read_delimited(file, path, TextFormat(separator, form.encoding, missing=()), separator, str)
    else:
        content = (
            pd.read_parquet(path) if kind == ".parquet" else read_whole(path, form).frame(read_columns(path, form))
        )
    names = [str(name) for name in content.columns]
    for name, old, new in zip(columns, given.T, others.T, strict=True):
        cells = content.iloc[:, names.index(name)].copy()
        spelled = dict(zip(old[::-1], cells.iloc[::-1], strict=True))
        is_new = old != new
        cells.iloc[is_new] = [spelled[value] for value in new[is_new]]
        content.isetitem(names.index(name), cells)
    if kind == ".parquet":
        copy: bytes = content.to_parquet()
        return copy
    return content.to_csv(index=False, sep=separator, lineterminator="\n").encode(form.encoding)


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
    """Return ".csv", ".tsv", ".arff" or ".parquet", or raise an error."""
    suffixes = [suffix.lower() for suffix in find_file(path).suffixes]
    kind = suffixes[-2] if suffixes[-1:] == [".gz"] and len(suffixes) > 1 else (suffixes or [""])[-1]
    kind = {".pq": ".parquet"}.get(kind, kind)
    if kind not in (*SEPARATORS, ".arff", ".parquet"):
        raise DatasetError(
            f"{path} has an unknown extension; supported are .csv, .tsv, .arff (also with .gz) and .parquet."
        )
    if kind == ".parquet":
        require("Reading a Parquet file", "pyarrow")
    return kind


@contextmanager
def open_table(path: Path, form: TextFormat, digest: Any = None) -> Iterator[Any]:
    """Open a file, gzipped or not, and raise the errors of its reader with readable messages."""
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


def exact_floats() -> dict[str, str]:
    """Return the option with which pandas restores floats exactly."""
    return {"float_precision": "round_trip"} if BEFORE_PANDAS_3_1 else {}  # later the default, and deprecated


def find_separator(file: BinaryIO, form: TextFormat) -> str:
    r"""Return the separator that splits the first two lines of a CSV file into the largest equal number of cells.

    >>> find_separator(io.BytesIO(b'item;"price, net";kind\nnail;0,05;small\n'), TextFormat())
    ';'
    """
    marks = [mark for mark in _MARKS if mark != form.decimal]
    n_cells = [_count_cells(file, mark, form.encoding) for mark in marks]
    return marks[n_cells.index(max(n_cells))] if max(n_cells) > 1 else marks[0]


def _count_cells(file: BinaryIO, mark: str, encoding: str) -> int:
    try:
        with closing(iter_lines(file, mark, encoding, strict=True)) as lines:
            _, first = next(lines, (0, []))
            _, second = next(lines, (0, first))
    except (csv.Error, UnicodeError, OSError, EOFError):
        return 0  # pandas reads the file next and reports what is wrong
    return len(first) if len(second) == len(first) else 0


def iter_lines(file: BinaryIO, separator: str, encoding: str, **options: Any) -> Generator[tuple[int, list[str]]]:
    r"""Yield the lines of an open file from its start, with the number of each; quoted cells may contain line ends.

    >>> list(iter_lines(io.BytesIO(b"a,b\n1,'2\n\n3,4,5\n"), ",", "utf-8"))
    [(1, ['a', 'b']), (2, ['1', "'2"]), (3, []), (4, ['3', '4', '5'])]
    """
    file.seek(0)
    # A byte order mark, as written by Excel, is not part of the text.
    encoding = "utf-8-sig" if codecs.lookup(encoding).name == "utf-8" else encoding
    text = io.TextIOWrapper(file, encoding, newline="")
    try:
        lines = csv.reader(text, delimiter=separator, skipinitialspace=True, **options)
        yield from ((lines.line_num, cells) for cells in lines)
    finally:
        text.detach()  # so that the file stays open


def read_names(file: BinaryIO, options: Mapping[str, Any], path: Path) -> list[str]:
    """Read the column names in the first line of an open file. Missing and repeated names raise an error."""
    file.seek(0)
    # Two lines, since pandas would take surplus cells of the second one for an index.
    head = pd.read_csv(file, **{**options, "header": None, "nrows": 2, "dtype": str, "na_filter": False})
    names: list[str] = head.iloc[0].tolist()
    for position, name in enumerate(names, start=1):
        if not name.strip() and position > 1:
            raise DatasetError(f"Column {position} of {path} has no name in the first line.")
        if name in names[: position - 1]:
            raise DatasetError(f"{path} has two columns named {name!r}.")
    return names if names[0].strip() else [UNNAMED, *names[1:]]


def read_delimited(file: BinaryIO, path: Path, form: TextFormat, separator: str | None, dtype: Any) -> pd.DataFrame:
    """Read an open file; columns with only numbers are numeric, all others are text."""
    options = form.options(file, separator)
    names = read_names(file, options, path)
    if len(names) == 1:
        other = next((mark for mark in _MARKS if mark != options["sep"] and mark in names[0]), None)
        hint = f"; are the cells separated by {other!r}?" if other else "."
        raise DatasetError(f"{path} has only one column{hint}")
    file.seek(0)
    frame = pd.read_csv(file, dtype=dtype, **options)
    return use_points(frame.set_axis(names, axis=1), form.decimal)


def use_points(frame: pd.DataFrame, decimal: str) -> pd.DataFrame:
    r"""Replace decimal commas in text columns, where not all cells are numbers.

    >>> use_points(pd.DataFrame({"size": ["1,5", "unknown", "2"]}), ",")["size"].tolist()
    ['1.5', 'unknown', '2']
    """
    if decimal == ".":
        return frame
    number = re.compile(rf"^(\s*[-+]?\d*){re.escape(decimal)}(\d+(?:[eE][-+]?\d+)?\s*)$")
    texts = [name for name in frame.columns if pd.api.types.infer_dtype(frame[name], skipna=True) == "string"]
    return frame.assign(**{name: frame[name].str.replace(number, r"\1.\2", regex=True) for name in texts})


class TableStream:
    r"""Iterate over the samples of a file in blocks.

    Parameters
    ----------
    path : str or path
        As for `fuselearn.datasets.read_table`. CSV, TSV and Parquet files are read in blocks, an ARFF file whole.
    numbers : sequence of str, default=()
        Numeric columns to read. The file may have more columns, in any order.
    texts : sequence of str, default=()
        Categorical columns to read; their cells are read as text.
    others : sequence of str, default=()
        Columns of unknown kind to read: numeric if all cells of a block are numbers, otherwise text.
    index : sequence of str, default=()
        Columns for the index of the blocks, such as an identifier; read as text.
    as_matrix : bool, default=False
        Whether to return sparse arrays if the samples of an ARFF file are sparse. All columns must then be numeric.
    block_rows : int, default=50_000
        Maximum number of samples in a block.
    form : TextFormat, optional
        How the text of CSV and ARFF files is read.

    Attributes
    ----------
    ignored : list of str
        Columns of the file that are not read.

    Raises
    ------
    DatasetError
        If a column is missing, or if a cell of a numeric column is not a number.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "fruit.csv")
    >>> _ = path.write_text("name,color,weight\na,red,150\nb,green,\nc,red,120\n")
    >>> stream = TableStream(path, ["weight"], ["color"], block_rows=2)
    >>> stream.ignored
    ['name']
    >>> for block in stream:
    ...     print(block.to_dict("list"))
    {'weight': [150.0, nan], 'color': ['red', 'green']}
    {'weight': [120.0], 'color': ['red']}
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        numbers: Sequence[str] = (),
        texts: Sequence[str] = (),
        others: Sequence[str] = (),
        index: Sequence[str] = (),
        *,
        as_matrix: bool = False,
        block_rows: int = BLOCK_ROWS,
        form: TextFormat | None = None,
    ) -> None:
        self.path = Path(path)
        self.numbers, self.texts, self.index = list(numbers), list(texts), list(index)
        self.names = [*numbers, *texts, *others]
        self.as_matrix = as_matrix and not index
        self.block_rows = block_rows
        self.form = form or TextFormat()
        self.kind = file_kind(self.path)
        self.columns = read_columns(self.path, self.form)
        require_columns(self.columns, self.index, str(self.path), "use as the index")
        require_trained(self.columns, self.names, str(self.path))
        self.used = dict.fromkeys([*self.names, *self.index])
        self.ignored = [name for name in self.columns if name not in self.used]

    def __iter__(self) -> Generator[Any]:
        """Yield the blocks, with the columns in the given order.

        Blocks are DataFrames, or sparse arrays with ``as_matrix`` for a file with sparse samples. A file without
        samples yields one empty block.
        """
        readers = {".parquet": self._parquet_blocks, ".arff": self._arff_blocks}
        n_blocks = 0
        for block in readers.get(self.kind, self._csv_blocks)():
            yield block
            n_blocks += 1
        if n_blocks == 0:
            yield self._tidy(pd.DataFrame(columns=self.columns))

    def _arff_blocks(self) -> Iterator[Any]:
        table: Any = read_whole(self.path, self.form)
        starts = range(0, table.n_rows, self.block_rows)
        if self.as_matrix and table.fits_matrix(self.names):
            matrix = table.matrix(self.names)
            yield from (matrix[start : start + self.block_rows] for start in starts)
        else:
            frame = table.frame(list(self.used))
            yield from (self._tidy(frame.iloc[start : start + self.block_rows]) for start in starts)

    def _parquet_blocks(self) -> Iterator[pd.DataFrame]:
        from pyarrow.parquet import ParquetFile

        with ParquetFile(self.path) as file:
            for batch in file.iter_batches(self.block_rows, columns=list(self.used)):
                yield self._tidy(batch.to_pandas())

    def _csv_blocks(self) -> Iterator[pd.DataFrame]:
        texts = dict.fromkeys([*self.texts, *self.index, *self.ignored], "str")
        with open_table(self.path, self.form) as file:
            try:
                for block in self._read_csv(file, {**texts, **dict.fromkeys(self.numbers, "float64")}):
                    yield self._arrange(block)
            except (DatasetError, UnicodeError, pd.errors.ParserError):
                raise
            except ValueError as error:
                raise self._name_culprit(file) from error

    def _read_csv(self, file: Any, dtype: dict[str, str]) -> Iterator[pd.DataFrame]:
        options = self.form.options(file, SEPARATORS[self.kind])
        with (
            # All columns are read, since pandas checks the number of cells in a line only then.
            pd.read_csv(self.path, chunksize=self.block_rows, dtype=dtype, **options) as blocks,
            closing(iter_lines(file, options["sep"], self.form.encoding)) as every_line,
        ):
            lines = (line for line in every_line if line[1])
            for number, block in enumerate(blocks):
                if BEFORE_PANDAS_3_1:  # which drops surplus cells in the first line of a block
                    self._refuse_surplus_cells(islice(lines, int(number == 0) + len(block)))
                yield use_points(block, self.form.decimal)

    def _refuse_surplus_cells(self, lines: Iterator[tuple[int, list[str]]]) -> None:
        for number, cells in lines:
            if len(cells) > len(self.columns):
                raise pd.errors.ParserError(f"Expected {len(self.columns)} fields in line {number}, saw {len(cells)}")

    def _name_culprit(self, file: Any) -> DatasetError:
        """Name the first cell of a numeric column that is not a number."""
        for block in self._read_csv(file, dict.fromkeys(self.columns, "str")):
            for name in self.numbers:
                cells = block[name].dropna()
                bad = cells[pd.to_numeric(cells, errors="coerce").isna()]
                if len(bad):
                    line, cell = bad.index[0] + 2, bad.iloc[0]
                    hint = " Is the comma the decimal mark?" if "," in cell and self.form.decimal == "." else ""
                    problem = f"column {name!r} contains {cell!r} in line {line}, where the model expects a number."
                    return DatasetError(f"{self.path}: {problem}{hint}")
        return DatasetError(f"{self.path}: a cell cannot be read as a number.")

    def _arrange(self, block: pd.DataFrame) -> pd.DataFrame:
        """Order the columns and set the index."""
        if self.index:
            block = block.set_index(self.index, drop=False)
        return block[self.names]

    def _tidy(self, block: pd.DataFrame) -> pd.DataFrame:
        block = self._arrange(block.reset_index(drop=True))
        for name in self.numbers:
            try:
                block[name] = block[name].astype("float64")
            except (TypeError, ValueError) as error:
                raise DatasetError(
                    f"{self.path}: column {name!r} contains a cell that is not a number: {error}."
                ) from error
        return block
