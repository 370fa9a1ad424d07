"""One line that says why a first fit takes so long: its kernels are compiled."""

from __future__ import annotations

import logging
import multiprocessing
import sys
import time

from numba.core import event

__all__ = ["announce_compilation"]

SENTENCE = (
    "fuselearn compiles its kernels for this kind of data, which can take a minute; they are kept for next time. "
    "`fuselearn warmup` compiles all of them ahead."
)
NOTICEABLE = 1.0  # seconds


class _CompileNotice(event.Listener):
    """Tell the user once, when kernels of this package have been compiling for a second and there is more to do."""

    def __init__(self) -> None:
        self._depth = 0
        self._start = 0.0
        self._told = False

    def on_start(self, begun: event.Event) -> None:
        """Note when a kernel begins to compile. The functions it calls are compiled meanwhile."""
        if not self._depth:
            self._start = time.monotonic()
        self._depth += 1
        module = begun.data["dispatcher"].py_func.__module__
        if not self._told and module.startswith("fuselearn.") and time.monotonic() - self._start > NOTICEABLE:
            self._told = True
            _tell()

    def on_end(self, ended: event.Event) -> None:
        """Note that a kernel is compiled."""
        self._depth -= 1


def announce_compilation() -> None:
    """Have the line written when kernels are compiled in this process."""
    event.register("numba:compile", _CompileNotice())


def _tell() -> None:
    """Write a log record if somebody wants it, else a line where somebody reads it: in a terminal or a notebook."""
    logger = logging.getLogger("fuselearn")
    if logger.isEnabledFor(logging.INFO):
        logger.info(SENTENCE)
    elif _is_watched() and multiprocessing.parent_process() is None:
        print(SENTENCE, file=sys.stderr, flush=True)


def _is_watched() -> bool:
    return "ipykernel" in sys.modules or (sys.stderr is not None and sys.stderr.isatty())
