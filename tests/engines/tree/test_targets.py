"""Label matrices as the kernels see them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from fuselearn.engines.tree import TreeSettings, labels_target


@settings(max_examples=30)
@given(hnp.arrays(np.int8, st.tuples(st.integers(1, 8), st.integers(1, 5)), elements=st.integers(0, 1)))
def test_a_label_matrix_can_be_read_back(Y):
    starts, labels = labels_target(Y)
    again = np.zeros_like(Y)
    for i in range(len(Y)):
        again[i, labels[starts[i] : starts[i + 1]]] = 1
    np.testing.assert_array_equal(again, Y)


@pytest.mark.parametrize("kind", [bool, np.int64, np.float32])
def test_labels_may_be_of_any_type(kind):
    Y = np.array([[1, 0], [0, 0], [1, 1]])
    for part, expected in zip(labels_target(Y.astype(kind)), labels_target(Y), strict=True):
        np.testing.assert_array_equal(part, expected)


def test_each_label_is_predicted_by_its_share(grow):
    Y = np.array([[1, 0], [1, 1], [0, 1], [0, 1]])
    X = np.array([[0.0], [0.0], [1.0], [1.0]])
    _, tree = grow(X, Y)
    assert tree.shares().tolist() == [[0.5, 0.75], [1.0, 0.5], [0.0, 1.0]]


def test_the_risk_of_labels_is_the_sum_of_their_minorities(grow):
    # Root: 6 rows, label 0 in 3 of them and label 1 in 2, so 3 + 2 wrong (row, label) pairs. The cut in the middle
    # makes label 0 certain and leaves 1 + 1 pairs wrong: it removes 3 of 5.
    X = np.array([[0.0], [0.0], [0.0], [1.0], [1.0], [1.0]])
    Y = np.array([[1, 1], [1, 0], [1, 0], [0, 1], [0, 0], [0, 0]])
    for complexity, n_leaves in ((0.59, 2), (0.61, 1)):
        _, tree = grow(X, Y, TreeSettings(min_split=2, min_leaf=1, complexity=complexity))
        assert tree.n_leaves == n_leaves
