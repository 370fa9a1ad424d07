"""Which method is best, by how much, and whether the difference is significant.

A `Comparison` covers one noise level, or several together. Its rows are datasets, with means over the noise levels,
since two noise levels of one dataset are not independent. With a single dataset, the rows are its folds. Ranks, wins
and p-values are all computed from this table.

A difference is reported only if it is significant after a correction for all pairs of methods, since the best method is
selected afterwards: about one in twenty random tables leads to a report. With a control method, chosen in advance,
tests are corrected only for the pairs with the control.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import pandas as pd

from fuselearn._messages import show
from fuselearn.lab.statistics import (
    Significance,
    average_ranks,
    finner,
    friedman_posthoc,
    friedman_test,
    resampled_t_test,
    wilcoxon_test,
    win_tie_loss,
)

ALPHA = 0.05
DIGITS = 4
"""Scores that are equal when printed tie."""
FEWEST_DATASETS = 2
FEWEST_FOLDS = 5
"""With fewer folds, the estimated standard deviation is too uncertain for a test."""


@dataclass(frozen=True, eq=False)
class Comparison:
    """Methods compared over datasets, or over the folds of one dataset.

    Parameters
    ----------
    noise : tuple of float
        The noise levels; scores are means over them.
    scores : DataFrame of shape (n_rows, n_methods)
        Complete scores, rounded to `DIGITS`; the rows are datasets or folds.
    n_splits : int or None
        Number of folds of one repeat if the rows are folds; None if they are datasets.
    left_out : tuple of str
        Methods and rows that are dropped from `scores` because of missing results; ranks need complete rows.
    control : str or None
        The method to compare all others with; None compares all pairs.
    """

    noise: tuple[float, ...]
    scores: pd.DataFrame
    n_splits: int | None
    left_out: tuple[str, ...] = ()
    control: str | None = None

    @property
    def over_folds(self) -> bool:
        """Whether the rows are folds of one dataset."""
        return self.n_splits is not None

    @property
    def methods(self) -> list[str]:
        """The compared methods, in the order of the suite."""
        return list(self.scores.columns)

    @property
    def rows(self) -> str:
        """The number and kind of rows, such as "12 datasets"."""
        n_rows = len(self.scores)
        return f"{n_rows} {'fold' if self.over_folds else 'dataset'}{'s' if n_rows > 1 else ''}"

    @property
    def missing_rows(self) -> str:
        """The requirement of a test if there are too few rows, otherwise empty."""
        fewest, what = (FEWEST_FOLDS, "folds") if self.over_folds else (FEWEST_DATASETS, "datasets")
        return f"a test needs at least {fewest} {what}" if len(self.scores) < fewest else ""

    @cached_property
    def means(self) -> pd.Series:
        """The mean score of each method."""
        return self.scores.mean()

    @cached_property
    def ranks(self) -> pd.Series:
        """The average rank of each method."""
        return average_ranks(self.scores)

    @cached_property
    def standing(self) -> list[str]:
        """The methods, the best first: by average rank over datasets, by mean score over the folds of one dataset.

        Scores of different datasets have no common scale; scores of folds do, and their means are tested.
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
        """The best method and the methods that tie with it: equal printed mean score and, over datasets, equal rank."""
        ranks, means = self.ranks.round(2), self.means.round(DIGITS)
        ties = means == means[self.best]
        if not self.over_folds:
            ties |= ranks == ranks[self.best]
        return [method for method in self.standing if ties[method] and method not in self.beaten]

    @cached_property
    def beaten(self) -> list[str]:
        """The methods that are significantly worse than the best one."""
        return self._with_verdict(self.best, "better")

    @cached_property
    def omnibus(self) -> Significance | None:
        """Friedman's test of all methods; None for fewer than three methods, and over folds."""
        if self.over_folds or self.missing_rows or len(self.methods) < 3:
            return None
        return friedman_test(self.scores)

    @property
    def test_name(self) -> str:
        """Name of the test of the p-values of pairs."""
        if self.over_folds:
            test = "corrected resampled t-test of the mean scores"
        elif len(self.methods) == 2:
            test = "Wilcoxon's signed-rank test"
        else:
            test = "Friedman's post-hoc test of the average ranks"
        pairs = "all pairs" if self.control is None else f"the pairs with {self.control}"
        return test if len(self.methods) == 2 else f"{test} with Finner's correction for {pairs}"

    @cached_property
    def p_corrected(self) -> pd.DataFrame:
        """The corrected p-value of each pair of methods; NaN for pairs that are not tested."""
        table = pd.DataFrame(float("nan"), index=self.methods, columns=self.methods)
        if self.missing_rows:
            return table
        pairs = [pair for pair in combinations(self.methods, 2) if self.control in (None, *pair)]
        if self.n_splits is not None:
            tests = [resampled_t_test(self.scores[a], self.scores[b], n_splits=self.n_splits) for a, b in pairs]
            found = list(finner([test.p_value for test in tests]))
        elif self.omnibus is None:
            found = [wilcoxon_test(self.scores[a], self.scores[b]).p_value for a, b in pairs]
        else:
            tested = friedman_posthoc(self.scores, control=self.control).pairs
            by_pair = dict(
                zip(map(frozenset, tested[["method", "versus"]].to_numpy()), tested["p_corrected"], strict=True)
            )
            # No pair may be more significant than the omnibus test.
            found = [max(by_pair[frozenset(pair)], self.omnibus.p_value) for pair in pairs]
        for (a, b), p_value in zip(pairs, found, strict=True):
            table.loc[a, b] = table.loc[b, a] = p_value
        return table

    def against(self, reference: str) -> pd.DataFrame:
        """Compare one method with each other method.

        Returns
        -------
        pairs : DataFrame
            Indexed by the other method: wins, ties, losses and mean difference of the reference, p_corrected, and the
            verdict on the reference: "better", "worse", "not significant", or "" if not tested.
        """
        others = pd.Index([method for method in self.standing if method != reference], name="versus")
        pairs = win_tie_loss(self.scores).loc[reference].loc[others] if len(others) else pd.DataFrame(index=others)
        pairs["difference"] = self.means[reference] - self.means[others]
        pairs["p_corrected"] = self.p_corrected.loc[reference, others]
        ahead = pairs["difference"] > 0 if self.over_folds else self.ranks[reference] < self.ranks[others]
        pairs["verdict"] = ahead.map({True: "better", False: "worse"})
        pairs.loc[pairs["p_corrected"] >= ALPHA, "verdict"] = "not significant"
        pairs.loc[pairs["p_corrected"].isna(), "verdict"] = ""
        return pairs

    def _with_verdict(self, reference: str, verdict: str) -> list[str]:
        pairs = self.against(reference)
        return list(pairs.index[pairs["verdict"] == verdict])

    @property
    def headline(self) -> str:
        """The result in one sentence, with the significance of the test."""
        tied, n_methods = self.tied_best, len(self.methods)
        if n_methods == 1:
            return f"Only {tied[0]} finished."
        if len(tied) == n_methods:
            return f"All {n_methods} methods tie."
        what = "mean score" if self.over_folds else "average rank"
        said = f"{', '.join(tied)} {'have' if len(tied) > 1 else 'has'} the best {what} of {n_methods} methods"
        if self.missing_rows:
            return f"{said}, by {self.rows} alone; {self.missing_rows}."
        if self.control is not None:
            better, worse = (self._with_verdict(self.control, verdict) for verdict in ("better", "worse"))
            found = [
                f"significantly {where} {', '.join(whom)}"
                for where, whom in (("ahead of", better), ("behind", worse))
                if whom
            ]
            return f"{said}; {self.control} is {' and '.join(found) or 'not significantly different from any other'}."
        if not self.beaten:
            return f"{said}, but not significantly."
        whom = "all others" if len(self.beaten) == n_methods - len(tied) else ", ".join(self.beaten)
        return f"{said}, significantly ahead of {whom}."


