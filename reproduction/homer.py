"""The page that compares a run of the experiment ``kfhe-homer`` with the paper.

Everything on it is computed from the summary of the run, the files beside it (costs as JSON, the score of every fold,
statistics of the datasets), and the published tables.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from fuselearn.datasets import load_dataset
from fuselearn.lab.figures import critical_difference
from fuselearn.lab.statistics import average_ranks, friedman_posthoc, wilcoxon_test, win_tie_loss
from fuselearn.multilabel import describe_labels
from reproduction import pages
from reproduction.homer_claims import CONTROL, DIGITS, PAPER_EIGHT, check_claims, compare_kinds_of_ranks
from reproduction.pages import CheckedClaim, beside, count_holding, join, read_costs, read_summary, signed
from reproduction.published import load_published

__all__ = ["PAPER_EIGHT", "HomerReproduction", "make_page", "write_page"]

AUTHORS = ("KFHE-HOMER (authors)", "KFHE-HOMER (authors, scaled)", "KFHE-HOMER (printed)")
BY_MEAN = "E-HOMER (mean)"
CLOSE = 0.03
FAR = 0.1
MARKS = ((0.01, "∗∗∗"), (0.05, "∗∗"), (0.1, "∗"))
BETTER = "▲"
REASONS = {
    "HOMER-K": "The paper takes k and the type of SVM from a benchmark that does not print them. R's k-means fails if "
    "labels have equal columns, and the whole HOMER is then trained again.",
    "HOMER-B": "The paper takes k and the type of SVM from a benchmark that does not print them.",
    "RF-PCT": "The R package that the paper names has no such forest; which program was used, and with how many trees, "
    "is not said.",
    "AdaBoost.MH": "The R package that the paper names has no AdaBoost.MH. Mulan's has 10 rounds of decision stumps by "
    "default; a score of 0 on scene means that no label was predicted. Ours has 100 rounds.",
}
"""Why a method of ours may be far from the paper's."""


DESCRIPTIONS = {
    "KFHE-HOMER": "a first HOMER on all samples and 100 on samples of twice the size, drawn by the weights; "
    "clustering, k and kernel drawn for each",
    "E-HOMER": "the majority vote of 100 such HOMERs on samples of twice the size, drawn evenly",
    "ECC": "the vote of 100 chains in random order, each on a sample of twice the size and half of the features, with "
    "the one threshold that gives as many labels per sample as in training",
    "CC": "one chain in the order of the labels",
    "HOMER-B": "one HOMER with balanced clusters, k = 3",
    "HOMER-K": "one HOMER with clusters by k-means, k = 3",
    "RF-PCT": "100 trees that split for all labels at once, with features drawn at every node",
    "AdaBoost.MH": "100 rounds of decision stumps",
}
"""How each method runs."""


