"""The page that puts the library's multi-label methods beside 28 methods of a published study.

Each of our methods is ranked alone among the 28, split by split, by the study's six measures; everything on the page is
computed from the fold scores of the runs and the published table.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from reproduction import pages
from reproduction.experiments import command_line
from reproduction.methods import LABELS
from reproduction.pages import beside, join, read_costs
from reproduction.published import load_published

__all__ = ["MEASURES", "StudyRun", "make_page", "write_page"]


class Measure(NamedTuple):
    """A measure of the study, the method that is fused for it, and whether higher is better."""

    title: str
    fused: str
    higher: bool = True


MEASURES: Mapping[str, Measure] = {
    "macro_f1": Measure("macro F1", "Fused (labels)"),
    "micro_f1": Measure("micro F1", "Fused (micro F1)"),
    "example_f1": Measure("example-based F1", "Fused (example F1)"),
    "hamming_loss": Measure("Hamming loss", "Fused (Hamming loss)", higher=False),
    "accuracy": Measure("subset accuracy", "Fused (subset accuracy)"),
    "label_ranking_average_precision": Measure("label ranking average precision", "Fused (ranking)"),
}
NAMES = {"flags_ml": "flags", "birds_full": "birds", "llog": "langlog"}
"""The study's names of datasets that have others here."""
COUNTERPARTS = {
    "RF-PCT (cardinality)": "RFPCT", "HOMER-B": "HOMER", "MLkNN": "MLkNN", "CC": "CC", "ECC (trees)": "ECCJ48",
    "EBR (trees)": "EBRJ48",
}  # fmt: skip
"""The study's names of methods that exist on both sides."""
DIGITS = 3
"""The digits that the study prints."""


