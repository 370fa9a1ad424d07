"""Validation of the arguments of ``fit`` and ``predict``: X, y and sample_weight."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d, validate_data

from fuselearn._compat import check_sample_weight
from fuselearn.learners.table import as_frame, refuse_odd_cells


def validate_rows(estimator: Any, X: Any, *, reset: bool) -> Any:
    """Validate the shape and the feature names of X, and its objects once; the base learner validates the rest."""
    if as_frame(X) is not None:
        X = validate_frame(estimator, X, reset=reset)
    else:
        X = validate_data(
            estimator, X, reset=reset, dtype=None, accept_sparse="csr", ensure_all_finite=False, ensure_min_samples=1
        )
    if reset:
        refuse_odd_cells(X)
    return X


def validate_frame(estimator: Any, X: Any, *, reset: bool) -> Any:
    """Validate the shape and the feature names of a DataFrame; the coder validates its values."""
    validate_data(estimator, X, reset=reset, skip_check_array=True)
    if X.shape[0] == 0 or X.shape[1] == 0:
        raise ValueError(
            f"Found array with {X.shape[0]} sample(s) and {X.shape[1]} feature(s); at least one of each is needed."
        )
    return X


def read_table(name: str, X: Any) -> Any:
    """Return X with two dimensions; lists become arrays, and sparse matrices CSR."""
    if sparse.issparse(X):
        X = X.tocsr()
    table = X if hasattr(X, "shape") else np.asarray(X)
    if len(table.shape) != 2 or table.shape[0] == 0:
        raise ValueError(f"{name} must have shape (n_samples, n_features), not {tuple(table.shape)}.")
    return table


def read_classes(y: Any, n_rows: int) -> tuple[npt.NDArray[Any], npt.NDArray[np.int32]]:
    """Validate the labels of the samples; return the sorted classes and the class index of each sample."""
    classes, class_numbers = number_labels(y, n_rows)
    require_two_classes(classes)
    return classes, class_numbers


def require_two_classes(classes: npt.NDArray[Any]) -> None:
    """Refuse a target of one class."""
    if len(classes) < 2:
        raise ValueError(f"y has one class only ({classes.tolist()[0]!r}); a classifier needs at least two classes.")


def number_labels(y: Any, n_rows: int) -> tuple[npt.NDArray[Any], npt.NDArray[np.int32]]:
    """Validate labels of which there may be a single one; return them sorted, and the index of each sample's.

    The sorted labels have the type of y, or NumPy's type of it: int64 for Int64 of pandas, bool for boolean, and the type
    of the categories. Objects that are all bools, or all integers, become such.
    """
    shape: tuple[int, ...] = np.shape(y) if isinstance(y, list | tuple) else getattr(y, "shape", ())
    if len(shape) == 2 and shape[1] > 1:
        raise ValueError(
            f"y should be a 1d array, got an array of shape {tuple(shape)} instead. A table of 0 and 1, several labels "
            "per sample, is for the classifiers of fuselearn.multilabel; several targets with several classes each are "
            "for sklearn.multioutput.MultiOutputClassifier over this classifier."
        )
    if not (isinstance(y, np.ndarray) and y.ndim == 1):
        # scikit-learn alone would turn nullable types of pandas into floats
        y = column_or_1d(y if sparse.issparse(y) else np.asarray(y), warn=True)
    if y.dtype == object and all(isinstance(label, bool | np.bool_ | numbers.Integral) for label in y):
        y = np.array(y.tolist())
    if len(y) != n_rows:
        raise ValueError(f"X and y have inconsistent numbers of samples: {n_rows} and {len(y)}.")
    if _any_missing(y):
        raise ValueError("Input y contains NaN; every sample needs a label.")
    try:
        if y.dtype.kind in "fO":  # integers and text cannot be a regression target
            check_classification_targets(y)
        classes, class_numbers = np.unique(y, return_inverse=True)
    except TypeError as error:
        raise TypeError("y mixes labels of types that have no common order, such as numbers and text.") from error
    return classes, class_numbers.astype(np.int32)


def read_numbers(y: Any, n_rows: int, asker: str) -> npt.NDArray[np.float64]:
    """Validate a target of numbers; ``asker`` is the class that needs one."""
    if y is None:
        raise ValueError(f"{asker} requires y to be passed, but the target y is None.")
    y = column_or_1d(y, warn=True)
    if len(y) != n_rows:
        raise ValueError(f"X and y have inconsistent numbers of samples: {n_rows} and {len(y)}.")
    try:
        values = y.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError("y must hold numbers for a regressor.") from error
    if not np.isfinite(values).all():
        raise ValueError("Input y contains NaN or infinity; every sample needs a finite number.")
    return values


def _any_missing(y: npt.NDArray[Any]) -> bool:
    if y.dtype.kind == "f":
        return bool(np.isnan(y).any())
    if y.dtype.kind != "O":
        return False
    try:
        return any(label is None or label != label for label in y)
    except TypeError:  # pandas.NA is neither equal to anything nor different
        return True


def read_weights(sample_weight: Any, X: Any, n_rows: int) -> npt.NDArray[np.float64] | None:
    """Validate sample weights; None means equal weights."""
    if sample_weight is None:
        return None
    weights = check_weights(sample_weight, X, n_rows)
    if not weights.any():
        raise ValueError("sample_weight is zero for every sample; at least one sample must count.")
    if not np.isfinite(weights.sum()):
        raise ValueError("sample_weight is too large: its sum is not a finite number.")
    return weights


def check_weights(sample_weight: Any, X: Any, n_rows: int) -> npt.NDArray[np.float64]:
    """Validate sample weights one by one."""
    rows = np.empty((n_rows, 1)) if not hasattr(X, "shape") else X
    try:
        sample_weight = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"sample_weight must hold one number per sample: {error}.") from error
    weights = check_sample_weight(sample_weight, rows, dtype=np.float64)
    if (weights < 0).any():
        raise ValueError("sample_weight has negative entries; expected weights of at least 0.")
    return weights


def clip_probabilities(scores: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Clip probabilities to [0, 1] in place, since weights sum to one only up to rounding.

    Metrics such as the log loss reject a probability above 1, even by 2e-16.
    """
    return np.clip(scores, 0.0, 1.0, out=scores)
