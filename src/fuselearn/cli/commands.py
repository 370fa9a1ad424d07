"""The commands. Each reads its options, calls the lab, and says where the result lies."""

from __future__ import annotations

import dataclasses
import os
import shlex
import time
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from fuselearn.cli.errors import WRONG_USE, leave, sentences, wrong_use
from fuselearn.cli.outputs import Force, Kind, Output, check_output, page_outputs
from fuselearn.cli.reading import (
    Decimal,
    Drop,
    Encoding,
    Index,
    Keep,
    Only,
    Reading,
    Sep,
    TrustClasses,
    explain,
    refuse_measurements,
)
from fuselearn.cli.running import Place, is_finished, run, wide_console

__all__ = ["compare", "datasets", "demo", "report", "reproduce", "warmup"]


class Experiment(StrEnum):
    """The suites that `reproduce` knows."""

    KFHE = "kfhe"
    KFHE_HOMER = "kfhe-homer"
    KFHE_HOMER_AUTHORS = "kfhe-homer-authors"
    ROBUST = "robust"


class Backend(StrEnum):
    """How joblib spreads the work."""

    LOKY = "loky"
    THREADING = "threading"
    SEQUENTIAL = "sequential"
    DASK = "dask"


class Metric(StrEnum):
    """The scores that `compare` prints."""

    MACRO_F1 = "macro-f1"
    ACCURACY = "accuracy"
    BALANCED_ACCURACY = "balanced-accuracy"
    AUC = "auc"
    LOG_LOSS = "log-loss"


class Task(StrEnum):
    """The two kinds of tables."""

    MULTICLASS = "multiclass"
    MULTILABEL = "multilabel"


Jobs = Annotated[int, typer.Option("--jobs", "-j", help="Processes to use; -1 for one per processor.")]
Resume = Annotated[
    bool, typer.Option("--resume/--fresh", help="Go on where an earlier run was stopped, or throw its results away.")
]
DataDir = Annotated[
    Path | None,
    typer.Option("--data-dir", help="Folder with data files, looked at before those that FUSELEARN_DATA names."),
]


def demo(
    out: Annotated[Path, typer.Option("--out", help="Folder for the report and the results.")] = Path("fuselearn-demo"),
    jobs: Jobs = -1,
    resume: Resume = True,
    force: Force = False,
) -> None:
    """Compare four ensembles on bundled data with clean and with noisy labels.

    KFHE, AdaBoost, bagging and a single tree meet iris, wine, breast_cancer and digits, with 0, 10 and 20 % of the
    training labels wrong. It needs no download and takes about a minute. A demo that was stopped goes on where it
    was; a finished one starts anew.

    **Examples**

    - `fuselearn demo`

    - `fuselearn demo --out first-look --jobs 2`
    """
    from fuselearn.lab.running.suites import get_suite

    place = Place(out, out / "results.db")
    command = _spell("demo", out=None if out == Path("fuselearn-demo") else out)
    with sentences():
        fresh = not resume or is_finished(place.store, "demo")
    _compile_kernels()  # once, before several processes would each do it
    run(get_suite("demo"), place, command=command, jobs=_checked(jobs), fresh=fresh, force=force)


