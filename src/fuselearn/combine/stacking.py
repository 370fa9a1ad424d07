"""Linear stacking: a weighted sum of members, with weights learned from answers about samples that were held out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin, RegressorMixin

from fuselearn._parameters import check_choice
from fuselearn.combine.answers import Classes, require_method
from fuselearn.combine.ensemble import MemberEnsemble, TrainingData, Weights
from fuselearn.combine.losses import LogLoss, SquaredError, best_shrinkage, check_shrinkage, cross_validate_shrinkage
from fuselearn.combine.members import Member
from fuselearn.combine.out_of_fold import OutOfFold
from fuselearn.combine.rules import as_probabilities


class LinearStacking:
    """The parameters of linear stacking, and learning the weights: a part of a ``MemberEnsemble``."""

    shrinkage_: float

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
        check_shrinkage(self.shrinkage)

    def _learn_weights(self, loss: SquaredError | LogLoss, held_out: OutOfFold) -> Weights:
        """Return the weights, after the shrinkage is set, and found if need be."""
        if self.shrinkage == "auto":
            folds = np.repeat(held_out.folds, len(loss.shares) // len(held_out.folds))
            if len(np.unique(folds)) == 1:
                raise ValueError("shrinkage='auto' compares folds, but cv holds out a single one; use at least two.")
            self.shrinkage_losses_ = cross_validate_shrinkage(loss, folds, self.constraint)
            self.shrinkage_ = best_shrinkage(self.shrinkage_losses_)
        else:
            self.shrinkage_ = float(self.shrinkage)
        return loss.best_weights(self.constraint, self.shrinkage_)


class LinearStackingRegressor(LinearStacking, RegressorMixin, MemberEnsemble):
    """A weighted sum of regressors whose weights minimise the squared error on samples that were held out.

    With f_k^(-i) member k as fitted without the fold of sample i, the weights are::

        argmin_w  sum_i s_i (y_i - sum_k w_k f_k^(-i)(x_i))^2 / (sum_i s_i  Var(y))  +  shrinkage  sum_k (w_k - 1/K)^2

    under the constraint, s_i being the weight of sample i; the members are then fitted on all samples. Weights
    learned from members that have seen the samples would favour the member that has learned them by heart.

    Parameters
    ----------
    estimators : list of (name, regressor) or (name, regressor, columns)
        The members; "drop" leaves one out. Columns: names, positions, a slice, a mask or a function of the table.
    constraint : {None, "non-negative", "simplex"}, default="simplex"
        The weights are free, not negative, or not negative and of sum 1.
    shrinkage : float or "auto", default=0.0
        How strongly the weights are pulled to 1/K. Division by the variance of y makes it mean the same in all units.
        "auto" chooses among 0, 13 values from 0.0001 to 100, and infinity (equal weights) by the loss on folds that the
        weights were not learned from.
    cv : int, splitter or iterable of splits, default=None
        How samples are held out; None means five folds. Samples that are never held out, such as the earliest under
        ``TimeSeriesSplit``, take no part in learning the weights.
    prefit : bool, default=False
        Whether the members are fitted already. They are then used as they are, and the weights are learned from the
        samples given to ``fit``, which should be new to the members.
    n_jobs : int or None, default=None
        Members fitted at the same time.

    Attributes
    ----------
    estimator_weights_ : array of shape (n_members,)
    shrinkage_, shrinkage_losses_ : float, dict
        The shrinkage used and, with ``shrinkage="auto"``, the loss of each candidate.
    estimators_, named_estimators_ : list of regressors, Bunch
        The members, fitted on all samples; the same by name.
    n_features_in_, feature_names_in_
        Number of the features, and their names if fitted on a DataFrame whose column names are text.

    See Also
    --------
    AveragingRegressor : Fixed averages.
    EnsembleSelection : A choice of members.
    sklearn.ensemble.StackingRegressor : Any regressor on top of the members.

    Notes
    -----
    Several outputs share their weights, and each counts in units of its own standard deviation.

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
    >>> LinearStackingRegressor(members).fit(X, y).estimator_weights_.round(2)  # the tree has learned the rows by heart
    array([0.81, 0.14, 0.05])
    """

    def _weigh(self, data: TrainingData) -> Weights:
        held_out = self._hold_out(data)
        return self._learn_weights(squared_error_of_numbers(held_out, data.target, data.weights), held_out)


class LinearStackingClassifier(LinearStacking, ClassifierMixin, MemberEnsemble):
    """A weighted sum of classifiers' probabilities whose weights minimise a loss on samples that were held out.

    With p_k^(-i) the class probabilities of member k as fitted without the fold of sample i, the ensemble's
    probabilities are p = sum_k w_k p_k, with the weights::

        argmin_w  sum_i s_i loss(y_i, sum_k w_k p_k^(-i)(x_i)) / sum_i s_i  +  shrinkage  sum_k (w_k - 1/K)^2

        "log_loss"       loss(y, p) = -log p(y)
        "squared_error"  loss(y, p) = sum_c ([y = c] - p(c))^2

    under the constraint, s_i being the weight of sample i; the members are then fitted on all samples. Weights
    learned from members that have seen the samples would favour the member that has learned them by heart.

    Parameters
    ----------
    estimators : list of (name, classifier) or (name, classifier, columns)
        The members, with ``predict_proba``; otherwise as for :class:`FixedCombiner`.
    loss : {"log_loss", "squared_error"}, default="log_loss"
    constraint : {None, "non-negative", "simplex"}, default="simplex"
        The weights are free, not negative, or not negative and of sum 1. Under log loss the sum is always 1, since only
        probabilities have a log loss; then "non-negative" and "simplex" are the same.
    shrinkage : float or "auto", default=0.0
        How strongly the weights are pulled to 1/K. "auto" chooses among 0, 13 values from 0.0001 to 100, and infinity
        (equal weights) by the loss on folds that the weights were not learned from.
    cv : int, splitter or iterable of splits, default=None
        How samples are held out; None means five folds, stratified by class. Samples that are never held out, such as
        the earliest under ``TimeSeriesSplit``, take no part in learning the weights.
    prefit : bool, default=False
        Whether the members are fitted already. They are then used as they are, and the weights are learned from the
        samples given to ``fit``, which should be new to the members.
    n_jobs : int or None, default=None
        Members fitted at the same time.

    Attributes
    ----------
    classes_ : array of shape (n_classes,), or a list with 0 and 1 for each label
    estimator_weights_ : array of shape (n_members,)
    shrinkage_, shrinkage_losses_ : float, dict
        The shrinkage used and, with ``shrinkage="auto"``, the loss of each candidate.
    estimators_, named_estimators_ : list of classifiers, Bunch
        The members, fitted on all samples; the same by name.
    n_features_in_, feature_names_in_
        Number of the features, and their names if fitted on a DataFrame whose column names are text.

    See Also
    --------
    FixedCombiner : Fixed rules.
    EnsembleSelection : A choice of members.
    sklearn.ensemble.StackingClassifier : Any classifier on top of the members.

    Notes
    -----
    With several labels per sample (a table of 0 and 1 as ``y``), a member has one weight for all labels, and the loss
    is the mean over samples and labels. A member that gives nothing to the right class of a sample is taken to give
    it 1e-15. Free weights can make scores negative, which count as zero when they are turned into probabilities.

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
        """Return the tags: several labels are possible if all members allow them."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = tags.target_tags.multi_output
        return tags

    def _check_settings(self, members: list[Member]) -> None:
        super()._check_settings(members)
        check_choice("loss", self.loss, ("log_loss", "squared_error"))
        require_method(members, ("predict_proba",), "stacking")

    def _weigh(self, data: TrainingData) -> Weights:
        held_out = self._hold_out(data)
        truth = self._classes_.encode(data.target[held_out.rows])
        make = log_loss_of_classes if self.loss == "log_loss" else squared_error_of_classes
        return self._learn_weights(make(held_out, truth, data.weights), held_out)

    def _as_probabilities(self, combined: Weights) -> Weights:
        return as_probabilities(np.maximum(combined, 0.0))


def squared_error_of_numbers(
    held_out: OutOfFold, target: npt.NDArray[np.float64], row_weights: npt.NDArray[np.float64] | None
) -> SquaredError:
    """Make the loss of a regression, in units of the variance of each output."""
    truth = target[held_out.rows]
    counts = held_out.sample_counts(row_weights)
    mean = np.average(truth, axis=0, weights=counts)
    largest = np.abs(truth - mean).max(axis=0)
    largest = np.where(largest > 0, largest, 1.0)  # by which it is divided, so that no square is lost or overflows
    deviation = largest * np.sqrt(np.average(((truth - mean) / largest) ** 2, axis=0, weights=counts))
    unit = np.where(deviation > 0, deviation, 1.0)
    return SquaredError(_as_columns(held_out.answers / unit), (truth / unit).ravel(), _repeat(counts, truth))


def squared_error_of_classes(
    held_out: OutOfFold, truth: npt.NDArray[np.intp], row_weights: npt.NDArray[np.float64] | None
) -> SquaredError:
    """Make the squared error between probabilities and the right classes, which have probability 1."""
    right = np.eye(held_out.answers.shape[-1])[truth]
    return SquaredError(
        _as_columns(held_out.answers), right.ravel(), _repeat(held_out.sample_counts(row_weights), right)
    )


def log_loss_of_classes(
    held_out: OutOfFold, truth: npt.NDArray[np.intp], row_weights: npt.NDArray[np.float64] | None
) -> LogLoss:
    """Make the log loss from what members give to the right classes."""
    given = np.take_along_axis(held_out.answers, truth[None, ..., None], axis=-1)
    return LogLoss(_as_columns(given), _repeat(held_out.sample_counts(row_weights), truth))


def _as_columns(answers: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return one column of cells per member."""
    return answers.reshape(len(answers), -1).T


def _repeat(counts: npt.NDArray[np.float64], like: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Return the weight of its sample for each cell."""
    return np.repeat(counts, like.size // len(counts))
