"""Write the report of a suite: one self-contained HTML file that opens with the result.

`collect` reads the results, `render` fills the template ``templates/report.html``.
"""

from __future__ import annotations

import dataclasses
import io
import math
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from fuselearn._messages import format_seconds
from fuselearn.lab.comparison import DIGITS, Comparison, compare_methods
from fuselearn.lab.methods import METHODS
from fuselearn.lab.statistics import friedman_posthoc
from fuselearn.lab.store import PACKAGES, ResultStore, summarize_results
from fuselearn.lab.suites import LOSSES, SCORES, Suite

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NBSP = "\N{NO-BREAK SPACE}"

MOST_LABELS = 40
"""Maximum number of labels shown for a dataset."""


@dataclass(frozen=True, eq=False)
class Material:
    """The content of a report: the results and the settings of a suite."""

    suite: Suite
    results: pd.DataFrame
    label_scores: pd.DataFrame
    settings: Mapping[str, str]
    totals: Mapping[str, Any]
    commands: tuple[str, ...] = ()
    control: str | None = None

    @cached_property
    def summary(self) -> pd.DataFrame:
        """The means over the folds."""
        return summarize_results(self.results, self.suite)

    @cached_property
    def overall(self) -> Comparison | None:
        """The methods compared over all levels of noise together."""
        return self._compare(None)

    def _compare(self, noise: list[float] | None) -> Comparison | None:
        suite = self.suite
        return compare_methods(self.results, suite.methods, noise, n_splits=suite.folds, control=self.control)

    @cached_property
    def levels(self) -> dict[float, Comparison | None]:
        """The methods compared at each level of noise."""
        levels = sorted(self.results["noise"].unique())
        if len(levels) == 1:
            return {levels[0]: self.overall}
        return {level: self._compare([level]) for level in levels}

    def reference(self, comparison: Comparison) -> str:
        """Return the method to compare with the others: the control, or the best over all noise levels."""
        overall = self.overall
        chosen = comparison.control or (comparison.best if overall is None else overall.best)
        return chosen if chosen in comparison.methods else comparison.best

    @property
    def headline(self) -> str:
        """The result in one sentence."""
        return "No method finished." if self.overall is None else self.overall.headline

    @property
    def evidence(self) -> str:
        """The test of the headline."""
        return "" if self.overall is None else f"Test: {self.overall.test_name}, {self.overall.rows}."


