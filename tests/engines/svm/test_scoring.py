"""Decision values are the sum that they stand for."""

import numpy as np
import pytest

from fuselearn.engines.svm import collapse, decide

rng = np.random.default_rng(0)
VALUES = rng.normal(size=(30, 50)).astype(np.float32)


@pytest.mark.parametrize("n_support", [0, 3, 40])
def test_few_and_many_support_rows(n_support):
    support = rng.choice(50, n_support, replace=False).astype(np.int32)
    coefficients = rng.normal(size=(2, n_support)).astype(np.float32)
    intercepts = np.array([1.0, -2.0])
    rows = np.array([5, 5, 0, 29])
    expected = VALUES[np.ix_(rows, support)] @ coefficients.T + intercepts
    np.testing.assert_allclose(decide(VALUES, rows, support, coefficients, intercepts), expected, rtol=1e-5, atol=1e-5)


def test_weights_of_columns_stand_for_coefficients_of_rows():
    X = rng.normal(size=(20, 4))
    support = np.array([3, 17, 8])
    coefficients = rng.normal(size=(2, 3)) * [[1.0, 0.0, 1.0], [1.0, 1.0, 1.0]]
    np.testing.assert_allclose(collapse(X, support, coefficients), coefficients @ X[support])
