"""Validate labels and label probabilities: arrays, sparse matrices, DataFrames, scikit-learn's lists."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt
from scipy import sparse

from fuselearn.learners.table import as_frame

LabelTable = npt.NDArray[np.uint8]
PartialTable = npt.NDArray[np.int8]
"""Labels: 1, 0, or `UNKNOWN`."""

UNKNOWN = -1

INDICATORS = "an indicator matrix of 0 and 1 with one column per label"
BINARIZER = "sklearn.preprocessing.MultiLabelBinarizer makes an indicator matrix from sets or lists of labels."
SEVERAL_TARGETS = (
    "For several targets with more than two classes each, use sklearn.multioutput.MultiOutputClassifier("
    "fuselearn.ForestClassifier()), or another single-target classifier in it."
)
CONTINUOUS = "A continuous target needs a regressor."
DECISIONS = "Pass the output of predict, or probabilities > 0.5; pass probabilities as a separate argument."


def read_labels(Y: Any, name: str = "y") -> LabelTable:
    """Validate labels and return them as an array of 0 and 1.

    Parameters
    ----------
    Y : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_labels)
        Zeros and ones, or Booleans.
    name : str, default="y"
        Name of the parameter in error messages.

    Returns
    -------
    uint8 array of shape (n_samples, n_labels)
        Always a new array.

    Examples
    --------
    >>> read_labels([[True, False], [False, False]])
    array([[1, 0],
           [0, 0]], dtype=uint8)
    """
    return _read(Y, name, partial=False).view(np.uint8)


def read_partial_labels(Y: Any, name: str = "y") -> PartialTable:
    """Validate labels, some of which may be unknown, and return them as an array of 0, 1 and `UNKNOWN`.

    Parameters
    ----------
    Y : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_labels)
        Zeros and ones, or Booleans; NaN or None where a label is unknown.
    name : str, default="y"
        Name of the parameter in error messages.

    Returns
    -------
    int8 array of shape (n_samples, n_labels)
        Always a new array.

    Examples
    --------
    >>> read_partial_labels([[True, None], [0, 1]])
    array([[ 1, -1],
           [ 0,  1]], dtype=int8)
    """
    return _read(Y, name, partial=True)


def restore_unknown(labels: PartialTable) -> npt.NDArray[Any]:
    """Replace `UNKNOWN` by NaN, as in the labels passed by users; return known labels unchanged."""
    return np.where(labels == UNKNOWN, np.nan, labels) if (labels == UNKNOWN).any() else labels


def _read(Y: Any, name: str, *, partial: bool) -> PartialTable:
    if sparse.issparse(Y):
        return _read_sparse(Y, name, partial=partial).toarray()
    frame = as_frame(Y)
    if frame is None:
        return _binary(_as_array(Y, name), name, partial)
    _check_shape(frame.shape, name)
    # Boolean columns with missing values would become object arrays.
    columns = (c.cast(nw.Float64) if c.dtype == nw.Boolean else c for c in frame.iter_columns())
    return np.column_stack([_binary(c.to_numpy(), f"column {c.name!r} of {name}", partial) for c in columns])


def read_sparse_labels(Y: Any, name: str = "y") -> sparse.csr_array:
    """Validate labels and return them as a CSR array with sorted indices and without explicit zeros.

    Parameters
    ----------
    Y : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_labels)
    name : str, default="y"
        Name of the parameter in error messages.

    Returns
    -------
    sparse uint8 array of shape (n_samples, n_labels)
    """
    return _read_sparse(Y if sparse.issparse(Y) else read_labels(Y, name), name, partial=False).astype(np.uint8)


def _read_sparse(Y: Any, name: str, *, partial: bool) -> sparse.csr_array:
    _check_shape(Y.shape, name)
    labels = sparse.csr_array(Y, copy=True)
    labels.sum_duplicates()
    labels.data = _binary(labels.data, name, partial)
    labels.eliminate_zeros()
    return labels


def label_names(Y: Any) -> npt.NDArray[np.object_] | None:
    """Return the names of the labels of a DataFrame, or None."""
    frame = as_frame(Y)
    if frame is None:
        return None
    native = frame.to_native()  # column names need not be strings
    return np.array(list(getattr(native, "columns", frame.columns)), dtype=object)


def check_same_labels(names: npt.NDArray[Any] | None, others: npt.NDArray[Any] | None, message: str) -> None:
    """Raise an error if names of labels differ or are in another order; names that are not strings are ignored.

    Examples
    --------
    >>> check_same_labels(np.array(["sad", "calm"]), np.array(["calm", "sad"]), "Labels differ")
    Traceback (most recent call last):
    ValueError: Labels differ: ['sad', 'calm'] and ['calm', 'sad'].
    """
    if names is None or others is None or names.tolist() == others.tolist():
        return
    if all(isinstance(name, str) for name in (*names, *others)):
        raise ValueError(f"{message}: {names.tolist()} and {others.tolist()}.")


def _as_array(Y: Any, name: str) -> npt.NDArray[Any]:
    if Y is None:
        raise ValueError(f"{name} is None; expected {INDICATORS}.")
    try:
        table = np.asarray(Y)
    except ValueError as error:
        raise ValueError(f"{name} has samples of different lengths; expected {INDICATORS}. {BINARIZER}") from error
    if table.ndim == 1 and any(isinstance(y, Collection) and not isinstance(y, str | bytes) for y in table):
        raise ValueError(f"{name} holds sets or lists of labels; expected {INDICATORS}. {BINARIZER}")
    _check_shape(table.shape, name)
    return table


def _check_shape(shape: tuple[int, ...], name: str) -> None:
    if len(shape) != 2:
        raise ValueError(
            f"{name} has {len(shape)} dimension(s); expected two, with one column per label. "
            "Pass a single label as one column, such as y.reshape(-1, 1) or frame[['label']]. For a column of classes "
            "or a continuous target, use an ordinary classifier or regressor, and scikit-learn's StratifiedKFold."
        )
    if 0 in shape:
        raise ValueError(f"{name} has {shape[0]} sample(s) and {shape[1]} label(s); at least one of each is required.")


def _binary(values: npt.NDArray[Any], name: str, partial: bool) -> PartialTable:
    """Convert values to 0 and 1, and NaN to `UNKNOWN` if ``partial``; raise an error for other values."""
    if values.dtype.kind not in "biuf":
        try:
            values = values.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"{name} must hold 0 and 1, not values of type {values.dtype}. {BINARIZER} {SEVERAL_TARGETS}"
            ) from error
    unknown = values != values
    wrong = (values != 0) & (values != 1) & ~(unknown & partial)
    if wrong.any():
        first = tuple(np.argwhere(wrong)[0])
        value = values[first].item()
        found = "NaN" if value != value else repr(value)
        where = f" at sample {first[0]}, label {first[1]}" if values.ndim == 2 else ""
        hint = "" if value != value else f" {SEVERAL_TARGETS}"
        if value % 1 > 0:
            hint = f" {DECISIONS if name.endswith('Y_pred') else CONTINUOUS}"
        raise ValueError(f"{name} must hold 0 and 1 only, but it has {found}{where}.{hint}")
    return np.where(unknown, np.int8(UNKNOWN), values).astype(np.int8)  # an untyped -1 would overflow with uint8
