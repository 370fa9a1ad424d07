"""Descriptions of a single tree: its nodes as text, and its feature importances."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from fuselearn._core import Tree


def write_tree(model: Any, describe_leaf: Callable[[int], str], decimals: int) -> str:
    """Return the tree of a fitted estimator as text, one line per node."""
    lines: list[str] = []
    _write_node(model, 0, "", "", describe_leaf, decimals, lines)
    return "\n".join(lines)


def _write_node(
    model: Any, node: int, indent: str, condition: str, describe_leaf: Callable[[int], str], decimals: int, lines: Any
) -> None:
    record = model.tree_.nodes[node]
    if record["feature"] < 0:
        lines.append(f"{indent}{condition}: {describe_leaf(node)}" if condition else describe_leaf(node))
        return
    if condition:
        lines.append(indent + condition)
        indent += "  "
    for side, side_condition in enumerate(conditions_of_split(model, record, decimals)):
        _write_node(model, record["left"] + side, indent, side_condition, describe_leaf, decimals, lines)


def conditions_of_split(model: Any, record: Any, decimals: int) -> tuple[str, str]:
    """Return which samples go to the left and which to the right."""
    feature = record["feature"]
    name = model.feature_names_in_[feature] if hasattr(model, "feature_names_in_") else f"x[{feature}]"
    if record["is_category"]:
        left, right = _sides(model, record)
        return f"{name} in {left}", f"{name} in {right}"
    if np.isinf(record["threshold"]):
        return f"{name} is not missing", f"{name} is missing"
    cut = shorten(record["threshold"], decimals)
    return f"{name} < {cut}", f"{name} >= {cut}"


def _sides(model: Any, record: Any) -> tuple[str, str]:
    """Name the categories on the left and on the right of a split."""
    levels = None if model._coder_ is None else model._coder_.categories_[record["feature"]]
    assert levels is not None, "category splits are made on category columns only"
    codes = np.arange(len(levels))
    words = model.tree_.subsets[record["cut"] + codes // 32]
    is_left = (words >> (codes % 32).astype(np.uint32)) & 1 == 1
    left, right = (", ".join(map(str, levels[side])) for side in (is_left, ~is_left))
    return "{" + left + "}", "{" + right + "}"


def tree_importances(tree: Tree, n_features: int) -> npt.NDArray[np.float64]:
    """Return the decrease of impurity by the splits of each feature, normalized to sum to one."""
    is_split = tree.nodes["feature"] >= 0
    gains = np.zeros(n_features)
    np.add.at(gains, tree.nodes["feature"][is_split], tree.nodes["gain"][is_split])
    return gains / gains.sum() if gains.any() else gains


def shorten(number: float, decimals: int) -> str:
    """Format a number with at most this many decimals."""
    return f"{number:.{decimals}f}".rstrip("0").rstrip(".") if decimals > 0 else f"{number:.0f}"
