"""Targets as kernels see them: one class per row, or a list of labels per row.

The Gini criterion asks for large sums of squared class weights on both sides of a cut. That sum has the same
form for one class per row and, summed over labels, for any number of labels per row: a multi-class row simply
is a row with one label. So both kinds of target share every kernel and differ in the few lines below.

A multi-class target is an int32 array of class numbers. A multi-label target is a tuple
``(starts, labels, rows)``: the labels of row ``i`` are ``labels[starts[rows[i]]:starts[rows[i] + 1]]``.
"""

# Kernels are compiled with the overloads of the functions that they call; without the compiler they call the functions.

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import types
from numba.extending import overload

from fuselearn._kernels import interpret, kernel

Target = npt.NDArray[np.int32] | tuple[npt.NDArray[np.int64], npt.NDArray[np.int32], npt.NDArray[np.int32]]


def labels_target(Y: npt.NDArray[Any]) -> Target:
    """Turn an (n, L) matrix of zeros and ones into a multi-label target."""
    rows, labels = np.nonzero(Y)
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(Y)))])
    return starts.astype(np.int64), labels.astype(np.int32), np.arange(len(Y), dtype=np.int32)


def is_multilabel(target: Target) -> bool:
    """Return whether a target lists labels (rather than giving one class per row)."""
    return isinstance(target, tuple)


def take(target, rows):  # type: ignore[no-untyped-def]
    """Return the target of a selection of rows."""
    return interpret(_take, target, rows)


def add_row(target, row, weight, sums, totals):  # type: ignore[no-untyped-def]
    """Add a row's weight to the class sums; return by how much sum(sums**2) and sums @ totals grow."""
    return interpret(_add_row, target, row, weight, sums, totals)


def add_squares(target, row, weight, sums):  # type: ignore[no-untyped-def]
    """Add a row's weight to the class sums; return by how much sum(sums**2) grows."""
    return interpret(_add_squares, target, row, weight, sums)


def sum_of(target, row, totals):  # type: ignore[no-untyped-def]
    """Sum the totals of a row's class or labels."""
    return interpret(_sum_of, target, row, totals)


@overload(take)
def _take(target, rows):  # type: ignore[no-untyped-def]
    def take_array(target, rows):  # type: ignore[no-untyped-def]
        taken = np.empty(len(rows), dtype=np.int32)
        for i in range(len(rows)):
            taken[i] = target[rows[i]]
        return taken

    if isinstance(target, types.Array):
        return take_array
    return lambda target, rows: (target[0], target[1], target[2][rows])


@overload(add_row, inline="always")
def _add_row(target, row, weight, sums, totals):  # type: ignore[no-untyped-def]
    if isinstance(target, types.Array):

        def add_class(target, row, weight, sums, totals):  # type: ignore[no-untyped-def]
            j = np.uint32(target[row])  # an index known not to be negative saves a check
            before = sums[j]
            sums[j] = before + weight
            return weight * (2 * before + weight), weight * totals[j]

        return add_class

    def add_labels(target, row, weight, sums, totals):  # type: ignore[no-untyped-def]
        return _add_labels(target[0], target[1], target[2][row], weight, sums, totals)

    return add_labels


@overload(add_squares, inline="always")
def _add_squares(target, row, weight, sums):  # type: ignore[no-untyped-def]
    if isinstance(target, types.Array):

        def add_class(target, row, weight, sums):  # type: ignore[no-untyped-def]
            j = np.uint32(target[row])
            before = sums[j]
            sums[j] = before + weight
            return weight * (2 * before + weight)

        return add_class

    return lambda target, row, weight, sums: _add_label_squares(target[0], target[1], target[2][row], weight, sums)


@overload(sum_of, inline="always")
def _sum_of(target, row, totals):  # type: ignore[no-untyped-def]
    if isinstance(target, types.Array):
        return lambda target, row, totals: totals[target[row]]

    return lambda target, row, totals: _sum_labels(target[0], target[1], target[2][row], totals)


@kernel
def _add_label_squares(starts, labels, row, weight, sums):  # type: ignore[no-untyped-def]
    before = 0.0
    for k in range(starts[row], starts[row + 1]):
        j = np.uint32(labels[k])
        before += sums[j]
        sums[j] += weight
    return weight * (2 * before + weight * (starts[row + 1] - starts[row]))


@kernel
def _sum_labels(starts, labels, row, totals):  # type: ignore[no-untyped-def]
    total = 0.0
    for k in range(starts[row], starts[row + 1]):
        total += totals[labels[k]]
    return total


@kernel
def _add_labels(starts, labels, row, weight, sums, totals):  # type: ignore[no-untyped-def]
    squares = 0.0
    products = 0.0
    for k in range(starts[row], starts[row + 1]):
        j = labels[k]
        before = sums[j]
        sums[j] = before + weight
        squares += weight * (2 * before + weight)
        products += weight * totals[j]
    return squares, products


@kernel
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


@kernel
def is_pure(sums, weight):  # type: ignore[no-untyped-def]
    """Return whether every class or label has either all of the weight or none."""
    for j in range(len(sums)):
        if 0 < sums[j] < weight:
            return False
    return True
