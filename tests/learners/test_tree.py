"""The tree learner with a target of classes: one coded table, many trees."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_wine

from fuselearn import CARTClassifier
from fuselearn.engines.trees import ClassTarget, grow_tree
from fuselearn.learners import Classes, Sensor, TableCoder, TreeLearner, draw_covering_counts
from fuselearn.learners.tree import PackedTrees

X, y = load_wine(return_X_y=True)
NUMERIC = np.zeros(X.shape[1], dtype=np.int32)
UNPRUNED = CARTClassifier(complexity=-1.0)


def bind(table, n_categories, target, n_classes, tree=UNPRUNED):
    coder = TableCoder()
    coder.n_categories_ = n_categories
    return Sensor(TreeLearner(table, coder, tree, 1), Classes(target, n_classes))


@pytest.fixture(scope="module")
def sensor():
    return bind(X, NUMERIC, y.astype(np.int32), 3)


@pytest.fixture(scope="module")
def counts():
    return np.random.default_rng(0).poisson(1, len(X)).astype(np.int32)


def test_bound_rows_and_passed_rows_get_the_same_answers(sensor, counts):
    component = sensor.measure(counts, 1)
    np.testing.assert_array_equal(component.scores(), component.scores(X))
    np.testing.assert_array_equal(component.votes(), component.votes(X))
    np.testing.assert_array_equal(component.votes(), component.scores().argmax(axis=1))
    np.testing.assert_allclose(component.scores().sum(axis=1), 1.0)


def test_scores_are_the_class_shares_of_the_drawn_rows(sensor, counts):
    component = sensor.measure(counts, 1)
    scores = component.scores()
    for leaf in np.unique(scores, axis=0):
        rows = (scores == leaf).all(axis=1)
        drawn = np.bincount(y[rows], weights=counts[rows], minlength=3)
        np.testing.assert_allclose(drawn / drawn.sum(), leaf)


@pytest.mark.parametrize("times", [1, 40])
def test_small_tables_of_numbers_give_the_trees_of_the_engine(sensor, counts, times):
    component = sensor.measure(times * counts, 1)
    target = ClassTarget(sensor.target.numbers, 3)
    tree = grow_tree(sensor.learner.columns, target, times * counts, sensor.learner.settings)
    np.testing.assert_array_equal(component.tree.nodes, tree.nodes)
    np.testing.assert_array_equal(component.tree.values, tree.values)
    np.testing.assert_array_equal(component.votes(), tree.vote(sensor.learner.columns))


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
        min_samples_split=2, min_samples_leaf=1, max_features=max_features, complexity=float(rng.choice([-1.0, 0.1]))
    )
    sensor = bind(table, n_categories, target, 3, chosen)
    component = sensor.measure(counts, seed)
    tree = grow_tree(sensor.learner.columns, ClassTarget(target, 3), counts, sensor.learner.settings, seed=seed)
    for name in ("nodes", "values", "subsets"):
        np.testing.assert_array_equal(getattr(component.tree, name), getattr(tree, name))
    np.testing.assert_array_equal(component.votes(), tree.vote(sensor.learner.columns))
    np.testing.assert_array_equal(component.votes(table), component.votes())


def test_classes_in_two_groups_are_another_target_on_the_same_table(sensor, counts):
    sensor.measure(counts, 1)
    groups = np.array([0, 1, 0], dtype=np.int8)
    grouped = sensor.regroup(groups).measure(counts, 1)
    fresh = bind(X, NUMERIC, groups[y].astype(np.int32), 2).measure(counts, 1)
    np.testing.assert_array_equal(grouped.tree.values, fresh.tree.values)
    np.testing.assert_array_equal(grouped.votes(), fresh.votes())


def test_a_component_without_its_training_data_answers_for_passed_rows_only(sensor, counts):
    component = sensor.measure(counts, 1)
    votes = component.votes()
    component.unbind()
    np.testing.assert_array_equal(component.votes(X), votes)
    for method in (component.scores, component.votes):
        with pytest.raises(RuntimeError, match="training data"):
            method()


def test_measuring_a_sample_is_drawing_and_measuring(sensor):
    weights = np.random.default_rng(1).random(len(X))
    counts = draw_covering_counts(5, weights, len(X), sensor.target.numbers, 3, 1)
    drawn, given = sensor.measure_sample(weights, 5), sensor.measure(counts, 5)
    np.testing.assert_array_equal(drawn.tree.nodes, given.tree.nodes)
    np.testing.assert_array_equal(drawn.votes(), given.votes())


def test_large_tables_are_sampled_in_the_same_way():
    rng = np.random.default_rng(2)
    table, target = rng.normal(size=(2_100, 3)), rng.integers(0, 3, 2_100).astype(np.int32)
    sensor = bind(table, NUMERIC[:3], target, 3)
    weights = rng.random(2_100)
    drawn = sensor.measure_sample(weights, 5)
    counts = draw_covering_counts(5, weights, 2_100, target, 3, 1)
    np.testing.assert_array_equal(drawn.votes(), sensor.measure(counts, 5).votes())


def test_only_the_chosen_columns_are_used(sensor, counts):
    features = np.array([2, 5, 9])
    component = sensor.measure(counts, 1, features=features)
    used = component.tree.nodes["feature"]
    assert set(used[used >= 0]) <= set(features)

    alone = bind(X[:, features], NUMERIC[:3], y.astype(np.int32), 3)
    np.testing.assert_array_equal(component.scores(), alone.measure(counts, 1).scores())
    np.testing.assert_array_equal(component.scores(X), component.scores())


def test_a_choice_of_columns_with_categories():
    rng = np.random.default_rng(0)
    table = np.column_stack([rng.normal(size=100).round(1), rng.integers(0, 4, 100), rng.normal(size=100).round(1)])
    target = (table[:, 1] == 2).astype(np.int32)
    sensor = bind(table, np.array([0, 4, 0], dtype=np.int32), target, 2, CARTClassifier())
    ones = np.ones(100, dtype=np.int32)
    np.testing.assert_array_equal(sensor.measure(ones, 0, features=np.array([1, 2])).votes(), target)
    without = sensor.measure(ones, 0, features=np.array([0, 2]))
    assert (without.tree.nodes["feature"] != 1).all()


def test_weights_take_the_place_of_counts(sensor):
    ones = np.ones(len(X), dtype=np.int32)
    weights = np.where(y == 2, 2.5, 0.5)
    shares = sensor.measure(ones, 0, weights=weights).tree.shares()[0]
    expected = np.bincount(y, weights=weights)
    np.testing.assert_allclose(shares, expected / expected.sum())


def test_packed_trees_sum_votes_and_scores(sensor):
    components = [sensor.measure_sample(np.ones(len(X)), seed) for seed in range(4)]
    coefficients, by_class = np.array([0.1, 0.2, 0.3, 0.4]), np.array([True, False, False, True])
    packed = PackedTrees(components, coefficients, by_class)
    expected = sum(
        k * (np.eye(3)[c.votes()] if votes else c.scores())
        for c, k, votes in zip(components, coefficients, by_class, strict=True)
    )
    np.testing.assert_allclose(packed.scores(X), expected, atol=1e-15)
    assert packed.leaves(X).shape == (len(X), 4)


def test_regrouped_classes_share_the_coded_table(sensor, counts):
    regrouped = sensor.regroup(np.array([1, 0, 1], dtype=np.int8))
    bound = bind(X, NUMERIC, (y != 1).astype(np.int32), 2)
    assert regrouped.learner.columns is sensor.learner.columns
    assert sensor.n_classes == 3
    np.testing.assert_array_equal(regrouped.measure(counts, 1).scores(X), bound.measure(counts, 1).scores(X))
