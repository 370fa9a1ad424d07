"""A store keeps whole results once, knows its suite, and refuses what is no store."""

import sqlite3
import subprocess
import sys
from contextlib import closing

import numpy as np
import pandas as pd
import pytest

from fuselearn.lab import ResultStore, StoreError, Suite
from fuselearn.lab.store import Cell, Result
from fuselearn.lab.suites import SCORES

SUITE = Suite("mine", ["iris", "wine"], ["CART", "KFHE"], noise=[0, 0.1], repeats=2, folds=3)
SETTINGS = {"CART": "CARTClassifier()", "KFHE": "KFHEClassifier()"}
FOUND = {"macro_f1": 0.9, "accuracy": 0.91, "balanced_accuracy": 1 / 3}
LABEL_TABLE = pd.DataFrame(
    {"positives": [3, 0], "f1": [0.5, 1.0], "auc": [0.75, np.nan]}, index=pd.Index(["sad", "calm"], name="label")
)


@pytest.fixture
def store(tmp_path):
    with ResultStore(tmp_path / "results.db") as store:
        store.register(SUITE, SETTINGS)
        yield store


def result(fold=0, method="CART", dataset="iris", noise=0.1, **more):
    return Result(Cell(dataset, noise, 0, fold, method), **{"seed": 5, "scores": FOUND, **more})


def test_a_result_comes_back_as_it_went_in(store):
    versions = {"fuselearn": "1", "numpy": "2", "scikit_learn": "3", "python": "4"}
    store.add("mine", [result(fit_seconds=1.5, predict_seconds=0.5, versions=versions, seed=2**32 - 1)])
    row = store.results("mine").iloc[0].drop("finished")
    missing = [name for name in SCORES["multiclass"] if name not in FOUND]
    assert row[missing].isna().all()
    assert row.drop(missing).to_dict() == {
        "dataset": "iris", "noise": 0.1, "repeat": 0, "fold": 0, "method": "CART", **FOUND,
        "fit_seconds": 1.5, "predict_seconds": 0.5, "seed": 2**32 - 1, "error": None, **versions,
    }  # fmt: skip


def test_the_first_result_of_a_cell_stays(store):
    assert store.add("mine", [result(seed=1)]) == 1
    assert store.add("mine", [result(seed=2), result(fold=1)]) == 1
    assert store.results("mine")["seed"].tolist() == [1, 5]


def test_suites_in_one_store_are_kept_apart(store):
    other = Suite("other", ["iris"], ["CART"], noise=[0.1])
    store.register(other, {"CART": "CARTClassifier(complexity=0.5)"})
    store.add("mine", [result()])
    assert store.add("other", [result()]) == 1
    assert len(store.results("mine")) == len(store.results("other")) == 1
    assert sorted(store.suites()) == ["mine", "other"]
    with pytest.raises(StoreError, match=r"contains several suites; name one of 'mine', 'other'"):
        store.results()


def test_a_failure_is_finished_until_it_is_forgotten(store):
    store.add("mine", [result(scores=None, error="ValueError: no"), result(fold=1)])
    assert store.results()["error"].isna().tolist() == [False, True]
    assert store.results()["macro_f1"].isna().tolist() == [True, False]
    assert store.finished("mine") == {("iris", 0.1, 0, 0, "CART"), ("iris", 0.1, 0, 1, "CART")}
    assert store.forget_failures("mine") == 1
    assert store.finished("mine") == {("iris", 0.1, 0, 1, "CART")}


def test_runs_say_when(store):
    run = store.start_run("mine", jobs=2)
    store.start_run("mine", jobs=1)
    store.add("mine", [result()], run=run)
    runs = store.runs()
    assert runs["jobs"].tolist() == [2, 1]
    assert runs.loc[0, "last_result"] >= runs.loc[0, "started"]
    assert runs["last_result"].isna().tolist() == [False, True]


def test_an_interrupted_or_broken_write_leaves_nothing(store):
    def interrupted():
        yield result()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        store.add("mine", interrupted())
    with pytest.raises(sqlite3.IntegrityError):
        store.add("mine", [result(fold=1), result(fold=2, seed=None)])
    assert store.results().empty


def test_the_store_remembers_its_suite(store):
    with ResultStore(store.path, create=False) as again:
        assert again.suite() == again.suite("mine") == SUITE
        assert again.settings("mine") == SETTINGS
        again.register(SUITE, SETTINGS)
        with pytest.raises(StoreError, match="contains no suite 'yours'; it contains 'mine'"):
            again.suite("yours")


