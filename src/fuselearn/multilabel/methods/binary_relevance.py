"""Binary relevance: one two-class model per label."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.dummy import DummyClassifier
from sklearn.utils.validation import check_is_fitted

from fuselearn.learners import Component, LabelEstimators, LabelTrees, Learner, TableCoder
from fuselearn.multilabel.data.labels import UNKNOWN
from fuselearn.multilabel.learning.base import Labels, MultilabelClassifier, Scores, Weights

Counts = npt.NDArray[np.int32]


class BinaryRelevanceClassifier(MultilabelClassifier):
    """One two-class model per label, each on its own.

    The probability that sample x has label j is that of the j-th model, ::

        p_j(x) = P(y_j = 1 | x),

    so labels do not learn from each other. A model is trained on the samples of which the label is known, not NaN.

    Parameters
    ----------
    estimator : classifier, "tree" or None, default=None
        Base learner: any classifier. None means ``SVMClassifier()``, "tree" ``CARTClassifier()``.
    decision : float, str or rule, default=0.5
        How probabilities become labels: a threshold, or another rule of :mod:`fuselearn.multilabel.decisions`.
    random_state : int, RandomState or None, default=None
        Seed of the base learners.
    n_jobs : int or None, default=None
        Labels learned at the same time. Results do not depend on it.

    Attributes
    ----------
    estimators_ : list of classifiers
        One for each label, unless they are machines of the SVM engine. A label that was constant has scikit-learn's
        ``DummyClassifier``, or a tree without splits.
    feature_importances_ : array of shape (n_labels, n_features)
        The importances of each label's model, if the base learner has some, as trees and forests do.
    labels_, n_labels_, classes_, n_features_in_, feature_names_in_
        Names and number of the labels, and 0 and 1 for each; number of the features, and their names if they have any.

    See Also
    --------
    EnsembleOfBinaryRelevanceClassifier : Equal votes of such models on random samples.
    StackedBinaryRelevanceClassifier : A second model per label learns from the scores of all labels.
    ChainClassifier : Labels learn from the labels before them.
    sklearn.multioutput.MultiOutputClassifier : The same, in scikit-learn.

    References
    ----------
    Tsoumakas, G. and Katakis, I. (2007). Multi-label classification: an overview. International Journal of Data
    Warehousing and Mining 3(3), 1-13.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from fuselearn.multilabel import BinaryRelevanceClassifier
    >>> X, Y = make_multilabel_classification(n_samples=200, n_classes=4, random_state=0)
    >>> model = BinaryRelevanceClassifier("tree").fit(X[:150], Y[:150])
    >>> model.predict(X[150:153])
    array([[0, 0, 0, 1],
           [0, 1, 0, 0],
           [0, 0, 1, 0]])
    """

    _accepts_unknown = True

    def __init__(
        self,
        estimator: Any = None,
        *,
        decision: Any = 0.5,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.decision = decision
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _fit_labels(self, X: Any, Y: Labels, weights: Weights | None, rng: np.random.Generator) -> None:
        self._fit_one(train_relevance, X, Y, weights, rng)

    @cached_property
    def estimators_(self) -> list[Any]:
        """The fitted models of the labels, as estimators of their own."""
        check_is_fitted(self)
        (relevance,), learner = self._fused_.members, self._fused_.learner
        return as_estimators(relevance.component, learner, getattr(self, "feature_names_in_", None))

    @cached_property
    def feature_importances_(self) -> npt.NDArray[np.float64]:
        """The feature importances of the labels' models; a label that was constant has zeros."""
        check_is_fitted(self)
        nothing = np.zeros(self.n_features_in_)
        return np.array(
            [nothing if isinstance(one, DummyClassifier) else one.feature_importances_ for one in self.estimators_]
        )


class Relevance:
    """The trained models of all labels, each on its own."""

    def __init__(self, component: Component | JoinedLabels) -> None:
        self.component = component

    def probabilities(self, rows: Any = None, only: npt.NDArray[np.integer] | None = None) -> Scores:
        """Return the probability of each label; see :class:`~fuselearn.multilabel.learning.fusion.LabelModel`."""
        return self.component.scores(rows, only=only)

    scores = probabilities

    def unbind(self) -> None:
        """Release the training data."""
        self.component.unbind()


class JoinedLabels:
    """Components of some of the labels each, as one of all of them.

    Parameters
    ----------
    components : list of Component
    labels : list of int arrays
        The labels of each component.
    """

    def __init__(self, components: list[Component], labels: list[npt.NDArray[np.intp]]) -> None:
        self.components = components
        self.order = np.argsort(np.concatenate(labels))

    def scores(
        self, rows: Any = None, extra: npt.NDArray[Any] | None = None, only: npt.NDArray[np.integer] | None = None
    ) -> Scores:
        """Return the probability of each label."""
        return np.hstack([component.scores(rows, extra, only) for component in self.components])[:, self.order]

    def unbind(self) -> None:
        """Release the training data."""
        for component in self.components:
            component.unbind()


def train_relevance(
    learner: Learner, Y: Labels, counts: Counts, seed: int, *, weights: Weights | None = None
) -> Relevance:
    """Train a model per label, all on the same features, and on the samples of which the label is known.

    Labels that are known of the same samples are trained together. One that is known of none is constant, 0.
    """
    is_unknown = Y == UNKNOWN
    if not is_unknown.any():
        return Relevance(learner.train(Y, counts, seed, weights=weights))
    patterns, groups = np.unique(is_unknown, axis=1, return_inverse=True)
    labels = [np.flatnonzero(groups.ravel() == k) for k in range(patterns.shape[1])]
    components = []
    for pattern, own in zip(patterns.T, labels, strict=True):
        known = np.where(pattern, 0, counts).astype(counts.dtype)
        sample = known if known.any() else counts
        components.append(learner.train((Y[:, own] == 1).astype(Y.dtype), sample, seed, weights=weights))
    return Relevance(JoinedLabels(components, labels))


def as_estimators(component: Any, learner: Learner, names: npt.NDArray[Any] | None) -> list[Any]:
    """Return the models of a component as estimators of their own, one per label.

    Parameters
    ----------
    component : Component
        Of labels, trained by the learner or by an extension of it.
    learner : Learner
    names : array of shape (n_features + n_appended,), optional
        Names of the features.

    Raises
    ------
    AttributeError
        If its models are none: a support vector machine shares its data with all others.
    """
    if isinstance(component, JoinedLabels):
        parts = [one for part in component.components for one in as_estimators(part, learner, names)]
        return [parts[k] for k in component.order]
    if isinstance(component, LabelEstimators):
        return [one.model for one in component.split()]
    if not isinstance(component, LabelTrees):
        raise AttributeError("Support vector machines of the engine are no estimators of their own.")
    coder = TableCoder()
    coder.n_categories_ = component.n_categories
    n_appended = len(component.n_categories) - len(learner.coder.categories_)
    coder.categories_ = [*learner.coder.categories_, *[None] * n_appended]
    base: Any = learner.estimator
    return [base._wrap(tree, coder, np.array([0, 1]), names) for tree in component.split()]
