"""Tell the user in one line that kernels are being compiled, since the first fit takes long."""

from __future__ import annotations

import logging
import multiprocessing
import sys
import time

from numba.core import event

__all__ = ["announce_compilation"]

SENTENCE = (
    "fuselearn is compiling kernels for this kind of data, once per installation; this can take a minute. "
    "Run `fuselearn warmup` to compile all kernels in advance."
)
NOTICEABLE = 1.0  # seconds


class _CompileNotice(event.Listener):
    """Show the notice once, when kernels of this package have been compiling for a second and another one starts."""

    def __init__(self) -> None:
        self._depth = 0
        self._start = 0.0
        self._told = False

    def on_start(self, begun: event.Event) -> None:
        """Record the start of a compilation; the functions that the kernel calls are compiled within it."""
        if not self._depth:
            self._start = time.monotonic()
        self._depth += 1
        module = begun.data["dispatcher"].py_func.__module__
        if not self._told and module.startswith("fuselearn.") and time.monotonic() - self._start > NOTICEABLE:
            self._told = True
            _tell()

    def on_end(self, ended: event.Event) -> None:
        """Record the end of a compilation."""
        self._depth -= 1


def announce_compilation() -> None:
    """Show the notice when kernels are compiled in this process."""
    event.register("numba:compile", _CompileNotice())


def _tell() -> None:
    """Write a log record if logging is enabled, else a line if standard error is a terminal or a notebook."""
    logger = logging.getLogger("fuselearn")
    if logger.isEnabledFor(logging.INFO):
        logger.info(SENTENCE)
    elif _is_watched() and multiprocessing.parent_process() is None:
        print(SENTENCE, file=sys.stderr, flush=True)


def _is_watched() -> bool:
    return "ipykernel" in sys.modules or (sys.stderr is not None and sys.stderr.isatty())
