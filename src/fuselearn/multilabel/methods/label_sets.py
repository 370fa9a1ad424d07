"""Multi-class models of label sets: label powersets, pruned sets, and ensembles of pruned sets."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from fuselearn._parameters import check_whole_number
from fuselearn.fusion import Problem, Trained
from fuselearn.learners import LabelModel, Learner, Model, class_list_target
from fuselearn.learners.learner import Counts, Indices
from fuselearn.multilabel.base import Labels, MultilabelBase, Scores, Weights, train_method
from fuselearn.multilabel.ensemble import MultilabelEnsemble


class LabelPowersetClassifier(MultilabelBase):
    """One multi-class model whose classes are the distinct label sets of the training samples.

    The probability that sample x has label j is the total probability of the sets with this label, ::

        p_j(x) = sum of P(S | x) over the sets S that contain j,

    so labels that occur together are predicted together.

    Parameters
    ----------
    estimator : classifier, "tree" or None, default=None
        Base estimator: any classifier. None means ``SVMClassifier()``, "tree" ``CARTClassifier()``.
    decision : float, str or rule, default="set"
        How labels are predicted: "set" means the labels of the most probable set; otherwise a threshold of the
        probabilities, or a rule of :mod:`fuselearn.multilabel.decisions`.
    random_state : int, RandomState or None, default=None
        Seed of the base estimator.
    n_jobs : int or None, default=None
        Threads for training and prediction. Results do not depend on it.

    Attributes
    ----------
    label_sets_ : array of shape (n_sets, n_labels)
        The label sets as an indicator matrix, in the order in which they appear in training. The classes of the base
        estimator are the row indices of this matrix.
    labels_, n_labels_, classes_, n_features_in_, feature_names_in_
        Names and number of the labels; the classes 0 and 1 of each label; number of the features; their names, if ``X``
        is a DataFrame.

    See Also
    --------
    PrunedSetsClassifier : Only frequent label sets are learned.
    RAkELClassifier : Label powersets of a few labels each.

    Notes
    -----
    The probabilities of one-vs-rest SVMs are combined so that they are calibrated out of sample: with p_S the
    calibrated probability of the SVM of set S, and n_S the number of samples with that set, ::

        P(S | x) is proportional to p_S^a n_S^b,

    where a and b are estimated by cross-validation, together with Platt's sigmoids. With other values of
    ``probability`` than "platt", a = 1 and b = 0.

    ``decision="set"`` maximizes the expected subset accuracy. A threshold of 0.5 minimizes the expected Hamming loss,
    and may predict label sets that do not occur in training.

    References
    ----------
    Tsoumakas, G. and Katakis, I. (2007), as for :class:`BinaryRelevanceClassifier`.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from fuselearn.multilabel import LabelPowersetClassifier
    >>> X, Y = make_multilabel_classification(n_samples=200, n_classes=4, random_state=0)
    >>> model = LabelPowersetClassifier("tree").fit(X[:150], Y[:150])
    >>> model.label_sets_.shape
    (16, 4)
    >>> model.predict(X[150:153])
    array([[0, 0, 0, 0],
           [0, 0, 0, 0],
           [1, 0, 1, 0]])
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        decision: Any = "set",
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.decision = decision
        self.random_state = random_state
        self.n_jobs = n_jobs

    _own_decision = "set"

    def _train(self, problem: Problem) -> Trained:
        return train_method(problem, train_sets, int(problem.rng.integers(2**31)))

    @property
    def label_sets_(self) -> Labels:
        """The label sets, in the order in which they appear in training."""
        return find_sets(self)


class SetModel(LabelModel):
    """A trained multi-class model of label sets."""

    def __init__(self, model: Model, sets: Labels) -> None:
        self.model = model
        self.sets = sets

    def scores(self, X: Any = None, *, appended: Any = None, only: Indices | None = None) -> Scores:
        """Return the probability of each label."""
        probabilities = self.model.scores(X, only=only)
        return np.minimum(probabilities @ self.sets.astype(np.float64), 1.0)  # rounding errors may exceed 1

    def decisions(self, X: Any = None, *, only: Indices | None = None) -> Scores:
        """Return the labels of the most probable set as 0 and 1; ties go to the first set."""
        return self.sets[self.model.scores(X, only=only).argmax(axis=1)].astype(np.float64)


