"""The base of the classifiers: ``fit``, and predicting with the components that it has trained."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from fuselearn._fitting import fit_whole_or_not
from fuselearn._parameters import count_threads
from fuselearn._random import make_generator
from fuselearn._validation import clip_probabilities, read_classes, read_weights
from fuselearn.ensembles.table_estimator import TableEstimator, Weights
from fuselearn.learners import Classes, Sensor, bind


class TableClassifier(ClassifierMixin, TableEstimator):
    """A classifier of samples of a table; the common part of every public classifier.

    ``fit`` checks the data and binds the table to the base learner. Subclasses write ``_fit_sensor``, which trains
    components and hands them to ``_adopt``, and ``_check_parameters``.
    """

    random_state: Any
    classes_: npt.NDArray[Any]

    @fit_whole_or_not
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the classifier.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)
            What the base learner takes. Trees take numbers, NaN, sparse matrices, and category columns of a DataFrame.
        y : array-like of shape (n_samples,)
            Classes of any type.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the samples; the description of the class says how they count.

        Returns
        -------
        object
            Fitted estimator.
        """
        self._check_parameters()
        before = vars(self).get("classes_"), vars(self).get("n_features_in_")  # of a fit that is continued
        X = self._check_table(X, reset=True)
        learner = bind(self._base(), X, count_threads(self.n_jobs))
        self._coder_ = learner.coder
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        self.classes_, truth = read_classes(y, learner.n_samples)
        if before[0] is not None and not (
            np.array_equal(before[0], self.classes_) and before[1] == self.n_features_in_
        ):
            raise ValueError("With warm_start=True, X and y must have the features and classes of the fit before.")
        weights = self._read_weights(sample_weight, X, truth)
        sensor = Sensor(learner, Classes(truth, len(self.classes_), self.classes_))
        self._fit_sensor(sensor, X, weights, make_generator(self.random_state))
        return self

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Predict the class of each sample.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        return self.classes_[self._choose(self.predict_proba(X))]

    def predict_proba(self, X: Any) -> Weights:
        """Predict class probabilities.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            They sum to one; classes are in the order of ``classes_``.
        """
        check_is_fitted(self)
        return clip_probabilities(self._class_scores(X))

    def _fit_sensor(self, sensor: Sensor, X: Any, weights: Weights | None, rng: np.random.Generator) -> None:
        """Train components on the bound table, of which ``X`` is the checked form, and hand them to ``_adopt``."""
        raise NotImplementedError

    def _read_weights(self, sample_weight: Any, X: Any, truth: npt.NDArray[np.int32]) -> Weights | None:
        """Check sample weights; None means that all samples weigh the same."""
        return read_weights(sample_weight, X, len(truth))

    def _class_scores(self, X: Any) -> Weights:
        """Return the class probabilities but for rounding errors."""
        n_classes, n_threads = len(self.classes_), count_threads(self.n_jobs)
        return self._answer(X, lambda part: self._fused_.scores(part, n_classes, n_threads))

    def _choose(self, scores: Weights) -> npt.NDArray[np.intp]:
        """Choose the class with the largest score, the first of equal ones."""
        return scores.argmax(axis=1)
