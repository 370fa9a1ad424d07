"""Linear stacking: a weighted sum of members, with weights learned from held-out outputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin, RegressorMixin

from fuselearn._messages import show
from fuselearn._parameters import check_choice, check_number
from fuselearn.combine.classes import Classes, require_method
from fuselearn.combine.ensemble import HeldOut, MemberEnsemble, TrainingData
from fuselearn.combine.members import Member
from fuselearn.combine.rules import as_probabilities
from fuselearn.combine.weight_solvers import (
    SMALLEST_PROBABILITY,
    any_loss_weights,
    least_squares_weights,
    log_loss_weights,
)
from fuselearn.learners.learner import Scores, Weights

SHRINKAGES = (0.0, *(10.0 ** (power / 2) for power in range(-8, 5)), np.inf)


@dataclass(frozen=True)
class SquaredLoss:
    """The weighted mean of (target - sum_k w_k output_k)^2.

    Parameters
    ----------
    outputs : array of shape (n_cells, n_members)
        A cell is a sample, or a sample and one of its outputs, classes or labels.
    target : array of shape (n_cells,)
    sample_weights : array of shape (n_cells,)
    """

    outputs: Scores
    target: Scores
    sample_weights: Weights

    def part(self, chosen: npt.NDArray[np.bool_]) -> Self:
        """Take some of the cells."""
        weights = self.sample_weights[chosen]
        return replace(self, outputs=self.outputs[chosen], target=self.target[chosen], sample_weights=weights)

    def best_weights(self, constraint: str | None, shrinkage: float) -> Weights:
        """Minimize the loss plus shrinkage sum_k (w_k - 1/K)^2."""
        roots = np.sqrt(self.sample_weights / self.sample_weights.sum())
        return least_squares_weights(self.outputs * roots[:, None], self.target * roots, constraint, shrinkage)

    def total(self, weights: Weights) -> float:
        """Sum the losses of the cells, each times its sample weight."""
        return float(self.sample_weights @ (self.target - self.outputs @ weights) ** 2)


class LogLoss(SquaredLoss):
    """The weighted mean of -log(sum_k w_k p_k), with p_k the probability of the correct class by member k.

    ``outputs`` are these probabilities; the target is not used.
    """

    def best_weights(self, constraint: str | None, shrinkage: float) -> Weights:
        """Minimize the loss plus shrinkage sum_k (w_k - 1/K)^2."""
        return log_loss_weights(self.outputs, self.sample_weights / self.sample_weights.sum(), constraint, shrinkage)

    def total(self, weights: Weights) -> float:
        """Sum the losses of the cells, each times its sample weight."""
        mixed = np.maximum(self.outputs, SMALLEST_PROBABILITY) @ weights
        return float(-self.sample_weights @ np.log(np.maximum(mixed, SMALLEST_PROBABILITY)))


@dataclass(frozen=True)
class GivenLoss(SquaredLoss):
    """The weighted mean of a function of the target and of sum_k w_k output_k."""

    function: Callable[[Scores, Scores], Any]

    def best_weights(self, constraint: str | None, shrinkage: float) -> Weights:
        """Minimize the loss, in units of that of equal weights, plus shrinkage sum_k (w_k - 1/K)^2."""
        return any_loss_weights(self.total, self.outputs.shape[1], constraint, shrinkage)

    def total(self, weights: Weights) -> float:
        """Sum the losses of the cells, each times its sample weight."""
        losses = np.asarray(self.function(self.target, self.outputs @ weights), dtype=np.float64)
        if losses.shape != self.target.shape or not np.isfinite(losses).all():
            raise ValueError(
                "loss must be a function loss(y_true, y_pred) that returns one finite number per sample; for "
                "{len(self.target)} samples it returned an array of shape {losses.shape}, or with NaN or infinity."
            )
        return float(self.sample_weights @ losses)


class LinearStacking(MemberEnsemble):
    """Base class of linear stacking: its parameters, and how the weights are learned."""

    shrinkage_: float
    shrinkage_losses_: dict[float, float]

    def __init__(
        self,
        estimators: Sequence[tuple[Any, ...]],
        *,
        constraint: str | None = "simplex",
        shrinkage: float | str = 0.0,
        cv: Any = None,
        prefit: bool = False,
        n_jobs: int | None = None,
    ) -> None:
        self.estimators = estimators
        self.constraint = constraint
        self.shrinkage = shrinkage
        self.cv = cv
        self.prefit = prefit
        self.n_jobs = n_jobs

    def _check_settings(self, members: list[Member]) -> None:
        if self.constraint is not None:
            check_choice("constraint", self.constraint, ("non-negative", "simplex"))
        if isinstance(self.shrinkage, str):
            if self.shrinkage != "auto":
                raise ValueError(f"shrinkage must be 'auto' or a number of at least 0, not {show(self.shrinkage)}.")
        elif self.shrinkage != np.inf:
            check_number("shrinkage", self.shrinkage, 0)

    def _weigh(self, data: TrainingData) -> Weights:
        """Learn the weights, with a shrinkage that is given or chosen by cross-validation."""
        held_out = self._hold_out(data)
        loss = self._make_loss(held_out)
        if self.shrinkage == "auto":
            folds = np.repeat(held_out.folds, len(loss.sample_weights) // len(held_out.folds))
            if len(np.unique(folds)) == 1:
                raise ValueError("shrinkage='auto' compares folds, but cv has a single fold; use at least two.")
            self.shrinkage_losses_ = cross_validate_shrinkage(loss, folds, self.constraint)
            self.shrinkage_ = best_shrinkage(self.shrinkage_losses_)
        else:
            self.shrinkage_ = float(self.shrinkage)
        return loss.best_weights(self.constraint, self.shrinkage_)

    def _make_loss(self, held_out: HeldOut) -> SquaredLoss:
        """Return the loss of held-out outputs."""
        raise NotImplementedError


class LinearStackingRegressor(RegressorMixin, LinearStacking):
    """Linear stacking of regressors: a weighted sum with weights that minimize a loss on held-out samples.

    With f_k^(-i) member k as fitted without the fold of sample i, the weights are::

        argmin_w  sum_i s_i loss(y_i, sum_k w_k f_k^(-i)(x_i)) / (sum_i s_i u)  +  shrinkage  sum_k (w_k - 1/K)^2

        "squared_error"    loss(y, f) = (y - f)^2    u = Var(y)
        "absolute_error"   loss(y, f) = |y - f|      u = the loss of equal weights
        a function         loss(y, f)                u = the loss of equal weights

    subject to the constraint, where s_i is the weight of sample i. The members are then fitted on all samples. Without
    held-out samples, the weights would favor members that memorize the training samples.

    Parameters
    ----------
    estimators : list of (name, regressor) or (name, regressor, columns)
        The members; "drop" removes a member. Columns are names, indices, a slice, a mask or a function of X.
    loss : {"squared_error", "absolute_error"} or callable, default="squared_error"
        Absolute error is more robust to outliers. A function ``loss(y_true, y_pred)`` returns the loss of each sample
        and should be convex in the prediction, such as a quantile loss, log-cosh or the Poisson deviance.
    constraint : {None, "non-negative", "simplex"}, default="simplex"
        Constraint on the weights: None, non-negative, or non-negative with sum 1.
    shrinkage : float or "auto", default=0.0
        Strength of the shrinkage towards equal weights, 1/K. The division by u makes it independent of units. "auto"
        chooses among 0, 13 values from 0.0001 to 100, and infinity (equal weights) by the loss on held-out folds.
    cv : int, splitter or iterable of splits, default=None
        Cross-validation for held-out outputs; None means five folds. Samples that are never held out, such as the first
        samples with ``TimeSeriesSplit``, do not influence the weights.
    prefit : bool, default=False
        Whether the members are already fitted. They are then used without refitting, and the weights are learned from
        the samples passed to ``fit``, which should not be training samples of the members.
    n_jobs : int or None, default=None
        Number of members fitted in parallel. Results do not depend on it.

    Attributes
    ----------
    estimator_weights_ : array of shape (n_members,)
    shrinkage_, shrinkage_losses_ : float, dict
        The shrinkage used and, with ``shrinkage="auto"``, the loss of each candidate.
    estimators_, named_estimators_ : list of regressors, Bunch
        The members, fitted on all samples, as a list and by name.
    n_features_in_, feature_names_in_
        The number of features; their names, if ``X`` is a DataFrame with string column names.

    See Also
    --------
    AveragingRegressor : Fixed averages.
    EnsembleSelection : Greedy selection of members.
    sklearn.ensemble.StackingRegressor : Any regressor on top of the members.

    Notes
    -----
    Weights for losses other than squared error are computed by SciPy's SLSQP. Multiple outputs have common weights, and
    each is scaled by its standard deviation unless the loss is a function.

    References
    ----------
    Breiman, L. (1996). Stacked regressions. Machine Learning 24(1), 49-64.
    Wolpert, D. H. (1992). Stacked generalization. Neural Networks 5(2), 241-259.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import LinearRegression
    >>> from sklearn.neighbors import KNeighborsRegressor
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> from fuselearn import LinearStackingRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> tree = DecisionTreeRegressor(random_state=0)
    >>> members = [("line", LinearRegression()), ("near", KNeighborsRegressor()), ("tree", tree)]
    >>> LinearStackingRegressor(members).fit(X, y).estimator_weights_.round(2)  # the tree memorizes the samples
    array([0.81, 0.14, 0.05])
    >>> LinearStackingRegressor(members, loss="absolute_error").fit(X, y).estimator_weights_.round(2)
    array([0.69, 0.27, 0.05])
    """

    def __init__(
        self,
        estimators: Sequence[tuple[Any, ...]],
        *,
        loss: str | Callable[[Scores, Scores], Any] = "squared_error",
        constraint: str | None = "simplex",
        shrinkage: float | str = 0.0,
        cv: Any = None,
        prefit: bool = False,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(estimators, constraint=constraint, shrinkage=shrinkage, cv=cv, prefit=prefit, n_jobs=n_jobs)
        self.loss = loss

    def _check_settings(self, members: list[Member]) -> None:
        super()._check_settings(members)
        if not callable(self.loss):
            check_choice("loss", self.loss, ("squared_error", "absolute_error"))

    def _make_loss(self, held_out: HeldOut) -> SquaredLoss:
        """Return the loss: in units of the standard deviation of each output, or a user-defined loss unscaled."""
        if callable(self.loss):
            return GivenLoss(*_as_cells(held_out.outputs, held_out.target, held_out.sample_weights), self.loss)
        truth, weights = held_out.target, held_out.sample_weights
        mean = np.average(truth, axis=0, weights=weights)
        largest = np.abs(truth - mean).max(axis=0)
        largest = np.where(largest > 0, largest, 1.0)  # a divisor, against underflow and overflow of squares
        deviation = largest * np.sqrt(np.average(((truth - mean) / largest) ** 2, axis=0, weights=weights))
        unit = np.where(deviation > 0, deviation, 1.0)
        cells = _as_cells(held_out.outputs / unit, truth / unit, weights)
        return SquaredLoss(*cells) if self.loss == "squared_error" else GivenLoss(*cells, absolute_error)


class LinearStackingClassifier(ClassifierMixin, LinearStacking):
    """Linear stacking of classifiers: a weighted sum of probabilities that minimizes a loss on held-out samples.

    With p_k^(-i) the class probabilities of member k as fitted without the fold of sample i, the ensemble's
    probabilities are p = sum_k w_k p_k, with the weights::

        argmin_w  sum_i s_i loss(y_i, sum_k w_k p_k^(-i)(x_i)) / sum_i s_i  +  shrinkage  sum_k (w_k - 1/K)^2

        "log_loss"       loss(y, p) = -log p(y)
        "squared_error"  loss(y, p) = sum_c ([y = c] - p(c))^2

    subject to the constraint, where s_i is the weight of sample i. The members are then fitted on all samples. Without
    held-out samples, the weights would favor members that memorize the training samples.

    Parameters
    ----------
    estimators : list of (name, classifier) or (name, classifier, columns)
        The members, with ``predict_proba``; otherwise as for :class:`FixedRuleClassifier`.
    loss : {"log_loss", "squared_error"}, default="log_loss"
    constraint : {None, "non-negative", "simplex"}, default="simplex"
        Constraint on the weights: None, non-negative, or non-negative with sum 1. With log loss the sum is always 1, so
        "non-negative" and "simplex" are the same.
    shrinkage : float or "auto", default=0.0
        Strength of the shrinkage towards equal weights, 1/K. "auto" chooses among 0, 13 values from 0.0001 to 100, and
        infinity (equal weights) by the loss on held-out folds.
    cv : int, splitter or iterable of splits, default=None
        Cross-validation for held-out outputs; None means five stratified folds. Samples that are never held out, such
        as the first samples with ``TimeSeriesSplit``, do not influence the weights.
    prefit : bool, default=False
        Whether the members are already fitted. They are then used without refitting, and the weights are learned from
        the samples passed to ``fit``, which should not be training samples of the members.
    n_jobs : int or None, default=None
        Number of members fitted in parallel. Results do not depend on it.

    Attributes
    ----------
    classes_ : array of shape (n_classes,), or a list with 0 and 1 for each label
    estimator_weights_ : array of shape (n_members,)
    shrinkage_, shrinkage_losses_ : float, dict
        The shrinkage used and, with ``shrinkage="auto"``, the loss of each candidate.
    estimators_, named_estimators_ : list of classifiers, Bunch
        The members, fitted on all samples, as a list and by name.
    n_features_in_, feature_names_in_
        The number of features; their names, if ``X`` is a DataFrame with string column names.

    See Also
    --------
    FixedRuleClassifier : Fixed rules.
    EnsembleSelection : Greedy selection of members.
    sklearn.ensemble.StackingClassifier : Any classifier on top of the members.

    Notes
    -----
    With an indicator matrix as ``y``, a member has one weight for all labels, and the loss is the mean over samples and
    labels. Probabilities of the correct class are clipped at 1e-15. Unconstrained weights can produce negative scores,
    which are clipped to zero in probabilities.

    References
    ----------
    Ting, K. M. and Witten, I. H. (1999). Issues in stacked generalization. Journal of Artificial Intelligence Research
    10, 271-289.
    Wolpert, D. H. (1992). Stacked generalization. Neural Networks 5(2), 241-259.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from fuselearn import LinearStackingClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> near, tree = KNeighborsClassifier(), DecisionTreeClassifier(random_state=0)
    >>> members = [("bayes", GaussianNB()), ("near", near), ("tree", tree)]
    >>> LinearStackingClassifier(members).fit(X, y).estimator_weights_.round(2)
    array([0.9, 0. , 0.1])
    """

    _classes_: Classes

    def __init__(
        self,
        estimators: Sequence[tuple[Any, ...]],
        *,
        loss: str = "log_loss",
        constraint: str | None = "simplex",
        shrinkage: float | str = 0.0,
        cv: Any = None,
        prefit: bool = False,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(estimators, constraint=constraint, shrinkage=shrinkage, cv=cv, prefit=prefit, n_jobs=n_jobs)
        self.loss = loss

    def __sklearn_tags__(self) -> Any:
        """Return scikit-learn's tags: multi-label targets are supported if all members support them."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = tags.target_tags.multi_output
        return tags

    def _check_settings(self, members: list[Member]) -> None:
        super()._check_settings(members)
        check_choice("loss", self.loss, ("log_loss", "squared_error"))
        require_method(members, ("predict_proba",), "stacking")

    def _make_loss(self, held_out: HeldOut) -> SquaredLoss:
        truth = self._classes_.encode(held_out.target)
        if self.loss == "squared_error":
            one_hot = np.eye(held_out.outputs.shape[-1])[truth]
            return SquaredLoss(*_as_cells(held_out.outputs, one_hot, held_out.sample_weights))
        correct = np.take_along_axis(held_out.outputs, truth[None, ..., None], axis=-1)
        return LogLoss(*_as_cells(correct, truth, held_out.sample_weights))

    def _as_probabilities(self, combined: Scores) -> Scores:
        return as_probabilities(np.maximum(combined, 0.0))


