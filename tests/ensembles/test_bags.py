"""How bags are drawn: the chance to stay out of one, weights, and parameters that make no sense."""

import numpy as np
import pytest

from fuselearn import BaggedClassifier, BaggedRegressor
from fuselearn.ensembles.bagging import plan_bags


def plan(n_rows=10, n_columns=3, **changes):
    weights = changes.pop("sample_weight", None)
    settings = {"max_samples": 1.0, "bootstrap": True} | changes
    return plan_bags((n_rows, n_columns), None if weights is None else np.asarray(weights, dtype=float), **settings)


def share_left_out(n_rows, n_bags, **changes):
    bags, rng = plan(n_rows, **changes), np.random.default_rng(0)
    return np.mean([bags.draw_counts(rng) == 0 for _ in range(n_bags)])


class TestLeftOut:
    """A row is missed by each of N draws with probability 1 - 1/N."""

    @pytest.mark.parametrize("n_rows", [1, 2, 3, 10, 100, 1_000])
    def test_a_row_stays_out_with_probability_1_minus_1_over_n_to_the_n(self, n_rows):
        expected = (1 - 1 / n_rows) ** n_rows
        n_bags = 20_000 // n_rows + 200
        error = np.sqrt(0.25 / (n_rows * n_bags))
        assert share_left_out(n_rows, n_bags) == pytest.approx(expected, abs=4 * error)

    def test_the_limit_is_1_over_e(self):
        chances = [(1 - 1 / n) ** n for n in (1, 2, 10, 100, 10_000)]
        assert (np.diff(chances) > 0).all()
        assert chances[-1] == pytest.approx(1 / np.e, abs=1e-4)
        assert share_left_out(5_000, 50) == pytest.approx(1 / np.e, abs=0.004)

    def test_fewer_draws_leave_more_rows_out(self):
        assert share_left_out(100, 400, max_samples=0.5) == pytest.approx(0.99**50, abs=0.01)
        assert share_left_out(100, 10, max_samples=0.5, bootstrap=False) == 0.5


def test_whether_rows_can_stay_out():
    assert plan().leaves_out
    assert plan(bootstrap=False, max_samples=0.9).leaves_out
    assert not plan(bootstrap=False).leaves_out


def test_columns_are_drawn_without_replacement_and_in_order():
    bags, rng = plan(n_columns=6, max_features=3), np.random.default_rng(0)
    drawn = np.array([bags.draw_features(rng) for _ in range(400)])
    assert (np.diff(drawn, axis=1) > 0).all()
    np.testing.assert_allclose(np.bincount(drawn.ravel()) / 400, 0.5, atol=0.1)


@pytest.mark.parametrize("bootstrap", [True, False])
def test_weights_are_chances(bootstrap):
    weights = np.array([0.0, 1.0, 1.0, 2.0])
    bags, rng = plan(4, max_samples=1, bootstrap=bootstrap, sample_weight=weights), np.random.default_rng(0)
    drawn = sum(bags.draw_counts(rng) for _ in range(2_000))
    np.testing.assert_allclose(drawn / 2_000, [0, 0.25, 0.25, 0.5], atol=0.04)


def test_bad_parameters():
    for changes, problem in [
        ({"max_samples": 0.0}, "max_samples as a fraction"),
        ({"max_samples": 1.5}, "max_samples as a fraction"),
        ({"max_samples": 0}, "max_samples must be at least 1"),
        ({"max_samples": "all"}, "max_samples must be a number of samples"),
        ({"max_samples": 11, "bootstrap": False}, "max_samples must be at most the 10 samples"),
        ({"max_features": 0}, "max_features"),
        (
            {"sample_weight": np.arange(10) % 2, "max_samples": 9, "bootstrap": False},
            "sample_weight is positive for 5 samples only",
        ),
    ]:
        with pytest.raises((TypeError, ValueError), match=problem):
            plan(**changes)


@pytest.mark.parametrize("make", [BaggedClassifier, BaggedRegressor])
def test_negative_weights_are_refused(make):
    X, y = np.arange(20.0).reshape(10, 2), np.arange(10) % 2
    with pytest.raises(ValueError, match="sample_weight has negative entries"):
        make(n_estimators=2).fit(X, y, sample_weight=-np.ones(10))


class TestPoisson:
    """Every row is drawn a Poisson number of times."""

    def test_a_row_stays_out_with_probability_1_over_e_however_few_there_are(self):
        assert share_left_out(500, 200, sampling="poisson") == pytest.approx(np.exp(-1), abs=0.01)
        assert share_left_out(500, 200, sampling="poisson", max_samples=0.5) == pytest.approx(np.exp(-0.5), abs=0.01)

    def test_rows_of_more_weight_are_drawn_more_often(self):
        bags, rng = plan(40, sample_weight=[0, 1, 2, 5] * 10, sampling="poisson"), np.random.default_rng(0)
        mean = np.mean([bags.draw_counts(rng) for _ in range(500)], axis=0).reshape(10, 4).mean(axis=0)
        np.testing.assert_allclose(mean, [0, 0.5, 1, 2.5], atol=0.1)

    def test_a_bag_is_never_empty(self):
        bags, rng = plan(2, sampling="poisson", max_samples=1), np.random.default_rng(0)
        assert all(bags.draw_counts(rng).any() for _ in range(200))

    def test_rows_are_drawn_with_replacement(self):
        with pytest.raises(ValueError, match="sampling='poisson' draws with replacement"):
            plan(sampling="poisson", bootstrap=False, max_samples=0.5)
        with pytest.raises(ValueError, match="sampling must be"):
            plan(sampling="bernoulli")
