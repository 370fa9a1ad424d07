"""What performs the tasks of a fit and keeps their results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

Kept = list[Any]
"""Results for all parts, as a session keeps them; what is in the list is the session's business."""
Task = Callable[..., Any]
"""A pure function, which can be pickled."""


class Session(Protocol):
    """The tasks of one fit.

    Results are kept as the session likes; only ``fetch`` and ``advance`` return values. Results that are no longer
    referred to are released.
    """

    def submit(self, task: Task, *arguments: Any) -> Any:
        """Perform one task; arguments may be kept results, or lists of them."""
        ...

    def map(self, task: Task, *kept: Sequence[Any], given: Sequence[Any] = ()) -> Kept:
        """Perform a task for each of the parts, with what is kept for it and what is given to all."""
        ...

    def advance(
        self, task: Task, merge: Task, *kept: Kept, given: Sequence[Any] = (), later: Task | None = None
    ) -> tuple[Kept, Any]:
        """Perform a task for each of the parts that returns what to keep and what to merge; return both.

        How values are grouped when they are merged must make no difference. With ``later``, do not wait for the merged
        value, but keep what this function makes of it; tasks may take it among what is given.
        """
        ...

    def settle(self, parts: Kept) -> Kept:
        """Arrange the parts for all tasks that follow, which are best performed where their parts are kept."""
        ...

    def fetch(self, results: Any) -> Any:
        """Wait for results and return them; those for all parts in the order of the parts."""
        ...
