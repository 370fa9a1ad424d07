"""Kernel values of rows to which labels are appended: those of the wider rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuselearn.engines.svm import append_labels, compute_kernel
from fuselearn.engines.svm.labels import pack_labels


@given(n_labels=st.integers(0, 200), seed=st.integers(0, 99))
def test_bits_are_the_labels(n_labels, seed):
    labels = np.random.default_rng(seed).integers(0, 2, (5, n_labels))
    words = pack_labels(labels)
    assert words.shape == (5, -(-n_labels // 64))
    assert words.dtype == np.uint64
    numbers = [sum(int(word) << (64 * k) for k, word in enumerate(row)) for row in words]
    assert numbers == [sum(int(bit) << k for k, bit in enumerate(row)) for row in labels]


@pytest.mark.parametrize("n_labels", [1, 3, 64, 65, 130])
@pytest.mark.parametrize("width", [1.0, 2.0])
@pytest.mark.parametrize("name", ["rbf", "linear"])
def test_values_are_those_of_the_wider_rows(name, width, n_labels):
    rng = np.random.default_rng(n_labels)
    X, Z = rng.normal(size=(9, 4)), rng.normal(size=(7, 4))
    left, right = rng.integers(0, 2, (3, n_labels)), rng.integers(0, 2, (4, n_labels))
    rows, columns = np.array([8, 2, 2]), np.array([0, 6, 6, 3])
    wider = (np.hstack([part, width * (labels - 0.5)]) for part, labels in ((X[rows], left), (Z[columns], right)))
    expected = compute_kernel(*wider, name, 0.02)
    values = compute_kernel(X, Z, name, 0.02)
    before = values.copy()
    appended = append_labels(values, rows, columns, left, right, name, 0.02, width)
    np.testing.assert_allclose(appended, expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(values, before)


def test_other_numbers_of_labels_get_a_sentence():
    """The words of the longer rows would be read beyond those of the shorter ones."""
    values, both = np.ones((2, 2), dtype=np.float32), np.arange(2)
    with pytest.raises(ValueError, match="65 labels cannot be compared with 3"):
        append_labels(values, both, both, np.zeros((2, 65), int), np.zeros((2, 3), int), "rbf", 1.0, 1.0)
