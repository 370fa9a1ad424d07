"""Send samples of values down the trees of a forest.

Samples of a coded table go down a single tree by its own ``apply`` and ``vote``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from fuselearn._core import Forest

# A sparse matrix is made dense so many values at a time.
DENSE_VALUES = 1 << 22


def sum_leaf_values(
    forest: Forest, leaf_values: npt.NDArray[np.float64], X: Any, n_threads: int = 1
) -> npt.NDArray[np.float64]:
    """Return for each sample the sum of the values of the leaves that it reaches, one leaf per tree.

    X is an array or a sparse matrix, which is made dense a few samples at a time. Row k of ``leaf_values`` belongs to
    leaf number k of the forest.

    Examples
    --------
    >>> from fuselearn.engines.tree import NODE, Tree
    >>> nodes = np.zeros(3, dtype=NODE)
    >>> nodes["feature"], nodes["left"], nodes["threshold"] = (0, -1, -1), (1, -1, -1), (0.5, 0, 0)
    >>> tree = Tree(nodes, np.array([[2.0, 2.0], [2.0, 0.0], [0.0, 2.0]]), np.empty(0, np.uint32))
    >>> forest = Forest([tree], np.zeros(1, dtype=np.int32))
    >>> sum_leaf_values(forest, np.array([[-1.0], [1.0]]), np.array([[0.4], [0.5], [np.nan]])).ravel()
    array([-1.,  1.,  1.])
    """
    if not sparse.issparse(X):
        return forest.sum_leaf_values(leaf_values, as_floats(X), n_threads)
    sums = np.empty((X.shape[0], leaf_values.shape[1]))
    for samples, dense in _dense_blocks(X):
        sums[samples] = forest.sum_leaf_values(leaf_values, dense, n_threads)
    return sums


def apply_forest(forest: Forest, X: Any, n_threads: int = 1) -> npt.NDArray[np.int32]:
    """Return for each sample and tree the node of that tree in which the sample ends."""
    if not sparse.issparse(X):
        return forest.apply(as_floats(X), n_threads)
    leaves = np.empty((X.shape[0], forest.n_trees), dtype=np.int32)
    for samples, dense in _dense_blocks(X):
        leaves[samples] = forest.apply(dense, n_threads)
    return leaves


def as_floats(X: Any) -> npt.NDArray[np.floating]:
    """Return an array of floats as it is, and other numbers as doubles."""
    X = np.asarray(X)
    return X if X.dtype in (np.float64, np.float32) else X.astype(np.float64)


def _dense_blocks(X: Any) -> Iterator[tuple[slice, npt.NDArray[np.floating]]]:
    X = X.tocsr()
    n_samples, n_features = X.shape
    size = max(16, DENSE_VALUES // max(1, n_features))
    for start in range(0, n_samples, size):
        samples = slice(start, start + size)
        yield samples, as_floats(X[samples].toarray())
