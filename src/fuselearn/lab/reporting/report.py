"""Write the report: one self-contained HTML file that opens with the answer.

It combines `findings`, `text` and `pictures` in the template ``templates/report.html``.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from fuselearn._messages import format_seconds
from fuselearn.lab.published import load_published
from fuselearn.lab.reporting import text
from fuselearn.lab.reporting.commands import suggest_command
from fuselearn.lab.reporting.findings import DIGITS, Comparison, Findings, find
from fuselearn.lab.reporting.label_tables import tabulate_labels, tabulate_measures, tabulate_statistics
from fuselearn.lab.reporting.pages import make_environment
from fuselearn.lab.reporting.pictures import Picture, draw, train_traces
from fuselearn.lab.running.store import PACKAGES, ResultStore
from fuselearn.lab.running.suites import PAPER_METHODS, Suite
from fuselearn.lab.statistics.summary import KEYS, Totals, summarise_results, totals

__all__ = ["Material", "collect", "render", "write_report"]

LARGE_DIFFERENCE = 0.05
PUBLISHED_METHODS = {"KFHE (pruned)": "KFHE"}
"""The published method to compare with, where the names differ."""


@dataclass(frozen=True, eq=False)
class Material:
    """The content of a report.

    Parameters
    ----------
    suite : Suite
        The suite that was run.
    results : DataFrame
        One row per fit, as `ResultStore.results` returns them, in the order of the suite.
    settings : mapping of str to str
        The estimator of each method, if known.
    totals : Totals or None
        The cost of the run, if known.
    command : str
        The command that repeats the run; empty if unknown.
    label_scores : DataFrame or None
        The scores of each label, as `ResultStore.label_scores` returns them; None if unknown.
    """

    suite: Suite
    results: pd.DataFrame
    settings: Mapping[str, str]
    totals: Totals | None
    command: str
    label_scores: pd.DataFrame | None = None

    @cached_property
    def summary(self) -> pd.DataFrame:
        """The means over the folds."""
        return summarise_results(self.results, self.suite)

    @cached_property
    def findings(self) -> Findings:
        """The findings."""
        return find(self.results, self.suite.methods)


def write_report(
    source: ResultStore | str | os.PathLike[str] | pd.DataFrame,
    path: str | os.PathLike[str],
    *,
    suite: Suite | str | None = None,
    command: str | None = None,
    traces: bool = True,
) -> Path:
    """Write the report of a suite as one self-contained HTML file.

    Parameters
    ----------
    source : ResultStore, path of one, or DataFrame
        The results; a DataFrame has the columns of `ResultStore.results`.
    path : str or path
        The HTML file. Missing folders are created.
    suite : Suite or str, optional
        The suite, by name; needed only if the store holds several. Pass a `Suite` to plot traces of
        your own tables, since a store does not know their paths.
    command : str, optional
        The command that produced the results; derived from the name of the suite by default.
    traces : bool, default=True
        Whether to fit KFHE once more per dataset to plot how the filter converges. Ignored if KFHE
        is not among the methods.

    Returns
    -------
    path : Path

    Raises
    ------
    StoreError
        If the store cannot be read, or holds several suites and none is named.
    ValueError
        If there is no result.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from fuselearn.lab.reporting.report import write_report
    >>> from fuselearn.lab.running.runner import run_suite
    >>> from fuselearn.lab.running.suites import Suite
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> suite = Suite("mine", ["wine"], ["Bayes", "Neighbours"], repeats=1, folds=3)
    >>> models = {"Bayes": GaussianNB(), "Neighbours": KNeighborsClassifier()}
    >>> _ = run_suite(suite, folder / "results.db", estimators=models)
    >>> page = write_report(folder / "results.db", folder / "report.html")
    >>> "Bayes scores best of two methods" in page.read_text(encoding="utf-8")
    True
    """
    page = render(collect(source, suite=suite, command=command), traces=traces)
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page, encoding="utf-8")
    return path


def collect(
    source: ResultStore | str | os.PathLike[str] | pd.DataFrame,
    *,
    suite: Suite | str | None = None,
    command: str | None = None,
) -> Material:
    """Collect the content of a report; the parameters are those of `write_report`."""
    settings: Mapping[str, str] = {}
    cost = label_scores = None
    if isinstance(source, pd.DataFrame):
        results = source
        if not isinstance(suite, Suite):
            suite = _suite_of(results, suite or "results")
    else:
        with ExitStack() as stack:
            store = source
            if not isinstance(store, ResultStore):
                store = stack.enter_context(ResultStore(store, create=False))
            name = suite.name if isinstance(suite, Suite) else suite or store.only_suite()
            results, settings, cost = store.results(name), store.settings(name), totals(store, name)
            label_scores = store.label_scores(name)
            if not isinstance(suite, Suite):
                suite = store.suite(name)
    if results.empty:
        raise ValueError(f"The suite {suite.name!r} has no results yet.")
    results = _in_order(results, suite)
    command = suggest_command(suite) if command is None else command
    return Material(suite, results, settings, cost, command, label_scores)


def _in_order(results: pd.DataFrame, suite: Suite) -> pd.DataFrame:
    """Sort the results in the order of the suite's datasets and methods."""
    datasets = results["dataset"].map({name: place for place, name in enumerate(suite.datasets)})
    methods = results["method"].map({name: place for place, name in enumerate(suite.methods)})
    keyed = results.assign(_dataset=datasets, _method=methods)
    keyed = keyed.sort_values(["_dataset", "noise", "repeat", "fold", "_method"], kind="stable")
    return keyed.drop(columns=["_dataset", "_method"]).reset_index(drop=True)


