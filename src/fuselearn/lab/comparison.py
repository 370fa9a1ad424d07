"""Which method is best, by how much, and whether the difference is significant.

A `Comparison` answers this for one level of noise, or for several together, from a table of scores whose
rows are datasets. With a single dataset, the rows are its folds. Ranks and wins count every cell of the table. Tests
use the mean of each dataset over the levels, because they need independent rows, and two levels of noise of one dataset
are not independent.

A difference is claimed only if a test corrected for all pairs of methods finds it, since the leading
method is known only afterwards: about one in twenty random tables leads to a claim.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
import pandas as pd

from fuselearn.lab.statistics import (
    OmnibusTest,
    WinTieLoss,
    average_ranks,
    finner,
    friedman_posthoc,
    friedman_test,
    mid_ranks,
    resampled_t_test,
    wilcoxon_test,
    win_tie_loss,
)
from fuselearn.lab.statistics.ranks import bootstrap_means

__all__ = ["ALPHA", "DIGITS", "Comparison", "compare_methods"]

ALPHA = 0.05
DIGITS = 4
"""Scores that are equal when printed tie."""


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
    left_out : tuple of str
        Methods and rows that are missing from `cells`, because ranks need every method on every row.
    """

    noise: tuple[float, ...]
    cells: pd.DataFrame
    n_splits: int | None
    left_out: tuple[str, ...] = ()

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
        return _per_row(self.cells)

    @property
    def rows(self) -> str:
        """What is compared, and how many of them: 12 datasets."""
        n_rows = len(self.scores)
        return f"{n_rows} {'fold' if self.over_folds else 'dataset'}{'s' if n_rows > 1 else ''}"

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
        ranks, means = self.ranks.round(2), self.means.round(DIGITS)
        ties = means == means[self.best]
        if not self.over_folds:
            ties |= ranks == ranks[self.best]
        return [method for method in self.standing if ties[method] and method not in self.beaten]

    @cached_property
    def beaten(self) -> list[str]:
        """The methods that are significantly worse than the best one."""
        return list(self.pairs.index[self.pairs["ahead"] & (self.pairs["p_corrected"] < ALPHA)])

    @cached_property
    def intervals(self) -> pd.DataFrame:
        """Bootstrap intervals of the average ranks over datasets (or folds)."""
        return bootstrap_means(_per_row(mid_ranks(self.cells, digits=DIGITS)))

    @cached_property
    def wins(self) -> WinTieLoss:
        """Wins, ties and losses of every pair over all cells."""
        return win_tie_loss(self.cells, digits=DIGITS)

    @cached_property
    def omnibus(self) -> OmnibusTest | None:
        """Friedman's test of all methods; None for fewer than three, and over folds, which are not independent."""
        if self.over_folds or len(self.scores) < 2 or len(self.methods) < 3:
            return None
        return friedman_test(self.scores, digits=DIGITS)

    @property
    def test_name(self) -> str:
        """Name of the test behind the p-values of pairs."""
        if self.over_folds:
            test = "corrected resampled t-test"
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
        if len(scores) < 2:
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
        """The best method against each of the others.

        Indexed by the other method: wins, ties, losses and mean difference of the best one, ahead (whether it is the
        better one according to the test) and p_corrected.
        """
        best, others = self.best, self.standing[1:]
        counts = [self.wins.between(best, other) for other in others]
        pairs = pd.DataFrame(counts, index=pd.Index(others, name="versus"), columns=["wins", "ties", "losses"])
        pairs["difference"] = self.means[best] - self.means[others]
        tested_ranks = average_ranks(self.scores, digits=DIGITS)
        behind = -pairs["difference"] if self.over_folds else tested_ranks[best] - tested_ranks[others]
        pairs["ahead"] = behind < 0
        pairs["p_corrected"] = self.p_corrected.loc[best, others]
        return pairs

    @property
    def headline(self) -> str:
        """The result in one sentence, which claims no more than the test finds."""
        tied, n_methods = self.tied_best, len(self.methods)
        if n_methods == 1:
            return f"Only {tied[0]} finished."
        if len(tied) == n_methods:
            return f"All {n_methods} methods tie."
        what = "mean score" if self.over_folds else "average rank"
        said = f"{', '.join(tied)} {'have' if len(tied) > 1 else 'has'} the best {what} of {n_methods} methods"
        if self.pairs["p_corrected"].isna().any():
            return f"{said}, by {self.rows} alone."
        if not self.beaten:
            return f"{said}, but not significantly."
        whom = "all others" if len(self.beaten) == n_methods - len(tied) else ", ".join(self.beaten)
        return f"{said}, significantly ahead of {whom}."


def compare_methods(
    results: pd.DataFrame, methods: Sequence[str], noise: Sequence[float] | None = None
) -> Comparison | None:
    """Compare the methods of a suite.

    Parameters
    ----------
    results : DataFrame
        One row per fit with the columns dataset, noise, repeat, fold, method and macro_f1.
    methods : sequence of str
        The order in which methods are shown.
    noise : sequence of float, optional
        The levels of noise; all of them together by default.

    Returns
    -------
    comparison : Comparison or None
        None if there is nothing to compare.
    """
    levels = sorted(results["noise"].unique()) if noise is None else noise
    chosen = results[results["noise"].isin(levels)]
    over_folds = chosen["dataset"].nunique() == 1
    n_splits = max(2, int(chosen["fold"].max()) + 1) if over_folds else None
    cells, left_out = _complete(_cells(chosen, levels, over_folds), methods)
    return None if cells.empty else Comparison(tuple(levels), cells, n_splits, left_out)


def _per_row(cells: pd.DataFrame) -> pd.DataFrame:
    return cells.groupby(level="row", sort=False).mean()


def _cells(results: pd.DataFrame, levels: Sequence[float], over_folds: bool) -> pd.DataFrame:
    """Average the results of each cell of a table; a cell without a result is NaN."""
    rows = results["dataset"]
    if over_folds:
        repeat, fold = (results[name].add(1).astype(str) for name in ("repeat", "fold"))
        rows = "repeat " + repeat + ", fold " + fold
    cells = results.assign(row=rows).groupby(["row", "noise", "method"])["macro_f1"].mean().unstack("method")
    return cells.reindex(pd.MultiIndex.from_product([rows.unique(), levels], names=["row", "noise"]))


def _complete(cells: pd.DataFrame, methods: Sequence[str]) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Drop methods that lack most rows, then rows that a remaining method lacks."""
    cells = cells[[method for method in methods if method in cells]]
    there = cells.notna().groupby(level="row", sort=False).all()
    started = there.any(axis=1)
    mostly = there[started].mean() > 0.5
    whole = there.loc[:, mostly].all(axis=1) if mostly.any() else there.any(axis=1) & False
    kept = cells.loc[cells.index.get_level_values("row").isin(whole.index[whole]), mostly[mostly].index]
    return kept, (*mostly.index[~mostly], *(row for row in whole.index[started] if not whole[row]))
