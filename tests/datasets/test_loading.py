import os

import numpy as np
import pandas as pd
import pytest

from fuselearn.datasets import DatasetError, available, load_dataset
from fuselearn.datasets.loading import write_stored
from fuselearn.datasets.registry import registry


def fake_skulls(shift=0):
    X = pd.DataFrame(np.arange(600).reshape(150, 4) + shift, columns=["mb", "bh", "bl", "nh"])
    return X, pd.Series(np.repeat(list("abcde"), 30), name="class")


@pytest.mark.parametrize(
    ("name", "shape", "classes"),
    [
        ("iris", (150, 4), {"setosa", "versicolor", "virginica"}),
        ("wine", (178, 13), {"class_0", "class_1", "class_2"}),
        ("breast_cancer", (569, 30), {"malignant", "benign"}),
        ("digits", (1797, 64), set("0123456789")),
    ],
)
def test_bundled_datasets_need_nothing(name, shape, classes):
    dataset = load_dataset(name)
    assert dataset.X.shape == shape
    assert set(dataset.y) == classes
    assert dataset.source == "scikit-learn"


@pytest.mark.parametrize("place", ["multiclass/skulls.csv.gz", "skulls.csv.gz", "skulls.csv"])
def test_a_folder_may_be_sorted_or_flat(place, tmp_path, monkeypatch):
    X, y = fake_skulls()
    path = tmp_path / "data" / place
    if place.endswith(".gz"):
        write_stored(path, X, y)
    else:
        path.parent.mkdir()
        X.assign(**{"class": y}).to_csv(path, index=False)
    monkeypatch.setenv("FUSELEARN_DATA", str(tmp_path / "data"))
    dataset = load_dataset("skulls")
    pd.testing.assert_frame_equal(dataset.X, X)
    assert dataset.source == str(path)


def test_the_first_folder_wins_and_folders_come_before_the_cache(tmp_path, monkeypatch):
    for shift, folder in enumerate(["first", "second", "cache"]):
        (tmp_path / folder).mkdir()
        write_stored(tmp_path / folder / "multiclass" / "skulls.csv.gz", *fake_skulls(shift))
    assert load_dataset("skulls").X.iloc[0, 0] == 2
    monkeypatch.setenv("FUSELEARN_DATA", os.pathsep.join(str(tmp_path / f) for f in ("first", "second")))
    assert load_dataset("skulls").X.iloc[0, 0] == 0
    (tmp_path / "first" / "multiclass" / "skulls.csv.gz").unlink()
    assert load_dataset("skulls").X.iloc[0, 0] == 1


def test_a_folder_comes_before_what_is_bundled(tmp_path, monkeypatch):
    X, y = load_dataset("iris")
    write_stored(tmp_path / "iris.csv.gz", X + 100, y)
    monkeypatch.setenv("FUSELEARN_DATA", str(tmp_path))
    assert load_dataset("iris").X.min().min() > 100


def test_a_table_of_another_size_is_refused(tmp_path, monkeypatch):
    X, y = fake_skulls()
    write_stored(tmp_path / "skulls.csv.gz", X.iloc[:-1], y.iloc[:-1])
    monkeypatch.setenv("FUSELEARN_DATA", str(tmp_path))
    with pytest.raises(
        DatasetError,
        match=r"skulls\.csv\.gz is not 'skulls': it has 149 samples, .* expects 150 samples, 4 features",
    ):
        load_dataset("skulls")


def test_a_table_of_the_other_task_is_refused(tmp_path, monkeypatch):
    X, _ = fake_skulls()
    write_stored(tmp_path / "skulls.csv.gz", X, pd.DataFrame({"p": [0, 1] * 75}))
    monkeypatch.setenv("FUSELEARN_DATA", str(tmp_path))
    with pytest.raises(DatasetError, match="is a multilabel dataset, but 'skulls' is a multiclass"):
        load_dataset("skulls")


