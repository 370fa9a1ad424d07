"""MadaBoost: boosting in which no sample weight exceeds its initial value."""

from __future__ import annotations

from typing import Any

import numpy as np

from fuselearn.ensembles.samme import SAMMEClassifier, SAMMEWeights, train_boosting
from fuselearn.fusion import Problem, Trained


class CappedWeights(SAMMEWeights):
    """Boosting weights bounded by the initial weights, before they are normalized to sum to one."""

    def __init__(self, problem: Problem, *, poisson: bool = False, reset: str = "training") -> None:
        super().__init__(problem, poisson=poisson, reset=reset)
        self.margins = np.zeros(problem.n_samples)

    @property
    def state(self) -> Any:
        """The state that a warm start continues with."""
        return self.margins

    @state.setter
    def state(self, state: Any) -> None:
        self.margins = state
        self._weigh()

    def raise_wrong(self, factor: float) -> None:
        """Update the margins with the last classifier, and compute the weights."""
        self.margins = self.margins + np.log(factor) * (1.0 - 1.0 / self.n_classes - self.wrong)
        self._weigh()

    def reset(self) -> None:
        """Reset the weights to their initial values."""
        super().reset()
        self.margins = np.zeros(len(self.initial))

    def _weigh(self) -> None:
        self.weights = self.initial * np.exp(-np.maximum(self.margins, 0.0))
        self.weights /= self._sum(self.weights)


def train_madaboost(
    problem: Problem, n_estimators: int = 100, *, sampling: str = "multinomial", reset: str = "training"
) -> Trained:
    """Train MadaBoost; the parameters are those of :class:`MadaBoostClassifier`."""
    return train_boosting(problem, n_estimators, CappedWeights(problem, poisson=sampling == "poisson", reset=reset))


class MadaBoostClassifier(SAMMEClassifier):
    """MadaBoost: AdaBoost with sample weights bounded by their initial values.

    Experimental: parameters, defaults and results may change in any minor release.

    In AdaBoost, the weight of a sample that stays misclassified grows without limit, so that wrong labels and outliers
    dominate. MadaBoost bounds the weights. With alpha_t the coefficient of the t-th classifier and c classes, sample i
    has the margin and weight ::

        m_i = sum over t of alpha_t (1 - 1/c - [classifier t is wrong]),        w_i = d_i min(1, exp(-m_i)),

    where d_i is its initial weight, ``sample_weight``. Without the bound, this is AdaBoost. Coefficients, votes and
    resets of the weights are those of :class:`SAMMEClassifier`; for two classes, this is the algorithm of the paper.

    .. versionadded:: 0.2

    Parameters
    ----------
    estimator : classifier or None, default=None
        Base estimator: any scikit-learn classifier. None means ``CARTClassifier()``.
    n_estimators : int, default=100
        Number of classifiers.
    sampling, reset, oob_score, class_weight, warm_start, callback, verbose, random_state, n_jobs
        As those of :class:`SAMMEClassifier`.

    Attributes
    ----------
    classes_, n_features_in_, feature_names_in_, estimators_, estimator_weights_, estimator_errors_, resets_,
    sample_weights_
        As those of :class:`SAMMEClassifier`.
    oob_score_, oob_decision_function_, oob_prediction_, feature_importances_
        As those of :class:`SAMMEClassifier`.

    See Also
    --------
    SAMMEClassifier : Boosting without the bound.
    BrownBoostClassifier : Boosting that gives up samples that stay misclassified.

    References
    ----------
    Domingo, C. and Watanabe, O. (2000). MadaBoost: a modification of AdaBoost. COLT, 180-189.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fuselearn.ensembles import MadaBoostClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> MadaBoostClassifier(random_state=0).fit(X, y).score(X, y)
    1.0
    """

    def _train(self, problem: Problem) -> Trained:
        return train_madaboost(problem, self.n_estimators, sampling=self.sampling, reset=self.reset)
