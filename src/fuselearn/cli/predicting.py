"""The commands `predict` and `export`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fuselearn._progress import working
from fuselearn.cli import tables
from fuselearn.cli.guarding import (
    ONNX,
    Force,
    check_output,
    leave,
    make_predictions_kind,
    prediction_columns,
    sentences,
)

if TYPE_CHECKING:
    import pandas as pd

    from fuselearn.cli.scoring import ClassTally, LabelTally

Model = Annotated[Path, typer.Argument(metavar="MODEL", help="Model file written by `fuselearn train` or save().")]


def predict(
    model: Model,
    file: Annotated[Path, typer.Argument(help="Table of new samples, in any format supported by `train`.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="CSV file to write; by default the predictions are printed.")
    ] = None,
    proba: Annotated[bool, typer.Option("--proba", help="Also write the probability of each class or label.")] = False,
    sets: Annotated[
        float | None,
        typer.Option(
            "--sets",
            metavar="COVERAGE",
            help="Also write prediction sets, which contain the correct class with this probability, and their sizes. "
            "Needs a model trained with `train --method fused`.",
        ),
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(
            "--keep",
            "--index",
            help="Columns to write before the predictions, such as an identifier; separated by commas.",
        ),
    ] = None,
    labels: tables.Labels = None,
    sep: tables.Sep = None,
    encoding: tables.Encoding = "utf-8",
    decimal: tables.Decimal = ".",
    force: Force = False,
    as_json: tables.Json = False,
) -> None:
    """Predict for the samples of a file, which may be larger than memory.

    Features are selected by name and read as in training; other columns are ignored with a note. If the file contains
    the target, or the label columns named by --labels, the predictions are scored.

    **Examples**

    - `fuselearn predict churn.fuse new.csv`

    - `fuselearn predict churn.fuse new.csv --proba -o predicted.csv`

    - `fuselearn predict churn.fuse new.csv --sets 0.9 -o predicted.csv`

    - `fuselearn predict churn.fuse new.csv --keep customer -o predicted.csv`

    - `fuselearn predict songs.fuse more.csv --labels 'mood_*' -o predicted.csv`
    """
    from fuselearn.cli.scoring import make_tally, say_scores
    from fuselearn.datasets.cleaning import SparseColumns, first_step
    from fuselearn.datasets.files import read_columns, read_whole
    from fuselearn.io import load, read_header
    from fuselearn.io.prediction import SET_COLUMNS, open_rows, predict_blocks

    with sentences():
        header = read_header(model)
        form = tables.Reading(sep=sep, encoding=encoding, decimal=decimal).form()
        columns = read_columns(file, form)
        kept = tables.split_names(keep or [], columns)
        if output is not None:
            predictions = make_predictions_kind(prediction_columns(header), kept)
            check_output(output, predictions, [model, file], force=force)
        fitted = load(model)
        if sets is not None:
            _check_sets(fitted, as_text=output is not None or not as_json)
        target = _find_target(header, columns, labels, file)
        # Reading the target with sparse samples would make them dense.
        apart = target and not kept and isinstance(first_step(fitted), SparseColumns)
        truth = read_whole(file, form).frame(target) if apart else None
        rows = open_rows(fitted, file, form=form, index=[] if apart else list(dict.fromkeys([*kept, *target])))
        known = {*header.get("left_out", ()), *target}
        unknown = [name for name in rows.ignored if name not in known]
        if unknown and not as_json:
            typer.echo(f"Ignored: {tables.listed(unknown)}, which the model does not use.", err=True)
        # True labels are often named like the predictions.
        predicted = {*prediction_columns(header), *(SET_COLUMNS if sets is not None else ())} - set(kept)
        renamed = {name: f"true:{name}" if name in predicted else name for name in target}
        tally = make_tally(fitted) if target else None
        with closing(predict_blocks(fitted, rows, proba=proba, sets=sets, renamed=renamed)) as answers:
            scored = (
                answers
                if tally is None
                else _score(answers, tally, list(renamed.values()), kept, truth, with_sets=sets is not None)
            )
            n_rows = _write(scored, output, as_json)
    if tally is not None and not tally.n_samples:
        tally = None
    if output is not None:
        said: dict[str, Any] = {"rows": n_rows, "file": str(output), "ignored": rows.ignored}
        said |= {} if tally is None else {"score": tally.describe()}
        typer.echo(json.dumps(said) if as_json else f"Predicted {n_rows} samples. Predictions written to {output}")
    if tally is not None and not as_json:
        say_scores(tally, f"On the {tally.n_samples} samples with a known {tables.listed(target)}", err=output is None)


def _check_sets(fitted: Any, *, as_text: bool) -> None:
    """Exit with a message if a model cannot predict sets, or if a class contains their separator."""
    from fuselearn.io.header import find_predictor
    from fuselearn.io.prediction import SEPARATOR

    predictor = find_predictor(fitted)
    if not hasattr(predictor, "predict_set"):
        leave(
            f"--sets needs a model that predicts sets, and {type(predictor).__name__} does not; train one with "
            "--method fused."
        )
    odd = [name for name in map(str, predictor.classes_) if SEPARATOR in name]
    if odd and as_text:
        leave(
            f"--sets separates classes by {SEPARATOR!r}, but the class {odd[0]!r} contains it; use --json without -o."
        )


def _find_target(header: dict[str, Any], columns: Sequence[str], chosen: str | None, file: Path) -> list[str]:
    """Return the target columns of a file in the order of the model; none if one is missing."""
    from fuselearn.datasets.cleaning import LABEL_PREFIX
    from fuselearn.datasets.tables import choose_label_columns

    if "labels" not in header:
        if chosen is not None:
            leave("--labels is for multi-label models; this model predicts classes.")
        return [header["target"]] if header.get("target") in columns else []
    labels = [str(name) for name in header["labels"]]
    if chosen is None:
        ways = ([LABEL_PREFIX + name for name in labels], labels)
        return next((names for names in ways if set(names) <= set(columns)), [])
    found = choose_label_columns(columns, chosen, file)
    names = found.labels or []
    if set(names) != set(labels):
        leave(f"--labels names {tables.listed(names)}; the labels of the model are {tables.listed(labels)}.")
    by_name = dict(zip(names, found.columns, strict=True))
    return [by_name[name] for name in labels]


def _score(
    answers: Iterator[pd.DataFrame],
    tally: ClassTally | LabelTally,
    target: Sequence[str],
    kept: Sequence[str],
    truth: pd.DataFrame | None,
    *,
    with_sets: bool,
) -> Iterator[pd.DataFrame]:
    """Score predictions against the target, and remove it from the output unless it is kept.

    The target is among the columns of the predictions, or a separate table.
    """
    from fuselearn.cli import scoring

    n_rows = 0
    for answer in answers:
        if len(answer):
            known = answer[list(target)] if truth is None else truth.iloc[n_rows : n_rows + len(answer)]
            tally.add(known, answer[tally.columns])
            if with_sets and isinstance(tally, scoring.ClassTally):
                tally.add_sets(known, answer["set"])
        n_rows += len(answer)
        yield answer if truth is not None else answer.drop(columns=[name for name in target if name not in kept])


def _write(answers: Iterator[pd.DataFrame], output: Path | None, as_json: bool) -> int:
    """Write predictions to a file or to standard output, and return their number."""
    from fuselearn._replacing import replacing
    from fuselearn.io.prediction import format_answers

    n_rows = 0
    with ExitStack() as stack:
        file = None if output is None else stack.enter_context(replacing(output))
        write: Callable[[Any], Any] = partial(typer.echo, nl=False) if file is None else file.write
        tell = None if file is None else stack.enter_context(working("Predicting"))
        for answer in answers:
            if as_json and file is None:
                write("".join(f"{json.dumps(line)}\n" for line in answer.to_dict("records")))
            else:
                write(format_answers(answer, header=n_rows == 0))
            n_rows += len(answer)
            if tell is not None:
                tell(f"Predicting: {n_rows:,} samples")
    return n_rows


def export(
    model: Model,
    output: Annotated[Path, typer.Option("--output", "-o", help="ONNX file to write.")],
    force: Force = False,
    as_json: tables.Json = False,
) -> None:
    """Export a model to ONNX, for prediction without Python.

    **Examples**

    - `fuselearn export churn.fuse -o churn.onnx`
    """
    from fuselearn._replacing import replacing
    from fuselearn.datasets.cleaning import first_step
    from fuselearn.io import load, to_onnx

    with sentences():
        check_output(output, ONNX, [model], force=force)
        fitted = load(model)
        reader = first_step(fitted)
        if hasattr(reader, "describe_columns"):
            fitted, columns = fitted[-1], reader.describe_columns()
            made = [each["name"] for each in columns if each["type"] in ("date", "boolean") or each.get("words")]
            if made and not as_json:
                typer.echo(
                    f"The ONNX model expects numbers for {tables.listed(made)}, as described by `fuselearn info`.",
                    err=True,
                )
        exported = to_onnx(fitted)
        with replacing(output) as file:
            file.write(exported.SerializeToString())
    said = {
        "file": str(output),
        "bytes": output.stat().st_size,
        "inputs": [value.name for value in exported.graph.input],
        "outputs": [value.name for value in exported.graph.output],
    }
    text = f"ONNX model written to {output}: {tables.listed(said['inputs'])} in, {tables.listed(said['outputs'])} out."
    typer.echo(json.dumps(said) if as_json else text)