class HomerReproduction:
    """A summary of the experiment ``kfhe-homer``, compared with the paper's Table 3.

    Parameters
    ----------
    summary : DataFrame
        As `fuselearn.lab.summarize` returns it.
    folds : DataFrame
        One row per result with the columns dataset, method, repeat, fold and macro_f1.

    Raises
    ------
    ValueError
        If one of the paper's methods is missing, or a cell has no score.
    """

    def __init__(self, summary: pd.DataFrame, folds: pd.DataFrame) -> None:
        summary, folds = _as_printed(summary), _as_printed(folds)
        absent = [method for method in PAPER_EIGHT if method not in set(summary["method"])]
        if absent:
            raise ValueError(f"The summary must have the methods {join(PAPER_EIGHT)}; {join(absent)} not found.")
        published = load_published("kfhe_homer_scores")
        self.datasets = [name for name in published["dataset"].unique() if name in set(summary["dataset"])]
        if not self.datasets:
            raise ValueError("The summary must have datasets of the KFHE-HOMER paper; none was found.")
        self.methods = list(dict.fromkeys(summary["method"]))
        table = summary.pivot(index="dataset", columns="method", values="score")
        self.ours = table.loc[self.datasets, self.methods]
        if self.ours.isna().any(axis=None):
            dataset, method = self.ours.isna().stack().idxmax()
            raise ValueError(f"The summary has no score of {method} on {dataset}.")
        paper = published.pivot(index="dataset", columns="method", values="score")
        self.paper = paper.loc[self.datasets, list(PAPER_EIGHT)]
        self.folds = folds
        self.deviations = summary.pivot(index="dataset", columns="method", values="sd").loc[self.datasets, self.methods]

    @cached_property
    def by_mean(self) -> pd.DataFrame | None:
        """Our scores of the eight, with E-HOMER combined by the mean of scores instead of by majority vote."""
        if BY_MEAN not in self.methods:
            return None
        return self.ours[[BY_MEAN if method == "E-HOMER" else method for method in PAPER_EIGHT]].set_axis(
            list(PAPER_EIGHT), axis=1
        )

    @cached_property
    def differences(self) -> pd.DataFrame:
        """Ours minus published, datasets by the paper's methods."""
        return self.ours[list(PAPER_EIGHT)] - self.paper

    @property
    def others(self) -> list[str]:
        """The methods that are not in the paper."""
        return [method for method in self.methods if method not in PAPER_EIGHT]

    def ranks(self, methods: Sequence[str]) -> pd.Series:
        """Return the average ranks of some of our methods, the best first."""
        return average_ranks(self.ours[list(methods)], digits=DIGITS).sort_values(kind="stable")

    @cached_property
    def paper_ranks(self) -> pd.Series:
        """The average ranks of the printed means on the same datasets."""
        return average_ranks(self.paper, digits=DIGITS)

    @cached_property
    def pairs(self) -> Any:
        """The paper's Table 4 for our scores: all pairs of the eight, with Finner's correction; needs two datasets."""
        if len(self.datasets) < 2:
            return None
        return friedman_posthoc(self.ours[list(PAPER_EIGHT)], digits=DIGITS)

    @cached_property
    def shortfall(self) -> pd.Series:
        """How far KFHE-HOMER is below the printed mean; 0 where it is above."""
        return (-self.differences[CONTROL]).clip(lower=0)

    def wilcoxon(self, dataset: str, method: str) -> float:
        """Return the p-value of KFHE-HOMER against a method over the folds of a dataset."""
        return self._p_values[dataset, method]

    @cached_property
    def _p_values(self) -> dict[tuple[str, str], float]:
        found: dict[tuple[str, str], float] = {}
        for dataset, rows in self.folds.groupby("dataset"):
            table = rows.pivot(index=["repeat", "fold"], columns="method", values="macro_f1")
            others = table.columns.drop(CONTROL)
            found |= {(str(dataset), name): wilcoxon_test(table[CONTROL], table[name]).p_value for name in others}
        return found

    def mark(self, dataset: str, method: str) -> str:
        """Return the mark of a cell: the level at which one of the two is better, and whether it is the method."""
        mark = _mark(self.wilcoxon(dataset, method))
        return BETTER + mark if mark and self.ours.loc[dataset, method] > self.ours.loc[dataset, CONTROL] else mark


