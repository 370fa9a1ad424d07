"""A fit that was lost goes on where it was, to the same model."""

import joblib
import numpy as np
import pytest
from sklearn.base import clone

from fuselearn import BaggedClassifier, CARTClassifier, ForestClassifier, KFHEClassifier, SAMMEClassifier
from fuselearn.scale import DiskEnsemble, table, training

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 3)).round(1)
Y = (X[:, 0] + X[:, 1] > RNG.normal(size=120)).astype(int)
FOREST = ForestClassifier(3, sampling="poisson", random_state=0)


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
@pytest.mark.parametrize("kind", [BaggedClassifier, ForestClassifier, KFHEClassifier, SAMMEClassifier])
def test_a_lost_fit_is_resumed_to_the_same_model(tmp_path, monkeypatch, n_grown, kind, random_state):
    monkeypatch.setattr(training, "TREES_AT_ONCE", 2)
    model = kind(n_estimators=6, sampling="poisson", random_state=random_state)
    lost, resumed = (DiskEnsemble(clone(model), checkpoint=tmp_path / "trees") for _ in range(2))
    with pytest.raises(LostError):
        lost.set_params(estimator__callback=lose_at(4)).fit(X, Y)
    n_before = len(n_grown)
    resumed.fit(X, Y)
    assert n_before >= 4
    assert len(n_grown) == (7 if kind is KFHEClassifier else 6)
    if random_state is not None:
        assert joblib.hash(resumed.estimator_) == joblib.hash(model.fit(X, Y))
    first, n_before = joblib.hash(resumed.estimator_), len(n_grown)
    assert joblib.hash(resumed.fit(X, Y).estimator_) == first
    assert len(n_grown) == n_before


@pytest.mark.parametrize("reset", ["training", "out-of-bag"])
def test_discarded_trees_of_kfhe_are_found_again(tmp_path, reset):
    noise, stump = RNG.integers(0, 2, 120), CARTClassifier(max_depth=1)
    whole = KFHEClassifier(stump, 30, sampling="poisson", reset=reset, random_state=1).fit(X, noise)
    assert len(whole.resets_) > 0
    last = min(whole.resets_[-1], 30)
    model = DiskEnsemble(clone(whole).set_params(callback=lose_at(last)), checkpoint=tmp_path)
    with pytest.raises(LostError):
        model.fit(X, noise)
    resumed = model.set_params(estimator__callback=None).fit(X, noise)
    assert joblib.hash(resumed.estimator_) == joblib.hash(whole)


def test_more_trees_than_before(tmp_path, n_grown):
    model = DiskEnsemble(clone(FOREST), checkpoint=tmp_path).fit(X, Y)
    longer = model.set_params(estimator__n_estimators=5).fit(X, Y).estimator_
    assert len(n_grown) == 5
    assert joblib.hash(longer) == joblib.hash(clone(FOREST).set_params(n_estimators=5).fit(X, Y))


@pytest.mark.parametrize(
    ("changes", "samples", "message"),
    [
        ({}, (X[:100], Y[:100]), "number of samples was 120 and is now 100"),
        ({}, (X + 1, Y), "values was"),
        ({}, (X, Y[::-1]), "samples was"),
        ({}, (X[::-1], Y), "samples was"),
        ({}, (X, Y, np.arange(120) % 2 * 2), "samples was"),
        ({"estimator__random_state": 1}, (X, Y), "random_state was 0 and is now 1"),
        ({"estimator__max_depth": 2}, (X, Y), "parameters was"),
        (
            {"estimator": BaggedClassifier(sampling="poisson", random_state=0)},
            (X, Y),
            "class was 'ForestClassifier' and is now",
        ),
    ],
)
def test_the_checkpoint_of_another_fit_is_refused(tmp_path, changes, samples, message):
    model = DiskEnsemble(clone(FOREST), checkpoint=tmp_path).fit(X, Y)
    with pytest.raises(ValueError, match=f"belongs to a different fit: {message}"):
        model.set_params(**changes).fit(*samples)


def test_a_damaged_tree_and_folders_that_are_no_checkpoints(tmp_path):
    model = DiskEnsemble(clone(FOREST), checkpoint=tmp_path / "trees").fit(X, Y)
    next((tmp_path / "trees").glob("*.npz")).write_bytes(b"PK")
    with pytest.raises(ValueError, match="is damaged; delete it"):
        model.fit(X, Y)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "diary.txt").write_text("private")
    with pytest.raises(ValueError, match="contains files, but no checkpoint"):
        model.set_params(checkpoint=tmp_path / "other").fit(X, Y)
    with pytest.raises(ValueError, match=r"must be a folder; .*diary.txt is a file"):
        model.set_params(checkpoint=tmp_path / "other" / "diary.txt").fit(X, Y)
    (tmp_path / "trees" / "fit.json").write_text("[]")
    with pytest.raises(ValueError, match="does not belong to a checkpoint"):
        model.set_params(checkpoint=tmp_path / "trees").fit(X, Y)
    with pytest.raises(ValueError, match="random_state must be an integer or None"):
        model.set_params(checkpoint=tmp_path / "new", estimator__random_state=np.random.RandomState(0)).fit(X, Y)
