"""Decision values are the sums that they stand for."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from fuselearn.engines.svm import collapse, decide

few = settings(max_examples=40)


@few
@given(st.integers(0, 10_000), st.sampled_from([1, 7, 50]), st.floats(0, 1), st.integers(0, 3), st.integers(0, 5))
def test_decisions_with_few_and_many_support_rows(seed, n_train, share, n_columns, n_asked):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(9, n_train)).astype(np.float32)
    support = rng.permutation(n_train)[: int(share * n_train)].astype(np.int32)
    coefficients = rng.normal(size=(n_columns, len(support))).astype(np.float32)
    intercepts, rows = rng.normal(size=n_columns), rng.integers(0, 9, n_asked)
    expected = values[np.ix_(rows, support)].astype(float) @ coefficients.T.astype(float) + intercepts
    np.testing.assert_allclose(
        decide(values, rows, support, coefficients, intercepts), expected, rtol=1e-12, atol=1e-12
    )


@few
@given(st.integers(0, 10_000), st.integers(0, 20), st.integers(1, 40), st.integers(0, 3))
def test_weights_of_columns_stand_for_coefficients_of_rows(seed, n_support, n_columns, n_machines):
    rng = np.random.default_rng(seed)
    X, support = rng.normal(size=(20, n_columns)), rng.permutation(20)[:n_support]
    coefficients = rng.normal(size=(n_machines, n_support)) * rng.integers(0, 2, (n_machines, n_support))
    np.testing.assert_allclose(collapse(X, support, coefficients), coefficients @ X[support], rtol=1e-12, atol=1e-12)
