"""The page about wrong labels says where the fused classifier is best, and by how much where it is not."""

import json

import numpy as np
import pandas as pd
import pytest

from reproduction.robust import Condition, RobustRun, make_page, write_page

METHODS = ["Fused", "KFHE", "CART"]
SCORES = ["score", "macro_f1", "accuracy", "balanced_accuracy", "log_loss", "micro_f1", "hamming_loss", "auc"]


def summary_of(levels=(0.0, 0.2), ahead=0.1, datasets=12):
    """Make scores in which the fused classifier is ahead by some amount, and KFHE of CART by 0.01."""
    rng = np.random.default_rng(0)
    rows = []
    for number in range(datasets):
        for noise in levels:
            base = rng.uniform(0.5, 0.8)
            for place, method in enumerate(METHODS):
                score = base + (ahead if method == "Fused" else 0.01 * (2 - place))
                scores = dict.fromkeys([*SCORES, "sd"], score)
                rows.append(
                    {"dataset": f"table{number}", "noise": noise, "method": method, "n": 1, "failed": 0, **scores,
                     "brier": 1 - score, "calibration_error": 0.1, "fit_seconds": 0.5, "predict_seconds": 0.1}
                )  # fmt: skip
    return pd.DataFrame(rows)


def costs_of(kind, noise, **more):
    suite = {"repeats": 1, "folds": 5, "seed": 0, "noise_kind": kind, "noise": noise, **more}
    totals = {"results": 72, "expected": 72, "failures": 0}
    return {"suite": suite, "totals": totals, "versions": {"fuselearn": ["1"], "scikit_learn": ["2"]}}


def plain(text):
    return text.replace("\N{NO-BREAK SPACE}", " ")


def written(folder, name, summary, costs):
    summary.to_csv(folder / f"{name}.csv", index=False)
    (folder / f"{name}.json").write_text(json.dumps(costs))
    return folder / f"{name}.csv"


def test_ranks_by_hand():
    later = summary_of((0.2,), ahead=0.005).assign(fit_seconds=3.0)  # run at another time
    run = RobustRun({"uniform": summary_of(), "pair": later})
    assert [plain(str(condition)) for condition in run.conditions] == ["0 %", "uniform 20 %", "pair 20 %"]
    assert run.ranks.loc["Fused"].tolist() == [1, 1, 2]
    assert run.ranks.loc["KFHE"].tolist() == [2, 2, 1]
    assert run.ranks.index.tolist() == ["Fused", "KFHE", "CART"]
    assert run.ranks_by("brier", lower_is_better=True).loc[run.ranks.index].equals(run.ranks)  # of 1 - score
    assert run.tests.loc["CART", "record"] == (36, 0, 0)
    assert run.tests.loc["KFHE", "record"] == (24, 0, 12)
    assert run.fit_seconds()["CART"] == pytest.approx(0.5)


def test_what_is_incomplete_is_left_out_and_named():
    summary = summary_of()
    summary.loc[(summary["dataset"] == "table3") & (summary["method"] == "KFHE"), "macro_f1"] = np.nan
    lazy = summary[(summary["method"] == "CART") & (summary["dataset"] == "table1")].assign(method="Lazy")
    run = RobustRun({"uniform": pd.concat([summary, lazy])})
    assert run.left_out == ["table3", "Lazy"]
    assert len(run.datasets) == 11
    assert run.table(Condition("uniform", 0.2)).shape == (11, 3)


def test_only_datasets_with_every_kind_of_noise_are_compared():
    pair = summary_of((0.2,))
    few = pair[pair["dataset"].isin(["table1", "table2", "table3"])]
    run = RobustRun({"uniform": summary_of(), "pair": few})
    assert run.datasets == ["table1", "table2", "table3"]
    assert run.methods == ["Fused", "KFHE", "CART"]


def test_without_the_fused_classifier_there_is_no_page():
    summary = summary_of()
    with pytest.raises(ValueError, match="must have scores of Fused"):
        RobustRun({"uniform": summary[summary["method"] != "Fused"]})


def test_the_page_says_where_the_fused_classifier_is_best_and_where_not():
    summaries = {"uniform": summary_of(), "pair": summary_of((0.2,), ahead=0.005)}
    costs = {"uniform": costs_of("uniform", [0.0, 0.2], max_samples=500), "pair": costs_of("pair", [0.2])}
    page = plain(make_page(summaries, costs))
    assert "uniform 20 %: Fused has the best average rank, 1.00." in page
    assert "pair 20 %: Fused has the average rank 2.00, behind KFHE (1.00)." in page
    assert "| Fused | **1.00** | **1.00** | 2.00 |" in page
    assert "uniform: 1 × 5 stratified folds, of a stratified part of 500 samples if there are more, seed 0" in page
    assert "| CART | <0.0001 | Fused is better | 36 / 0 / 0 |" in page
    assert "python -m reproduction robust --noise-kind pair --noise 0.2 --repeats 1\n" in page
    assert "reproduction robust --noise 0.0,0.2 --repeats 1 --max-samples 500\n" in page


def test_classifiers_of_labels_have_a_page_of_their_own():
    summary = summary_of((0.2,)).replace({"method": {"Fused": "Fused (labels)"}})
    summary["label_ranking_average_precision"] = summary["score"]
    page = plain(make_page({"forgotten": summary}, {"forgotten": costs_of("forgotten", [0.2], task="multilabel")}))
    assert "forgotten 20 %: Fused (labels) has the best average rank, 1.00." in page
    assert "| CART | <0.0001 | Fused (labels) is better | 12 / 0 / 0 |" in page
    assert "## Mean Hamming loss (lower is better)" in page
    assert "## Mean subset accuracy\n" in page
    assert (
        "FUSELEARN_DATA=DATA python -m reproduction robust-labels --noise-kind forgotten --noise 0.2 --repeats 1\n"
        in page
    )


def test_the_best_loss_is_the_lowest():
    page = make_page({"uniform": summary_of()}, {"uniform": costs_of("uniform", [0.0, 0.2])})
    brier = page[page.index("## Mean Brier score") :]
    assert brier.index("| Fused | **") < brier.index("| KFHE | 0")


def test_the_page_is_written_with_its_figures(tmp_path):
    uniform = written(tmp_path, "uniform", summary_of(), costs_of("uniform", [0.0, 0.2], test_folds=1))
    pair = written(tmp_path, "pair", summary_of((0.2,)), costs_of("pair", [0.2]))
    page = tmp_path / "docs" / "page.md"
    text = write_page([uniform, pair], page).read_text(encoding="utf-8")
    for name in ("ranks", "cost"):
        assert f"(page-{name}.svg)" in text
        assert (tmp_path / "docs" / f"page-{name}.svg").is_file()
    assert "of which 1 tested" in text
    assert "pair.csv --page page.md\n" in text
    first = {path.name: path.read_bytes() for path in page.parent.iterdir()}
    write_page([uniform, pair], page)
    assert {path.name: path.read_bytes() for path in page.parent.iterdir()} == first


def test_summaries_that_cannot_be_used_are_refused(tmp_path):
    uniform = written(tmp_path, "uniform", summary_of(), costs_of("uniform", [0.0, 0.2]))
    with pytest.raises(ValueError, match="is the second summary of uniform noise"):
        write_page([uniform, uniform], tmp_path / "page.md")
    uniform.with_suffix(".json").unlink()
    with pytest.raises(ValueError, match=r"uniform\.json is missing"):
        write_page([uniform], tmp_path / "page.md")
