"""Every command and option does what its help says; wrong use gets a sentence and exit code 2."""

import importlib
import os
import re
import signal
import subprocess
import sys
import time
from typing import get_args

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from typer.testing import CliRunner

import fuselearn
from fuselearn.cli.commands import NoiseKind
from fuselearn.cli.main import app
from fuselearn.datasets.noise import KINDS, LABEL_KINDS
from fuselearn.lab.running import suites
from fuselearn.lab.running.runner import RunError, run_suite
from fuselearn.lab.running.store import ResultStore
from fuselearn.lab.running.suites import Suite

COMMANDS = ["demo", "reproduce", "compare", "report", "datasets"]


@pytest.fixture(autouse=True)
def _own_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FUSELEARN_DATA", raising=False)
    monkeypatch.setenv("FUSELEARN_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("TERM", "dumb")
    # Figures take seconds; tests of the report and those in a process of their own draw them.
    monkeypatch.setattr("fuselearn.lab.reporting.report.draw", lambda *arguments: [])


@pytest.fixture
def small_suites(monkeypatch):
    """Let every suite be a small one under the same name."""

    def small(name):
        return Suite(name, ["iris", "wine"], ["CART", "Bagging"], noise=[0, 0.2], repeats=1, folds=2)

    monkeypatch.setattr(suites, "get_suite", small)


@pytest.fixture
def fruit(tmp_path):
    """Return a small table of two separable classes."""
    rng = np.random.default_rng(0)
    kind = np.repeat(["apple", "pear"], 30)
    weight = np.where(kind == "apple", 150, 120) + rng.normal(0, 15, 60)
    frame = pd.DataFrame({"weight": weight, "colour": rng.choice(["red", "green"], 60), "kind": kind})
    frame.to_csv(tmp_path / "fruit.csv", index=False)
    return tmp_path / "fruit.csv"


def run(*arguments, code=0):
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == code, (result.stdout, result.stderr, result.exception)
    return result


def refused(*arguments):
    """Run a command that must be refused, and return the sentence."""
    result = run(*arguments, code=2)
    assert "Traceback" not in result.stderr
    assert not result.stdout
    return " ".join(re.sub(r"[│╭╮╰╯─]", " ", result.stderr).split())


def test_version():
    assert run("--version").stdout == f"fuselearn {fuselearn.__version__}\n"


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("flag", ["--help", "-h"])
def test_help_has_examples(command, flag):
    text = run(command, flag).stdout
    assert "Examples" in text
    assert text.count(f"fuselearn {command}") >= 3


def test_help_lists_the_commands():
    text = run("--help").stdout
    assert all(command in text for command in COMMANDS)
    assert "fuselearn demo" in text


@pytest.mark.usefixtures("small_suites")
def test_demo_prints_a_table_and_says_where_the_report_lies(tmp_path):
    text = run("demo", "--jobs", 1).stdout
    assert re.search(r"iris +│ 0\.\d{4} \(\d\)", text)
    assert "average rank" in text
    assert "best" in text
    assert text.rstrip().endswith(f"Report written to {tmp_path / 'fuselearn-demo' / 'report.html'}")
    assert "fuselearn demo" in (tmp_path / "fuselearn-demo" / "report.html").read_text(encoding="utf-8")


@pytest.mark.usefixtures("small_suites")
def test_a_finished_demo_starts_anew_and_a_stopped_one_goes_on(tmp_path):
    out = tmp_path / "out"
    run("demo", "--out", out, "--jobs", 1)
    with ResultStore(out / "results.db") as store:
        first = store.results()["finished"]
        store._connection.execute("DELETE FROM results WHERE dataset = 'iris'")
    run("demo", "--out", out, "--jobs", 1)
    with ResultStore(out / "results.db") as store:
        second = store.results()
    assert len(second) == len(first) == 16
    assert set(second.loc[second["dataset"] == "wine", "finished"]) <= set(first)
    run("demo", "--out", out, "--jobs", 1)
    with ResultStore(out / "results.db") as store:
        assert not set(store.results()["finished"]) & set(first)


@pytest.mark.usefixtures("small_suites")
def test_reproduce_writes_report_summary_and_costs(tmp_path):
    text = run("reproduce", "kfhe", "--quick", "--jobs", 1).stdout
    folder = tmp_path / "fuselearn-kfhe-quick"
    assert str(folder / "report.html") in text
    assert len(pd.read_csv(folder / "summary.csv")) == 8
    assert pd.read_json(folder / "summary.json", typ="series")["totals"]["results"] == 16
    assert "fuselearn reproduce kfhe --quick" in (folder / "report.html").read_text(encoding="utf-8")


@pytest.mark.usefixtures("small_suites")
def test_reproduce_resumes_unless_told_otherwise(tmp_path):
    store_path = tmp_path / "else" / "robust.db"
    options = ["reproduce", "robust", "--jobs", 1, "--store", store_path, "--out", tmp_path / "out"]

    def finished():
        with ResultStore(store_path) as store:
            return list(store.results()["finished"])

    run(*options)
    first = finished()
    run(*options, "--resume")
    assert finished() == first
    run(*options, "--fresh")
    assert not set(finished()) & set(first)


@pytest.mark.usefixtures("small_suites")
def test_robust_takes_another_kind_of_noise_and_other_sizes(tmp_path):
    options = ["--noise", "0.2", "--noise-kind", "pair", "--folds", 3, "--test-folds", 1, "--max-samples", 100]
    run("reproduce", "robust", *options, "--methods", "CART,Bagging,AdaBoost", "--datasets", "iris", "--jobs", 1)
    (folder,) = tmp_path.glob("fuselearn-robust-pair-*")
    with ResultStore(folder / "results.db") as store:
        suite = store.suite("robust-pair")
        assert (suite.noise_kind, suite.folds, suite.n_test_folds, suite.max_samples) == ("pair", 3, 1, 100)
        assert len(store.results()) == 3


def test_robust_writes_its_page(tmp_path, monkeypatch):
    suite = Suite("robust", ["iris", "wine"], ["Fused", "CART"], noise=[0.2], repeats=1, folds=2, test_folds=1)
    monkeypatch.setattr(suites, "get_suite", lambda name: suite)
    text = run("reproduce", "robust", "--jobs", 1, "--page", tmp_path / "page.md").stdout
    assert f"Tables written to {tmp_path / 'page.md'}" in text
    assert (tmp_path / "page-cost.svg").is_file()
    page = (tmp_path / "page.md").read_text(encoding="utf-8")
    assert page.startswith("# Classifiers compared on wrong labels")
    run("reproduce", "robust", "--jobs", 1, "--page", tmp_path / "page.md")  # its own page may be replaced


@pytest.mark.usefixtures("small_suites")
def test_a_method_without_its_package_is_named_with_the_extra(monkeypatch):
    monkeypatch.setattr(
        "fuselearn.lab.running.methods.Method.missing", property(lambda method: "".join(method.requires[:1]))
    )
    said = run("reproduce", "robust", "--methods", "CART,LightGBM,TabPFN", "--jobs", 1).stderr
    assert "LightGBM did not run: it needs the package lightgbm: pip install 'fuselearn[rivals]'." in said
    assert "TabPFN did not run: it needs the package tabpfn." in said


@pytest.mark.usefixtures("small_suites")
def test_other_repeats_have_a_folder_of_their_own(tmp_path):
    run("reproduce", "robust", "--repeats", 2, "--jobs", 1, "--backend", "sequential")
    with ResultStore(tmp_path / "fuselearn-robust-2-repeats" / "results.db") as store:
        assert len(store.results()) == 32
    run("reproduce", "robust", "--jobs", 1, "--out", tmp_path / "out")
    sentence = refused("reproduce", "robust", "--repeats", 3, "--jobs", 1, "--out", tmp_path / "out")
    assert "repeats was 1 and is 3" in sentence
    assert "--fresh" in sentence


def test_reproduce_can_write_the_page(monkeypatch, tmp_path):
    suite = Suite("kfhe", ["iris", "wine"], suites.PAPER_METHODS, noise=[0, 0.05], repeats=1, folds=2)
    monkeypatch.setattr(suites, "get_suite", lambda name: suite)
    text = run("reproduce", "kfhe", "--jobs", 1, "--page", tmp_path / "docs" / "page.md").stdout
    assert "Comparison with the paper written to" in text
    assert "# The KFHE paper, reproduced" in (tmp_path / "docs" / "page.md").read_text(encoding="utf-8")


def test_compare_reads_the_users_table(fruit, tmp_path):
    text = run(
        "compare", fruit, "--target", "kind", "--methods", "CART, Bagging", "--noise", "0,0.1",
        "--repeats", 1, "--folds", 2, "--seed", 3, "--jobs", 1,
    ).stdout  # fmt: skip
    page = (tmp_path / "fuselearn-fruit" / "report.html").read_text(encoding="utf-8")
    assert "fruit" in text
    assert "--target kind --noise 0,0.1 --methods &#39;CART, Bagging&#39; --repeats 1 --folds 2 --seed 3" in page
    assert "corrected resampled t-test" in page
    with ResultStore(tmp_path / "fuselearn-fruit" / "results.db") as store:
        assert store.suite("compare-fruit").seed == 3


def test_compare_takes_a_kind_of_noise(fruit, tmp_path):
    options = ["--methods", "CART,Bagging", "--repeats", 1, "--folds", 2, "--jobs", 1, "--noise", "0.1"]
    run("compare", fruit, "-t", "kind", *options, "--noise-kind", "neighbour")
    with ResultStore(tmp_path / "fuselearn-fruit" / "results.db") as store:
        assert store.suite("compare-fruit").noise_kind == "neighbour"
    assert "--noise-kind neighbour" in (tmp_path / "fuselearn-fruit" / "report.html").read_text(encoding="utf-8")
    assert get_args(NoiseKind) == tuple(dict.fromkeys((*KINDS, *LABEL_KINDS)))


def test_compare_summarises_once(fruit, monkeypatch):
    calls = []

    def counted(place, name):
        function = getattr(importlib.import_module(place), name)
        monkeypatch.setattr(f"{place}.{name}", lambda *args, **more: (calls.append(name), function(*args, **more))[1])

    counted("fuselearn.lab.reporting.report", "summarise_results")
    counted("fuselearn.lab.reporting.report", "find")
    run("compare", fruit, "-t", "kind", "--methods", "KFHE", "--repeats", 1, "--folds", 2, "--jobs", 1)
    assert sorted(calls) == ["find", "summarise_results"]


def test_one_dataset_has_a_line_per_method(fruit, tmp_path):
    path = tmp_path / "fruit[1].csv"
    path.write_bytes(fruit.read_bytes())
    options = ["--methods", "CART,Bagging", "--repeats", 1, "--folds", 2, "--jobs", 1]
    text = run("compare", path, "-t", "kind", *options).stdout
    assert "Macro F1 and rank, fruit[1]" in " ".join(text.split())
    assert len(re.findall(r"│ (CART|Bagging) +│ [01]\.\d{4} \([\d.]+\) │", text)) == 2
    assert "noise" not in text


@pytest.mark.parametrize(
    ("metric", "title"),
    [
        ("accuracy", "Accuracy"),
        ("balanced-accuracy", "Balanced accuracy"),
        ("auc", "AUC"),
        ("log-loss", "Log loss"),
        ("brier", "Brier"),
        ("calibration-error", "Calibration error"),
    ],
)
def test_compare_prints_another_metric_beside_macro_f1(fruit, tmp_path, metric, title):
    options = ["--methods", "CART,Bagging", "--repeats", 1, "--folds", 2, "--jobs", 1, "--metric", metric]
    text = " ".join(run("compare", fruit, "-t", "kind", *options).stdout.split())
    assert "Macro F1 and rank, fruit" in text
    table = text[text.index(f"{title} and rank, fruit") :]
    means = pd.read_csv(tmp_path / "fuselearn-fruit" / "summary.csv").set_index("method")[metric.replace("-", "_")]
    best = means.idxmin() if metric in ("log-loss", "brier", "calibration-error") else means.idxmax()
    assert f"{best} │ {means[best]:.4f} (1" in table


def test_compare_takes_all_methods_by_default(fruit, monkeypatch):
    asked = []
    monkeypatch.setattr("fuselearn.cli.commands.run", lambda suite, place, **more: asked.append(suite))
    run("compare", fruit, "-t", "kind")
    assert {"KFHE", "RandomForest", "HistGradientBoosting", "CART"} <= set(asked[0].methods)
    assert asked[0].noise == (0.0,)


def test_a_changed_table_is_not_mixed_with_old_results(fruit):
    options = ["compare", fruit, "-t", "kind", "--methods", "CART", "--repeats", 1, "--folds", 2, "--jobs", 1]
    assert "noise" not in run(*options).stdout
    fruit.write_text(fruit.read_text(encoding="utf-8") + "151,red,apple\n", encoding="utf-8")
    assert "holds another suite" in refused(*options)
    run(*options, "--fresh")


def test_report_from_a_store(fruit, tmp_path):
    run("compare", fruit, "-t", "kind", "--methods", "CART,Bagging", "--folds", 2, "--repeats", 1, "--jobs", 1)
    store = tmp_path / "fuselearn-fruit" / "results.db"
    text = run("report", store, "-o", tmp_path / "new.html", "--suite", "compare-fruit", "--no-traces").stdout
    assert text == f"Report written to {tmp_path / 'new.html'}\n"
    assert "of two methods" in (tmp_path / "new.html").read_text(encoding="utf-8")


def test_datasets_says_where_each_would_come_from(tmp_path):
    folder = tmp_path / "data" / "multiclass"
    folder.mkdir(parents=True)
    (folder / "sonar.csv.gz").touch()
    lines = run("datasets", "--data-dir", tmp_path / "data").stdout.splitlines()
    found = {line.split("│")[1].strip(): line for line in lines if line.startswith("│")}
    assert "scikit-learn" in found["iris"]
    assert "✓" in found["iris"]
    assert "sonar.csv.gz" in found["sonar"]
    assert "OpenML dataset 41" in found["glass"]
    assert "✓" not in found["glass"]
    assert "scene" in found
    assert "FUSELEARN_DATA" not in os.environ
    only = run("datasets", "--task", "multiclass").stdout
    assert "scene" not in only


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["nonsense"], "No such command 'nonsense'"),
        (["demo", "--jobs", "0"], "--jobs must be a positive integer, or -1"),
        (["demo", "--speed", "9"], "--speed"),
        (["reproduce"], "Missing argument"),
        (["reproduce", "nature"], "'kfhe'"),
        (["reproduce", "kfhe", "--datasets", "iris,irs"], "--datasets must be among"),
        (["reproduce", "robust", "--quick"], "--quick is available for kfhe and kfhe-homer"),
        (["reproduce", "kfhe", "--quick", "--page", "x.md"], "remove --quick"),
        (["reproduce", "kfhe-homer-authors", "--page", "x.md"], "--page is for the full experiments"),
        (["reproduce", "kfhe", "--noise", "0.1"], "--noise is for robust and robust-labels; the papers fix it"),
        (["reproduce", "kfhe-homer", "--noise-kind", "pair"], "--noise-kind is for robust"),
        (["reproduce", "kfhe", "--max-samples", "9"], "--max-samples is for robust"),
        (["reproduce", "robust", "--folds", "3", "--test-folds", "4"], "test_folds must be at most folds, 3; got 4"),
        (["reproduce", "robust", "--methods", "Magic"], "--methods must be among Fused, KFHE"),
        (["reproduce", "robust", "--noise", "much"], "--noise must be fractions separated by commas"),
        (["reproduce", "kfhe", "--repeats", "0"], "--repeats"),
        (["reproduce", "kfhe", "--backend", "magic"], "--backend"),
        (["reproduce", "kfhe", "--backend", "loky", "--scheduler", "tcp://h:1"], "--scheduler needs --backend dask"),
        (["reproduce", "kfhe", "--data-dir", "absent"], "--data-dir must be an existing folder; absent is not one"),
        (["report", "absent.db"], "There is no results store absent.db"),
        (["report", "fruit.csv"], "fruit.csv is not a results store"),
        (["compare", "absent.csv"], "There is no file absent.csv"),
        (["compare", "fruit.csv"], "does not define a target"),
        (["compare", "fruit.csv", "-t", "taste"], "taste"),
        (["compare", "fruit.csv", "-t", "kind", "--methods", "Magic"], "--methods must be among Fused, KFHE"),
        (["compare", "fruit.csv", "-t", "kind", "--noise", "much"], "--noise must be fractions separated by commas"),
        (["compare", "fruit.csv", "-t", "kind", "--noise", "10"], "noise must hold fractions"),
        (["compare", "fruit.csv", "-t", "kind", "--folds", "40"], "Use fewer folds"),
        (["datasets", "--task", "regression"], "--task"),
        (["demo", "--out", "fruit.csv"], "fruit.csv"),
        (["report", "absent.db", "-o", "."], ". is a folder; the report needs a file name"),
    ],
)
@pytest.mark.usefixtures("fruit")
def test_wrong_use(arguments, sentence):
    assert sentence in refused(*arguments)


