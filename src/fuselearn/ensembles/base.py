"""What all classifiers here share: reading tables, reading targets, and refusing what cannot be learned from."""

from __future__ import annotations

import functools
import numbers
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from fuselearn._compat import check_sample_weight, count_rows
from fuselearn._messages import show
from fuselearn.sensors.table import TableCoder, as_frame, refuse_odd_cells

Fit = TypeVar("Fit", bound=Callable[..., Any])


def fit_whole_or_not(fit: Fit) -> Fit:
    """Make a ``fit`` method leave an unfitted estimator if it fails or is interrupted.

    If it does not, the number of training rows is kept, for the header of a model file.
    """

    @functools.wraps(fit)
    def wrapped(self: Any, X: Any, *args: Any, **kwargs: Any) -> Any:
        _forget(self)
        try:
            fit(self, X, *args, **kwargs)
            self._n_rows_ = count_rows(X)
            return self
        except BaseException as error:
            _forget(self)
            if is_interrupt(error):
                raise KeyboardInterrupt from None
            raise

    return wrapped  # type: ignore[return-value]


def is_interrupt(error: BaseException) -> bool:
    """Tell whether an error is Ctrl-C, also in the disguise that it gets when it arrives in a compiled kernel."""
    cause: BaseException | None = error
    while isinstance(cause, SystemError):
        cause = cause.__cause__
    return isinstance(cause, KeyboardInterrupt)


def _forget(estimator: Any) -> None:
    for name in [n for n in vars(estimator) if n.endswith("_") and not n.startswith("__")]:
        delattr(estimator, name)


class DerivedAttributes:
    """Keep attributes that are made of others, each a ``cached_property``, until the next fit, but not in copies."""

    def __getstate__(self) -> dict[str, Any]:
        """Return what a copy or a file keeps: nothing that can be made again."""
        state: dict[str, Any] = super().__getstate__()  # type: ignore[assignment]
        kind = type(self)
        return {name: v for name, v in state.items() if not isinstance(getattr(kind, name, None), cached_property)}


class TableClassifier(DerivedAttributes, ClassifierMixin, BaseEstimator):
    """A classifier of rows of a table; the common part of every public estimator."""

    classes_: npt.NDArray[Any]
    n_features_in_: int
    _coder_: TableCoder | None

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn what the estimator can take."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Predict the class of each row.

        Parameters
        ----------
        X : array or frame of shape (n_rows, n_columns)

        Returns
        -------
        array of shape (n_rows,)
        """
        check_is_fitted(self)
        return self.classes_[self._choose(self.predict_proba(X))]

    def predict_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """Predict class probabilities.

        Parameters
        ----------
        X : array or frame of shape (n_rows, n_columns)

        Returns
        -------
        array of shape (n_rows, n_classes)
            Rows sum to one; columns are in the order of ``classes_``.
        """
        raise TypeError("Estimators define this.")

    def _choose(self, scores: npt.NDArray[np.float64]) -> npt.NDArray[np.intp]:
        """Choose the class with the largest score, the first of equal ones."""
        return scores.argmax(axis=1)

    def _read_training_table(self, X: Any) -> tuple[npt.NDArray[np.floating], npt.NDArray[np.int32]]:
        """Check a training table and code it for the tree engine; return it and its columns' numbers of categories."""
        X = self._validate_table(X, reset=True)
        coder = TableCoder()
        matrix = coder.fit_transform(X)
        self._coder_ = coder
        return matrix, coder.n_categories_

    def _read_table(self, X: Any) -> npt.NDArray[np.floating]:
        """Check a table of new rows and code it for the tree engine."""
        check_is_fitted(self)
        assert self._coder_ is not None, "fit has coded the training table"
        return self._coder_.transform(self._validate_table(X, reset=False))

    def _validate_table(self, X: Any, *, reset: bool) -> Any:
        if as_frame(X) is None:
            return validate_data(self, X, reset=reset, dtype=[np.float64, np.float32], ensure_all_finite="allow-nan")
        return _validate_frame(self, X, reset=reset)

    def _read_target(self, y: Any, n_rows: int) -> npt.NDArray[np.int32]:
        """Check the labels, set ``classes_``, and turn the labels into class numbers."""
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        self.classes_, class_numbers = read_labels(y, n_rows)
        return class_numbers


def validate_rows(estimator: Any, X: Any, *, reset: bool) -> Any:
    """Check the shape and the names of a table, and its objects once; the rest is for the base learner to judge."""
    if as_frame(X) is not None:
        X = _validate_frame(estimator, X, reset=reset)
    else:
        X = validate_data(
            estimator, X, reset=reset, dtype=None, accept_sparse="csr", ensure_all_finite=False, ensure_min_samples=1
        )
    if reset:
        refuse_odd_cells(X)
    return X


def _validate_frame(estimator: Any, X: Any, *, reset: bool) -> Any:
    validate_data(estimator, X, reset=reset, skip_check_array=True)
    if X.shape[0] == 0 or X.shape[1] == 0:
        raise ValueError(
            f"Found array with {X.shape[0]} sample(s) and {X.shape[1]} feature(s); at least one of each is needed."
        )
    return X


