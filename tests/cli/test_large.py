"""`fuselearn train` on a Parquet file that would not fit into memory."""

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import fuselearn
from fuselearn.cli import large
from fuselearn.cli.main import app
from fuselearn.scale import sources


def run(*arguments, code=0):
    done = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert done.exit_code == code, (done.output, done.exception)
    return done


@pytest.fixture
def table(tmp_path, monkeypatch):
    """Write a table of several row groups, whose later categories are not in the first one."""
    monkeypatch.setattr(sources, "PART_VALUES", 600)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(600, 2)), columns=["a", "b"])
    frame["customer"] = [f"c{i}" for i in range(600)]
    frame["since"] = pd.date_range("2020-01-01", periods=600).strftime("%d.%m.%Y")
    frame["kind"] = np.where(frame.index < 400, rng.choice(["x", "y"], 600), "z")
    frame["churned"] = np.where((frame["a"] + (frame["kind"] == "x") > 0.5) ^ (rng.random(600) < 0.1), "yes", "no")
    frame.to_parquet(tmp_path / "big.parquet", row_group_size=90)
    return frame


@pytest.mark.parametrize("method", large.METHODS)
def test_the_model_is_that_of_training_in_memory(table, tmp_path, method):
    given = ["train", tmp_path / "big.parquet", "-t", "churned", "-m", method, "--set", "n_estimators=3", "-j", 1]
    whole = tmp_path / "whole.fuse"
    run(*given, "--out-of-core", "-o", tmp_path / "apart.fuse")
    run(*given, "--set", "sampling=poisson", "--holdout", 0, "-o", whole)
    models = [fuselearn.load(path) for path in (tmp_path / "apart.fuse", whole)]
    np.testing.assert_array_equal(*(model.predict_proba(table) for model in models))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["apart.fuse", "big.parquet", "whole.fuse"]


def test_it_is_chosen_if_memory_is_small_and_says_what_it_does(table, tmp_path, monkeypatch):
    given = ["train", tmp_path / "big.parquet", "-t", "churned", "-m", "forest", "-j", 1, "--force"]
    given += ["--set", "n_estimators=2", "-o", tmp_path / "m.fuse"]
    assert "part by part" not in run(*given).output
    monkeypatch.setattr(large, "memory_size", lambda: 50_000)
    monkeypatch.setattr(large, "SMALLEST_LEAF", 0.05)
    monkeypatch.setattr(large, "LOOKED_AT", 70)
    said = run(*given).output
    assert "is read in parts; 70 of its 600 samples decide how" in said
    assert "Leaves have at least 30 samples" in said
    assert "customer: dropped; it looks like an identifier" in said
    assert "No samples were held out" in said
    tree = fuselearn.load(tmp_path / "m.fuse")[-1][1].tree_
    assert tree.nodes["count"].min() >= 30
    assert "part by part" not in run(*given, "--in-memory").output
    run(*given, "--set", "min_samples_leaf=7")
    assert fuselearn.load(tmp_path / "m.fuse")[-1].min_samples_leaf == 7
    about = json.loads(run(*given, "--json").stdout)
    assert (about["rows"], about["columns"], about["classes"], about["left_out"]) == (600, 4, 2, ["customer"])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["-m", "fused", "-t", "churned"], "a --method among kfhe, adaboost, bagging, forest"),
        ([], "needs --target"),
        (["-t", "churnd"], "no column 'churnd'"),
        (["-t", "a"], "contains fractional numbers"),
        (["-t", "customer"], "pass --classes"),
    ],
)
def test_mistakes_get_a_sentence(table, tmp_path, given, message):
    said = run("train", tmp_path / "big.parquet", "--out-of-core", *given, "-o", tmp_path / "m.fuse", code=2)
    assert message in " ".join(said.output.split())


def test_only_parquet_files(tmp_path):
    (tmp_path / "a.csv").write_text("a,class\n1,2\n")
    said = run("train", tmp_path / "a.csv", "--out-of-core", "-o", tmp_path / "m.fuse", code=2)
    assert "--out-of-core needs a Parquet file" in said.output
    (tmp_path / "a.parquet").write_text("no")
    for how in ([], ["--out-of-core"], ["--in-memory"]):
        said = run("train", tmp_path / "a.parquet", "-t", "class", *how, "-o", tmp_path / "m.fuse", code=2)
        assert "a.parquet cannot be read" in said.output


def test_memory_of_this_machine():
    assert large.memory_size() > 2**28
