"""Every benchmark and every example runs: with ``BENCHMARK_SIZE=small`` on few samples, so that none breaks unseen."""

import importlib
import os
import pkgutil
import runpy
import sys
import warnings
from pathlib import Path

import matplotlib
import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

from fuselearn import CARTClassifier

ROOT = Path(__file__).parent.parent
pytestmark = pytest.mark.skipif(not (ROOT / "benchmarks").exists(), reason="needs the repository")

# What others import, or what needs packages of others.
HELPERS = {"__main__", "multilabel_rivals", "plain_homer", "plain_kfhe", "plain_stratification", "tables", "timing"}
NAMES = sorted({found.name for found in pkgutil.iter_modules([str(ROOT / "benchmarks")])} - HELPERS)
# These start processes, each of which imports the library.
SLOW = {"chains", "cost", "homer", "large_svm", "out_of_core", "pct_forest", "scale", "scaling", "startup"}
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
FIGURES = sorted((ROOT / "docs" / "figures").glob("*.py"))


@pytest.fixture
def small(monkeypatch, tmp_path):
    """Import benchmarks anew, as small ones."""
    monkeypatch.setenv("BENCHMARK_SIZE", "small")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), *sys.path]))
    monkeypatch.chdir(tmp_path)
    known = [name for name in sys.modules if name.split(".")[0] == "benchmarks"]
    for name in known:
        monkeypatch.delitem(sys.modules, name)
    yield
    for name in [name for name in sys.modules if name.split(".")[0] == "benchmarks"]:
        del sys.modules[name]


def make_oracle(folder):
    """Write a table, and our own tree's probabilities as those of rpart."""
    X, y = load_iris(return_X_y=True, as_frame=True)
    X.assign(**{"class": y}).to_csv(folder / "iris.csv.gz", index=False)
    counts = np.arange(len(y)) % 3
    columns = {"count": counts}
    for name, complexity in (("unpruned", None), ("default", 0.01)):
        for training, weights in (("full", None), ("sample", counts)):
            scores = CARTClassifier(complexity=complexity).fit(X, y, sample_weight=weights).predict_proba(X)
            columns |= {f"{name}:{training}:{c}": scores[:, c] for c in range(3)}
    (folder / "oracle").mkdir()
    pd.DataFrame(columns).to_csv(folder / "oracle" / "iris.csv.gz", index=False)
    return str(folder / "oracle"), str(folder)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.slow) if n in SLOW else n for n in NAMES])
def test_a_benchmark_runs(name, small, tmp_path, capfd):
    arguments = make_oracle(tmp_path) if name == "rpart_parity" else ()
    importlib.import_module(f"benchmarks.{name}").main(*arguments)
    printed = capfd.readouterr().out
    assert printed
    if name == "rpart_parity":
        assert printed.splitlines()[-1].startswith("in all 0 of 600 rows differ")


def test_the_program_of_all_benchmarks_names_those_that_exist(small):
    program = importlib.import_module("benchmarks.__main__")
    assert set(program.ALL) | set(program.ON_REQUEST) <= set(NAMES)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs(path, tmp_path, monkeypatch):
    matplotlib.use("agg")
    monkeypatch.chdir(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        runpy.run_path(str(path))
    matplotlib.pyplot.close("all")


@pytest.mark.parametrize("path", FIGURES, ids=lambda path: path.stem)
def test_a_program_of_figures_finds_what_it_imports(path):
    runpy.run_path(str(path), run_name="imported")
