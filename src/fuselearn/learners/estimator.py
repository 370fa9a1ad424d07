"""The estimator learner: clones of any scikit-learn classifier or regressor."""

from __future__ import annotations

from itertools import count
from typing import Any, Self

import narwhals as nw
import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.dummy import DummyClassifier
from sklearn.utils.validation import has_fit_parameter

from fuselearn._compat import take_rows
from fuselearn._random import seed_estimator
from fuselearn.engines.draws import draw_counts
from fuselearn.learners.protocols import Classes, Counts, Indices, Learner, Scores, Target, Values, Weights
from fuselearn.learners.table import as_frame

_LABEL_VALUES = np.array([0, 1])


class EstimatorLearner(Learner):
    """Train clones of a scikit-learn classifier, or regressor, on samples of a table.

    If the classifier takes ``sample_weight``, it gets the drawn samples once, weighted by their counts; otherwise it
    gets every drawn sample as often as it was drawn, and weights other than counts become draws. From a sample of one
    class only, a classifier that always predicts it is made instead.

    Parameters
    ----------
    X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)
        Passed to the classifier as it is.
    estimator : classifier
    n_threads : int
        Clones for labels that are trained at the same time.

    Examples
    --------
    >>> from sklearn.naive_bayes import GaussianNB
    >>> learner = EstimatorLearner(np.arange(4.0)[:, None], GaussianNB(), n_threads=1)
    >>> target = Classes(np.array([0, 0, 1, 1], dtype=np.int32), 2)
    >>> learner.train(target, np.array([1, 2, 1, 0], dtype=np.int32), seed=0).model
    GaussianNB()
    """

    prefer = "processes"

    def __init__(self, X: Any, estimator: BaseEstimator, n_threads: int) -> None:
        self.n_samples = X.shape[0]
        self.X = X
        self.estimator = estimator
        self.features: npt.NDArray[np.intp] | None = None
        self.appended = np.empty((self.n_samples, 0), dtype=np.int8)
        self.n_threads = n_threads

    def train(
        self, target: Target, counts: Counts, seed: int, *, weights: Weights | None = None
    ) -> EstimatorComponent | LabelEstimators:
        """Train a clone, or a clone per label, on the samples drawn."""
        self._check_sample(target, counts)
        X = append_features(self.X, self.appended)
        if isinstance(target, Classes) and target.samples is not None:
            X, counts = take_rows(X, target.samples), counts[target.samples]
            weights = None if weights is None else weights[target.samples]
        if weights is not None and not has_fit_parameter(self.estimator, "sample_weight"):
            counts, weights = draw_counts(seed, np.where(counts > 0, weights, 0.0), len(counts)), None
        features = self._features()
        if isinstance(target, Values):
            X = X if features is None else take_rows(X, features, axis=1)
            model = train_clone(self.estimator, X, target.numbers, counts, seed, weights=weights)
            return RegressorComponent(model, np.empty(0), features, self.X, self.appended)
        if isinstance(target, Classes):
            classes = np.arange(target.n_classes) if target.names is None else target.names
            model = _train_model(self.estimator, X, classes[target.numbers], counts, seed, weights, features)
            return EstimatorComponent(model, classes, features, self.X, self.appended)
        models = Parallel(n_jobs=self.n_threads)(
            delayed(_train_model)(self.estimator, X, np.asarray(y, dtype=np.int64), counts, seed, weights, features)
            for y in target.T
        )
        components = [EstimatorComponent(model, _LABEL_VALUES, features, self.X, self.appended) for model in models]
        return LabelEstimators(components, self.n_threads)

    def extend(self, columns: npt.NDArray[np.integer], n_columns: int | None = None) -> Self:
        """Return a learner whose classifiers get features of 0 and 1 appended to the table."""
        return self._replaced(appended=np.hstack([self.appended, columns[:, :n_columns]]))

    def restrict(self, features: npt.NDArray[np.intp]) -> Self:
        """Return a learner whose classifiers get some features of the table."""
        return self._replaced(features=features)

    def unbind(self) -> None:
        """Release the table."""
        del self.X, self.appended

    def _features(self) -> npt.NDArray[np.intp] | None:
        """List the features that the classifiers see: chosen ones, and appended ones behind the whole table."""
        if self.features is None:
            return None
        return np.concatenate([self.features, self.X.shape[1] + np.arange(self.appended.shape[1])])


