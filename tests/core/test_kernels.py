"""Kernel values, those of samples with labels appended, and sums of them, equal their formulas."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.metrics.pairwise import linear_kernel, rbf_kernel

from fuselearn._core import collapse, decide
from fuselearn.learners import kernels
from fuselearn.learners.kernels import _pack_labels, append_labels, compute_gram, compute_kernel

rng = np.random.default_rng(0)
X = np.where(rng.random((40, 7)) < 0.5, 0.0, rng.normal(size=(40, 7)))
Z = rng.normal(size=(9, 7))
EXPECTED = {"linear": lambda a, b: 0.3 * linear_kernel(a, b), "rbf": lambda a, b: rbf_kernel(a, b, gamma=0.3)}


@pytest.fixture(params=[False, True], ids=["dense", "sparse"])
def form(request):
    return sparse.csr_array if request.param else np.asarray


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("block_bytes", [None, 8 * 40 * 7])
def test_values_are_those_of_the_formula(form, kernel, block_bytes, monkeypatch):
    if block_bytes is not None:
        monkeypatch.setattr(kernels, "BLOCK_BYTES", block_bytes)
        monkeypatch.setattr(kernels, "TILE", 3)
    values = compute_gram(form(X), kernel, 0.3)
    assert values.dtype == np.float32
    np.testing.assert_allclose(values, EXPECTED[kernel](X, X), rtol=1e-6, atol=1e-6)
    np.testing.assert_array_equal(values, values.T)
    np.testing.assert_allclose(compute_kernel(form(Z), form(X), kernel, 0.3), EXPECTED[kernel](Z, X), atol=1e-6)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_a_centre_is_subtracted_from_every_row(form, kernel):
    centre = X.mean(axis=0) + 1.0
    moved, moved_new = X - centre, Z - centre
    np.testing.assert_allclose(
        compute_gram(form(X), kernel, 0.3, centre), EXPECTED[kernel](moved, moved), rtol=1e-5, atol=1e-6
    )
    np.testing.assert_allclose(
        compute_kernel(form(Z), form(X), kernel, 0.3, centre), EXPECTED[kernel](moved_new, moved), rtol=1e-5, atol=1e-6
    )


def test_equal_rows_have_radial_value_one_far_from_zero():
    far = np.repeat(rng.normal(size=(5, 3)) * 1e4, 2, axis=0)
    values = compute_gram(far, "rbf", 1.0)
    np.testing.assert_allclose(values[::2, 1::2].diagonal(), 1.0, atol=1e-5)
    assert (values.diagonal() == 1.0).all()


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
    X, support = rng.normal(size=(20, n_columns)), rng.permutation(20)[:n_support].astype(np.int32)
    coefficients = rng.normal(size=(n_machines, n_support)) * rng.integers(0, 2, (n_machines, n_support))
    np.testing.assert_allclose(
        collapse(X, support.astype(np.int32), coefficients), coefficients @ X[support], rtol=1e-12, atol=1e-12
    )


@given(n_labels=st.integers(0, 200), seed=st.integers(0, 99))
def test_bits_are_the_labels(n_labels, seed):
    labels = np.random.default_rng(seed).integers(0, 2, (5, n_labels))
    words = _pack_labels(labels)
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
