"""A suite is data that decides every number; what cannot be run is refused with a sentence."""

import dataclasses
import os
import subprocess
import sys

import pytest

from fuselearn.datasets import DatasetError, load_dataset
from fuselearn.lab import Suite, Table, table_suite
from fuselearn.lab.methods import make_method
from fuselearn.lab.suites import DEMO, USUAL_METHODS, derive_seed


def make(**changes):
    return Suite(**{"name": "mine", "datasets": ["iris"], "methods": ["cart"], **changes})


def write_table(path, sizes):
    rows = [f"{row},{name}" for name, size in sizes.items() for row in range(size)]
    path.write_text("\n".join(["width,kind", *rows]) + "\n")
    return path


@pytest.mark.parametrize("task", USUAL_METHODS)
def test_the_usual_methods_exist(task):
    for name in USUAL_METHODS[task]:
        make_method(name, task)
    assert set(DEMO.methods) <= set(USUAL_METHODS["multiclass"])


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"name": ""}, "name must not be empty"),
        ({"datasets": []}, "datasets must name at least one dataset"),
        ({"datasets": "iris"}, "datasets must be a list of names; got the single text 'iris'"),
        ({"methods": ["cart", "cart"]}, "methods must name every method once"),
        ({"noise": [0.1, 1.0]}, "noise must contain fractions of at least 0 and below 1"),
        ({"noise": [float("nan")]}, "noise must contain fractions"),
        ({"noise": []}, "noise must contain fractions"),
        ({"noise": ["a"]}, "noise must be a list of fractions"),
        ({"noise": [0, 0.0]}, "noise must name every level once"),
        ({"noise_kind": "loud"}, "noise_kind must be 'uniform', 'pair'"),
        ({"noise_kind": "pair", "task": "multilabel"}, "noise_kind must be 'uniform' or 'forgotten'"),
        ({"folds": 1}, "folds must be at least 2, not 1"),
        ({"repeats": 0}, "repeats must be at least 1, not 0"),
        ({"seed": -1}, "seed must be at least 0, not -1"),
        ({"seed": True}, "seed must be an integer"),
        ({"max_samples": 1}, "max_samples must be at least 2, not 1"),
        ({"test_folds": 0}, "test_folds must be at least 1, not 0"),
        ({"folds": 3, "test_folds": 4}, "test_folds must be at most folds, 3; got 4"),
    ],
)
def test_what_cannot_be_run_is_refused(changes, sentence):
    with pytest.raises((TypeError, ValueError), match=sentence):
        make(**changes)


def test_seeds_are_the_same_in_every_process():
    call = "from fuselearn.lab.suites import derive_seed; print(derive_seed(0, 'iris', 0.1))"
    other = {**os.environ, "PYTHONHASHSEED": "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"}
    found = subprocess.run([sys.executable, "-c", call], env=other, capture_output=True, check=True, text=True)
    assert found.stdout.strip() == str(derive_seed(0, "iris", 0.1))


def test_seeds_tell_apart_what_only_looks_alike():
    parts = [("a", "bc"), ("ab", "c"), (1, 0), ("1", 0), (1, "0"), (0.1,), (0.10000001,), (0,)]
    seeds = [derive_seed(*part) for part in parts]
    assert len(set(seeds)) == len(parts)
    assert all(0 <= seed < 2**32 for seed in seeds)


def test_a_suite_comes_back_from_its_definition(tmp_path):
    path = write_table(tmp_path / "fruit.csv", {"apple": 6, "pear": 6})
    suite = table_suite(path, "kind", noise=[0, 0.2])
    again = Suite.from_definition(suite.definition())
    assert again.definition() == suite.definition()
    assert again.noise == (0.0, 0.2)
    assert again.tables[0].sha256 == suite.tables[0].sha256


def test_the_definition_holds_what_decides_results_and_nothing_else():
    suite = make()
    assert make(noise=[0]).definition() == make(noise=(0.0,)).definition()
    for changes in ({"seed": 1}, {"folds": 3}, {"noise": [0.1]}, {"methods": ["kfhe"]}):
        assert make(**changes).definition() != suite.definition()


def test_a_table_of_one_s_own_is_loaded_by_its_name(tmp_path):
    path = write_table(tmp_path / "fruit.csv", {"apple": 6, "pear": 8})
    suite = table_suite(path, "kind")
    assert (suite.name, suite.datasets) == ("compare-fruit", ("fruit",))
    X, y = suite.load("fruit")
    assert X.shape == (14, 1)
    assert y.value_counts().to_dict() == {"pear": 8, "apple": 6}


def test_a_moved_table_is_the_same_and_a_changed_one_is_not(tmp_path):
    path = write_table(tmp_path / "fruit.csv", {"apple": 6, "pear": 6})
    suite = table_suite(path, "kind")
    (tmp_path / "other").mkdir()
    moved = path.rename(tmp_path / "other" / "fruit.csv")
    assert table_suite(moved, "kind").definition() == suite.definition()
    write_table(moved, {"apple": 6, "pear": 7})
    assert table_suite(moved, "kind").definition() != suite.definition()