def find_sets(classifier: MultilabelBase) -> Labels:
    """Return the label sets that are the classes of a fitted classifier."""
    check_is_fitted(classifier)
    model: Any = classifier._fused_.models[0]
    return model.sets if isinstance(model, SetModel) else model.model.sets


def find_label_sets(Y: Labels, counts: Counts) -> tuple[Labels, npt.NDArray[np.intp]]:
    """Find the distinct label sets of the samples drawn.

    Sets are numbered in order of appearance, so that the order does not depend on the order of the labels.

    Returns
    -------
    sets : array of shape (n_sets, n_labels)
    numbers : int array of shape (n_samples,)
        Index of the set of each sample, -1 for samples that were not drawn.

    Examples
    --------
    >>> Y = np.array([[1, 1], [0, 0], [0, 1], [1, 1]], dtype=np.int8)
    >>> find_label_sets(Y, np.array([1, 0, 1, 1], dtype=np.int32))
    (array([[1, 1],
           [0, 1]], dtype=int8), array([ 0, -1,  1,  0]))
    """
    drawn = np.flatnonzero(counts)
    sets, first, sorted_numbers = np.unique(Y[drawn], axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first)
    numbers = np.full(len(Y), -1)
    numbers[drawn] = np.argsort(order)[sorted_numbers.ravel()]
    return sets[order], numbers


