"""Stacked binary relevance: second-level models see the scores of all labels."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.linear_model import LogisticRegression

from fuselearn._messages import show
from fuselearn._parameters import check_whole_number
from fuselearn.base import train_one
from fuselearn.fusion import Problem, Trained
from fuselearn.fusion.held_out import Splits, average_held_out, hold_out, list_splits
from fuselearn.learners import LabelModel, bind
from fuselearn.learners.target import Indices
from fuselearn.multilabel.base import MultilabelBase, Scores, single, stratified_splits


def train_stacked(problem: Problem, final: Any, cv: Any = 5) -> Trained:
    """Train both levels; ``final`` is the base estimator of the second, ``cv`` that of the classifier."""
    seed, fold_seed, final_seed = problem.rng.integers(2**31, size=3).tolist()
    splits = _split(problem, cv, fold_seed)
    parts = hold_out(lambda part: train_one(part, seed), problem, splits, lambda: problem.rng)
    scores = average_held_out(parts, splits, problem.n_samples)
    if np.isnan(scores[problem.initial_weights > 0]).any():
        raise ValueError("cv must leave out every sample once, for the second level to be trained on it.")
    scores = np.nan_to_num(scores)  # of samples without any weight, which the second level does not see
    learner = bind(final, scores, problem.learner.n_threads)
    second = train_one(replace(problem, learner=learner, X=scores), final_seed).fused.models[0]
    learner.release()
    first = problem.train_on_all(seed)
    return single(StackedRelevance(first, second, learner.coder), problem)


def _split(problem: Problem, cv: Any, seed: int) -> Splits:
    """Return the samples inside and outside of each split; folds by their number have samples with a weight."""
    if not isinstance(cv, int):
        return list_splits(cv, problem.n_samples, problem.target.values)
    if np.count_nonzero(problem.initial_weights) < 2:
        raise ValueError("The second level is trained on samples left out in turn, so one sample is not enough.")
    return stratified_splits(problem, cv, seed)


class StackedRelevance(LabelModel):
    """The trained models of both levels."""

    def __init__(self, first: LabelModel, second: LabelModel, coder: Any) -> None:
        self.first = first
        self.second = second
        self.coder = coder

    def scores(self, X: Any = None, *, appended: Any = None, only: Indices | None = None) -> Scores:
        """Return the probability of each label."""
        scores = self.first.scores(X, only=only)
        return self.second.scores(scores if self.coder is None else self.coder.transform(scores))


class StackedBinaryRelevanceClassifier(MultilabelBase):
    """Binary relevance whose scores for all labels are the features of a second model per label (2BR).

    With p_1(x), ..., p_L(x) the probabilities of binary relevance, a second-level model of each label j learns ::

        q_j(x) = P(y_j = 1 | p_1(x), ..., p_L(x)),

    so that a label can correct another, in both directions and without an order of the labels. The second level is
    trained on out-of-fold scores: on its own training samples the first level looks better than it is.

    .. versionadded:: 0.2

    Parameters
    ----------
    estimator : classifier, "tree" or None, default=None
        Base estimator of the first level: any classifier. None means ``SVMClassifier()``, "tree" ``CARTClassifier()``.
    final_estimator : classifier or None, default=None
        Base estimator of the second level: any classifier. None means scikit-learn's ``LogisticRegression()``.
    cv : int, splitter or iterable of splits, default=5
        Folds that are left out: a number of folds, stratified by labels and at most as many as samples, or what
        scikit-learn takes, such as a list of splits that keep groups together.
    decision : float, str or rule, default=0.5
        How probabilities become labels: a threshold, or another rule of :mod:`fuselearn.multilabel.decisions`.
    random_state : int, RandomState or None, default=None
        Seed of the folds and of the base estimators.
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

    def _train(self, problem: Problem) -> Trained:
        final = LogisticRegression() if self.final_estimator is None else self.final_estimator
        return train_stacked(problem, final, self.cv)
