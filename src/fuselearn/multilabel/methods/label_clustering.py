"""Divide labels into groups: balanced k-means, k-means, or at random.

A label is a point: its column of zeros and ones, one coordinate per sample. Distances between labels and centres are
computed from the co-occurrences of labels,

    ||y_a - mean of C||^2 = G_aa - 2/|C| sum over b in C of G_ab + 1/|C|^2 sum over b, c in C of G_bc,     G = Y' W Y,

with W the diagonal matrix of sample weights. So the samples are read once, for G. A subset of the labels only needs its
part of G, even if samples without any of these labels are left out: they add nothing to it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from fuselearn.engines.labels import cluster_labels

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

    Starting from the columns of ``n_clusters`` random labels as centres, every label goes to its nearest centre. A
    cluster with too many labels passes its farthest one to the nearest centre that has not yet passed it on, until no
    cluster is too large. This terminates: a cluster that has passed a label on stays full, and the clusters together
    have capacity for all labels. The means of the clusters are the next centres, until nothing changes, for at most 100
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
