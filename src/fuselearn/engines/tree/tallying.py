"""Count the samples in the nodes of a tree that grows level by level, in one of several parts of a table.

Every part lists the samples that were drawn for the tree by the node that they have reached (`Drawn`), counts them per
node, feature, code and class (`count_bins`), and lets them descend once the nodes are split (`descend`). The counts of
all parts are added (`merge_bins`). Counts are whole numbers, so their sum depends neither on the parts nor on the
order.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fuselearn import _core
from fuselearn._core import LevelBins, LevelSplits, merge_bins, reach_leaves

__all__ = [
    "Drawn",
    "LevelBins",
    "LevelSplits",
    "count_bins",
    "count_classes",
    "descend",
    "list_drawn",
    "merge_bins",
    "reach_leaves",
]


class Drawn(NamedTuple):
    """The samples drawn for a tree, those in the first node of a level first, and how often each was drawn."""

    samples: npt.NDArray[np.uint32]
    copies: npt.NDArray[np.int32]
    ends: npt.NDArray[np.int64]
    """The end of each node's samples."""


def list_drawn(counts: npt.NDArray[np.int32]) -> Drawn:
    """Put the samples that were drawn at least once into the root of a tree.

    Examples
    --------
    >>> list_drawn(np.array([0, 2, 1], dtype=np.int32))[:2]
    (array([1, 2], dtype=uint32), array([2, 1], dtype=int32))
    """
    samples = np.flatnonzero(counts).astype(np.uint32)
    return Drawn(samples, counts[samples], np.array([len(samples)]))


def count_classes(drawn: Drawn, target: npt.NDArray[np.int32], n_classes: int) -> npt.NDArray[np.int64]:
    """Count the copies of samples of each class.

    Examples
    --------
    >>> count_classes(list_drawn(np.array([0, 2, 1], dtype=np.int32)), np.array([0, 1, 1], dtype=np.int32), 2)
    array([0, 3])
    """
    return np.bincount(target[drawn.samples], drawn.copies, n_classes).astype(np.int64)


def count_bins(
    drawn: Drawn,
    codes: npt.NDArray[np.unsignedinteger],
    features: npt.NDArray[np.int64],
    n_codes: npt.NDArray[np.int32],
    target: npt.NDArray[np.int32],
    n_classes: int,
    nodes: npt.NDArray[np.int64],
    squared: bool,
) -> LevelBins:
    """Count the samples in some nodes of a level.

    Parameters
    ----------
    drawn : Drawn
    codes : array of shape (n_samples, n_columns)
    features : array of shape (n_features,)
        The columns to count in.
    n_codes : int32 array of shape (n_features,)
        How many codes each of them has.
    target : int32 array of shape (n_samples,)
        Class numbers.
    n_classes : int
    nodes : int64 array
        Positions of the nodes in the level.
    squared : bool
        Whether to sum the samples' squared numbers of copies.

    Examples
    --------
    >>> codes, target = np.array([[0], [1], [2]], dtype=np.uint8), np.array([0, 1, 1], dtype=np.int32)
    >>> drawn = list_drawn(np.array([0, 2, 1], dtype=np.int32))
    >>> bins = count_bins(drawn, codes, np.array([0]), np.array([2], np.int32), target, 2, np.array([0]), False)
    >>> bins.list_filled()[1:3]
    (array([1, 2], dtype=uint32), array([[0, 2],
           [0, 1]], dtype=int32))
    """
    return _core.count_bins(*drawn, codes, features, n_codes, target, n_classes, nodes, squared)


def descend(
    drawn: Drawn,
    codes: npt.NDArray[np.unsignedinteger],
    features: npt.NDArray[np.int64],
    n_codes: npt.NDArray[np.int32],
    splits: LevelSplits,
) -> Drawn:
    """Let the samples of a level go on to the next one; those that are not needed there are left out."""
    return Drawn(*_core.descend(*drawn, codes, features, n_codes, splits))
