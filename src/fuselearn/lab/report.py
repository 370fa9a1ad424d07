"""Write the report of a suite: one self-contained HTML file that opens with the result.

`collect` reads what it shows, `render` fills the template ``templates/report.html``.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from fuselearn._messages import format_seconds
from fuselearn.lab import figures
from fuselearn.lab.comparison import DIGITS, Comparison, compare_methods
from fuselearn.lab.pages import format_percent, inline_svg, make_environment
from fuselearn.lab.scoring import LOSSES, SCORES, name_score
from fuselearn.lab.statistics import friedman_posthoc
from fuselearn.lab.store import PACKAGES, ResultStore
from fuselearn.lab.suites import Suite
from fuselearn.lab.summary import Totals, summarize_results, totals

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Material", "collect", "render", "write_report"]

MOST_LABELS = 40
"""Largest number of labels shown for a dataset."""


@dataclass(frozen=True, eq=False)
class Material:
    """The content of a report: what `ResultStore` holds about a suite."""

    suite: Suite
    results: pd.DataFrame
    label_scores: pd.DataFrame
    settings: Mapping[str, str]
    totals: Totals

    @cached_property
    def summary(self) -> pd.DataFrame:
        """The means over the folds."""
        return summarize_results(self.results, self.suite)

    @cached_property
    def overall(self) -> Comparison | None:
        """The methods compared over all levels of noise together."""
        return compare_methods(self.results, self.suite.methods)

    @cached_property
    def levels(self) -> dict[float, Comparison | None]:
        """The methods compared at each level of noise."""
        levels = sorted(self.results["noise"].unique())
        if len(levels) == 1:
            return {levels[0]: self.overall}
        return {level: compare_methods(self.results, self.suite.methods, [level]) for level in levels}

    @property
    def headline(self) -> str:
        """The result in one sentence."""
        return "No method finished." if self.overall is None else self.overall.headline

    @property
    def evidence(self) -> str:
        """The test behind the headline."""
        return "" if self.overall is None else f"Test: {self.overall.test_name}, {self.overall.rows}."


def write_report(
    store: ResultStore | str | os.PathLike[str],
    path: str | os.PathLike[str],
    *,
    suite: str | None = None,
    command: str = "",
) -> Path:
    """Write the report of a suite as one self-contained HTML file.

    Parameters
    ----------
    store : ResultStore or path
        The results.
    path : str or path
        The HTML file. Missing folders are created.
    suite : str, optional
        The name of the suite; needed only if the store holds several.
    command : str, optional
        The command that produced the results, to show in the report.

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
    >>> from fuselearn.lab import Suite, run_suite, write_report
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> suite = Suite("mine", ["wine"], ["Bayes", "Neighbors"], repeats=1, folds=3)
    >>> models = {"Bayes": GaussianNB(), "Neighbors": KNeighborsClassifier()}
    >>> _ = run_suite(suite, folder / "results.db", estimators=models)
    >>> page = write_report(folder / "results.db", folder / "report.html")
    >>> "Bayes has the best mean score of 2 methods" in page.read_text(encoding="utf-8")
    True
    """
    opened = nullcontext(store) if isinstance(store, ResultStore) else ResultStore(store, create=False)
    with opened as source:
        page = render(collect(source, suite), command=command)
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page, encoding="utf-8")
    return path


def collect(store: ResultStore, suite: str | None = None) -> Material:
    """Collect the content of a report; the parameters are those of `write_report`."""
    plan, results = store.suite(suite), store.results(suite)
    if results.empty:
        raise ValueError(f"The suite {plan.name!r} has no results yet.")
    return Material(plan, results, store.label_scores(suite), store.settings(suite), totals(store, suite))


def render(material: Material, *, command: str = "") -> str:
    """Return the page, a complete HTML document."""
    suite, results, summary = material.suite, material.results, material.summary
    levels, cost = material.levels, material.totals
    compared = {_name_level(level): comparison for level, comparison in levels.items() if comparison is not None}
    if material.overall is not None and len(levels) > 1:
        compared["All levels of noise"] = material.overall
    return (
        make_environment()
        .get_template("report.html")
        .render(
            suite=suite,
            headline=material.headline,
            evidence=material.evidence,
            facts=_facts(material),
            noisy=bool((results["noise"] > 0).any()),
            ranks=_rank_table(compared, suite.methods) if len(levels) > 1 and compared else None,
            levels=[
                (_name_level(level), _score_table(summary[summary["noise"] == level], comparison, suite), comparison)
                for level, comparison in levels.items()
            ],
            measures=_measure_tables(summary, suite) if suite.task == "multilabel" else {},
            labels=_label_tables(material.label_scores, suite.methods),
            tests=[(name, found, _p_rows(found)) for name, found in compared.items() if len(found.methods) > 1],
            pictures=[
                {"name": name, "caption": caption, "svg": inline_svg(figure, prefix=name)}
                for name, caption, figure in draw(material)
            ],
            failures=_failures(results),
            command=command,
            cost=f"{cost.fits:,} fits, {format_seconds(cost.fit_seconds)} of fitting in all processes, "
            f"{format_seconds(cost.elapsed_seconds)} elapsed.",
            settings={method: material.settings[method] for method in suite.methods if method in material.settings},
            versions=[
                (package.replace("_", "-"), ", ".join(sorted(results[package].dropna().unique())))
                for package in PACKAGES
            ],
        )
    )


def _name_level(noise: float) -> str:
    return "Clean labels" if noise == 0 else f"{format_percent(noise)} label noise"


def _facts(material: Material) -> list[tuple[str, Any]]:
    suite, results = material.suite, material.results
    levels = sorted(results["noise"].unique())
    noise = [("label noise", ", ".join(map(format_percent, levels)))] if levels != [0] else []
    missing = material.totals.expected - material.totals.results
    return [
        ("datasets", results["dataset"].nunique()),
        ("methods", results["method"].nunique()),
        *noise,
        ("folds", f"{suite.repeats} × {suite.folds}"),
        ("results", f"{len(results):,}"),
        *([("missing results", f"{missing:,}")] if missing else []),
    ]


def _make_table(values: pd.DataFrame, order: pd.DataFrame, small: pd.DataFrame, *, digits: int) -> dict[str, Any]:
    """Format numbers and the small print beside them; cells are shaded by their order in the row, the lowest best."""
    low, high = order.min(axis=1), order.max(axis=1)
    place = order.sub(low, axis=0).div((high - low).where(high > low, 1), axis=0)
    rows = []
    for label, *cells in zip(
        map(str, values.index), values.to_numpy(), small.to_numpy(), place.to_numpy(), strict=True
    ):
        rows.append(
            (
                label,
                [
                    None
                    if value != value
                    else {"value": f"{value:.{digits}f}", "small": note, "shade": f"{1 - at:.2f}", "best": at == 0}
                    for value, note, at in zip(*cells, strict=True)
                ],
            )
        )
    return {"methods": list(values.columns), "rows": rows}


def _rank_table(compared: Mapping[str, Comparison], methods: Any) -> dict[str, Any]:
    """Return the average ranks at each level of noise, with the mean scores in small print."""
    ranks = pd.DataFrame({name: comparison.ranks for name, comparison in compared.items()}).T
    shown = [method for method in methods if method in ranks]
    means = pd.DataFrame({name: comparison.means for name, comparison in compared.items()}).T
    return _make_table(ranks[shown], ranks[shown], means[shown].map("{:.3f}".format), digits=2)


def _score_table(summary: pd.DataFrame, comparison: Comparison | None, suite: Suite) -> dict[str, Any]:
    """Return the mean scores at one level of noise, with the ranks in small print, and the average ranks below."""
    means = summary.pivot(index="dataset", columns="method", values="score").round(DIGITS)
    means = means.loc[summary["dataset"].unique(), [method for method in suite.methods if method in means]]
    ranks = means.rank(axis=1, ascending=False)
    table = _make_table(means, ranks, ranks.map("{:g}".format), digits=DIGITS)
    if comparison is not None and not comparison.over_folds and len(means) > 1:
        average = comparison.ranks.reindex(means.columns).to_frame("average rank").T
        table["rows"] += _make_table(average, average, average.map(lambda _: ""), digits=2)["rows"]
    return table


def _measure_tables(summary: pd.DataFrame, suite: Suite) -> dict[str, dict[str, Any]]:
    """Return for each level of noise the means of all measures, with the average ranks in small print."""
    tables = {}
    for noise, rows in summary.groupby("noise"):
        means, ranks = {}, {}
        for score in SCORES[suite.task]:
            scores = rows.pivot(index="dataset", columns="method", values=score).round(DIGITS)
            name = f"{name_score(score)}{' ↓' if score in LOSSES else ''}"
            means[name] = scores.mean(skipna=False).round(DIGITS)
            ranks[name] = scores.dropna(axis=1).rank(axis=1, ascending=score in LOSSES).mean()
        values = pd.DataFrame(means).T[[method for method in suite.methods if method in set(rows["method"])]]
        lower_first = values.mul([1 if name.endswith("↓") else -1 for name in values.index], axis=0)
        notes = pd.DataFrame(ranks).T.reindex(columns=values.columns).map("{:.2f}".format)
        if rows["dataset"].nunique() == 1:
            notes = notes.map(lambda _: "")
        tables[_name_level(noise)] = _make_table(values, lower_first, notes, digits=DIGITS)
    return tables


def _label_tables(label_scores: pd.DataFrame, methods: Any) -> dict[str, dict[str, Any]]:
    """Return for each dataset the F1 of its labels, the most frequent first, at the lowest level of noise."""
    tables = {}
    clean = label_scores[label_scores["noise"] == label_scores["noise"].min()]
    for name, rows in clean.groupby("dataset", sort=False):
        # Each repeat has every sample once.
        positives = rows.groupby(["method", "repeat", "label"], sort=False)["positives"].sum().groupby("label").max()
        order = positives.sort_values(ascending=False, kind="stable").index
        f1 = rows.pivot_table(index="label", columns="method", values="f1")
        shown = [method for method in methods if method in f1]
        f1 = f1.loc[order[:MOST_LABELS], shown].round(DIGITS)
        auc = rows.pivot_table(index="label", columns="method", values="auc") if "auc" in rows else f1 * float("nan")
        notes = auc.reindex_like(f1).map("{:.3f}".format, na_action="ignore").fillna("")
        f1.index = [f"{label} ({positives[label]})" for label in f1.index]
        tables[str(name)] = {
            **_make_table(f1, -f1, notes, digits=3),
            "n_hidden": len(order) - len(f1),
        }
    return tables


def _p_rows(comparison: Comparison) -> list[tuple[str, str, float, float, str]]:
    """Return the best method against each other one: name, record, difference, p-value, verdict."""
    return [
        (
            str(other),
            f"{row.wins} / {row.ties} / {row.losses}",
            float(row.difference),
            float(row.p_corrected),
            "better" if other in comparison.beaten else "" if row.p_corrected != row.p_corrected else "not significant",
        )
        for other, row in zip(comparison.pairs.index, comparison.pairs.itertuples(), strict=True)
    ]


def _failures(results: pd.DataFrame) -> list[tuple[str, str, str]]:
    """Return how many fits of which method failed, on which datasets, and the message."""
    tried = results.groupby("method").size()
    groups = results[results["error"].notna()].groupby(["method", "error"], sort=False)
    return [
        (f"{method}: {len(rows)} of {tried[method]} fits", ", ".join(rows["dataset"].unique()), error)
        for (method, error), rows in groups
    ]


def draw(material: Material) -> Iterator[tuple[str, str, Figure]]:
    """Yield name, caption and figure of every picture that the results allow."""
    scored, overall = material.summary.dropna(subset=["score"]), material.overall
    if overall is None:
        return
    if len(overall.noise) > 1:
        if not overall.over_folds and len(overall.methods) > 1:
            complete = scored["dataset"].isin(overall.scores.index) & scored["method"].isin(overall.methods)
            yield (
                "rank",
                "Average rank against the fraction of wrong training labels.",
                figures.rank_against_noise(scored[complete], digits=DIGITS),
            )
        n_panels = scored["dataset"].nunique()
        figure = figures.score_against_noise(scored, columns=2 if n_panels in (2, 4) else 3)
        if n_panels == 1:
            figure.set_size_inches(6.0, 3.6)
        yield "score", "Mean macro F1 against the fraction of wrong training labels, per dataset.", figure
    for noise, comparison in material.levels.items():
        if comparison is not None and comparison.omnibus is not None:
            where = "" if len(material.levels) == 1 and noise == 0 else f", {_name_level(noise).lower()}"
            yield (
                f"difference{round(1000 * noise)}",
                f"Critical-difference diagram{where}: a bar joins methods that do not differ significantly.",
                figures.critical_difference(friedman_posthoc(comparison.scores, digits=DIGITS)),
            )
    timed = scored[scored["fit_seconds"] > 0]
    if timed["method"].nunique() > 1:
        caption = "Time of one fit (the line spans the middle half) against mean macro F1."
        yield "time", caption, figures.fit_time_against_score(timed)
