"""LogitBoost for many classes: additive logistic regression by trees."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import softmax
from sklearn.utils.validation import check_is_fitted

from fuselearn._parameters import check_number, check_whole_number
from fuselearn.base import ClassifierBase, sum_scores
from fuselearn.ensembles.cart import CARTClassifier
from fuselearn.ensembles.tree_description import tree_importances
from fuselearn.fusion import Problem, Trained, WeightedSum
from fuselearn.learners import Model, TreeModel, value_target
from fuselearn.learners.learner import Scores, Weights

# Bounds of the working response and of the weights, as in the paper.
LARGEST_RESPONSE = 4.0
LEAST_WEIGHT = 2 * np.finfo(float).eps


def train_logitboost(problem: Problem, n_estimators: int = 100, *, learning_rate: float = 1.0) -> Trained:
    """Train LogitBoost: one regression tree per class in each round."""
    n_classes, learner, weights = problem.target.n_columns, problem.learner, problem.initial_weights
    counts = (weights > 0).astype(np.int32)
    truth = np.eye(n_classes)[problem.target.values]
    scores = np.zeros_like(truth)
    trees: list[Model] = []
    for _ in range(n_estimators):
        responses, curvatures = working_responses(truth, softmax(scores, axis=1))
        for j in range(n_classes):
            tree: Any = learner.train(value_target(responses[:, j]), counts, 0, weights=weights * curvatures[:, j])
            trees.append(spread(tree, j, n_classes))
        scores += learning_rate * sum(tree.scores() for tree in trees[-n_classes:])
    fused = WeightedSum(trees, np.full(len(trees), float(learning_rate)), n_classes)
    return Trained(fused, {"n_iter_": n_estimators})


class LogitBoostClassifier(ClassifierBase):
    """LogitBoost: additive logistic regression by Newton steps on the log-likelihood, each a regression tree.

    Experimental: parameters, defaults and results may change in any minor release.

    Let p_ij be the current probability of class j for sample i, and y_ij be 1 if i belongs to j, else 0. Each round
    fits one regression tree f_j for each of the c classes to the working response z with the weights w, ::

        z_ij = (y_ij - p_ij) / (p_ij (1 - p_ij)),     w_ij = p_ij (1 - p_ij),

    where z is clipped to [-4, 4] and w is multiplied by ``sample_weight``. The scores F_j, whose softmax gives the
    probabilities, start at 0 and are updated by ::

        F_j <- F_j + learning_rate (c - 1) / c (f_j - mean over k of f_k).

    .. versionadded:: 0.2

    Parameters
    ----------
    n_estimators : int, default=100
        Number of rounds, each with one tree per class.
    learning_rate : float, default=1.0
        Factor of every step. The paper uses full steps, 1.
    max_depth : int or None, default=3
        Maximum depth of the trees; 1 means stumps. The paper uses stumps and trees with eight leaves.
    min_samples_leaf : int, default=1
        Minimum number of samples in a leaf.
    max_bins : int or None, default=255
        Numeric features with more distinct values are binned into this many bins, see :class:`CARTRegressor`.
    n_jobs : int or None, default=None
        Number of threads for growing trees on large data and for prediction. Results do not depend on it.

    Attributes
    ----------
    classes_, n_features_in_, feature_names_in_
        The classes; the number of features; their names, if ``X`` is a DataFrame with string column names.
    n_iter_ : int
        Number of rounds.
    feature_importances_ : array of shape (n_features,)
        Mean of the trees' importances.

    See Also
    --------
    SAMMEClassifier : Boosting with the exponential loss.
    sklearn.ensemble.HistGradientBoostingClassifier : Gradient boosting with the log loss and small steps.

    References
    ----------
    Friedman, J., Hastie, T. and Tibshirani, R. (2000). Additive logistic regression: a statistical view of boosting.
    Annals of Statistics 28(2), 337-407. Algorithm 6.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.model_selection import cross_val_score
    >>> from fuselearn.ensembles import LogitBoostClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> float(round(cross_val_score(LogitBoostClassifier(n_estimators=20, max_depth=1), X, y, cv=5).mean(), 2))
    0.96
    """

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        learning_rate: float = 1.0,
        max_depth: int | None = 3,
        min_samples_leaf: int = 1,
        max_bins: int | None = 255,
        n_jobs: int | None = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.max_bins = max_bins
        self.n_jobs = n_jobs

    def _check_parameters(self) -> None:
        check_whole_number("n_estimators", self.n_estimators, 1)
        if check_number("learning_rate", self.learning_rate, 0.0) == 0.0:
            raise ValueError("learning_rate must be above 0.")
        check_whole_number("min_samples_leaf", self.min_samples_leaf, 1)
        self._base_estimator()._check_parameters()

    def _base_estimator(self) -> CARTClassifier:
        return CARTClassifier(
            min_samples_split=2,
            min_samples_leaf=self.min_samples_leaf,
            max_depth=self.max_depth,
            max_bins=self.max_bins,
        )

    def _train(self, problem: Problem) -> Trained:
        return train_logitboost(problem, self.n_estimators, learning_rate=self.learning_rate)

    def decision_function(self, X: Any) -> Weights:
        """Compute the scores F of the classes; for two classes, the score of the second class minus that of the first.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
        """
        check_is_fitted(self)
        scores = sum_scores(self, X)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    @property
    def feature_importances_(self) -> Weights:
        """Mean of the trees' importances, normalized to sum to one."""
        check_is_fitted(self)
        total = np.sum([tree_importances(model.tree, self.n_features_in_) for model in self._fused_.models], axis=0)
        return total / total.sum() if total.any() else total

    def _to_probabilities(self, scores: Scores) -> Scores:
        return softmax(scores, axis=1)


def working_responses(truth: Weights, probabilities: Weights) -> tuple[Weights, Weights]:
    """Return the working responses and their weights, given one-hot classes and the current probabilities.

    Examples
    --------
    >>> working_responses(np.array([[1.0, 0.0]]), np.array([[0.5, 0.5]]))
    (array([[ 2., -2.]]), array([[0.25, 0.25]]))
    """
    curvatures = np.maximum(probabilities * (1.0 - probabilities), LEAST_WEIGHT)
    return np.clip((truth - probabilities) / curvatures, -LARGEST_RESPONSE, LARGEST_RESPONSE), curvatures


def spread(model: TreeModel, j: int, n_classes: int) -> TreeModel:
    """Return the tree of class j as an update of the scores of all classes, which sums to zero."""
    effect = (n_classes - 1) / n_classes * (np.eye(n_classes)[j] - 1.0 / n_classes)
    return TreeModel(model.tree.with_values(model.tree.values * effect), model.n_categories, model.bound)
