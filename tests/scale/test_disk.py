"""A fit from files gives the model of a fit in memory."""

import os
import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from joblib import hash as digest
from scipy import sparse
from sklearn.base import clone

from fuselearn import BaggedClassifier, ForestClassifier, KFHEClassifier, SAMMEClassifier
from fuselearn.scale import DiskEnsemble, disk_session, sources, table

SMALL = {"n_estimators": 3, "random_state": 3, "sampling": "poisson"}
KINDS = [BaggedClassifier, ForestClassifier, KFHEClassifier, SAMMEClassifier]
KFHE = KFHEClassifier(**SMALL)


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    """Let even small tables have many parts and large arrays."""
    monkeypatch.setattr(sources, "PART_VALUES", 250)
    monkeypatch.setattr(disk_session, "LARGE", 100)


@pytest.fixture
def frame(samples):
    X, y, weights = samples
    frame = pd.DataFrame(X, columns=list("vwxyz")).assign(label=y, weight=weights)
    rng = np.random.default_rng(1)
    frame["text"] = rng.choice(["p", "q", "r"], len(y))
    frame.loc[frame.index % 7 == 0, "text"] = None
    frame["kind"] = pd.Categorical(rng.choice(["low", "high"], len(y)), categories=["low", "mid", "high"])
    return frame


def assert_same(model, *samples):
    """Check that a model is the one that is fitted in memory, to the last bit."""
    local = clone(model.estimator).fit(*samples)
    assert digest(model.estimator_) == digest(local)
    np.testing.assert_array_equal(model.predict(samples[0]), local.predict(samples[0]))


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("kind", KINDS)
def test_arrays(samples, kind, n_jobs):
    assert_same(DiskEnsemble(kind(n_jobs=n_jobs, **SMALL)).fit(*samples), *samples)


def test_files_of_arrays_are_mapped_into_memory(samples, tmp_path):
    files = [tmp_path / f"{name}.npy" for name in "Xyw"]
    for file, values in zip(files, samples, strict=True):
        np.save(file, values)
    model = DiskEnsemble(KFHE).fit(files[0], str(files[1]), files[2])
    assert_same(model, *samples)
    np.testing.assert_array_equal(model.predict_proba(files[0]), model.predict_proba(samples[0]))
    assert model.score(*files) == pytest.approx(model.score(*samples))
    mapped = np.load(files[0], mmap_mode="r")
    assert_same(model.fit(mapped, *samples[1:]), *samples)
    np.testing.assert_array_equal(model.predict(mapped), model.predict(samples[0]))


@pytest.mark.parametrize("kind", KINDS)
def test_parquet_files_with_texts_categories_and_missing_values(frame, tmp_path, kind):
    frame[:200].to_parquet(tmp_path / "0.parquet", row_group_size=60)
    frame[200:].to_parquet(tmp_path / "1.parquet", row_group_size=3)
    features = frame.drop(columns=["label", "weight"]).astype({"kind": object})  # files have no order of categories
    for X in (tmp_path, [tmp_path / "0.parquet", str(tmp_path / "1.parquet")]):
        model = DiskEnsemble(kind(**SMALL)).fit(X, "label", "weight")
        assert_same(model, features, frame["label"], frame["weight"])
        np.testing.assert_array_equal(model.predict(X), model.predict(features))
        assert model.score(X, "label") == pytest.approx(model.score(features, frame["label"]))
        expected = model.score(features, frame["label"], frame["weight"])
        assert model.score(X, "label", "weight") == pytest.approx(expected)
    assert list(model.feature_names_in_) == list(features.columns)


def test_frames(frame):
    given = frame.drop(columns=["label", "weight"]), frame["label"], frame["weight"]
    assert_same(DiskEnsemble(KFHE).fit(*given), *given)


def test_files_are_deleted_after_a_fit_an_error_and_an_interrupt(samples, tmp_path):
    n_files = []

    def look(number, tree):
        n_files.append(sum(len(files) for _, _, files in os.walk(tmp_path)))

    model = DiskEnsemble(clone(KFHE), directory=tmp_path)
    model.set_params(estimator__callback=look).fit(*samples)
    assert n_files[0] == n_files[-1] > 0
    assert not list(tmp_path.iterdir())
    for error in (ZeroDivisionError, KeyboardInterrupt):

        def fail(number, tree, error=error):
            raise error

        with pytest.raises(error):
            model.set_params(estimator__callback=fail).fit(*samples)
        assert not list(tmp_path.iterdir())
        assert not hasattr(model, "estimator_")


@pytest.mark.parametrize("directory", ["missing", Path("missing"), 3])
def test_a_folder_that_does_not_exist_gets_a_sentence(samples, tmp_path, monkeypatch, directory):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=r"directory must be an existing folder or None, not ('missing'|3)\."):
        DiskEnsemble(KFHE, directory=directory).fit(*samples)


def test_levels_of_many_bins_are_counted_in_rounds(samples, monkeypatch):
    monkeypatch.setattr(table, "BINS_AT_ONCE", 100)
    assert_same(DiskEnsemble(ForestClassifier(**SMALL)).fit(*samples), *samples)


def test_a_callback_with_a_state_is_not_copied(samples):
    class Counter(list):
        def add(self, number, tree):
            self.append(number)

    seen = Counter()
    DiskEnsemble(clone(KFHE).set_params(callback=seen.add)).fit(*samples)
    assert seen == [1, 2, 3]


@pytest.mark.parametrize(
    ("given", "kind", "message"),
    [
        (("none.parquet", "label"), FileNotFoundError, "There is no file or folder none.parquet"),
        (("empty", "label"), ValueError, "The folder empty contains no .parquet files"),
        (("a.parquet", [0, 1]), TypeError, "y must be the name of one of their columns"),
        (("a.parquet", "class"), ValueError, "a.parquet has no column 'class'; its columns are v, w"),
        (("a.parquet", "label", "w8"), ValueError, "a.parquet has no column 'w8'"),
        (("text.parquet", "label"), ValueError, "text.parquet is not a Parquet file"),
        (("y.npy", [0, 1, 0]), ValueError, "X must have two dimensions"),
        ((np.ones((3, 2)), [0, 1]), ValueError, "X has 3 samples and y 2"),
        ((np.ones((0, 2)), []), ValueError, "X has no samples"),
        ((np.ones((3, 2)), "label"), TypeError, "y must be an array or the path of a .npy file, not 'label'"),
        ((np.ones((3, 2)), None), ValueError, "requires y to be passed"),
        ((sparse.eye_array(3), [0, 1, 0]), TypeError, "X is sparse; fit the estimator itself"),
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
        DiskEnsemble(KFHE).fit(*given)


def test_model_of_an_array_cannot_predict_for_parquet_files(samples, frame, tmp_path):
    frame.to_parquet(tmp_path / "a.parquet")
    model = DiskEnsemble(KFHE).fit(*samples[:2])
    with pytest.raises(ValueError, match="without feature names"):
        model.predict(tmp_path / "a.parquet")


def test_a_copy_holds_paths_as_text(samples, tmp_path):
    model = DiskEnsemble(KFHE, directory=tmp_path, checkpoint=tmp_path / "trees").fit(*samples)
    restored = pickle.loads(pickle.dumps(model))
    assert (restored.directory, restored.checkpoint) == (str(tmp_path), str(tmp_path / "trees"))
    np.testing.assert_array_equal(restored.predict_proba(samples[0]), model.predict_proba(samples[0]))
