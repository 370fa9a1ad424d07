"""Bias and variance of real models: known truths, samples of both kinds, and what depth and bagging do."""

import matplotlib
import numpy as np
import pytest
from matplotlib.figure import Figure
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.datasets import load_wine
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsRegressor
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from fuselearn import BaggedClassifier, BaggedRegressor, CARTClassifier
from fuselearn._parameters import make_generator
from fuselearn.diagnosis import bias_variance, compare_bias_variance

WINE = load_wine(return_X_y=True)
GRID = np.linspace(0.5, 5.5, 60)[:, None]


def wave(rng, n_rows=80, noise=0.5):
    x = rng.uniform(0, 6, n_rows)
    return x[:, None], np.sin(x) + rng.normal(scale=noise, size=n_rows)


def judge(model, **settings):
    """Judge a model of the wave on fresh samples, at places where the truth is known."""
    truth = np.sin(GRID[:, 0])
    observed = truth + np.random.default_rng(9).normal(scale=0.5, size=60)
    settings = {"sampling": wave, "y_true": truth, "random_state": 0, "n_rounds": 40} | settings
    return bias_variance(model, GRID, observed, **settings)


def blobs(rng, n_rows=60):
    """Three classes on a line that overlap; the most likely one changes at 1 and at 2."""
    labels = rng.integers(0, 3, n_rows)
    return (labels + 0.5 + rng.normal(scale=0.4, size=n_rows))[:, None], np.array(["low", "mid", "top"])[labels]


class MeanOfSample(RegressorMixin, BaseEstimator):
    """Predict the mean of the target everywhere: variance s^2 / n."""

    def fit(self, X, y):
        self.mean_ = np.mean(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.mean_)


class TestKnownTruth:
    def test_the_parts_add_up_to_rounding(self):
        result = judge(DecisionTreeRegressor())
        assert result.noise + result.bias + result.variance == pytest.approx(result.expected_error, rel=1e-12)
        rows = result.rows
        np.testing.assert_allclose(rows["noise"] + rows["bias"] + rows["variance"], rows["error"], rtol=1e-9)

    def test_variance_and_bias_of_a_mean_are_known(self):
        def sample(rng):
            return np.zeros((25, 1)), 3.0 + rng.normal(scale=2.0, size=25)

        observed = np.full(50, 5.0)
        result = bias_variance(
            MeanOfSample(),
            np.zeros((50, 1)),
            observed,
            sampling=sample,
            y_true=observed,
            n_rounds=2_000,
            random_state=0,
        )
        assert result.variance == pytest.approx(4 / 25, abs=3 * result.standard_errors["variance"])
        assert result.bias == pytest.approx(4.0, abs=3 * result.standard_errors["bias"])
        assert result.standard_errors["variance"] == pytest.approx(4 / 25 * np.sqrt(2 / 2_000), rel=0.5)
        assert result.noise == 0.0

    def test_no_squared_bias_is_negative(self):
        """The mean of a sample has no bias; without one, all spread around the truth is variance."""

        def sample(rng):
            return np.zeros((25, 1)), 3.0 + rng.normal(scale=2.0, size=25)

        truth = np.full(50, 3.0)
        for seed in range(10):
            result = bias_variance(
                MeanOfSample(), np.zeros((50, 1)), truth, sampling=sample, y_true=truth, n_rounds=20, random_state=seed
            )
            assert result.bias == max(0.0, result.rows["bias"].mean())
            assert result.noise + result.bias + result.variance == pytest.approx(result.expected_error, rel=1e-12)
            assert result.variance_effect == result.variance == result.unbiased_variance
            table = compare_bias_variance(
                [("mean", MeanOfSample())], np.zeros((50, 1)), truth, sampling=sample, y_true=truth, n_rounds=20,
                random_state=seed,
            )  # fmt: skip
            assert table.loc["mean", "bias"] >= 0
        assert result.rows["bias"].mean() < 0
        assert " bias^2 0 + " in str(result)

    def test_the_expected_error_is_close_to_that_of_observed_targets(self):
        result = judge(KNeighborsRegressor(3))
        spread = result.standard_errors["observed_error"] + result.standard_errors["error"]
        assert result.observed_error == pytest.approx(result.expected_error, abs=3 * spread)

    def test_without_the_truth_noise_is_counted_as_bias(self):
        known, unknown = judge(KNeighborsRegressor(3)), judge(KNeighborsRegressor(3), y_true=None)
        assert not unknown.knows_truth
        assert unknown.noise == 0.0
        assert unknown.rows["variance"].equals(known.rows["variance"])
        assert unknown.bias == pytest.approx(known.bias + known.noise, abs=0.1)
        assert "bias^2 and noise" in str(unknown)
        assert "noise" in str(known)

    def test_the_most_likely_class_leaves_noise_behind(self):
        rng = np.random.default_rng(0)
        X, y = blobs(rng, 400)
        likely = np.array(["low", "mid", "top"])[np.clip(X[:, 0].astype(int), 0, 2)]
        result = bias_variance(GaussianNB(), X, y, sampling=blobs, y_true=likely, n_rounds=30, random_state=0)
        assert result.loss == "zero_one"
        assert result.noise == np.mean(y != likely)
        assert result.noise_effect + result.bias + result.variance_effect == pytest.approx(result.observed_error)
        assert result.bias < 0.1 < result.noise


