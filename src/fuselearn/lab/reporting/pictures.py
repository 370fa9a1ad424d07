"""The report's figures as inline SVG that follows the light or dark colours of the page."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from fuselearn.ensembles import KFHEClassifier
from fuselearn.lab.reporting import figures
from fuselearn.lab.reporting.data import available_data
from fuselearn.lab.reporting.findings import DIGITS, Findings
from fuselearn.lab.reporting.text import join, percent
from fuselearn.lab.running.protocol import corrupted
from fuselearn.lab.running.suites import Suite, derive_seed
from fuselearn.lab.statistics.rank_tests import friedman_posthoc

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Picture", "draw", "inline_svg", "train_traces"]

Traces = Mapping[float, Mapping[str, figures.FilterTrace]]


@dataclass(frozen=True)
class Picture:
    """A figure of the report: its name, its caption, and its SVG text."""

    name: str
    caption: str
    svg: str


def draw(summary: pd.DataFrame, findings: Findings, traces: Traces) -> list[Picture]:
    """Plot every figure that the results allow.

    Parameters
    ----------
    summary : DataFrame
        As `fuselearn.lab.statistics.summary.summarise` returns it.
    findings : Findings
        Of the same results.
    traces : mapping of float to mapping of str to FilterTrace
        Fitted KFHE models by noise and dataset, as `train_traces` returns them.

    Returns
    -------
    pictures : list of Picture
    """
    return [
        Picture(name, caption, inline_svg(figure, prefix=name))
        for name, caption, figure in _figures(summary, findings, traces)
    ]


def _figures(summary: pd.DataFrame, findings: Findings, traces: Traces) -> Iterator[tuple[str, str, Figure]]:
    overall = findings.overall
    scored = summary.dropna(subset=["score"])
    if overall is not None:
        several_levels = len(overall.noise) > 1
        if several_levels and not overall.over_folds and len(overall.methods) > 1:
            whole = scored[scored["dataset"].isin(overall.scores.index) & scored["method"].isin(overall.methods)]
            yield (
                "rank",
                "Average rank of each method against the fraction of wrong training labels; higher is better.",
                figures.rank_against_noise(whole, digits=DIGITS),
            )
        if several_levels:
            yield (
                "score",
                "Mean macro F1 against the fraction of wrong training labels, per dataset. Each panel has its own "
                "vertical scale.",
                _roomy(figures.score_against_noise(scored, columns=_columns(scored["dataset"].nunique()))),
            )
    for noise, comparison in findings.levels.items():
        if comparison.omnibus is not None:
            where = f" with {_labels(noise)}" if noise or len(findings.levels) > 1 else ""
            yield (
                f"difference{round(1000 * noise)}",
                f"Critical-difference diagram{where}: average ranks, best on the left. A bar joins methods that "
                "do not differ significantly by Friedman's post-hoc test with Finner's correction.",
                figures.critical_difference(friedman_posthoc(comparison.scores, digits=DIGITS)),
            )
    timed = scored[scored["fit_seconds"] > 0]
    if timed["method"].nunique() > 1:
        yield ("time", _time_caption(scored), figures.fit_time_against_score(timed))
    for noise, fitted in traces.items():
        if fitted:
            where = f" with {_labels(noise)}" if noise or len(traces) > 1 else ""
            yield (
                f"trace{round(1000 * noise)}",
                f"Convergence of KFHE's Kalman filter, fitted once to all samples{where}: as it fuses measurements, "
                "the variance P of its estimate falls, and with it the gain K, the weight of the next measurement.",
                _roomy(figures.filter_traces(fitted, columns=_columns(len(fitted)))),
            )


def _time_caption(scored: pd.DataFrame) -> str:
    spread = [
        name
        for name, column in (("all datasets", "dataset"), ("all levels of noise", "noise"))
        if scored[column].nunique() > 1
    ]
    if not spread:
        return "Median time of one fit against mean macro F1."
    return f"Time of one fit (the line spans the middle half) against mean macro F1, over {join(spread)}."


def _columns(n_panels: int) -> int:
    """Return the number of columns; four panels look better two by two than three and one."""
    return 2 if n_panels in (2, 4) else 3


def _roomy(figure: Figure) -> Figure:
    """Enlarge a figure with a single panel."""
    if len(figure.axes) == 1:
        figure.set_size_inches(6.0, 3.6)
    return figure


def _labels(noise: float) -> str:
    return "clean labels" if noise == 0 else f"{percent(noise)} of the labels wrong"


def train_traces(suite: Suite) -> dict[float, dict[str, KFHEClassifier]]:
    """Train KFHE once per dataset, at the lowest and at the highest noise of a suite.

    Parameters
    ----------
    suite : Suite
        Datasets that are not available locally are skipped; nothing is downloaded.

    Returns
    -------
    traces : dict of float to dict of KFHEClassifier
        By noise and dataset.
    """
    traces: dict[float, dict[str, KFHEClassifier]] = {
        noise: {} for noise in sorted({min(suite.noise), max(suite.noise)})
    }
    for name, data in available_data(suite):
        codes = np.unique(np.asarray(data.y, dtype=str), return_inverse=True)[1]
        for noise, fitted in traces.items():
            model = KFHEClassifier(random_state=derive_seed("trace", suite.seed, name, noise))
            fitted[name] = model.fit(data.X, corrupted(suite, name, data.X, codes, noise, repeat=0))
    return traces


def inline_svg(figure: Figure, *, prefix: str) -> str:
    """Convert a figure to SVG text for a page.

    Text stays text, so that it can be searched and read aloud. Every colour becomes a style
    variable such as ``var(--fig-0072b2, #0072b2)``, which a dark page redefines; shapes without a
    colour, which SVG fills black, get the text colour of the page. Ids inside the figure get a
    prefix, because they must be unique on a page, and unused ids are removed.

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
    return re.sub(r"#[0-9a-f]{6}\b", lambda found: f"var(--fig-{found[0][1:]}, {found[0]})", text)
