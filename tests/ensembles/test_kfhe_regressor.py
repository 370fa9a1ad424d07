"""KFHE for regression: the filters by hand, identities, and what users do with it."""

import pickle

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.datasets import load_diabetes
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import Ridge
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsRegressor

from fuselearn import load, save
from fuselearn.ensembles import CARTRegressor, KFHERegressor

X, y = load_diabetes(return_X_y=True)


class Told(RegressorMixin, BaseEstimator):
    """Predict what is told for the two samples 0 and 1: the t-th model the t-th pair."""

    pairs = ()
    number = 0

    def fit(self, X, y, sample_weight):
        self.pair_ = np.array(Told.pairs[Told.number])
        Told.number += 1
        return self

    def predict(self, X):
        return self.pair_[X[:, 0].astype(int)]


@pytest.fixture
def tell(monkeypatch):
    def fit_told(pairs, **settings):
        monkeypatch.setattr(Told, "pairs", pairs)
        monkeypatch.setattr(Told, "number", 0)
        settings = {"n_estimators": len(pairs) - 1, "random_state": 0, "reset": False} | settings
        return KFHERegressor(Told(), **settings).fit([[0], [1]], [0.0, 4.0])

    return fit_told


class TestByHand:
    """The target is 0 and 4, so that its variance is 4."""

    def test_one_measurement(self, tell):
        model = tell([(0, 2), (4, 4)])  # z = (2, 3), of squared error 2.5
        assert model.measurement_errors_ == pytest.approx([2.5 / 4])
        assert model.gains_ == pytest.approx([8 / 13])
        assert model.variances_ == pytest.approx([5 / 13])
        assert model.coefficients_ == pytest.approx([9 / 13, 4 / 13])
        assert model.predict([[0], [1]]) == pytest.approx([16 / 13, 2 + 8 / 13])
        assert model.train_errors_ == pytest.approx([2 / 4, ((16 / 13) ** 2 + (18 / 13) ** 2) / 8])

    @pytest.mark.parametrize(
        ("loss", "losses"),
        [("linear", (1, 0.5)), ("square", (1, 0.25)), ("exponential", (1 - np.exp(-1), 1 - np.exp(-0.5)))],
    )
    @pytest.mark.parametrize("weighting", ["exponential", "linear"])
    def test_weights(self, tell, weighting, loss, losses):
        losses = np.array(losses)
        measured = 0.5 * np.exp(losses + 0.5)
        if weighting == "linear":
            measured = (0.5 + 0.5 * losses) / (0.5 + 0.5 * losses).sum()
        expected = 0.5 + 8 / 13 * (measured - 0.5)
        model = tell([(0, 2), (4, 4)], weighting=weighting, loss=loss)
        np.testing.assert_allclose(model.weights_, expected / expected.sum())

    def test_measurements_worse_than_the_mean_count_as_the_mean(self, tell):
        model = tell([(0, 4), (80, 80), (80, 80), (80, 80)])
        assert model.measurement_errors_.tolist() == [1.0, 1.0, 1.0]
        assert model.gains_ == pytest.approx([1 / 2, 1 / 3, 1 / 4])

    def test_resets(self, tell):
        """The model after the first is no better than the mean, and replaced; its replacement is not judged."""
        model = tell([(0, 4), (9, 9), (0, 2), (0, 3)], reset=True, n_estimators=2)
        assert model.resets_.tolist() == [1]
        assert [one.pair_.tolist() for one in model.estimators_] == [[0, 4], [0, 2], [0, 3]]

    def test_ends_once_nothing_is_left_to_learn(self, tell):
        model = tell([(0, 4)] * 10)
        assert model.gains_.tolist() == [1.0, 0.0]
        assert model.n_iter_ == 2


class TestUse:
    def test_equal_measurements_are_averaged_less_and_less(self):
        model = KFHERegressor(DummyRegressor(), n_estimators=4, reset=False).fit(X, y)
        np.testing.assert_allclose(model.gains_, 1 / np.arange(2, 6), rtol=0.02)
        assert np.abs(model.predict(X) - y.mean()).max() < 10

    def test_is_better_than_one_tree(self):
        tree = cross_val_score(CARTRegressor(), X, y, cv=5).mean()
        assert cross_val_score(KFHERegressor(n_estimators=30, random_state=0), X, y, cv=5).mean() > tree + 0.3

    def test_trees_and_other_regressors_predict_alike(self):
        """The packed forest predicts what the recursion says."""
        for base in (None, KNeighborsRegressor()):
            model = KFHERegressor(base, n_estimators=5, random_state=0).fit(X, y)
            stages = list(model.staged_predict(X))
            assert len(stages) == model.n_iter_ + 1 == len(model)
            np.testing.assert_allclose(stages[-1], model.predict(X))
            members = sum(c * one.predict(X) for c, one in zip(model.coefficients_, model.estimators_, strict=True))
            np.testing.assert_allclose(members, model.predict(X))

    def test_whole_weights_are_copies_for_the_first_tree(self):
        weights = np.arange(len(y)) % 3
        tree = CARTRegressor(max_depth=4, max_bins=None)
        first = KFHERegressor(tree, n_estimators=1, random_state=0).fit(X, y, sample_weight=weights)[0]
        copies = tree.fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
        np.testing.assert_allclose(first.predict(X[weights > 0]), copies.predict(X[weights > 0]))

    def test_samples_without_weight_do_not_count(self):
        far = np.append(y, 1e9)
        model = KFHERegressor(n_estimators=5, random_state=0)
        model.fit(np.vstack([X, X[:1]]), far, sample_weight=np.append(np.ones(len(y)), 0.0))
        assert model.predict(X).max() < 400
        assert model.weights_[-1] == 0

    @pytest.mark.parametrize("base", [None, Ridge()], ids=["trees", "others"])
    def test_warm_starts_pickles_files_and_jobs(self, base, tmp_path):
        whole = KFHERegressor(base, n_estimators=6, random_state=0, n_jobs=2).fit(X, y)
        grown = KFHERegressor(base, n_estimators=3, random_state=0, warm_start=True).fit(X, y)
        grown.set_params(n_estimators=6).fit(X, y)
        np.testing.assert_array_equal(grown.predict(X), whole.predict(X))
        np.testing.assert_array_equal(grown.weights_, whole.weights_)
        save(whole, tmp_path / "model.fuse")
        for copy in (pickle.loads(pickle.dumps(whole)), load(tmp_path / "model.fuse")):
            np.testing.assert_array_equal(copy.predict(X), whole.predict(X))

    def test_progress_callback_and_trace(self, capsys):
        seen = []
        model = KFHERegressor(verbose=2, random_state=0, callback=lambda t, h: seen.append(type(h)) or t == 3).fit(X, y)
        assert seen == [CARTRegressor] * 3
        assert model.n_iter_ == 3
        assert "gain" in capsys.readouterr().out
        assert len(model.plot_trace().axes[0].lines) == 4

    def test_regressors_that_predict_no_numbers(self):
        class Lost(DummyRegressor):
            def predict(self, X):
                return np.full(len(X), np.nan)

        with pytest.raises(ValueError, match="Lost predicts NaN or infinity"):
            KFHERegressor(Lost()).fit(X, y)
