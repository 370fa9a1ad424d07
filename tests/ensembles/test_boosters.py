"""MadaBoost, BrownBoost and LogitBoost: their steps by hand, and against other programs."""

import numpy as np
import pytest
from scipy.special import erf, erfinv, softmax
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.dummy import DummyClassifier
from sklearn.tree import DecisionTreeRegressor

from fuselearn import CARTClassifier
from fuselearn.ensembles import BrownBoostClassifier, LogitBoostClassifier, MadaBoostClassifier, SAMMEClassifier
from fuselearn.ensembles.brownboost import solve_step

STUMP = CARTClassifier(max_depth=1, complexity=None)


class TestMadaBoost:
    X, y = load_wine(return_X_y=True)

    @pytest.mark.parametrize("sampling", ["multinomial", "poisson"])
    def test_weights_follow_from_the_margins(self, sampling):
        y = np.where(np.arange(len(self.y)) % 9 == 0, 2 - self.y, self.y)
        model = MadaBoostClassifier(STUMP, n_estimators=8, sampling=sampling, random_state=0).fit(self.X, y)
        wrong = np.array([one.predict(self.X) != y for one in model.estimators_])
        margins = model.estimator_weights_ @ (2 / 3 - wrong)
        weights = np.minimum(1, np.exp(-margins))
        np.testing.assert_allclose(model.sample_weights_, weights / weights.sum())
        assert len(model.resets_) == 0
        assert margins.min() < 0, "or the bound is not tested"

    def test_is_adaboost_while_no_sample_reaches_the_bound(self):
        """After one classifier, the samples that are wrong have weight 1 at most, and AdaBoost's are above."""
        capped, free = (
            kind(STUMP, n_estimators=2, random_state=0).fit(self.X, self.y)
            for kind in (MadaBoostClassifier, SAMMEClassifier)
        )
        assert capped.estimator_weights_[0] == free.estimator_weights_[0]
        assert capped.estimator_weights_[1] != free.estimator_weights_[1]

    def test_a_warm_start_is_one_fit(self):
        whole = MadaBoostClassifier(STUMP, n_estimators=6, random_state=0).fit(self.X, self.y)
        grown = MadaBoostClassifier(STUMP, n_estimators=3, random_state=0, warm_start=True).fit(self.X, self.y)
        grown.set_params(n_estimators=6).fit(self.X, self.y)
        np.testing.assert_array_equal(grown.predict_proba(self.X), whole.predict_proba(self.X))


