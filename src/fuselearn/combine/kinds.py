"""The two kinds of member ensembles: of classifiers and of regressors."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin, RegressorMixin, is_classifier, is_regressor
from sklearn.utils.validation import check_array, check_consistent_length, check_is_fitted, column_or_1d

from fuselearn._compat import take_rows
from fuselearn.combine.answers import Classes, settle_classes
from fuselearn.combine.members import FittedMember, Member, MemberEnsemble, take_columns


class ClassifierEnsemble(ClassifierMixin, MemberEnsemble):
    """A combiner of classifiers, for one column of classes or for several labels."""

    classes_: Any
    _classes_: Classes

    def __sklearn_tags__(self) -> Any:
        """Return the tags: several labels are possible if all members allow them."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = tags.target_tags.multi_output
        return tags

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Predict the class of each sample, or its labels.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_labels)
        """
        check_is_fitted(self)
        return self._classes_.decode(self._combine(X).argmax(axis=-1))

    def _read_classifiers(self) -> list[Member]:
        return self._read_members(kind=is_classifier, noun="classifier")

    def _read_classes(self, members: list[Member], X: Any, y: Any) -> npt.NDArray[Any] | None:
        """Set the classes and give the target as members will see it, None if there is none and they are fitted."""
        if y is None and not self.prefit:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        self._classes_, target = settle_classes(members, X, y, prefit=self.prefit)
        self.classes_ = self._classes_.attribute
        return target

    def _output_endings(self) -> list[str]:
        return self._classes_.endings


class RegressorEnsemble(RegressorMixin, MemberEnsemble):
    """A combiner of regressors, for one column of numbers or for several."""

    _n_outputs_: int | None

    def predict(self, X: Any) -> npt.NDArray[np.float64]:
        """Predict a number, or several, for each sample.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
        """
        return self._combine(X)

    def _read_regressors(self) -> list[Member]:
        return self._read_members(kind=is_regressor, noun="regressor")

    def _read_numbers(self, X: Any, y: Any) -> npt.NDArray[np.float64]:
        """Check a target of one or more columns of numbers."""
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        target = read_number_target(y)
        check_consistent_length(X, target)
        return target

    def _answer(self, model: Any, X: Any) -> npt.NDArray[np.float64]:
        return predicted_numbers(model, X)

    def _count_outputs(self, member: FittedMember, X: Any) -> None:
        """Learn from a prediction for one sample how many numbers there are."""
        predicted = self._answer(member.model, take_columns(take_rows(X, [0]), member.columns))
        self._n_outputs_ = predicted.shape[1] if predicted.ndim == 2 else None

    def _output_endings(self) -> list[str]:
        return number_endings(self._n_outputs_)


def number_endings(n_outputs: int | None) -> list[str]:
    """Return endings for the names of outputs: their numbers, or nothing if there is only one."""
    return [""] if n_outputs is None else [f"_{output}" for output in range(n_outputs)]


def read_number_target(y: Any) -> npt.NDArray[np.float64]:
    """Read one or more columns of numbers; a single column becomes a flat array."""
    target = check_array(y, dtype=np.float64, ensure_2d=False, input_name="y")
    if target.ndim == 1 or target.shape[1] == 1:
        return column_or_1d(target, warn=True)
    return target


def predicted_numbers(model: Any, X: Any) -> npt.NDArray[np.float64]:
    """Return the numbers that a model predicts."""
    predicted = np.asarray(model.predict(X), dtype=np.float64)
    return predicted[:, 0] if predicted.ndim == 2 and predicted.shape[1] == 1 else predicted
