"""RAkEL: label powersets of random label subsets."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from fuselearn._parameters import check_choice, check_flag, check_whole_number
from fuselearn.learners import Learner, count_all_samples
from fuselearn.multilabel.learning.base import Labels, MultilabelClassifier, Weights
from fuselearn.multilabel.learning.fusion import LabelSum, OfSomeLabels
from fuselearn.multilabel.methods.powerset import Counts, Indices, train_powerset

# The numbers of some labels, sorted.
Choice = tuple[int, ...]


class RAkELClassifier(MultilabelClassifier):
    """Equal votes of label powersets, each of a random few of the labels (RAkEL).

    With v_tj(x) the vote of the t-th model for label j, 0 or 1 or a probability, and T_j the models that know j, ::

        p_j(x) = mean of v_tj(x) over t in T_j.

    A few labels have few label sets, with many samples each, where all labels have many sets with few samples.

    Parameters
    ----------
    estimator : classifier, "tree" or None, default=None
        Base learner: any classifier. None means ``SVMClassifier()``, "tree" ``CARTClassifier()``.
    labelset_size : int, default=3
        Labels that a model knows.
    n_labelsets : int or None, default=None
        Number of models, each with labels of its own choice. None means twice the number of labels. It is at most the
        number of different choices, which are then all taken.
    overlapping : bool, default=True
        Whether models may share labels. If not, the labels are divided at random, and ``n_labelsets`` must be None.
    vote : {"class", "probability"}, default="class"
        Whether models vote with the labels of their most probable set or with their probabilities.
    decision : float, str or rule, default=0.5
        How shares of votes become labels: a threshold, or another rule of :mod:`fuselearn.multilabel.decisions`.
    random_state : int, RandomState or None, default=None
        Seed of the choices of labels and of the base learners.
    n_jobs : int or None, default=None
        Models trained at the same time. Results do not depend on it.

    Attributes
    ----------
    labelsets_ : list of arrays
        For each model the numbers of the labels that it knows, sorted.
    labels_, n_labels_, classes_, n_features_in_, feature_names_in_
        Names and number of the labels, and 0 and 1 for each; number of the features, and their names if they have any.

    See Also
    --------
    LabelPowersetClassifier : One model for the sets of all labels.
    EnsembleOfPrunedSetsClassifier : Votes of models of the frequent label sets.

    Warns
    -----
    UserWarning
        If ``labelset_size`` is more than the labels: a single label powerset is trained.

    Notes
    -----
    Every label is known to a model: overlapping choices begin with a division of the labels, whose last part is filled
    up with others; the remaining ones are drawn at random, none twice.

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
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.labelset_size = labelset_size
        self.n_labelsets = n_labelsets
        self.overlapping = overlapping
        self.vote = vote
        self.decision = decision
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _check_parameters(self) -> None:
        check_choice("vote", self.vote, ("class", "probability"))
        check_whole_number("labelset_size", self.labelset_size, 1)
        check_flag("overlapping", self.overlapping)
        if self.n_labelsets is not None:
            check_whole_number("n_labelsets", self.n_labelsets, 1)
            if not self.overlapping:
                raise ValueError(
                    "n_labelsets must be None with overlapping=False: labelset_size says how many disjoint sets there "
                    f"are; it is {self.n_labelsets}."
                )

    def _fit_labels(self, X: Any, Y: Labels, weights: Weights | None, rng: np.random.Generator) -> None:
        self.labelsets_ = self._choose_labels(rng)
        learner = self._bind(X, n_threads=1)  # models are trained side by side instead
        counts, weights = count_all_samples(weights, len(Y), copies=learner.counts_copies)
        seeds = rng.integers(2**31, size=len(self.labelsets_)).tolist()
        members = Parallel(n_jobs=self.n_jobs, prefer=learner.prefer)(
            delayed(_train_model)(learner, Y, labels, counts, seed, weights)
            for labels, seed in zip(self.labelsets_, seeds, strict=True)
        )
        n_votes = np.bincount(np.concatenate(self.labelsets_), minlength=self.n_labels_).astype(np.float64)
        self._adopt(LabelSum(members, np.ones(len(members)), learner, self.vote, n_votes))

    def _choose_labels(self, rng: np.random.Generator) -> list[Indices]:
        """Choose the labels of each model."""
        n_labels, size = self.n_labels_, self.labelset_size
        if size > n_labels:
            warnings.warn(
                f"labelset_size={size} is more than the {n_labels} label(s); a single label powerset is trained.",
                stacklevel=5,
            )
            size = n_labels
        if not self.overlapping:
            return divide_labels(n_labels, size, rng)
        return draw_labelsets(n_labels, size, 2 * n_labels if self.n_labelsets is None else self.n_labelsets, rng)


def divide_labels(n_labels: int, size: int, rng: np.random.Generator) -> list[Indices]:
    """Divide labels at random into sets of a size; the last one has what is left.

    Examples
    --------
    >>> divide_labels(5, 2, np.random.default_rng(0))
    [array([2, 4]), array([0, 3]), array([1])]
    """
    order = rng.permutation(n_labels)
    return [np.sort(order[start : start + size]) for start in range(0, n_labels, size)]


def draw_labelsets(n_labels: int, size: int, n_labelsets: int, rng: np.random.Generator) -> list[Indices]:
    """Draw different sets of labels that together have all labels, or take all sets if there are no more.

    Parameters
    ----------
    n_labels : int
    size : int
        Labels of each set, at most ``n_labels``.
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
            f"n_labelsets={n_labelsets} sets of {size} labels cannot have all {n_labels} labels; at least {n_needed} "
            "are needed."
        )
    found = dict.fromkeys(_cover_labels(n_labels, size, rng))
    if n_choices <= 2 * n_labelsets:
        # Few draws would be new at the end, so all choices are put in a random order.
        choices = list(combinations(range(n_labels), size))
        others = iter([choices[k] for k in rng.permutation(n_choices)])
    else:
        others = _draw_for_ever(n_labels, size, rng)
    while len(found) < n_labelsets:
        found.setdefault(next(others))
    return [np.array(labels) for labels in found]


def _cover_labels(n_labels: int, size: int, rng: np.random.Generator) -> list[Choice]:
    """Divide labels at random into sets, the last of which is filled up with labels of the others."""
    *parts, last = divide_labels(n_labels, size, rng)
    others = np.setdiff1d(np.arange(n_labels), last)
    filled = np.concatenate([last, rng.choice(others, size - len(last), replace=False)])
    return [_as_choice(labels) for labels in (*parts, filled)]


def _draw_for_ever(n_labels: int, size: int, rng: np.random.Generator) -> Iterator[Choice]:
    """Draw sets of labels, some of them more than once."""
    while True:
        yield _as_choice(rng.choice(n_labels, size, replace=False))


def _as_choice(labels: Indices) -> Choice:
    return tuple(sorted(labels.tolist()))


def _train_model(
    learner: Learner, Y: Labels, labels: Indices, counts: Counts, seed: int, weights: Weights | None
) -> OfSomeLabels:
    model = train_powerset(learner, Y[:, labels], counts, seed, weights=weights)
    model.unbind()  # or the training data would travel back from a worker process with each model
    return OfSomeLabels(model, labels, Y.shape[1])
