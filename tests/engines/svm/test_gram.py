"""Kernel values equal their formulas, for dense and sparse rows, at once or column by column."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics.pairwise import linear_kernel, rbf_kernel

from fuselearn.engines.svm import compute_gram, compute_kernel, gram

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
        monkeypatch.setattr(gram, "_BLOCK_BYTES", block_bytes)
        monkeypatch.setattr(gram, "_TILE", 3)
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
