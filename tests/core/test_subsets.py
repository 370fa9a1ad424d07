"""Which categories go left: the best subset where that can be found out, a good one otherwise."""

from itertools import product

import numpy as np
import pytest

from fuselearn._core import TreeSettings

STUMP = TreeSettings(min_split=2, min_leaf=1, max_depth=1, complexity=-1.0)


def class_counts(x, y, n_categories, n_classes):
    table = np.zeros((n_categories, n_classes))
    np.add.at(table, (x, y), 1)
    return table


def score_of(is_left, table):
    """Score many subsets at once, given as rows of flags: sum(L^2) / |L| + sum(R^2) / |R|."""
    left = is_left @ table
    right = table.sum(axis=0) - left
    return sum((side**2).sum(axis=1) / side.sum(axis=1) for side in (left, right))


def chosen_score(columns, tree, table):
    """Score the split of a stump on one category column."""
    is_left = np.zeros((1, len(table)))
    is_left[0, columns.codes[tree.apply(columns) == 1, 0]] = 1
    return score_of(is_left, table)[0]


def draw(seed, n_categories, n_classes, n_rows=400):
    rng = np.random.default_rng(seed)
    x = rng.permutation(np.arange(n_rows) % n_categories)
    chances = rng.dirichlet(np.ones(n_classes), n_categories)
    y = np.array([rng.choice(n_classes, p=chances[c]) for c in x])
    return x, y


@pytest.mark.parametrize("n_classes", [2, 3, 4])
@pytest.mark.parametrize("seed", range(3))
def test_the_best_of_all_subsets_of_ten_categories(grow, seed, n_classes):
    x, y = draw(seed, 10, n_classes)
    columns, tree = grow(x[:, None].astype(float), y, STUMP, n_categories=np.array([10], dtype=np.int32))
    table = class_counts(x, y, 10, n_classes)
    subsets = np.array(list(product((0, 1), repeat=10))[1:-1])
    assert chosen_score(columns, tree, table) == pytest.approx(score_of(subsets, table).max(), rel=1e-12)


