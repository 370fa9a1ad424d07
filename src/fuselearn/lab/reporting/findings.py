"""The findings of a run: which method is best, where, and whether the difference is significant.

A `Comparison` answers one question, such as "which method at 10 % noise?", from a score table whose
rows are datasets. With a single dataset, the rows are its folds. `find` answers all questions of a
report: every level of noise, all levels together, and the noisy ones together. Ranks and wins count
every cell of the tables. Tests use the mean of each dataset over the levels, because they need
independent rows, and two levels of noise of one dataset are not independent.

A difference is claimed only if a test corrected for all pairs of methods finds it, since the leading
method is known only afterwards: about one in twenty random tables leads to a claim.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations

import numpy as np
import pandas as pd

from fuselearn.lab.statistics.paired_tests import resampled_t_test, wilcoxon_test
from fuselearn.lab.statistics.rank_tests import OmnibusTest, finner, friedman_posthoc, friedman_test
from fuselearn.lab.statistics.ranks import (
    RankIntervals,
    WinTieLoss,
    average_ranks,
    bootstrap_means,
    mid_ranks,
    win_tie_loss,
)

__all__ = ["ALPHA", "DIGITS", "Comparison", "Findings", "LeftOut", "find"]

ALPHA = 0.05
DIGITS = 4
"""Scores that are equal when printed tie."""
CONTROLS = ("KFHE", "KFHE-HOMER")


@dataclass(frozen=True)
class LeftOut:
    """Methods and rows left out of a score table, because ranks need every method on every row."""

    methods: tuple[str, ...] = ()
    rows: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        """Return whether anything is left out."""
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
    n_splits : int or None
        Number of folds of one repeat if the rows are folds; None if they are datasets.
    control : str
        The method that the others are tested against.
    left_out : LeftOut
        What is missing from `cells`.
    """

    noise: tuple[float, ...]
    cells: pd.DataFrame
    n_splits: int | None
    control: str
    left_out: LeftOut

    @property
    def over_folds(self) -> bool:
        """Whether the rows are folds of one dataset."""
        return self.n_splits is not None

    @property
    def methods(self) -> list[str]:
        """The compared methods, in the order of the suite."""
        return list(self.cells.columns)

    @cached_property
    def scores(self) -> pd.DataFrame:
        """The mean over the levels of noise: one line per dataset or fold."""
        return self._per_row(self.cells)

    def _per_row(self, cells: pd.DataFrame) -> pd.DataFrame:
        return cells.groupby(level="row", sort=False).mean()

    @property
    def n_rows(self) -> int:
        """Number of datasets, or folds, compared."""
        return len(self.scores)

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
        """The methods, the best first: by average rank over datasets, by mean score over the folds of one dataset.

        Scores of different datasets have no common scale; those of folds do, and their means are tested.
        """
        order = pd.DataFrame({"rank": self.ranks, "score": -self.means.round(DIGITS)})
        keys = ["score", "rank"] if self.over_folds else ["rank", "score"]
        return list(order.sort_values(keys, kind="stable").index)

    @property
    def best(self) -> str:
        """The first method of the standing."""
        return self.standing[0]

    @cached_property
    def tied_best(self) -> list[str]:
        """The best method and those that tie with it: equal mean score when printed, over datasets also equal rank."""
        best, ranks, means = self.best, self.ranks.round(2), self.means.round(DIGITS)
        ties = means == means[best]
        if not self.over_folds:
            ties |= ranks == ranks[best]
        return [method for method in self.standing if ties[method] and method not in self.beaten]

    @cached_property
    def beaten(self) -> list[str]:
        """The methods that are significantly worse than the best one."""
        pairs = self.against(self.best)
        return [str(method) for method in pairs.index[pairs["ahead"] & (pairs["p_corrected"] < ALPHA)]]

    @cached_property
    def intervals(self) -> RankIntervals:
        """Bootstrap intervals of the average ranks over datasets (or folds)."""
        return bootstrap_means(self._per_row(mid_ranks(self.cells, digits=DIGITS)))

    @cached_property
    def wins(self) -> WinTieLoss:
        """Wins, ties and losses of every pair over all cells."""
        return win_tie_loss(self.cells, digits=DIGITS)

    @cached_property
    def omnibus(self) -> OmnibusTest | None:
        """Friedman's test of all methods; None for fewer than three, and over folds, which are not independent."""
        if self.over_folds or self.n_rows < 2 or len(self.methods) < 3:
            return None
        return friedman_test(self.scores, digits=DIGITS)

    @property
    def test_name(self) -> str:
        """Name of the test behind the p-values of pairs."""
        if self.over_folds:
            test = "the corrected resampled t-test"
        elif len(self.methods) == 2:
            test = "Wilcoxon's signed-rank test"
        else:
            test = "Friedman's post-hoc test"
        return test if len(self.methods) == 2 else f"{test} with Finner's correction for all pairs"

    @cached_property
    def p_corrected(self) -> pd.DataFrame:
        """The p-value of each pair of methods, corrected for their number; NaN for a single row."""
        pairs = list(combinations(self.methods, 2))
        scores = self.scores.round(DIGITS)
        if self.n_rows < 2:
            found = np.full(len(pairs), np.nan)
        elif self.n_splits is not None:
            tests = [resampled_t_test(scores[a], scores[b], n_splits=self.n_splits) for a, b in pairs]
            found = finner([test.p_value for test in tests])
        elif self.omnibus is None:
            found = np.array([wilcoxon_test(scores[a], scores[b]).p_value for a, b in pairs])
        else:
            # No pair may be more significant than the omnibus test.
            found = np.maximum(friedman_posthoc(scores).pairs["p_corrected"], self.omnibus.p_value)
        table = pd.DataFrame(1.0, index=self.methods, columns=self.methods)
        for (a, b), p_value in zip(pairs, found, strict=True):
            table.loc[a, b] = table.loc[b, a] = p_value
        return table

    @cached_property
    def pairs(self) -> pd.DataFrame:
        """The control against each other method."""
        return self.against(self.control)

    def against(self, control: str) -> pd.DataFrame:
        """Compare one method with each of the others.

        Parameters
        ----------
        control : str
            The method.

        Returns
        -------
        pairs : DataFrame
            Indexed by the other method: wins, ties, losses and mean difference of the control,
            ahead (whether the control is better according to the test) and p_corrected.
        """
        others = [method for method in self.methods if method != control]
        counts = [self.wins.between(control, other) for other in others]
        pairs = pd.DataFrame(counts, index=pd.Index(others, name="versus"), columns=["wins", "ties", "losses"])
        pairs["difference"] = self.means[control] - self.means[others]
        tested_ranks = average_ranks(self.scores, digits=DIGITS)
        behind = -pairs["difference"] if self.over_folds else tested_ranks[control] - tested_ranks[others]
        pairs["ahead"] = behind < 0
        pairs["p_corrected"] = self.p_corrected.loc[control, others]
        return pairs