def read_labels(y: Any, n_rows: int) -> tuple[npt.NDArray[Any], npt.NDArray[np.int32]]:
    """Check the labels of a table's rows; give the sorted classes and the class number of each row."""
    if not (isinstance(y, np.ndarray) and y.ndim == 1):
        y = column_or_1d(y, warn=True)
    if len(y) != n_rows:
        raise ValueError(f"X and y have inconsistent numbers of samples: {n_rows} and {len(y)}.")
    if _any_missing(y):
        raise ValueError("Input y contains NaN; every row needs a label.")
    try:
        if y.dtype.kind in "fO":  # whole numbers and text cannot be a regression target
            check_classification_targets(y)
        classes, class_numbers = np.unique(y, return_inverse=True)
    except TypeError as error:
        raise TypeError("y mixes labels of types that have no common order, such as numbers and text.") from error
    if len(classes) < 2:
        raise ValueError(f"y has one class only ({classes.tolist()[0]!r}); a classifier needs at least two classes.")
    return classes, class_numbers.astype(np.int32)


def _any_missing(y: npt.NDArray[Any]) -> bool:
    if y.dtype.kind == "f":
        return bool(np.isnan(y).any())
    if y.dtype.kind != "O":
        return False
    import pandas as pd

    return bool(pd.isna(y).any())


def read_weights(sample_weight: Any, X: Any, n_rows: int) -> npt.NDArray[np.float64] | None:
    """Check row weights; None means that all rows weigh the same."""
    if sample_weight is None:
        return None
    rows = np.empty((n_rows, 1)) if not hasattr(X, "shape") else X
    try:
        sample_weight = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"sample_weight must be a list of numbers, one per row: {error}.") from error
    weights = check_sample_weight(sample_weight, rows, dtype=np.float64)
    if (weights < 0).any():
        raise ValueError("sample_weight has negative entries; expected weights of at least 0.")
    if not weights.any():
        raise ValueError("sample_weight is zero for every row; at least one row must count.")
    if not np.isfinite(weights.sum()):
        raise ValueError("sample_weight is too large: its sum is not a finite number.")
    return weights


def are_counts(weights: npt.NDArray[np.float64]) -> bool:
    """Tell whether weights are whole numbers, which then say how often each row is there."""
    return bool((weights == np.rint(weights)).all() and weights.sum() < 2**31)


def check_whole_number(name: str, value: Any, smallest: int) -> int:
    """Check a parameter that counts something."""
    if not isinstance(value, numbers.Integral) or isinstance(value, bool):
        raise TypeError(f"{name} must be a whole number, not {show(value)}.")
    if value < smallest:
        raise ValueError(f"{name} must be at least {smallest}, not {value}.")
    return int(value)


def check_number(name: str, value: Any, smallest: float) -> float:
    """Check a parameter that is a finite number of a least size."""
    if not isinstance(value, numbers.Real) or isinstance(value, bool):
        raise TypeError(f"{name} must be a number, not {show(value)}.")
    if not smallest <= float(value) < np.inf:
        raise ValueError(f"{name} must be a finite number of at least {smallest:g}, not {show(value)}.")
    return float(value)


def check_flag(name: str, value: Any) -> bool:
    """Check a parameter that is True or False; text such as "no" would count as True."""
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be True or False, not {show(value)}.")
    return bool(value)


def check_choice(name: str, value: Any, choices: Sequence[str]) -> str:
    """Check a parameter that names one of a few ways."""
    if not isinstance(value, str) or value not in choices:
        listed = " or ".join(repr(choice) for choice in choices)
        raise ValueError(f"{name} must be {listed}, not {show(value)}.")
    return str(value)


def clip_probabilities(scores: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Bring back, in place, what rounding has moved out of [0, 1]: weights may sum to one but for their last digits.

    Metrics such as the log loss refuse a probability above 1, be it by 2e-16.
    """
    return np.clip(scores, 0.0, 1.0, out=scores)


def error_of_guessing(n_classes: int) -> float:
    """Give the error from which a classifier is no better than guessing, less what rounding may take from a sum."""
    return 1.0 - 1.0 / n_classes - 1e-12


def make_generator(random_state: Any) -> np.random.Generator:
    """Make NumPy's generator from any of scikit-learn's kinds of random state."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, int | np.integer) and random_state >= 0:
        return np.random.default_rng(int(random_state))
    return np.random.default_rng(check_random_state(random_state).randint(2**31 - 1))


def count_threads(n_jobs: int | None) -> int:
    """Give the number of threads that ``n_jobs`` stands for here."""
    if n_jobs is not None and (not isinstance(n_jobs, numbers.Integral) or isinstance(n_jobs, bool)):
        raise TypeError(f"n_jobs must be a whole number or None, not {show(n_jobs)}.")
    if n_jobs == 0:
        raise ValueError("n_jobs must not be 0: 1 means one job, -1 as many as there are processors.")
    return int(effective_n_jobs(n_jobs))