class TestSamples:
    def test_out_of_bag_rows_are_judged_by_models_that_have_not_seen_them(self):
        X, y = WINE
        result = bias_variance(DecisionTreeClassifier(), X, y, n_rounds=40, random_state=0)
        share = result.rows["n_predictions"].mean() / 40
        assert share == pytest.approx(1 / np.e, abs=0.03)
        assert result.observed_error > 0.05  # seen rows would all be right

    def test_rows_apart_are_judged_by_all_models(self):
        X, y = WINE
        result = bias_variance(
            CARTClassifier(), X[::2], y[::2], X_test=X[1::2], y_test=y[1::2], n_rounds=10, random_state=0
        )
        assert (result.rows["n_predictions"] == 10).all()
        assert len(result.rows) == 89

    def test_the_seed_decides(self):
        first, same, other = (judge(DecisionTreeRegressor(), random_state=seed, n_rounds=5).bias for seed in (1, 1, 2))
        assert first == same != other

    def test_classes_that_only_models_know(self):
        result = bias_variance(
            DummyClassifier(strategy="constant", constant="c"), np.zeros((60, 1)), ["a", "b", "c"] * 20, n_rounds=10,
            X_test=np.zeros((2, 1)), y_test=["a", "a"], random_state=0,
        )  # fmt: skip
        assert result.bias == result.expected_error == 1.0


class TestWhatModelsDo:
    def test_constants_have_bias_and_no_variance(self):
        result = judge(DummyRegressor(strategy="constant", constant=1.0), y_true=np.sin(GRID[:, 0]))
        assert result.variance == 0.0
        assert result.bias == pytest.approx(np.mean((1 - np.sin(GRID[:, 0])) ** 2))

    def test_deep_trees_have_less_bias_and_more_variance(self):
        shallow, deep = judge(DecisionTreeRegressor(max_depth=1)), judge(DecisionTreeRegressor())
        assert deep.bias < shallow.bias / 5
        assert deep.variance > 2 * shallow.variance

    def test_bagging_takes_variance_away(self):
        tree = judge(DecisionTreeRegressor())
        bagged = judge(BaggedRegressor(n_estimators=20))
        assert bagged.variance < 0.7 * tree.variance
        assert abs(bagged.bias - tree.bias) < 0.01

    def test_bagging_takes_variance_of_votes_away(self):
        tree = bias_variance(CARTClassifier(complexity=None), *WINE, n_rounds=30, random_state=0)
        bagged = bias_variance(
            BaggedClassifier(CARTClassifier(complexity=None), 20), *WINE, n_rounds=30, random_state=0
        )
        assert bagged.variance < 0.7 * tree.variance
        assert bagged.expected_error < tree.expected_error
        assert tree.variance_effect == pytest.approx(tree.unbiased_variance - tree.biased_variance)


