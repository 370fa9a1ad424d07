"""Probabilistic classifier chains: the most probable label set of a chain, and the marginals of its labels."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from fuselearn._parameters import check_choice, check_whole_number
from fuselearn.learners import Component, Learner
from fuselearn.multilabel.learning.base import Labels, Scores, Weights
from fuselearn.multilabel.methods.binary_relevance import Counts
from fuselearn.multilabel.methods.chain import Chain, ChainClassifier, Indices, train_chain


class ProbabilisticChainClassifier(ChainClassifier):
    """A classifier chain that searches for the most probable set of labels (PCC).

    With the labels in the order 1, ..., L of the chain, a set of labels y has the joint probability ::

        P(y | x) = P(y_1 | x) P(y_2 | x, y_1) ... P(y_L | x, y_1, ..., y_{L-1}).

    :class:`ChainClassifier` follows one path, which takes the more probable value of each label in turn; an early
    mistake is never undone. This class follows several paths. It predicts the most probable set that it found, which
    is right if the whole set has to be (subset accuracy); ``predict_proba`` returns the marginals P(y_j = 1 | x),
    averaged over the paths, which rank labels.

    .. versionadded:: 0.2

    Parameters
    ----------
    estimator : classifier, "tree" or None, default=None
        Base learner: any classifier with probabilities. None means ``SVMClassifier()``, "tree" ``CARTClassifier()``.
    inference : {"beam", "monte_carlo"}, default="beam"
        Which paths are followed: the most probable ones after each label, or random ones, in which each label is drawn
        by its probability.
    n_paths : int, default=15
        Number of paths per sample. With the beam, 1 is the greedy path of :class:`ChainClassifier`, and 2^L or more
        are all sets, so that results are exact; 15 is mostly enough for the best set. Random paths give marginals
        without bias, and take 100 or more for a similar certainty. Prediction takes time in proportion.
    order : None, "random" or sequence, default=None
        Order of the labels in the chain: their order in ``Y``, a random one, or a list of their numbers or, if ``Y``
        is a DataFrame, of their names. Results are in the order of ``Y`` in any case.
    decision : "set", float, str or rule, default="set"
        "set" predicts the most probable set found. Other rules are applied to the marginals: a threshold, or a rule of
        :mod:`fuselearn.multilabel.decisions`.
    random_state : int, RandomState or None, default=None
        Seed of the order, of the base learners and of random paths.
    n_jobs : int or None, default=None
        Threads that a model may use; the models of a chain are trained one after the other.

    Attributes
    ----------
    order_ : array of shape (n_labels,)
        Numbers of the labels in the order of the chain.
    estimators_ : list of classifiers
        The models in the order of the chain, as those of :class:`ChainClassifier`.
    labels_, n_labels_, classes_, n_features_in_, feature_names_in_
        Names and number of the labels, and 0 and 1 for each; number of the features, and their names if they have any.

    See Also
    --------
    ChainClassifier : The greedy path, with the same models.
    EnsembleOfChainsClassifier : Votes of chains in random orders.

    Notes
    -----
    A marginal is the mean of P(y_j = 1 | x, y_1, ..., y_{j-1}) over the paths, weighted by their probabilities up to
    label j for the beam and equally for random paths. All samples share the random numbers of the paths, so predictions
    for a sample do not depend on the others.

    References
    ----------
    Dembczynski, K., Cheng, W. and Huellermeier, E. (2010). Bayes optimal multilabel classification via probabilistic
    classifier chains. ICML, 279-286.

    Kumar, A., Vembu, S., Menon, A. K. and Elkan, C. (2013). Beam search algorithms for multilabel learning. Machine
    Learning 92(1), 65-89.

    Read, J., Martino, L. and Luengo, D. (2014). Efficient Monte Carlo methods for multi-dimensional learning with
    classifier chains. Pattern Recognition 47(3), 1535-1546.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from fuselearn.multilabel import ProbabilisticChainClassifier
    >>> X, Y = make_multilabel_classification(n_samples=200, n_classes=4, random_state=0)
    >>> model = ProbabilisticChainClassifier("tree").fit(X[:150], Y[:150])
    >>> model.predict(X[150:152])
    array([[0, 0, 0, 1],
           [0, 1, 0, 0]])
    >>> model.predict_proba(X[150:152]).round(2)
    array([[0.43, 0.16, 0.06, 0.79],
           [0.12, 0.84, 0.25, 0.11]])
    """

    _own_decision = "set"

    def __init__(
        self,
        estimator: Any = None,
        *,
        inference: str = "beam",
        n_paths: int = 15,
        order: str | Sequence[Any] | None = None,
        decision: Any = "set",
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(estimator, order=order, decision=decision, random_state=random_state, n_jobs=n_jobs)
        self.inference = inference
        self.n_paths = n_paths

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice("inference", self.inference, ("beam", "monte_carlo"))
        check_whole_number("n_paths", self.n_paths, 1)

    def _fit_labels(self, X: Any, Y: Labels, weights: Weights | None, rng: np.random.Generator) -> None:
        self.order_ = self._read_order(rng)
        is_random = self.inference == "monte_carlo"
        uniforms = rng.random((self.n_paths, self.n_labels_)) if is_random else None
        train = partial(_train_probabilistic_chain, order=self.order_, n_paths=self.n_paths, uniforms=uniforms)
        self._fit_one(train, X, Y, weights, rng)


class Paths(NamedTuple):
    """Beginnings of label sets, one path after the other, in the order of the samples."""

    samples: Indices
    """The sample of each path."""
    labels: Labels
    """The values of the labels so far, in the order of the chain, of shape (n_paths, n_labels_so_far)."""
    logs: npt.NDArray[np.float64]
    """Logarithm of the probability of each path."""
    shares: npt.NDArray[np.float64]
    """Weight of each path in the marginals; those of a sample sum to one."""


class Search(Protocol):
    """Which paths are followed."""

    def choose(self, samples: Indices, chances: Scores, logs: Scores) -> tuple[Indices, Scores]:
        """Choose among the paths with one more label.

        Parameters
        ----------
        samples : int array of shape (n_paths,)
        chances : array of shape (n_paths,)
            The probability that the next label is 1 after each path.
        logs : array of shape (2 * n_paths,)
            The logarithms of the probabilities of the continued paths: each path with 0 and with 1.

        Returns
        -------
        kept : int array
            Numbers of the continued paths, in the order of the samples.
        shares : array
            Their weights in the marginals.
        """
        ...


class BeamSearch:
    """The most probable paths of each sample; of equal ones, those with 0."""

    def __init__(self, width: int) -> None:
        self.width = width

    def choose(self, samples: Indices, chances: Scores, logs: Scores) -> tuple[Indices, Scores]:
        """Keep at most ``width`` paths of each sample, without those that are impossible."""
        owners = np.repeat(samples, 2)
        order = np.lexsort((-logs, owners))
        order = order[logs[order] > -np.inf]
        first = np.searchsorted(owners[order], owners[order])
        is_kept = np.arange(len(order)) - first < self.width
        kept, best = order[is_kept], order[first[is_kept]]
        shares = np.exp(logs[kept] - logs[best])
        return kept, shares / np.bincount(owners[kept], shares)[owners[kept]]


class MonteCarloSearch:
    """Random paths: the next label of each is drawn by its probability. Equal paths of a sample are followed once."""

    def __init__(self, uniforms: Scores) -> None:
        self.uniforms = uniforms
        self.place = 0
        self.path_of_draw: Indices | None = None

    def choose(self, samples: Indices, chances: Scores, logs: Scores) -> tuple[Indices, Scores]:
        """Draw the next label of all paths."""
        n_draws = len(self.uniforms)
        path = np.repeat(samples[:, None], n_draws, axis=1) if self.path_of_draw is None else self.path_of_draw
        is_one = self.uniforms[:, self.place] < chances[path]
        kept, found = np.unique(2 * path + is_one, return_inverse=True)
        self.path_of_draw = found.reshape(path.shape)
        self.place += 1
        return kept, np.bincount(found.ravel()) / n_draws


class ProbabilisticChain(Chain):
    """The trained models of a chain, of which several paths are followed.

    Parameters
    ----------
    chain : Chain
    n_paths : int
        Paths per sample.
    uniforms : array of shape (n_paths, n_labels), optional
        Uniform random numbers of random paths; without them, the most probable paths are followed.
    """

    def __init__(self, chain: Chain, n_paths: int, uniforms: Scores | None) -> None:
        super().__init__(chain.order, chain.components)
        self.n_paths = n_paths
        self.uniforms = uniforms

    def probabilities(self, rows: Any = None, only: npt.NDArray[np.integer] | None = None) -> Scores:
        """Return the marginal of each label; see :class:`~fuselearn.multilabel.learning.fusion.LabelModel`."""
        return self._follow(rows, only)[0]

    def scores(self, rows: Any = None, only: npt.NDArray[np.integer] | None = None) -> Scores:
        """Return 1 for the labels of the most probable path, and 0 for others."""
        marginals, paths = self._follow(rows, only)
        order = np.lexsort((-paths.logs, paths.samples))
        best = order[np.searchsorted(paths.samples[order], np.arange(len(marginals)))]
        chosen = np.empty_like(marginals)
        chosen[:, self.order] = paths.labels[best]
        return chosen

    def _follow(self, rows: Any, only: npt.NDArray[np.integer] | None) -> tuple[Scores, Paths]:
        """Return the marginals of all labels, and the paths at the end of the chain."""
        search: Search = BeamSearch(self.n_paths) if self.uniforms is None else MonteCarloSearch(self.uniforms)
        chances = self.components[0].scores(rows, None, only)[:, 0]
        n_samples = len(chances)
        marginals = np.empty((n_samples, len(self.order)))
        paths = Paths(
            np.arange(n_samples), np.empty((n_samples, 0), dtype=np.int8), np.zeros(n_samples), np.ones(n_samples)
        )
        for place, label in enumerate(self.order):
            if place:
                chances = _score_paths(self.components[place], paths, rows, only, n_samples)
            marginals[:, label] = np.bincount(paths.samples, paths.shares * chances)
            paths = _continue_paths(paths, chances, search)
        return marginals, paths


def _score_paths(
    component: Component, paths: Paths, rows: Any, only: npt.NDArray[np.integer] | None, at_once: int
) -> npt.NDArray[np.float64]:
    """Return the probability of the next label after each path, of as many paths at once as there are samples.

    The kernel values of all paths at once could take many times the memory of those of the samples.
    """
    asked = paths.samples if only is None else only[paths.samples]
    parts = [slice(start, start + at_once) for start in range(0, len(asked), at_once)]
    return np.concatenate([component.scores(rows, paths.labels[part], asked[part])[:, 0] for part in parts])


def _continue_paths(paths: Paths, chances: npt.NDArray[np.float64], search: Search) -> Paths:
    """Append a label to all paths, with 0 or 1 or both."""
    with np.errstate(divide="ignore"):
        steps = np.log(np.column_stack([1.0 - chances, chances]))
    logs = (paths.logs[:, None] + steps).ravel()
    kept, shares = search.choose(paths.samples, chances, logs)
    parents, values = np.divmod(kept, 2)
    labels = np.column_stack([paths.labels[parents], values.astype(np.int8)])
    return Paths(paths.samples[parents], labels, logs[kept], shares)


def _train_probabilistic_chain(
    learner: Learner,
    Y: Labels,
    counts: Counts,
    seed: int,
    *,
    order: Indices,
    n_paths: int,
    uniforms: Scores | None,
    weights: Weights | None = None,
) -> ProbabilisticChain:
    return ProbabilisticChain(train_chain(learner, Y, counts, seed, order=order, weights=weights), n_paths, uniforms)
