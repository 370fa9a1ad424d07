"""Held-out outputs of members, against scikit-learn's and for splitters that do not cover all samples."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    RepeatedKFold,
    ShuffleSplit,
    StratifiedKFold,
    TimeSeriesSplit,
    cross_val_predict,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier

from fuselearn.combine import FixedRuleClassifier

X, y = load_iris(return_X_y=True)


def hold_out(cv, X=X, y=y, *, groups=None, sample_weight=None, **settings):
    """Return the held-out outputs of a naive Bayes classifier and one of neighbors, which sees two features."""
    members = [("bayes", GaussianNB()), ("near", KNeighborsClassifier(3), [2, 3])]
    model = FixedRuleClassifier(**{"estimators": members, "rule": "mean", "cv": cv} | settings)
    return model._hold_out(model._read_data(X, y, sample_weight, groups))


@pytest.mark.parametrize(
    "cv", [None, 3, StratifiedKFold(4, shuffle=True, random_state=0), KFold(5, shuffle=True, random_state=0)]
)
def test_partitions_give_scikit_learns_probabilities(cv):
    found = hold_out(cv)
    np.testing.assert_array_equal(found.target, y)
    for outputs, model, columns in zip(
        found.outputs, (GaussianNB(), KNeighborsClassifier(3)), (slice(None), [2, 3]), strict=True
    ):
        expected = cross_val_predict(model, X[:, columns], y, cv=cv, method="predict_proba")
        np.testing.assert_allclose(outputs, expected)


def test_groups():
    groups = np.arange(150) % 7
    found = hold_out(GroupKFold(5), groups=groups)
    expected = cross_val_predict(GaussianNB(), X, y, cv=GroupKFold(5), groups=groups, method="predict_proba")
    np.testing.assert_allclose(found.outputs[0], expected)


@pytest.mark.parametrize("cv", [None, 4])
def test_groups_are_kept_together_without_a_splitter_too(cv):
    """Every sample has a twin in its group, which a classifier by its nearest neighbor would know it by."""
    rng = np.random.default_rng(0)
    groups = rng.permutation(np.arange(160) // 2)
    table, labels = rng.normal(size=(80, 4))[groups], groups % 7 % 2
    settings = {"estimators": [("near", KNeighborsClassifier(1))], "cv": cv}
    known = hold_out(X=table, y=labels, **settings)
    fair = hold_out(X=table, y=labels, groups=groups, **settings)
    assert (known.outputs[0].argmax(axis=1) == labels).mean() > 0.7
    assert (fair.outputs[0].argmax(axis=1) == labels).mean() < 0.65
    assert all(len(set(fair.folds[groups == group])) == 1 for group in range(80))
    assert len(set(fair.folds)) == (cv or 5)


def test_time_ordered_splits_never_hold_out_the_earliest_samples():
    order = np.random.default_rng(0).permutation(150)
    found = hold_out(TimeSeriesSplit(4), X[order], y[order])
    np.testing.assert_array_equal(found.target, y[order[30:]])
    assert found.folds.tolist() == np.repeat([0, 1, 2, 3], 30).tolist()
    expected = GaussianNB().fit(X[order[:60]], y[order[:60]]).predict_proba(X[order[60:90]])
    np.testing.assert_allclose(found.outputs[0, 30:60], expected)


def test_samples_held_out_more_than_once_get_the_mean():
    cv = RepeatedKFold(n_splits=3, n_repeats=2, random_state=0)
    found = hold_out(cv)
    expected = np.zeros((150, 3))
    for inside, outside in cv.split(X):
        expected[outside] += GaussianNB().fit(X[inside], y[inside]).predict_proba(X[outside]) / 2
    np.testing.assert_allclose(found.outputs[0], expected)
    assert set(found.folds) == {0, 1, 2}


def test_weights_are_those_of_the_samples_inside_for_the_fit_and_outside_for_the_rest():
    weights = np.random.default_rng(0).uniform(0.1, 3, 150)
    [(inside, outside)] = ShuffleSplit(1, test_size=0.2, random_state=0).split(X)
    found = hold_out([(inside, outside)], sample_weight=weights)
    outside = np.sort(outside)
    expected = GaussianNB().fit(X[inside], y[inside], sample_weight=weights[inside]).predict_proba(X[outside])
    np.testing.assert_allclose(found.outputs[0], expected)
    np.testing.assert_array_equal(found.weights, weights[outside])


def test_a_class_that_a_fold_lacks_gets_nothing():
    found = hold_out([(np.arange(100), np.arange(100, 150))])
    assert found.outputs.shape == (2, 50, 3)
    assert not found.outputs[:, :, 2].any()


def test_splits_may_be_masks():
    inside = np.arange(150) % 3 > 0
    masks, indices = (hold_out([split]) for split in ((inside, ~inside), (inside.nonzero()[0], (~inside).nonzero()[0])))
    np.testing.assert_array_equal(masks.outputs, indices.outputs)


def test_fitted_members_predict_all_samples():
    fitted = GaussianNB().fit(X, y)
    found = hold_out(5, estimators=[("bayes", fitted)], prefit=True)
    np.testing.assert_array_equal(found.outputs[0], fitted.predict_proba(X))
    assert set(found.folds) == set(range(5))


def test_splits_that_hold_out_nothing_are_refused():
    with pytest.raises(ValueError, match="cv holds out no samples"):
        hold_out([(np.arange(150), np.arange(0))])
