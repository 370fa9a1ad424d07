"""The commands train, predict and export."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer

from fuselearn.cli.errors import WRONG_USE, leave, sentences, wrong_use
from fuselearn.cli.methods import AnyMethod, ForClasses, ForLabels, make_model
from fuselearn.cli.outputs import Force, Kind, Output, check_output, prediction_columns
from fuselearn.cli.progress import counting, spinner
from fuselearn.cli.reading import (
    Decimal,
    Encoding,
    Json,
    Labels,
    Reading,
    Seed,
    Sep,
    TableFile,
    Target,
    Threads,
    TrustClasses,
    explain,
    input_files,
    listed,
    reads_table,
    refuse_measurements,
    split_names,
)

if TYPE_CHECKING:
    import pandas as pd

    from fuselearn.cli.scoring import ClassTally, LabelTally
    from fuselearn.datasets import Dataset, TableCleaner

__all__ = ["export", "predict", "train"]


Model = Annotated[Path, typer.Argument(metavar="MODEL", help="Model file written by `fuselearn train` or save().")]


@reads_table
def train(
    *,
    file: TableFile,
    output: Annotated[Path, typer.Option("--output", "-o", help="Model file to write, usually *.fuse.")],
    target: Target = None,
    labels: Labels = None,
    method: Annotated[
        AnyMethod | None,
        typer.Option(
            "--method",
            "-m",
            help="Method to train; kfhe by default, fused with --labels. fused is also the one if labels may be wrong.",
        ),
    ] = None,
    setting: Annotated[
        list[str] | None,
        typer.Option("--set", help="Parameter of the method, such as n_estimators=200 or estimator__C=10; repeatable."),
    ] = None,
    seed: Seed = 0,
    jobs: Threads = -1,
    reading: Reading,
    classes: TrustClasses = False,
    holdout: Annotated[
        float,
        typer.Option(
            "--holdout",
            min=0,
            max=0.9,
            help="Fraction of samples to score a first model on; the saved model is trained on all. 0 for no score.",
        ),
    ] = 0.2,
    out_of_core: Annotated[
        bool | None,
        typer.Option(
            "--out-of-core/--in-memory",
            help="Whether to train from a Parquet file part by part, with codes on disk; by default if it would not "
            "fit into memory.",
        ),
    ] = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Train an ensemble on your own table and save it.

    Text columns become categories and dates become numbers. Empty cells, ? and NA are missing values, and so are a few
    words, such as unknown, in a column of numbers. Identifiers and free text, whose values are nearly all different,
    are dropped. The model file stores these decisions, so that new samples are read in the same way.

    **Examples**

    - `fuselearn train customers.csv --target churned -o churn.fuse`

    - `fuselearn train songs.arff --labels songs.xml --method kfhe-homer -o songs.fuse`

    - `fuselearn train songs.csv --labels 'mood_*' --method pct-forest --set decision=per_label -o songs.fuse`

    - `fuselearn train customers.csv -t churned -m bagging --set n_estimators=500 -o churn.fuse`

    - `fuselearn train big.parquet -t churned --set n_estimators=20 -o churn.fuse`

    - `fuselearn train kunden.csv -t storno --drop name,ort --sep ';' --decimal , --encoding latin-1 -o storno.fuse`
    """
    from sklearn.pipeline import Pipeline

    from fuselearn.cli.scoring import say_scores
    from fuselearn.datasets.tables import split_table
    from fuselearn.io import save

    with sentences(), wrong_use():
        check_output(Output(output, Kind.MODEL), input_files(file, labels), force=force)
        if _is_out_of_core(file, out_of_core):
            from fuselearn.cli import large

            method = method or "kfhe"
            if labels is not None or target is None or method not in large.METHODS:
                leave(
                    f"{file} is trained on part by part, which needs --target and a --method among "
                    f"{', '.join(large.METHODS)}; --in-memory reads it as a whole.",
                    WRONG_USE,
                )
            model = make_model(method, setting or [], seed, jobs)
            model, first, about = large.train_from_disk(
                model, file, target, reading, output.parent, trusted=classes, quiet=as_json
            )
            tally, why_no_score = None, "No samples were held out; `fuselearn predict` scores a file."
        else:
            table, cleaner = reading.read(file)
            data = split_table(table, target, labels, cleaner)
            refuse_measurements(data, file, trusted=classes)
            target = None if data.task == "multilabel" else str(data.y.name)
            fitting = get_args(ForClasses if target else ForLabels)
            method = method or fitting[0]
            if method not in fitting:
                kind = "one class per sample" if target else "several labels per sample"
                leave(f"{file} has {kind}; --method must be one of {', '.join(fitting)}, not {method}.", WRONG_USE)
            model = make_model(method, setting or [], seed, jobs, for_labels=target is None)
            if not as_json:
                explain(cleaner)
            first, about, tally = _train(model, data, cleaner, holdout, seed)
            why_no_score = "Too few samples for a held-out score." if holdout else ""
        save(model if first is None else Pipeline([("columns", first), ("model", model)]), output, target=target)
    name = type(model).__name__
    about = {"model": name, "file": str(output), **about, "held_out": tally and tally.describe()}
    if as_json:
        typer.echo(json.dumps(about))
        return
    kind = "labels" if "labels" in about else "classes"
    typer.echo(
        f"Trained {name} on {about['rows']} samples, {about['columns']} features and {about[kind]} {kind} in "
        f"{about['seconds']:.1f} s. Model written to {output}"
    )
    if tally is not None:
        say_scores(tally, f"On {tally.n_samples} held-out samples, by a model trained on the others")
    elif why_no_score:
        typer.echo(why_no_score)


