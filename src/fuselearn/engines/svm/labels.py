"""Kernel values of rows to which labels are appended as columns.

Such columns hold 0 and 1, so all that matters of two rows is how many of them differ. A linear value then grows, and a
radial one shrinks, by one of a few numbers, looked up by a count of bits.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import types
from numba.extending import intrinsic

from fuselearn._kernels import kernel

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
    left, right = pack_labels(left), pack_labels(right)
    return _append(values, rows, columns, left, right, changes.astype(np.float32), name == "linear")


@intrinsic
def _count_bits(typing_context: Any, word: Any) -> Any:
    """Count the bits of a word that are set."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.ctpop(args[0])

    return types.uint64(types.uint64), generate


@kernel
def _append(values, rows, columns, left, right, changes, is_linear):  # type: ignore[no-untyped-def]
    n_right, n_words = right.shape
    appended = np.empty((len(rows), n_right), dtype=np.float32)
    for i in range(len(rows)):
        for j in range(n_right):
            n_differing = 0
            for word in range(n_words):
                n_differing += _count_bits(left[i, word] ^ right[j, word])
            if is_linear:
                appended[i, j] = values[rows[i], columns[j]] + changes[n_differing]
            else:
                appended[i, j] = values[rows[i], columns[j]] * changes[n_differing]
    return appended
