"""Lay out the trees of a forest for prediction.

A packed forest answers "is the value below the threshold?" with whole numbers: all thresholds of a column, over all
trees, are sorted, and a node keeps the rank of its own. Nodes are small records, laid out level by level, and a leaf
points to itself, so that rows which descend side by side need not ask who has arrived.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fuselearn._kernels import kernel, record
from fuselearn.engines.tree.nodes import NODE, Tree

PACKED_NODE = record(
    [
        # larger codes go right, none in a leaf; in a category split, the first word of its subset
        ("cut", np.uint32),
        ("feature", np.uint32),  # 0 in a leaf
        ("left", np.uint32),  # the right child follows; a leaf points to itself
        ("leaf", np.int32),  # number of the leaf in the forest, or of its values if leaves share them, -1 in a split
    ]
)
MISSING_LEFT, UNKNOWN_LEFT = np.uint8(1), np.uint8(2)
NO_CUT = np.iinfo(np.uint32).max


class PackedForest(NamedTuple):
    """Several trees laid out for prediction.

    ``thresholds[starts[f]:starts[f + 1]]`` are the sorted thresholds of column ``f``; ``n_categories[f]`` is 0 for a
    numeric column. ``place`` gives for each node of the forest its node in the tree that it came from, ``leaves`` for
    each leaf its node among those of all trees, one tree after the other.
    """

    nodes: npt.NDArray[np.void]
    flags: npt.NDArray[np.uint8]
    subsets: npt.NDArray[np.uint32]
    roots: npt.NDArray[np.int64]
    thresholds: npt.NDArray[np.float64]
    starts: npt.NDArray[np.int64]
    n_categories: npt.NDArray[np.int32]
    place: npt.NDArray[np.int32]
    leaves: npt.NDArray[np.int64]


def pack_forest(trees: Sequence[Tree], n_categories: npt.NDArray[np.int32]) -> PackedForest:
    """Lay out trees for prediction.

    Parameters
    ----------
    trees : sequence of Tree
    n_categories : int32 array of shape (n_columns,)
        Number of categories of each column, 0 for a numeric column.

    Returns
    -------
    PackedForest
        Its leaves are numbered through, tree by tree and level by level.
    """
    first_words = np.cumsum([0, *(len(tree.subsets) for tree in trees)])
    roots = np.cumsum([0, *(len(tree.nodes) for tree in trees)])
    nodes, flags, place, leaves, cuts = _lay_out(_join([tree.nodes for tree in trees]), roots, first_words)
    thresholds, starts = _rank_cuts(nodes, cuts, len(n_categories))
    return PackedForest(
        nodes=nodes,
        flags=flags,
        subsets=np.concatenate([tree.subsets for tree in trees]),
        roots=roots[:-1],
        thresholds=thresholds,
        starts=starts,
        n_categories=n_categories,
        place=place,
        leaves=leaves,
    )


def number_leaves(forest: PackedForest, numbers: npt.NDArray[np.int32]) -> None:
    """Give the leaves of a forest other numbers, by their nodes among those of all trees, one tree after the other."""
    is_leaf = forest.nodes["leaf"] >= 0
    forest.nodes["leaf"][is_leaf] = numbers[forest.leaves]


def _join(nodes: Sequence[npt.NDArray[np.void]]) -> npt.NDArray[np.void]:
    """Concatenate node records as bytes; NumPy would compare their fields tree by tree."""
    joined: npt.NDArray[np.void] = np.concatenate([part.view(f"V{NODE.itemsize}") for part in nodes]).view(NODE)
    return joined


def _rank_cuts(
    nodes: npt.NDArray[np.void], cuts: npt.NDArray[np.float64], n_columns: int
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    """Sort the distinct cuts of each column, and write each one's rank in its column into its node."""
    is_cut = np.flatnonzero(~np.isnan(cuts))
    features = nodes["feature"][is_cut]
    by_column = is_cut[np.argsort(features, kind="stable")]
    bounds = np.cumsum(np.bincount(features, minlength=n_columns))
    thresholds = [np.empty(0)]
    for column in np.split(by_column, bounds[:-1]) if n_columns else []:
        distinct, ranks = np.unique(cuts[column], return_inverse=True)
        nodes["cut"][column] = ranks
        thresholds.append(distinct)
    starts = np.cumsum([len(part) for part in thresholds])
    return np.concatenate(thresholds), starts


@kernel
def _lay_out(grown, roots, first_words):  # type: ignore[no-untyped-def]
    """List the nodes of each tree level by level, in which order the two children of a node stay neighbours.

    The cuts of numeric splits are returned as they are, with NaN for all other nodes.
    """
    n_nodes, n_trees = len(grown), len(roots) - 1
    nodes = np.empty(n_nodes, dtype=PACKED_NODE)
    flags = np.empty(n_nodes, dtype=np.uint8)
    place = np.zeros(n_nodes, dtype=np.int32)
    leaves = np.empty((n_nodes + n_trees) // 2, dtype=np.int64)
    cuts = np.empty(n_nodes)
    n_leaves = 0
    for t in range(n_trees):
        n_listed = roots[t] + 1
        for k in range(roots[t], roots[t + 1]):
            node = grown[roots[t] + place[k]]
            flags[k] = MISSING_LEFT * node.missing_left + UNKNOWN_LEFT * node.heavier_left
            cuts[k] = np.nan
            nodes[k].cut = NO_CUT
            if node.feature < 0:
                nodes[k].feature = 0
                nodes[k].left = k
                nodes[k].leaf = n_leaves
                leaves[n_leaves] = roots[t] + place[k]
                n_leaves += 1
                continue
            nodes[k].feature = node.feature
            nodes[k].left = n_listed
            nodes[k].leaf = -1
            if node.is_category:
                nodes[k].cut = first_words[t] + node.cut
            else:
                cuts[k] = node.threshold
            place[n_listed] = node.left
            place[n_listed + 1] = node.left + 1
            n_listed += 2
    return nodes, flags, place, leaves, cuts
