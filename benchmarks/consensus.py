"""Consensus clustering: time and memory on many samples, and what it finds where k-means does not.

``python -m benchmarks consensus [N_SAMPLES]``, 20,000 by default.
"""

from __future__ import annotations

import resource
import sys
import time

from sklearn.cluster import KMeans
from sklearn.datasets import load_wine, make_blobs, make_circles, make_moons
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

from benchmarks.timing import pick
from fuselearn.combine import ConsensusClustering


def compare_shapes() -> None:
    wine = load_wine()
    shapes = {
        "two moons": make_moons(300, noise=0.05, random_state=0),
        "two rings": make_circles(400, factor=0.4, noise=0.04, random_state=0),
        "four blobs": make_blobs(300, centers=4, cluster_std=0.8, random_state=1),
        "wine": (StandardScaler().fit_transform(wine.data), wine.target),
    }
    print("adjusted Rand index: k-means with the true number of clusters, and consensus without it")
    for name, (X, y) in list(shapes.items())[: pick(None, 1)]:
        means = KMeans(len(set(y)), n_init=10, random_state=0).fit_predict(X)
        consensus = ConsensusClustering(random_state=0).fit(X)
        own = adjusted_rand_score(y, consensus.labels_)
        print(f"{name:10}  {adjusted_rand_score(y, means):.2f}  {own:.2f} with {consensus.n_clusters_} clusters")


def measure(n_samples: int) -> None:
    X, y = make_blobs(n_samples, 10, centers=8, cluster_std=3.0, random_state=0)
    for method in ("spectral", "average"):
        start = time.perf_counter()
        model = ConsensusClustering(n_clusters=8, method=method, random_state=0, n_jobs=pick(-1, 1)).fit(X)
        seconds = time.perf_counter() - start
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        index = adjusted_rand_score(y, model.labels_)
        print(f"{n_samples:,} samples, {method}: {seconds:.0f} s, peak {peak:.1f} GiB so far, index {index:.2f}")


def main(n_samples: str = pick("20000", "100")) -> None:
    compare_shapes()
    measure(int(n_samples))


if __name__ == "__main__":
    main(*sys.argv[1:])