def test_missing_data_are_named_before_any_work(monkeypatch, tmp_path):
    # OpenML has no tvowel, so this fails without asking the network.
    suite = Suite("robust", ["tvowel"], ["CART"], repeats=1, folds=2)
    monkeypatch.setattr(suites, "get_suite", lambda name: suite)
    (tmp_path / "empty").mkdir()
    assert "'tvowel' is not available" in refused("reproduce", "robust", "--data-dir", "empty", "--jobs", 1)


def test_a_file_that_is_no_store_is_never_deleted(tmp_path):
    (tmp_path / "precious.txt").write_text("my notes, all of them, not a store", encoding="utf-8")
    sentence = refused("reproduce", "kfhe", "--quick", "--store", "precious.txt", "--fresh")
    assert "is not a results store" in sentence
    assert (tmp_path / "precious.txt").read_text(encoding="utf-8").startswith("my notes")


@pytest.mark.usefixtures("small_suites")
def test_ctrl_c_says_how_to_go_on(monkeypatch):
    def interrupted(*arguments, **more):
        raise KeyboardInterrupt

    monkeypatch.setattr("fuselearn.lab.running.runner.run_suite", interrupted)
    result = run("reproduce", "kfhe", "--quick", "--fresh", code=130)
    assert result.stderr == (
        "Stopped. Finished results are kept in fuselearn-kfhe-quick/results.db; "
        "resume with: fuselearn reproduce kfhe --quick\n"
    )