def render(material: Material, *, traces: bool = True) -> str:
    """Render the page.

    Parameters
    ----------
    material : Material
        The content, from `collect`.
    traces : bool, default=True
        As for `write_report`.

    Returns
    -------
    page : str
        A complete HTML document.
    """
    suite, results = material.suite, material.results
    findings, summary = material.findings, material.summary
    fitted = train_traces(suite) if traces and "KFHE" in set(results["method"]) else {}
    pictures: list[Picture] = draw(summary, findings, fitted)
    return (
        make_environment()
        .get_template("report.html")
        .render(
            suite=suite,
            noisy=bool((results["noise"] > 0).any()),
            answer=text.answer(findings),
            facts=_facts(material),
            rank_table=_rank_table(findings, suite.methods),
            levels=[
                _level(findings.levels.get(noise), noise, summary, suite) for noise in sorted(summary["noise"].unique())
            ],
            measures=tabulate_measures(results, summary, suite.methods) if suite.task == "multilabel" else None,
            labels=[] if material.label_scores is None else tabulate_labels(material.label_scores, suite.methods),
            label_statistics=tabulate_statistics(suite) if suite.task == "multilabel" else [],
            statistics=_statistics(findings),
            pictures=pictures,
            published=_published(suite, summary),
            failures=_failures(results),
            unfinished=_unfinished(material),
            command=material.command,
            settings={method: material.settings[method] for method in suite.methods if method in material.settings},
            versions=_versions(results),
            cost=_cost(material),
        )
    )


def _suite_of(results: pd.DataFrame, name: str) -> Suite:
    """Infer the suite from a table of results, which does not contain the seed."""
    names = {key: list(results[key].unique()) for key in KEYS}
    return Suite(
        name,
        names["dataset"],
        names["method"],
        noise=sorted(names["noise"]),
        repeats=int(results["repeat"].max()) + 1,
        folds=max(2, int(results["fold"].max()) + 1),
        task="multilabel" if results["hamming_loss"].notna().any() else "multiclass",
    )


def _facts(material: Material) -> list[tuple[str, str]]:
    suite, results = material.suite, material.results
    levels = sorted(results["noise"].unique())
    noise = [("label noise", ", ".join(map(text.percent, levels)))] if levels != [0] else []
    return [
        ("datasets", str(results["dataset"].nunique())),
        ("methods", str(results["method"].nunique())),
        *noise,
        ("folds", f"{suite.repeats} × {suite.folds}"),
        ("results", f"{len(results):,}"),
    ]


