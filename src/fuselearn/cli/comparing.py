"""The commands `compare`, `demo`, `report` and `methods`: run a suite of the lab, print its scores, write its files."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fuselearn._progress import working
from fuselearn.cli import tables
from fuselearn.cli.guarding import FAILED, REPORT, SUMMARY, Force, check_output, leave, sentences

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Console
    from rich.table import Table

    from fuselearn.lab import Suite
    from fuselearn.lab.report import Material

PIPE_WIDTH = 200
STORE = "results.db"
AUDITED, WRONG_FRACTION, FEW, MANY = ("digits", "claims"), 0.1, 5, 100
"""What the demo audits, the fraction of its labels made wrong, and the numbers of suspects listed and counted."""
NOT_OF_THE_RESULTS = ("jobs", "resume", "force", "scheduler")
"""Options that do not change the results of a run."""

TableFiles = Annotated[
    list[Path],
    typer.Argument(
        metavar="FILE...",
        help="CSV, TSV, Parquet or ARFF files, all but Parquet also gzipped (.gz), or folders of them.",
    ),
]
Noise = Annotated[str, typer.Option("--noise", help="Fractions of training labels to change, separated by commas.")]
NoiseKind = Annotated[
    str,
    typer.Option(
        "--noise-kind",
        help="Kind of label noise: uniform, pair, class-conditional, boundary, neighbor or feature-dependent; for "
        "multi-label data, uniform or forgotten.",
    ),
]
Methods = Annotated[
    list[str] | None,
    typer.Option(
        "--method",
        "-m",
        help="Method to compare: a name listed by `fuselearn methods`, or the import path of a class, optionally with "
        "parameters in parentheses; repeatable.",
    ),
]
Control = Annotated[
    str | None, typer.Option("--control", help="Control method: test all others against it, instead of all pairs.")
]
Metric = Annotated[
    str,
    typer.Option(
        "--metric",
        help="Metric to print besides macro F1, such as accuracy, auc or hamming-loss. For multi-label data, fused "
        "optimizes it if it has a rule for it. The report ranks by macro F1.",
    ),
]
Jobs = Annotated[int, typer.Option("--jobs", "-j", help="Number of processes; -1 uses all processors.")]
Scheduler = Annotated[
    str | None,
    typer.Option("--scheduler", help="Address of a Dask scheduler that runs the fits, such as tcp://host:8786."),
]
Resume = Annotated[bool, typer.Option("--resume/--fresh", help="Continue an earlier run, or discard its results.")]


def demo(
    context: typer.Context,
    out: Annotated[Path, typer.Option("--out", help="Folder for the report and the results.")] = Path("fuselearn-demo"),
    jobs: Jobs = -1,
    resume: Resume = True,
    force: Force = False,
) -> None:
    """Compare five ensembles on tables with 0 to 40 % wrong labels, then list the wrong labels of a table.

    Runs the fused classifier, KFHE, two random forests and histogram gradient boosting on digits, breast_cancer and
    generated insurance claims with text categories and missing values. Then 10 % of the claims and of the digits get a
    wrong label, and an audit lists the wrong labels it finds. Needs no download, and takes about a minute on two
    processors. Run it again to continue after an interruption.

    **Examples**

    - `fuselearn demo`

    - `fuselearn demo --out first-look --jobs 2`
    """
    from fuselearn.lab import suites

    with sentences():
        fresh = not resume or _is_finished(out / STORE, suites.DEMO)
    run(suites.DEMO, out, command=spell(context), jobs=jobs, fresh=fresh, force=force)
    with sentences():
        for dataset in AUDITED:
            _show_audit(dataset, jobs)
    typer.echo(
        "On your own table:\n  fuselearn compare FILE.csv --target COLUMN --noise 0,0.1,0.2\n"
        "  fuselearn audit FILE.csv --target COLUMN -o suspects.csv --html suspects.html"
    )


def _show_audit(dataset: str, jobs: int) -> None:
    """Make labels of a dataset wrong, audit them, print the first suspects and how many of them are wrong."""
    from fuselearn.datasets import corrupt_labels, load_dataset
    from fuselearn.diagnosis import audit_labels

    data = load_dataset(dataset)
    given = corrupt_labels(data.y, WRONG_FRACTION, random_state=0)
    is_wrong = given != data.y
    suspects = audit_labels(data.X, given, random_state=0, n_jobs=jobs).suspects
    shown = suspects[["given", "suggested", "probability"]].head(FEW).join(data.y.rename("correct"))
    found, total = is_wrong.loc[suspects.index], is_wrong.sum()
    typer.echo(
        f"\nAudit of {dataset}: {total} of {len(given):,} labels are wrong. The {FEW} most doubtful ones:\n"
        f"{shown.to_string(float_format='{:.3f}'.format)}\n{len(found)} suspects contain {found.sum()} of the {total} "
        f"wrong labels; {found.head(MANY).sum()} of the first {min(MANY, len(found))} are wrong."
    )


@tables.reads_table
def compare(
    *,
    context: typer.Context,
    files: TableFiles,
    target: tables.Target = None,
    labels: tables.Labels = None,
    noise: Noise = "0",
    noise_kind: NoiseKind = "uniform",
    method: Methods = None,
    control: Control = None,
    repeats: Annotated[int, typer.Option("--repeats", min=1, help="Repeats of cross-validation.")] = 3,
    folds: Annotated[int, typer.Option("--folds", min=2, help="Number of folds.")] = 5,
    seed: tables.Seed = 0,
    metric: Metric = "macro-f1",
    jobs: Jobs = -1,
    scheduler: Scheduler = None,
    resume: Resume = True,
    out: Annotated[
        Path | None, typer.Option("--out", help="Folder for the report and the results; fuselearn-FILE by default.")
    ] = None,
    force: Force = False,
    reading: tables.Reading,
    classes: tables.TrustClasses = False,
) -> None:
    """Compare methods on your own tables and write a report.

    Columns are prepared as in `fuselearn train`: dates become numbers; identifiers and free text are dropped.

    **Examples**

    - `fuselearn compare patients.csv --target diagnosis`

    - `fuselearn compare patients.parquet --target diagnosis --noise 0,0.1,0.2`

    - `fuselearn compare patients.csv --target diagnosis --noise 0,0.1 --noise-kind boundary`

    - `fuselearn compare churn.arff -m kfhe -m random-forest --repeats 10 --folds 10`

    - `fuselearn compare churn.arff -m fused -m "lightgbm:LGBMClassifier(n_estimators=200)" --control fused`

    - `fuselearn compare tables/ more.csv --target class --drop ward,bed --sep ';' --decimal ,`

    - `fuselearn compare songs.arff --labels 6 --metric hamming-loss`
    """
    from fuselearn.datasets.tables import MANY_CLASSES
    from fuselearn.lab import Table, table_suite
    from fuselearn.lab.methods import make_method, optimizing
    from fuselearn.lab.suites import SCORES, USUAL_METHODS, find_tables

    with sentences():
        paths = [path for each in files for path in find_tables(each)]
        options: dict[str, Any] = {
            "reading": reading.text_options,
            "cleaning": reading.cleaner_options,
            "labels": labels,
        }
        read = []
        for path in paths:
            with working(f"Reading {path}"):
                read.append(Table.of(path, target, **options))
        task, score = read[0].data.task, metric.replace("-", "_")
        if score not in SCORES[task]:
            kind = "multi-label data" if task == "multilabel" else "multi-class data"
            known = ", ".join(name.replace("_", "-") for name in SCORES[task])
            leave(f"{paths[0]} has {kind}; --metric must be one of {known}, not {metric}.")
        names = [optimizing(name, score, task) for name in method or USUAL_METHODS[task]]
        for name in names:
            make_method(name, task)
        control = control and optimizing(control, score, task)
        if control is not None and control not in names:
            leave(f"--control must be one of the methods {', '.join(names)}; got {control}.")
        suite = table_suite(
            read, methods=names, noise=_read_fractions(noise), noise_kind=noise_kind, repeats=repeats, folds=folds,
            seed=seed,
        )  # fmt: skip
        for path, table in zip(paths, read, strict=True):
            if len(read) > 1:
                typer.echo(f"{path}:", err=True)
            tables.explain(table.cleaner)
            tables.check_target(table.data, path, classes)
            if task == "multilabel":
                typer.echo(f"{table.data.n_classes} labels: {tables.listed(table.data.y.columns)}.", err=True)
            if table.data.n_classes > MANY_CLASSES:
                what = f"{table.data.n_classes} {'labels' if task == 'multilabel' else 'classes'}"
                advice = "make most methods slow; reduce the work with --method, --repeats or --folds."
                typer.echo(f"{what} {advice}", err=True)
    folder = out or Path(f"fuselearn-{suite.name.removeprefix('compare-')}")
    inputs = [source for path in paths for source in tables.input_files(path, labels)]
    run(
        suite, folder, command=spell(context), jobs=jobs, fresh=not resume, force=force, inputs=inputs, metric=score,
        control=control, scheduler=scheduler,
    )  # fmt: skip


def report(
    store: Annotated[Path, typer.Argument(help="Results store, such as fuselearn-demo/results.db.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="HTML file to write.")] = Path("report.html"),
    suite: Annotated[
        str | None, typer.Option("--suite", help="Suite to report, if the store contains more than one.")
    ] = None,
    control: Control = None,
    force: Force = False,
) -> None:
    """Write the HTML report of a results store, even of an incomplete run.

    **Examples**

    - `fuselearn report fuselearn-demo/results.db -o report.html`

    - `fuselearn report everything.db --suite mine --control kfhe`
    """
    from fuselearn.lab import write_report

    with sentences():
        check_output(output, REPORT, [store], force=force)
        path = write_report(store, output, suite=suite, control=control)
    typer.echo(f"Report written to {path.resolve()}")


def methods() -> None:
    """List the methods for train and compare.

    Compare other classifiers by their import path: `fuselearn compare my.csv -m lightgbm:LGBMClassifier`.

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
    _wide_console().print(table, markup=False)


