"""The base of classifiers that read tables of numbers, categories and missing values."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from fuselearn._fitting import DerivedAttributes
from fuselearn._validation import clip_probabilities, read_classes, validate_frame
from fuselearn.sensors.table import TableCoder, as_frame


class TableClassifier(DerivedAttributes, ClassifierMixin, BaseEstimator):
    """A classifier of samples of a table; the common part of every public estimator."""

    classes_: npt.NDArray[Any]
    n_features_in_: int
    _coder_: Any  # its transform makes rows for the components; None if they take samples as they are

    def __sklearn_tags__(self) -> Any:
        """Return the tags: what the estimator can take."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore a copy or a file; parameters that are newer than the file get their defaults."""
        defaults = {p.name: p.default for p in inspect.signature(type(self)).parameters.values()}
        super().__setstate__({name: value for name, value in defaults.items() if name not in state} | state)

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Predict the class of each sample.

        Parameters
        ----------
        X : {array-like, DataFrame} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        return self.classes_[self._choose(self.predict_proba(X))]

    def predict_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """Predict class probabilities.

        Parameters
        ----------
        X : {array-like, DataFrame} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Rows sum to one; columns are in the order of ``classes_``.
        """
        check_is_fitted(self)
        return clip_probabilities(self._class_scores(X))

    def _class_scores(self, X: Any) -> npt.NDArray[np.float64]:
        """Return the class probabilities but for rounding errors."""
        raise NotImplementedError

    def _choose(self, scores: npt.NDArray[np.float64]) -> npt.NDArray[np.intp]:
        """Choose the class with the largest score, the first of equal ones."""
        return scores.argmax(axis=1)

    def _read_training_table(self, X: Any) -> npt.NDArray[np.floating]:
        """Check a training table and code it for the tree engine."""
        X = self._validate_table(X, reset=True)
        coder = TableCoder()
        matrix = coder.fit_transform(X)
        self._coder_ = coder
        return matrix

    def _read_table(self, X: Any) -> npt.NDArray[np.floating]:
        """Check a table of new samples and code it for the tree engine."""
        check_is_fitted(self)
        assert self._coder_ is not None, "fit has coded the training table"
        return self._coder_.transform(self._validate_table(X, reset=False))

    def _validate_table(self, X: Any, *, reset: bool) -> Any:
        if as_frame(X) is None:
            return validate_data(self, X, reset=reset, dtype=[np.float64, np.float32], ensure_all_finite="allow-nan")
        return validate_frame(self, X, reset=reset)

    def _read_target(self, y: Any, n_rows: int) -> npt.NDArray[np.int32]:
        """Check the labels, set ``classes_``, and turn the labels into class numbers."""
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        self.classes_, class_numbers = read_classes(y, n_rows)
        return class_numbers
