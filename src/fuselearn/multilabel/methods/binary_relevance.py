"""Binary relevance: one binary model per label, single, in ensembles, and stacked."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import is_classifier
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.utils.validation import check_is_fitted

from fuselearn._messages import show
from fuselearn._parameters import check_whole_number
from fuselearn.base import as_estimator, train_one
from fuselearn.fusion import Problem, Trained
from fuselearn.fusion.held_out import Splits, average_held_out, hold_out, list_splits
from fuselearn.learners import LabelClones, LabelModel, LabelTrees, Learner, TableCoder, bind
from fuselearn.learners.learner import Counts, Indices
from fuselearn.multilabel.base import (
    Labels,
    MultilabelBase,
    Scores,
    Weights,
    single,
    stratified_splits,
    train_labels,
    train_method,
)
from fuselearn.multilabel.ensemble import MultilabelEnsemble, OnSomeFeatures
from fuselearn.multilabel.labels import UNKNOWN


def train_relevance(
    learner: Learner, Y: Labels, counts: Counts, seed: int, *, weights: Weights | None = None
) -> LabelModel:
    """Train one model per label, on the samples with a known label.

    Labels that are known for the same samples are trained together. A label without known samples is constant, 0.
    """
    is_unknown = Y == UNKNOWN
    if not is_unknown.any():
        return train_labels(learner, Y, counts, seed, weights=weights)
    patterns, groups = np.unique(is_unknown, axis=1, return_inverse=True)
    labels = [np.flatnonzero(groups.ravel() == k) for k in range(patterns.shape[1])]
    models = []
    for pattern, own in zip(patterns.T, labels, strict=True):
        known = np.where(pattern, 0, counts).astype(counts.dtype)
        sample = known if known.any() else counts
        models.append(train_labels(learner, (Y[:, own] == 1).astype(Y.dtype), sample, seed, weights=weights))
    return JoinedLabels(models, labels)


class JoinedLabels(LabelModel):
    """A model of all labels that consists of models of some of the labels.

    Parameters
    ----------
    models : list of LabelModel
    labels : list of int arrays
        The labels of each model.
    """

    def __init__(self, models: list[LabelModel], labels: list[npt.NDArray[np.intp]]) -> None:
        self.models = models
        self.order = np.argsort(np.concatenate(labels))

    def scores(self, X: Any = None, *, appended: Any = None, only: Indices | None = None) -> Scores:
        """Return the probability of each label."""
        return np.hstack([model.scores(X, appended=appended, only=only) for model in self.models])[:, self.order]


class BinaryRelevanceClassifier(MultilabelBase):
    """Binary relevance: one independent binary model per label.

    The probability that sample x has label j is that of the j-th model, ::

        p_j(x) = P(y_j = 1 | x),

    so dependencies between labels are not used. The model of a label is trained on the samples for which it is known,
    not NaN.

    Parameters
    ----------
    estimator : classifier, "tree" or None, default=None
        Base estimator: any classifier. None means ``SVMClassifier()``, "tree" ``CARTClassifier()``.
    decision : float, str or rule, default=0.5
        How labels are predicted from probabilities: a threshold, or a rule of :mod:`fuselearn.multilabel.decisions`.
    random_state : int, RandomState or None, default=None
        Seed of the base estimators.
    n_jobs : int or None, default=None
        Number of labels trained in parallel. Results do not depend on it.

    Attributes
    ----------
    estimators_ : list of classifiers
        One for each label; not available for SVMs. The model of a constant label is scikit-learn's ``DummyClassifier``
        or a tree without splits.
    feature_importances_ : array of shape (n_labels, n_features)
        Importances of the model of each label, if the base estimator has importances, as trees and forests do.
    labels_, n_labels_, classes_, n_features_in_, feature_names_in_
        Names and number of the labels; the classes 0 and 1 of each label; number of the features; their names, if ``X``
        is a DataFrame.

    See Also
    --------
    EnsembleOfBinaryRelevanceClassifier : Equal votes of such models on random samples.
    StackedBinaryRelevanceClassifier : A second model per label is trained on the scores of all labels.
    ChainClassifier : Previous labels are features of the next ones.
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

    def _train(self, problem: Problem) -> Trained:
        return train_method(problem, train_relevance, int(problem.rng.integers(2**31)))

    @cached_property
    def estimators_(self) -> list[Any]:
        """The fitted models of the labels, as separate estimators."""
        check_is_fitted(self)
        return as_estimators(self, self._fused_.models[0], getattr(self, "feature_names_in_", None))

    @cached_property
    def feature_importances_(self) -> npt.NDArray[np.float64]:
        """The feature importances of the labels' models; zeros for constant labels."""
        check_is_fitted(self)
        nothing = np.zeros(self.n_features_in_)
        return np.array(
            [nothing if isinstance(one, DummyClassifier) else one.feature_importances_ for one in self.estimators_]
        )


