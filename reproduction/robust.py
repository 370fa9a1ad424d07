"""The page with the tables of the experiment ``robust`` or ``robust-labels``, from the summaries of its runs alone.

There is one summary per kind of noise; the JSON file beside each says which kind it is.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fuselearn.lab.figures import fit_time_against_score, rank_against_noise
from fuselearn.lab.statistics import aligned_posthoc, aligned_test, average_ranks, win_tie_loss
from reproduction import pages
from reproduction.experiments import EXPERIMENTS, command_line
from reproduction.pages import join, percent, read_costs, read_summary

__all__ = ["RobustRun", "make_page", "read_runs", "write_page"]

NAMES = {"multiclass": "robust", "multilabel": "robust-labels"}
CONTROLS = ("Fused", "Fused (labels)")
ALPHA = 0.05
DIGITS = 4
TABLES = {
    "multiclass": {
        "macro_f1": "Mean macro-averaged F1",
        "brier": "Mean Brier score (lower is better)",
        "log_loss": "Mean log loss (lower is better)",
        "calibration_error": "Mean expected calibration error (lower is better)",
    },
    "multilabel": {
        "macro_f1": "Mean macro-averaged F1",
        "micro_f1": "Mean micro-averaged F1",
        "hamming_loss": "Mean Hamming loss (lower is better)",
        "accuracy": "Mean subset accuracy",
        "label_ranking_average_precision": "Mean label ranking average precision",
    },
}
"""The scores that each task has a table of, and their titles."""


@dataclass(frozen=True, order=True)
class Condition:
    """A kind and a level of noise: a column of the tables."""

    kind: str
    noise: float

    def __str__(self) -> str:
        """Return both for reading; without wrong labels, no kind."""
        return percent(self.noise) if self.noise == 0 else f"{self.kind} {percent(self.noise)}"


class RobustRun:
    """The summaries of one run per kind of noise.

    Datasets that were not run with every kind are left out, and so are methods without scores on most of the others,
    and datasets on which one of the remaining methods has no score in a condition: ranks need every method.

    Parameters
    ----------
    summaries : mapping of str to DataFrame
        By kind of noise, as `fuselearn.lab.summarize` returns them.

    Raises
    ------
    ValueError
        If no dataset has scores of several methods, the fused classifier among them.
    """

    def __init__(self, summaries: Mapping[str, pd.DataFrame]) -> None:
        everything = pd.concat([summary.assign(kind=kind) for kind, summary in summaries.items()], ignore_index=True)
        n_kinds = everything.groupby("dataset")["kind"].nunique()
        everything = everything[everything["dataset"].map(n_kinds) == len(summaries)].copy()
        everything["condition"] = [
            Condition(kind, noise) for kind, noise in zip(everything["kind"], everything["noise"], strict=True)
        ]
        self.conditions = list(dict.fromkeys(everything["condition"]))
        methods = list(dict.fromkeys(everything["method"]))
        scored = everything.pivot(index="dataset", columns=["condition", "method"], values="macro_f1").notna()
        scored = scored.reindex(columns=pd.MultiIndex.from_product([self.conditions, methods]), fill_value=False)
        there = scored.T.groupby(level=1, sort=False).all().T.astype(bool)
        mostly = there.mean() > 0.5
        self.methods = [method for method in methods if mostly[method]]
        complete = there[self.methods].all(axis=1)
        self.datasets = [name for name in dict.fromkeys(everything["dataset"]) if complete[name]]
        self.left_out = [name for name in dict.fromkeys(everything["dataset"]) if not complete[name]]
        self.left_out += [method for method in methods if not mostly[method]]
        controls = [method for method in CONTROLS if method in self.methods]
        if not self.datasets or not controls or len(self.methods) < 2:
            raise ValueError(
                f"The summaries must have scores of {' or '.join(CONTROLS)} and of other methods on the same datasets."
            )
        self.control = controls[0]
        kept = everything["dataset"].isin(self.datasets) & everything["method"].isin(self.methods)
        self.results = everything[kept]

    def table(self, condition: Condition, value: str = "macro_f1") -> pd.DataFrame:
        """Return the scores of a condition, datasets by methods."""
        rows = self.results[self.results["condition"] == condition]
        return rows.pivot(index="dataset", columns="method", values=value).loc[self.datasets, self.methods]

    @cached_property
    def ranks(self) -> pd.DataFrame:
        """Average rank by macro F1 of each method (rows) in each condition, the best method over all of them first."""
        ranks = self.ranks_by("macro_f1")
        return ranks.loc[ranks.mean(axis=1).sort_values(kind="stable").index]

    def ranks_by(self, value: str, *, lower_is_better: bool = False) -> pd.DataFrame:
        """Return the average rank of each method (rows) in each condition."""
        sign = -1 if lower_is_better else 1
        columns = {one: average_ranks(sign * self.table(one, value), digits=DIGITS) for one in self.conditions}
        return pd.DataFrame(columns)

    def means(self, value: str) -> pd.DataFrame:
        """Return the mean of a score over the datasets, methods by conditions, in the order of the ranks."""
        columns = {condition: self.table(condition, value).mean() for condition in self.conditions}
        return pd.DataFrame(columns).loc[self.ranks.index]

    @cached_property
    def over_all(self) -> pd.DataFrame:
        """The mean of macro F1 over the conditions, datasets by methods: one independent line per dataset."""
        return sum(self.table(condition) for condition in self.conditions) / len(self.conditions)

    @cached_property
    def tests(self) -> pd.DataFrame:
        """The fused classifier against every other method over all conditions: aligned ranks with Finner's correction.

        Indexed by the other method: p_corrected, ahead (whether the fused classifier is), and the wins, ties and losses
        of the fused classifier over datasets and conditions.
        """
        posthoc = aligned_posthoc(self.over_all, control=self.control, digits=DIGITS)
        pairs = posthoc.pairs.set_index("versus")[["p_corrected"]]
        pairs["ahead"] = posthoc.mean_ranks[pairs.index] > posthoc.mean_ranks[self.control]
        cells = pd.concat({str(condition): self.table(condition) for condition in self.conditions})
        wins = win_tie_loss(cells.set_axis(range(len(cells))), digits=DIGITS)
        pairs["record"] = [tuple(wins.loc[(self.control, other)]) for other in pairs.index]
        return pairs.loc[[method for method in self.ranks.index if method != self.control]]

    def verdict(self, test: pd.Series) -> str:
        """Return the meaning of a line of `tests`."""
        if test["p_corrected"] >= ALPHA:
            return "no significant difference"
        return f"{self.control} is {'better' if test['ahead'] else 'worse'}"

    @property
    def side_by_side(self) -> pd.DataFrame:
        """The results of the first kind of noise: all methods ran side by side, so that times can be compared."""
        return self.results[self.results["kind"] == self.conditions[0].kind]

    def fit_seconds(self) -> pd.Series:
        """Return the geometric mean of each method's fit times."""
        seconds = np.log(self.side_by_side.set_index("method")["fit_seconds"])
        return np.exp(seconds.groupby(level=0).mean())[self.ranks.index]


