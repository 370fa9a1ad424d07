"""Convert trees to one ``TreeEnsembleRegressor``, ONNX's operator for a sum of trees.

Its nodes compare numbers only. A categorical split therefore becomes a chain of comparisons: categories are numbers,
the categories of one side form a few intervals of these numbers, and a chain of comparisons with the ends of the
intervals finds the side. The ends are halves, so that nothing depends on rounding; an unknown category, -1, is in the
first one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from onnx import TensorProto

from fuselearn._core import Tree
from fuselearn._messages import show
from fuselearn.io.onnx_graph import ML, Graph

# onnxruntime descends a chain recursively, and crashes if the calls fill its stack.
LONGEST_CHAIN = 2_000


NODE = np.dtype(
    [
        ("featureids", np.int64),
        ("modes", "U9"),
        ("values_as_tensor", np.float64),
        ("truenodeids", np.int64),
        ("falsenodeids", np.int64),
        ("missing_value_tracks_true", np.int64),
    ]
)
"""A node of the operator."""


class TreeSum(NamedTuple):
    """Sums of trees: for each sample and target, the sum over trees of the value of the leaf that it reaches.

    ``values[t]`` has one row per node of tree ``t``, with values used at leaves only, and one column for each target in
    ``columns[t]`` that the tree adds to; without ``columns``, each tree adds to all targets.
    """

    trees: Sequence[Tree]
    values: Sequence[npt.NDArray[np.float64]]
    n_categories: npt.NDArray[np.int32]
    columns: Sequence[npt.NDArray[np.intp]] | None = None

    def targets(self) -> Sequence[npt.NDArray[np.intp]]:
        """Return the targets that each tree adds to."""
        return [np.arange(values.shape[1]) for values in self.values] if self.columns is None else self.columns

    @property
    def n_targets(self) -> int:
        """Number of sums."""
        return 1 + max(int(targets.max()) for targets in self.targets())


def add_sums(graph: Graph, estimator: Any, tree_sum: TreeSum, matrix: str) -> str:
    """Add a sum of trees in single precision; too many categories raise an error."""
    nodes = [_list_nodes(tree, tree_sum.n_categories, estimator) for tree in tree_sum.trees]
    weights = []
    for tree, values, columns in zip(tree_sum.trees, tree_sum.values, tree_sum.targets(), strict=True):
        is_leaf = tree.nodes["feature"] < 0
        is_weight = (values != 0.0) & is_leaf[:, None]
        is_weight[:, 0] |= is_leaf  # a leaf needs a weight, even if it is zero
        nodes_of_weights, targets = np.nonzero(is_weight)
        weights.append((nodes_of_weights, columns[targets], values[is_weight]))
    node_ids, target_ids, target_weights = (np.concatenate(part) for part in zip(*weights, strict=True))
    together = np.concatenate(nodes)
    attributes: dict[str, Any] = {f"nodes_{name}": together[name] for name in NODE.names or ()}
    return graph.add(
        "TreeEnsembleRegressor",
        matrix,
        domain=ML,
        n_targets=tree_sum.n_targets,
        nodes_treeids=np.repeat(np.arange(len(nodes)), [len(own) for own in nodes]),
        nodes_nodeids=np.concatenate([np.arange(len(own)) for own in nodes]),
        **attributes,
        target_treeids=np.repeat(np.arange(len(weights)), [len(own[0]) for own in weights]),
        target_nodeids=node_ids,
        target_ids=target_ids,
        target_weights_as_tensor=target_weights,
    )


def _list_nodes(tree: Tree, n_categories: npt.NDArray[np.int32], estimator: Any) -> npt.NDArray[Any]:
    """Return the nodes of a tree, followed by the nodes of the chains for categorical splits."""
    is_split = tree.nodes["feature"] >= 0
    nodes, splits = np.zeros(len(tree.nodes), dtype=NODE), tree.nodes[is_split]
    nodes["modes"] = np.where(is_split, "BRANCH_LT", "LEAF")
    nodes["featureids"][is_split] = splits["feature"]
    nodes["values_as_tensor"][is_split] = splits["threshold"]
    nodes["truenodeids"][is_split] = splits["left"]
    nodes["falsenodeids"][is_split] = splits["left"] + 1
    nodes["missing_value_tracks_true"][is_split] = splits["missing_left"]
    parts, n_nodes = [nodes], len(nodes)
    for node in np.flatnonzero(is_split & tree.nodes["is_category"]):
        feature = tree.nodes["feature"][node]
        chain = _list_chain(tree, node, n_nodes, n_categories[feature])
        if len(chain) > LONGEST_CHAIN:
            name = getattr(estimator, "feature_names_in_", range(estimator.n_features_in_))[feature]
            raise TypeError(
                f"{type(estimator).__name__} cannot be exported to ONNX: feature {show(name)} has too many categories."
            )
        nodes[node] = chain[0]  # the chain begins at the node of the split
        parts.append(chain[1:])
        n_nodes += len(chain) - 1
    return np.concatenate(parts)


def _list_chain(tree: Tree, node: np.intp, next_free: int, n_categories: np.int32) -> npt.NDArray[Any]:
    """Convert a categorical split to comparisons, numbered from ``next_free`` except for the first.

    Each comparison sends the numbers below the end of an interval to its side, and the others to the next comparison.
    """
    record = tree.nodes[node]
    numbers = np.arange(n_categories)
    words = tree.subsets[record["cut"] + numbers // 32]
    in_left = (words >> (numbers % 32).astype(np.uint32)) & 1 == 1
    goes_left = np.concatenate([[record["heavier_left"]], in_left])  # the unknown category, -1, comes first
    last = np.flatnonzero(goes_left[1:] != goes_left[:-1])  # of each interval but the last one
    ends, side_left = last - 0.5, goes_left[last]
    if len(ends) == 0:  # only missing values are separated here
        ends, side_left = np.array([np.inf]), goes_left[:1]
    chain, left = np.zeros(len(ends), dtype=NODE), int(record["left"])
    chain["featureids"] = record["feature"]
    chain["modes"] = "BRANCH_LT"
    chain["values_as_tensor"] = ends
    chain["truenodeids"] = np.where(side_left, left, left + 1)
    chain["falsenodeids"] = next_free + np.arange(len(ends))
    chain["falsenodeids"][-1] = left + int(side_left[-1])
    chain["missing_value_tracks_true"] = side_left == record["missing_left"]
    return chain


def add_exact_sums(graph: Graph, estimator: Any, tree_sum: TreeSum, matrix: str) -> str:
    """Add a sum of trees in double precision, although the operator's output is single precision."""
    n_targets = tree_sum.n_targets
    parts = split_exactly(tree_sum.values)
    n_parts = parts[0].shape[1] // tree_sum.values[0].shape[1]
    columns = [np.concatenate([own + n_targets * part for part in range(n_parts)]) for own in tree_sum.targets()]
    split = tree_sum._replace(values=parts, columns=columns)
    doubles = graph.add("Cast", add_sums(graph, estimator, split, matrix), to=TensorProto.DOUBLE)
    total = ""
    for part in range(n_parts):
        taken = graph.take(doubles, part * n_targets + np.arange(n_targets))
        total = graph.add("Add", total, taken) if total else taken
    return total


def split_exactly(values: Sequence[npt.NDArray[np.float64]]) -> Sequence[npt.NDArray[np.float64]]:
    """Split numbers into parts with exact single-precision sums over all arrays.

    The first part of each number is a multiple of a power of two, which is so large that no sum of such multiples has
    more than 24 binary digits. The second part is a multiple of a smaller one, and the third is what remains.

    Parameters
    ----------
    values : list of arrays of shape (n_nodes, n_labels)

    Returns
    -------
    list of arrays of shape (n_nodes, n_parts n_labels)
        The arrays themselves if the first parts are exact.
    """
    rests = values
    parts: list[Sequence[npt.NDArray[np.float64]]] = []
    for _ in range(2):
        bound = max(sum(np.abs(rest).max() for rest in rests), np.finfo(np.float64).tiny)
        unit = 2.0 ** (np.ceil(np.log2(bound)) - 23)
        parts.append([np.rint(rest / unit) * unit for rest in rests])
        rests = [rest - part for rest, part in zip(rests, parts[-1], strict=True)]
        if not any(rest.any() for rest in rests):
            break
    parts.append(rests)
    if not any(rest.any() for part in parts[1:] for rest in part):
        return values
    return [np.hstack(columns) for columns in zip(*parts, strict=True)]
