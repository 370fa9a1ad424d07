"""Trees of labels: what every tree must hold, trees worked out by hand, and how they are shown."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuselearn.multilabel.methods.hierarchy import (
    CLUSTERINGS,
    LEAF,
    Node,
    balanced_kmeans,
    count_co_occurrences,
    describe_hierarchy,
    draw_hierarchy,
    grow_hierarchy,
    kmeans,
    mark_meta_labels,
)

label_tables = st.tuples(st.integers(1, 12), st.integers(1, 20), st.floats(0, 1), st.integers(0, 2**31)).map(
    lambda shape: (np.random.default_rng(shape[3]).random(shape[:2]) < shape[2]).astype(np.int8)
)


def grow(Y, cluster, n_clusters, seed=0):
    together = count_co_occurrences(Y, np.ones(len(Y)))
    return grow_hierarchy(together, np.arange(Y.shape[1]), cluster, n_clusters, np.random.default_rng(seed))


@pytest.mark.parametrize("clustering", CLUSTERINGS)
@given(Y=label_tables, n_clusters=st.integers(2, 6), seed=st.integers(0, 1000))
@settings(max_examples=50, deadline=None)
def test_children_divide_what_their_parent_gives_them(clustering, Y, n_clusters, seed):
    hierarchy = grow(Y, CLUSTERINGS[clustering], n_clusters, seed)
    given_labels = {0: set(range(Y.shape[1]))}
    for number, (groups, children) in enumerate(hierarchy):
        together = np.concatenate(groups)
        assert len(together) == len(set(together.tolist()))
        assert set(together.tolist()) == given_labels[number]
        for group, child in zip(groups, children, strict=True):
            assert (child == LEAF) == (len(group) == 1)
            assert child == LEAF or child > number
            if child != LEAF:
                given_labels[child] = set(group.tolist())
    assert len(given_labels) == len(hierarchy)


@given(Y=label_tables, n_clusters=st.integers(2, 6), seed=st.integers(0, 1000))
@settings(max_examples=50, deadline=None)
def test_a_row_has_a_meta_label_if_it_has_any_of_its_labels(Y, n_clusters, seed):
    hierarchy = grow(Y, balanced_kmeans, n_clusters, seed)
    for node, marked in zip(hierarchy, mark_meta_labels(hierarchy, Y.T), strict=True):
        assert marked.shape == (len(node.groups), len(Y))
        for group, has in zip(node.groups, marked, strict=True):
            np.testing.assert_array_equal(has, Y[:, group].max(axis=1))


def test_a_meta_label_without_a_row_is_taken_apart():
    Y = np.zeros((6, 6), dtype=np.int8)
    Y[:3, 0] = Y[:3, 1] = Y[3:, 2] = 1
    hierarchy = grow(Y, balanced_kmeans, 2)
    for node in hierarchy:
        for group in node.groups:
            assert len(group) == 1 or Y[:, group].any()


def test_labels_that_nobody_has_are_all_alone():
    hierarchy = grow(np.zeros((3, 5), dtype=np.int8), balanced_kmeans, 2)
    assert len(hierarchy) == 1
    assert sorted(group.tolist() for group in hierarchy[0].groups) == [[0], [1], [2], [3], [4]]


def test_labels_that_kmeans_cannot_tell_apart_are_dealt():
    hierarchy = grow(np.ones((3, 9), dtype=np.int8), kmeans, 3)
    assert sorted(len(group) for group in hierarchy[0].groups) == [3, 3, 3]
    assert len(hierarchy) == 4


def test_a_single_label_is_a_tree():
    hierarchy = grow(np.ones((3, 1), dtype=np.int8), balanced_kmeans, 2)
    assert len(hierarchy) == 1
    assert hierarchy[0].children == [LEAF]


def test_choices_follow_the_order_of_the_labels_given():
    Y = (np.random.default_rng(0).random((30, 8)) < 0.4).astype(np.int8)
    order = np.random.default_rng(1).permutation(8)
    weights = np.random.default_rng(2).random(30)
    hierarchies = [
        grow_hierarchy(count_co_occurrences(table, weights), labels, balanced_kmeans, 2, np.random.default_rng(3))
        for table, labels in [(Y, order), (Y[:, order], np.arange(8))]
    ]
    for one, other in zip(*hierarchies, strict=True):
        for a, b in zip(one.groups, other.groups, strict=True):
            np.testing.assert_array_equal(a, order[b])


def chain(n_labels):
    """Split off one label per node."""
    return [
        Node([np.array([i]), np.arange(i + 1, n_labels)], [LEAF, i + 1 if i < n_labels - 2 else LEAF])
        for i in range(n_labels - 1)
    ]


def test_a_deep_tree_is_shown_as_well():
    hierarchy = chain(1500)
    text = describe_hierarchy(hierarchy, [f"label {i}" for i in range(1500)])
    assert len(text.splitlines()) == 1500 + 1499
    assert text.splitlines()[-1].endswith("└── label 1499")


def test_the_drawing_names_every_label_from_top_to_bottom():
    names = ["sea", "field", "beach", "city"]
    hierarchy = [
        Node([np.array([0, 2]), np.array([1, 3])], [1, 2]),
        Node([np.array([0]), np.array([2])], [LEAF, LEAF]),
        Node([np.array([3]), np.array([1])], [LEAF, LEAF]),
    ]
    axes = draw_hierarchy(hierarchy, names).axes[0]
    assert [t.get_text() for t in sorted(axes.texts, key=lambda t: t.xy[1])] == ["sea", "beach", "city", "field"]
    trunks = [line.get_ydata().tolist() for line in axes.lines if line.get_xdata()[0] == line.get_xdata()[1] == 0]
    assert trunks == [[0.5, 2.5]]