class EstimatorComponent:
    """One fitted classifier; classes that it has not seen get score 0.

    Examples
    --------
    >>> from sklearn.dummy import DummyClassifier
    >>> model = DummyClassifier().fit([[0.0], [1.0]], ["low", "low"])
    >>> EstimatorComponent(model, np.array(["high", "low"])).scores(np.array([[5.0]]))
    array([[0., 1.]])
    """

    def __init__(
        self,
        model: Any,
        classes: npt.NDArray[Any],
        features: npt.NDArray[np.intp] | None = None,
        X: Any = None,
        appended: npt.NDArray[np.integer] | None = None,
    ) -> None:
        self.model = model
        self.classes = classes
        self.features = features
        self.X = X
        self.appended = appended

    def scores(self, rows: Any = None, extra: npt.NDArray[Any] | None = None, only: Indices | None = None) -> Scores:
        """Return the model's class probabilities, or its votes if it has none."""
        return self.score_completed(self.complete(rows, extra, only))

    def score_completed(self, X: Any) -> Scores:
        """Return the scores of samples that ``complete`` returned."""
        if not hasattr(self.model, "predict_proba"):
            return np.eye(len(self.classes))[self._class_numbers(self.model.predict(X))]
        scores = np.zeros((X.shape[0], len(self.classes)))
        given = self.model.predict_proba(X)
        if not np.isfinite(given).all():
            raise ValueError(f"{type(self.model).__name__} gives probabilities of NaN, which cannot be combined.")
        scores[:, self._class_numbers(self.model.classes_)] = given
        return scores

    def votes(self, rows: Any = None) -> npt.NDArray[np.int32]:
        """Return the numbers of the classes that the model predicts."""
        return self._class_numbers(self.model.predict(self.complete(rows)))

    def unbind(self) -> None:
        """Release the training data."""
        self.X = None
        self.appended = None

    def complete(self, rows: Any, extra: npt.NDArray[Any] | None = None, only: Indices | None = None) -> Any:
        """Choose among samples, by default the training samples, and give them the features that the model knows."""
        if rows is None:
            if self.X is None:
                raise RuntimeError("The component no longer has its training data; pass the samples.")
            rows = self.X
            if extra is None and self.appended is not None:
                extra = self.appended if only is None else self.appended[only]
        rows = rows if only is None else take_rows(rows, only)
        if extra is not None:
            rows = append_features(rows, extra)
        return rows if self.features is None else take_rows(rows, self.features, axis=1)

    def _class_numbers(self, labels: Any) -> npt.NDArray[np.int32]:
        return np.searchsorted(self.classes, labels).astype(np.int32)


class RegressorComponent(EstimatorComponent):
    """One fitted regressor; it has no classes."""

    def score_completed(self, X: Any) -> Scores:
        """Return the predicted numbers of samples that ``complete`` returned, as a column."""
        predictions = np.asarray(self.model.predict(X), dtype=np.float64).reshape(X.shape[0], 1)
        if not np.isfinite(predictions).all():
            raise ValueError(f"{type(self.model).__name__} predicts NaN or infinity, which cannot be combined.")
        return predictions


class LabelEstimators:
    """One fitted classifier per label.

    Examples
    --------
    >>> from sklearn.naive_bayes import GaussianNB
    >>> learner = EstimatorLearner(np.arange(4.0)[:, None], GaussianNB(), n_threads=1)
    >>> labels = np.array([[0, 1], [0, 1], [1, 1], [1, 0]])
    >>> learner.train(labels, np.ones(4, dtype=np.int32), seed=0).scores(np.array([[9.0]])).round()
    array([[1., 1.]])
    """

    def __init__(self, components: list[EstimatorComponent], n_threads: int) -> None:
        self.components = components
        self.n_threads = n_threads

    def scores(self, rows: Any = None, extra: npt.NDArray[Any] | None = None, only: Indices | None = None) -> Scores:
        """Return the classifiers' probabilities, or their votes if they have none."""
        X = self.components[0].complete(rows, extra, only)
        columns = Parallel(n_jobs=self.n_threads, prefer="threads")(
            delayed(_score_label)(component, X) for component in self.components
        )
        return np.column_stack(columns)

    def split(self) -> list[EstimatorComponent]:
        """Return each classifier as a component of its own, of the classes 0 and 1."""
        return self.components

    def unbind(self) -> None:
        """Release the training data."""
        for component in self.components:
            component.unbind()


def append_features(X: Any, columns: npt.NDArray[Any]) -> Any:
    """Append features of 0 and 1 to a table of any kind.

    Examples
    --------
    >>> append_features(np.array([[0.5], [1.5]]), np.array([[1], [0]]))
    array([[0.5, 1. ],
           [1.5, 0. ]])
    """
    if columns.shape[1] == 0:
        return X
    if sparse.issparse(X):
        return sparse.hstack([X, sparse.csr_array(columns)], format="csr")
    frame = as_frame(X)
    if frame is None:
        return np.hstack([X, columns])
    taken = set(frame.columns)
    numbers = (k for k in count() if _name(k, taken) not in taken)
    series = [
        nw.new_series(_name(next(numbers), taken), column.astype(np.int64), backend=frame.implementation)
        for column in columns.T
    ]
    return frame.with_columns(*series).to_native()


def _name(number: int, others: set[Any]) -> Any:
    """Name an appended feature as the others are named: by text or by number."""
    return f"label {number}" if all(isinstance(name, str) for name in others) else number


def _score_label(component: EstimatorComponent, X: Any) -> npt.NDArray[np.float64]:
    return component.score_completed(X)[:, 1]


def _train_model(
    estimator: BaseEstimator,
    X: Any,
    y: npt.NDArray[Any],
    counts: Counts,
    seed: int,
    weights: Weights | None,
    features: npt.NDArray[np.intp] | None,
) -> Any:
    """Train a clone, or, where one class was drawn only, a classifier that always predicts it."""
    drawn = y[counts > 0]
    if (drawn == drawn[0]).all():  # many classifiers refuse to learn from it
        estimator = DummyClassifier()
    X = X if features is None else take_rows(X, features, axis=1)
    return train_clone(estimator, X, y, counts, seed, weights=weights)


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