def reproduce(
    experiment: Annotated[
        Experiment,
        typer.Argument(
            help="kfhe: the experiments of the KFHE paper. kfhe-homer: those of the multi-label KFHE-HOMER paper, "
            "kfhe-homer-authors: with its authors' constants. robust: the KFHE paper's methods and usual rivals."
        ),
    ],
    quick: Annotated[bool, typer.Option("--quick", help="On bundled data only, in minutes; not for robust.")] = False,
    data_dir: DataDir = None,
    jobs: Jobs = -1,
    resume: Resume = True,
    store: Annotated[Path | None, typer.Option("--store", help="Results store; by default in the folder OUT.")] = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="Folder for the report and the summary; by default fuselearn-SUITE.")
    ] = None,
    repeats: Annotated[
        int | None, typer.Option("--repeats", min=1, help="Repeats of the cross-validation; the suite's by default.")
    ] = None,
    datasets: Annotated[
        str | None,
        typer.Option("--datasets", help="Only these, separated by commas; by default all."),
    ] = None,
    backend: Annotated[Backend | None, typer.Option("--backend", help="How joblib spreads the work.")] = None,
    scheduler: Annotated[
        str | None, typer.Option("--scheduler", help="Address of a Dask scheduler; implies --backend dask.")
    ] = None,
    page: Annotated[
        Path | None, typer.Option("--page", help="Also write the comparison with the paper as Markdown.")
    ] = None,
    force: Force = False,
) -> None:
    """Repeat the experiments of a paper; stop and resume at any moment.

    Every result is written the moment it exists. Stop with Ctrl-C and give the same command again: it goes on where it
    was and ends with the same table.

    **Examples**

    - `fuselearn reproduce kfhe --quick`

    - `fuselearn reproduce kfhe --data-dir ~/data --jobs 8`

    - `fuselearn reproduce kfhe-homer --data-dir ~/data --page homer.md`

    - `fuselearn reproduce kfhe --datasets iris,glass --repeats 1`

    - `fuselearn reproduce robust --repeats 1 --store robust.db`

    - `fuselearn reproduce kfhe --scheduler tcp://10.0.0.1:8786`
    """
    from fuselearn.lab.running.suites import get_suite

    papers = (Experiment.KFHE, Experiment.KFHE_HOMER)
    if quick and experiment not in papers:
        leave(f"--quick belongs to the experiments {' and '.join(papers)}; got {experiment}.", WRONG_USE)
    if page is not None and (quick or experiment not in papers):
        leave("--page compares a whole experiment, kfhe or kfhe-homer, with its paper; leave out --quick.", WRONG_USE)
    if scheduler is not None and backend not in (None, Backend.DASK):
        leave(f"--scheduler needs --backend dask; got {backend}.", WRONG_USE)
    suite = get_suite(f"{experiment}-quick" if quick else experiment)
    # A store refuses a suite with other repeats or datasets, so each has a folder of its own.
    ending = ""
    if repeats is not None:
        suite = dataclasses.replace(suite, repeats=repeats)
        ending += f"-{repeats}-repeats"
    if datasets is not None:
        chosen = [name.strip() for name in datasets.split(",")]
        unknown = [name for name in chosen if name not in suite.datasets]
        if unknown:
            leave(f"--datasets must be among {', '.join(suite.datasets)}; got {unknown[0]!r}.", WRONG_USE)
        suite = dataclasses.replace(suite, datasets=chosen)
        ending += f"-{'-'.join(chosen)}"
    folder = out or Path(f"fuselearn-{suite.name}{ending}")
    words = {
        "quick": quick, "data_dir": data_dir, "store": store, "out": out, "repeats": repeats,
        "datasets": datasets, "backend": backend, "scheduler": scheduler, "page": page,
    }  # fmt: skip
    with sentences():
        for output in page_outputs(page, multilabel=suite.task == "multilabel") if page is not None else ():
            check_output(output, force=force)
    with _data_from(data_dir):
        place = Place(folder, store or folder / "results.db")
        run(
            suite,
            place,
            command=_spell("reproduce", experiment, **words),
            jobs=_checked(jobs),
            backend="dask" if scheduler else backend,
            scheduler=scheduler,
            fresh=not resume,
            force=force,
        )
    if page is not None:
        from fuselearn.lab.reproduction import homer, kfhe

        write = kfhe if experiment is Experiment.KFHE else homer
        typer.echo(f"Comparison with the paper written to {write.write_page(place.summary, page)}")


