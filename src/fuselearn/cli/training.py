"""The command `train`."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fuselearn._progress import fitting, working
from fuselearn.cli import tables
from fuselearn.cli.guarding import MODEL, Force, check_output, leave, sentences

if TYPE_CHECKING:
    from fuselearn.cli.scoring import ClassTally, LabelTally
    from fuselearn.datasets import Dataset, TableCleaner

MOST_SECONDS = 60.0
"""Maximum training time, in seconds, for which a fused classifier is the default."""

Method = Annotated[
    str | None,
    typer.Option(
        "--method",
        "-m",
        help="Method to train: a fuselearn method listed by `fuselearn methods`. Default: fused; for classes, kfhe if "
        "fused would take more than about a minute.",
    ),
]
Setting = Annotated[
    list[str] | None,
    typer.Option("--set", help="Parameter of the method, such as n_estimators=200 or estimator__C=10; repeatable."),
]
Holdout = Annotated[
    float,
    typer.Option(
        "--holdout",
        min=0,
        max=0.9,
        help="Fraction of samples held out to score a first model; the saved model is trained on all samples. 0 for no "
        "score.",
    ),
]
OutOfCore = Annotated[
    bool | None,
    typer.Option(
        "--out-of-core/--in-memory",
        help="Train from a Parquet file in parts, with codes on disk; by default if it would not fit into memory.",
    ),
]


@tables.reads_table
def train(
    *,
    file: tables.TableFile,
    output: Annotated[Path, typer.Option("--output", "-o", help="Model file to write, usually *.fuse.")],
    target: tables.Target = None,
    labels: tables.Labels = None,
    method: Method = None,
    setting: Setting = None,
    seed: tables.Seed = 0,
    jobs: tables.Threads = -1,
    reading: tables.Reading,
    classes: tables.TrustClasses = False,
    holdout: Holdout = 0.2,
    out_of_core: OutOfCore = None,
    force: Force = False,
    as_json: tables.Json = False,
) -> None:
    """Train an ensemble on your own table and save it.

    Text columns become categories and dates become numbers. Empty cells, ? and NA are missing values, and so are a few
    words, such as unknown, in a numeric column. Identifiers and free text, with nearly all values distinct, are
    dropped. The model file stores these conversions, so that new samples are read in the same way.

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
    from fuselearn.io import save

    with sentences():
        check_output(output, MODEL, tables.input_files(file, labels), force=force)
        if _is_out_of_core(file, out_of_core):
            from fuselearn.cli import large

            method = method or "kfhe"
            if labels is not None or target is None or method not in large.METHODS:
                leave(
                    f"Training on {file} in parts needs --target and a --method among {', '.join(large.METHODS)}; "
                    f"--in-memory reads the whole file."
                )
            model = _make_model(method, "multiclass", setting or [], seed, jobs)
            model, first, about = large.train_from_disk(
                model, file, target, reading, output.parent, trusted=classes, quiet=as_json
            )
            tally, why_no_score = None, "No samples were held out; use `fuselearn predict` to score a file."
        else:
            with working(f"Reading {file}"):
                data, cleaner = reading.split(file, target, labels)
            if not as_json:
                tables.explain(cleaner)
            tables.check_target(data, file, classes, quiet=as_json)
            target = None if data.task == "multilabel" else str(data.y.name)
            method = _check_method(method, data, holdout, jobs, quiet=as_json)
            model = _make_model(method, data.task, setting or [], seed, jobs)
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
        say_scores(tally, f"On {tally.n_samples} held-out samples, with a model trained on the other samples")
    elif why_no_score:
        typer.echo(why_no_score)


def _is_out_of_core(file: Path, wanted: bool | None) -> bool:
    is_parquet = file.suffix in (".parquet", ".pq") and file.is_file()
    if wanted and not is_parquet:
        leave(f"--out-of-core needs a Parquet file, not {file}.")
    if wanted is not None or not is_parquet:
        return bool(wanted)
    from fuselearn.cli.large import would_not_fit

    return would_not_fit(file)


def _check_method(method: str | None, data: Dataset, holdout: float, jobs: int, *, quiet: bool) -> str:
    """Return the method to train, and print it if none is named."""
    from joblib import effective_n_jobs

    from fuselearn._messages import did_you_mean, format_seconds
    from fuselearn.lab.methods import METHODS, estimate_fused_seconds

    known = [name for name, path in METHODS[data.task].items() if path.startswith("fuselearn.")]
    if method is not None:
        if method not in known:
            kind = "multi-label data" if data.task == "multilabel" else "multi-class data"
            hint = did_you_mean(method, known)
            leave(f"The table contains {kind}; --method must be one of {', '.join(known)}, not {method}.{hint}")
        return method
    if data.task == "multilabel":
        return "fused"
    n_samples, n_features = data.X.shape
    seconds = estimate_fused_seconds(n_samples, n_features, data.n_classes, effective_n_jobs(jobs)) * (2 - holdout)
    took, is_quick = format_seconds(max(1, seconds)), seconds <= MOST_SECONDS
    advice = f"kfhe, because fused would take about {took}; use --method fused to train it anyway."
    if not quiet:
        typer.echo(f"The method is {f'fused, which takes about {took}.' if is_quick else advice}", err=True)
    return "fused" if is_quick else "kfhe"


def _make_model(method: str, task: str, settings: list[str], seed: int, jobs: int) -> Any:
    """Return an unfitted estimator with settings such as ``NAME=VALUE``."""
    from fuselearn.lab.methods import import_method, read_value
    from fuselearn.multilabel.methods.kfhe_homer import DEFAULT_VARIED

    model = import_method(method, task)
    own = model.get_params(deep=False)
    if own.get("estimator", model) is None:  # so that --set reaches estimator__C and estimator__max_depth
        model.set_params(estimator=model._base_estimator())
        if "varied" in own:  # which depends on whether an estimator is passed
            model.set_params(varied=DEFAULT_VARIED)
    known = model.get_params()
    chosen = {"random_state": seed, "n_jobs": jobs}
    for text in settings:
        name, mark, value = text.partition("=")
        if not mark or name not in known:
            names = ", ".join(sorted(set(known) - set(chosen)))
            leave(f"--set takes NAME=VALUE with a parameter of {method}: {names}. Got {text!r}.")
        chosen[name] = read_value(value)
    return model.set_params(**{name: value for name, value in chosen.items() if name in known})


def _train(
    model: Any, data: Dataset, cleaner: TableCleaner, holdout: float, seed: int
) -> tuple[Any, dict[str, Any], ClassTally | LabelTally | None]:
    """Fit a model; return the transformer of new samples, if any, and the summary."""
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
    with fitting(model, f"Training {type(model).__name__}"):
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
    if len(train) < 2:
        return None
    part = clone(model)
    with fitting(part, f"Scoring on {len(test):,} held-out samples"):
        part.fit(take_rows(data.X, train), data.y.iloc[train])
    tally = make_tally(part)
    tally.add(data.y.iloc[test], part.predict(take_rows(data.X, test)))
    return tally
