"""Write the page that compares a run of the suite ``kfhe`` with the paper, from its summary.

Run ``python -m fuselearn.lab.reproduction.kfhe SUMMARY.csv -o docs/reproduction.md``. A JSON file of the
same name holds the costs of the run; ``fuselearn reproduce kfhe`` writes both. Everything on the page is
computed from these files, the traces of the filter beside them, and the published tables.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd

from fuselearn.datasets import registry
from fuselearn.lab.published import load_published
from fuselearn.lab.reporting.figures import filter_traces, rank_against_noise, score_against_noise
from fuselearn.lab.reporting.text import count, join, percent, signed
from fuselearn.lab.reproduction import pages
from fuselearn.lab.reproduction.kfhe_comparison import FAR_OFF, NEEDED, OUTSIDE, RIVALS, Reproduction, column_of
from fuselearn.lab.running.suites import SUITES, derive_seed
from fuselearn.lab.statistics.summary import read_summary

__all__ = ["make_page", "trace_datasets", "write_page"]

KNOWN = {
    "balance_scale": "Without noise the authors' current program reaches 0.611 on this copy of the data, where the "
    "paper's KFHE has 0.6585.",
    "wine": "The paper's CART loses 0.056 from 0 to 10 % noise and gains 0.031 from there to 15 %; its KFHE without "
    "noise has 0.9392, where the authors' current program reaches 0.972 on this copy of the data.",
    "mushroom": "At 20 % noise the paper's KFHE, bagging and CART all equal one split on odour, which pruned trees "
    "make and unpruned do not.",
    "glass": "The paper's bagging falls by 0.12 from 10 to 15 % noise and rises by 0.06 to 20 %.",
    "car_eval": "The paper's KFHE is the same at 5 and at 10 % noise; ours with unpruned trees is nearer than with "
    "pruned ones at all levels.",
    "tvowel": "No setting of the authors' program that was tried comes near the paper's KFHE under noise.",
}
"""What is known of datasets with large differences, in addition to the registry."""
TRACE_COLUMNS = {
    "error": "measurement_errors_", "variance": "variances_", "gain": "gains_", "train_error": "train_errors_",
}  # fmt: skip
IN_FIGURE_5 = 10
"""Datasets in the paper's Figure 5; Figure 6 has the others."""


def make_page(
    summary: pd.DataFrame,
    costs: Mapping[str, Any] | None = None,
    *,
    per_repeat: pd.DataFrame | None = None,
    per_repeat_version: str = "",
    figures: Sequence[tuple[str, str]] = (),
    source: str = "",
) -> str:
    """Return the Markdown page.

    Parameters
    ----------
    summary : DataFrame
        As for `Reproduction`; standard errors are computed from its columns sd and n.
    costs : mapping, optional
        The costs that ``fuselearn reproduce`` writes next to the summary: suite, totals and versions.
    per_repeat : DataFrame, optional
        The summary of a run whose label noise was drawn anew in each repeat.
    per_repeat_version : str, optional
        The version of fuselearn of that run.
    figures : sequence of (str, str), optional
        Caption and file name of each figure.
    source : str, optional
        The files of the summaries, named on the page.

    Returns
    -------
    page : str
    """
    run = Reproduction(summary)
    return pages.render_page(
        "reproduction.md",
        run=run,
        rivals=RIVALS,
        sizes=_size_lines(run),
        scores=_mean_score_lines(run),
        steps=_step_lines(run, per_repeat, per_repeat_version),
        chance=None if per_repeat is None else run.chance(Reproduction(per_repeat)),
        differing={setting: [claim for claim in run.claims if not claim.ours[setting][0]] for setting in run.settings},
        short=_in_short(run),
        folds={setting: int(run.cells["n"].xs(setting, level="method").max()) for setting in run.settings},
        datasets=_dataset_lines(run),
        ranks=_rank_lines(run),
        omnibus=_omnibus_lines(run),
        p_lines=_p_lines(run),
        closest=run.closest_settings(),
        far=_far_lines(run),
        notes=_notes(run),
        tables=[(noise, _score_lines(run, noise)) for noise in run.levels],
        costs=costs,
        cost_lines=pages.cost_lines(costs),
        figures=figures,
        source=source,
    )


