"""Commands read tables as they come from real life, say what they do with each column, and remember it."""

import json
import sys
import warnings
from collections import deque

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import fuselearn
from fuselearn.cli.main import app

N = 300


@pytest.fixture(scope="module")
def churn():
    """Make a table of customers with an identifier, a date and a note beside what matters."""
    rng = np.random.default_rng(0)
    tenure, charge = rng.integers(1, 72, N), rng.normal(60, 20, N).round(2)
    contract = rng.choice(["monthly", "yearly"], N)
    days = pd.Timestamp("2019-01-01") + pd.to_timedelta(rng.integers(0, 1500, N), "D")
    frame = pd.DataFrame({"id": [f"C{100_000 + 7 * number}" for number in rng.permutation(N)]})
    frame = frame.assign(signup=days.strftime("%Y-%m-%d"), tenure=tenure, charge=charge, contract=contract)
    frame["note"] = [f"called about ticket {number}" for number in rng.integers(1_000_000, size=N)]
    frame["churned"] = np.where((tenure < 24) & (contract == "monthly") | (charge > 85), "yes", "no")
    return frame


@pytest.fixture
def folder(churn, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("fuselearn.lab.report.draw", lambda *arguments: [])
    churn.to_csv("churn.csv", index=False)
    return tmp_path


def run(*arguments, code=0):
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == code, (result.output, result.exception)
    return result


def train(file, *options, target="churned", code=0):
    return run("train", file, "-t", target, "-m", "cart", "-o", "m.fuse", *options, code=code)


def test_nearly_unique_columns_do_not_ruin_a_comparison(folder, churn):
    churn.drop(columns=["id", "signup", "note"]).to_csv("clean.csv", index=False)
    options = ["-t", "churned", "-m", "kfhe", "-m", "cart", "--repeats", 1, "--folds", 2, "--jobs", 1]
    scores = {}
    for name in ("churn", "clean"):
        said = run("compare", f"{name}.csv", *options).stderr
        table = pd.read_csv(f"fuselearn-{name}/summary.csv", index_col="method")
        scores[name] = table["score"]
        assert ("id: dropped; it looks like an identifier, with 300 different values" in said) == (name == "churn")
    assert scores["churn"]["kfhe"] > scores["clean"]["kfhe"] - 0.01
    assert scores["churn"]["cart"] > 0.95


def test_train_says_what_it_does_with_each_column(folder, churn):
    mixed = churn.astype({"charge": object})
    mixed.loc[[3, 7], "charge"] = ["unknown", "n/a"]
    mixed.to_csv("mixed.csv", index=False)
    result = train("mixed.csv")
    assert result.stderr.splitlines() == [
        "id: dropped; it looks like an identifier, with 300 different values in 300 samples (--keep id uses it).",
        f"signup: dates such as '{churn['signup'][0]}', used as days since 1970-01-01.",
        "charge: numbers, with 'n/a', 'unknown' read as missing.",
        "note: dropped; it looks like free text, with 300 different values in 300 samples (--keep note uses it).",
    ]
    assert "on 300 samples, 4 features and 2 classes" in result.stdout
    said = json.loads(train("mixed.csv", "--json").stdout)
    assert said["left_out"] == ["id", "note"]


def test_new_files_and_frames_are_read_as_in_training(folder, churn):
    mixed = churn.astype({"charge": object}).drop(columns="churned")
    mixed.loc[[3, 7], "charge"] = ["unknown", "n/a"]
    mixed.assign(churned=churn["churned"]).to_csv("mixed.csv", index=False)
    train("mixed.csv")
    expected = run("predict", "m.fuse", "mixed.csv").stdout
    assert expected.split()[1:] == fuselearn.load("m.fuse").predict(mixed).tolist()
    assert np.mean(np.array(expected.split()[1:]) == churn["churned"]) > 0.95
    fewer = mixed.drop(columns=["id", "note"])
    fewer[fewer.columns[::-1]].to_csv("fewer.csv", index=False)
    mixed.assign(signup=pd.to_datetime(mixed["signup"]), charge=mixed["charge"].map(str)).to_parquet("new.parquet")
    for name in ("fewer.csv", "new.parquet"):
        result = run("predict", "m.fuse", name)
        assert result.stdout == expected
        assert result.stderr == ""
    mixed.loc[0, "signup"] = "soon"
    mixed.to_csv("soon.csv", index=False)
    assert "'signup' contains 'soon'" in run("predict", "m.fuse", "soon.csv", code=2).stderr


def test_columns_are_chosen_by_name(folder):
    for options, columns in [
        (["--drop", "signup,contract", "--drop", "tenure"], ["charge"]),
        (["--only", "charge, tenure"], ["tenure", "charge"]),
        (["--only", "id", "--only", "charge"], ["id", "charge"]),
        (["--keep", "id", "--drop", "signup"], ["id", "tenure", "charge", "contract"]),
        (["--index", "id"], ["signup", "tenure", "charge", "contract"]),
    ]:
        train("churn.csv", *options)
        header = json.loads(run("info", "m.fuse", "--json").stdout)
        assert [column["name"] for column in header["columns"]] == columns
    for option in ("--drop", "--only", "--keep", "--index"):
        said = train("churn.csv", option, "charg", code=2).stderr
        assert "has no column 'charg' to" in said
        assert "did you mean 'charge'?" in said


def test_a_name_with_a_comma_is_one_name(folder, churn):
    churn.rename(columns={"charge": "charge, net"}).to_csv("comma.csv", index=False)
    train("comma.csv", "--only", "charge, net")
    assert [c["name"] for c in json.loads(run("info", "m.fuse", "--json").stdout)["columns"]] == ["charge, net"]


def test_the_index_stands_before_the_predictions(folder, churn):
    train("churn.csv", "--index", "id")
    run("predict", "m.fuse", "churn.csv", "--index", "id", "--proba", "-o", "p.csv")
    predicted = pd.read_csv("p.csv")
    assert predicted.columns.tolist() == ["id", "prediction", "p:no", "p:yes"]
    assert predicted["id"].tolist() == churn["id"].tolist()
    churn.rename(columns={"id": "prediction"}).to_csv("odd.csv", index=False)
    said = run("predict", "m.fuse", "odd.csv", "--index", "prediction", code=2).stderr
    assert "The column 'prediction' cannot be kept" in said


def test_separators_encodings_and_decimal_marks_are_options_everywhere(folder, churn):
    german = churn.assign(contract=churn["contract"].str.replace("yearly", "jährlich")).rename(
        columns={"note": "größe"}
    )
    german.to_csv("g.csv", sep=":", decimal=",", encoding="latin-1", index=False)
    options = ["--sep", ":", "--decimal", ",", "--encoding", "latin-1"]
    train("g.csv", *options)
    result = run("predict", "m.fuse", "g.csv", *options)
    assert np.mean(np.array(result.stdout.split()[1:]) == churn["churned"]) > 0.95
    info = json.loads(run("info", "g.csv", *options, "--json").stdout)
    assert {"name": "charge", "type": "number", "used": True, "missing": 0, "note": None} in info["columns"]
    small = ["-t", "churned", "-m", "cart", "--repeats", 1, "--folds", 2, "--jobs", 1]
    run("compare", "g.csv", *options, *small, "--drop", "id", "--drop", "tenure")
    page = (folder / "fuselearn-g" / "report.html").read_text(encoding="utf-8")
    assert "--drop id --drop tenure" in page
    assert "--encoding latin-1 --decimal ," in page
    assert "Pass its encoding (--encoding" in run("predict", "m.fuse", "g.csv", "--sep", ":", code=2).stderr


def test_a_tab_can_be_spelled(folder, churn):
    churn.to_csv("t.csv", sep="\t", index=False)
    for spelling in ("tab", r"\t", "\t"):
        assert "t.csv: 300 rows, 7 columns" in run("info", "t.csv", "--sep", spelling).stdout


def test_truth_values_survive_the_trip_through_a_file(folder, churn):
    table = churn.assign(paid=churn["churned"] == "no", late=np.where(np.arange(N) % 9, churn["charge"] > 60, None))
    table[["paid", "late", "churned"]].to_csv("b.csv", index=False)
    train("b.csv")
    assert run("predict", "m.fuse", "b.csv").stdout.split()[1:] == churn["churned"].tolist()


def test_info_tells_what_training_would_do(folder):
    text = run("info", "churn.csv", "--target", "churned", "--drop", "tenure").stdout
    lines = dict(line.split(None, 1) for line in text.splitlines())
    assert lines["table"] == "churn.csv: 300 rows, 6 columns"
    assert lines["target"].startswith("churned: 2 classes, no (")
    assert lines["id"].startswith("dropped; it looks like an identifier")
    assert lines["signup"].startswith("dates such as")
    assert lines["tenure"] == "dropped"
    assert lines["charge"] == "number"
    assert lines["contract"] == "category"
    train("churn.csv")
    text = run("info", "m.fuse").stdout
    assert "signup (date), tenure, charge, contract (2 categories)" in text
    assert "left out     id, note" in text


def test_a_file_without_samples_gives_predictions_without_samples(folder, churn):
    churn.iloc[:0].to_csv("none.csv", index=False)
    churn.iloc[:0].to_parquet("none.parquet")
    for drop in ("id", "id,signup,note"):
        train("churn.csv", "--drop", drop, "--holdout", 0)
        for name, options, expected in (
            ("none.csv", [], "prediction\n"),
            ("none.parquet", ["--proba"], "prediction,p:no,p:yes\n"),
        ):
            assert run("predict", "m.fuse", name, *options).stdout == expected
            assert "Predicted 0 samples" in run("predict", "m.fuse", name, "-o", f"{name}.out", *options).stdout
            assert (folder / f"{name}.out").read_text() == expected
    assert run("predict", "m.fuse", "none.csv", "--json").stdout == ""


def test_measurements_are_not_taken_for_classes(folder):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.normal(size=200), "amount": rng.integers(500, size=200)})
    table["name"] = [f"n{number}" for number in table["amount"]]
    table["grade"] = rng.integers(8, size=200)
    table.to_csv("m.csv", index=False)
    small = ["-m", "cart", "--repeats", 1, "--folds", 2, "--jobs", 1]
    for target, looks in (
        ("amount", "different numbers in 200 samples, which look like measurements"),
        ("name", "names"),
    ):
        for said in (train("m.csv", target=target, code=2), run("compare", "m.csv", "-t", target, *small, code=2)):
            assert f"The target '{target}' of m.csv has" in said.stderr
            assert looks in said.stderr
            assert "--classes" in said.stderr
        train("m.csv", "--classes", "--holdout", 0, target=target)
    train("m.csv", target="grade")
    said = run("compare", "m.csv", "-t", "amount", "--classes", "--drop", "name", *small, "--force")
    assert "classes make most methods slow" in said.stderr


