"""The inputs of an exported model: one matrix of numbers, or one input per feature if some are categorical."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper

from fuselearn.io.onnx_graph import ML, Graph

Categories = list[npt.NDArray[Any] | None]

UNKNOWN = -1.0


def add_inputs(
    graph: Graph, model: Any, categories: Categories, X: Any = None
) -> tuple[list[onnx.ValueInfoProto], str]:
    """Declare the inputs of a model, and add the nodes that join them into one matrix of doubles.

    Parameters
    ----------
    graph : Graph
    model : estimator
        Fitted.
    categories : list of (array or None)
        The categories of each feature, None for numbers.
    X : array, optional
        If it has single precision, so has the input matrix.

    Returns
    -------
    list of ValueInfoProto
    str
        Name of the matrix.
    """
    if any(levels is not None for levels in categories):
        return _add_columns(graph, model, categories)
    name = graph.name("X")
    if getattr(X, "dtype", None) != np.float32:
        return [_declare(name, TensorProto.DOUBLE, model.n_features_in_)], name
    matrix = graph.add("Cast", [name], graph.name("doubles"), to=TensorProto.DOUBLE)
    return [_declare(name, TensorProto.FLOAT, model.n_features_in_)], matrix


def _add_columns(graph: Graph, model: Any, categories: Categories) -> tuple[list[Any], str]:
    names = getattr(model, "feature_names_in_", [f"column_{f}" for f in range(len(categories))])
    inputs, columns = [], []
    for name, levels in zip(names, categories, strict=True):
        if graph.name(name) != name:
            raise ValueError(f"Feature {name!r} has the name of an output of the exported model; rename it.")
        is_text = levels is not None and not _are_numbers(levels)
        if levels is not None and is_text and not all(isinstance(level, str) for level in levels):
            raise TypeError(
                f"Feature {name!r} has categories that are neither text nor numbers, which ONNX does not support."
            )
        inputs.append(_declare(name, TensorProto.STRING if is_text else TensorProto.DOUBLE, 1))
        columns.append(name if levels is None else _add_encoder(graph, name, levels, is_text))
    return inputs, graph.add("Concat", columns, graph.name("doubles"), axis=1)


def _add_encoder(graph: Graph, name: str, levels: npt.NDArray[Any], is_text: bool) -> str:
    """Encode categories as their numbers, missing ones as NaN and unknown ones as -1."""
    missing = "" if is_text else np.nan
    keys = levels.astype(object if is_text else np.float64)
    numbers = np.arange(len(levels), dtype=np.float64)
    if missing not in set(keys):
        keys, numbers = np.append(keys, missing), np.append(numbers, np.nan)
    return graph.add(
        "LabelEncoder",
        [name],
        graph.name("numbers"),
        domain=ML,
        keys_tensor=keys,
        values_tensor=numbers,
        default_tensor=np.array([UNKNOWN]),
    )


def _are_numbers(levels: npt.NDArray[Any]) -> bool:
    if levels.dtype.kind in "biuf":
        return True
    return levels.dtype == object and all(isinstance(level, int | float | np.number | np.bool_) for level in levels)


def _declare(name: str, kind: int, width: int) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, ["n_rows", width])
