"""The estimator sensor: any scikit-learn classifier as a component."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, clone
from sklearn.dummy import DummyClassifier
from sklearn.utils.validation import has_fit_parameter

from fuselearn._compat import take_rows
from fuselearn._random import seed_estimator
from fuselearn.sensors.sampling import MOST_TRIES, draw_covering_counts


class EstimatorSensor:
    """Train clones of a scikit-learn classifier on samples of a dataset.

    If the classifier takes ``sample_weight``, it gets the drawn rows once, weighted by their counts; otherwise it
    gets every drawn row as often as it was drawn. From a sample of one class only, a classifier that always predicts it
    is made instead.

    Parameters
    ----------
    X : array, sparse matrix or frame
        Given to the classifier as it is.
    y : array of shape (n_rows,)
        Labels as the user gave them, so that ``class_weight`` and the like mean what they say.
    classes : array of shape (n_classes,)
        The sorted labels.
    estimator : classifier
    """

    def __init__(self, X: Any, y: npt.NDArray[Any], classes: npt.NDArray[Any], estimator: BaseEstimator) -> None:
        self.n_rows = len(y)
        self.n_classes = len(classes)
        self.X = X
        self.y = y
        self.classes = classes
        self.estimator = estimator
        self.takes_weights: bool = has_fit_parameter(estimator, "sample_weight")

    def measure(
        self,
        counts: npt.NDArray[np.int32],
        seed: int,
        *,
        weights: npt.NDArray[np.float64] | None = None,
        features: npt.NDArray[np.intp] | None = None,
    ) -> EstimatorComponent:
        """Train a clone on the rows drawn."""
        X = self.X if features is None else take_rows(self.X, features, axis=1)
        drawn = self.y[counts > 0]
        # Many classifiers refuse to learn from a single class.
        estimator = DummyClassifier() if (drawn == drawn[0]).all() else self.estimator
        model = train_clone(estimator, X, self.y, counts, seed, weights=weights)
        return EstimatorComponent(model, self.classes, features, self.X)

    def measure_sample(self, weights: npt.NDArray[np.float64], seed: int, *, cover: bool = False) -> EstimatorComponent:
        """Draw rows by their weights and train a clone on them."""
        tries = MOST_TRIES if cover else 1
        numbers = np.searchsorted(self.classes, self.y).astype(np.int32)
        return self.measure(draw_covering_counts(seed, weights, self.n_rows, numbers, self.n_classes, tries), seed)

    def regroup(self, groups: npt.NDArray[np.int8]) -> EstimatorSensor:
        """Bind the same table to the question to which of two groups a row's class belongs."""
        numbers = np.searchsorted(self.classes, self.y)
        return EstimatorSensor(self.X, groups[numbers].astype(np.int64), np.array([0, 1]), self.estimator)


class EstimatorComponent:
    """One fitted classifier; classes that it has not seen get score 0."""

    def __init__(
        self,
        model: Any,
        classes: npt.NDArray[Any],
        features: npt.NDArray[np.intp] | None = None,
        X: Any = None,
    ) -> None:
        self.model = model
        self.classes = classes
        self.features = features
        self.X = X

    def scores(self, X: Any = None) -> npt.NDArray[np.float64]:
        """Give the model's class probabilities, or its votes if it has none."""
        X = self._rows(X)
        if not hasattr(self.model, "predict_proba"):
            return np.eye(len(self.classes))[self._class_numbers(self.model.predict(X))]
        scores = np.zeros((X.shape[0], len(self.classes)))
        given = self.model.predict_proba(X)
        if not np.isfinite(given).all():
            raise ValueError(f"{type(self.model).__name__} gives probabilities of NaN, which cannot be combined.")
        scores[:, self._class_numbers(self.model.classes_)] = given
        return scores

    def votes(self, X: Any = None) -> npt.NDArray[np.int32]:
        """Give the numbers of the classes that the model predicts."""
        return self._class_numbers(self.model.predict(self._rows(X)))

    def unbind(self) -> None:
        """Let go of the training rows."""
        self.X = None

    def _rows(self, X: Any) -> Any:
        X = self.X if X is None else X
        if X is None:
            raise RuntimeError("The component no longer has its training data; pass the rows.")
        return X if self.features is None else take_rows(X, self.features, axis=1)

    def _class_numbers(self, labels: Any) -> npt.NDArray[np.int32]:
        return np.searchsorted(self.classes, labels).astype(np.int32)


def train_clone(
    estimator: BaseEstimator,
    X: Any,
    y: npt.NDArray[Any],
    counts: npt.NDArray[np.int32],
    seed: int,
    *,
    weights: npt.NDArray[np.float64] | None = None,
) -> Any:
    """Train a clone of any scikit-learn estimator on the rows drawn.

    An estimator that takes ``sample_weight`` gets the drawn rows once, weighted by their counts or by ``weights``;
    another one gets every drawn row as often as it was drawn.
    """
    model = seed_estimator(clone(estimator), seed)
    rows = np.flatnonzero(counts)
    if has_fit_parameter(model, "sample_weight"):
        drawn_weights = (counts if weights is None else weights)[rows].astype(np.float64)
        return model.fit(take_rows(X, rows), y[rows], sample_weight=drawn_weights)
    if weights is not None:
        raise ValueError(f"{type(model).__name__} takes no sample_weight, so it can learn from drawn rows only.")
    rows = np.repeat(rows, counts[rows])
    return model.fit(take_rows(X, rows), y[rows])
