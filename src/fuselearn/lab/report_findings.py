"""What a table of results says: who is best, where, and whether it is real.

A `Comparison` is one question, such as "which method at 10 % noise?", asked of a score table whose
rows are datasets. Where there is one dataset only, the rows are its folds. `find` asks all the
questions of a report: every level of noise, all levels together, and the noisy ones together.
Ranks and wins count every cell of the tables. Tests take the mean of each dataset over the levels,
because they need independent rows and two levels of noise of one dataset are not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from scipy import stats

from fuselearn.lab.ranks import (
    RankIntervals,
    WinTieLoss,
    average_ranks,
    bootstrap_ranks,
    mid_ranks,
    win_tie_loss,
)
from fuselearn.lab.statistics import (
    OmnibusTest,
    aligned_posthoc,
    aligned_test,
    finner,
    friedman_test,
    wilcoxon_folds,
)

__all__ = ["ALPHA", "DIGITS", "FEW_DATASETS", "Comparison", "Findings", "LeftOut", "find"]

ALPHA = 0.05
DIGITS = 4
"""Scores that print alike tie."""
FEW_DATASETS = 10
"""Below it the tests' chi-square and normal approximations are rough, so words stay careful."""
CONTROL = "KFHE"


@dataclass(frozen=True)
class LeftOut:
    """What is missing from a score table, because ranks need every method on every row."""

    methods: tuple[str, ...] = ()
    rows: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        """Whether anything is missing."""
        return bool(self.methods or self.rows)


@dataclass(frozen=True, eq=False)
class Comparison:
    """Methods compared over datasets, or over the folds of one dataset.

    Parameters
    ----------
    noise : tuple of float
        The levels of noise that the scores are means of.
    cells : DataFrame of shape (n_rows * n_levels, n_methods)
        Complete scores, indexed by row (a dataset or a fold) and noise.
    over_folds : bool
        What the rows are.
    control : str
        The method that the others are tested against.
    left_out : LeftOut
        What `cells` had to do without.
    """

    noise: tuple[float, ...]
    cells: pd.DataFrame
    over_folds: bool
    control: str
    left_out: LeftOut

    @property
    def methods(self) -> list[str]:
        """The compared methods, in the order of the suite."""
        return list(self.cells.columns)

    @cached_property
    def scores(self) -> pd.DataFrame:
        """The mean over the levels of noise: one line per row."""
        return self._per_row(self.cells)

    def _per_row(self, cells: pd.DataFrame) -> pd.DataFrame:
        return cells.groupby(level="row", sort=False).mean()

    @property
    def n_rows(self) -> int:
        """How many datasets, or folds, are compared."""
        return len(self.scores)

    @property
    def few(self) -> bool:
        """Whether the tests deserve a warning: few datasets, or folds that share training rows."""
        return self.over_folds or self.n_rows < FEW_DATASETS

    @cached_property
    def means(self) -> pd.Series:
        """The mean score of each method."""
        return self.scores.mean()

    @cached_property
    def ranks(self) -> pd.Series:
        """The average rank of each method over all cells."""
        return average_ranks(self.cells, digits=DIGITS)

    @cached_property
    def standing(self) -> list[str]:
        """The methods, the best average rank first; the mean score decides between equals."""
        order = pd.DataFrame({"rank": self.ranks, "score": -self.means})
        return list(order.sort_values(["rank", "score"], kind="stable").index)

    @property
    def best(self) -> str:
        """The method with the best average rank."""
        return self.standing[0]

    @cached_property
    def shared_best(self) -> list[str]:
        """All methods that have the best average rank."""
        return [method for method in self.standing if self.ranks[method] == self.ranks[self.best]]

    @cached_property
    def intervals(self) -> RankIntervals:
        """Bootstrap intervals of the average ranks, had other datasets (or folds) been drawn."""
        if len(self.noise) == 1 or self.n_rows == 1:
            return bootstrap_ranks(self.scores, digits=DIGITS)
        per_row = self._per_row(mid_ranks(self.cells, digits=DIGITS))
        found = stats.bootstrap(
            (per_row.to_numpy(),),
            np.mean,
            axis=0,
            n_resamples=10_000,
            method="percentile",
            rng=np.random.default_rng(0),
        )
        low, high = (pd.Series(end, index=self.methods) for end in found.confidence_interval)
        return RankIntervals(self.ranks, low, high, confidence=0.95, n_resamples=10_000)

    @cached_property
    def wins(self) -> WinTieLoss:
        """Wins, ties and losses of every pair over all cells."""
        return win_tie_loss(self.cells, digits=DIGITS)

    @cached_property
    def omnibus(self) -> list[OmnibusTest]:
        """Whether the methods differ at all; nothing over folds, which are not independent."""
        if self.over_folds or self.n_rows < 2 or len(self.methods) < 2:
            return []
        tests = [aligned_test(self.scores, digits=DIGITS)]
        if len(self.methods) > 2:
            tests.insert(0, friedman_test(self.scores, digits=DIGITS))
        return tests

    @cached_property
    def pairs(self) -> pd.DataFrame:
        """The control against each other method."""
        return self.against(self.control)

    def against(self, control: str) -> pd.DataFrame:
        """Compare one method with each other.

        Parameters
        ----------
        control : str
            The method.

        Returns
        -------
        pairs : DataFrame
            Indexed by the other method: wins, ties, losses and mean difference of the control,
            ahead (whether the test sees the control in front), p_value and p_corrected (Finner).
            Datasets are compared by aligned ranks, folds by Wilcoxon's signed ranks; p-values are
            NaN where there is a single row.
        """
        others = [method for method in self.methods if method != control]
        counts = [self.wins.between(control, other) for other in others]
        pairs = pd.DataFrame(counts, index=pd.Index(others, name="versus"), columns=["wins", "ties", "losses"])
        pairs["difference"] = [self.means[control] - self.means[other] for other in others]
        pairs["ahead"] = pairs["difference"] > 0
        pairs["p_value"] = float("nan")
        if others and self.n_rows > 1:
            if self.over_folds:
                rounded = self.scores.round(DIGITS)
                pairs["p_value"] = [wilcoxon_folds(rounded[control], rounded[other]).p_value for other in others]
            else:
                test = aligned_posthoc(self.scores, control=control, digits=DIGITS)
                pairs["p_value"] = test.pairs.set_index("versus")["p_value"]
                pairs["ahead"] = test.mean_ranks[others] > test.mean_ranks[control]
        known = pairs["p_value"].notna().all() and bool(others)
        pairs["p_corrected"] = finner(pairs["p_value"]) if known else float("nan")
        return pairs