def test_another_suite_or_method_of_the_same_name_is_refused(store):
    changed = Suite("mine", ["iris", "wine"], ["CART", "KFHE"], noise=[0, 0.1], repeats=2, seed=3)
    with pytest.raises(
        StoreError, match=r"different suite named 'mine': folds was 3 and is 10; seed was 0 and is 3\. Us"
    ):
        store.register(changed, SETTINGS)
    with pytest.raises(StoreError, match=r"for the method 'KFHE': settings was KFHEClassifier\(\)"):
        store.register(SUITE, {"KFHE": "KFHEClassifier(vote='score')"})
    assert store.suite("mine") == SUITE
    assert store.settings("mine") == SETTINGS


@pytest.mark.parametrize("content", [b"x", b"dataset\n" * 100, b"SQLite format 3\0" * 50])
def test_a_file_that_is_no_database_is_refused_and_left_alone(tmp_path, content):
    path = tmp_path / "notes.txt"
    path.write_bytes(content)
    with pytest.raises(StoreError, match=r"notes\.txt (is not|cannot be used as) a results store"):
        ResultStore(path)
    assert path.read_bytes() == content


def test_a_database_of_another_program_is_refused_and_left_alone(tmp_path):
    path = tmp_path / "other.db"
    with closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TABLE results (suite)")
    before = path.read_bytes()
    with pytest.raises(StoreError, match="is an SQLite file of another program"):
        ResultStore(path)
    assert path.read_bytes() == before


def test_a_store_of_another_format_is_refused(store):
    store._pragma("user_version = 5")
    with pytest.raises(StoreError, match="has format 5; this version of fuselearn reads format 7"):
        ResultStore(store.path)


def test_scores_of_labels_are_kept_as_they_are(store):
    assert store.label_scores().empty
    store.add("mine", [result(fold=1, label_scores=LABEL_TABLE), result(fold=2)])
    table = store.label_scores()
    assert table[["dataset", "fold", "label"]].to_numpy().tolist() == [["iris", 1, "sad"], ["iris", 1, "calm"]]
    kept = table.set_index("label")[["positives", "f1", "auc"]]
    pd.testing.assert_frame_equal(kept, LABEL_TABLE[["positives", "f1", "auc"]])


def test_what_is_not_there_or_empty_becomes_a_store_only_if_one_may_be_made(tmp_path):
    with pytest.raises(StoreError, match=r"There is no results store .*none\.db"):
        ResultStore(tmp_path / "none.db", create=False)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(StoreError, match="cannot be opened"):
        ResultStore(tmp_path)
    path = tmp_path / "empty.db"
    path.touch()
    with pytest.raises(StoreError, match="is an empty file"):
        ResultStore(path, create=False)
    with ResultStore(path) as store:
        assert store.suites() == []
        assert store._pragma("journal_mode") == "wal"
        with pytest.raises(StoreError, match="contains no suite"):
            store.results()


def test_many_processes_open_and_fill_one_new_store(tmp_path):
    script = tmp_path / "fill.py"
    script.write_text(
        "import sys\n"
        "from fuselearn.lab import ResultStore, Suite\n"
        "from fuselearn.lab.store import Cell, Result\n"
        "print('ready', flush=True)\n"
        "sys.stdin.readline()\n"
        "suite = Suite('mine', ['iris'], ['CART'])\n"
        "with ResultStore(sys.argv[1]) as store:\n"
        "    store.register(suite, {'CART': 'x'})\n"
        "    for fold in range(100):\n"
        "        store.add('mine', [Result(Cell('iris', 0.0, 0, fold, 'CART'), seed=1)])\n"
    )
    path = tmp_path / "results.db"
    writers = [
        subprocess.Popen(
            [sys.executable, script, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True,
        )
        for _ in range(2)
    ]  # fmt: skip
    for writer in writers:
        writer.stdout.readline()
    for writer in writers:
        writer.stdin.write("go\n")
        writer.stdin.flush()
    for writer in writers:
        _, errors = writer.communicate(timeout=60)
        assert writer.returncode == 0, errors
    with ResultStore(path, create=False) as store:
        assert store.results()["fold"].tolist() == list(range(100))
        assert store._pragma("integrity_check") == "ok"
