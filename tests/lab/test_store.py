"""A store keeps whole results once, knows its suite, and refuses what is no store."""

import dataclasses
import math
import sqlite3
import subprocess
import sys
from contextlib import closing

import numpy as np
import pandas as pd
import pytest

from fuselearn.lab.running.scoring import LABEL_SCORES, Scores
from fuselearn.lab.running.scoring import SCORES as SCORE_NAMES
from fuselearn.lab.running.store import Cell, Predictions, Result, ResultStore, StoreError
from fuselearn.lab.running.suites import Suite

SUITE = Suite("mine", ["iris", "wine"], ["CART", "KFHE"], noise=[0, 0.1], repeats=2, folds=3)
SETTINGS = {"CART": "CARTClassifier()", "KFHE": "KFHEClassifier()"}
SCORES = Scores(0.9, 0.91, 0.92, 0.3)
LABEL_TABLE = pd.DataFrame(
    {"positives": [3, 0], "f1": [0.5, 1.0], "auc": [0.75, np.nan]}, index=pd.Index(["sad", "calm"], name="label")
)


@pytest.fixture
def store(tmp_path):
    with ResultStore(tmp_path / "results.db") as store:
        store.register(SUITE, SETTINGS)
        yield store


def result(fold=0, method="CART", dataset="iris", noise=0.1, **more):
    return Result(Cell(dataset, noise, 0, fold, method), **{"seed": 5, "scores": SCORES, **more})


def test_a_result_comes_back_as_it_went_in(store):
    versions = {"fuselearn": "1", "numpy": "2", "scikit_learn": "3", "python": "4"}
    store.add("mine", [result(fit_seconds=1.5, predict_seconds=0.5, components=7,
                              versions=versions, seed=2**32 - 1)])  # fmt: skip
    row = store.results("mine").iloc[0].to_dict()
    del row["finished"]
    for unknown in ("micro_f1", "hamming_loss", "auc", "brier", "calibration_error", *LABEL_SCORES):
        assert math.isnan(row.pop(unknown))
    assert row == {
        "suite": "mine", "dataset": "iris", "noise": 0.1, "repeat": 0, "fold": 0, "method": "CART",
        "macro_f1": 0.9, "accuracy": 0.91, "balanced_accuracy": 0.92, "log_loss": 0.3,
        "fit_seconds": 1.5, "predict_seconds": 0.5, "components": 7, "seed": 2**32 - 1,
        "error": None, **versions,
    }  # fmt: skip


def test_the_first_result_of_a_cell_stays(store):
    assert store.add("mine", [result(seed=1)]) == 1
    assert store.add("mine", [result(seed=2), result(fold=1)]) == 1
    assert store.results("mine")["seed"].tolist() == [1, 5]


def test_finished_cells_compare_equal_to_those_of_a_suite(store):
    store.add("mine", [result(), result(fold=2, method="KFHE", scores=None, error="Boom")])
    assert store.finished("mine") == {
        ("iris", 0.1, 0, 0, "CART"),
        ("iris", 0.1, 0, 2, "KFHE"),
    }


def test_suites_in_one_store_are_kept_apart(store):
    other = Suite("other", ["iris"], ["CART"], noise=[0.1])
    store.register(other, {"CART": "CARTClassifier(complexity=0.5)"})
    store.add("mine", [result()])
    assert store.add("other", [result()]) == 1
    assert len(store.results("mine")) == len(store.results("other")) == 1
    assert sorted(store.suites()) == ["mine", "other"]
    with pytest.raises(StoreError, match=r"holds the suites .*; name one"):
        store.results()


def test_a_failed_result_has_an_error_and_no_scores(store):
    store.add("mine", [result(scores=None, error="ValueError: no"), result(fold=1)])
    results = store.results()
    assert results.loc[0, "error"] == "ValueError: no"
    assert results["error"].isna().tolist() == [False, True]
    assert results["macro_f1"].isna().tolist() == [True, False]
    assert store.forget_failures("mine") == 1
    assert store.finished("mine") == {("iris", 0.1, 0, 1, "CART")}


def test_predictions_are_kept_where_they_come_with_a_result(store):
    store.add("mine", [result(predictions=Predictions([3, 1], ["a", "b"])), result(fold=1)])
    kept = store.predictions()
    assert kept[["fold", "row", "predicted"]].to_dict("list") == {
        "fold": [0, 0],
        "row": [3, 1],
        "predicted": ["a", "b"],
    }


def test_runs_say_when_and_how_much(store):
    run = store.start_run("mine", jobs=2, backend="loky")
    idle = store.start_run("mine", jobs=1, backend=None)
    store.add("mine", [result(), result(fold=1)], run=run)
    store.add("mine", [result(fold=1), result(fold=2)], run=run)
    runs = store.runs().set_index("run")
    assert runs["results"].to_dict() == {run: 3, idle: 0}
    assert runs.loc[run, "last_result"] >= runs.loc[run, "started"]
    assert runs["last_result"].isna().tolist() == [False, True]


