"""Divide labels into groups: balanced k-means, k-means, or at random.

A label is a point: its column of zeros and ones, a coordinate per row. Distances between labels and centres follow from
how often each two labels occur together,

    ||y_a - mean of C||^2 = G_aa - 2/|C| sum over b in C of G_ab + 1/|C|^2 sum over b, c in C of G_bc,     G = Y' W Y,

with W the rows' weights on its diagonal. So the rows are read once, for G. A part of the labels needs no other table
than its part of G, also if rows without any of these labels are left out: such rows add nothing to it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from fuselearn._kernels import kernel

MOST_ROUNDS = 100

Matrix = npt.NDArray[np.float64]
Clusters = npt.NDArray[np.int64]


def count_co_occurrences(Y: npt.NDArray[np.int8], weights: npt.NDArray[np.number]) -> Matrix:
    """Sum up the weights of the rows that each two labels have in common.

    Parameters
    ----------
    Y : array of shape (n_rows, n_labels)
        Zeros and ones.
    weights : array of shape (n_rows,)
        How much each row counts, such as how often it was drawn.

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

    Starting from the columns of ``n_clusters`` random labels as centres, every label goes to its nearest centre. A
    cluster with too many labels sends its farthest one on to the nearest centre that has not yet sent it away, until no
    cluster is too large. That ends: a cluster that has sent a label away stays full, and all of them together have room
    for all labels. The means of the clusters are the next centres, until nothing changes or 100 rounds are over.

    Parameters
    ----------
    co_occurrences : array of shape (n_labels, n_labels)
        From :func:`count_co_occurrences`.
    n_clusters : int
        With as many clusters as labels or more, every label is a cluster of its own.
    rng : numpy.random.Generator
        Draws the first centres.

    Returns
    -------
    int array of shape (n_labels,)
        Each label's cluster, from 0 to ``n_clusters - 1``; a cluster may be empty.

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
    """Shuffle the labels and deal them to the clusters in turn, so that sizes differ by one at most.

    Parameters and result are those of :func:`balanced_kmeans`; of the co-occurrences only their number matters.
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
    return _run_rounds(np.ascontiguousarray(co_occurrences, dtype=np.float64), first, capacity, MOST_ROUNDS)


@kernel
def _run_rounds(co_occurrences, first, capacity, most_rounds):  # type: ignore[no-untyped-def]
    n_labels = len(co_occurrences)
    clusters = np.full(n_labels, -1)
    for c in range(len(first)):
        clusters[first[c]] = c
    for _ in range(most_rounds):
        renewed = _assign(_measure_distances(co_occurrences, clusters, len(first)), capacity)
        if (renewed == clusters).all():
            break
        clusters = renewed
    return clusters


@kernel
def _measure_distances(co_occurrences, clusters, n_clusters):  # type: ignore[no-untyped-def]
    """Return the squared distance of each label to the mean of each cluster; that of an empty one is infinite."""
    n_labels = len(co_occurrences)
    distances = np.zeros((n_labels, n_clusters))
    sizes = np.zeros(n_clusters)
    inner = np.zeros(n_clusters)
    for b in range(n_labels):
        if clusters[b] >= 0:
            sizes[clusters[b]] += 1
    for a in range(n_labels):
        for b in range(n_labels):
            if clusters[b] >= 0:
                distances[a, clusters[b]] += co_occurrences[a, b]
        if clusters[a] >= 0:
            inner[clusters[a]] += distances[a, clusters[a]]
    for a in range(n_labels):
        for c in range(n_clusters):
            if sizes[c] == 0:
                distances[a, c] = np.inf
            else:
                with_mean = distances[a, c] / sizes[c]
                distances[a, c] = co_occurrences[a, a] - 2 * with_mean + inner[c] / sizes[c] ** 2
    return distances


@kernel
def _assign(distances, capacity):  # type: ignore[no-untyped-def]
    """Assign each label to its nearest cluster, of those that are not full of labels nearer to them."""
    n_labels, n_clusters = distances.shape
    clusters = np.full(n_labels, -1)
    sizes = np.zeros(n_clusters, dtype=np.int64)
    open_distances = distances.copy()
    for newcomer in range(n_labels):
        label = newcomer
        while label >= 0:
            chosen = np.argmin(open_distances[label])
            clusters[label] = chosen
            sizes[chosen] += 1
            if sizes[chosen] <= capacity:
                break
            farthest = -1
            for a in range(n_labels):
                if clusters[a] == chosen and (farthest < 0 or distances[a, chosen] > distances[farthest, chosen]):
                    farthest = a
            open_distances[farthest, chosen] = np.inf
            clusters[farthest] = -1
            sizes[chosen] -= 1
            label = farthest
    return clusters
