"""LIFT: clusters and distances by hand, and the models on them."""

import numpy as np
from sklearn.linear_model import LogisticRegression

from fuselearn import CARTClassifier
from fuselearn.multilabel import LIFTClassifier


def test_centres_by_hand():
    X = np.array([[0.0], [2.0], [10.0], [12.0], [14.0], [1.0]])
    Y = np.array([[1, 0], [1, 0], [0, 0], [0, 0], [0, 0], [1, 0]])
    model = LIFTClassifier(CARTClassifier(), ratio=0.1, scaling=None, random_state=0).fit(X, Y)
    # Three samples of either kind make ceil(0.1 * 3) = 1 cluster each; the second label is constant.
    np.testing.assert_allclose(model.centers_[0], [[1.0], [12.0]])
    assert model.centers_[1].shape == (0, 1)
    assert not model.predict_proba(X)[:, 1].any()
    model.set_params(ratio=0.5).fit(X, Y)  # ceil(0.5 * 3) = 2 each
    assert [len(centers) for centers in model.centers_] == [4, 0]
    assert sorted(model.centers_[0][2:].ravel()) in ([10.0, 13.0], [11.0, 14.0])


def test_a_model_learns_from_distances():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    Y = np.column_stack([(X**2).sum(axis=1) < 1.2, X[:, 0] > 0]).astype(int)  # a disc: no linear model of X finds it
    model = LIFTClassifier(LogisticRegression(), scaling=None, random_state=0).fit(X, Y)
    for j, centers in enumerate(model.centers_):
        distances = np.sqrt(((X[:, None] - centers) ** 2).sum(axis=2))
        expected = LogisticRegression().fit(distances, Y[:, j]).predict_proba(distances)[:, 1]
        np.testing.assert_allclose(model.predict_proba(X)[:, j], expected, atol=1e-4)
    assert (model.predict(X) == Y).mean() > 0.9


def test_scaling_makes_units_irrelevant():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    Y = (X[:, :2] > 0).astype(int)
    units = np.array([1.0, 1000.0, 0.01])
    for scaling in ("standard", "minmax"):
        one, other = (
            LIFTClassifier("tree", scaling=scaling, random_state=0).fit(table, Y).predict_proba(table)
            for table in (X, X * units)
        )
        np.testing.assert_allclose(one, other)


def test_samples_without_weight_are_in_no_cluster():
    X = np.array([[0.0], [2.0], [10.0], [12.0], [99.0]])
    Y = np.array([[1], [1], [0], [0], [1]])
    model = LIFTClassifier(CARTClassifier(), scaling=None, random_state=0).fit(X, Y, [1, 3, 1, 1, 0])
    np.testing.assert_allclose(model.centers_[0], [[1.5], [11.0]])
