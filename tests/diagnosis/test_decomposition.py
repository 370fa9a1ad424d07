"""The parts of the error, worked out by hand, and the identities that hold for any predictions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuselearn.diagnosis.decomposition import decompose_squared, decompose_zero_one, standard_errors


class TestSquared:
    def test_by_hand(self):
        # Predictions 1, 3, 5 for a truth of 1: mean 3, variance (4 + 0 + 4) / 2, bias^2 4 - 4/3; observed 2.
        row = decompose_squared(np.array([[1.0], [3.0], [5.0]]), np.array([2.0]), np.array([1.0])).loc[0]
        assert row["variance"] == pytest.approx(4)
        assert row["bias"] == pytest.approx(4 - 4 / 3)
        assert row["noise"] == row["noise_effect"] == 1
        assert row["error"] == pytest.approx((0 + 4 + 16) / 3 + 1)
        assert row["observed_error"] == pytest.approx((1 + 1 + 9) / 3)
        assert row["n_predictions"] == 3

    @given(st.integers(0, 10_000), st.integers(2, 12), st.floats(0, 0.6))
    def test_the_parts_add_up_to_rounding(self, seed, n_rounds, share_missing):
        rng = np.random.default_rng(seed)
        predictions = rng.normal(size=(n_rounds, 30)) * rng.integers(1, 100)
        predictions[rng.random(predictions.shape) < share_missing] = np.nan
        truth = rng.normal(size=30)
        parts = decompose_squared(predictions, truth + rng.normal(size=30), truth)
        np.testing.assert_allclose(parts["noise"] + parts["bias"] + parts["variance"], parts["error"], rtol=1e-9)
        few = (~np.isnan(predictions)).sum(axis=0) < 2
        np.testing.assert_array_equal(parts["error"].isna(), few)

    def test_estimates_are_unbiased(self):
        """Predictions around 3 with variance 4, of a truth of 1, from as few as three rounds."""
        rng = np.random.default_rng(0)
        parts = decompose_squared(rng.normal(3, 2, (3, 200_000)), np.ones(200_000), np.ones(200_000)).mean()
        assert parts["bias"] == pytest.approx(4, abs=0.05)
        assert parts["variance"] == pytest.approx(4, abs=0.05)


class TestZeroOne:
    def decompose(self, votes, observed, truth, n_classes=3):
        return decompose_zero_one(np.array(votes)[:, None], np.array([observed]), np.array([truth]), n_classes).loc[0]

    def test_by_hand(self):
        for votes, observed, truth, noise_effect, bias, variance, variance_effect, error in [
            ([0, 0, 0, 1], 0, 0, 0, 0, 0.25, 0.25, 0.25),  # variance harms where the main prediction is right
            ([0, 0, 0, 1], 1, 1, 0, 1, 0.25, -0.25, 0.75),  # and helps where it is wrong
            ([0, 0, 1, 2], 1, 1, 0, 1, 0.5, -0.25, 0.75),  # as far as it hits the truth
            ([0, 0, 2, 2], 1, 1, 0, 1, 0.5, 0, 1),  # or not at all
            ([0, 0, 0, 1], 1, 0, 0.5, 0, 0.25, 0.25, 0.75),  # noise harms a model that is mostly right
            ([1, 1, 1, 0], 1, 0, -0.5, 1, 0.25, -0.25, 0.25),  # and hides that another one is wrong
            ([0, 0, 0, 0], 0, 0, 0, 0, 0, 0, 0),
        ]:
            row = self.decompose(votes, observed, truth)
            assert row["noise"] == (observed != truth)
            assert row[["noise_effect", "bias", "variance", "variance_effect", "error"]].tolist() == pytest.approx(
                [noise_effect, bias, variance, variance_effect, error]
            )

    def test_ties_go_to_the_first_class(self):
        assert self.decompose([1, 2], 1, 1)["bias"] == 0
        assert self.decompose([1, 2], 2, 2)["bias"] == 1

    @given(st.integers(0, 10_000), st.integers(2, 5), st.integers(2, 12))
    def test_the_parts_add_up_to_the_error_of_the_rounds(self, seed, n_classes, n_rounds):
        rng = np.random.default_rng(seed)
        votes = rng.integers(-1, n_classes, (n_rounds, 40))
        observed, truth = rng.integers(0, n_classes, (2, 40))
        parts = decompose_zero_one(votes, observed, truth, n_classes)
        enough = (votes >= 0).sum(axis=0) >= 2
        expected = [
            np.mean(v[v >= 0] != t) if ok else np.nan for v, t, ok in zip(votes.T, observed, enough, strict=True)
        ]
        np.testing.assert_allclose(parts["observed_error"], expected)
        np.testing.assert_allclose(parts["error"], parts["observed_error"], atol=1e-12)

    @given(st.integers(0, 10_000))
    def test_with_two_classes_the_factors_are_one_and_minus_one(self, seed):
        rng = np.random.default_rng(seed)
        truth = rng.integers(0, 2, 50)
        parts = decompose_zero_one(rng.integers(0, 2, (9, 50)), truth, truth, 2)
        sign = np.where(parts["bias"] == 1, -1.0, 1.0)
        np.testing.assert_allclose(parts["variance_effect"], sign * parts["variance"])


class TestStandardErrors:
    def estimate(self, rng, n_rounds, n_rows):
        """Predictions with a shared shift per round (variance 1) and a spread of their own (variance 4)."""
        predictions = rng.normal(size=(n_rounds, 1)) + rng.normal(scale=2, size=(n_rounds, n_rows))
        target = rng.normal(scale=3, size=n_rows)
        whole = decompose_squared(predictions, target, target)
        groups = np.array_split(np.arange(n_rounds), 10)
        without = [decompose_squared(np.delete(predictions, group, axis=0), target, target) for group in groups]
        return whole.mean(), standard_errors(whole, without)

    def test_they_say_how_far_estimates_scatter(self):
        rng = np.random.default_rng(0)
        runs = [self.estimate(rng, 40, 60) for _ in range(80)]
        for part, expected in (("variance", 5.0), ("bias", 9.0), ("error", 14.0)):
            values = np.array([means[part] for means, _ in runs])
            claimed = np.sqrt(np.mean([errors[part] ** 2 for _, errors in runs]))
            assert values.mean() == pytest.approx(expected, rel=0.05)
            assert 0.85 < claimed / values.std() < 1.6

    def test_of_a_single_row(self):
        target = np.zeros(1)
        whole = decompose_squared(np.array([[1.0], [3.0], [2.0]]), target, target)
        errors = standard_errors(whole, [whole, whole])
        assert errors["variance"] == 0.0