def _is_out_of_core(file: Path, wanted: bool | None) -> bool:
    is_parquet = file.suffix in (".parquet", ".pq") and file.is_file()
    if wanted and not is_parquet:
        leave(f"--out-of-core needs a Parquet file, not {file}.", WRONG_USE)
    if wanted is not None or not is_parquet:
        return bool(wanted)
    from fuselearn.cli.large import would_not_fit

    return would_not_fit(file)


def _train(
    model: Any, data: Dataset, cleaner: TableCleaner, holdout: float, seed: int
) -> tuple[Any, dict[str, Any], ClassTally | LabelTally | None]:
    """Fit a model; return the step that reads new samples like the training table, if any, and what is said."""
    from sklearn.utils import get_tags

    from fuselearn.datasets.cleaning import SparseColumns

    first: Any = None
    if not data.is_sparse:
        first = None if cleaner.is_idle else cleaner
    elif get_tags(model).input_tags.sparse:
        first = SparseColumns(list(data.feature_names))
    else:
        data = data.dense()
    tally = _hold_out(model, data, holdout, seed) if holdout else None
    start = time.perf_counter()
    with counting(model, f"Training {type(model).__name__}"):
        model.fit(data.X, data.y)
    n_samples, n_features = data.X.shape
    about = {
        "rows": n_samples,
        "columns": n_features,
        "labels" if data.task == "multilabel" else "classes": data.n_classes,
        "seconds": round(time.perf_counter() - start, 3),
        "left_out": cleaner.left_out,
    }
    return first, about, tally


def _hold_out(model: Any, data: Dataset, fraction: float, seed: int) -> ClassTally | LabelTally | None:
    """Score a first model on held-out samples; None if there are too few."""
    import numpy as np
    from sklearn.base import clone
    from sklearn.model_selection import train_test_split

    from fuselearn._compat import take_rows
    from fuselearn.cli.scoring import make_tally
    from fuselearn.multilabel import iterative_train_test_split

    indices = np.arange(data.X.shape[0]).reshape(-1, 1)
    try:
        if data.task == "multilabel":
            train, test, *_ = iterative_train_test_split(indices, data.y, test_size=fraction, random_state=seed)
        else:
            train, test = train_test_split(indices, test_size=fraction, random_state=seed, stratify=data.y)
    except ValueError:  # a class with a single sample
        return None
    train, test = np.ravel(train), np.ravel(test)
    part = clone(model)
    with counting(part, f"Scoring on {len(test):,} held-out samples"):
        part.fit(take_rows(data.X, train), data.y.iloc[train])
    tally = make_tally(part)
    tally.add(data.y.iloc[test], part.predict(take_rows(data.X, test)))
    return tally


