"""Trees and values of leaves survive being brought into a few arrays, and forged arrays are refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuselearn._core import NODE, ClassTarget, Tree, TreeSettings
from fuselearn.learners.forests import _narrow, stack_trees, unstack_trees
from fuselearn.learners.table import code_columns
from fuselearn.learners.trees import grow_tree
from fuselearn.multilabel.methods.label_trees import LeafCollector, restore_leaf_values

N_CATEGORIES = np.array([0, 40, 0], dtype=np.int32)


def grow(seed, n_rows=200):
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(size=n_rows), rng.integers(0, 40, n_rows), rng.normal(size=n_rows)])
    X[rng.random(X.shape) < 0.1] = np.nan
    target = ((np.nan_to_num(X[:, 0]) > 0) ^ (np.nan_to_num(X[:, 1]) % 3 == 0)).astype(np.int32)
    counts = np.ones(n_rows, dtype=np.int32)
    settings = TreeSettings(complexity=-1.0)
    return grow_tree(code_columns(X, N_CATEGORIES), ClassTarget(target, 2), counts, settings, seed=seed)


@pytest.fixture(scope="module")
def trees():
    return [grow(seed) for seed in range(5)]


def test_trees_come_back_bit_by_bit(trees):
    assert any(len(tree.subsets) for tree in trees)
    restored = unstack_trees(stack_trees(trees), N_CATEGORIES)
    assert len(restored) == len(trees)
    for old, new in zip(trees, restored, strict=True):
        assert new.nodes.dtype == old.nodes.dtype
        for name in old.nodes.dtype.names:
            np.testing.assert_array_equal(new.nodes[name], old.nodes[name])
        np.testing.assert_array_equal(new.values, old.values)
        np.testing.assert_array_equal(new.subsets, old.subsets)
        assert new.values.dtype == np.float64
        assert new.subsets.dtype == np.uint32


def test_the_arrays_are_smaller_than_the_trees(trees):
    stored = stack_trees(trees)
    in_memory = sum(part.nbytes for tree in trees for part in (tree.nodes, tree.values, tree.subsets))
    assert sum(part.nbytes for part in stored.values()) < 0.7 * in_memory


numbers = st.one_of(
    st.lists(st.integers(-(2**40), 2**40)).map(lambda v: np.array(v, dtype=np.int64)),
    st.lists(st.integers(-300, 300)).map(lambda v: np.array(v, dtype=np.float64)),
    st.lists(st.floats()).map(lambda v: np.array(v, dtype=np.float64)),
)


@given(numbers)
def test_narrow_numbers_are_the_same_numbers(wide):
    assert _narrow(wide).astype(wide.dtype).tobytes() == wide.tobytes()


def test_narrow_numbers_are_narrow():
    assert _narrow(np.array([0.0, 255.0])).dtype == np.uint8
    assert _narrow(np.array([-1, 127])).dtype == np.int8
    assert _narrow(np.array([-1, 128])).dtype == np.int16
    assert _narrow(np.array([0.0, -0.0])).dtype == np.float64
    assert _narrow(np.array([1.0, np.inf])).dtype == np.float64


def first(stored, name, condition):
    """Find the first split of the first tree that meets a condition."""
    return int(np.flatnonzero((stored["feature"] >= 0) & condition)[0])


def forge(stored, name, place, value):
    changed = stored[name].astype(np.int64)
    changed[place] = value
    return {**stored, name: changed}


class TestForgeries:
    @pytest.fixture
    def stored(self, trees):
        return stack_trees(trees)

    def refuse(self, forged, match):
        with pytest.raises(ValueError, match=match):
            unstack_trees(forged, N_CATEGORIES)

    @pytest.mark.parametrize("child", [0, -5, 2**30])
    def test_children_out_of_place(self, stored, child):
        self.refuse(forge(stored, "left", 0, child), "children out of place")

    def test_the_last_node_has_no_children(self, stored):
        last = int(stored["n_nodes"][0]) - 1
        forged = forge(forge(stored, "feature", last, 0), "left", last, last)
        self.refuse(forged, "children out of place")

    def test_a_child_of_two(self, stored):
        one = first(stored, "left", stored["left"] > 1)
        self.refuse(forge(stored, "left", one, int(stored["left"][0])), "out of place|no parent or several")

    def test_a_child_of_none(self, stored):
        self.refuse(forge(forge(stored, "feature", 0, -1), "is_category", 0, 0), "no parent or several")

    def test_a_column_that_does_not_exist(self, stored):
        self.refuse(forge(stored, "feature", 0, 3), "column that does not exist")

    def test_numbers_taken_for_categories(self, stored):
        one = first(stored, "is_category", ~stored["is_category"])
        self.refuse(forge(stored, "is_category", one, 1), "numbers for categories")
        leaf = int(np.flatnonzero(stored["feature"] < 0)[0])  # rows would go on from it, to the node behind it
        self.refuse(forge(stored, "is_category", leaf, 1), "numbers for categories")

    @pytest.mark.parametrize("cut", [-1, 2**30])
    def test_categories_out_of_place(self, stored, cut):
        one = first(stored, "cut", stored["is_category"])
        self.refuse(forge(stored, "cut", one, cut), "categories out of place")

    @pytest.mark.parametrize("threshold", [np.nan, -np.inf])
    def test_thresholds_that_are_no_numbers(self, stored, threshold):
        changed = stored["threshold"].astype(np.float64)
        changed[first(stored, "threshold", ~stored["is_category"])] = threshold
        self.refuse({**stored, "threshold": changed}, "threshold that is no number")

    def test_sizes_that_do_not_add_up(self, stored):
        self.refuse(forge(stored, "n_nodes", 0, 1), "do not match")
        self.refuse(forge(stored, "n_words", 0, -1), "do not match")
        self.refuse({**stored, "gain": stored["gain"][1:]}, "do not match")
        self.refuse({**stored, "values": stored["values"][1:]}, "do not match")

    def test_arrays_missing_or_of_another_kind(self, stored):
        self.refuse(
            {name: part for name, part in stored.items() if name != "gain"}, "does not have the expected arrays"
        )
        self.refuse({**stored, "gain": stored["gain"].astype(str)}, "are not arrays of numbers")
        self.refuse({**stored, "gain": stored["gain"].tolist()}, "are not arrays of numbers")


def make_stump():
    nodes = np.zeros(3, dtype=NODE)
    nodes["feature"], nodes["left"] = (0, -1, -1), (1, -1, -1)
    return Tree(nodes, np.empty((3, 0)), np.empty(0, np.uint32))


def test_values_are_those_that_were_added():
    rng = np.random.default_rng(0)
    collector, expected = LeafCollector(), []
    for size in (1, 7, 30):
        is_leaf, values = rng.random(size) < 0.8, rng.choice([0.0, 1.0, 1 / 3], (size, 2))
        is_leaf[0] = True
        collector.add(is_leaf, values)
        expected.append(values[is_leaf])
    rows, numbers = collector.collect()
    np.testing.assert_array_equal(rows[numbers[numbers >= 0]], np.concatenate(expected))
    assert len(np.unique(rows, axis=0)) == len(rows)


@pytest.mark.parametrize(
    "changes",
    [
        {"numbers": np.array([-1, 0, 2], dtype=np.int32)},
        {"numbers": np.array([-1, 0, -1], dtype=np.int32)},
        {"numbers": np.array([-1, 0], dtype=np.int32)},
        {"numbers": np.array([-1.0, 0.0, 1.0])},
        {"numbers": None},
        {"rows": np.ones(2)},
        {"rows": np.ones((2, 2), dtype=np.float32)},
    ],
)
def test_values_of_other_trees_are_refused(changes):
    stored = {"rows": np.ones((2, 2)), "numbers": np.array([-1, 0, 1], dtype=np.int32)}
    assert restore_leaf_values(stored, [make_stump()]).rows is stored["rows"]
    with pytest.raises(ValueError, match="do not match the trees"):
        restore_leaf_values({**stored, **changes}, [make_stump()])