def compare_methods(
    results: pd.DataFrame,
    methods: Sequence[str],
    noise: Sequence[float] | None = None,
    *,
    n_splits: int,
    control: str | None = None,
) -> Comparison | None:
    """Compare the methods of a suite.

    Parameters
    ----------
    results : DataFrame
        One row per fit with the columns dataset, noise, repeat, fold, method and macro_f1.
    methods : sequence of str
        The methods, in the order of the report.
    noise : sequence of float, optional
        The noise levels; all of them together by default.
    n_splits : int
        Number of folds of one repeat.
    control : str, optional
        The method to compare all others with.

    Returns
    -------
    comparison : Comparison or None
        None without scores to compare.
    """
    if control is not None and control not in methods:
        raise ValueError(f"control must be one of the methods {', '.join(methods)}; got {show(control)}.")
    levels = sorted(results["noise"].unique()) if noise is None else noise
    chosen = results[results["noise"].isin(levels)]
    over_folds = chosen["dataset"].nunique() == 1
    cells, left_out = _complete(_cells(chosen, levels, over_folds), methods)
    if cells.empty:
        return None
    scores = cells.groupby(level="row", sort=False).mean().round(DIGITS)
    known_control = control if control in scores else None
    return Comparison(tuple(levels), scores, n_splits if over_folds else None, left_out, known_control)


def _cells(results: pd.DataFrame, levels: Sequence[float], over_folds: bool) -> pd.DataFrame:
    """Average the results of each cell of a table; a cell without a result is NaN."""
    rows = results["dataset"]
    if over_folds:
        repeat, fold = (results[name].add(1).astype(str) for name in ("repeat", "fold"))
        rows = "repeat " + repeat + ", fold " + fold
    cells = results.assign(row=rows).groupby(["row", "noise", "method"])["macro_f1"].mean().unstack("method")
    return cells.reindex(pd.MultiIndex.from_product([rows.unique(), levels], names=["row", "noise"]))


def _complete(cells: pd.DataFrame, methods: Sequence[str]) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Drop methods without results in most rows, then rows without results for a remaining method."""
    cells = cells[[method for method in methods if method in cells]]
    there = cells.notna().groupby(level="row", sort=False).all()
    started = there.any(axis=1)
    mostly = there[started].mean() > 0.5
    whole = there.loc[:, mostly].all(axis=1) if mostly.any() else there.any(axis=1) & False
    kept = cells.loc[cells.index.get_level_values("row").isin(whole.index[whole]), mostly[mostly].index]
    return kept, (*mostly.index[~mostly], *(row for row in whole.index[started] if not whole[row]))