def test_a_table_that_changed_after_the_suite_was_made_is_refused(tmp_path):
    path = write_table(tmp_path / "fruit.csv", {"apple": 6, "pear": 6})
    suite = table_suite(path, "kind")
    write_table(path, {"apple": 7, "pear": 6})
    with pytest.raises(DatasetError, match=r"fruit.csv' is missing or has changed since the suite"):
        suite.load("fruit")
    path.unlink()
    with pytest.raises(DatasetError, match="cannot be read"):
        suite.load("fruit")


@pytest.mark.parametrize("sizes", [{"apple": 9}, {"apple": 4, "pear": 4}])
def test_a_table_that_cannot_be_dealt_into_folds_is_refused(tmp_path, sizes):
    path = write_table(tmp_path / "fruit.csv", sizes)
    with pytest.raises(DatasetError, match="at least two classes, one of them with 5 samples"):
        table_suite(path, "kind", folds=5)


SONGS = "tempo,label:calm,label:loud\n" + "90,1,0\n120,0,1\n" * 5


@pytest.mark.filterwarnings("ignore:These columns look like labels")
def test_a_table_of_labels_is_a_multi_label_suite(tmp_path):
    path = tmp_path / "songs.csv"
    path.write_text(SONGS)
    suite = table_suite(path)
    assert suite.task == "multilabel"
    assert suite.methods == USUAL_METHODS["multilabel"]
    assert list(suite.load("songs").y) == ["calm", "loud"]
    chosen = table_suite(path, labels="label:loud", methods=["cc"])
    assert list(chosen.load("songs").y) == ["label:loud"]
    assert chosen.definition()["tables"][0]["labels"] == "label:loud"
    assert Suite.from_definition(chosen.definition()).definition() == chosen.definition()
    with pytest.raises(DatasetError, match="multilabel dataset; the suite 'compare-songs' needs one"):
        dataclasses.replace(suite, task="multiclass").load("songs")


@pytest.mark.filterwarnings("ignore:These columns look like labels")
def test_a_label_file_is_read_when_the_suite_is_made(tmp_path):
    (tmp_path / "songs.csv").write_text(SONGS)
    (tmp_path / "a.xml").write_text('<labels><label name="label:loud"/></labels>')
    suite = table_suite(tmp_path / "songs.csv", labels=tmp_path / "a.xml", methods=["cc"])
    assert suite.tables[0].labels == ["label:loud"]


def test_a_large_dataset_is_cut_to_a_stratified_part():
    suite = Suite("mine", ["digits", "iris"], ["cart"], folds=2, max_samples=200)
    part, again = suite.load("digits"), suite.load("digits")
    assert part.X.equals(again.X)
    assert len(part.X) == len(part.y) == 200
    assert set(part.y.value_counts()) <= {19, 20, 21}
    assert part.X.index.tolist() == part.y.index.tolist() == list(range(200))
    whole = load_dataset("digits")
    rows = {(*x, y) for x, y in zip(whole.X.to_numpy().tolist(), whole.y, strict=True)}
    assert all((*x, y) in rows for x, y in zip(part.X.to_numpy().tolist(), part.y, strict=True))
    assert len(suite.load("iris").X) == 150
    other = dataclasses.replace(suite, seed=1).load("digits")
    assert not other.X.equals(part.X)


def test_some_folds_may_be_left_out():
    suite = Suite("mine", ["iris"], ["cart"], repeats=2, folds=5, test_folds=2)
    assert suite.n_results == 4
    assert Suite.from_definition(suite.definition()) == suite


def write_fruit(path, n_samples=18):
    half = n_samples // 2
    path.write_text("weight,kind\n" + "150,apple\n" * half + "120,pear\n" * half)


def test_several_tables_are_one_suite(tmp_path):
    for name in ("b.csv", "a.csv"):
        write_fruit(tmp_path / name)
    (tmp_path / "notes.txt").write_text("not a table")
    suite = table_suite(tmp_path, "kind", methods=["cart"])
    assert (suite.name, suite.datasets) == ("compare-a-b", ("a", "b"))
    assert suite.load("b").n_classes == 2
    assert table_suite([tmp_path / "b.csv", tmp_path / "a.csv"], "kind").datasets == ("b", "a")


def test_tables_that_make_no_suite_are_refused(tmp_path):
    write_fruit(tmp_path / "fruit.csv")
    write_fruit(tmp_path / "few.csv", 4)
    (tmp_path / "songs.csv").write_text("x,label:a,label:b\n" + "1,0,1\n2,1,0\n" * 9)
    with pytest.raises(DatasetError, match="'few' must have at least two classes"):
        table_suite([tmp_path / "fruit.csv", tmp_path / "few.csv"], "kind")
    songs = Table.of(tmp_path / "songs.csv", labels=["label:a", "label:b"])
    with pytest.raises(DatasetError, match="'fruit' has classes and 'songs' has labels"):
        table_suite([Table.of(tmp_path / "fruit.csv", "kind"), songs])
    with pytest.raises(DatasetError, match="at least one file"):
        table_suite([])
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(DatasetError, match=r"The folder .*empty contains no table: \.csv"):
        table_suite(empty)
    with pytest.raises(ValueError, match=r"zero_division must be 0 or 1; got 0\.5"):
        Suite("mine", ["iris"], ["cart"], zero_division=0.5)
