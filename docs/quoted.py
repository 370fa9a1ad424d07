"""Numbers that pages quote, read from files of results when the site is built: `{{ six["ECC"]["macro F1"] }}`.

`conf.py` hands `QUOTED` to MyST as substitutions. `ranks` and `scores` have a column per fraction of wrong labels.
"""

import re
from pathlib import Path

import pandas as pd

from fuselearn.lab.statistics import friedman_posthoc

HERE = Path(__file__).parent
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


def compare_labels(results: pd.DataFrame) -> dict[str, dict[str, str]]:
    """Return mean score and mean rank by method and measure, and p of macro F1 against the fused classifier."""
    means = results.groupby(["method", "dataset"])[list(MEASURES)].mean()
    lower = means.assign(**{"Hamming loss": -means["Hamming loss"]})
    ranks = lower.groupby("dataset").rank(ascending=False, na_option="bottom").groupby("method").mean()
    scores = means.groupby("method").mean()
    found = {
        method: {
            **{measure: f"{scores.at[method, measure]:.3f}".removeprefix("0") for measure in MEASURES},
            **{f"rank of {measure}": f"{ranks.at[method, measure]:.1f}" for measure in MEASURES},
        }
        for method in scores.index
    }
    control = "fused, macro_f1"
    table = means["macro F1"].unstack("method")[[control, *(name for name in ROWS if name in found)]]
    test = friedman_posthoc(table, control=control)
    for method in table.columns[1:]:
        p = test.p_corrected(method, control)
        found[method]["p"] = "<.001" if p < 0.0005 else f"{p:.3f}".removeprefix("0")
    chosen = {measure: found[f"fused, {name}"] for measure, name in OPTIMIZED.items()}
    keys = ((measure, key) for measure in MEASURES for key in (measure, f"rank of {measure}"))
    return {"fused": {key: chosen[measure][key] for measure, key in keys}, **found}


def write_table(found: dict[str, dict[str, str]]) -> str:
    """Return a Markdown table with a row per method: scores and, in brackets, mean ranks; the first row in bold."""
    lines = [["method", *MEASURES[:-1], "ranking precision", "p, macro F1"], ["---"] * (len(MEASURES) + 2)]
    for method, shown in ROWS.items():
        if method in found:
            cells = [f"{found[method][measure]} ({found[method][f'rank of {measure}']})" for measure in MEASURES]
            cells = [f"**{cell}**" for cell in cells] if method == "fused" else cells
            lines.append([shown, *cells, found[method].get("p", "–")])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def read_tables(page: str) -> dict[str, dict[str, dict[str, str]]]:
    """Return the tables of a page of results by their titles, then by row and column."""
    tables = {}
    for title, text in re.findall(r"^## (.+)\n([^#]*)", (HERE / page).read_text("utf-8"), re.MULTILINE):
        lines = [
            line.strip("| ").split(" | ")
            for line in text.replace("**", "").replace("\xa0", " ").splitlines()
            if line[:1] == "|"
        ]
        if lines:
            head = lines[0]
            tables[title] = {row[0]: dict(zip(head[-len(row) + 1 :], row[1:], strict=False)) for row in lines[2:]}
    return tables


def read_quoted() -> dict[str, object]:
    """Return the substitutions."""
    results = pd.read_csv(HERE / "reproduction" / "fused-multilabel.csv")
    is_other = results["method"].str.startswith(OTHER_PACKAGES)
    with_others = results.loc[is_other, "dataset"].unique()
    six = compare_labels(results[results["dataset"].isin(with_others)])
    ten = compare_labels(results[~is_other])
    robust = read_tables("reproduction-robust.md")
    return {
        "six": six,
        "six_table": write_table(six),
        "ten_table": write_table(ten),
        "six_count": str(len(six) - 1),
        "ten_count": str(len(ten) - 1),
        "ranks": robust["Average rank by macro F1 (1 is best)"],
        "scores": robust["Mean macro-averaged F1"],
    }


QUOTED = read_quoted()
