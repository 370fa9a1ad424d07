"""Means, deviations and totals by hand, in the order of the suite."""

import numpy as np
import pandas as pd
import pytest
from fuselearn.lab.reporting.figures import fit_time_against_score, rank_against_noise
from fuselearn.lab.running.scoring import Scores
from fuselearn.lab.running.store import Cell, Result, ResultStore, StoreError
from fuselearn.lab.running.suites import Suite
from fuselearn.lab.statistics.summary import fold_scores, read_summary, summarise, totals, write_summary

from fuselearn.lab.statistics.ranks import average_ranks, score_table

SUITE = Suite("mine", ["wine", "iris"], ["KFHE", "CART"], noise=[0, 0.1], repeats=1, folds=3)


def f1_of(dataset, noise, fold, method):
    return 0.5 + 0.3 * (dataset == "iris") - noise + 0.1 * fold * (fold - 1) + 0.05 * (method == "KFHE")


def result(dataset, noise, fold, method, **more):
    f1 = f1_of(dataset, noise, fold, method)
    return Result(
        Cell(dataset, noise, 0, fold, method),
        **{
            "seed": 1,
            "scores": Scores(f1, f1 + 0.01, f1 + 0.02, 1 - f1),
            "fit_seconds": [9.0, 1.0, 2.0][fold],
            "predict_seconds": 0.5,
            "components": 10,
            **more,
        },
    )


@pytest.fixture
def store(tmp_path):
    with ResultStore(tmp_path / "results.db") as store:
        store.register(SUITE, {"KFHE": "k", "CART": "c"})
        run = store.start_run("mine", jobs=1, backend=None)
        store.add(
            "mine",
            [
                result(dataset, noise, fold, method)
                for dataset in SUITE.datasets
                for noise in SUITE.noise
                for fold in range(3)
                for method in SUITE.methods
                if (dataset, noise, method) != ("iris", 0.1, "CART")
            ],
            run=run,
        )
        failed = {"scores": None, "error": "Boom", "fit_seconds": None, "predict_seconds": None,
                  "components": None}  # fmt: skip
        store.add("mine", [result("iris", 0.1, 0, "CART")], run=run)
        store.add("mine", [result("iris", 0.1, 1, "CART", **failed)], run=run)
        yield store


def test_means_and_deviations_over_the_folds(store):
    row = summarise(store).set_index(["dataset", "noise", "method"]).loc[("wine", 0.1, "KFHE")]
    folds = [0.45, 0.45, 0.65]
    assert row["score"] == row["macro_f1"] == pytest.approx(np.mean(folds))
    assert row["sd"] == pytest.approx(np.sqrt(((np.array(folds) - np.mean(folds)) ** 2).sum() / 2))
    assert row["accuracy"] == pytest.approx(np.mean(folds) + 0.01)
    assert row["log_loss"] == pytest.approx(1 - np.mean(folds))
    assert (row["n"], row["failed"]) == (3, 0)
    assert row["fit_seconds"] == 2.0
    assert row["predict_seconds"] == 0.5


def test_rows_come_in_the_order_of_the_suite(store):
    keys = summarise(store)[["dataset", "noise", "method"]].to_numpy().tolist()
    assert keys == [
        [dataset, noise, method] for dataset in ("wine", "iris") for noise in (0.0, 0.1) for method in ("KFHE", "CART")
    ]


def test_failures_and_missing_folds_show(store):
    row = summarise(store).iloc[-1]
    assert (row["n"], row["failed"]) == (1, 1)
    assert row["score"] == pytest.approx(f1_of("iris", 0.1, 0, "CART"))
    assert np.isnan(row["sd"])


def test_another_score_may_be_asked_for(store):
    summary = summarise(store, score="log_loss")
    assert summary["score"].equals(summary["log_loss"])
    with pytest.raises(ValueError, match=r"score must be 'macro_f1' or .* not 'f1'"):
        summarise(store, score="f1")


def test_a_summary_is_what_statistics_and_figures_take(store):
    summary = summarise(store)
    table = score_table(summary, noise=0.1)
    assert table.index.tolist() == ["wine", "iris"]
    assert table.columns.tolist() == ["KFHE", "CART"]
    assert table.loc["wine", "CART"] == pytest.approx(np.mean([0.4, 0.4, 0.6]))
    assert average_ranks(score_table(summary, noise=0.0)).to_dict() == {"KFHE": 1, "CART": 2}
    ranks = {line.get_label(): line for line in rank_against_noise(summary).axes[0].lines}
    assert ranks["KFHE"].get_xdata().tolist() == [0.0, 0.1]
    assert ranks["KFHE"].get_ydata().tolist() == [1.0, 1.0]
    times = {line.get_label(): line for line in fit_time_against_score(summary).axes[0].lines}
    assert times["KFHE"].get_ydata() == pytest.approx([summary.loc[summary["method"] == "KFHE", "score"].mean()])


def test_a_summary_survives_csv_to_six_digits(store, tmp_path):
    summary = summarise(store)
    write_summary(summary, tmp_path / "summary.csv")
    text = (tmp_path / "summary.csv").read_bytes()
    assert text.startswith(b"dataset,noise,method,score,sd,n,failed,macro_f1,")
    assert b"\r" not in text
    assert b"wine,0.1,KFHE,0.516667,0.11547,3,0," in text
    pd.testing.assert_frame_equal(read_summary(tmp_path / "summary.csv"), summary, atol=1e-6, check_dtype=False)


def test_fold_scores_pair_the_methods(store):
    scores = fold_scores(store, "wine", 0.1)
    assert scores.columns.tolist() == ["KFHE", "CART"]
    assert scores["KFHE"].tolist() == pytest.approx([0.45, 0.45, 0.65])
    assert (scores["KFHE"] - scores["CART"]).tolist() == pytest.approx([0.05] * 3)


def test_fold_scores_keep_the_folds_that_all_methods_finished(store):
    assert fold_scores(store, "iris", 0.1).index.tolist() == [(0, 0)]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"dataset": "digits"}, "dataset must be one of wine, iris; got 'digits'"),
        ({"dataset": "wine", "noise": 0.3}, "noise must be one of 0.0, 0.1; got 0.3"),
        ({"dataset": "wine", "score": "f1"}, "score must be 'macro_f1' or"),
    ],
)
def test_fold_scores_refuse_what_the_suite_lacks(store, arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        fold_scores(store, **arguments)


def test_totals_add_up(store):
    total = totals(store)
    assert (total.results, total.failures, total.expected) == (23, 1, 24)
    assert total.components == 220
    assert total.fit_seconds == pytest.approx(7 * 12 + 9)
    assert total.predict_seconds == pytest.approx(11)
    assert total.elapsed_seconds >= 0


def test_methods_that_share_a_fit_are_counted_once(tmp_path):
    methods = ("E-HOMER", "E-HOMER (mean)", "CC")
    plan = Suite("shared", ["wine"], methods, repeats=1, folds=2, task="multilabel")
    with ResultStore(tmp_path / "shared.db") as store:
        store.register(plan, dict.fromkeys(methods, "m"))
        run = store.start_run("shared", jobs=1, backend=None)
        store.add("shared", [result("wine", 0.0, fold, method) for fold in range(2) for method in methods], run=run)
        total = totals(store)
    assert (total.results, total.fits, total.components, total.fit_seconds) == (6, 4, 40, 20.0)
    assert total.components_by_method == {"E-HOMER (mean)": 20, "CC": 20}


def test_an_unknown_suite_is_refused(store):
    with pytest.raises(StoreError, match="holds no suite 'kfhe'; it holds 'mine'"):
        summarise(store, "kfhe")
