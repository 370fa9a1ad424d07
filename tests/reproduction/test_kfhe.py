"""The page about the reproduction says where a run agrees with the paper, and where it does not."""

import json
import re

import pandas as pd
import pytest

from reproduction.kfhe import make_page, write_page
from reproduction.kfhe_claims import check_claims, check_table_7
from reproduction.kfhe_comparison import BASELINES, NEEDED, Reproduction
from reproduction.pages import beside
from reproduction.published import load_published

COSTS = {
    "suite": {"repeats": 10, "folds": 10, "seed": 0},
    "totals": {
        "results": 47_500, "failures": 0, "expected": 47_500, "fits": 47_500, "fit_seconds": 3800.0,
        "predict_seconds": 60.0, "elapsed_seconds": 2000.0,
    },
    "versions": {"fuselearn": ["0.1.0"], "numpy": ["2.0.0"], "scikit_learn": ["1.6.0"], "python": ["3.11.0"]},
}  # fmt: skip


METHODS = (*NEEDED, *BASELINES)


def summary_of(shift=lambda dataset, noise, method: 0.0, methods=METHODS):
    """Make a summary from the paper's own scores, shifted."""
    published = load_published("kfhe_scores")
    published = published[published["dataset"] != "physio"]
    score = published.set_index(["dataset", "noise", "method"])["score"]
    rows = [
        {
            "dataset": dataset,
            "noise": noise,
            "method": method,
            "score": score[dataset, noise, "KFHE" if method.startswith("KFHE") else method]
            + shift(dataset, noise, method),
            "sd": 0.05,
            "n": 100,
            "failed": 0,
        }
        for dataset in published["dataset"].unique()
        for noise in published["noise"].unique()
        for method in methods
    ]
    return pd.DataFrame(rows)


@pytest.fixture(scope="module")
def page():
    """The page of a run whose scores are the paper's own."""
    return make_page(summary_of(), COSTS)


def plain(page):
    return page.replace("\N{NO-BREAK SPACE}", " ")


def section(page, title):
    return re.search(rf"^#+ {re.escape(title)}\n(.*?)(?=^## |\Z)", plain(page), re.DOTALL | re.MULTILINE).group(1)


def test_the_paper_agrees_with_itself(page):
    page = plain(page)
    assert "The paper's own tables agree with 25 of the 25 conclusions of its text and with 15 of the 15" in page
    # Without physio, bagging's rank gets worse once: from 1.95 at 10 % to 2.00 at 15 %.
    assert "KFHE (unpruned): 24 of the 25 conclusions of the text hold, and 15 of the 15 verdicts of Table 7." in page
    assert "Of 475 cells of KFHE, KFHE (pruned), AdaBoost, Bagging and CART, none differs by more than 0.05." in page
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
    (line,) = [line for line in far.splitlines() if line.startswith("| flags | 10")]
    assert "| flags | 10 % | Bagging | " in line
    assert " | 0.0050 | " in line
    assert line.endswith(" | +0.0600 |")
    assert "| flags | The paper's 29 features count the country's name" in far
    assert plain(page).count(" +0.0600**") == 1


def claim(claims, text):
    (found,) = [one for one in claims if plain(one.text) == text]
    return found


def test_a_conclusion_that_fails_is_said_plainly():
    page = plain(make_page(summary_of(lambda dataset, noise, method: -0.3 * (method == "KFHE" and noise == 0.1))))
    lines = section(page, "The same conclusions?")
    assert "| 5.2 | KFHE has the best average rank at 10 % | yes (1.60, first) | **no** (" in lines
    assert "KFHE (unpruned): 24 of" not in page
    assert "KFHE (pruned): 24 of the 25 conclusions" in page


def test_the_papers_own_column_has_all_of_its_datasets():
    run = Reproduction(summary_of())
    ranks = run.printed.ranks(0.0)
    assert ranks.to_list() == pytest.approx([1.925, 1.725, 2.675, 3.675])  # as printed below Table 2
    assert claim(check_claims(run), "KFHE is second without noise").paper == (True, "1.93, second")


def test_a_part_of_the_run_cannot_check_the_conclusions():
    summary = summary_of()
    part = Reproduction(summary[summary["dataset"] != "iris"])
    checked = claim(check_claims(part), "KFHE is second without noise")
    assert checked.paper == (True, "1.93, second")
    assert checked.ours == {"KFHE": None, "KFHE (pruned)": None}
    two_levels = Reproduction(summary[summary["noise"] <= 0.05])
    claims = check_claims(two_levels)
    assert claim(claims, "KFHE has the best average rank at 5 %").ours["KFHE"][0]
    assert claim(claims, "bagging has the best average rank at 20 %").ours["KFHE"] is None


