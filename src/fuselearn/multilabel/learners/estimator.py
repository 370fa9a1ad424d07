"""The estimator learner: clones of any scikit-learn classifier, one per label."""

from __future__ import annotations

from itertools import count
from typing import Any, Self

import narwhals as nw
import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed
from scipy import sparse
from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils import get_tags

from fuselearn._compat import take_rows
from fuselearn._messages import show
from fuselearn.multilabel.learners.protocols import (
    Counts,
    Indices,
    Labels,
    Scores,
    check_sample,
    list_classes,
    refuse_settings,
)
from fuselearn.sensors.estimator import EstimatorComponent, EstimatorSensor
from fuselearn.sensors.sampling import draw_counts
from fuselearn.sensors.table import as_frame

CLASSES = np.array([0, 1])


class EstimatorLearner:
    """Train clones of a scikit-learn classifier on samples of a table.

    If the classifier takes ``sample_weight``, it gets the drawn rows once, weighted by their counts; otherwise it
    gets every drawn row as often as it was drawn. Row weights other than counts then become draws.

    Parameters
    ----------
    X : array, sparse matrix or frame
        Given to the classifier as it is.
    estimator : classifier
    n_threads : int
        Clones trained at the same time.
    """

    def __init__(self, X: Any, estimator: BaseEstimator, n_threads: int) -> None:
        if isinstance(estimator, type) or not (hasattr(estimator, "get_params") and is_classifier(estimator)):
            raise TypeError(f"estimator must be a classifier, 'tree' or None, not {show(estimator)}.")
        if not get_tags(estimator).target_tags.single_output:
            raise TypeError(
                f"estimator must be a classifier of a single column of classes; {type(estimator).__name__} is a "
                "multi-label classifier, which KFHEMultilabelClassifier and ThresholdedClassifier take."
            )
        self.n_rows = X.shape[0]
        self.X = X
        self.estimator = estimator
        self.features: npt.NDArray[np.intp] | None = None
        self.appended = np.empty((self.n_rows, 0), dtype=np.int8)
        self.n_threads = n_threads

    def train(
        self,
        Y: Labels,
        counts: Counts,
        seed: int,
        *,
        weights: npt.NDArray[np.float64] | None = None,
        **settings: Any,
    ) -> EstimatorBlock:
        """Train a clone per label on the rows drawn."""
        check_sample(Y, counts, self.n_rows)
        refuse_settings(settings, "A scikit-learn classifier")
        X = append_features(self.X, self.appended)
        sensors = [EstimatorSensor(X, np.asarray(y, dtype=np.int64), CLASSES, self.estimator) for y in Y.T]
        if weights is not None and not sensors[0].takes_weights:
            counts = draw_counts(seed, np.where(counts > 0, weights, 0.0), self.n_rows)
            weights = None
        components = Parallel(n_jobs=self.n_threads)(
            delayed(_measure)(sensor, counts, seed, self._all_features(), weights) for sensor in sensors
        )
        return EstimatorBlock(components, self)

    def train_classes(
        self,
        classes: Labels,
        counts: Counts,
        seed: int,
        *,
        labels: Labels | None = None,
        weights: npt.NDArray[np.float64] | None = None,
        **settings: Any,
    ) -> EstimatorClassBlock:
        """Train one clone on the numbers of the classes."""
        check_sample(classes, counts, self.n_rows)
        refuse_settings(settings, "A scikit-learn classifier")
        rows, numbers = list_classes(classes, counts)
        X = take_rows(append_features(self.X, self.appended), rows)
        sensor = EstimatorSensor(X, numbers, np.arange(classes.shape[1]), self.estimator)
        counts, weights = counts[rows], None if weights is None else weights[rows]
        if weights is not None and not sensor.takes_weights:
            counts, weights = draw_counts(seed, weights, len(rows)), None
        return EstimatorClassBlock([_measure(sensor, counts, seed, self._all_features(), weights)], self)

    def extend(self, columns: npt.NDArray[np.integer]) -> Self:
        """Give a learner whose classifiers get label columns appended to the table."""
        return self._with(appended=np.hstack([self.appended, columns]))

    def restrict(self, features: npt.NDArray[np.intp]) -> Self:
        """Give a learner whose classifiers get some columns of the table."""
        return self._with(features=features)

    def _with(self, **changes: Any) -> Self:
        other = object.__new__(type(self))
        vars(other).update(vars(self) | changes)
        return other

    def _all_features(self) -> npt.NDArray[np.intp] | None:
        """List the columns that the classifiers see: chosen ones, and appended ones behind the whole table."""
        if self.features is None:
            return None
        n_columns = self.X.shape[1]
        return np.concatenate([self.features, n_columns + np.arange(self.appended.shape[1])])

    def prepare(self, X: Any) -> Any:
        """Give new rows as they are."""
        return X

    def adapt(self, rows: Any) -> Any:
        """Give rows as they are: components choose their columns."""
        return rows

    def estimators(self, block: EstimatorBlock, names: npt.NDArray[Any] | None = None) -> list[Any]:
        """Give the clones; a label that was constant has scikit-learn's ``DummyClassifier``."""
        return [component.model for component in block.components]

    def unbind(self) -> None:
        """Let go of the table."""
        del self.X, self.appended


