"""Classifier chains: each label's model sees the labels before it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from fuselearn._messages import show
from fuselearn._parameters import check_choice
from fuselearn.learners import Component, Learner
from fuselearn.multilabel.learning.base import Labels, MultilabelClassifier, Scores, Weights
from fuselearn.multilabel.methods.binary_relevance import Counts, as_estimators

Indices = npt.NDArray[np.intp]


class ChainClassifier(MultilabelClassifier):
    """Two-class models in a chain, in which each label is learned from the features and the labels before it.

    With the labels in the order 1, ..., L of the chain, ::

        p_j(x) = P(y_j = 1 | x, y_1, ..., y_{j-1}).

    In training, the y_1, ..., y_{j-1} are the true labels. In prediction they are those that the chain has predicted:
    1 where the probability is above 0.5, else 0, whatever ``decision`` makes of the probabilities afterwards.

    Parameters
    ----------
    estimator : classifier, "tree" or None, default=None
        Base learner: any classifier. None means ``SVMClassifier()``, "tree" ``CARTClassifier()``.
    order : None, "random" or sequence, default=None
        Order of the labels in the chain: their order in ``Y``, a random one, or a list of their numbers or, if ``Y``
        is a DataFrame, of their names. Results are in the order of ``Y`` in any case.
    decision : float, str or rule, default=0.5
        How probabilities become labels: a threshold, or another rule of :mod:`fuselearn.multilabel.decisions`.
    random_state : int, RandomState or None, default=None
        Seed of the order and of the base learners.
    n_jobs : int or None, default=None
        Threads that a model may use; the models of a chain are trained one after the other.

    Attributes
    ----------
    order_ : array of shape (n_labels,)
        Numbers of the labels in the order of the chain.
    estimators_ : list of classifiers
        The models in the order of the chain, unless they are machines of the SVM engine. Each expects the labels before
        it as further features. A label that was constant has scikit-learn's ``DummyClassifier``, or a tree without
        splits.
    labels_, n_labels_, classes_, n_features_in_, feature_names_in_
        Names and number of the labels, and 0 and 1 for each; number of the features, and their names if they have any.

    See Also
    --------
    EnsembleOfChainsClassifier : Equal votes of chains in random orders.
    ProbabilisticChainClassifier : The most probable label set of a chain, by beam search or random paths.
    BinaryRelevanceClassifier : Each label on its own.
    sklearn.multioutput.ClassifierChain : Chains of scikit-learn.

    Notes
    -----
    To an :class:`~fuselearn.SVMClassifier`, labels before are -1 and 1 beside standardised features, and 0 and 1 beside
    others; its default ``gamma`` does not count them. It needs no new Gram matrix for a label that joins the features:
    with g = ``gamma``, a linear value grows by the product of the two samples' entries, and a radial one shrinks by the
    factor exp(-g d^2), d being the difference of the entries.

    References
    ----------
    Read, J., Pfahringer, B., Holmes, G. and Frank, E. (2011). Classifier chains for multi-label classification.
    Machine Learning 85(3), 333-359.

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
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        order: str | Sequence[Any] | None = None,
        decision: Any = 0.5,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.order = order
        self.decision = decision
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _check_parameters(self) -> None:
        if isinstance(self.order, str):
            check_choice("order", self.order, ("random",))

    def _fit_labels(self, X: Any, Y: Labels, weights: Weights | None, rng: np.random.Generator) -> None:
        self.order_ = self._read_order(rng)
        self._fit_one(partial(train_chain, order=self.order_), X, Y, weights, rng)

    def _read_order(self, rng: np.random.Generator) -> Indices:
        """Return the numbers of the labels in the order of the chain."""
        numbers = np.arange(self.n_labels_)
        if self.order is None:
            return numbers
        if isinstance(self.order, str):
            return rng.permutation(self.n_labels_)
        given = list(self.order) if isinstance(self.order, Iterable) else []
        for names in (self.labels_.tolist(), numbers.tolist()):
            if len(given) == len(names) and set(given) == set(names):
                return np.array([names.index(label) for label in given])
        raise ValueError(f"order must name each of the {self.n_labels_} labels once, not {show(self.order)}.")

    @cached_property
    def estimators_(self) -> list[Any]:
        """The fitted models in the order of the chain, as estimators of their own."""
        check_is_fitted(self)
        names: list[Any] | None = list(self.feature_names_in_) if hasattr(self, "feature_names_in_") else None
        found = []
        (chain,), learner = self._fused_.members, self._fused_.learner
        for label, component in zip(self.order_, chain.components, strict=True):
            found += as_estimators(component, learner, None if names is None else np.array(names, dtype=object))
            if names is not None:
                names.append(f"label {self.labels_[label]}")
        return found


class Chain:
    """The trained models of a chain, in its order."""

    def __init__(self, order: Indices, components: list[Component]) -> None:
        self.order = order
        self.components = components

    def probabilities(self, rows: Any = None, only: npt.NDArray[np.integer] | None = None) -> Scores:
        """Return the probability of each label; see :class:`~fuselearn.multilabel.learning.fusion.LabelModel`."""
        found: list[npt.NDArray[np.float64]] = []
        for component in self.components:
            extra = (np.column_stack(found) > 0.5).astype(np.int8) if found else None
            found.append(component.scores(rows, extra, only)[:, 0])
        scores = np.empty((len(found[0]), len(found)))
        scores[:, self.order] = np.column_stack(found)
        return scores

    scores = probabilities

    def unbind(self) -> None:
        """Release the training data."""
        for component in self.components:
            component.unbind()


def train_chain(
    learner: Learner,
    Y: Labels,
    counts: Counts,
    seed: int,
    *,
    order: Indices,
    weights: Weights | None = None,
) -> Chain:
    """Train the models of a chain, each on the table and the true labels before it.

    Parameters
    ----------
    learner : Learner
        It stays as it is.
    Y : array of shape (n_samples, n_labels)
    counts, seed, weights
        As in ``Learner.train``.
    order : int array of shape (n_labels,)
        Numbers of the labels in the order of the chain.
    """
    components: list[Component] = []
    ordered = Y[:, order]
    for place in range(len(order)):
        extended = learner.extend(ordered, place) if place else learner
        components.append(extended.train(ordered[:, [place]], counts, seed, weights=weights))
        if extended is not learner:
            extended.unbind()
    return Chain(order, components)
