"""Hierarchies of labels, and the clusters that they are made of."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.cluster import KMeans

from fuselearn.multilabel.methods.hierarchy import (
    CLUSTERINGS,
    LEAF,
    MOST_ROUNDS,
    balanced_kmeans,
    count_co_occurrences,
    deal,
    describe_hierarchy,
    draw_hierarchy,
    kmeans,
    mark_meta_labels,
)
from fuselearn.multilabel.methods.homer import Node, grow_hierarchy

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


seeds = st.integers(0, 2**31)


def squared_distances(Y, weights, centres):
    return (weights[:, None, None] * (Y[:, :, None] - centres[:, None, :]) ** 2).sum(axis=0)


def test_co_occurrences_count_drawn_copies():
    rng = np.random.default_rng(0)
    Y = rng.integers(0, 2, (20, 5)).astype(np.int8)
    counts = rng.integers(0, 4, 20)
    copies = np.repeat(Y, counts, axis=0).astype(int)
    np.testing.assert_array_equal(count_co_occurrences(Y, counts), copies.T @ copies)


@pytest.mark.parametrize("clustering", CLUSTERINGS)
@given(Y=label_tables, n_clusters=st.integers(2, 9), seed=seeds)
@settings(max_examples=60, deadline=None)
def test_every_label_is_in_one_of_the_clusters(clustering, Y, n_clusters, seed):
    clusters = CLUSTERINGS[clustering](
        count_co_occurrences(Y, np.ones(len(Y))), n_clusters, np.random.default_rng(seed)
    )
    assert clusters.shape == (Y.shape[1],)
    assert clusters.min() >= 0
    assert clusters.max() < max(n_clusters, Y.shape[1])


@pytest.mark.parametrize("clustering", [balanced_kmeans, deal])
@given(Y=label_tables, n_clusters=st.integers(2, 9), seed=seeds)
@settings(max_examples=100, deadline=None)
def test_balanced_clusters_are_bounded(clustering, Y, n_clusters, seed):
    clusters = clustering(count_co_occurrences(Y, np.ones(len(Y))), n_clusters, np.random.default_rng(seed))
    assert np.bincount(clusters).max() <= -(-Y.shape[1] // n_clusters)


@pytest.mark.parametrize("clustering", [balanced_kmeans, kmeans])
@pytest.mark.parametrize("n_clusters", [4, 5, 100])
def test_as_many_clusters_as_labels_leave_each_label_alone(clustering, n_clusters):
    clusters = clustering(np.ones((4, 4)), n_clusters, np.random.default_rng(0))
    np.testing.assert_array_equal(np.sort(clusters), np.arange(4))


def test_equal_columns_end_in_one_cluster_or_in_full_ones():
    together = np.full((7, 7), 3.0)
    assert len(np.unique(kmeans(together, 3, np.random.default_rng(0)))) == 1
    sizes = np.bincount(balanced_kmeans(together, 3, np.random.default_rng(0)), minlength=3)
    assert sorted(sizes) == [1, 3, 3]


def test_a_cluster_that_has_run_empty_is_not_filled_again():
    # Labels 0 to 4 are alike and label 5 is not: of three centres, two at least are the same point.
    Y = np.zeros((4, 6), dtype=np.int8)
    Y[0, :5] = 1
    Y[1:, 5] = 1
    for seed in range(20):
        clusters = kmeans(count_co_occurrences(Y, np.ones(4)), 3, np.random.default_rng(seed))
        assert len(np.unique(clusters)) <= 2


def test_dealing_gives_sizes_that_differ_by_one():
    clusters = deal(np.zeros((11, 11)), 3, np.random.default_rng(0))
    assert sorted(np.bincount(clusters)) == [3, 4, 4]
    assert not np.array_equal(clusters, deal(np.zeros((11, 11)), 3, np.random.default_rng(1)))


def test_the_farthest_label_leaves_a_full_cluster():
    # One row per label as its coordinate: the labels lie on a line at 0, 0, 0, 1, 10 and 11, in steps of one row.
    positions = np.array([0, 0, 0, 1, 10, 11])
    Y = (np.arange(11)[:, None] < positions).astype(np.int8)
    co_occurrences = count_co_occurrences(Y, np.ones(11))
    for seed in range(20):
        clusters = balanced_kmeans(co_occurrences, 2, np.random.default_rng(seed))
        # Four labels are near 0 and three may stay: the one at 1 has to go.
        assert clusters[0] == clusters[1] == clusters[2]
        assert clusters[3] == clusters[4] == clusters[5] != clusters[0]


def cluster_plainly(Y, weights, n_clusters, rng):
    """Run balanced k-means with explicit means: labels ask for the nearest cluster, full ones keep the nearest."""
    points, capacity = Y.T.astype(float), -(-Y.shape[1] // n_clusters)
    clusters = np.full(len(points), -1)
    clusters[rng.choice(len(points), n_clusters, replace=False)] = np.arange(n_clusters)
    for _ in range(MOST_ROUNDS):
        asked = np.full((len(points), n_clusters), np.inf)
        for c in np.unique(clusters[clusters >= 0]):
            asked[:, c] = ((points - points[clusters == c].mean(axis=0)) ** 2) @ weights
        distances, renewed = asked.copy(), np.full(len(points), -1)
        while (renewed < 0).any():
            renewed[renewed < 0] = asked[renewed < 0].argmin(axis=1)
            for c in range(n_clusters):
                own = np.flatnonzero(renewed == c)
                refused = own[np.argsort(distances[own, c])][capacity:]
                renewed[refused], asked[refused, c] = -1, np.inf
        if (renewed == clusters).all():
            break
        clusters = renewed
    return clusters


@given(Y=label_tables, n_clusters=st.integers(2, 6), seed=seeds)
@settings(max_examples=60, deadline=None)
def test_balanced_clusters_are_those_of_explicit_means(Y, n_clusters, seed):
    if n_clusters >= Y.shape[1]:
        return
    # Distinct columns and weights of no pattern: no two distances are equal by more than chance.
    Y = np.vstack([Y, np.eye(Y.shape[1], dtype=np.int8)])
    weights = np.random.default_rng(seed).uniform(0.5, 2.0, len(Y))
    ours = balanced_kmeans(count_co_occurrences(Y, weights), n_clusters, np.random.default_rng(seed))
    plain = cluster_plainly(Y, weights, n_clusters, np.random.default_rng(seed))
    np.testing.assert_array_equal(ours, plain)


@given(Y=label_tables, n_clusters=st.integers(2, 5), seed=seeds)
@settings(max_examples=100, deadline=None)
def test_kmeans_ends_where_every_label_has_its_nearest_mean(Y, n_clusters, seed):
    if n_clusters >= Y.shape[1]:
        return
    rng = np.random.default_rng(seed)
    weights = rng.integers(0, 3, len(Y)).astype(float)
    clusters = kmeans(count_co_occurrences(Y, weights), n_clusters, rng)
    means = np.array([Y[:, clusters == c].mean(axis=1) for c in np.unique(clusters)]).T
    distances = squared_distances(Y, weights, means)
    own = distances[np.arange(Y.shape[1]), np.searchsorted(np.unique(clusters), clusters)]
    assert (own <= distances.min(axis=1) + 1e-9).all()


def test_kmeans_finds_what_scikit_learn_finds_from_the_same_centres():
    rng = np.random.default_rng(3)
    for seed in range(20):
        Y = (rng.random((60, 12)) < rng.random((1, 12))).astype(np.int8)
        weights = rng.random(60)  # so that no two distances are the same
        ours = kmeans(count_co_occurrences(Y, weights), 3, np.random.default_rng(seed))
        first = np.random.default_rng(seed).choice(12, 3, replace=False)
        points = Y.T * np.sqrt(weights)
        theirs = KMeans(3, init=points[first], n_init=1, max_iter=100, algorithm="lloyd", tol=0).fit(points)
        np.testing.assert_array_equal(ours, theirs.labels_)


def test_weights_of_rows_count_like_copies():
    rng = np.random.default_rng(5)
    Y = rng.integers(0, 2, (30, 9)).astype(np.int8)
    counts = rng.integers(0, 4, 30)
    weighted = balanced_kmeans(count_co_occurrences(Y, counts), 3, np.random.default_rng(0))
    copies = np.repeat(Y, counts, axis=0)
    np.testing.assert_array_equal(
        weighted, balanced_kmeans(count_co_occurrences(copies, np.ones(len(copies))), 3, np.random.default_rng(0))
    )
