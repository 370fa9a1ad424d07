"""What a tree is made of: the node record, the limits of growth, and the finished tree."""

from __future__ import annotations

from typing import NamedTuple

from fuselearn._core import NODE, Tree

__all__ = ["NODE", "Limits", "Tree"]


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
