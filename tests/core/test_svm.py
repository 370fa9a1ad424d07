"""Machines of several columns, and their calibration over drawn copies."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuselearn._core import fit_sigmoid, solve_svm
from fuselearn.learners import svm
from fuselearn.learners.kernels import compute_gram
from fuselearn.learners.svm import deal_folds, train_columns

rng = np.random.default_rng(0)
X = rng.normal(size=(80, 3))
GRAM = compute_gram(X, "rbf", 0.3)
SIGNS = np.where(
    np.column_stack([X[:, 0], X[:, 1] + X[:, 2], rng.normal(size=80)]) + rng.normal(size=(80, 3)) > 0, 1.0, -1.0
).T
COUNTS = rng.integers(0, 4, 80)
STEPS = 100_000


@given(st.lists(st.integers(0, 5), max_size=30), st.integers(1, 6), st.integers(0, 2**31))
def test_copies_are_dealt_evenly_and_none_is_lost(counts, n_folds, seed):
    folds = deal_folds(np.array(counts, dtype=np.int64), n_folds, seed)
    assert folds.shape == (n_folds, len(counts))
    np.testing.assert_array_equal(folds.sum(axis=0), counts)
    sizes = folds.sum(axis=1)
    assert sizes.max() - sizes.min() <= 1


def test_copies_of_a_row_go_to_different_folds_by_chance():
    folds = deal_folds(np.full(3000, 2), 5, 0)
    together = (folds == 2).any(axis=0).mean()
    assert together == pytest.approx(1 / 5, abs=0.03)


def test_each_column_is_trained_as_if_alone():
    folds = deal_folds(COUNTS, 5, 1)
    together = train_columns(GRAM, SIGNS, COUNTS.astype(float), 2.0, folds=folds)
    for c in range(3):
        alone = train_columns(GRAM, SIGNS[c : c + 1], COUNTS.astype(float), 2.0, folds=folds)
        for part, whole in zip(alone, together, strict=True):
            np.testing.assert_array_equal(part[0], whole[c])
        coefficients, _, intercept, _ = solve_svm(GRAM, SIGNS[c], 2.0 * COUNTS, STEPS, 1e-3)
        np.testing.assert_array_equal(together.coefficients[c], coefficients)
        assert together.intercepts[c] == intercept


def test_the_number_of_threads_changes_nothing(monkeypatch):
    monkeypatch.setattr(svm, "SAMPLES_FOR_THREADS", 1)
    folds = deal_folds(COUNTS, 5, 1)
    one, three = (train_columns(GRAM, SIGNS, COUNTS.astype(float), 1.0, folds=folds, n_threads=t) for t in (1, 3))
    for a, b in zip(one, three, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("C", [0.1, 1.0, 20.0])
def test_the_sigmoid_is_fitted_to_values_of_left_out_copies(C):
    folds = deal_folds(COUNTS, 4, 2)
    trained = train_columns(GRAM, SIGNS, COUNTS.astype(float), C, folds=folds, tolerance=1e-5)
    for c in range(3):
        values, signs, weights = [], [], []
        for left_out in folds:
            _, residuals, intercept, _ = solve_svm(GRAM, SIGNS[c], C * (COUNTS - left_out), STEPS, 1e-5)
            asked = left_out > 0
            values.append((SIGNS[c] - residuals + intercept)[asked])
            signs.append(SIGNS[c][asked])
            weights.append(left_out[asked])
        np.testing.assert_allclose(trained.left_out[c], np.concatenate(values), atol=2e-3 * C)
        expected = fit_sigmoid(np.concatenate(values), np.concatenate(signs), np.concatenate(weights))
        np.testing.assert_allclose((trained.slopes[c], trained.offsets[c]), expected, rtol=2e-3, atol=2e-3)


def test_a_fold_that_holds_the_only_positive_copy():
    signs = np.full((1, 80), -1.0)
    signs[0, 7] = 1.0
    trained = train_columns(GRAM, signs, np.ones(80), 1.0, folds=deal_folds(np.ones(80, dtype=int), 5, 0))
    assert np.isfinite([trained.slopes[0], trained.offsets[0]]).all()


def test_steps_that_do_not_suffice_are_told():
    trained = train_columns(GRAM, SIGNS, np.full(80, 1e4), 1.0, max_steps=5)
    assert not trained.converged.any()
    assert train_columns(GRAM, SIGNS, np.ones(80), 1.0).converged.all()
