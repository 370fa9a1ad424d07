"""Regression trees: scikit-learn's trees, weights as copies, categories and gaps."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes
from sklearn.tree import DecisionTreeRegressor

from fuselearn.ensembles import CARTRegressor

X, y = load_diabetes(return_X_y=True)


@pytest.mark.parametrize(("min_leaf", "max_depth"), [(5, None), (1, 3), (20, 4)])
@pytest.mark.parametrize("weights", [None, np.random.default_rng(0).random(len(y)) + 1e-3])
@pytest.mark.parametrize("shift", [0.0, 1e6])
def test_is_the_tree_of_scikit_learn(min_leaf, max_depth, weights, shift):
    ours = CARTRegressor(min_samples_leaf=min_leaf, max_depth=max_depth, max_bins=None)
    theirs = DecisionTreeRegressor(min_samples_leaf=min_leaf, max_depth=max_depth, random_state=0)
    ours.fit(X, y + shift, sample_weight=weights)
    theirs.fit(X, y + shift, sample_weight=weights)
    assert ours.tree_.n_leaves == theirs.get_n_leaves()
    np.testing.assert_allclose(ours.predict(X) - shift, theirs.predict(X) - shift, rtol=1e-6)
    if max_depth is not None:  # in small nodes, splits on different features can be equally good
        np.testing.assert_allclose(ours.feature_importances_, theirs.feature_importances_, atol=1e-6)


def test_the_unit_of_the_target_and_of_the_weights_does_not_matter():
    expected = CARTRegressor(min_samples_leaf=5).fit(X, y).predict(X)
    for unit in (1e-12, 1e12):
        model = CARTRegressor(min_samples_leaf=5).fit(X, unit * y, sample_weight=np.full(len(y), unit))
        np.testing.assert_allclose(model.predict(X) / unit, expected)


def test_categories_and_gaps():
    frame = pd.DataFrame({"colour": ["red", "blue", "green", "red"] * 3, "size": [1.0, None, 2.0, 1.0] * 3})
    target = np.array([5.0, 1.0, 2.0, 5.0] * 3)
    model = CARTRegressor().fit(frame, target)
    np.testing.assert_allclose(model.predict(frame), target)
    assert model.export_text().splitlines()[0] == "colour in {red}: 5 (6 samples)"
    by_size = CARTRegressor().fit(frame[["size"]], target)
    np.testing.assert_allclose(by_size.predict(frame[["size"]]), target)
