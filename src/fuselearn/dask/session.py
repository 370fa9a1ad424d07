"""The tasks of one fit on a Dask cluster.

All tasks are pure functions of their arguments, so Dask computes again what a lost worker held. Nothing is scattered:
scattered data cannot be computed again.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self
from weakref import WeakSet

from dask import delayed
from distributed import Client, Future, default_client
from distributed.client import ClosedClientError
from distributed.scheduler import KilledWorker

# Values of up to so many bytes are sent with every task that needs them.
SMALL = 2**14
# So many results are merged in one task.
MERGED_AT_ONCE = 8


class DaskSession:
    """Submit tasks to a cluster; all that are still there when a fit fails or is interrupted are released.

    Parameters
    ----------
    client : distributed.Client or None
        None means the client that was made last.
    """

    def __init__(self, client: Client | None) -> None:
        if client is None:
            try:
                client = default_client()
            except ValueError as error:
                raise ValueError(
                    "There is no Dask client: make one, dask.distributed.Client(), or pass client=."
                ) from error
        if not isinstance(client, Client):
            raise TypeError(f"client must be a dask.distributed.Client or None, not {type(client).__name__}.")
        if client.asynchronous:
            raise TypeError("client is asynchronous; fit needs an ordinary one, dask.distributed.Client(address).")
        self.client = client
        self._futures: WeakSet[Future] = WeakSet()
        self._homes: dict[str | None, list[int]] | None = None

    def __enter__(self) -> Self:
        """Return the session itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Release what is left after an error, whose traceback may still refer to it.

        Tasks that nobody wants are forgotten. To cancel them would be no more than that, and Dask's scheduler loses the
        client when a task is cancelled on which one depends that is released already.
        """
        if kind is not None and self.client.status == "running":
            for future in list(self._futures):
                future.release()

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future:
        """Submit one task."""
        with self._connected():
            return self._keep([self.client.submit(function, *arguments, pure=False)])[0]

    def map(self, function: Callable[..., Any], *arguments: Sequence[Any]) -> list[Future]:
        """Submit a task for each of the parts, to the worker that keeps the part; any other may perform it, too."""
        if self._homes is None:
            with self._connected():
                return self._keep(self.client.map(function, *arguments, pure=False))
        futures: dict[int, Future] = {}
        for home, places in self._homes.items():
            given = [[values[place] for place in places] for values in arguments]
            at_home = {} if home is None else {"workers": [home], "allow_other_workers": True}
            with self._connected():
                mapped = self.client.map(function, *given, pure=False, **at_home)
            futures.update(zip(places, self._keep(mapped), strict=True))
        return [futures[place] for place in range(len(futures))]

    def settle(self, parts: Sequence[Future]) -> None:
        """Remember which worker keeps each of the parts; None if a worker was lost just now.

        By default, Dask would perform a task on any worker that has one of its arguments, however small that is, and
        send the part there.
        """
        with self._connected():
            where = self.client.who_has(parts)
        homes: dict[str | None, list[int]] = {}
        for place, part in enumerate(parts):
            homes.setdefault(next(iter(where.get(part.key, ())), None), []).append(place)
        self._homes = homes

    def hold(self, value: Any) -> Future:
        """Put a value into a task of its own, so that it is sent once and not with each of the tasks that need it."""
        return value if len(pickle.dumps(value)) <= SMALL else self.submit(_hold, value)

    def map_parts(self, function: Callable[..., Any], *arguments: Sequence[Any]) -> list[Future]:
        """Submit a task for each of the parts, some arguments of which may be delayed values."""
        call = delayed(function, pure=False)
        with self._connected():
            return self._keep(self.client.compute([call(*given) for given in zip(*arguments, strict=True)]))

    def merge(self, function: Callable[[list[Any]], Any], futures: Sequence[Future]) -> Any:
        """Merge results, a few at a time, on the cluster; fetch what comes out, and merge that.

        The function takes a list of results and returns one; how they are grouped must make no difference.
        """
        places = [range(len(futures))] if self._homes is None else self._homes.values()
        own = [[futures[place] for place in group] for group in places]  # first those of the same worker
        while True:
            groups = [some[k : k + MERGED_AT_ONCE] for some in own for k in range(0, len(some), MERGED_AT_ONCE)]
            merged = [self.submit(function, group) for group in groups]
            if len(merged) <= MERGED_AT_ONCE:
                return function(self.fetch(merged))
            own = [merged]

    def fetch(self, futures: Any) -> Any:
        """Wait for results and return them."""
        try:
            with self._connected():
                return self.client.gather(futures)
        except KilledWorker as error:
            raise RuntimeError(
                f"Workers died again and again in the task {error.task!r}. Perhaps its part does not fit into the "
                "memory of a worker: use smaller parts."
            ) from error

    @contextmanager
    def _connected(self) -> Iterator[None]:
        """Say so if the connection is lost; Dask only says that tasks were cancelled."""
        try:
            yield
        except (CancelledError, ClosedClientError, OSError) as error:
            if self.client.status == "running":
                raise
            raise ConnectionError("The connection to the Dask scheduler was lost during the fit.") from error

    def _keep(self, futures: list[Future]) -> list[Future]:
        self._futures.update(futures)
        return futures


def _hold(value: Any) -> Any:
    return value
