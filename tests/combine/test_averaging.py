"""Averages of regressors, and weights of members by performance: by hand, against scikit-learn and SciPy."""

import numpy as np
import pytest
from scipy.stats import trim_mean
from sklearn.base import clone
from sklearn.datasets import load_diabetes, make_regression
from sklearn.ensemble import VotingRegressor
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import TimeSeriesSplit
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures
from sklearn.tree import DecisionTreeRegressor

from fuselearn.combine import AveragingRegressor
from fuselearn.combine.fixed_rules import (
    accuracy_weights,
    average_predictions,
    check_member_weights,
    inverse_error_weights,
)

ROWS = np.arange(2.0)[:, None]


def fit_said(says_numbers, numbers, y=(0.0, 1.0), **settings):
    members = [(f"m{k}", says_numbers(one)) for k, one in enumerate(numbers)]
    return AveragingRegressor(members, **settings).fit(np.arange(len(y), dtype=float)[:, None], y)


class TestRules:
    numbers = ([1.0, 0.0], [2.0, 0.0], [4.0, 8.0], [5.0, 8.0], [98.0, -1.0])

    @pytest.mark.parametrize(
        ("settings", "expected"),
        [
            ({}, [22.0, 3.0]),
            ({"rule": "median"}, [4.0, 0.0]),
            ({"rule": "trimmed", "trim": 0.2}, [11 / 3, 8 / 3]),
            ({"rule": "trimmed", "trim": 0.19}, [22.0, 3.0]),
            ({"rule": "trimmed", "trim": 0.4}, [4.0, 0.0]),
            ({"weights": [1, 1, 1, 1, 0]}, [3.0, 4.0]),
            ({"weights": [3, 1, 0, 0, 0]}, [1.25, 0.0]),
            ({"rule": "median", "weights": [3, 1, 1, 1, 0]}, [1.5, 0.0]),
            ({"rule": "median", "weights": [4, 1, 1, 1, 0]}, [1.0, 0.0]),
        ],
    )
    def test_by_hand(self, says_numbers, settings, expected):
        model = fit_said(says_numbers, self.numbers, **settings)
        np.testing.assert_allclose(model.predict(ROWS), expected)

    @pytest.mark.parametrize("weights", [None, [1, 3]])
    def test_the_mean_is_that_of_scikit_learn(self, weights):
        X, y = load_diabetes(return_X_y=True)
        members = [("line", LinearRegression()), ("tree", DecisionTreeRegressor(max_depth=3))]
        ours = AveragingRegressor(members, weights=weights).fit(X, y)
        other = VotingRegressor(members, weights=weights).fit(X, y)
        np.testing.assert_allclose(ours.predict(X), other.predict(X))

    @pytest.mark.parametrize("trim", [0.0, 0.1, 0.25, 0.49])
    def test_the_trimmed_mean_is_that_of_scipy(self, trim):
        predictions = np.random.default_rng(0).normal(size=(11, 30, 2))
        np.testing.assert_allclose(
            average_predictions(predictions, "trimmed", trim=trim), trim_mean(predictions, trim, axis=0)
        )

    def test_one_wild_member(self, says_numbers):
        calm, wild = [[1.0, 2.0]] * 9, [[1e9, -1e9]]
        for rule in ("median", "trimmed"):
            assert fit_said(says_numbers, calm + wild, rule=rule).predict(ROWS).tolist() == [1.0, 2.0]

    def test_two_overfitted_curves(self):
        """The lecture's picture: the mean of two curves that are too bent is closer to the truth than either."""
        rng = np.random.default_rng(0)
        X = np.sort(rng.uniform(-1, 1, 60))[:, None]
        truth = np.sin(3 * X[:, 0])
        y = truth + rng.normal(scale=0.5, size=60)
        bent = make_pipeline(PolynomialFeatures(12), LinearRegression())
        halves = [clone(bent).fit(X[half::2], y[half::2]) for half in (0, 1)]
        mean = AveragingRegressor([("first", halves[0]), ("second", halves[1])], prefit=True).fit(X)
        inner = np.abs(X[:, 0]) < 0.9
        error, *alone = (np.mean((m.predict(X) - truth)[inner] ** 2) for m in (mean, *halves))
        assert error < 0.8 * min(alone)


class TestOutputs:
    X, Y = make_regression(60, 5, n_targets=3, random_state=0)

    @pytest.mark.parametrize("rule", ["mean", "median", "trimmed"])
    def test_several_outputs_one_by_one(self, rule):
        members = [(f"near{k}", KNeighborsRegressor(k)) for k in (1, 2, 3, 5)]
        together = AveragingRegressor(members, rule, trim=0.3).fit(self.X, self.Y)
        for output in range(3):
            alone = AveragingRegressor(members, rule, trim=0.3).fit(self.X, self.Y[:, output])
            np.testing.assert_allclose(together.predict(self.X)[:, output], alone.predict(self.X))
        assert together.get_feature_names_out().tolist()[:3] == ["near1_0", "near1_1", "near1_2"]
        assert alone.get_feature_names_out().tolist() == ["near1", "near2", "near3", "near5"]
        assert together.transform(self.X).shape == (60, 12)

    def test_a_single_column_is_flat(self):
        model = AveragingRegressor([("line", LinearRegression())])
        with pytest.warns(match="column-vector"):
            model.fit(self.X, self.Y[:, :1])
        assert model.predict(self.X).shape == (60,)


