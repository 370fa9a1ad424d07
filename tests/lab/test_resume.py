"""Runs are killed for real, with SIGKILL, and interrupted for real; nothing finished is lost."""

import os
import random
import signal
import subprocess
import sys
import time
from contextlib import contextmanager, suppress

import pytest

from fuselearn.lab import ResultStore

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs SIGKILL and process groups")

SCRIPT = """
import sys
from sklearn.dummy import DummyClassifier
from sklearn.tree import DecisionTreeClassifier
from joblib import parallel_config
from fuselearn.lab import Suite, run_suite

if __name__ == "__main__":
    path, backend = sys.argv[1:]
    suite = Suite(
        "mine", ["iris", "wine"], ["Tree", "Guess"], noise=[0, 0.2], repeats=2, folds=5
    )
    models = {
        "Tree": DecisionTreeClassifier(max_features=1),
        "Guess": DummyClassifier(strategy="stratified"),
    }
    with parallel_config(backend=backend):
        outcome = run_suite(
            suite, path, n_jobs=2, estimators=models, progress=lambda progress: print(progress.done, flush=True)
        )
    print("added", outcome.added, "kept", outcome.kept, flush=True)
"""
SLOW_SCRIPT = """
import pathlib, sys, time
from sklearn.dummy import DummyClassifier
from joblib import parallel_config
from fuselearn.lab import Suite, run_suite

FOLDER = pathlib.Path(__file__).parent

class Logged(DummyClassifier):
    def fit(self, X, y):
        with open(FOLDER / "fits", "a") as log:
            log.write(type(self).__name__ + "\\n")
        return super().fit(X, y)

class Slow(Logged):
    def fit(self, X, y):
        deadline = time.monotonic() + 30
        while not (FOLDER / "go").exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        return super().fit(X, y)

if __name__ == "__main__":
    path, backend = sys.argv[1:]
    with parallel_config(backend=backend):
        outcome = run_suite(
            Suite("slow", ["iris"], ["Quick", "Slow", "Last"], repeats=1, folds=2), path, n_jobs=1,
            estimators={"Quick": Logged(), "Slow": Slow(), "Last": Logged()},
            progress=lambda progress: print(progress.done, flush=True),
        )
    print("added", outcome.added, "kept", outcome.kept, flush=True)
"""
MEASURED = ["fit_seconds", "predict_seconds", "finished"]


@pytest.fixture(scope="module")
def script(tmp_path_factory):
    path = tmp_path_factory.mktemp("script") / "run.py"
    path.write_text(SCRIPT)
    return path


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory, script):
    """What a run that nobody disturbs ends with."""
    path = tmp_path_factory.mktemp("undisturbed") / "results.db"
    assert finish(script, path) == (80, 0)
    return results(path).drop(columns=MEASURED)


@contextmanager
def started(script, store, backend="sequential"):
    """Start a run in a process group of its own, and leave none of the group behind."""
    process = subprocess.Popen(
        [sys.executable, script, store, backend],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def finish(script, store, backend="sequential"):
    """Run to the end, repeat nothing, and return how many were added and how many were there."""
    with started(script, store, backend) as process:
        output, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors
    *told, last = output.splitlines()
    _, added, _, kept = last.split()
    assert (int(told[-1]) if told else 0) == int(added)
    return int(added), int(kept)


def wait_for(process, count):
    """Wait until the run has told that so many results are in the store; return how many."""
    done = 0
    while done < count:
        done = int(process.stdout.readline())
    return done


def results(store):
    with ResultStore(store, create=False) as opened:
        return opened.results()


def sound(store):
    with ResultStore(store, create=False) as opened:
        return opened._pragma("integrity_check") == "ok"


def same_rows(part, whole):
    """Whether every row of the part is in the whole, times of measurement included."""
    return len(part.merge(whole, how="inner")) == len(part)


def test_a_killed_run_goes_on_and_ends_as_if_it_had_never_been_killed(tmp_path, script, undisturbed):
    store = tmp_path / "results.db"
    with started(script, store, "loky") as process:
        told = wait_for(process, 10)
        process.kill()
        process.wait()
        assert process.returncode == -signal.SIGKILL
    survived = results(store)
    assert told <= len(survived) < 80
    assert finish(script, store) == (80 - len(survived), len(survived))
    ended = results(store)
    assert same_rows(survived, ended)
    assert ended.drop(columns=MEASURED).equals(undisturbed)
    assert sound(store)


def test_a_result_is_written_before_the_next_method_of_its_fold_ends(tmp_path):
    script, store = tmp_path / "slow.py", tmp_path / "results.db"
    script.write_text(SLOW_SCRIPT)
    with started(script, store) as process:
        assert wait_for(process, 1) == 1
        process.kill()
        process.wait()
    assert results(store)["method"].tolist() == ["Quick"]
    (tmp_path / "go").touch()
    assert finish(script, store) == (5, 1)
    assert (tmp_path / "fits").read_text().split() == ["Logged", "Slow", "Logged"] * 2
    assert sorted(results(store)["method"]) == ["Last", "Last", "Quick", "Quick", "Slow", "Slow"]


def test_two_runs_at_once_share_a_store(tmp_path, script, undisturbed):
    store = tmp_path / "results.db"
    with started(script, store) as one, started(script, store) as two:
        added = 0
        for process in (one, two):
            output, errors = process.communicate(timeout=120)
            assert process.returncode == 0, errors
            added += int(output.splitlines()[-1].split()[1])
    assert added == 80
    assert results(store).drop(columns=MEASURED).equals(undisturbed)
    assert sound(store)


@pytest.mark.parametrize("backend", ["sequential", pytest.param("loky", marks=pytest.mark.slow)])
def test_ctrl_c_stops_at_once_and_leaves_a_usable_store(tmp_path, script, undisturbed, backend):
    store = tmp_path / "results.db"
    with started(script, store, backend) as process:
        told = wait_for(process, 10)
        os.killpg(process.pid, signal.SIGINT)
        _, errors = process.communicate(timeout=10)
        assert process.returncode != 0
        assert "KeyboardInterrupt" in errors
    survived = len(results(store))
    assert told <= survived < 80
    assert finish(script, store) == (80 - survived, survived)
    assert results(store).drop(columns=MEASURED).equals(undisturbed)


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["sequential", "threading", "loky"])
def test_killed_again_and_again_at_any_moment(tmp_path, script, undisturbed, backend):
    store = tmp_path / "results.db"
    moments = random.Random(0)
    before = None
    for attempt in range(9):
        with started(script, store, backend) as process:
            # A third of the kills hit the start of the program and of the store.
            if attempt % 3:
                wait_for(process, moments.randint(1, 8))
            time.sleep(moments.uniform(0.0, 0.05 if attempt % 3 else 1.2))
            os.killpg(process.pid, signal.SIGKILL)
        if store.exists() and store.stat().st_size:
            with ResultStore(store) as opened:
                now = opened.results() if opened.suites() else None
            if before is not None:
                assert same_rows(before, now)
            before = now
    added, kept = finish(script, store, backend)
    assert (added > 0, kept > 0, added + kept) == (True, True, 80)
    assert results(store).drop(columns=MEASURED).equals(undisturbed)
    assert sound(store)
