"""Medians and indicators, against scikit-learn's imputer, in tables of any kind."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.impute import SimpleImputer

from fuselearn.learners.imputing import MedianImputer

rng = np.random.default_rng(0)
X = np.where(rng.random((40, 3)) < [0.3, 0.0, 0.1], np.nan, rng.normal(size=(40, 3)))
NEW = np.array([[np.nan, np.nan, np.nan], [1.0, 2.0, 3.0]])


def test_arrays_as_scikit_learn_does():
    expected = SimpleImputer(strategy="median", add_indicator=True).fit(X)
    imputer = MedianImputer().fit(X)
    for table in (X, NEW):
        np.testing.assert_array_equal(imputer.transform(table), expected.transform(table))


@pytest.mark.parametrize("library", [pd, pl])
def test_frames_stay_frames_with_their_categories(library):
    values = {"size": [1.0, None, 4.0, 7.0], "colour": ["red", "blue", None, "red"], "age": [1, 2, 3, 4]}
    frame = library.DataFrame(values)
    frame = frame.set_axis([5, 3, 8, 1]) if library is pd else frame
    filled = MedianImputer().fit(frame).transform(frame)
    assert list(filled.columns) == ["size", "colour", "age", "size is missing"]
    assert filled["size"].to_list() == [1.0, 4.0, 4.0, 7.0]
    assert filled["size is missing"].to_list() == [0.0, 1.0, 0.0, 0.0]
    assert frame["size"].to_list()[2:] == [4.0, 7.0]


def test_sparse_tables_and_features_without_any_number():
    thin = sparse.csr_array(np.array([[0.0, 2.0], [1.0, 0.0]]))
    imputer = MedianImputer().fit(thin)
    assert imputer.transform(thin) is thin
    gap = sparse.csr_array(np.array([[np.nan, 2.0]]))
    np.testing.assert_array_equal(imputer.transform(gap).toarray(), [[0.0, 2.0]])
    empty = MedianImputer().fit(np.array([[np.nan, 1.0], [np.nan, 3.0]]))
    np.testing.assert_array_equal(empty.transform(np.array([[np.nan, np.nan]])), [[0.0, 2.0, 1.0]])
