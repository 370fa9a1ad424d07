"""Reading a table of new rows block by block, so that a file may be larger than memory."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fuselearn.datasets import segments
from fuselearn.datasets.dataset import DatasetError
from fuselearn.datasets.storage import exact_floats
from fuselearn.datasets.tables import (
    MISSING,
    file_kind,
    malformed,
    read_columns,
    read_frame,
    separator,
    text_encoding,
)
from fuselearn.datasets.targets import name_columns

if TYPE_CHECKING:
    import pandas as pd

BLOCK_ROWS = 50_000
MOST_THREADS = 8  # each holds a segment in memory, and a few read as fast as a disk can


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
    """

    numbers: Sequence[str] = ()
    texts: Sequence[str] = ()
    others: Sequence[str] = ()

    @property
    def names(self) -> list[str]:
        """All of them."""
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

    def __init__(self, path: str | os.PathLike[str], wanted: Wanted, *, block_rows: int = BLOCK_ROWS) -> None:
        self.path = Path(path)
        self.wanted = wanted
        self.block_rows = block_rows
        if not self.path.is_file():
            raise FileNotFoundError(f"There is no file {self.path}.")
        self.kind = file_kind(self.path)
        self.columns = read_columns(self.path)
        missing = [name for name in wanted.names if name not in self.columns]
        if missing:
            raise DatasetError(
                f"{self.path} lacks {'the column' if len(missing) == 1 else 'the columns'} {name_columns(missing)}, "
                "which the model was trained on."
            )
        self.ignored = [name for name in self.columns if name not in set(wanted.names)]

    def __iter__(self) -> Generator[pd.DataFrame]:
        """Yield the blocks, each with the wanted columns in the order in which they were asked for."""
        if self.kind in (".csv", ".tsv"):
            yield from self._csv_blocks()
        elif self.kind == ".parquet":
            yield from self._parquet_blocks()
        else:
            frame = read_frame(self.path)
            for start in range(0, len(frame), self.block_rows):
                yield self._tidy(frame.iloc[start : start + self.block_rows])

    def _csv_blocks(self) -> Iterator[pd.DataFrame]:
        options: dict[str, Any] = {
            "sep": separator(self.path),
            # All columns are read, since pandas checks the number of cells in a line only then.
            "dtype": {
                **dict.fromkeys(self.wanted.numbers, "float64"),
                **dict.fromkeys([*self.wanted.texts, *self.ignored], "str"),
            },
            "keep_default_na": False,
            "na_values": list(MISSING),
            "encoding": text_encoding("utf-8"),
            "low_memory": False,
            **exact_floats(),
        }
        n_rows = 0
        if not self.wanted.texts and self.path.stat().st_size > segments.SEGMENT_BYTES:
            try:
                for block in self._segment_blocks(options):
                    yield block
                    n_rows += len(block)
                if n_rows:
                    return
            except segments.NotCutError:
                pass  # and see what a reader from the beginning makes of it
        yield from self._blocks_in_one_go(options, n_rows)

    def _segment_blocks(self, options: dict[str, Any]) -> Iterator[pd.DataFrame]:
        from joblib import cpu_count

        parser = segments.SegmentParser(self.columns, self.wanted.names, options)
        # Where pandas has to be asked for exact floats, it holds the interpreter's lock for each of them.
        n_threads = 1 if exact_floats() else min(cpu_count(), MOST_THREADS)
        with closing(segments.read_segments(self.path, parser, n_threads, segments.SEGMENT_BYTES)) as frames:
            for frame in frames:
                for start in range(0, len(frame), self.block_rows):
                    yield frame.iloc[start : start + self.block_rows]

    def _blocks_in_one_go(self, options: dict[str, Any], n_given: int) -> Iterator[pd.DataFrame]:
        """Read from the beginning of the file, and yield what comes after the rows that have been given already."""
        import pandas as pd

        n_rows = 0
        try:
            first = pd.read_csv(self.path, nrows=1, **{**options, "dtype": str})
            if not isinstance(first.index, pd.RangeIndex):  # pandas takes surplus cells of the first row for an index
                raise DatasetError(
                    f"{self.path} is not a well-formed table: its first row has more cells than there are column names."
                )
            with pd.read_csv(self.path, chunksize=self.block_rows, **options) as blocks:
                for block in blocks:
                    n_rows += len(block)
                    if n_rows > n_given or not n_given:
                        yield block[self.wanted.names].iloc[max(n_given - n_rows, -len(block)) :]
        except pd.errors.ParserError as error:
            raise malformed(self.path, error) from error
        except UnicodeDecodeError as error:
            raise DatasetError(f"{self.path} cannot be read as UTF-8 text ({error}).") from error
        except DatasetError:
            raise
        except ValueError as error:
            culprit = _name_culprit(self.path, self.wanted.numbers, options, self.block_rows)
            raise DatasetError(f"{self.path}: {culprit}") from error

    def _parquet_blocks(self) -> Iterator[pd.DataFrame]:
        from pyarrow.parquet import ParquetFile

        with ParquetFile(self.path) as file:
            for batch in file.iter_batches(self.block_rows, columns=self.wanted.names):
                yield self._tidy(batch.to_pandas())

    def _tidy(self, block: pd.DataFrame) -> pd.DataFrame:
        block = block[self.wanted.names].reset_index(drop=True)
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
                cells = block[name].dropna()
                bad = cells[pd.to_numeric(cells, errors="coerce").isna()]
                if len(bad):
                    line = bad.index[0] + 2
                    return f"column {name!r} holds {bad.iloc[0]!r} in line {line}, where the model expects a number."
    return "a cell cannot be read as a number."
