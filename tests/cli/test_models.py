"""From a table to a served model, by commands; every mistake gets a sentence and an exit code."""

import io
import json
import re
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.metrics import f1_score
from typer.testing import CliRunner

import fuselearn
from fuselearn.cli.main import app
from fuselearn.datasets import make_digit_pairs
from fuselearn.io.prediction import open_rows


def run(*arguments, code=0):
    done = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert done.exit_code == code, (done.output, done.exception)
    return done


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Make a folder with tables of flowers and of digits, and a model of each."""
    folder = tmp_path_factory.mktemp("models")
    X, y = load_iris(return_X_y=True, as_frame=True)
    X["size class"] = pd.cut(X["petal length (cm)"], 3, labels=["small", "medium", "large"]).astype(str)
    X["kind"] = y.map(dict(enumerate(("setosa", "versicolor", "virginica"))))
    X.to_csv(folder / "iris.csv", index=False)
    digits = make_digit_pairs(80, random_state=0)
    pd.concat([digits.X.iloc[:, ::8], digits.y.add_prefix("label:")], axis=1).to_csv(folder / "digits.csv", index=False)
    small = ("--set", "n_estimators=5", "-j", 1)
    run("train", folder / "iris.csv", "-t", "kind", "-m", "kfhe", "-o", folder / "iris.fuse", *small)
    run("train", folder / "digits.csv", "--labels", "label:*", "-m", "pct-forest", "-o", folder / "digits.fuse", *small)
    return folder


@pytest.fixture(autouse=True)
def table(made, monkeypatch):
    """Work in the folder, and return the flowers."""
    monkeypatch.chdir(made)
    return pd.read_csv("iris.csv")


IRIS = ["train", "iris.csv", "-t", "kind", "-j", 1, "-o", "m.fuse"]


@pytest.mark.parametrize("method", ["e-homer", "kfhe-homer", "ecc"])
def test_parameters_of_the_base_learner_can_be_set(method):
    options = ["-m", method, "--set", "n_estimators=2", "--set", "estimator__C=10", "--holdout", "0", "-j", 1]
    run("train", "digits.csv", "--labels", "label:*", *options, "-o", "m.fuse")
    params = fuselearn.load("m.fuse").get_params()
    assert params["estimator__C"] == 10
    assert params.get("varied", {"kernel": ["rbf", "linear"]}) == {"kernel": ["rbf", "linear"]}


def test_fused_is_the_default_unless_it_takes_more_than_a_minute(monkeypatch):
    small = [*IRIS, "--set", "n_estimators=2"]
    done = run(*small)
    assert "Trained FusedClassifier" in done.stdout
    assert done.stderr == "The method is fused, which takes about 1 s.\n"
    monkeypatch.setattr("fuselearn.lab.methods.FOREST_SECONDS", 0.2)
    done = run(*small, "--holdout", 0.5)
    # 1.5 fits of 0.2 s x 150 samples x root of 5 features x (1 + 3/18)
    assert "The method is kfhe, because fused would take about 1 min 57 s" in done.stderr
    assert "Trained KFHEClassifier" in done.stdout
    assert run(*small, "--json").stderr == ""


def test_a_feature_that_gives_the_target_away_is_named(table, tmp_path):
    table.assign(code=table["kind"].map({"setosa": 7, "versicolor": 3, "virginica": 5})).to_csv("leak.csv", index=False)
    sentence = "code alone predicts kind with a balanced accuracy of 1.000 (0.99 or more is suspicious)"
    given = ["leak.csv", "-t", "kind"]
    assert f"Warning: {sentence}" in run("train", *given, "-m", "cart", "-o", "m.fuse").stderr
    small = ["-m", "cart", "--repeats", 1, "--folds", 2, "-j", 1, "--out", tmp_path]
    assert f"Warning: {sentence}" in run("compare", *given, *small).stderr
    assert sentence in run("info", *given).stdout
    assert json.loads(run("info", *given, "--json").stdout)["leaks"][0].startswith(sentence)
    for command in (["info"], ["train", "-m", "cart", "-o", "m.fuse"]):
        assert "alone predicts" not in run(*command, *given, "--drop", "code").output


def test_training_saves_what_it_says(table):
    assert "Trained CARTClassifier on 150 samples, 5 features and 3 classes" in run(*IRIS, "-m", "cart").output
    said = json.loads(run(*IRIS, "-m", "fused", "--set", "n_estimators=3", "--holdout", 0, "--json").stdout)
    assert (said["model"], said["classes"], said["held_out"]) == ("FusedClassifier", 3, None)
    for name, kind in (("iris.fuse", "KFHEClassifier"), ("m.fuse", "FusedClassifier")):
        model = fuselearn.load(name)
        assert type(model).__name__ == kind
        assert (model.predict(table.drop(columns="kind")) == table["kind"]).mean() > 0.9


def test_predictions_are_those_of_the_model_whatever_the_order_of_columns(table):
    X = table.drop(columns="kind")
    X[X.columns[::-1]].assign(remark="new").to_csv("new.csv", index=False)
    result = run("predict", "iris.fuse", "new.csv", "--proba", "-o", "out.csv")
    assert "Ignored: remark" in result.stderr
    assert "Predicted 150 samples" in result.stdout
    answer, model = pd.read_csv("out.csv"), fuselearn.load("iris.fuse")
    assert answer["prediction"].tolist() == model.predict(X).tolist()
    np.testing.assert_allclose(answer.drop(columns="prediction"), model.predict_proba(X))
    assert answer.columns.tolist() == ["prediction", "p:setosa", "p:versicolor", "p:virginica"]


def test_every_format_gives_the_same_predictions(table):
    X = table.drop(columns="kind")
    X.to_parquet("new.parquet")
    X.to_csv("new.tsv", index=False, sep="\t")
    X.to_csv("new.csv.gz", index=False)
    expected = run("predict", "iris.fuse", "iris.csv").stdout
    assert expected.split("\n")[0] == "prediction"
    assert len(expected.splitlines()) == 151
    for name in ("new.parquet", "new.tsv", "new.csv.gz"):
        assert run("predict", "iris.fuse", name).stdout == expected
    lines = run("predict", "iris.fuse", "iris.csv", "--json").stdout.splitlines()
    assert [json.loads(line)["prediction"] for line in lines] == expected.splitlines()[1:]


def test_classes_that_need_quotes_and_are_no_text():
    for classes in (["a,b", 'say "no"', "größer"], [3, 1, 2], [True, False, True]):
        odd = pd.DataFrame({"x": np.arange(60.0), "kind": np.repeat(classes, 20)})
        odd.to_csv("odd.csv", index=False)
        model = fuselearn.CARTClassifier().fit(odd[["x"]], odd["kind"])
        fuselearn.save(model, "odd.fuse")
        run("predict", "odd.fuse", "odd.csv", "-o", "out.csv")
        expected = pd.DataFrame({"prediction": model.predict(odd[["x"]])}).to_csv(index=False, lineterminator="\n")
        assert Path("out.csv").read_bytes() == expected.encode()
        assert run("predict", "odd.fuse", "odd.csv").stdout == expected


def test_an_error_on_the_way_leaves_the_old_predictions(made, tmp_path, monkeypatch):
    rows = Path("iris.csv").read_text()
    monkeypatch.chdir(tmp_path)
    Path("broken.csv").write_text(rows + rows.splitlines()[1].replace("5.1", "long") + "\n")
    Path("out.csv").write_text("prediction\nold\n")
    monkeypatch.setattr("fuselearn.io.prediction.open_rows", partial(open_rows, block_rows=30))
    said = run("predict", made / "iris.fuse", "broken.csv", "-o", "out.csv", code=2).output
    assert "contains 'long' in line 152" in said
    assert Path("out.csv").read_text() == "prediction\nold\n"
    assert sorted(file.name for file in tmp_path.iterdir()) == ["broken.csv", "out.csv"]


def test_info_reads_the_header():
    said = run("info", "iris.fuse").stdout
    assert all(part in said for part in ("KFHEClassifier", "150 samples, 5 features", "size class (3 categories)"))
    header = json.loads(run("info", "iris.fuse", "--json").stdout)
    assert header["classes"] == ["setosa", "versicolor", "virginica"]


@pytest.mark.parametrize(
    "options", [["-m", "kfhe", "--set", "n_estimators=5"], ["-m", "fused", "--set", "n_estimators=3"]]
)
def test_export_writes_a_model_that_onnxruntime_runs(table, options):
    onnxruntime = pytest.importorskip("onnxruntime")
    run(*IRIS, *options, "--holdout", "0")
    run("export", "m.fuse", "-o", "iris.onnx")
    X = table.drop(columns="kind")
    inputs = {name: X[[name]].to_numpy(str if X[name].dtype.kind not in "fi" else np.float64) for name in X}
    label = onnxruntime.InferenceSession("iris.onnx").run(None, inputs)[0]
    assert label.tolist() == fuselearn.load("m.fuse").predict(X).tolist()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ("train nowhere.csv -o m.fuse", "There is no file nowhere.csv"),
        ("train iris.csv -t color -o m.fuse", "no column 'color' to use as the target"),
        ("train iris.csv -t kind -o .", "is a folder; the model file needs a file name"),
        ("train iris.csv -t kind -o no/m.fuse", "does not exist"),
        ("train iris.csv -t kind -m ecc -o m.fuse", "multi-class data; --method must"),
        ("train digits.csv --labels label:* -m bagging -o m.fuse", "multi-label data"),
        ("train iris.csv -t kind --set depth=3 -o m.fuse", "--set takes NAME=VALUE"),
        ("train iris.csv -t kind --set n_estimators=0 -o m.fuse", "at least 1"),
        ("predict iris.csv iris.csv", "not a model file"),
        ("predict iris.fuse digits.csv", "has no columns"),
        ("predict iris.fuse broken.csv", "'sepal width (cm)' contains 'wide' in line 3"),
        ("predict iris.fuse nowhere.csv", "There is no file nowhere.csv"),
        ("predict nothing.fuse iris.csv", "There is no file nothing.fuse"),
        ("info nothing.fuse", "There is no file nothing.fuse"),
        ("export nothing.fuse -o m.onnx", "There is no file nothing.fuse"),
        ("export iris.fuse -o .", "is a folder"),
    ],
)
def test_mistakes_get_a_sentence_and_exit_code_two(table, arguments, sentence):
    broken = table.astype({"sepal width (cm)": object})
    broken.loc[1, "sepal width (cm)"] = "wide"
    broken.to_csv("broken.csv", index=False)
    said = run(*arguments.split(), code=2).output
    assert sentence in said.replace("\n", " ")
    assert "Traceback" not in said


def test_training_reports_a_score_on_held_out_samples_and_does_not_change_the_model():
    text = run(*IRIS, "-m", "cart").stdout
    found = re.search(r"On 30 held-out samples.*: accuracy (0\.\d+|1\.000), balanced accuracy .* macro F1 ", text)
    assert float(found[1]) > 0.8
    assert len(re.findall(r"^(setosa|versicolor|virginica) .*\d+ +\d+ +\d+$", text, flags=re.MULTILINE)) == 3
    said = json.loads(run(*IRIS, "-m", "cart", "--json").stdout)
    assert np.sum(said["held_out"]["confusion"], axis=1).tolist() == [10, 10, 10]
    predicted = set()
    for fraction in ("0", "0.3"):
        run(*IRIS, "--set", "n_estimators=3", "--holdout", fraction)
        predicted.add(run("predict", "m.fuse", "iris.csv").stdout)
    assert len(predicted) == 1
    Path("few.csv").write_text("a,kind\n1,x\n2,x\n3,y\n")
    said = run("train", "few.csv", "-t", "kind", "-m", "cart", "-o", "few.fuse").stdout
    assert "Too few samples for a held-out score" in said
    Path("two.csv").write_text("a,kind\n1,x\n2,y\n")
    said = run("train", "two.csv", "-t", "kind", "-o", "few.fuse", code=2).stderr
    assert (
        "no fold has two classes in its training samples. Train a single model instead, such as KFHEClassifier" in said
    )
    Path("two.csv").write_text("a,label:x,label:y\n1,0,1\n2,1,0\n")
    said = run("train", "two.csv", "-m", "br", "-o", "few.fuse").stdout
    assert "Too few samples for a held-out score" in said


def test_a_file_with_the_target_is_scored(table):
    predicted = pd.read_csv(io.StringIO(run("predict", "iris.fuse", "iris.csv").stdout))
    assert predicted.columns.tolist() == ["prediction"]
    accuracy = (predicted["prediction"] == table["kind"]).mean()
    said = run("predict", "iris.fuse", "iris.csv", "-o", "out.csv").stdout
    assert f"On the 150 samples with a known kind: accuracy {accuracy:.3f}," in said
    table.drop(columns="kind").to_csv("new.csv", index=False)
    assert "accuracy" not in run("predict", "iris.fuse", "new.csv").output
    table.assign(kind=table["kind"].where(table.index < 100)).to_csv("partly.csv", index=False)
    assert "On the 100 samples with a known kind" in run("predict", "iris.fuse", "partly.csv").output


def test_sets_of_classes_are_written_and_scored(table):
    run("train", "iris.csv", "-t", "kind", "-o", "sets.fuse", "-j", 1, "--set", "n_estimators=5", "--holdout", "0")
    X = table.drop(columns="kind")
    model = fuselearn.load("sets.fuse")
    sets = (
        model[-1].predict_set(model[:-1].transform(X), 0.98) if hasattr(model, "steps") else model.predict_set(X, 0.98)
    )
    said = run("predict", "sets.fuse", "iris.csv", "--sets", 0.98, "-o", "sets.csv", "--json").stdout
    answer = pd.read_csv("sets.csv")
    assert answer.columns.tolist() == ["prediction", "set_size", "set"]
    assert answer["set_size"].tolist() == sets.sum(axis=1).tolist()
    classes = ["setosa", "versicolor", "virginica"]
    assert answer["set"].tolist() == ["|".join(np.array(classes)[row]) for row in sets]
    score = json.loads(said)["score"]
    assert score["set_coverage"] == sets[np.arange(150), table["kind"].map(classes.index)].mean()
    assert score["set_size"] == pytest.approx(sets.sum(axis=1).mean())
    lines = run("predict", "sets.fuse", "iris.csv", "--sets", 0.98, "--json").stdout.splitlines()
    assert [len(json.loads(line)["set"]) for line in lines] == sets.sum(axis=1).tolist()
    run("predict", "sets.fuse", "iris.csv", "-o", "sets.csv")  # replaces the table, which is one of predictions
    assert "set coverage" in run("predict", "sets.fuse", "iris.csv", "-o", "sets.csv", "--sets", 0.9).stdout
    run("predict", "sets.fuse", "iris.csv", "-o", "sets.csv")
    X[:0].to_csv("none.csv", index=False)
    assert run("predict", "sets.fuse", "none.csv", "--sets", 0.9).stdout == "prediction,set_size,set\n"


def test_sets_that_cannot_be_written_get_a_sentence(table):
    said = run("predict", "iris.fuse", "iris.csv", "--sets", 0.9, code=2).output
    assert "--sets needs a model that predicts sets, and KFHEClassifier does not" in said
    table.replace({"kind": {"setosa": "a|b"}}).to_csv("bars.csv", index=False)
    run("train", "bars.csv", "-t", "kind", "-o", "bars.fuse", "-j", 1, "--set", "n_estimators=2", "--holdout", "0")
    assert "but the class 'a|b' contains it" in run("predict", "bars.fuse", "bars.csv", "--sets", 0.9, code=2).output
    assert (
        "a|b"
        in json.loads(run("predict", "bars.fuse", "bars.csv", "--sets", 0.9, "--json").stdout.splitlines()[0])["set"]
    )
    assert "coverage must be above 0" in run("predict", "bars.fuse", "bars.csv", "--sets", 9, "--json", code=2).output


def test_labels_are_columns_and_are_scored():
    run("predict", "digits.fuse", "digits.csv", "--proba", "-o", "labels.csv")
    answer = pd.read_csv("labels.csv")
    assert answer.columns[[0, 1, 10]].tolist() == ["digit_0", "digit_1", "p:digit_0"]
    score = json.loads(run("predict", "digits.fuse", "digits.csv", "-o", "labels.csv", "--json").stdout)["score"]
    pd.testing.assert_frame_equal(pd.read_csv("labels.csv"), answer.iloc[:, :10])
    truth, answer = pd.read_csv("digits.csv").iloc[:, -10:].to_numpy(), answer.iloc[:, :10].to_numpy()
    assert score["hamming_loss"] == pytest.approx((answer != truth).mean())
    assert score["macro_f1"] == pytest.approx(f1_score(truth, answer, average="macro", zero_division=1.0))
    assert score["micro_f1"] == pytest.approx(f1_score(truth, answer, average="micro"))


def test_columns_are_kept_beside_the_predictions(table):
    table.assign(plant=range(150), field="A").to_csv("plants.csv", index=False)
    run("predict", "iris.fuse", "plants.csv", "--keep", "plant,kind", "-o", "kept.csv")
    answer = pd.read_csv("kept.csv")
    assert answer.columns.tolist() == ["plant", "kind", "prediction"]
    assert answer["plant"].tolist() == list(range(150))
    assert answer["kind"].tolist() == table["kind"].tolist()
