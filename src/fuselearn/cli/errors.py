"""Messages and exit codes instead of tracebacks: 2 for wrong usage, 1 for failed work, 130 for Ctrl-C."""

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
    """Print a message to standard error and exit with a code."""
    typer.echo(message, err=True)
    raise typer.Exit(code)


@contextmanager
def sentences(resume: str = "") -> Iterator[None]:
    """Turn errors raised by the library into a message and an exit code, and warnings into messages.

    Parameters
    ----------
    resume : str, optional
        How to resume, printed after Ctrl-C.
    """
    from fuselearn.datasets import DatasetError
    from fuselearn.lab import RunError, StoreError

    try:
        with _plain_warnings():
            yield
    except (DatasetError, StoreError) as error:
        leave(str(error), WRONG_USE)
    except OSError as error:
        # Errors of the library carry a message; those of the operating system a number, a text and a file.
        if isinstance(error, FileNotFoundError) and error.filename:
            leave(f"There is no file {error.filename}.", WRONG_USE)
        leave(f"Cannot access {error.filename}: {error.strerror}." if error.strerror else str(error), WRONG_USE)
    except (RunError, ImportError) as error:  # a package that is not installed
        leave(str(error), FAILED)
    except sqlite3.Error as error:
        leave(f"Cannot use the results store: {error}.", FAILED)
    except KeyboardInterrupt:
        leave(f"Stopped. {resume}".strip(), INTERRUPTED)


@contextmanager
def wrong_use(kinds: tuple[type[Exception], ...] = (ValueError, TypeError)) -> Iterator[None]:
    """Treat errors of some kinds as wrong usage, for calls that validate the user's input."""
    try:
        yield
    except kinds as error:
        leave(str(error), WRONG_USE)


@contextmanager
def _plain_warnings() -> Iterator[None]:
    """Print each warning once, without the file and line that it comes from."""
    said = set()

    def say(message: Warning | str, category: type[Warning], *where: object, **more: object) -> None:
        if str(message) not in said:
            said.add(str(message))
            typer.echo(f"Warning: {message}", err=True)

    with warnings.catch_warnings():
        warnings.showwarning = say
        yield
