"""The page about the reproduction says where a run agrees with the paper, and where it does not."""

import json
import re

import pandas as pd
import pytest

from fuselearn.lab.published import load_published
from fuselearn.lab.reproduction.kfhe import METHODS, Reproduction, main, make_page, write_page
from fuselearn.lab.statistics.summary import write_summary

COSTS = {
    "suite": {"repeats": 10, "folds": 10, "seed": 0},
    "totals": {
        "results": 47_500, "failures": 0, "expected": 47_500, "components": 3_800_000,
        "fit_seconds": 3800.0, "predict_seconds": 60.0, "elapsed_seconds": 2000.0,
    },
    "versions": {"fuselearn": ["0.1.0"], "numpy": ["2.0.0"], "scikit_learn": ["1.6.0"], "python": ["3.11.0"]},
}  # fmt: skip


def summary_of(shift=lambda dataset, noise, method: 0.0):
    """Make a summary from the paper's own scores, shifted."""
    published = load_published("kfhe_scores")
    published = published[published["dataset"] != "physio"]
    score = published.set_index(["dataset", "noise", "method"])["score"]
    rows = [
        {
            "dataset": dataset,
            "noise": noise,
            "method": method,
            "score": score[dataset, noise, method.removesuffix(" (pruned)")] + shift(dataset, noise, method),
            "sd": 0.05,
            "n": 100,
            "failed": 0,
        }
        for dataset in published["dataset"].unique()
        for noise in published["noise"].unique()
        for method in METHODS
    ]
    return pd.DataFrame(rows)


def plain(page):
    return page.replace("\N{NO-BREAK SPACE}", " ")


def section(page, title):
    return re.search(rf"^#+ {re.escape(title)}\n(.*?)(?=^## |\Z)", plain(page), re.DOTALL | re.MULTILINE).group(1)


def test_the_paper_agrees_with_itself():
    page = plain(make_page(summary_of()))
    assert "With unpruned trees, all 10 conclusions checked below agree with the paper." in page
    assert "With pruned trees, all 10 conclusions checked below agree with the paper." in page
    assert "Of 475 cells, none differs by more than 0.05." in page
    assert "KFHE 0.0000, KFHE (pruned) 0.0000, AdaBoost 0.0000, Bagging 0.0000 and CART 0.0000" in page
    assert section(page, "Differences of more than 0.05").strip().startswith("None.")


def test_mean_differences_by_hand():
    run = Reproduction(summary_of(lambda dataset, noise, method: -0.01 if method == "CART" else 0.02 * (noise > 0)))
    sizes = run.mean_sizes()
    assert sizes["CART"].to_list() == pytest.approx([0.01] * 5)
    assert sizes["KFHE"].to_list() == pytest.approx([0, 0.02, 0.02, 0.02, 0.02])


def test_a_cell_far_off_is_listed_with_what_is_known():
    page = make_page(summary_of(lambda *cell: 0.06 * (cell == ("flags", 0.1, "Bagging"))))
    far = section(page, "Differences of more than 0.05")
    (line,) = [line for line in far.splitlines() if line.startswith("| flags")]
    assert "| flags | 10 % | Bagging | " in line
    assert " | 0.0050 | " in line
    assert " | +0.0600 | " in line
    assert "the country's name" in line
    assert plain(page).count("(+0.0600)**") == 1


def test_a_conclusion_that_fails_is_said_plainly():
    page = plain(make_page(summary_of(lambda dataset, noise, method: -0.3 * (method == "KFHE" and noise == 0.1))))
    assert "With unpruned trees, 8 of the 10 conclusions" in page
    assert (
        "With unpruned trees, our results differ from the paper here: KFHE has the best average rank at 10 % noise"
        in page
    )
    assert "KFHE is significantly better than CART at 10 % noise (paper <0.0001, ours " in page
    assert "With pruned trees, every conclusion agrees with the paper." in page


def test_one_dataset_has_no_tests_and_no_conclusions():
    summary = summary_of()
    page = plain(make_page(summary[summary["dataset"] == "iris"], COSTS))
    assert "The run: 1 dataset, noise 0 %, 5 %" in page
    assert "need more than one dataset" in section(page, "The same conclusions?")
    assert "| paper, the same 1 dataset | 2.000 |" in section(page, "Average ranks")
    assert "conclusions checked below" not in page
    assert "P-values" not in page
    assert page.count("\n| iris |") == 5