class EstimatorBlock:
    """One fitted classifier per label."""

    def __init__(self, components: list[EstimatorComponent], learner: EstimatorLearner) -> None:
        self.components = components
        self.n_appended = learner.appended.shape[1]
        self.n_threads = learner.n_threads
        self.bound: tuple[Any, npt.NDArray[Any]] | None = (learner.X, learner.appended)

    def probabilities(
        self, rows: Any = None, extra: npt.NDArray[Any] | None = None, only: Indices | None = None
    ) -> Scores:
        """Give the classifiers' probabilities, or their votes if they have none."""
        rows = self._complete(rows, extra, only)
        columns = Parallel(n_jobs=self.n_threads, prefer="threads")(
            delayed(_positive)(component, rows) for component in self.components
        )
        return np.column_stack(columns)

    def _complete(self, rows: Any, extra: npt.NDArray[Any] | None, only: Indices | None) -> Any:
        """Choose among the rows, by default the bound ones, and append what the learner was extended with."""
        if rows is None:
            if self.bound is None:
                raise RuntimeError("The block no longer has its training data; pass the rows.")
            rows, appended = self.bound
            if extra is None:
                extra = appended if only is None else appended[only]
        rows = rows if only is None else take_rows(rows, only)
        if self.n_appended:
            assert extra is not None, "rows for an extended learner come with its appended columns"
            rows = append_features(rows, extra)
        return rows

    def unbind(self) -> None:
        """Let go of the table."""
        self.bound = None


class EstimatorClassBlock(EstimatorBlock):
    """One fitted classifier of several classes."""

    def probabilities(
        self, rows: Any = None, extra: npt.NDArray[Any] | None = None, only: Indices | None = None
    ) -> Scores:
        """Give the classifier's probabilities, or its votes if it has none."""
        (component,) = self.components
        return component.scores(self._complete(rows, extra, only))


def append_features(X: Any, columns: npt.NDArray[Any]) -> Any:
    """Append columns of 0 and 1 to a table of any kind.

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
    """Name an appended column as the other columns are named: by text or by number."""
    return f"label {number}" if all(isinstance(name, str) for name in others) else number


def _measure(
    sensor: EstimatorSensor, counts: Counts, seed: int, features: Any, weights: npt.NDArray[np.float64] | None
) -> EstimatorComponent:
    component = sensor.measure(counts, seed, weights=weights, features=features)
    component.unbind()  # or the training data would travel back from a worker process with each component
    return component


def _positive(component: EstimatorComponent, rows: Any) -> npt.NDArray[np.float64]:
    return component.scores(rows)[:, 1]
