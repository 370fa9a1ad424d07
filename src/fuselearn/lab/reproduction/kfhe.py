"""Write the page that compares a run of the suite ``kfhe`` with the paper, from its summary alone.

Run ``python -m fuselearn.lab.reproduction.kfhe SUMMARY.csv -o docs/reproduction.md``. A JSON file of the
same name holds the costs of the run; ``fuselearn reproduce kfhe`` writes both. Everything on the page is
computed from the two files and the published tables.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from fuselearn.datasets import registry
from fuselearn.lab.published import load_published
from fuselearn.lab.reporting.text import join, percent, signed
from fuselearn.lab.reproduction import pages
from fuselearn.lab.statistics.rank_tests import aligned_posthoc
from fuselearn.lab.statistics.ranks import average_ranks
from fuselearn.lab.statistics.summary import KEYS, read_summary

__all__ = ["SETTINGS", "Claim", "Reproduction", "make_page", "write_page"]

SETTINGS = {"KFHE": "unpruned trees", "KFHE (pruned)": "pruned trees"}
"""The two settings of KFHE; the paper has one column for both."""
RIVALS = ("AdaBoost", "Bagging", "CART")
METHODS = (*SETTINGS, *RIVALS)
FAR_OFF = 0.05
ALPHA = 0.05
DIGITS = 4
KNOWN = {
    "balance_scale": "the authors' current program reaches 0.611 on this copy of the data, where the paper has 0.6585",
    "wine": "the authors' current program reaches 0.972 on this copy of the data, where the paper has 0.9392",
    "mushroom": "at 20 % noise the paper's KFHE equals one split on odour, which pruned trees make and unpruned do not",
    "flags": "a tree that may split on the country's name, as 29 features imply, probably memorises the samples, "
    "which lowers the scores of all four methods",
    "glass": "not explained: the paper's bagging falls by 0.12 from 10 to 15 % noise and rises again at 20 %",
    "car_eval": "the paper's KFHE is the same at 5 and 10 % noise; ours with unpruned trees is nearer, at 0.905",
    "tvowel": "no setting of the authors' program that was tried comes near the paper's KFHE under noise",
}
"""Notes on cells with large differences, in addition to those of the registry."""


@dataclass(frozen=True)
class Claim:
    """A conclusion of the paper, and whether a run agrees with it.

    Parameters
    ----------
    text : str
        The conclusion.
    paper : str
        The paper's number.
    ours : dict of str to (bool, str)
        For each setting, whether it holds and our number.
    """

    text: str
    paper: str
    ours: dict[str, tuple[bool, str]]


class Reproduction:
    """A summary of the suite ``kfhe``, compared with the paper's tables.

    Parameters
    ----------
    summary : DataFrame
        As `fuselearn.lab.statistics.summary.summarise` returns it: the methods KFHE, KFHE (pruned), AdaBoost,
        Bagging and CART on datasets of the paper.

    Raises
    ------
    ValueError
        If a method is missing, or a cell has no score.
    """

    def __init__(self, summary: pd.DataFrame) -> None:
        absent = [method for method in METHODS if method not in set(summary["method"])]
        if absent:
            raise ValueError(f"The summary must have the methods {join(METHODS)}; {join(absent)} not found.")
        published = load_published("kfhe_scores")
        self.datasets = [name for name in published["dataset"].unique() if name in set(summary["dataset"])]
        if not self.datasets:
            raise ValueError("The summary must have datasets of the KFHE paper; none was found.")
        self.levels = sorted(set(summary["noise"]) & set(published["noise"]))
        ours = summary.set_index(KEYS)["score"]
        wanted = pd.MultiIndex.from_product([self.datasets, self.levels, METHODS], names=KEYS)
        self.ours = ours.reindex(wanted)
        if self.ours.isna().any():
            dataset, noise, method = self.ours.index[self.ours.isna()][0]
            raise ValueError(f"The summary has no score of {method} on {dataset} at {percent(noise)} noise.")
        self.paper = published.set_index(KEYS)["score"].reindex(
            pd.MultiIndex.from_product([self.datasets, self.levels, ("KFHE", *RIVALS)], names=KEYS)
        )

    @property
    def tested(self) -> bool:
        """Whether there are enough datasets for tests: at least two."""
        return len(self.datasets) > 1

    @cached_property
    def differences(self) -> pd.Series:
        """Ours minus published, for each dataset, noise and method."""
        printed = [self.paper[dataset, noise, _column(method)] for dataset, noise, method in self.ours.index]
        return self.ours - printed

    def mean_sizes(self) -> pd.DataFrame:
        """Return the mean absolute difference for each level (rows) and method."""
        table = self.differences.abs().groupby(level=["noise", "method"]).mean().unstack("method")
        return table[list(METHODS)]

    def far_off(self) -> pd.Series:
        """Return the differences of more than 0.05, the largest first."""
        far = self.differences[self.differences.abs() > FAR_OFF]
        return far.reindex(far.abs().sort_values(ascending=False, kind="stable").index)

    def table(self, noise: float, setting: str | None) -> pd.DataFrame:
        """Return the scores of the four methods on each dataset: ours with a setting of KFHE, or the paper's."""
        scores = self.paper if setting is None else self.ours
        methods = ["KFHE" if setting is None else setting, *RIVALS]
        table = scores.xs(noise, level="noise").unstack("method")
        return table.loc[self.datasets, methods].rename(columns={setting: "KFHE"})

    def ranks(self, noise: float, setting: str | None) -> pd.Series:
        """Return the average ranks of the four methods."""
        return average_ranks(self.table(noise, setting), digits=DIGITS)

    def against_rivals(self, noise: float, setting: str | None) -> pd.DataFrame:
        """Compare KFHE with each rival by aligned ranks.

        Returns
        -------
        tests : DataFrame
            Indexed by rival: p_value, p_corrected (Finner) and ahead, whether KFHE is better.
        """
        # Ties by rounding are broken by chance, as in the paper: with them merged, its Table 7 is not
        # reproduced to the printed digits.
        test = aligned_posthoc(self.table(noise, setting), control="KFHE", digits=DIGITS, tie_tolerance=0)
        tests = test.pairs.set_index("versus")[["p_value", "p_corrected"]]
        return tests.assign(ahead=test.mean_ranks[tests.index] > test.mean_ranks["KFHE"])

    @cached_property
    def claims(self) -> list[Claim]:
        """The paper's conclusions, checked with both settings; they need several datasets."""
        if not self.tested:
            return []
        claims = [self._rank_claim(noise, 2 if noise in (0.0, 0.2) else 1) for noise in self.levels]
        return claims + [self._significance_claim(noise) for noise in self.levels]

    def _rank_claim(self, noise: float, at_most: int) -> Claim:
        place = "the best average rank" if at_most == 1 else "one of the first two average ranks"
        ours = {}
        for setting in SETTINGS:
            ranks = self.ranks(noise, setting)
            ours[setting] = (_place(ranks) <= at_most, _rank_text(ranks))
        return Claim(f"KFHE has {place} at {percent(noise)} noise", _rank_text(self.ranks(noise, None)), ours)

    def _significance_claim(self, noise: float) -> Claim:
        ours = {}
        for setting in SETTINGS:
            test = self.against_rivals(noise, setting).loc["CART"]
            ours[setting] = (bool(test["p_corrected"] < ALPHA and test["ahead"]), pages.format_p(test["p_corrected"]))
        paper = pages.format_p(self.against_rivals(noise, None).loc["CART", "p_corrected"])
        return Claim(f"KFHE is significantly better than CART at {percent(noise)} noise", paper, ours)

    def fit_of_settings(self) -> pd.DataFrame:
        """Return for each level how close each setting of KFHE is to the paper.

        Returns
        -------
        fit : DataFrame
            Rows: levels of noise. Columns: the mean absolute difference of each setting, and
            ``closer``, the number of datasets on which the pruned one is closer.
        """
        sizes = self.differences.abs().unstack("method")
        closer = sizes["KFHE (pruned)"] < sizes["KFHE"]
        fit = sizes[list(SETTINGS)].groupby(level="noise").mean()
        fit["closer"] = closer.groupby(level="noise").sum()
        return fit


