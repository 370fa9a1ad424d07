"""Balanced k-means over labels, given how often each two of them occur together."""

import numpy as np

from fuselearn._kernels import kernel


@kernel
def cluster_labels(co_occurrences, first, capacity, most_rounds):  # type: ignore[no-untyped-def]
    """Divide labels into clusters of at most ``capacity``, starting from some labels as the centres."""
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
