"""The common part of ensembles: binding data to a base learner, and predicting with the fused components."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from fuselearn._messages import show
from fuselearn._parameters import count_threads
from fuselearn._validation import are_counts, validate_rows
from fuselearn.ensembles.cart import CARTClassifier, bind_tree, wrap_tree
from fuselearn.ensembles.table_classifier import TableClassifier
from fuselearn.sensors import (
    Component,
    EstimatorSensor,
    Sensor,
    TreeComponent,
    WeightedSum,
    draw_counts,
)


class ComponentEnsemble(TableClassifier):
    """An ensemble of components that are trained on samples of one dataset.

    Subclasses call ``_bind`` for a sensor, train components with it, and hand them to ``_adopt``.
    """

    estimator: BaseEstimator | None
    n_jobs: int | None
    coefficients_: npt.NDArray[np.float64]

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn what the estimator can take."""
        tags = super().__sklearn_tags__()
        if isinstance(self.estimator, BaseEstimator):
            base = get_tags(self.estimator)
            tags.input_tags.allow_nan = base.input_tags.allow_nan
            tags.input_tags.sparse = base.input_tags.sparse
        return tags

    def _default_estimator(self) -> CARTClassifier:
        """Give the base learner that ``estimator=None`` stands for."""
        return CARTClassifier()

    def _bind(self, X: Any, y: Any) -> tuple[Sensor, npt.NDArray[np.int32]]:
        """Check the data and bind it to the base learner; give the sensor and the class numbers."""
        base = self._default_estimator() if self.estimator is None else self.estimator
        if isinstance(base, CARTClassifier):
            matrix, n_categories = self._read_training_table(X)
            target = self._read_target(y, len(matrix))
            return bind_tree(base, matrix, n_categories, target, len(self.classes_), self.n_jobs), target
        if not (hasattr(base, "get_params") and is_classifier(base)):
            raise TypeError(f"estimator must be a classifier or None, not {show(base)}.")
        X = validate_rows(self, X, reset=True)
        self._coder_ = None
        target = self._read_target(y, X.shape[0])
        return EstimatorSensor(X, self.classes_[target], self.classes_, base), target

    def _adopt(
        self,
        components: list[Component],
        coefficients: npt.NDArray[np.float64],
        by_class: npt.NDArray[np.bool_],
    ) -> None:
        """Keep trained components, the weight of each in the sum, and whether it counts with its vote."""
        for component in components:
            component.unbind()
        self.coefficients_ = coefficients
        self._fused_ = WeightedSum(components, coefficients, by_class, len(self.classes_))

    @property
    def _components_(self) -> Sequence[Component]:
        return self._fused_.components

    @cached_property
    def estimators_(self) -> list[Any]:
        """The fitted components, as estimators of their own."""
        check_is_fitted(self)
        base = self._default_estimator() if self.estimator is None else self.estimator
        return [self._as_estimator(component, base) for component in self._components_]

    def _as_estimator(self, component: Any, base: Any) -> Any:
        if not isinstance(component, TreeComponent):
            return component.model
        assert self._coder_ is not None, "fit has coded the training table"
        names = getattr(self, "feature_names_in_", None)
        return wrap_tree(base, component, self._coder_, self.classes_, names)

    def _read_rows(self, X: Any) -> Any:
        """Check new rows and bring them into the form that the components take."""
        check_is_fitted(self)
        if self._coder_ is not None:
            return self._read_table(X)
        return validate_rows(self, X, reset=False)

    def _fused_scores(self, X: Any) -> npt.NDArray[np.float64]:
        """Sum up what the components say about new rows."""
        rows = self._read_rows(X)
        return self._fused_.scores(rows, count_threads(self.n_jobs))


def measure_all_rows(sensor: Sensor, sample_weight: npt.NDArray[np.float64] | None, seed: int) -> Component:
    """Train a component on all rows as they are, or as their weights say.

    For a base learner that takes no weights, as many rows as there are are drawn by them.
    """
    counts = np.ones(sensor.n_rows, dtype=np.int32)
    if sample_weight is None:
        return sensor.measure(counts, seed)
    if are_counts(sample_weight):
        return sensor.measure(sample_weight.astype(np.int32), seed)
    if isinstance(sensor, EstimatorSensor) and not sensor.takes_weights:
        return sensor.measure(draw_counts(seed, sample_weight, sensor.n_rows), seed)
    return sensor.measure((sample_weight > 0).astype(np.int32), seed, weights=sample_weight)


def error_of_guessing(n_classes: int) -> float:
    """Return the error from which a classifier is no better than guessing, less what rounding may take from a sum."""
    return 1.0 - 1.0 / n_classes - 1e-12
