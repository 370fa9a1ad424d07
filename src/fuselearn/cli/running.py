"""Run a suite with a progress bar, print its table, and write its files."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from fuselearn._extras import EXTRAS
from fuselearn.cli.errors import FAILED, WRONG_USE, leave, sentences
from fuselearn.cli.outputs import check_output, run_outputs

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Console
    from rich.table import Table

    from fuselearn.lab.reporting.findings import Findings
    from fuselearn.lab.reporting.report import Material
    from fuselearn.lab.running.suites import Suite

__all__ = ["Place", "forget", "is_finished", "print_scores", "run", "wide_console"]

PIPE_WIDTH = 200


@dataclass(frozen=True)
class Place:
    """The paths of the files of a run.

    Parameters
    ----------
    folder : Path
        For the report and the summary.
    store : Path
        The results store.
    """

    folder: Path
    store: Path

    @property
    def report(self) -> Path:
        """The HTML report."""
        return self.folder / "report.html"

    @property
    def summary(self) -> Path:
        """The means as CSV; the costs are stored next to it as JSON."""
        return self.folder / "summary.csv"


def run(
    suite: Suite,
    place: Place,
    *,
    command: str,
    jobs: int,
    backend: str | None = None,
    scheduler: str | None = None,
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
    place : Place
        Where the files go.
    command : str
        The command line, named in the report and after Ctrl-C.
    jobs : int
        Number of processes; -1 uses all processors.
    backend, scheduler : str, optional
        As for `fuselearn.lab.running.runner.run_suite`.
    fresh : bool, default=False
        Whether results of an earlier run are discarded.
    inputs : iterable of Path
        The user's files that are read, and so never overwritten.
    force : bool, default=False
        Whether files of other kinds in the folder may be replaced.
    metric : str, default="macro_f1"
        A key of `fuselearn.lab.running.scoring.SCORES`, to print besides macro F1.
    """
    from fuselearn.lab.reporting.report import collect, render
    from fuselearn.lab.reproduction.homer import folds_path
    from fuselearn.lab.running.runner import run_suite
    from fuselearn.lab.running.store import ResultStore, StoreError
    from fuselearn.lab.statistics.summary import write_summary

    resume = f"Finished results are kept in {place.store}; resume with: {command}"
    with sentences(resume):
        for output in run_outputs(place, multilabel=suite.task == "multilabel"):
            check_output(output, inputs, force=force)
        if fresh:
            forget(place.store)
        place.folder.mkdir(parents=True, exist_ok=True)
        place.store.parent.mkdir(parents=True, exist_ok=True)
        with ResultStore(place.store) as store:
            try:
                outcome = run_suite(suite, store, n_jobs=jobs, backend=backend, scheduler=scheduler)
            except StoreError as error:
                leave(f"{error} Use --fresh to discard the old results.", WRONG_USE)
            except ValueError as error:
                if scheduler is None:
                    raise
                leave(str(error), WRONG_USE)
            for method, package in outcome.missing.items():
                install = f": pip install 'fuselearn[{EXTRAS[package]}]'" if package in EXTRAS else ""
                typer.echo(f"{method} did not run: it needs the package {package}{install}.", err=True)
            material = collect(store, suite=suite, command=command)
            write_summary(material.summary, place.summary)
            if suite.task == "multilabel":  # its report compares methods over folds
                folds = material.results[["dataset", "method", "repeat", "fold", "macro_f1"]]
                folds.round({"macro_f1": 6}).to_csv(folds_path(place.summary), index=False, lineterminator="\n")
        place.summary.with_suffix(".json").write_text(_costs(material), encoding="utf-8")
        print_scores(material, metric)
        place.report.write_text(render(material), encoding="utf-8")
    if material.results["macro_f1"].isna().all():
        leave(f"Every method failed; the errors are listed in {place.report}.", FAILED)
    typer.echo(f"Report written to {place.report.resolve()}")


def forget(path: Path) -> None:
    """Delete a results store, but no other file."""
    from fuselearn.lab.running.store import ResultStore

    if path.exists():
        ResultStore(path, create=False).close()
        for suffix in ("", "-wal", "-shm"):
            path.with_name(path.name + suffix).unlink(missing_ok=True)


def is_finished(path: Path, suite: str) -> bool:
    """Return whether a store holds every result of a suite."""
    from fuselearn.lab.running.store import ResultStore
    from fuselearn.lab.statistics.summary import totals

    if not path.exists():
        return False
    with ResultStore(path, create=False) as store:
        if suite not in store.suites():
            return False
        total = totals(store, suite)
        return total.results >= total.expected


