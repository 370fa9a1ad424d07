"""What performs the tasks of a fit and keeps their results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol


class Session(Protocol):
    """The tasks of one fit.

    Results are kept as the session likes; only ``fetch`` and ``merge`` return values. Results that are no longer
    referred to are released.
    """

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Perform one task; arguments may be kept results, or lists of them."""
        ...

    def map(self, function: Callable[..., Any], *arguments: Sequence[Any]) -> list[Any]:
        """Perform a task for each of the parts."""
        ...

    def hold(self, value: Any) -> Any:
        """Keep a value that many tasks need."""
        ...

    def map_parts(self, function: Callable[..., Any], *arguments: Sequence[Any]) -> list[Any]:
        """Perform a task for each of the parts, some arguments of which are to be read where the task is performed."""
        ...

    def settle(self, parts: Sequence[Any]) -> None:
        """Remember where the results for each of the parts are kept; tasks on them are best performed there."""
        ...

    def merge(self, function: Callable[[list[Any]], Any], results: Sequence[Any]) -> Any:
        """Merge kept results into one value, a few at a time; how they are grouped must make no difference."""
        ...

    def fetch(self, results: Any) -> Any:
        """Wait for results and return them."""
        ...