def make_page(
    summaries: Mapping[str, pd.DataFrame],
    costs: Mapping[str, Mapping[str, Any]],
    *,
    sources: Sequence[str] = (),
    output: str = "",
    figures: Mapping[str, str] | None = None,
) -> str:
    """Return the Markdown page.

    Parameters
    ----------
    summaries : mapping of str to DataFrame
        As for `RobustRun`.
    costs : mapping of str to mapping
        By kind of noise, the suite, totals and versions of the run.
    sources : sequence of str, optional
        The files of the summaries, named on the page.
    output : str, optional
        The file of the page, named on it.
    figures : mapping of str to str, optional
        The files of the figures ``ranks`` and ``cost``.

    Returns
    -------
    page : str
    """
    run = RobustRun(summaries)
    tables = [("Average rank by macro F1 (1 is best)", _lines(run.ranks, 2, lower_is_better=True))]
    suite = next(iter(costs.values()))["suite"]
    task = suite.get("task", "multiclass")
    if task == "multiclass":
        by_brier = run.ranks_by("brier", lower_is_better=True).loc[run.ranks.index]
        tables.append(("Average rank by Brier score (1 is best)", _lines(by_brier, 2, lower_is_better=True)))
    methods = EXPERIMENTS[NAMES[task]].methods
    tables += [
        (title, _lines(run.means(name), 3, lower_is_better="lower" in title)) for name, title in TABLES[task].items()
    ]
    return pages.render_page(
        "robust.md",
        run=run,
        guide={"multiclass": "robustness.md", "multilabel": "multilabel.md"}[task],
        experiment=NAMES[task],
        costs=next(iter(costs.values())),
        runs=[(kind, cost["suite"], cost["totals"]) for kind, cost in costs.items()],
        commands=[command_line(cost["suite"], NAMES[task]) for cost in costs.values()],
        tables=tables,
        places=_places(run),
        omnibus=aligned_test(run.over_all, digits=DIGITS),
        tests=[
            (other, pages.format_p(test["p_corrected"]), run.verdict(test), "{} / {} / {}".format(*test["record"]))
            for other, test in run.tests.iterrows()
        ],
        seconds=[(method, f"{seconds:.3f}") for method, seconds in run.fit_seconds().items()],
        described=[(method, methods[method].description) for method in run.ranks.index if method in methods],
        sources=sources,
        output=output,
        figures=figures or {},
    )


