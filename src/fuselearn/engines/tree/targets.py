"""Targets as kernels see them: one class per row, or a list of labels per row.

The Gini criterion asks for large sums of squared class weights on both sides of a cut. That sum has the same
form for one class per row and, summed over labels, for any number of labels per row: a multi-class row simply
is a row with one label. So both kinds of target share every kernel and differ in the few lines below.

A multi-class target is an int32 array of class numbers. A multi-label target is a tuple
``(starts, labels)``: the labels of row ``i`` are ``labels[starts[i]:starts[i + 1]]``. In a sparse table, it has a third
part, the weights of the labels of one more row, which stands for all rows that are zero in a column. In a histogram,
the target is an int32 matrix: how many rows of each class are in a bin.
"""

# Kernels are compiled with the overloads of the functions that they call; without the compiler they call the functions.

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import types
from numba.extending import overload

from fuselearn._kernels import borrowing, interpret

Target = npt.NDArray[np.int32] | tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]


def labels_target(Y: npt.NDArray[Any]) -> Target:
    """Turn an (n, L) matrix of zeros and ones into a multi-label target."""
    rows, labels = np.nonzero(Y)
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(Y)))])
    return starts.astype(np.int64), labels.astype(np.int32)


def is_multilabel(target: Target) -> bool:
    """Return whether a target lists labels (rather than giving one class per row)."""
    return isinstance(target, tuple)


def add_row(target, row, weight, sums):  # type: ignore[no-untyped-def]
    """Add a row's weight to the class sums; return by how much the sum of their squares grows."""
    return interpret(_add_row, target, row, weight, sums)


def sum_of(target, row, totals):  # type: ignore[no-untyped-def]
    """Sum the totals of a row's class or labels."""
    return interpret(_sum_of, target, row, totals)


@overload(is_multilabel)
def _is_multilabel(target):  # type: ignore[no-untyped-def]
    multilabel = not isinstance(target, types.Array)
    return lambda target: multilabel


@overload(add_row, jit_options={"forceinline": True})
def _add_row(target, row, weight, sums):  # type: ignore[no-untyped-def]
    def add_class(target, row, weight, sums):  # type: ignore[no-untyped-def]
        j = np.uint32(target[row])  # an index known not to be negative saves a check
        before = sums[j]
        sums[j] = before + weight
        return weight * (2 * before + weight)

    def add_labels(target, row, weight, sums):  # type: ignore[no-untyped-def]
        starts, labels = target
        before = 0.0
        for k in range(starts[row], starts[row + 1]):
            j = np.uint32(labels[k])
            before += sums[j]
            sums[j] += weight
        return weight * (2 * before + weight * (starts[row + 1] - starts[row]))

    def add_counts(target, row, weight, sums):  # type: ignore[no-untyped-def]
        squares = 0.0
        if weight == 0:  # no bin that holds samples weighs nothing, but the caller may leave one out
            return squares
        for j in range(len(sums)):
            squares += target[row, j] * (2 * sums[j] + target[row, j])
            sums[j] += target[row, j]
        return squares

    def add_labels_or_rest(target, row, weight, sums):  # type: ignore[no-untyped-def]
        starts, labels, rest = target
        if row < len(starts) - 1:
            return add_row((starts, labels), row, weight, sums)
        squares = 0.0
        if weight == 0:  # the caller may leave them out
            return squares
        for j in range(len(sums)):
            squares += rest[j] * (2 * sums[j] + rest[j])
            sums[j] += rest[j]
        return squares

    if isinstance(target, types.Array):
        return add_class if target.ndim == 1 else add_counts
    return add_labels if len(target) == 2 else add_labels_or_rest


@overload(sum_of)
def _sum_of(target, row, totals):  # type: ignore[no-untyped-def]
    def sum_counts(target, row, totals):  # type: ignore[no-untyped-def]
        total = 0.0
        for j in range(len(totals)):
            total += target[row, j] * totals[j]
        return total

    def sum_labels(target, row, totals):  # type: ignore[no-untyped-def]
        starts, labels = target[:2]
        total = 0.0
        for k in range(starts[row], starts[row + 1]):
            total += totals[labels[k]]
        return total

    if isinstance(target, types.Array):
        return (lambda target, row, totals: totals[target[row]]) if target.ndim == 1 else sum_counts
    return sum_labels


@borrowing
def risk(sums, weight, multilabel):  # type: ignore[no-untyped-def]
    """Weight that a constant prediction gets wrong: of rows, or of (row, label) pairs."""
    if multilabel:
        wrong = weight - weight
        for j in range(len(sums)):
            wrong += min(sums[j], weight - sums[j])
        return wrong
    largest = sums[0]
    for j in range(1, len(sums)):
        largest = max(largest, sums[j])
    return weight - largest


@borrowing
def is_pure(sums, weight):  # type: ignore[no-untyped-def]
    """Return whether every class or label has either all of the weight or none."""
    for j in range(len(sums)):
        if 0 < sums[j] < weight:
            return False
    return True
