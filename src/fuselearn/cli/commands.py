"""The commands. Each reads its options, calls the lab, and prints where the results were written."""

from __future__ import annotations

import dataclasses
import os
import shlex
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import typer

from fuselearn.cli.errors import WRONG_USE, leave, sentences, wrong_use
from fuselearn.cli.outputs import Force, Kind, Output, check_output, page_outputs
from fuselearn.cli.reading import (
    Labels,
    Reading,
    Seed,
    TableFile,
    Target,
    TrustClasses,
    explain,
    input_files,
    listed,
    reads_table,
    refuse_measurements,
)
from fuselearn.cli.running import Place, is_finished, run, wide_console

__all__ = ["compare", "datasets", "demo", "report", "reproduce", "spell"]


Experiment = Literal["kfhe", "kfhe-settings", "kfhe-homer", "kfhe-homer-authors", "robust", "robust-labels"]
Backend = Literal["loky", "threading", "sequential", "dask"]
NoiseKind = Literal["uniform", "pair", "class-conditional", "boundary", "neighbour", "feature-dependent", "forgotten"]
ClassMetric = Literal["macro-f1", "accuracy", "balanced-accuracy", "auc", "log-loss", "brier", "calibration-error"]
LabelMetric = Literal[
    "macro-f1", "micro-f1", "example-f1", "accuracy", "hamming-loss", "macro-precision", "micro-precision",
    "example-precision", "macro-recall", "micro-recall", "example-recall", "macro-jaccard", "micro-jaccard",
    "example-jaccard", "one-error", "coverage", "ranking-loss", "label-ranking-average-precision", "auc", "micro-auc",
    "macro-average-precision", "micro-average-precision", "log-loss", "calibration-error",
]  # fmt: skip
Task = Literal["multiclass", "multilabel"]

Jobs = Annotated[int, typer.Option("--jobs", "-j", help="Number of processes; -1 uses all processors.")]
Resume = Annotated[bool, typer.Option("--resume/--fresh", help="Continue an earlier run, or discard its results.")]
DataDir = Annotated[
    Path | None, typer.Option("--data-dir", help="Folder with data files; searched before those in FUSELEARN_DATA.")
]


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
    from fuselearn.lab.running.suites import get_suite

    place = Place(out, out / "results.db")
    with sentences():
        fresh = not resume or is_finished(place.store, "demo")
    run(get_suite("demo"), place, command=spell(context), jobs=_checked(jobs), fresh=fresh, force=force)


