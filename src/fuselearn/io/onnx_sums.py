"""Sums of trees as nodes of an ONNX graph, in single precision, like the operator, or in double precision."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from onnx import TensorProto

from fuselearn._messages import show
from fuselearn.io.onnx_graph import ML, Graph, take
from fuselearn.io.onnx_trees import StretchesError, TreeSum, describe_trees


def add_sums(graph: Graph, model: Any, tree_sum: TreeSum, matrix: str) -> str:
    """Add a sum of trees in single precision, or refuse a model with too many categories."""
    try:
        trees = describe_trees(tree_sum)
    except StretchesError as error:
        column = getattr(model, "feature_names_in_", range(model.n_features_in_))[error.column]
        raise TypeError(
            f"{type(model).__name__} cannot be exported to ONNX: feature {show(column)} has too many categories."
        ) from error
    return graph.add("TreeEnsembleRegressor", [matrix], graph.name("sums"), domain=ML, **trees)


def add_exact_sums(graph: Graph, model: Any, tree_sum: TreeSum, matrix: str) -> str:
    """Add a sum of trees in double precision, although the operator's output is single precision."""
    n_targets = tree_sum.n_targets
    parts = split_exactly(tree_sum.values)
    n_parts = parts[0].shape[1] // tree_sum.values[0].shape[1]
    columns = [np.concatenate([own + n_targets * part for part in range(n_parts)]) for own in tree_sum.targets()]
    split = tree_sum._replace(values=parts, columns=columns)
    doubles = graph.add("Cast", [add_sums(graph, model, split, matrix)], graph.name("sums"), to=TensorProto.DOUBLE)
    total = ""
    for part in range(n_parts):
        taken = take(graph, doubles, part * n_targets + np.arange(n_targets))
        total = taken if not total else graph.add("Add", [total, taken], graph.name("total"))
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
