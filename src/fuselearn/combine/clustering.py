"""Consensus clustering: many clusterings of the same samples, combined into one."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed
from scipy import sparse
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.sparse.linalg import svds
from scipy.spatial.distance import squareform
from sklearn.base import BaseEstimator, ClusterMixin, clone
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score
from sklearn.utils.validation import check_is_fitted

from fuselearn import _core
from fuselearn._compat import take_rows
from fuselearn._messages import show
from fuselearn._parameters import (
    check_choice,
    check_whole_number,
    count_draws,
    count_threads,
    make_generator,
    seed_estimator,
)
from fuselearn.base import validate_rows
from fuselearn.combine.members import Member, read_members
from fuselearn.learners.learner import Scores

# Instead of the cluster of a sample: it was not drawn, or it is noise.
NOT_DRAWN = -1
NO_CLUSTER = -2

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

Clusters = npt.NDArray[np.int32]

METHODS = ("average", "single", "spectral")
# Maximum number of samples; their pairwise distances, and SciPy's copy, take 14 GB.
MAX_SAMPLES = 30_000
# Lower bound of the evidence; smaller values are set to it.
MIN_EVIDENCE = 0.005
# Maximum number of clusters chosen by the method "spectral".
MAX_CLUSTERS = 20
SAMPLES_DRAWN = 500


class ConsensusClustering(ClusterMixin, BaseEstimator):
    """Consensus clustering by evidence accumulation: samples often clustered together form a final cluster.

    Experimental: parameters, defaults and results may change in any minor release.

    Each member is a clustering of a random subset of the samples. The evidence c_ij that two samples belong together is
    the fraction of members with both samples in one cluster, among the members that contain both. The final clusters
    are computed from the co-association matrix C = (c_ij). Members may be weak, and may have far more clusters than the
    data: k-means with many clusters cuts a ring into different pieces each time, and C joins the pieces.

    .. versionadded:: 0.2

    Parameters
    ----------
    estimators : clusterer, list of (name, clusterer) or None, default=None
        The clusterers of the members, used in turn; each must have ``fit_predict``. None means k-means with a random
        number of clusters between sqrt(n_samples) / 2 and sqrt(n_samples).
    n_clusters : int or None, default=None
        Number of clusters. None selects the number with the longest lifetime: the largest factor by which the threshold
        of c_ij can change without changing the number; for "spectral", the number with the largest eigenvalue gap.
    n_estimators : int, default=50
        Number of members.
    max_samples : int or float, default=0.8
        Number or fraction of samples drawn without replacement for each member.
    method : {"average", "single", "spectral"}, default="average"
        How clusters are computed from C. "average" linkage of 1 - C suits overlapping clusters, and "single" linkage
        suits separated clusters of any shape. "spectral", the normalized cut of the graph with the weights C, suits
        clusters of unequal sizes, and more than 30,000 samples, since it needs no pairwise distances.
    random_state : int, RandomState or None, default=None
        Seed of the sampling, of the numbers of clusters, and of the clusterers.
    n_jobs : int or None, default=None
        Number of members trained in parallel. Results do not depend on it.

    Attributes
    ----------
    labels_ : array of shape (n_samples,)
        Cluster of each sample, numbered from 0 by first occurrence.
    n_clusters_ : int
        Number of clusters.
    members_ : int32 array of shape (n_samples, n_estimators)
        Cluster of each sample in each member; -1 for samples that were not drawn, -2 for noise.
    member_names_ : list of str
        Name of the clusterer of each member.
    lifetimes_ : array
        The lifetimes of 2, 3, ... clusters: the range of the threshold, as the logarithm of a factor, or the gap
        between eigenvalues.
    stability_ : array of shape (n_samples,)
        Mean of c_ij over the other samples of the same cluster, near 1 for stable samples.
    n_features_in_, feature_names_in_
        The number of features; their names, if ``X`` is a DataFrame with string column names.

    See Also
    --------
    sklearn.cluster.KMeans : The default members.
    sklearn.ensemble.BaggingClassifier : Bagging for classification.

    Notes
    -----
    Fred and Jain measure lifetimes as differences. Members with many clusters rarely contain two samples of one cluster
    together, so parts of a cluster may be joined at an evidence of 0.05, and different clusters at 0.001. Both
    differences are small, but the second is large as a factor. Evidence below 0.005 is set to 0.005.

    References
    ----------
    Fred, A. L. N. and Jain, A. K. (2005). Combining multiple clusterings using evidence accumulation. IEEE Transactions
    on Pattern Analysis and Machine Intelligence 27(6), 835-850.

    Strehl, A. and Ghosh, J. (2002). Cluster ensembles: a knowledge reuse framework for combining multiple partitions.
    Journal of Machine Learning Research 3, 583-617.

    Examples
    --------
    Two half moons, which k-means does not separate:

    >>> from sklearn.cluster import KMeans
    >>> from sklearn.datasets import make_moons
    >>> from sklearn.metrics import adjusted_rand_score
    >>> from fuselearn.combine import ConsensusClustering
    >>> X, y = make_moons(300, noise=0.05, random_state=0)
    >>> round(adjusted_rand_score(y, KMeans(2, random_state=0).fit_predict(X)), 2)
    0.23
    >>> consensus = ConsensusClustering(random_state=0).fit(X)
    >>> consensus.n_clusters_, round(adjusted_rand_score(y, consensus.labels_), 2)
    (2, 0.99)
    """

    labels_: npt.NDArray[np.intp]
    n_clusters_: int
    members_: Clusters
    member_names_: list[str]
    lifetimes_: Scores
    stability_: Scores

    def __init__(
        self,
        estimators: Any = None,
        n_clusters: int | None = None,
        *,
        n_estimators: int = 50,
        max_samples: int | float = 0.8,
        method: str = "average",
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimators = estimators
        self.n_clusters = n_clusters
        self.n_estimators = n_estimators
        self.max_samples = max_samples
        self.method = method
        self.random_state = random_state
        self.n_jobs = n_jobs

    def __sklearn_tags__(self) -> Any:
        """Return scikit-learn's tags of the estimator."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the members and combine their clusterings.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)
            Samples, as accepted by the clusterers.
        y : None
            Ignored.

        Returns
        -------
        ConsensusClustering
        """
        clusterers = self._read_clusterers()
        check_choice("method", self.method, METHODS)
        check_whole_number("n_estimators", self.n_estimators, 1)
        X = validate_rows(self, X, reset=True)
        n_samples = X.shape[0]
        self._check_sizes(n_samples)
        rng = make_generator(self.random_state)
        n_drawn = min(count_draws(self.max_samples, n_samples, largest_fraction=1.0), n_samples)
        turns = [clusterers[m % len(clusterers)] for m in range(self.n_estimators)]
        self.member_names_ = [clusterer.name for clusterer in turns]
        members = Parallel(n_jobs=self.n_jobs)(
            delayed(_cluster_part)(clusterer.estimator, X, n_drawn, seed)
            for clusterer, seed in zip(turns, rng.integers(2**31, size=self.n_estimators).tolist(), strict=True)
        )
        self.members_ = np.column_stack(members)
        divide = self._divide_graph if self.method == "spectral" else self._divide_hierarchy
        self.labels_ = _number_by_first(divide(int(rng.integers(2**31))))
        self.n_clusters_ = int(self.labels_.max()) + 1
        self.stability_ = _measure_stability(self.members_, self.labels_)
        return self

    def co_association(self) -> Scores:
        """Return the co-association matrix C: the fraction of members with both samples in one cluster.

        Returns
        -------
        array of shape (n_samples, n_samples)
            1 on the diagonal.
        """
        check_is_fitted(self)
        self._refuse_many(len(self.members_))
        return 1.0 - squareform(measure_distances(self.members_, count_threads(self.n_jobs)))

    def agreement(self) -> pd.DataFrame:
        """Compare each member with the consensus, on the samples drawn for the member.

        Returns
        -------
        DataFrame
            One row per member: its clusterer, its number of clusters, the adjusted Rand index and the normalized mutual
            information. A member with many more clusters may still agree, if its clusters are parts of the final
            clusters; its adjusted Rand index is then small, its mutual information larger.
        """
        check_is_fitted(self)
        import pandas as pd

        rows = []
        for name, member in zip(self.member_names_, self.members_.T, strict=True):
            drawn = member != NOT_DRAWN
            own, final = member[drawn], self.labels_[drawn]
            n_clusters = len(np.unique(own[own >= 0]))
            rows.append((name, n_clusters, adjusted_rand_score(final, own), normalized_mutual_info_score(final, own)))
        return pd.DataFrame(rows, columns=["clusterer", "n_clusters", "adjusted_rand", "normalized_mutual_info"])

    def plot_stability(self) -> Figure:
        """Plot the co-association matrix, sorted by cluster and stability, and the lifetimes.

        At most 500 evenly spaced samples are shown.

        Returns
        -------
        matplotlib.figure.Figure
        """
        check_is_fitted(self)
        from matplotlib.figure import Figure

        order = np.lexsort([-self.stability_, self.labels_])
        order = order[np.linspace(0, len(order) - 1, min(len(order), SAMPLES_DRAWN)).astype(np.intp)]
        fractions = 1.0 - squareform(measure_distances(self.members_[order], 1))
        figure = Figure(figsize=(9.0, 4.0), layout="constrained")
        left, right = figure.subplots(1, 2)
        picture = left.imshow(fractions, vmin=0.0, vmax=1.0, cmap="Blues", interpolation="nearest")
        for end in np.flatnonzero(np.diff(self.labels_[order])) + 0.5:
            left.axhline(end, color="#444444", linewidth=0.8)
            left.axvline(end, color="#444444", linewidth=0.8)
        left.set(title="fraction with both in one cluster", xlabel="samples, by cluster", xticks=[], yticks=[])
        figure.colorbar(picture, ax=left, shrink=0.8)
        shown = self.lifetimes_[: max(MAX_CLUSTERS, self.n_clusters_)]
        numbers = range(2, len(shown) + 2)
        right.bar(numbers, shown, color=["#1f77b4" if k == self.n_clusters_ else "#bbbbbb" for k in numbers])
        right.set(title=f"{self.n_clusters_} clusters", xlabel="number of clusters", ylabel="lifetime")
        right.xaxis.get_major_locator().set_params(integer=True)
        right.spines[["top", "right"]].set_visible(False)
        return figure

    def _read_clusterers(self) -> list[Member]:
        """Return the clusterers by name; by default, k-means with a random number of clusters."""
        if self.estimators is None:
            return [Member("k-means", None)]
        named = self.estimators
        if not isinstance(named, list | tuple):
            named = [(type(named).__name__, named)]
        clusterers = read_members(named, reserved=set())
        for name, clusterer, *_ in clusterers:
            if not isinstance(clusterer, BaseEstimator) or not hasattr(clusterer, "fit_predict"):
                raise TypeError(f"estimators: {name!r} must be a clusterer with fit_predict, not {show(clusterer)}.")
        return clusterers

    def _check_sizes(self, n_samples: int) -> None:
        if n_samples < 2:
            raise ValueError(f"Clustering needs at least 2 samples, but n_samples = {n_samples}.")
        if self.n_clusters is not None and check_whole_number("n_clusters", self.n_clusters, 1) > n_samples:
            raise ValueError(f"n_clusters={self.n_clusters} is more than the number of samples, {n_samples}.")
        if self.method != "spectral":
            self._refuse_many(n_samples)

    def _refuse_many(self, n_samples: int) -> None:
        if n_samples > MAX_SAMPLES:
            raise ValueError(
                f"The distances of all pairs of {n_samples:,} samples would take {8e-9 * n_samples**2:.0f} GB; "
                f'use method="spectral", or at most {MAX_SAMPLES:,} samples.'
            )

    def _divide_hierarchy(self, seed: int) -> npt.NDArray[np.int32]:
        distances = measure_distances(self.members_, count_threads(self.n_jobs))
        tree = linkage(distances, self.method)
        evidence = 1.0 - np.append(tree[::-1, 2], 0.0)  # evidence[k - 2] is that which joins k clusters to k - 1
        self.lifetimes_ = np.diff(np.log(evidence + MIN_EVIDENCE))
        return fcluster(tree, self._choose_number(), "maxclust")

    def _divide_graph(self, seed: int) -> npt.NDArray[np.int32]:
        """Divide the graph of the samples by its normalized cut.

        With Z the indicator matrix of samples by clusters of all members, the weights of the graph are Z Z', up to the
        number of times that two samples were drawn together. The eigenvectors of the normalized matrix are the singular
        vectors of D^-1/2 Z, so no pairwise matrix is needed.
        """
        table = _mark_clusters(self.members_)
        degrees = table @ np.asarray(table.sum(axis=0)).ravel()
        scaled = sparse.diags_array(1.0 / np.sqrt(np.maximum(degrees, 1.0))) @ table
        n_wanted = MAX_CLUSTERS if self.n_clusters is None else self.n_clusters
        n_vectors = min(n_wanted + 1, min(scaled.shape) - 1)
        if n_vectors < 1:
            self.lifetimes_ = np.empty(0)
            return np.zeros(len(self.members_), dtype=np.int32)
        start = np.random.default_rng(seed).normal(size=min(scaled.shape))
        vectors, values, _ = svds(scaled.astype(np.float64), n_vectors, v0=start)
        vectors, values = vectors[:, ::-1], values[::-1] ** 2
        self.lifetimes_ = values[1:-1] - values[2:]
        n_clusters = min(self._choose_number(), n_vectors)
        points = vectors[:, :n_clusters]
        points = points / np.maximum(np.linalg.norm(points, axis=1, keepdims=True), np.finfo(float).tiny)
        return KMeans(n_clusters, n_init=10, random_state=seed).fit_predict(points)

    def _choose_number(self) -> int:
        """Return the given number of clusters, or the one with the longest lifetime; ties go to the smallest."""
        if self.n_clusters is not None:
            return self.n_clusters
        return int(self.lifetimes_.argmax()) + 2 if len(self.lifetimes_) else 1


def _cluster_part(clusterer: Any, X: Any, n_drawn: int, seed: int) -> Clusters:
    """Cluster some of the samples."""
    rng = np.random.default_rng(seed)
    samples = np.sort(rng.choice(X.shape[0], n_drawn, replace=False))
    if clusterer is None:
        root = math.sqrt(X.shape[0])
        n_clusters = int(rng.integers(max(2, round(root / 2)), max(2, round(root)) + 1))
        clusterer = KMeans(min(n_clusters, n_drawn), n_init=1)
    model = seed_estimator(clone(clusterer), int(rng.integers(2**31)))
    found = np.asarray(model.fit_predict(take_rows(X, samples)))
    clusters = np.full(X.shape[0], NOT_DRAWN, dtype=np.int32)
    clusters[samples] = np.where(found < 0, NO_CLUSTER, found)
    return clusters


def _mark_clusters(members: Clusters) -> sparse.csr_array:
    """Return the indicator matrix of samples by clusters of all members."""
    widths = members.max(axis=0, initial=-1) + 1
    samples, numbers = np.nonzero(members >= 0)
    columns = (np.cumsum(widths) - widths)[numbers] + members[samples, numbers]
    shape = (len(members), int(widths.sum()))
    return sparse.csr_array((np.ones(len(samples)), (samples, columns)), shape=shape)


def _measure_stability(members: Clusters, labels: npt.NDArray[np.intp]) -> Scores:
    """Return the mean co-association of each sample with the other samples of its cluster."""
    together, both = np.zeros(len(labels)), np.zeros(len(labels))
    for member in members.T:
        drawn = np.flatnonzero(member != NOT_DRAWN)
        own = labels[drawn]
        both[drawn] += np.bincount(own)[own] - 1
        kept = drawn[member[drawn] >= 0]
        pairs = labels[kept] * (member.max() + 1) + member[kept]
        together[kept] += np.bincount(pairs)[pairs] - 1
    return np.divide(together, both, out=np.ones(len(labels)), where=both > 0)


def _number_by_first(labels: npt.NDArray[Any]) -> npt.NDArray[np.intp]:
    """Return clusters numbered from 0, in the order of their first samples."""
    _, first, places = np.unique(labels, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[places]


def measure_distances(clusters: npt.NDArray[np.signedinteger], n_threads: int) -> npt.NDArray[np.float64]:
    """Compute the distances between samples as a condensed matrix of SciPy.

    The distance of two samples is the fraction of the clusterings with both samples in which they are in different
    clusters, 1 if no clustering contains both.

    Parameters
    ----------
    clusters : int array of shape (n_samples, n_clusterings)
        The cluster of each sample in each clustering, `NOT_DRAWN`, or `NO_CLUSTER` for noise, which is in no cluster
        with any other sample.
    n_threads : int

    Examples
    --------
    >>> measure_distances(np.array([[0, 3, 1], [0, 4, 2], [-1, 4, -2]]), 1)
    array([0.66666667, 1.        , 0.5       ])
    """
    largest = max(clusters.max(initial=0), clusters.shape[1])
    if largest <= np.iinfo(np.int16).max:
        return _core.measure_distances_i2(clusters.astype(np.int16), n_threads)
    return _core.measure_distances_i4(clusters.astype(np.int32), n_threads)
