"""Counts of samples in nodes, whichever way they are counted."""

import pickle

import numpy as np
import pytest

from fuselearn._core import (
    ClassTarget,
    GrowingTree,
    LevelBins,
    LevelSplits,
    TreeSettings,
    count_bins,
    merge_bins,
    reach_leaves,
)
from fuselearn.learners.table import code_columns
from fuselearn.learners.trees import grow_tree
from fuselearn.scale.tasks import Drawn, count_classes, descend, list_drawn

N_CODES = np.array([400, 3, 255], dtype=np.int32)
FEATURES = np.array([3, 0, 2])
RNG = np.random.default_rng(0)
N_SAMPLES = 1000
CODES = np.column_stack([RNG.integers(0, n + 1, N_SAMPLES) for n in (3, 9, 255, 400)]).astype(np.uint16)
TARGET = RNG.integers(0, 3, N_SAMPLES).astype(np.int32)


def draw(sizes):
    """Put samples into nodes of such sizes."""
    samples = RNG.permutation(N_SAMPLES)[: sum(sizes)].astype(np.uint32)
    return Drawn(samples, RNG.integers(1, 4, len(samples)).astype(np.int32), np.cumsum(sizes))


def count_plainly(drawn, node):
    """Count the samples of a node in arrays that have room for all bins."""
    part = slice(0 if node == 0 else drawn.ends[node - 1], drawn.ends[node])
    samples, copies = drawn.samples[part], drawn.copies[part]
    starts = np.cumsum([0, *(N_CODES + 1)])
    counted, squares = np.zeros((starts[-1], 3), dtype=int), np.zeros(starts[-1], dtype=int)
    for start, f in zip(starts, FEATURES, strict=False):
        np.add.at(counted, (start + CODES[samples, f], TARGET[samples]), copies)
        np.add.at(squares, start + CODES[samples, f], copies**2)
    return counted, squares


def check(bins, expected):
    """Compare bins with the counts of each node, a matrix with a row for each of all bins, and with their squares."""
    ends, numbers, counted, squares = bins.list_filled()
    start = 0
    for (node_counted, node_squares), end in zip(expected, ends, strict=True):
        own = numbers[start:end]
        np.testing.assert_array_equal(own, np.flatnonzero(node_counted.any(axis=1)))
        np.testing.assert_array_equal(counted[start:end], node_counted[own])
        if len(squares):
            np.testing.assert_array_equal(squares[start:end], node_squares[own])
        start = end


@pytest.mark.parametrize("squared", [True, False])
def test_nodes_of_all_sizes(squared):
    drawn = draw([5, 0, 40, 300, 1])  # few bins are filled, none, more, most
    bins = count_bins(*drawn, CODES, FEATURES, N_CODES, TARGET, 3, np.arange(5), squared)
    check(bins, [count_plainly(drawn, node) for node in range(5)])
    assert len(bins.list_filled()[3]) == (len(bins.list_filled()[1]) if squared else 0)


@pytest.mark.parametrize("copies", [1, 700, 65_535, 65_536, 10**6])
@pytest.mark.parametrize("features", [[0, 1, 2], [2, 0, 1]])
def test_any_number_of_copies(copies, features):
    codes = np.minimum(CODES[:, :3], 9).astype(np.uint8)
    drawn = list_drawn(RNG.integers(0, copies, N_SAMPLES, endpoint=True).astype(np.int32))
    n_codes = np.full(3, 9, dtype=np.int32)
    bins = count_bins(*drawn, codes, np.array(features), n_codes, TARGET, 3, np.array([0]), False)
    counted = np.zeros((30, 3), dtype=int)
    for position, f in enumerate(features):
        np.add.at(counted, (10 * position + codes[drawn.samples, f], TARGET[drawn.samples]), drawn.copies)
    check(bins, [(counted, None)])


def test_features_that_no_cache_holds():
    codes = RNG.integers(0, 256, (500, 300)).astype(np.uint8)
    target = RNG.integers(0, 20, 500).astype(np.int32)
    drawn, n_codes = list_drawn(np.full(500, 3, dtype=np.int32)), np.full(300, 255, dtype=np.int32)
    bins = count_bins(*drawn, codes, np.arange(300), n_codes, target, 20, np.array([0]), False)
    counted = np.zeros((300, 256, 20), dtype=int)
    np.add.at(counted, (np.arange(300), codes, target[:, np.newaxis]), 3)
    check(bins, [(counted.reshape(-1, 20), None)])


