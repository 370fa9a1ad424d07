"""Hierarchies of labels, and the clusterings that divide labels into groups.

The root of the tree contains all labels, each leaf a single label. A node divides its labels into groups, the
*meta-labels*. A sample has a meta-label if it has any of the group's labels. A group of several labels is the label set
of a child node; a group of one label is a leaf. The code is not recursive, because a tree may be as deep as the number
of labels.

Labels are clustered by balanced k-means, by k-means, or at random. For clustering, a label is its column of Y, a point
with one coordinate per sample. Distances between labels and centers are computed from the co-occurrences of labels,

    ||y_a - mean of C||^2 = G_aa - 2/|C| sum over b in C of G_ab + 1/|C|^2 sum over b, c in C of G_bc,     G = Y' W Y,

with W the diagonal matrix of sample weights, so samples are only read once, to compute G. A node uses the submatrix of
its labels; samples without any of these labels do not change it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from fuselearn._core import cluster_labels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LEAF = -1

Group = npt.NDArray[np.int64]


Hierarchy = Sequence[tuple[list[Group], list[int]]]
"""Nodes, each with its groups and their child nodes; the root is first and children follow their parents."""

MOST_ROUNDS = 100

Matrix = npt.NDArray[np.float64]
Clusters = npt.NDArray[np.int64]


def count_co_occurrences(Y: npt.NDArray[np.int8], weights: npt.NDArray[np.number]) -> Matrix:
    """Compute the total weight of the samples with both labels, for each pair of labels.

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

    The initial centers are the columns of ``n_clusters`` random labels. Every label is assigned to its nearest center.
    While a cluster has too many labels, its farthest label moves to the nearest center that the label has not left yet.
    This terminates, because a cluster that a label has left stays full, and the clusters together have capacity for all
    labels. The means of the clusters are the next centers, for at most 100 iterations.

    Parameters
    ----------
    co_occurrences : array of shape (n_labels, n_labels)
        As returned by :func:`count_co_occurrences`.
    n_clusters : int
        If there are at least as many clusters as labels, every label is a separate cluster.
    rng : numpy.random.Generator
        Draws the initial centers.

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
    """Divide labels by k-means with a single random start and clusters of any size.

    Parameters and result are those of :func:`balanced_kmeans`.
    """
    return _cluster(co_occurrences, n_clusters, len(co_occurrences), rng)


def deal(co_occurrences: Matrix, n_clusters: int, rng: np.random.Generator) -> Clusters:
    """Divide labels at random into clusters whose sizes differ by at most one.

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


def mark_meta_labels(hierarchy: Hierarchy, columns: npt.NDArray[np.int8]) -> list[npt.NDArray[np.int8]]:
    """Return the meta-labels of all samples for each node.

    Parameters
    ----------
    hierarchy : list of Node
    columns : array of shape (n_labels, n_samples)
        Zeros and ones, one row per label.

    Returns
    -------
    list of arrays of shape (n_groups, n_samples)
        One indicator matrix for each node. Samples without any meta-label are not training samples of the node.
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
    >>> root = [np.array([0, 2]), np.array([1])], [1, LEAF]
    >>> coast = [np.array([0]), np.array([2])], [LEAF, LEAF]
    >>> print(describe_hierarchy([root, coast], ["sea", "field", "beach"]))
    3 labels
    ├── 2 labels
    │   ├── sea
    │   └── beach
    └── field
    """
    n_labels = sum(len(group) for group in hierarchy[0][0])
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
    from matplotlib.figure import Figure

    order = [int(group[0]) for group, _ in _walk(hierarchy) if len(group) == 1]
    heights = {label: float(height) for height, label in enumerate(order)}
    middles = np.zeros(len(hierarchy))
    depths = np.zeros(len(hierarchy), dtype=np.int64)
    figure = Figure(figsize=(6, 1 + 0.22 * len(order)), layout="constrained")
    axes = figure.add_subplot()
    for number, (_, children) in enumerate(hierarchy):
        depths[[child for child in children if child != LEAF]] = depths[number] + 1
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


def _walk(hierarchy: Hierarchy) -> Iterator[tuple[Group, tuple[bool, ...]]]:
    """Yield every meta-label in depth-first order, and whether it and each of its ancestors is a last child."""
    waiting = _meta_labels(hierarchy[0], ())
    while waiting:
        group, child, trail = waiting.pop()
        yield group, trail
        if child != LEAF:
            waiting.extend(_meta_labels(hierarchy[child], trail))


def _meta_labels(
    node: tuple[list[Group], list[int]], trail: tuple[bool, ...]
) -> list[tuple[Group, int, tuple[bool, ...]]]:
    groups, children = node
    last = len(groups) - 1
    return [(groups[g], children[g], (*trail, g == last)) for g in reversed(range(last + 1))]


def order_by_content(columns: npt.NDArray[np.int8]) -> npt.NDArray[np.int64]:
    """Sort labels by their values, so that random choices depend neither on their order nor on repeated samples.

    Examples
    --------
    >>> order_by_content(np.array([[1, 0], [0, 1], [0, 0]], dtype=np.int8))
    array([2, 1, 0])
    """
    return np.array(sorted(range(len(columns)), key=[column.tobytes() for column in columns].__getitem__))


def are_constant(columns: npt.NDArray[np.int8]) -> bool:
    """Return whether all columns are constant."""
    return columns.shape[1] == 0 or bool((columns == columns[:, :1]).all())