def write_page(
    summary: str | os.PathLike[str],
    page: str | os.PathLike[str],
    *,
    settings: str | os.PathLike[str] | None = None,
    per_repeat: str | os.PathLike[str] | None = None,
) -> Path:
    """Write the page and its figures from the files of a run.

    Parameters
    ----------
    summary : str or path
        The CSV file; the costs and the traces are read from the same folder, if they exist.
    page : str or path
        The Markdown file. Missing folders are created.
    settings : str or path, optional
        The CSV file of the suite ``kfhe-settings``.
    per_repeat : str or path, optional
        The CSV file of the suite ``kfhe`` with label noise that was drawn anew in each repeat.

    Returns
    -------
    page : Path
    """
    summary, page = Path(summary), Path(page)
    results = read_summary(summary)
    if settings is not None:
        results = pd.concat([results, read_summary(settings)], ignore_index=True)
    page.parent.mkdir(parents=True, exist_ok=True)
    named = {"": summary, " --settings ": settings, " --per-repeat ": per_repeat}
    text = make_page(
        results,
        pages.read_costs(summary),
        per_repeat=None if per_repeat is None else read_summary(per_repeat),
        per_repeat_version="" if per_repeat is None else _version(pages.read_costs(Path(per_repeat))),
        figures=_draw_figures(Reproduction(results), traces_path(summary), page),
        source="".join(f"{option}{pages.source_name(path)}" for option, path in named.items() if path is not None),
    )
    page.write_text(text, encoding="utf-8")
    return page


def traces_path(summary: str | os.PathLike[str]) -> Path:
    """Return the path of the traces of the filter: ``summary.csv`` has ``summary-traces.csv``."""
    summary = Path(summary)
    return summary.with_name(f"{summary.stem}-traces.csv")


def trace_datasets() -> pd.DataFrame:
    """Train KFHE on all samples of each dataset of the paper, and return its trace.

    Returns
    -------
    DataFrame
        One row per dataset and iteration, from 0: the measurement error, the variance, the gain and the error on the
        training samples; the first three are NaN before the first measurement.
    """
    from fuselearn.ensembles import KFHEClassifier

    traces = []
    suite = SUITES["kfhe"]
    for name in suite.datasets:
        data = suite.load(name)
        model = KFHEClassifier(random_state=derive_seed("trace", suite.seed, name, 0.0)).fit(data.X, data.y)
        trace = {}
        for column, attribute in TRACE_COLUMNS.items():
            values = getattr(model, attribute)
            trace[column] = np.concatenate([np.full(model.n_iter_ + 1 - len(values), np.nan), values])
        traces.append(pd.DataFrame({"dataset": name, "iteration": np.arange(model.n_iter_ + 1), **trace}))
    return pd.concat(traces, ignore_index=True).round(6)


def _version(costs: Mapping[str, Any] | None) -> str:
    return "" if costs is None else f"fuselearn {', '.join(costs['versions']['fuselearn'])}"


def _draw_figures(run: Reproduction, traces: Path, page: Path) -> list[tuple[str, str]]:
    """Draw the paper's figures 5 to 8, and return caption and file name of each; the first two need traces."""
    drawn = []
    if traces.is_file():
        by_dataset = _read_traces(traces)
        names = list(by_dataset)
        for number, part in ((5, names[:IN_FIGURE_5]), (6, names[IN_FIGURE_5:])):
            figure = filter_traces({name: by_dataset[name] for name in part})
            drawn.append((number, figure, "the filter while KFHE is trained on all samples"))
    ours = run.ours.reset_index()
    if run.tested:
        four = ours[ours["method"].isin(("KFHE", *RIVALS))]
        drawn.append((7, rank_against_noise(four), "average ranks of the four methods, KFHE with unpruned trees"))
    shown = ours[ours["method"].isin((*NEEDED, *RIVALS))]
    drawn.append((8, score_against_noise(shown), "macro F1 on each dataset"))
    for number, figure, _ in drawn:
        pages.save(figure, page.with_name(f"{page.stem}-figure-{number}.svg"))
    return [
        (f"Figure {number} of the paper, computed by us: {caption}", f"{page.stem}-figure-{number}.svg")
        for number, _, caption in drawn
    ]


def _read_traces(path: Path) -> dict[str, Any]:
    traces = {}
    for name, rows in pd.read_csv(path, dtype={"dataset": str}).groupby("dataset", sort=False):
        measured = rows.iloc[1:]
        traces[str(name)] = SimpleNamespace(
            **{
                attribute: (rows if column == "train_error" else measured)[column].to_numpy()
                for column, attribute in TRACE_COLUMNS.items()
            }
        )
    return traces