def wide_console() -> Console:
    """Return a console as wide as the terminal; in a pipe, wide enough for any table."""
    from rich.console import Console

    console = Console()
    return console if console.is_terminal else Console(width=PIPE_WIDTH)


def print_scores(material: Material, metric: str = "macro_f1") -> None:
    """Print mean macro F1 and ranks for every dataset and noise level, their averages, and the conclusion."""
    from fuselearn.lab.reporting.text import answer

    summary, findings = material.summary, material.findings
    methods = [method for method in material.suite.methods if method in set(summary["method"])]
    console = wide_console()
    if summary["dataset"].nunique() == 1:
        for name in dict.fromkeys(["macro_f1", metric]):
            console.print(_methods_table(summary.assign(score=summary[name]), methods, name))
    else:
        console.print(_datasets_table(summary, methods, findings))
    said = answer(findings)
    console.print(said.headline, style="bold", highlight=False, markup=False)
    for sentence in said.sentences:
        console.print(sentence, highlight=False, markup=False)


def _methods_table(summary: pd.DataFrame, methods: list[str], metric: str) -> Table:
    """Return the table of one dataset, with one line per method so that any number of them fits a terminal."""
    from rich.markup import escape
    from rich.table import Table

    from fuselearn.lab.reporting.text import percent
    from fuselearn.lab.running.scoring import LOSSES

    (dataset,) = summary["dataset"].unique()
    called = {"macro_f1": "macro F1", "auc": "AUC"}.get(metric, metric.replace("_", " "))
    table = Table(title=escape(f"{called[0].upper()}{called[1:]} and rank, {dataset}"), title_justify="left")
    table.add_column("method")
    cells = []
    for noise, rows in summary.groupby("noise"):
        table.add_column(called if (summary["noise"] == 0).all() else f"{percent(noise)} noise", justify="right")
        cells.append(_ranked(rows.set_index("method")["score"].reindex(methods), lower_is_better=metric in LOSSES))
    for method, *scores in zip(methods, *cells, strict=True):
        table.add_row(escape(method), *scores)
    return table


def _datasets_table(summary: pd.DataFrame, methods: list[str], findings: Findings) -> Table:
    """Return the table of several datasets, with one line each and one for the average ranks at each noise level."""
    from rich.markup import escape
    from rich.table import Table

    from fuselearn.lab.reporting.text import percent

    noisy = bool((summary["noise"] > 0).any())
    table = Table(title="Macro F1 and rank", title_justify="left")
    if noisy:
        table.add_column("noise")
    table.add_column("dataset", no_wrap=True)
    for method in methods:
        table.add_column(escape(method), justify="right", overflow="fold")
    for noise, rows in summary.groupby("noise"):
        level = [percent(noise)] if noisy else []
        means = rows.pivot(index="dataset", columns="method", values="score").reindex(columns=methods)
        for dataset in rows["dataset"].unique():
            table.add_row(*level, escape(dataset), *_ranked(means.loc[dataset]))
        comparison = findings.levels.get(noise)
        if comparison is not None and comparison.n_rows > 1:
            ranks = comparison.ranks
            cells = [f"{ranks[m]:.2f}" if m in ranks else "–" for m in methods]
            table.add_row(*level, "average rank", *cells, style="bold")
        table.add_section()
    return table


def _ranked(scores: pd.Series, *, lower_is_better: bool = False) -> list[str]:
    """Format scores with their ranks, the best in bold."""
    from fuselearn.lab.reporting.findings import DIGITS

    scores = scores.round(DIGITS)
    ranks = scores.rank(ascending=lower_is_better)
    return [_score(score, f"{rank:g}", best=rank == ranks.min()) for score, rank in zip(scores, ranks, strict=True)]


def _score(score: float, rank: str, *, best: bool) -> str:
    if score != score:
        return "failed"
    text = f"{score:.4f} ({rank})"
    return f"[bold]{text}[/bold]" if best else text


def _costs(material: Material) -> str:
    """Write the costs and package versions of a run, for the page about the reproduction."""
    from fuselearn.lab.running.store import PACKAGES

    results = material.results
    assert material.totals is not None
    costs = {
        "suite": material.suite.definition(),
        "totals": dataclasses.asdict(material.totals),
        "versions": {package: sorted(results[package].dropna().unique()) for package in PACKAGES},
    }
    return json.dumps(costs, indent=2) + "\n"