def test_warnings_are_sentences_without_paths(folder, churn):
    def warned(*_, **__):
        for _ in range(2):
            warnings.warn("The oven is hot.", UserWarning, stacklevel=1)
        raise FileNotFoundError("There is no oven.")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fuselearn.datasets.files.read_whole", warned)
        patch.setattr("fuselearn.datasets.read_table", warned)
        result = train("churn.csv", code=2)
    assert result.stderr == "Warning: The oven is hot.\nThere is no oven.\n"
    assert warnings.showwarning.__module__ != "fuselearn.cli.errors"


def test_warnings_of_libraries_are_sentences_too(folder, churn):
    churn.assign(label=churn["id"]).to_csv("names.csv", index=False)
    said = train("names.csv", "--classes", target="label").stderr
    assert "Warning: The number of unique classes" in said
    assert ".py" not in said


OPENED = deque(maxlen=10_000)
sys.addaudithook(lambda event, given: OPENED.append(str(given[0])) if event == "open" else None)


@pytest.mark.parametrize(
    ("command", "name"),
    [
        *((command, "churn.csv") for command in ("train", "info", "audit", "compare")),
        *(("info", f"churn.{ending}") for ending in ("csv.gz", "arff", "parquet")),
        ("compare", "churn.arff"),
    ],
)
def test_a_table_is_opened_once(folder, churn, command, name):
    churn = churn[["tenure", "charge", "churned"]]
    churn.to_csv("churn.csv.gz", index=False)
    churn.to_parquet("churn.parquet")
    kinds = ["tenure integer", "charge real", "churned {no,yes}"]
    header = "".join(f"@attribute {kind}\n" for kind in kinds)
    rows = churn.to_csv(index=False, header=False)
    (folder / "churn.arff").write_text(f"@relation r\n{header}@data\n{rows}")
    small = ["-m", "cart", "-m", "kfhe", "--repeats", 1, "--folds", 2]
    options = {"train": ["-m", "cart", "-o", "m.fuse", "--in-memory"], "compare": small}
    OPENED.clear()
    run(command, name, "-t", "churned", *options.get(command, []), *([] if command == "info" else ["-j", 1]))
    assert [path for path in OPENED if path.endswith(name)] == [name]