def _in_short(run: Reproduction) -> list[str]:
    """State the result in a few sentences."""
    said = []
    if 0.0 in run.levels:
        clean = run.mean_sizes().loc[0.0]
        listed = join([f"{method} {clean[method]:.4f}" for method in run.methods])
        said.append(f"Without noise the mean absolute difference from the paper is: {listed}.")
    for setting, name in run.settings.items() if run.claims else ():
        held = [claim.ours[setting][0] for claim in run.claims]
        number = f"{sum(held)} of" if not all(held) else "all of"
        said.append(f"KFHE ({name}): {number} the {len(held)} conclusions checked below agree with the paper.")
    noisy = [level for level in run.levels if level > 0]
    if noisy:
        fit = run.mean_sizes().loc[noisy, list(run.settings)].mean().sort_values()
        others = join([f"{run.settings[method]} {size:.4f}" for method, size in fit.iloc[1:].items()])
        said.append(
            f"Of the settings of KFHE, {run.settings[fit.index[0]]} is the closest to the paper's tables with noise: "
            f"mean absolute difference {fit.iloc[0]:.4f}, against {others}."
        )
    n_far = len(run.far_off())
    far = "none differs" if n_far == 0 else "1 differs" if n_far == 1 else f"{n_far} differ"
    listed = "; each is listed below" if n_far else ""
    n_cells = len(run.datasets) * len(run.levels) * len((*NEEDED, *RIVALS))
    said.append(f"Of {n_cells} cells of {join((*NEEDED, *RIVALS))}, {far} by more than {FAR_OFF:g}{listed}.")
    return said


def _size_lines(run: Reproduction) -> list[tuple[str, pd.Series]]:
    sizes = run.mean_sizes()
    lines = [(percent(noise), sizes.loc[noise]) for noise in run.levels]
    lines.append(("all levels", sizes.mean()))
    if OUTSIDE in run.datasets and run.tested:
        lines.append((f"all levels, without {OUTSIDE}", run.mean_sizes(without=OUTSIDE).mean()))
    return lines


def _mean_score_lines(run: Reproduction) -> list[tuple[str, pd.Series]]:
    scores = run.mean_scores()
    lines = [(percent(noise), scores.loc[noise]) for noise in run.levels]
    if len(run.levels) > 1:
        first, last = run.levels[0], run.levels[-1]
        lines.append((f"lost from {percent(first)} to {percent(last)}", scores.loc[first] - scores.loc[last]))
    return lines


def _step_lines(run: Reproduction, per_repeat: pd.DataFrame | None, version: str) -> list[tuple[str, list[str]]]:
    """Compare how far scores move from one level of noise to the next."""
    if len(run.levels) < 2:
        return []
    steps = run.mean_steps()
    lines = [("paper", steps["paper"]), ("ours, noise drawn once", steps["ours"])]
    if per_repeat is not None:
        other = Reproduction(per_repeat)
        which = ", ".join(filter(None, (count(len(other.datasets), "dataset"), version)))
        lines.append((f"ours, drawn anew in each repeat ({which})", other.mean_steps()["ours"]))
    return [(name, [f"{line[method]:.4f}" if method in line else "" for method in run.methods]) for name, line in lines]


def _dataset_lines(run: Reproduction) -> list[tuple[str, ...]]:
    """Return the paper's Table 1: our number of samples, features and classes, and the paper's if it is another."""
    lines: list[tuple[str, ...]] = []
    for row in load_published("kfhe_datasets").itertuples():
        info = registry()[row.dataset]
        if info.unavailable:
            lines.append((row.dataset, str(row.samples), str(row.features), str(row.classes), "not found"))
            continue
        pairs = ((info.rows, row.samples), (info.features, row.features), (info.classes, row.classes))
        cells = [f"{ours}" if ours == paper else f"{ours} ({paper})" for ours, paper in pairs]
        lines.append((row.dataset, *cells, info.difference.rstrip(".")))
    return lines


def _rank_lines(run: Reproduction) -> list[dict[str, Any]]:
    printed = load_published("kfhe_average_ranks").set_index(["noise", "method"])["average_rank"]
    return [
        {
            "noise": noise,
            "lines": [
                *((f"ours, {name}", run.ranks(noise, setting)) for setting, name in run.settings.items()),
                (f"paper, the same {len(run.datasets)} dataset{'s' * run.tested}", run.ranks(noise, None)),
                ("paper, as printed (20 datasets)", printed[noise]),
            ],
        }
        for noise in run.levels
    ]


