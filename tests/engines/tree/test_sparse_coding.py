"""A table of which only the entries are coded has the codes that a dense one has."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse

from fuselearn.engines.tree import code_columns, code_entries, is_mostly_zero

VALUES = st.sampled_from([0.0, 0.0, 0.0, -0.0, -1.5, -1.0, 2.0, 2.5, np.nan])
TABLES = arrays(np.float64, st.tuples(st.integers(1, 8), st.integers(1, 5)), elements=VALUES)


def spread(columns):
    """Write the codes of all values, by the entries of the samples and by those of the columns."""
    by_sample, by_column = np.tile(columns.zeros, (2, columns.n_samples, 1))
    starts, features, codes = columns.by_sample
    by_sample[np.repeat(np.arange(columns.n_samples), np.diff(starts)), features] = codes
    starts, samples, codes = columns.by_column
    by_column[samples, np.repeat(np.arange(columns.n_columns), np.diff(starts))] = codes
    assert all((np.diff(codes[a:b].astype(int)) >= 0).all() for a, b in pairwise(starts))
    np.testing.assert_array_equal(by_sample, by_column)
    return by_sample


@given(TABLES)
def test_codes_are_those_of_the_dense_table(X):
    dense = code_columns(X)
    for table in (X, sparse.csr_array(X), sparse.coo_array(X)):
        columns = code_entries(table)
        for name in ("n_codes", "offsets", "lower", "upper"):
            np.testing.assert_array_equal(getattr(columns, name), getattr(dense, name))
        np.testing.assert_array_equal(spread(columns), dense.codes)


def test_columns_with_more_values_than_codes_are_cut_into_the_same_bins():
    rng = np.random.default_rng(0)
    X = np.where(rng.random((80_000, 1)) < 0.95, rng.normal(size=(80_000, 1)), 0.0)
    dense, columns = code_columns(X), code_entries(X)
    np.testing.assert_array_equal(columns.lower, dense.lower)
    np.testing.assert_array_equal(columns.upper, dense.upper)
    np.testing.assert_array_equal(spread(columns), dense.codes)


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
