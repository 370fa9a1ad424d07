"""From a table to a served model, by commands; every mistake gets a sentence and an exit code."""

import io
import json
import re
import sys
from functools import partial
from unittest import mock

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
def folder(tmp_path_factory):
    """Make a folder with tables of flowers and of digits, and a model of each."""
    folder = tmp_path_factory.mktemp("models")
    X, y = load_iris(return_X_y=True, as_frame=True)
    X["size class"] = pd.cut(X["petal length (cm)"], 3, labels=["small", "medium", "large"]).astype(str)
    X["kind"] = y.map(dict(enumerate(("setosa", "versicolor", "virginica"))))
    X.to_csv(folder / "iris.csv", index=False)
    digits = make_digit_pairs(80, random_state=0)
    pd.concat([digits.X.iloc[:, ::8], digits.y.add_prefix("label:")], axis=1).to_csv(folder / "digits.csv", index=False)
    small = ("--set", "n_estimators=5", "-j", 1)
    run("train", folder / "iris.csv", "-t", "kind", "-o", folder / "iris.fuse", *small)
    flags = ("-m", "pct-forest", "-o", folder / "digits.fuse", *small)
    run("train", folder / "digits.csv", "--labels", "label:", *flags)
    return folder


@pytest.mark.parametrize("method", ["e-homer", "kfhe-homer", "ecc"])
def test_parameters_of_the_base_learner_can_be_set(folder, tmp_path, method):
    options = ["-m", method, "--set", "n_estimators=2", "--set", "estimator__C=10", "--holdout", "0", "-j", 1]
    run("train", folder / "digits.csv", "--labels", "label:", *options, "-o", tmp_path / "m.fuse")
    params = fuselearn.load(tmp_path / "m.fuse").get_params()
    assert params["estimator__C"] == 10
    assert params.get("varied", {"kernel": ["rbf", "linear"]}) == {"kernel": ["rbf", "linear"]}


def test_a_fused_classifier_is_trained_and_comes_back(folder, tmp_path):
    options = ["-m", "fused", "--set", "n_components=3", "--holdout", "0", "-j", 1]
    run("train", folder / "iris.csv", "-t", "kind", *options, "-o", tmp_path / "m.fuse")
    table, model = pd.read_csv(folder / "iris.csv"), fuselearn.load(tmp_path / "m.fuse")
    assert {report.name for report in model.sensors_} >= {"kfhe", "forest", "svm"}
    assert (model.predict(table.drop(columns="kind")) == table["kind"]).mean() > 0.9


def test_the_model_is_the_one_that_python_trains(folder):
    table = pd.read_csv(folder / "iris.csv")
    model = fuselearn.load(folder / "iris.fuse")
    assert type(model).__name__ == "KFHEClassifier"
    assert model.n_estimators == 5
    X = table.drop(columns="kind")
    assert (model.predict(X) == table["kind"]).mean() > 0.9


def test_training_says_what_it_did(folder):
    given = ["train", folder / "iris.csv", "-t", "kind", "-m", "cart", "-o", folder / "cart.fuse", "--holdout", 0]
    assert "Trained CARTClassifier on 150 samples, 5 features and 3 classes" in run(*given).output
    said = json.loads(run(*given, "--json").stdout)
    assert (said["classes"], said["held_out"]) == (3, None)


def test_without_skops_nothing_is_trained_in_vain(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "skops.io", None)
    monkeypatch.setattr(fuselearn.KFHEClassifier, "fit", None)
    said = run("train", folder / "iris.csv", "-t", "kind", "-o", folder / "never.fuse", code=1).output
    assert "fuselearn[skops]" in said


def test_predictions_are_those_of_the_model_whatever_the_order_of_columns(folder):
    table = pd.read_csv(folder / "iris.csv").drop(columns="kind")
    shuffled = table[table.columns[::-1]].assign(remark="new")
    shuffled.to_csv(folder / "new.csv", index=False)
    result = run("predict", folder / "iris.fuse", folder / "new.csv", "--proba", "-o", folder / "out.csv")
    assert "Ignored: remark" in result.stderr
    assert "Predicted 150 samples" in result.stdout
    answer = pd.read_csv(folder / "out.csv")
    model = fuselearn.load(folder / "iris.fuse")
    assert answer["prediction"].tolist() == model.predict(table).tolist()
    np.testing.assert_allclose(answer.drop(columns="prediction"), model.predict_proba(table))
    assert answer.columns.tolist() == ["prediction", "p:setosa", "p:versicolor", "p:virginica"]


def test_classes_that_need_quotes_and_are_no_text(folder):
    for classes in (["a,b", 'say "no"', "größer"], [3, 1, 2], [True, False, True]):
        table = pd.DataFrame({"x": np.arange(60.0), "kind": np.repeat(classes, 20)})
        table.to_csv(folder / "odd.csv", index=False)
        model = fuselearn.CARTClassifier().fit(table[["x"]], table["kind"])
        fuselearn.save(model, folder / "odd.fuse")
        run("predict", folder / "odd.fuse", folder / "odd.csv", "-o", folder / "out.csv")
        expected = pd.DataFrame({"prediction": model.predict(table[["x"]])}).to_csv(index=False, lineterminator="\n")
        assert (folder / "out.csv").read_bytes() == expected.encode()
        assert run("predict", folder / "odd.fuse", folder / "odd.csv").stdout == expected


