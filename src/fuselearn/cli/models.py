"""Commands for a model's life outside of a notebook: train, predict, info, export."""

from __future__ import annotations

import ast
import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fuselearn.cli.errors import FAILED, WRONG_USE, leave, sentences

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["export", "info", "predict", "train"]


class MethodName(StrEnum):
    """What `train` can train."""

    KFHE = "kfhe"
    KFHE_LINEAR = "kfhe-l"
    ADABOOST = "adaboost"
    BAGGING = "bagging"
    CART = "cart"
    KFHE_HOMER = "kfhe-homer"
    E_HOMER = "e-homer"
    ECC = "ecc"
    RF_PCT = "rf-pct"
    ADABOOST_MH = "adaboost-mh"


FOR_LABELS = (MethodName.KFHE_HOMER, MethodName.E_HOMER, MethodName.ECC, MethodName.RF_PCT, MethodName.ADABOOST_MH)

Model = Annotated[Path, typer.Argument(metavar="MODEL", help="A model file that `fuselearn train` or save() wrote.")]
Json = Annotated[bool, typer.Option("--json", help="Say it as JSON, for programs.")]


def train(
    file: Annotated[Path, typer.Argument(help="A .csv, .tsv, .parquet or .arff file; all but Parquet also .gz.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The model file to write, by convention .fuse.")],
    target: Annotated[
        str | None, typer.Option("--target", "-t", help="The column of classes; by default the one called class.")
    ] = None,
    labels: Annotated[
        str | None,
        typer.Option(
            "--labels",
            help="Several labels per row instead: column names separated by commas, a prefix they share, a number of "
            "first (or, negative, last) columns, or Mulan's .xml file.",
        ),
    ] = None,
    method: Annotated[
        MethodName | None,
        typer.Option("--method", "-m", help="What to train; kfhe by default, and kfhe-homer for labels."),
    ] = None,
    setting: Annotated[
        list[str] | None,
        typer.Option("--set", help="A parameter of the method, such as n_estimators=200; may be given several times."),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, help="From which all chance follows.")] = 0,
    jobs: Annotated[int, typer.Option("--jobs", "-j", help="Threads; -1 for one per processor.")] = -1,
    as_json: Json = False,
) -> None:
    """Train an ensemble on a table of your own and save it.

    Columns of text become categories; empty cells, ? and NA are missing values.

    **Examples**

    - `fuselearn train customers.csv --target churned -o churn.fuse`

    - `fuselearn train songs.arff --labels songs.xml --method kfhe-homer -o songs.fuse`

    - `fuselearn train customers.csv -t churned -m bagging --set n_estimators=500 -o churn.fuse`
    """
    from fuselearn.datasets import read_table
    from fuselearn.io.files import import_skops, save

    with _sentences(), _wrong_use():
        import_skops()  # better to refuse now than when the model is trained
        data = read_table(file, target, _read_labels(labels))
        for_labels = data.task == "multilabel"
        method = method or (MethodName.KFHE_HOMER if for_labels else MethodName.KFHE)
        if for_labels != (method in FOR_LABELS):
            kind = "several labels per row" if for_labels else "one class per row"
            fitting = [str(name) for name in MethodName if (name in FOR_LABELS) == for_labels]
            leave(f"{file} has {kind}; --method must then be one of {', '.join(fitting)}, not {method}.", WRONG_USE)
        model = _make(method, setting or [], seed, jobs)
        _refuse_folder(output)
        start = time.perf_counter()
        with _bar(f"Training {type(model).__name__}"):
            model.fit(data.X, data.y)
        seconds = time.perf_counter() - start
        save(model, output)
    said = {
        "model": type(model).__name__,
        "file": str(output),
        "rows": len(data.X),
        "columns": data.X.shape[1],
        "labels" if for_labels else "classes": data.n_classes,
        "seconds": round(seconds, 3),
    }
    if as_json:
        typer.echo(json.dumps(said))
        return
    typer.echo(
        f"Trained {said['model']} on {len(data.X)} rows, {data.X.shape[1]} columns and {data.n_classes} "
        f"{'labels' if for_labels else 'classes'} in {seconds:.1f} s. The model lies in {output}"
    )