def compare(
    file: Annotated[Path, typer.Argument(help="A .csv, .tsv, .parquet or .arff file; all but Parquet also .gz.")],
    target: Annotated[
        str | None, typer.Option("--target", "-t", help="The column of classes; by default the one called class.")
    ] = None,
    noise: Annotated[
        str, typer.Option("--noise", help="Shares of training labels to make wrong, separated by commas.")
    ] = "0",
    methods: Annotated[
        str | None, typer.Option("--methods", help="Names separated by commas; by default all that are installed.")
    ] = None,
    repeats: Annotated[int, typer.Option("--repeats", min=1, help="Repeats of the cross-validation.")] = 3,
    folds: Annotated[int, typer.Option("--folds", min=2, help="Folds of the cross-validation.")] = 5,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed for all random choices.")] = 0,
    metric: Annotated[
        Metric, typer.Option("--metric", help="A score to print beside macro F1; the page ranks by macro F1.")
    ] = Metric.MACRO_F1,
    jobs: Jobs = -1,
    resume: Resume = True,
    out: Annotated[
        Path | None, typer.Option("--out", help="Folder for the report and the results; fuselearn-FILE by default.")
    ] = None,
    force: Force = False,
    drop: Drop = None,
    only: Only = None,
    keep: Keep = None,
    index: Index = None,
    sep: Sep = None,
    encoding: Encoding = "utf-8",
    decimal: Decimal = ".",
    classes: TrustClasses = False,
) -> None:
    """Compare the methods on a table of your own, and get the same report.

    Columns are read as by `fuselearn train`: dates become numbers, identifiers and free text are left out.

    **Examples**

    - `fuselearn compare patients.csv --target diagnosis`

    - `fuselearn compare patients.parquet --target diagnosis --noise 0,0.1,0.2`

    - `fuselearn compare churn.arff --methods KFHE,RandomForest --repeats 10 --folds 10`

    - `fuselearn compare patients.csv --target diagnosis --drop ward,bed --sep ';' --decimal ,`
    """
    from fuselearn.datasets.targets import MANY_CLASSES
    from fuselearn.lab.running.methods import METHODS
    from fuselearn.lab.running.suites import Table, table_suite

    known = [name for name, method in METHODS.items() if method.task == "multiclass"]
    names = [name.strip() for name in methods.split(",")] if methods is not None else known
    unknown = [name for name in names if name not in known]
    if unknown:
        leave(f"--methods must be among {', '.join(known)}; got {unknown[0]!r}.", WRONG_USE)
    levels = _fractions(noise)
    reading = Reading(sep, encoding, decimal, drop, only, keep, index)
    with sentences(), wrong_use():
        table = Table.of(file, target, reading=reading.text_options, cleaning=reading.cleaner_options(file))
        refuse_measurements(table.data, file, trusted=classes)
        suite = table_suite(table, methods=names, noise=levels, repeats=repeats, folds=folds, seed=seed)
    explain(table.cleaner)
    if table.data.n_classes > MANY_CLASSES:
        advice = "take most methods long; --methods, --repeats and --folds make it less."
        typer.echo(f"{table.data.n_classes} classes {advice}", err=True)
    folder = out or Path(f"fuselearn-{suite.datasets[0]}")
    words = {
        "target": target,
        "noise": noise,
        "methods": methods,
        "repeats": repeats if repeats != 3 else None,
        "folds": folds if folds != 5 else None,
        "seed": seed or None,
        "metric": None if metric is Metric.MACRO_F1 else metric,
        "out": out,
        "classes": classes,
        **reading.words(),
    }
    command = _spell("compare", file, **words)
    place = Place(folder, folder / "results.db")
    run(
        suite, place, command=command, jobs=_checked(jobs), fresh=not resume, inputs=[file], force=force,
        metric=metric.replace("-", "_"),
    )  # fmt: skip


