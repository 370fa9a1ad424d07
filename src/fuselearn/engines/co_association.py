"""A kernel on many clusterings of the same samples: how seldom two samples are in the same cluster."""

from __future__ import annotations

from fuselearn._kernels import kernel

NOT_DRAWN = -1
NO_CLUSTER = -2


@kernel
def fill_distances(clusters, start, stop, distances):  # type: ignore[no-untyped-def]
    """Write the distances between some samples and all after them, in the order of SciPy's condensed matrices.

    The distance of two samples is the share of the clusterings of both in which they are in different clusters, 1 if
    there is no such clustering. Row i of ``clusters`` has the cluster of sample i in each clustering, `NOT_DRAWN`, or
    `NO_CLUSTER` for noise, which is in no cluster with any other sample.
    """
    n_samples, n_members = clusters.shape
    for i in range(start, stop):
        place = i * n_samples - i * (i + 1) // 2
        for j in range(i + 1, n_samples):
            n_both, n_together = 0, 0
            for m in range(n_members):
                first, second = clusters[i, m], clusters[j, m]
                n_both += (first != NOT_DRAWN) & (second != NOT_DRAWN)
                n_together += (first == second) & (first >= 0)
            distances[place] = 1.0 if n_both == 0 else 1.0 - n_together / n_both
            place += 1
