"""The base of the regressors: ``fit``, and predicting with the components that it has trained."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import RegressorMixin

from fuselearn._fitting import fit_whole_or_not
from fuselearn._parameters import count_threads
from fuselearn._validation import read_numbers, read_weights
from fuselearn.ensembles.table_estimator import TableEstimator, Weights
from fuselearn.learners import Component, Learner, Values, bind_regressor, count_all_samples


class TableRegressor(RegressorMixin, TableEstimator):
    """A regressor of samples of a table.

    ``fit`` checks the data and binds the table to the base learner. Subclasses write ``_fit_learner``, which trains
    components and hands them to ``_adopt``, and ``_check_parameters``.
    """

    @fit_whole_or_not
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the regressor.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)
            What the base learner takes. Trees take numbers, NaN, sparse matrices, and category columns of a DataFrame.
        y : array-like of shape (n_samples,)
            Numbers.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the samples; the description of the class says how they count.

        Returns
        -------
        object
            Fitted estimator.
        """
        self._check_parameters()
        n_features = vars(self).get("n_features_in_")  # of a fit that is continued
        X = self._check_table(X, reset=True)
        if n_features not in (None, self.n_features_in_):
            raise ValueError(f"With warm_start=True, X must have the {n_features} features of the fit before.")
        learner = bind_regressor(self._base(), X, count_threads(self.n_jobs))
        self._coder_ = learner.coder
        target = Values(read_numbers(y, learner.n_samples, type(self).__name__))
        self._fit_learner(learner, target, read_weights(sample_weight, X, learner.n_samples))
        return self

    def predict(self, X: Any) -> npt.NDArray[np.float64]:
        """Predict the number of each sample.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self._answer(X, lambda part: self._fused_.scores(part, 1, count_threads(self.n_jobs)))[:, 0]

    def _fit_learner(self, learner: Learner, target: Values, weights: Weights | None) -> None:
        """Train components on the bound table and hand them to ``_adopt``."""
        raise NotImplementedError


def train_on_all(learner: Learner, target: Values, sample_weight: Weights | None, seed: int) -> Component:
    """Train a component on all samples as they are, or as their weights say."""
    counts, weights = count_all_samples(sample_weight, learner.n_samples, copies=learner.counts_copies)
    component: Component = learner.train(target, counts, seed, weights=weights)
    return component