def test_some_nodes_only():
    drawn = draw([5, 20, 40])
    last = count_bins(*drawn, CODES, FEATURES, N_CODES, TARGET, 3, np.array([2]), False)
    check(last, [count_plainly(drawn, 2)])


@pytest.mark.parametrize("sizes", [(4, 7), (300, 200), (3, 300), (0, 0)])
def test_counts_of_several_places_are_added(sizes):
    places = [draw(sizes), draw(sizes[::-1]), draw(sizes)]
    counted = [count_bins(*own, CODES, FEATURES, N_CODES, TARGET, 3, np.arange(2), True) for own in places]
    before = counted[0].list_filled()
    merged = merge_bins(counted)
    expected = [
        [sum(of_places) for of_places in zip(*(count_plainly(own, node) for own in places), strict=True)]
        for node in range(2)
    ]
    check(merged, expected)
    for array, old in zip(counted[0].list_filled(), before, strict=True):  # what was merged is as it was
        np.testing.assert_array_equal(array, old)


def test_samples_descend_in_order_and_leaves_are_left_out():
    X = np.array([[0.0], [1.0], [2.0], [3.0], [np.nan], [0.0]])
    columns = code_columns(X)
    y = np.array([0, 0, 1, 1, 1, 0], dtype=np.int32)
    drawn = list_drawn(np.array([1, 2, 1, 3, 1, 0], dtype=np.int32))
    settings = TreeSettings(min_split=2, min_leaf=1, complexity=-1.0)
    features = np.array([0])
    tree = GrowingTree(columns, count_classes(drawn, y, 2), settings, 0, 0)
    tree.split(0, 1, count_bins(*drawn, columns.codes, features, columns.n_codes, y, 2, np.array([0]), False))
    splits = tree.end_level()
    assert tree.has_grown  # both sides are pure
    assert splits.n_children == 0
    assert [len(part) for part in descend(drawn, columns.codes, features, columns.n_codes, splits)] == [0, 0, 0]
    np.testing.assert_array_equal(tree.finish().nodes["count"], [8, 3, 5])

    noisy = np.array([0, 1, 1, 0, 1, 0], dtype=np.int32)
    tree = GrowingTree(columns, count_classes(drawn, noisy, 2), settings.replace(max_depth=3), 0, 0)
    tree.split(0, 1, count_bins(*drawn, columns.codes, features, columns.n_codes, noisy, 2, np.array([0]), False))
    below = descend(drawn, columns.codes, features, columns.n_codes, tree.end_level())
    # Samples 3 (class 0, three copies) against those below (0, 1 and 2) or above (4), which go on.
    assert np.all(np.diff(below.samples[: below.ends[0]]) > 0)
    assert below.copies.tolist() == [{0: 1, 1: 2, 2: 1, 3: 3, 4: 1}[i] for i in below.samples]


def test_leaves_are_those_of_the_table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 4)).round(1)
    X[:, 0] = rng.integers(0, 40, 500)
    X[rng.random(X.shape) < 0.1] = np.nan
    X[:, 0] = np.nan_to_num(X[:, 0])
    columns = code_columns(X, np.array([40, 0, 0, 0], dtype=np.int32))
    target = ClassTarget(rng.integers(0, 3, 500).astype(np.int32), 3)
    for max_depth in (0, 1, 30):
        settings = TreeSettings(min_split=2, min_leaf=1, complexity=-1.0, max_depth=max_depth)
        tree = grow_tree(columns, target, np.ones(500, dtype=np.int32), settings)
        for codes in (columns.codes, columns.codes.astype(np.uint16), columns.codes[::-1][::-1]):
            np.testing.assert_array_equal(reach_leaves(tree, codes, columns.n_codes), tree.apply(columns))
    with pytest.raises(ValueError, match="codes must not be above n_codes"):
        reach_leaves(tree, columns.codes, columns.n_codes - 1)
    with pytest.raises(ValueError, match="splits a column that does not exist"):
        reach_leaves(tree, columns.codes[:, :2], columns.n_codes[:2])