def as_estimators(classifier: MultilabelBase, model: Any, names: npt.NDArray[Any] | None) -> list[Any]:
    """Return the models of labels as separate estimators, one per label.

    Parameters
    ----------
    classifier : MultilabelBase
        The fitted classifier of the model.
    model : LabelModel
        Trained by the learner of the base estimator, or by an extension of it.
    names : array of shape (n_features + n_appended,), optional
        Names of the features.

    Raises
    ------
    AttributeError
        If the models are SVMs, which share their training data.
    """
    if isinstance(model, OnSomeFeatures):
        return as_estimators(classifier, model.model, names)
    if isinstance(model, JoinedLabels):
        parts = [one for part in model.models for one in as_estimators(classifier, part, names)]
        return [parts[k] for k in model.order]
    if isinstance(model, LabelClones):
        return [one.estimator for one in model.split()]
    if not isinstance(model, LabelTrees):
        raise AttributeError("SVMs share their training data and are not available as separate estimators.")
    coder = TableCoder()
    coder.n_categories_ = model.n_categories
    n_appended = len(model.n_categories) - len(classifier._coder_.categories_)
    coder.categories_ = [*classifier._coder_.categories_, *[None] * n_appended]
    base = classifier._base_estimator()
    return [as_estimator(tree, base, coder, np.array([0, 1]), names) for tree in model.split()]


def train_sampled_relevance(learner: Learner, Y: Labels, counts: Counts, rng: np.random.Generator) -> LabelModel:
    """Train a model per label, all on the same samples and features."""
    return train_relevance(learner, Y, counts, int(rng.integers(2**31)))


class EnsembleOfBinaryRelevanceClassifier(MultilabelEnsemble):
    """Equal votes of binary relevance models, each on random samples (EBR).

    With v_tj(x) the vote of the t-th of T models of label j, 0 or 1 or a probability, ::

        p_j(x) = (v_1j(x) + ... + v_Tj(x)) / T.

    Parameters
    ----------
    estimator : classifier, "tree" or None, default=None
        Base estimator: any classifier. None means ``SVMClassifier()``, "tree" ``CARTClassifier()``.
    n_estimators : int, default=25
        Number of members, each with a model per label.
    max_samples : int or float, default=1.0
        Number or fraction of samples drawn with replacement for each member. Fractions may exceed 1: with 2.0 a member
        is trained on 86 % of the samples instead of 63 %.
    max_features : int, float, "sqrt", "log2" or None, default=None
        Number or fraction of features drawn for each member; "sqrt" and "log2" as in scikit-learn; None means all.
    vote : {"class", "probability"}, default="probability"
        Whether members vote with their predicted labels or with their probabilities.
    decision : float, str or rule, default="cardinality"
        Threshold of the vote fractions, or a rule of :mod:`fuselearn.multilabel.decisions`, which is fitted to
        out-of-bag votes.
    callback : callable or None, default=None
        ``callback(number, classifier)`` is called after each member, counted from 1; True ends training.
    verbose : int, default=0
        1 prints about ten lines of progress with the remaining time, 2 one line per member.
    random_state : int, RandomState or None, default=None
        Seed of the sampling and of the base estimators.
    n_jobs : int or None, default=None
        Number of members trained in parallel. Results do not depend on it.

    Attributes
    ----------
    estimators_ : list of BinaryRelevanceClassifier
    estimator_weights_ : array of shape (n_estimators,)
        The same weight for all members.
    oob_decision_function_ : array of shape (n_samples, n_labels)
        Out-of-bag votes, if ``decision`` needs them; NaN for samples that every member was trained on.
    labels_, n_labels_, classes_, n_features_in_, feature_names_in_
        Names and number of the labels; the classes 0 and 1 of each label; number of the features; their names, if ``X``
        is a DataFrame.

    See Also
    --------
    BinaryRelevanceClassifier : A single member, on all samples.
    EnsembleOfChainsClassifier : Members in which labels learn from each other.

    Notes
    -----
    The defaults of ``n_estimators``, ``vote`` and ``decision`` are those of :class:`EnsembleOfChainsClassifier`.

    References
    ----------
    Read, J., Pfahringer, B., Holmes, G. and Frank, E. (2011), as for :class:`ChainClassifier`.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from fuselearn.multilabel import EnsembleOfBinaryRelevanceClassifier
    >>> X, Y = make_multilabel_classification(n_samples=200, n_classes=4, random_state=0)
    >>> model = EnsembleOfBinaryRelevanceClassifier("tree", random_state=0).fit(X[:150], Y[:150])
    >>> model.predict_proba(X[150:152]).round(2)
    array([[0.57, 0.19, 0.4 , 0.85],
           [0.6 , 0.67, 0.41, 0.19]])
    """

    _accepts_unknown = True

    def _train(self, problem: Problem) -> Trained:
        return self._train_bags(problem, train_sampled_relevance)

    def _member(self, model: LabelModel) -> BinaryRelevanceClassifier:
        return BinaryRelevanceClassifier(self.estimator)


