"""Reading numbers from a large CSV file, in segments that several threads parse at once.

A file is cut into segments of some megabytes, each of which ends where a line does. A line may end inside of a quoted
cell, which is not the end of a row; but then the parser of that segment meets the segment's end inside of quotes and
fails. So if one segment after the other can be parsed, each has begun with a row, and their rows are those of the file.
At the first failure the reader stops: whether the cut was wrong or the file is, only a parser that reads it from the
beginning can tell, and name the line.

Segments of plain numbers are parsed by :mod:`fuselearn.datasets.decimals`, others by pandas. Files with columns of text
are better left to pandas as a whole, which holds the interpreter's lock while it makes texts.
"""

from __future__ import annotations

import codecs
import gzip
import io
import zlib
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

SEGMENT_BYTES = 8 * 2**20

__all__ = ["SEGMENT_BYTES", "NotCutError", "SegmentParser", "cut_rows", "read_segments"]


class NotCutError(Exception):
    """From here on, a file must be read from the beginning in one go."""


@dataclass(frozen=True)
class SegmentParser:
    """What turns some rows of a CSV file into a table.

    Parameters
    ----------
    columns : sequence of str
        The names of all columns of the file.
    wanted : sequence of str
        Those to keep.
    options : dict
        For ``pandas.read_csv``.
    """

    columns: Sequence[str]
    wanted: Sequence[str]
    options: dict[str, Any]

    def is_header(self, line: bytes) -> bool:
        """Tell whether the first line of a file has the names of its columns, and nothing else."""
        import pandas as pd

        try:
            head = pd.read_csv(io.BytesIO(line), **{**self.options, "dtype": str})
        except ValueError:
            return False
        return len(head) == 0 and head.columns.astype(str).tolist() == list(self.columns)

    def parse(self, segment: bytearray) -> pd.DataFrame:
        """Parse whole rows; a ValueError or a NotCutError says that they are none, or not without what came before."""
        import pandas as pd

        if (matrix := self._read_numbers(segment)) is not None:
            return pd.DataFrame(matrix, columns=list(self.wanted), copy=False)
        if segment.startswith(codecs.BOM_UTF8):
            raise NotCutError  # pandas would drop this mark, which it must do at the beginning of the file only
        frame = pd.read_csv(io.BytesIO(segment), header=None, names=list(self.columns), **self.options)
        if not isinstance(frame.index, pd.RangeIndex):
            raise NotCutError  # pandas has taken surplus cells of the first line for an index
        return frame[list(self.wanted)]

    def _read_numbers(self, segment: bytearray) -> Any:
        from fuselearn.datasets.decimals import read_numbers

        places = {name: place for place, name in enumerate(self.columns)}
        wanted = [places[name] for name in self.wanted]
        return read_numbers(segment, self.options["sep"], len(self.columns), wanted, self.options["na_values"])


def read_segments(path: Path, parser: SegmentParser, n_threads: int, segment_bytes: int) -> Generator[pd.DataFrame]:
    """Yield the rows of a CSV file, a segment at a time.

    Parameters
    ----------
    path : path
        Of a file in UTF-8 whose first line has the names of the columns; it may be gzipped.
    parser : SegmentParser
        What the columns are.
    n_threads : int
        How many segments are parsed at once. One more may wait.
    segment_bytes : int
        About the size of a segment.

    Yields
    ------
    DataFrame
        With the columns that are wanted.

    Raises
    ------
    NotCutError
        If there are rows that cannot be parsed, or are not known to be some. What has been given before are the first
        rows of the file, and each is whole.
    """
    waiting: deque[Future[pd.DataFrame]] = deque()
    pool = ThreadPoolExecutor(n_threads)
    try:
        with _open(path) as file:
            if not parser.is_header(file.readline(segment_bytes)):
                raise NotCutError
            for segment in cut_rows(file, segment_bytes):
                waiting.append(pool.submit(parser.parse, segment))
                if len(waiting) > n_threads:
                    yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    except (ValueError, OSError, EOFError, zlib.error) as error:
        raise NotCutError from error
    finally:
        pool.shutdown(cancel_futures=True)


def cut_rows(file: io.BufferedIOBase, n_bytes: int) -> Iterator[bytearray]:
    r"""Cut text at ends of lines, but not inside of quotes, as long as they stand in pairs.

    Parameters
    ----------
    file : binary file
        Read from where it stands.
    n_bytes : int
        About the size of a segment, which may have three times as much where lines are long or quotes odd.

    Yields
    ------
    bytearray
        A segment.

    Raises
    ------
    NotCutError
        If no end of a line is in sight.

    Examples
    --------
    >>> import io
    >>> [bytes(rows) for rows in cut_rows(io.BytesIO(b'1,2\n3,"a\nb"\n5,6\n'), 8)]
    [b'1,2\n3,"a\nb"\n', b'5,6\n']
    """
    while True:
        segment = bytearray(n_bytes)
        del segment[file.readinto(segment) :]
        n_quotes = segment.count(b'"') if b'"' in segment else 0  # to count takes ten times as long as to look
        line = b""
        while len(segment) <= 2 * n_bytes and (line := file.readline(n_bytes)):
            segment += line
            n_quotes += line.count(b'"')
            if n_quotes % 2 == 0 and line.endswith(b"\n"):
                break
        if line and not line.endswith(b"\n"):
            raise NotCutError
        if not segment:
            return
        yield segment


def _open(path: Path) -> io.BufferedIOBase:
    return gzip.GzipFile(path) if path.suffix.lower() == ".gz" else open(path, "rb")
