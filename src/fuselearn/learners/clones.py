"""Learners that train clones of any scikit-learn classifier or regressor, or of any multi-label classifier."""

from __future__ import annotations

from collections.abc import Sequence
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
from fuselearn._core import draw_counts
from fuselearn._parameters import seed_estimator
from fuselearn.learners.learner import Bound, BoundLearner, Counts, Indices, LabelModel, Model, Scores, Target, Weights
from fuselearn.learners.table import as_frame

_LABEL_VALUES = np.array([0, 1])


class CloneLearner(BoundLearner):
    """Train clones of a scikit-learn classifier or regressor on drawn samples of a table.

    If the estimator supports ``sample_weight``, it is fitted to the distinct drawn samples, weighted by their counts.
    Otherwise drawn samples are repeated, and samples are drawn in proportion to other weights. If all drawn samples
    have the same class, the model is a classifier that always predicts it.

    Parameters
    ----------
    X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)
        Passed to the estimator unchanged.
    estimator : classifier or regressor
    n_threads : int
        Number of clones for labels trained in parallel.

    Examples
    --------
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from fuselearn.learners import class_target
    >>> learner = CloneLearner(np.arange(4.0)[:, None], GaussianNB(), n_threads=1)
    >>> target = class_target(np.array([0, 0, 1, 1], dtype=np.int32), 2)
    >>> learner.train(target, np.array([1, 2, 1, 0], dtype=np.int32), seed=0).estimator
    GaussianNB()
    """

    prefer = "processes"

    def __init__(self, X: Any, estimator: BaseEstimator, n_threads: int) -> None:
        self.n_samples = X.shape[0]
        self.bound = Bound(X, np.empty((self.n_samples, 0), dtype=np.int8))
        self.estimator = estimator
        self.features: npt.NDArray[np.intp] | None = None
        self.n_threads = n_threads

    def train(
        self, target: Target, counts: Counts, seed: int, *, weights: Weights | None = None
    ) -> CloneModel | LabelClones:
        """Train a clone, or a clone per label, on the samples drawn."""
        self._check_sample(target, counts)
        X = append_features(self.bound.table, self.bound.appended)
        if target.samples is not None:
            X, counts = take_rows(X, target.samples), counts[target.samples]
            weights = None if weights is None else weights[target.samples]
        if weights is not None and not has_fit_parameter(self.estimator, "sample_weight"):
            counts, weights = draw_counts(seed, np.where(counts > 0, weights, 0.0), len(counts)), None
        features = self._features()
        X = X if features is None else take_rows(X, features, axis=1)

        if target.task == "values":
            fitted = fit_clone(self.estimator, X, target.values, counts, seed, weights=weights)
            return self._model(fitted, None)
        if target.task == "classes":
            classes = np.arange(target.n_columns) if target.names is None else target.names
            fitted = _fit_classifier(self.estimator, X, classes[target.values], counts, seed, weights)
            return self._model(fitted, classes)
        clones = Parallel(n_jobs=self.n_threads)(
            delayed(_fit_classifier)(self.estimator, X, np.asarray(y, dtype=np.int64), counts, seed, weights)
            for y in target.values.T
        )
        return LabelClones([self._model(fitted, _LABEL_VALUES) for fitted in clones], self.n_threads)

    def fits(self, estimator: BaseEstimator) -> bool:
        """Return True: any estimator can be cloned."""
        return not hasattr(estimator, "_bind_table")

    def extend(self, columns: npt.NDArray[np.integer], n_columns: int | None = None) -> Self:
        """Return a learner for the table with binary features appended."""
        return self._replaced(bound=self.bound.extend(columns[:, :n_columns]))

    def restrict(self, features: npt.NDArray[np.intp]) -> Self:
        """Return a learner for some features of the table."""
        return self._replaced(bound=self.bound.extend(self.bound.appended[:, :0]), features=features)

    def release(self) -> None:
        """Release the table."""
        self.bound.release()

    def _features(self) -> npt.NDArray[np.intp] | None:
        """Return the feature indices for the clones: selected ones, and appended ones after all others."""
        if self.features is None:
            return None
        n_features, n_appended = self.bound.table.shape[1], self.bound.appended.shape[1]
        return np.concatenate([self.features, n_features + np.arange(n_appended)])

    def _model(self, fitted: Any, classes: npt.NDArray[Any] | None) -> CloneModel:
        return CloneModel(fitted, classes, self._features(), self.bound)