def make_page(summary: pd.DataFrame, costs: Mapping[str, Any] | None = None, *, source: str = "") -> str:
    """Return the Markdown page.

    Parameters
    ----------
    summary : DataFrame
        As for `Reproduction`; standard errors are computed from its columns sd and n.
    costs : mapping, optional
        The costs that ``fuselearn reproduce`` writes next to the summary: suite, totals and versions.
    source : str, optional
        The file of the summary, named on the page.

    Returns
    -------
    page : str
    """
    run = Reproduction(summary)
    return pages.render_page(
        "reproduction.md",
        run=run,
        methods=METHODS,
        settings=SETTINGS,
        rivals=RIVALS,
        sizes=run.mean_sizes(),
        claims=run.claims,
        differing={setting: [claim for claim in run.claims if not claim.ours[setting][0]] for setting in SETTINGS},
        short=_in_short(run),
        ranks=_rank_lines(run),
        p_lines=_p_lines(run),
        fit=run.fit_of_settings(),
        far=_far_lines(run, summary),
        tables=[(noise, _score_lines(run, noise)) for noise in run.levels],
        costs=costs,
        cost_lines=pages.cost_lines(costs),
        source=source,
    )


def write_page(summary: str | os.PathLike[str], page: str | os.PathLike[str]) -> Path:
    """Write the page from the files of a run.

    Parameters
    ----------
    summary : str or path
        The CSV file; the JSON file of the same name is read too, if it exists.
    page : str or path
        The Markdown file. Missing folders are created.

    Returns
    -------
    page : Path
    """
    summary, page = Path(summary), Path(page)
    text = make_page(read_summary(summary), pages.read_costs(summary), source=pages.source_name(summary))
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(text, encoding="utf-8")
    return page


