"""Grow trees on a coded table: on classes or labels, on gradients, on values, and stumps on pairs.

`grow_tree` grows classification trees from how often each sample was drawn. `grow_value_tree` grows regression trees.

Trees for gradient boosting of many labels (`grow_gradient_tree`) have a vector of values in each leaf. With G_j and H_j
the sums of the gradients and Hessians of label j over the samples of a side, a node is split where

    sum over sides and labels of G_j^2 / (H_j + l2)

is largest, and a leaf adds -G_j / (H_j + l2) to the score of label j: a step of Newton's method.

Stumps (`find_stump`) are for boosting whose weights belong to (sample, label) pairs. A table of n samples with L labels
is never written out as n times L samples: a cut has a positive and a negative weight per label on either side, and
these are summed up along a sorted feature.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fuselearn import _core
from fuselearn._core import (
    NODE,
    ClassTarget,
    GradientTable,
    LabelTarget,
    PairTable,
    SparseTable,
    StoragePlan,
    Stump,
    Table,
    Tree,
    TreeSettings,
    find_stump,
    grow_gradient_tree,
    left_samples,
    make_stump_tree,
)

# Weights that are not counts are rounded to whole numbers of about this sum, so that sums of squares stay exact.
WEIGHT_SUM = 2.0**26
# Added to every sum of Hessians: without any known label in a leaf, and without l2, the value is 0 and not 0 / 0.
LEAST_HESSIAN = 1e-12

Floats = npt.NDArray[np.float64]


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
    >>> from fuselearn.engines.tables import code_columns
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
    arguments = counts, settings, seed, n_threads, whole, weights, plan
    if isinstance(target, ClassTarget):
        assert isinstance(table, Table), "trees of classes are grown on dense tables"
        return _core.grow_class_tree(table, target, *arguments)
    if isinstance(table, SparseTable):
        return _core.grow_sparse_label_tree(table, target, *arguments)
    return _core.grow_label_tree(table, target, *arguments)


def grow_value_tree(
    table: GradientTable, y: Floats, weights: Floats, *, max_depth: int, min_leaf: int, n_threads: int = 1
) -> Tree:
    """Grow a regression tree: a tree on gradients whose leaves predict the mean of a target of numbers.

    With y the target and w the weights of the samples, a Newton step on the squared error has the gradients -w y and
    the Hessians w. What `grow_gradient_tree` then makes large, the sum over both sides of (sum of w y)^2 / (sum of w),
    is the criterion of CART's regression trees, and the value of a leaf is the weighted mean of y.

    Parameters
    ----------
    table : GradientTable
    y : array of shape (n_samples,)
        The target.
    weights : array of shape (n_samples,)
        Samples of weight 0 take no part; at least one takes part.
    max_depth, min_leaf : int
        Maximum number of splits on a path, and minimum number of samples in a leaf.
    n_threads : int
        Threads to use on large data. The tree does not depend on it.

    Returns
    -------
    Tree
        ``values`` has one column, the sum of w y in each node, so that the tree's shares are means of y.

    Examples
    --------
    >>> from fuselearn.engines.tables import code_columns
    >>> table = GradientTable(code_columns(np.array([[1.0], [2.0], [3.0], [4.0]])))
    >>> y, weights = np.array([1.0, 3.0, 10.0, 10.0]), np.ones(4)
    >>> grow_value_tree(table, y, weights, max_depth=1, min_leaf=1).shares()
    array([[ 6.],
           [ 2.],
           [10.]])
    """
    samples = np.flatnonzero(weights).astype(np.int32)
    # In units of their own, neither a large mean nor small weights meet the engine's least gain and least Hessian.
    weights = weights / weights[samples].mean()
    center = np.average(y[samples], weights=weights[samples])
    scale = np.abs(y[samples] - center).max() or 1.0
    statistics = np.column_stack([-weights * ((y - center) / scale), weights])
    features = np.arange(table.n_columns)
    tree = grow_gradient_tree(table, statistics, samples, features, max_depth, min_leaf, l2=0.0, n_threads=n_threads)
    gradients, hessians = tree.values.T
    nodes = tree.nodes.copy()
    nodes["weight"] = hessians
    return Tree(nodes, (center * hessians - scale * gradients)[:, None], tree.subsets)


def newton_values(tree: Tree, l2: float) -> Floats:
    """Return what each node of a grown tree adds to the score of each label."""
    gradients, hessians = np.hsplit(tree.values, 2)
    return -gradients / (hessians + l2 + LEAST_HESSIAN)


def gains_by_label(tree: Tree, n_features: int, l2: float) -> Floats:
    """Return by how much splits on each feature raise the criterion, label by label.

    Returns
    -------
    array of shape (n_labels, n_features)
    """
    gradients, hessians = np.hsplit(tree.values, 2)
    scores = gradients**2 / (hessians + l2 + LEAST_HESSIAN)
    splits = np.flatnonzero(tree.nodes["feature"] >= 0)
    left = tree.nodes["left"][splits]
    gains = np.zeros((n_features, scores.shape[1]))
    np.add.at(gains, tree.nodes["feature"][splits], scores[left] + scores[left + 1] - scores[splits])
    return np.ascontiguousarray(gains.T)


def restore_weights(tree: Tree, leaf_shares: Floats) -> Tree:
    """Return a tree with the weight of each label in all nodes, given the labels' shares in its leaves.

    Parameters
    ----------
    tree : Tree
    leaf_shares : array of shape (n_nodes, n_labels)
        Rows of nodes that are no leaves are ignored.

    Examples
    --------
    >>> nodes = np.zeros(3, dtype=NODE)
    >>> nodes["feature"], nodes["left"], nodes["weight"] = (1, -1, -1), (1, -1, -1), (5, 3, 2)
    >>> tree = Tree(nodes, np.empty((3, 0)), np.empty(0, np.uint32))
    >>> restore_weights(tree, np.array([[0.0], [1 / 3], [1.0]])).values
    array([[3.],
           [1.],
           [2.]])
    """
    weight = tree.nodes["weight"]
    values = leaf_shares * weight[:, None]
    if (weight == np.rint(weight)).all():  # copies of samples have been counted
        np.rint(values, out=values)
    return tree.with_leaf_values(values)
