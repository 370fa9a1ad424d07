"""Label matrices as the kernels see them."""

import numpy as np
import pytest

from fuselearn.engines.tree import ClassTarget, LabelTarget, TreeSettings


@pytest.mark.parametrize("kind", [bool, np.int64, np.float32])
def test_labels_may_be_of_any_type(grow, assert_same_tree, kind):
    Y, X = np.array([[1, 0], [0, 0], [1, 1]]), np.arange(3.0)[:, None]
    assert_same_tree(grow(X, Y.astype(kind))[1], grow(X, Y)[1])


def test_classes_and_labels_are_checked():
    with pytest.raises(ValueError, match=r"classes must hold numbers from 0 to 1 only\."):
        ClassTarget(np.array([0, 2], dtype=np.int32), 2)
    with pytest.raises(TypeError, match=r"classes must be an array of int32 with 1 dimension, not an array of int64"):
        ClassTarget(np.array([0, 1]), 2)
    with pytest.raises(ValueError, match=r"starts must rise from 0 to the number of labels\."):
        LabelTarget(np.array([0, 2, 1]), np.array([0], dtype=np.int32), 1)


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