class TestComparison:
    @pytest.fixture(scope="class")
    @classmethod
    def depths(cls):
        models = [(depth, DecisionTreeRegressor(max_depth=depth)) for depth in (1, 3, 6)]
        observed = np.sin(GRID[:, 0])
        return compare_bias_variance(
            models, GRID, observed, label="depth", sampling=wave, y_true=observed, n_rounds=10, random_state=0
        )

    def test_the_table(self, depths):
        assert depths.index.tolist() == [1, 3, 6]
        assert depths.index.name == "depth"
        assert depths["bias"].is_monotonic_decreasing
        assert depths["variance_effect"].is_monotonic_increasing
        np.testing.assert_allclose(depths[["noise_effect", "bias", "variance_effect"]].sum(axis=1), depths["error"])

    @pytest.mark.parametrize("random_state", [5, None, np.random.RandomState(0)])
    def test_models_share_their_samples(self, random_state):
        same = [("a", DummyRegressor()), ("b", DummyRegressor())]
        table = compare_bias_variance(same, *wave(np.random.default_rng(0)), n_rounds=5, random_state=random_state)
        assert table.loc["a"].equals(table.loc["b"])

    def test_a_row_is_the_decomposition_of_one_model(self):
        X, y = wave(np.random.default_rng(0))
        table = compare_bias_variance([("mean", DummyRegressor())], X, y, n_rounds=5, random_state=5)
        seed = int(make_generator(5).integers(2**31))
        alone = bias_variance(DummyRegressor(), X, y, n_rounds=5, random_state=seed)
        assert table.loc["mean", ["bias", "bias_se"]].tolist() == [alone.bias, alone.standard_errors["bias"]]
        assert repr(alone) == f"<BiasVariance: {alone}>"

    @pytest.mark.parametrize("models", [[], [DummyRegressor()], [("a", DummyRegressor(), 3)]])
    def test_what_is_no_list_of_pairs(self, models):
        with pytest.raises(ValueError, match="models must be a non-empty list of pairs"):
            compare_bias_variance(models, *WINE)

    def test_names_twice(self):
        with pytest.raises(ValueError, match="distinct names"):
            compare_bias_variance([(1, DummyRegressor()), (1, DummyRegressor())], *WINE)


class TestFigures:
    @pytest.mark.parametrize("model", [DecisionTreeRegressor(), DecisionTreeClassifier()])
    def test_of_one_model(self, model):
        backend = matplotlib.get_backend()
        figure = bias_variance(model, *WINE, n_rounds=6, random_state=0).plot()
        assert isinstance(figure, Figure)
        assert matplotlib.get_backend() == backend
        heights = [bar.get_height() for bar in figure.axes[0].patches]
        assert heights[0] + heights[1] == pytest.approx(heights[2])

    def test_with_noise(self):
        assert len(judge(DecisionTreeRegressor(), n_rounds=5).plot().axes[0].patches) == 4


class TestBadInput:
    def test_settings(self):
        for settings, problem in [
            ({"loss": "absolute"}, "loss must be 'auto', 'squared' or 'zero_one'"),
            ({"n_rounds": 1}, "n_rounds must be at least 2"),
            ({"n_rounds": 2.5}, "n_rounds must be an integer"),
            ({"sampling": "jackknife"}, "sampling must be 'bootstrap' or a function"),
            ({"X_test": WINE[0]}, "X_test and y_test must be passed together"),
            ({"y_test": WINE[1]}, "X_test and y_test must be passed together"),
            (
                {"X_test": WINE[0], "y_test": WINE[1][1:]},
                "y_test must have one entry for each of the 178 samples, not 177",
            ),
            ({"X_test": WINE[1], "y_test": WINE[1]}, "X_test must have shape"),
            ({"y_true": WINE[1][:5]}, "y_true must have one entry for each of the 178 samples, not 5"),
            ({"y_true": np.full(178, np.nan)}, "y_true has missing values"),
        ]:
            with pytest.raises((TypeError, ValueError), match=problem):
                bias_variance(CARTClassifier(), *WINE, **settings)

    @pytest.mark.parametrize("model", ["tree", CARTClassifier, None])
    def test_models(self, model):
        with pytest.raises(TypeError, match="estimator must be"):
            bias_variance(model, *WINE)

    def test_classes_and_squared_loss(self):
        with pytest.raises(ValueError, match="y must be numeric for squared loss"):
            bias_variance(DecisionTreeRegressor(), WINE[0], np.repeat(["a", "b"], 89))

    def test_too_few_rounds_for_out_of_bag_predictions(self):
        with pytest.raises(ValueError, match="n_rounds=2 is too small"):
            bias_variance(DummyRegressor(), np.zeros((1, 1)), [1.0], n_rounds=2)
