"""The tables of a multi-label report show every measure and every label, and nothing that only some folds have."""

from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest
from fuselearn.lab.reporting.label_tables import (
    MOST_LABELS,
    MOST_PAIRED,
    tabulate_labels,
    tabulate_measures,
    tabulate_statistics,
)
from fuselearn.lab.reporting.report import collect, render
from fuselearn.lab.running.methods import make_contenders
from fuselearn.lab.running.protocol import fit_tasks, run_fit
from fuselearn.lab.running.store import ResultStore
from fuselearn.lab.running.suites import Suite

from fuselearn.datasets import Dataset, make_digit_pairs

SUITE = Suite("labels", ["pairs"], ["RF", "RF (cardinality)"], repeats=1, folds=2, task="multilabel")


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    pairs = make_digit_pairs(80, random_state=0)
    data = {"pairs": Dataset(pairs.X, pairs.y, "pairs", "", "")}
    contenders, _ = make_contenders(SUITE.methods, None)
    path = tmp_path_factory.mktemp("labels") / "results.db"
    with ResultStore(path) as store:
        store.register(SUITE, {})
        for task in fit_tasks(SUITE, data, contenders):
            store.add("labels", run_fit(task))
    return path


def results_of(values, **more):
    """Return results and their means of two datasets with one fold each, for methods A and B."""
    keys = [(dataset, method) for dataset in ("x", "y") for method in ("A", "B")]
    table = pd.DataFrame(keys, columns=["dataset", "method"]).assign(noise=0.0, error=None, **values, **more)
    return table, table


def test_means_and_average_ranks_by_hand():
    values = {"macro_f1": [0.5, 0.4, 0.7, 0.8], "coverage": [2.0, 3.0, 4.0, 5.0]}
    found = tabulate_measures(*results_of(values), ["B", "A"])
    [level] = found["levels"]
    assert level["methods"] == ["B", "A"]
    f1, coverage = level["lines"]
    assert [(cell["value"], cell["small"]) for cell in f1["cells"]] == [("0.6000", "1.50"), ("0.6000", "1.50")]
    assert [(cell["value"], cell["small"], cell["best"]) for cell in coverage["cells"]] == [
        ("4.0000", "2.00", False),
        ("3.0000", "1.00", True),
    ]
    assert (f1["label"], f1["lower"], coverage["lower"]) == ("Macro-averaged F1", False, True)


def test_a_measure_that_only_some_folds_have_is_named_and_left_out():
    values = {"macro_f1": [0.5, 0.4, 0.7, 0.8], "coverage": [2.0, 3.0, np.nan, 5.0]}
    found = tabulate_measures(*results_of(values), ["A", "B"])
    assert [line["label"] for line in found["levels"][0]["lines"]] == ["Macro-averaged F1"]
    assert found["missing"] == ["coverage"]


def test_a_method_without_probabilities_has_a_dash():
    values = {"macro_f1": [0.5, 0.4, 0.7, 0.8], "coverage": [2.0, np.nan, 3.0, np.nan]}
    found = tabulate_measures(*results_of(values), ["A", "B"])
    assert found["missing"] == []
    assert found["levels"][0]["lines"][1]["cells"][1] is None


def test_labels_by_hand():
    rows = [
        ("x", 0.0, repeat, fold, "A", label, positives, f1, auc)
        for repeat in range(2)
        for fold in range(2)
        for label, positives, f1, auc in (("rare", 1, fold, np.nan), ("usual", 5, 0.5, 0.75 + fold / 4))
    ]
    columns = ["dataset", "noise", "repeat", "fold", "method", "label", "positives", "f1", "auc"]
    [table] = tabulate_labels(pd.DataFrame(rows, columns=columns), ["A"])
    usual, rare = table["lines"]
    assert (usual["label"], usual["positives"]) == ("usual", 10)
    assert (rare["label"], rare["positives"]) == ("rare", 2)
    assert (usual["cells"][0]["value"], usual["cells"][0]["small"]) == ("0.500", "0.875")
    assert (rare["cells"][0]["value"], rare["cells"][0]["small"]) == ("0.500", "")


def test_many_labels_are_cut():
    rows = pd.DataFrame({"label": range(MOST_LABELS + 7), "positives": 1, "f1": 0.5})
    rows = rows.assign(dataset="x", noise=0.0, repeat=0, fold=0, method="A")
    [table] = tabulate_labels(rows, ["A"])
    assert (len(table["lines"]), table["n_hidden"]) == (MOST_LABELS, 7)


def test_a_report_shows_all_measures_and_labels(path):
    page = render(collect(path), traces=False)
    for text in (
        "All measures",
        "Subset accuracy",
        "Macro-averaged AUC",
        "One-error ↓",
        "Label ranking average precision",
        "digit_<wbr>7",
        "positive samples",
    ):
        assert text in page
    assert "Not shown, because some folds" not in page


def test_a_report_of_an_old_store_names_what_is_missing(path):
    results = collect(path).results
    results.loc[results["fold"] == 0, "coverage"] = np.nan
    page = render(collect(results, suite=SUITE), traces=False)
    assert "Not shown, because some folds were scored by a version without it: coverage." in page
    assert "Coverage ↓" not in page


def test_statistics_of_the_labels_of_the_data_that_are_here():
    suite = Suite("labels", ["digit_pairs", "missing"], ["RF"], task="multilabel")
    [found] = tabulate_statistics(suite)
    assert found["name"] == "digit_pairs"
    assert found["cells"][1] == "10"
    assert found["lines"][3]["cells"][3] == "1.00"
    assert len(found["names"]) == 10 <= MOST_PAIRED
    with patch("fuselearn.lab.reporting.label_tables.MOST_PAIRED", 4):
        [found] = tabulate_statistics(suite)
    assert (len(found["lines"]), len(found["lines"][0]["cells"]), found["n_hidden"]) == (4, 4, 6)


def test_a_report_shows_them(path):
    suite = replace(SUITE, datasets=("digit_pairs",))
    results = collect(path).results.assign(dataset="digit_pairs")
    page = render(collect(results, suite=suite), traces=False)
    assert "Which labels of digit_pairs occur together" in page
    assert "MeanIR" in page