def flags_ml(positives=658):
    X = pd.DataFrame(np.zeros((194, 19)), columns=[f"f{i}" for i in range(19)])
    ones = np.zeros(194 * 7, dtype=int)
    ones[:positives] = 1
    return X, pd.DataFrame(ones.reshape(194, 7), columns=list("abcdefg"))


@pytest.mark.parametrize("place", ["multilabel/flags.csv.gz", "multilabel/flags_ml.csv.gz", "flags_ml.csv.gz"])
def test_the_multilabel_flags_are_found_beside_the_others(place, tmp_path, monkeypatch):
    write_stored(tmp_path / place, *flags_ml())
    (tmp_path / "flags.csv.gz").touch()
    monkeypatch.setenv("FUSELEARN_DATA", str(tmp_path))
    assert load_dataset("flags_ml").y.shape == (194, 7)


def test_other_labels_in_a_table_of_the_right_size_are_refused(tmp_path, monkeypatch):
    write_stored(tmp_path / "flags_ml.csv.gz", *flags_ml(positives=600))
    monkeypatch.setenv("FUSELEARN_DATA", str(tmp_path))
    with pytest.raises(DatasetError, match=r"600 label assignments, but .* 658 label assign"):
        load_dataset("flags_ml")


def test_a_folder_that_does_not_exist_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("FUSELEARN_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(DatasetError, match="nowhere, which is not a folder"):
        load_dataset("iris")


def test_without_network_and_folder_the_error_says_what_to_do():
    with pytest.raises(DatasetError) as caught:
        load_dataset("sonar")
    sentence = str(caught.value)
    assert "no network in tests" in sentence
    assert "Put sonar.csv.gz (60 features, 'class' last) into the subfolder multiclass/" in sentence
    assert "set FUSELEARN_DATA" in sentence


def test_where_no_copy_is_known_the_error_says_so():
    with pytest.raises(DatasetError, match=r"no OpenML copy is known.*Put tvowel"):
        load_dataset("tvowel")
    with pytest.raises(DatasetError, match=r"'physio' is not available.*its origin is unknown"):
        load_dataset("physio")


def test_download_can_be_forbidden(monkeypatch):
    monkeypatch.setattr("fuselearn.datasets.loading.fetch", None)
    with pytest.raises(DatasetError, match="was not downloaded because download=False"):
        load_dataset("sonar", download=False)


@pytest.mark.parametrize(
    ("misspelt", "meant"),
    [("irs", "iris"), ("Balance-Scale", "balance_scale"), ("cal50", "cal500")],
)
def test_misspelt_names_get_a_suggestion(misspelt, meant):
    with pytest.raises(DatasetError, match=f"Did you mean '{meant}'"):
        load_dataset(misspelt)


def test_available_lists_where_each_would_come_from(tmp_path):
    write_stored(tmp_path / "cache" / "multiclass" / "skulls.csv.gz", *fake_skulls())
    lines = {line.name: line for line in available()}
    assert list(lines) == list(registry())
    assert lines["iris"].source == "scikit-learn"
    assert lines["skulls"].source.endswith("skulls.csv.gz")
    assert lines["skulls"].offline
    assert lines["sonar"].source == "OpenML dataset 40"
    assert not lines["sonar"].offline
    assert lines["physio"].source.startswith("nowhere: its origin is unknown")


def test_available_filters_by_task():
    assert {line.task for line in available("multilabel")} == {"multilabel"}
    with pytest.raises(DatasetError, match="task must be"):
        available("regression")


@pytest.fixture
def real_folder():
    if not os.environ.get("FUSELEARN_DATA"):
        pytest.skip("FUSELEARN_DATA names no folder with the papers' tables")


@pytest.mark.parametrize("name", [n for n, info in registry().items() if not info.unavailable])
def test_the_papers_tables_agree_with_the_registry(name, real_folder):
    listing = next(line for line in available() if line.name == name)
    if not listing.offline:
        pytest.skip(f"FUSELEARN_DATA has no {name}")
    dataset = load_dataset(name, download=False)
    assert all(dtype.kind in "iuf" or dtype == "category" for dtype in dataset.X.dtypes)