def _column(method: str) -> str:
    """Return the column of the paper to compare a method with."""
    return "KFHE" if method in SETTINGS else method


def _place(ranks: pd.Series) -> int:
    """Return the place of KFHE among the four; equal ranks share the better place."""
    return 1 + int((ranks < ranks["KFHE"]).sum())


def _rank_text(ranks: pd.Series) -> str:
    return f"{ranks['KFHE']:.2f}, {('first', 'second', 'third', 'fourth')[_place(ranks) - 1]}"


def _in_short(run: Reproduction) -> list[str]:
    """State the result in a few sentences."""
    sizes = run.mean_sizes()
    said = []
    if 0.0 in run.levels:
        clean = sizes.loc[0.0]
        listed = join([f"{method} {clean[method]:.4f}" for method in METHODS])
        said.append(f"Without noise the mean absolute difference from the paper is: {listed}.")
    for setting, trees in SETTINGS.items() if run.claims else ():
        held = [claim.ours[setting][0] for claim in run.claims]
        said.append(
            f"With {trees}, {sum(held)} of the {len(held)} conclusions checked below agree with the paper."
            if not all(held)
            else f"With {trees}, all {len(held)} conclusions checked below agree with the paper."
        )
    noisy = [level for level in run.levels if level > 0]
    if noisy:
        fit = run.fit_of_settings().loc[noisy, list(SETTINGS)].mean()
        better, worse = fit.sort_values().index
        said.append(
            f"KFHE with {SETTINGS[better]} fits the paper's noise tables better: mean absolute difference "
            f"{fit[better]:.4f}, against {fit[worse]:.4f} with {SETTINGS[worse]}."
        )
    n_far = len(run.far_off())
    far = "none differs" if n_far == 0 else "1 differs" if n_far == 1 else f"{n_far} differ"
    listed = "; each is listed below" if n_far else ""
    said.append(f"Of {len(run.differences)} cells, {far} by more than {FAR_OFF:g}{listed}.")
    return said


def _rank_lines(run: Reproduction) -> list[dict[str, Any]]:
    printed = load_published("kfhe_average_ranks").set_index(["noise", "method"])["average_rank"]
    return [
        {
            "noise": noise,
            "lines": [
                *((f"ours, {trees}", run.ranks(noise, setting)) for setting, trees in SETTINGS.items()),
                (f"paper, the same {len(run.datasets)} dataset{'s' * run.tested}", run.ranks(noise, None)),
                ("paper, as printed (20 datasets)", printed[noise]),
            ],
        }
        for noise in run.levels
    ]


def _p_lines(run: Reproduction) -> list[dict[str, Any]]:
    printed = load_published("kfhe_p_values").set_index(["noise", "versus"])["p_value"]
    lines: list[dict[str, Any]] = []
    for noise in run.levels if run.tested else ():
        tests = [run.against_rivals(noise, setting) for setting in (*SETTINGS, None)]
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


def _far_lines(run: Reproduction, summary: pd.DataFrame) -> list[dict[str, Any]]:
    rows = summary.set_index(KEYS)
    lines = []
    for (dataset, noise, method), difference in run.far_off().items():
        row = rows.loc[(dataset, noise, method)]
        notes = [KNOWN.get(dataset, ""), registry()[dataset].difference.rstrip(".") if dataset in registry() else ""]
        lines.append(
            {
                "dataset": dataset,
                "noise": noise,
                "method": method,
                "ours": row["score"],
                "paper": run.paper[dataset, noise, _column(method)],
                "difference": difference,
                "error": row["sd"] / row["n"] ** 0.5 if {"sd", "n"} <= set(rows.columns) else None,
                "note": "; ".join(filter(None, notes)),
            }
        )
    return lines


def _score_lines(run: Reproduction, noise: float) -> list[tuple[str, list[str]]]:
    lines = []
    for dataset in run.datasets:
        cells = [f"{run.paper[dataset, noise, 'KFHE']:.4f}"]
        cells += [_ours(run, dataset, noise, setting) for setting in SETTINGS]
        for rival in RIVALS:
            cells += [f"{run.paper[dataset, noise, rival]:.4f}", _ours(run, dataset, noise, rival)]
        lines.append((dataset, cells))
    return lines


def _ours(run: Reproduction, dataset: str, noise: float, method: str) -> str:
    difference = run.differences[dataset, noise, method]
    text = f"{run.ours[dataset, noise, method]:.4f} ({signed(difference, 4)})"
    return f"**{text}**" if abs(difference) > FAR_OFF else text


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the page as the command line says, and return the exit code."""
    parser = pages.make_parser(
        "kfhe",
        "Write the page that compares a run of the suite kfhe with the paper.",
        "docs/reproduction.csv -o docs/reproduction.md",
    )
    parser.add_argument("summary", type=Path, help="summary.csv of the run, with its summary.json in the same folder")
    return pages.run(parser, arguments, lambda chosen: write_page(chosen.summary, chosen.output))


if __name__ == "__main__":
    sys.exit(main())
