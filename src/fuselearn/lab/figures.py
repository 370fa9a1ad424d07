"""Figures of results: ranks, scores and times of methods.

Every function returns a new matplotlib `Figure` without changing global state; save it with ``figure.savefig(...)``.
Results are tidy DataFrames with one row per combination of

- ``dataset``: its name,
- ``noise``: the fraction of corrupted training labels, 0.05 for 5 %,
- ``method``: its name,

and a column ``score``, higher is better, as :func:`fuselearn.lab.summarize` returns them. Datasets and methods
appear in the order of their rows, and the order decides color and marker of a method. Figures are six inches wide, to
be readable in print and on a phone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import EngFormatter, LogLocator, MaxNLocator, NullLocator

from fuselearn._messages import show
from fuselearn.lab.statistics import PostHoc, average_ranks

__all__ = ["critical_difference", "fit_time_against_score", "rank_against_noise", "score_against_noise"]

# Okabe and Ito's colors without their yellow, which vanishes on white paper, and two of Paul Tol's: readers who cannot
# distinguish colors can tell these apart and, with the markers, so can readers of a gray print.
COLORS = (
    "#0072B2", "#D55E00", "#009E73", "#666666", "#E69F00", "#CC79A7", "#56B4E9", "#000000", "#882255", "#999933",
)  # fmt: skip
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "<", "p")

WIDTH = 6.0
TEXT = "#222222"
FAINT = "#DDDDDD"
LABEL_SIZE, TICK_SIZE = 9.5, 8.5
USUAL_LEGEND_LINES = 3
LEGEND_LINE = 0.19  # inches


class Style(NamedTuple):
    """The style of one method in every figure."""

    color: str
    marker: str


def method_styles(methods: Iterable[Any]) -> dict[Any, Style]:
    """Assign each method a color and a marker, in the order of the methods; after a hundred they repeat."""
    return {
        method: Style(COLORS[place % 10], MARKERS[(place + place // 10) % 10])
        for place, method in enumerate(dict.fromkeys(methods))
    }


def rank_against_noise(results: pd.DataFrame, *, digits: int | None = 4) -> Figure:
    """Plot each method's average rank against the noise, the best rank on top.

    This is Figure 7 of the KFHE paper. The legend is sorted by rank at the highest noise level.

    Parameters
    ----------
    results : DataFrame
        Tidy results with the columns dataset, noise, method and score, every method present on
        every dataset at every level.

    digits : int, default=4
        Scores that agree to this many decimals tie.

    Returns
    -------
    figure : Figure

    Examples
    --------
    >>> import pandas as pd
    >>> from fuselearn.lab.figures import rank_against_noise
    >>> results = pd.DataFrame({
    ...     "dataset": "iris", "noise": [0, 0, 0.2, 0.2], "method": ["kfhe", "cart"] * 2,
    ...     "score": [0.94, 0.93, 0.91, 0.85],
    ... })
    >>> bool(rank_against_noise(results).axes[0].yaxis_inverted())
    True
    """
    _check_results(results, ["dataset", "noise", "method"], ["score"])
    levels, methods = np.sort(results["noise"].unique()), list(results["method"].unique())
    tables = (group.pivot(index="dataset", columns="method", values="score") for _, group in results.groupby("noise"))
    ranks = pd.DataFrame([average_ranks(table[methods], digits=digits) for table in tables], index=levels)
    figure, (axes,) = _panels(1, columns=1, height=3.8)
    styles = method_styles(ranks.columns)
    for method, style in styles.items():
        _line(axes, ranks.index, ranks[method], method, style, size=6)
    best, worst = ranks.to_numpy().min(), ranks.to_numpy().max()
    axes.set_ylim(worst + 0.2, max(0.9, np.floor(best - 0.1)))
    axes.yaxis.set_major_locator(MaxNLocator(nbins=6, steps=[1, 5, 10]))
    _noise_axis(axes, levels)
    axes.set_xlabel("Corrupted training labels", fontsize=LABEL_SIZE, color=TEXT)
    axes.set_ylabel("Average rank (1 is best)", fontsize=LABEL_SIZE, color=TEXT)
    _legend(figure, {method: styles[method] for method in ranks.iloc[-1].sort_values(kind="stable").index})
    return figure


def score_against_noise(results: pd.DataFrame, *, columns: int = 3) -> Figure:
    """Plot the score of each method against the noise, one panel per dataset.

    This is Figure 8 of the KFHE paper. Each panel has its own vertical axis, because datasets
    differ far more than methods do.

    Parameters
    ----------
    results : DataFrame
        Tidy results with the columns dataset, noise, method and score. Missing rows and NaN leave a gap.

    columns : int, default=3
        Panels per row.

    Returns
    -------
    figure : Figure

    Examples
    --------
    >>> import pandas as pd
    >>> from fuselearn.lab.figures import score_against_noise
    >>> results = pd.DataFrame({
    ...     "dataset": ["iris", "iris", "wine", "wine"], "noise": [0, 0.2] * 2, "method": "kfhe",
    ...     "score": [0.94, 0.91, 0.97, 0.93],
    ... })
    >>> len(score_against_noise(results).axes)
    2
    """
    _check_results(results, ["dataset", "noise", "method"], ["score"])
    levels = np.sort(results["noise"].unique())
    styles = method_styles(results["method"])
    datasets = results["dataset"].unique()
    figure, panels = _panels(len(datasets), columns=columns, height=1.2)
    for axes, dataset in zip(panels, datasets, strict=True):
        rows = results[results["dataset"] == dataset]
        scores = rows.pivot(index="noise", columns="method", values="score").reindex(levels)
        for method in styles:
            if method in scores:
                _line(axes, scores.index, scores[method], method, styles[method], size=3.5)
        axes.set_title(dataset, fontsize=LABEL_SIZE, color=TEXT, loc="left", pad=3)
        _noise_axis(axes, levels[[0, len(levels) // 2, -1]] if len(levels) > 3 else levels)
        axes.yaxis.set_major_locator(MaxNLocator(nbins=3))
    figure.supxlabel("Corrupted training labels", fontsize=LABEL_SIZE, color=TEXT)
    figure.supylabel("Macro F1", fontsize=LABEL_SIZE, color=TEXT)
    _legend(figure, styles)
    return figure


def critical_difference(result: PostHoc, *, alpha: float = 0.05) -> Figure:
    """Plot the methods on an axis of mean ranks, and join those that do not differ significantly.

    A bar connects each method to the lowest-ranked method with a corrected p-value above `alpha`; bars inside another
    bar are omitted.

    Parameters
    ----------
    result : named tuple
        All pairs of methods compared, from :func:`~fuselearn.lab.statistics.friedman_posthoc` or
        :func:`~fuselearn.lab.statistics.aligned_posthoc`.

    alpha : float, default=0.05
        The level of significance.

    Returns
    -------
    figure : Figure
        Its bars have the gid "bar", best group first.

    Examples
    --------
    >>> from fuselearn.lab.figures import critical_difference
    >>> from fuselearn.lab.statistics import friedman_posthoc
    >>> figure = critical_difference(friedman_posthoc([[0.9, 0.8, 0.7], [0.6, 0.5, 0.4], [0.3, 0.2, 0.1]]))
    >>> sum(line.get_gid() == "bar" for line in figure.axes[0].lines)
    2
    """
    groups = _indistinct_groups(result, alpha)
    ranks = result.mean_ranks.sort_values(kind="stable")
    styles = method_styles(result.mean_ranks.index)
    low = np.floor(ranks.iloc[0])
    high = max(np.ceil(ranks.iloc[-1]), low + 1)
    margin = 0.02 * (high - low)
    half = (len(ranks) + 1) // 2
    levels = _bar_levels([(ranks[best], ranks[worst]) for best, worst in groups], 4 * margin)
    bars_depth = 0.5 * (max(levels, default=-1) + 1) + 0.5
    depth = bars_depth + half

    figure = Figure(figsize=(WIDTH, 0.9 + 0.24 * depth), layout="constrained")
    axes = figure.add_subplot()
    axes.set_xlim(low - margin, high + margin)
    axes.set_ylim(depth, -0.1)
    axes.xaxis.tick_top()
    axes.xaxis.set_label_position("top")
    axes.xaxis.set_major_locator(MaxNLocator(nbins=9, integer=True))
    axes.tick_params(labelsize=TICK_SIZE, colors=TEXT)
    axes.set_xlabel(
        f"Mean rank ({result.name}), best on the left\nbars join methods with corrected p > {alpha:g}",
        fontsize=LABEL_SIZE,
        color=TEXT,
        labelpad=7,
    )
    axes.set_yticks([])
    axes.spines[["left", "right", "bottom"]].set_visible(False)

    for (best, worst), level in zip(groups, levels, strict=True):
        ends = [ranks[best] - margin / 2, ranks[worst] + margin / 2]
        y = 0.5 * (level + 1) + 0.1
        axes.plot(ends, [y, y], color=TEXT, lw=4, solid_capstyle="round", gid="bar")
    for place, (method, rank) in enumerate(ranks.items()):
        on_left = place < half
        height = bars_depth + 0.4 + (place if on_left else len(ranks) - 1 - place)
        edge = low - margin if on_left else high + margin
        color = styles[method].color
        axes.plot([rank, rank, edge], [0, height, height], color=color, lw=1.2, zorder=1)
        axes.plot([rank], [0], color=color, marker=styles[method].marker, ms=7, clip_on=False)
        axes.annotate(
            f"{method}  {rank:.2f}" if on_left else f"{rank:.2f}  {method}",
            (edge, height),
            xytext=(-4 if on_left else 4, 0),
            textcoords="offset points",
            ha="right" if on_left else "left",
            va="center",
            fontsize=LABEL_SIZE,
            color=TEXT,
        )
    return figure


def _indistinct_groups(result: PostHoc, alpha: float) -> list[tuple[Any, Any]]:
    """Return the best and the worst method of each group that a bar joins."""
    if result.control is not None:
        raise ValueError("result must compare all pairs of methods; call the test without control.")
    methods = result.mean_ranks.sort_values(kind="stable").index
    groups: list[tuple[Any, Any]] = []
    reached = 0
    for start, best in enumerate(methods):
        alike = [end for end in range(start + 1, len(methods)) if result.p_corrected(best, methods[end]) > alpha]
        if alike and alike[-1] > reached:
            reached = alike[-1]
            groups.append((best, methods[reached]))
    return groups


def fit_time_against_score(results: pd.DataFrame) -> Figure:
    """Plot the fit time of each method against its score.

    A point shows the geometric mean of a method's fit times and its mean score; a thin line spans the middle half of
    its fit times. The legend is sorted by score.

    Parameters
    ----------
    results : DataFrame
        Tidy results with the columns dataset, method, score and fit_seconds (mean time of one
        fit, above zero), and optionally noise: all rows have the same weight.

    Returns
    -------
    figure : Figure

    Examples
    --------
    >>> import pandas as pd
    >>> from fuselearn.lab.figures import fit_time_against_score
    >>> results = pd.DataFrame({
    ...     "dataset": ["iris", "iris"], "method": ["kfhe", "cart"],
    ...     "score": [0.94, 0.93], "fit_seconds": [0.1, 0.001],
    ... })
    >>> fit_time_against_score(results).axes[0].get_xscale()
    'log'
    """
    keys = ["dataset", "noise", "method"] if "noise" in results else ["dataset", "method"]
    _check_results(results, keys, ["score", "fit_seconds"])
    wrong = results[~(results["fit_seconds"] > 0)]
    if len(wrong):
        row = wrong.iloc[0]
        raise ValueError(
            f"fit_seconds must be above zero; method {row['method']!r} on dataset "
            f"{row['dataset']!r} has {row['fit_seconds']}."
        )
    figure, (axes,) = _panels(1, columns=1, height=3.8)
    axes.set_xscale("log")
    styles = method_styles(results["method"])
    means = results.groupby("method")["score"].mean().sort_values(ascending=False)
    for method, score in means.items():
        seconds = results.loc[results["method"] == method, "fit_seconds"]
        color = styles[method].color
        axes.plot(seconds.quantile([0.25, 0.75]), [score, score], color=color, lw=1, alpha=0.5)
        typical = np.exp(np.log(seconds).mean())
        _line(axes, [typical], [score], method, styles[method], size=8)
    low, high = axes.dataLim.x0, axes.dataLim.x1
    margin = max(1.2, np.sqrt(10 * low / high))  # at least one power of ten, so that there are ticks
    axes.autoscale(False, axis="x")  # it warns about equal times
    axes.set_xlim(low / margin, high * margin)
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if high < 1000 * low else (1,)))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(EngFormatter("s"))
    axes.set_xlabel("Time of one fit", fontsize=LABEL_SIZE, color=TEXT)
    axes.set_ylabel("Mean macro F1", fontsize=LABEL_SIZE, color=TEXT)
    _legend(figure, {method: styles[method] for method in means.index})
    return figure


def _panels(n_panels: int, *, columns: int, height: float) -> tuple[Figure, list[Axes]]:
    """Return a figure with a grid of empty panels; the lowest of each column label the x axis."""
    if columns < 1:
        raise ValueError(f"columns must be at least 1; got {columns}.")
    columns = min(columns, n_panels)
    rows = -(-n_panels // columns)
    extra = 0.0 if n_panels == 1 else 0.7
    figure = Figure(figsize=(WIDTH, rows * height + extra), layout="constrained")
    panels = [figure.add_subplot(rows, columns, place + 1) for place in range(n_panels)]
    for place, axes in enumerate(panels):
        axes.spines[["top", "right"]].set_visible(False)
        axes.spines[["left", "bottom"]].set_color("#999999")
        axes.grid(axis="y", color=FAINT, lw=0.6)
        axes.set_axisbelow(True)
        is_lowest = place + columns >= n_panels
        axes.tick_params(labelsize=TICK_SIZE, colors=TEXT, length=2.5, labelbottom=is_lowest)
    return figure, panels


def _line(axes: Axes, x: Any, y: Any, method: Any, style: Style, *, size: float) -> None:
    """Plot one method's line in its style."""
    axes.plot(x, y, label=str(method), color=style.color, marker=style.marker, ms=size, lw=1.5, mec="white", mew=0.4)