def cross_validate_shrinkage(
    loss: SquaredLoss, folds: npt.NDArray[np.intp], constraint: str | None
) -> dict[float, float]:
    """Return the loss of each candidate for the shrinkage on held-out cells.

    Parameters
    ----------
    loss : SquaredLoss
    folds : array of shape (n_cells,)
        Each fold is held out once.
    constraint : {None, "non-negative", "simplex"}

    Returns
    -------
    dict
        Mean loss of each candidate, the largest candidate first. Infinity means equal weights.
    """
    totals = dict.fromkeys(reversed(SHRINKAGES), 0.0)
    for fold in np.unique(folds):
        inside, outside = loss.part(folds != fold), loss.part(folds == fold)
        for candidate in totals:
            totals[candidate] += outside.total(inside.best_weights(constraint, candidate))
    return {candidate: total / loss.sample_weights.sum() for candidate, total in totals.items()}


def best_shrinkage(losses: dict[float, float]) -> float:
    """Choose the candidate with the smallest loss; ties go to the largest candidate."""
    least = min(losses.values())
    return max(candidate for candidate, value in losses.items() if value <= least + 1e-12 * abs(least))


def absolute_error(y_true: Scores, y_pred: Scores) -> Scores:
    """Return the absolute error of each sample."""
    return np.abs(y_true - y_pred)


def _as_cells(outputs: Scores, target: npt.NDArray[Any], weights: Weights) -> tuple[Scores, npt.NDArray[Any], Weights]:
    """Flatten outputs to a column per member, and the target; repeat the weight of a sample for each of its cells."""
    return outputs.reshape(len(outputs), -1).T, target.ravel(), np.repeat(weights, target.size // len(weights))
