"""HOMER written plainly: drawn rows are copied, and every meta-label gets an SVC of its own.

It grows the same kind of hierarchy as ``HOMERClassifier`` with the same settings, on columns that were standardized
once. Linear products are divided by the number of columns, which for an SVC means a cost divided by it. Nothing is
calibrated: a probability would be a logistic of the margin.
"""

from __future__ import annotations

import numpy as np
from sklearn.cluster import KMeans
from sklearn.svm import SVC


class PlainHOMER:
    """One hierarchy, trained on a sample of rows that was drawn before."""

    def __init__(self, clustering: str, n_clusters: int, kernel: str, seed: int) -> None:
        self.clustering = clustering
        self.n_clusters = n_clusters
        self.kernel = kernel
        self.rng = np.random.default_rng(seed)

    def fit(self, X: np.ndarray, Y: np.ndarray) -> PlainHOMER:
        """Grow the tree of (labels, machine, child) triples."""
        self.C = 1.0 / X.shape[1] if self.kernel == "linear" else 1.0
        self.root = self._grow(X, Y, np.arange(Y.shape[1]))
        return self

    def _grow(self, X: np.ndarray, Y: np.ndarray, labels: np.ndarray) -> list:
        groups = self._divide(Y, labels)
        meta = np.column_stack([Y[:, group].any(axis=1) for group in groups])
        inside = meta.any(axis=1)
        node = []
        for group, has in zip(groups, meta.T, strict=True):
            model = None
            if has[inside].any() and not has[inside].all():
                model = SVC(C=self.C, kernel=self.kernel, gamma="auto").fit(X[inside], has[inside])
            child = self._grow(X[has], Y[has], group) if len(group) > 1 else None
            node.append((group, model, child))
        return node

    def _divide(self, Y: np.ndarray, labels: np.ndarray) -> list[np.ndarray]:
        if self.n_clusters >= len(labels):
            return list(labels[:, None])
        points = Y[:, labels].T.astype(float)
        if self.clustering == "random" or len(np.unique(points, axis=0)) < self.n_clusters:
            clusters = self.rng.permutation(np.arange(len(labels)) % self.n_clusters)
        elif self.clustering == "kmeans":
            start = int(self.rng.integers(2**31))
            clusters = KMeans(self.n_clusters, init="random", n_init=1, max_iter=100, random_state=start).fit_predict(
                points
            )
        else:
            clusters = self._balance(points)
        groups = []
        for cluster in np.unique(clusters):
            group = labels[clusters == cluster]
            groups.extend([group] if Y[:, group].any() else list(group[:, None]))
        return groups

    def _balance(self, points: np.ndarray) -> np.ndarray:
        """Divide by k-means; full clusters send their farthest points away."""
        most = -(-len(points) // self.n_clusters)
        centers = points[self.rng.choice(len(points), self.n_clusters, replace=False)]
        clusters = np.full(len(points), -1)
        for _ in range(100):
            distances = ((points[:, None, :] - centers) ** 2).sum(axis=2)
            before, clusters = clusters, distances.argmin(axis=1)
            while (sizes := np.bincount(clusters, minlength=self.n_clusters)).max() > most:
                full = int(sizes.argmax())
                members = np.flatnonzero(clusters == full)
                distances[members[distances[members, full].argmax()], full] = np.inf
                clusters = distances.argmin(axis=1)
            if (clusters == before).all():
                break
            used = np.unique(clusters)
            centers[used] = [points[clusters == cluster].mean(axis=0) for cluster in used]
        return clusters
