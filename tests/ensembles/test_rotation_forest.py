"""Rotation Forest: what a rotation is, and what it leaves as it was."""

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.linear_model import LogisticRegression

from fuselearn import CARTClassifier
from fuselearn.ensembles import RotationForestClassifier
from fuselearn.ensembles.rotation_forest import draw_rotation

X, y = load_wine(return_X_y=True)


@pytest.mark.parametrize("size", [1, 3, 5, 50])
def test_rotations_are_orthogonal_and_mix_the_features_of_a_subset_only(size):
    rotation = draw_rotation(X, y.astype(np.int32), size, np.random.default_rng(0))
    np.testing.assert_allclose(rotation.T @ rotation, np.eye(13), atol=1e-12)
    assert (np.count_nonzero(rotation, axis=0) <= size).all()


def test_directions_are_principal_components():
    """Of two classes apart, any choice of classes gives the long axis of the same cloud."""
    rng = np.random.default_rng(0)
    cloud = rng.normal(size=(400, 2)) * [5, 0.1] @ np.array([[1, 1], [-1, 1]]) / np.sqrt(2)
    rotation = draw_rotation(cloud, (np.arange(400) % 2).astype(np.int32), 2, rng)
    assert np.abs(rotation[:, 1]) == pytest.approx([np.sqrt(0.5)] * 2, abs=0.02)


def test_single_features_leave_the_tree_as_it_was():
    tree = CARTClassifier(min_samples_split=4, min_samples_leaf=2, complexity=None)
    model = RotationForestClassifier(tree, n_estimators=3, features_per_subset=1, random_state=0).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), tree.fit(X, y).predict_proba(X), atol=1e-12)


def test_slanted_borders():
    """Trees along the features need many cuts for it."""
    rng = np.random.default_rng(0)
    slanted = rng.normal(size=(300, 2)) @ np.array([[3, 3], [-0.5, 0.5]])
    side = (slanted[:, 1] > slanted[:, 0]).astype(int)
    train, test = slice(0, 150), slice(150, 300)
    tree = CARTClassifier(min_samples_split=4, complexity=None).fit(slanted[train], side[train])
    forest = RotationForestClassifier(n_estimators=10, features_per_subset=2, random_state=0)
    assert forest.fit(slanted[train], side[train]).score(slanted[test], side[test]) > 0.95
    assert tree.score(slanted[test], side[test]) < 0.93


def test_members_and_importances():
    model = RotationForestClassifier(n_estimators=4, random_state=0, n_jobs=2).fit(X, y)
    means = np.mean(
        [
            tree.predict_proba(X / model.ranges_ @ rotation)
            for tree, rotation in zip(model.estimators_, model.rotations_, strict=True)
        ],
        axis=0,
    )
    np.testing.assert_allclose(model.predict_proba(X), means, atol=1e-12)
    assert model.feature_importances_.sum() == pytest.approx(1)
    other = RotationForestClassifier(LogisticRegression(max_iter=1000), n_estimators=2, random_state=0).fit(X, y)
    assert other.score(X, y) > 0.9


def test_units_do_not_matter():
    units = np.logspace(-6, 6, 13)
    expected = RotationForestClassifier(n_estimators=3, random_state=0).fit(X, y).predict(X)
    scaled = RotationForestClassifier(n_estimators=3, random_state=0).fit(X * units, y).predict(X * units)
    np.testing.assert_array_equal(scaled, expected)
