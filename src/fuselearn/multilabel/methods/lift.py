"""LIFT: binary relevance on features of each label's own, distances to clusters of samples with and without it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed
from sklearn.cluster import KMeans
from sklearn.metrics.pairwise import euclidean_distances

from fuselearn._compat import take_rows
from fuselearn._messages import show
from fuselearn._parameters import check_choice, check_number
from fuselearn.fusion import Problem, Trained
from fuselearn.learners import LabelModel, Learner, bind, count_all_samples
from fuselearn.learners.learner import Indices
from fuselearn.multilabel.base import MultilabelBase, Scores, Weights, single, train_labels
from fuselearn.multilabel.methods.nearest import SCALINGS, NumberTable, measure_scale, scale

N_STARTS = 10


def train_lift(problem: Problem, base: Any, *, ratio: float = 0.1, scaling: str | None = "standard") -> Trained:
    """Train LIFT; the parameters are those of :class:`LIFTClassifier`, ``base`` the base estimator."""
    learner: Any = problem.learner
    table, weights = learner.bound.table, problem.weights
    factors = measure_scale(table, scaling)
    scaled, seed = scale(table, factors), int(problem.rng.integers(2**31))
    parts = Parallel(n_jobs=problem.n_jobs, prefer="threads")(
        delayed(_train_label)(base, scaled, label, weights, ratio, seed) for label in problem.target.values.T
    )
    trained = single(LIFTModel(parts, factors), problem)
    trained.trace = {"centers_": [part.centers for part in parts]}
    return trained


class LabelPart(NamedTuple):
    """The centers of a label's clusters, and the model of the distances to them; None if the label is constant."""

    centers: npt.NDArray[np.float64]
    coder: Any
    """What prepares distances for the model; None if it takes them as they are."""
    model: Any

    def scores(self, X: Any) -> npt.NDArray[np.float64]:
        """Return the probability of the label."""
        distances = euclidean_distances(X, self.centers)
        return self.model.scores(distances if self.coder is None else self.coder.transform(distances))[:, 0]


class LIFTModel(LabelModel):
    """The trained models of all labels."""

    def __init__(self, parts: list[LabelPart], factors: npt.NDArray[np.float64]) -> None:
        self.parts = parts
        self.factors = factors

    def scores(self, X: Any = None, *, appended: Any = None, only: Indices | None = None) -> Scores:
        """Return the probability of each label; 0 for a constant one."""
        X = scale(X if only is None else take_rows(X, only), self.factors)
        scores = np.zeros((X.shape[0], len(self.parts)))
        for j, part in enumerate(self.parts):
            if part.model is not None:
                scores[:, j] = part.scores(X)
        return scores


def _train_label(base: Any, table: Any, label: Any, weights: Weights | None, ratio: float, seed: int) -> LabelPart:
    """Cluster the samples of a label, and train its model on the distances to the centers."""
    used = np.ones(len(label), dtype=bool) if weights is None else weights > 0
    sides = [np.flatnonzero(used & (label == value)) for value in (1, 0)]
    n_clusters = int(np.ceil(ratio * min(map(len, sides)) - 1e-9))
    if n_clusters == 0:
        return LabelPart(np.empty((0, table.shape[1])), None, None)
    centers = np.vstack([_cluster(table[side], n_clusters, weights, side, seed) for side in sides])
    learner = bind(base, euclidean_distances(table, centers), 1)
    counts, own_weights = count_all_samples(weights, len(label), copies=learner.counts_copies)
    model = train_labels(learner, label[:, None], counts, seed, weights=own_weights)
    learner.release()
    return LabelPart(centers, learner.coder, model)


def _cluster(
    table: Any, n_clusters: int, weights: Weights | None, side: npt.NDArray[np.intp], seed: int
) -> npt.NDArray[np.float64]:
    """Return the centers of clusters by k-means."""
    own = None if weights is None else weights[side]
    return KMeans(n_clusters, n_init=N_STARTS, random_state=seed).fit(table, sample_weight=own).cluster_centers_


class LIFTClassifier(MultilabelBase):
    """Binary relevance on features of each label's own: distances to clusters of samples (LIFT).

    For each label, the samples that have it, P, and those that do not, N, are clustered by k-means, each into ::

        m = ceil(ratio * min(|P|, |N|))  clusters.

    The label's model learns from 2 m features: the distances of a sample to the centers of the clusters, which show
    whether it is among samples with or without the label.

    .. versionadded:: 0.2

    Parameters
    ----------
    estimator : classifier, "tree" or None, default=None
        Base estimator: any classifier. None means ``SVMClassifier()``, "tree" ``CARTClassifier()``.
    ratio : float, default=0.1
        Clusters per sample of the rarer kind, in (0, 1]; 0.1 is the value of the paper.
    scaling : {"standard", "minmax"} or None, default="standard"
        Whether features are divided by their standard deviation, by their range, or not at all before distances are
        measured; None is the paper's.
    decision : float, str or rule, default=0.5
        How probabilities become labels: a threshold, or another rule of :mod:`fuselearn.multilabel.decisions`.
    random_state : int, RandomState or None, default=None
        Seed of the clusters and of the base estimators.
    n_jobs : int or None, default=None
        Labels learned at the same time. Results do not depend on it.

    Attributes
    ----------
    centers_ : list of arrays of shape (2 m, n_numbers)
        The centers of each label's clusters, those of the samples with the label first, in scaled features; categorical
        features are columns of 0 and 1. A label that is constant has none.
    labels_, n_labels_, classes_, n_features_in_, feature_names_in_
        Names and number of the labels, and 0 and 1 for each; number of the features, and their names if they have any.

    See Also
    --------
    BinaryRelevanceClassifier : One model per label on the features themselves.

    Notes
    -----
    The paper's base estimator is a support vector machine with a linear kernel,
    ``LIFTClassifier(SVMClassifier(kernel="linear"))``.

    References
    ----------
    Zhang, M.-L. and Wu, L. (2015). LIFT: multi-label learning with label-specific features. IEEE Transactions on
    Pattern Analysis and Machine Intelligence 37(1), 107-120.

    Examples
    --------
    >>> from sklearn.metrics import f1_score
    >>> from fuselearn.datasets import make_digit_pairs
    >>> from fuselearn.multilabel import LIFTClassifier
    >>> X, Y = make_digit_pairs(600, random_state=0)
    >>> model = LIFTClassifier(random_state=0).fit(X[:400], Y[:400])
    >>> round(f1_score(Y[400:], model.predict(X[400:]), average="macro"), 2)
    0.71
    """

    _input_tags = (("allow_nan", False), ("sparse", True))

    def __init__(
        self,
        estimator: Any = None,
        *,
        ratio: float = 0.1,
        scaling: str | None = "standard",
        decision: Any = 0.5,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.ratio = ratio
        self.scaling = scaling
        self.decision = decision
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _check_parameters(self) -> None:
        if not 0.0 < check_number("ratio", self.ratio, 0.0) <= 1.0:
            raise ValueError(f"ratio must be in (0, 1], not {show(self.ratio)}.")
        if self.scaling is not None:
            check_choice("scaling", self.scaling, SCALINGS)

    def _bind(self, X: Any, n_threads: int) -> Learner:
        return NumberTable(X, "distances to clusters")

    def _train(self, problem: Problem) -> Trained:
        return train_lift(problem, self._base_estimator(), ratio=self.ratio, scaling=self.scaling)