def _omnibus_lines(run: Reproduction) -> list[tuple[str, list[str]]]:
    lines = []
    for noise in run.levels if run.tested else ():
        tests = [run.omnibus(noise, setting) for setting in (*run.settings, None)]
        lines.append((percent(noise), [f"{test.statistic:.1f}, {pages.format_p(test.p_value)}" for test in tests]))
    return lines


def _p_lines(run: Reproduction) -> list[dict[str, Any]]:
    printed = load_published("kfhe_p_values").set_index(["noise", "versus"])["p_value"]
    lines: list[dict[str, Any]] = []
    for noise in run.levels if run.tested else ():
        tests = [run.against_rivals(noise, setting) for setting in (*run.settings, None)]
        lines += [
            {
                "noise": noise,
                "versus": rival,
                "cells": [_test_text(test.loc[rival]) for test in tests],
                "printed": printed[noise, rival],
            }
            for rival in RIVALS
        ]
    return lines


def _test_text(test: pd.Series) -> str:
    behind = "" if test["ahead"] else ", behind"
    return f"{pages.format_p(test['p_value'])} ({pages.format_p(test['p_corrected'])}){behind}"


def _far_lines(run: Reproduction) -> list[dict[str, Any]]:
    lines = []
    for (dataset, noise, method), difference in run.far_off().items():
        cell = run.cells.loc[(dataset, noise, method)]
        lines.append(
            {
                "dataset": dataset,
                "noise": noise,
                "method": method,
                "ours": cell["score"],
                "paper": run.paper[dataset, noise, column_of(method)],
                "difference": difference,
                "error": cell["sd"] / cell["n"] ** 0.5,
            }
        )
    return lines


def _notes(run: Reproduction) -> list[tuple[str, str]]:
    """Say once for each dataset with a large difference what is known of it."""
    far = set(run.far_off().index.get_level_values("dataset"))
    return [
        (
            name,
            " ".join(filter(None, (KNOWN.get(name, ""), registry()[name].difference)))
            or "Nothing beyond chance in the draw of wrong labels.",
        )
        for name in run.datasets
        if name in far
    ]


def _score_lines(run: Reproduction, noise: float) -> list[tuple[str, list[str]]]:
    ranks = {setting: run.cell_ranks(noise, setting) for setting in (*run.settings, None)}
    lines = []
    for dataset in run.datasets:

        def printed(method: str, dataset: str = dataset) -> str:
            return f"{run.paper[dataset, noise, method]:.4f} ({ranks[None].loc[dataset, method]:g})"

        def ours(method: str, setting: str, dataset: str = dataset) -> str:
            difference = run.differences[dataset, noise, method]
            rank = ranks[setting].loc[dataset, column_of(method)]
            text = f"{run.ours[dataset, noise, method]:.4f} ({rank:g}) {signed(difference, 4)}"
            return f"**{text}**" if abs(difference) > FAR_OFF else text

        cells = [printed("KFHE"), *(ours(setting, setting) for setting in run.settings)]
        for rival in RIVALS:
            cells += [printed(rival), ours(rival, "KFHE")]
        lines.append((dataset, cells))
    return lines


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the page as the command line says, and return the exit code."""
    parser = pages.make_parser(
        "kfhe",
        "Write the page that compares a run of the suite kfhe with the paper.",
        "docs/reproduction/kfhe.csv -o docs/reproduction.md",
    )
    parser.add_argument("summary", type=Path, help="summary.csv of the run, with its other files in the same folder")
    parser.add_argument("--settings", type=Path, help="summary of the suite kfhe-settings")
    parser.add_argument("--per-repeat", type=Path, help="summary of a run with noise drawn anew in each repeat")
    parser.add_argument("--trace", action="store_true", help="first train KFHE on each dataset, for figures 5 and 6")

    def write(chosen: Any) -> Path:
        if chosen.trace:
            trace_datasets().to_csv(traces_path(chosen.summary), index=False, lineterminator="\n")
        return write_page(chosen.summary, chosen.output, settings=chosen.settings, per_repeat=chosen.per_repeat)

    return pages.run(parser, arguments, write)


if __name__ == "__main__":
    sys.exit(main())