def predict(
    model: Model,
    file: Annotated[Path, typer.Argument(help="A table of new rows, in any of the formats of `train`.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="A CSV file; by default the predictions are printed.")
    ] = None,
    proba: Annotated[bool, typer.Option("--proba", help="Also give the probability of each class or label.")] = False,
    as_json: Json = False,
) -> None:
    """Predict for the rows of a file, in blocks, so that it may be larger than memory.

    Columns are found by their names; those that the model does not know are ignored with a note.

    **Examples**

    - `fuselearn predict churn.fuse new.csv`

    - `fuselearn predict churn.fuse new.csv --proba -o predicted.csv`
    """
    from fuselearn.io import load, open_rows, predict_blocks

    with _sentences(), _wrong_use():
        fitted = load(model)
        rows = open_rows(fitted, file)
        if rows.ignored and not as_json:
            typer.echo(f"Ignored: {_listed(rows.ignored)}, which the model does not know.", err=True)
        if output is not None:
            _refuse_folder(output)
        with closing(predict_blocks(fitted, rows, proba=proba)) as answers:
            n_rows = _write(answers, output, as_json)
    if output is not None:
        said = {"rows": n_rows, "file": str(output), "ignored": rows.ignored}
        typer.echo(json.dumps(said) if as_json else f"Predicted {n_rows} rows. The predictions lie in {output}")


def info(model: Model, as_json: Json = False) -> None:
    """Say what is in a model file, without loading the model.

    **Examples**

    - `fuselearn info churn.fuse`

    - `fuselearn info churn.fuse --json`
    """
    from fuselearn.io import read_header

    with _sentences(), _wrong_use():
        header = read_header(model)
    if as_json:
        typer.echo(json.dumps(header))
        return
    shape = header.get("training_shape")
    lines = {
        "model": header.get("model"),
        "trained on": f"{shape[0]} rows, {shape[1]} columns" if shape else None,
        "saved": header.get("date"),
        "by": f"fuselearn {header.get('fuselearn')}, "
        + ", ".join(f"{name} {version}" for name, version in header.get("versions", {}).items()),
        "classes": _listed(map(str, header["classes"])) if "classes" in header else None,
        "labels": _listed(map(str, header["labels"])) if "labels" in header else None,
        "columns": _listed(_describe(column) for column in header.get("columns", [])),
        "file format": header.get("format"),
    }
    for name, text in lines.items():
        if text is not None:
            typer.echo(f"{name:12} {text}")


def export(
    model: Model,
    output: Annotated[Path, typer.Option("--output", "-o", help="The ONNX file to write.")],
    as_json: Json = False,
) -> None:
    """Write a model in the ONNX format, which other programs serve without Python.

    **Examples**

    - `fuselearn export churn.fuse -o churn.onnx`
    """
    from fuselearn.io import load, to_onnx

    with _sentences(), _wrong_use():
        exported = to_onnx(load(model))
        _refuse_folder(output)
        output.write_bytes(exported.SerializeToString())
    said = {
        "file": str(output),
        "bytes": output.stat().st_size,
        "inputs": [value.name for value in exported.graph.input],
        "outputs": [value.name for value in exported.graph.output],
    }
    if as_json:
        typer.echo(json.dumps(said))
    else:
        typer.echo(f"The ONNX model lies in {output}: {_listed(said['inputs'])} in, {_listed(said['outputs'])} out.")


def _make(method: MethodName, settings: list[str], seed: int, jobs: int) -> Any:
    """Make an unfitted estimator."""
    from fuselearn import ensembles, multilabel

    makers: dict[MethodName, Callable[[], Any]] = {
        MethodName.KFHE: ensembles.KFHEClassifier,
        MethodName.KFHE_LINEAR: lambda: ensembles.KFHEClassifier(weighting="linear"),
        MethodName.ADABOOST: ensembles.SAMMEClassifier,
        MethodName.BAGGING: ensembles.BaggedClassifier,
        MethodName.CART: ensembles.CARTClassifier,
        MethodName.KFHE_HOMER: multilabel.KFHEHOMERClassifier,
        MethodName.E_HOMER: multilabel.EnsembleHOMERClassifier,
        MethodName.ECC: multilabel.EnsembleOfChainsClassifier,
        MethodName.RF_PCT: multilabel.PCTForestClassifier,
        MethodName.ADABOOST_MH: multilabel.AdaBoostMHClassifier,
    }
    model = makers[method]()
    known = model.get_params()
    chosen = {"random_state": seed, "n_jobs": jobs}
    for text in settings:
        name, mark, value = text.partition("=")
        if not mark or name not in known:
            names = ", ".join(sorted(set(known) - set(chosen)))
            leave(f"--set takes NAME=VALUE with a parameter of {method}: {names}. Got {text!r}.", WRONG_USE)
        chosen[name] = _read_value(value)
    return model.set_params(**{name: value for name, value in chosen.items() if name in known})


def _read_value(text: str) -> Any:
    """Read a number, None, True or False; anything else is text."""
    try:
        return ast.literal_eval(text)
    except (SyntaxError, ValueError):
        return text


def _read_labels(text: str | None) -> Any:
    if text is None:
        return None
    if text.lstrip("-").isdigit():
        return int(text)
    return text.split(",") if "," in text else text


def _write(answers: Iterator[pd.DataFrame], output: Path | None, as_json: bool) -> int:
    """Write predictions to a file or to standard output, and return how many."""
    from fuselearn.io import format_answers
    from fuselearn.io.replacing import replacing

    n_rows = 0
    if output is None:
        for answer in answers:
            if as_json:
                for line in answer.to_dict("records"):
                    typer.echo(json.dumps(line))
            else:
                typer.echo(format_answers(answer, header=n_rows == 0), nl=False)
            n_rows += len(answer)
        return n_rows
    with replacing(output) as file, _bar("Predicting") as tell:
        for answer in answers:
            file.write(format_answers(answer, header=n_rows == 0))
            n_rows += len(answer)
            tell(f"Predicting: {n_rows:,} rows")
    return n_rows


@contextmanager
def _bar(text: str) -> Iterator[Callable[[str], None]]:
    """Show that work is going on, in a terminal only."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console

    with Console(stderr=True).status(text) as status:
        yield lambda said: status.update(said)


def _listed(names: Any, most: int = 12) -> str:
    names = list(names)
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def _describe(column: dict[str, Any]) -> str:
    if column.get("type") == "category":
        return f"{column['name']} ({column['categories']} categories)"
    return str(column["name"])


def _refuse_folder(path: Path) -> None:
    if path.is_dir():
        leave(f"{path} is a folder; --output must be a file.", WRONG_USE)
    if not path.parent.is_dir():
        leave(f"There is no folder {path.parent} for {path.name}.", WRONG_USE)


@contextmanager
def _sentences() -> Iterator[None]:
    """Turn what a missing package means into a sentence, too."""
    try:
        with sentences():
            yield
    except ImportError as error:
        leave(str(error), FAILED)


@contextmanager
def _wrong_use() -> Iterator[None]:
    """Treat values and types that the library refuses as wrong use."""
    from fuselearn.datasets import DatasetError

    try:
        yield
    except DatasetError:
        raise
    except (ValueError, TypeError) as error:
        leave(str(error), WRONG_USE)
