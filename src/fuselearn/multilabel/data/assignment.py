"""Assign samples, or whole groups of them, to folds so that each fold has its fraction of every label."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from fuselearn import _core

Folds = npt.NDArray[np.int32]
Indices = npt.NDArray[np.intp]


def assign_samples(
    labels: sparse.csr_array,
    sizes: npt.ArrayLike,
    rng: np.random.Generator | None,
    fractions: npt.ArrayLike | None = None,
) -> Folds:
    """Assign samples to folds of given sizes.

    The time is proportional to the stored labels, plus samples times folds, plus the square of the number of labels.

    Parameters
    ----------
    labels : sparse array of shape (n_samples, n_labels)
        As returned by `fuselearn.multilabel.data.labels.read_sparse_labels`.
    sizes : array of shape (n_folds,)
        Number of samples in each fold; they sum to n_samples.
    rng : Generator or None
        Decides the order of the samples and all ties; None keeps the order, and ties go to the first.
    fractions : array of shape (n_folds,), optional
        Fractions of every label that the folds should get, as integers of any sum; the sizes by default.

    Returns
    -------
    int32 array of shape (n_samples,)
        The fold of each sample.

    Examples
    --------
    >>> Y = sparse.csr_array(np.array([[1, 0], [1, 0], [0, 1], [0, 1], [0, 0], [0, 0]]))
    >>> assign_samples(Y, [3, 3], rng=None)
    array([0, 1, 0, 1, 0, 1], dtype=int32)
    """
    n_samples, n_labels = labels.shape
    order, label_order, draws = np.arange(n_samples), np.arange(n_labels), np.zeros(n_samples)
    if rng is not None:
        order, label_order, draws = rng.permutation(n_samples), rng.permutation(n_labels), rng.random(n_samples)
        labels = labels[order]
    sizes, fractions = (np.array(part, dtype=np.int64) for part in (sizes, sizes if fractions is None else fractions))
    folds = np.empty(n_samples, dtype=np.int32)
    folds[order] = deal_samples(labels, label_order, sizes, fractions, draws)
    return folds


def assign_groups(
    labels: sparse.csr_array, groups: Indices, fractions: npt.ArrayLike, rng: np.random.Generator | None
) -> Folds:
    """Assign groups of samples to folds.

    With p(f, l) the fraction of the positive samples of label l that fold f has, and s(f) its fraction of the samples,
    each group is assigned to the fold for which ::

        sum over folds f and labels l of  s(f) · (p(f, l) / s(f) - 1)²

    increases least; all samples count as one more label, so that folds have the right size. The groups with the largest
    fraction of any label come first, while there is still a choice.

    Parameters
    ----------
    labels : sparse array of shape (n_samples, n_labels)
        As returned by `fuselearn.multilabel.data.labels.read_sparse_labels`.
    groups : int array of shape (n_samples,)
        As returned by `read_groups`.
    fractions : array of shape (n_folds,)
        Fraction of the samples of each fold; they sum to 1.
    rng : Generator or None
        Decides the order of groups of the same size, and ties; None keeps their order, and ties go to the first fold.

    Returns
    -------
    int32 array of shape (n_samples,)
        The fold of each sample.

    Examples
    --------
    >>> Y = sparse.csr_array(np.array([[1, 0], [1, 0], [0, 1], [0, 1], [1, 0], [0, 1]]))
    >>> assign_groups(Y, np.array([0, 0, 1, 1, 2, 3]), [0.5, 0.5], rng=None)
    array([0, 0, 1, 1, 1, 0], dtype=int32)
    """
    fractions = np.asarray(fractions, dtype=np.float64)
    n_samples, n_groups = len(groups), int(groups.max()) + 1
    members = sparse.csr_array((np.ones(n_samples), (groups, np.arange(n_samples))), shape=(n_groups, n_samples))
    with_size = sparse.hstack([labels.astype(np.float64), sparse.csr_array(np.ones((n_samples, 1)))], format="csr")
    counts = sparse.csr_array(members @ with_size)
    parts = counts.data / np.asarray(counts.sum(axis=0)).ravel()[counts.indices]
    order = np.arange(n_groups) if rng is None else rng.permutation(n_groups)
    largest = np.maximum.reduceat(parts, counts.indptr[:-1])  # every group has samples
    held = np.zeros((len(fractions), counts.shape[1]))
    chosen = np.empty(n_groups, dtype=np.int32)
    for group in order[np.argsort(-largest[order], kind="stable")]:
        span = slice(counts.indptr[group], counts.indptr[group + 1])
        columns, part = counts.indices[span], parts[span]
        increase = (2 * (held[:, columns] / fractions[:, None] - 1)) @ part + (part**2).sum() / fractions
        best = np.flatnonzero(increase <= increase.min() + 1e-12)
        chosen[group] = best[0] if rng is None else rng.choice(best)
        held[chosen[group], columns] += part
    return chosen[groups]


def read_groups(groups: Any, n_samples: int) -> Indices:
    """Validate groups and return the index of the group of each sample.

    Parameters
    ----------
    groups : array-like of shape (n_samples,)
        Numbers or names, none of them missing.
    n_samples : int

    Examples
    --------
    >>> read_groups(["b", "a", "b"], 3)
    array([1, 0, 1])
    """
    if groups is None:
        raise ValueError("groups is None; expected the group of each sample, such as a person or a day.")
    values = np.asarray(groups)
    if values.shape not in ((n_samples,), (n_samples, 1)):
        raise ValueError(f"groups must have one value for each of {n_samples} samples; its shape is {values.shape}.")
    values = values.ravel()
    missing = np.array([value is None or value != value for value in values.tolist()])
    if missing.any():
        raise ValueError(f"groups has {missing.sum()} missing value(s), the first at sample {missing.argmax()}.")
    return np.unique(values.astype(str) if values.dtype == object else values, return_inverse=True)[1]


def deal_samples(
    labels: sparse.csr_array, label_order: Indices, room: Indices, fractions: Indices, draws: npt.NDArray[np.float64]
) -> npt.NDArray[np.int32]:
    """Deal samples to folds by iterative stratification.

    The samples of the rarest label that is left are dealt, again and again; then the samples without labels.

    Parameters
    ----------
    labels : sparse array of shape (n_samples, n_labels)
        What is stored is a label of the sample.
    label_order : array of shape (n_labels,)
        Of equally rare labels the first one in this order is dealt.
    room : array of shape (n_folds,)
        The number of samples of each fold; they sum to n_samples.
    fractions : array of shape (n_folds,)
        What each fold should get of every label, in whole numbers of any sum.
    draws : array of shape (n_samples,)
        Numbers in [0, 1) that choose between equal folds.

    Returns
    -------
    array of shape (n_samples,)
        The fold of each sample.

    Examples
    --------
    >>> labels = sparse.csr_array(np.array([[1, 0], [1, 0], [0, 1], [0, 1]]))
    >>> both = np.array([0, 1])
    >>> deal_samples(labels, both, np.array([2, 2]), np.array([1, 1]), np.zeros(4))
    array([0, 1, 0, 1], dtype=int32)
    """
    by_label = labels.tocsc()
    lists = (labels.indptr, labels.indices, by_label.indptr, by_label.indices)
    starts, own_labels, label_starts, samples = (part.astype(np.int64, copy=False) for part in lists)
    return _core.deal_samples(starts, own_labels, label_starts, samples, label_order, room, fractions, draws)