class TestBrownBoost:
    X, y = load_breast_cancer(return_X_y=True)

    @pytest.mark.parametrize("c", [1.35, 5.0])
    def test_a_step_keeps_the_potential_and_takes_the_edge(self, c):
        rng = np.random.default_rng(0)
        ahead, shares = c + 0.5 * rng.normal(size=200), np.full(200, 1 / 200)
        signs = np.where(rng.random(200) < 0.25, -1.0, 1.0)
        alpha, time = solve_step(ahead, signs, shares, c, time_left=100.0)
        moved = ahead + alpha * signs - time
        assert 0 < time < alpha
        assert shares @ erf(moved / np.sqrt(c)) == pytest.approx(shares @ erf(ahead / np.sqrt(c)))
        assert shares @ (signs * np.exp(-(moved**2) / c)) == pytest.approx(0, abs=1e-9)

    def test_the_last_step_takes_the_time_left(self):
        ahead, signs, shares = np.full(4, 0.5), np.array([1.0, 1, 1, -1]), np.full(4, 0.25)
        alpha, time = solve_step(ahead, signs, shares, 1.0, time_left=0.01)
        assert time == 0.01
        assert shares @ erf(ahead + alpha * signs - time) == pytest.approx(erf(0.5))

    def test_a_slow_clock_is_adaboost(self):
        """With c to infinity, weights are in proportion to exp(-2 r): margins are half of AdaBoost's."""
        error, c = 0.2, 1e4
        signs = np.where(np.arange(100) < 100 * error, -1.0, 1.0)
        alpha, _ = solve_step(np.full(100, c), signs, np.full(100, 0.01), c, time_left=c)
        assert alpha == pytest.approx(0.25 * np.log((1 - error) / error), rel=1e-3)

    def test_weights_and_clock(self):
        model = BrownBoostClassifier(STUMP, n_estimators=4, target_error=0.05, random_state=0).fit(self.X, self.y)
        c = erfinv(0.95) ** 2
        signs = np.array([np.where(one.predict(self.X) == self.y, 1, -1) for one in model.estimators_])
        weights = np.exp(-((model.estimator_weights_ @ signs + model.time_left_) ** 2) / c)
        np.testing.assert_allclose(model.sample_weights_, weights / weights.sum())
        assert 0 <= model.time_left_ < c

    def test_ends_when_the_time_is_over(self):
        model = BrownBoostClassifier(n_estimators=500, random_state=0).fit(self.X, self.y)
        assert model.time_left_ == 0
        assert len(model) < 500
        assert model.score(self.X, self.y) > 0.9

    def test_a_classifier_that_is_always_right_is_enough(self):
        X, y = np.arange(40.0)[:, None], np.repeat([0, 1], 20)
        model = BrownBoostClassifier(CARTClassifier(), random_state=0).fit(X, y)
        assert len(model) == 1
        np.testing.assert_array_equal(model.predict(X), y)

    def test_nothing_to_learn(self):
        X, y = np.zeros((40, 1)), np.arange(40) % 4
        model = BrownBoostClassifier(DummyClassifier(), random_state=0).fit(X, y)
        assert len(model) == 1
        assert model.estimator_weights_.tolist() == [1.0]


class TestLogitBoost:
    X, y = load_iris(return_X_y=True)

    def plain(self, X, y, n_rounds, **tree):
        """Friedman, Hastie and Tibshirani's Algorithm 6 with scikit-learn's trees."""
        truth = np.eye(y.max() + 1)[y]
        n_classes = truth.shape[1]
        F = np.zeros_like(truth)
        for _ in range(n_rounds):
            p = softmax(F, axis=1)
            w = np.maximum(p * (1 - p), 2 * np.finfo(float).eps)
            z = np.clip((truth - p) / w, -4, 4)
            f = np.column_stack(
                [
                    DecisionTreeRegressor(random_state=0, **tree).fit(X, z[:, j], w[:, j]).predict(X)
                    for j in range(n_classes)
                ]
            )
            F += (n_classes - 1) / n_classes * (f - f.mean(axis=1, keepdims=True))
        return softmax(F, axis=1)

    @pytest.mark.parametrize("n_classes", [2, 3])
    def test_is_algorithm_6(self, n_classes):
        X, y = self.X[:, :3], np.minimum(self.y, n_classes - 1)
        model = LogitBoostClassifier(n_estimators=4, max_depth=1).fit(X, y)
        np.testing.assert_allclose(model.predict_proba(X), self.plain(X, y, 4, max_depth=1), atol=1e-7)

    def test_the_first_step_by_hand(self):
        """Two classes: z is 2 and -2, the stump is right, and F becomes half of it."""
        X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 0, 1, 1])
        model = LogitBoostClassifier(n_estimators=1).fit(X, y)
        np.testing.assert_allclose(model.decision_function(X), [-2, -2, 2, 2])
        half = LogitBoostClassifier(n_estimators=1, learning_rate=0.5).fit(X, y)
        np.testing.assert_allclose(half.decision_function(X), [-1, -1, 1, 1])

    def test_importances(self):
        model = LogitBoostClassifier(n_estimators=3).fit(self.X, self.y)
        assert model.feature_importances_.sum() == pytest.approx(1)
        assert model.feature_importances_[2:].sum() > 0.6
