"""Sentences and exit codes instead of tracebacks: 2 for wrong use, 1 for failed work, 130 for Ctrl-C."""

from __future__ import annotations

import sqlite3
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

import typer

__all__ = ["FAILED", "INTERRUPTED", "WRONG_USE", "leave", "sentences", "wrong_use"]

FAILED, WRONG_USE, INTERRUPTED = 1, 2, 130


def leave(message: str, code: int) -> NoReturn:
    """Write a sentence on standard error and end with an exit code."""
    typer.echo(message, err=True)
    raise typer.Exit(code)


@contextmanager
def sentences(resume: str = "") -> Iterator[None]:
    """Turn the errors that the library raises on purpose into a sentence and an exit code, and warnings into sentences.

    Parameters
    ----------
    resume : str, optional
        What to say after Ctrl-C about going on.
    """
    from fuselearn._fitting import is_interrupt
    from fuselearn.datasets import DatasetError
    from fuselearn.lab.running.runner import RunError
    from fuselearn.lab.running.store import StoreError

    try:
        with _plain_warnings():
            yield
    except (DatasetError, StoreError) as error:
        leave(str(error), WRONG_USE)
    except OSError as error:
        # The library's own say it in a sentence; those of the system have a number, a text and a file.
        said = f"{error.filename} cannot be used: {error.strerror}." if error.strerror else str(error)
        leave(said, WRONG_USE)
    except (RunError, ImportError) as error:  # a package that is not installed
        leave(str(error), FAILED)
    except sqlite3.Error as error:
        leave(f"The results store cannot be used: {error}.", FAILED)
    except (KeyboardInterrupt, SystemError) as error:
        if not is_interrupt(error):
            raise
        leave(f"Stopped. {resume}".strip(), INTERRUPTED)


@contextmanager
def wrong_use(kinds: tuple[type[Exception], ...] = (ValueError,)) -> Iterator[None]:
    """Treat errors of some kinds as wrong use: for calls that check what the user gave."""
    try:
        yield
    except kinds as error:
        leave(str(error), WRONG_USE)


@contextmanager
def _plain_warnings() -> Iterator[None]:
    """Print warnings without the file and the line that they come from, each once."""
    said = set()

    def say(message: Warning | str, category: type[Warning], *where: object, **more: object) -> None:
        if str(message) not in said:
            said.add(str(message))
            typer.echo(f"Warning: {message}", err=True)

    with warnings.catch_warnings():
        warnings.showwarning = say
        yield
