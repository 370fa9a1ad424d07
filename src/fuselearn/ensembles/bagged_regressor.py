"""Bagging for regression: the mean of regressors on bootstrap samples, random subspaces, or both."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator, RegressorMixin, is_regressor
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from fuselearn._compat import take_rows
from fuselearn._fitting import fit_whole_or_not
from fuselearn._messages import show
from fuselearn._parameters import check_whole_number
from fuselearn._random import make_generator
from fuselearn._validation import read_numbers, read_weights, validate_rows
from fuselearn.ensembles.bags import BagPlan, plan_bags
from fuselearn.ensembles.out_of_bag import KnownValues, read_scoring, score_known
from fuselearn.learners.estimator import train_clone


class Trained(NamedTuple):
    """A regressor, its features, the samples that it has not seen, and its predictions for those, if wanted."""

    model: Any
    features: npt.NDArray[np.intp]
    left_out: npt.NDArray[np.intp]
    predictions: npt.NDArray[np.float64]


class BaggedRegressor(RegressorMixin, BaseEstimator):
    """The mean of regressors that are trained on random parts of the data.

    With h_1, ..., h_T trained on randomly drawn samples, and features if so wished, ::

        f(x) = sum_t h_t(x) / T.

    If the errors of the regressors have variance s^2 and correlation r, that of the mean is r s^2 + (1 - r) s^2 / T:
    averaging takes away variance, but no bias, so it suits regressors that over-fit.

    What :class:`sklearn.ensemble.BaggingRegressor` lacks: DataFrames reach the base learner as they are, with
    names, categories and text (a pipeline that selects features by name works); ``oob_score`` takes any scorer;
    samples that were never left out get NaN instead of 0 out of bag. Without need for these, use scikit-learn's.

    Parameters
    ----------
    estimator : regressor or None, default=None
        Base learner: any scikit-learn regressor. None means ``DecisionTreeRegressor()``.
    n_estimators : int, default=100
        Number of regressors.
    max_samples : int or float, default=1.0
        Samples drawn for each regressor, as a number or as a share of all samples.
    max_features : int, float, "sqrt", "log2" or None, default=None
        Features that each regressor sees, as a number, a share, or a root or logarithm of their number; None means all.
    bootstrap : bool, default=True
        Whether samples are drawn with replacement.
    oob_score : bool, str or callable, default=False
        Whether to compute the out-of-bag predictions and their R^2. Or another score: the name of a scorer of
        scikit-learn, such as ``"neg_mean_absolute_error"``, a scorer, or a metric ``metric(y_true, y_pred)``.
    random_state : int, RandomState or None, default=None
        Seed of the samples and of the base learners.
    n_jobs : int or None, default=None
        Regressors trained, or asked, at the same time. Results do not depend on it.

    Attributes
    ----------
    n_features_in_, feature_names_in_
        Number of the features, and their names if fitted on a DataFrame whose column names are text.
    estimators_ : list of regressors
        With random subspaces, each expects the features in ``estimators_features_`` only.
    estimators_features_ : list of arrays
        Features of each regressor.
    oob_score_ : float
        R^2, or other score, of the out-of-bag predictions, over the samples that have any.
    oob_prediction_ : array of shape (n_samples,)
        Mean over the regressors that have not seen a sample; NaN for samples that every regressor has seen.

    See Also
    --------
    BaggedClassifier : The same for classification.
    sklearn.ensemble.BaggingRegressor : Bagging of scikit-learn.
    fuselearn.combine.AveragingRegressor : Averages of different regressors.

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
    0.42
    """

    def __init__(
        self,
        estimator: BaseEstimator | None = None,
        n_estimators: int = 100,
        *,
        max_samples: int | float = 1.0,
        max_features: int | float | str | None = None,
        bootstrap: bool = True,
        oob_score: bool | str | Callable[..., float] = False,
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

    def __sklearn_tags__(self) -> Any:
        """Return the tags: what the base learner can take."""
        tags = super().__sklearn_tags__()
        if self.estimator is None or isinstance(self.estimator, BaseEstimator):
            base = get_tags(self._base_learner())
            tags.input_tags.allow_nan = base.input_tags.allow_nan
            tags.input_tags.sparse = base.input_tags.sparse
        return tags

    @fit_whole_or_not
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the ensemble.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)
            Passed on to the base learner unchanged.
        y : array-like of shape (n_samples,)
            Numbers.
        sample_weight : array-like of shape (n_samples,), optional
            Chances of the samples to be drawn.

        Returns
        -------
        BaggedRegressor
            Fitted estimator.
        """
        n_estimators = check_whole_number("n_estimators", self.n_estimators, 1)
        scorer = read_scoring(self.oob_score, "r2")
        base = self._base_learner()
        if not (hasattr(base, "get_params") and is_regressor(base)):
            raise TypeError(f"estimator must be a regressor or None, not {show(base)}.")
        rows = validate_rows(self, X, reset=True)
        target = read_numbers(y, rows.shape[0], type(self).__name__)
        weights = read_weights(sample_weight, rows, len(target))
        plan = plan_bags(
            (len(target), self.n_features_in_),
            weights,
            max_samples=self.max_samples,
            bootstrap=self.bootstrap,
            max_features=self.max_features,
            leave_out=scorer is not None,
        )
        seeds = make_generator(self.random_state).integers(2**63, size=n_estimators)
        trained = Parallel(n_jobs=self.n_jobs)(
            delayed(_train_one)(base, rows, target, plan, scorer is not None, seed) for seed in seeds
        )
        self.estimators_ = [part.model for part in trained]
        self._features_ = np.array([part.features for part in trained])
        if scorer is not None:
            self.oob_prediction_ = _mean_out_of_bag(trained, len(target))
            covered = ~np.isnan(self.oob_prediction_)
            self.oob_score_ = score_known(scorer, KnownValues(self.oob_prediction_[covered]), target[covered])
        return self

    def predict(self, X: Any) -> npt.NDArray[np.float64]:
        """Predict the mean of what the regressors predict.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        rows = validate_rows(self, X, reset=False)
        predictions = Parallel(n_jobs=self.n_jobs, prefer="threads")(
            delayed(_predict)(model, rows, features)
            for model, features in zip(self.estimators_, self._features_, strict=True)
        )
        return np.mean(predictions, axis=0)

    @property
    def estimators_features_(self) -> list[npt.NDArray[np.intp]]:
        """Features of each regressor."""
        check_is_fitted(self)
        return list(self._features_)

    def _base_learner(self) -> Any:
        if self.estimator is not None:
            return self.estimator
        from sklearn.tree import DecisionTreeRegressor  # takes long to import

        return DecisionTreeRegressor()


def _train_one(base: Any, X: Any, y: npt.NDArray[np.float64], plan: BagPlan, out_of_bag: bool, seed: int) -> Trained:
    """Draw samples and features, and train one regressor."""
    rng = np.random.default_rng(seed)
    features, counts = plan.draw_features(rng), plan.draw_counts(rng)
    model = train_clone(base, _take_columns(X, features), y, counts, int(rng.integers(2**31)))
    left_out = np.flatnonzero(counts == 0)
    predictions = np.empty(0)
    if out_of_bag and len(left_out):
        predictions = _predict(model, take_rows(X, left_out), features)
    return Trained(model, features, left_out, predictions)


def _predict(model: Any, X: Any, features: npt.NDArray[np.intp]) -> npt.NDArray[np.float64]:
    return np.asarray(model.predict(_take_columns(X, features)), dtype=np.float64).reshape(X.shape[0])


def _take_columns(X: Any, features: npt.NDArray[np.intp]) -> Any:
    return X if len(features) == X.shape[1] else take_rows(X, features, axis=1)


def _mean_out_of_bag(trained: list[Trained], n_rows: int) -> npt.NDArray[np.float64]:
    """Average, for each sample, the predictions of the models that have not seen it; NaN where there is none."""
    total, number = np.zeros(n_rows), np.zeros(n_rows)
    for part in trained:
        total[part.left_out] += part.predictions
        number[part.left_out] += 1
    return np.divide(total, number, out=np.full(n_rows, np.nan), where=number > 0)
