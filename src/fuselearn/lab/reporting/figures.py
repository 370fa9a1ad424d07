"""The papers' figures, plotted from tables of results.

Every function returns a new matplotlib `Figure` and touches no global state; save it with
``figure.savefig(...)``. Results are tidy DataFrames with one row per combination of

- ``dataset``: its name,
- ``noise``: the fraction of corrupted training labels, 0.05 for 5 %,
- ``method``: its name,

and a column ``score``, the mean macro F1 over the folds, higher is better. Datasets and methods
appear in the order of their rows. A method has the same colour and marker in every figure
(`fuselearn.lab.reporting.styles`), and the figures are six inches wide, to be readable in print and on a phone
them.
"""

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator
from scipy.optimize import isotonic_regression

from fuselearn.lab.reporting.styles import BLACK, BLUE, GREEN, VERMILION, MethodStyle, method_styles
from fuselearn.lab.statistics.rank_tests import PostHoc, indistinct_groups
from fuselearn.lab.statistics.ranks import average_ranks, check_results, score_table

__all__ = [
    "FilterTrace",
    "critical_difference",
    "filter_traces",
    "fit_time_against_score",
    "rank_against_noise",
    "score_against_noise",
]

WIDTH = 6.0
TEXT = "#222222"
FAINT = "#DDDDDD"
LABEL_SIZE, TICK_SIZE = 9.5, 8.5
LEAST_SPAN = 10**0.5


class FilterTrace(Protocol):
    """The input of `filter_traces`: one number per iteration, as recorded by a fitted KFHE.

    An array with one number more than ``gains_`` starts with the state before the first
    iteration.
    """

    gains_: npt.NDArray[np.float64]
    variances_: npt.NDArray[np.float64]
    measurement_errors_: npt.NDArray[np.float64]
    train_errors_: npt.NDArray[np.float64]


TRACES = (
    ("train_errors_", "training error", BLACK, "-"),
    ("measurement_errors_", "measurement error R", VERMILION, "--"),
    ("variances_", "variance P", GREEN, "-."),
    ("gains_", "gain K", BLUE, "-"),
)


USUAL_LEGEND_LINES = 3
LEGEND_LINE = 0.19  # inches


def rank_against_noise(results: pd.DataFrame, *, higher_is_better: bool = True, digits: int | None = 4) -> Figure:
    """Plot each method's average rank against the noise, the best rank on top.

    This is Figure 7 of the KFHE paper.

    Parameters
    ----------
    results : DataFrame
        Tidy results with the columns dataset, noise, method and score, every method present on
        every dataset at every level.

    higher_is_better : bool, default=True
        Whether the highest score is the best.

    digits : int, default=4
        Scores that agree to this many decimals tie.

    Returns
    -------
    figure : Figure

    Examples
    --------
    >>> from fuselearn.lab.reporting.figures import rank_against_noise
    >>> from fuselearn.lab.published import load_published
    >>> figure = rank_against_noise(load_published("kfhe_scores"))
    >>> bool(figure.axes[0].yaxis_inverted())
    True
    """
    check_results(results, ["dataset", "noise", "method"], ["score"])
    levels = np.sort(results["noise"].unique())
    ranks = pd.DataFrame(
        [
            average_ranks(score_table(results, noise=level), higher_is_better=higher_is_better, digits=digits)
            for level in levels
        ],
        index=levels,
    )
    figure, (axes,) = _panels(1, columns=1, height=3.8)
    for method, style in method_styles(ranks.columns).items():
        _line(axes, ranks.index, ranks[method], method, style, size=6)
    best, worst = ranks.to_numpy().min(), ranks.to_numpy().max()
    axes.set_ylim(worst + 0.2, max(0.9, np.floor(best - 0.1)))
    axes.yaxis.set_major_locator(MaxNLocator(nbins=6, steps=[1, 5, 10]))
    _noise_axis(axes, levels)
    axes.set_xlabel("Corrupted training labels", fontsize=LABEL_SIZE, color=TEXT)
    axes.set_ylabel("Average rank (1 is best)", fontsize=LABEL_SIZE, color=TEXT)
    _label_line_ends(axes, levels[-1], ranks.iloc[-1])
    return figure


