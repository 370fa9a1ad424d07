"""A CART engine for ensembles: one coded table, many trees.

The flow is ``code_columns`` (once per dataset), ``grow_tree`` (once per tree, given how often each row was drawn),
``apply_codes`` or ``vote_codes`` (the tree on the table itself), ``pack_forest`` and ``sum_leaf_values`` (many trees
on new rows). ``stack_trees`` and ``unstack_trees`` are for files.
"""

from fuselearn.engines.tree.coding import CodedColumns, code_columns
from fuselearn.engines.tree.growing import (
    ClassTarget,
    LabelTarget,
    StoragePlan,
    TreeSettings,
    grow_tree,
    make_label_target,
)
from fuselearn.engines.tree.leaf_values import LeafCollector, LeafValues, restore_leaf_values, restore_weights
from fuselearn.engines.tree.nodes import Tree
from fuselearn.engines.tree.packing import PackedForest, number_leaves, pack_forest
from fuselearn.engines.tree.predicting import apply_codes, apply_forest, sum_leaf_values, vote_codes
from fuselearn.engines.tree.sparse_coding import SparseColumns, code_entries, is_mostly_zero
from fuselearn.engines.tree.storing import stack_trees, unstack_trees

__all__ = [
    "ClassTarget",
    "CodedColumns",
    "LabelTarget",
    "LeafCollector",
    "LeafValues",
    "PackedForest",
    "SparseColumns",
    "StoragePlan",
    "Tree",
    "TreeSettings",
    "apply_codes",
    "apply_forest",
    "code_columns",
    "code_entries",
    "grow_tree",
    "is_mostly_zero",
    "make_label_target",
    "number_leaves",
    "pack_forest",
    "restore_leaf_values",
    "restore_weights",
    "stack_trees",
    "sum_leaf_values",
    "unstack_trees",
    "vote_codes",
]
