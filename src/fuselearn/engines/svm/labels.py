"""Kernel values of rows to which labels are appended as columns.

Such columns hold 0 and 1, so all that matters of two rows is how many of them differ. A linear value then grows, and a
radial one shrinks, by one of a few numbers, looked up by a count of bits.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fuselearn import _core

Bits = npt.NDArray[np.uint64]


def pack_labels(labels: npt.NDArray[np.integer]) -> Bits:
    """Pack rows of 0 and 1 into words of 64 bits.

    Examples
    --------
    >>> pack_labels(np.array([[1, 0, 1], [0, 0, 0]]))
    array([[5],
           [0]], dtype=uint64)
    """
    n_rows, n_labels = labels.shape
    bits = np.zeros((n_rows, 8 * -(-n_labels // 64)), dtype=np.uint8)
    packed = np.packbits(labels.astype(np.uint8), axis=1, bitorder="little")
    bits[:, : packed.shape[1]] = packed
    return bits.view(np.dtype("<u8")).astype(np.uint64)


def append_labels(
    values: npt.NDArray[np.float32],
    rows: npt.NDArray[np.integer],
    columns: npt.NDArray[np.integer],
    left: npt.NDArray[np.integer],
    right: npt.NDArray[np.integer],
    name: str,
    factor: float,
    width: float,
) -> npt.NDArray[np.float32]:
    """Return kernel values between samples with labels appended as features, made from those without.

    Parameters
    ----------
    values : float32 array of shape (n_rows, n_columns)
    rows, columns : int arrays of shape (n_left,) and (n_right,)
        The part of ``values`` to make new ones of.
    left, right : array of shape (n_left, n_labels) and (n_right, n_labels)
        0 and 1, which stand for -width / 2 and width / 2.
    name : {"linear", "rbf"}
        ``factor * x.z``, or ``exp(-factor * |x - z|^2)``.
    factor, width : float

    Returns
    -------
    float32 array of shape (n_left, n_right)

    Examples
    --------
    >>> values, both, labels = np.ones((2, 2), dtype=np.float32), np.arange(2), np.array([[0], [1]])
    >>> append_labels(values, both, both, labels, labels, "rbf", np.log(2), 1.0)
    array([[1. , 0.5],
           [0.5, 1. ]], dtype=float32)
    """
    if left.shape[1] != right.shape[1]:
        raise ValueError(f"{left.shape[1]} labels cannot be compared with {right.shape[1]}.")
    differing = np.arange(left.shape[1] + 1)
    if name == "linear":
        changes = factor * width**2 * (left.shape[1] - 2.0 * differing) / 4
    else:
        changes = np.exp(-factor * width**2 * differing)
    rows, columns = (indices.astype(np.int64, copy=False) for indices in (rows, columns))
    changes = changes.astype(np.float32)
    return _core.append_labels(
        values, rows, columns, pack_labels(left), pack_labels(right), changes, are_added=name == "linear"
    )