def report(
    store: Annotated[Path, typer.Argument(help="A results store, such as fuselearn-demo/results.db.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The HTML file.")] = Path("report.html"),
    suite: Annotated[str | None, typer.Option("--suite", help="Which suite, if the store holds more than one.")] = None,
    traces: Annotated[
        bool, typer.Option(help="Train KFHE once more per dataset that is at hand, to draw how the filter settles.")
    ] = True,
    data_dir: DataDir = None,
    force: Force = False,
) -> None:
    """Make the page of a results store, finished or not.

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
    task: Annotated[Task | None, typer.Option("--task", help="Only the tables of this kind.")] = None,
    data_dir: DataDir = None,
) -> None:
    """List the datasets that are known by name, and where each would come from now.

    **Examples**

    - `fuselearn datasets`

    - `fuselearn datasets --task multiclass --data-dir ~/data`
    """
    from rich.table import Table

    from fuselearn.datasets import available

    with sentences(), _data_from(data_dir):
        listed = available(task)
    table = Table(caption="Without a download: those marked ✓.", caption_justify="left")
    table.add_column("name", no_wrap=True)
    table.add_column("task")
    for column in ("rows", "features", "classes"):
        table.add_column(column, justify="right")
    table.add_column("paper")
    table.add_column("✓", justify="center")
    table.add_column("where from", overflow="fold")
    for line in listed:
        sizes = (str(size) for size in (line.rows, line.features, line.classes))
        table.add_row(line.name, line.task, *sizes, line.paper or "", "✓" if line.offline else "", line.source)
    wide_console().print(table, markup=False)


def warmup(jobs: Jobs = -1) -> None:
    """Compile all kernels now instead of at their first use; for images and servers, or before a demonstration.

    It takes a few minutes after an installation, and seconds when all is compiled. NUMBA_CACHE_DIR says where compiled
    kernels are kept; by default beside the library.

    **Examples**

    - `fuselearn warmup`

    - `NUMBA_CACHE_DIR=/opt/kernels fuselearn warmup --jobs 2`
    """
    from fuselearn.warming import warm_up

    start = time.perf_counter()
    warm_up(_checked(jobs))
    typer.echo(f"All kernels are compiled, after {time.perf_counter() - start:.0f} s.")


def _spell(*words: object, **options: object) -> str:
    """Write a command as the user would type it again."""
    parts = ["fuselearn", *(str(word) for word in words)]
    for name, value in options.items():
        if value is None or value is False:
            continue
        for each in value if isinstance(value, list) else [value]:
            parts.append(f"--{name.replace('_', '-')}")
            if each is not True:
                parts.append(str(each))
    return shlex.join(parts)


def _checked(jobs: int) -> int:
    if jobs == 0 or jobs < -1:
        leave(f"--jobs must be a positive number, or -1 for one per processor; got {jobs}.", WRONG_USE)
    return jobs


def _fractions(text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        leave(f"--noise must be fractions separated by commas, such as 0,0.1,0.2; got {text!r}.", WRONG_USE)


def _compile_kernels() -> None:
    """Have the kernels of trees and ensembles compiled and cached, which takes half a minute after an installation."""
    from sklearn.datasets import load_iris

    from fuselearn.ensembles import KFHEClassifier

    X, y = load_iris(return_X_y=True)
    KFHEClassifier(n_estimators=2, random_state=0).fit(X, y).predict(X)


@contextmanager
def _data_from(folder: Path | None) -> Iterator[None]:
    """Look for data in a folder first."""
    if folder is None:
        yield
        return
    if not folder.is_dir():
        leave(f"--data-dir must be a folder; there is none called {folder}.", WRONG_USE)
    before = os.environ.get("FUSELEARN_DATA")
    os.environ["FUSELEARN_DATA"] = os.pathsep.join(filter(None, [str(folder.resolve()), before]))
    try:
        yield
    finally:
        if before is None:
            del os.environ["FUSELEARN_DATA"]
        else:
            os.environ["FUSELEARN_DATA"] = before
