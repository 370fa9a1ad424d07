"""Grow a tree level by level, from counts of samples that are kept elsewhere, see `tallying`.

A ``GrowingTree`` divides the nodes of its level into ``rounds``, says which of their ``counted_nodes`` the parts are to
count, takes the counts in ``split``, and ends the level. The tree is the one that `grow_tree` grows from the same
samples.
"""

from __future__ import annotations

from fuselearn._core import GrowingTree

__all__ = ["GrowingTree"]