def test_an_exported_model_takes_what_the_cleaner_makes(folder, churn):
    onnxruntime = pytest.importorskip("onnxruntime")
    train("churn.csv", "--drop", "contract")
    result = run("export", "m.fuse", "-o", "m.onnx")
    assert "The ONNX model expects numbers for signup" in result.stderr
    model = fuselearn.load("m.fuse")
    X = model[0].transform(churn).to_numpy(dtype=np.float64)
    label = onnxruntime.InferenceSession("m.onnx").run(["label"], {"X": X})[0]
    assert label.tolist() == model.predict(churn).tolist()


def test_a_sparse_table_is_trained_on_and_predicted_for_by_name(folder):
    rng = np.random.default_rng(0)
    lines = [f"@attribute w{place} numeric" for place in range(120)] + [
        "@attribute label:a {0,1}",
        "@attribute label:b {0,1}",
    ]
    table = np.where(rng.random((60, 120)) < 0.1, 1.5, 0)
    labels = (table[:, :2] > 0).astype(int)
    full = np.hstack([table, labels])
    rows = ["{" + ", ".join(f"{place} {row[place]:g}" for place in np.flatnonzero(row)) + "}" for row in full]
    (folder / "s.arff").write_text("\n".join(["@relation r", *lines, "@data", *rows]) + "\n")
    frame = pd.DataFrame(table, columns=[f"w{place}" for place in range(120)])
    frame[frame.columns[::-1]].assign(other=1).to_csv("s.csv", index=False)
    for method in ("ecc", "pct-forest"):
        options = ["-m", method, "--set", "n_estimators=2", "--drop", "w7", "--holdout", 0, "-j", 1]
        assert "60 samples, 119 features and 2 labels" in run("train", "s.arff", *options, "-o", "s.fuse").stdout
        model = fuselearn.load("s.fuse")
        expected = pd.DataFrame(model.predict(frame), columns=["a", "b"]).to_csv(index=False)
        assert run("predict", "s.fuse", "s.arff").stdout == run("predict", "s.fuse", "s.csv").stdout == expected
    names = json.loads(run("info", "s.fuse", "--json").stdout)["columns"]
    assert [column["name"] for column in names[5:8]] == ["w5", "w6", "w8"]
