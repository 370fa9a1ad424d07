"""Tables with several labels per sample: the same label options for compare, train, predict, audit and info."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from fuselearn import load
from fuselearn.cli.main import app
from fuselearn.cli.training import _make_model as make_model
from fuselearn.datasets import make_digit_pairs
from fuselearn.lab.methods import METHODS
from fuselearn.lab.suites import SCORES
from fuselearn.multilabel import FusedMultilabelClassifier

ONE_MODEL = {
    *("homer", "cc", "2br", "clr", "plst", "lift", "br"),
    *("label-powerset", "pruned-sets", "rakel", "mlknn", "brknn"),
}
OURS = [name for name, path in METHODS["multilabel"].items() if path.startswith("fuselearn.")]
WRONG = [(3 + 6 * k, ("digit_0", "digit_1", "digit_5")[k % 3]) for k in range(15)]


@pytest.fixture(autouse=True)
def _own_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TERM", "dumb")
    X, Y = make_digit_pairs(100, random_state=0)
    X = X.iloc[:, ::4] + np.linspace(0.25, 0.5, len(X.columns[::4]))  # fractions, and so no labels
    Y = Y[["digit_0", "digit_1", "digit_5"]]
    pd.concat([X, Y], axis=1).to_csv("digits.csv", index=False)
    pd.concat([X, Y.add_prefix("has_")], axis=1).to_csv("prefixed.csv", index=False)
    for row, label in WRONG:
        Y.loc[row, label] = 1 - Y.loc[row, label]
    pd.concat([X, Y], axis=1).to_csv("wrong.csv", index=False)


def run(*arguments, code=0):
    done = CliRunner().invoke(app, list(map(str, arguments)))
    assert done.exit_code == code, (done.output, done.exception)
    return done


def small(method):
    """Return the options of a small model."""
    return ["-m", method, *([] if method in ONE_MODEL else ["--set", "n_estimators=2"]), "--holdout", 0, "-j", 1]


@pytest.mark.parametrize("method", OURS)
def test_every_method_trains_and_predicts(method):
    run("train", "digits.csv", "--labels", -3, *small(method), "-o", "m.fuse")
    said = json.loads(run("predict", "m.fuse", "digits.csv", "-o", "p.csv", "--json").stdout)
    predicted = pd.read_csv("p.csv")
    assert predicted.columns.tolist() == ["digit_0", "digit_1", "digit_5"]
    truth = pd.read_csv("digits.csv")[predicted.columns]
    assert said["score"]["hamming_loss"] == pytest.approx((predicted != truth).to_numpy().mean())
    assert said["score"]["hamming_loss"] < 0.5


def test_settings_reach_the_base_learner():
    model = make_model("eps", "multilabel", ["estimator__C=10", "n_estimators=3"], 0, 1)
    assert model.get_params()["estimator__C"] == 10


def test_predictions_are_scored_by_the_label_columns_that_are_named():
    run("train", "prefixed.csv", "--labels", "has_*", *small("pct-forest"), "-o", "m.fuse")
    named = run("predict", "m.fuse", "prefixed.csv", "--labels", "has_*", "--keep", "has_digit_5", "-o", "p.csv")
    assert "On the 100 samples with a known has_digit_0, has_digit_1, has_digit_5: macro F1" in named.stdout
    assert pd.read_csv("p.csv").columns.tolist() == ["has_digit_5", "digit_0", "digit_1", "digit_5"]
    for labels in ("-3", "digit_5,digit_1,digit_0"):
        scored = run("predict", "m.fuse", "digits.csv", "--labels", labels, "-o", "q.csv")
        assert scored.stdout.splitlines()[1].endswith(named.stdout.splitlines()[1].split(": ")[1])
    assert "macro F1" not in run("predict", "m.fuse", "prefixed.csv", "-o", "q.csv").stdout


def test_labels_are_learned_by_the_fused_classifier_unless_another_method_is_named():
    run("train", "digits.csv", "--labels", -3, "--set", "n_estimators=2", "--holdout", 0, "-j", 1, "-o", "m.fuse")
    assert isinstance(load("m.fuse"), FusedMultilabelClassifier)


def test_samples_with_unknown_labels_are_predicted_but_not_scored():
    run("train", "digits.csv", "--labels", -3, *small("pct-forest"), "-o", "m.fuse")
    table = pd.read_csv("digits.csv")
    table["digit_1"] = table["digit_1"].where(table.index >= 30)
    table.to_csv("partly.csv", index=False)
    done = run("predict", "m.fuse", "partly.csv", "-o", "p.csv")
    assert "On the 70 samples with a known digit_0" in done.stdout
    assert len(pd.read_csv("p.csv")) == 100
    table.assign(digit_5=3).to_csv("bad.csv", index=False)
    said = run("predict", "m.fuse", "bad.csv", "-o", "q.csv", code=2).stderr
    assert "'digit_5' of the file to predict for contains '3'" in said.replace("true:", "")


def test_sparse_files_are_scored_too():
    rng = np.random.default_rng(0)
    rows = [np.flatnonzero(rng.random(150) < 0.1) for _ in range(40)]
    lines = [f"@attribute w{place} numeric" for place in range(150)] + [f"@attribute l{k} {{0,1}}" for k in range(2)]
    cells = []
    for row in rows:
        labels = [150 + k for k in range(2) if k in row % 3]
        cells.append("{" + ",".join(f"{place} 1" for place in [*row, *labels]) + "}")
    Path("words.arff").write_text("\n".join(["@relation 'words: -C -2'", *lines, "@data", *cells]) + "\n")
    run("train", "words.arff", *small("br"), "-o", "m.fuse")
    done = run("predict", "m.fuse", "words.arff", "-o", "p.csv", "--json")
    predicted = pd.read_csv("p.csv")
    truth = np.array([[k in row % 3 for k in range(2)] for row in rows])
    assert predicted.columns.tolist() == ["l0", "l1"]
    assert json.loads(done.stdout)["score"]["hamming_loss"] == pytest.approx((predicted != truth).to_numpy().mean())
    assert "Ignored" not in run("predict", "m.fuse", "words.arff", "-o", "p.csv").stderr


def test_compares_methods_and_prints_a_measure_of_labels():
    options = ["-m", "cc", "-m", "homer", "--repeats", 1, "--folds", 2, "-j", 1, "--metric", "one-error"]
    done = run("compare", "digits.csv", "--labels", -3, *options, "--out", "out")
    assert "Macro F1 and rank" in done.stdout
    assert "One error and rank" in done.stdout
    assert "3 labels: digit_0, digit_1, digit_5." in done.stderr
    page = Path("out/report.html").read_text(encoding="utf-8")
    assert "label ranking average precision" in page
    assert "fuselearn compare digits.csv --labels -3 --method" in page
    again = run("compare", "digits.csv", "--labels", -3, *options, "--out", "out")
    assert again.stdout.splitlines()[:8] == done.stdout.splitlines()[:8]
    other = run("compare", "digits.csv", "--labels", "digit_0,digit_1", *options, "--out", "out", code=2)
    assert "contains a different suite named 'compare-digits'" in other.stderr


@pytest.mark.parametrize(("metric", "rule"), [("hamming-loss", "hamming"), ("example-f1", "example_f1"), ("auc", None)])
def test_fused_optimizes_the_metric(metric, rule):
    given = ["-m", "fused(n_estimators=1)", "-m", "br", "--repeats", 1, "--folds", 2, "-j", 1, "--metric", metric]
    done = run("compare", "digits.csv", "--labels", -3, *given, "--control", "fused(n_estimators=1)", "--fresh")
    method = "fused(n_estimators=1)" if rule is None else f"fused(n_estimators=1, optimize='{rule}')"
    assert pd.read_csv("fuselearn-digits/summary.csv")["method"].tolist() == [method, "br"]
    assert "has an F1 of 0, as in scikit-learn (zero_division=0)" in done.stdout


def test_metrics_of_the_other_task_are_refused():
    said = run("compare", "digits.csv", "--labels", -3, "--metric", "balanced-accuracy", code=2).stderr
    known = said.partition("--metric must be one of ")[2].partition(", not balanced-accuracy.")[0]
    assert [name.replace("-", "_") for name in known.split(", ")] == list(SCORES["multilabel"])


def test_audit_finds_single_labels_of_samples():
    done = run("audit", "wrong.csv", "--labels", -3, "-o", "s.csv", "--html", "page.html", "--seed", 0, "-j", 1)
    listed = pd.read_csv("s.csv")
    assert listed.columns.tolist() == [
        "row", "label", "given", "suggested", "probability", "suggested_probability", "suspect", "confidence",
    ]  # fmt: skip
    found = set(zip(listed["row"] - 1, listed["label"], strict=True))
    assert len(found) < 3 * len(WRONG)
    assert len(found & set(WRONG)) > len(WRONG) / 2
    assert (listed["given"] != listed["suggested"]).all()
    assert f"About {len(listed)} of 300 labels" in done.stdout
    page = Path("page.html").read_text(encoding="utf-8")
    assert "Predictability" in page
    assert f"<p>label <b>{listed['label'][0]}</b></p>" in page
    assert listed.groupby(["label", "given", "suggested"]).size().max() == int(done.stdout.splitlines()[4].split()[3])
    run("audit", "wrong.csv", "--labels", -3, "-o", "s.csv", "-j", 1)  # replaces its own list


def test_audit_corrects_labels_in_the_spelling_of_the_table():
    table = pd.read_csv("wrong.csv")
    columns = table.columns[-3:].tolist()
    table[columns] = table[columns].replace({0: "no", 1: "YES"})
    table.to_csv("words.csv", index=False)
    run("audit", "words.csv", "--labels", -3, "-o", "s.csv", "--fix", "c.csv", "--confidence", 0.7, "-j", 1)
    listed = pd.read_csv("s.csv").query("confidence >= 0.7")
    expected = pd.read_csv("words.csv", dtype=str)
    for line in listed.itertuples():
        expected.loc[line.row - 1, line.label] = ("no", "YES")[line.suggested]
    assert len(listed) >= 2
    pd.testing.assert_frame_equal(pd.read_csv("c.csv", dtype=str), expected)


def test_info_prints_statistics_of_the_labels():
    done = run("info", "digits.csv", "--labels", -3)
    assert "labels       digit_0, digit_1, digit_5" in done.stdout
    assert "3 labels, 100 samples" in done.stdout
    assert "MeanIR" in done.stdout
    said = json.loads(run("info", "prefixed.csv", "--labels", "has_*", "--json").stdout)
    truth = pd.read_csv("digits.csv")
    assert said["labels"]["by_label"]["digit_5"]["positives"] == truth["digit_5"].sum()
    assert said["labels"]["cardinality"] == pytest.approx(truth.iloc[:, -3:].sum(axis=1).mean())
    assert len(said["columns"]) == truth.shape[1] - 3


def test_info_of_labels_that_nobody_has_is_valid_json():
    pd.read_csv("digits.csv").assign(never=0).to_csv("never.csv", index=False)
    said = run("info", "never.csv", "--labels", "-4", "--json").stdout
    assert json.loads(said, parse_constant=pytest.fail)["labels"]["by_label"]["never"]["imbalance_ratio"] is None


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["compare", "digits.csv", "--labels", "digit_0,digit_0"], "labels names the label 'digit_0' twice"),
        (["train", "digits.csv", "--labels", "+2", "-o", "m.fuse"], "a label must be 0 or 1"),
        (["audit", "digits.csv", "--labels", "400"], "columns; 400 of them cannot be labels"),
        (["info", "digits.csv", "--labels", "none.xml"], "There is no file none.xml"),
        (["compare", "digits.csv", "--labels", "unknown.xml"], "has no column 'joy' to use as a label"),
        (["audit", "digits.csv", "--labels", "-3", "-o", "digits.csv"], "digits.csv is the input"),
        (["compare", "digits.csv", "--labels", "-3", "-t", "digit_0"], "either target (one class per sample) or"),
        (["info", "digits.csv", "--labels", "-3", "-t", "digit_0"], "either target (one class per sample) or"),
        (["compare", "digits.csv", "--labels", "-3", "-m", "cart"], "A method must be fused, kfhe, kfhe-homer"),
        (["compare", "digits.csv", "--labels", "-3", "--metric", "brier"], "--metric must be one of macro-f1,"),
        (["compare", "digits.csv", "-t", "digit_0", "--metric", "coverage"], "has multi-class data; --metric must"),
        (["compare", "digits.csv", "--labels", "-3", "--noise-kind", "pair"], "noise_kind must be"),
    ],
)  # fmt: skip
def test_wrong_use_gets_a_sentence(arguments, sentence):
    Path("unknown.xml").write_text('<labels><label name="joy"/></labels>')
    assert sentence in run(*arguments, code=2).stderr


def test_labels_that_a_model_does_not_know():
    run("train", "digits.csv", "--labels", -3, *small("pct-forest"), "-o", "m.fuse")
    said = run("predict", "m.fuse", "digits.csv", "--labels", "digit_0,digit_1", code=2).stderr
    assert said.strip() == "--labels names digit_0, digit_1; the labels of the model are digit_0, digit_1, digit_5."
    run("train", "digits.csv", "-t", "digit_0", "-m", "cart", "--holdout", 0, "-o", "c.fuse")
    assert "this model predicts classes" in run("predict", "c.fuse", "digits.csv", "--labels", -3, code=2).stderr
