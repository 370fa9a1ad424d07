"""Calibrated label ranking: one model per pair of labels, and a virtual label as the threshold."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed

from fuselearn._parameters import check_choice
from fuselearn.fusion import Problem, Trained
from fuselearn.learners import LabelModel, Learner, count_all_samples
from fuselearn.learners.learner import Counts, Indices
from fuselearn.multilabel.base import Labels, MultilabelBase, Scores, Weights, single, train_labels

Pair = tuple[int, int]


def train_label_ranking(problem: Problem, vote: str = "class") -> Trained:
    """Train a model per pair of labels, and one per label against the virtual label."""
    learner, Y, seed = problem.learner, problem.target.values, int(problem.rng.integers(2**31))
    learner.n_threads = 1  # models are trained in parallel instead
    counts, weights = count_all_samples(problem.weights, problem.n_samples, copies=learner.counts_copies)
    drawn = Y[counts > 0]
    pairs = [(i, j) for i, j in combinations(range(Y.shape[1]), 2) if (drawn[:, i] != drawn[:, j]).any()]
    models = Parallel(n_jobs=problem.n_jobs, prefer=learner.prefer)(
        delayed(_train_pair)(learner, Y, pair, counts, seed, weights) for pair in pairs
    )
    relevance = train_labels(learner, Y, counts, seed, weights=weights)
    trained = single(LabelRanking(relevance, pairs, models, vote), problem)
    trained.trace = {"pairs_": pairs}
    return trained


def _train_pair(
    learner: Learner, Y: Labels, pair: Pair, counts: Counts, seed: int, weights: Weights | None
) -> LabelModel:
    """Train a model on the samples with exactly one label of a pair."""
    first, second = pair
    drawn = np.where(Y[:, first] != Y[:, second], counts, 0).astype(np.int32)
    return train_labels(learner, Y[:, [first]], drawn, seed, weights=weights)


class LabelRanking(LabelModel):
    """The trained models of labels and of pairs of labels.

    Parameters
    ----------
    relevance : LabelModel
        The models of each label against the virtual label.
    pairs : list of pairs
        The indices of both labels of each pair.
    models : list of LabelModel
        The models of the first label of each pair against the second.
    vote : {"class", "probability"}
    """

    def __init__(self, relevance: LabelModel, pairs: list[Pair], models: list[LabelModel], vote: str) -> None:
        self.relevance = relevance
        self.pairs = pairs
        self.models = models
        self.vote = vote

    def scores(self, X: Any = None, *, appended: Any = None, only: Indices | None = None) -> Scores:
        """Return scores above 0.5 for labels that win against the virtual label; ties of whole votes win, too."""
        against_virtual = self._vote(self.relevance, X, only)
        n_labels = against_virtual.shape[1]
        votes = against_virtual + 0.5 * self._count_missing(n_labels)
        for (first, second), model in zip(self.pairs, self.models, strict=True):
            preference = self._vote(model, X, only)[:, 0]
            votes[:, first] += preference
            votes[:, second] += 1.0 - preference
        virtual = (1.0 - against_virtual).sum(axis=1)
        bonus = 0.25 if self.vote == "class" else 0.0  # a label that ties with the virtual label is predicted
        return 0.5 + (votes - virtual[:, None] + bonus) / (2 * n_labels + 1)

    def _vote(self, model: LabelModel, X: Any, only: Indices | None) -> Scores:
        """Return votes for the first of two labels: whole ones, 0.5 for a tie, or probabilities."""
        probabilities = model.scores(X, only=only)
        return np.heaviside(probabilities - 0.5, 0.5) if self.vote == "class" else probabilities

    def _count_missing(self, n_labels: int) -> npt.NDArray[np.int64]:
        """Return the number of pairs of each label without a model."""
        known = np.bincount(np.array(self.pairs, dtype=np.intp).ravel(), minlength=n_labels)
        return n_labels - 1 - known


class CalibratedLabelRankingClassifier(MultilabelBase):
    """Calibrated label ranking (CLR): one model per pair of labels, and a virtual label as the threshold.

    The model of labels i and j is trained on the samples with exactly one of them. The virtual label 0 ranks below the
    true labels of a sample and above all others, so its models are those of binary relevance. With p_ij(x) the vote of
    a model for i against j, and 1 - p_ij(x) its vote for j against i, the votes of label i are ::

        v_i(x) = sum over j of p_ij(x),        j = 0, 1, ..., L without i.

    The labels with more votes than the virtual label are predicted; with whole votes, ties are predicted, too.
    ``predict_proba`` returns ::

        1/2 + (v_i(x) - v_0(x) + b) / (2 L + 1),

    with b = 1/4 for whole votes and 0 for vote fractions: a score from 0 to 1, not a probability, above 0.5 for the
    predicted labels.

    .. versionadded:: 0.2

    Parameters
    ----------
    estimator : classifier, "tree" or None, default=None
        Base estimator: any classifier. None means ``SVMClassifier()``, "tree" ``CARTClassifier()``.
    vote : {"class", "probability"}, default="class"
        Whether models vote for one of their two labels, as in the paper, or with their probabilities.
    decision : float, str or rule, default=0.5
        How labels are predicted from scores: 0.5 is the threshold at the virtual label; or another threshold, or a rule
        of :mod:`fuselearn.multilabel.decisions`.
    random_state : int, RandomState or None, default=None
        Seed of the base estimators.
    n_jobs : int or None, default=None
        Number of models trained in parallel. Results do not depend on it.

    Attributes
    ----------
    pairs_ : list of pairs
        The indices of the two labels of each model. A pair has no model if no sample has exactly one of its labels;
        each of them then gets half a vote.
    labels_, n_labels_, classes_, n_features_in_, feature_names_in_
        Names and number of the labels; the classes 0 and 1 of each label; number of the features; their names, if ``X``
        is a DataFrame.

    See Also
    --------
    BinaryRelevanceClassifier : Only the models of the virtual label.

    Notes
    -----
    There are L (L + 1) / 2 models, 5,050 for 100 labels, most of them trained on few samples. Labels that tie with the
    virtual label are predicted, as in Mulan.

    References
    ----------
    Fuernkranz, J., Huellermeier, E., Loza Mencia, E. and Brinker, K. (2008). Multilabel classification via calibrated
    label ranking. Machine Learning 73(2), 133-153.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from fuselearn.multilabel import CalibratedLabelRankingClassifier
    >>> X, Y = make_multilabel_classification(n_samples=200, n_classes=4, random_state=0)
    >>> model = CalibratedLabelRankingClassifier("tree").fit(X[:150], Y[:150])
    >>> model.predict_proba(X[150:152]).round(2)
    array([[0.53, 0.19, 0.31, 0.53],
           [0.31, 0.53, 0.31, 0.42]])
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        vote: str = "class",
        decision: Any = 0.5,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.vote = vote
        self.decision = decision
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _check_parameters(self) -> None:
        check_choice("vote", self.vote, ("class", "probability"))

    def _train(self, problem: Problem) -> Trained:
        return train_label_ranking(problem, self.vote)
