"""Run a suite with a progress bar, print its table, and write its files."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from fuselearn.cli.errors import FAILED, WRONG_USE, leave, sentences
from fuselearn.cli.outputs import check_output, run_outputs

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Console
    from rich.table import Table

    from fuselearn.lab import Suite
    from fuselearn.lab.report import Material

__all__ = ["forget", "is_finished", "print_scores", "run", "wide_console"]

PIPE_WIDTH = 200
STORE = "results.db"


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
) -> None:
    """Run the missing tasks of a suite, then print and write the results.

    Parameters
    ----------
    suite : Suite
        What to run.
    folder : Path
        Where the results store, the summary and the report go.
    command : str
        The command line, named in the report and after Ctrl-C.
    jobs : int
        Number of processes; -1 uses all processors.
    fresh : bool, default=False
        Whether results of an earlier run are discarded.
    inputs : iterable of Path
        The user's files that are read, and so never overwritten.
    force : bool, default=False
        Whether files of other kinds in the folder may be replaced.
    metric : str, default="macro_f1"
        The score to print besides macro F1.
    """
    from fuselearn.lab import ResultStore, StoreError, run_suite
    from fuselearn.lab.report import collect, render

    path, summary, report = folder / STORE, folder / "summary.csv", folder / "report.html"
    with sentences(f"Finished results are kept in {path}; resume with: {command}"):
        for output in run_outputs(report, summary):
            check_output(output, inputs, force=force)
        if fresh:
            forget(path)
        folder.mkdir(parents=True, exist_ok=True)
        with ResultStore(path) as store:
            try:
                run_suite(suite, store, n_jobs=jobs, command=command)
            except StoreError as error:
                leave(f"{error} Use --fresh to discard the old results.", WRONG_USE)
            material = collect(store, suite.name)
        material.summary.round(6).to_csv(summary, index=False, lineterminator="\n")
        print_scores(material, metric)
        report.write_text(render(material), encoding="utf-8")
    if material.results["macro_f1"].isna().all():
        leave(f"Every method failed; the errors are listed in {report}.", FAILED)
    typer.echo(f"Report written to {report.resolve()}")


def forget(path: Path) -> None:
    """Delete a results store, but no other file."""
    from fuselearn.lab import ResultStore

    if path.exists():
        ResultStore(path, create=False).close()
        for suffix in ("", "-wal", "-shm"):
            path.with_name(path.name + suffix).unlink(missing_ok=True)


def is_finished(path: Path, suite: Suite) -> bool:
    """Return whether a store holds every result of a suite."""
    from fuselearn.lab import ResultStore

    if not path.exists():
        return False
    with ResultStore(path, create=False) as store:
        return len(store.finished(suite.name)) >= suite.n_results


def wide_console() -> Console:
    """Return a console as wide as the terminal; in a pipe, wide enough for any table."""
    from rich.console import Console

    console = Console()
    return console if console.is_terminal else Console(width=PIPE_WIDTH)


def print_scores(material: Material, metric: str = "macro_f1") -> None:
    """Print mean macro F1 and ranks for every dataset and noise level, their averages, and the conclusion."""
    summary = material.summary
    methods = [method for method in material.suite.methods if method in set(summary["method"])]
    console = wide_console()
    if summary["dataset"].nunique() == 1:
        for name in dict.fromkeys(["macro_f1", metric]):
            console.print(_methods_table(summary.assign(score=summary[name]), methods, name))
    else:
        console.print(_datasets_table(material, methods))
    console.print(material.headline, style="bold", highlight=False, markup=False)
    console.print(material.evidence, highlight=False, markup=False)


def _methods_table(summary: pd.DataFrame, methods: list[str], metric: str) -> Table:
    """Return the table of one dataset, with one line per method so that any number of them fits a terminal."""
    from rich.markup import escape
    from rich.table import Table

    from fuselearn.lab.report import format_percent, name_score
    from fuselearn.lab.suites import LOSSES

    (dataset,) = summary["dataset"].unique()
    called = name_score(metric)
    table = Table(title=escape(f"{called[0].upper()}{called[1:]} and rank, {dataset}"), title_justify="left")
    table.add_column("method")
    cells = []
    for noise, rows in summary.groupby("noise"):
        head = called if (summary["noise"] == 0).all() else f"{format_percent(noise)} noise"
        table.add_column(head, justify="right")
        cells.append(_ranked(rows.set_index("method")["score"].reindex(methods), lower_is_better=metric in LOSSES))
    for method, *scores in zip(methods, *cells, strict=True):
        table.add_row(escape(method), *scores)
    return table


def _datasets_table(material: Material, methods: list[str]) -> Table:
    """Return the table of several datasets, with one line each and one for the average ranks at each noise level."""
    from rich.markup import escape
    from rich.table import Table

    from fuselearn.lab.report import format_percent

    noisy = bool((material.summary["noise"] > 0).any())
    table = Table(title="Macro F1 and rank", title_justify="left")
    if noisy:
        table.add_column("noise")
    table.add_column("dataset", no_wrap=True)
    for method in methods:
        table.add_column(escape(method), justify="right", overflow="fold")
    for noise, rows in material.summary.groupby("noise"):
        level = [format_percent(noise)] if noisy else []
        means = rows.pivot(index="dataset", columns="method", values="score").reindex(columns=methods)
        for dataset in rows["dataset"].unique():
            table.add_row(*level, escape(dataset), *_ranked(means.loc[dataset]))
        comparison = material.levels[noise]
        if comparison is not None and not comparison.over_folds:
            ranks = comparison.ranks
            cells = [f"{ranks[m]:.2f}" if m in ranks else "–" for m in methods]
            table.add_row(*level, "average rank", *cells, style="bold")
        table.add_section()
    return table


def _ranked(scores: pd.Series, *, lower_is_better: bool = False) -> list[str]:
    """Format scores with their ranks, the best in bold."""
    from fuselearn.lab.comparison import DIGITS

    scores = scores.round(DIGITS)
    ranks = scores.rank(ascending=lower_is_better)
    return [_score(score, f"{rank:g}", best=rank == ranks.min()) for score, rank in zip(scores, ranks, strict=True)]


def _score(score: float, rank: str, *, best: bool) -> str:
    if score != score:
        return "failed"
    text = f"{score:.4f} ({rank})"
    return f"[bold]{text}[/bold]" if best else text
