"""BrownBoost: boosting with a time limit, which gives up samples that stay misclassified."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import erf, erfinv
from sklearn.base import BaseEstimator

from fuselearn._messages import show
from fuselearn._parameters import check_number
from fuselearn.ensembles.cart import CARTClassifier
from fuselearn.ensembles.samme import SAMMEClassifier, SAMMEWeights, train_boosting
from fuselearn.fusion import Problem, Trained
from fuselearn.learners.learner import Weights

# A classifier must be correct on more than half of the weight, with a tolerance for rounding.
LEAST_EDGE = 1e-9


class Step(NamedTuple):
    """The coefficient of a classifier and the time it takes."""

    alpha: float
    time: float


def solve_step(ahead: Weights, signs: Weights, weights: Weights, c: float, time_left: float) -> Step:
    """Compute the coefficient of a classifier and the time it takes.

    With a the margins plus the remaining time, b the signs and p the normalized weights, alpha and t solve ::

        sum of p erf((a + alpha b - t) / sqrt(c)) = sum of p erf(a / sqrt(c)),
        sum of p b exp(-(a + alpha b - t)^2 / c) = 0,

    unless t would exceed the remaining time: then t is the remaining time, and alpha solves the first equation.

    Parameters
    ----------
    ahead : array of shape (n_samples,)
        Margin of each sample plus the remaining time.
    signs : array of shape (n_samples,)
        1 where the classifier is right, -1 where it is wrong; it is right on more than half of the weight.
    weights : array of shape (n_samples,)
        Weight of each sample, normalized to sum to one.
    c, time_left : float

    Examples
    --------
    A classifier that is always right takes all the time:

    >>> solve_step(np.ones(2), np.ones(2), np.array([0.5, 0.5]), c=1.0, time_left=1.0)
    Step(alpha=1.0, time=1.0)
    """
    root = np.sqrt(c)
    potential = weights @ erf(ahead / root)

    def time_of(alpha: float) -> float:
        """Return the time for which the potential is unchanged; it is between -alpha and alpha."""

        def rise(time: float) -> float:
            return float(weights @ erf((ahead + alpha * signs - time) / root) - potential)

        if alpha == 0.0 or rise(alpha) >= 0.0:
            return alpha
        return float(brentq(rise, -alpha, alpha, xtol=1e-12))

    def edge(alpha: float) -> float:
        moved = ahead + alpha * signs - time_of(alpha)
        return float(weights @ (signs * np.exp((moved**2).min() / c - moved**2 / c)))

    most = 0.125
    while edge(most) > 0.0 and time_of(most) < time_left:
        most *= 2.0
    if edge(most) <= 0.0:
        alpha = float(brentq(edge, 0.0, most, xtol=1e-12))
        if time_of(alpha) < time_left:
            return Step(alpha, time_of(alpha))
        most = alpha
    return Step(float(brentq(lambda alpha: time_of(alpha) - time_left, 0.0, most, xtol=1e-12)), time_left)


class ClockedWeights(SAMMEWeights):
    """Weights that are largest for samples that can still be corrected in the remaining time."""

    def __init__(self, problem: Problem, c: float, *, poisson: bool = False) -> None:
        super().__init__(problem, poisson=poisson)
        self.c = c
        self.state = np.zeros(problem.n_samples), c

    @property
    def is_over(self) -> bool:  # type: ignore[override]
        """Whether there is no time left."""
        return self.time_left <= 0.0

    @property
    def state(self) -> Any:
        """The state that a warm start continues with: margins and the remaining time."""
        return self.margins, self.time_left

    @state.setter
    def state(self, state: Any) -> None:
        self.margins, self.time_left = state
        exponents = (self.margins + self.time_left) ** 2 / self.c
        self.weights = self.initial * np.exp(exponents[self.initial > 0].min() - exponents)
        self.weights /= self._sum(self.weights)

    def has_edge(self, error: float) -> bool:
        """Return whether a classifier is right on more than half of the weight."""
        return error < 0.5 - LEAST_EDGE

    def update(self, error: float) -> tuple[float, bool]:
        """Update margins, time and weights with the last classifier; return its coefficient."""
        signs = np.where(self.wrong, -1.0, 1.0)
        alpha, time = solve_step(self.margins + self.time_left, signs, self.initial, self.c, self.time_left)
        self.state = self.margins + alpha * signs, self.time_left - time
        return alpha, False


def train_brownboost(
    problem: Problem, n_estimators: int = 100, *, target_error: float = 0.1, sampling: str = "multinomial"
) -> Trained:
    """Train BrownBoost; the parameters are those of :class:`BrownBoostClassifier`."""
    rule = ClockedWeights(problem, float(erfinv(1.0 - target_error)) ** 2, poisson=sampling == "poisson")
    trained = train_boosting(problem, n_estimators, rule)
    trained.trace["time_left_"] = rule.time_left
    return trained


class BrownBoostClassifier(SAMMEClassifier):
    """BrownBoost: boosting with a time limit, which gives up samples that it cannot classify correctly in time.

    Experimental: parameters, defaults and results may change in any minor release.

    The time limit c follows from ``target_error``, the fraction of the training samples that may stay misclassified,
    for example because their labels are wrong: erf(sqrt(c)) = 1 - target_error. Let s be the remaining time and r_i the
    margin of sample i: the sum of the coefficients of the classifiers that are correct on it, minus the sum of the
    others. Samples are drawn with the weights ::

        w_i = d_i exp(-(r_i + s)^2 / c),

    where d_i is the initial weight, ``sample_weight``. Weights are small for samples that are correct, and for samples
    with margins too negative to be corrected in the remaining time. The coefficient alpha and the time t of a
    classifier keep the potential sum of d_i (1 - erf((r_i + s) / sqrt(c))) unchanged and leave the classifier without
    an edge on the new weights. Training ends when no time remains. For large c, this is AdaBoost.

    .. versionadded:: 0.2

    Parameters
    ----------
    estimator : classifier or None, default=None
        Base estimator: any scikit-learn classifier that is correct on more than half of the weight. A classifier
        without errors takes all the time. None means ``CARTClassifier(max_depth=3, complexity=None)``.
    n_estimators : int, default=100
        Maximum number of classifiers.
    target_error : float, default=0.1
        Fraction of the training samples that may stay misclassified, between 0 and 1.
    sampling, oob_score, class_weight, warm_start, callback, verbose, random_state, n_jobs
        As those of :class:`SAMMEClassifier`.

    Attributes
    ----------
    classes_, n_features_in_, feature_names_in_, estimators_, estimator_weights_, estimator_errors_, sample_weights_
        As those of :class:`SAMMEClassifier`. There may be fewer than ``n_estimators`` classifiers.
    time_left_ : float
        Remaining time, at most c.
    oob_score_, oob_decision_function_, oob_prediction_, feature_importances_
        As those of :class:`SAMMEClassifier`.

    See Also
    --------
    SAMMEClassifier : Boosting that never gives up a sample.
    MadaBoostClassifier : Boosting with a bound on the weights.

    Notes
    -----
    The paper covers two classes. With more classes, a prediction counts as correct or wrong, as in AdaBoost.M1, and a
    classifier must be correct on more than half of the weight. Otherwise it is trained on a new sample, up to 100
    times; then training ends.

    References
    ----------
    Freund, Y. (2001). An adaptive version of the boost by majority algorithm. Machine Learning 43(3), 293-318.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from fuselearn.ensembles import BrownBoostClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> round(BrownBoostClassifier(random_state=0).fit(X, y).score(X, y), 2)
    0.95
    """

    time_left_: float

    def __init__(
        self,
        estimator: BaseEstimator | None = None,
        n_estimators: int = 100,
        *,
        target_error: float = 0.1,
        sampling: str = "multinomial",
        oob_score: bool | Callable[..., float] = False,
        class_weight: Any = None,
        warm_start: bool = False,
        callback: Callable[[int, Any], Any] | None = None,
        verbose: int = 0,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            estimator,
            n_estimators,
            sampling=sampling,
            oob_score=oob_score,
            class_weight=class_weight,
            warm_start=warm_start,
            callback=callback,
            verbose=verbose,
            random_state=random_state,
            n_jobs=n_jobs,
        )
        self.target_error = target_error

    def _default_estimator(self) -> CARTClassifier:
        return CARTClassifier(max_depth=3, complexity=None)

    def _check_parameters(self) -> None:
        if not 0.0 < check_number("target_error", self.target_error, 0.0) < 1.0:
            raise ValueError(f"target_error must be above 0 and below 1, not {show(self.target_error)}.")
        super()._check_parameters()

    def _train(self, problem: Problem) -> Trained:
        return train_brownboost(problem, self.n_estimators, target_error=self.target_error, sampling=self.sampling)
