"""Show that work is under way, in a terminal only."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["spinner"]


@contextmanager
def spinner(text: str) -> Iterator[Callable[[str], None]]:
    """Show a spinner with a text, which the yielded function changes."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console

    with Console(stderr=True).status(text) as status:
        yield lambda said: status.update(said)
