"""Reading a table of new samples block by block, so that a file may be larger than memory."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fuselearn._extras import require
from fuselearn.datasets.arff import ArffTable
from fuselearn.datasets.dataset import DatasetError
from fuselearn.datasets.delimited import TextFormat, line_lengths, malformed, use_points
from fuselearn.datasets.storage import is_before_pandas_3_1
from fuselearn.datasets.tables import csv_options, file_kind, read_columns, read_whole, reading_errors
from fuselearn.datasets.targets import name_columns, require_columns

if TYPE_CHECKING:
    import pandas as pd

BLOCK_ROWS = 50_000


@dataclass(frozen=True)
class Wanted:
    """The columns that a model takes.

    Parameters
    ----------
    numbers : sequence of str
        Columns of numbers.
    texts : sequence of str, default=()
        Columns of categories; their cells are read as text.
    others : sequence of str, default=()
        Columns of a kind that is not known: numbers where all cells of a block are, else text.
    index : sequence of str, default=()
        Columns that go along with the samples, such as an identifier; they become the index of the blocks, as text.
    sparse : bool, default=False
        Whether the model takes sparse arrays, if the samples of an ARFF file are sparse. Then all columns are numbers.

    Examples
    --------
    >>> Wanted(["age", "income"], texts=["region"], index=["customer"])
    Wanted(numbers=['age', 'income'], texts=['region'], others=(), index=['customer'], sparse=False)
    """

    numbers: Sequence[str] = ()
    texts: Sequence[str] = ()
    others: Sequence[str] = ()
    index: Sequence[str] = ()
    sparse: bool = False

    @property
    def names(self) -> list[str]:
        """All of them but the index."""
        return [*self.numbers, *self.texts, *self.others]


class TableStream:
    r"""The rows of a file, a block at a time.

    Parameters
    ----------
    path : str or path
        As for `fuselearn.datasets.read_table`. CSV, TSV and Parquet files are read in blocks, an ARFF file whole.
    wanted : Wanted
        The columns to read, which may stand in any order and among others.
    block_rows : int, default=50_000
        Most rows in a block.
    form : TextFormat, optional
        How the text of CSV and ARFF files is read.

    Attributes
    ----------
    ignored : list of str
        Columns of the file that were not asked for.

    Raises
    ------
    DatasetError
        If a wanted column is missing, or, while reading, if a cell of a column of numbers is none.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "fruit.csv")
    >>> _ = path.write_text("name,colour,weight\na,red,150\nb,green,\nc,red,120\n")
    >>> stream = TableStream(path, Wanted(["weight"], ["colour"]), block_rows=2)
    >>> stream.ignored
    ['name']
    >>> for block in stream:
    ...     print(block.to_dict("list"))
    {'weight': [150.0, nan], 'colour': ['red', 'green']}
    {'weight': [120.0], 'colour': ['red']}
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        wanted: Wanted,
        *,
        block_rows: int = BLOCK_ROWS,
        form: TextFormat | None = None,
    ) -> None:
        require("Reading a table", "pandas", "pyarrow")
        self.path = Path(path)
        self.wanted = wanted
        self.block_rows = block_rows
        self.form = form or TextFormat()
        self.columns = read_columns(self.path, self.form)
        self.kind = file_kind(self.path)
        require_columns(self.columns, list(wanted.index), str(self.path), "use as the index")
        known = set(self.columns)
        missing = [name for name in wanted.names if name not in known]
        if missing:
            raise DatasetError(
                f"{self.path} lacks {'the column' if len(missing) == 1 else 'the columns'} {name_columns(missing)}, "
                "which the model was trained on."
            )
        used = {*wanted.names, *wanted.index}
        self.ignored = [name for name in self.columns if name not in used]

    def __iter__(self) -> Generator[Any]:
        """Yield the blocks, each with the wanted columns in the order in which they were asked for.

        Blocks are frames, or sparse arrays if those are wanted and the file has sparse samples. A file without samples
        is one block without samples.
        """
        n_blocks = 0
        for block in self._blocks():
            yield block
            n_blocks += 1
        if n_blocks == 0:
            import pandas as pd

            yield self._tidy(pd.DataFrame(columns=self.columns))

    def _blocks(self) -> Iterator[Any]:
        if self.kind in (".csv", ".tsv"):
            return self._csv_blocks()
        return self._parquet_blocks() if self.kind == ".parquet" else self._arff_blocks()

    def _arff_blocks(self) -> Iterator[Any]:
        table = read_whole(self.path, self.form)
        starts = range(0, table.n_rows, self.block_rows)
        as_matrix = self.wanted.sparse and not self.wanted.index
        if as_matrix and isinstance(table, ArffTable) and table.fits_matrix(self.wanted.names):
            matrix = table.matrix(self.wanted.names)
            yield from (matrix[start : start + self.block_rows] for start in starts)
        else:
            frame = table.frame(self._read_names())
            yield from (self._tidy(frame.iloc[start : start + self.block_rows]) for start in starts)

    def _read_names(self) -> list[str]:
        """Return the columns to read; one may be both a feature and the index."""
        return list(dict.fromkeys([*self.wanted.names, *self.wanted.index]))

    def _csv_blocks(self) -> Iterator[pd.DataFrame]:
        import pandas as pd

        options = csv_options(self.path, self.form)
        index = self.wanted.index
        # All columns are read, since pandas checks the number of cells in a line only then.
        options["dtype"] = {
            **dict.fromkeys([*self.wanted.texts, *index, *self.ignored], "str"),
            **dict.fromkeys(self.wanted.numbers, "float64"),
        }
        with reading_errors(self.path, self.form):
            try:
                with pd.read_csv(self.path, chunksize=self.block_rows, **options) as blocks:
                    lines = line_lengths(self.path, options["sep"], self.form.encoding)
                    for block in blocks:
                        if is_before_pandas_3_1():  # which drops surplus cells in the first line of a block
                            self._refuse_surplus_cells(islice(lines, len(block)))
                        yield self._arrange(use_points(block, self.form.decimal))
            except (DatasetError, UnicodeError, pd.errors.ParserError):
                raise
            except ValueError as error:
                culprit = _name_culprit(self.path, self.wanted.numbers, options, self.block_rows)
                raise DatasetError(f"{self.path}: {culprit}") from error

    def _refuse_surplus_cells(self, lines: Iterable[tuple[int, int]]) -> None:
        """Refuse lines with more cells than there are columns."""
        for number, n_cells in lines:
            if n_cells > len(self.columns):
                problem = f"Expected {len(self.columns)} fields in line {number}, saw {n_cells}"
                raise malformed(self.path, ValueError(problem))

    def _parquet_blocks(self) -> Iterator[pd.DataFrame]:
        from pyarrow.parquet import ParquetFile

        with ParquetFile(self.path) as file:
            for batch in file.iter_batches(self.block_rows, columns=self._read_names()):
                yield self._tidy(batch.to_pandas())

    def _arrange(self, block: pd.DataFrame) -> pd.DataFrame:
        """Put the columns into order, and name the samples."""
        if self.wanted.index:
            block = block.set_index(list(self.wanted.index), drop=False)
        return block[self.wanted.names]

    def _tidy(self, block: pd.DataFrame) -> pd.DataFrame:
        block = self._arrange(block.reset_index(drop=True))
        for name in self.wanted.numbers:
            try:
                block[name] = block[name].astype("float64")
            except (TypeError, ValueError) as error:
                raise DatasetError(
                    f"{self.path}: column {name!r} holds something that is no number: {error}."
                ) from error
        return block


def _name_culprit(path: Path, numbers: Sequence[str], options: dict[str, Any], block_rows: int) -> str:
    """Find the first block of a file with a cell that is no number, and name the cell."""
    import pandas as pd

    with pd.read_csv(path, chunksize=block_rows, **{**options, "usecols": list(numbers), "dtype": str}) as blocks:
        for block in blocks:
            for name in numbers:
                cells = use_points(block[[name]].dropna(), options["decimal"])[name]
                bad = cells[pd.to_numeric(cells, errors="coerce").isna()]
                if len(bad):
                    line, cell = bad.index[0] + 2, bad.iloc[0]
                    hint = " Is the comma the decimal mark?" if "," in cell and options["decimal"] == "." else ""
                    return f"column {name!r} holds {cell!r} in line {line}, where the model expects a number.{hint}"
    return "a cell cannot be read as a number."
