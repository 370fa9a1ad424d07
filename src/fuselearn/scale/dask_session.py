"""The tasks of one fit on a Dask cluster.

All tasks are pure functions of their arguments, so Dask recomputes the data of a lost worker. Nothing is scattered,
since scattered data cannot be recomputed. A round trip takes milliseconds, so the tasks of a step are submitted
together, and the parts of one worker thread form one group with one task.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager, nullcontext
from typing import Any, NamedTuple, Self
from uuid import uuid4
from weakref import WeakSet

import dask
import numpy as np
from dask import delayed
from dask.delayed import Delayed
from distributed import Client, Future, default_client
from distributed.client import ClosedClientError
from distributed.scheduler import KilledWorker

from fuselearn.scale.session import Kept, Task

# Values of up to this number of bytes are sent with every task that needs them.
SMALL = 2**14
# Maximum number of results that are merged in one task, or by this process.
MERGED_AT_ONCE = 8


class Group(list[Any]):
    """The parts of one thread of a worker, or a result for each of them."""


class Advanced(NamedTuple):
    """The stored results of a task, and the result to merge."""

    kept: Any
    report: Any


class Given:
    """Wraps an argument, so that Dask does not search it for results of other tasks."""

    def __init__(self, value: Any) -> None:
        self.value = value


class DaskSession:
    """Submit tasks to a cluster, and release all remaining tasks if a fit fails or is interrupted.

    Parameters
    ----------
    client : distributed.Client or None
        None means the last client created.
    """

    def __init__(self, client: Client | None) -> None:
        if client is None:
            try:
                client = default_client()
            except ValueError as error:
                raise ValueError(
                    "There is no Dask client: create one with dask.distributed.Client(), or pass client=."
                ) from error
        if not isinstance(client, Client):
            raise TypeError(f"client must be a dask.distributed.Client or None, not {type(client).__name__}.")
        if client.asynchronous:
            raise TypeError("client is asynchronous; pass a synchronous client, dask.distributed.Client(address).")
        self.client = client
        self._futures: WeakSet[Future] = WeakSet()
        self._homes: list[str | None] = []
        self._order: list[int] = []

    def __enter__(self) -> Self:
        """Return the session itself."""
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        """Release all results after an error, whose traceback may still refer to them.

        The scheduler forgets tasks without references. They are not canceled, because Dask's scheduler loses the client
        if a task is canceled while a released task depends on it.
        """
        if kind is not None and self.client.status == "running":
            for future in list(self._futures):
                future.release()

    def submit(self, task: Task, *arguments: Any) -> Future:
        """Submit one task."""
        return self._submit([self._task(task, task, *arguments)])[0]

    def settle(self, parts: Kept) -> Kept:
        """Group the parts of each worker thread.

        Without groups, Dask might run a task on any worker that has one of its arguments, however small, and send the
        part there.
        """
        with self._connected():
            where, n_threads = self.client.who_has(parts), self.client.nthreads()
        homes: dict[str | None, list[int]] = {}
        for position, part in enumerate(parts):
            homes.setdefault(next(iter(where.get(part.key, ())), None), []).append(position)
        groups = [
            (home, group.tolist())
            for home, positions in homes.items()
            for group in np.array_split(positions, min(len(positions), n_threads.get(home, 1)))
        ]
        self._homes = [home for home, _ in groups]
        self._order = [position for _, positions in groups for position in positions]
        return self._submit(
            [self._task(Group, Group, [parts[k] for k in positions], at=home) for home, positions in groups]
        )

    def map(self, task: Task, *kept: Sequence[Any], given: Sequence[Any] = ()) -> Kept:
        """Submit a task for each group of parts, preferably to the worker that stores it.

        Arguments may be delayed values.
        """
        return self._submit(self._tasks(task, (_perform, task), kept, given))

    def advance(
        self, task: Task, merge: Task, *kept: Kept, given: Sequence[Any] = (), later: Task | None = None
    ) -> tuple[Kept, Any]:
        """Submit tasks that return results to store and results to merge, as described in ``Session.advance``."""
        tasks = self._tasks(task, (_advance, task, merge), kept, given)
        merged = [self._task(_report, _report, own, at=home) for own, home in self._at_home(tasks)]
        if later is not None:
            merged = [self._task(later, _finish, merge, later, self._merge_tasks(merge, merged))]
        futures = self._submit([*tasks, *merged])
        own, results = futures[: len(tasks)], futures[len(tasks) :]
        return own, results[0] if later is not None else self._merge(merge, results)

    def fetch(self, results: Any) -> Any:
        """Wait for results and return them, in the order of the parts."""
        try:
            with self._connected():
                values = self.client.gather(results)
        except KilledWorker as error:
            raise RuntimeError(
                f"Workers died repeatedly in the task {error.task!r}, probably because a part does not fit into the "
                f"memory of a worker. Use smaller parts."
            ) from error
        if not (isinstance(values, list) and values and isinstance(_kept(values[0]), Group)):
            return values
        of_parts = [value for group in values for value in _kept(group)]
        return [of_parts[k] for k in np.argsort(self._order)]

    def _tasks(
        self, named: Task, how: tuple[Any, ...], kept: tuple[Sequence[Any], ...], given: Sequence[Any]
    ) -> list[Delayed]:
        """Make a task for each group of parts, or for each part before they are grouped."""
        values = [self._hold(value) for value in given]
        own = list(zip(*kept, strict=True))
        return [self._task(named, *how, len(kept), *results, *values, at=home) for results, home in self._at_home(own)]

    def _at_home(self, results: Sequence[Any]) -> Iterator[tuple[Any, str | None]]:
        """Yield the stored result of each group and its worker."""
        return zip(results, self._homes or [None] * len(results), strict=True)

    def _hold(self, value: Any) -> Any:
        """Wrap an argument of many tasks; a large value becomes a separate task, so that it is sent only once."""
        if isinstance(value, Future):
            return value
        is_small = len(pickle.dumps(value)) <= SMALL
        return Given(value) if is_small else self._task(_hold, _hold, Given(value))

    def _task(self, named: Task, function: Task, *arguments: Any, at: str | None = None) -> Delayed:
        name = f"{named.__name__}-{uuid4().hex}"
        with nullcontext() if at is None else dask.annotate(workers=[at], allow_other_workers=True):
            return delayed(function, pure=False)(*arguments, dask_key_name=name)

    def _submit(self, tasks: Sequence[Delayed]) -> list[Future]:
        """Submit tasks in a single message."""
        with self._connected():
            futures: list[Future] = self.client.compute(tasks, optimize_graph=False)
        self._futures.update(futures)
        return futures

    def _merge(self, merge: Task, results: Kept) -> Any:
        merging = self._merge_tasks(merge, results)
        values = self.fetch(results if merging is results else self._submit(merging))
        return values[0] if len(values) == 1 else merge(values)

    def _merge_tasks(self, merge: Task, results: Sequence[Any]) -> Sequence[Any]:
        """Merge until few results are left, beginning with results of the same worker, which are adjacent."""
        while len(results) > MERGED_AT_ONCE:
            groups = [results[k : k + MERGED_AT_ONCE] for k in range(0, len(results), MERGED_AT_ONCE)]
            results = [self._task(merge, merge, group) for group in groups]
        return results

    @contextmanager
    def _connected(self) -> Iterator[None]:
        """Raise ConnectionError if the connection is lost; Dask only reports canceled tasks."""
        try:
            yield
        except (CancelledError, ClosedClientError, OSError) as error:
            if self.client.status == "running":
                raise
            raise ConnectionError("The connection to the Dask scheduler was lost during the fit.") from error


def _hold(given: Given) -> Any:
    return given.value


def _kept(result: Any) -> Any:
    return result.kept if isinstance(result, Advanced) else result


def _perform(function: Task, n_kept: int, *arguments: Any) -> Any:
    """Call a function for each part of a group, or for a part."""
    kept = [_kept(result) for result in arguments[:n_kept]]
    given = [value.value if isinstance(value, Given) else value for value in arguments[n_kept:]]
    if not isinstance(kept[0], Group):
        return function(*kept, *given)
    return Group(function(*own, *given) for own in zip(*kept, strict=True))


def _advance(function: Task, merge: Task, n_kept: int, *arguments: Any) -> Advanced:
    results = _perform(function, n_kept, *arguments)
    if not isinstance(results, Group):
        return Advanced(*results)
    kept, reports = zip(*results, strict=True)
    return Advanced(Group(kept), reports[0] if len(reports) == 1 else merge(list(reports)))


def _finish(merge: Task, later: Task, results: list[Any]) -> Any:
    return later(results[0] if len(results) == 1 else merge(results))


def _report(advanced: Advanced) -> Any:
    return advanced.report
