"""Every command and option does what its help says; wrong use gets a sentence and exit code 2."""

import importlib
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import typer
from sklearn.base import BaseEstimator, ClassifierMixin
from typer.testing import CliRunner

import fuselearn
from fuselearn.cli.main import app
from fuselearn.lab import ResultStore, RunError, Suite, run_suite, suites

COMMANDS = ["demo", "compare", "report", "methods"]


@pytest.fixture(autouse=True)
def _own_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FUSELEARN_DATA", raising=False)
    monkeypatch.setenv("FUSELEARN_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("TERM", "dumb")
    # Figures take seconds; tests of the report and those in a process of their own draw them.
    monkeypatch.setattr("fuselearn.lab.report.draw", lambda *arguments: [])


@pytest.fixture
def small_demo(monkeypatch):
    suite = Suite("demo", ["iris", "wine"], ["cart", "bagging"], noise=[0, 0.2], repeats=1, folds=2)
    monkeypatch.setattr(suites, "DEMO", suite)
    monkeypatch.setattr("fuselearn.cli.comparing.AUDITED", [])


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
    assert text.count(f"fuselearn {command}") >= 2


def test_every_option_is_used_in_a_test():
    written = "".join(file.read_text(encoding="utf-8") for file in Path(__file__).parent.glob("test_*.py"))
    for name, command in typer.main.get_command(app).commands.items():
        for parameter in command.params:
            options = [option for option in parameter.opts + parameter.secondary_opts if option[0] == "-"]
            assert not options or any(f'"{option}"' in written for option in options), (name, options)


def test_help_lists_the_commands():
    text = run("--help").stdout
    assert all(command in text for command in COMMANDS)
    assert "fuselearn demo" in text


@pytest.mark.usefixtures("small_demo")
def test_demo_prints_tables_and_suspects_and_what_to_try_next(tmp_path, monkeypatch):
    monkeypatch.setattr("fuselearn.cli.comparing.AUDITED", ["wine"])
    text = run("demo", "--jobs", 1).stdout
    assert re.search(r"iris +│ 0\.\d{4} \(\d\)", text)
    assert "average rank" in text
    assert "best" in text
    assert f"Report written to {tmp_path / 'fuselearn-demo' / 'report.html'}" in text
    assert re.search(r"(\d+) suspects contain (?!0 )\d+ of the 18 wrong labels", text)
    assert re.search(r"^\d+ +(class_\d) +(class_\d) +0\.\d{3} +\2 *$", text, re.MULTILINE), "a wrong label is corrected"
    assert text.splitlines()[-1].split()[:3] == ["fuselearn", "audit", "FILE.csv"]
    assert "fuselearn demo" in (tmp_path / "fuselearn-demo" / "report.html").read_text(encoding="utf-8")


@pytest.mark.usefixtures("small_demo")
def test_more_levels_of_noise_than_datasets_make_a_table_per_dataset_with_seconds(monkeypatch):
    suite = Suite("demo", ["iris", "wine"], ["cart", "bagging"], noise=[0, 0.2, 0.4], repeats=1, folds=2)
    monkeypatch.setattr(suites, "DEMO", suite)
    text = run("demo", "--jobs", 1).stdout
    assert [line.strip() for line in text.splitlines() if line.startswith("Macro F1")] == [
        "Macro F1 and rank, iris",
        "Macro F1 and rank, wine",
    ]
    assert len(re.findall(r"│ cart +│( 0\.\d{4} \(\S+\) │){3} +[\d.e-]+ │", text)) == 2


@pytest.mark.usefixtures("small_demo")
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


def test_compare_reads_the_users_table(fruit, tmp_path):
    text = run(
        "compare", fruit, "--target", "kind", "-m", "cart", "--method", "bagging(n_estimators=9)", "--noise", "0,0.1",
        "--repeats", 1, "--folds", 2, "--seed", 3, "--jobs", 1,
    ).stdout  # fmt: skip
    page = (tmp_path / "fuselearn-fruit" / "report.html").read_text(encoding="utf-8")
    assert "fruit" in text
    assert "--method cart --method &#39;bagging(n_estimators=9)&#39; --repeats 1 --folds 2 --seed 3" in page
    assert "corrected resampled t-test" in page
    with ResultStore(tmp_path / "fuselearn-fruit" / "results.db") as store:
        assert store.suite("compare-fruit").seed == 3


def test_compare_takes_a_kind_of_noise(fruit, tmp_path):
    options = ["-m", "cart", "-m", "bagging", "--repeats", 1, "--folds", 2, "--jobs", 1, "--noise", "0.1"]
    run("compare", fruit, "-t", "kind", *options, "--noise-kind", "neighbor")
    with ResultStore(tmp_path / "fuselearn-fruit" / "results.db") as store:
        assert store.suite("compare-fruit").noise_kind == "neighbor"
    assert "--noise-kind neighbor" in (tmp_path / "fuselearn-fruit" / "report.html").read_text(encoding="utf-8")
    assert all(kind in " ".join(run("compare", "--help").stdout.split()) for kind in ("uniform", "forgotten"))


def test_compare_summarises_once(fruit, monkeypatch):
    calls = []

    def counted(place, name):
        function = getattr(importlib.import_module(place), name)
        monkeypatch.setattr(f"{place}.{name}", lambda *args, **more: (calls.append(name), function(*args, **more))[1])

    counted("fuselearn.lab.report", "summarize_results")
    counted("fuselearn.lab.report", "compare_methods")
    run("compare", fruit, "-t", "kind", "-m", "kfhe", "--repeats", 1, "--folds", 2, "--jobs", 1)
    assert sorted(calls) == ["compare_methods", "summarize_results"]


def test_one_dataset_has_a_line_per_method(fruit, tmp_path):
    path = tmp_path / "fruit[1].csv"
    path.write_bytes(fruit.read_bytes())
    options = ["-m", "cart", "-m", "bagging", "--repeats", 1, "--folds", 2, "--jobs", 1]
    text = run("compare", path, "-t", "kind", *options).stdout
    assert "Macro F1 and rank, fruit[1]" in " ".join(text.split())
    assert len(re.findall(r"│ (cart|bagging) +│ [01]\.\d{4} \([\d.]+\) │", text)) == 2
    assert "noise" not in text


@pytest.mark.parametrize(("metric", "title"), [("balanced-accuracy", "Balanced accuracy"), ("brier", "Brier score")])
def test_compare_prints_another_metric_beside_macro_f1(fruit, tmp_path, metric, title):
    options = ["-m", "cart", "-m", "bagging", "--repeats", 1, "--folds", 2, "--jobs", 1, "--metric", metric]
    text = " ".join(run("compare", fruit, "-t", "kind", *options).stdout.split())
    assert "Macro F1 and rank, fruit" in text
    table = text[text.index(f"{title} and rank, fruit") :]
    means = pd.read_csv(tmp_path / "fuselearn-fruit" / "summary.csv").set_index("method")[metric.replace("-", "_")]
    best = means.idxmin() if metric == "brier" else means.idxmax()
    assert f"{best} │ {means[best]:.4f} (1" in table


def test_compare_takes_all_methods_by_default(fruit, monkeypatch):
    asked = []
    monkeypatch.setattr("fuselearn.cli.comparing.run", lambda suite, folder, **more: asked.append(suite))
    run("compare", fruit, "-t", "kind")
    assert {"kfhe", "random-forest", "hist-gradient-boosting", "cart"} <= set(asked[0].methods)
    assert asked[0].noise == (0.0,)


def test_compare_takes_classes_from_anywhere(fruit, tmp_path):
    foreign = "sklearn.tree:DecisionTreeClassifier(max_depth=2)"
    run("compare", fruit, "-t", "kind", "-m", "cart", "-m", foreign, "--repeats", 1, "--folds", 2, "--jobs", 1)
    summary = pd.read_csv(tmp_path / "fuselearn-fruit" / "summary.csv", index_col="method")
    assert summary.index.tolist() == ["cart", foreign]
    assert (summary["score"] > 0.7).all()


def test_compare_takes_several_files_and_folders(fruit, tmp_path):
    (tmp_path / "more").mkdir()
    frame = pd.read_csv(fruit)
    for number in range(3):
        frame.sample(frac=0.8, random_state=number).to_csv(tmp_path / "more" / f"part{number}.csv", index=False)
    small = ["-m", "cart", "-m", "bagging", "-m", "svm", "--repeats", 1, "--folds", 2, "--jobs", 1]
    done = run("compare", fruit, "more", "-t", "kind", *small, "--control", "cart", "--metric", "accuracy")
    text = " ".join(done.stdout.split())
    for dataset in ("fruit", "part0", "part1", "part2", "average rank"):
        assert re.search(rf"│ {dataset} +│", text)
    assert "Accuracy and rank" in text
    assert "correction for the pairs with cart" in text
    assert "more/part1.csv:" in done.stderr
    page = (tmp_path / "fuselearn-fruit-part0-part1-part2" / "report.html").read_text(encoding="utf-8")
    assert "fuselearn compare" in page
    assert "--control cart" in page
    store = tmp_path / "fuselearn-fruit-part0-part1-part2" / "results.db"
    run("report", store, "--control", "svm", "-o", "again.html")
    assert "the pairs with svm" in (tmp_path / "again.html").read_text(encoding="utf-8")


class Failing(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        raise ValueError("no luck")

    def predict(self, X):
        return X


def test_a_method_whose_every_fit_fails_is_said_to(fruit):
    failing = f"{__name__}:Failing"
    done = run("compare", fruit, "-t", "kind", "-m", "cart", "-m", failing, "--repeats", 1, "--folds", 2, "--jobs", 1)
    assert f"Every fit of the method {failing} failed: ValueError: no luck" in done.stderr
    assert "failed" in done.stdout


def test_a_cluster_fits(fruit, tmp_path):
    distributed = pytest.importorskip("distributed")
    small = ["compare", fruit, "-t", "kind", "-m", "cart", "--repeats", 1, "--folds", 2]
    with distributed.LocalCluster(1, processes=False, threads_per_worker=1, dashboard_address=None) as cluster:
        run(*small, "--scheduler", cluster.scheduler_address)
    run(*small, "--jobs", 1, "--out", tmp_path / "here")
    found = [pd.read_csv(tmp_path / out / "summary.csv")["macro_f1"] for out in ("fuselearn-fruit", "here")]
    assert found[0].equals(found[1])
    assert "--scheduler" not in (tmp_path / "fuselearn-fruit" / "report.html").read_text(encoding="utf-8")
    done = run(*small, "--scheduler", "inproc://nowhere/1/1", code=1)
    assert "There is no Dask scheduler at inproc://nowhere/1/1" in done.stderr


def test_methods_are_listed_by_name_with_their_class():
    lines = {line.split()[0]: line for line in run("methods").stdout.splitlines() if line.strip()}
    assert re.search(r"SAMMEClassifier +classes +Multi-class AdaBoost", lines["adaboost"])
    assert re.search(r"PCTForestClassifier +labels", lines["pct-forest"])
    assert "sklearn.ensemble.HistGradientBoostingClassifier" in lines["hist-gradient-boosting"]


def test_a_changed_table_is_not_mixed_with_old_results(fruit):
    options = ["compare", fruit, "-t", "kind", "-m", "cart", "--repeats", 1, "--folds", 2, "--jobs", 1]
    assert "noise" not in run(*options).stdout
    fruit.write_text(fruit.read_text(encoding="utf-8") + "151,red,apple\n", encoding="utf-8")
    assert "contains a different suite" in refused(*options)
    run(*options, "--fresh")


def test_report_from_a_store(fruit, tmp_path):
    run("compare", fruit, "-t", "kind", "-m", "cart", "-m", "bagging", "--folds", 2, "--repeats", 1, "--jobs", 1)
    store = tmp_path / "fuselearn-fruit" / "results.db"
    text = run("report", store, "-o", tmp_path / "new.html", "--suite", "compare-fruit").stdout
    assert text == f"Report written to {tmp_path / 'new.html'}\n"
    assert "of 2 methods" in (tmp_path / "new.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["nonsense"], "No such command 'nonsense'"),
        (["demo", "--jobs", "0"], "--jobs must be a positive integer, or -1"),
        (["demo", "--speed", "9"], "--speed"),
        (["report", "absent.db"], "There is no results store absent.db"),
        (["report", "fruit.csv"], "fruit.csv is not a results store"),
        (["compare", "absent.csv"], "There is no file absent.csv"),
        (["compare", "fruit.csv"], "does not define a target"),
        (["compare", "fruit.csv", "-t", "taste"], "taste"),
        (["compare", "fruit.csv", "-t", "kind", "-m", "Magic"], "A method must be kfhe, fused"),
        (["compare", "fruit.csv", "-t", "kind", "-m", "no.such:Class"], "needs the module no, which is not installed"),
        (["compare", "fruit.csv", "-t", "kind", "-m", "math:sqrt"], "cannot be made"),
        (["compare", "fruit.csv", "-t", "kind", "--noise", "much"], "--noise must be fractions separated by commas"),
        (["compare", "fruit.csv", "-t", "kind", "--noise", "10"], "noise must contain fractions"),
        (["compare", "fruit.csv", "-t", "kind", "--folds", "40"], "Use fewer folds"),
        (["demo", "--out", "fruit.csv"], "fruit.csv"),
        (["report", "absent.db", "-o", "."], ". is a folder; the report needs a file name"),
    ],
)
@pytest.mark.usefixtures("fruit")
def test_wrong_use(arguments, sentence):
    assert sentence in refused(*arguments)


def test_a_file_that_is_no_store_is_never_deleted(tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "results.db").write_text("my notes, all of them, not a store", encoding="utf-8")
    assert "is not a results store" in refused("demo", "--out", "out", "--fresh")
    assert (tmp_path / "out" / "results.db").read_text(encoding="utf-8").startswith("my notes")


@pytest.mark.usefixtures("small_demo")
def test_ctrl_c_says_how_to_go_on(monkeypatch):
    def interrupted(*arguments, **more):
        raise KeyboardInterrupt

    monkeypatch.setattr("fuselearn.lab.runner.run_suite", interrupted)
    result = run("demo", "--fresh", "--out", "here", code=130)
    assert result.stderr == (
        "Stopped. Finished results are kept in here/results.db; resume with: fuselearn demo --out here\n"
    )


@pytest.mark.usefixtures("small_demo")
def test_a_broken_run_is_a_failure_with_a_sentence(monkeypatch):
    def broken(*arguments, **more):
        raise RunError("A worker process died.")

    monkeypatch.setattr("fuselearn.lab.runner.run_suite", broken)
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

    monkeypatch.setattr(suites, "DEMO", suite)
    monkeypatch.setattr("fuselearn.lab.runner.run_suite", run_broken)
    result = run("demo", code=1)
    assert "Every method failed; the errors are listed in fuselearn-demo/report.html" in result.stderr
    assert "ValueError: Boom" in (tmp_path / "fuselearn-demo" / "report.html").read_text(encoding="utf-8")


def test_a_pipe_sees_no_bar_and_no_escape_codes(fruit):
    done = run("compare", fruit, "-t", "kind", "-m", "cart", "--repeats", 1, "--folds", 2, "--jobs", 1)
    assert done.stderr == ""
    assert "\x1b" not in done.stdout
    assert done.stdout.rstrip().endswith("report.html")


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="needs SIGINT and process groups")
def test_a_real_ctrl_c_keeps_what_is_finished(fruit, tmp_path):
    options = ["compare", fruit, "-t", "kind", "-m", "kfhe", "--repeats", "5000", "--jobs", "2"]
    command = [sys.executable, "-m", "fuselearn", *map(str, options)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=tmp_path, start_new_session=True)
    store_path = tmp_path / "fuselearn-fruit" / "results.db"
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and not (store_path.exists() and _n_results(store_path) > 5):
        time.sleep(0.2)
    os.killpg(process.pid, signal.SIGINT)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 130
    assert stderr.splitlines()[-1].startswith("Stopped. Finished results are kept in fuselearn-fruit/results.db")
    assert "Traceback" not in stderr
    assert _n_results(store_path) > 5


def _n_results(path):
    with ResultStore(path) as store:
        return len(store.results()) if store.suites() else 0
