"""``fuselearn audit`` lists suspects, shows them on a page, and destroys nothing."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from typer.testing import CliRunner

from fuselearn.cli.main import app

COLUMNS = ["row", "given", "suggested", "probability", "suggested_probability", "suspect", "confidence"]
PAIR = ["given", "suggested"]
WRONG = {6: "virginica", 21: "versicolor", 41: "virginica", 66: "setosa", 111: "setosa"}  # by their row in the file


@pytest.fixture(autouse=True)
def _own_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TERM", "dumb")
    X, y = load_iris(return_X_y=True, as_frame=True)
    frame = X.set_axis(["sepal length", "sepal width", "petal length", "petal width"], axis=1)
    frame["plant"] = [f"p<{k}>" for k in range(150)]
    frame["kind"] = np.array(["setosa", "versicolor", "virginica"])[y]
    for row, kind in WRONG.items():
        frame.loc[row - 1, "kind"] = kind
    frame.to_csv("iris.csv", index=False)


def run(*arguments, code=0):
    done = CliRunner().invoke(app, ["audit", *map(str, arguments)])
    assert done.exit_code == code, (done.output, done.exception)
    return done


def test_lists_the_suspects_and_shows_them_beside_trusted_samples():
    done = run("iris.csv", "-t", "kind", "--index", "plant", "-o", "suspects.csv", "--html", "page.html")
    listed = pd.read_csv("suspects.csv")
    assert listed.columns.tolist() == [COLUMNS[0], "plant", *COLUMNS[1:]]
    assert 3 <= len(listed) <= 8
    first = listed.iloc[:3]
    assert first["given"].tolist() == [WRONG[row] for row in first["row"]]
    assert first["plant"].tolist() == [f"p<{row - 1}>" for row in first["row"]]
    assert listed["probability"].is_monotonic_increasing
    assert f"About {len(listed)} of 150 labels" in done.stdout
    pairs = pd.DataFrame([line.split() for line in done.stdout.splitlines()[-len(listed.groupby(PAIR)) :]])
    assert pairs.set_index([0, 1])[2].astype(int).to_dict() == listed.groupby(PAIR).size().to_dict()
    page = Path("page.html").read_text(encoding="utf-8")
    assert f"1. plant p&lt;{first['row'].iloc[0] - 1}&gt;</h3>" in page
    assert "fuselearn audit iris.csv --target kind --output suspects.csv --html page.html --index plant" in page
    assert "http" not in page


def test_prints_the_suspects_without_an_output():
    done = run("iris.csv", "-t", "kind", "--drop", "plant")
    lines = done.stdout.splitlines()
    assert lines[0] == ",".join(COLUMNS)
    assert {int(line.split(",")[0]) for line in lines[1:4]} <= set(WRONG)
    assert "labels" in done.stderr


def test_all_samples_and_json():
    said = json.loads(run("iris.csv", "-t", "kind", "--all", "-o", "all.csv", "--json", "--seed", 1, "-j", 1).stdout)
    listed = pd.read_csv("all.csv")
    assert sorted(listed["row"]) == list(range(1, 151))
    assert said["samples"] == 150
    assert said["suspects"] == listed["suspect"].sum()
    assert said["file"] == "all.csv"
    assert said["page"] is None


def corrections(listed, least):
    chosen = listed.query("confidence >= @least")
    return dict(zip(chosen["row"] - 1, chosen["suggested"], strict=True))


@pytest.mark.parametrize("name", ["iris.csv", "iris.tsv.gz", "iris.parquet", "iris.arff"])
def test_a_corrected_table_differs_from_its_input_in_labels_only(name):
    table = pd.read_csv("iris.csv").astype({"kind": "category"})
    if name == "iris.parquet":
        table.to_parquet(name)
    elif name == "iris.arff":
        declared = "".join(f"@attribute '{column}' real\n" for column in table.columns[:4])
        cells = table.drop(columns="plant").to_csv(index=False, header=False)
        kinds = ",".join(table["kind"].cat.categories)
        Path(name).write_text(f"@relation iris\n{declared}@attribute kind {{{kinds}}}\n@data\n{cells}")
    elif name == "iris.tsv.gz":
        table.to_csv(name, index=False, sep="\t")
    read = {"iris.tsv.gz": lambda path: pd.read_csv(path, sep="\t"), "iris.parquet": pd.read_parquet}.get(
        name, pd.read_csv
    )
    fixed = {"iris.arff": "fixed.csv"}.get(name, name.replace("iris", "fixed"))
    done = run(name, "-t", "kind", "-o", "s.csv", "--fix", fixed, "--confidence", 0.68)
    listed = pd.read_csv("s.csv")
    changed = corrections(listed, 0.68)
    assert len(changed) >= 2
    assert f"Corrected {len(changed)} labels with a confidence of at least 0.68." in done.stdout
    expected = table.drop(columns="plant") if name == "iris.arff" else table
    for row, kind in changed.items():
        expected.loc[row, "kind"] = kind
    pd.testing.assert_frame_equal(read(fixed), expected if name == "iris.parquet" else expected.astype({"kind": "str"}))


def test_cells_of_a_corrected_table_keep_their_text():
    text = Path("iris.csv").read_text().replace("setosa", '"  Se, to"')
    text = text.replace(",p<", ",010.50 p<").replace("5.1,3.5,1.4", "5.10,?,NA", 1)
    Path("odd.csv").write_text(text)
    run("odd.csv", "-t", "kind", "-o", "s.csv", "--fix", "fixed.csv", "--confidence", 0)
    old, new = text.splitlines(), Path("fixed.csv").read_text().splitlines()
    differing = [k - 1 for k in range(151) if old[k] != new[k]]
    assert differing == sorted(pd.read_csv("s.csv")["row"] - 1)
    for k in differing:
        kind = {0: '"  Se, to"', 1: "versicolor", 2: "virginica"}[k // 50]
        assert new[k + 1] == f"{old[k + 1].rpartition(',')[0].rpartition(' p<')[0]} p<{k}>,{kind}"


def test_the_least_confidence_is_asked_for_in_a_terminal(monkeypatch):
    monkeypatch.setattr("fuselearn.cli.inspecting._is_terminal", lambda: True)
    arguments = ["audit", "iris.csv", "-t", "kind", "-o", "s.csv", "--fix", "c.csv"]
    done = CliRunner().invoke(app, arguments, input="2\n0.7\n")
    assert done.exit_code == 0
    listed = pd.read_csv("s.csv")
    assert f"{(listed['confidence'] >= 0.7).sum()} of at least 0.7" in done.stderr
    assert "from 0 to 1" in done.stderr
    changed = pd.read_csv("c.csv")["kind"] != pd.read_csv("iris.csv")["kind"]
    assert set(np.flatnonzero(changed)) == set(corrections(listed, 0.7))


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["iris.csv", "-t", "kind", "-o", "iris.csv"], "iris.csv is the input"),
        (["iris.csv", "-t", "kind", "--fix", "./iris.csv", "--force", "--confidence", 0.9], "iris.csv is the input"),
        (["iris.csv", "-t", "kind", "--fix", "a.csv"], "--fix needs --confidence, such as --confidence 0.9"),
        (["iris.csv", "-t", "kind", "--confidence", 0.9], "--confidence is for --fix"),
        (["iris.csv", "-t", "kind", "--fix", "a.arff", "--confidence", 0.9], "must end with .csv or .csv.gz"),
        (["iris.csv", "-t", "kind", "--fix", "notes.txt", "--confidence", 0.9], "notes.txt exists; use --force"),
        (["iris.csv", "-t", "kind", "-o", "a.csv", "--fix", "a.csv", "--confidence", 0.9], "a.csv is named twice"),
        (["iris.csv", "-t", "kind", "--html", "./iris.csv", "--force"], "iris.csv is the input"),
        (["iris.csv", "-t", "kind", "-o", "notes.txt"], "notes.txt exists and is not a list of suspects; use --force"),
        (["iris.csv", "-t", "kind", "--html", "notes.txt"], "notes.txt exists and is not a page of an audit"),
        (["iris.csv", "-t", "kind", "-o", "a.csv", "--html", "a.csv"], "a.csv is named twice"),
        (["iris.csv", "-t", "kind", "-o", "none/a.csv"], "the folder none does not exist"),
        (["iris.csv", "-t", "sort", "-o", "a.csv"], "no column 'sort'"),
        (["iris.csv", "-t", "sepal length", "-o", "a.csv"], "measurements"),
        (["absent.csv", "-t", "kind", "-o", "a.csv"], "There is no file absent.csv"),
        (["labels.csv", "-o", "a.csv"], "No label of y can be audited"),
        (["one.csv", "-t", "kind", "-o", "a.csv"], "one class only"),
    ],
)
def test_wrong_use_gets_a_sentence_and_no_file(arguments, sentence, tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "labels.csv").write_text("x,label:a,label:b\n" + "1,0,1\n2,0,1\n" * 5)
    (tmp_path / "one.csv").write_text("x,kind\n" + "1,a\n2,a\n" * 5)
    assert sentence in run(*arguments, code=2).stderr
    assert not (tmp_path / "a.csv").exists()
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_a_list_of_its_own_is_replaced(tmp_path):
    (tmp_path / "s.csv").write_text(",".join(["row", "customer", *COLUMNS[1:]]) + "\n")
    (tmp_path / "page.html").write_text("<title>Label audit of x – fuselearn</title>", encoding="utf-8")
    run("iris.csv", "-t", "kind", "-o", "s.csv", "--html", "page.html")
    assert len(pd.read_csv("s.csv")) >= 3
