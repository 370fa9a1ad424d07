"""A table of which only the entries are coded has the codes that a dense one has."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse

from fuselearn.engines.tree import code_columns, code_entries, is_mostly_zero
from fuselearn.engines.tree.sparse_coding import code_at

VALUES = st.sampled_from([0.0, 0.0, 0.0, -0.0, -1.5, -1.0, 2.0, 2.5, np.nan])
TABLES = arrays(np.float64, st.tuples(st.integers(1, 8), st.integers(1, 5)), elements=VALUES)


@given(TABLES)
def test_codes_are_those_of_the_dense_table(X):
    dense = code_columns(X)
    for table in (X, sparse.csr_array(X), sparse.coo_array(X)):
        columns = code_entries(table)
        for name in ("n_codes", "offsets", "lower", "upper"):
            np.testing.assert_array_equal(getattr(columns, name), getattr(dense, name))
        codes = [[code_at(columns.codes, i, f) for f in range(X.shape[1])] for i in range(len(X))]
        np.testing.assert_array_equal(codes, dense.codes)


def test_columns_with_more_values_than_codes_are_cut_into_the_same_bins():
    rng = np.random.default_rng(0)
    X = np.where(rng.random((80_000, 1)) < 0.95, rng.normal(size=(80_000, 1)), 0.0)
    dense, columns = code_columns(X), code_entries(X)
    np.testing.assert_array_equal(columns.lower, dense.lower)
    np.testing.assert_array_equal(columns.upper, dense.upper)
    codes = np.full(len(X), columns.codes.zeros[0])
    codes[columns.by_column.rows] = columns.by_column.codes
    np.testing.assert_array_equal(codes, dense.codes[:, 0])


def test_the_matrix_passed_stays_as_it_is():
    X = sparse.csc_array((np.array([1.0, 2.0, 0.0]), np.array([0, 0, 1]), np.array([0, 3])), shape=(2, 1))
    columns = code_entries(X)
    assert X.nnz == 3
    assert columns.upper.tolist() == [0.0, 3.0]  # twice the same place is the sum, and a zero that is stored is a zero


@pytest.mark.parametrize("as_table", [np.asarray, sparse.csr_array])
def test_whether_a_table_is_sparse_depends_on_its_values(as_table):
    X = np.zeros((10, 10))
    X[0] = 1.0
    X[0, 0] = np.nan
    assert is_mostly_zero(as_table(X))
    X[1, 1] = 1.0
    assert not is_mostly_zero(as_table(X))