class StudyRun:
    """The fold scores of a run, ranked among the published scores.

    Parameters
    ----------
    folds : DataFrame
        One row per result with the columns dataset, method, repeat, fold and `MEASURES`. Datasets and methods that are
        incomplete are left out.

    Raises
    ------
    ValueError
        If no dataset of the study has scores.
    """

    def __init__(self, folds: pd.DataFrame) -> None:
        published = load_published("multilabel_study")
        folds = folds.assign(dataset=folds["dataset"].replace(NAMES))
        folds = folds[folds["dataset"].isin(published["dataset"])]
        scores = folds.set_index(["dataset", "method", "repeat", "fold"])[list(MEASURES)].round(DIGITS)
        table = scores.unstack(["repeat", "fold"]).dropna()
        complete = table.groupby(level="method").size()
        self.datasets = [name for name in published["dataset"].unique() if name in table.index.levels[0]]
        self.methods = [name for name in dict.fromkeys(folds["method"]) if complete.get(name) == len(self.datasets)]
        if not self.datasets or not self.methods:
            raise ValueError(f"The run must have scores of the datasets {join(published['dataset'].unique())}.")
        self.ours = table.loc[self.datasets]
        self.published = published.set_index(["dataset", "method"])
        self.n_splits = len(table.columns) // len(MEASURES)

    def of(self, measure: str, method: str) -> pd.DataFrame:
        """Return our scores, datasets by splits."""
        return self.ours[measure].xs(method, level="method").loc[self.datasets]

    def theirs(self, measure: str) -> pd.DataFrame:
        """Return the published scores, datasets by methods."""
        return self.published[measure].unstack().loc[self.datasets]

    def ranks(self, measure: str, method: str) -> pd.DataFrame:
        """Return the rank of our method among the published ones, 1 the best, datasets by splits."""
        sign = 1 if MEASURES[measure].higher else -1
        ours, theirs = (sign * table(measure, *given) for table, given in ((self.of, [method]), (self.theirs, [])))
        published = theirs.to_numpy()[:, :, None]
        own = ours.to_numpy()[:, None, :]
        return pd.DataFrame(
            1 + (published > own).sum(axis=1) + (published == own).sum(axis=1) / 2, ours.index, ours.columns
        )

    @cached_property
    def standings(self) -> pd.DataFrame:
        """The average rank of each of our methods by each measure: mean, lowest and highest over the splits."""
        rows = {}
        for measure in MEASURES:
            for method in self.methods:
                average = self.ranks(measure, method).mean()
                rows[measure, method] = {"mean": average.mean(), "low": average.min(), "high": average.max()}
        return pd.DataFrame(rows).T

    def published_ranks(self, measure: str, method: str) -> pd.Series:
        """Return the average ranks of the published methods in the field with one of ours, the best one first."""
        theirs, ours, higher = self.theirs(measure), self.of(measure, method), MEASURES[measure].higher
        fields = [theirs.assign(_ours=ours[split]).rank(axis=1, ascending=not higher).mean() for split in ours.columns]
        return (sum(fields) / len(fields)).drop("_ours").sort_values(kind="stable")

    def winners(self, measure: str, method: str) -> pd.DataFrame:
        """Return for each dataset our mean, lowest and highest score, the best published one, and its method.

        ``here`` is the mean of the same method on our splits, NaN if it was not run.
        """
        ours, theirs = self.of(measure, method), self.theirs(measure)
        higher = MEASURES[measure].higher
        found = pd.DataFrame({"mean": ours.mean(axis=1), "low": ours.min(axis=1), "high": ours.max(axis=1)})
        found["best"] = theirs.max(axis=1) if higher else theirs.min(axis=1)
        found["winner"] = [
            join(theirs.columns[row == best]) for row, best in zip(theirs.to_numpy(), found["best"], strict=True)
        ]
        here = {there: self.of(measure, one).mean(axis=1) for one, there in COUNTERPARTS.items() if one in self.methods}
        found["here"] = [here.get(winner, {}).get(name, np.nan) for name, winner in found["winner"].items()]
        found["rank"] = self.ranks(measure, method).mean(axis=1)
        gap = (found["best"] - found["mean"]) * (1 if higher else -1)
        found["won"] = gap <= 0
        found["within"] = found["high"] >= found["best"] if higher else found["low"] <= found["best"]
        return found

    def side_by_side(self, measure: str, method: str) -> tuple[float, float, float]:
        """Return the means of a method here and there, and the median absolute difference over the datasets."""
        ours, theirs = self.of(measure, method).mean(axis=1), self.theirs(measure)[COUNTERPARTS[method]]
        return ours.mean(), theirs.mean(), (ours - theirs).abs().median()

    def test_sizes(self, largest: int = 500) -> pd.Series:
        """Return for each dataset the smallest number of test samples that its printed subset accuracies allow.

        All are multiples of 1/n, up to rounding; the more methods, the fewer numbers n allow that. 0 if none does.
        """
        sizes = np.arange(20, largest + 1)[:, None]
        printed = self.theirs("accuracy")
        fits = {
            name: (np.abs(np.round(row * sizes) / sizes - row) <= 0.51 * 10.0**-DIGITS).all(axis=1)
            for name, row in zip(printed.index, printed.to_numpy(), strict=True)
        }
        return pd.Series({name: int(sizes[fit][0, 0]) if fit.any() else 0 for name, fit in fits.items()})