@dataclass(frozen=True, eq=False)
class Findings:
    """All comparisons of a report.

    Parameters
    ----------
    levels : dict of float to Comparison
        One for each level of noise, where anything could be compared.
    overall : Comparison or None
        All levels together; None where nothing could be compared.
    noisy : Comparison or None
        The levels above 0 together, where there are any.
    """

    levels: dict[float, Comparison]
    overall: Comparison | None
    noisy: Comparison | None

    @property
    def clean(self) -> Comparison | None:
        """The comparison without noise, if there is one."""
        return self.levels.get(0.0)


def find(results: pd.DataFrame, methods: Sequence[str], *, control: str | None = None) -> Findings:
    """Ask the questions of a report.

    Parameters
    ----------
    results : DataFrame
        One row per fit with the columns dataset, noise, repeat, fold, method and macro_f1.
    methods : sequence of str
        The order in which methods are shown.
    control : str, optional
        The method that the others are tested against; by default KFHE, or the best one where
        KFHE does not take part.

    Returns
    -------
    findings : Findings
    """
    levels = sorted(results["noise"].unique())
    compared = {level: _compare(results, [level], methods, control) for level in levels}
    noisy = [level for level in levels if level > 0]
    return Findings(
        levels={level: comparison for level, comparison in compared.items() if comparison is not None},
        overall=_compare(results, levels, methods, control),
        noisy=_compare(results, noisy, methods, control) if noisy else None,
    )


def _compare(
    results: pd.DataFrame, levels: Sequence[float], methods: Sequence[str], control: str | None
) -> Comparison | None:
    chosen = results[results["noise"].isin(levels)]
    over_folds = chosen["dataset"].nunique() == 1
    cells, left_out = _complete(_cells(chosen, levels, over_folds), methods)
    if cells.empty:
        return None
    if control is None:
        control = CONTROL
    if control not in cells:
        control = str(average_ranks(cells, digits=DIGITS).idxmin())
    return Comparison(tuple(levels), cells, over_folds, control, left_out)


def _cells(results: pd.DataFrame, levels: Sequence[float], over_folds: bool) -> pd.DataFrame:
    """Average what is one cell of a table; a cell without a result is NaN."""
    if over_folds:
        rows = [
            f"repeat {repeat + 1}, fold {fold + 1}"
            for repeat, fold in zip(results["repeat"], results["fold"], strict=True)
        ]
    else:
        rows = list(results["dataset"])
    cells = results.assign(row=rows).groupby(["row", "noise", "method"])["macro_f1"].mean().unstack("method")
    everything = pd.MultiIndex.from_product([dict.fromkeys(rows), levels], names=["row", "noise"])
    return cells.reindex(everything)


def _complete(cells: pd.DataFrame, methods: Sequence[str]) -> tuple[pd.DataFrame, LeftOut]:
    """Leave out methods that miss most rows, then rows that a remaining method misses."""
    cells = cells[[method for method in methods if method in cells]]
    there = cells.notna().groupby(level="row", sort=False).all()
    started = there.any(axis=1)
    mostly = there[started].mean() > 0.5
    whole = there.loc[:, mostly].all(axis=1) if mostly.any() else there.any(axis=1) & False
    kept = cells.loc[cells.index.get_level_values("row").isin(whole.index[whole]), mostly[mostly].index]
    return kept, LeftOut(
        methods=tuple(mostly.index[~mostly]),
        rows=tuple(row for row in whole.index[started] if not whole[row]),
    )
