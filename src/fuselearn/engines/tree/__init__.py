"""A CART engine for ensembles: one coded table, many trees.

The flow is ``code_columns`` (once per dataset), ``grow_tree`` (once per tree, given how often each sample was drawn),
``tree.apply`` or ``tree.vote`` (the tree on the table itself), ``Forest`` and ``sum_leaf_values`` (many trees on new
samples). ``stack_trees`` and ``unstack_trees`` are for files.
"""

from fuselearn._core import NODE, Forest, SparseTable, Table, Tree
from fuselearn.engines.tree.coding import code_columns
from fuselearn.engines.tree.growing import (
    ClassTarget,
    LabelTarget,
    StoragePlan,
    TreeSettings,
    grow_tree,
    make_label_target,
)
from fuselearn.engines.tree.leaf_values import LeafCollector, LeafValues, restore_leaf_values, restore_weights
from fuselearn.engines.tree.predicting import apply_forest, sum_leaf_values
from fuselearn.engines.tree.sparse_coding import code_entries, is_mostly_zero
from fuselearn.engines.tree.storing import stack_trees, unstack_trees

__all__ = [
    "NODE",
    "ClassTarget",
    "Forest",
    "LabelTarget",
    "LeafCollector",
    "LeafValues",
    "SparseTable",
    "StoragePlan",
    "Table",
    "Tree",
    "TreeSettings",
    "apply_forest",
    "code_columns",
    "code_entries",
    "grow_tree",
    "is_mostly_zero",
    "make_label_target",
    "restore_leaf_values",
    "restore_weights",
    "stack_trees",
    "sum_leaf_values",
    "unstack_trees",
]
