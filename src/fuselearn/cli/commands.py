"""The commands. Each reads its options, calls the lab, and prints where the results were written."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated, Literal, get_args

import typer

from fuselearn.cli.guarding import REPORT, Force, check_output, leave, sentences
from fuselearn.cli.reading import (
    Labels,
    Reading,
    Seed,
    TableFile,
    Target,
    TrustClasses,
    check_target,
    explain,
    input_files,
    listed,
    reads_table,
)
from fuselearn.cli.running import STORE, is_finished, run, wide_console

__all__ = ["compare", "demo", "methods", "report", "spell"]

NoiseKind = Literal["uniform", "pair", "class-conditional", "boundary", "neighbour", "feature-dependent", "forgotten"]
ClassMetric = Literal["macro-f1", "accuracy", "balanced-accuracy", "auc", "log-loss", "brier", "calibration-error"]
LabelMetric = Literal[
    "macro-f1", "micro-f1", "example-f1", "accuracy", "hamming-loss", "macro-precision", "micro-precision",
    "example-precision", "macro-recall", "micro-recall", "example-recall", "macro-jaccard", "micro-jaccard",
    "example-jaccard", "one-error", "coverage", "ranking-loss", "label-ranking-average-precision", "auc", "micro-auc",
    "macro-average-precision", "micro-average-precision", "log-loss", "calibration-error",
]  # fmt: skip

Jobs = Annotated[int, typer.Option("--jobs", "-j", help="Number of processes; -1 uses all processors.")]
Resume = Annotated[bool, typer.Option("--resume/--fresh", help="Continue an earlier run, or discard its results.")]


def demo(
    context: typer.Context,
    out: Annotated[Path, typer.Option("--out", help="Folder for the report and the results.")] = Path("fuselearn-demo"),
    jobs: Jobs = -1,
    resume: Resume = True,
    force: Force = False,
) -> None:
    """Compare five ensembles on bundled datasets, with clean and with noisy labels.

    Runs the fused classifier, KFHE, AdaBoost, bagging and a single tree on iris, wine, breast_cancer and digits with
    0, 10 and 20 % wrong training labels. Needs no download and takes a few minutes. An interrupted
    demo continues where it stopped; a finished one starts again.

    **Examples**

    - `fuselearn demo`

    - `fuselearn demo --out first-look --jobs 2`
    """
    from fuselearn.lab import suites

    with sentences():
        fresh = not resume or is_finished(out / STORE, suites.DEMO)
    run(suites.DEMO, out, command=spell(context), jobs=_checked(jobs), fresh=fresh, force=force)


@reads_table
def compare(
    *,
    context: typer.Context,
    file: TableFile,
    target: Target = None,
    labels: Labels = None,
    noise: Annotated[
        str, typer.Option("--noise", help="Fractions of training labels to make wrong, separated by commas.")
    ] = "0",
    noise_kind: Annotated[
        NoiseKind,
        typer.Option("--noise-kind", help="Which labels become wrong: any, or those near the border of a class, ..."),
    ] = "uniform",
    method: Annotated[
        list[str] | None,
        typer.Option(
            "--method",
            "-m",
            help="Method to compare: a name that `fuselearn methods` lists or the import path of a class, perhaps with "
            "settings in parentheses; repeatable. The usual ones by default.",
        ),
    ] = None,
    repeats: Annotated[int, typer.Option("--repeats", min=1, help="Repeats of cross-validation.")] = 3,
    folds: Annotated[int, typer.Option("--folds", min=2, help="Number of folds.")] = 5,
    seed: Seed = 0,
    metric: Annotated[
        Literal[ClassMetric, LabelMetric],
        typer.Option("--metric", help="Score to print besides macro F1; the report ranks by macro F1."),
    ] = "macro-f1",
    jobs: Jobs = -1,
    resume: Resume = True,
    out: Annotated[
        Path | None, typer.Option("--out", help="Folder for the report and the results; fuselearn-FILE by default.")
    ] = None,
    force: Force = False,
    reading: Reading,
    classes: TrustClasses = False,
) -> None:
    """Compare methods on your own table and write a report.

    Columns are prepared as by `fuselearn train`: dates become numbers; identifiers and free text are dropped.

    **Examples**

    - `fuselearn compare patients.csv --target diagnosis`

    - `fuselearn compare patients.parquet --target diagnosis --noise 0,0.1,0.2`

    - `fuselearn compare patients.csv --target diagnosis --noise 0,0.1 --noise-kind boundary`

    - `fuselearn compare churn.arff -m kfhe -m random-forest --repeats 10 --folds 10`

    - `fuselearn compare churn.arff -m fused -m "lightgbm:LGBMClassifier(n_estimators=200)"`

    - `fuselearn compare patients.csv --target diagnosis --drop ward,bed --sep ';' --decimal ,`

    - `fuselearn compare songs.arff --labels 6 --metric hamming-loss`
    """
    from fuselearn.datasets.tables import MANY_CLASSES
    from fuselearn.lab import Table, table_suite
    from fuselearn.lab.methods import make_method

    levels = _fractions(noise)
    with sentences():
        cleaning = reading.cleaner_options
        table = Table.of(file, target, reading=reading.text_options, cleaning=cleaning, labels=labels)
        check_target(table.data, file, classes)
        task = table.data.task
        for_labels = task == "multilabel"
        for name in method or ():
            make_method(name, task)
        metrics = get_args(LabelMetric if for_labels else ClassMetric)
        if metric not in metrics:
            kind = "several labels per sample" if for_labels else "one class per sample"
            leave(f"{file} has {kind}; --metric must be one of {', '.join(metrics)}, not {metric}.")
        suite = table_suite(
            table, methods=method, noise=levels, noise_kind=noise_kind, repeats=repeats, folds=folds, seed=seed
        )
    explain(table.cleaner)
    if for_labels:
        typer.echo(f"{table.data.n_classes} labels: {listed(table.data.y.columns)}.", err=True)
    if table.data.n_classes > MANY_CLASSES:
        advice = "make most methods slow; reduce the work with --method, --repeats or --folds."
        typer.echo(f"{table.data.n_classes} {'labels' if for_labels else 'classes'} {advice}", err=True)
    folder = out or Path(f"fuselearn-{suite.datasets[0]}")
    run(
        suite, folder, command=spell(context), jobs=_checked(jobs), fresh=not resume, force=force,
        inputs=input_files(file, labels), metric=metric.replace("-", "_"),
    )  # fmt: skip


def report(
    store: Annotated[Path, typer.Argument(help="Results store, such as fuselearn-demo/results.db.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="HTML file to write.")] = Path("report.html"),
    suite: Annotated[
        str | None, typer.Option("--suite", help="Suite to report, if the store holds more than one.")
    ] = None,
    force: Force = False,
) -> None:
    """Write the HTML report of a results store, complete or not.

    **Examples**

    - `fuselearn report fuselearn-demo/results.db -o report.html`

    - `fuselearn report everything.db --suite mine`
    """
    from fuselearn.lab import write_report

    with sentences():
        check_output(output, REPORT, [store], force=force)
        path = write_report(store, output, suite=suite)
    typer.echo(f"Report written to {path.resolve()}")


def methods() -> None:
    """List the methods of train and compare by name.

    Other classifiers are compared by import path: `fuselearn compare my.csv -m lightgbm:LGBMClassifier`.

    **Examples**

    - `fuselearn methods`

    - `fuselearn methods | grep labels`

    - `fuselearn compare my.csv -m kfhe -m "random-forest(min_samples_leaf=3)"`
    """
    from inspect import getdoc

    from rich import box
    from rich.table import Table

    from fuselearn.lab.methods import METHODS, import_method

    table = Table("name", "class", "predicts", "description", box=box.SIMPLE)
    table.columns[0].no_wrap = True
    for task, names in METHODS.items():
        for name, path in names.items():
            package, _, called = path.partition(":")
            sentence = " ".join((getdoc(type(import_method(name, task))) or "").partition("\n\n")[0].split())
            shown = called if package.startswith("fuselearn.") else f"{package}.{called}"
            table.add_row(name, shown, "classes" if task == "multiclass" else "labels", sentence)
    wide_console().print(table, markup=False)


def spell(context: typer.Context) -> str:
    """Return the command line of a run, without the options that do not change its results."""
    words = ["fuselearn", str(context.info_name)]
    for parameter in context.command.params:
        name = str(parameter.name)
        source = context.get_parameter_source(name)
        if name in ("jobs", "resume", "force") or source is None or source.name == "DEFAULT":
            continue
        value = context.params[name]
        for each in value if isinstance(value, list | tuple) else [value]:
            words += [option for option in parameter.opts if option.startswith("--")][:1]
            words += [] if each is True else [str(each)]
    return shlex.join(words)


def _checked(jobs: int) -> int:
    if jobs == 0 or jobs < -1:
        leave(f"--jobs must be a positive integer, or -1 for all processors; got {jobs}.")
    return jobs


def _fractions(text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        leave(f"--noise must be fractions separated by commas, such as 0,0.1,0.2; got {text!r}.")