def spell(context: typer.Context) -> str:
    """Return the command line of a run, without options that do not change its results."""
    words = ["fuselearn", str(context.info_name)]
    for parameter in context.command.params:
        name = str(parameter.name)
        source = context.get_parameter_source(name)
        if name in NOT_OF_THE_RESULTS or source is None or source.name == "DEFAULT":
            continue
        value = context.params[name]
        for each in value if isinstance(value, list | tuple) else [value]:
            words += [option for option in parameter.opts if option.startswith("--")][:1]
            words += [] if each is True else [str(each)]
    return shlex.join(words)


def run(
    suite: Suite,
    folder: Path,
    *,
    command: str,
    jobs: int,
    fresh: bool = False,
    inputs: Iterable[Path] = (),
    force: bool = False,
    metric: str = "macro_f1",
    control: str | None = None,
    scheduler: str | None = None,
) -> None:
    """Run the missing tasks of a suite, then print and write the results.

    Parameters
    ----------
    suite : Suite
        What to run.
    folder : Path
        Folder for the results store, the summary and the report.
    command : str
        The command line, named in the report and after Ctrl-C.
    jobs : int
        Number of processes; -1 uses all processors.
    fresh : bool, default=False
        Whether to discard the results of an earlier run.
    inputs : iterable of Path
        Input files, which are never overwritten.
    force : bool, default=False
        Whether files of other kinds in the folder may be replaced.
    metric : str, default="macro_f1"
        The metric to print besides macro F1.
    control : str, optional
        The method that the others are tested against.
    scheduler : str, optional
        Address of a Dask scheduler that runs the fits.
    """
    from fuselearn.lab import ResultStore, StoreError, run_suite
    from fuselearn.lab.report import collect, render

    if jobs == 0 or jobs < -1:
        leave(f"--jobs must be a positive integer, or -1 for all processors; got {jobs}.")
    path, summary, page = folder / STORE, folder / "summary.csv", folder / "report.html"
    with sentences(f"Finished results are kept in {path}; resume with: {command}", wrong_use=()):
        check_output(page, REPORT, inputs, force=force)
        check_output(summary, SUMMARY, inputs, force=force)
        if fresh:
            _forget(path)
        folder.mkdir(parents=True, exist_ok=True)
        with ResultStore(path) as store:
            try:
                with _workers_of(scheduler):
                    run_suite(suite, store, n_jobs=jobs, command=command)
            except StoreError as error:
                leave(f"{error} Use --fresh to discard the old results.")
            material = collect(store, suite.name, control)
        material.summary.round(6).to_csv(summary, index=False, lineterminator="\n")
        _print_scores(material, metric)
        page.write_text(render(material), encoding="utf-8")
    if material.results["macro_f1"].isna().all():
        leave(f"Every method failed; the errors are listed in {page}.", FAILED)
    typer.echo(f"Report written to {page.resolve()}")