def make_page(
    summary: pd.DataFrame,
    folds: pd.DataFrame,
    costs: Mapping[str, Any] | None = None,
    *,
    authors: pd.DataFrame | None = None,
    datasets: pd.DataFrame | None = None,
    source: str = "",
    figure: str = "",
) -> str:
    """Return the Markdown page.

    Parameters
    ----------
    summary, folds : DataFrame
        As for `HomerReproduction`.
    costs : mapping, optional
        The costs next to the summary.
    authors : DataFrame, optional
        The summary of the experiment ``kfhe-homer-authors``.
    datasets : DataFrame, optional
        What `describe_datasets` returns.
    source : str, optional
        The files that the page is made from, as arguments of the command.
    figure : str, optional
        The file of the rank plot, relative to the page.

    Returns
    -------
    page : str
    """
    run = HomerReproduction(summary, folds)
    claims = check_claims({"ours": run.ours[list(PAPER_EIGHT)], "ours, E-HOMER by mean": run.by_mean})
    return pages.render_page(
        "kfhe_homer.md",
        run=run,
        eight=PAPER_EIGHT,
        better=BETTER,
        claims=claims,
        kinds_of_ranks=compare_kinds_of_ranks(),
        marks=_compare_marks(run),
        printed_lines=_printed_cells(run),
        described=[(method, DESCRIPTIONS[method]) for method in PAPER_EIGHT],
        distances=[f"{distance:.4f}" for distance in run.differences.abs().mean()],
        far=FAR,
        far_lines=_far_lines(run),
        short=_in_short(run, claims),
        score_lines=_score_lines(run),
        rank_lines=[(method, run.ranks(PAPER_EIGHT)[method], run.paper_ranks[method]) for method in PAPER_EIGHT],
        pair_lines=_pair_lines(run),
        other_lines=_other_lines(run),
        author_lines=_author_lines(run, authors),
        dataset_lines=_dataset_lines(datasets),
        costs=costs,
        cost_lines=pages.cost_lines(costs),
        source=source,
        figure=figure,
    )


def describe_datasets() -> pd.DataFrame:
    """Compute the paper's Table 2: the sizes of its datasets, and statistics of their labels.

    The paper's label sets are those that a single sample has.

    Returns
    -------
    DataFrame
        One row per dataset, with the columns of the published table.
    """
    published = load_published("kfhe_homer_datasets")
    rows = []
    for name in published["dataset"]:
        data = load_dataset("flags_ml" if name == "flags" else name)
        labels = describe_labels(data.y)
        numbers = (labels.n_single_sets, round(labels.cardinality, 3), round(labels.mean_imbalance_ratio, 3))
        rows.append((name, len(data.X), data.X.shape[1], labels.n_labels, *numbers))
    return pd.DataFrame(rows, columns=published.columns)


def write_page(
    summary: str | os.PathLike[str], page: str | os.PathLike[str], authors: str | os.PathLike[str] | None = None
) -> Path:
    """Write the page and its rank plot from the files of a run.

    Parameters
    ----------
    summary : str or path
        The CSV file of the means; the fold scores and the costs are read from the same folder.
    page : str or path
        The Markdown file. Missing folders are created.
    authors : str or path, optional
        The CSV file of the means of the experiment ``kfhe-homer-authors``.

    Returns
    -------
    page : Path
    """
    summary, page = Path(summary), Path(page)
    means, folds = read_summary(summary), pd.read_csv(beside(summary, "folds"), dtype={"dataset": str, "method": str})
    page.parent.mkdir(parents=True, exist_ok=True)
    pairs = HomerReproduction(means, folds).pairs
    figure = page.with_name(f"{page.stem}-ranks.svg")
    if pairs is not None:
        pages.save(critical_difference(pairs), figure)
    text = make_page(
        means,
        folds,
        read_costs(summary),
        authors=None if authors is None else read_summary(authors),
        datasets=pd.read_csv(beside(summary, "datasets")) if beside(summary, "datasets").exists() else None,
        source=" --authors ".join(pages.source_name(path) for path in (summary, authors) if path is not None),
        figure="" if pairs is None else figure.name,
    )
    page.write_text(text, encoding="utf-8")
    return page


def _as_printed(results: pd.DataFrame) -> pd.DataFrame:
    """Rename the datasets as in the paper."""
    return results.assign(dataset=results["dataset"].replace("flags_ml", "flags"))


