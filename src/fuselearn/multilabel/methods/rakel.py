"""RAkEL: label powersets of random label subsets."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from fuselearn._parameters import check_flag, check_whole_number
from fuselearn.fusion import Problem, Trained, WeightedSum
from fuselearn.learners import LabelModel, count_all_samples
from fuselearn.learners.learner import Counts, Indices
from fuselearn.multilabel.base import Scores
from fuselearn.multilabel.ensemble import MultilabelEnsemble, train_members
from fuselearn.multilabel.methods.label_sets import LabelPowersetClassifier, train_sets

# The sorted indices of some labels.
Choice = tuple[int, ...]


def train_rakel(
    problem: Problem,
    labelset_size: int = 3,
    n_labelsets: int | None = None,
    *,
    overlapping: bool = True,
    vote: str = "class",
) -> Trained:
    """Train RAkEL: label powersets of random labels; the parameters are those of :class:`RAkELClassifier`."""
    n_labels = problem.target.n_columns
    if not overlapping:
        labelsets = divide_labels(n_labels, labelset_size, problem.rng)
    else:
        n_labelsets = 2 * n_labels if n_labelsets is None else n_labelsets
        labelsets = draw_labelsets(n_labels, labelset_size, n_labelsets, problem.rng)
    seeds = problem.rng.integers(2**31, size=len(labelsets)).tolist()
    n_votes = np.bincount(np.concatenate(labelsets), minlength=n_labels).astype(np.float64)
    jobs = list(zip(labelsets, seeds, strict=True))
    return train_members(problem, _train_on_labels, jobs, vote=vote, n_votes=n_votes)


def _train_on_labels(problem: Problem, job: tuple[Indices, int]) -> tuple[LabelModel, Counts]:
    labels, seed = job
    counts, weights = count_all_samples(problem.weights, problem.n_samples, copies=problem.learner.counts_copies)
    Y = problem.target.values
    model = train_sets(problem.learner, Y[:, labels], counts, seed, weights=weights)
    return OfSomeLabels(model, labels, Y.shape[1]), counts


class OfSomeLabels(LabelModel):
    """A model of some of the labels; the scores of the others are 0."""

    def __init__(self, model: LabelModel, labels: Indices, n_labels: int) -> None:
        self.model = model
        self.labels = labels
        self.n_labels = n_labels

    def scores(self, X: Any = None, *, appended: Any = None, only: Indices | None = None) -> Scores:
        """Return the probability of each label."""
        return self._spread(self.model.scores(X, only=only))

    def decisions(self, X: Any = None, *, only: Indices | None = None) -> Scores:
        """Return scores above 0.5 for the labels that the model predicts."""
        return self._spread(self.model.decisions(X, only=only))

    def _spread(self, scores: Scores) -> Scores:
        spread = np.zeros((len(scores), self.n_labels))
        spread[:, self.labels] = scores
        return spread


class RAkELClassifier(MultilabelEnsemble):
    """RAkEL: equal votes of label powersets on small random sets of labels.

    With v_tj(x) the vote of the t-th model for label j, 0 or 1 or a probability, and T_j the models of label j, ::

        p_j(x) = mean of v_tj(x) over t in T_j.

    A small subset of labels has few distinct label sets with many samples each, whereas the sets of all labels are many
    and rare.

    Parameters
    ----------
    estimator : classifier, "tree" or None, default=None
        Base estimator: any classifier. None means ``SVMClassifier()``, "tree" ``CARTClassifier()``.
    labelset_size : int, default=3
        Number of labels of a model.
    n_labelsets : int or None, default=None
        Number of models, each with a different set of labels. None means twice the number of labels. If it exceeds the
        number of possible sets, all of them are used.
    overlapping : bool, default=True
        Whether models may share labels. Otherwise the labels are partitioned at random, and ``n_labelsets`` must be
        None.
    vote : {"class", "probability"}, default="class"
        Whether models vote with their most probable label set or with their probabilities.
    decision : float, str or rule, default=0.5
        How labels are predicted from vote fractions: a threshold, or a rule of :mod:`fuselearn.multilabel.decisions`.
    callback : callable or None, default=None
        ``callback(number, classifier)`` is called after each member, counted from 1; True ends training.
    verbose : int, default=0
        1 prints about ten lines of progress with the remaining time, 2 one line per model.
    random_state : int, RandomState or None, default=None
        Seed of the choices of labels and of the base estimators.
    n_jobs : int or None, default=None
        Number of models trained in parallel. Results do not depend on it.

    Attributes
    ----------
    labelsets_ : list of arrays
        The sorted indices of the labels of each model.
    estimators_ : list of LabelPowersetClassifier
        The models, each of its labels in ``labelsets_``.
    estimator_weights_ : array of shape (n_labelsets,)
        The same weight for all models.
    labels_, n_labels_, classes_, n_features_in_, feature_names_in_
        Names and number of the labels; the classes 0 and 1 of each label; number of the features; their names, if ``X``
        is a DataFrame.

    See Also
    --------
    LabelPowersetClassifier : A single model of the sets of all labels.
    EnsembleOfPrunedSetsClassifier : Votes of models of frequent label sets.

    Warns
    -----
    UserWarning
        If ``labelset_size`` exceeds the number of labels: a single label powerset is trained.

    Notes
    -----
    Every label is in at least one set: overlapping sets begin with a random partition of the labels, whose last part is
    completed with other labels; the remaining sets are drawn at random without repetition.

    References
    ----------
    Tsoumakas, G., Katakis, I. and Vlahavas, I. (2011). Random k-labelsets for multilabel classification. IEEE
    Transactions on Knowledge and Data Engineering 23(7), 1079-1089.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from fuselearn.multilabel import RAkELClassifier
    >>> X, Y = make_multilabel_classification(n_samples=200, n_classes=5, random_state=0)
    >>> model = RAkELClassifier("tree", overlapping=False, random_state=0).fit(X[:150], Y[:150])
    >>> model.labelsets_
    [array([2, 3, 4]), array([0, 1])]
    >>> model.predict(X[150:152])
    array([[0, 0, 0, 0, 0],
           [0, 1, 1, 1, 1]])
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        labelset_size: int = 3,
        n_labelsets: int | None = None,
        overlapping: bool = True,
        vote: str = "class",
        decision: Any = 0.5,
        callback: Callable[[int, Any], Any] | None = None,
        verbose: int = 0,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.labelset_size = labelset_size
        self.n_labelsets = n_labelsets
        self.overlapping = overlapping
        self.vote = vote
        self.decision = decision
        self.callback = callback
        self.verbose = verbose
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_whole_number("labelset_size", self.labelset_size, 1)
        check_flag("overlapping", self.overlapping)
        if self.n_labelsets is not None:
            check_whole_number("n_labelsets", self.n_labelsets, 1)
            if not self.overlapping:
                raise ValueError(
                    "n_labelsets must be None with overlapping=False, because labelset_size determines the number of "
                    f"disjoint sets; it is {self.n_labelsets}."
                )

    def _train(self, problem: Problem) -> Trained:
        size = min(self.labelset_size, problem.target.n_columns)
        if size < self.labelset_size:
            warnings.warn(
                f"labelset_size={self.labelset_size} exceeds the number of labels, {size}; a single label powerset is "
                "trained.",
                stacklevel=5,
            )
        return train_rakel(problem, size, self.n_labelsets, overlapping=self.overlapping, vote=self.vote)

    @property
    def labelsets_(self) -> list[Indices]:
        """The indices of the labels of each model, sorted."""
        check_is_fitted(self)
        return [model.labels for model in self._fused_.models]

    def _n_members(self) -> int:
        n_labels = self.n_labels_
        size = min(self.labelset_size, n_labels)
        if not self.overlapping:
            return -(-n_labels // size)
        return min(comb(n_labels, size), 2 * n_labels if self.n_labelsets is None else self.n_labelsets)

    def _member(self, model: Any) -> LabelPowersetClassifier:
        member, labels = LabelPowersetClassifier(self.estimator), model.labels
        member.labels_, member.n_labels_ = self.labels_[labels], len(labels)
        member.classes_, member._constants_ = [self.classes_[j] for j in labels], self._constants_[labels]
        member._fused_ = WeightedSum([model.model], np.ones(1), len(labels))
        return member


def divide_labels(n_labels: int, size: int, rng: np.random.Generator) -> list[Indices]:
    """Partition labels at random into sets of a given size; the last set may be smaller.

    Examples
    --------
    >>> divide_labels(5, 2, np.random.default_rng(0))
    [array([2, 4]), array([0, 3]), array([1])]
    """
    order = rng.permutation(n_labels)
    return [np.sort(order[start : start + size]) for start in range(0, n_labels, size)]


def draw_labelsets(n_labels: int, size: int, n_labelsets: int, rng: np.random.Generator) -> list[Indices]:
    """Draw distinct sets that cover all labels, or return all possible sets if there are not enough.

    Parameters
    ----------
    n_labels : int
    size : int
        Number of labels of each set, at most ``n_labels``.
    n_labelsets : int
    rng : Generator

    Examples
    --------
    >>> draw_labelsets(3, 2, 10, np.random.default_rng(0))
    [array([0, 1]), array([0, 2]), array([1, 2])]
    """
    n_choices = comb(n_labels, size)
    if n_labelsets >= n_choices:
        return [np.array(labels) for labels in combinations(range(n_labels), size)]
    n_needed = -(-n_labels // size)
    if n_labelsets < n_needed:
        raise ValueError(
            f"n_labelsets={n_labelsets} sets of {size} labels cannot cover all {n_labels} labels; use at least "
            f"{n_needed} sets."
        )
    found = dict.fromkeys(_cover_labels(n_labels, size, rng))
    if n_choices <= 2 * n_labelsets:
        # Random draws would mostly repeat known sets, so all possible sets are shuffled instead.
        choices = list(combinations(range(n_labels), size))
        others = iter([choices[k] for k in rng.permutation(n_choices)])
    else:
        others = _draw_for_ever(n_labels, size, rng)
    while len(found) < n_labelsets:
        found.setdefault(next(others))
    return [np.array(labels) for labels in found]


def _cover_labels(n_labels: int, size: int, rng: np.random.Generator) -> list[Choice]:
    """Partition labels at random into sets; complete the last set with labels of the others."""
    *parts, last = divide_labels(n_labels, size, rng)
    others = np.setdiff1d(np.arange(n_labels), last)
    filled = np.concatenate([last, rng.choice(others, size - len(last), replace=False)])
    return [_as_choice(labels) for labels in (*parts, filled)]


def _draw_for_ever(n_labels: int, size: int, rng: np.random.Generator) -> Iterator[Choice]:
    """Draw sets of labels with repetition."""
    while True:
        yield _as_choice(rng.choice(n_labels, size, replace=False))


def _as_choice(labels: Indices) -> Choice:
    return tuple(sorted(labels.tolist()))
