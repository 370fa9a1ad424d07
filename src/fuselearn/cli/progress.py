"""Show that work is under way, in a terminal only."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["counting", "spinner"]


@contextmanager
def spinner(text: str) -> Iterator[Callable[[str], None]]:
    """Show a spinner with a text, which the yielded function changes."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console

    with Console(stderr=True).status(text) as status:
        yield lambda said: status.update(said)


@contextmanager
def counting(model: Any, text: str) -> Iterator[None]:
    """Show a progress bar over the members of an ensemble during training, or a spinner."""
    parameters = model.get_params(deep=False)
    if not sys.stderr.isatty() or "callback" not in parameters:
        with spinner(text):
            yield
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    layout = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*layout, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(text, total=parameters["n_estimators"])
        model.set_params(callback=lambda number, _: bar.update(task, completed=number))
        try:
            yield
        finally:
            model.set_params(callback=None)