def write_report(
    store: ResultStore | str | os.PathLike[str],
    path: str | os.PathLike[str],
    *,
    suite: str | None = None,
    control: str | None = None,
) -> Path:
    """Write the report of a suite as one self-contained HTML file.

    Parameters
    ----------
    store : ResultStore or path
        The results.
    path : str or path
        The HTML file. Missing folders are created.
    suite : str, optional
        The name of the suite; needed only if the store contains several.
    control : str, optional
        The method to test all others against. By default all pairs are tested, and the report shows the pairs with the
        best method.

    Returns
    -------
    path : Path

    Raises
    ------
    StoreError
        If the store cannot be read, or contains several suites and none is named.
    ValueError
        If there is no result, or the control is not a method of the suite.

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
        page = render(collect(source, suite, control))
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page, encoding="utf-8")
    return path


def collect(store: ResultStore, suite: str | None = None, control: str | None = None) -> Material:
    """Collect the content of a report; the parameters are those of `write_report`."""
    plan, results = store.suite(suite), store.results(suite)
    if results.empty:
        raise ValueError(f"The suite {plan.name!r} has no results yet.")
    commands = tuple(command for command in dict.fromkeys(store.runs(suite)["command"]) if command)
    return Material(
        plan, results, store.label_scores(suite), store.settings(suite), store.totals(suite), commands, control
    )


def render(material: Material) -> str:
    """Return the page, a complete HTML document."""
    suite, results, summary = material.suite, material.results, material.summary
    levels, cost = material.levels, material.totals
    compared = {_name_level(level): comparison for level, comparison in levels.items() if comparison is not None}
    if material.overall is not None and len(levels) > 1:
        compared["All noise levels"] = material.overall
    return (
        make_environment()
        .get_template("report.html")
        .render(
            suite=suite,
            convention=describe_convention(suite),
            headline=material.headline,
            evidence=material.evidence,
            facts=_facts(material),
            noisy=bool((results["noise"] > 0).any()),
            ranks=_rank_table(compared, suite.methods) if len(levels) > 1 and compared else None,
            levels=[
                (_name_level(level), _score_table(summary[summary["noise"] == level], comparison, suite), comparison)
                for level, comparison in levels.items()
            ],
            metrics=_metric_tables(summary, suite) if suite.task == "multilabel" else {},
            labels=_label_tables(material.label_scores, suite.methods),
            tests=[
                (name, found, material.reference(found), _p_rows(found, material.reference(found)))
                for name, found in compared.items()
                if len(found.methods) > 1
            ],
            pictures=[
                {"name": name, "caption": caption, "svg": inline_svg(figure, prefix=name)}
                for name, caption, figure in draw(material)
            ],
            failures=_failures(results),
            program="\n".join(material.commands) or write_python(suite, material.settings),
            cost=f"{cost['fits']:,} fits, {format_seconds(cost['fit_seconds'])} of fitting in all processes, "
            f"{format_seconds(cost['elapsed_seconds'])} elapsed.",
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
    missing = material.totals["expected"] - material.totals["results"]
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


def _metric_tables(summary: pd.DataFrame, suite: Suite) -> dict[str, dict[str, Any]]:
    """Return for each level of noise the means of all metrics, with the average ranks in small print."""
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


def _p_rows(comparison: Comparison, reference: str) -> list[tuple[str, str, float, float, str]]:
    """Return the reference against each other method: name, record, difference, p-value, verdict."""
    return [
        (str(row.Index), f"{row.wins} / {row.ties} / {row.losses}", row.difference, row.p_corrected, row.verdict)
        for row in comparison.against(reference).itertuples()
    ]


def _failures(results: pd.DataFrame) -> list[tuple[str, str, str]]:
    """Return the number of failed fits of each method, the datasets and the message."""
    tried = results.groupby("method").size()
    groups = results[results["error"].notna()].groupby(["method", "error"], sort=False)
    return [
        (f"{method}: {len(rows)} of {tried[method]} fits", ", ".join(rows["dataset"].unique()), error)
        for (method, error), rows in groups
    ]


def draw(material: Material) -> Iterator[tuple[str, str, Figure]]:
    """Yield name, caption and figure of every figure that the results allow."""
    scored, overall = material.summary.dropna(subset=["score"]), material.overall
    if overall is None:
        return
    from fuselearn.lab import figures

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


def write_python(suite: Suite, settings: Mapping[str, str]) -> str:
    """Return the Python code that runs a suite; user-defined estimators are written as their settings."""
    usual = Suite(suite.name, suite.datasets, suite.methods)
    changed = {
        field.name: getattr(suite, field.name)
        for field in dataclasses.fields(suite)
        if getattr(suite, field.name) != getattr(usual, field.name) and field.name != "tables"
    }
    arguments = ["name", "datasets", "methods", *changed]
    own = {
        method: settings.get(method, "...")
        for method in suite.methods
        if method.partition("(")[0] not in METHODS[suite.task] and ":" not in method
    }
    tables = []
    for table in suite.tables:
        options = {name: getattr(table, name) for name in ("target", "labels", "reading", "cleaning")}
        tables.append(", ".join([f'"PATH OF {table.name}"', *(f"{k}={v!r}" for k, v in options.items() if v)]))
    lines = [
        f"from fuselearn.lab import Suite, {'Table, ' if tables else ''}run_suite",
        "",
        "suite = Suite(",
        *(f"    {name}={getattr(suite, name)!r}," for name in arguments),
        *(["    tables=[", *(f"        Table.of({table})," for table in tables), "    ],"] if tables else []),
        ")",
        *(["estimators = {", *(f"    {name!r}: {text}," for name, text in own.items()), "}"] if own else []),
        f'run_suite(suite, "results.db"{", estimators=estimators" if own else ""})',
    ]
    return "\n".join(lines)


def describe_convention(suite: Suite) -> str:
    """Return the convention for F1 of a class or label that is neither in a test fold nor predicted."""
    if suite.task == "multiclass":
        return "A class that is neither in a test fold nor predicted has an F1 of 0."
    source = "as in many papers (zero_division=1)" if suite.zero_division else "as in scikit-learn (zero_division=0)"
    return f"A label that is neither in a test fold nor predicted has an F1 of {suite.zero_division:g}, {source}."


def name_score(score: str) -> str:
    """Return the name of a score in tables.

    Examples
    --------
    >>> name_score("macro_f1"), name_score("auc"), name_score("hamming_loss")
    ('macro F1', 'AUC', 'Hamming loss')
    """
    proper = {"f1": "F1", "auc": "AUC", "hamming": "Hamming", "jaccard": "Jaccard", "brier": "Brier score"}
    return " ".join(proper.get(word, word) for word in score.split("_"))


def make_environment() -> Environment:
    """Return the environment of the templates."""
    environment = Environment(
        loader=PackageLoader("fuselearn.lab"), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    environment.filters |= {"breakable": _breakable, "percent": format_percent, "p_value": format_p}
    return environment


def _breakable(name: str) -> Markup:
    """Allow line breaks between the words of a long name: HistGradientBoosting, random-forest, breast_cancer."""
    parts = re.split(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[-_./:(])", str(name))
    return Markup("<wbr>").join(escape(part) for part in parts)


def format_percent(fraction: float) -> str:
    """Format a fraction as a percentage, with a non-breaking space."""
    return f"{100 * fraction:g}{NBSP}%"


def format_p(p_value: float) -> str:
    """Format a p-value with its significant digits, or as a dash if there is none.

    Examples
    --------
    >>> [format_p(p_value) for p_value in (0.213, 0.0213, 0.00213, 0.000004, float("nan"))]
    ['0.21', '0.021', '0.0021', '<0.0001', '–']
    """
    if math.isnan(p_value):
        return "–"
    if p_value < 0.0001:
        return "<0.0001"
    return f"{p_value:.{2 if p_value >= 0.1 else 3 if p_value >= 0.01 else 4}f}"


def inline_svg(figure: Figure, *, prefix: str) -> Markup:
    """Convert a figure to SVG for a page.

    Text is kept as text, for search and screen readers. Every color becomes a style variable such as
    ``var(--fig-0072b2, #0072b2)``, which a dark page redefines; shapes without a color, black in SVG, get the text
    color of the page. Ids inside the figure get a prefix, because they must be unique on a page, and unused ids are
    removed.

    Parameters
    ----------
    figure : Figure
        A matplotlib figure.
    prefix : str
        Unique for each figure of the page.

    Returns
    -------
    svg : str
        An ``<svg>`` element, deterministic for equal figures.
    """
    import matplotlib as mpl

    figure.patch.set_alpha(0)
    for axes in figure.axes:
        axes.patch.set_alpha(0)
    file = io.StringIO()
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "fuselearn"}):
        figure.savefig(file, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    text = file.getvalue()
    text = text[text.index("<svg") :].strip()
    text = re.sub(r"<metadata>.*?</metadata>\s*", "", text, flags=re.DOTALL)
    text = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", text)
    text = re.sub(r'(<svg[^>]*?) height="[^"]*"', r'\1 style="fill: currentColor"', text)
    used = set(re.findall(r'(?:href="#|url\(#)([^")]+)', text))
    text = re.sub(r' id="([^"]*)"', lambda found: f' id="{prefix}-{found[1]}"' if found[1] in used else "", text)
    text = re.sub(r'(href="#|url\(#)', rf"\1{prefix}-", text)
    return Markup(re.sub(r"#[0-9a-f]{6}\b", lambda found: f"var(--fig-{found[0][1:]}, {found[0]})", text))
