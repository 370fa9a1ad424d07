"""Read CSV and TSV files: separators, encodings, decimal marks, and the header."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import pandas as pd

from fuselearn.datasets.dataset import DatasetError

MISSING = ("", "?", "NA", "N/A", "NaN", "nan", "null", "NULL")

UNNAMED = "Unnamed: 0"
"""Pandas' name for a first column without a name, as in a DataFrame written with its index."""

_MARKS = ",;\t|"

BEFORE_PANDAS_3_1 = tuple(map(int, pd.__version__.split(".")[:2])) < (3, 1)
"""Whether pandas is too old to parse floats exactly and to see all surplus cells on its own."""


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


def exact_floats() -> dict[str, str]:
    """Return the option with which pandas reads back exactly the floats that it wrote."""
    return {"float_precision": "round_trip"} if BEFORE_PANDAS_3_1 else {}  # later the default, and deprecated


def find_separator(file: BinaryIO, form: TextFormat) -> str:
    r"""Return the separator that splits the first two lines of a CSV file into the most, and equally many, cells.

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
    """Read the column names in the first line of an open file; refuse missing and repeated names."""
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
    """Read an open file whole; a column whose cells are all numbers is numeric, any other is text."""
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
    r"""Replace decimal commas in columns that stayed text because not all of their cells are numbers.

    >>> use_points(pd.DataFrame({"size": ["1,5", "unknown", "2"]}), ",")["size"].tolist()
    ['1.5', 'unknown', '2']
    """
    if decimal == ".":
        return frame
    number = re.compile(rf"^(\s*[-+]?\d*){re.escape(decimal)}(\d+(?:[eE][-+]?\d+)?\s*)$")
    texts = [name for name in frame.columns if pd.api.types.infer_dtype(frame[name], skipna=True) == "string"]
    return frame.assign(**{name: frame[name].str.replace(number, r"\1.\2", regex=True) for name in texts})
