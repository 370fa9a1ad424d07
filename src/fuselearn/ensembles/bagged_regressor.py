"""Bagging for regression: the mean of regressors on bootstrap samples, random subspaces, or both."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from fuselearn._parameters import check_flag, check_whole_number
from fuselearn.base import RegressorBase, as_estimator
from fuselearn.ensembles.bagging import plan_bags, stage_means, train_bags
from fuselearn.ensembles.cart import CARTRegressor
from fuselearn.ensembles.ensemble import check_oob_score, score_out_of_bag
from fuselearn.fusion import Problem, Trained


class BaggedRegressor(RegressorBase):
    """Bagging for regression: the mean of regressors trained on random subsets of the samples and features.

    With h_1, ..., h_T trained on random samples and, optionally, random features, ::

        f(x) = sum_t h_t(x) / T.

    If the errors of the regressors have variance s^2 and correlation r, the error of the mean has variance r s^2 + (1 -
    r) s^2 / T. Averaging reduces variance but not bias, so it suits regressors that overfit.

    DataFrames are passed to the base estimator with their column names, categories and text.
    ``BaggedRegressor(DecisionTreeRegressor(max_features=1 / 3))`` is a random forest as in
    :class:`sklearn.ensemble.RandomForestRegressor`.

    Parameters
    ----------
    estimator : regressor or None, default=None
        Base estimator: any scikit-learn regressor. None means ``CARTRegressor()``.
    n_estimators : int, default=100
        Number of regressors.
    max_samples : int or float, default=1.0
        Number or fraction of samples drawn for each regressor.
    max_features : int, float, "sqrt", "log2" or None, default=None
        Number or fraction of features drawn for each regressor; "sqrt" and "log2" as in scikit-learn; None means all.
    bootstrap : bool, default=True
        Whether samples are drawn with replacement.
    oob_score : bool or callable, default=False
        Whether to compute out-of-bag predictions and their R^2. A callable ``metric(y_true, y_pred)`` replaces R^2.
    random_state : int, RandomState or None, default=None
        Seed of the sampling and of the base estimators.
    n_jobs : int or None, default=None
        Number of regressors trained in parallel. Results do not depend on it.

    Attributes
    ----------
    n_features_in_, feature_names_in_
        The number of features; their names, if ``X`` is a DataFrame with string column names.
    estimators_ : list of regressors
        With random subspaces, each expects the features in ``estimators_features_`` only.
    estimators_features_ : list of arrays
        Features of each regressor.
    oob_score_ : float
        R^2, or the chosen metric, of the out-of-bag predictions, over the samples with an out-of-bag prediction.
    oob_prediction_ : array of shape (n_samples,)
        Mean prediction of the regressors that were not trained on the sample; NaN if all were.

    See Also
    --------
    BaggedClassifier : Bagging for classification.
    sklearn.ensemble.BaggingRegressor : Bagging in scikit-learn.
    fuselearn.combine.AveragingRegressor : Weighted average of different regressors.

    References
    ----------
    Breiman, L. (1996) and Ho, T. K. (1998), as for :class:`BaggedClassifier`.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from fuselearn import BaggedRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> bagged = BaggedRegressor(oob_score=True, random_state=0).fit(X, y)
    >>> round(bagged.oob_score_, 2)
    0.4
    """

    def __init__(
        self,
        estimator: BaseEstimator | None = None,
        n_estimators: int = 100,
        *,
        max_samples: int | float = 1.0,
        max_features: int | float | str | None = None,
        bootstrap: bool = True,
        oob_score: bool | Callable[..., float] = False,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.max_samples = max_samples
        self.max_features = max_features
        self.bootstrap = bootstrap
        self.oob_score = oob_score
        self.random_state = random_state
        self.n_jobs = n_jobs

    @property
    def estimators_features_(self) -> list[npt.NDArray[np.intp]]:
        """Features of each regressor."""
        check_is_fitted(self)
        return list(self._features_)

    @cached_property
    def estimators_(self) -> list[Any]:
        """The fitted regressors, as fitted estimators."""
        check_is_fitted(self)
        base, names = self._base_estimator(), vars(self).get("feature_names_in_")
        return [as_estimator(model, base, self._coder_, None, names) for model in self._fused_.models]

    def _base_estimator(self) -> Any:
        return CARTRegressor() if self.estimator is None else self.estimator

    def _check_parameters(self) -> None:
        check_whole_number("n_estimators", self.n_estimators, 1)
        check_flag("bootstrap", self.bootstrap)
        check_oob_score(self.oob_score)

    def _train(self, problem: Problem) -> Trained:
        plan = plan_bags(
            problem.X.shape,
            problem.weights,
            max_samples=self.max_samples,
            bootstrap=self.bootstrap,
            max_features=self.max_features,
            leave_out=problem.out_of_bag,
        )
        return train_bags(problem, plan, self.n_estimators, vote="probability")

    def staged_predict(self, X: Any) -> Iterator[npt.NDArray[np.float64]]:
        """Predict values with the first regressor, the first two, and so on.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)

        Yields
        ------
        ndarray of shape (n_samples,)
            Values predicted by the ensemble so far.
        """
        for means in stage_means(self, X):
            yield means[:, 0]

    def _pose(self, problem: Problem) -> Problem:
        return replace(problem, out_of_bag=bool(self.oob_score))

    def _keep(self, trained: Trained, problem: Problem) -> None:
        super()._keep(trained, problem)
        if self.oob_score and trained.out_of_bag is not None:
            from sklearn.metrics import r2_score  # slow import

            self.oob_prediction_ = trained.out_of_bag.mean()[:, 0]
            covered = ~np.isnan(self.oob_prediction_)
            truth, predictions = problem.target.values[covered], self.oob_prediction_[covered]
            self.oob_score_ = score_out_of_bag(self.oob_score, r2_score, truth, predictions)
