"""The tree learner with a target of classes: one coded table, many trees."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_wine

from fuselearn import CARTClassifier
from fuselearn._core import ClassTarget
from fuselearn.fusion import Problem
from fuselearn.learners import TableCoder, TreeLearner, class_target
from fuselearn.learners.forests import PackedTrees
from fuselearn.learners.trees import grow_tree

X, y = load_wine(return_X_y=True)
NUMERIC = np.zeros(X.shape[1], dtype=np.int32)
UNPRUNED = CARTClassifier(complexity=None)


def pose(learner, target):
    return Problem(learner, target, None, np.random.default_rng(0), None)


def replace_target(problem, groups):
    return replace(problem, target=problem.target.regroup(groups))


def bind(table, n_categories, target, n_classes, tree=UNPRUNED):
    coder = TableCoder()
    coder.n_categories_ = n_categories
    return pose(TreeLearner(table, coder, tree, 1), class_target(target, n_classes))


@pytest.fixture(scope="module")
def problem():
    return bind(X, NUMERIC, y.astype(np.int32), 3)


@pytest.fixture(scope="module")
def counts():
    return np.random.default_rng(0).poisson(1, len(X)).astype(np.int32)


def test_scores_are_the_class_shares_of_the_drawn_rows(problem, counts):
    model = problem.train(counts, 1)
    scores = model.scores()
    for leaf in np.unique(scores, axis=0):
        rows = (scores == leaf).all(axis=1)
        drawn = np.bincount(y[rows], weights=counts[rows], minlength=3)
        np.testing.assert_allclose(drawn / drawn.sum(), leaf)


@pytest.mark.parametrize("times", [1, 40])
def test_small_tables_of_numbers_give_the_trees_of_the_engine(problem, counts, times):
    model = problem.train(times * counts, 1)
    target = ClassTarget(problem.target.values, 3)
    tree = grow_tree(problem.learner.columns, target, times * counts, problem.learner.settings)
    np.testing.assert_array_equal(model.tree.nodes, tree.nodes)
    np.testing.assert_array_equal(model.tree.values, tree.values)
    np.testing.assert_array_equal(model.votes(), tree.vote(problem.learner.columns))


@settings(max_examples=30)
@given(st.integers(0, 10_000), st.integers(1, 40), st.booleans(), st.sampled_from([0.0, 0.3, 1.0]), st.integers(1, 3))
def test_small_tables_of_any_kind_give_the_trees_of_the_engine(seed, n_rows, has_categories, missing, max_features):
    rng = np.random.default_rng(seed)
    table = rng.integers(0, 4, (n_rows, 3)).astype(float)
    table[rng.random(table.shape) < missing] = np.nan
    n_categories = np.array([4 * has_categories, 0, 0], dtype=np.int32)
    target, counts = rng.integers(0, 3, n_rows).astype(np.int32), rng.integers(0, 4, n_rows).astype(np.int32)
    counts[0] += 1
    chosen = CARTClassifier(
        min_samples_split=2, min_samples_leaf=1, max_features=max_features, complexity=(None, 0.1)[rng.integers(2)]
    )
    problem = bind(table, n_categories, target, 3, chosen)
    model = problem.train(counts, seed)
    tree = grow_tree(problem.learner.columns, ClassTarget(target, 3), counts, problem.learner.settings, seed=seed)
    for name in ("nodes", "values", "subsets"):
        np.testing.assert_array_equal(getattr(model.tree, name), getattr(tree, name))
    np.testing.assert_array_equal(model.votes(), tree.vote(problem.learner.columns))
    np.testing.assert_array_equal(model.votes(table), model.votes())


def test_only_the_chosen_columns_are_used(problem, counts):
    features = np.array([2, 5, 9])
    model = problem.train(counts, 1, features=features)
    used = model.tree.nodes["feature"]
    assert set(used[used >= 0]) <= set(features)

    alone = bind(X[:, features], NUMERIC[:3], y.astype(np.int32), 3)
    np.testing.assert_array_equal(model.scores(), alone.train(counts, 1).scores())
    np.testing.assert_array_equal(model.scores(X), model.scores())


def test_a_choice_of_columns_with_categories():
    rng = np.random.default_rng(0)
    table = np.column_stack([rng.normal(size=100).round(1), rng.integers(0, 4, 100), rng.normal(size=100).round(1)])
    target = (table[:, 1] == 2).astype(np.int32)
    problem = bind(table, np.array([0, 4, 0], dtype=np.int32), target, 2, CARTClassifier())
    ones = np.ones(100, dtype=np.int32)
    np.testing.assert_array_equal(problem.train(ones, 0, features=np.array([1, 2])).votes(), target)
    without = problem.train(ones, 0, features=np.array([0, 2]))
    assert (without.tree.nodes["feature"] != 1).all()


def test_weights_take_the_place_of_counts(problem):
    ones = np.ones(len(X), dtype=np.int32)
    weights = np.where(y == 2, 2.5, 0.5)
    shares = problem.train(ones, 0, weights=weights).tree.shares()[0]
    expected = np.bincount(y, weights=weights)
    np.testing.assert_allclose(shares, expected / expected.sum())


def test_packed_trees_sum_votes_and_scores(problem):
    models = [problem.train(np.random.default_rng(seed).poisson(1, len(X)).astype(np.int32), seed) for seed in range(4)]
    coefficients, voting = np.array([0.1, 0.2, 0.3, 0.4]), np.array([True, False, False, True])
    packed = PackedTrees(models, coefficients, voting)
    expected = sum(
        k * (np.eye(3)[c.votes()] if votes else c.scores())
        for c, k, votes in zip(models, coefficients, voting, strict=True)
    )
    np.testing.assert_allclose(packed.scores(X), expected, atol=1e-15)
    assert packed.leaves(X).shape == (len(X), 4)


def test_regrouped_classes_share_the_coded_table(problem, counts):
    regrouped = replace_target(problem, np.array([1, 0, 1], dtype=np.int8))
    bound = bind(X, NUMERIC, (y != 1).astype(np.int32), 2)
    assert regrouped.learner.columns is problem.learner.columns
    assert problem.target.n_columns == 3
    np.testing.assert_array_equal(regrouped.train(counts, 1).scores(X), bound.train(counts, 1).scores(X))
