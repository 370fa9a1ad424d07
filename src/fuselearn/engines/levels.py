"""Grow a tree level by level, from counts of samples in several parts of a table.

Every part lists the samples that were drawn for the tree by the node that they have reached (`Drawn`), counts them per
node, feature, code and class (`count_bins`), and lets them descend once the nodes are split (`descend`). The counts of
all parts are added (`merge_bins`). Counts are whole numbers, so their sum depends neither on the parts nor on the
order.

A ``GrowingTree`` divides the nodes of its level into ``rounds``, says which of their ``counted_nodes`` the parts are to
count, takes the counts in ``split``, and ends the level. The tree is the one that `grow_tree` grows from the same
samples.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fuselearn import _core
from fuselearn._core import GrowingTree, LevelBins, LevelSplits, count_bins, merge_bins, reach_leaves


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


def descend(
    drawn: Drawn,
    codes: npt.NDArray[np.unsignedinteger],
    features: npt.NDArray[np.int64],
    n_codes: npt.NDArray[np.int32],
    splits: LevelSplits,
) -> Drawn:
    """Let the samples of a level go on to the next one; those that are not needed there are left out."""
    return Drawn(*_core.descend(*drawn, codes, features, n_codes, splits))
