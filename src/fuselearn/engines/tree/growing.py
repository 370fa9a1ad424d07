"""Grow a tree from a coded table, a target and how often each sample was drawn."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fuselearn._core import (
    ClassTarget,
    LabelTarget,
    SparseTable,
    StoragePlan,
    Table,
    Tree,
    TreeSettings,
    grow_class_tree,
    grow_label_tree,
    grow_sparse_label_tree,
)

# Weights that are not counts are rounded to whole numbers of about this sum, so that sums of squares stay exact.
WEIGHT_SUM = 2.0**26


def make_label_target(Y: npt.NDArray[np.generic]) -> LabelTarget:
    """Turn an (n, L) matrix of zeros and ones into a target.

    Examples
    --------
    >>> len(make_label_target(np.array([[1, 0], [1, 1], [0, 0]])))
    3
    """
    samples, labels = np.nonzero(Y)
    starts = np.concatenate([[0], np.cumsum(np.bincount(samples, minlength=len(Y)))])
    return LabelTarget(starts.astype(np.int64), labels.astype(np.int32), Y.shape[1])


def grow_tree(
    table: Table | SparseTable,
    target: ClassTarget | LabelTarget,
    counts: npt.NDArray[np.int32],
    settings: TreeSettings,
    *,
    weights: npt.NDArray[np.float64] | None = None,
    seed: int = 0,
    n_threads: int = 1,
    plan: StoragePlan | None = None,
) -> Tree:
    """Grow a tree, prune it, and return it.

    Parameters
    ----------
    table : Table or SparseTable
        For classes, a Table.
    target : ClassTarget or LabelTarget
    counts : int32 array of shape (n_samples,)
        How often each sample was drawn; samples with count 0 take no part.
    settings : TreeSettings
    weights : array of shape (n_samples,), optional
        Weights of the samples where they differ from the counts.
    seed : int
        Seed of the random choices.
    n_threads : int
        Threads to use on large data. The tree does not depend on it.
    plan : StoragePlan, optional
        In which way samples are stored. The tree does not depend on it.

    Examples
    --------
    >>> from fuselearn.engines.tree import code_columns
    >>> table = code_columns(np.array([[1.0], [2.0], [3.0], [4.0]]))
    >>> target = ClassTarget(np.array([0, 0, 1, 1], dtype=np.int32), 2)
    >>> tree = grow_tree(table, target, np.ones(4, dtype=np.int32), TreeSettings(min_split=2, min_leaf=1))
    >>> tree.n_leaves, tree.nodes["threshold"][0]
    (2, np.float64(2.5))
    """
    whole = None
    if weights is not None:
        rounded = np.rint(weights * (WEIGHT_SUM / weights.sum()))
        counts = np.where(rounded > 0, counts, 0).astype(np.int32)
        whole = rounded.astype(np.int32)
    if isinstance(table, SparseTable):
        assert isinstance(target, LabelTarget), "trees of classes are grown on dense tables"
        return grow_sparse_label_tree(table, target, counts, settings, seed, n_threads, whole, weights, plan)
    if isinstance(target, LabelTarget):
        return grow_label_tree(table, target, counts, settings, seed, n_threads, whole, weights, plan)
    return grow_class_tree(table, target, counts, settings, seed, n_threads, whole, weights, plan)