def test_an_interrupted_write_leaves_nothing(store):
    def interrupted():
        yield result()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        store.add("mine", interrupted())
    assert store.finished("mine") == set()
    assert store.add("mine", [result()]) == 1


def test_a_broken_result_is_an_error_and_not_silently_dropped(store):
    with pytest.raises(sqlite3.IntegrityError, match="NOT NULL"):
        store.add("mine", [result(seed=None)])


def test_the_store_remembers_its_suite(store):
    with ResultStore(store.path, create=False) as again:
        assert again.suite("mine") == SUITE
        assert again.settings("mine") == SETTINGS
        again.register(SUITE, SETTINGS)
        with pytest.raises(StoreError, match="holds no suite 'yours'; it holds 'mine'"):
            again.suite("yours")


def test_another_suite_of_the_same_name_is_refused(store):
    changed = Suite("mine", ["iris", "wine"], ["CART", "KFHE"], noise=[0, 0.1], repeats=2, seed=3)
    sentence = r"another suite named 'mine': folds was 3 and is 10; seed was 0 and is 3\. Use"
    with pytest.raises(StoreError, match=sentence):
        store.register(changed, SETTINGS)
    assert store.suite("mine") == SUITE


def test_a_method_with_other_settings_is_refused_and_leaves_no_trace(store):
    settings = {"KFHE": "KFHEClassifier(vote='score')", "New": "Classifier()"}
    with pytest.raises(StoreError, match=r"for the method 'KFHE': settings was KFHEClassifier\(\)"):
        store.register(SUITE, settings)
    assert store.settings("mine") == SETTINGS


def test_a_method_may_join_when_its_package_is_there(store):
    store.register(SUITE, {"CART": "CARTClassifier()"})
    assert store.settings("mine") == SETTINGS


def test_a_missing_store_is_refused_unless_it_may_be_made(tmp_path):
    with pytest.raises(StoreError, match=r"There is no results store .*none\.db"):
        ResultStore(tmp_path / "none.db", create=False)
    assert list(tmp_path.iterdir()) == []


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
    store._pragma("user_version = 99")
    with pytest.raises(StoreError, match="has format 99; this version of fuselearn reads format 5"):
        ResultStore(store.path)


def test_a_store_of_the_first_format_is_brought_up_to_date(store):
    store.add("mine", [result(fold=1)])
    for column in ("micro_f1", "hamming_loss", "auc", "brier", "calibration_error", *LABEL_SCORES):
        store._connection.execute(f"ALTER TABLE results DROP COLUMN {column}")
    store._connection.execute("DROP TABLE label_scores")
    store._pragma("user_version = 1")
    with ResultStore(store.path) as again:
        assert again.finished("mine") == store.finished("mine")
        assert again.results("mine")["hamming_loss"].isna().all()
        assert again.label_scores("mine").empty
        scored = result(fold=2, scores=Scores(0.5, 0.4, hamming_loss=0.1, coverage=2.5), label_scores=LABEL_TABLE)
        assert again.add("mine", [scored]) == 1
        assert again.results("mine")["coverage"].tolist()[1:] == [2.5]
        assert again.label_scores("mine")["label"].tolist() == ["sad", "calm"]


def test_the_columns_of_a_store_are_the_scores(store):
    columns = {row[1] for row in store._connection.execute("PRAGMA table_info(results)")}
    assert set(SCORE_NAMES) == {field.name for field in dataclasses.fields(Scores)} <= columns


def test_scores_of_labels_are_kept_as_they_are(store):
    store.add("mine", [result(fold=1, label_scores=LABEL_TABLE), result(fold=2)])
    table = store.label_scores()
    assert table[["dataset", "fold", "label"]].to_numpy().tolist() == [["iris", 1, "sad"], ["iris", 1, "calm"]]
    kept = table.set_index("label")[["positives", "f1", "auc"]]
    pd.testing.assert_frame_equal(kept, LABEL_TABLE[["positives", "f1", "auc"]])


def test_a_folder_is_refused(tmp_path):
    with pytest.raises(StoreError, match="cannot be opened"):
        ResultStore(tmp_path)


def test_an_empty_file_becomes_a_store_only_if_one_may_be_made(tmp_path):
    path = tmp_path / "empty.db"
    path.touch()
    with pytest.raises(StoreError, match="is an empty file"):
        ResultStore(path, create=False)
    with ResultStore(path) as store:
        assert store.suites() == []
        with pytest.raises(StoreError, match="holds no suite"):
            store.results()


def test_a_store_is_in_write_ahead_log_mode(store):
    assert store._pragma("journal_mode") == "wal"


def test_many_processes_open_and_fill_one_new_store(tmp_path):
    script = tmp_path / "fill.py"
    script.write_text(
        "import sys\n"
        "from fuselearn.lab.running.store import Cell, Result, ResultStore\n"
        "from fuselearn.lab.running.suites import Suite\n"
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