def _in_short(run: HomerReproduction, claims: Sequence[CheckedClaim]) -> list[str]:
    """State the result in a few sentences."""
    ranks, sizes = run.ranks(PAPER_EIGHT), run.differences[CONTROL].abs()
    place = 1 + int((ranks < ranks[CONTROL]).sum())
    first = "the best" if place == 1 else f"number {place} by"
    low = list(run.shortfall.index[run.shortfall > CLOSE])
    order = join([f"{method} {rank:.2f}" for method, rank in ranks.items()])
    others = run.differences.drop(columns=CONTROL).abs().mean()
    said = [
        f"Of the conclusions of the paper's text, {count_holding(claim.paper for claim in claims)} hold on its own "
        f"printed means, and {count_holding(claim.ours['ours'] for claim in claims)} that can be checked on ours.",
        f"KFHE-HOMER has {first} average rank of the paper's eight methods: {ranks[CONTROL]:.2f}, "
        f"where the paper has {run.paper_ranks[CONTROL]:.2f}. The order is {order}.",
        f"KFHE-HOMER's mean absolute difference from the printed means is {sizes.mean():.4f}; counting only where ours "
        f"is lower it is {run.shortfall.mean():.4f}. It is lower by more than {CLOSE:g} on "
        f"{join(low) if low else 'no dataset'}. The other methods' mean absolute differences are "
        f"{join([f'{method} {distance:.3f}' for method, distance in others.items()])}.",
    ]
    if run.by_mean is not None:
        kalman, vote, mean = run.ours[[CONTROL, "E-HOMER", BY_MEAN]].mean()
        by_mean = average_ranks(run.by_mean, digits=DIGITS)
        said.append(
            "The paper does not say how E-HOMER combines its members; above it is by majority vote. By the mean of "
            "scores, the default of our class, E-HOMER's average rank of the eight is "
            f"{by_mean['E-HOMER']:.2f}, that of KFHE-HOMER {by_mean[CONTROL]:.2f}. Mean macro F1: KFHE-HOMER "
            f"{kalman:.4f}, E-HOMER by majority vote {vote:.4f}, by mean {mean:.4f}."
        )
    best = run.ranks(run.methods)
    said.append(
        f"Among all {len(best)} methods of the run, {best.index[0]} has the best average rank ({best.iloc[0]:.2f}); "
        f"KFHE-HOMER has {best[CONTROL]:.2f}."
    )
    return said


def _score_lines(run: HomerReproduction) -> list[tuple[str, list[str]]]:
    ranks = run.ours[list(PAPER_EIGHT)].round(DIGITS).rank(axis=1, ascending=False)
    lines = []
    for dataset in run.datasets:
        cells = []
        for method in PAPER_EIGHT:
            mark = "" if method == CONTROL else run.mark(dataset, method)
            score = f"{run.ours.loc[dataset, method]:.4f}{mark} ± {run.deviations.loc[dataset, method]:.3f}"
            difference = signed(run.differences.loc[dataset, method], 4)
            cells.append(f"{score} ({ranks.loc[dataset, method]:g}; {difference})")
        lines.append((dataset, cells))
    return lines


def _mark(p_value: float) -> str:
    return next((mark for level, mark in MARKS if p_value <= level), "")


def _compare_marks(run: HomerReproduction) -> dict[str, int]:
    """Compare the marks of Wilcoxon's test in the paper's Table 3 with ours."""
    counts = dict.fromkeys(("the same", "the same direction at another level", "only one is marked", "reversed"), 0)
    printed = load_published("kfhe_homer_scores")
    for row in printed[printed["dataset"].isin(run.datasets) & (printed["method"] != CONTROL)].itertuples():
        ours = run.mark(row.dataset, row.method)
        theirs = _read_mark(row.versus_kfhe_homer)
        if ours == theirs:
            counts["the same"] += 1
        elif not (ours and theirs):
            counts["only one is marked"] += 1
        elif ours.startswith(BETTER) != theirs.startswith(BETTER):
            counts["reversed"] += 1
        else:
            counts["the same direction at another level"] += 1
    return counts


def _read_mark(printed: str) -> str:
    """Return a mark of the paper, such as "worse at 0.01", as ours."""
    if not printed:
        return ""
    direction, _, level = printed.split()
    return (BETTER if direction == "better" else "") + _mark(float(level))