DRAWN = Drawn(np.arange(3, dtype=np.uint32), np.ones(3, dtype=np.int32), np.array([3]))
GIVEN = {
    **DRAWN._asdict(), "codes": CODES, "features": FEATURES, "n_codes": N_CODES, "classes": TARGET, "n_classes": 3,
    "nodes": np.array([0]), "squared": False,
}  # fmt: skip


@pytest.mark.parametrize("n_drawn", [3, 900])
@pytest.mark.parametrize("squared", [True, False])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_codes_out_of_range_get_a_sentence(n_drawn, squared, dtype):
    codes = np.minimum(CODES, 3).astype(dtype)
    drawn = list_drawn((np.arange(N_SAMPLES) < n_drawn).astype(np.int32))
    given = {**GIVEN, **drawn._asdict(), "squared": squared}
    for f, wrong in ((3, 255), (2, 200), (0, 4)):
        n_codes = np.array([3, 3, 3], dtype=np.int32)
        codes[1, f], kept = wrong, codes[1, f]
        with pytest.raises(ValueError, match="codes must not be above n_codes"):
            count_bins(**{**given, "codes": codes, "n_codes": n_codes})
        codes[1, f] = kept
    assert count_bins(**{**given, "codes": codes, "n_codes": n_codes}).n_nodes == 1


@pytest.mark.parametrize(
    ("changes", "kind", "message"),
    [
        ({"codes": CODES.astype(int)}, TypeError, "codes must be an array of uint8 or uint16"),
        ({"features": np.array([3, 0, 4])}, ValueError, "features must hold numbers from 0 to 3 only"),
        ({"features": np.array([3, 0])}, ValueError, "n_codes must be as long as features"),
        ({"features": np.arange(0), "n_codes": N_CODES[:0]}, ValueError, "features must not be empty"),
        ({"n_codes": -N_CODES}, ValueError, "n_codes must hold numbers of codes"),
        ({"classes": TARGET[:5]}, ValueError, "classes must be as long as codes"),
        ({"n_classes": 2}, ValueError, "classes must hold numbers from 0 to 1 only"),
        ({"n_classes": 0}, ValueError, "n_classes must be at least 1"),
        ({"nodes": np.array([1])}, ValueError, "nodes must hold numbers from 0 to 0 only"),
        ({"samples": DRAWN.samples + 1000}, ValueError, "samples must hold numbers"),
        ({"copies": DRAWN.copies[:2]}, ValueError, "copies must be as long as samples"),
        ({"copies": -DRAWN.copies}, ValueError, "copies must not be negative"),
        ({"ends": np.array([2])}, ValueError, "ends must ascend to the number of samples"),
        ({"ends": np.array([4, 3])}, ValueError, "ends must ascend to the number of samples"),
        ({"ends": np.array([-1, 3])}, ValueError, "ends must ascend to the number of samples"),
    ],
)
def test_wrong_parts_get_a_sentence(changes, kind, message):
    with pytest.raises(kind, match=message):
        count_bins(**{**GIVEN, **changes})


def test_counts_of_other_nodes_are_refused():
    columns = code_columns(CODES[:, :2].astype(float))
    tree = GrowingTree(columns, np.array([500, 500, 0]), TreeSettings(), 0, 0)
    n_codes, counts = columns.n_codes, np.ones(N_SAMPLES, dtype=np.int32)

    def count(counts, n_classes=3, squared=False, nodes=(0,)):
        drawn = list_drawn(counts)
        return count_bins(
            *drawn, columns.codes, np.arange(2), n_codes, TARGET, n_classes, np.array(nodes, dtype=int), squared
        )

    for bins in (count(2 * counts), count(counts, 4), count(counts, squared=True), count(counts, nodes=())):
        with pytest.raises(ValueError, match="bins must have the counts of the nodes of the round"):
            tree.split(0, 1, bins)
    with pytest.raises(ValueError, match="first and end must be a round of the level"):
        tree.split(0, 2, count(counts))
    tree.split(0, 1, count(counts))
    with pytest.raises(ValueError, match="that has not been split yet"):
        tree.split(0, 1, count(counts))
    with pytest.raises(ValueError, match="parts must have counted the same"):
        merge_bins([count(counts), count(counts, 4)])
    with pytest.raises(ValueError, match="parts must not be empty"):
        merge_bins([])
    for totals, message in (
        ([2**31], "totals must not sum to more"),
        ([-1, 3], "not be negative"),
        ([], "at least one class"),
    ):
        with pytest.raises(ValueError, match=message):
            GrowingTree(columns, np.array(totals, dtype=np.int64), TreeSettings(), 0, 0)