class TestPerformance:
    def test_of_fitted_members_on_the_rows_given(self, says_numbers):
        y = np.zeros(10)
        rows = np.arange(10.0)[:, None]
        members = [(f"off{k}", says_numbers(np.full(10, float(k))).fit(rows, y)) for k in (1, 2)]
        model = AveragingRegressor(members, weights="performance", prefit=True).fit(rows, y)
        np.testing.assert_allclose(model.estimator_weights_, [1.6, 0.4])
        with pytest.raises(ValueError, match="weights='performance' requires y to be passed"):
            AveragingRegressor(members, weights="performance", prefit=True).fit(rows)

    def test_row_weights_count(self, says_numbers):
        y = np.tile([0.0, 1.0], 10)
        model = AveragingRegressor(
            [("zero", says_numbers([0.0] * 20)), ("one", says_numbers([1.0] * 20))], weights="performance"
        )
        model.fit(np.arange(20.0)[:, None], y, sample_weight=np.tile([3.0, 1.0], 10))
        np.testing.assert_allclose(model.estimator_weights_, [1.5, 0.5])

    def test_are_measured_out_of_fold(self):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(200, 3))
        y = X[:, 0] + rng.normal(size=200)
        members = [("heart", DecisionTreeRegressor()), ("line", LinearRegression())]
        for cv in (None, 3, TimeSeriesSplit(4)):
            weights = AveragingRegressor(members, weights="performance", cv=cv).fit(X, y).estimator_weights_
            assert weights[1] > 1.5 * weights[0]


class TestBadInput:
    X, y = load_diabetes(return_X_y=True)

    @pytest.mark.parametrize(
        ("settings", "sentence"),
        [
            ({"rule": "mode"}, "rule must be 'mean', 'median' or 'trimmed', not 'mode'"),
            ({"trim": 0.5}, "trim must be below 0.5"),
            ({"trim": -0.1}, "trim must be a finite number of at least 0"),
            ({"rule": "trimmed", "weights": [1, 1]}, "rule='trimmed' does not support weights"),
            ({"rule": "trimmed", "weights": "performance"}, "rule='trimmed' does not support weights"),
            ({"weights": [1]}, "weights must be 2 numbers"),
            ({"weights": [0, 0]}, "weights are all zero"),
            ({"weights": "best"}, "weights must be 'performance', not 'best'"),
        ],
    )
    def test_settings(self, settings, sentence):
        model = AveragingRegressor([("a", LinearRegression()), ("b", Ridge())], **settings)
        with pytest.raises(ValueError, match=sentence):
            model.fit(self.X, self.y)
        with pytest.raises(NotFittedError):
            model.predict(self.X)

    def test_members_are_regressors(self):
        with pytest.raises(ValueError, match="estimators: 'odd' must be a regressor"):
            AveragingRegressor([("odd", LogisticRegression())]).fit(self.X, self.y)


ALL = np.array([True, True, True])


class TestGivenWeights:
    def test_of_dropped_members_are_left_out(self):
        assert check_member_weights([1, 2, 3], ALL).tolist() == [1, 2, 3]
        assert check_member_weights([1, 2, 3], np.array([True, False, True])).tolist() == [1, 3]
        assert check_member_weights(None, ALL) is None

    def test_by_performance_sum_up_to_the_number_of_members(self):
        assert check_member_weights("performance", np.array([True, False, True])).sum() == 2

    def test_must_not_be_zero_for_all_members_that_are_left(self):
        with pytest.raises(ValueError, match="weights are all zero"):
            check_member_weights([0, 1, 0], np.array([True, False, True]))


class TestAccuracy:
    def test_weights_are_log_odds(self):
        # With 98 samples the smoothed fractions are 0.9, 0.8 and 0.5: odds of 9, 4 and 1.
        weights = accuracy_weights(np.array([89, 79, 49]) / 98, 98, 2)
        np.testing.assert_allclose(weights, 3 * np.log([9, 4, 1]) / np.log(36))

    def test_more_classes_are_harder_to_guess(self):
        # Half of the samples right is better than guessing one of three: odds of 1, times 2.
        weights = accuracy_weights([0.5, 0.8], 98, 3)
        np.testing.assert_allclose(weights[0] / weights[1], np.log(2) / (np.log(79.4 / 20.6) + np.log(2)))

    def test_no_better_than_guessing(self):
        with pytest.warns(UserWarning, match="No member predicts held-out samples better than guessing"):
            assert accuracy_weights([0.5, 0.2], 100, 2).tolist() == [1, 1]
        assert accuracy_weights([0.4, 0.9], 100, 2).tolist() == [0, 2]


class TestError:
    def test_weights_are_in_inverse_proportion(self):
        np.testing.assert_allclose(inverse_error_weights(np.array([1.0, 2.0, 4.0])), np.array([4, 2, 1]) * 3 / 7)

    def test_perfect_members_share_the_weight(self):
        assert inverse_error_weights(np.array([0.0, 2.0, 0.0])).tolist() == [1.5, 0.0, 1.5]
        assert np.isfinite(inverse_error_weights(np.array([1e-320, 1.0]))).all()
