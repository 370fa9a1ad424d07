"""What performs the tasks of a fit and keeps their results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

Kept = list[Any]
"""Results for all parts, as a session keeps them; what is in the list is the session's business."""


class Session(Protocol):
    """The tasks of one fit.

    Results are kept as the session likes; only ``fetch``, ``merge`` and ``advance`` return values. Results that are no
    longer referred to are released.
    """

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Perform one task; arguments may be kept results, or lists of them."""
        ...

    def map_parts(self, function: Callable[..., Any], *arguments: Sequence[Any], given: Sequence[Any] = ()) -> Kept:
        """Do as ``map`` does where some arguments are to be read where the task is performed."""
        ...

    def settle(self, parts: Kept) -> Kept:
        """Arrange the parts for all tasks that follow, which are best performed where their parts are kept."""
        ...

    def map(self, function: Callable[..., Any], *kept: Kept, given: Sequence[Any] = ()) -> Kept:
        """Perform a task for each of the parts, with what is kept for it and what is given to all."""
        ...

    def advance(
        self,
        function: Callable[..., tuple[Any, Any]],
        merge: Callable[[list[Any]], Any],
        *kept: Kept,
        given: Sequence[Any] = (),
        later: Callable[[Any], Any] | None = None,
    ) -> tuple[Kept, Any]:
        """Perform tasks that return what to keep and what to merge; return the former, kept, and the merged value.

        With ``later``, do not wait for the merged value, but keep what this function makes of it; tasks may take it
        among what is given.
        """
        ...

    def merge(self, function: Callable[[list[Any]], Any], results: Kept) -> Any:
        """Merge kept results into one value, a few at a time; how they are grouped must make no difference."""
        ...

    def fetch(self, results: Any) -> Any:
        """Wait for results and return them; those for all parts in the order of the parts."""
        ...
