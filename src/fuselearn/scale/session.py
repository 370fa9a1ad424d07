"""The session, which runs the tasks of a fit and stores their results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

Kept = list[Any]
"""Results for all parts; the type of the items depends on the session."""
Task = Callable[..., Any]
"""A pure function, which can be pickled."""


class Session(Protocol):
    """The tasks of one fit.

    Only ``fetch`` and ``advance`` return values. Results without references are released.
    """

    def submit(self, task: Task, *arguments: Any) -> Any:
        """Run one task; arguments may be stored results, or lists of them."""
        ...

    def map(self, task: Task, *kept: Sequence[Any], given: Sequence[Any] = ()) -> Kept:
        """Run a task for each part, with its stored results and the shared arguments."""
        ...

    def advance(
        self, task: Task, merge: Task, *kept: Kept, given: Sequence[Any] = (), later: Task | None = None
    ) -> tuple[Kept, Any]:
        """Run a task for each part that returns a result to store and a result to merge; return both.

        Merging must be associative and commutative. With ``later``, do not wait for the merged value, but store the
        result of this function on it, as a shared argument of later tasks.
        """
        ...

    def settle(self, parts: Kept) -> Kept:
        """Assign the parts to workers for all later tasks."""
        ...

    def fetch(self, results: Any) -> Any:
        """Wait for results and return them, in the order of the parts."""
        ...
