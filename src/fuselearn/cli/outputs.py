"""Checks before writing: never over an input, and over an existing file of another kind only with ``--force``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from fuselearn.cli.errors import WRONG_USE, leave

__all__ = [
    "SUSPECT_COLUMNS",
    "Force",
    "Kind",
    "Output",
    "check_output",
    "prediction_columns",
    "run_outputs",
]

Force = Annotated[bool, typer.Option("--force", help="Replace an existing output that this command did not write.")]

HEAD_BYTES = 4096
SUSPECT_COLUMNS = ("row", "given", "suggested", "probability", "suggested_probability", "suspect")
"""Of a list of suspects; a column that identifies the samples and one of their labels may follow the first."""


class Kind(Enum):
    """The kinds of output, as messages name them."""

    MODEL = "model file"
    PREDICTIONS = "table of predictions"
    ONNX = "model in ONNX format"
    REPORT = "report"
    SUMMARY = "summary of a run"
    SUSPECTS = "list of suspects"
    AUDIT = "page of an audit"


class Output(NamedTuple):
    """A file that a command will write.

    Parameters
    ----------
    path : Path
    kind : Kind
    columns : sequence of str, optional
        Of a table of predictions, without probabilities.
    n_kept : int, default=1
        Maximum number of columns that may precede them.
    """

    path: Path
    kind: Kind
    columns: Sequence[str] = ()
    n_kept: int = 1


def check_output(output: Output, inputs: Iterable[Path] = (), *, force: bool = False) -> None:
    """Exit with a message if writing an output would destroy another file.

    Parameters
    ----------
    output : Output
        The file to write.
    inputs : iterable of Path
        The files that the command reads. They are never overwritten, however the paths are spelled.
    force : bool, default=False
        Whether an existing file of another kind may be replaced.
    """
    path, kind = output.path, output.kind.value
    if path.is_dir():
        leave(f"{path} is a folder; the {kind} needs a file name.", WRONG_USE)
    if output.kind in _BESIDE and not path.parent.is_dir():
        leave(f"Cannot write {path.name}: the folder {path.parent} does not exist.", WRONG_USE)
    for source in inputs:
        if path.exists() and source.exists() and path.samefile(source):
            said = f"{path} is the input {source}: writing the {kind} would overwrite it"
            leave(f"{said}; choose another name for the output.", WRONG_USE)
    # Pipes, devices and empty files hold nothing to lose.
    if not force and path.is_file() and path.stat().st_size and not _RECOGNIZE[output.kind](output):
        leave(f"{path} exists and is not a {kind}; use --force to replace it.", WRONG_USE)


def run_outputs(report: Path, summary: Path) -> list[Output]:
    """List the files that a run writes besides its results store."""
    return [Output(report, Kind.REPORT), Output(summary, Kind.SUMMARY)]


def prediction_columns(header: dict[str, list[str]]) -> list[str]:
    """Return the columns of a model's predictions, from the header of its file."""
    return [str(name) for name in header["labels"]] if "labels" in header else ["prediction"]


def _head(path: Path) -> str:
    with open(path, "rb") as file:
        return file.read(HEAD_BYTES).decode("utf-8", errors="replace")


def _is_model(output: Output) -> bool:
    from fuselearn.io import ModelFileError, read_header

    try:
        read_header(output.path)
    except ModelFileError:
        return False
    return True


def _is_predictions(output: Output) -> bool:
    """Recognize predictions by their columns: kept ones, if any, then those of the model, and probabilities."""
    import pandas as pd

    try:
        names = pd.read_csv(output.path, nrows=0, dtype=str).columns.tolist()
    except ValueError:
        return False
    plain = [name for name in names if not name.startswith("p:")]
    wanted = list(output.columns)
    return plain[-len(wanted) :] == wanted and len(plain) <= len(wanted) + output.n_kept


def _is_suspects(output: Output) -> bool:
    first, *rest = _head(output.path).partition("\n")[0].strip().split(",")
    return first == SUSPECT_COLUMNS[0] and rest[-5:] == list(SUSPECT_COLUMNS[1:])


def _is_onnx(output: Output) -> bool:
    from google.protobuf.message import DecodeError
    from onnx import ModelProto

    model = ModelProto()
    try:
        model.ParseFromString(output.path.read_bytes())
    except DecodeError:
        return False
    return model.producer_name in ("fuselearn", "skl2onnx")


def _starts(*words: str) -> Callable[[Output], bool]:
    return lambda output: _head(output.path).startswith(words)


def _holds(word: str) -> Callable[[Output], bool]:
    return lambda output: word in _head(output.path)


_BESIDE = (Kind.MODEL, Kind.PREDICTIONS, Kind.ONNX, Kind.SUSPECTS, Kind.AUDIT)
"""Kinds that need an existing folder; for the others, folders are created."""

_RECOGNIZE: dict[Kind, Callable[[Output], bool]] = {
    Kind.MODEL: _is_model,
    Kind.PREDICTIONS: _is_predictions,
    Kind.ONNX: _is_onnx,
    Kind.REPORT: _holds("fuselearn</title>"),
    Kind.SUMMARY: _starts("dataset,noise,method,"),
    Kind.SUSPECTS: _is_suspects,
    Kind.AUDIT: _holds("fuselearn</title>"),
}
