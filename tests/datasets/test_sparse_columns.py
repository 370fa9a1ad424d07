"""Sparse tables keep the names of their columns in a step of their own."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

import fuselearn
from fuselearn.datasets import DatasetError
from fuselearn.datasets.cleaning import SparseColumns
from fuselearn.multilabel import BinaryRelevanceClassifier

FRAME = pd.DataFrame({"c": [0, 0, 9], "a": [1.0, 0, 2], "b": [0, 3, 0]})


def test_frames_are_read_by_name_and_matrices_by_place():
    columns = clone(SparseColumns(["b", "a"]))
    expected = [[0, 1], [3, 0], [0, 2]]
    assert columns.transform(FRAME).toarray().tolist() == expected
    for form in (sparse.csr_array, sparse.csc_matrix, np.array):
        found = columns.fit_transform(form(np.array(expected)))
        assert sparse.issparse(found)
        assert found.format == "csr"
        assert found.toarray().tolist() == expected
    assert columns.get_feature_names_out().tolist() == ["b", "a"]


def test_what_does_not_fit_is_refused():
    with pytest.raises(DatasetError, match="X lacks the columns 'd'"):
        SparseColumns(["a", "d"]).transform(FRAME)
    with pytest.raises(DatasetError, match="X has 3 features; the model was trained on 2"):
        SparseColumns(["a", "b"]).transform(sparse.csr_array(np.eye(3)))


def test_a_saved_pipeline_finds_its_features_by_name(tmp_path):
    rng = np.random.default_rng(0)
    X = sparse.random_array((60, 3), density=0.4, random_state=rng, format="csr")
    Y = (X[:, [0, 1]].toarray() > 0).astype(int)
    model = make_pipeline(SparseColumns(["a", "b", "c"]), BinaryRelevanceClassifier(random_state=0)).fit(X, Y)
    fuselearn.save(model, tmp_path / "m.fuse")
    frame = pd.DataFrame(X.toarray(), columns=["a", "b", "c"])[["c", "b", "a"]]
    np.testing.assert_array_equal(fuselearn.load(tmp_path / "m.fuse").predict(frame), model.predict(X))
