"""The sigmoid minimises the cross entropy that Platt's paper states."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.svm import SVC

from fuselearn._core import fit_sigmoid


def draw_values(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 200))
    signs = np.where(rng.random(n) < rng.uniform(0.1, 0.9), 1.0, -1.0)
    values = rng.uniform(0.0, 3.0) * signs + rng.normal(size=n) * rng.uniform(0.1, 3.0)
    return values, signs, rng.integers(1, 4, n).astype(float)


def cross_entropy(parameters, values, signs, weights):
    positive, negative = weights[signs > 0].sum(), weights[signs < 0].sum()
    targets = np.where(signs > 0, (positive + 1) / (positive + 2), 1 / (negative + 2))
    exponents = parameters[0] * values + parameters[1]
    return weights @ (targets * exponents + np.logaddexp(0.0, -exponents))


@pytest.mark.parametrize("seed", range(4))
def test_the_cross_entropy_is_minimal(seed):
    problem = draw_values(seed)
    found = minimize(cross_entropy, (0.0, 0.0), problem, method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-12})
    loss = cross_entropy(fit_sigmoid(*problem), *problem)
    assert loss <= found.fun + 1e-6 * (1 + abs(found.fun))


@pytest.mark.parametrize("seed", range(5))
def test_weights_are_copies(seed):
    values, signs, weights = draw_values(seed)
    copies = np.repeat(np.arange(len(values)), weights.astype(int))
    np.testing.assert_allclose(
        fit_sigmoid(values, signs, weights), fit_sigmoid(values[copies], signs[copies], np.ones(len(copies))), rtol=1e-4
    )


def test_values_that_tell_nothing_give_the_share_of_positives():
    signs = np.array([1.0, 1.0, 1.0, -1.0])
    slope, offset = fit_sigmoid(np.zeros(4), signs, np.ones(4))
    assert slope == pytest.approx(0.0)
    # 3 of 4 positive, with targets 4/5 and 1/3 in place of 1 and 0
    assert 1 / (1 + np.exp(offset)) == pytest.approx((3 * 4 / 5 + 1 / 3) / 4)


def test_values_of_one_sign_and_extreme_values_are_harmless():
    for values, signs in (
        (np.ones(3), np.ones(3)),
        (np.array([-1e6, 1e6]), np.array([-1.0, 1.0])),
        (np.array([1e6, -1e6]), np.array([-1.0, 1.0])),
        (np.empty(0), np.empty(0)),
    ):
        assert np.isfinite(fit_sigmoid(values, signs, np.ones(len(values)))).all()


def test_probabilities_are_near_those_of_another_program():
    """scikit-learn's calibration fits the same sigmoid to the same cross-validated decision values."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    y = np.where(X[:, 0] + rng.normal(size=400) > 0, 1, -1)
    machine, folds = SVC(kernel="linear"), KFold(5)
    values = cross_val_predict(machine, X, y, cv=folds, method="decision_function")
    slope, offset = fit_sigmoid(values, y.astype(float), np.ones(400))
    ours = 1 / (1 + np.exp(slope * machine.fit(X, y).decision_function(X) + offset))
    other = CalibratedClassifierCV(machine, cv=folds, ensemble=False).fit(X, y)
    np.testing.assert_allclose(ours, other.predict_proba(X)[:, 1], atol=1e-4)