def reproduce(
    context: typer.Context,
    experiment: Annotated[
        Experiment,
        typer.Argument(
            help="kfhe: the KFHE paper. kfhe-settings: the same with other settings of KFHE. kfhe-homer: the "
            "multi-label KFHE-HOMER paper. kfhe-homer-authors: the same with its authors' constants. robust: the fused "
            "classifier and its rivals on many tables with wrong labels. robust-labels: the same for several labels "
            "per sample."
        ),
    ],
    quick: Annotated[
        bool, typer.Option("--quick", help="Use bundled data only; takes minutes. Not for robust.")
    ] = False,
    data_dir: DataDir = None,
    jobs: Jobs = -1,
    resume: Resume = True,
    store: Annotated[
        Path | None, typer.Option("--store", help="Results store; results.db in the folder OUT by default.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="Folder for the report and the summary; fuselearn-SUITE by default.")
    ] = None,
    repeats: Annotated[
        int | None, typer.Option("--repeats", min=1, help="Repeats of cross-validation; those of the suite by default.")
    ] = None,
    datasets: Annotated[
        str | None,
        typer.Option(
            "--datasets",
            help="Datasets to use, separated by commas; all by default. robust: also numbers on OpenML, as openml-61.",
        ),
    ] = None,
    methods: Annotated[
        str | None, typer.Option("--methods", help="robust: methods to compare, separated by commas; all by default.")
    ] = None,
    noise: Annotated[
        str | None, typer.Option("--noise", help="robust: fractions of wrong training labels, separated by commas.")
    ] = None,
    noise_kind: Annotated[
        NoiseKind, typer.Option("--noise-kind", help="robust: which training labels become wrong.")
    ] = "uniform",
    folds: Annotated[int | None, typer.Option("--folds", min=2, help="robust: number of folds.")] = None,
    test_folds: Annotated[
        int | None,
        typer.Option("--test-folds", min=1, help="robust: how many of the folds are tested; all by default."),
    ] = None,
    max_samples: Annotated[
        int | None, typer.Option("--max-samples", min=2, help="robust: use at most this many samples of a dataset.")
    ] = None,
    backend: Annotated[Backend | None, typer.Option("--backend", help="joblib backend for parallel fits.")] = None,
    scheduler: Annotated[
        str | None, typer.Option("--scheduler", help="Address of a Dask scheduler; implies --backend dask.")
    ] = None,
    page: Annotated[
        Path | None,
        typer.Option("--page", help="Also write the comparison with the paper, or the tables of robust, as Markdown."),
    ] = None,
    force: Force = False,
) -> None:
    """Run the experiments of a paper; stop and resume at any time.

    Every result is stored as soon as it is computed. Stop with Ctrl-C and run the same command again: it continues
    where it stopped and ends with the same table.

    **Examples**

    - `fuselearn reproduce kfhe --quick`

    - `fuselearn reproduce kfhe --data-dir ~/data --jobs 8`

    - `fuselearn reproduce kfhe-homer --data-dir ~/data --page homer.md`

    - `fuselearn reproduce kfhe --datasets iris,glass --repeats 1`

    - `fuselearn reproduce robust --repeats 1 --store robust.db`

    - `fuselearn reproduce robust --noise-kind boundary --noise 0.2 --page boundary.md`

    - `fuselearn reproduce robust-labels --data-dir ~/data --noise-kind forgotten`

    - `fuselearn reproduce kfhe --scheduler tcp://10.0.0.1:8786`
    """
    from fuselearn.lab.running.suites import get_suite

    papers = ("kfhe", "kfhe-homer")
    if quick and experiment not in papers:
        leave(f"--quick is available for {' and '.join(papers)}; got {experiment}.", WRONG_USE)
    if page is not None and (quick or experiment in ("kfhe-settings", "kfhe-homer-authors")):
        leave(
            "--page is for the full experiments kfhe, kfhe-homer, robust and robust-labels; remove --quick.", WRONG_USE
        )
    sizes: dict[str, Any] = {"folds": folds, "test_folds": test_folds, "max_samples": max_samples}
    is_paper = experiment not in ("robust", "robust-labels")
    if is_paper:
        fixed = {
            "methods": methods,
            "noise": noise,
            **sizes,
            "noise_kind": None if noise_kind == "uniform" else noise_kind,
        }
        given = [name for name, value in fixed.items() if value is not None]
        if given:
            leave(f"--{given[0].replace('_', '-')} is for robust and robust-labels; the papers fix it.", WRONG_USE)
    if scheduler is not None and backend not in (None, "dask"):
        leave(f"--scheduler needs --backend dask; got {backend}.", WRONG_USE)
    suite = get_suite(f"{experiment}-quick" if quick else experiment)
    if noise_kind != "uniform":
        with sentences(), wrong_use():
            suite = dataclasses.replace(suite, name=f"{suite.name}-{noise_kind}", noise_kind=noise_kind)
    # A store refuses a suite with other repeats or datasets, so each has a folder of its own.
    changes: dict[str, Any] = {}
    ending = ""
    if repeats is not None:
        changes["repeats"] = repeats
        ending += f"-{repeats}-repeats"
    if datasets is not None:
        numbered = experiment == "robust"
        changes["datasets"] = _chosen("--datasets", datasets, suite.datasets, with_numbers=numbered)
        ending += f"-{'-'.join(changes['datasets'])}"
    if noise is not None:
        changes["noise"] = _fractions(noise)
        ending += f"-noise-{noise.replace(',', '-')}"
    for name, size in sizes.items():
        if size is not None:
            changes[name] = size
            ending += f"-{size}-{name.replace('_', '-')}"
    if methods is not None:
        changes["methods"] = _chosen("--methods", methods, _methods_for(suite.task))
        ending += f"-{len(changes['methods'])}-methods"
    with sentences(), wrong_use():
        suite = dataclasses.replace(suite, **changes)
    folder = out or Path(f"fuselearn-{suite.name}{ending}")
    with sentences():
        for output in page_outputs(page, experiment) if page is not None else ():
            check_output(output, force=force)
    with _data_from(data_dir):
        place = Place(folder, store or folder / "results.db")
        run(
            suite,
            place,
            command=spell(context),
            jobs=_checked(jobs),
            backend="dask" if scheduler else backend,
            scheduler=scheduler,
            fresh=not resume,
            force=force,
        )
    if page is not None:
        from fuselearn.lab.reproduction import homer, kfhe, robust

        if not is_paper:
            typer.echo(f"Tables written to {robust.write_page([place.summary], page)}")
        else:
            write = kfhe if experiment == "kfhe" else homer
            typer.echo(f"Comparison with the paper written to {write.write_page(place.summary, page)}")


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
    methods: Annotated[
        str | None,
        typer.Option("--methods", help="Methods to compare, separated by commas; the usual ones by default."),
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

    - `fuselearn compare churn.arff --methods KFHE,RandomForest --repeats 10 --folds 10`

    - `fuselearn compare patients.csv --target diagnosis --drop ward,bed --sep ';' --decimal ,`

    - `fuselearn compare songs.arff --labels 6 --metric hamming-loss`
    """
    from fuselearn.datasets.targets import MANY_CLASSES
    from fuselearn.lab.running.suites import Table, table_suite

    levels = _fractions(noise)
    with sentences(), wrong_use():
        cleaning = reading.cleaner_options
        table = Table.of(file, target, reading=reading.text_options, cleaning=cleaning, labels=labels)
        refuse_measurements(table.data, file, trusted=classes)
        task = table.data.task
        for_labels = task == "multilabel"
        names = None if methods is None else _chosen("--methods", methods, _methods_for(task))
        metrics = get_args(LabelMetric if for_labels else ClassMetric)
        if metric not in metrics:
            kind = "several labels per sample" if for_labels else "one class per sample"
            leave(f"{file} has {kind}; --metric must be one of {', '.join(metrics)}, not {metric}.", WRONG_USE)
        suite = table_suite(
            table, methods=names, noise=levels, noise_kind=noise_kind, repeats=repeats, folds=folds, seed=seed
        )
    explain(table.cleaner)
    if for_labels:
        typer.echo(f"{table.data.n_classes} labels: {listed(table.data.y.columns)}.", err=True)
    if table.data.n_classes > MANY_CLASSES:
        advice = "make most methods slow; reduce the work with --methods, --repeats or --folds."
        typer.echo(f"{table.data.n_classes} {'labels' if for_labels else 'classes'} {advice}", err=True)
    folder = out or Path(f"fuselearn-{suite.datasets[0]}")
    place = Place(folder, folder / "results.db")
    run(
        suite, place, command=spell(context), jobs=_checked(jobs), fresh=not resume, force=force,
        inputs=input_files(file, labels), metric=metric.replace("-", "_"),
    )  # fmt: skip


def report(
    store: Annotated[Path, typer.Argument(help="Results store, such as fuselearn-demo/results.db.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="HTML file to write.")] = Path("report.html"),
    suite: Annotated[
        str | None, typer.Option("--suite", help="Suite to report, if the store holds more than one.")
    ] = None,
    traces: Annotated[
        bool, typer.Option(help="Fit KFHE once more on each available dataset, to plot how the filter converges.")
    ] = True,
    data_dir: DataDir = None,
    force: Force = False,
) -> None:
    """Write the HTML report of a results store, complete or not.

    **Examples**

    - `fuselearn report fuselearn-demo/results.db -o report.html`

    - `fuselearn report everything.db --suite robust --no-traces`
    """
    from fuselearn.lab.reporting.report import write_report

    with sentences(), wrong_use(), _data_from(data_dir):
        check_output(Output(output, Kind.REPORT), [store], force=force)
        path = write_report(store, output, suite=suite, traces=traces)
    typer.echo(f"Report written to {path.resolve()}")


def datasets(
    task: Annotated[Task | None, typer.Option("--task", help="Only datasets for this task.")] = None,
    data_dir: DataDir = None,
) -> None:
    """List the datasets known by name and where each is loaded from.

    **Examples**

    - `fuselearn datasets`

    - `fuselearn datasets --task multiclass --data-dir ~/data`
    """
    from rich.table import Table

    from fuselearn.datasets import available

    with sentences(), _data_from(data_dir):
        listed = available(task)
    table = Table(caption="Datasets marked ✓ need no download.", caption_justify="left")
    table.add_column("name", no_wrap=True)
    table.add_column("task")
    for column in ("samples", "features", "classes"):
        table.add_column(column, justify="right")
    table.add_column("paper")
    table.add_column("✓", justify="center")
    table.add_column("source", overflow="fold")
    for line in listed:
        sizes = (str(size) for size in (line.rows, line.features, line.classes))
        table.add_row(line.name, line.task, *sizes, line.paper or "", "✓" if line.offline else "", line.source)
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


def _methods_for(task: str) -> list[str]:
    from fuselearn.lab.running.methods import METHODS

    return [name for name, method in METHODS.items() if method.task == task]


def _checked(jobs: int) -> int:
    if jobs == 0 or jobs < -1:
        leave(f"--jobs must be a positive integer, or -1 for all processors; got {jobs}.", WRONG_USE)
    return jobs


def _chosen(option: str, text: str, known: Collection[str], *, with_numbers: bool = False) -> list[str]:
    from fuselearn.datasets.registry import find_by_number

    names = [name.strip() for name in text.split(",")]
    unknown = [name for name in names if name not in known and not (with_numbers and find_by_number(name))]
    if unknown:
        others = ", or a number on OpenML such as openml-61" if with_numbers else ""
        leave(f"{option} must be among {', '.join(known)}{others}; got {unknown[0]!r}.", WRONG_USE)
    return names


def _fractions(text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        leave(f"--noise must be fractions separated by commas, such as 0,0.1,0.2; got {text!r}.", WRONG_USE)


@contextmanager
def _data_from(folder: Path | None) -> Iterator[None]:
    """Search a folder for data files first."""
    if folder is None:
        yield
        return
    if not folder.is_dir():
        leave(f"--data-dir must be an existing folder; {folder} is not one.", WRONG_USE)
    before = os.environ.get("FUSELEARN_DATA")
    os.environ["FUSELEARN_DATA"] = os.pathsep.join(filter(None, [str(folder.resolve()), before]))
    try:
        yield
    finally:
        if before is None:
            del os.environ["FUSELEARN_DATA"]
        else:
            os.environ["FUSELEARN_DATA"] = before
