"""Classifier chains, where the previous labels are features of the next one: greedy, probabilistic, and in ensembles.

A probabilistic chain follows several paths. A path consists of the values of the first labels of the chain. The next
label extends every path with 0 and with 1; then the most probable paths of each sample are kept (beam search), or
random paths (Monte Carlo).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from fuselearn._messages import show
from fuselearn._parameters import check_choice, check_whole_number
from fuselearn.fusion import Problem, Trained
from fuselearn.learners import LabelModel, Learner
from fuselearn.learners.learner import Counts, Indices
from fuselearn.multilabel.base import Labels, MultilabelBase, Scores, Weights, train_labels, train_method
from fuselearn.multilabel.ensemble import MultilabelEnsemble
from fuselearn.multilabel.methods.binary_relevance import as_estimators


class PathSearch(NamedTuple):
    """How paths are chosen: the most probable ones, or random ones from given random numbers."""

    n_paths: int
    """Paths per sample."""
    uniforms: Scores | None
    """Uniform random numbers of shape (n_paths, n_labels), or None for the most probable paths."""


class Paths(NamedTuple):
    """Paths of samples, in the order of the samples."""

    samples: Indices
    """The sample of each path."""
    labels: Labels
    """The values of the labels so far, in the order of the chain, of shape (n_paths, n_labels_so_far)."""
    logs: npt.NDArray[np.float64]
    """Logarithm of the probability of each path."""
    weights: npt.NDArray[np.float64]
    """Weight of each path in the marginals; those of a sample sum to one."""


def follow_paths(models: list[LabelModel], search: PathSearch, X: Any, only: Indices | None) -> tuple[Scores, Paths]:
    """Return the marginals of all labels, in the order of the chain, and the paths at its end."""
    p = models[0].scores(X, only=only)[:, 0]
    n_samples = len(p)
    marginals = np.empty((n_samples, len(models)))
    paths = Paths(
        np.arange(n_samples), np.empty((n_samples, 0), dtype=np.int8), np.zeros(n_samples), np.ones(n_samples)
    )
    path_of_draw = np.repeat(np.arange(n_samples)[:, None], search.n_paths, axis=1)
    for place, model in enumerate(models):
        if place:
            p = _score_paths(model, paths, X, only, n_samples)
        marginals[:, place] = np.bincount(paths.samples, paths.weights * p)
        with np.errstate(divide="ignore"):
            steps = np.log(np.column_stack([1.0 - p, p]))
        logs = (paths.logs[:, None] + steps).ravel()
        if search.uniforms is None:
            kept, weights = keep_most_probable(np.repeat(paths.samples, 2), logs, search.n_paths)
        else:  # identical paths of a sample are merged
            is_one = search.uniforms[:, place] < p[path_of_draw]
            kept, found = np.unique(2 * path_of_draw + is_one, return_inverse=True)
            path_of_draw = found.reshape(is_one.shape)
            weights = np.bincount(found.ravel()) / search.n_paths
        parents, values = np.divmod(kept, 2)
        labels = np.column_stack([paths.labels[parents], values.astype(np.int8)])
        paths = Paths(paths.samples[parents], labels, logs[kept], weights)
    return marginals, paths


def keep_most_probable(owners: Indices, logs: Scores, n_paths: int) -> tuple[Indices, Scores]:
    """Return the most probable paths of each sample and their weights; ties go to paths with 0.

    Parameters
    ----------
    owners : int array
        The sample of each path, in ascending order.
    logs : array
        Logarithms of the paths' probabilities; impossible paths are dropped.
    n_paths : int
        Maximum number of paths per sample.

    Examples
    --------
    >>> kept, weights = keep_most_probable(np.array([0, 0, 0, 1]), np.log([0.2, 0.6, 0.2, 1.0]), 2)
    >>> kept, weights.round(2)
    (array([1, 0, 3]), array([0.75, 0.25, 1.  ]))
    """
    order = np.lexsort((-logs, owners))
    order = order[logs[order] > -np.inf]
    first = np.searchsorted(owners[order], owners[order])
    is_kept = np.arange(len(order)) - first < n_paths
    kept, best = order[is_kept], order[first[is_kept]]
    weights = np.exp(logs[kept] - logs[best])
    return kept, weights / np.bincount(owners[kept], weights)[owners[kept]]


def find_best_sets(paths: Paths) -> Labels:
    """Return the labels of the most probable path of each sample, in the order of the chain."""
    order = np.lexsort((-paths.logs, paths.samples))
    best = order[np.searchsorted(paths.samples[order], np.arange(paths.samples[-1] + 1))]
    return paths.labels[best]


def _score_paths(
    model: LabelModel, paths: Paths, X: Any, only: Indices | None, batch_size: int
) -> npt.NDArray[np.float64]:
    """Return the probability of the next label for each path, in batches of n_samples paths.

    The kernel values of all paths at once could take many times the memory of those of the samples.
    """
    samples = paths.samples if only is None else only[paths.samples]
    parts = [slice(start, start + batch_size) for start in range(0, len(samples), batch_size)]
    return np.concatenate([model.scores(X, appended=paths.labels[part], only=samples[part])[:, 0] for part in parts])


def train_chain(
    learner: Learner,
    Y: Labels,
    counts: Counts,
    seed: int,
    *,
    order: npt.NDArray[np.intp],
    search: PathSearch | None = None,
    weights: Weights | None = None,
) -> Chain:
    """Train the models of a chain, each on the features and the true values of the previous labels.

    Parameters
    ----------
    learner : Learner
    Y : array of shape (n_samples, n_labels)
    counts, seed, weights
        As in ``Learner.train``.
    order : int array of shape (n_labels,)
        Indices of the labels in the order of the chain.
    search : PathSearch, optional
        The paths followed in prediction; by default the greedy path.
    """
    models: list[LabelModel] = []
    ordered = Y[:, order]
    for place in range(len(order)):
        extended = learner.extend(ordered, place) if place else learner
        models.append(train_labels(extended, ordered[:, [place]], counts, seed, weights=weights))
        if extended is not learner:
            extended.release()
    return Chain(order, models, search)


class Chain(LabelModel):
    """The trained models of a chain, in its order."""

    def __init__(self, order: npt.NDArray[np.intp], models: list[LabelModel], search: PathSearch | None = None) -> None:
        self.order = order
        self.models = models
        self.search = search

    def scores(self, X: Any = None, *, appended: Any = None, only: Indices | None = None) -> Scores:
        """Return the probability of each label on the greedy path, or the marginals over several paths."""
        if self.search is not None:
            return self._in_order(follow_paths(self.models, self.search, X, only)[0])
        found: list[npt.NDArray[np.float64]] = []
        for model in self.models:
            before = (np.column_stack(found) > 0.5).astype(np.int8) if found else None
            found.append(model.scores(X, appended=before, only=only)[:, 0])
        return self._in_order(np.column_stack(found))

    def decisions(self, X: Any = None, *, only: Indices | None = None) -> Scores:
        """Return the labels of the most probable path as 0 and 1, or the probabilities on the greedy path."""
        if self.search is None:
            return self.scores(X, only=only)
        best = find_best_sets(follow_paths(self.models, self.search, X, only)[1])
        return self._in_order(best.astype(np.float64))

    def _in_order(self, columns: Scores) -> Scores:
        """Reorder columns from the order of the chain to the order of the labels."""
        scores = np.empty(columns.shape)
        scores[:, self.order] = columns
        return scores


class ChainClassifier(MultilabelBase):
    """Classifier chain: each label is predicted from the features and the previous labels of the chain.

    With the labels in the order 1, ..., L of the chain, ::

        p_j(x) = P(y_j = 1 | x, y_1, ..., y_{j-1}).

    In training, the y_1, ..., y_{j-1} are the true labels. In prediction they are those of one path or of several. The
    greedy path contains the labels predicted by the chain, 1 if the probability is above 0.5, independent of
    ``decision``; early mistakes are not corrected. Several paths are those of a probabilistic classifier chain (PCC),
    where a label set y has the joint probability ::

        P(y | x) = P(y_1 | x) P(y_2 | x, y_1) ... P(y_L | x, y_1, ..., y_{L-1}),

    and the most probable set found maximizes the expected subset accuracy. ``predict_proba`` then returns the marginals
    P(y_j = 1 | x), averaged over the paths.

    Parameters
    ----------
    estimator : classifier, "tree" or None, default=None
        Base estimator: any classifier. None means ``SVMClassifier()``, "tree" ``CARTClassifier()``.
    order : None, "random" or sequence, default=None
        Order of the labels in the chain: their order in ``Y``, a random one, or a list of their indices or, if ``Y``
        is a DataFrame, of their names. Results are in the order of ``Y`` in any case.
    inference : {"greedy", "beam", "monte_carlo"}, default="greedy"
        The paths to follow: the greedy path; the most probable paths after each label; or random paths, with each label
        drawn by its probability.
    n_paths : int, default=15
        Number of paths per sample, unless inference is greedy. For the beam, 1 is the greedy path, and 2^L or more are
        exact; 15 usually suffice for the best set. Random paths estimate the marginals without bias; use 100 or more.
        Prediction time is proportional to the number of paths.
    decision : "set", float, str or rule, default=0.5
        How probabilities become labels: a threshold, or another rule of :mod:`fuselearn.multilabel.decisions`; "set"
        predicts the most probable set found.
    random_state : int, RandomState or None, default=None
        Seed of the order, of the base estimators and of random paths.
    n_jobs : int or None, default=None
        Number of threads of a model; the models of a chain are trained sequentially.

    Attributes
    ----------
    order_ : array of shape (n_labels,)
        Indices of the labels in the order of the chain.
    estimators_ : list of classifiers
        The models in the order of the chain; not available for SVMs. Each expects the previous labels as additional
        features. The model of a constant label is scikit-learn's ``DummyClassifier`` or a tree without splits.
    labels_, n_labels_, classes_, n_features_in_, feature_names_in_
        Names and number of the labels; the classes 0 and 1 of each label; number of the features; their names, if ``X``
        is a DataFrame.

    See Also
    --------
    EnsembleOfChainsClassifier : Equal votes of chains in random orders.
    BinaryRelevanceClassifier : Independent models of the labels.
    sklearn.multioutput.ClassifierChain : Chains of scikit-learn.

    Notes
    -----
    For an :class:`~fuselearn.SVMClassifier`, previous labels are encoded as -1 and 1 if features are standardized, else
    as 0 and 1; its default ``gamma`` ignores them. The Gram matrix is updated for each label instead of computed again:
    a value of the linear kernel increases by the product of the two samples' entries, and a value of the radial kernel
    is multiplied by exp(-gamma d^2), with d the difference of the entries.

    A marginal is the mean of P(y_j = 1 | x, y_1, ..., y_{j-1}) over the paths, weighted by their probabilities up to
    label j for the beam and equally for random paths. All samples share the random numbers of the paths, so predictions
    for a sample do not depend on the others.

    References
    ----------
    Read, J., Pfahringer, B., Holmes, G. and Frank, E. (2011). Classifier chains for multi-label classification.
    Machine Learning 85(3), 333-359.

    Dembczynski, K., Cheng, W. and Huellermeier, E. (2010). Bayes optimal multilabel classification via probabilistic
    classifier chains. ICML, 279-286.

    Kumar, A., Vembu, S., Menon, A. K. and Elkan, C. (2013). Beam search algorithms for multilabel learning. Machine
    Learning 92(1), 65-89.

    Read, J., Martino, L. and Luengo, D. (2014). Efficient Monte Carlo methods for multi-dimensional learning with
    classifier chains. Pattern Recognition 47(3), 1535-1546.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from fuselearn.multilabel import ChainClassifier
    >>> X, Y = make_multilabel_classification(n_samples=200, n_classes=4, random_state=0)
    >>> model = ChainClassifier("tree", order=[3, 1, 0, 2]).fit(X[:150], Y[:150])
    >>> model.predict(X[150:153])
    array([[0, 0, 0, 1],
           [1, 1, 0, 0],
           [0, 0, 1, 0]])
    >>> probabilistic = ChainClassifier("tree", inference="beam", decision="set").fit(X[:150], Y[:150])
    >>> probabilistic.predict(X[150:152])
    array([[0, 0, 0, 1],
           [0, 1, 0, 0]])
    >>> probabilistic.predict_proba(X[150:152]).round(2)
    array([[0.43, 0.16, 0.06, 0.79],
           [0.12, 0.84, 0.25, 0.11]])
    """

    _own_decision = "set"

    def __init__(
        self,
        estimator: Any = None,
        *,
        order: str | Sequence[Any] | None = None,
        inference: str = "greedy",
        n_paths: int = 15,
        decision: Any = 0.5,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.order = order
        self.inference = inference
        self.n_paths = n_paths
        self.decision = decision
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _check_parameters(self) -> None:
        if isinstance(self.order, str):
            check_choice("order", self.order, ("random",))
        check_choice("inference", self.inference, ("greedy", "beam", "monte_carlo"))
        check_whole_number("n_paths", self.n_paths, 1)

    def _train(self, problem: Problem) -> Trained:
        rng, n_labels = problem.rng, problem.target.n_columns
        order = self._read_order(rng)
        search = None
        if self.inference != "greedy":
            is_random = self.inference == "monte_carlo"
            search = PathSearch(self.n_paths, rng.random((self.n_paths, n_labels)) if is_random else None)
        method = partial(train_chain, order=order, search=search)
        return train_method(problem, method, int(rng.integers(2**31)))

    @property
    def order_(self) -> npt.NDArray[np.intp]:
        """Indices of the labels in the order of the chain."""
        check_is_fitted(self)
        return self._chain().order

    def _chain(self) -> Any:
        model = self._fused_.models[0]
        return model if isinstance(model, Chain) else model.model

    def _read_order(self, rng: np.random.Generator) -> npt.NDArray[np.intp]:
        """Return the indices of the labels in the order of the chain."""
        numbers = np.arange(self.n_labels_)
        if self.order is None:
            return numbers
        if isinstance(self.order, str):
            return rng.permutation(self.n_labels_)
        given = list(self.order) if isinstance(self.order, Iterable) else []
        for names in (self.labels_.tolist(), numbers.tolist()):
            if len(given) == len(names) and set(given) == set(names):
                return np.array([names.index(label) for label in given])
        raise ValueError(f"order must contain each of the {self.n_labels_} labels once, not {show(self.order)}.")

    @cached_property
    def estimators_(self) -> list[Any]:
        """The fitted models in the order of the chain, as separate estimators."""
        check_is_fitted(self)
        names: list[Any] | None = list(self.feature_names_in_) if hasattr(self, "feature_names_in_") else None
        found = []
        for label, model in zip(self.order_, self._chain().models, strict=True):
            found += as_estimators(self, model, None if names is None else np.array(names, dtype=object))
            if names is not None:
                names.append(f"label {self.labels_[label]}")
        return found


def train_random_chain(learner: Learner, Y: Labels, counts: Counts, rng: np.random.Generator) -> Chain:
    """Train a chain in a random order of the labels."""
    order = rng.permutation(Y.shape[1])
    return train_chain(learner, Y, counts, int(rng.integers(2**31)), order=order)


class EnsembleOfChainsClassifier(MultilabelEnsemble):
    """Equal votes of classifier chains, each in a random order of the labels and on random samples (ECC).

    With v_tj(x) the vote of the t-th of T chains for label j, 0 or 1 or a probability, ::

        p_j(x) = (v_1j(x) + ... + v_Tj(x)) / T.

    Parameters
    ----------
    estimator : classifier, "tree" or None, default=None
        Base estimator: any classifier. None means ``SVMClassifier()``, "tree" ``CARTClassifier()``.
    n_estimators : int, default=25
        Number of chains.
    max_samples : int or float, default=1.0
        Number or fraction of samples drawn with replacement for each chain. Fractions may exceed 1: with 2.0 a chain is
        trained on 86 % of the samples instead of 63 %.
    max_features : int, float, "sqrt", "log2" or None, default=None
        Number or fraction of features drawn for each chain; "sqrt" and "log2" as in scikit-learn; None means all.
    vote : {"class", "probability"}, default="probability"
        Whether chains vote with their predicted labels or with their probabilities.
    decision : float, str or rule, default="cardinality"
        Threshold of the vote fractions, or a rule of :mod:`fuselearn.multilabel.decisions`, which is fitted to
        out-of-bag votes. The default is the authors' choice.
    callback : callable or None, default=None
        ``callback(number, classifier)`` is called after each member, counted from 1; True ends training.
    verbose : int, default=0
        1 prints about ten lines of progress with the remaining time, 2 one line per chain.
    random_state : int, RandomState or None, default=None
        Seed of the sampling, of the orders and of the base estimators.
    n_jobs : int or None, default=None
        Number of chains trained in parallel. Results do not depend on it.

    Attributes
    ----------
    estimators_ : list of ChainClassifier
    estimator_weights_ : array of shape (n_estimators,)
        The same weight for all members.
    oob_decision_function_ : array of shape (n_samples, n_labels)
        Out-of-bag votes, if ``decision`` needs them; NaN for samples that every member was trained on.
    labels_, n_labels_, classes_, n_features_in_, feature_names_in_
        Names and number of the labels; the classes 0 and 1 of each label; number of the features; their names, if ``X``
        is a DataFrame.

    See Also
    --------
    ChainClassifier : A single chain, on all samples.
    EnsembleOfBinaryRelevanceClassifier : Members with independent models of the labels.

    Notes
    -----
    Ten chains that vote with labels have so few distinct scores that labels tie. On five datasets, their label ranking
    average precision is 0.795, compared with 0.840 for 25 chains that vote with probabilities; 50 chains are no better.
    With these votes, the cardinality threshold has a macro F1 of 0.665 and a micro F1 of 0.742, a threshold of 0.5 has
    0.640 and 0.728 (``python -m benchmarks chain_votes``).

    References
    ----------
    Read, J. et al. (2011). Classifier chains for multi-label classification. Machine Learning 85(3), 333-359.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from fuselearn.multilabel import EnsembleOfChainsClassifier
    >>> X, Y = make_multilabel_classification(n_samples=200, n_classes=4, random_state=0)
    >>> model = EnsembleOfChainsClassifier("tree", random_state=0).fit(X[:150], Y[:150])
    >>> model.predict_proba(X[150:152]).round(2)
    array([[0.59, 0.16, 0.42, 0.85],
           [0.63, 0.66, 0.45, 0.23]])
    """

    def _train(self, problem: Problem) -> Trained:
        return self._train_bags(problem, train_random_chain)

    def _member(self, model: Chain) -> ChainClassifier:
        return ChainClassifier(self.estimator, order=model.order.tolist())