def test_predictions_go_to_standard_output_without_a_file(folder):
    result = run("predict", folder / "iris.fuse", folder / "iris.csv")
    lines = result.stdout.splitlines()
    assert lines[0] == "prediction"
    assert len(lines) == 151
    first = json.loads(run("predict", folder / "iris.fuse", folder / "iris.csv", "--json").stdout.splitlines()[0])
    assert first == {"prediction": "setosa"}


def test_an_error_on_the_way_leaves_the_old_predictions(folder, tmp_path):
    rows = (folder / "iris.csv").read_text()
    (tmp_path / "broken.csv").write_text(rows + rows.splitlines()[1].replace("5.1", "long") + "\n")
    (tmp_path / "out.csv").write_text("prediction\nold\n")
    with mock.patch("fuselearn.io.prediction.open_rows", partial(open_rows, block_rows=30)):
        result = run("predict", folder / "iris.fuse", tmp_path / "broken.csv", "-o", tmp_path / "out.csv", code=2)
    assert "holds 'long' in line 152" in result.output
    assert (tmp_path / "out.csv").read_text() == "prediction\nold\n"
    assert sorted(file.name for file in tmp_path.iterdir()) == ["broken.csv", "out.csv"]


def test_labels_are_columns(folder):
    run("predict", folder / "digits.fuse", folder / "digits.csv", "--proba", "-o", folder / "labels.csv")
    answer = pd.read_csv(folder / "labels.csv")
    assert answer.columns[:2].tolist() == ["digit_0", "digit_1"]
    assert answer.columns[10] == "p:digit_0"
    assert set(np.unique(answer.iloc[:, :10])) <= {0, 1}


@pytest.mark.parametrize("ending", ["parquet", "tsv", "csv.gz"])
def test_other_formats_give_the_same(folder, ending):
    table = pd.read_csv(folder / "iris.csv").drop(columns="kind")
    path = folder / f"new.{ending}"
    if ending == "parquet":
        table.to_parquet(path)
    else:
        table.to_csv(path, index=False, sep="\t" if ending == "tsv" else ",")
    expected = run("predict", folder / "iris.fuse", folder / "iris.csv").stdout
    assert run("predict", folder / "iris.fuse", path).stdout == expected


def test_info_reads_the_header(folder):
    result = run("info", folder / "iris.fuse")
    assert "KFHEClassifier" in result.stdout
    assert "150 samples, 5 features" in result.stdout
    assert "size class (3 categories)" in result.stdout
    assert json.loads(run("info", folder / "iris.fuse", "--json").stdout)["classes"] == [
        "setosa", "versicolor", "virginica",
    ]  # fmt: skip


@pytest.mark.parametrize("method", ["kfhe", "fused"])
def test_export_writes_a_model_that_onnxruntime_runs(folder, tmp_path, method):
    onnxruntime = pytest.importorskip("onnxruntime")
    size = {"kfhe": "n_estimators=5", "fused": "n_components=3"}[method]
    options = ["-m", method, "--set", size, "--holdout", "0", "-j", 1]
    run("train", folder / "iris.csv", "-t", "kind", *options, "-o", tmp_path / "iris.fuse")
    run("export", tmp_path / "iris.fuse", "-o", tmp_path / "iris.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "iris.onnx")
    table = pd.read_csv(folder / "iris.csv").drop(columns="kind")
    inputs = {
        name: table[[name]].to_numpy(str if table[name].dtype.kind not in "fi" else np.float64)
        for name in table.columns
    }
    label = session.run(None, inputs)[0]
    assert label.tolist() == fuselearn.load(tmp_path / "iris.fuse").predict(table).tolist()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["train", "nowhere.csv", "-o", "m.fuse"], "There is no file nowhere.csv"),
        (["train", "{f}/iris.csv", "-t", "colour", "-o", "{f}/m.fuse"], "colour"),
        (["train", "{f}/iris.csv", "-t", "kind", "-o", "{f}"], "is a folder; the model file needs a file name"),
        (["train", "{f}/iris.csv", "-t", "kind", "-o", "{f}/no/m.fuse"], "does not exist"),
        (["train", "{f}/iris.csv", "-t", "kind", "-m", "ecc", "-o", "{f}/m.fuse"], "one class per sample; --method"),
        (["train", "{f}/digits.csv", "--labels", "label:", "-m", "bagging", "-o", "{f}/m.fuse"], "several labels per"),
        (["train", "{f}/iris.csv", "-t", "kind", "--set", "depth=3", "-o", "{f}/m.fuse"], "--set takes NAME=VALUE"),
        (["train", "{f}/iris.csv", "-t", "kind", "--set", "n_estimators=0", "-o", "{f}/m.fuse"], "at least 1"),
        (["predict", "{f}/iris.csv", "{f}/iris.csv"], "not a model file"),
        (["predict", "{f}/iris.fuse", "{f}/digits.csv"], "lacks the columns"),
        (["predict", "{f}/iris.fuse", "{f}/broken.csv"], "'sepal width (cm)' holds 'wide' in line 3"),
        (["info", "{f}/nothing.fuse"], "There is no file"),
        (["predict", "{f}/nothing.fuse", "{f}/iris.csv"], "There is no file"),
        (["predict", "{f}/iris.fuse", "nowhere.csv"], "There is no file nowhere.csv"),
        (["export", "{f}/iris.fuse", "-o", "{f}"], "is a folder"),
    ],
)
def test_mistakes_get_a_sentence_and_exit_code_two(folder, arguments, sentence):
    table = pd.read_csv(folder / "iris.csv").astype({"sepal width (cm)": object})
    table.loc[1, "sepal width (cm)"] = "wide"
    table.to_csv(folder / "broken.csv", index=False)
    said = run(*[argument.format(f=folder) for argument in arguments], code=2).output
    assert sentence in said.replace("\n", " ")
    assert "Traceback" not in said


