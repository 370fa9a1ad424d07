"""Label powerset: one multi-class model whose classes are the label sets of training."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from fuselearn.fusion import Problem, Trained
from fuselearn.learners import LabelModel, Learner, Model, class_list_target
from fuselearn.learners.target import Counts, Indices
from fuselearn.multilabel.base import Labels, MultilabelBase, Scores, Weights, train_method


class LabelPowersetClassifier(MultilabelBase):
    """One multi-class model whose classes are the distinct label sets of the training samples.

    The probability that sample x has label j is that of all sets with the label, ::

        p_j(x) = sum of P(S | x) over the sets S that contain j,

    so labels that occur together are predicted together.

    Parameters
    ----------
    estimator : classifier, "tree" or None, default=None
        Base estimator: any classifier. None means ``SVMClassifier()``, "tree" ``CARTClassifier()``.
    decision : float, str or rule, default="set"
        How samples get labels: "set" means those of the most probable set; or probabilities of labels become labels by
        a threshold or another rule of :mod:`fuselearn.multilabel.decisions`.
    random_state : int, RandomState or None, default=None
        Seed of the base estimator.
    n_jobs : int or None, default=None
        Threads for training and prediction. Results do not depend on it.

    Attributes
    ----------
    label_sets_ : array of shape (n_sets, n_labels)
        The label sets as an indicator matrix, in the order in which they appear in training. The classes of a
        scikit-learn classifier are their indices here.
    labels_, n_labels_, classes_, n_features_in_, feature_names_in_
        Names and number of the labels, and 0 and 1 for each; number of the features, and their names if they have any.

    See Also
    --------
    PrunedSetsClassifier : Only frequent label sets are learned.
    RAkELClassifier : Label powersets of a few labels each.

    Notes
    -----
    Machines are coupled so that the probabilities of the labels fit samples left out of training: with p_S the
    probability by the machine of set S, calibrated on its own, and n_S the number of samples with that set, ::

        P(S | x) is in proportion to p_S^a n_S^b,

    where a and b are found by cross-validation, together with Platt's sigmoids. Other values of ``probability`` than
    "platt" mean a = 1 and b = 0.

    With ``decision="set"`` as many samples as possible are expected to get exactly their labels; with a threshold of
    0.5 as few labels as possible are expected to be wrong, and the labels of a sample need not be one of the sets.

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
        return train_method(problem, train_powerset, int(problem.rng.integers(2**31)))

    @property
    def label_sets_(self) -> Labels:
        """The label sets, in the order in which they appear in training."""
        return find_sets(self)


class SetModel(LabelModel):
    """A trained model over label sets, which predicts their labels."""

    def __init__(self, model: Model, sets: Labels) -> None:
        self.model = model
        self.sets = sets

    def scores(self, X: Any = None, *, appended: Any = None, only: Indices | None = None) -> Scores:
        """Return the probability of each label."""
        probabilities = self.model.scores(X, only=only)
        return np.minimum(probabilities @ self.sets.astype(np.float64), 1.0)  # a sum may pass 1 by rounding

    def decisions(self, X: Any = None, *, only: Indices | None = None) -> Scores:
        """Return 1 for the labels of the most probable set, the first of equally probable ones, and 0 for others."""
        return self.sets[self.model.scores(X, only=only).argmax(axis=1)].astype(np.float64)


def find_sets(classifier: MultilabelBase) -> Labels:
    """Return the label sets that the model of a fitted classifier is over."""
    check_is_fitted(classifier)
    model: Any = classifier._fused_.models[0]
    sets: Labels = model.sets if isinstance(model, SetModel) else model.model.sets
    return sets


def train_powerset(
    learner: Learner, Y: Labels, counts: Counts, seed: int, *, weights: Weights | None = None
) -> SetModel:
    """Train a model over the label sets of the samples drawn.

    Parameters
    ----------
    learner : Learner
    Y : array of shape (n_samples, n_labels)
    counts, seed, weights
        As in ``Learner.train``.
    """
    sets, numbers = find_label_sets(Y, counts)
    return train_sets(learner, sets, numbers[:, None] == np.arange(len(sets)), counts, seed, weights=weights)


def train_sets(
    learner: Learner,
    sets: Labels,
    members: npt.NDArray[Any],
    counts: Counts,
    seed: int,
    *,
    weights: Weights | None = None,
) -> SetModel:
    """Train a model over label sets, of which each sample stands for any number, as ``members`` says."""
    return SetModel(learner.train(class_list_target(members, counts, sets), counts, seed, weights=weights), sets)


def find_label_sets(Y: Labels, counts: Counts) -> tuple[Labels, npt.NDArray[np.intp]]:
    """Find the distinct label sets of the samples drawn.

    They are numbered as they appear, so that their order does not depend on that of the labels.

    Returns
    -------
    sets : array of shape (n_sets, n_labels)
    numbers : int array of shape (n_samples,)
        Number of each sample's set, -1 for samples that were not drawn.

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
