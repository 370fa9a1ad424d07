"""From a table to a served model, by commands; every mistake gets a sentence and an exit code."""

import json
import sys
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from typer.testing import CliRunner

import fuselearn
from fuselearn.cli.main import app
from fuselearn.datasets import make_digit_pairs, streaming

runner = CliRunner()


def run(*arguments):
    return runner.invoke(app, [str(argument) for argument in arguments])


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
    assert run("train", folder / "iris.csv", "-t", "kind", "-o", folder / "iris.fuse", *small).exit_code == 0
    flags = ("-m", "rf-pct", "-o", folder / "digits.fuse", *small)
    assert run("train", folder / "digits.csv", "--labels", "label:", *flags).exit_code == 0
    return folder


def test_the_model_is_the_one_that_python_trains(folder):
    table = pd.read_csv(folder / "iris.csv")
    model = fuselearn.load(folder / "iris.fuse")
    assert type(model).__name__ == "KFHEClassifier"
    assert model.n_estimators == 5
    X = table.drop(columns="kind")
    assert (model.predict(X) == table["kind"]).mean() > 0.9


def test_training_says_what_it_did(folder):
    result = run("train", folder / "iris.csv", "-t", "kind", "-m", "cart", "-o", folder / "cart.fuse")
    assert result.exit_code == 0
    assert "Trained CARTClassifier on 150 rows, 5 columns and 3 classes" in result.output
    result = run("train", folder / "iris.csv", "-t", "kind", "-m", "cart", "-o", folder / "cart.fuse", "--json")
    assert json.loads(result.stdout)["classes"] == 3


def test_without_skops_nothing_is_trained_in_vain(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "skops.io", None)
    monkeypatch.setattr(fuselearn.KFHEClassifier, "fit", None)
    result = run("train", folder / "iris.csv", "-t", "kind", "-o", folder / "never.fuse")
    assert (result.exit_code, "fuselearn[skops]" in result.output) == (1, True)


def test_predictions_are_those_of_the_model_whatever_the_order_of_columns(folder):
    table = pd.read_csv(folder / "iris.csv").drop(columns="kind")
    shuffled = table[table.columns[::-1]].assign(remark="new")
    shuffled.to_csv(folder / "new.csv", index=False)
    result = run("predict", folder / "iris.fuse", folder / "new.csv", "--proba", "-o", folder / "out.csv")
    assert result.exit_code == 0
    assert "Ignored: remark" in result.stderr
    assert "Predicted 150 rows" in result.stdout
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
        assert run("predict", folder / "odd.fuse", folder / "odd.csv", "-o", folder / "out.csv").exit_code == 0
        expected = pd.DataFrame({"prediction": model.predict(table[["x"]])}).to_csv(index=False, lineterminator="\n")
        assert (folder / "out.csv").read_bytes() == expected.encode()
        assert run("predict", folder / "odd.fuse", folder / "odd.csv").stdout == expected


def test_predictions_go_to_standard_output_without_a_file(folder):
    result = run("predict", folder / "iris.fuse", folder / "iris.csv")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0] == "prediction"
    assert len(lines) == 151
    first = json.loads(run("predict", folder / "iris.fuse", folder / "iris.csv", "--json").stdout.splitlines()[0])
    assert first == {"prediction": "setosa"}


def test_an_error_on_the_way_leaves_the_old_predictions(folder, tmp_path):
    rows = (folder / "iris.csv").read_text()
    (tmp_path / "broken.csv").write_text(rows + rows.splitlines()[1].replace("5.1", "long") + "\n")
    (tmp_path / "out.csv").write_text("prediction\nold\n")
    with mock.patch.object(streaming, "BLOCK_BYTES", 1000):
        result = run("predict", folder / "iris.fuse", tmp_path / "broken.csv", "-o", tmp_path / "out.csv")
    assert result.exit_code == 2
    assert "holds 'long' in line 152" in result.output
    assert (tmp_path / "out.csv").read_text() == "prediction\nold\n"
    assert sorted(file.name for file in tmp_path.iterdir()) == ["broken.csv", "out.csv"]


def test_labels_are_columns(folder):
    result = run("predict", folder / "digits.fuse", folder / "digits.csv", "--proba", "-o", folder / "labels.csv")
    assert result.exit_code == 0
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
    assert result.exit_code == 0
    assert "KFHEClassifier" in result.stdout
    assert "150 rows, 5 columns" in result.stdout
    assert "size class (3 categories)" in result.stdout
    assert json.loads(run("info", folder / "iris.fuse", "--json").stdout)["classes"] == [
        "setosa", "versicolor", "virginica",
    ]  # fmt: skip


def test_export_writes_a_model_that_onnxruntime_runs(folder):
    onnxruntime = pytest.importorskip("onnxruntime")
    result = run("export", folder / "iris.fuse", "-o", folder / "iris.onnx")
    assert result.exit_code == 0, result.output
    session = onnxruntime.InferenceSession(folder / "iris.onnx")
    table = pd.read_csv(folder / "iris.csv").drop(columns="kind")
    inputs = {
        name: table[[name]].to_numpy(str if table[name].dtype.kind not in "fi" else np.float64)
        for name in table.columns
    }
    label = session.run(None, inputs)[0]
    assert label.tolist() == fuselearn.load(folder / "iris.fuse").predict(table).tolist()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["train", "nowhere.csv", "-o", "m.fuse"], "There is no file nowhere.csv"),
        (["train", "{f}/iris.csv", "-t", "colour", "-o", "{f}/m.fuse"], "colour"),
        (["train", "{f}/iris.csv", "-t", "kind", "-o", "{f}"], "is a folder; the model file needs the name of a file"),
        (["train", "{f}/iris.csv", "-t", "kind", "-o", "{f}/no/m.fuse"], "There is no folder"),
        (["train", "{f}/iris.csv", "-t", "kind", "-m", "ecc", "-o", "{f}/m.fuse"], "one class per row; --method must"),
        (["train", "{f}/digits.csv", "--labels", "label:", "-m", "kfhe", "-o", "{f}/m.fuse"], "several labels per row"),
        (["train", "{f}/iris.csv", "-t", "kind", "--set", "depth=3", "-o", "{f}/m.fuse"], "--set takes NAME=VALUE"),
        (["train", "{f}/iris.csv", "-t", "kind", "--set", "n_estimators=0", "-o", "{f}/m.fuse"], "at least 1"),
        (["predict", "{f}/iris.csv", "{f}/iris.csv"], "no model file"),
        (["predict", "{f}/iris.fuse", "{f}/digits.csv"], "lacks the columns"),
        (["predict", "{f}/iris.fuse", "{f}/broken.csv"], "'sepal width (cm)' holds 'wide' in line 3"),
        (["info", "{f}/nothing.fuse"], "cannot be used"),
        (["export", "{f}/iris.fuse", "-o", "{f}"], "is a folder"),
    ],
)
def test_mistakes_get_a_sentence_and_exit_code_two(folder, arguments, sentence):
    table = pd.read_csv(folder / "iris.csv").astype({"sepal width (cm)": object})
    table.loc[1, "sepal width (cm)"] = "wide"
    table.to_csv(folder / "broken.csv", index=False)
    result = run(*[argument.format(f=folder) for argument in arguments])
    assert result.exit_code == 2, result.output
    assert sentence in result.output.replace("\n", " ")
    assert "Traceback" not in result.output
