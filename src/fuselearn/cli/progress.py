"""Show that work is under way: in a terminal at once, elsewhere in a line every half a minute."""

from __future__ import annotations

import io
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, redirect_stdout
from typing import Any

SILENCE = 30.0
"""Seconds between two lines."""


@contextmanager
def working(text: str) -> Iterator[Callable[[str], None]]:
    """Show a text while work is under way; the yielded function changes it."""
    if sys.stderr.isatty():
        from rich.console import Console
        from rich.markup import escape

        with Console(stderr=True).status(escape(text)) as status:
            yield lambda said: status.update(escape(said))
        return
    from fuselearn._messages import format_seconds

    start, latest, is_done = time.monotonic(), [text], threading.Event()

    def print_lines() -> None:
        while not is_done.wait(SILENCE):
            print(f"{latest[0]} ({format_seconds(time.monotonic() - start)} so far)", file=sys.stderr, flush=True)

    lines = threading.Thread(target=print_lines, daemon=True)
    lines.start()
    try:
        yield lambda said: latest.__setitem__(0, said)
    finally:
        is_done.set()
        lines.join()


@contextmanager
def fitting(model: Any, text: str) -> Iterator[None]:
    """Show how far the fit of a model is: what it prints with ``verbose``, unless the user asked for these lines."""
    with ExitStack() as stack:
        tell = stack.enter_context(working(text))
        if model.get_params(deep=False).get("verbose") == 0:
            stack.enter_context(redirect_stdout(_Lines(tell)))
            stack.callback(model.set_params, verbose=0)
            model.set_params(verbose=2)
        yield


class _Lines(io.StringIO):
    """Passes on each line that is written."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        super().__init__()
        self._tell = tell

    def write(self, text: str) -> int:
        if text.strip():
            self._tell(text.strip())
        return len(text)
