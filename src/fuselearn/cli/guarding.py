"""Messages instead of tracebacks, and checks that no output overwrites an input or another file.

Exit codes are 2 for wrong usage, 1 for other errors, 130 for Ctrl-C.
"""

from __future__ import annotations

import sqlite3
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Annotated, NamedTuple, NoReturn

import typer

FAILED, WRONG_USE, INTERRUPTED = 1, 2, 130
HEAD_BYTES = 4096
SUSPECT_COLUMNS = ("row", "given", "suggested", "probability", "suggested_probability", "suspect", "confidence")
"""Columns of a list of suspects; columns for the index and for the label may follow the first."""

Force = Annotated[bool, typer.Option("--force", help="Replace an existing output that this command did not write.")]


def leave(message: str, code: int = WRONG_USE) -> NoReturn:
    """Print a message to standard error and exit with a code."""
    typer.echo(message, err=True)
    raise typer.Exit(code)


@contextmanager
def sentences(resume: str = "", wrong_use: tuple[type[Exception], ...] = (ValueError, TypeError)) -> Iterator[None]:
    """Convert errors of the library to a message and an exit code, and warnings to messages.

    Parameters
    ----------
    resume : str, optional
        How to resume, printed after Ctrl-C.
    wrong_use : tuple of exception types
        Errors that exit with the code of wrong usage.
    """
    from fuselearn.datasets import DatasetError
    from fuselearn.lab import RunError, StoreError

    try:
        with _plain_warnings():
            yield
    except (DatasetError, StoreError) as error:
        leave(str(error))
    except OSError as error:
        # Errors of the library carry a message; those of the operating system a number, a text and a file.
        if isinstance(error, FileNotFoundError) and error.filename:
            leave(f"There is no file {error.filename}.")
        leave(f"Cannot access {error.filename}: {error.strerror}." if error.strerror else str(error))
    except (RunError, ImportError) as error:  # a package that is not installed
        leave(str(error), FAILED)
    except sqlite3.Error as error:
        leave(f"Cannot use the results store: {error}.", FAILED)
    except wrong_use as error:
        leave(str(error))
    except KeyboardInterrupt:
        leave(f"Stopped. {resume}".strip(), INTERRUPTED)


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


class Kind(NamedTuple):
    """A kind of output.

    Parameters
    ----------
    name : str
        The name in messages.
    is_own : callable
        Whether an existing file is of this kind.
    makes_folder : bool, default=False
        Whether the folder of the output is created.
    """

    name: str
    is_own: Callable[[Path], bool]
    makes_folder: bool = False


def check_output(path: Path, kind: Kind, inputs: Iterable[Path] = (), *, force: bool = False) -> None:
    """Exit with a message if writing an output would destroy another file.

    Parameters
    ----------
    path : Path
        The file to write.
    kind : Kind
        The kind of the output.
    inputs : iterable of Path
        The input files of the command, which are never overwritten.
    force : bool, default=False
        Whether an existing file of another kind may be replaced.
    """
    if path.is_dir():
        leave(f"{path} is a folder; the {kind.name} needs a file name.")
    if not kind.makes_folder and not path.parent.is_dir():
        leave(f"Cannot write {path.name}: the folder {path.parent} does not exist.")
    for source in inputs:
        if path.exists() and source.exists() and path.samefile(source):
            said = f"{path} is the input {source}: writing the {kind.name} would overwrite it"
            leave(f"{said}; choose another name for the output.")
    # Pipes, devices and empty files contain no data to lose.
    if not force and path.is_file() and path.stat().st_size and not kind.is_own(path):
        leave(f"{path} exists and is not a {kind.name}; use --force to replace it.")


def prediction_columns(header: dict[str, list[str]]) -> list[str]:
    """Return the columns of a model's predictions, from the header of its file."""
    return [str(name) for name in header["labels"]] if "labels" in header else ["prediction"]


def make_predictions_kind(columns: Sequence[str], kept: Collection[str]) -> Kind:
    """Return the kind of a table of predictions with these columns, after others that are kept."""
    return Kind("table of predictions", partial(_is_predictions, list(columns), max(1, len(kept))))


def _is_predictions(columns: list[str], n_kept: int, path: Path) -> bool:
    """Recognize predictions by their columns: kept columns, predictions, sets, and probabilities."""
    import pandas as pd

    from fuselearn.io.prediction import SET_COLUMNS

    try:
        names = pd.read_csv(path, nrows=0, dtype=str).columns.tolist()
    except ValueError:
        return False
    plain = [name for name in names if not name.startswith("p:")]
    if plain[-len(SET_COLUMNS) :] == SET_COLUMNS != columns[-len(SET_COLUMNS) :]:
        plain = plain[: -len(SET_COLUMNS)]
    return plain[-len(columns) :] == columns and len(plain) <= len(columns) + n_kept


def _is_model(path: Path) -> bool:
    from fuselearn.io import ModelFileError, read_header

    try:
        return bool(read_header(path))
    except ModelFileError:
        return False


def _is_onnx(path: Path) -> bool:
    from google.protobuf.message import DecodeError
    from onnx import ModelProto

    model = ModelProto()
    try:
        model.ParseFromString(path.read_bytes())
    except DecodeError:
        return False
    return model.producer_name in ("fuselearn", "skl2onnx")


def _is_suspects(path: Path) -> bool:
    header = _head(path).partition("\n")[0]
    return header.startswith(f"{SUSPECT_COLUMNS[0]},") and ",".join(SUSPECT_COLUMNS[1:6]) in header


def _is_page(path: Path) -> bool:
    return "fuselearn</title>" in _head(path)


def _is_summary(path: Path) -> bool:
    return _head(path).startswith("dataset,noise,method,")


def _head(path: Path) -> str:
    with open(path, "rb") as file:
        return file.read(HEAD_BYTES).decode("utf-8", errors="replace")


MODEL = Kind("model file", _is_model)
ONNX = Kind("model in ONNX format", _is_onnx)
SUSPECTS = Kind("list of suspects", _is_suspects)
AUDIT = Kind("page of an audit", _is_page)
CORRECTED = Kind("corrected table", lambda path: True)  # not distinguishable from other tables: `audit` needs --force
REPORT = Kind("report", _is_page, makes_folder=True)
SUMMARY = Kind("summary of a run", _is_summary, makes_folder=True)
