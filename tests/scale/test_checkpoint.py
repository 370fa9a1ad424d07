"""A fit that was lost goes on where it was, to the same model."""

import joblib
import numpy as np
import pytest

from fuselearn import CARTClassifier
from fuselearn.disk import DiskBaggedClassifier, DiskForestClassifier, DiskKFHEClassifier, DiskSAMMEClassifier
from fuselearn.parts import bagging, table

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 3)).round(1)
Y = (X[:, 0] + X[:, 1] > RNG.normal(size=120)).astype(int)
KINDS = [DiskBaggedClassifier, DiskForestClassifier, DiskKFHEClassifier, DiskSAMMEClassifier]


class LostError(Exception):
    """A machine went away."""


def lose_at(number):
    def lose(n_trained, tree):
        if n_trained == number:
            raise LostError

    return lose


@pytest.fixture
def n_grown(monkeypatch):
    """Count the trees that are really grown."""
    grown = []

    class Counted(table.GrowingTree):
        def __init__(self, *given):
            grown.append(self)
            super().__init__(*given)

    monkeypatch.setattr(table, "GrowingTree", Counted)
    return grown


@pytest.mark.parametrize("random_state", [3, None])
@pytest.mark.parametrize("kind", KINDS)
def test_a_lost_fit_is_resumed_to_the_same_model(tmp_path, monkeypatch, n_grown, kind, random_state):
    monkeypatch.setattr(bagging, "TREES_AT_ONCE", 2)
    given = {"n_estimators": 6, "random_state": random_state, "checkpoint": tmp_path / "trees"}
    with pytest.raises(LostError):
        kind(**given, callback=lose_at(4)).fit(X, Y)
    n_before = len(n_grown)
    resumed = kind(**given).fit(X, Y)
    n_all = 7 if kind is DiskKFHEClassifier else 6
    assert n_before >= 4
    assert len(n_grown) == n_all
    if random_state is not None:
        whole = kind(6, random_state=3) if kind is DiskForestClassifier else kind(n_estimators=6, random_state=3)
        whole.fit(X, Y)
        np.testing.assert_array_equal(resumed.predict_proba(X), whole.predict_proba(X))
        assert joblib.hash(resumed.to_local()) == joblib.hash(whole.to_local())
    again = kind(**given).fit(X, Y)
    assert len(n_grown) == n_all + (0 if random_state is None else n_all)
    assert joblib.hash(again.to_local()) == joblib.hash(resumed.to_local())


def test_discarded_trees_of_kfhe_are_found_again(tmp_path):
    noise = RNG.integers(0, 2, 120)
    given = {"estimator": CARTClassifier(max_depth=1), "n_estimators": 30, "random_state": 1}
    whole = DiskKFHEClassifier(**given).fit(X, noise)
    assert len(whole.resets_) > 0
    with pytest.raises(LostError):
        DiskKFHEClassifier(**given, checkpoint=tmp_path, callback=lose_at(whole.resets_[-1])).fit(X, noise)
    resumed = DiskKFHEClassifier(**given, checkpoint=tmp_path).fit(X, noise)
    assert joblib.hash(resumed.to_local()) == joblib.hash(whole.to_local())


def test_more_trees_than_before(tmp_path, n_grown):
    DiskForestClassifier(3, random_state=0, checkpoint=tmp_path).fit(X, Y)
    longer = DiskForestClassifier(5, random_state=0, checkpoint=tmp_path).fit(X, Y)
    assert len(n_grown) == 5
    whole = DiskForestClassifier(5, random_state=0).fit(X, Y)
    np.testing.assert_array_equal(longer.predict_proba(X), whole.predict_proba(X))


@pytest.mark.parametrize(
    ("model", "samples", "message"),
    [
        (DiskForestClassifier(3, random_state=0), (X[:100], Y[:100]), "number of samples was 120 and is now 100"),
        (DiskForestClassifier(3, random_state=0), (X + 1, Y), "values was"),
        (DiskForestClassifier(3, random_state=0), (X, Y[::-1]), "samples was"),
        (DiskForestClassifier(3, random_state=0), (X[::-1], Y), "samples was"),
        (DiskForestClassifier(3, random_state=0), (X, Y, np.arange(120) % 2 * 2), "samples was"),
        (DiskForestClassifier(3, random_state=1), (X, Y), "random_state was 0 and is now 1"),
        (DiskForestClassifier(3, random_state=0, max_depth=2), (X, Y), "parameters was"),
        (DiskBaggedClassifier(n_estimators=3, random_state=0), (X, Y), "class was 'ForestClassifier' and is now"),
    ],
)
def test_the_checkpoint_of_another_fit_is_refused(tmp_path, model, samples, message):
    DiskForestClassifier(3, random_state=0, checkpoint=tmp_path).fit(X, Y)
    with pytest.raises(ValueError, match=f"is of another fit: {message}"):
        model.set_params(checkpoint=tmp_path).fit(*samples)


def test_a_damaged_tree_and_folders_that_are_no_checkpoints(tmp_path):
    model = DiskForestClassifier(3, random_state=0, checkpoint=tmp_path / "trees").fit(X, Y)
    next((tmp_path / "trees").glob("*.npz")).write_bytes(b"PK")
    with pytest.raises(ValueError, match="is damaged; delete it"):
        model.fit(X, Y)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "diary.txt").write_text("private")
    with pytest.raises(ValueError, match="has files, but no checkpoint"):
        model.set_params(checkpoint=tmp_path / "other").fit(X, Y)
    with pytest.raises(ValueError, match=r"must be a folder; .*diary.txt is a file"):
        model.set_params(checkpoint=tmp_path / "other" / "diary.txt").fit(X, Y)
    (tmp_path / "trees" / "fit.json").write_text("[]")
    with pytest.raises(ValueError, match="is no checkpoint's"):
        model.set_params(checkpoint=tmp_path / "trees").fit(X, Y)
    with pytest.raises(ValueError, match="random_state must be a whole number or None"):
        model.set_params(checkpoint=tmp_path / "new", random_state=np.random.RandomState(0)).fit(X, Y)
