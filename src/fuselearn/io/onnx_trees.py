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

from fuselearn._messages import show
from fuselearn.engines.trees import Tree
from fuselearn.io.onnx_graph import ML, Graph

# onnxruntime descends a chain recursively, and crashes if the calls fill its stack.
LONGEST_CHAIN = 2_000


class StretchesError(ValueError):
    """Raised if a categorical split would need too long a chain of comparisons."""

    def __init__(self, column: int) -> None:
        self.column = column


class TreeSum(NamedTuple):
    """Sums of trees: for each sample and target, the sum over trees of the value of the leaf that it reaches.

    ``values[t]`` has one row per node of tree ``t``, of which only those of leaves matter, and one column for each of
    the targets ``columns[t]`` that the tree adds to; without ``columns``, each tree adds to all.
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


def describe_trees(tree_sum: TreeSum) -> dict[str, Any]:
    """Return the attributes of a ``TreeEnsembleRegressor`` that computes a sum of trees from doubles.

    Parameters
    ----------
    tree_sum : TreeSum

    Returns
    -------
    dict
        Arrays by name of the attribute. ``nodes_modes`` holds text; names that end in ``as_tensor`` are tensors.
    """
    nodes = [_describe_nodes(tree, tree_sum.n_categories) for tree in tree_sum.trees]
    described: dict[str, Any] = {
        name: np.concatenate([getattr(part, name) for part in nodes]) for name in _Nodes._fields
    }
    described["nodes_nodeids"] = np.concatenate([np.arange(len(part.nodes_featureids)) for part in nodes])
    described["nodes_treeids"] = np.repeat(np.arange(len(nodes)), [len(part.nodes_featureids) for part in nodes])

    targets = []
    for tree, values, columns in zip(tree_sum.trees, tree_sum.values, tree_sum.targets(), strict=True):
        is_weight = (values != 0.0) & (tree.nodes["feature"] < 0)[:, None]
        is_weight[:, 0] |= tree.nodes["feature"] < 0  # a leaf needs a weight, even if it is zero
        nodes_of_weights, places = np.nonzero(is_weight)
        targets.append((nodes_of_weights, columns[places], values[is_weight]))
    described["target_treeids"] = np.repeat(np.arange(len(targets)), [len(part[0]) for part in targets])
    described["target_nodeids"] = np.concatenate([part[0] for part in targets])
    described["target_ids"] = np.concatenate([part[1] for part in targets])
    described["target_weights_as_tensor"] = np.concatenate([part[2] for part in targets])
    described["n_targets"] = tree_sum.n_targets
    return described


class _Nodes(NamedTuple):
    """The nodes of one tree, as arrays named like the operator's attributes."""

    nodes_featureids: npt.NDArray[Any]
    nodes_modes: npt.NDArray[Any]
    nodes_values_as_tensor: npt.NDArray[Any]
    nodes_truenodeids: npt.NDArray[Any]
    nodes_falsenodeids: npt.NDArray[Any]
    nodes_missing_value_tracks_true: npt.NDArray[Any]


def _describe_nodes(tree: Tree, n_categories: npt.NDArray[np.int32]) -> _Nodes:
    is_split = tree.nodes["feature"] >= 0
    described = _Nodes(
        np.where(is_split, tree.nodes["feature"], 0).astype(np.int64),
        np.where(is_split, "BRANCH_LT", "LEAF"),
        np.where(is_split, tree.nodes["threshold"], 0.0),
        np.where(is_split, tree.nodes["left"], 0).astype(np.int64),
        np.where(is_split, tree.nodes["left"] + 1, 0).astype(np.int64),
        (is_split & tree.nodes["missing_left"]).astype(np.int64),
    )
    chains = [described]
    n_nodes = len(tree.nodes)
    for node in np.flatnonzero(is_split & tree.nodes["is_category"]):
        chain = _describe_chain(tree, int(node), n_nodes, int(n_categories[tree.nodes["feature"][node]]))
        for column, link in zip(described, chain, strict=True):
            column[node] = link[0]  # the chain begins at the node of the split
        chains.append(_Nodes(*(column[1:] for column in chain)))
        n_nodes += len(chain.nodes_modes) - 1
    return _Nodes(*(np.concatenate(columns) for columns in zip(*chains, strict=True)))


def _describe_chain(tree: Tree, node: int, next_free: int, n_categories: int) -> _Nodes:
    """Convert a categorical split to comparisons, of which the second gets the number ``next_free``, and so on.

    Each comparison sends the numbers below the end of an interval to its side, and the others to the next comparison.
    """
    record = tree.nodes[node]
    numbers = np.arange(n_categories)
    words = tree.subsets[record["cut"] + numbers // 32]
    in_left = (words >> (numbers % 32).astype(np.uint32)) & 1 == 1
    goes_left = np.concatenate([[record["heavier_left"]], in_left])  # the unknown category, -1, comes first
    last = np.flatnonzero(goes_left[1:] != goes_left[:-1])  # of each interval but the last one
    ends = last - 0.5
    side_left = goes_left[last]
    if len(ends) == 0:  # only missing values are separated here
        ends, side_left = np.array([np.inf]), goes_left[:1]
    if len(ends) > LONGEST_CHAIN:
        raise StretchesError(int(record["feature"]))
    links = len(ends)
    left = int(record["left"])
    others_side = left + int(side_left[-1])
    return _Nodes(
        np.full(links, record["feature"], dtype=np.int64),
        np.full(links, "BRANCH_LT"),
        ends,
        np.where(side_left, left, left + 1).astype(np.int64),
        np.concatenate([np.arange(next_free, next_free + links - 1), [others_side]]).astype(np.int64),
        (side_left == record["missing_left"]).astype(np.int64),
    )


def add_sums(graph: Graph, model: Any, tree_sum: TreeSum, matrix: str) -> str:
    """Add a sum of trees in single precision, or refuse a model with too many categories."""
    try:
        trees = describe_trees(tree_sum)
    except StretchesError as error:
        column = getattr(model, "feature_names_in_", range(model.n_features_in_))[error.column]
        raise TypeError(
            f"{type(model).__name__} cannot be exported to ONNX: feature {show(column)} has too many categories."
        ) from error
    return graph.add("TreeEnsembleRegressor", matrix, domain=ML, **trees)


def add_exact_sums(graph: Graph, model: Any, tree_sum: TreeSum, matrix: str) -> str:
    """Add a sum of trees in double precision, although the operator's output is single precision."""
    n_targets = tree_sum.n_targets
    parts = split_exactly(tree_sum.values)
    n_parts = parts[0].shape[1] // tree_sum.values[0].shape[1]
    columns = [np.concatenate([own + n_targets * part for part in range(n_parts)]) for own in tree_sum.targets()]
    split = tree_sum._replace(values=parts, columns=columns)
    doubles = graph.add("Cast", add_sums(graph, model, split, matrix), to=TensorProto.DOUBLE)
    total = ""
    for part in range(n_parts):
        taken = graph.take(doubles, part * n_targets + np.arange(n_targets))
        total = graph.add("Add", total, taken) if total else taken
    return total


def split_exactly(values: Sequence[npt.NDArray[np.float64]]) -> Sequence[npt.NDArray[np.float64]]:
    """Split numbers into parts whose sums over all arrays lose nothing in single precision.

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
