"""Numbers that pages quote, read from files of results when the site is built: `{{ six["ECC"]["macro F1"] }}`.

`conf.py` hands `QUOTED` to MyST as substitutions. `python docs/quoted.py` writes what is not computed then: the pages
of the runs with wrong labels, and what README.md shows of them.
"""

import sys
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

HERE = Path(__file__).parent
ROOT = HERE.parent
sys.path.insert(0, str(ROOT))

from fuselearn.lab.statistics import friedman_posthoc  # noqa: E402
from reproduction.pages import NBSP, format_p, join  # noqa: E402
from reproduction.robust import ALPHA, RobustRun, read_runs, write_page  # noqa: E402
from reproduction.study import MEASURES as STUDY_MEASURES  # noqa: E402
from reproduction.study import StudyRun  # noqa: E402

RESULTS = Path("docs", "reproduction")
README_PART = ("<!-- ranks -->\n", "<!-- end of the ranks -->\n")
README_METHODS = (
    "Fused", "CleanLearning (RandomForest)", "KFHE", "RandomForest (leaf 3)", "RandomForest",
    "HistGradientBoosting (stopped)", "LightGBM (stopped)",
)  # fmt: skip
KINDS_METHODS = (
    "Fused", "Greedy selection", "RandomForest (leaf 3)", "CleanLearning (RandomForest)", "ExtraTrees",
)  # fmt: skip
SCORES = {"scores": "macro_f1", "brier": "brier"}
MEASURES = ("macro F1", "micro F1", "Hamming loss", "subset accuracy", "LRAP")
ROWS = {
    "fused": "fused, optimizing that metric",
    "PCT forest, per_label": 'PCT forest, `"per_label"`',
    "PCT forest, cardinality": 'PCT forest, `"cardinality"`',
    "PCT forest, 0.5": "PCT forest, 0.5",
    "PCT extra trees, per_label": 'PCT extra trees, `"per_label"`',
    "E-HOMER": "E-HOMER",
    "KFHE-HOMER": "KFHE-HOMER",
    "ECC": "ECC",
    "BOOMER, decomposable, GFM": "BOOMER, decomposable, GFM",
    "BOOMER, non-decomposable": "BOOMER, non-decomposable",
    "LightGBM per label": "LightGBM per label",
    "LightGBM per label, thresholds": "LightGBM per label, thresholds",
    "XGBoost, vector leaves": "XGBoost, vector leaves",
    "scikit-multilearn, powerset": "scikit-multilearn, powerset of a forest",
    "scikit-multilearn, RAkELo": "scikit-multilearn, RAkELo of forests",
}
"""Rows of the tables of multi-label methods, in their order."""
OTHER_PACKAGES = ("BOOMER", "LightGBM", "XGBoost", "scikit-multilearn")
OPTIMIZED = dict(zip(MEASURES, ("macro_f1", "micro_f1", "hamming", "subset", "ranking"), strict=True))


def find_runs() -> dict[str, list[Path]]:
    """Return the summaries that each page of wrong labels is made from, relative to the repository."""
    found = [path for path in (ROOT / RESULTS).glob("robust-*.csv") if not path.stem.endswith("-folds")]
    found = [RESULTS / path.name for path in sorted(found, key=lambda path: ("uniform" not in path.stem, path.name))]
    labels = [path for path in found if path.stem.startswith("robust-labels-")]
    kinds = [path for path in found if path not in labels]
    return {
        "reproduction-robust.md": kinds[:1],
        "reproduction-robust-kinds.md": kinds,
        "reproduction-robust-labels.md": labels,
    }


def read_run(page: str) -> tuple[RobustRun, dict[str, Any]]:
    """Return the run of a page, and the suite of its first kind of noise."""
    tables, costs = read_runs([ROOT / path for path in find_runs()[page]])
    return RobustRun(tables), next(iter(costs.values()))["suite"]


