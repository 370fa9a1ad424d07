"""The maximiser of expected F1 against a look at every set and every outcome."""

from itertools import product

import numpy as np
import pytest
from fuselearn.multilabel.decisions.expected_f1 import maximise_expected_f1
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

probabilities = st.sampled_from([0.0, 0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0]) | st.floats(0, 1)


def expected_f1(chosen, p, empty):
    """Sum over all outcomes."""
    total = 0.0
    for truth in product([0, 1], repeat=len(p)):
        truth = np.array(truth)
        chance = np.prod(np.where(truth, p, 1 - p))
        marked = truth.sum() + chosen.sum()
        total += chance * (2 * (truth & chosen).sum() / marked if marked else empty)
    return total


def expected_f1_of_sizes(p):
    """Expected F1 of the k likeliest labels for k = 1, 2, ..., from the whole distributions of both counts."""

    def counts(p):
        chances = np.ones(1)
        for chance in p:
            chances = np.convolve(chances, [1 - chance, chance])
        return chances

    p = np.sort(p)[::-1]
    values = []
    for k in range(1, len(p) + 1):
        hits, others = np.arange(k + 1)[:, None], np.arange(len(p) - k + 1)
        chances = np.outer(counts(p[:k]), counts(p[k:]))
        values.append((chances * 2 * hits / (k + hits + others)).sum())
    return np.array(values)


@settings(max_examples=25)
@given(st.integers(1, 4).flatmap(lambda n: arrays(float, n, elements=probabilities)), st.sampled_from([0.0, 0.5, 1.0]))
def test_no_set_is_better(p, empty):
    chosen = maximise_expected_f1([p], empty)[0]
    best = max(expected_f1(np.array(other), p, empty) for other in product([0, 1], repeat=len(p)))
    assert expected_f1(chosen, p, empty) == pytest.approx(best, abs=1e-12)


@pytest.mark.parametrize("mean", [0.02, 0.2, 0.5, 0.9])
@pytest.mark.parametrize("n_labels", [30, 90])
def test_no_size_is_better_with_many_labels(mean, n_labels):
    """Where skipping sizes by their bounds matters."""
    p = np.random.default_rng(0).beta(mean, 1 - mean, size=(8, n_labels))
    sizes = maximise_expected_f1(p, empty=0.0).sum(axis=1)
    for row, size in zip(p, sizes, strict=True):
        values = expected_f1_of_sizes(row)
        assert values[size - 1] == pytest.approx(values.max(), rel=1e-10)


def test_sure_labels_are_chosen_and_impossible_ones_never():
    p = np.array([[1.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 0.0], [1.0, 1.0, 1.0, 1.0]])
    np.testing.assert_array_equal(maximise_expected_f1(p), p)
    np.testing.assert_array_equal(maximise_expected_f1(p, empty=0.0), p)


def test_the_likeliest_labels_are_chosen_wherever_they_stand():
    p = np.random.default_rng(1).random((50, 12)) ** 3
    chosen = maximise_expected_f1(p).astype(bool)
    shuffled = np.random.default_rng(2).permutation(12)
    np.testing.assert_array_equal(maximise_expected_f1(p[:, shuffled]), chosen[:, shuffled])
    some = chosen.any(axis=1) & ~chosen.all(axis=1)
    assert (np.where(chosen, p, 1).min(axis=1) > np.where(chosen, 0, p).max(axis=1))[some].all()


def test_a_row_is_left_without_labels_only_if_that_counts():
    p = np.full((1, 3), 0.1)
    assert not maximise_expected_f1(p).any()
    assert maximise_expected_f1(p, empty=0.0).all()