class CloneModel(Model):
    """A fitted classifier or regressor.

    The score of classes that are missing from the classifier's training samples is 0.

    Examples
    --------
    >>> from sklearn.dummy import DummyClassifier
    >>> fitted = DummyClassifier().fit([[0.0], [1.0]], ["low", "low"])
    >>> CloneModel(fitted, np.array(["high", "low"])).scores(np.array([[5.0]]))
    array([[0., 1.]])
    """

    def __init__(
        self,
        estimator: Any,
        classes: npt.NDArray[Any] | None,
        features: npt.NDArray[np.intp] | None = None,
        bound: Bound | None = None,
    ) -> None:
        self.estimator = estimator
        self.classes = classes
        self.features = features
        self.bound = Bound() if bound is None else bound

    def scores(self, X: Any = None, *, appended: npt.NDArray[Any] | None = None, only: Indices | None = None) -> Scores:
        """Return class probabilities, one-hot predictions of a classifier without them, or predicted values."""
        return self.score_completed(self.complete(X, appended, only))

    def score_completed(self, X: Any) -> Scores:
        """Return the scores of samples returned by ``complete``."""
        kind = type(self.estimator).__name__
        if self.classes is None:
            predictions = np.asarray(self.estimator.predict(X), dtype=np.float64).reshape(X.shape[0], 1)
            if not np.isfinite(predictions).all():
                raise ValueError(f"{kind} predicts NaN or infinity, which cannot be combined.")
            return predictions
        if not hasattr(self.estimator, "predict_proba"):
            return np.eye(len(self.classes))[self._class_indices(self.estimator.predict(X))]
        scores = np.zeros((X.shape[0], len(self.classes)))
        probabilities = self.estimator.predict_proba(X)
        if not np.isfinite(probabilities).all():
            raise ValueError(f"{kind} predicts probabilities of NaN, which cannot be combined.")
        scores[:, self._class_indices(self.estimator.classes_)] = probabilities
        return scores

    def votes(self, X: Any = None) -> npt.NDArray[np.int32]:
        """Return the indices of the predicted classes."""
        return self._class_indices(self.estimator.predict(self.complete(X)))

    def complete(self, X: Any, appended: npt.NDArray[Any] | None = None, only: Indices | None = None) -> Any:
        """Select samples, by default training samples, with the features that the estimator was fitted on."""
        if X is None:
            X = self.bound.table
            if appended is None:
                appended = self.bound.appended if only is None else self.bound.appended[only]
        X = X if only is None else take_rows(X, only)
        if appended is not None:
            X = append_features(X, appended)
        return X if self.features is None else take_rows(X, self.features, axis=1)

    def _class_indices(self, labels: Any) -> npt.NDArray[np.int32]:
        assert self.classes is not None, "a regressor has no classes"
        indices: npt.NDArray[np.intp] = np.searchsorted(self.classes, np.asarray(labels))
        return indices.astype(np.int32)


class LabelClones(LabelModel):
    """Fitted classifiers, one per label.

    Examples
    --------
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from fuselearn.learners import label_target
    >>> learner = CloneLearner(np.arange(4.0)[:, None], GaussianNB(), n_threads=1)
    >>> target = label_target(np.array([[0, 1], [0, 1], [1, 1], [1, 0]]))
    >>> learner.train(target, np.ones(4, dtype=np.int32), seed=0).scores(np.array([[9.0]])).round()
    array([[1., 1.]])
    """

    def __init__(self, models: list[CloneModel], n_threads: int) -> None:
        self.models = models
        self.n_threads = n_threads

    def scores(self, X: Any = None, *, appended: npt.NDArray[Any] | None = None, only: Indices | None = None) -> Scores:
        """Return the classifiers' probabilities, or their predictions if they have none."""
        X = self.models[0].complete(X, appended, only)
        found = Parallel(n_jobs=self.n_threads, prefer="threads")(
            delayed(model.score_completed)(X) for model in self.models
        )
        return np.column_stack([scores[:, 1] for scores in found])

    def split(self) -> list[CloneModel]:
        """Return each classifier as a separate model of the classes 0 and 1."""
        return self.models


