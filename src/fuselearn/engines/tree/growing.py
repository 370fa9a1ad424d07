"""Grow a tree from coded columns, a target and how often each row was drawn."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fuselearn._kernels import kernel
from fuselearn.engines.tree.coding import CodedColumns
from fuselearn.engines.tree.histogram import grow_histogram
from fuselearn.engines.tree.leaf_values import add_to_parents
from fuselearn.engines.tree.nodes import NODE, Limits, Tree
from fuselearn.engines.tree.predicting import apply_codes
from fuselearn.engines.tree.pruning import collapse, compact
from fuselearn.engines.tree.searching import make_search
from fuselearn.engines.tree.sorted_columns import (
    ByColumn,
    grow_sorted,
    lay_out_columns,
    lay_out_nothing,
    list_rows,
    make_sorted_columns,
    make_sparse_space,
    place_rows,
)
from fuselearn.engines.tree.sparse_coding import SparseColumns
from fuselearn.engines.tree.splitting import Growth, Root, make_leaf
from fuselearn.engines.tree.subsets import category_flag
from fuselearn.engines.tree.targets import Target, add_row, is_multilabel, risk

# Up to this many rows a tree is grown without histograms; so is a node of a larger one with fewer rows than this, or
# than this many times its average column's codes.
PRESORTED_ROWS = 2_000
SMALL_NODE = 8
ROWS_PER_CODE = 1.5
# A large tree is grown as a trunk and about this many branches, of at least so many rows, which threads share.
BRANCHES = 16
BRANCH_ROWS = 2_000
# Columns are sorted in each node, rather than kept sorted, where there are this many times as many as a node looks at.
MANY_TIMES = 4
# Weights that are not counts are rounded to whole numbers of about this sum, so that sums of squares stay exact.
WEIGHT_SUM = 2.0**26


class TreeSettings(NamedTuple):
    """How a tree is grown, in rpart's terms: ``minsplit``, ``minbucket``, ``maxdepth`` and ``cp``.

    ``max_features`` columns are looked at in each node, drawn at random if that is not all of them.
    ``random_cuts`` tries one random cut per column instead of all, as in extremely randomised trees.
    ``less_chance`` takes from the gain of a split by categories what chance would give, see `chance`; rpart does not.
    """

    min_split: int = 20
    min_leaf: int = 7
    max_depth: int = 30
    complexity: float = 0.01
    max_features: int = 2**31 - 1
    random_cuts: bool = False
    less_chance: bool = False


def grow_tree(
    columns: CodedColumns | SparseColumns,
    target: Target,
    n_classes: int,
    counts: npt.NDArray[np.int32],
    settings: TreeSettings,
    *,
    weights: npt.NDArray[np.float64] | None = None,
    seed: int = 0,
    n_threads: int = 1,
    by_column: ByColumn | None = None,
) -> Tree:
    """Grow a tree, prune it, and return it.

    Parameters
    ----------
    columns : CodedColumns or SparseColumns
        For class numbers, CodedColumns.
    target : int32 array of shape (n_rows,), or a multi-label target
        Class numbers, or what :func:`~fuselearn.engines.tree.targets.labels_target` makes of a label matrix.
    n_classes : int
        Number of classes or labels.
    counts : int32 array of shape (n_rows,)
        How often each row was drawn; rows with count 0 take no part.
    settings : TreeSettings
    weights : array of shape (n_rows,), optional
        Weights of the rows where they differ from the counts.
    seed : int
        Seed of the random choices.
    n_threads : int
        Threads to use on large data. The tree does not depend on it.
    by_column : ByColumn, optional
        What ``lay_out_columns`` makes of the columns. Of use where many trees look at few columns in each node: each
        tree would otherwise make its own.
    """
    if isinstance(columns, SparseColumns):
        grow = partial(grow_sparse, columns)
    else:
        by_column = lay_out_if_few(columns, settings) if by_column is None else by_column
        if weights is None and len(counts) > PRESORTED_ROWS and not is_multilabel(target) and not settings.random_cuts:
            return _grow_in_branches(columns, by_column, target, n_classes, counts, settings, seed, n_threads)
        grow = partial(grow_whole, columns, by_column)
    if weights is None:
        return Tree(*grow(target, counts.astype(float), counts, n_classes, settings, seed))
    whole = np.rint(weights * (WEIGHT_SUM / weights.sum()))
    counts = np.where(whole > 0, counts, 0).astype(np.int32)
    tree = Tree(*grow(target, whole, counts, n_classes, settings, seed))
    _weigh(tree.nodes, tree.values, apply_codes(tree, columns), target, counts, weights)
    return tree


def lay_out_if_few(columns: CodedColumns, settings: TreeSettings) -> ByColumn:
    """Lay out the columns for many trees, if nodes look at so few of them, or at one cut, that none is kept sorted."""
    is_few = settings.random_cuts or settings.max_features * MANY_TIMES <= len(columns.n_codes)
    return lay_out_columns(columns) if is_few else lay_out_nothing(columns)


def _grow_in_branches(
    columns: CodedColumns,
    by_column: ByColumn,
    target: Target,
    n_classes: int,
    counts: npt.NDArray[np.int32],
    settings: TreeSettings,
    seed: int,
    n_threads: int,
) -> Tree:
    """Grow the upper part of a tree, then the branches below it, several at a time, and join them."""
    growth, rows, limits = _plant(columns, target, counts, counts, n_classes, settings)
    columns = columns._replace(order=columns.order[:, :0])  # of no use for some of the rows
    small_node = max(SMALL_NODE, int(ROWS_PER_CODE * columns.n_codes.mean()))
    sorted_once = lay_out_nothing(columns)
    branch_size = len(rows) // BRANCHES
    if branch_size < BRANCH_ROWS:
        branch_size = 0
    root = Root(0, 0, np.uint64(seed))
    branches, keys = grow_histogram(
        growth, columns, by_column, target, counts, rows, root, limits, small_node, branch_size
    )

    def grow_branch(k: int) -> Growth:
        node, start, end, depth = branches[k]
        branch = _cut_out(growth, node, end - start)
        # A copy of the branch's rows fits the processor's cache; rows scattered over the whole table do not.
        own = rows[start:end]
        own_columns = columns._replace(codes=columns.codes[own])
        own_rows = np.arange(len(own), dtype=np.int32)
        own_root = Root(0, int(depth), keys[k])
        grow_histogram(
            branch, own_columns, sorted_once, target[own], counts[own], own_rows, own_root, limits, small_node, 0
        )
        return branch

    if n_threads > 1 and len(branches) > 1:
        with ThreadPoolExecutor(n_threads) as pool:
            grown = list(pool.map(grow_branch, range(len(branches))))
    else:
        grown = [grow_branch(k) for k in range(len(branches))]
    for k, branch in enumerate(grown):
        _graft(growth, branch, branches[k, 0])
    return Tree(*finish(growth, columns.n_codes, settings.complexity, limits))


def _cut_out(growth: Growth, node: int, n_rows: int) -> Growth:
    """Make a growth of its own whose root is a copy of a leaf."""
    n_nodes = max(1, 2 * n_rows - 1)  # every leaf has at least one row
    n_words = len(growth.subsets) // max(1, len(growth.nodes) // 2)
    branch = Growth(
        np.empty(n_nodes, dtype=NODE),
        np.empty((n_nodes, growth.values.shape[1])),
        np.empty(n_words * (n_nodes // 2), dtype=np.uint32),
        np.array([1, 0]),
    )
    branch.nodes[0] = growth.nodes[node]
    branch.values[0] = growth.values[node]
    return branch


def _graft(growth: Growth, branch: Growth, node: int) -> None:
    """Put a branch in the place of the leaf that it was cut out from; its other nodes follow those of the tree."""
    (n_nodes, n_words), (first_node, first_word) = branch.used, growth.used
    nodes = branch.nodes[:n_nodes]
    nodes["left"][nodes["feature"] >= 0] += first_node - 1
    nodes["cut"][(nodes["feature"] >= 0) & nodes["is_category"]] += first_word
    growth.nodes[node], growth.values[node] = nodes[0], branch.values[0]
    growth.nodes[first_node : first_node + n_nodes - 1] = nodes[1:]
    growth.values[first_node : first_node + n_nodes - 1] = branch.values[1:n_nodes]
    growth.subsets[first_word : first_word + n_words] = branch.subsets[:n_words]
    growth.used[:] += (n_nodes - 1, n_words)


@kernel
def grow_whole(columns, by_column, target, weights, counts, n_classes, settings, seed):  # type: ignore[no-untyped-def]
    """Grow on sorted columns, prune and tidy up in one call, as small data cannot afford more."""
    growth, rows, limits = _plant(columns, target, weights, counts, n_classes, settings)
    items = list_rows(target, weights, counts)
    space = make_sorted_columns(columns, by_column, len(counts), len(rows))
    place_rows(space, columns, rows, items.facts)
    search = make_search(columns, n_classes)
    first = np.int64(0)  # a literal would let everything that takes a node be compiled twice
    grow_sorted(growth, columns, items, space, search, Root(first, first, np.uint64(seed)), len(rows), limits)
    return finish(growth, columns.n_codes, settings.complexity, limits)


@kernel
def grow_sparse(columns, target, weights, counts, n_classes, settings, seed):  # type: ignore[no-untyped-def]
    """Grow on the entries of a sparse table, prune and tidy up."""
    growth, rows, limits = _plant(columns, target, weights, counts, n_classes, settings)
    items = list_rows((target[0], target[1], np.empty(n_classes)), weights, counts)
    space = make_sparse_space(columns, len(counts), rows)
    search = make_search(columns, n_classes)
    first = np.int64(0)
    grow_sorted(growth, columns, items, space, search, Root(first, first, np.uint64(seed)), len(rows), limits)
    return finish(growth, columns.n_codes, settings.complexity, limits)


@kernel
def _plant(columns, target, weights, counts, n_classes, settings):  # type: ignore[no-untyped-def]
    """Make the root and the buffers that the largest possible tree needs."""
    n_rows = 0
    count = 0
    for i in range(len(counts)):
        n_rows += counts[i] > 0
        count += counts[i]
    min_leaf = max(1, settings.min_leaf)
    # Every leaf but a lone root has at least one row and at least min_leaf copies, and n leaves make 2 n - 1 nodes. Of
    # these n - 1 are splits, each with at most n_words.
    n_nodes = max(1, 2 * min(n_rows, count // min_leaf) - 1)
    n_words = 0
    for f in range(len(columns.n_codes)):
        if category_flag(columns.is_category, f):
            n_words = max(n_words, (columns.n_codes[f] + 31) // 32)
    growth = Growth(
        np.empty(n_nodes, dtype=NODE),
        np.empty((n_nodes, n_classes)),
        np.empty(n_words * (n_nodes // 2), dtype=np.uint32),
        np.empty(2, dtype=np.int64),
    )
    growth.used[0] = 1
    growth.used[1] = 0

    rows = np.empty(n_rows, dtype=np.int32)
    sums = growth.values[0]
    sums[:] = 0.0
    weight = 0.0
    n_rows = 0
    for i in range(len(counts)):
        if counts[i] > 0:
            rows[n_rows] = i
            n_rows += 1
            add_row(target, i, float(weights[i]), sums)
            weight += weights[i]
    make_leaf(growth.nodes, np.int64(0), weight, np.int64(count))
    return growth, rows, make_limits(settings, len(columns.n_codes), sums, weight, is_multilabel(target))


@kernel
def make_limits(settings, n_features, sums, weight, multilabel):  # type: ignore[no-untyped-def]
    """Turn the settings into limits for a tree whose root has these class weights."""
    min_leaf = max(1, settings.min_leaf)
    return Limits(
        max(settings.min_split, 2 * min_leaf),
        min_leaf,
        settings.max_depth,
        min(settings.max_features, n_features),
        settings.random_cuts,
        max(0.0, settings.complexity) * risk(sums, weight, multilabel),
        1e-10 * weight,
        settings.less_chance,
        multilabel,
    )


@kernel
def finish(growth, n_codes, complexity, limits):  # type: ignore[no-untyped-def]
    """Prune a grown tree and return its arrays."""
    if complexity >= 0:
        collapse(growth, limits.min_risk, limits.multilabel)
    return compact(growth, n_codes)


@kernel
def _weigh(nodes, values, leaves, target, counts, weights):  # type: ignore[no-untyped-def]
    """Replace the rounded weights in every node by the sums of the given ones."""
    values[:] = 0.0
    for node in range(len(nodes)):
        nodes[node].weight = 0.0
    for i in range(len(leaves)):
        if counts[i] > 0:
            add_row(target, i, weights[i], values[leaves[i]])
            nodes[leaves[i]].weight += weights[i]
    add_to_parents(nodes, values)
    for node in range(len(nodes) - 1, -1, -1):
        if nodes[node].feature >= 0:
            left = nodes[node].left
            nodes[node].weight += nodes[left].weight + nodes[left + 1].weight
