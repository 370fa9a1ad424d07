"""Check what compiled code will use as an index in a loaded model.

Compiled code does not check indices, so a forged file could make it read or write any memory. fuselearn's own trees
are checked while they are restored (``learners/forests.py``). This module checks support vector machines,
hierarchies of labels, and scikit-learn's trees, which may be base learners or steps of a pipeline.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from fuselearn.io.errors import ModelFileError


def check_contents(model: Any) -> None:
    """Refuse a model with malformed trees, support vector machines or hierarchies."""
    for part in walk_parts(model):
        check = CHECKS.get(f"{type(part).__module__}.{type(part).__name__}")
        if check is not None:
            check(part)


def walk_parts(model: Any) -> Iterator[Any]:
    """Iterate over a model and everything in it, each once."""
    waiting, seen = [model], set()
    while waiting:
        part = waiting.pop()
        if id(part) not in seen:
            seen.add(id(part))
            yield part
            waiting.extend(_below(part))


def _below(part: Any) -> Iterable[Any]:
    if isinstance(part, dict):
        return part.values()
    if isinstance(part, list | tuple | set):
        return part
    if isinstance(part, np.ndarray):
        return part.ravel() if part.dtype == object else ()
    return vars(part).values() if hasattr(part, "__dict__") and not isinstance(part, type) else ()


def _check_machines(block: Any) -> None:
    """Check that support vector machines fit the table that they were trained on."""
    table, machines, n_machines = block.table, block.machines, np.count_nonzero(~block.is_constant)
    if (
        table.shift.shape != (table.n_columns,)
        or table.scale.shape != (table.n_columns,)
        or block.is_constant.shape != block.constants.shape
        or (machines is None) != (n_machines == 0)
    ):
        raise ModelFileError("It holds support vector machines that do not fit their table.")
    if machines is None:
        return
    if machines.support is not None:
        width = len(machines.support)
    elif block.kernel.name == "linear":
        width = table.n_columns
    else:
        width = len(table.radial_maps[block.kernel.factor].normalization_)
    if machines.coefficients.shape != (n_machines, width) or machines.intercepts.shape != (n_machines,):
        raise ModelFileError("It holds support vector machines that do not fit their table.")
    if machines.support is not None and width:
        training = table.root.training_rows()
        if training.shape != (table.n_rows, table.n_columns) or table.appended.shape[0] != table.n_rows:
            raise ModelFileError("It holds support vector machines that do not fit their table.")
        if machines.support.min() < 0 or machines.support.max() >= table.n_rows:
            raise ModelFileError("It holds support vectors out of range.")


def _check_hierarchy(component: Any) -> None:
    """Check that nodes of a hierarchy come after their parents, so that every descent ends."""
    for number, node in enumerate(component.hierarchy):
        if any(child != -1 and not number < child < len(component.hierarchy) for child in node.children):
            raise ModelFileError("It holds a hierarchy of labels with children out of place.")


def _check_tree(tree: Any) -> None:
    state = tree.__getstate__()
    nodes, values = state["nodes"], state["values"]
    _check_nodes(nodes["left_child"], nodes["right_child"], nodes["left_child"] < 0, nodes["feature"], tree.n_features)
    if len(values) != len(nodes) or tree.node_count != len(nodes):
        raise ModelFileError("It holds a tree of scikit-learn with more nodes than values.")


def _check_predictor(predictor: Any) -> None:
    nodes = predictor.nodes
    _check_nodes(nodes["left"], nodes["right"], nodes["is_leaf"] != 0, nodes["feature_idx"], None)
    if not len(predictor.binned_left_cat_bitsets) == len(predictor.raw_left_cat_bitsets):
        raise ModelFileError("It holds a tree of scikit-learn whose categories do not fit together.")
    is_category = (nodes["is_categorical"] != 0) & (nodes["is_leaf"] == 0)
    if (nodes["bitset_idx"][is_category] >= len(predictor.raw_left_cat_bitsets)).any():
        raise ModelFileError("It holds a tree of scikit-learn that refers to categories out of place.")


def _check_nodes(
    left: npt.NDArray[Any],
    right: npt.NDArray[Any],
    is_leaf: npt.NDArray[np.bool_],
    feature: npt.NDArray[Any],
    n_features: int | None,
) -> None:
    """Check that the children of each node come later, so that every descent ends, and that its column exists."""
    place = np.arange(len(left))[~is_leaf]
    for child in (left[~is_leaf].astype(np.int64), right[~is_leaf].astype(np.int64)):
        if (child <= place).any() or (child >= len(left)).any():
            raise ModelFileError("It holds a tree of scikit-learn with children out of place.")
    columns = feature[~is_leaf].astype(np.int64)
    if (columns < 0).any() or (n_features is not None and (columns >= n_features).any()):
        raise ModelFileError("It holds a tree of scikit-learn that splits a column that does not exist.")


CHECKS: dict[str, Callable[[Any], None]] = {
    "fuselearn.multilabel.methods.homer.HOMERModel": _check_hierarchy,
    "fuselearn.learners.svm.LabelMachines": _check_machines,
    "sklearn.tree._tree.Tree": _check_tree,
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor": _check_predictor,
}
