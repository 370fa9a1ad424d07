"""Bagging for regression: means by hand, out-of-bag predictions, and less variance than one regressor."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LinearRegression
from sklearn.metrics import mean_absolute_error, r2_score
from sklearn.neighbors import KNeighborsRegressor
from sklearn.tree import DecisionTreeRegressor

from fuselearn import BaggedRegressor
from fuselearn.ensembles import CARTRegressor

X, y = load_diabetes(return_X_y=True)


class Recording(RegressorMixin, BaseEstimator):
    """Predict how many models were fitted before, and write down the rows drawn, numbered by the first column."""

    samples = ()

    def fit(self, X, y, sample_weight):
        counts = np.zeros(30)
        counts[X[:, 0].astype(int)] = sample_weight
        self.number_ = float(len(self.samples))
        self.samples.append(counts)
        return self

    def predict(self, X):
        return np.full(len(X), self.number_)


@pytest.fixture
def recording(monkeypatch):
    monkeypatch.setattr(Recording, "samples", [])
    return Recording()


class TestMean:
    def test_of_the_regressors(self):
        model = BaggedRegressor(n_estimators=7, random_state=0).fit(X, y)
        np.testing.assert_allclose(model.predict(X), np.mean([tree.predict(X) for tree in model.estimators_], axis=0))

    def test_default_trees_grow_until_they_fit(self):
        model = BaggedRegressor(n_estimators=2, random_state=0).fit(X, y)
        assert isinstance(model.estimators_[0], CARTRegressor)
        assert model.estimators_[0].tree_.n_leaves > 200

    def test_one_regressor_on_all_rows_is_that_regressor(self):
        model = BaggedRegressor(LinearRegression(), 1, bootstrap=False).fit(X, y)
        np.testing.assert_allclose(model.predict(X), LinearRegression().fit(X, y).predict(X))

    def test_errors_fall_as_averaging_says(self):
        """Independent over-fitted regressors: the variance of the mean is that of one, divided by their number."""
        rng = np.random.default_rng(0)
        rows = np.arange(200.0)[:, None]

        def variance(n_estimators):
            predictions = [
                BaggedRegressor(KNeighborsRegressor(1), n_estimators, max_samples=10, random_state=seed)
                .fit(rows, rng.normal(size=200))
                .predict(rows)
                for seed in range(40)
            ]
            return np.var(predictions, axis=0).mean()

        assert variance(1) / variance(8) == pytest.approx(8, rel=0.3)


class TestOutOfBag:
    rows = np.arange(30.0)[:, None]

    def test_rows_are_predicted_by_regressors_that_have_not_seen_them(self, recording):
        model = BaggedRegressor(recording, 12, oob_score=True, random_state=0).fit(self.rows, np.arange(30.0))
        unseen = np.array(recording.samples) == 0
        expected = (unseen * np.arange(12)[:, None]).sum(axis=0) / unseen.sum(axis=0)
        np.testing.assert_allclose(model.oob_prediction_, expected)
        assert model.oob_score_ == pytest.approx(r2_score(np.arange(30.0), expected))

    def test_rows_in_every_sample_have_none(self, recording):
        model = BaggedRegressor(recording, 1, oob_score=mean_absolute_error, random_state=0).fit(self.rows, np.ones(30))
        seen = recording.samples[0] > 0
        np.testing.assert_array_equal(np.isnan(model.oob_prediction_), seen)
        assert model.oob_score_ == 1.0

    def test_needs_rows_to_be_left_out(self):
        with pytest.raises(ValueError, match="oob_score needs out-of-bag samples"):
            BaggedRegressor(bootstrap=False, oob_score=True).fit(X, y)


class TestSamples:
    def test_random_subspaces(self):
        model = BaggedRegressor(DecisionTreeRegressor(), 6, max_features=3, random_state=0).fit(X, y)
        mean = np.mean(
            [
                tree.predict(X[:, columns])
                for tree, columns in zip(model.estimators_, model.estimators_features_, strict=True)
            ],
            axis=0,
        )
        np.testing.assert_allclose(model.predict(X), mean)
        assert {len(columns) for columns in model.estimators_features_} == {3}
