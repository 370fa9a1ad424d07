"""A run of the suite ``kfhe``, compared with the KFHE paper's tables."""

from __future__ import annotations

from collections.abc import Mapping
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
PRINTED = {"KFHE": "KFHE (printed)", "KFHE (pruned)": "KFHE pruned (printed)", "KFHE-l": "KFHE-l (printed)"}
"""The settings that were also run as the papers print the algorithm, instead of as their program has it."""
NEEDED = ("KFHE", "KFHE (pruned)")
BASELINES = ("AdaBoost", "Bagging", "CART")
NOT_FOUND = "physio"
OUTSIDE = "flags"
"""The dataset whose class was inferred, so that differences are given with and without it."""
FAR_OFF = 0.05
ALPHA = 0.05
DIGITS = 4


@dataclass(frozen=True)
class Tables:
    """The scores of the four methods, of a run with one setting of KFHE or as the paper prints them.

    Parameters
    ----------
    scores : mapping of float to DataFrame
        By level of noise, datasets by KFHE and the baselines.
    traces : DataFrame, optional
        The traces of the filter.
    """

    scores: Mapping[float, pd.DataFrame]
    traces: pd.DataFrame | None = None

    def ranks(self, noise: float) -> pd.Series:
        """Return the average ranks of the four methods."""
        return average_ranks(self.scores[noise], digits=DIGITS)

    def cell_ranks(self, noise: float) -> pd.DataFrame:
        """Return the rank of each of the four methods on each dataset."""
        return self.scores[noise].round(DIGITS).rank(axis=1, ascending=False)

    def omnibus(self, noise: float) -> tuple[float, float]:
        """Test by aligned ranks whether the four methods differ at all: statistic and p-value."""
        return aligned_test(self.scores[noise], digits=DIGITS, tie_tolerance=0)

    def against_baselines(self, noise: float) -> pd.DataFrame:
        """Compare KFHE with each baseline by aligned ranks.

        Returns
        -------
        tests : DataFrame
            Indexed by baseline: p_value, p_corrected (Finner) and ahead, whether KFHE is better.
        """
        # Ties by rounding are broken by chance, as in the paper: with them merged, its Table 7 is not
        # reproduced to the printed digits.
        test = aligned_posthoc(self.scores[noise], control="KFHE", digits=DIGITS, tie_tolerance=0)
        tests = test.pairs.set_index("versus")[["p_value", "p_corrected"]]
        return tests.assign(ahead=test.mean_ranks[tests.index] > test.mean_ranks["KFHE"])


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
        self.extra = cells["score"]
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

    def as_printed(self) -> pd.DataFrame:
        """Compare the printed algorithm with the program: by setting and level of noise, over the datasets.

        Returns
        -------
        DataFrame
            With the columns setting, noise, program and printed (mean scores), distance (mean absolute difference), and
            ahead and behind (number of datasets on which the printed algorithm is better or worse).
        """
        rows = []
        for setting, printed in PRINTED.items():
            if setting not in self.settings or printed not in self.extra.index.unique("method"):
                continue
            pair = pd.DataFrame(
                {"program": self.ours.xs(setting, level="method"), "printed": self.extra[:, :, printed]}
            )
            for noise, scores in pair.dropna().groupby(level="noise"):
                gained = (scores["printed"] - scores["program"]).round(DIGITS)
                means = scores.mean()
                rows.append(
                    (self.settings[setting], noise, means["program"], means["printed"], gained.abs().mean(),
                     int((gained > 0).sum()), int((gained < 0).sum()))
                )  # fmt: skip
        return pd.DataFrame(rows, columns=["setting", "noise", "program", "printed", "distance", "ahead", "behind"])

    def far_off(self) -> pd.Series:
        """Return the differences of more than 0.05 of all but the additional settings, the largest first."""
        listed = self.differences[self.differences.index.get_level_values("method").isin((*NEEDED, *BASELINES))]
        far = listed[listed.abs() > FAR_OFF]
        return far.reindex(far.abs().sort_values(ascending=False, kind="stable").index)

    def tables(self, setting: str | None, traces: pd.DataFrame | None = None) -> Tables:
        """Return the tables of the run with a setting of KFHE, or of the paper (None), for the datasets of the run."""
        return Tables(self._scores_by_level[setting], traces)

    @cached_property
    def _scores_by_level(self) -> dict[str | None, dict[float, pd.DataFrame]]:
        tables: dict[str | None, dict[float, pd.DataFrame]] = {
            setting: self._by_level(self.ours, setting, self.datasets) for setting in self.settings
        }
        return tables | {None: self._by_level(self.paper, "KFHE", self.datasets)}

    @cached_property
    def printed(self) -> Tables:
        """The paper's tables, of all 20 datasets."""
        published = load_published("kfhe_scores")
        scores = published.set_index(KEYS)["score"]
        return Tables(self._by_level(scores, "KFHE", list(published["dataset"].unique())))

    @cached_property
    def is_complete(self) -> bool:
        """Whether the run has all datasets of the paper that were found."""
        return set(self.datasets) >= set(load_published("kfhe_scores")["dataset"]) - {NOT_FOUND}

    @staticmethod
    def _by_level(scores: pd.Series, kfhe: str, datasets: list[str]) -> dict[float, pd.DataFrame]:
        return {
            noise: part.unstack("method").loc[datasets, [kfhe, *BASELINES]].rename(columns={kfhe: "KFHE"})
            for noise, part in (
                (noise, scores.xs(noise, level="noise")) for noise in scores.index.unique(level="noise")
            )
        }

    def closest_settings(self) -> pd.DataFrame:
        """Return for each level (rows) on how many datasets each setting of KFHE is the closest to the paper."""
        sizes = self.differences.abs().unstack("method")[list(self.settings)]
        closest = sizes.eq(sizes.min(axis=1), axis=0)
        return closest.groupby(level="noise").sum()


def column_of(method: str) -> str:
    """Return the column of the paper to compare a method with."""
    return "KFHE" if method in SETTINGS else method