def test_training_reports_a_score_on_held_out_samples(folder, tmp_path):
    out = tmp_path / "iris.fuse"
    text = run("train", folder / "iris.csv", "-t", "kind", "-m", "cart", "-o", out).stdout
    found = re.search(r"On 30 held-out samples.*: accuracy (0\.\d+|1\.000), balanced accuracy .* macro F1 ", text)
    assert float(found[1]) > 0.8
    assert len(re.findall(r"^(setosa|versicolor|virginica) .*\d+ +\d+ +\d+$", text, flags=re.MULTILINE)) == 3
    said = json.loads(run("train", folder / "iris.csv", "-t", "kind", "-m", "cart", "-o", out, "--json").stdout)
    assert np.sum(said["held_out"]["confusion"]) == 30
    assert np.sum(said["held_out"]["confusion"], axis=1).tolist() == [10, 10, 10]


def test_a_held_out_score_does_not_change_the_model(folder, tmp_path):
    options = ["train", folder / "iris.csv", "-t", "kind", "--set", "n_estimators=3"]
    for share in ("0", "0.3"):
        run(*options, "--holdout", share, "-o", tmp_path / f"{share}.fuse")
    one, other = (run("predict", tmp_path / f"{share}.fuse", folder / "iris.csv").stdout for share in ("0", "0.3"))
    assert one == other


def test_too_few_samples_for_a_held_out_score(tmp_path):
    (tmp_path / "few.csv").write_text("a,kind\n1,x\n2,x\n3,y\n")
    said = run("train", tmp_path / "few.csv", "-t", "kind", "-m", "cart", "-o", tmp_path / "few.fuse").stdout
    assert "Too few samples for a held-out score" in said


def test_a_file_with_the_target_is_scored(folder, tmp_path):
    table = pd.read_csv(folder / "iris.csv")
    predicted = pd.read_csv(io.StringIO(run("predict", folder / "iris.fuse", folder / "iris.csv").stdout))
    assert predicted.columns.tolist() == ["prediction"]
    accuracy = (predicted["prediction"] == table["kind"]).mean()
    result = run("predict", folder / "iris.fuse", folder / "iris.csv", "-o", tmp_path / "out.csv")
    assert f"On the 150 samples with a known kind: accuracy {accuracy:.3f}," in result.stdout
    table.drop(columns="kind").to_csv(tmp_path / "new.csv", index=False)
    assert "accuracy" not in run("predict", folder / "iris.fuse", tmp_path / "new.csv").output
    table["kind"] = table["kind"].where(table.index < 100)
    table.to_csv(tmp_path / "partly.csv", index=False)
    assert (
        "On the 100 samples with a known kind" in run("predict", folder / "iris.fuse", tmp_path / "partly.csv").output
    )


def test_labels_of_a_file_are_scored(folder, tmp_path):
    result = run("predict", folder / "digits.fuse", folder / "digits.csv", "-o", tmp_path / "out.csv", "--json")
    answer, truth = pd.read_csv(tmp_path / "out.csv"), pd.read_csv(folder / "digits.csv")
    names = answer.columns
    truth = truth[names] if set(names) <= set(truth) else truth["label:" + names].set_axis(names, axis=1)
    score = json.loads(result.stdout)["score"]
    assert score["hamming_loss"] == pytest.approx((answer != truth).to_numpy().mean())
    assert score["macro_f1"] == pytest.approx(f1_score(truth, answer, average="macro", zero_division=1.0))


def test_columns_are_kept_beside_the_predictions(folder, tmp_path):
    table = pd.read_csv(folder / "iris.csv").assign(plant=range(150), field="A")
    table.to_csv(tmp_path / "plants.csv", index=False)
    run("predict", folder / "iris.fuse", tmp_path / "plants.csv", "--keep", "plant,kind", "-o", tmp_path / "out.csv")
    answer = pd.read_csv(tmp_path / "out.csv")
    assert answer.columns.tolist() == ["plant", "kind", "prediction"]
    assert answer["plant"].tolist() == list(range(150))
    assert answer["kind"].tolist() == table["kind"].tolist()
