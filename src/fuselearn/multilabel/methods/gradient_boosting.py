"""Gradient boosting of trees for all labels at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit, logit

from fuselearn._core import GradientTable, Tree, grow_gradient_tree
from fuselearn._messages import show
from fuselearn._parameters import check_number, check_whole_number, count_features, count_threads
from fuselearn.base import validate_numbers
from fuselearn.ensembles.cart import check_bins
from fuselearn.fusion import Problem, Trained
from fuselearn.learners import Learner
from fuselearn.multilabel.base import Labels, MultilabelBase, Scores, Weights, single
from fuselearn.multilabel.labels import UNKNOWN
from fuselearn.multilabel.methods.label_trees import LabelForest, LabelTable, scale_rows
from fuselearn.multilabel.stratification import IterativeStratifiedKFold

# Added to every sum of Hessians, so that a leaf without known labels has the value 0 even if l2 is 0.
LEAST_HESSIAN = 1e-12

Rows = npt.NDArray[np.int32]


def train_gradient_boosting(
    problem: Problem,
    n_estimators: int = 200,
    *,
    max_depth: int = 6,
    min_samples_leaf: int = 2,
    l2: float = 1.0,
    learning_rate: float = 0.1,
    subsample: float = 0.7,
    max_features: int | float | str | None = 0.3,
    n_iter_no_change: int | None = None,
    validation_fraction: float = 0.1,
) -> Trained:
    """Train gradient boosting; the parameters are those of :class:`GradientBoostingMultilabelClassifier`."""
    learner: Any = problem.learner
    Y, weights, rng, columns = problem.target.values, problem.weights, problem.rng, learner.columns
    n_threads = count_threads(problem.n_jobs)
    table, features = GradientTable(columns), np.arange(learner.n_features)
    importance = np.ones(len(Y)) if weights is None else weights * np.count_nonzero(weights) / weights.sum()
    rows = np.flatnonzero(importance).astype(np.int32)
    held_out = rows[:0]
    if n_iter_no_change is not None:
        rows, held_out = _hold_out(Y, rows, validation_fraction, rng)
    losses = LogisticLosses(Y, importance)
    prior = losses.prior(rows)
    scores = np.tile(prior, (len(Y), 1))

    trees: list[Tree] = []
    gains = np.zeros((Y.shape[1], learner.n_features))
    loss_path: list[float] = []
    for _ in range(n_estimators):
        drawn = _draw(rng, rows, max(1, round(subsample * len(rows))))
        drawn_features = _draw(rng, features, count_features(max_features, len(features)))
        tree = grow_gradient_tree(
            table, losses.statistics(scores), drawn, drawn_features, max_depth, min_samples_leaf, l2, n_threads
        )
        gains += gains_by_label(tree, learner.n_features, l2)
        values = learning_rate * newton_values(tree, l2)
        scores += values[tree.apply(columns)]
        trees.append(tree.with_values(values))
        problem.on_iteration(len(trees), trees[-1])
        if n_iter_no_change is not None:
            loss_path.append(losses.mean(scores, held_out))
            if len(trees) - 1 - np.argmin(loss_path) >= n_iter_no_change:
                break
    trace: dict[str, Any] = {"feature_importances_": scale_rows(np.maximum(gains, 0.0))}
    if n_iter_no_change is not None:
        trace["validation_losses_"] = np.array(loss_path)
        trees = trees[: int(np.argmin(loss_path)) + 1]
    pairs = ((tree, tree.values) for tree in trees)
    trained = single(
        LabelForest(pairs, learner.coder.n_categories_, start=prior, is_logistic=True, n_threads=n_threads), problem
    )
    trained.trace = {**trace, "n_iter_": len(trees)}
    return trained


def _hold_out(Y: Labels, rows: Rows, fraction: float, rng: np.random.Generator) -> tuple[Rows, Rows]:
    """Split the samples into a training set and a validation set for early stopping."""
    n_folds = round(1.0 / fraction)
    if len(rows) < n_folds:
        raise ValueError(f"validation_fraction={show(fraction)} of {len(rows)} samples is less than one sample.")
    folds = IterativeStratifiedKFold(n_folds, shuffle=True, random_state=int(rng.integers(2**31)))
    inside, outside = next(folds.split(rows, Y[rows] == 1))
    return rows[inside], rows[outside]


class GradientBoostingMultilabelClassifier(MultilabelBase):
    """Multi-label gradient boosting: trees with a vector of values in every leaf, one value per label.

    Experimental: parameters, defaults and results may change in any minor release.

    The loss is the sum of the logistic losses of the labels. With p the current probabilities, each round computes for
    each sample and label the gradient g = p - y and the Hessian h = p (1 - p), and grows a tree whose splits maximize
    ::

        sum over sides s and labels j of G_j(s)^2 / (H_j(s) + l2),

    with G and H the sums of g and h over the samples of a side. Each leaf then adds -learning_rate G_j / (H_j + l2) to
    the log-odds of label j. A tree for all labels costs little more than a tree for one label, and labels share its
    splits. Unknown labels, NaN in ``y``, have no loss.

    .. versionadded:: 0.2

    Parameters
    ----------
    n_estimators : int, default=200
        Number of rounds, or their maximum with ``n_iter_no_change``.
    learning_rate : float, default=0.1
        Factor of the values of each tree.
    max_depth : int, default=6
        Maximum depth of the trees.
    min_samples_leaf : int, default=2
        Minimum number of samples in a leaf.
    l2 : float, default=1.0
        Regularization of the values of leaves.
    subsample : float, default=0.7
        Fraction of the samples that are drawn for each tree, without replacement; 1.0 means all.
    max_features : int, float, {"sqrt", "log2"} or None, default=0.3
        Number or fraction of features drawn for each tree; None means all.
    max_bins : int, default=64
        Features with more distinct values are binned by quantiles into this many bins.
    n_iter_no_change : int or None, default=None
        Stop if the loss on held-out samples has not improved for this many rounds, and keep the rounds up to the best.
        None disables early stopping, which is better for fewer than a few thousand samples.
    validation_fraction : float, default=0.1
        Fraction of the samples held out; only with ``n_iter_no_change``.
    decision : float, str or rule, default="cardinality"
        How labels are predicted from probabilities: a threshold, or a rule of :mod:`fuselearn.multilabel.decisions`.
        Fitted rules use out-of-fold probabilities, for which five more models are trained; 0.5 needs none.
    verbose : int, default=0
        1 prints about ten lines of progress with the remaining time, 2 one line per round.
    random_state : int, RandomState or None, default=None
        Seed of the sampling of samples and features.
    n_jobs : int or None, default=None
        Number of threads used on large data. Results do not depend on it.

    Attributes
    ----------
    n_iter_ : int
        Number of trees.
    validation_losses_ : array of shape (n_rounds,)
        Mean logistic loss of the held-out samples after each round; only with ``n_iter_no_change``.
    feature_importances_ : array of shape (n_labels, n_features)
        Increase of the criterion of a label by splits on a feature. Each row is normalized to a sum of 1; the row of a
        constant label is 0.
    labels_, n_labels_, classes_, n_features_in_, feature_names_in_
        Names and number of the labels; the classes 0 and 1 of each label; number of the features; their names, if ``X``
        is a DataFrame.

    See Also
    --------
    PCTForestClassifier : A forest of trees for all labels at once.
    AdaBoostMHClassifier : Boosting of stumps for all labels at once.

    Notes
    -----
    With all samples and features in each tree, ``max_bins=256`` and ``decision=0.5``, this is XGBoost's
    ``multi_strategy="multi_output_tree"`` with ``min_child_weight=0``, except that boosting starts at the log-odds of
    each label. The defaults were chosen on emotions, flags and birds. Drawing samples and features for each tree
    improves the ranking of labels. Rare labels seldom reach a probability of 0.5, so the "cardinality" threshold has a
    higher macro and micro F1 at about the same Hamming loss.

    References
    ----------
    Chen, T. and Guestrin, C. (2016). XGBoost: a scalable tree boosting system. KDD, 785-794.

    Zhang, Z. and Jung, C. (2021). GBDT-MO: gradient-boosted decision trees for multiple outputs. IEEE Transactions on
    Neural Networks and Learning Systems 32(7), 3156-3167.

    Examples
    --------
    >>> from sklearn.metrics import f1_score
    >>> from fuselearn.datasets import make_digit_pairs
    >>> from fuselearn.multilabel import GradientBoostingMultilabelClassifier
    >>> X, Y = make_digit_pairs(600, random_state=0)
    >>> boosted = GradientBoostingMultilabelClassifier(random_state=0).fit(X[:400], Y[:400])
    >>> round(f1_score(Y[400:], boosted.predict(X[400:]), average="macro"), 2)
    0.89
    """

    _accepts_unknown = True
    _input_tags = (("allow_nan", True), ("sparse", True))
    _validate_table = staticmethod(validate_numbers)

    def __init__(
        self,
        n_estimators: int = 200,
        *,
        learning_rate: float = 0.1,
        max_depth: int = 6,
        min_samples_leaf: int = 2,
        l2: float = 1.0,
        subsample: float = 0.7,
        max_features: int | float | str | None = 0.3,
        max_bins: int = 64,
        n_iter_no_change: int | None = None,
        validation_fraction: float = 0.1,
        decision: Any = "cardinality",
        verbose: int = 0,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.l2 = l2
        self.subsample = subsample
        self.max_features = max_features
        self.max_bins = max_bins
        self.n_iter_no_change = n_iter_no_change
        self.validation_fraction = validation_fraction
        self.decision = decision
        self.verbose = verbose
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _check_parameters(self) -> None:
        check_whole_number("n_estimators", self.n_estimators, 1)
        if check_number("learning_rate", self.learning_rate, 0.0) == 0.0:
            raise ValueError("learning_rate must be above 0.")
        check_whole_number("max_depth", self.max_depth, 1)
        check_whole_number("min_samples_leaf", self.min_samples_leaf, 1)
        check_number("l2", self.l2, 0.0)
        if not 0.0 < check_number("subsample", self.subsample, 0.0) <= 1.0:
            raise ValueError(f"subsample must be in (0, 1], not {show(self.subsample)}.")
        count_features(self.max_features, 1)
        check_bins(check_whole_number("max_bins", self.max_bins, 2))
        if self.n_iter_no_change is not None:
            check_whole_number("n_iter_no_change", self.n_iter_no_change, 1)
        if not 0.0 < check_number("validation_fraction", self.validation_fraction, 0.0) <= 0.5:
            raise ValueError(f"validation_fraction must be in (0, 0.5], not {show(self.validation_fraction)}.")

    def _make_learner(self, X: Any, n_threads: int) -> Learner:
        return LabelTable(X, n_threads, self.max_bins, skip_zeros=False)

    def _train(self, problem: Problem) -> Trained:
        return train_gradient_boosting(
            problem,
            self.n_estimators,
            max_depth=self.max_depth,
            min_samples_leaf=self.min_samples_leaf,
            l2=self.l2,
            learning_rate=self.learning_rate,
            subsample=self.subsample,
            max_features=self.max_features,
            n_iter_no_change=self.n_iter_no_change,
            validation_fraction=self.validation_fraction,
        )


class LogisticLosses:
    """The weighted logistic losses of the known labels."""

    def __init__(self, Y: Labels, weights: Weights) -> None:
        self.truth = (Y == 1).astype(np.float64)
        self.weights = np.where(Y == UNKNOWN, 0.0, weights[:, None])

    def prior(self, rows: Rows) -> Scores:
        """Return the log-odds of each label, with half a positive and half a negative sample added as smoothing."""
        has, of = (self.weights[rows] * self.truth[rows]).sum(axis=0), self.weights[rows].sum(axis=0)
        return logit((has + 0.5) / (of + 1.0))

    def statistics(self, scores: Scores) -> Scores:
        """Return the gradients and the second derivatives of the losses at these log-odds."""
        n_samples, n_labels = scores.shape
        probabilities = expit(scores)
        statistics = np.empty((n_samples, 2 * n_labels))
        gradients, hessians = statistics[:, :n_labels], statistics[:, n_labels:]
        np.subtract(probabilities, self.truth, out=gradients)
        gradients *= self.weights
        np.subtract(1.0, probabilities, out=hessians)
        hessians *= np.multiply(self.weights, probabilities, out=probabilities)
        return statistics

    def mean(self, scores: Scores, rows: Rows) -> float:
        """Return the mean loss of some of the samples at these log-odds."""
        losses = np.logaddexp(0.0, np.where(self.truth[rows] == 1.0, -scores[rows], scores[rows]))
        weights = self.weights[rows]
        return float((weights * losses).sum() / max(weights.sum(), np.finfo(float).tiny))


def _draw(rng: np.random.Generator, numbers: npt.NDArray[Any], n_drawn: int) -> npt.NDArray[Any]:
    """Draw some or all of the numbers and keep their order."""
    return numbers if n_drawn >= len(numbers) else np.sort(rng.choice(numbers, n_drawn, replace=False))


def newton_values(tree: Tree, l2: float) -> Scores:
    """Return the contribution of each node of a grown tree to the score of each label."""
    gradients, hessians = np.hsplit(tree.values, 2)
    return -gradients / (hessians + l2 + LEAST_HESSIAN)


def gains_by_label(tree: Tree, n_features: int, l2: float) -> Scores:
    """Return the increase of the criterion of each label by splits on each feature.

    Returns
    -------
    array of shape (n_labels, n_features)
    """
    gradients, hessians = np.hsplit(tree.values, 2)
    scores = gradients**2 / (hessians + l2 + LEAST_HESSIAN)
    splits = np.flatnonzero(tree.nodes["feature"] >= 0)
    left = tree.nodes["left"][splits]
    gains = np.zeros((n_features, scores.shape[1]))
    np.add.at(gains, tree.nodes["feature"][splits], scores[left] + scores[left + 1] - scores[splits])
    return np.ascontiguousarray(gains.T)