def make_page(
    runs: Sequence[StudyRun], costs: Sequence[Mapping[str, Any]], *, sources: Sequence[str] = (), output: str = ""
) -> str:
    """Return the Markdown page.

    Parameters
    ----------
    runs : sequence of StudyRun
        The first one is described in full; of the others, which have other splits, the average ranks are shown.
    costs : sequence of mapping
        Suite, totals and versions of each run.
    sources, output : str
        The files of the summaries and of the page, named on it.
    """
    run = runs[0]
    asked = {measure: about.fused for measure, about in MEASURES.items() if about.fused in run.methods}
    return pages.render_page(
        "study.md",
        run=run,
        measures=MEASURES,
        suites=[cost["suite"] for cost in costs],
        costs=costs[0],
        standings=[_standing(runs, measure, method) for measure, method in asked.items()],
        lost=[line for measure, method in asked.items() for line in _lost_lines(run, measure, method)],
        others=[(method, [_interval(run.standings.loc[(measure, method)], 1) for measure in MEASURES])
                for method in run.methods if not method.startswith("Fused")],
        counterparts=[
            (method, COUNTERPARTS[method], [_side(run.side_by_side(measure, method)) for measure in MEASURES])
            for method in COUNTERPARTS if method in run.methods
        ],
        commands=[command_line(cost["suite"], "multilabel-study") for cost in costs],
        tables=[(MEASURES[measure].title, _score_lines(run, measure, method)) for measure, method in asked.items()],
        test_sizes=[(name, size) for name, size in run.test_sizes().items() if size],
        described=[(method, LABELS[method].description) for method in run.methods if method in LABELS],
        sources=sources,
        output=output,
    )  # fmt: skip


def write_page(summaries: Sequence[str | os.PathLike[str]], page: str | os.PathLike[str]) -> Path:
    """Write the page from the files of one or more runs; the fold scores and costs beside each summary are read."""
    costs = []
    for path in summaries:
        cost = read_costs(path)
        if cost is None:
            raise ValueError(f"{Path(path).with_suffix('.json')} is missing, which says what was run.")
        costs.append(cost)
    runs = [StudyRun(pd.read_csv(beside(path, "folds"))) for path in summaries]
    page = Path(page)
    page.parent.mkdir(parents=True, exist_ok=True)
    sources = [pages.source_name(path) for path in summaries]
    page.write_text(make_page(runs, costs, sources=sources, output=pages.source_name(page)), encoding="utf-8")
    return page


def _standing(runs: Sequence[StudyRun], measure: str, method: str) -> dict[str, Any]:
    """Return where a method stands among the published ones by a measure."""
    run = runs[0]
    published, own = run.published_ranks(measure, method), run.standings.loc[(measure, method)]
    winners = run.winners(measure, method)
    return {
        "title": MEASURES[measure].title,
        "rank": _interval(own, 2),
        "elsewhere": [_interval(other.standings.loc[(measure, method)], 2) for other in runs[1:]],
        "place": 1 + int((published < own["mean"]).sum()),
        "overlaps": join([f"{name} ({rank:.2f})" for name, rank in published[published < own["high"]].items()])
        if (published < own["high"]).any()
        else "",
        "won": int(winners["won"].sum()),
        "runners": join([f"{name} ({rank:.2f})" for name, rank in published.head(3).items()]),
    }


def _lost_lines(run: StudyRun, measure: str, method: str) -> list[list[str]]:
    """Return the datasets on which a published method is better than the mean of ours, and by how much."""
    winners = run.winners(measure, method)
    return [
        [
            MEASURES[measure].title, name, _interval(row, DIGITS), f"{row['rank']:.1f}",
            f"{row['winner']} ({row['best']:.{DIGITS}f})", "" if np.isnan(row["here"]) else f"{row['here']:.{DIGITS}f}",
            "within" if row["within"] else "beyond",
        ]
        for name, row in winners[~winners["won"]].iterrows()
    ]  # fmt: skip


def _score_lines(run: StudyRun, measure: str, method: str) -> list[list[str]]:
    """Return our score and the best published one on each dataset."""
    winners = run.winners(measure, method)
    return [
        [name, _interval(row, DIGITS), f"{row['best']:.{DIGITS}f} ({row['winner']})", f"{row['rank']:.1f}"]
        for name, row in winners.iterrows()
    ]


def _interval(values: Any, digits: int) -> str:
    """Format a mean with the lowest and highest value over the splits."""
    mean, low, high = (f"{values[name]:.{digits}f}" for name in ("mean", "low", "high"))
    return mean if low == high else f"{mean} ({low}–{high})"


def _side(values: tuple[float, float, float]) -> str:
    here, there, difference = (f"{value:.3f}".lstrip("0") for value in values)
    return f"{here} / {there} ({difference})"
