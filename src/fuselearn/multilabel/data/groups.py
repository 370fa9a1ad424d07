"""Assign whole groups of samples to folds so that each fold has its share of every label."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

__all__ = ["deal_groups", "read_groups"]

Indices = npt.NDArray[np.intp]


def read_groups(groups: Any, n_samples: int) -> Indices:
    """Validate groups and return the number of the group of each sample, from 0.

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
    if values.ndim == 2 and values.shape[1] == 1:
        values = values.ravel()
    if values.ndim != 1 or len(values) != n_samples:
        raise ValueError(
            f"groups must hold one group for each of the {n_samples} samples; its shape is {values.shape}."
        )
    missing = np.array([value is None or value != value for value in values.tolist()])
    if missing.any():
        raise ValueError(
            f"groups has {int(missing.sum())} missing value(s), the first at sample {int(missing.argmax())}."
        )
    if values.dtype == object:
        values = values.astype(str)
    return np.unique(values, return_inverse=True)[1].ravel()


def deal_groups(
    labels: sparse.csr_array,
    groups: Indices,
    shares: npt.ArrayLike,
    rng: np.random.Generator | None,
) -> npt.NDArray[np.int32]:
    """Assign groups of samples to folds.

    With p(f, l) the fraction of the positive samples of label l that fold f holds, and s(f) its share of the samples,
    each group goes to the fold for which ::

        sum over folds f and labels l of  s(f) · (p(f, l) / s(f) - 1)²

    grows least; all samples count as one more label, so that folds have the right size. The groups with the largest
    part of any label come first, while there is still a choice.

    Parameters
    ----------
    labels : sparse array of shape (n_samples, n_labels)
        As returned by `fuselearn.multilabel.data.labels.read_sparse_labels`.
    groups : int array of shape (n_samples,)
        As returned by `read_groups`.
    shares : array of shape (n_folds,)
        The share of the samples of each fold; they sum to 1.
    rng : Generator or None
        Decides the order of groups of the same size, and ties; None keeps their order, and ties go to the first fold.

    Returns
    -------
    int32 array of shape (n_samples,)
        The fold of each sample.

    Examples
    --------
    >>> Y = sparse.csr_array(np.array([[1, 0], [1, 0], [0, 1], [0, 1], [1, 0], [0, 1]]))
    >>> deal_groups(Y, np.array([0, 0, 1, 1, 2, 3]), [0.5, 0.5], rng=None)
    array([0, 0, 1, 1, 1, 0], dtype=int32)
    """
    shares = np.asarray(shares, dtype=np.float64)
    n_samples, n_groups = len(groups), int(groups.max()) + 1
    members = sparse.csr_array((np.ones(n_samples), (groups, np.arange(n_samples))), shape=(n_groups, n_samples))
    everyone = sparse.csr_array(np.ones((n_samples, 1)))
    counts = sparse.csr_array(members @ sparse.hstack([labels.astype(np.float64), everyone], format="csr"))
    totals = np.asarray(counts.sum(axis=0)).ravel()
    parts = counts.data / totals[counts.indices]
    order = np.arange(n_groups) if rng is None else rng.permutation(n_groups)
    largest = np.maximum.reduceat(parts, counts.indptr[:-1])  # every group has samples
    order = order[np.argsort(-largest[order], kind="stable")]
    held = np.zeros((len(shares), len(totals)))
    chosen = np.empty(n_groups, dtype=np.int32)
    for group in order:
        span = slice(counts.indptr[group], counts.indptr[group + 1])
        columns, part = counts.indices[span], parts[span]
        growth = (2 * (held[:, columns] / shares[:, None] - 1)) @ part + (part**2).sum() / shares
        best = np.flatnonzero(growth <= growth.min() + 1e-12)
        chosen[group] = best[0] if rng is None else rng.choice(best)
        held[chosen[group], columns] += part
    return chosen[groups]
