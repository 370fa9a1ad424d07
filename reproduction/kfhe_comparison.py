"""A run of the suite ``kfhe``, compared with the KFHE paper's tables."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import pandas as pd

from fuselearn.lab.statistics import aligned_posthoc, aligned_test, average_ranks
from reproduction.pages import join, percent
from reproduction.published import load_published

KEYS = ["dataset", "noise", "method"]

SETTINGS = {
    "KFHE": "unpruned",
    "KFHE (pruned)": "pruned",
    "KFHE (2018)": "program of 2018",
    "KFHE-l": "linear",
}
"""The settings of KFHE; the paper has one column for all. The last two may be missing from a run."""
NEEDED = ("KFHE", "KFHE (pruned)")
BASELINES = ("AdaBoost", "Bagging", "CART")
OUTSIDE = "flags"
"""The dataset whose class was inferred, so that differences are given with and without it."""
FAR_OFF = 0.05
ALPHA = 0.05
DIGITS = 4


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
        As `fuselearn.lab.summarize` returns it: the methods KFHE, KFHE (pruned), AdaBoost,
        Bagging and CART, and perhaps other settings of KFHE, on datasets of the paper.

    Raises
    ------
    ValueError
        If a method is missing, or a cell has no score.
    """

    def __init__(self, summary: pd.DataFrame) -> None:
        found = set(summary["method"])
        absent = [method for method in (*NEEDED, *BASELINES) if method not in found]
        if absent:
            raise ValueError(
                f"The summary must have the methods {join((*NEEDED, *BASELINES))}; {join(absent)} not found."
            )
        self.settings = {method: name for method, name in SETTINGS.items() if method in found}
        self.methods = (*self.settings, *BASELINES)
        published = load_published("kfhe_scores")
        self.datasets = [name for name in published["dataset"].unique() if name in set(summary["dataset"])]
        if not self.datasets:
            raise ValueError("The summary must have datasets of the KFHE paper; none was found.")
        self.levels = sorted(set(summary["noise"]) & set(published["noise"]))
        cells = summary.set_index(KEYS)
        wanted = pd.MultiIndex.from_product([self.datasets, self.levels, self.methods], names=KEYS)
        self.cells = cells.reindex(wanted)
        self.ours = self.cells["score"]
        if self.ours.isna().any():
            dataset, noise, method = self.ours.index[self.ours.isna()][0]
            raise ValueError(f"The summary has no score of {method} on {dataset} at {percent(noise)} noise.")
        self.paper = published.set_index(KEYS)["score"].reindex(
            pd.MultiIndex.from_product([self.datasets, self.levels, ("KFHE", *BASELINES)], names=KEYS)
        )

    @property
    def tested(self) -> bool:
        """Whether there are enough datasets for tests: at least two."""
        return len(self.datasets) > 1

    @cached_property
    def differences(self) -> pd.Series:
        """Ours minus published, for each dataset, noise and method."""
        printed = [self.paper[dataset, noise, column_of(method)] for dataset, noise, method in self.ours.index]
        return self.ours - printed

    def mean_sizes(self, *, without: str | None = None) -> pd.DataFrame:
        """Return the mean absolute difference for each level (rows) and method, perhaps without a dataset."""
        sizes = self.differences.abs()
        if without is not None:
            sizes = sizes.drop(without, level="dataset")
        return sizes.groupby(level=["noise", "method"]).mean().unstack("method")[list(self.methods)]

    def mean_scores(self) -> pd.DataFrame:
        """Return the mean score over the datasets for each level (rows) and method."""
        return self.ours.groupby(level=["noise", "method"]).mean().unstack("method")[list(self.methods)]

    def mean_steps(self) -> pd.DataFrame:
        """Return the mean absolute step of a score from one level to the next: ours and the paper's, by method."""
        steps = {
            name: scores.unstack("noise").diff(axis=1).iloc[:, 1:].abs().stack().groupby(level="method").mean()
            for name, scores in (("ours", self.ours), ("paper", self.paper))
        }
        steps["paper"] = pd.Series({method: steps["paper"][column_of(method)] for method in self.methods})
        return pd.DataFrame(steps).loc[list(self.methods)]

    def chance(self, per_repeat: Reproduction) -> pd.DataFrame:
        """Compare differences from the paper under noise with those between our own draws of the wrong labels.

        Parameters
        ----------
        per_repeat : Reproduction
            A run whose noise was drawn anew in each repeat, so that its scores are means over ten draws.

        Returns
        -------
        DataFrame
            Indexed by method, over the datasets of both runs: the root mean square difference of the two runs (draw),
            what two single draws would differ by (expected), and that of ours and the paper's (observed).
        """
        between = (self.ours - per_repeat.ours).dropna()
        between = between[between.index.get_level_values("noise") > 0]
        observed = self.differences.loc[between.index]
        sizes = [(part**2).groupby(level="method").mean() ** 0.5 for part in (between, observed)]
        table = pd.DataFrame({"draw": sizes[0], "expected": 2**0.5 * sizes[0], "observed": sizes[1]})
        return table.loc[[method for method in self.methods if method in table.index]]

    def far_off(self) -> pd.Series:
        """Return the differences of more than 0.05 of all but the additional settings, the largest first."""
        listed = self.differences[self.differences.index.get_level_values("method").isin((*NEEDED, *BASELINES))]
        far = listed[listed.abs() > FAR_OFF]
        return far.reindex(far.abs().sort_values(ascending=False, kind="stable").index)

    def table(self, noise: float, setting: str | None) -> pd.DataFrame:
        """Return the scores of the four methods on each dataset: ours with a setting of KFHE, or the paper's."""
        scores = self.paper if setting is None else self.ours
        methods = ["KFHE" if setting is None else setting, *BASELINES]
        table = scores.xs(noise, level="noise").unstack("method")
        return table.loc[self.datasets, methods].rename(columns={setting: "KFHE"})

    def ranks(self, noise: float, setting: str | None) -> pd.Series:
        """Return the average ranks of the four methods."""
        return average_ranks(self.table(noise, setting), digits=DIGITS)

    def cell_ranks(self, noise: float, setting: str | None) -> pd.DataFrame:
        """Return the rank of each of the four methods on each dataset."""
        return self.table(noise, setting).round(DIGITS).rank(axis=1, ascending=False)

    def omnibus(self, noise: float, setting: str | None) -> tuple[float, float]:
        """Test by aligned ranks whether the four methods differ at all: statistic and p-value."""
        return aligned_test(self.table(noise, setting), digits=DIGITS, tie_tolerance=0)

    def against_baselines(self, noise: float, setting: str | None) -> pd.DataFrame:
        """Compare KFHE with each baseline by aligned ranks.

        Returns
        -------
        tests : DataFrame
            Indexed by baseline: p_value, p_corrected (Finner) and ahead, whether KFHE is better.
        """
        # Ties by rounding are broken by chance, as in the paper: with them merged, its Table 7 is not
        # reproduced to the printed digits.
        test = aligned_posthoc(self.table(noise, setting), control="KFHE", digits=DIGITS, tie_tolerance=0)
        tests = test.pairs.set_index("versus")[["p_value", "p_corrected"]]
        return tests.assign(ahead=test.mean_ranks[tests.index] > test.mean_ranks["KFHE"])

    @cached_property
    def claims(self) -> list[Claim]:
        """The paper's conclusions, checked with each setting; they need several datasets."""
        if not self.tested:
            return []
        claims = [self._rank_claim(noise, 2 if noise in (0.0, 0.2) else 1) for noise in self.levels]
        return claims + [self._verdict_claim(noise, baseline) for noise in self.levels for baseline in BASELINES]

    def _rank_claim(self, noise: float, at_most: int) -> Claim:
        place = "the best average rank" if at_most == 1 else "one of the first two average ranks"
        ours = {}
        for setting in self.settings:
            ranks = self.ranks(noise, setting)
            ours[setting] = (_place(ranks) <= at_most, _rank_text(ranks))
        return Claim(f"KFHE has {place} at {percent(noise)} noise", _rank_text(self.ranks(noise, None)), ours)

    def _verdict_claim(self, noise: float, baseline: str) -> Claim:
        """Compare the verdict of a line of the paper's Table 7: by p-values without correction, as printed there."""
        printed = load_published("kfhe_p_values").set_index(["noise", "versus"])["p_value"][noise, baseline]
        verdict = _verdict(float(printed.removeprefix("<")), self.against_baselines(noise, None).loc[baseline, "ahead"])
        ours = {}
        for setting in self.settings:
            test = self.against_baselines(noise, setting).loc[baseline]
            found = _verdict(test["p_value"], test["ahead"])
            ours[setting] = (found == verdict, f"{found}, {_p(test['p_value'])}")
        return Claim(f"KFHE against {baseline} at {percent(noise)} noise", f"{verdict}, {printed}", ours)

    def closest_settings(self) -> pd.DataFrame:
        """Return for each level (rows) on how many datasets each setting of KFHE is the closest to the paper."""
        sizes = self.differences.abs().unstack("method")[list(self.settings)]
        closest = sizes.eq(sizes.min(axis=1), axis=0)
        return closest.groupby(level="noise").sum()


def column_of(method: str) -> str:
    """Return the column of the paper to compare a method with."""
    return "KFHE" if method in SETTINGS else method


def _verdict(p_value: float, ahead: bool) -> str:
    return "no difference" if p_value > ALPHA else "better" if ahead else "worse"


def _p(value: float) -> str:
    return "<0.01" if value < 0.01 else f"{value:.2f}"


def _place(ranks: pd.Series) -> int:
    """Return the place of KFHE among the four; equal ranks share the better place."""
    return 1 + int((ranks < ranks["KFHE"]).sum())


def _rank_text(ranks: pd.Series) -> str:
    return f"{ranks['KFHE']:.2f}, {('first', 'second', 'third', 'fourth')[_place(ranks) - 1]}"
