"""Trees for gradient boosting of many labels: one tree for all of them, with a vector of values in each leaf.

With G_j and H_j the sums of the gradients and Hessians of label j over the samples of a side, a node is split where

    sum over sides and labels of G_j^2 / (H_j + l2)

is largest, and a leaf adds -G_j / (H_j + l2) to the score of label j: a step of Newton's method.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fuselearn import _core
from fuselearn._core import GradientTable, Table, Tree

# Added to every sum of Hessians: without any known label in a leaf, and without l2, the value is 0 and not 0 / 0.
LEAST_HESSIAN = 1e-12


class GradientSettings(NamedTuple):
    """How a tree is grown."""

    max_depth: int
    min_leaf: int
    l2: float


def make_gradient_table(table: Table) -> GradientTable:
    """Prepare a coded table for any number of trees."""
    return GradientTable(table)


def grow_gradient_tree(
    table: GradientTable,
    statistics: npt.NDArray[np.float64],
    samples: npt.NDArray[np.int32],
    features: npt.NDArray[np.int64],
    settings: GradientSettings,
    *,
    n_threads: int = 1,
) -> Tree:
    """Grow a tree.

    Parameters
    ----------
    table : GradientTable
    statistics : array of shape (n_samples, 2 * n_labels)
        The gradients of the labels' losses for each sample, then the Hessians; both are 0 where a label is not known.
    samples : int32 array
        The samples that take part, in ascending order.
    features : int64 array
        The features that splits may be on; of equally good splits, that on the first feature is taken.
    settings : GradientSettings
    n_threads : int
        Threads that share the features on large data. The tree does not depend on it.

    Returns
    -------
    Tree
        ``values`` has the sums of gradients and Hessians in each node.
    """
    return _core.grow_gradient_tree(
        table, statistics, samples, features, settings.max_depth, settings.min_leaf, settings.l2, n_threads
    )


def newton_values(tree: Tree, l2: float) -> npt.NDArray[np.float64]:
    """Return what each node of a grown tree adds to the score of each label."""
    gradients, hessians = np.hsplit(tree.values, 2)
    return -gradients / (hessians + l2 + LEAST_HESSIAN)


def gains_by_label(tree: Tree, n_features: int, l2: float) -> npt.NDArray[np.float64]:
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
