"""Every command runs its experiment on small data, and uses public names of the library only."""

import ast
from importlib import import_module
from pathlib import Path

import pandas as pd
import pytest

import reproduction
from reproduction.__main__ import main
from reproduction.experiments import EXPERIMENTS

SMALL = ["--repeats", "1", "--folds", "2", "--test-folds", "1", "--jobs", "1"]


def run(*arguments):
    return main([str(argument) for argument in arguments])


@pytest.mark.parametrize(
    ("experiment", "options"),
    [
        ("kfhe", ["--datasets", "iris", "--noise", "0,0.05"]),
        ("kfhe-settings", ["--datasets", "iris", "--methods", "KFHE-l", "--noise", "0.1"]),
        ("kfhe-homer-authors", ["--datasets", "digit_pairs", "--max-samples", "40"]),
        ("robust", ["--datasets", "iris,wine", "--methods", "Fused,CART", "--noise", "0.1", "--noise-kind", "pair"]),
        ("robust-labels", ["--datasets", "digit_pairs", "--methods", "CC,RF-PCT,RF,RF (cardinality)", "--noise", "0"]),
    ],
)
def test_an_experiment_runs_and_continues(experiment, options, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    paged = ["--page", "page.md"] if experiment in ("kfhe", "robust") else []
    assert run(experiment, *SMALL, *options, *paged) == 0, capsys.readouterr().err
    [folder] = tmp_path.glob("fuselearn-*")
    assert {"report.html", "results.db", "summary.csv", "summary-folds.csv", "summary.json"} <= {
        path.name for path in folder.iterdir()
    }
    summary = pd.read_csv(folder / "summary.csv")
    assert summary["failed"].sum() == 0
    if paged:
        first = Path("page.md").read_text(encoding="utf-8")
        assert run(experiment, "--summary", f"{folder.name}/summary.csv", "--page", "page.md") == 0
        assert Path("page.md").read_text(encoding="utf-8") == first


@pytest.mark.slow
def test_the_multilabel_paper_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    options = ["--datasets", "digit_pairs", "--max-samples", "40"]
    assert run("kfhe-homer", *SMALL, *options) == 0
    summary = pd.read_csv("fuselearn-kfhe-homer/summary.csv")
    assert set(summary["method"]) == set(EXPERIMENTS["kfhe-homer"].suite.methods)
    assert summary["failed"].sum() == 0


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["kfhe", "--methods", "Magic"], "--methods must be among KFHE, "),
        (["robust", "--folds", "3", "--test-folds", "4"], "test_folds must be at most folds, 3; got 4"),
        (["robust", "--noise-kind", "loud"], "noise_kind must be"),
        (["kfhe", "--summary", "a.csv", "b.csv", "--page", "p.md"], "is made from one summary; got 2"),
        (["kfhe-settings", "--summary", "a.csv", "--page", "p.md"], "has no page of its own"),
        (["kfhe", "--summary", "absent.csv", "--page", "p.md"], "absent.csv"),
    ],
)
def test_wrong_use_gets_a_sentence(arguments, sentence, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert run(*arguments) == 2
    assert sentence in capsys.readouterr().err


def test_ctrl_c_is_no_error(monkeypatch, tmp_path, capsys):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("reproduction.__main__.run_suite", interrupted)
    assert run("kfhe") == 130
    assert "Run the same command again to continue" in capsys.readouterr().err


def test_only_public_names_are_used():
    for path in Path(reproduction.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("fuselearn"):
                public = import_module(node.module)
                assert {name.name for name in node.names} <= {*public.__all__, *getattr(public, "_PACKAGES", ())}, path
                assert not any(part.startswith("_") for part in node.module.split("."))
