"""A fit from files gives the model of a fit in memory."""

import inspect
import os
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone

import fuselearn
from fuselearn import CARTClassifier
from fuselearn.disk import (
    DiskBaggedClassifier,
    DiskForestClassifier,
    DiskKFHEClassifier,
    DiskSAMMEClassifier,
    session,
    sources,
)
from fuselearn.parts import table

N_SAMPLES = 300
KINDS = [DiskBaggedClassifier, DiskForestClassifier, DiskKFHEClassifier, DiskSAMMEClassifier]


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    """Let even small tables have many parts and large arrays."""
    monkeypatch.setattr(sources, "PART_VALUES", 250)
    monkeypatch.setattr(session, "LARGE", 100)


@pytest.fixture(scope="module")
def samples():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_SAMPLES, 5)).round(1)
    X[rng.random(X.shape) < 0.1] = np.nan
    y = np.array(["a", "b", "c"])[(np.nan_to_num(X[:, 0]) > 0).astype(int) + (rng.random(N_SAMPLES) < 0.3)]
    return X, y, rng.random(N_SAMPLES)


@pytest.fixture
def frame(samples):
    X, y, weights = samples
    frame = pd.DataFrame(X, columns=list("vwxyz")).assign(label=y, weight=weights)
    rng = np.random.default_rng(1)
    frame["text"] = rng.choice(["p", "q", "r"], N_SAMPLES)
    frame.loc[frame.index % 7 == 0, "text"] = None
    frame["kind"] = pd.Categorical(rng.choice(["low", "high"], N_SAMPLES), categories=["low", "mid", "high"])
    return frame


def fit_local(kind, X, y, weights=None, **given):
    local = getattr(fuselearn, kind.__name__.removeprefix("Disk"))
    return local(n_estimators=3, random_state=3, sampling="poisson", **given).fit(X, y, weights)


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("kind", KINDS)
def test_arrays(samples, kind, n_jobs):
    X, y, weights = samples
    model = kind(n_estimators=3, random_state=3, n_jobs=n_jobs).fit(X, y, weights)
    local = fit_local(kind, X, y, weights, n_jobs=n_jobs)
    assert joblib.hash(model.to_local()) == joblib.hash(local)
    np.testing.assert_array_equal(model.predict(X), local.predict(X))


def test_files_of_arrays_are_mapped_into_memory(samples, tmp_path):
    X, y, weights = samples
    for name, values in (("X", X), ("y", y), ("w", weights)):
        np.save(tmp_path / f"{name}.npy", values)
    local = fit_local(DiskKFHEClassifier, X, y, weights)
    model = DiskKFHEClassifier(n_estimators=3, random_state=3)
    model.fit(tmp_path / "X.npy", str(tmp_path / "y.npy"), tmp_path / "w.npy")
    assert joblib.hash(model.to_local()) == joblib.hash(local)
    np.testing.assert_array_equal(model.predict_proba(tmp_path / "X.npy"), local.predict_proba(X))
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    model.fit(mapped, y, weights)
    assert joblib.hash(model.to_local()) == joblib.hash(local)
    np.testing.assert_array_equal(model.predict(mapped), local.predict(X))


@pytest.mark.parametrize("kind", KINDS)
def test_parquet_files_with_texts_categories_and_missing_values(frame, tmp_path, kind):
    (tmp_path / "parts").mkdir()
    frame[:200].to_parquet(tmp_path / "parts" / "0.parquet", row_group_size=60)
    frame[200:].to_parquet(tmp_path / "parts" / "1.parquet", row_group_size=3)
    features = frame.drop(columns=["label", "weight"])  # categories of files have no order of their own
    local = fit_local(kind, features.astype({"kind": object}), frame["label"], frame["weight"])
    model = kind(n_estimators=3, random_state=3)
    for X in (tmp_path / "parts", [tmp_path / "parts" / "0.parquet", str(tmp_path / "parts" / "1.parquet")]):
        model.fit(X, "label", "weight")
        assert joblib.hash(model.to_local()) == joblib.hash(local)
        np.testing.assert_array_equal(model.predict(X), local.predict(features))
    assert list(model.feature_names_in_) == list(features.columns)


def test_frames(frame):
    features = frame.drop(columns=["label", "weight"])
    local = fit_local(DiskBaggedClassifier, features, frame["label"], frame["weight"])
    model = DiskBaggedClassifier(n_estimators=3, random_state=3).fit(features, frame["label"], frame["weight"])
    assert joblib.hash(model.to_local()) == joblib.hash(local)