def traces_of(errors):
    rows = [
        {"dataset": name, "iteration": t, "error": 0.1, "variance": v, "gain": 0.5, "train_error": e}
        for name, error in errors.items()
        for t, (v, e) in enumerate([(1.0, 0.5), (0.5, error)])
    ]
    return pd.DataFrame(rows)


def test_claims_about_the_figures_need_traces():
    run = Reproduction(summary_of())
    falls = "the training error falls to 0 on most datasets (Figures 5 and 6)"
    assert claim(check_claims(run), falls).ours["KFHE"] is None
    traces = traces_of({"iris": 0.0, "wine": 0.0, "glass": 0.0, "tvowel": 0.05, "skulls": 0.2})
    claims = check_claims(run, traces)
    assert claim(claims, falls).ours == {"KFHE": (True, "on 3 of 5"), "KFHE (pruned)": None}
    assert claim(claims, "it stays higher on tvowel and skulls").ours["KFHE"][0]
    assert claim(claims, "the variance P never rises").ours["KFHE"] == (True, "0 of 5 steps rise")
    rising = traces.assign(variance=traces["variance"] * (1 + 2 * traces["iteration"]))
    assert not claim(check_claims(run, rising), "the variance P never rises").ours["KFHE"][0]


def test_one_dataset_has_no_tests_and_no_conclusions():
    summary = summary_of()
    page = plain(make_page(summary[summary["dataset"] == "iris"], COSTS))
    assert "The run: 1 dataset, noise 0 %, 5 %" in page
    assert "this run has a part of them" in page
    assert section(page, "The same conclusions?").count("| not checked | not checked |") == 43
    assert "| paper, the same 1 dataset | 2.000 |" in section(page, "Average ranks")
    assert "P-values" not in page
    assert section(page, "All scores").count("\n| iris |") == 5


def test_being_significantly_worse_is_no_success():
    run = Reproduction(summary_of(lambda dataset, noise, method: -0.3 * (method == "KFHE")))
    test = run.tables("KFHE").against_baselines(0.0).loc["CART"]
    assert test["p_corrected"] < 0.05
    assert not test["ahead"]
    verdict = claim(check_table_7(run), "0 %, CART")
    assert verdict.ours["KFHE"] == (False, "worse, <0.01")
    assert verdict.ours["KFHE (pruned)"][0]


def test_the_closest_setting_is_named():
    page = plain(make_page(summary_of(lambda dataset, noise, method: -0.03 * (method == "KFHE" and noise > 0))))
    assert (
        "Of the settings of KFHE, pruned is the closest to the paper's tables with noise: mean absolute difference "
        "0.0000, against unpruned 0.0300." in page
    )
    closest = section(page, "Which setting of KFHE did the paper use?")
    assert "| 5 % | 0 of 19 | 19 of 19 |" in closest
    assert "| 0 % | 19 of 19 | 19 of 19 |" in closest


def test_all_verdicts_of_table_7_are_checked():
    verdicts = {plain(one.text): one.paper for one in check_table_7(Reproduction(summary_of()))}
    assert len(verdicts) == 15
    assert verdicts["20 %, Bagging"] == (True, "no difference, 0.40")
    assert verdicts["5 %, Bagging"] == (True, "better, 0.03")


def test_other_settings_have_columns_of_their_own():
    settings = ("KFHE (2018)", "KFHE-l")
    page = plain(make_page(summary_of(lambda *cell: 0.001 * (cell[2] == "KFHE-l"), (*METHODS, *settings))))
    assert (
        "| | conclusion | paper's tables | ours, unpruned | ours, pruned | ours, program of 2018 | ours, linear |"
        in page
    )
    assert "KFHE (2018) 0.0000, KFHE-l 0.0010" in page
    assert "| linear | not pruned, at least 20 samples to split | plus the initial weight (KFHE-l) | 100 |" in page


def test_differences_are_given_without_the_dataset_whose_class_was_inferred():
    far = section(
        make_page(summary_of(lambda dataset, noise, method: 0.19 * (dataset == "flags"))),
        "How far from the printed numbers",
    )
    assert "| all levels | 0.0100 |" in far
    assert "| all levels, without flags | 0.0000 |" in far


def test_table_1_has_our_size_and_the_papers():
    sizes = section(make_page(summary_of()), "Datasets")
    assert "| iris | 150 | 4 | 3 |  |" in sizes or "| iris | 150 | 4 | 3 | |" in sizes
    assert "| flags | 194 | 28 (29) | 8 | The paper's 29 features" in sizes
    assert "| physio | 464 | 36 | 3 | not found |" in sizes


