"""What a tree is made of: the node record, the limits of growth, and the finished tree."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fuselearn._kernels import record

NODE = record(
    [
        ("threshold", np.float64),  # numeric split: values below it go left
        ("gain", np.float64),  # impurity removed, less what is put down to chance, in units of weight
        ("weight", np.float64),  # weight of the training rows that reached the node
        ("count", np.int32),  # number of them
        ("feature", np.int32),  # column of the split; -1 for a leaf
        ("left", np.int32),  # left child; the right one follows it
        (
            "cut",
            np.int32,
        ),  # numeric: largest code that goes left; category: first word of its subset
        ("is_category", np.bool_),
        ("missing_left", np.bool_),  # learned, or the heavier child where nothing was missing
        ("heavier_left", np.bool_),  # where unknown categories go
    ],
    align=True,
)


class Limits(NamedTuple):
    """When a node is not split any further.

    ``min_risk`` is the misclassified weight below which no split can survive pruning; ``min_gain`` is the
    gain that counts as zero. Both are in units of weight. ``less_chance`` is for splits by categories, see `chance`;
    ``multilabel`` says what the risk counts.
    """

    min_split: int
    min_leaf: int
    max_depth: int
    max_features: int
    random_cuts: bool
    min_risk: float
    min_gain: float
    less_chance: bool
    multilabel: bool


class Tree(NamedTuple):
    """A grown tree: its nodes (the root first), the class weights in each, and the category subsets.

    ``values[i, j]`` is the training weight of class (or label) ``j`` in node ``i``. A category split holds in
    ``subsets`` one bit per category, from the word ``cut`` on; a set bit sends the category left.
    """

    nodes: npt.NDArray[np.void]
    values: npt.NDArray[np.float64]
    subsets: npt.NDArray[np.uint32]

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return (len(self.nodes) + 1) // 2

    @property
    def depth(self) -> int:
        """Number of splits on the longest path."""
        depth = np.zeros(len(self.nodes), dtype=np.int64)
        left = self.nodes["left"]
        for parent in np.flatnonzero(self.nodes["feature"] >= 0):
            depth[left[parent]] = depth[left[parent] + 1] = depth[parent] + 1
        return int(depth.max())

    def shares(self) -> npt.NDArray[np.float64]:
        """Class (or label) shares of the training weight in each node."""
        weight = self.nodes["weight"]
        return self.values / np.where(weight > 0, weight, 1.0)[:, None]