class MultilabelCloneLearner(CloneLearner):
    """Train clones of a multi-label classifier on drawn samples of a table.

    If the classifier supports ``sample_weight``, it is fitted to the distinct drawn samples, weighted by their counts;
    otherwise drawn samples are repeated. Labels that are constant on the drawn samples are excluded, since many
    classifiers raise an error for them.

    Parameters
    ----------
    X : {array-like, sparse matrix, DataFrame}
        Passed to the classifier unchanged.
    estimator : classifier
    keep_seeds : bool, default=False
        Whether clones keep a ``random_state`` other than None instead of getting different seeds.
    """

    def __init__(self, X: Any, estimator: BaseEstimator, *, keep_seeds: bool = False) -> None:
        super().__init__(X, estimator, n_threads=1)
        self.keep_seeds = keep_seeds

    @property
    def takes_weights(self) -> bool:
        """Whether the classifier supports sample weights."""
        from sklearn.multioutput import MultiOutputClassifier  # slow import

        each = getattr(self.estimator, "estimator", None)
        return has_fit_parameter(self.estimator, "sample_weight") and not (
            isinstance(self.estimator, MultiOutputClassifier) and not has_fit_parameter(each, "sample_weight")
        )

    def train(  # type: ignore[override]
        self, target: Target, counts: Counts, seed: int, *, weights: Weights | None = None
    ) -> MultilabelClone:
        """Train a clone on the labels of the samples drawn."""
        self._check_sample(target, counts)
        if weights is not None and not self.takes_weights:
            counts, weights = draw_counts(seed, np.where(counts > 0, weights, 0.0), self.n_samples), None
        samples = np.flatnonzero(counts)
        means = target.values[samples].mean(axis=0)
        labels = np.flatnonzero((means > 0.0) & (means < 1.0))
        if len(labels) == 0:
            return MultilabelClone(None, labels, means.round(), self.bound)
        model = seed_estimator(clone(self.estimator), seed, unset_only=self.keep_seeds)
        given = {}
        if not self.takes_weights:
            samples = np.repeat(samples, counts[samples])
        elif (
            weights is not None or counts.max() > 1
        ):  # a forest draws different samples with weights of 1 than without weights
            given["sample_weight"] = (counts if weights is None else weights)[samples].astype(np.float64)
        # scikit-learn treats a single label column as classes.
        columns = np.repeat(labels, 2) if len(labels) == 1 else labels
        Y = target.values[samples[:, None], columns].astype(np.int64)
        model.fit(take_rows(self.bound.table, samples), Y, **given)
        return MultilabelClone(model, labels, means.round(), self.bound)


class MultilabelClone(LabelModel):
    """A fitted multi-label classifier.

    Parameters
    ----------
    estimator : classifier or None
        None if all labels were constant.
    labels : int array
        Indices of the labels that it was fitted on.
    constants : array of shape (n_labels,)
        The values of the other labels.
    bound : Bound, optional
        The training samples.
    """

    def __init__(
        self,
        estimator: Any,
        labels: npt.NDArray[np.intp],
        constants: npt.NDArray[np.float64],
        bound: Bound | None = None,
    ) -> None:
        self.estimator = estimator
        self.labels = labels
        self.constants = constants
        self.bound = Bound() if bound is None else bound

    def scores(self, X: Any = None, *, appended: Any = None, only: Indices | None = None) -> Scores:
        """Return the classifier's label probabilities, or its predicted labels if it has none."""
        X = self.bound.table if X is None else X
        X = X if only is None else take_rows(X, only)
        if self.estimator is None:
            return np.tile(self.constants, (X.shape[0], 1))
        if hasattr(self.estimator, "predict_proba"):
            return self.complete(self.estimator.predict_proba(X))
        return self.complete(self.estimator.predict(X))

    def complete(self, output: Any) -> Scores:
        """Convert the classifier's output, in any form of ``predict_proba``, to scores of all labels."""
        found = read_probabilities(output, max(2, len(self.labels)))
        scores = np.tile(self.constants, (len(found), 1))
        scores[:, self.labels] = found[:, : len(self.labels)]
        return scores