def _rank_table(findings: Findings, methods: Any) -> dict[str, Any]:
    """Return the table of average ranks: one line per level of noise, and one for all together."""
    shown = [method for method in methods if any(method in c.methods for c in findings.levels.values())]
    lines = [(text.percent(level), comparison) for level, comparison in findings.levels.items()]
    if findings.overall is not None and len(findings.levels) > 1:
        lines.append(("all", findings.overall))
    return {
        "methods": shown,
        "lines": [
            {
                "label": label,
                "cells": [
                    _cell(f"{c.ranks[m]:.2f}", f"{c.means[m]:.3f}", _place(c.ranks, m)) if m in c.methods else None
                    for m in shown
                ],
            }
            for label, c in lines
        ],
    }


def _level(comparison: Comparison | None, noise: float, summary: pd.DataFrame, suite: Suite) -> dict[str, Any]:
    """Return the table of mean scores of all datasets and methods at one level of noise."""
    rows = summary[summary["noise"] == noise]
    methods = [method for method in suite.methods if method in set(rows["method"])]
    means = rows.pivot(index="dataset", columns="method", values="score")
    spread = rows.pivot(index="dataset", columns="method", values="sd")
    lines = []
    for dataset in rows["dataset"].unique():
        scores = means.loc[dataset, methods].round(DIGITS)
        ranks = scores.rank(ascending=False)
        lines.append(
            {
                "label": dataset,
                "cells": [
                    _cell(f"{scores[m]:.4f}", f"{ranks[m]:g}", _place(ranks, m), _sd(spread.loc[dataset, m]))
                    if pd.notna(scores[m])
                    else None
                    for m in methods
                ],
            }
        )
    average = None
    if comparison is not None and not comparison.over_folds and comparison.n_rows > 1:
        average = [
            _cell(f"{comparison.ranks[m]:.2f}", "", _place(comparison.ranks, m)) if m in comparison.methods else None
            for m in methods
        ]
    return {
        "noise": noise,
        "methods": methods,
        "lines": lines,
        "average": average,
        "left_out": None if comparison is None else comparison.left_out,
    }


def _cell(value: str, small: str, place: float, title: str = "") -> dict[str, Any]:
    return {"value": value, "small": small, "shade": f"{1 - place:.2f}", "best": place == 0, "title": title}


def _sd(value: float) -> str:
    return "" if pd.isna(value) else f"standard deviation over the folds {value:.4f}"


def _place(ranks: pd.Series, method: str) -> float:
    """Return 0 for the best rank and 1 for the worst."""
    low, high = ranks.min(), ranks.max()
    return float((ranks[method] - low) / (high - low)) if high > low else 0.0


def _statistics(findings: Findings) -> list[dict[str, Any]]:
    """Return the tests as sentences and small tables, all levels together first."""
    asked: list[tuple[str, Comparison]] = []
    if findings.overall is not None and len(findings.levels) > 1:
        asked.append(("All levels of noise together", findings.overall))
    if findings.noisy is not None and len(findings.noisy.noise) > 1 and findings.clean is not None:
        asked.append((f"Under noise ({text.noise_levels(findings.noisy.noise)})", findings.noisy))
    for level, comparison in findings.levels.items():
        asked.append((_level_title(level, alone=len(findings.levels) == 1), comparison))
    return [_tests(title, comparison) for title, comparison in asked if len(comparison.methods) > 1]


def _level_title(noise: float, *, alone: bool) -> str:
    if noise == 0:
        return "All methods" if alone else "Clean labels"
    return f"{text.percent(noise)} label noise"


def _tests(title: str, comparison: Comparison) -> dict[str, Any]:
    intervals = comparison.intervals
    pairs = comparison.pairs
    return {
        "title": title,
        "sentences": [
            sentence
            for sentence in (
                text.describe_omnibus(comparison),
                text.describe_pairs(comparison),
                text.describe_intervals(comparison),
            )
            if sentence
        ],
        "control": comparison.control,
        "pairs": [
            {
                "versus": other,
                "record": f"{row.wins} / {row.ties} / {row.losses}",
                "difference": text.signed(row.difference),
                "p": text.p_number(row.p_corrected),
                "verdict": text.verdict(comparison, str(other)),
            }
            for other, row in zip(pairs.index, pairs.itertuples(), strict=True)
        ],
        "ranks": [
            {
                "method": method,
                "rank": f"{comparison.ranks[method]:.2f}",
                "low": float(intervals.low[method]),
                "high": float(intervals.high[method]),
                "mean": float(comparison.ranks[method]),
            }
            for method in comparison.standing
        ],
        "interval_note": ", over folds that share training samples" if comparison.over_folds else "",
        "worst_rank": len(comparison.methods),
        "counted": _counted(comparison),
    }


