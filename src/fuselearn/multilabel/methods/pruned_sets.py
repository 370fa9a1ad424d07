"""Pruned sets: a label powerset without the label sets that are rare."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from fuselearn._parameters import check_whole_number
from fuselearn.learners import Learner
from fuselearn.multilabel.learning.base import Labels, MultilabelClassifier, Weights
from fuselearn.multilabel.methods.powerset import Counts, SetModel, find_label_sets, train_sets


class PrunedSetsClassifier(MultilabelClassifier):
    """A label powerset that learns frequent label sets only, and rare ones as their frequent subsets (PS).

    A set is frequent if at least ``min_count`` samples have it. A sample with another set S learns, as a copy each, the
    first ``n_subsets`` of the frequent sets inside S, larger ones first, and more frequent ones first among equally
    large ones; a sample without any takes no part. The probability that sample x has label j is, over the frequent
    sets, ::

        p_j(x) = sum of P(S | x) over the sets S that contain j.

    Parameters
    ----------
    estimator : classifier, "tree" or None, default=None
        Base learner: any classifier. None means ``SVMClassifier()``, "tree" ``CARTClassifier()``.
    min_count : int, default=2
        Samples that a set needs to be kept. If no set has as many, the most frequent ones are kept. With 1, the model
        is a label powerset.
    n_subsets : int, default=2
        Most subsets that a sample with a rare set stands for; 0 leaves such samples out.
    decision : float, str or rule, default="set"
        How samples get labels: "set" means those of the most probable set; or probabilities of labels become labels by
        a threshold or another rule of :mod:`fuselearn.multilabel.decisions`.
    random_state : int, RandomState or None, default=None
        Seed of the base learner.
    n_jobs : int or None, default=None
        Threads that the engines may use. Results do not depend on it.

    Attributes
    ----------
    label_sets_ : array of shape (n_sets, n_labels)
        The frequent label sets as rows of 0 and 1, in the order in which they appear in training. A scikit-learn
        classifier knows them by their place here.
    labels_, n_labels_, classes_, n_features_in_, feature_names_in_
        Names and number of the labels, and 0 and 1 for each; number of the features, and their names if they have any.

    See Also
    --------
    EnsembleOfPrunedSetsClassifier : Equal votes of such models on random samples.
    LabelPowersetClassifier : All label sets are learned.

    Notes
    -----
    The subsets are those of the authors' option A. The empty set is none of them: a sample with labels is no example of
    a sample without. A machine of the SVM engine gets no copies: a sample that stands for several sets is a positive
    example of each. A label that is in no frequent set has the probability 0. If all entries of ``sample_weight`` are
    whole numbers, they count as so many samples; other weights do not change which sets are frequent, unless they are
    0.

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

    def _fit_labels(self, X: Any, Y: Labels, weights: Weights | None, rng: np.random.Generator) -> None:
        train = partial(train_pruned_sets, min_count=self.min_count, n_subsets=self.n_subsets)
        self.label_sets_ = self._fit_one(train, X, Y, weights, rng).sets


def check_pruning(min_count: Any, n_subsets: Any) -> None:
    """Refuse settings with which no sets can be pruned."""
    check_whole_number("min_count", min_count, 1)
    check_whole_number("n_subsets", n_subsets, 0)


def train_pruned_sets(
    learner: Learner,
    Y: Labels,
    counts: Counts,
    seed: int,
    *,
    min_count: int,
    n_subsets: int,
    weights: Weights | None = None,
) -> SetModel:
    """Train a model over the frequent label sets of the samples drawn.

    Parameters
    ----------
    learner : Learner
        It stays as it is.
    Y : array of shape (n_samples, n_labels)
    min_count, n_subsets
        As in :class:`PrunedSetsClassifier`; copies of a sample count.
    counts, seed, weights
        As in ``Learner.train``.
    """
    sets, members = prune_sets(Y, counts, min_count, n_subsets)
    return train_sets(learner, sets, members, counts, seed, weights=weights)


def prune_sets(Y: Labels, counts: Counts, min_count: int, n_subsets: int) -> tuple[Labels, Labels]:
    """Find the frequent label sets of the samples drawn, and which of them each sample stands for.

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
    """Choose among sets those inside a set of labels: the largest first, of equally large ones the most frequent.

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
