"""AdaBoost.MH: boosting of stumps that vote on every label at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fuselearn._core import PairTable, find_stump, left_samples, make_stump_tree
from fuselearn._parameters import check_number, check_whole_number, count_threads
from fuselearn.base import validate_numbers
from fuselearn.fusion import Problem, Trained
from fuselearn.learners import Learner
from fuselearn.multilabel.base import MultilabelBase, Scores, single
from fuselearn.multilabel.labels import UNKNOWN
from fuselearn.multilabel.methods.label_trees import LabelForest, LabelTable, scale_rows


def train_adaboost_mh(problem: Problem, n_estimators: int = 100, *, learning_rate: float = 1.0) -> Trained:
    """Train AdaBoost.MH; the parameters are those of :class:`AdaBoostMHClassifier`."""
    learner: Any = problem.learner
    Y, n_threads = problem.target.values, count_threads(problem.n_jobs)
    table = PairTable(learner.columns)
    has_label = Y == 1
    pairs = np.repeat(problem.initial_weights[:, None], Y.shape[1], axis=1)
    pairs[Y == UNKNOWN] = 0.0
    pairs /= max(pairs.sum(), np.finfo(float).tiny)
    smoothing = 1.0 / (problem.n_draws * Y.shape[1])

    trees, normalizers = [], []
    gains, loss = np.zeros((Y.shape[1], learner.n_features)), 1.0
    constant_votes = _vote(_weigh(pairs, has_label), smoothing)
    for _ in range(n_estimators):
        stump = find_stump(table, pairs * has_label, pairs * ~has_label, 0, table.n_columns, n_threads=n_threads)
        if stump.feature < 0:
            break
        is_left = left_samples(table, stump)
        sides = [_weigh(pairs[side], has_label[side]) for side in (is_left, ~is_left)]
        votes = learning_rate * np.array([_vote(side, smoothing) for side in sides])
        own = votes[np.where(is_left, 0, 1)]
        pairs *= np.exp(np.where(has_label, -own, own))
        normalizer = float(pairs.sum())
        if normalizer >= 1.0:
            break
        pairs /= normalizer
        gains[:, stump.feature] += loss * (_rest(sides[0] + sides[1]) - _rest(sides[0]) - _rest(sides[1]))
        loss *= normalizer
        normalizers.append(normalizer)
        trees.append(make_stump_tree(table, stump, votes))
        problem.on_iteration(len(trees), trees[-1])
    trained = single(
        LabelForest(
            ((tree, tree.values) for tree in trees),
            learner.coder.n_categories_,
            start=np.zeros(Y.shape[1]) if trees else constant_votes,  # identical samples cannot be split
            divisor=0.5,
            is_logistic=True,
            n_threads=n_threads,
        ),
        problem,
    )
    trained.trace = {
        "n_iter_": len(trees),
        "normalizers_": np.array(normalizers),
        "feature_importances_": scale_rows(np.maximum(gains, 0.0)),  # negative only by rounding
    }
    return trained


class AdaBoostMHClassifier(MultilabelBase):
    """Multi-label boosting: each round adds a stump that votes for or against every label (AdaBoost.MH).

    Experimental: parameters, defaults and results may change in any minor release.

    Every pair of a sample i and a label l has a weight D(i, l). Initial weights are equal, and 0 for unknown labels,
    NaN in ``y``. Each round splits the samples into the two sides that minimize ::

        Z = 2 sum over sides s and labels l of sqrt(W+(s, l) W-(s, l)),

    where W+ and W- are the total weights of the samples of a side with and without the label. The vote of side s is ::

        c(s, l) = 1/2 log((W+(s, l) + e) / (W-(s, l) + e)),     e = 1 / (n_samples n_labels),

    and D(i, l) is multiplied by exp(-c) if sample i has label l, else by exp(c), and then normalized to a sum of 1.
    This is the paper's variant of domain partitioning with real-valued votes. The fraction of wrong pairs in training
    is at most the product of the normalizers. The probability of a label is 1 / (1 + exp(-2 f)), with f the sum of its
    votes.

    Parameters
    ----------
    n_estimators : int, default=100
        Maximum number of rounds.
    learning_rate : float, default=1.0
        Shrinks the votes of each round. Smaller values need more rounds and usually overfit less.
    decision : float, str or rule, default=0.5
        How labels are predicted from probabilities: a threshold, or a rule of :mod:`fuselearn.multilabel.decisions`.
    verbose : int, default=0
        1 prints about ten lines of progress with the remaining time, 2 one line per round.
    random_state : int, RandomState or None, default=None
        Seed of the folds for fitting a decision rule; boosting itself is deterministic.
    n_jobs : int or None, default=None
        Threads that share the features. Results do not depend on it.

    Attributes
    ----------
    feature_importances_ : array of shape (n_labels, n_features)
        Decrease of the exponential loss of a label by splits on a feature, normalized; see Notes.
    n_iter_ : int
        Number of rounds, below ``n_estimators`` if no further split lowers the bound.
    normalizers_ : array of shape (n_iter,)
        Sum of the weights after each round, before normalization.
    labels_, n_labels_, classes_, n_features_in_, feature_names_in_
        Names and number of the labels; the classes 0 and 1 of each label; number of the features; their names, if ``X``
        is a DataFrame.

    See Also
    --------
    PCTForestClassifier : A forest of trees for all labels at once.
    fuselearn.SAMMEClassifier : Boosting for one class per sample.

    Notes
    -----
    Without a split, the best constant vote leaves the weight 2 sqrt(W+(l) W-(l)) of label l; with the split, the two
    sides together leave less. The difference, times the product of the normalizers of all previous rounds, is the
    decrease of the label's exponential loss by the feature of the round. ``feature_importances_`` is the sum over the
    rounds, with each row normalized to a sum of 1; a label that no split improves has a row of zeros.

    References
    ----------
    Schapire, R. E. and Singer, Y. (1999). Improved boosting algorithms using confidence-rated predictions. Machine
    Learning 37(3), 297-336.

    Examples
    --------
    >>> from sklearn.metrics import f1_score
    >>> from fuselearn.datasets import make_digit_pairs
    >>> from fuselearn.multilabel import AdaBoostMHClassifier
    >>> X, Y = make_digit_pairs(600, random_state=0)
    >>> boosted = AdaBoostMHClassifier(200).fit(X[:400], Y[:400])
    >>> round(f1_score(Y[400:], boosted.predict(X[400:]), average="macro"), 2)
    0.77
    """

    _accepts_unknown = True
    _input_tags = (("allow_nan", True), ("sparse", True))
    _validate_table = staticmethod(validate_numbers)

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        learning_rate: float = 1.0,
        decision: Any = 0.5,
        verbose: int = 0,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.decision = decision
        self.verbose = verbose
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _check_parameters(self) -> None:
        check_whole_number("n_estimators", self.n_estimators, 1)
        if check_number("learning_rate", self.learning_rate, 0.0) == 0.0:
            raise ValueError("learning_rate must be above 0.")

    def _make_learner(self, X: Any, n_threads: int) -> Learner:
        return LabelTable(X, n_threads)

    def _train(self, problem: Problem) -> Trained:
        return train_adaboost_mh(problem, self.n_estimators, learning_rate=self.learning_rate)


def _weigh(pairs: Scores, has_label: npt.NDArray[np.bool_]) -> npt.NDArray[np.float64]:
    """Sum the weights of the samples with each label, and of those without."""
    return np.array([np.where(has_label, pairs, 0.0).sum(axis=0), np.where(has_label, 0.0, pairs).sum(axis=0)])


def _vote(weights: npt.NDArray[np.float64], smoothing: float) -> npt.NDArray[np.float64]:
    """Compute half the log-ratio of the weights with and without each label."""
    with_label, without = weights + smoothing
    return 0.5 * np.log(with_label / without)


def _rest(weights: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the weight of each label that remains after the best vote."""
    return 2.0 * np.sqrt(weights[0] * weights[1])
