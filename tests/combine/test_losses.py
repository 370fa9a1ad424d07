"""The losses of stacking and the choice of the shrinkage."""

import numpy as np
import pytest
from sklearn.metrics import log_loss, mean_squared_error

from fuselearn.combine.losses import (
    CANDIDATES,
    LogLoss,
    SquaredError,
    best_shrinkage,
    check_shrinkage,
    cross_validate_shrinkage,
)


def test_the_squared_error_is_scikit_learns():
    rng = np.random.default_rng(0)
    loss = SquaredError(rng.normal(size=(20, 3)), rng.normal(size=20), rng.random(20))
    weights = np.array([0.5, 0.2, 0.1])
    expected = mean_squared_error(loss.target, loss.answers @ weights, sample_weight=loss.shares)
    assert loss.total(weights) / loss.shares.sum() == pytest.approx(expected)


def test_the_log_loss_is_scikit_learns():
    rng = np.random.default_rng(0)
    tables = rng.dirichlet(np.ones(3), size=(2, 20))
    truth = np.arange(20) % 3
    loss = LogLoss(tables[:, np.arange(20), truth].T, rng.random(20))
    mixed = 0.3 * tables[0] + 0.7 * tables[1]
    expected = log_loss(truth, mixed, sample_weight=loss.shares)
    assert loss.total(np.array([0.3, 0.7])) / loss.shares.sum() == pytest.approx(expected)


@pytest.mark.parametrize("kind", [SquaredError, LogLoss])
def test_shares_count_by_their_proportions(kind):
    rng = np.random.default_rng(0)
    table, shares = rng.random((30, 3)), rng.random(30)
    parts = (table, rng.random(30)) if kind is SquaredError else (table,)
    expected = kind(*parts, shares).best_weights("simplex", 0.1)
    np.testing.assert_allclose(kind(*parts, 7 * shares).best_weights("simplex", 0.1), expected, atol=1e-9)


@pytest.mark.parametrize("constraint", [None, "non-negative", "simplex"])
def test_cross_validation_in_plain_steps(constraint):
    rng = np.random.default_rng(0)
    target = rng.normal(size=40)
    loss = SquaredError(target[:, None] + rng.normal(size=(40, 4)), target, rng.random(40))
    folds = np.arange(40) % 3
    found = cross_validate_shrinkage(loss, folds, constraint)
    assert set(found) == set(CANDIDATES)
    for shrinkage in (0.0, 0.1, np.inf):
        errors = np.empty(40)
        for fold in range(3):
            inside, outside = folds != fold, folds == fold
            weights = loss.part(inside).best_weights(constraint, shrinkage)
            errors[outside] = (target[outside] - loss.answers[outside] @ weights) ** 2
        assert found[shrinkage] == pytest.approx(np.average(errors, weights=loss.shares))


def test_the_least_loss_wins_and_the_strongest_shrinkage_of_equal_ones():
    assert best_shrinkage({0.0: 3.0, 0.1: 2.0, 1.0: 2.5, np.inf: 4.0}) == 0.1
    assert best_shrinkage({0.0: 2.0, 0.1: 2.0, 1.0: 2.0, np.inf: 4.0}) == 1.0
    assert best_shrinkage(dict.fromkeys(CANDIDATES, 0.0)) == np.inf


@pytest.mark.parametrize("value", [-1, np.nan, "none", None, -np.inf])
def test_what_is_no_shrinkage(value):
    with pytest.raises((ValueError, TypeError), match="shrinkage must be"):
        check_shrinkage(value)


@pytest.mark.parametrize("value", [0, 0.5, np.inf, "auto", np.float64(2)])
def test_what_is_a_shrinkage(value):
    check_shrinkage(value)