@pytest.mark.parametrize("n_categories", [14, 60])
def test_two_classes_have_a_best_subset_along_their_rates(grow, n_categories):
    x, y = draw(1, n_categories, 2, 2_000)
    columns, tree = grow(x[:, None].astype(float), y, STUMP, n_categories=np.array([n_categories], dtype=np.int32))
    table = class_counts(x, y, n_categories, 2)
    by_rate = np.argsort(table[:, 1] / table.sum(axis=1))
    along = np.tri(n_categories - 1, n_categories)[:, np.argsort(by_rate)]
    assert chosen_score(columns, tree, table) == pytest.approx(score_of(along, table).max(), rel=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_many_categories_and_classes_are_cut_along_their_principal_axis(grow, seed):
    x, y = draw(seed, 15, 3, 1_500)
    columns, tree = grow(x[:, None].astype(float), y, STUMP, n_categories=np.array([15], dtype=np.int32))
    table = class_counts(x, y, 15, 3)
    weight = table.sum(axis=1)
    centred = table / weight[:, None] - table.sum(axis=0) / table.sum()
    axis = np.linalg.svd(np.sqrt(weight)[:, None] * centred)[2][0]
    along = np.tri(14, 15)[:, np.argsort(np.argsort(centred @ axis))]
    score = chosen_score(columns, tree, table)
    assert score == pytest.approx(score_of(along, table).max(), rel=1e-12)
    subsets = np.random.default_rng(0).integers(0, 2, size=(1_000, 15))
    assert score > np.nanmax(score_of(subsets, table))


def test_both_sides_keep_enough_rows(grow):
    x, y = draw(0, 8, 3, 80)
    for min_leaf in (1, 15, 30, 40):
        _, tree = grow(
            x[:, None].astype(float), y, STUMP.replace(min_leaf=min_leaf), n_categories=np.array([8], dtype=np.int32)
        )
        assert tree.nodes["count"][1:].min() >= min_leaf
    _, tree = grow(x[:, None].astype(float), y, STUMP.replace(min_leaf=41), n_categories=np.array([8], dtype=np.int32))
    assert tree.n_leaves == 1


def test_missing_is_one_more_category(grow):
    x = np.array([0, 0, 1, 1, 2, 2, np.nan, np.nan])[:, None]
    y = np.array([0, 0, 1, 1, 0, 0, 1, 1])
    columns, tree = grow(x, y, STUMP, n_categories=np.array([3], dtype=np.int32))
    leaves = tree.apply(columns)
    assert leaves[2] == leaves[3] == leaves[6] == leaves[7]
    assert len(set(leaves)) == 2


@pytest.mark.parametrize("n_categories", [31, 32, 33, 64, 65, 255])
def test_subsets_of_many_words(grow, n_categories):
    x = np.tile(np.arange(n_categories), 2)
    y = (x % 3 == 0).astype(int)
    columns, tree = grow(x[:, None].astype(float), y, STUMP, n_categories=np.array([n_categories], dtype=np.int32))
    leaves = tree.apply(columns)
    assert tree.n_leaves == 2
    np.testing.assert_array_equal(tree.values[leaves].argmax(axis=1), y)


@pytest.mark.parametrize(("n_rows", "heavier"), [((6, 2), 0), ((2, 6), 1)])
def test_categories_that_were_not_drawn_follow_the_heavier_child(grow, n_rows, heavier):
    x = np.concatenate([np.repeat([0, 1], n_rows), [2, 3]]).astype(float)[:, None]
    y = np.concatenate([np.repeat([0, 1], n_rows), [0, 1]])
    counts = np.array([1] * 8 + [0, 0])
    columns, tree = grow(x, y, STUMP, counts, np.array([5], dtype=np.int32))
    classes = tree.values[tree.apply(columns)].argmax(axis=1)
    assert classes[-2:].tolist() == [heavier, heavier]


def test_random_subsets_differ_by_seed_and_keep_enough_rows(grow):
    x, y = draw(0, 8, 3, 160)
    limits = STUMP.replace(random_cuts=True, min_leaf=20)
    trees = [
        grow(x[:, None].astype(float), y, limits, n_categories=np.array([8], dtype=np.int32), seed=seed)[1]
        for seed in range(20)
    ]
    split = [tree for tree in trees if tree.n_leaves == 2]
    assert len({int(tree.subsets[0]) for tree in split}) > 5
    assert min(tree.nodes["count"][1:].min() for tree in split) >= 20


def random_sides(grow, codes, n_categories=150, **kwargs):
    """Tell of each code given whether a random stump sends it left, two rows of either class for each code."""
    x = np.repeat(codes, 4).astype(float)[:, None]
    y = np.tile([0, 0, 1, 1], len(codes))
    y[0] = 1  # some gain for any subset
    settings = STUMP.replace(random_cuts=True)
    columns, tree = grow(x, y, settings, n_categories=np.array([n_categories], dtype=np.int32), **kwargs)
    return (tree.apply(columns) == 1)[::4]


def test_random_subsets_toss_a_coin_for_each_category(grow):
    sides = np.array([random_sides(grow, np.arange(150), seed=seed) for seed in range(60)])
    agreement = (sides[:, :, None] == sides[:, None, :]).mean(axis=0)[np.triu_indices(150, 1)]
    # Two fair coins agree in 30 of 60 tosses, with a standard deviation of 3.9, here for 11,175 pairs.
    assert agreement.min() > 5 / 60
    assert agreement.max() < 55 / 60
    assert agreement.mean() == pytest.approx(0.5, abs=0.01)


def test_a_random_side_does_not_depend_on_which_other_categories_are_there(grow):
    some = np.arange(0, 150, 7)
    for seed in range(5):
        np.testing.assert_array_equal(
            random_sides(grow, np.arange(150), seed=seed)[some], random_sides(grow, some, seed=seed)
        )
