"""The filters in the core do what the steps do one by one."""

import numpy as np
import pytest

from fuselearn._core import (
    ClassFilters,
    ClassTarget,
    TreeSettings,
    compare_votes,
    draw_covering_counts,
    pull_halfway,
    update_weights,
)
from fuselearn.ensembles.ensemble import OutOfBagVotes
from fuselearn.fusion.filtering import WEIGHTINGS
from fuselearn.fusion.problem import MOST_TRIES
from fuselearn.learners.table import code_columns
from fuselearn.learners.trees import grow_tree


def make_table(n_samples, n_classes, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_samples, 4)).round(1)
    X[rng.random(X.shape) < 0.1] = np.nan
    classes = (np.nan_to_num(X[:, 0] + X[:, 1]) > 0) + (rng.random(n_samples) < 0.2) * (n_classes - 2)
    classes = classes.astype(np.int32)
    classes[:n_classes] = np.arange(n_classes)
    fractions = rng.random(n_samples)
    return code_columns(X), classes, fractions / fractions.sum()


@pytest.mark.parametrize("weighting", range(len(WEIGHTINGS)))
@pytest.mark.parametrize(("n_samples", "n_classes"), [(30, 2), (200, 3), (5_000, 6)])
def test_measurements_are_those_of_the_steps_one_by_one(n_samples, n_classes, weighting):
    table, classes, fractions = make_table(n_samples, n_classes, weighting)
    target, settings = ClassTarget(classes, n_classes), TreeSettings(min_split=10, min_leaf=3)
    estimate = np.full((n_samples, n_classes), 1 / n_classes)
    weights = fractions[::-1].copy()
    filters = ClassFilters(table, target, settings, fractions, estimate, weights)
    out_of_bag = OutOfBagVotes(classes, np.bincount(classes, fractions))
    for seed in range(5):
        counts = draw_covering_counts(seed, weights, n_samples, classes, n_classes, MOST_TRIES)
        tree = grow_tree(table, target, counts, settings, seed=seed)
        votes = tree.vote(table)
        wrong, errors = compare_votes(estimate, votes, classes, fractions, is_exact=False)
        pull_halfway(estimate, votes, 0.5)
        update_weights(weights, wrong, fractions, 0.25, weighting)

        out_of_bag.add(votes, counts == 0)

        own, *own_errors = filters.measure(seed, n_samples, 100)
        before = filters.weights
        assert filters.count_out_of_bag(out_of_bag.priors) == pytest.approx(before @ out_of_bag.losses(), rel=1e-12)
        filters.update(0.5, 0.25, weighting)
        assert own.nodes.tobytes() == tree.nodes.tobytes()
        assert own.values.tobytes() == tree.values.tobytes()
        assert tuple(own_errors) == errors
        np.testing.assert_array_equal(filters.counts, counts)
        np.testing.assert_array_equal(filters.estimate, estimate)
        np.testing.assert_array_equal(filters.weights, weights)
    np.testing.assert_array_equal(filters.out_of_bag_votes, np.column_stack([out_of_bag.n_votes, out_of_bag.n_right]))
    filters.reset_weights()
    np.testing.assert_array_equal(filters.weights, fractions)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"fractions": np.ones(9)}, "fractions must be as long as the table"),
        ({"weights": np.zeros(10)}, "weights must not be negative, and have a positive and finite sum"),
        ({"weights": np.full(10, np.nan)}, "weights must not be negative"),
        ({"estimate": np.ones((10, 3))}, "estimate"),
        ({"estimate": np.full((10, 2), np.inf)}, "estimate must be finite"),
        ({"target": ClassTarget(np.zeros(9, dtype=np.int32), 2)}, "target must be as long as the table"),
    ],
)
def test_what_does_not_fit_is_refused(change, sentence):
    arguments = {
        "table": code_columns(np.arange(10.0)[:, None]),
        "target": ClassTarget(np.zeros(10, dtype=np.int32), 2),
        "settings": TreeSettings(),
        "fractions": np.full(10, 0.1),
        "estimate": np.ones((10, 2)),
        "weights": np.ones(10),
    }
    with pytest.raises(ValueError, match=sentence):
        ClassFilters(**arguments | change)
    filters = ClassFilters(**arguments)
    with pytest.raises(ValueError, match="Gains must be from 0 to 1"):
        filters.update(1.5, 0.0, 0)
    with pytest.raises(ValueError, match="weighting must be from 0 to 4"):
        filters.update(0.5, 0.5, 5)
    with pytest.raises(ValueError, match="max_tries must be at least 1"):
        filters.measure(0, 10, 0)
    with pytest.raises(ValueError, match="priors must be as long as the table"):
        filters.count_out_of_bag(np.ones(9))
    for votes in (np.zeros((9, 2), dtype=np.int32), np.zeros((10, 3), dtype=np.int32)):
        with pytest.raises(ValueError, match="votes"):
            filters.out_of_bag_votes = votes
