"""Means, deviations and totals by hand, in the order of the suite."""

import numpy as np
import pytest

from fuselearn.lab import ResultStore, StoreError, Suite, summarize
from fuselearn.lab.figures import fit_time_against_score, rank_against_noise
from fuselearn.lab.store import Cell, Result

SUITE = Suite("mine", ["wine", "iris"], ["KFHE", "CART"], noise=[0, 0.1], repeats=1, folds=3)


def f1_of(dataset, noise, fold, method):
    return 0.5 + 0.3 * (dataset == "iris") - noise + 0.1 * fold * (fold - 1) + 0.05 * (method == "KFHE")


def result(dataset, noise, fold, method, **more):
    f1 = f1_of(dataset, noise, fold, method)
    return Result(
        Cell(dataset, noise, 0, fold, method),
        **{
            "seed": ord(method[0]) + fold,
            "scores": {"macro_f1": f1, "accuracy": f1 + 0.01, "log_loss": 1 - f1},
            "fit_seconds": [9.0, 1.0, 2.0][fold],
            "predict_seconds": 0.5,
            **more,
        },
    )


@pytest.fixture
def store(tmp_path):
    with ResultStore(tmp_path / "results.db") as store:
        store.register(SUITE, {"KFHE": "k", "CART": "c"})
        run = store.start_run("mine", jobs=1)
        whole = [
            result(dataset, noise, fold, method)
            for dataset in SUITE.datasets
            for noise in SUITE.noise
            for fold in range(3)
            for method in SUITE.methods
            if (dataset, noise, method) != ("iris", 0.1, "CART")
        ]
        failed = {"scores": None, "error": "Boom", "fit_seconds": None, "predict_seconds": None}
        half = [result("iris", 0.1, 0, "CART"), result("iris", 0.1, 1, "CART", **failed)]
        store.add("mine", [*whole, *half], run=run)
        yield store


def test_means_and_deviations_over_the_folds(store):
    row = summarize(store).set_index(["dataset", "noise", "method"]).loc[("wine", 0.1, "KFHE")]
    folds = np.array([0.45, 0.45, 0.65])
    assert row["score"] == row["macro_f1"] == pytest.approx(folds.mean())
    assert row["sd"] == pytest.approx(folds.std(ddof=1))
    assert row["accuracy"] == pytest.approx(folds.mean() + 0.01)
    assert row["log_loss"] == pytest.approx(1 - folds.mean())
    assert (row["n"], row["failed"], row["fit_seconds"], row["predict_seconds"]) == (3, 0, 2.0, 0.5)


def test_rows_come_in_the_order_of_the_suite_and_failures_show(store):
    summary = summarize(store)
    assert summary[["dataset", "noise", "method"]].to_numpy().tolist() == [
        [dataset, noise, method] for dataset in ("wine", "iris") for noise in (0.0, 0.1) for method in ("KFHE", "CART")
    ]
    row = summary.iloc[-1]
    assert (row["n"], row["failed"]) == (1, 1)
    assert row["score"] == pytest.approx(f1_of("iris", 0.1, 0, "CART"))
    assert np.isnan(row["sd"])


def test_another_score_may_be_chosen(store):
    summary = summarize(store, score="log_loss")
    assert summary["score"].equals(summary["log_loss"])
    with pytest.raises(ValueError, match=r"score must be 'macro_f1', .* not 'hamming_loss'"):
        summarize(store, score="hamming_loss")
    with pytest.raises(StoreError, match="contains no suite 'kfhe'; it contains 'mine'"):
        summarize(store, "kfhe")


def test_a_summary_is_what_statistics_and_figures_take(store):
    summary = summarize(store)
    ranks = {line.get_label(): line for line in rank_against_noise(summary).axes[0].lines}
    assert ranks["KFHE"].get_ydata().tolist() == [1.0, 1.0]
    times = {line.get_label(): line for line in fit_time_against_score(summary).axes[0].lines}
    assert times["KFHE"].get_ydata() == pytest.approx([summary.loc[summary["method"] == "KFHE", "score"].mean()])


def test_totals_add_up(store):
    total = store.totals()
    assert [total[name] for name in ("results", "failures", "expected", "fits")] == [23, 1, 24, 23]
    assert total["fit_seconds"] == pytest.approx(7 * 12 + 9)
    assert total["predict_seconds"] == pytest.approx(11)
    assert total["elapsed_seconds"] >= 0


def test_methods_that_share_a_fit_are_counted_once(tmp_path):
    plan = Suite("shared", ["wine"], ("Mean", "Vote", "CC"), repeats=1, folds=2)
    seeds = {"Mean": 1, "Vote": 1, "CC": 2}
    with ResultStore(tmp_path / "shared.db") as store:
        store.register(plan, dict.fromkeys(seeds, "m"))
        store.add(
            "shared", [result("wine", 0.0, fold, name, seed=seed) for fold in (0, 1) for name, seed in seeds.items()]
        )
        total = store.totals()
    assert [total[name] for name in ("results", "fits", "fit_seconds", "finished")] == [6, 4, 20.0, ""]