def append_features(X: Any, columns: npt.NDArray[Any]) -> Any:
    """Append binary features to a table of any kind.

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
    """Return an unused name for an appended feature, of the same type as the other names."""
    return f"label {number}" if all(isinstance(name, str) for name in others) else number


def _fit_classifier(
    estimator: BaseEstimator, X: Any, y: npt.NDArray[Any], counts: Counts, seed: int, weights: Weights | None
) -> Any:
    """Fit a clone, or, if a single class was drawn, a classifier that always predicts it."""
    drawn = y[counts > 0]
    if (drawn == drawn[0]).all():  # many classifiers raise an error for a single class
        estimator = DummyClassifier()
    return fit_clone(estimator, X, y, counts, seed, weights=weights)


def fit_clone(
    estimator: BaseEstimator, X: Any, y: npt.NDArray[Any], counts: Counts, seed: int, *, weights: Weights | None = None
) -> Any:
    """Fit a clone of any scikit-learn estimator to the samples drawn.

    An estimator that supports ``sample_weight`` is fitted to the distinct drawn samples, weighted by their counts or by
    ``weights``; for others, drawn samples are repeated.
    """
    model = seed_estimator(clone(estimator), seed)
    samples = np.flatnonzero(counts)
    if has_fit_parameter(model, "sample_weight"):
        drawn_weights = (counts if weights is None else weights)[samples].astype(np.float64)
        return model.fit(take_rows(X, samples), y[samples], sample_weight=drawn_weights)
    if weights is not None:
        raise ValueError(
            f"{type(model).__name__} does not support sample_weight; it can only be trained on drawn samples."
        )
    samples = np.repeat(samples, counts[samples])
    return model.fit(take_rows(X, samples), y[samples])


def read_probabilities(output: Any, n_labels: int) -> npt.NDArray[np.float64]:
    """Return label probabilities of any form as a single array.

    Parameters
    ----------
    output : array or list of arrays
        The output of ``predict_proba``: an (n_samples, n_labels) array, or scikit-learn's list with an (n_samples, 2)
        array per label; or an ``oob_decision_function_`` of shape (n_samples, 2, n_labels). No label was constant in
        training.
    n_labels : int

    Returns
    -------
    array of shape (n_samples, n_labels)
        NaN for samples without out-of-bag votes.

    Examples
    --------
    >>> read_probabilities([[[0.3, 0.7]], [[1.0, 0.0]]], n_labels=2)
    array([[0.7, 0. ]])
    """
    if isinstance(output, Sequence) and np.ndim(output[0]) == 2:
        if len(output) != n_labels:
            raise ValueError(f"Expected probabilities of {n_labels} labels, got a list of {len(output)} arrays.")
        output = np.stack([np.asarray(one, dtype=np.float64) for one in output], axis=-1)
    table = np.asarray(output, dtype=np.float64)
    if table.ndim == 2 and n_labels == 1 and table.shape[1] == 2:
        table = table[:, :, None]
    if table.ndim == 3 and table.shape[1:] == (2, n_labels):
        # Samples without out-of-bag votes have only zeros, which are not probabilities of 0.
        return np.where(table.any(axis=1), table[:, 1, :], np.nan)
    if table.ndim == 2 and table.shape[1] == n_labels:
        return table
    raise ValueError(f"Expected probabilities of {n_labels} labels, got an array of shape {table.shape}.")