def score_against_noise(results: pd.DataFrame, *, columns: int = 3) -> Figure:
    """Plot the score of each method against the noise, one panel per dataset.

    This is Figure 8 of the KFHE paper. Each panel has its own vertical axis, because datasets
    differ far more than methods do.

    Parameters
    ----------
    results : DataFrame
        Tidy results with the columns dataset, noise, method and score. A missing row or a NaN
        leaves a gap.

    columns : int, default=3
        Panels per row.

    Returns
    -------
    figure : Figure

    Examples
    --------
    >>> from fuselearn.lab.reporting.figures import score_against_noise
    >>> from fuselearn.lab.published import load_published
    >>> len(score_against_noise(load_published("kfhe_scores")).axes)
    20
    """
    check_results(results, ["dataset", "noise", "method"], ["score"])
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
        _panel_title(axes, dataset)
        _noise_axis(axes, levels[[0, len(levels) // 2, -1]] if len(levels) > 3 else levels)
        axes.yaxis.set_major_locator(MaxNLocator(nbins=3))
    figure.supxlabel("Corrupted training labels", fontsize=LABEL_SIZE, color=TEXT)
    figure.supylabel("Macro F1", fontsize=LABEL_SIZE, color=TEXT)
    _legend(figure, _handles(styles))
    return figure


def filter_traces(traces: Mapping[str, FilterTrace], *, columns: int = 3) -> Figure:
    """Plot how the filter converges, one panel per dataset.

    These are Figures 5 and 6 of the KFHE paper: per iteration the gain, the posterior variance,
    the measurement error and the misclassification rate on the training samples. The vertical scale
    is a square root, because values are often close to 0 and error rates do reach it. A line
    ends where training stopped.

    Parameters
    ----------
    traces : mapping of dataset name to FilterTrace
        For example fitted `KFHEClassifier` objects.

    columns : int, default=3
        Panels per row.

    Returns
    -------
    figure : Figure

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from fuselearn.lab.reporting.figures import filter_traces
    >>> trace = SimpleNamespace(
    ...     gains_=[0.9, 0.5], variances_=[0.1, 0.05],
    ...     measurement_errors_=[0.1, 0.1], train_errors_=[0.1, 0.0],
    ... )
    >>> [line.get_label() for line in filter_traces({"iris": trace}).axes[0].lines]
    ['training error', 'measurement error R', 'variance P', 'gain K']
    """
    if not traces:
        raise ValueError("traces must hold at least one dataset; got none.")
    longest = max(2, *(len(trace.gains_) for trace in traces.values()))
    figure, panels = _panels(len(traces), columns=columns, height=1.2)
    for axes, (dataset, trace) in zip(panels, traces.items(), strict=True):
        n_iterations = len(trace.gains_)
        for attribute, label, color, dashes in TRACES:
            values = np.asarray(getattr(trace, attribute), dtype=float)
            if len(values) - n_iterations not in (0, 1):
                raise ValueError(
                    f"traces must have one number per iteration; on {dataset!r} gains_ has "
                    f"{n_iterations} and {attribute} has {len(values)}."
                )
            iterations = np.arange(n_iterations - len(values), n_iterations) + 1
            axes.plot(iterations, values, label=label, color=color, ls=dashes, lw=1.3)
        _panel_title(axes, dataset)
        axes.set_yscale("function", functions=(np.sqrt, np.square))
        axes.set_ylim(0, 1.03)
        axes.set_yticks([0, 0.1, 0.5, 1], ["0", "0.1", "0.5", "1"])
        axes.set_xlim(0, longest)
        axes.xaxis.set_major_locator(MaxNLocator(nbins=5, integer=True, steps=[1, 2, 5, 10]))
    figure.supxlabel("Iteration", fontsize=LABEL_SIZE, color=TEXT)
    figure.supylabel("Value (square-root scale)", fontsize=LABEL_SIZE, color=TEXT)
    handles = [Line2D([], [], label=label, color=color, ls=dashes) for _, label, color, dashes in TRACES]
    _legend(figure, handles)
    return figure


def critical_difference(result: PostHoc, *, alpha: float = 0.05) -> Figure:
    """Plot the methods on an axis of mean ranks, and join those that do not differ significantly.

    From each method a bar reaches to the farthest worse-ranked method whose corrected p-value
    exceeds `alpha`; bars within another bar are left out.

    Parameters
    ----------
    result : PostHoc
        All pairs of methods compared, from `friedman_posthoc` or `aligned_posthoc`.

    alpha : float, default=0.05
        The level of significance.

    Returns
    -------
    figure : Figure
        Its bars have the gid "bar", best group first.

    Examples
    --------
    >>> from fuselearn.lab.reporting.figures import critical_difference
    >>> from fuselearn.lab.published import load_published
    >>> from fuselearn.lab.statistics.ranks import score_table
    >>> from fuselearn.lab.statistics.rank_tests import friedman_posthoc
    >>> result = friedman_posthoc(score_table(load_published("kfhe_homer_scores")))
    >>> figure = critical_difference(result)
    >>> sum(line.get_gid() == "bar" for line in figure.axes[0].lines)
    4
    """
    groups = indistinct_groups(result, alpha=alpha)
    ranks = result.mean_ranks.sort_values(kind="stable")
    styles = method_styles(result.mean_ranks.index)
    low, high = np.floor(ranks.iloc[0]), np.ceil(ranks.iloc[-1])
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
    for side in ("left", "right", "bottom"):
        axes.spines[side].set_visible(False)

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


def fit_time_against_score(results: pd.DataFrame) -> Figure:
    """Plot the fit time of each method against its score.

    A point shows the geometric mean of a method's fit times and its mean score; a thin line
    spans the middle half of its fit times. The legend lists the best score first.

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
    >>> from fuselearn.lab.reporting.figures import fit_time_against_score
    >>> results = pd.DataFrame({
    ...     "dataset": ["iris", "iris"], "method": ["KFHE", "CART"],
    ...     "score": [0.94, 0.93], "fit_seconds": [0.1, 0.001],
    ... })
    >>> fit_time_against_score(results).axes[0].get_xscale()
    'log'
    """
    keys = ["dataset", "noise", "method"] if "noise" in results else ["dataset", "method"]
    check_results(results, keys, ["score", "fit_seconds"])
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
    _time_axis(axes)
    axes.set_xlabel("Time of one fit", fontsize=LABEL_SIZE, color=TEXT)
    axes.set_ylabel("Mean macro F1", fontsize=LABEL_SIZE, color=TEXT)
    _legend(figure, _handles({method: styles[method] for method in means.index}))
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


def _line(axes: Axes, x: Any, y: Any, method: Any, style: MethodStyle, *, size: float) -> None:
    """Plot one method's line in its style."""
    axes.plot(
        x,
        y,
        label=str(method),
        color=style.color,
        marker=style.marker,
        ms=size * (1.5 if style.marker == "*" else 1),
        lw=1.5,
        mec="white",
        mew=0.4,
    )


def _panel_title(axes: Axes, title: str) -> None:
    axes.set_title(title, fontsize=LABEL_SIZE, color=TEXT, loc="left", pad=3)


def _noise_axis(axes: Axes, levels: npt.NDArray[np.float64]) -> None:
    axes.set_xticks(levels, [f"{100 * level:g}%" for level in levels])


def _time_axis(axes: Axes) -> None:
    """Show at least half a decade with at least three ticks: powers of ten, or the coarsest finer steps."""
    low, high = axes.dataLim.x0, axes.dataLim.x1
    margin = max((high / low) ** 0.05, np.sqrt(LEAST_SPAN * low / high))
    low, high = low / margin, high * margin
    axes.autoscale(False, axis="x")  # it warns about equal times
    axes.set_xlim(low, high)
    decades = 10.0 ** np.arange(np.floor(np.log10(low)), np.ceil(np.log10(high)) + 1)
    for steps in ((1,), (1, 3), (1, 2, 5), (1, 1.5, 2, 3, 4, 5, 7)):
        ticks = np.outer(decades, steps).ravel()
        ticks = ticks[(ticks >= low) & (ticks <= high)]
        if len(ticks) >= 3:
            break
    axes.minorticks_off()
    axes.set_xticks(ticks, [_format_seconds(tick) for tick in ticks])


def _handles(styles: Mapping[Any, MethodStyle]) -> list[Line2D]:
    return [
        Line2D([], [], label=str(method), color=style.color, marker=style.marker) for method, style in styles.items()
    ]


def _legend(figure: Figure, handles: list[Line2D]) -> None:
    """Put one legend above all panels, in as many of four columns as the width allows."""
    labels = [str(handle.get_label()) for handle in handles]
    columns = min(4, len(labels))
    while columns > 1 and _legend_width(labels, columns) > WIDTH:
        columns -= 1
    legend = figure.legend(
        handles=handles,
        loc="outside upper center",
        ncols=columns,
        frameon=False,
        fontsize=LABEL_SIZE,
        columnspacing=1.4,
        handlelength=1.8,
    )
    for text in legend.get_texts():
        text.set_color(TEXT)
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


def _label_line_ends(axes: Axes, x: float, ends: pd.Series) -> None:
    """Label the end of each method's line, without overlaps."""
    low, high = sorted(axes.get_ylim())
    gap = 0.055 * (high - low)
    styles = method_styles(ends.index)
    for method, y, place in zip(ends.index, ends, _spread(ends.to_numpy(), gap), strict=True):
        axes.annotate(
            str(method),
            (x, y),
            xytext=(1.02, place),
            textcoords=axes.get_yaxis_transform(),
            va="center",
            fontsize=LABEL_SIZE,
            color=TEXT,
            arrowprops={
                "arrowstyle": "-",
                "color": styles[method].color,
                "lw": 0.8,
                "relpos": (0, 0.5),
                "shrinkA": 0,
                "shrinkB": 4,
            },
        )


def _spread(positions: npt.NDArray[np.float64], gap: float) -> npt.NDArray[np.float64]:
    """Move positions apart until neighbours are `gap` apart, around where they were."""
    order = np.argsort(positions, kind="stable")
    steps = gap * np.arange(len(positions))
    # After subtracting the gaps, the sequence must not decrease: the closest such sequence is the
    # isotonic regression, which keeps every cluster centred on its own mean.
    spread = np.empty_like(positions, dtype=float)
    spread[order] = isotonic_regression(positions[order] - steps).x + steps
    return spread


def _format_seconds(seconds: float) -> str:
    return f"{seconds:g} s" if seconds >= 1 else f"{1000 * seconds:g} ms"
