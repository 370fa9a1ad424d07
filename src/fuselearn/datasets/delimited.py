"""Read CSV and TSV files: separators, encodings, decimal marks, and the header."""

from __future__ import annotations

import codecs
import csv
import gzip
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from fuselearn.datasets.dataset import DatasetError
from fuselearn.datasets.storage import exact_floats

if TYPE_CHECKING:
    import pandas as pd

MISSING = ("", "?", "NA", "N/A", "NaN", "nan", "null", "NULL")

UNNAMED = "Unnamed: 0"
"""Pandas' name for a first column without a name, as in a DataFrame written with its index."""

_MARKS = ",;\t|"


@dataclass(frozen=True)
class TextFormat:
    r"""The format of a text file that holds a table.

    Parameters
    ----------
    sep : str, optional
        The separator of a CSV file. By default the comma, semicolon, tab or bar that cuts the first two lines into the
        most cells, and a tab for TSV.
    encoding : str, default="utf-8"
        Encoding of CSV, TSV and ARFF files.
    decimal : str, default="."
        The decimal mark in CSV and TSV files.
    missing : sequence of str
        Cells of CSV and TSV files that are read as missing.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from fuselearn.datasets import TableStream, TextFormat, Wanted
    >>> path = pathlib.Path(tempfile.mkdtemp(), "fruit.csv")
    >>> _ = path.write_text("colour;weight\nred;150,5\ngreen;?\n")
    >>> form = TextFormat(sep=";", decimal=",", missing=["?"])
    >>> [block.to_dict("list") for block in TableStream(path, Wanted(["weight"], ["colour"]), form=form)]
    [{'weight': [150.5, nan], 'colour': ['red', 'green']}]
    """

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

    def options(self, path: Path, separator: str | None = None) -> dict[str, Any]:
        """Return the options with which pandas reads a file.

        Parameters
        ----------
        path : Path
            The separator is detected in its first lines.
        separator : str, optional
            The separator that the file extension implies, if any.
        """
        return {
            "sep": self.sep or separator or find_separator(path, self),
            "decimal": self.decimal,
            "keep_default_na": False,
            "na_values": list(self.missing),
            "encoding": self.encoding,  # pandas skips a byte order mark, and reads UTF-8 without decoding it first
            "skipinitialspace": True,
            "low_memory": False,
            **exact_floats(),
        }


def find_separator(path: Path, form: TextFormat) -> str:
    r"""Return the separator that splits the first two lines of a CSV file into the most, and equally many, cells.

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "prices.csv")
    >>> _ = path.write_text('item;"price, net";kind\nnail;0,05;small\n')
    >>> find_separator(path, TextFormat())
    ';'
    """
    marks = [mark for mark in _MARKS if mark != form.decimal]
    n_cells = [_count_cells(path, mark, form.encoding) for mark in marks]
    return marks[n_cells.index(max(n_cells))] if max(n_cells) > 1 else marks[0]


def _count_cells(path: Path, mark: str, encoding: str) -> int:
    try:
        with _open(path, encoding) as file:
            lines = csv.reader(file, delimiter=mark, skipinitialspace=True, strict=True)
            first = next(lines, [])
            second = next(lines, first)
    except (csv.Error, UnicodeDecodeError, OSError, EOFError):
        return 0  # pandas reads the file next and reports what is wrong
    return len(first) if len(second) == len(first) else 0


def line_lengths(path: Path, separator: str, encoding: str) -> Iterator[tuple[int, int]]:
    r"""Yield the number of each line below the header, and how many cells it has; blank lines are skipped.

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "sizes.csv")
    >>> _ = path.write_text("a,b\n1,2\n\n3,4,5\n")
    >>> list(line_lengths(path, ",", "utf-8"))
    [(2, 2), (4, 3)]
    """
    with _open(path, encoding) as file:
        lines = csv.reader(file, delimiter=separator, skipinitialspace=True)
        lengths = ((lines.line_num, len(cells)) for cells in lines if cells)
        next(lengths, None)
        yield from lengths


def _open(path: Path, encoding: str) -> IO[str]:
    # A byte order mark, as written by Excel, is not part of the text.
    encoding = "utf-8-sig" if codecs.lookup(encoding).name == "utf-8" else encoding
    opener: Any = gzip.open if path.suffix.lower() == ".gz" else open
    file: IO[str] = opener(path, "rt", encoding=encoding, newline="")
    return file


def read_names(path: Path, options: dict[str, Any]) -> list[str]:
    """Read the column names in the first line of a file; refuse missing and repeated names."""
    import pandas as pd

    # Two lines, since pandas would take surplus cells of the second one for an index.
    head = pd.read_csv(path, **{**options, "header": None, "nrows": 2, "dtype": str, "na_filter": False})
    names: list[str] = head.iloc[0].tolist()
    for position, name in enumerate(names, start=1):
        if not name.strip() and position > 1:
            raise DatasetError(f"Column {position} of {path} has no name in the first line.")
        if name in names[: position - 1]:
            raise DatasetError(f"{path} has two columns named {name!r}.")
    return names if names[0].strip() else [UNNAMED, *names[1:]]


def read_delimited(path: Path, options: dict[str, Any]) -> pd.DataFrame:
    """Read a whole file; a column whose cells are all numbers is numeric, any other is text."""
    import pandas as pd

    names = read_names(path, options)
    if len(names) == 1:
        other = next((mark for mark in _MARKS if mark != options["sep"] and mark in names[0]), None)
        hint = f"; are the cells separated by {other!r}" if other else ""
        raise DatasetError(f"{path} has only one column{hint}{'?' if hint else '.'}")
    frame = pd.read_csv(path, **options)
    return use_points(frame.set_axis(names, axis=1), options["decimal"])


def use_points(frame: pd.DataFrame, decimal: str) -> pd.DataFrame:
    r"""Replace decimal commas in columns that stayed text because not all of their cells are numbers.

    >>> import pandas as pd
    >>> use_points(pd.DataFrame({"size": ["1,5", "unknown", "2"]}), ",")["size"].tolist()
    ['1.5', 'unknown', '2']
    """
    if decimal == ".":
        return frame
    from pandas.api.types import infer_dtype

    number = re.compile(rf"^(\s*[-+]?\d*){re.escape(decimal)}(\d+(?:[eE][-+]?\d+)?\s*)$")
    texts = [name for name in frame.columns if infer_dtype(frame[name], skipna=True) == "string"]
    return frame.assign(**{name: frame[name].str.replace(number, r"\1.\2", regex=True) for name in texts})


def malformed(path: Path, error: ValueError) -> DatasetError:
    """Return the error for a file that pandas cannot parse as a table."""
    reason = str(error).removeprefix("Error tokenizing data. C error: ").strip()
    return DatasetError(f"{path} is not a well-formed table: {reason}.")