@dataclass(frozen=True, eq=False)
class Findings:
    """All comparisons of a report.

    Parameters
    ----------
    levels : dict of float to Comparison
        One for each level of noise that allows a comparison.
    overall : Comparison or None
        All levels together; None if nothing could be compared.
    noisy : Comparison or None
        The levels above 0 together, if there are any.
    """

    levels: dict[float, Comparison]
    overall: Comparison | None
    noisy: Comparison | None

    @property
    def clean(self) -> Comparison | None:
        """The comparison without noise, if there is one."""
        return self.levels.get(0.0)


def find(results: pd.DataFrame, methods: Sequence[str], *, control: str | None = None) -> Findings:
    """Compute the findings of a report.

    Parameters
    ----------
    results : DataFrame
        One row per fit with the columns dataset, noise, repeat, fold, method and macro_f1.
    methods : sequence of str
        The order in which methods are shown.
    control : str, optional
        The method that the others are tested against; by default KFHE or KFHE-HOMER, or the best
        one if neither is compared.

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
    n_splits = max(2, int(chosen["fold"].max()) + 1) if over_folds else None
    cells, left_out = _complete(_cells(chosen, levels, over_folds), methods)
    if cells.empty:
        return None
    wanted = CONTROLS if control is None else (control,)
    draft = Comparison(tuple(levels), cells, n_splits, "", left_out)
    return replace(draft, control=next((method for method in wanted if method in cells), draft.best))


def _cells(results: pd.DataFrame, levels: Sequence[float], over_folds: bool) -> pd.DataFrame:
    """Average the results of each cell of a table; a cell without a result is NaN."""
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
    """Drop methods that lack most rows, then rows that a remaining method lacks."""
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