class PrunedSetsClassifier(MultilabelBase):
    """Label powerset of the frequent label sets; rare sets are replaced by frequent subsets (PS).

    A set is frequent if at least ``min_count`` samples have it. A sample with a rare set S is replaced by copies, one
    for each of the ``n_subsets`` largest frequent subsets of S; of subsets of equal size, the more frequent ones are
    used. A sample without frequent subsets is dropped. The probability that sample x has label j is the total
    probability of the frequent sets with this label, ::

        p_j(x) = sum of P(S | x) over the sets S that contain j.

    Parameters
    ----------
    estimator : classifier, "tree" or None, default=None
        Base estimator: any classifier. None means ``SVMClassifier()``, "tree" ``CARTClassifier()``.
    min_count : int, default=2
        Minimum number of samples of a frequent set. If no set has as many, the most frequent ones are kept. With 1, the
        model is a label powerset.
    n_subsets : int, default=2
        Maximum number of copies of a sample with a rare set; with 0, such samples are dropped.
    decision : float, str or rule, default="set"
        How labels are predicted: "set" means the labels of the most probable set; otherwise a threshold of the
        probabilities, or a rule of :mod:`fuselearn.multilabel.decisions`.
    random_state : int, RandomState or None, default=None
        Seed of the base estimator.
    n_jobs : int or None, default=None
        Threads for training and prediction. Results do not depend on it.

    Attributes
    ----------
    label_sets_ : array of shape (n_sets, n_labels)
        The frequent label sets as an indicator matrix, in the order in which they appear in training. The classes of
        the base estimator are the row indices of this matrix.
    labels_, n_labels_, classes_, n_features_in_, feature_names_in_
        Names and number of the labels; the classes 0 and 1 of each label; number of the features; their names, if ``X``
        is a DataFrame.

    See Also
    --------
    EnsembleOfPrunedSetsClassifier : Equal votes of such models on random samples.
    LabelPowersetClassifier : All label sets are classes.

    Notes
    -----
    Subsets are chosen by the authors' option A, but never the empty set: a sample with labels is not an example of a
    sample without labels. SVMs need no copies: a sample is a positive example for each of its sets. A label that is in
    no frequent set has the probability 0. Integer sample weights are repetitions of samples when frequent sets are
    determined; other weights have no effect there, except 0.

    References
    ----------
    Read, J., Pfahringer, B. and Holmes, G. (2008). Multi-label classification using ensembles of pruned sets. IEEE
    International Conference on Data Mining, 995-1000.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from fuselearn.multilabel import PrunedSetsClassifier
    >>> X, Y = make_multilabel_classification(n_samples=200, n_classes=4, random_state=0)
    >>> model = PrunedSetsClassifier("tree", min_count=10).fit(X[:150], Y[:150])
    >>> model.label_sets_.shape
    (7, 4)
    >>> model.predict(X[150:153])
    array([[0, 0, 0, 0],
           [0, 0, 0, 1],
           [0, 0, 1, 1]])
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        min_count: int = 2,
        n_subsets: int = 2,
        decision: Any = "set",
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.min_count = min_count
        self.n_subsets = n_subsets
        self.decision = decision
        self.random_state = random_state
        self.n_jobs = n_jobs

    _own_decision = "set"

    def _check_parameters(self) -> None:
        check_pruning(self.min_count, self.n_subsets)

    def _train(self, problem: Problem) -> Trained:
        method = partial(train_sets, min_count=self.min_count, n_subsets=self.n_subsets)
        return train_method(problem, method, int(problem.rng.integers(2**31)))

    @property
    def label_sets_(self) -> Labels:
        """The frequent label sets, in the order in which they appear in training."""
        return find_sets(self)


def check_pruning(min_count: Any, n_subsets: Any) -> None:
    """Raise an error for invalid ``min_count`` or ``n_subsets``."""
    check_whole_number("min_count", min_count, 1)
    check_whole_number("n_subsets", n_subsets, 0)


def train_sets(
    learner: Learner,
    Y: Labels,
    counts: Counts,
    seed: int,
    *,
    min_count: int = 1,
    n_subsets: int = 0,
    weights: Weights | None = None,
) -> SetModel:
    """Train a model whose classes are the frequent label sets of the samples drawn.

    Parameters
    ----------
    learner : Learner
    Y : array of shape (n_samples, n_labels)
    min_count, n_subsets
        As in :class:`PrunedSetsClassifier`; a sample that was drawn twice counts twice.
    counts, seed, weights
        As in ``Learner.train``.
    """
    sets, members = prune_sets(Y, counts, min_count, n_subsets)
    return SetModel(learner.train(class_list_target(members, counts, sets), counts, seed, weights=weights), sets)


def prune_sets(Y: Labels, counts: Counts, min_count: int, n_subsets: int) -> tuple[Labels, Labels]:
    """Find the frequent label sets of the samples drawn, and assign each sample to one or several of them.

    Returns
    -------
    sets : array of shape (n_sets, n_labels)
    classes : array of shape (n_samples, n_sets)

    Examples
    --------
    >>> Y = np.array([[1, 0], [1, 1], [1, 0], [0, 1]], dtype=np.int8)
    >>> prune_sets(Y, np.ones(4, dtype=np.int32), min_count=2, n_subsets=1)
    (array([[1, 0]], dtype=int8), array([[1],
           [1],
           [1],
           [0]], dtype=int8))
    """
    sets, numbers = find_label_sets(Y, counts)
    drawn = numbers >= 0
    occurrences = np.bincount(numbers[drawn], counts[drawn])
    is_frequent = occurrences >= min(min_count, occurrences.max())
    frequent, frequency = sets[is_frequent], occurrences[is_frequent]
    stands_for = np.zeros((len(sets), len(frequent)), dtype=np.int8)
    stands_for[is_frequent] = np.eye(len(frequent))
    for rare in np.flatnonzero(~is_frequent):
        stands_for[rare, choose_subsets(sets[rare], frequent, frequency, n_subsets)] = 1
    return frequent, stands_for[numbers] * drawn[:, None]


def choose_subsets(
    labels: Labels, sets: Labels, frequency: npt.NDArray[np.floating], n_subsets: int
) -> npt.NDArray[np.intp]:
    """Choose the largest subsets of a set of labels; ties go to the more frequent subset.

    Examples
    --------
    >>> sets = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 1, 1], [1, 1, 0]], dtype=np.int8)
    >>> choose_subsets(np.array([1, 1, 0], dtype=np.int8), sets, np.array([9.0, 2.0, 5.0, 7.0, 3.0]), 2)
    array([4, 2])
    """
    sizes = sets.sum(axis=1)
    inside = np.flatnonzero((sets <= labels).all(axis=1) & (sizes > 0))
    order = np.lexsort((-frequency[inside], -sizes[inside]))
    return inside[order[:n_subsets]]


def train_sampled_sets(
    learner: Learner, Y: Labels, counts: Counts, rng: np.random.Generator, *, min_count: int, n_subsets: int
) -> SetModel:
    """Train a model of the frequent label sets of randomly drawn samples."""
    # Repeated draws of one sample must not make its set frequent.
    drawn_once = np.minimum(counts, 1)
    seed = int(rng.integers(2**31))
    return train_sets(learner, Y, drawn_once, seed, min_count=min_count, n_subsets=n_subsets)


class EnsembleOfPrunedSetsClassifier(MultilabelEnsemble):
    """Equal votes of pruned sets, each on random samples (EPS).

    With v_tj(x) the vote of the t-th of T models for label j, 0 or 1 or a probability, ::

        p_j(x) = (v_1j(x) + ... + v_Tj(x)) / T.

    Members keep different sets, so together they can predict label sets that do not occur in training.

    Parameters
    ----------
    estimator : classifier, "tree" or None, default=None
        Base estimator: any classifier. None means ``SVMClassifier()``, "tree" ``CARTClassifier()``.
    n_estimators : int, default=10
        Number of members.
    min_count : int, default=2
        Minimum number of drawn samples of a frequent set. If no set has as many, the most frequent ones are kept.
    n_subsets : int, default=2
        Maximum number of copies of a sample with a rare set; with 0, such samples are dropped.
    max_samples : int or float, default=1.0
        Number or fraction of samples drawn with replacement for each member. Repeated draws are dropped, so with 1.0 a
        member is trained on 63 % of the samples, the authors' choice.
    max_features : int, float, "sqrt", "log2" or None, default=None
        Number or fraction of features drawn for each member; "sqrt" and "log2" as in scikit-learn; None means all.
    vote : {"class", "probability"}, default="class"
        Whether members vote with the labels of their most probable set or with their probabilities.
    decision : float, str or rule, default=0.5
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
    estimators_ : list of PrunedSetsClassifier
    estimator_weights_ : array of shape (n_estimators,)
        The same weight for all members.
    oob_decision_function_ : array of shape (n_samples, n_labels)
        Out-of-bag votes, if ``decision`` needs them; NaN for samples that every member was trained on.
    labels_, n_labels_, classes_, n_features_in_, feature_names_in_
        Names and number of the labels; the classes 0 and 1 of each label; number of the features; their names, if ``X``
        is a DataFrame.

    See Also
    --------
    PrunedSetsClassifier : A single member, on all samples.
    RAkELClassifier : Votes of models of a few labels each.

    References
    ----------
    Read, J., Pfahringer, B. and Holmes, G. (2008), as for :class:`PrunedSetsClassifier`.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from fuselearn.multilabel import EnsembleOfPrunedSetsClassifier
    >>> X, Y = make_multilabel_classification(n_samples=200, n_classes=4, random_state=0)
    >>> model = EnsembleOfPrunedSetsClassifier("tree", random_state=0).fit(X[:150], Y[:150])
    >>> model.predict_proba(X[150:152])
    array([[0.5, 0.4, 0.5, 0.9],
           [0.4, 0.2, 0.2, 0.6]])
    """

    def __init__(
        self,
        estimator: Any = None,
        n_estimators: int = 10,
        *,
        min_count: int = 2,
        n_subsets: int = 2,
        max_samples: int | float = 1.0,
        max_features: int | float | str | None = None,
        vote: str = "class",
        decision: Any = 0.5,
        callback: Callable[[int, Any], Any] | None = None,
        verbose: int = 0,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.min_count = min_count
        self.n_subsets = n_subsets
        self.max_samples = max_samples
        self.max_features = max_features
        self.vote = vote
        self.decision = decision
        self.callback = callback
        self.verbose = verbose
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_pruning(self.min_count, self.n_subsets)

    def _train(self, problem: Problem) -> Trained:
        return self._train_bags(
            problem, partial(train_sampled_sets, min_count=self.min_count, n_subsets=self.n_subsets)
        )

    def _member(self, model: SetModel) -> PrunedSetsClassifier:
        return PrunedSetsClassifier(self.estimator, min_count=self.min_count, n_subsets=self.n_subsets)
