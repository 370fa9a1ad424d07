"""Reading a table of new samples block by block, so that a file may be larger than memory."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Any

import pandas as pd

from fuselearn.datasets.dataset import DatasetError, require_columns, require_trained
from fuselearn.datasets.delimited import BEFORE_PANDAS_3_1, TextFormat, iter_lines, use_points
from fuselearn.datasets.tables import SEPARATORS, file_kind, open_table, read_columns, read_whole

BLOCK_ROWS = 50_000


class TableStream:
    r"""The samples of a file, a block at a time.

    Parameters
    ----------
    path : str or path
        As for `fuselearn.datasets.read_table`. CSV, TSV and Parquet files are read in blocks, an ARFF file whole.
    numbers : sequence of str, default=()
        The wanted columns of numbers. All wanted columns may stand in any order and among others.
    texts : sequence of str, default=()
        Those of categories; their cells are read as text.
    others : sequence of str, default=()
        Those of a kind that is not known: numbers where all cells of a block are, else text.
    index : sequence of str, default=()
        Columns that go along with the samples, such as an identifier; they become the index of the blocks, as text.
    as_matrix : bool, default=False
        Whether sparse arrays are wanted, if the samples of an ARFF file are sparse. Then all columns are numbers.
    block_rows : int, default=50_000
        Maximum number of samples in a block.
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
        """Yield the blocks, each with the wanted columns in the order in which they were asked for.

        Blocks are frames, or sparse arrays if those are wanted and the file has sparse samples. A file without samples
        is one block without samples.
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
        """Name the first cell that is no number in a column of numbers."""
        for block in self._read_csv(file, dict.fromkeys(self.columns, "str")):
            for name in self.numbers:
                cells = block[name].dropna()
                bad = cells[pd.to_numeric(cells, errors="coerce").isna()]
                if len(bad):
                    line, cell = bad.index[0] + 2, bad.iloc[0]
                    hint = " Is the comma the decimal mark?" if "," in cell and self.form.decimal == "." else ""
                    problem = f"column {name!r} holds {cell!r} in line {line}, where the model expects a number."
                    return DatasetError(f"{self.path}: {problem}{hint}")
        return DatasetError(f"{self.path}: a cell cannot be read as a number.")

    def _arrange(self, block: pd.DataFrame) -> pd.DataFrame:
        """Put the columns into order, and name the samples."""
        if self.index:
            block = block.set_index(self.index, drop=False)
        return block[self.names]

    def _tidy(self, block: pd.DataFrame) -> pd.DataFrame:
        block = self._arrange(block.reset_index(drop=True))
        for name in self.numbers:
            try:
                block[name] = block[name].astype("float64")
            except (TypeError, ValueError) as error:
                raise DatasetError(f"{self.path}: column {name!r} holds a cell that is no number: {error}.") from error
        return block
