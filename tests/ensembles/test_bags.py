"""How bags are drawn: the chance to stay out of one, weights, and parameters that make no sense."""

import numpy as np
import pytest

from fuselearn.ensembles.bagging import plan_bags


def plan(n_rows=10, n_columns=3, **changes):
    weights = changes.pop("sample_weight", None)
    settings = {"max_samples": 1.0, "bootstrap": True} | changes
    return plan_bags((n_rows, n_columns), None if weights is None else np.asarray(weights, dtype=float), **settings)


def share_left_out(n_rows, n_bags, **changes):
    bags, rng = plan(n_rows, **changes), np.random.default_rng(0)
    return np.mean([bags.draw_counts(rng) == 0 for _ in range(n_bags)])


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
