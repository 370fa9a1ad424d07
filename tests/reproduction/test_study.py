"""The page beside the published study: ranks by hand, what is not first, and the run on small data."""

import pandas as pd
import pytest

from reproduction import study
from reproduction.__main__ import main
from reproduction.experiments import EXPERIMENTS
from reproduction.study import COUNTERPARTS, MEASURES, StudyRun, make_page

# What RF-PCT has on emotions and flags in the study.
PUBLISHED = {
    "emotions": {"macro_f1": 0.696, "hamming_loss": 0.170},
    "flags": {"macro_f1": 0.634, "hamming_loss": 0.216},
}


def folds_of(scores, method="Fused (labels)", datasets=("emotions", "flags_ml")):
    """Return fold scores, the same by every measure, of a dataset in each line and a split in each column."""
    return pd.DataFrame(
        [
            {"dataset": dataset, "method": method, "repeat": 0, "fold": fold, **dict.fromkeys(MEASURES, score)}
            for dataset, row in zip(datasets, scores, strict=True)
            for fold, score in enumerate(row)
        ]
    )


def costs_of(**suite):
    suite = {"repeats": 1, "folds": 3, "seed": 0, "methods": ["CC"], **suite}
    return {"suite": suite, "totals": {}, "versions": {"fuselearn": ["1"]}}


def test_ranks_by_hand():
    """On emotions the best macro F1 is 0.698, then twice 0.696; on flags four methods have less than 0.5."""
    run = StudyRun(folds_of([[0.6984, 0.70, 0.696], [0.0, 1.0, 0.5]]))
    ranks = run.ranks("macro_f1", "Fused (labels)")
    assert ranks.loc["emotions"].tolist() == [1.5, 1, 3]  # ties count half, after rounding as printed
    assert ranks.loc["flags"].tolist() == [29, 1, 25]
    assert run.ranks("hamming_loss", "Fused (labels)").loc["flags"].tolist() == [1, 29, 29]
    assert run.standings.loc[("macro_f1", "Fused (labels)")].tolist() == pytest.approx([(15.25 + 1 + 14) / 3, 1, 15.25])


def test_the_published_methods_keep_their_order():
    """Without us the average ranks are those of the published table; our first places move all by one."""
    run = StudyRun(folds_of([[1.0], [1.0]]))
    alone = run.theirs("macro_f1").rank(axis=1, ascending=False).mean()
    pd.testing.assert_series_equal(
        run.published_ranks("macro_f1", "Fused (labels)").sort_index(), alone + 1, check_names=False
    )


def test_winners_are_named_with_the_range_of_our_splits():
    run = StudyRun(folds_of([[0.69, 0.70], [0.60, 0.61]]))
    winners = run.winners("macro_f1", "Fused (labels)")
    assert winners["winner"].to_dict() == {"emotions": "RFDTBR", "flags": "SSM"}
    assert winners["best"].to_dict() == {"emotions": 0.698, "flags": 0.69}
    assert winners["won"].to_dict() == {"emotions": False, "flags": False}
    assert winners["within"].to_dict() == {"emotions": True, "flags": False}
    assert winners["here"].isna().all()
    assert StudyRun(folds_of([[0.1], [0.1]])).winners("hamming_loss", "Fused (labels)")["won"].all()


def test_a_winner_that_exists_on_both_sides_is_shown_on_our_splits():
    folds = pd.concat([folds_of([[0.3, 0.3], [0.3, 0.3]]), folds_of([[0.2, 0.3], [0.4, 0.5]], "RF-PCT (cardinality)")])
    winners = StudyRun(folds).winners("hamming_loss", "Fused (labels)")
    assert winners["winner"].tolist() == ["RFPCT", "RFPCT"]
    assert winners["here"].to_dict() == {"emotions": 0.25, "flags": 0.45}


@pytest.mark.parametrize("measure", ["macro_f1", "hamming_loss"])
def test_the_same_method_here_and_there(measure):
    run = StudyRun(folds_of([[0.5, 0.7], [0.5, 0.7]], "RF-PCT (cardinality)"))
    there = [PUBLISHED[name][measure] for name in ("emotions", "flags")]
    here, theirs, difference = run.side_by_side(measure, "RF-PCT (cardinality)")
    assert (here, theirs) == pytest.approx((0.6, sum(there) / 2))
    assert difference == pytest.approx(sum(abs(0.6 - score) for score in there) / 2)


def test_test_sizes_follow_from_subset_accuracies():
    sizes = StudyRun(folds_of([[0.5], [0.5]])).test_sizes()
    assert sizes.to_dict() == {"emotions": 270, "flags": 110}


def test_what_is_incomplete_is_left_out():
    folds = pd.concat([folds_of([[0.5, 0.5], [0.5, 0.5]]), folds_of([[0.5, 0.5], [0.5]], "CC")])
    assert StudyRun(folds).methods == ["Fused (labels)"]
    with pytest.raises(ValueError, match=r"must have scores of the datasets flags, yeast, .* and langlog"):
        StudyRun(folds_of([[0.5]], datasets=["iris"]))


def test_the_page_says_where_it_is_not_first():
    runs = [StudyRun(folds_of([[0.69, 0.70], [0.71, 0.72]])), StudyRun(folds_of([[0.60], [0.72]]))]
    page = make_page(runs, [costs_of(), costs_of(folds=2)])
    # On emotions 0.69 is fourth, 0.70 first and 0.60 before six methods of the 28; on flags ours is the best.
    assert "| macro F1 | 1.75 (1.00–2.50) | 12.00 | 1 | 1 of 2 |" in page
    assert "| macro F1 | emotions | 0.695 (0.690–0.700) |" in page
    assert "| RFDTBR (0.698) |  | within |" in page
    assert "| macro F1 | flags |" not in page
    assert "--repeats 1 --folds 2" in page


def test_counterparts_exist_on_both_sides():
    names = set(StudyRun(folds_of([[0.5], [0.5]])).theirs("macro_f1").columns)
    assert set(COUNTERPARTS.values()) <= names
    assert set(COUNTERPARTS) <= set(EXPERIMENTS["multilabel-study"].suite.methods)


def test_the_experiment_runs_and_writes_its_page(tmp_path, monkeypatch, capsys):
    """On digit pairs instead of emotions, with two forests for each rule."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(study.NAMES, "digit_pairs", "emotions")
    options = ["--datasets", "digit_pairs", "--max-samples", "60", "--methods", "RF-PCT,RF-PCT (cardinality),CC"]
    small = ["--repeats", "1", "--folds", "2", "--jobs", "1", "--page", "page.md"]
    assert main(["multilabel-study", *options, *small]) == 0, capsys.readouterr().err
    page = (tmp_path / "page.md").read_text(encoding="utf-8")
    assert "| RF-PCT (cardinality) | RFPCT |" in page
    assert main(["multilabel-study", "--summary", "fuselearn-multilabel-study/summary.csv", "--page", "page.md"]) == 0
    assert (tmp_path / "page.md").read_text(encoding="utf-8") == page