@contextmanager
def _workers_of(scheduler: str | None) -> Iterator[None]:
    """Run the tasks of a block on a Dask cluster."""
    if scheduler is None:
        yield
        return
    from fuselearn._extras import require

    require("--scheduler", "dask", "distributed")
    from distributed import Client
    from joblib import parallel_config

    try:
        client = Client(scheduler, timeout="10s")
    except (OSError, ValueError) as error:
        leave(f"There is no Dask scheduler at {scheduler}: {error}.", FAILED)
    with client, parallel_config("dask"):
        yield


def _forget(path: Path) -> None:
    """Delete a results store, but no other file."""
    from fuselearn.lab import ResultStore

    if path.exists():
        ResultStore(path, create=False).close()
        for suffix in ("", "-wal", "-shm"):
            path.with_name(path.name + suffix).unlink(missing_ok=True)


def _is_finished(path: Path, suite: Suite) -> bool:
    """Return whether a store holds every result of a suite."""
    from fuselearn.lab import ResultStore

    if not path.exists():
        return False
    with ResultStore(path, create=False) as store:
        return len(store.finished(suite.name)) >= suite.n_results


def _read_fractions(text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        leave(f"--noise must be fractions separated by commas, such as 0,0.1,0.2; got {text!r}.")


def _wide_console() -> Console:
    """Return a console as wide as the terminal; in a pipe, wide enough for any table."""
    from rich.console import Console

    console = Console()
    return console if console.is_terminal else Console(width=PIPE_WIDTH)


def _print_scores(material: Material, metric: str) -> None:
    """Print mean scores and ranks for every dataset and noise level, the conclusion, and the definition of F1."""
    from fuselearn.lab.report import describe_convention

    console = _wide_console()
    suite, summary = material.suite, material.summary
    parts = [summary]
    if len(suite.noise) > len(suite.datasets):
        parts = [part for _, part in summary.groupby("dataset", sort=False)]
    for name in dict.fromkeys(["macro_f1", metric]):
        for part in parts:
            console.print(_tabulate(material, part, name))
    console.print(material.headline, style="bold", highlight=False, markup=False)
    for line in (material.evidence, describe_convention(suite)):
        console.print(line, highlight=False, markup=False)


def _tabulate(material: Material, summary: pd.DataFrame, name: str) -> Table:
    """Return the table of a metric: one line per method, or per dataset if there are several, the best in bold."""
    from rich.markup import escape
    from rich.table import Table

    from fuselearn.lab.comparison import DIGITS
    from fuselearn.lab.report import format_percent, name_score
    from fuselearn.lab.suites import LOSSES

    average = "average rank"
    keys = [summary["noise"], summary["dataset"]]
    scores = summary[name].round(DIGITS)
    ranks = scores.groupby(keys).rank(ascending=name in LOSSES)
    texts = scores.map("{:.4f}".format) + ranks.map(" ({:g})".format)
    texts = texts.where(ranks > ranks.groupby(keys).transform("min"), "[bold]" + texts + "[/bold]")
    methods, noise, datasets = (summary[key].unique().tolist() for key in ("method", "noise", "dataset"))
    cells = summary.assign(text=texts.where(scores.notna(), "failed"))
    cells = cells.pivot(index=["noise", "dataset"], columns="method", values="text")[methods]
    title = name_score(name)
    title = f"{title[0].upper()}{title[1:]} and rank"
    if len(datasets) == 1:
        table = Table("method", title=f"{title}, {escape(datasets[0])}", title_justify="left")
        for level in noise:
            table.add_column(name_score(name) if noise == [0] else f"{format_percent(level)} noise", justify="right")
        table.add_column("seconds per fit", justify="right")
        seconds = summary.groupby("method")["fit_seconds"].mean()
        for method, line in cells.T.iterrows():
            table.add_row(escape(str(method)), *line, f"{seconds[method]:.2g}")
        return table
    table = Table(*([] if noise == [0] else ["noise"]), "dataset", title=title, title_justify="left")
    for method in methods:
        table.add_column(escape(method), justify="right", overflow="fold")
    for level in noise:
        shown = [] if noise == [0] else [format_percent(level)]
        for dataset in datasets:
            table.add_row(*shown, escape(dataset), *cells.loc[(level, dataset)])
        comparison = material.levels[level]
        if name == "macro_f1" and comparison is not None and not comparison.over_folds:
            averages = comparison.ranks.reindex(methods).map("{:.2f}".format).replace("nan", "–")
            table.add_row(*shown, average, *averages, style="bold", end_section=True)
    return table