def test_steps_between_levels_by_hand():
    steps = Reproduction(summary_of(lambda dataset, noise, method: noise * (method == "CART"))).mean_steps()
    assert steps.loc["KFHE", "ours"] == pytest.approx(steps.loc["KFHE", "paper"])
    published = load_published("kfhe_scores").query("method == 'CART' and dataset != 'physio'")
    by_level = published.pivot(index="dataset", columns="noise", values="score")
    assert steps.loc["CART", "paper"] == pytest.approx(by_level.diff(axis=1).iloc[:, 1:].abs().to_numpy().mean())
    shifted = (by_level + by_level.columns.to_numpy()).diff(axis=1).iloc[:, 1:].abs().to_numpy().mean()
    assert steps.loc["CART", "ours"] == pytest.approx(shifted)


def test_the_share_of_chance_by_hand():
    once = Reproduction(summary_of(lambda dataset, noise, method: 0.03 if method == "CART" else 0.0))
    anew = Reproduction(summary_of(lambda dataset, noise, method: 0.02 if method == "CART" and noise else 0.0))
    chance = once.chance(anew).loc["CART"]
    assert chance.tolist() == pytest.approx([0.01, 0.01 * 2**0.5, 0.03])


def test_cells_have_the_papers_ranks(page):
    lines = section(page, "All scores")
    assert "| mushroom | 1.0000 (1.5) | 1.0000 (1.5) 0.0000 |" in lines
    printed = (
        load_published("kfhe_scores").query("dataset != 'physio'").set_index(["dataset", "noise", "method"])["rank"]
    )
    run = Reproduction(summary_of())
    ranks = run.tables(None).cell_ranks(0.1)
    assert all(ranks.loc[dataset, "Bagging"] == printed[dataset, 0.1, "Bagging"] for dataset in run.datasets)


def test_the_figures_of_the_paper_are_drawn(tmp_path):
    summary = summary_of()
    summary.to_csv(tmp_path / "kfhe.csv", index=False)
    traces_of(dict.fromkeys(summary["dataset"].unique(), 0.2)).to_csv(
        beside(tmp_path / "kfhe.csv", "traces"), index=False
    )
    page = write_page(tmp_path / "kfhe.csv", tmp_path / "page.md").read_text(encoding="utf-8")
    for number in (5, 6, 7, 8):
        assert f"](page-figure-{number}.svg)" in page
        assert (tmp_path / f"page-figure-{number}.svg").stat().st_size > 10_000


def test_ranks_are_those_of_the_paper(page):
    ranks = section(page, "Average ranks")
    assert "| paper, as printed (20 datasets) | 1.925 | 1.725 | 2.675 | 3.675 |" in ranks
    lines = re.findall(r"^\| (?:ours, \w+|paper, the same 19 datasets) \| (.*)$", ranks, re.MULTILINE)
    assert len(lines) == 15
    assert all(len(set(lines[start : start + 3])) == 1 for start in range(0, 15, 3))


def test_p_values_stand_beside_the_printed_ones(page):
    p_values = section(page, "P-values against KFHE")
    line = next(line for line in p_values.splitlines() if line.startswith("| 20 % | Bagging"))
    assert line.count(", behind") == 3
    assert line.endswith("| 0.40 |")


def test_cost_comes_from_the_totals(page):
    cost = section(page, "Cost")
    assert "| elapsed time | 0:33:20 |" in cost
    assert "| models trained (fits) | 47,500 |" in cost
    assert "## Cost" not in make_page(summary_of())


def test_every_table_has_as_many_cells_in_each_line(page):
    for block in re.findall(r"(?:^\|.*\n)+", page, re.MULTILINE):
        assert len({line.count("|") for line in block.splitlines()}) == 1, block
    assert not re.search(r"[ \t]+$", page, re.MULTILINE)


def test_the_page_names_the_files_that_it_is_made_from(tmp_path):
    summary_of().to_csv(tmp_path / "summary.csv", index=False)
    (tmp_path / "summary.json").write_text(json.dumps(COSTS), encoding="utf-8")
    page = write_page(tmp_path / "summary.csv", tmp_path / "docs" / "page.md").read_text(encoding="utf-8")
    assert "10 × 10 stratified folds" in page
    assert "scikit-learn 1.6.0" in page
    assert "python -m reproduction kfhe --summary summary.csv --page docs/reproduction.md" in page
    assert str(tmp_path) not in page


def test_incomplete_summaries_are_refused_with_a_sentence():
    summary = summary_of()
    with pytest.raises(ValueError, match="CART not found"):
        Reproduction(summary[summary["method"] != "CART"])
    with pytest.raises(ValueError, match="no score of AdaBoost on iris at"):
        Reproduction(summary.drop(summary.query("method == 'AdaBoost' and dataset == 'iris'").index[0]))