def train_stacked(problem: Problem, final: Any, cv: Any = 5) -> Trained:
    """Train both levels; ``final`` is the base estimator of the second, ``cv`` that of the classifier."""
    seed, fold_seed, final_seed = problem.rng.integers(2**31, size=3).tolist()
    splits = _split(problem, cv, fold_seed)
    parts = hold_out(lambda part: train_one(part, seed), problem, splits, lambda: problem.rng)
    scores = average_held_out(parts, splits, problem.n_samples)
    if np.isnan(scores[problem.initial_weights > 0]).any():
        raise ValueError("cv must hold out every sample, because the second level is trained on out-of-fold scores.")
    scores = np.nan_to_num(scores)  # only samples with weight 0, which the second level ignores, have NaN
    learner = bind(final, scores, problem.learner.n_threads)
    second = train_one(replace(problem, learner=learner, X=scores), final_seed).fused.models[0]
    learner.release()
    first = problem.train_on_all(seed)
    return single(StackedRelevance(first, second, learner.coder), problem)


def _split(problem: Problem, cv: Any, seed: int) -> Splits:
    """Return the training and test samples of each split; a number of folds splits samples with a positive weight."""
    if not isinstance(cv, int):
        return list_splits(cv, problem.n_samples, problem.target.values)
    if np.count_nonzero(problem.initial_weights) < 2:
        raise ValueError("The second level is trained on out-of-fold scores, for which one sample is not enough.")
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

    Experimental: parameters, defaults and results may change in any minor release.

    With p_1(x), ..., p_L(x) the probabilities of binary relevance, a second-level model of each label j estimates ::

        q_j(x) = P(y_j = 1 | p_1(x), ..., p_L(x)),

    so each label can correct any other, without an order of the labels as in a chain. The second level is trained on
    out-of-fold scores, because the first level overfits its training samples.

    .. versionadded:: 0.2

    Parameters
    ----------
    estimator : classifier, "tree" or None, default=None
        Base estimator of the first level: any classifier. None means ``SVMClassifier()``, "tree" ``CARTClassifier()``.
    final_estimator : classifier or None, default=None
        Base estimator of the second level: any classifier. None means scikit-learn's ``LogisticRegression()``.
    cv : int, splitter or iterable of splits, default=5
        Cross-validation: a number of folds, stratified by labels, or a scikit-learn splitter or list of splits.
    decision : float, str or rule, default=0.5
        How labels are predicted from probabilities: a threshold, or a rule of :mod:`fuselearn.multilabel.decisions`.
    random_state : int, RandomState or None, default=None
        Seed of the folds and of the base estimators.
    n_jobs : int or None, default=None
        Number of labels trained in parallel. Results do not depend on it.

    Attributes
    ----------
    labels_, n_labels_, classes_, n_features_in_, feature_names_in_
        Names and number of the labels; the classes 0 and 1 of each label; number of the features; their names, if ``X``
        is a DataFrame.

    See Also
    --------
    BinaryRelevanceClassifier : The first level alone.
    ChainClassifier : The features and the previous labels predict the next label.

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