def write_page(summaries: Sequence[str | os.PathLike[str]], page: str | os.PathLike[str]) -> Path:
    """Write the page and its figures from the files of one run per kind of noise.

    Parameters
    ----------
    summaries : sequence of str or path
        The CSV files; the JSON file beside each is read, too.
    page : str or path
        The Markdown file. Missing folders are created.

    Returns
    -------
    page : Path
    """
    page = Path(page)
    tables, costs = read_runs(summaries)
    page.parent.mkdir(parents=True, exist_ok=True)
    figures = _draw(RobustRun(tables), page)
    sources = [pages.source_name(path) for path in summaries]
    output = pages.source_name(page)
    page.write_text(make_page(tables, costs, sources=sources, output=output, figures=figures), encoding="utf-8")
    return page


def read_runs(
    summaries: Sequence[str | os.PathLike[str]],
) -> tuple[dict[str, pd.DataFrame], dict[str, dict[str, Any]]]:
    """Read the summaries of one run per kind of noise, and what the JSON file beside each says.

    Parameters
    ----------
    summaries : sequence of str or path
        The CSV files.

    Returns
    -------
    tables : dict of str to DataFrame
        By kind of noise, as for `RobustRun`.
    costs : dict of str to dict
        By kind of noise, the suite, totals and versions of the run.
    """
    tables: dict[str, pd.DataFrame] = {}
    costs: dict[str, dict[str, Any]] = {}
    for path in map(Path, summaries):
        cost = read_costs(path)
        if cost is None:
            raise ValueError(f"{path.with_suffix('.json')} is missing, which says what was run.")
        kind = cost["suite"]["noise_kind"]
        if kind in tables:
            raise ValueError(f"{path} is the second summary of {kind} noise; pass one per kind.")
        tables[kind], costs[kind] = read_summary(path), cost
    return tables, costs


def _draw(run: RobustRun, page: Path) -> dict[str, str]:
    """Draw rank against noise, for the kind with most levels, and cost against quality."""
    kinds = pd.Series([condition.kind for condition in run.conditions]).value_counts()
    levels = run.results[run.results["kind"] == kinds.index[0]]
    timed = run.side_by_side.assign(score=run.side_by_side["macro_f1"])
    figures = {
        "ranks": rank_against_noise(levels.assign(score=levels["macro_f1"])),
        "cost": fit_time_against_score(timed),
    }
    for name, figure in figures.items():
        pages.save(figure, page.with_name(f"{page.stem}-{name}.svg"))
    return {name: f"{page.stem}-{name}.svg" for name in figures}


def _lines(table: pd.DataFrame, digits: int, *, lower_is_better: bool) -> list[tuple[str, list[str]]]:
    """Format a table of methods by conditions, the best of each column in bold."""
    rounded = table.round(digits)
    best = rounded.min() if lower_is_better else rounded.max()
    return [
        (
            str(method),
            [f"**{x:.{digits}f}**" if x == best[column] else f"{x:.{digits}f}" for column, x in row.items()],
        )
        for method, row in rounded.iterrows()
    ]


def _places(run: RobustRun) -> list[str]:
    """Say for each condition whether the fused classifier has the best rank, and by how much not."""
    said = []
    for condition in run.conditions:
        ranks = run.ranks[condition].round(2)
        own = ranks[run.control]
        better = ranks[ranks < own].sort_values(kind="stable")
        if better.empty:
            ties = [method for method in ranks.index if ranks[method] == own and method != run.control]
            word = f"best, together with {join(ties)}" if ties else "best"
            said.append(f"{condition}: {run.control} has the {word} average rank, {own:.2f}.")
        else:
            listed = join([f"{method} ({rank:.2f})" for method, rank in better.items()])
            said.append(f"{condition}: {run.control} has the average rank {own:.2f}, behind {listed}.")
    return said