def predict(
    model: Model,
    file: Annotated[Path, typer.Argument(help="Table of new samples, in any format that `train` reads.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="CSV file to write; by default the predictions are printed.")
    ] = None,
    proba: Annotated[bool, typer.Option("--proba", help="Also write the probability of each class or label.")] = False,
    keep: Annotated[
        list[str] | None,
        typer.Option(
            "--keep",
            "--index",
            help="Columns to write before the predictions, such as an identifier; separated by commas.",
        ),
    ] = None,
    labels: Labels = None,
    sep: Sep = None,
    encoding: Encoding = "utf-8",
    decimal: Decimal = ".",
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Predict for the samples of a file, block by block, so that it may be larger than memory.

    Features are found by name and read as in training; columns that the model does not know are ignored with a
    note. If the file has the target, or the label columns that --labels names, the predictions are scored.

    **Examples**

    - `fuselearn predict churn.fuse new.csv`

    - `fuselearn predict churn.fuse new.csv --proba -o predicted.csv`

    - `fuselearn predict churn.fuse new.csv --keep customer -o predicted.csv`

    - `fuselearn predict songs.fuse more.csv --labels 'mood_*' -o predicted.csv`
    """
    from fuselearn.cli.scoring import make_tally, say_scores
    from fuselearn.datasets.cleaning import SparseColumns, first_step
    from fuselearn.datasets.files import read_columns, read_whole
    from fuselearn.io import load, read_header
    from fuselearn.io.prediction import open_rows, predict_blocks

    with sentences(), wrong_use():
        header = read_header(model)
        form = Reading(sep=sep, encoding=encoding, decimal=decimal).form()
        columns = read_columns(file, form)
        kept = split_names(keep or [], columns)
        if output is not None:
            predictions = Output(output, Kind.PREDICTIONS, prediction_columns(header), max(1, len(kept)))
            check_output(predictions, [model, file], force=force)
        fitted = load(model)
        target = _find_target(header, columns, labels, file)
        # Reading the target with sparse samples would make them dense.
        apart = target and not kept and isinstance(first_step(fitted), SparseColumns)
        truth = read_whole(file, form).frame(target) if apart else None
        rows = open_rows(fitted, file, form=form, index=[] if apart else list(dict.fromkeys([*kept, *target])))
        known = {*header.get("left_out", ()), *target}
        unknown = [name for name in rows.ignored if name not in known]
        if unknown and not as_json:
            typer.echo(f"Ignored: {listed(unknown)}, which the model does not know.", err=True)
        # True labels are often named like the predictions.
        predicted = set(prediction_columns(header)) - set(kept)
        renamed = {name: f"true:{name}" if name in predicted else name for name in target}
        tally = make_tally(fitted) if target else None
        with closing(predict_blocks(fitted, rows, proba=proba, renamed=renamed)) as answers:
            scored = answers if tally is None else _score(answers, tally, list(renamed.values()), kept, truth)
            n_rows = _write(scored, output, as_json)
    if tally is not None and not tally.n_samples:
        tally = None
    if output is not None:
        said: dict[str, Any] = {"rows": n_rows, "file": str(output), "ignored": rows.ignored}
        said |= {} if tally is None else {"score": tally.describe()}
        typer.echo(json.dumps(said) if as_json else f"Predicted {n_rows} samples. Predictions written to {output}")
    if tally is not None and not as_json:
        say_scores(tally, f"On the {tally.n_samples} samples with a known {listed(target)}", err=output is None)


def _find_target(header: dict[str, Any], columns: Sequence[str], chosen: str | None, file: Path) -> list[str]:
    """Return the target columns of a file in the order of the model; none if one is missing."""
    from fuselearn.datasets.cleaning import LABEL_PREFIX
    from fuselearn.datasets.tables import choose_label_columns

    if "labels" not in header:
        if chosen is not None:
            leave("--labels is for models of several labels per sample; this one predicts classes.", WRONG_USE)
        return [header["target"]] if header.get("target") in columns else []
    labels = [str(name) for name in header["labels"]]
    if chosen is None:
        ways = ([LABEL_PREFIX + name for name in labels], labels)
        return next((names for names in ways if set(names) <= set(columns)), [])
    found = choose_label_columns(columns, chosen, file)
    names = found.labels or []
    if set(names) != set(labels):
        leave(f"--labels names {listed(names)}; the labels of the model are {listed(labels)}.", WRONG_USE)
    by_name = dict(zip(names, found.columns, strict=True))
    return [by_name[name] for name in labels]


def _score(
    answers: Iterator[pd.DataFrame],
    tally: ClassTally | LabelTally,
    target: Sequence[str],
    kept: Sequence[str],
    truth: pd.DataFrame | None,
) -> Iterator[pd.DataFrame]:
    """Score predictions against the target, and remove it from the output unless it is kept.

    The target is among the columns of the answers, or a table of its own.
    """
    n_rows = 0
    for answer in answers:
        if len(answer):
            known = answer[list(target)] if truth is None else truth.iloc[n_rows : n_rows + len(answer)]
            tally.add(known, answer[tally.columns])
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
        tell = None if file is None else stack.enter_context(spinner("Predicting"))
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
    as_json: Json = False,
) -> None:
    """Export a model to ONNX, which other programs run without Python.

    **Examples**

    - `fuselearn export churn.fuse -o churn.onnx`
    """
    from fuselearn._replacing import replacing
    from fuselearn.datasets.cleaning import first_step
    from fuselearn.io import load, to_onnx

    with sentences(), wrong_use():
        check_output(Output(output, Kind.ONNX), [model], force=force)
        fitted = load(model)
        reader = first_step(fitted)
        if hasattr(reader, "describe_columns"):
            fitted, columns = fitted[-1], reader.describe_columns()
            made = [each["name"] for each in columns if each["type"] in ("date", "boolean") or each.get("words")]
            if made and not as_json:
                typer.echo(
                    f"The ONNX model expects numbers for {listed(made)}, as described by `fuselearn info`.", err=True
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
    text = f"ONNX model written to {output}: {listed(said['inputs'])} in, {listed(said['outputs'])} out."
    typer.echo(json.dumps(said) if as_json else text)