def quote_run(run: RobustRun, suite: Mapping[str, Any]) -> dict[str, Any]:
    """Return what pages quote of runs with wrong labels.

    By method and condition, such as "0 %" and "uniform 20 %": ranks, scores (macro F1) and brier. By method:
    versus, what the test says of the control beside it, and time, in fit times of the control.
    """
    measured = {name: run.means(value) for name, value in SCORES.items() if value in run.results}
    seconds = run.fit_seconds()
    unit = "levels" if run.results["kind"].nunique() == 1 else "conditions"
    say = {"ranks": say_best(run.ranks, run.control, unit, digits=2, lower_is_better=True)}
    for name, table in measured.items():
        say[name] = say_best(table, run.control, unit, digits=3, lower_is_better=name != "scores")
    if "brier" in measured:
        by_brier = run.ranks_by("brier", lower_is_better=True)
        say["brier_ranks"] = say_best(by_brier, run.control, unit, digits=2, lower_is_better=True)
    return {
        "methods": str(len(run.methods)),
        "others": str(len(run.methods) - 1),
        "tables": str(len(run.datasets)),
        "conditions": str(len(run.conditions)),
        **describe_split(suite),
        "ranks": quote(run.ranks, 2),
        **{name: quote(table, 3) for name, table in measured.items()},
        "versus": {method: say_difference(test) for method, test in run.tests.iterrows()},
        "time": {method: f"{ratio:.2g}" for method, ratio in (seconds / seconds[run.control]).items()},
        "say": {**say, "tests": say_tests(run.tests)},
    }


def quote(table: pd.DataFrame, digits: int) -> dict[str, dict[str, str]]:
    """Return the formatted numbers of a table by row and column."""
    return {
        method: {plain(column): f"{number:.{digits}f}" for column, number in row.items()}
        for method, row in table.iterrows()
    }


def plain(condition: object) -> str:
    """Return a name with ordinary spaces."""
    return str(condition).replace(NBSP, " ")


def shorten(condition: object, unit: str = "levels") -> str:
    """Return a condition for reading: beside levels of uniform noise only, the kind goes without saying."""
    return plain(condition).removeprefix("uniform ") if unit == "levels" else plain(condition)


def describe_split(suite: Mapping[str, Any]) -> dict[str, str]:
    """Say how many samples of a table train, and in how many splits."""
    folds, most = suite["folds"], suite["max_samples"]
    splits = suite["repeats"] * (suite["test_folds"] or folds)
    training = "half" if folds == 2 else f"{folds - 1}/{folds}"
    return {
        "most": f"{most:,}",
        "training": f"{most * (folds - 1) // folds:,}",
        "split": f"{training} of at most {most:,} samples train, the others test; {splits} split{'s'[: splits > 1]}",
    }


def say_best(table: pd.DataFrame, control: str, unit: str, *, digits: int, lower_is_better: bool) -> str:
    """Say in how many columns a row is the best one; where it is not, which one is, and the place of the row."""
    rounded = (table if lower_is_better else -table).round(digits)
    places = (rounded < rounded.loc[control]).sum() + 1
    lost = places.index[places > 1]
    first = f"{len(places) - len(lost) or 'none'} of the {len(places)} {unit}"
    if not len(lost):
        return f"each of the {len(places)} {unit}"
    better = [
        f"{rounded[column].idxmin()} at {shorten(column, unit)} ({abs(rounded[column].min()):.{digits}f}; {control} "
        f"{abs(rounded.at[control, column]):.{digits}f}, place {places[column]})"
        for column in lost
    ]
    return f"{first}; the best elsewhere {'is' if len(lost) == 1 else 'are'} {join(better)}"


def say_difference(test: pd.Series) -> str:
    """Say whether the control is significantly better than another method."""
    word = "better" if test["ahead"] else "worse"
    word = f"significantly {word}" if test["p_corrected"] < ALPHA else f"{word}, not significantly"
    return f"{word} (p = {test['p_corrected']:.3f})".replace("= 0.000", "< 0.001")


def say_tests(tests: pd.DataFrame) -> str:
    """Say than which of the other methods the control is significantly better."""
    significant = tests["p_corrected"] < ALPHA
    better, worse, open_ = significant & tests["ahead"], significant & ~tests["ahead"], ~significant
    if better.all():
        hardest = tests["p_corrected"].idxmax()
        largest = format_p(tests.at[hardest, "p_corrected"])
        return f"significantly better than each of the {len(tests)} others (the largest p is {largest}, {hardest})"
    said = f"significantly better than {better.sum()} of the {len(tests)} others"
    if open_.any():
        said += f", and not significantly different from {join(tests.index[open_])}"
    return f"{said}, and significantly worse than {join(tests.index[worse])}" if worse.any() else said