def _counted(comparison: Comparison) -> str:
    """Describe what wins, ties and losses were counted over."""
    rows = text.count(comparison.n_rows, "fold" if comparison.over_folds else "dataset")
    return rows if len(comparison.noise) == 1 else f"{rows} at {text.count(len(comparison.noise), 'level')} of noise"


def _published(suite: Suite, summary: pd.DataFrame) -> dict[str, Any] | None:
    """Compare the scores with the paper's, for the suites that repeat its experiments."""
    if suite.name.split("-")[0] != "kfhe":
        return None
    printed = load_published("kfhe_scores").set_index(KEYS)["score"]
    ours = summary.dropna(subset=["score"]).set_index(KEYS)["score"]
    keys = pd.MultiIndex.from_tuples([(d, n, PUBLISHED_METHODS.get(m, m)) for d, n, m in ours.index], names=KEYS)
    gap = pd.Series(ours.to_numpy() - printed.reindex(keys).to_numpy(), index=ours.index).dropna()
    if gap.empty:
        return None
    methods = [method for method in PAPER_METHODS if method in set(gap.index.get_level_values("method"))]
    levels = []
    for noise, cells in gap.groupby(level="noise"):
        table = cells.droplevel("noise").unstack("method")
        table = table.reindex([dataset for dataset in suite.datasets if dataset in table.index])
        levels.append(
            {
                "noise": noise,
                "lines": [(dataset, [_gap(table.at[dataset, m]) for m in methods]) for dataset in table.index],
                "mean": [f"{table[m].abs().mean():.4f}" for m in methods],
            }
        )
    exact = suite.repeats == 10 and suite.folds == 10
    return {
        "methods": methods,
        "levels": levels,
        "exact": exact,
        "n_cells": len(gap),
        "n_large": int((gap.abs() > LARGE_DIFFERENCE).sum()),
    }


def _gap(value: float) -> dict[str, Any] | None:
    if pd.isna(value):
        return None
    return {
        "value": text.signed(value, 4),
        "large": abs(value) > LARGE_DIFFERENCE,
        "shade": f"{min(1.0, abs(value) / 0.1):.2f}",
        "above": value > 0,
    }


def _failures(results: pd.DataFrame) -> list[dict[str, Any]]:
    """Group errors by method and message."""
    failed = results[results["error"].notna()]
    tried = results.groupby("method").size()
    groups = failed.groupby(["method", "error"], sort=False)
    return [
        {
            "method": method,
            "error": error,
            "n": len(rows),
            "of": int(tried[method]),
            "datasets": text.join(rows["dataset"].unique()),
        }
        for (method, error), rows in groups
    ]


def _unfinished(material: Material) -> str:
    """Describe what is missing from the suite, if anything is."""
    suite, results = material.suite, material.results
    absent = [method for method in suite.methods if method not in set(results["method"])]
    said = []
    if absent:
        said.append(f"{text.join(absent)} did not run; the package is probably not installed.")
    missing = suite.n_results * (len(suite.methods) - len(absent)) // len(suite.methods) - len(results)
    if missing > 0:
        said.append(f"The run is incomplete: {missing:,} of {suite.n_results:,} fits are missing.")
    return " ".join(said)


def _versions(results: pd.DataFrame) -> list[tuple[str, str]]:
    return [
        (package.replace("_", "-"), ", ".join(sorted(results[package].dropna().unique())))
        for package in PACKAGES
        if package in results and results[package].notna().any()
    ]


def _cost(material: Material) -> str:
    cost = material.totals
    if cost is None:
        return ""
    return (
        f"{cost.fits:,} fits with {cost.components:,} trees or other components; "
        f"{format_seconds(cost.fit_seconds + cost.predict_seconds)} of fitting and predicting in all processes, "
        f"{format_seconds(cost.elapsed_seconds)} elapsed."
    )