@pytest.mark.usefixtures("small_suites")
def test_a_broken_run_is_a_failure_with_a_sentence(monkeypatch):
    def broken(*arguments, **more):
        raise RunError("A worker process died.")

    monkeypatch.setattr("fuselearn.lab.running.runner.run_suite", broken)
    assert run("demo", code=1).stderr == "A worker process died.\n"


def test_every_method_failing_is_a_failure(monkeypatch, tmp_path):
    suite = Suite("demo", ["iris"], ["Broken"], repeats=1, folds=2)

    class Broken(ClassifierMixin, BaseEstimator):
        def fit(self, X, y):
            raise ValueError("Boom")

        def predict(self, X):
            return X

    def run_broken(suite, store, **more):
        return run_suite(suite, store, estimators={"Broken": Broken()}, n_jobs=1)

    monkeypatch.setattr(suites, "get_suite", lambda name: suite)
    monkeypatch.setattr("fuselearn.lab.running.runner.run_suite", run_broken)
    result = run("demo", code=1)
    assert "Every method failed; the errors are listed in fuselearn-demo/report.html" in result.stderr
    assert "ValueError: Boom" in (tmp_path / "fuselearn-demo" / "report.html").read_text(encoding="utf-8")


def test_a_pipe_sees_no_bar_and_no_escape_codes(fruit):
    done = run("compare", fruit, "-t", "kind", "--methods", "CART", "--repeats", 1, "--folds", 2, "--jobs", 1)
    assert done.stderr == ""
    assert "\x1b" not in done.stdout
    assert done.stdout.rstrip().endswith("report.html")


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="needs SIGINT and process groups")
def test_a_real_ctrl_c_keeps_what_is_finished(fruit, tmp_path):
    options = ["compare", fruit, "-t", "kind", "--methods", "KFHE", "--repeats", "5000", "--jobs", "2"]
    command = [sys.executable, "-m", "fuselearn", *map(str, options)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=tmp_path, start_new_session=True)
    store_path = tmp_path / "fuselearn-fruit" / "results.db"
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and not (store_path.exists() and _n_results(store_path) > 5):
        time.sleep(0.2)
    os.killpg(process.pid, signal.SIGINT)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 130
    assert stderr.splitlines()[-1].startswith(
        "Stopped. Finished results are kept in fuselearn-fruit/results.db; resume"
    )
    assert "Traceback" not in stderr
    assert _n_results(store_path) > 5


def _n_results(path):
    with ResultStore(path) as store:
        return len(store.results()) if store.suites() else 0