def write_markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table."""
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows))


def write_ranks(run: RobustRun, score: str, p: bool = False) -> str:
    """Return a table of mean scores and, in brackets, average ranks; with `p`, of the methods of README.md only."""
    lower = score == "brier"
    means = run.means(score).round(3)
    ranks = run.ranks_by(score, lower_is_better=lower).round(2)
    best = means.min() if lower else means.max()
    lines = []
    for method in README_METHODS if p else means.index:
        line = [embolden(method, method == run.control)]
        for column in means:
            mean, rank = means.at[method, column], ranks.at[method, column]
            line.append(
                f"{embolden(f'{mean:.3f}', mean == best[column])}{NBSP}"
                f"({embolden(f'{rank:.2f}', rank == ranks[column].min())})"
            )
        if p:
            line.append("–" if method == run.control else format_p(run.tests.at[method, "p_corrected"]))
        lines.append(line)
    return write_markdown(["", *map(shorten, run.conditions), *(["p"] if p else [])], lines)


def write_kinds(run: RobustRun) -> str:
    """Return a table with a row per condition: ranks, and the Brier score of the control and of the best other one."""
    brier = run.means("brier").round(3)
    lines = []
    for condition in run.conditions:
        ranks = run.ranks[condition].round(2)
        cells = [plain(condition)]
        cells += [embolden(f"{ranks[method]:.2f}", ranks[method] == ranks.min()) for method in KINDS_METHODS]
        own, other = brier.at[run.control, condition], brier[condition].drop(run.control).min()
        cells += [embolden(f"{own:.3f}", own <= other), embolden(f"{other:.3f}", other <= own)]
        lines.append(cells)
    return write_markdown(["wrong labels", *KINDS_METHODS, "Brier score: Fused", "the best other one"], lines)


def embolden(text: str, best: bool) -> str:
    """Return bold type if something is the best."""
    return f"**{text}**" if best else text


def write_readme_part() -> str:
    """Return what README.md shows of the run with uniform noise."""
    run, suite = read_run("reproduction-robust.md")
    found = quote_run(run, suite)
    above = (
        f"Mean macro F1 and, in brackets, average rank of {found['methods']} classifiers on {found['tables']} tables by"
        f" the fraction of wrong training labels (uniform noise; {found['split']}), and p-values of the ranks over all "
        "fractions against Fused (aligned ranks, Finner's correction):"
    )
    below = (
        f"Fused has the best average rank at {found['say']['ranks']}. Over all levels, it is {found['say']['tests']}. "
        f"A random forest takes {found['time']['RandomForest']} of its time, KFHE {found['time']['KFHE']}."
    )
    table = write_ranks(run, "macro_f1", p=True)
    return "\n\n".join((textwrap.fill(above, 120), table, textwrap.fill(below, 120))) + "\n"


def compare_labels(results: pd.DataFrame) -> dict[str, dict[str, str]]:
    """Return mean score and mean rank by method and measure, and p of macro F1 against the fused classifier."""
    means = results.groupby(["method", "dataset"])[list(MEASURES)].mean()
    lower = means.assign(**{"Hamming loss": -means["Hamming loss"]})
    ranks = lower.groupby("dataset").rank(ascending=False, na_option="bottom").groupby("method").mean()
    scores = means.groupby("method").mean()
    found = {
        method: {
            **{measure: f"{scores.at[method, measure]:.3f}" for measure in MEASURES},
            **{f"rank of {measure}": f"{ranks.at[method, measure]:.1f}" for measure in MEASURES},
        }
        for method in scores.index
    }
    control = "fused, macro_f1"
    table = means["macro F1"].unstack("method")[[control, *(name for name in ROWS if name in found)]]
    test = friedman_posthoc(table, control=control)
    for method in table.columns[1:]:
        p = test.p_corrected(method, control)
        found[method]["p"] = "<0.001" if p < 0.0005 else f"{p:.3f}"
    chosen = {measure: found[f"fused, {name}"] for measure, name in OPTIMIZED.items()}
    keys = ((measure, key) for measure in MEASURES for key in (measure, f"rank of {measure}"))
    return {"fused": {key: chosen[measure][key] for measure, key in keys}, **found}


def write_table(found: dict[str, dict[str, str]]) -> str:
    """Return a Markdown table with a row per method: scores and, in brackets, mean ranks; the first row in bold."""
    lines = []
    for method, shown in ROWS.items():
        if method in found:
            cells = [f"{found[method][measure]}{NBSP}({found[method][f'rank of {measure}']})" for measure in MEASURES]
            cells = [f"**{cell}**" for cell in cells] if method == "fused" else cells
            lines.append([shown, *cells, found[method].get("p", "–")])
    return write_markdown(["method", *MEASURES[:-1], "ranking precision", "p, macro F1"], lines)


def write_costs(costs: pd.DataFrame, with_labels: bool) -> str:
    """Return a table of time and memory of a fit, methods by sizes: with a number of labels, or without."""
    size, seconds, memory = costs.columns[1:]
    costs = costs[(costs[size].str.count("x") == 2) == with_labels]
    cells = costs[seconds].map("{:g} s, ".format) + costs[memory].astype(str) + " MB"
    table = costs.assign(cells=cells).pivot(index="method", columns=size, values="cells").fillna("–")
    table = table.loc[costs["method"].unique(), costs[size].unique()]
    lines = [["", *table.columns], *([f"`{method}`", *row] for method, row in table.T.items())]
    head, *rows = [[cell.replace(" ", NBSP) for cell in line] for line in lines]
    return write_markdown(head, rows)


def say_study(run: StudyRun) -> dict[str, str]:
    """Say by which measures the fused classifier has the best average rank, and what ranks it and the next one have."""
    first, said = 0, []
    for name, measure in STUDY_MEASURES.items():
        own = run.standings.at[(name, measure.fused), "mean"]
        published = run.published_ranks(name, measure.fused)
        first += own <= published.iloc[0]
        said.append(f"{own:.1f} in {measure.title} ({published.index[0]} {published.iloc[0]:.1f})")
    return {"first": f"{first} of the {len(STUDY_MEASURES)}", "ranks": join(said), "datasets": str(len(run.datasets))}


def read_quoted() -> dict[str, object]:
    """Return the substitutions."""
    folder = ROOT / RESULTS
    results = pd.read_csv(folder / "fused-multilabel.csv")
    is_other = results["method"].str.startswith(OTHER_PACKAGES)
    with_others = results.loc[is_other, "dataset"].unique()
    six = compare_labels(results[results["dataset"].isin(with_others)])
    ten = compare_labels(results[~is_other])
    by_dataset = results.groupby(["method", "dataset"])["macro F1"].mean().unstack()
    is_above = by_dataset.loc["fused, macro_f1"] > by_dataset.loc["KFHE-HOMER"]
    homer = pd.read_csv(folder / "kfhe-homer.csv").pivot(index="method", columns="dataset", values="macro_f1")
    homer["mean"], homer["rank"] = homer.mean(axis=1), homer.rank(ascending=False).mean(axis=1)
    costs = pd.read_csv(folder / "cost.csv")
    runs = [read_run(page) for page in find_runs()]
    robust, kinds, labels = (quote_run(*run) for run in runs)
    demo = pd.read_csv(HERE / "figures" / "wrong_labels.csv")
    columns = [
        f"{name}, {noise:.0%}".replace("%", " %") for name, noise in zip(demo["dataset"], demo["noise"], strict=True)
    ]
    points = demo.assign(point=columns).pivot(index="method", columns="point", values="macro_f1")
    return {
        "six": six,
        "six_table": write_table(six),
        "ten_table": write_table(ten),
        "six_count": str(len(six) - 1),
        "ten_count": str(len(ten) - 1),
        "by_dataset": quote(by_dataset, 3),
        "above_kfhe_homer": f"{is_above.sum()} of the {len(is_above)}",
        "homer": quote(homer, 3),
        "cost": write_costs(costs, with_labels=False),
        "cost_labels": write_costs(costs, with_labels=True),
        "study": say_study(StudyRun(pd.read_csv(folder / "multilabel-study-folds.csv"))),
        "demo": say_best(points, "Fused", "points", digits=3, lower_is_better=False),
        "robust": robust,
        "robust_table": write_ranks(runs[0][0], "macro_f1"),
        "brier_table": write_ranks(runs[0][0], "brier"),
        "kinds": kinds,
        "kinds_table": write_kinds(runs[1][0]),
        "labels": labels,
    }


def write_everything() -> None:
    """Write the pages of the runs with wrong labels, and their part of README.md. The working directory is the root."""
    for page, summaries in find_runs().items():
        print(write_page(summaries, Path("docs", page)))
    readme = Path("README.md")
    start, end = README_PART
    above, rest = readme.read_text("utf-8").split(start)
    readme.write_text(f"{above}{start}{write_readme_part()}{end}{rest.partition(end)[2]}", encoding="utf-8")
    print(readme)


if __name__ == "__main__":
    write_everything()
else:
    QUOTED = read_quoted()
