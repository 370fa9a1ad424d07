"""Prune a tree the way rpart does: by misclassification risk, relative to the root's.

A split is worth its complexity

    (risk of the node - risk of the leaves below it) / number of splits below it,

counted without those descendants that collapse before it. Splits whose worth is at most ``complexity`` times the
root's risk are undone, from the leaves upwards. This is Breiman's cost-complexity pruning with
misclassification as the cost, unlike scikit-learn's ``ccp_alpha``, which takes the impurity as the cost.
"""

import numpy as np

from fuselearn._kernels import borrowing, inner
from fuselearn.engines.tree.targets import risk


@inner
def collapse(growth, min_worth, multilabel):  # type: ignore[no-untyped-def]
    """Turn splits that are not worth more than ``min_worth`` into leaves."""
    nodes = growth.nodes
    n_nodes = growth.used[0]
    worth = np.empty(n_nodes)
    worth[:] = min_worth
    risks = np.empty(n_nodes)
    subtree_risk = np.empty(n_nodes)
    n_splits = np.zeros(n_nodes, dtype=np.int64)
    for node in range(n_nodes - 1, -1, -1):
        risks[node] = risk(growth.values[node], nodes[node].weight, multilabel)
        subtree_risk[node] = risks[node]
        if nodes[node].feature < 0:
            continue
        first = nodes[node].left
        second = first + 1
        if worth[second] <= worth[first]:
            first, second = second, first
        below = subtree_risk[first] + subtree_risk[second]
        splits = n_splits[first] + n_splits[second] + 1
        node_worth = (risks[node] - below) / splits
        # A child that is worth less than its parent collapses before it and does not count.
        if node_worth > worth[first]:
            below += risks[first] - subtree_risk[first]
            splits -= n_splits[first]
            node_worth = (risks[node] - below) / splits
            if node_worth > worth[second]:
                below += risks[second] - subtree_risk[second]
                splits -= n_splits[second]
                node_worth = (risks[node] - below) / splits
        if node_worth <= min_worth:
            nodes[node].feature = -1
        else:
            worth[node] = node_worth
            subtree_risk[node] = below
            n_splits[node] = splits


@inner
def compact(growth, n_codes):  # type: ignore[no-untyped-def]
    """Copy the nodes that can be reached from the root, level by level, so that a tree is the same however it grew."""
    nodes = growth.nodes
    order = np.empty(growth.used[0], dtype=np.int64)
    order[0] = 0
    n_kept = 1
    n_words = 0
    for new in range(len(order)):
        if new == n_kept:
            break
        node = order[new]
        if nodes[node].feature >= 0:
            order[n_kept] = nodes[node].left
            order[n_kept + 1] = nodes[node].left + 1
            n_kept += 2
            if nodes[node].is_category:
                n_words += (n_codes[nodes[node].feature] + 31) // 32

    kept = np.empty(n_kept, dtype=nodes.dtype)
    values = np.empty((n_kept, growth.values.shape[1]))
    subsets = np.empty(n_words, dtype=np.uint32)
    next_child = 1
    n_words = 0
    for new in range(n_kept):
        node = order[new]
        kept[new] = nodes[node]
        for j in range(values.shape[1]):  # an assignment of whole rows would take seconds to compile
            values[new, j] = growth.values[node, j]
        if nodes[node].feature < 0:
            _clear_split(kept, new)
            continue
        kept[new].left = next_child
        next_child += 2
        if nodes[node].is_category:
            size = (n_codes[nodes[node].feature] + 31) // 32
            for word in range(size):
                subsets[n_words + word] = growth.subsets[nodes[node].cut + word]
            kept[new].cut = n_words
            n_words += size
    return kept, values, subsets


@borrowing
def _clear_split(nodes, node):  # type: ignore[no-untyped-def]
    """Make a pruned node look like a leaf that was never split."""
    nodes[node].threshold = 0.0
    nodes[node].gain = 0.0
    nodes[node].left = -1
    nodes[node].cut = -1
    nodes[node].is_category = False
    nodes[node].missing_left = True
    nodes[node].heavier_left = True