def test_being_significantly_worse_is_no_success():
    run = Reproduction(summary_of(lambda dataset, noise, method: -0.3 * (method == "KFHE")))
    test = run.against_rivals(0.0, "KFHE").loc["CART"]
    assert test["p_corrected"] < 0.05
    assert not test["ahead"]
    (claim,) = [claim for claim in run.claims if "CART" in claim.text and " 0\N{NO-BREAK SPACE}%" in claim.text]
    assert claim.ours["KFHE"][0] is False
    assert claim.ours["KFHE (pruned)"][0] is True


def test_the_better_setting_is_named():
    page = plain(make_page(summary_of(lambda dataset, noise, method: -0.03 * (method == "KFHE" and noise > 0))))
    assert (
        "KFHE with pruned trees fits the paper's noise tables better: mean absolute difference 0.0000, "
        "against 0.0300 with unpruned trees." in page
    )
    fit = section(page, "Which setting of KFHE did the paper use?")
    assert "| 5 % | 0.0300 | 0.0000 | 19 of 19 |" in fit
    assert "| 0 % | 0.0000 | 0.0000 | 0 of 19 |" in fit


def test_ranks_are_those_of_the_paper():
    ranks = section(make_page(summary_of()), "Average ranks")
    assert "| paper, as printed (20 datasets) | 1.925 | 1.725 | 2.675 | 3.675 |" in ranks
    lines = re.findall(r"^\| (?:ours, \w+ trees|paper, the same 19 datasets) \| (.*)$", ranks, re.MULTILINE)
    assert len(lines) == 15
    assert all(len(set(lines[start : start + 3])) == 1 for start in range(0, 15, 3))


def test_p_values_stand_beside_the_printed_ones():
    p_values = section(make_page(summary_of()), "P-values against KFHE")
    line = next(line for line in p_values.splitlines() if line.startswith("| 20 % | Bagging"))
    assert line.count(", behind") == 3
    assert line.endswith("| 0.40 |")


def test_cost_comes_from_the_totals():
    cost = section(make_page(summary_of(), COSTS), "Cost")
    assert "| elapsed time | 33 min 20 s |" in cost
    assert "| models trained (fits) | 47,500 |" in cost
    assert "| trees in these models | 3,800,000 |" in cost
    assert "| 1,900 |" in cost
    assert "| trees per second of fitting, per process | 1,000 |" in cost
    assert "## Cost" not in make_page(summary_of())


def test_every_table_has_as_many_cells_in_each_line():
    page = make_page(summary_of(), COSTS)
    for block in re.findall(r"(?:^\|.*\n)+", page, re.MULTILINE):
        assert len({line.count("|") for line in block.splitlines()}) == 1, block
    assert not re.search(r"[ \t]+$", page, re.MULTILINE)


def test_the_command_writes_the_page(tmp_path, capsys):
    write_summary(summary_of(), tmp_path / "summary.csv")
    (tmp_path / "summary.json").write_text(json.dumps(COSTS), encoding="utf-8")
    assert main([str(tmp_path / "summary.csv"), "-o", str(tmp_path / "docs" / "page.md")]) == 0
    page = (tmp_path / "docs" / "page.md").read_text(encoding="utf-8")
    assert "10 × 10 stratified folds" in page
    assert "scikit-learn 1.6.0" in page
    assert str(tmp_path) not in page
    assert page == write_page(tmp_path / "summary.csv", tmp_path / "again.md").read_text(encoding="utf-8")


def test_wrong_files_are_refused_with_a_sentence(tmp_path, capsys):
    assert main([str(tmp_path / "absent.csv")]) == 2
    assert "absent.csv: [Errno 2]" in capsys.readouterr().err
    summary = summary_of()
    write_summary(summary[summary["method"] != "CART"], tmp_path / "summary.csv")
    assert main([str(tmp_path / "summary.csv")]) == 2
    assert "CART not found" in capsys.readouterr().err
    with pytest.raises(ValueError, match="no score of AdaBoost on iris at"):
        Reproduction(summary.drop(summary.query("method == 'AdaBoost' and dataset == 'iris'").index[0]))
