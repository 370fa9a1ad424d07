"""The tasks of one fit on a single machine, with results on disk.

Large results are files in a temporary folder. A task maps its inputs into memory while it runs, so a fit needs memory
for one part per thread.
"""

from __future__ import annotations

import itertools
import mmap
import os
import pickle
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Self
from weakref import finalize

from fuselearn._messages import show
from fuselearn.scale.session import Kept, Task
from fuselearn.scale.sources import Source

# Arrays of at least this number of bytes are written to disk.
LARGE = 2**16


class Stored:
    """A result whose large arrays are in a file, which is deleted with the last reference to this object."""

    def __init__(self, path: Path, pickled: bytes, arrays: list[pickle.PickleBuffer]) -> None:
        self.path, self._pickled = path, pickled
        self._sizes = [array.raw().nbytes for array in arrays]
        with path.open("wb") as file:
            for array in arrays:
                file.write(array.raw())
        finalize(self, _delete, path)

    def load(self) -> Any:
        """Return the result with its arrays mapped into memory; changes are not written to the file."""
        with self.path.open("rb") as file:
            content = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY))
        ends = itertools.accumulate(self._sizes)
        arrays = [content[end - size : end] for end, size in zip(ends, self._sizes, strict=True)]
        return pickle.loads(self._pickled, buffers=arrays)


class DiskSession:
    """Run tasks in threads, and store their results in a folder that is deleted at the end.

    Parameters
    ----------
    directory : path or None
        Parent of the folder; None means the system's folder for temporary files.
    n_threads : int
    """

    def __init__(self, directory: Any, n_threads: int) -> None:
        self.directory, self.n_threads = directory, n_threads
        self._numbers = itertools.count()

    def __enter__(self) -> Self:
        """Create the folder."""
        named = os.fspath(self.directory) if isinstance(self.directory, os.PathLike) else self.directory
        if named is not None and not (isinstance(named, str) and os.path.isdir(named)):
            raise ValueError(f"directory must be an existing folder or None, not {show(named)}.")
        self._folder = TemporaryDirectory(prefix="fuselearn-", dir=self.directory, ignore_cleanup_errors=True)
        self._pool = ThreadPoolExecutor(self.n_threads)
        return self

    def __exit__(self, *error: object) -> None:
        """Wait for running tasks, discard pending ones, and delete the folder."""
        self._pool.shutdown(cancel_futures=True)
        self._folder.cleanup()

    def submit(self, task: Task, *arguments: Any) -> Any:
        """Run one task."""
        return self._keep(task(*self.fetch(list(arguments))))

    def map(self, task: Task, *kept: Sequence[Any], given: Sequence[Any] = ()) -> Kept:
        """Run a task for each part."""
        values = self.fetch(list(given))
        return list(self._pool.map(lambda *own: self._keep(task(*self.fetch(list(own)), *values)), *kept))

    def settle(self, parts: Kept) -> Kept:
        """Return the parts unchanged, as all are on this machine."""
        return parts

    def advance(
        self, task: Task, merge: Task, *kept: Kept, given: Sequence[Any] = (), later: Task | None = None
    ) -> tuple[Kept, Any]:
        """Run tasks that return results to store and results to merge, and merge while other tasks are running."""
        values = self.fetch(list(given))

        def perform(*own: Any) -> tuple[Any, Any]:
            to_keep, to_merge = task(*self.fetch(list(own)), *values)
            return self._keep(to_keep), to_merge

        results, merged = [], None
        for result, value in self._pool.map(perform, *kept):
            results.append(result)
            merged = value if merged is None else merge([merged, value])
        return results, merged if later is None else later(merged)

    def fetch(self, results: Any) -> Any:
        """Read results from their files and return them."""
        if isinstance(results, list):
            return [self.fetch(result) for result in results]
        if isinstance(results, Stored):
            return results.load()
        return results.read() if isinstance(results, Source) else results

    def _keep(self, value: Any) -> Any:
        """Store a value with large arrays in a file; return other values unchanged."""
        arrays: list[pickle.PickleBuffer] = []
        pickled = pickle.dumps(value, protocol=5, buffer_callback=lambda array: _take_if_large(array, arrays))
        return Stored(Path(self._folder.name) / str(next(self._numbers)), pickled, arrays) if arrays else value


def _delete(path: Path) -> None:
    with suppress(PermissionError):  # Windows does not delete a mapped file; it is deleted with the folder
        path.unlink(missing_ok=True)


def _take_if_large(buffer: pickle.PickleBuffer, buffers: list[pickle.PickleBuffer]) -> bool:
    """Collect a large buffer; return whether the buffer is kept inside of the pickle."""
    is_small = buffer.raw().nbytes < LARGE
    if not is_small:
        buffers.append(buffer)
    return is_small
