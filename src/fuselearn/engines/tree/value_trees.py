"""Regression trees: trees on gradients whose leaves predict the mean of a target of numbers.

With y the target and w the weights of the samples, a Newton step on the squared error has the gradients -w y and the
Hessians w. What `gradient_trees` then makes large, the sum over both sides of (sum of w y)^2 / (sum of w), is the
criterion of CART's regression trees, and the value of a leaf is the weighted mean of y.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fuselearn._core import Tree
from fuselearn.engines.tree.gradient_trees import GradientSettings, GradientTable, grow_gradient_tree

Numbers = npt.NDArray[np.float64]


def grow_value_tree(
    table: GradientTable, y: Numbers, weights: Numbers, *, max_depth: int, min_leaf: int, n_threads: int = 1
) -> Tree:
    """Grow a regression tree.

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
    >>> from fuselearn.engines.tree import code_columns
    >>> from fuselearn.engines.tree.gradient_trees import make_gradient_table
    >>> table = make_gradient_table(code_columns(np.array([[1.0], [2.0], [3.0], [4.0]])))
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
    settings = GradientSettings(max_depth, min_leaf, l2=0.0)
    tree = grow_gradient_tree(table, statistics, samples, np.arange(table.n_columns), settings, n_threads=n_threads)
    gradients, hessians = tree.values.T
    nodes = tree.nodes.copy()
    nodes["weight"] = hessians
    return Tree(nodes, (center * hessians - scale * gradients)[:, None], tree.subsets)
