import gzip

import numpy as np
import pandas as pd
import pytest

from fuselearn.datasets import DatasetError
from fuselearn.datasets.loading import read_stored, write_stored

X = pd.DataFrame(
    {
        "real": [0.1 + 0.2, 1e-300, np.nan],
        "whole": [1, 2, 3],
        "text": pd.Categorical(["a, b", None, 'say "x"']),
    }
)


def test_classes_survive_a_round_trip(tmp_path):
    y = pd.Series(["NA", "007", "none"], name="class")
    write_stored(tmp_path / "a.csv.gz", X, y)
    back, classes = read_stored(tmp_path / "a.csv.gz")
    pd.testing.assert_frame_equal(back, X, check_categorical=False)
    assert classes.tolist() == ["NA", "007", "none"]


def test_labels_survive_a_round_trip(tmp_path):
    Y = pd.DataFrame({"p": [0, 1, 1], "q:r": [0, 0, 0]})
    write_stored(tmp_path / "a.csv.gz", X, Y)
    back, labels = read_stored(tmp_path / "a.csv.gz")
    pd.testing.assert_frame_equal(labels, Y)
    assert list(back.columns) == list(X.columns)


def test_every_float_survives_a_round_trip(tmp_path):
    rng = np.random.default_rng(0)
    exponents = rng.integers(-300, 300, size=20_000).astype(float)
    floats = pd.DataFrame({"a": rng.normal(size=20_000) * 10**exponents})
    write_stored(tmp_path / "a.csv.gz", floats, pd.Series(["x", "y"] * 10_000))
    assert read_stored(tmp_path / "a.csv.gz")[0].equals(floats)


def test_the_same_table_gives_the_same_bytes(tmp_path):
    y = pd.Series(list("abc"))
    for name in ("1.csv.gz", "2.csv.gz"):
        write_stored(tmp_path / name, X, y)
    assert (tmp_path / "1.csv.gz").read_bytes() == (tmp_path / "2.csv.gz").read_bytes()


def test_a_failed_write_leaves_the_old_file_and_no_other(tmp_path, monkeypatch):
    path = tmp_path / "a.csv.gz"
    write_stored(path, X, pd.Series(list("abc")))
    before = path.read_bytes()

    def full_disk(*_):
        raise OSError("disk full")

    monkeypatch.setattr("os.replace", full_disk)
    with pytest.raises(OSError, match="disk full"):
        write_stored(path, X, pd.Series(list("xyz")))
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_a_truncated_file_is_named(tmp_path):
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress(b"a,class\n" + b"1,x\n" * 500)[:-20])
    with pytest.raises(DatasetError, match=r"a\.csv\.gz cannot be read as a table"):
        read_stored(path)


def test_a_file_without_target_is_refused(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("class,a\nx,1\n")
    with pytest.raises(DatasetError, match="neither a last column 'class' nor"):
        read_stored(path)
