"""Values of leaves are kept once, and those of a forged file do not lead out of the trees."""

import numpy as np
import pytest

from fuselearn.engines.tree import NODE, LeafCollector, Tree, restore_leaf_values


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
    with pytest.raises(ValueError, match="do not fit the trees"):
        restore_leaf_values({**stored, **changes}, [make_stump()])
