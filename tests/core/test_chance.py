"""What a split by categories gains beyond chance."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuselearn._core import TreeSettings

RAW = TreeSettings(min_split=2, min_leaf=1, max_depth=1, complexity=-1.0)
CORRECTED = RAW.replace(correct_for_chance=True)


def stump(grow, x, y, chosen, counts=None, **kwargs):
    """Split one category column once; give the tree and who goes left."""
    x = np.asarray(x)
    n_categories = np.array([x.max() + 1], dtype=np.int32)
    columns, tree = grow(x[:, None].astype(float), np.asarray(y), chosen, counts, n_categories, **kwargs)
    return tree, tree.apply(columns) == 1


def corrected_gain(x, Y, weights, is_left, multilabel):
    """Compute the corrected gain of a split as `chance` has it, sample by sample.

    Y holds a sample's classes or labels as zeros and ones.
    """
    drawn = weights > 0
    x, Y, w, is_left = x[drawn].copy(), Y[drawn], weights[drawn].astype(float), is_left[drawn]
    x[np.bincount(x)[x] == 1] = -1
    raw = sum((w[s] @ Y[s]) @ (w[s] @ Y[s]) / w[s].sum() for s in (is_left, ~is_left)) - (w @ Y) @ (w @ Y) / w.sum()
    direction = np.average(Y[is_left], 0, w[is_left]) - np.average(Y[~is_left], 0, w[~is_left])
    position = Y @ direction
    position -= np.average(position, weights=w)
    groups = [x == c for c in np.unique(x)]
    between = sum((w[g] @ position[g]) ** 2 / w[g].sum() for g in groups)
    n_varying = (Y[0] != Y).any(axis=0).sum()
    n_free = n_varying if multilabel else n_varying - 1
    per_sample = (w @ w) / w.sum()
    evidence = (sum((w[g] @ w[g]) / w[g].sum() for g in groups) - per_sample) / (w.sum() - per_sample)
    expected = w @ position**2 * evidence * max(0, 1 - n_free / (len(groups) - 1))
    return raw * max(0.0, 1 - expected / between)


def test_an_example_by_hand(grow):
    x = np.repeat([0, 1, 2], [4, 2, 2])
    y = np.array([0, 0, 0, 1, 1, 1, 0, 1])
    # {0, 2} | {1} has the score (16 + 4) / 6 + 4 / 2 and no split (16 + 16) / 8: a gain of 4/3. The shares of class 1
    # are 1/4, 1 and 1/2, and 1/2 in all, so B = 4 / 16 + 2 / 4 = 3/4 and T = 8 / 4 = 2. E = 2 (3 - 2) / (8 - 1).
    for chosen, gain in ((RAW, 4 / 3), (CORRECTED, 4 / 3 * (1 - 2 / 7 / (3 / 4)))):
        tree, is_left = stump(grow, x, y, chosen)
        assert tree.nodes["gain"][0] == pytest.approx(gain, rel=1e-12)
        assert is_left.tolist() in ([False] * 4 + [True] * 2 + [False] * 2, [True] * 4 + [False] * 2 + [True] * 2)


def test_categories_between_which_nothing_differs_beyond_chance_are_not_split(grow):
    # Shares 1/4, 1/2, 1/2, 3/4: B = 4 / 16 + 4 / 16 = 1/2 is less than E = 4 (4 - 2) / (16 - 1).
    x, y = np.repeat(np.arange(4), 4), np.array([0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 1, 1, 0, 1, 1, 1])
    assert stump(grow, x, y, RAW)[0].n_leaves == 2
    assert stump(grow, x, y, CORRECTED)[0].n_leaves == 1


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("copies", [1, 5])
def test_a_column_of_single_samples_is_not_split(grow, n_classes, copies):
    x, y = np.arange(40), np.arange(40) % n_classes
    counts = np.full(40, copies)
    assert stump(grow, x, y, RAW, counts)[0].n_leaves == 2
    assert stump(grow, x, y, CORRECTED, counts)[0].n_leaves == 1


def test_single_samples_do_not_hide_what_frequent_categories_tell(grow):
    x = np.concatenate([np.repeat([0, 1], 30), 2 + np.arange(60)])
    y = np.concatenate([np.repeat([0, 1], 30), np.arange(60) % 2])
    tree, is_left = stump(grow, x, y, CORRECTED)
    assert tree.n_leaves == 2
    assert len(set(is_left[:30])) == len(set(is_left[30:60])) == len(set(is_left[60:])) == 1
    assert is_left[0] != is_left[30]


@pytest.mark.parametrize("n_classes", [2, 4])
def test_gains_of_as_many_categories_as_classes_stay_as_they_are(grow, assert_same_tree, n_classes):
    rng = np.random.default_rng(n_classes)
    y = rng.permutation(np.arange(60) % n_classes)
    x = np.where(rng.random(60) < 0.4, y, rng.permutation(np.arange(60) % n_classes))
    raw, corrected = (stump(grow, x, y, chosen)[0] for chosen in (RAW, CORRECTED))
    assert raw.n_leaves == 2
    assert_same_tree(raw, corrected)


def test_copies_of_samples_are_no_further_evidence(grow):
    x = np.repeat([0, 1, 2], [4, 2, 2])
    y = np.array([0, 0, 0, 1, 1, 1, 0, 1])
    once, is_left = stump(grow, x, y, CORRECTED)
    often, is_left_often = stump(grow, x, y, CORRECTED, np.full(8, 9))
    assert often.nodes["gain"][0] == pytest.approx(9 * once.nodes["gain"][0], rel=1e-12)
    np.testing.assert_array_equal(is_left, is_left_often)
    weighted, _ = stump(grow, x, y, CORRECTED, weights=np.full(8, 0.37))
    share = weighted.nodes["gain"][0] / weighted.nodes["weight"][0]
    # Growing on weights rounds them to whole numbers of a large sum, in whose units the gain is.
    assert share * 0.37 * 8 / 2.0**26 == pytest.approx(once.nodes["gain"][0] / 8, rel=1e-6)


@st.composite
def samples(draw):
    """Draw categories, classes or labels, and how often each sample was drawn."""
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    n_rows = draw(st.integers(4, 60))
    x = rng.integers(0, draw(st.sampled_from([2, 5, 9, 14, 50])), n_rows)
    n_classes = draw(st.sampled_from([2, 3, 5]))
    if draw(st.booleans()):
        y = (rng.random((n_rows, n_classes)) < 0.4).astype(int)
        y[:, -1] = y[:, 0]  # labels may well go together
    else:
        y = rng.integers(0, n_classes, n_rows)
    counts = rng.integers(0, draw(st.sampled_from([2, 6])), n_rows)
    counts[0] += 1
    return x, y, n_classes, counts


@settings(max_examples=100)
@given(samples())
def test_the_gain_is_that_of_the_formula(grow, sample):
    x, y, n_classes, counts = sample
    tree, is_left = stump(grow, x, y, CORRECTED, counts, n_classes=n_classes)
    if tree.n_leaves == 2:
        Y = y if y.ndim == 2 else np.eye(n_classes)[y]
        gain = corrected_gain(x, Y, counts, is_left, y.ndim == 2)
        assert tree.nodes["gain"][0] == pytest.approx(gain, rel=1e-9, abs=1e-9)


def test_random_cuts_choose_nothing_and_are_not_corrected(grow, assert_same_tree):
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 40, 200), rng.integers(0, 2, 200)
    for seed in range(5):
        raw, corrected = (
            stump(grow, x, y, chosen.replace(random_cuts=True), seed=seed)[0] for chosen in (RAW, CORRECTED)
        )
        assert_same_tree(raw, corrected)


def test_many_classes_and_categories_are_ordered_as_by_a_singular_value_decomposition(grow):
    """The power steps run over entries that are not zero: the order must be that of the whole matrix."""
    rng = np.random.default_rng(3)
    x = np.repeat(np.arange(30), 10)
    y = (x % 3) * 20 + rng.integers(0, 20, 300)
    _, is_left = stump(grow, x, y, RAW)
    sides = is_left[::10]
    table = np.zeros((30, 60))
    np.add.at(table, (x, y), 1)
    centred = table / 10 - table.sum(axis=0) / 300
    positions = centred @ np.linalg.svd(centred)[2][0]
    left, right = positions[sides], positions[~sides]
    assert left.max() < right.min() or right.max() < left.min()
