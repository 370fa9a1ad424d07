"""Fixed combiners of regressors: the mean, the median or the trimmed mean of their predictions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import RegressorMixin

from fuselearn._messages import show
from fuselearn._parameters import check_choice, check_number
from fuselearn.combine.ensemble import MemberEnsemble, TrainingData, Weights
from fuselearn.combine.member_weights import check_member_weights, inverse_error_weights
from fuselearn.combine.members import Member
from fuselearn.combine.order_statistics import mean_of_middle, weighted_median

AVERAGES = ("mean", "median", "trimmed")


class AveragingRegressor(RegressorMixin, MemberEnsemble):
    """Regressors whose predictions are averaged by a fixed rule.

    With f_1(x), ..., f_K(x) the predictions of the members and w_1, ..., w_K their weights, all 1 by default, the
    ensemble predicts::

        "mean"     sum_k w_k f_k(x) / sum_k w_k
        "median"   the median of f_1(x), ..., f_K(x), each as often as its weight says
        "trimmed"  the mean without the floor(trim K) smallest and as many largest predictions

    If the errors of K members are uncorrelated and have the same variance, the variance of their mean is 1/K of it.
    Median and trimmed mean do not follow a member that is far off. Several outputs are averaged one by one.

    Parameters
    ----------
    estimators : list of (name, regressor) or (name, regressor, columns)
        The members; "drop" leaves one out. Columns: names, positions, a slice, a mask or a function of the table.
    rule : {"mean", "median", "trimmed"}, default="mean"
    trim : float, default=0.1
        For "trimmed": the share of the members that is cut off at each end, from 0 to below 0.5.
    weights : array of shape (n_members,), "performance" or None, default=None
        Weights of the members as listed; "trimmed" takes none. "performance" means 1 / (mean squared error out of
        fold), scaled to a sum of K: the best weights for a mean of unbiased members with uncorrelated errors. Members
        without any error share the whole weight.
    cv : int, splitter or iterable of splits, default=None
        Where ``weights="performance"`` comes from; None means five folds.
    prefit : bool, default=False
        Whether the members are fitted already. They are then used as they are, ``fit`` may do without ``y``, and
        ``weights="performance"`` is measured on the samples given to ``fit``, which should be new to the members.
    n_jobs : int or None, default=None
        Members fitted at the same time.

    Attributes
    ----------
    estimators_, named_estimators_ : list of regressors, Bunch
        The fitted members; the same by name.
    estimator_weights_ : array of shape (n_members,)
        The weights used.
    n_features_in_, feature_names_in_
        Number of the features, and their names if fitted on a DataFrame whose column names are text.

    See Also
    --------
    LinearStackingRegressor : Learned weights.
    EnsembleSelection : A choice of members.
    sklearn.ensemble.VotingRegressor : The mean, in scikit-learn.

    References
    ----------
    Perrone, M. P. and Cooper, L. N. (1993). When networks disagree: ensemble methods for hybrid neural networks. In
    Neural Networks for Speech and Image Processing, 126-142.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import LinearRegression
    >>> from sklearn.neighbors import KNeighborsRegressor
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> from fuselearn import AveragingRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> tree = DecisionTreeRegressor(random_state=0)
    >>> members = [("line", LinearRegression()), ("near", KNeighborsRegressor()), ("tree", tree)]
    >>> average = AveragingRegressor(members, weights="performance").fit(X, y)
    >>> average.estimator_weights_.round(1)  # the tree has learned the rows by heart
    array([1.3, 1.1, 0.6])
    """

    _learns_from_target = False

    def __init__(
        self,
        estimators: Sequence[tuple[Any, ...]],
        rule: str = "mean",
        *,
        trim: float = 0.1,
        weights: npt.ArrayLike | str | None = None,
        cv: Any = None,
        prefit: bool = False,
        n_jobs: int | None = None,
    ) -> None:
        self.estimators = estimators
        self.rule = rule
        self.trim = trim
        self.weights = weights
        self.cv = cv
        self.prefit = prefit
        self.n_jobs = n_jobs

    def _combine(self, X: Any) -> npt.NDArray[np.float64]:
        weights = None if self.weights is None else self.estimator_weights_
        return average_predictions(np.stack(self._ask(X)), self.rule, weights=weights, trim=self.trim)

    def _check_settings(self, members: list[Member]) -> None:
        check_choice("rule", self.rule, AVERAGES)
        if check_number("trim", self.trim, 0) >= 0.5:
            raise ValueError(f"trim must be below 0.5, or nothing is left, not {show(self.trim)}.")
        if check_member_weights(self.weights, self._kept()) is not None and self.rule == "trimmed":
            raise ValueError("rule='trimmed' takes no weights: leave weights=None.")

    def _weigh(self, data: TrainingData) -> Weights:
        """Weigh the members as given, or by their mean squared error out of fold."""
        if not isinstance(self.weights, str):
            weights = check_member_weights(self.weights, self._kept())
            return np.ones(len(data.members)) if weights is None else weights
        held_out = self._hold_out(data)
        squares = (held_out.answers - data.target[held_out.rows]) ** 2
        counts = held_out.sample_counts(data.weights)
        return inverse_error_weights(squares.reshape(*squares.shape[:2], -1).mean(axis=2) @ counts / counts.sum())


def average_predictions(
    predictions: npt.NDArray[np.float64],
    rule: str = "mean",
    *,
    weights: npt.NDArray[np.float64] | None = None,
    trim: float = 0.1,
) -> npt.NDArray[np.float64]:
    """Average the predictions of several members by a fixed rule.

    Parameters
    ----------
    predictions : array of shape (n_members, ...)
    rule : {"mean", "median", "trimmed"}, default="mean"
    weights : array of shape (n_members,), optional
    trim : float, default=0.1
        For "trimmed": the share that is cut off at each end.

    Returns
    -------
    array of shape (...)

    Examples
    --------
    >>> predictions = np.array([[1.0], [2.0], [3.0], [4.0], [90.0]])
    >>> [average_predictions(predictions, rule, trim=0.2).item() for rule in ("mean", "median", "trimmed")]
    [20.0, 3.0, 3.0]
    """
    n_members = len(predictions)
    if rule == "mean":
        return np.average(predictions, axis=0, weights=weights)
    cells = predictions.reshape(n_members, -1)
    if weights is not None:
        averages = weighted_median(cells, weights)
    else:
        averages = mean_of_middle(cells, (n_members - 1) // 2 if rule == "median" else int(trim * n_members))
    return averages.reshape(predictions.shape[1:])
