"""The commands train, predict and export."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer

from fuselearn.cli.errors import WRONG_USE, leave, sentences, wrong_use
from fuselearn.cli.methods import AnyMethod, ForClasses, ForLabels, make_model
from fuselearn.cli.outputs import Force, Kind, Output, check_output, prediction_columns
from fuselearn.cli.progress import spinner
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
    from collections.abc import Sequence

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
    from fuselearn.cli import large
    from fuselearn.cli.scoring import say_scores
    from fuselearn.datasets import TableCleaner, read_table
    from fuselearn.io.files import import_skops, save

    with sentences(), wrong_use((ValueError, TypeError)):
        import_skops()  # fail before the model is trained
        check_output(Output(output, Kind.MODEL), input_files(file, labels), force=force)
        cleaner = TableCleaner(**reading.cleaner_options(file))
        if _is_out_of_core(file, out_of_core):
            asked = method or "kfhe"
            if labels is not None or target is None or asked not in large.METHODS:
                leave(
                    f"{file} is trained on part by part, which needs --target and a --method among "
                    f"{', '.join(large.METHODS)}; --in-memory reads it as a whole.",
                    WRONG_USE,
                )
            _train_large(make_model(asked, setting or [], seed, jobs), file, target, cleaner, output, classes, as_json)
            return
        data = read_table(file, target, labels, cleaner=cleaner, **reading.text_options)
        refuse_measurements(data, file, trusted=classes)
        for_labels = data.task == "multilabel"
        fitting = get_args(ForLabels if for_labels else ForClasses)
        method = method or fitting[0]
        if method not in fitting:
            kind = "several labels per sample" if for_labels else "one class per sample"
            leave(f"{file} has {kind}; --method must be one of {', '.join(fitting)}, not {method}.", WRONG_USE)
        model = make_model(method, setting or [], seed, jobs, for_labels=for_labels)
        if not as_json:
            explain(cleaner)
        tally = None if holdout == 0 else _hold_out(model, data, holdout, seed)
        start = time.perf_counter()
        with _counting(model, f"Training {type(model).__name__}"):
            fitted = _fit(model, data, cleaner)
        seconds = time.perf_counter() - start
        save(fitted, output, target=None if for_labels else str(data.y.name))
    n_samples, n_features = data.X.shape
    said = {
        "model": type(model).__name__,
        "file": str(output),
        "rows": n_samples,
        "columns": n_features,
        "labels" if for_labels else "classes": data.n_classes,
        "seconds": round(seconds, 3),
        "left_out": [] if data.is_sparse else [column.name for column in cleaner.columns_ if not column.is_feature],
        "held_out": None if tally is None else tally.describe(),
    }
    _say_trained(said, as_json)
    if as_json:
        return
    if tally is not None:
        say_scores(tally, f"On {tally.n_samples} held-out samples, by a model trained on the others")
    elif holdout:
        typer.echo("Too few samples for a held-out score.")


def _is_out_of_core(file: Path, wanted: bool | None) -> bool:
    from fuselearn.cli import large

    is_parquet = file.suffix in (".parquet", ".pq") and file.is_file()
    if wanted and not is_parquet:
        leave(f"--out-of-core needs a Parquet file, not {file}.", WRONG_USE)
    return wanted if wanted is not None else is_parquet and large.would_not_fit(file)


def _train_large(
    model: Any, file: Path, target: str, cleaner: TableCleaner, output: Path, trusted: bool, as_json: bool
) -> None:
    """Train from a Parquet file part by part, and save the model."""
    from pyarrow.parquet import read_metadata
    from sklearn.pipeline import Pipeline

    from fuselearn.cli import large
    from fuselearn.datasets import Dataset
    from fuselearn.datasets.targets import class_names, require_columns
    from fuselearn.io.files import save

    n_samples = read_metadata(file).num_rows
    require_columns(read_metadata(file).schema.to_arrow_schema().names, [target], str(file), "use as the target")
    X, y = large.look_at(file, target)
    refuse_measurements(Dataset(X, class_names(y, str(file)), file.stem, "", str(file)), file, trusted=trusted)
    cleaner.fit(X)
    leaf_size = large.enlarge_leaves(model, n_samples)
    if not as_json:
        explain(cleaner)
        typer.echo(f"{file} is read part by part; how, {len(X):,} of its {n_samples:,} samples have decided.", err=True)
        if leaf_size is not None:
            typer.echo(f"Leaves have at least {leaf_size:,} samples; --set changes min_samples_leaf.", err=True)
    start = time.perf_counter()
    with _counting(model, f"Training {type(model).__name__}"):
        fitted = large.fit_from_disk(model, file, target, cleaner, output.parent)
    seconds = time.perf_counter() - start
    save(fitted if cleaner.is_idle else Pipeline([("columns", cleaner), ("model", fitted)]), output, target=target)
    said = {
        "model": type(fitted).__name__,
        "file": str(output),
        "rows": n_samples,
        "columns": fitted.n_features_in_,
        "classes": len(fitted.classes_),
        "seconds": round(seconds, 3),
        "left_out": [column.name for column in cleaner.columns_ if not column.is_feature],
        "held_out": None,
    }
    _say_trained(said, as_json)
    if not as_json:
        typer.echo("No samples were held out; `fuselearn predict` scores a file.")


def _say_trained(said: dict[str, Any], as_json: bool) -> None:
    """Print what was trained."""
    if as_json:
        typer.echo(json.dumps(said))
        return
    kind = "labels" if "labels" in said else "classes"
    typer.echo(
        f"Trained {said['model']} on {said['rows']} samples, {said['columns']} features and {said[kind]} {kind} in "
        f"{said['seconds']:.1f} s. Model written to {said['file']}"
    )


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
    from fuselearn.datasets import SparseColumns
    from fuselearn.datasets.cleaning import first_step
    from fuselearn.datasets.tables import read_columns, read_whole
    from fuselearn.io import load, open_rows, predict_blocks, read_header

    with sentences(), wrong_use((ValueError, TypeError)):
        header = read_header(model)
        form = Reading(sep=sep, encoding=encoding, decimal=decimal).form()
        columns = read_columns(file, form)
        kept = split_names(keep or [], set(columns))
        if output is not None:
            predictions = Output(output, Kind.PREDICTIONS, prediction_columns(header), max(1, len(kept)))
            check_output(predictions, [model, file], force=force)
        fitted = load(model)
        target = _find_target(header, columns, labels, file)
        # Reading the target with sparse samples would make them dense.
        apart = target and not kept and isinstance(first_step(fitted), SparseColumns)
        truth = read_whole(file, form).frame(target) if apart else None
        rows = open_rows(fitted, file, form=form, index=[] if apart else list(dict.fromkeys([*kept, *target])))
        tally = make_tally(fitted) if target else None
        known = {*header.get("left_out", ()), *target}
        unknown = [name for name in rows.ignored if name not in known]
        if unknown and not as_json:
            typer.echo(f"Ignored: {listed(unknown)}, which the model does not know.", err=True)
        # True labels are often named like the predictions.
        predicted = set(prediction_columns(header)) - set(kept)
        renamed = {name: f"true:{name}" if name in predicted else name for name in target}
        with closing(predict_blocks(fitted, rows, proba=proba, renamed=renamed)) as answers:
            scored = answers if tally is None else _scored(answers, tally, list(renamed.values()), kept, truth)
            n_rows = _write(scored, output, as_json)
    if tally is not None and not tally.n_samples:
        tally = None
    if output is not None:
        said = {"rows": n_rows, "file": str(output), "ignored": rows.ignored}
        if tally is not None:
            said["score"] = tally.describe()
        typer.echo(json.dumps(said) if as_json else f"Predicted {n_rows} samples. Predictions written to {output}")
    if tally is not None and not as_json:
        say_scores(tally, f"On the {tally.n_samples} samples with a known {listed(target)}", err=output is None)


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
    from fuselearn.datasets import SparseColumns, TableCleaner
    from fuselearn.datasets.cleaning import first_step
    from fuselearn.io import load, to_onnx

    with sentences(), wrong_use((ValueError, TypeError)):
        check_output(Output(output, Kind.ONNX), [model], force=force)
        fitted = load(model)
        reader = first_step(fitted)
        if isinstance(reader, TableCleaner | SparseColumns):
            exported = to_onnx(fitted[-1])
            made = [name for name in reader.feature_names_in_ if name in _converted(reader)]
            if made and not as_json:
                typer.echo(
                    f"The ONNX model expects numbers for {listed(made)}, as described by `fuselearn info`.", err=True
                )
        else:
            exported = to_onnx(fitted)
        with replacing(output) as file:
            file.write(exported.SerializeToString())
    said = {
        "file": str(output),
        "bytes": output.stat().st_size,
        "inputs": [value.name for value in exported.graph.input],
        "outputs": [value.name for value in exported.graph.output],
    }
    if as_json:
        typer.echo(json.dumps(said))
    else:
        typer.echo(f"ONNX model written to {output}: {listed(said['inputs'])} in, {listed(said['outputs'])} out.")


def _find_target(header: dict[str, Any], columns: Sequence[str], chosen: str | None, file: Path) -> list[str]:
    """Return the target columns of a file in the order of the model; none if one is missing."""
    from fuselearn.datasets.label_columns import choose_label_columns
    from fuselearn.datasets.targets import LABEL_PREFIX

    if "labels" not in header:
        if chosen is not None:
            leave("--labels is for models of several labels per sample; this one predicts classes.", WRONG_USE)
        return [header["target"]] if header.get("target") in columns else []
    labels = [str(name) for name in header["labels"]]
    if chosen is not None:
        found = choose_label_columns(
            columns, chosen, file, lambda found: set(found.names) == set(labels), "are the labels of the model"
        )
        if set(found.names) != set(labels):
            leave(f"--labels names {listed(found.names)}; the labels of the model are {listed(labels)}.", WRONG_USE)
        by_name = dict(zip(found.names, found.columns, strict=True))
        return [by_name[name] for name in labels]
    for names in ([LABEL_PREFIX + name for name in labels], labels):
        if set(names) <= set(columns):
            return names
    return []


def _scored(
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


def _hold_out(model: Any, data: Dataset, share: float, seed: int) -> ClassTally | LabelTally | None:
    """Score a first model on held-out samples; None if there are too few."""
    import numpy as np
    from sklearn.base import clone
    from sklearn.model_selection import train_test_split
    from sklearn.utils import get_tags

    from fuselearn._compat import take_rows
    from fuselearn.cli.scoring import make_tally
    from fuselearn.multilabel import iterative_train_test_split

    if data.is_sparse and not get_tags(model).input_tags.sparse:
        data = data.dense()
    places = np.arange(data.X.shape[0]).reshape(-1, 1)
    try:
        if data.task == "multilabel":
            train, test, *_ = iterative_train_test_split(places, data.y, test_size=share, random_state=seed)
        else:
            train, test = train_test_split(places, test_size=share, random_state=seed, stratify=data.y)
    except ValueError:  # a class with a single sample
        return None
    train, test = np.ravel(train), np.ravel(test)
    part = clone(model)
    with _counting(part, f"Scoring on {len(test):,} held-out samples"):
        part.fit(take_rows(data.X, train), data.y.iloc[train])
    tally = make_tally(part)
    tally.add(data.y.iloc[test], part.predict(take_rows(data.X, test)))
    return tally


@contextmanager
def _counting(model: Any, text: str) -> Iterator[None]:
    """Show a progress bar over the components of an ensemble during training, in a terminal only."""
    parameters = model.get_params(deep=False)
    if not sys.stderr.isatty() or "callback" not in parameters:
        with spinner(text):
            yield
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    layout = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*layout, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(text, total=parameters["n_estimators"])
        model.set_params(callback=lambda number, _: bar.update(task, completed=number))
        try:
            yield
        finally:
            model.set_params(callback=None)


def _converted(reader: Any) -> set[str]:
    """Return the features that are numbers for the model, but not in the table."""
    return {
        column["name"]
        for column in reader.describe_columns()
        if column["type"] in ("date", "boolean") or column.get("words")
    }


def _fit(model: Any, data: Dataset, cleaner: TableCleaner) -> Any:
    """Fit a model, preceded by the step that reads new samples like the training table."""
    from sklearn.pipeline import Pipeline
    from sklearn.utils import get_tags

    from fuselearn.datasets import SparseColumns

    if data.is_sparse:
        if not get_tags(model).input_tags.sparse:
            dense = data.dense()
            return model.fit(dense.X, dense.y)
        return Pipeline([("columns", SparseColumns(list(data.feature_names))), ("model", model.fit(data.X, data.y))])
    model.fit(data.X, data.y)
    return model if cleaner.is_idle else Pipeline([("columns", cleaner), ("model", model)])


def _write(answers: Iterator[pd.DataFrame], output: Path | None, as_json: bool) -> int:
    """Write predictions to a file or to standard output, and return their number."""
    from fuselearn._replacing import replacing
    from fuselearn.io import format_answers

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
    with replacing(output) as file, spinner("Predicting") as tell:
        for answer in answers:
            file.write(format_answers(answer, header=n_rows == 0))
            n_rows += len(answer)
            tell(f"Predicting: {n_rows:,} samples")
    return n_rows
