"""Multi-label nearest neighbors: the search, ML-kNN and BR-kNN."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from fuselearn._compat import take_rows
from fuselearn._parameters import check_choice, check_number, check_whole_number, count_threads
from fuselearn.fusion import Problem, Trained
from fuselearn.fusion.problem import OutOfBag
from fuselearn.learners import Bound, LabelModel, Learner
from fuselearn.learners.kernel_table import measure_columns
from fuselearn.learners.learner import Indices
from fuselearn.learners.table import NumberEncoder
from fuselearn.multilabel.base import MultilabelBase, Scores, find_constants, fix_constants, single
from fuselearn.multilabel.labels import UNKNOWN

# Number of additional neighbors searched, to detect ties.
SPARE = 8
# Rounding errors of squared distances are about 1e-16 of the squared length of samples; smaller differences are ties.
RESOLUTION = 1e-13
BLOCK_DISTANCES = 10_000_000

METRICS = ("euclidean", "manhattan", "cosine")
SCALINGS = ("standard", "minmax")

Floats = npt.NDArray[np.float64]


class Neighbors(NamedTuple):
    """The nearest training samples of each sample, the nearest first.

    Attributes
    ----------
    indices : int array of shape (n_samples, n_neighbors)
    distances : array of shape (n_samples, n_neighbors)
    """

    indices: npt.NDArray[np.intp]
    distances: Floats


class NumberTable(Learner):
    """A numeric table for distances; categories are one-hot encoded.

    Parameters
    ----------
    X : {array, sparse matrix, DataFrame} of shape (n_samples, n_features)
    user : str
        Name of the method, for error messages.
    """

    def __init__(self, X: Any, user: str) -> None:
        self.n_samples = X.shape[0]
        self.n_threads = 1
        self.coder = NumberEncoder(user)
        self.bound = Bound(self.coder.fit_transform(X))

    def fits(self, estimator: Any) -> bool:
        """Return True, as any estimator of numeric features can be trained on this table."""
        return True

    def release(self) -> None:
        """Release the numbers."""
        self.bound.release()


class NeighborSearch:
    """Search for the nearest training samples, after scaling; ties go to the first sample.

    Parameters
    ----------
    X : float array or sparse matrix of shape (n_samples, n_features)
        The training samples.
    metric : {"euclidean", "manhattan", "cosine"}
        How distances are measured.
    scaling : {"standard", "minmax"} or None
        As for `measure_scale`.

    Examples
    --------
    >>> search = NeighborSearch(np.array([[0.0], [2.0], [3.0]]), "euclidean", None)
    >>> search.find(np.array([[1.9]]), 2).indices
    array([[1, 2]])
    >>> search.find_others(1).indices.ravel()
    array([1, 2, 1])
    """

    def __init__(self, X: Any, metric: str, scaling: str | None) -> None:
        self.metric = metric
        self._factors = 1.0 / measure_columns(X, scaling, "nearest neighbors")[1]
        self._rows = scale(X, self._factors)
        self._step = RESOLUTION * (1.0 if metric == "cosine" else _mean_length(self._rows, metric))
        self._index: Any = None

    @property
    def n_samples(self) -> int:
        """Number of training samples."""
        return int(self._rows.shape[0])

    def find(self, X: Any, n_neighbors: int, n_jobs: int | None = None) -> Neighbors:
        """Find the nearest training samples of new samples."""
        return self._search(scale(X, self._factors), n_neighbors, n_jobs)

    def find_others(self, n_neighbors: int, n_jobs: int | None = None) -> Neighbors:
        """Find the nearest other training samples of each training sample."""
        return self._search(None, n_neighbors, n_jobs)

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without the search index, which is rebuilt on demand."""
        return {**self.__dict__, "_index": None}

    def _search(self, rows: Any, n_neighbors: int, n_jobs: int | None) -> Neighbors:
        """Search for the neighbors of samples; if ``rows`` is None, of each training sample among the others."""
        asked, own = (self._rows, 1) if rows is None else (rows, 0)
        if n_neighbors == 0:
            return Neighbors(np.empty((asked.shape[0], 0), dtype=np.intp), np.empty((asked.shape[0], 0)))
        if self._index is None:
            from sklearn.neighbors import NearestNeighbors  # slow import

            self._index = NearestNeighbors(metric=self.metric).fit(self._rows)
        index = self._index.set_params(n_jobs=n_jobs)
        n_found = min(n_neighbors + SPARE, self.n_samples - own)
        distances, indices = index.kneighbors(rows, n_found)
        steps = self._round(distances)
        found = _take_first(indices, distances, steps, n_neighbors)
        if n_found < self.n_samples - own:  # samples with more ties than neighbors found need all distances
            unsettled = np.flatnonzero(steps[:, n_neighbors - 1] == steps[:, -1])
            for part in np.array_split(unsettled, 1 + len(unsettled) * self.n_samples // BLOCK_DISTANCES):
                if len(part):
                    distances, indices = index.kneighbors(asked[part], self.n_samples)
                    if own:
                        others = indices != part[:, None]
                        distances, indices = (table[others].reshape(len(part), -1) for table in (distances, indices))
                    settled = _take_first(indices, distances, self._round(distances), n_neighbors)
                    found.indices[part], found.distances[part] = settled
        return found

    def _round(self, distances: Floats) -> Floats:
        """Round distances, or their squares, to integer multiples of a step, so that ties are equal."""
        if self.metric == "euclidean":
            return np.rint(distances**2 / self._step)
        return np.rint(distances / self._step)


def _take_first(indices: npt.NDArray[np.intp], distances: Floats, steps: Floats, n_neighbors: int) -> Neighbors:
    """Sort neighbors by distance, ties by index."""
    order = np.lexsort((indices, steps), axis=1)[:, :n_neighbors]
    kept = np.where(np.take_along_axis(steps, order, 1) > 0, np.take_along_axis(distances, order, 1), 0.0)
    return Neighbors(np.take_along_axis(indices, order, 1), kept)


def _mean_length(rows: Any, metric: str) -> float:
    """Return the mean squared norm of samples for Euclidean distances, else their mean L1 norm."""
    values = rows.data if sparse.issparse(rows) else rows
    total = float((values**2 if metric == "euclidean" else np.abs(values)).sum())
    return total / rows.shape[0] or 1.0


def scale(rows: Any, factors: Floats) -> Any:
    """Multiply each feature by a factor."""
    if not sparse.issparse(rows):
        return rows * factors
    return sparse.csr_array(rows @ sparse.diags_array(factors))


class NeighborModel(LabelModel):
    """A nearest-neighbor model: training samples with their labels.

    Parameters
    ----------
    problem : Problem
        Bound to a `NumberTable`.
    n_neighbors : int
    metric, scaling
        As for `NeighborSearch`.
    """

    def __init__(self, problem: Problem, n_neighbors: int, metric: str, scaling: str | None) -> None:
        learner: Any = problem.learner
        self.used = problem.initial_weights > 0
        self.n_neighbors = n_neighbors
        self.n_jobs = problem.n_jobs
        self.search = NeighborSearch(take_rows(learner.bound.table, np.flatnonzero(self.used)), metric, scaling)
        self.n_labels = problem.target.n_columns
        self.sample_weights = problem.initial_weights[self.used]
        self.labels = sparse.csr_array((problem.target.values[self.used] == 1).astype(np.float64))

    def scores(self, X: Any = None, *, appended: Any = None, only: Indices | None = None) -> Scores:
        """Return the probability of each label; the neighbors of a training sample exclude the sample itself."""
        if X is not None:
            X = X if only is None else take_rows(X, only)
            return self.weigh(self.search.find(X, min(self.n_neighbors, self.n_most), self.n_jobs))
        found = self.weigh(self.search.find_others(min(self.n_neighbors, self.search.n_samples - 1), self.n_jobs))
        scores = np.full((len(self.used), found.shape[1]), np.nan)
        scores[self.used] = found
        return scores if only is None else scores[only]

    @property
    def n_most(self) -> int:
        """Maximum number of neighbors of a new sample."""
        return self.search.n_samples

    def weigh(self, neighbors: Neighbors) -> Scores:
        """Return the probability of each label, given the neighbors."""
        raise NotImplementedError

    def count(
        self, neighbors: Neighbors, marked: sparse.csr_array, votes: npt.NDArray[np.float64] | None = None
    ) -> Scores:
        """Sum the votes of the neighbors with marked labels; each neighbor has one vote by default."""
        indices = neighbors.indices
        data = np.ones(indices.size) if votes is None else votes.ravel()
        ends = np.arange(indices.shape[0] + 1) * indices.shape[1]
        shape = (indices.shape[0], self.search.n_samples)
        return (sparse.csr_array((data, indices.ravel(), ends), shape=shape) @ marked).toarray()


class MLkNNModel(NeighborModel):
    """The probabilities of labels, given the number of neighbors with each label."""

    def __init__(self, problem: Problem, n_neighbors: int, metric: str, scaling: str | None, smoothing: float) -> None:
        super().__init__(problem, n_neighbors, metric, scaling)
        s, k, n_labels = smoothing, min(n_neighbors, self.n_most), self.n_labels
        Y = problem.target.values[self.used]
        has_label = Y == 1
        sample_weights = np.where(Y == UNKNOWN, 0.0, self.sample_weights[:, None])
        self.priors = (s + (has_label * sample_weights).sum(axis=0)) / (2 * s + sample_weights.sum(axis=0))
        # A histogram over: whether the sample has the label, the label, the number of neighbors with the label.
        counted = self.count(self.search.find_others(k, self.n_jobs), self.labels).astype(np.intp)
        indices = (has_label * n_labels + np.arange(n_labels)) * (k + 1) + counted
        counts = np.bincount(indices.ravel(), sample_weights.ravel(), minlength=2 * n_labels * (k + 1)).reshape(
            2, n_labels, k + 1
        )
        self.likelihoods = (s + counts) / (s * (k + 1) + counts.sum(axis=2, keepdims=True))

    @property
    def n_most(self) -> int:
        """Maximum number of neighbors, as for training samples."""
        return self.search.n_samples - 1

    def weigh(self, neighbors: Neighbors) -> Scores:
        """Return the probability of each label by Bayes' rule."""
        counted = self.count(neighbors, self.labels).astype(np.intp)
        without, with_label = self.likelihoods[:, np.arange(self.n_labels), counted]
        positive = self.priors * with_label
        return positive / (positive + (1 - self.priors) * without)


class BRkNNModel(NeighborModel):
    """The fraction of the neighbors that have a label."""

    def __init__(self, problem: Problem, n_neighbors: int, metric: str, scaling: str | None, weights: str) -> None:
        super().__init__(problem, n_neighbors, metric, scaling)
        self.weights = weights
        self.unknown = sparse.csr_array((problem.target.values[self.used] == UNKNOWN).astype(np.float64))

    def decisions(self, X: Any = None, *, only: Indices | None = None) -> Scores:
        """Return 1 for the n labels with the largest fractions, where n is the neighbors' mean number of labels."""
        X = X if only is None else take_rows(X, only)
        neighbors = self.search.find(X, min(self.n_neighbors, self.n_most), self.n_jobs)
        sizes = np.asarray(self.labels.sum(axis=1)).ravel()[neighbors.indices].mean(axis=1)
        ranks = np.argsort(np.argsort(-self.weigh(neighbors), axis=1, kind="stable"), axis=1, kind="stable")
        return (ranks < np.rint(sizes)[:, None]).astype(np.float64)

    def weigh(self, neighbors: Neighbors) -> Scores:
        """Return the weighted fraction of the neighbors with each label."""
        votes = self.sample_weights[neighbors.indices]
        if self.weights == "distance":
            votes = votes * _weigh_distances(neighbors.distances)
        positive = self.count(neighbors, self.labels, votes)
        known = votes.sum(axis=1, keepdims=True) - self.count(neighbors, self.unknown, votes)
        return np.divide(positive, known, out=np.zeros_like(positive), where=known > 0)


def train_neighbors(problem: Problem, model: NeighborModel) -> Trained:
    """Return a nearest-neighbor model as a trained ensemble, with leave-one-out scores if required."""
    out_of_bag = OutOfBag(problem.n_samples, problem.target.n_columns)
    if problem.out_of_bag and model.search.n_samples > 1:
        used = model.used
        constants = find_constants(problem.target.values[used])
        out_of_bag.add(np.flatnonzero(used), fix_constants(model.scores()[used], constants))
    return replace(single(model, problem), out_of_bag=out_of_bag)


class _NeighborClassifier(MultilabelBase):
    """Base class of both classifiers: the neighbor search and leave-one-out scores."""

    random_state = None  # training is deterministic
    _accepts_unknown = True
    _input_tags = (("allow_nan", False), ("sparse", True))

    n_neighbors: int
    metric: str
    scaling: str | None

    def _check_parameters(self) -> None:
        check_whole_number("n_neighbors", self.n_neighbors, 1)
        check_choice("metric", self.metric, METRICS)
        if self.scaling is not None:
            check_choice("scaling", self.scaling, SCALINGS)
        count_threads(self.n_jobs)

    def _make_learner(self, X: Any, n_threads: int) -> Learner:
        return NumberTable(X, "nearest neighbors")

    def _hold_out(self, problem: Problem, seed: int) -> Scores:
        """Return leave-one-out scores."""
        trained = self._train(replace(problem, out_of_bag=True))
        assert trained.out_of_bag is not None, "out_of_bag=True"
        return trained.out_of_bag.mean()


class MLkNNClassifier(_NeighborClassifier):
    """Multi-label nearest neighbors with Bayes' rule for the number of neighbors that have a label (ML-kNN).

    Let H1 and H0 be the events that a sample has label l or not, and E_j the event that j of its k neighbors have it::

        P(H1)       = (s + positives) / (2 s + n),                       P(H0) = 1 - P(H1)
        P(E_j | H1) = (s + c[j]) / (s (k + 1) + sum of c),               c[j]: positives with j positive neighbors
        P(E_j | H0) = (s + d[j]) / (s (k + 1) + sum of d),               d[j]: negatives with j positive neighbors
        p(x)        = P(H1) P(E_j | H1) / (P(H1) P(E_j | H1) + P(H0) P(E_j | H0)).

    .. versionadded:: 0.2

    Parameters
    ----------
    n_neighbors : int, default=10
        Number of neighbors k, below the number of training samples. The paper uses 10.
    smoothing : float, default=1.0
        The smoothing s of the formulas; 1 is Laplace smoothing.
    metric : {"euclidean", "manhattan", "cosine"}, default="euclidean"
        Distance metric; "cosine" with ``scaling=None`` is common for text.
    scaling : {"standard", "minmax"} or None, default="standard"
        Whether features are divided by their standard deviation, by their range, or not at all, as in the paper.
    decision : float, str or rule, default=0.5
        How labels are predicted from probabilities: a threshold, 0.5 in the paper, or a rule of
        :mod:`fuselearn.multilabel.decisions`. Rules that are fitted use leave-one-out probabilities.
    n_jobs : int or None, default=None
        Threads for the search. Results do not depend on it.

    Attributes
    ----------
    priors_ : array of shape (n_labels,)
        P(H1) of each label.
    likelihoods_ : array of shape (2, n_labels, k + 1)
        P(E_j | H0) and P(E_j | H1) of each label.
    labels_, n_labels_, classes_, n_features_in_, feature_names_in_
        Names and number of the labels; the classes 0 and 1 of each label; number of the features; their names, if ``X``
        is a DataFrame.

    See Also
    --------
    BRkNNClassifier : Probabilities are the fractions of neighbors with a label.

    Notes
    -----
    Sample weights enter the probabilities, but not the number of neighbors: each neighbor with a weight above 0 counts
    once. Unknown labels, NaN in ``y``, are ignored.

    References
    ----------
    Zhang, M.-L. and Zhou, Z.-H. (2007). ML-KNN: a lazy learning approach to multi-label learning. Pattern Recognition
    40(7), 2038-2048.

    Examples
    --------
    >>> from sklearn.metrics import f1_score
    >>> from fuselearn.datasets import make_digit_pairs
    >>> from fuselearn.multilabel import MLkNNClassifier
    >>> X, Y = make_digit_pairs(600, random_state=0)
    >>> model = MLkNNClassifier().fit(X[:400], Y[:400])
    >>> round(f1_score(Y[400:], model.predict(X[400:]), average="macro"), 2)
    0.76
    """

    def __init__(
        self,
        n_neighbors: int = 10,
        *,
        smoothing: float = 1.0,
        metric: str = "euclidean",
        scaling: str | None = "standard",
        decision: Any = 0.5,
        n_jobs: int | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.smoothing = smoothing
        self.metric = metric
        self.scaling = scaling
        self.decision = decision
        self.n_jobs = n_jobs

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if check_number("smoothing", self.smoothing, 0.0) == 0.0:
            raise ValueError("smoothing must be above 0.")

    def _train(self, problem: Problem) -> Trained:
        model = MLkNNModel(problem, self.n_neighbors, self.metric, self.scaling, self.smoothing)
        trained = train_neighbors(problem, model)
        trained.trace = {"priors_": model.priors, "likelihoods_": model.likelihoods}
        return trained


class BRkNNClassifier(_NeighborClassifier):
    """Binary relevance with nearest neighbors, which are searched once for all labels (BR-kNN).

    The probability of a label is the weighted fraction of neighbors that have it::

        p_l(x) = sum of the weights of the neighbors of x with label l / sum of the weights of all its neighbors

    .. versionadded:: 0.2

    Parameters
    ----------
    n_neighbors : int, default=10
        Number of neighbors, at most the number of training samples.
    weights : {"uniform", "distance"}, default="uniform"
        Whether neighbors have equal weights, or the inverse of their distance.
    metric : {"euclidean", "manhattan", "cosine"}, default="euclidean"
        Distance metric; "cosine" with ``scaling=None`` is common for text.
    scaling : {"standard", "minmax"} or None, default="standard"
        Whether features are divided by their standard deviation, by their range, or not at all.
    decision : float, str or rule, default=0.5
        How labels are predicted from fractions: a threshold, or a rule of :mod:`fuselearn.multilabel.decisions`.
        "at_least_one" is the paper's extension a. "set_size" is its extension b: the n labels with the largest
        fractions, where n is the rounded mean number of labels of the neighbors. Rules that are fitted use
        leave-one-out fractions.
    n_jobs : int or None, default=None
        Threads for the search. Results do not depend on it.

    Attributes
    ----------
    labels_, n_labels_, classes_, n_features_in_, feature_names_in_
        Names and number of the labels; the classes 0 and 1 of each label; number of the features; their names, if ``X``
        is a DataFrame.

    See Also
    --------
    MLkNNClassifier : Bayes' rule for the number of neighbors with a label.

    Notes
    -----
    The vote of a neighbor is multiplied by its sample weight; samples with weight 0 are never neighbors. Neighbors do
    not vote on their unknown labels, NaN in ``y``. A label that is unknown for all neighbors has the probability 0.

    References
    ----------
    Spyromitros, E., Tsoumakas, G. and Vlahavas, I. (2008). An empirical study of lazy multilabel classification
    algorithms. Artificial Intelligence: Theories, Models and Applications, LNCS 5138, 401-406.

    Examples
    --------
    >>> from fuselearn.multilabel import BRkNNClassifier
    >>> X, Y = [[0.0], [1.0], [2.0], [9.0]], [[1, 0], [1, 0], [1, 1], [0, 1]]
    >>> BRkNNClassifier(3).fit(X, Y).predict_proba([[0.5], [6.0]]).round(2)
    array([[1.  , 0.33],
           [0.67, 0.67]])
    """

    _own_decision = "set_size"

    def __init__(
        self,
        n_neighbors: int = 10,
        *,
        weights: str = "uniform",
        metric: str = "euclidean",
        scaling: str | None = "standard",
        decision: Any = 0.5,
        n_jobs: int | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.metric = metric
        self.scaling = scaling
        self.decision = decision
        self.n_jobs = n_jobs

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice("weights", self.weights, ("uniform", "distance"))

    def _train(self, problem: Problem) -> Trained:
        model = BRkNNModel(problem, self.n_neighbors, self.metric, self.scaling, self.weights)
        return train_neighbors(problem, model)


def _weigh_distances(distances: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return inverse distances; if some neighbors have distance 0, all others get weight 0."""
    is_equal = distances == 0
    nearest = np.where(is_equal, np.inf, distances).min(axis=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        inverse = nearest / distances  # at most 1, so that tiny distances do not overflow
    return np.where(is_equal.any(axis=1, keepdims=True), is_equal.astype(np.float64), inverse)