def _printed_cells(run: HomerReproduction) -> list[tuple[str, list[str]]]:
    """Return the paper's Table 3: mean, mark and rank on each dataset."""
    printed = load_published("kfhe_homer_scores").set_index(["dataset", "method"])
    return [
        (
            dataset,
            [
                f"{cell['score']:.4f}{_read_mark(cell['versus_kfhe_homer'])} ({cell['rank']:g})"
                for cell in (printed.loc[dataset, method] for method in PAPER_EIGHT)
            ],
        )
        for dataset in run.datasets
    ]


def _far_lines(run: HomerReproduction) -> list[tuple[str, str, str]]:
    """List the methods with scores that are far from the paper's, the datasets, and a reason if one is known."""
    lines = []
    for method in PAPER_EIGHT:
        far = run.differences[method][run.differences[method].abs() > FAR]
        if len(far):
            listed = join([f"{dataset} ({signed(difference, 2)})" for dataset, difference in far.items()])
            lines.append((method, listed, REASONS.get(method, "No reason is known.")))
    return lines


def _pair_lines(run: HomerReproduction) -> list[dict[str, Any]]:
    if run.pairs is None:
        return []
    printed = {
        frozenset((row.method, row.versus)): row.p_value for row in load_published("kfhe_homer_p_values").itertuples()
    }
    wins = win_tie_loss(run.ours[list(PAPER_EIGHT)], digits=DIGITS)
    printed_wins = {}
    for row in load_published("kfhe_homer_wins").itertuples():
        printed_wins[row.method, row.versus] = f"{row.wins}, {row.ties}, {row.losses}"
        printed_wins[row.versus, row.method] = f"{row.losses}, {row.ties}, {row.wins}"
    return [
        {
            "pair": (row.method, row.versus),
            "ours": f"{row.p_corrected:.4f}",
            "paper": printed[frozenset((row.method, row.versus))],
            "record": ", ".join(map(str, wins.loc[(row.method, row.versus)])),
            "paper_record": printed_wins[row.method, row.versus],
        }
        for row in run.pairs.pairs.itertuples()
    ]


def _other_lines(run: HomerReproduction) -> list[tuple[str, list[str], str, str]]:
    ranks = run.ranks([CONTROL, *run.others])
    return [
        (
            method,
            [f"{score:.4f}" for score in run.ours[method]],
            f"{run.ours[method].mean():.4f}",
            f"{ranks[method]:.2f}",
        )
        for method in (CONTROL, *run.others)
    ]


def _author_lines(run: HomerReproduction, authors: pd.DataFrame | None) -> list[tuple[str, ...]]:
    """Compare the settings of the authors' program with ours on the same folds, the first ones of the run."""
    if authors is None:
        return []
    lines = []
    for dataset, rows in _as_printed(authors).groupby("dataset", sort=False):
        rows = rows.set_index("method")
        n_folds = int(rows["n"].min())
        ours = run.folds[(run.folds["dataset"] == dataset) & (run.folds["method"] == CONTROL)]
        ours = ours.sort_values(["repeat", "fold"])["macro_f1"].head(n_folds)
        theirs = [f"{rows.loc[method, 'score']:.4f}" if method in rows.index else "not run" for method in AUTHORS]
        lines.append((dataset, f"{run.paper.loc[dataset, CONTROL]:.4f}", f"{ours.mean():.4f}", *theirs, str(n_folds)))
    return lines


def _dataset_lines(datasets: pd.DataFrame | None) -> list[tuple[str, list[str]]]:
    """Return ours of each number of the paper's Table 2, and the paper's if it is another."""
    if datasets is None:
        return []
    published = load_published("kfhe_homer_datasets").set_index("dataset")
    return [
        (
            row["dataset"],
            [
                f"{row[name]:g}" if row[name] == value else f"{row[name]:g} ({value:g})"
                for name, value in published.loc[row["dataset"]].items()
            ],
        )
        for _, row in datasets.iterrows()
    ]