def _noise_axis(axes: Axes, levels: npt.NDArray[np.float64]) -> None:
    axes.set_xticks(levels, [f"{100 * level:g}%" for level in levels])


def _legend(figure: Figure, styles: dict[Any, Style]) -> None:
    """Put one legend above all panels, in as many of four columns as the width allows."""
    handles = [
        Line2D([], [], label=str(method), color=color, marker=marker) for method, (color, marker) in styles.items()
    ]
    labels = [str(method) for method in styles]
    columns = min(4, len(labels))
    while columns > 1 and _legend_width(labels, columns) > WIDTH:
        columns -= 1
    figure.legend(
        handles=handles,
        loc="outside upper center",
        ncols=columns,
        frameon=False,
        fontsize=LABEL_SIZE,
        labelcolor=TEXT,
        columnspacing=1.4,
        handlelength=1.8,
    )
    lines = -(-len(labels) // columns)
    figure.set_figheight(figure.get_figheight() + LEGEND_LINE * max(0, lines - USUAL_LEGEND_LINES))


def _legend_width(labels: list[str], columns: int) -> float:
    """Estimate in inches: 0.075 for a letter, 0.55 for the line and the space around it."""
    lengths = np.array_split([len(label) for label in labels], columns)
    return sum(0.075 * max(column) + 0.55 for column in lengths)


def _bar_levels(bars: list[tuple[float, float]], gap: float) -> list[int]:
    """Put each bar on the first level where it is at least `gap` away from the previous bar."""
    ends: list[float] = []
    levels = []
    for start, end in bars:
        level = next((i for i, taken in enumerate(ends) if start - taken >= gap), len(ends))
        ends[level : level + 1] = [end]
        levels.append(level)
    return levels


def _check_results(results: pd.DataFrame, keys: Sequence[str], values: Sequence[str]) -> None:
    """Raise an error if results lack a column, have no rows, or repeat a combination of the keys."""
    needed = [*keys, *values]
    missing = [column for column in needed if column not in results.columns]
    if missing:
        raise ValueError(f"results must have the columns {', '.join(needed)}; {', '.join(missing)} not found.")
    if results.empty:
        raise ValueError("results must have at least one row; got none.")
    repeated = results.duplicated(list(keys))
    if repeated.any():
        row = results[repeated].iloc[0]
        where = ", ".join(f"{key} {show(row[key])}" for key in keys)
        raise ValueError(
            f"results must have one row per {', '.join(keys)}; there are several for {where}. "
            "Average or filter them first."
        )