def test_splits_of_other_tables_are_refused():
    columns = code_columns(CODES.astype(float))
    drawn, nodes = list_drawn(np.ones(N_SAMPLES, dtype=np.int32)), np.array([0])
    tree = GrowingTree(columns, count_classes(drawn, TARGET, 3), TreeSettings(complexity=-1.0), 0, 0)
    tree.split(0, 1, count_bins(*drawn, columns.codes, np.arange(4), columns.n_codes, TARGET, 3, nodes, False))
    splits = tree.end_level()
    assert splits.n_children == 2
    below = descend(drawn, columns.codes, np.arange(4), columns.n_codes, splits)
    with pytest.raises(ValueError, match="splits must be as long as ends"):
        descend(below, columns.codes, np.arange(4), columns.n_codes, splits)
    with pytest.raises(ValueError, match="splits must be by one of the features"):
        descend(drawn, columns.codes, np.arange(1), columns.n_codes[:1], splits)


BIN_STATE = (4, 2, False, [True, False], [4, 6], [1, 3], [1] * 12, [])
SPLIT_STATE = (np.zeros(96, dtype=np.uint8), [], [0, -1, 1, 2], 3)


def make(kind, state):
    made = kind.__new__(kind)
    types = {LevelBins: (None, None, None, "?", "i8", "u4", "i4", "i8"), LevelSplits: ("u1", "u4", "i8", None)}[kind]
    made.__setstate__(tuple(v if t is None else np.array(v, dtype=t) for v, t in zip(state, types, strict=True)))
    return made


def changed(state, position, value):
    return (*state[:position], value, *state[position + 1 :])


@pytest.mark.parametrize(
    ("kind", "state", "message"),
    [
        (LevelBins, changed(BIN_STATE, 4, [4, 7]), "ends of the state must ascend to the number of bins"),
        (LevelBins, changed(BIN_STATE, 4, [3, 6]), "ends of the state must ascend to the number of bins"),
        (LevelBins, changed(BIN_STATE, 4, [4]), "ends of the state must be as long as is_dense"),
        (LevelBins, changed(BIN_STATE, 5, [3, 1]), "numbers of the state must ascend within a node"),
        (LevelBins, changed(BIN_STATE, 5, [1, 4]), "numbers of the state must ascend within a node"),
        (LevelBins, changed(BIN_STATE, 2, True), "ends of the state must ascend to the number of bins"),
        (LevelBins, changed(BIN_STATE, 1, 0), "n_bins and n_classes of the state"),
        (
            LevelSplits,
            changed(SPLIT_STATE, 2, [0, -1, 2, 1]),
            "children of the state must be numbered one after the other",
        ),
        (
            LevelSplits,
            changed(SPLIT_STATE, 2, [0, -1, 1]),
            "children of the state must be as long as both sides of nodes",
        ),
        (LevelSplits, changed(SPLIT_STATE, 3, 4), "n_children of the state must be the number of children"),
    ],
)
def test_damaged_states_get_a_sentence(kind, state, message):
    make(kind, BIN_STATE if kind is LevelBins else SPLIT_STATE)
    with pytest.raises(ValueError, match=message):
        make(kind, state)


def test_bins_survive_pickling():
    bins = count_bins(*draw([5, 300]), CODES, FEATURES, N_CODES, TARGET, 3, np.arange(2), True)
    for restored, array in zip(pickle.loads(pickle.dumps(bins)).list_filled(), bins.list_filled(), strict=True):
        np.testing.assert_array_equal(restored, array)
