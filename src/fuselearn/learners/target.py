"""What is asked about the samples of a table: classes, labels or values."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

Counts = npt.NDArray[np.int32]
Indices = npt.NDArray[np.integer]
Labels = npt.NDArray[np.integer]
Scores = npt.NDArray[np.float64]
Weights = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Target:
    """A question about the samples of a table, with as many columns of scores as an answer has.

    Make one by :func:`class_target`, :func:`label_target`, :func:`value_target` or :func:`class_list_target`.
    """

    task: Literal["classes", "labels", "values"]
    values: npt.NDArray[Any]
    """Class indices (n,), an indicator matrix (n, K), or numbers (n,)."""
    n_columns: int
    """K: the number of classes or labels, 1 for values."""
    names: npt.NDArray[Any] | None = None
    """The sorted classes as the user passed them, which ``class_weight`` refers to."""
    samples: Indices | None = None
    """The sample that each class index is about; by default, all samples in their order. A sample of several classes
    appears several times."""
    label_sets: Labels | None = None
    """The labels that each class stands for, of shape (n_classes, n_labels), if single labels are to be right."""

    def regroup(self, groups: npt.NDArray[np.int8]) -> Target:
        """Ask to which of two groups the class of a sample belongs.

        Parameters
        ----------
        groups : int8 array of shape (n_classes,)
            0 or 1 for each class.

        Examples
        --------
        >>> class_target(np.array([0, 1, 2], dtype=np.int32), 3).regroup(np.array([0, 1, 0], dtype=np.int8)).values
        array([0, 1, 0], dtype=int32)
        """
        return replace(self, values=groups[self.values].astype(np.int32), n_columns=2, names=None)


def class_target(indices: npt.NDArray[np.int32], n_classes: int, names: npt.NDArray[Any] | None = None) -> Target:
    """Make a target of one class per sample.

    Examples
    --------
    >>> class_target(np.array([0, 2, 1], dtype=np.int32), 3).n_columns
    3
    """
    return Target("classes", indices, n_classes, names)


def label_target(Y: Labels) -> Target:
    """Make a target of labels from an indicator matrix; the learner trains one model per label.

    Examples
    --------
    >>> label_target(np.array([[1, 0], [1, 1], [0, 0]], dtype=np.int8)).n_columns
    2
    """
    return Target("labels", Y, Y.shape[1])


def value_target(numbers: npt.NDArray[np.float64]) -> Target:
    """Make a target of numbers, for regression.

    Examples
    --------
    >>> value_target(np.array([0.5, 2.0])).task
    'values'
    """
    return Target("values", numbers, 1)


def class_list_target(members: Labels, counts: Counts, label_sets: Labels | None = None) -> Target:
    """Make a target of the classes of each drawn sample, which may have none or several.

    Parameters
    ----------
    members : array of shape (n_samples, n_classes)
        1 where a sample belongs to a class, else 0.
    counts : int32 array of shape (n_samples,)
    label_sets : array of shape (n_classes, n_labels), optional

    Examples
    --------
    >>> members, counts = np.array([[0, 1], [1, 1], [0, 0], [1, 0]]), np.array([2, 1, 1, 0], dtype=np.int32)
    >>> target = class_list_target(members, counts)
    >>> target.samples, target.values
    (array([0, 1, 1]), array([1, 0, 1], dtype=int32))
    """
    samples, indices = np.nonzero((members > 0) & (counts > 0)[:, None])
    return Target("classes", indices.astype(np.int32), members.shape[1], samples=samples, label_sets=label_sets)
