"""PLST: principal components of labels, and what is decoded from them."""

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.tree import DecisionTreeRegressor

from fuselearn.multilabel import PLSTClassifier

BY_HEART = DecisionTreeRegressor()


@pytest.mark.parametrize("n_components", [4, 1.0, 100])
@pytest.mark.parametrize("base", [BY_HEART, KNeighborsRegressor(1)])
def test_all_components_and_exact_regressors_reproduce_the_labels(labelled, base, n_components):
    X, Y = labelled
    model = PLSTClassifier(base, n_components=n_components).fit(X, Y)
    np.testing.assert_allclose(model.predict_proba(X), Y, atol=1e-9)
    np.testing.assert_array_equal(model.predict(X), Y)


@pytest.mark.parametrize("n_components", [1, 2, 0.5, 0.8])
def test_components_are_those_of_scikit_learn(labelled, n_components):
    X, Y = labelled
    model = PLSTClassifier(BY_HEART, n_components=n_components).fit(X, Y)
    theirs = PCA(n_components, svd_solver="full").fit(Y)
    assert model.n_components_ == theirs.n_components_
    np.testing.assert_allclose(abs(model.components_), abs(theirs.components_), atol=1e-9)
    decoded = theirs.inverse_transform(theirs.transform(Y))
    np.testing.assert_allclose(model.predict_proba(X), np.clip(decoded, 0, 1), atol=1e-9)


def test_labels_that_are_always_together_need_one_component(labelled):
    X, Y = labelled
    twins = Y[:, [0, 0, 0]]
    model = PLSTClassifier(BY_HEART, n_components=1.0).fit(X, twins)
    assert model.n_components_ == 1
    np.testing.assert_array_equal(model.predict(X), twins)


def test_linear_regression_on_all_components_is_that_of_each_label(labelled):
    X, Y = labelled
    model = PLSTClassifier(LinearRegression(), n_components=1.0).fit(X[:60], Y[:60])
    expected = LinearRegression().fit(X[:60], Y[:60]).predict(X[60:])
    np.testing.assert_allclose(model.predict_proba(X[60:]), np.clip(expected, 0, 1))


def test_a_regressor_of_one_target_is_cloned_for_each_component(labelled):
    X, Y = labelled
    small = GradientBoostingRegressor(n_estimators=2)
    model = PLSTClassifier(small, n_components=3, random_state=0).fit(X, Y)
    assert len(model.estimators_) == 3
    assert model.predict(X).shape == Y.shape
    assert len(PLSTClassifier(n_components=3).fit(X, Y).estimators_) == 1


@pytest.mark.parametrize("base", [Ridge(), BY_HEART, KNeighborsRegressor(3)])
def test_whole_weights_are_copies(labelled, base):
    X, Y = labelled
    weights = np.arange(80) % 3
    model = PLSTClassifier(base, random_state=0).fit(X, Y, weights)
    copied = PLSTClassifier(base, random_state=0).fit(np.repeat(X, weights, axis=0), np.repeat(Y, weights, axis=0))
    drawn = X[weights > 0]  # of two equally good cuts of a tree, rounding may choose another
    np.testing.assert_allclose(model.predict_proba(drawn), copied.predict_proba(drawn), atol=1e-9)


def test_constant_labels_need_no_regressor(labelled):
    X, Y = labelled
    model = PLSTClassifier().fit(X, np.zeros_like(Y))
    assert (model.n_components_, model.estimators_) == (0, [])
    assert not model.predict(X).any()


class TestConditional:
    @pytest.mark.parametrize("l2", [0.0, 3.0])
    @pytest.mark.parametrize("weighted", [False, True])
    def test_directions_are_those_of_the_paper(self, labelled, l2, weighted):
        """Chen and Lin (2012): the eigenvectors of Z' H Z, with H the hat matrix of the (ridge) regression on X."""
        X, Y = labelled
        weights = np.linspace(0.2, 1.8, len(X)) if weighted else np.ones(len(X))
        root = np.sqrt(weights)[:, None]
        centred, Z = (root * (table - np.average(table, axis=0, weights=weights)) for table in (X, Y))
        left, sizes, _ = np.linalg.svd(centred, full_matrices=False)
        hat = left * (sizes**2 / (sizes**2 + l2)) @ left.T
        _, vectors = np.linalg.eigh(Z.T @ hat @ Z)
        model = PLSTClassifier(n_components=2, conditional=True, l2=l2).fit(X, Y, weights if weighted else None)
        np.testing.assert_allclose(abs(model.components_), abs(vectors[:, ::-1][:, :2].T), atol=1e-8)

    def test_what_features_cannot_predict_is_left_out(self):
        """Three labels of chance vary most together; one that the feature tells varies less."""
        rng = np.random.default_rng(0)
        X = rng.normal(size=(400, 1))
        chance = rng.random(400) < 0.5
        Y = np.column_stack([X[:, 0] > 1.0, chance, chance, chance]).astype(int)
        plain, conditional = (
            PLSTClassifier(n_components=1, conditional=flag).fit(X, Y).components_[0] for flag in (False, True)
        )
        assert abs(plain).argmax() > 0
        assert abs(conditional).argmax() == 0
