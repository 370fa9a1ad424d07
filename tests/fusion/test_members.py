"""Folds, errors, exponents and weights of members, by hand."""

import numpy as np
import pytest
import sklearn
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import brier_score_loss
from sklearn.utils.fixes import parse_version

from fuselearn.fusion.held_out import deal_folds, deal_splits
from fuselearn.fusion.members import (
    best_exponent,
    sharpen,
    squared_error,
    weigh_members,
)


@given(st.lists(st.integers(0, 4), min_size=2, max_size=60), st.integers(2, 6), st.integers(0, 9))
def test_folds_differ_by_one_sample_at_most_also_in_each_class(classes, n_folds, seed):
    target = np.array(classes)
    folds = deal_folds(target, n_folds, np.random.default_rng(seed))
    for chosen in [slice(None), *(target == c for c in set(classes))]:
        sizes = np.bincount(folds[chosen], minlength=n_folds)
        assert sizes.max() - sizes.min() <= 1


def test_folds_depend_on_the_seed_only():
    target = np.arange(40) % 3
    first, again, other = (deal_folds(target, 4, np.random.default_rng(seed)) for seed in (0, 0, 1))
    assert (first == again).all()
    assert (first != other).any()


def test_folds_keep_groups_together_and_classes_even():
    rng = np.random.default_rng(0)
    groups = rng.integers(20, size=400)
    target = (rng.random(400) < 0.3).astype(int)
    splits = deal_splits(target, 4, rng, groups)
    assert sorted(np.concatenate([outside for _, outside in splits]).tolist()) == list(range(400))
    for inside, outside in splits:
        assert not set(groups[inside]) & set(groups[outside])
        if parse_version(sklearn.__version__) >= parse_version("1.8"):  # 1.7 shuffles groups without their classes
            assert target[outside].mean() == pytest.approx(target.mean(), abs=0.06)


def test_fewer_groups_than_folds_and_a_single_group():
    target, rng = np.arange(30) % 2, np.random.default_rng(0)
    splits = deal_splits(target, 4, rng, np.repeat(["a", "b", "c"], 10))
    assert sorted(outside.tolist() for _, outside in splits) == [list(range(k, k + 10)) for k in (0, 10, 20)]
    with pytest.raises(ValueError, match="groups must contain at least two different groups"):
        deal_splits(target, 4, rng, np.zeros(30))


@pytest.mark.parametrize("weights", [None, np.array([1.0, 2.0, 0.0, 0.5])])
def test_the_error_is_the_brier_score_of_scikit_learn(weights):
    probabilities = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.3, 0.3, 0.4], [0.0, 0.0, 1.0]])
    target = np.array([0, 1, 0, 2])
    expected = brier_score_loss(target, probabilities, sample_weight=weights, labels=[0, 1, 2])
    assert squared_error(probabilities, target, weights) == pytest.approx(expected)


def test_an_exponent_keeps_the_order_of_the_classes_and_sums_of_one():
    probabilities = np.random.default_rng(0).dirichlet(np.ones(4), size=50)
    for exponent in (0.1, 1.0, 5.0):
        sharpened = sharpen(probabilities, exponent)
        np.testing.assert_allclose(sharpened.sum(axis=1), 1)
        assert (sharpened.argsort(axis=1) == probabilities.argsort(axis=1)).all()
    assert sharpen(np.array([[1.0, 0.0]]), 1.0)[0, 1] == pytest.approx(0.001 / 1.002)


def test_scores_that_are_too_even_are_sharpened_and_those_that_are_too_sharp_are_evened_out():
    rng = np.random.default_rng(0)
    honest = rng.dirichlet(np.ones(3), size=3000)
    target = (rng.random((3000, 1)) > honest.cumsum(axis=1)).sum(axis=1)
    exponents = [best_exponent(sharpen(honest, power), target, None) for power in (1 / 3, 1.0, 3.0)]
    np.testing.assert_allclose(exponents, [3.0, 1.0, 1 / 3], rtol=0.2)


def test_weights_fall_by_e_with_each_tolerance_and_small_ones_are_dropped():
    weights = weigh_members(np.array([0.3, 0.32, 0.3, 0.9]), 0.02, 0.01)
    np.testing.assert_allclose(weights, np.array([1, np.exp(-1), 1, 0]) / (2 + np.exp(-1)))
    assert weigh_members(np.array([0.5]), 0.01, 0.01).tolist() == [1.0]
