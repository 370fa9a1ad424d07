"""A tree of labels: at its root all of them, at its leaves one each.

A node divides its labels into groups, the *meta-labels*. A sample has a meta-label if it has any of the group's labels.
A group of several labels is the label set of a child node; a group of one label is a leaf. Trees may be as deep as
there are labels, so nothing here is recursive.

Labels are divided by balanced k-means, by k-means, or at random. For that, a label is a point: its column of zeros and
ones, one coordinate per sample. Distances between labels and centers are computed from the co-occurrences of labels,

    ||y_a - mean of C||^2 = G_aa - 2/|C| sum over b in C of G_ab + 1/|C|^2 sum over b, c in C of G_bc,     G = Y' W Y,

with W the diagonal matrix of sample weights. So the samples are read once, for G. A subset of the labels only needs its
part of G, even if samples without any of these labels are left out: they add nothing to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fuselearn._core import cluster_labels
from fuselearn._extras import require

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LEAF = -1

Indices = npt.NDArray[np.int64]


class Node(NamedTuple):
    """A set of labels and how it is divided."""

    groups: list[Indices]
    """The labels of each meta-label."""
    children: list[int]
    """For each meta-label the node that divides it further, or ``LEAF``."""


Hierarchy = list[Node]
"""Nodes, the root first and every other one after its parent."""

MOST_ROUNDS = 100

Matrix = npt.NDArray[np.float64]
Clusters = npt.NDArray[np.int64]


def count_co_occurrences(Y: npt.NDArray[np.int8], weights: npt.NDArray[np.number]) -> Matrix:
    """Compute the total weight of the samples that each two labels have in common.

    Parameters
    ----------
    Y : array of shape (n_samples, n_labels)
        Zeros and ones.
    weights : array of shape (n_samples,)
        Weight of each sample, such as how often it was drawn.

    Returns
    -------
    array of shape (n_labels, n_labels)

    Examples
    --------
    >>> Y = np.array([[1, 1, 0], [1, 0, 0], [0, 1, 1]], dtype=np.int8)
    >>> count_co_occurrences(Y, np.array([1, 2, 0]))
    array([[3., 1., 0.],
           [1., 1., 0.],
           [0., 0., 0.]])
    """
    table = Y.astype(np.float64)
    return table.T @ (table * weights[:, None])


def balanced_kmeans(co_occurrences: Matrix, n_clusters: int, rng: np.random.Generator) -> Clusters:
    """Divide labels by k-means into clusters of at most ceil(n_labels / n_clusters).

    Starting from the columns of ``n_clusters`` random labels as centers, every label goes to its nearest center. A
    cluster with too many labels passes its farthest one to the nearest center that has not yet passed it on, until no
    cluster is too large. This terminates: a cluster that has passed a label on stays full, and the clusters together
    have capacity for all labels. The means of the clusters are the next centers, until nothing changes, for at most 100
    iterations.

    Parameters
    ----------
    co_occurrences : array of shape (n_labels, n_labels)
        As returned by :func:`count_co_occurrences`.
    n_clusters : int
        With at least as many clusters as labels, every label is its own cluster.
    rng : numpy.random.Generator
        Draws the first centres.

    Returns
    -------
    int array of shape (n_labels,)
        Cluster of each label, from 0 to ``n_clusters - 1``; a cluster may be empty.

    Examples
    --------
    Two pairs of labels that occur together:

    >>> Y = np.array([[1, 0, 1, 0], [1, 0, 1, 0], [0, 1, 0, 1]], dtype=np.int8)
    >>> clusters = balanced_kmeans(count_co_occurrences(Y, np.ones(3)), 2, np.random.default_rng(1))
    >>> bool(clusters[0] == clusters[2] != clusters[1] == clusters[3])
    True
    """
    return _cluster(co_occurrences, n_clusters, -(-len(co_occurrences) // n_clusters), rng)


def kmeans(co_occurrences: Matrix, n_clusters: int, rng: np.random.Generator) -> Clusters:
    """Divide labels by k-means from one random start, without a limit on the clusters' sizes.

    Parameters and result are those of :func:`balanced_kmeans`.
    """
    return _cluster(co_occurrences, n_clusters, len(co_occurrences), rng)


def deal(co_occurrences: Matrix, n_clusters: int, rng: np.random.Generator) -> Clusters:
    """Shuffle the labels and assign them to the clusters in turn, so that sizes differ by one at most.

    Parameters and result are those of :func:`balanced_kmeans`; only the shape of the co-occurrences matters.
    """
    clusters = np.empty(len(co_occurrences), dtype=np.int64)
    clusters[rng.permutation(len(clusters))] = np.arange(len(clusters)) % n_clusters
    return clusters


CLUSTERINGS: dict[str, Callable[[Matrix, int, np.random.Generator], Clusters]] = {
    "balanced": balanced_kmeans,
    "kmeans": kmeans,
    "random": deal,
}


def _cluster(co_occurrences: Matrix, n_clusters: int, capacity: int, rng: np.random.Generator) -> Clusters:
    n_labels = len(co_occurrences)
    if n_clusters >= n_labels:
        return np.arange(n_labels)
    first = rng.choice(n_labels, n_clusters, replace=False)
    return cluster_labels(np.asarray(co_occurrences, dtype=np.float64), first, capacity, MOST_ROUNDS)


def grow_hierarchy(
    co_occurrences: Matrix,
    labels: Indices,
    cluster: Callable[[Matrix, int, np.random.Generator], Clusters],
    n_clusters: int,
    rng: np.random.Generator,
) -> Hierarchy:
    """Grow a hierarchy: divide labels into at most ``n_clusters`` groups, and every group of several labels again.

    A group that no sample has is divided into single labels, since there is nothing to learn about it. If a clustering
    leaves all labels of a node together, they are divided at random instead.

    Parameters
    ----------
    co_occurrences : array of shape (n_labels, n_labels)
        As returned by :func:`~fuselearn.multilabel.methods.hierarchy.count_co_occurrences`.
    labels : int array of shape (n_labels,)
        The labels in the order in which random choices are made among them.
    cluster : callable
        One of :data:`~fuselearn.multilabel.methods.hierarchy.CLUSTERINGS`.
    n_clusters : int
        At least 2.
    rng : numpy.random.Generator

    Examples
    --------
    >>> from fuselearn.multilabel.methods.hierarchy import balanced_kmeans
    >>> together = np.array([[2.0, 2.0, 0.0], [2.0, 2.0, 0.0], [0.0, 0.0, 2.0]])
    >>> for node in grow_hierarchy(together, np.arange(3), balanced_kmeans, 2, np.random.default_rng(0)):
    ...     print([group.tolist() for group in node.groups], node.children)
    [[0, 1], [2]] [1, -1]
    [[0], [1]] [-1, -1]
    """
    occurs = co_occurrences.diagonal() > 0
    hierarchy: Hierarchy = []
    waiting = [(labels, LEAF, 0)]
    while waiting:
        labels, parent, position = waiting.pop()
        if parent != LEAF:
            hierarchy[parent].children[position] = len(hierarchy)
        between = co_occurrences[labels[:, None], labels]
        clusters = cluster(between, n_clusters, rng)
        if (clusters == clusters[0]).all():
            clusters = deal(between, n_clusters, rng)
        groups = list(_gather(labels, clusters, occurs))
        branching = (g for g in reversed(range(len(groups))) if len(groups[g]) > 1)
        waiting.extend((groups[g], len(hierarchy), g) for g in branching)
        hierarchy.append(Node(groups, [LEAF] * len(groups)))
    return hierarchy


def _gather(labels: Indices, clusters: Clusters, occurs: npt.NDArray[np.bool_]) -> Iterator[Indices]:
    """Return the labels of each cluster, one by one if none of them occurs."""
    for cluster in range(clusters.max() + 1):
        group = labels[clusters == cluster]
        if len(group) > 1 and not occurs[group].any():
            yield from group[:, None]
        elif len(group):
            yield group


def mark_meta_labels(hierarchy: Hierarchy, columns: npt.NDArray[np.int8]) -> list[npt.NDArray[np.int8]]:
    """Return, for each node, which samples have which of its meta-labels.

    Parameters
    ----------
    hierarchy : list of Node
    columns : array of shape (n_labels, n_samples)
        Zeros and ones, one row per label.

    Returns
    -------
    list of arrays of shape (n_groups, n_samples)
        One for each node. A sample without any of its meta-labels is not a training sample of the node.
    """
    marked: list[npt.NDArray[np.int8]] = [columns] * len(hierarchy)
    for number in reversed(range(len(hierarchy))):
        groups, children = hierarchy[number]
        marked[number] = np.array(
            [
                columns[group[0]] if child == LEAF else marked[child].max(axis=0)
                for group, child in zip(groups, children, strict=True)
            ]
        )
    return marked


def describe_hierarchy(hierarchy: Hierarchy, names: Sequence[Any] | npt.NDArray[Any]) -> str:
    """Format a hierarchy as text, with one line per meta-label.

    Examples
    --------
    >>> root = Node([np.array([0, 2]), np.array([1])], [1, LEAF])
    >>> coast = Node([np.array([0]), np.array([2])], [LEAF, LEAF])
    >>> print(describe_hierarchy([root, coast], ["sea", "field", "beach"]))
    3 labels
    ├── 2 labels
    │   ├── sea
    │   └── beach
    └── field
    """
    n_labels = sum(len(group) for group in hierarchy[0].groups)
    lines = ["1 label" if n_labels == 1 else f"{n_labels} labels"]
    for group, trail in _walk(hierarchy):
        before = "".join("    " if last else "│   " for last in trail[:-1])
        text = str(names[group[0]]) if len(group) == 1 else f"{len(group)} labels"
        lines.append(before + ("└── " if trail[-1] else "├── ") + text)
    return "\n".join(lines)


def draw_hierarchy(hierarchy: Hierarchy, names: Sequence[Any] | npt.NDArray[Any]) -> Figure:
    """Plot a hierarchy from its root on the left to the names of the labels on the right.

    The figure is created without pyplot.
    """
    require("A figure", "matplotlib")
    from matplotlib.figure import Figure

    order = [int(group[0]) for group, _ in _walk(hierarchy) if len(group) == 1]
    heights = {label: float(height) for height, label in enumerate(order)}
    middles = np.zeros(len(hierarchy))
    depths = np.zeros(len(hierarchy), dtype=np.int64)
    figure = Figure(figsize=(6, 1 + 0.22 * len(order)), layout="constrained")
    axes = figure.add_subplot()
    for number, node in enumerate(hierarchy):
        depths[[child for child in node.children if child != LEAF]] = depths[number] + 1
    for number in reversed(range(len(hierarchy))):
        groups, children = hierarchy[number]
        left, right = depths[number], depths[number] + 1
        ends = [heights[g[0]] if c == LEAF else middles[c] for g, c in zip(groups, children, strict=True)]
        middles[number] = (ends[0] + ends[-1]) / 2
        axes.plot([left, left], [ends[0], ends[-1]], color="0.35", linewidth=1.2)
        for group, end in zip(groups, ends, strict=True):
            axes.plot([left, right], [end, end], color="0.35", linewidth=1.2)
            if len(group) == 1:
                axes.annotate(str(names[group[0]]), (right, end), (4, 0), textcoords="offset points", va="center")
    axes.set(title=f"Hierarchy of {len(order)} labels", ylim=(len(order) - 0.5, -0.5))
    axes.set_axis_off()
    return figure


def _walk(hierarchy: Hierarchy) -> Iterator[tuple[Indices, tuple[bool, ...]]]:
    """Yield every meta-label in depth-first order, and for it and each of its ancestors whether it is a last child."""
    waiting = _meta_labels(hierarchy[0], ())
    while waiting:
        group, child, trail = waiting.pop()
        yield group, trail
        if child != LEAF:
            waiting.extend(_meta_labels(hierarchy[child], trail))


def _meta_labels(node: Node, trail: tuple[bool, ...]) -> list[tuple[Indices, int, tuple[bool, ...]]]:
    last = len(node.groups) - 1
    return [(node.groups[g], node.children[g], (*trail, g == last)) for g in reversed(range(last + 1))]
