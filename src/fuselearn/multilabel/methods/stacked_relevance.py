"""Stacked binary relevance: second-level models see the scores of all labels."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import is_classifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import check_cv

from fuselearn._messages import show
from fuselearn._parameters import check_whole_number
from fuselearn.learners import Learner, bind, count_all_samples
from fuselearn.multilabel.data.stratification import IterativeStratifiedKFold
from fuselearn.multilabel.learning.base import Labels, MultilabelClassifier, Scores, Weights
from fuselearn.multilabel.learning.fusion import LabelSum
from fuselearn.multilabel.methods.binary_relevance import Counts, Relevance, train_relevance

Indices = npt.NDArray[np.intp]


class StackedBinaryRelevanceClassifier(MultilabelClassifier):
    """Binary relevance whose scores for all labels are the features of a second model per label (2BR).

    With p_1(x), ..., p_L(x) the probabilities of binary relevance, a second-level model of each label j learns ::

        q_j(x) = P(y_j = 1 | p_1(x), ..., p_L(x)),

    so that a label can correct another, in both directions and without an order of the labels. The second level is
    trained on out-of-fold scores: on its own training samples the first level looks better than it is.

    .. versionadded:: 0.2

    Parameters
    ----------
    estimator : classifier, "tree" or None, default=None
        Base learner of the first level: any classifier. None means ``SVMClassifier()``, "tree" ``CARTClassifier()``.
    final_estimator : classifier or None, default=None
        Base learner of the second level: any classifier. None means scikit-learn's ``LogisticRegression()``.
    cv : int, splitter or iterable of splits, default=5
        Folds that are left out: a number of folds, stratified by labels and at most as many as samples, or what
        scikit-learn takes, such as a list of splits that keep groups together.
    decision : float, str or rule, default=0.5
        How probabilities become labels: a threshold, or another rule of :mod:`fuselearn.multilabel.decisions`.
    random_state : int, RandomState or None, default=None
        Seed of the folds and of the base learners.
    n_jobs : int or None, default=None
        Labels learned at the same time. Results do not depend on it.

    Attributes
    ----------
    labels_, n_labels_, classes_, n_features_in_, feature_names_in_
        Names and number of the labels, and 0 and 1 for each; number of the features, and their names if they have any.

    See Also
    --------
    BinaryRelevanceClassifier : The first level alone.
    ChainClassifier : Each label learns from the labels before it, and from the features.

    References
    ----------
    Godbole, S. and Sarawagi, S. (2004). Discriminative methods for multi-labeled classification. PAKDD, 22-30.

    Tsoumakas, G., Dimou, A., Spyromitros, E., Mezaris, V., Kompatsiaris, I. and Vlahavas, I. (2009). Correlation-based
    pruning of stacked binary relevance models for multi-label learning. ECML PKDD workshop on learning from
    multi-label data, 101-116.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from fuselearn.multilabel import StackedBinaryRelevanceClassifier
    >>> X, Y = make_multilabel_classification(n_samples=200, n_classes=4, random_state=0)
    >>> model = StackedBinaryRelevanceClassifier("tree", random_state=0).fit(X[:150], Y[:150])
    >>> model.predict(X[150:153])
    array([[0, 0, 0, 1],
           [0, 1, 0, 1],
           [0, 0, 1, 0]])
    """

    def __init__(
        self,
        estimator: Any = None,
        final_estimator: Any = None,
        *,
        cv: Any = 5,
        decision: Any = 0.5,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.final_estimator = final_estimator
        self.cv = cv
        self.decision = decision
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _check_parameters(self) -> None:
        if isinstance(self.cv, int):
            check_whole_number("cv", self.cv, 2)
        final = self.final_estimator
        if final is not None and (isinstance(final, type) or not (hasattr(final, "fit") and is_classifier(final))):
            raise TypeError(f"final_estimator must be a classifier or None, not {show(final)}.")

    def _fit_labels(self, X: Any, Y: Labels, weights: Weights | None, rng: np.random.Generator) -> None:
        seed, fold_seed, final_seed = rng.integers(2**31, size=3).tolist()
        learner = self._bind(X)
        counts, own_weights = count_all_samples(weights, len(Y), copies=learner.counts_copies)
        scores = self._score_held_out(learner, Y, counts, own_weights, seed, fold_seed)
        final = LogisticRegression() if self.final_estimator is None else self.final_estimator
        final_learner = bind(final, scores, learner.n_threads)
        final_counts, final_weights = count_all_samples(weights, len(Y), copies=final_learner.counts_copies)
        stacked = StackedRelevance(
            train_relevance(learner, Y, counts, seed, weights=own_weights),
            train_relevance(final_learner, Y, final_counts, final_seed, weights=final_weights),
            final_learner,
        )
        self._adopt(LabelSum.of_one(stacked, learner))

    def _score_held_out(
        self, learner: Learner, Y: Labels, counts: Counts, weights: Weights | None, seed: int, fold_seed: int
    ) -> Scores:
        """Return the first level's scores of each fold's samples, by models of the other folds."""
        scores = np.full(Y.shape, np.nan)
        for inside, outside in self._split(Y, counts, fold_seed):
            drawn = np.zeros_like(counts)
            drawn[inside] = counts[inside]
            scores[outside] = learner.train(Y, drawn, seed, weights=weights).scores(only=outside)
        if np.isnan(scores[counts > 0]).any():
            raise ValueError("cv must leave out every sample once, for the second level to be trained on it.")
        return np.nan_to_num(scores)  # of samples without any weight, which the second level does not see

    def _split(self, Y: Labels, counts: Counts, seed: int) -> list[tuple[Indices, Indices]]:
        """Return the samples inside and outside of each split; folds by their number have samples with a weight."""
        rows = np.flatnonzero(counts)
        if not isinstance(self.cv, int):
            return list(check_cv(self.cv).split(Y, Y))
        if len(rows) < 2:
            raise ValueError("The second level is trained on samples left out in turn, so one sample is not enough.")
        folds = IterativeStratifiedKFold(min(self.cv, len(rows)), shuffle=True, random_state=seed)
        return [(rows[inside], rows[outside]) for inside, outside in folds.split(rows, Y[rows])]


class StackedRelevance:
    """The trained models of both levels."""

    def __init__(self, first: Relevance, second: Relevance, final_learner: Learner) -> None:
        self.first = first
        self.second = second
        self.final_learner = final_learner

    def probabilities(self, rows: Any = None, only: npt.NDArray[np.integer] | None = None) -> Scores:
        """Return the probability of each label; see :class:`~fuselearn.multilabel.learning.fusion.LabelModel`."""
        return self.second.probabilities(self.final_learner.prepare(self.first.probabilities(rows, only)))

    scores = probabilities

    def unbind(self) -> None:
        """Release the training data of both levels."""
        self.first.unbind()
        self.second.unbind()
        self.final_learner.unbind()
