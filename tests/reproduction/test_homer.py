"""The page about the second paper says where a run agrees with it, and where it does not."""

import itertools
import json
import re

import numpy as np
import pandas as pd
import pytest

from reproduction.homer import PAPER_EIGHT, HomerReproduction, make_page, write_page
from reproduction.homer_claims import compare_kinds_of_ranks
from reproduction.pages import beside
from reproduction.published import load_published

OTHERS = ("E-HOMER (mean)", "RF")
STEPS = np.linspace(-0.01, 0.01, 10)


def files_of(shift=lambda dataset, method: 0.0, others=OTHERS):
    """Make a summary and fold scores from the paper's own means, shifted; others equal E-HOMER."""
    score = load_published("kfhe_homer_scores").set_index(["dataset", "method"])["score"]
    datasets = list(dict.fromkeys(score.index.get_level_values("dataset")))
    means, folds = [], []
    for dataset, method in itertools.product(datasets, (*PAPER_EIGHT, *others)):
        mean = score[dataset, method if method in PAPER_EIGHT else "E-HOMER"] + shift(dataset, method)
        name = "flags_ml" if dataset == "flags" else dataset
        means.append({"dataset": name, "noise": 0.0, "method": method, "score": mean, "sd": 0.02, "n": 10, "failed": 0})
        folds += [
            {"dataset": name, "method": method, "repeat": i // 5, "fold": i % 5, "macro_f1": mean + step}
            for i, step in enumerate(STEPS * (1 + (method == "KFHE-HOMER")))
        ]
    return pd.DataFrame(means), pd.DataFrame(folds)


def test_the_paper_agrees_with_itself():
    page = make_page(*files_of())
    assert "KFHE-HOMER has the best average rank of the paper's eight methods: 1.30, where the paper has 1.30." in page
    assert "mean absolute difference from the printed means is 0.0000" in page
    assert "It is lower by more than 0.03 on no dataset." in page


def test_table_4_of_the_paper_comes_out_of_its_own_means():
    page = make_page(*files_of())
    printed = load_published("kfhe_homer_p_values")
    for row in printed.itertuples():
        assert any(
            line.startswith((f"| {row.method} and {row.versus} |", f"| {row.versus} and {row.method} |"))
            and f"| {row.p_value} | {row.p_value} |" in line
            for line in page.splitlines()
        ), row


def test_a_dataset_where_ours_is_lower_is_named():
    page = make_page(*files_of(lambda dataset, method: -0.1 * (dataset == "flags" and method == "KFHE-HOMER")))
    assert "It is lower by more than 0.03 on flags." in page
    assert "| flags | 0.5862 ± 0.020 (7; −0.1000) |" in page


def test_a_method_that_overtakes_is_said_to_be_first():
    page = make_page(*files_of(lambda dataset, method: 0.3 * (method in ("ECC", "RF"))))
    assert "KFHE-HOMER has number 2 by average rank" in page
    assert "RF has the best average rank" in page or "ECC has the best average rank" in page


def test_marks_follow_wilcoxons_test_over_folds():
    summary, folds = files_of()
    run = HomerReproduction(summary, folds)
    assert run.wilcoxon("flags", "ECC") == pytest.approx(2 / 1024)
    assert "∗∗∗" in make_page(summary, folds)


def test_a_mark_says_which_of_the_two_is_better():
    page = make_page(*files_of(lambda dataset, method: 0.3 * (dataset == "flags" and method == "ECC")))
    assert "| 0.9387▲∗∗∗ ± 0.020 (1; +0.3000) |" in page
    assert page.count("▲∗∗∗ ±") == 1 + make_page(*files_of()).count("▲∗∗∗ ±")


def test_conclusions_are_checked_on_the_papers_means_and_on_ours():
    page = make_page(*files_of(lambda dataset, method: 0.3 * (method == "E-HOMER (mean)")))
    best = (
        "| KFHE-HOMER has the best average rank | yes (1.30, place 1) | yes (1.30, place 1) | **no** (2.30, place 2) |"
    )
    assert best in page
    assert "| KFHE-HOMER is significantly better than CC | yes (p = 0.0321) | yes (p = 0.0321) |" in page
    assert "| KFHE-HOMER is significantly better than ECC | **no** (p = 0.0562) | **no** (p = 0.0562) |" in page
    assert "| it is second on llog | **no** (place 4) | **no** (place 4) |" in page
    assert "Of the conclusions of the paper's text, 15 of the 17 hold on its own printed means" in page
    assert "E-HOMER's average rank of the eight is 1.00, that of KFHE-HOMER 2.30." in page


def test_a_part_of_the_datasets_cannot_check_the_conclusions():
    summary, folds = files_of()
    page = make_page(summary[summary["dataset"] != "yeast"], folds[folds["dataset"] != "yeast"])
    assert "| KFHE-HOMER has the best average rank | yes (1.30, place 1) | not checked | not checked |" in page


def test_the_papers_p_values_are_those_of_plain_ranks():
    for _, printed, plain, aligned in compare_kinds_of_ranks():
        assert plain == pytest.approx(float(printed), abs=0.00005)
        assert aligned > plain


def test_the_papers_marks_stand_beside_ours():
    page = make_page(*files_of())
    assert "| flags | 0.6862 (1) | 0.6710 (2) | 0.6387∗∗∗ (6) | 0.5957∗∗∗ (7) |" in page
    numbers = re.search(r"Of the 70 marks .*: (\d+) the same, (\d+) .*, (\d+) only .*, (\d+) reversed", page).groups()
    assert sum(map(int, numbers)) == 70


def test_scores_far_from_the_papers_are_listed_with_a_reason():
    page = make_page(*files_of(lambda dataset, method: 0.2 * (dataset == "scene" and method == "RF-PCT")))
    assert "| RF-PCT | scene (+0.20) | The R package that the paper names has no such forest;" in page
    assert "RF-PCT 0.020 and AdaBoost.MH 0.000." in page
    assert "| mean absolute difference | 0.0000 |" in page


def test_other_numbers_of_a_dataset_stand_beside_ours():
    datasets = load_published("kfhe_homer_datasets")
    datasets.loc[0, "inputs"] = 19
    page = make_page(*files_of(), datasets=datasets)
    assert "| flags | 194 | 19 (26) | 7 | 24 | 3.392 | 2.255 |" in page
    assert "## Table 2" not in make_page(*files_of())


def test_one_dataset_has_scores_and_no_tests_over_datasets(tmp_path):
    summary, folds = files_of()
    path = tmp_path / "summary.csv"
    summary[summary["dataset"] == "flags_ml"].to_csv(path, index=False)
    folds[folds["dataset"] == "flags_ml"].to_csv(beside(path, "folds"), index=False)
    page = write_page(path, tmp_path / "page.md").read_text(encoding="utf-8")
    assert "| flags | 0.6862 ± 0.020 (1; 0.0000) | 0.6710" in page
    assert "Figure 2 and Table 4 compare the methods over datasets, which needs at least two." in page
    assert "## Table 4" not in page
    assert "svg" not in page
    assert not list(tmp_path.glob("*.svg"))


def test_a_missing_method_is_named():
    summary, folds = files_of()
    with pytest.raises(ValueError, match="ECC not found"):
        make_page(summary[summary["method"] != "ECC"], folds)


def test_a_cell_without_a_score_is_named():
    summary, folds = files_of()
    summary.loc[(summary["dataset"] == "yeast") & (summary["method"] == "CC"), "score"] = np.nan
    with pytest.raises(ValueError, match="no score of CC on yeast"):
        make_page(summary, folds)


def test_the_page_is_written_with_its_figure_costs_and_the_authors_settings(tmp_path):
    summary, folds = files_of()
    path = tmp_path / "homer.csv"
    summary.to_csv(path, index=False)
    folds.to_csv(beside(path, "folds"), index=False)
    costs = {
        "suite": {"repeats": 2, "folds": 5, "seed": 0},
        "totals": {
            "results": 1000, "failures": 0, "expected": 1000, "fits": 700, "fit_seconds": 3000.0,
            "predict_seconds": 60.0, "elapsed_seconds": 2000.0,
        },
        "versions": {"fuselearn": ["0.1.0"]},
    }  # fmt: skip
    path.with_suffix(".json").write_text(json.dumps(costs))
    methods = ["KFHE-HOMER (authors)", "KFHE-HOMER (authors, scaled)"]
    theirs = pd.DataFrame({"dataset": "flags_ml", "noise": 0.0, "method": methods, "score": [0.6, 0.65], "n": 5})
    theirs.to_csv(tmp_path / "authors.csv", index=False)
    page = write_page(path, tmp_path / "page.md", tmp_path / "authors.csv").read_text()
    assert "page-ranks.svg" in page
    assert (tmp_path / "page-ranks.svg").read_text().lstrip().startswith("<?xml")
    on_these_folds = 0.6862 + 2 * np.mean(STEPS[:5])
    assert f"| flags | 0.6862 | {on_these_folds:.4f} | 0.6000 | 0.6500 | not run | 5 |" in page
    assert "| models trained (fits) | 700 |" in page
    write_page(path, tmp_path / "again.md")
    assert (tmp_path / "again-ranks.svg").read_text() == (tmp_path / "page-ranks.svg").read_text()