def test_files_are_deleted_after_a_fit_an_error_and_an_interrupt(samples, tmp_path):
    X, y, _ = samples
    n_files = []

    def look(number, tree):
        n_files.append(sum(len(files) for _, _, files in os.walk(tmp_path)))

    DiskKFHEClassifier(n_estimators=3, random_state=3, directory=tmp_path, callback=look).fit(X, y)
    assert min(n_files) > 0
    assert n_files[0] == n_files[-1]
    assert not list(tmp_path.iterdir())
    for error in (ZeroDivisionError, KeyboardInterrupt):

        def fail(number, tree, error=error):
            raise error

        with pytest.raises(error):
            DiskKFHEClassifier(directory=tmp_path, callback=fail).fit(X, y)
        assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("directory", ["missing", Path("missing"), 3])
def test_a_folder_that_does_not_exist_gets_a_sentence(samples, tmp_path, monkeypatch, directory):
    monkeypatch.chdir(tmp_path)
    X, y, _ = samples
    with pytest.raises(ValueError, match=r"directory must be an existing folder or None, not ('missing'|3)\."):
        DiskKFHEClassifier(directory=directory).fit(X, y)


def test_levels_of_many_bins_are_counted_in_rounds(samples, monkeypatch):
    X, y, _ = samples
    local = fit_local(DiskForestClassifier, X, y)
    monkeypatch.setattr(table, "BINS_AT_ONCE", 100)
    model = DiskForestClassifier(3, random_state=3).fit(X, y)
    assert joblib.hash(model.to_local()) == joblib.hash(local)


def test_constructor_is_the_local_one_with_a_folder_and_a_checkpoint():
    for kind in KINDS:
        local = inspect.signature(getattr(fuselearn, kind.__name__.removeprefix("Disk"))).parameters
        assert list(inspect.signature(kind).parameters) == [*local, "checkpoint", "directory"]
        assert clone(kind(n_estimators=7, directory="here")).directory == "here"


@pytest.mark.parametrize(
    ("given", "kind", "message"),
    [
        (("none.parquet", "label"), FileNotFoundError, "There is no file or folder none.parquet"),
        (("empty", "label"), ValueError, "The folder empty has no .parquet files"),
        (("a.parquet", [0, 1]), TypeError, "y must be the name of one of their columns"),
        (("a.parquet", "class"), ValueError, "a.parquet has no column 'class'; its columns are v, w"),
        (("a.parquet", "label", "w8"), ValueError, "a.parquet has no column 'w8'"),
        (("text.parquet", "label"), ValueError, "text.parquet is no Parquet file"),
        (("y.npy", [0, 1, 0]), ValueError, "X must have two dimensions"),
        ((np.ones((3, 2)), [0, 1]), ValueError, "X has 3 samples and y 2"),
        ((np.ones((0, 2)), []), ValueError, "X has no samples"),
        ((np.ones((3, 2)), "label"), TypeError, "y must be an array or the path of a .npy file, not 'label'"),
        ((np.ones((3, 2)), None), ValueError, "y is None"),
        ((sparse.eye_array(3), [0, 1, 0]), TypeError, "X is sparse; the class without Disk"),
        (([1.0, 2.0], [0, 1]), ValueError, "X must have two dimensions, samples and features, not 1"),
        ((np.full((600, 2), np.inf), np.arange(600) % 2), ValueError, "Part 0: Input X contains infinity"),
    ],
)
def test_wrong_input_gets_a_sentence(frame, tmp_path, monkeypatch, given, kind, message):
    monkeypatch.chdir(tmp_path)
    frame.to_parquet("a.parquet")
    (tmp_path / "text.parquet").write_text("no")
    (tmp_path / "empty").mkdir()
    np.save("y.npy", np.arange(3))
    with pytest.raises(kind, match=message):
        DiskBaggedClassifier().fit(*given)


def test_model_of_an_array_cannot_predict_for_parquet_files(samples, frame, tmp_path):
    frame.to_parquet(tmp_path / "a.parquet")
    model = DiskForestClassifier(3, random_state=3).fit(*samples[:2])
    with pytest.raises(ValueError, match="without names of features"):
        model.predict(tmp_path / "a.parquet")


def test_unsupported_settings(samples):
    with pytest.raises(ValueError, match="does not support oob_score"):
        DiskForestClassifier(oob_score=True).fit(*samples[:2])
    with pytest.raises(ValueError, match="sampling='poisson' only"):
        DiskKFHEClassifier(sampling="multinomial").fit(*samples[:2])
    with pytest.raises(ValueError, match="takes class_weight itself"):
        DiskKFHEClassifier(CARTClassifier(class_weight="balanced")).fit(*samples[:2])


def test_a_model_with_paths_comes_back_from_a_file(samples, tmp_path):
    model = DiskKFHEClassifier(n_estimators=3, random_state=3, directory=tmp_path, checkpoint=tmp_path / "trees")
    model.fit(*samples[:2])
    fuselearn.save(model, tmp_path / "model.fuse")
    restored = fuselearn.load(tmp_path / "model.fuse")
    assert (restored.directory, restored.checkpoint) == (str(tmp_path), str(tmp_path / "trees"))
    np.testing.assert_array_equal(restored.predict_proba(samples[0]), model.predict_proba(samples[0]))
