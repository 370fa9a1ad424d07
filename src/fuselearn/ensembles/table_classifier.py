"""The base of the classifiers: reading tables, ``fit``, and predicting with the components that it has trained."""

from __future__ import annotations

import inspect
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from fuselearn._fitting import fit_whole_or_not, without_derived
from fuselearn._parameters import count_threads
from fuselearn._random import make_generator
from fuselearn._validation import clip_probabilities, read_classes, read_weights, validate_frame, validate_rows
from fuselearn.sensors import Classes, Component, Sensor, WeightedSum, answer_in_parts, bind
from fuselearn.sensors.table import as_frame

Weights = npt.NDArray[np.float64]

# New sparse samples are predicted in parts that have so many values if they are made dense.
DENSE_VALUES = 2**24


class TableClassifier(ClassifierMixin, BaseEstimator):
    """A classifier of samples of a table; the common part of every public classifier.

    ``fit`` checks the data and binds the table to the base learner. Subclasses write ``_fit_sensor``, which trains
    components and hands them to ``_adopt``, and ``_check_parameters``.
    """

    random_state: Any
    n_jobs: int | None
    classes_: npt.NDArray[Any]
    n_features_in_: int
    _coder_: Any  # its transform prepares samples for the components; None if they take samples as they are
    _fused_: WeightedSum

    def __sklearn_tags__(self) -> Any:
        """Return the tags: what the estimator can take."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags

    def __getstate__(self) -> dict[str, Any]:
        """Return the state that a copy or a file keeps, without attributes that can be computed again."""
        return without_derived(self, super().__getstate__())

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore a copy or a file; parameters that are newer than the file get their defaults."""
        defaults = {p.name: p.default for p in inspect.signature(type(self)).parameters.values()}
        super().__setstate__({name: value for name, value in defaults.items() if name not in state} | state)

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

    def _check_parameters(self) -> None:
        """Refuse parameters that make no sense, before any work is done."""

    def _fit_sensor(self, sensor: Sensor, X: Any, weights: Weights | None, rng: np.random.Generator) -> None:
        """Train components on the bound table, of which ``X`` is the checked form, and hand them to ``_adopt``."""
        raise NotImplementedError

    def _base(self) -> Any:
        """Return the base learner: the classifier itself, if it is not an ensemble of others."""
        return self

    def _read_weights(self, sample_weight: Any, X: Any, truth: npt.NDArray[np.int32]) -> Weights | None:
        """Check sample weights; None means that all samples weigh the same."""
        return read_weights(sample_weight, X, len(truth))

    def _adopt(
        self, sensor: Sensor, components: list[Component], coefficients: Weights, by_class: npt.NDArray[np.bool_]
    ) -> None:
        """Keep trained components, the weight of each in the sum, and whether it counts with its vote."""
        for component in components:
            component.unbind()
        sensor.learner.unbind()
        self.__dict__.pop("estimators_", None)  # those of an earlier fit, if it is continued
        self._fused_ = WeightedSum(components, coefficients, by_class)

    def _adopt_alone(self, component: Component) -> None:
        """Keep a single component."""
        self._fused_ = WeightedSum([component], np.ones(1), np.zeros(1, dtype=bool))

    def _class_scores(self, X: Any) -> Weights:
        """Return the class probabilities but for rounding errors."""
        n_classes, n_threads = len(self.classes_), count_threads(self.n_jobs)
        return self._answer(X, lambda part: self._fused_.scores(part, n_classes, n_threads))

    def _answer(self, X: Any, answer: Any) -> npt.NDArray[Any]:
        """Let a function answer for new samples as the components take them, in parts if they have kernel values."""
        check_is_fitted(self)
        X = self._check_table(X, reset=False)
        at_once = getattr(self._coder_, "samples_at_once", 2**31)
        if sparse.issparse(X) and self._coder_ is not None:  # what trees need is dense
            at_once = min(at_once, max(1, DENSE_VALUES // X.shape[1]))
        return answer_in_parts(X, at_once, lambda part: answer(self._prepare(part)))

    def _choose(self, scores: Weights) -> npt.NDArray[np.intp]:
        """Choose the class with the largest score, the first of equal ones."""
        return scores.argmax(axis=1)

    def _read_rows(self, X: Any) -> Any:
        """Check new samples and bring them into the form that the components take."""
        check_is_fitted(self)
        return self._prepare(self._check_table(X, reset=False))

    def _prepare(self, X: Any) -> Any:
        return X if self._coder_ is None else self._coder_.transform(X)

    def _check_table(self, X: Any, *, reset: bool) -> Any:
        """Check a table as the base learner takes it."""
        validate = getattr(self._base(), "_validate_table", validate_rows)
        return validate(self, X, reset=reset)


def validate_numbers(estimator: Any, X: Any, *, reset: bool) -> Any:
    """Check a table of numbers and gaps, or the shape and the names of a DataFrame."""
    if as_frame(X) is None:
        return validate_data(
            estimator,
            X,
            reset=reset,
            dtype=[np.float64, np.float32],
            accept_sparse="csr",
            ensure_all_finite="allow-nan",
        )
    return validate_frame(estimator, X, reset=reset)
