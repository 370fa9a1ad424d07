"""Probabilities of classes from machines of one class against all others."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy.optimize import brute

from fuselearn.learners import coupling
from fuselearn.learners.coupling import Coupling, fit_coupling

SHARES = np.array([0.5, 0.3, 0.15, 0.05])
SETS = np.array([[0, 0], [1, 0], [0, 1], [1, 1]])


@given(
    arrays.arrays(np.float64, (5, 4), elements=st.floats(0.0, 1.0)), st.floats(0.05, 20.0), st.floats(-3.0, 3.0)
)  # fmt: skip
def test_probabilities_sum_to_one_and_what_is_impossible_stays_so(chances, sharpness, balance):
    probabilities = Coupling(SHARES, sharpness, balance).apply(chances)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    assert (probabilities >= 0.0).all()
    some = chances.any(axis=1)
    assert (probabilities[some][chances[some] == 0.0] == 0.0).all()
    np.testing.assert_allclose(probabilities[~some], np.tile(SHARES, ((~some).sum(), 1)))


def test_by_default_chances_are_divided_by_their_sum():
    chances = np.array([[0.2, 0.1, 0.3, 0.2], [0.0, 0.5, 0.0, 0.5]])
    np.testing.assert_allclose(Coupling(SHARES).apply(chances), chances / chances.sum(axis=1, keepdims=True))


def test_chances_and_shares_get_powers():
    found = Coupling(SHARES, 2.0, -1.0).apply(np.array([[0.4, 0.2, 0.1, 0.1]]))
    powers = np.array([0.16 / 0.5, 0.04 / 0.3, 0.01 / 0.15, 0.01 / 0.05])
    np.testing.assert_allclose(found[0], powers / powers.sum())


def draw_truth(chances, sharpness, balance, rng):
    probabilities = Coupling(SHARES, sharpness, balance).apply(chances)
    drawn = (probabilities.cumsum(axis=1) < rng.random((len(chances), 1))).sum(axis=1)
    return SETS[np.minimum(drawn, 3)] > 0


@pytest.mark.parametrize(("sharpness", "balance"), [(1.0, 0.0), (1.8, -0.5), (0.6, 0.4)])
def test_the_coupling_that_made_the_labels_is_found(sharpness, balance):
    rng = np.random.default_rng(0)
    chances = rng.beta(1.0, 2.0, (5_000, 4))
    found = fit_coupling(SHARES, chances, SETS, draw_truth(chances, sharpness, balance, rng), np.ones(5_000))
    assert found.sharpness == pytest.approx(sharpness, rel=0.1)
    assert found.balance == pytest.approx(balance, abs=0.1)


def test_it_has_the_least_cross_entropy_to_targets_inside_zero_and_one():
    rng = np.random.default_rng(1)
    chances, weights = rng.beta(1.0, 3.0, (60, 4)), rng.integers(1, 4, 60).astype(float)
    truth = draw_truth(chances, 1.5, -0.3, rng)
    positive, negative = weights @ truth, weights @ ~truth
    targets = np.where(truth, (positive + 1) / (positive + 2), 1 / (negative + 2))

    def loss(parameters):
        found = Coupling(SHARES, np.exp(parameters[0]), parameters[1]).apply(chances) @ SETS
        return -(weights @ (targets * np.log(found) + (1 - targets) * np.log(1 - found))).sum()

    best = brute(loss, [(-1.0, 1.5), (-1.5, 1.0)], Ns=20)
    found = fit_coupling(SHARES, chances, SETS, truth, weights)
    np.testing.assert_allclose([np.log(found.sharpness), found.balance], best, atol=2e-3)


def test_of_very_many_rows_some_suffice(monkeypatch):
    rng = np.random.default_rng(2)
    chances = rng.beta(1.0, 2.0, (6_000, 4))
    truth = draw_truth(chances, 1.8, -0.5, rng)
    monkeypatch.setattr(coupling, "_MOST_ROWS", 2_000)
    some = fit_coupling(SHARES, chances, SETS, truth, np.ones(6_000))
    assert some == fit_coupling(SHARES, chances[::3], SETS, truth[::3], np.ones(2_000))


def test_chances_of_zero_and_one_do_no_harm():
    chances = np.eye(4)[np.arange(40) % 4]
    found = fit_coupling(SHARES, chances, SETS, SETS[np.arange(40) % 4] > 0, np.ones(40))
    assert np.isfinite([found.sharpness, found.balance]).all()


@pytest.mark.filterwarnings("error")
def test_a_class_without_samples_changes_nothing():
    rng = np.random.default_rng(0)
    chances = rng.random((50, 2))
    numbers = (rng.random(50) < chances[:, 1] / chances.sum(axis=1)).astype(int)
    shares, truth = np.array([0.4, 0.6]), np.eye(2, dtype=bool)[numbers]
    expected = fit_coupling(shares, chances, np.eye(2, dtype=np.int8), truth, np.ones(50))
    more_chances, more_truth = np.column_stack([chances, np.zeros(50)]), np.column_stack([truth, np.zeros(50, bool)])
    found = fit_coupling(np.append(shares, 0.0), more_chances, np.eye(3, dtype=np.int8), more_truth, np.ones(50))
    assert found.sharpness == pytest.approx(expected.sharpness, rel=1e-4)
    assert found.balance == pytest.approx(expected.balance, abs=1e-4)
    np.testing.assert_allclose(found.apply(more_chances)[:, :2], expected.apply(chances), atol=1e-4)
