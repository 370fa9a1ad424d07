"""Build ONNX graphs, node by node, without repeating the checks that cost seconds on large tree ensembles.

The inputs of a graph are one matrix of numbers, or one input per feature if some are categorical.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import AttributeProto, NodeProto, TensorProto, helper, numpy_helper

ML = "ai.onnx.ml"
UNKNOWN = -1.0

Categories = list[npt.NDArray[Any] | None]


class Graph:
    """An ONNX graph under construction.

    Parameters
    ----------
    taken : iterable of str, default=()
        Names that are used already.
    unique : callable, optional
        Turns a name into one that is not used yet; by default, a number is appended.

    Attributes
    ----------
    nodes : list of NodeProto
    constants : list of TensorProto
    """

    def __init__(self, taken: Iterable[str] = (), unique: Callable[[str], str] | None = None) -> None:
        self.nodes: list[NodeProto] = []
        self.constants: list[TensorProto] = []
        self._taken = set(taken)
        self._unique = unique

    def name(self, wanted: str) -> str:
        """Return a name that is not yet used in the graph."""
        if self._unique is not None:
            return self._unique(wanted)
        name, number = wanted, 1
        while name in self._taken:
            name, number = f"{wanted}_{number}", number + 1
        self._taken.add(name)
        return name

    def add(
        self,
        operator: str,
        *operands: str | float | npt.NDArray[Any],
        output: str | None = None,
        domain: str = "",
        **attributes: Any,
    ) -> str:
        """Add an operator on named values and constants, and return the name of its output."""
        inputs = [one if isinstance(one, str) else self.constant(one) for one in operands]
        output = self.name(operator.lower()) if output is None else output
        node = NodeProto(op_type=operator, domain=domain, name=output, input=inputs, output=[output])
        node.attribute.extend(_attribute(name, value) for name, value in attributes.items())
        self.nodes.append(node)
        return output

    def constant(self, values: npt.ArrayLike) -> str:
        """Add a constant and return its name."""
        name = self.name("constant")
        self.constants.append(numpy_helper.from_array(np.asarray(values), name))
        return name

    def take(self, values: str, columns: npt.NDArray[np.integer]) -> str:
        """Add a selection of columns."""
        return self.add("Gather", values, columns.astype(np.int64), axis=1)


def add_logistic(graph: Graph, values: str) -> str:
    """Add 1 / (1 + exp(-values)), in a form that stays above 0 as long as it can."""
    power = graph.add("Exp", graph.add("Neg", graph.add("Abs", values)))
    return graph.add(
        "Div", graph.add("Where", graph.add("Less", values, 0.0), power, 1.0), graph.add("Add", 1.0, power)
    )


def add_is_largest(graph: Graph, scores: str, width: int) -> str:
    """Mark the largest score of each sample, the first one in case of ties."""
    return graph.add("Equal", graph.add("ArgMax", scores, axis=1, keepdims=1), np.arange(width))


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
        return [declare(name, TensorProto.DOUBLE, model.n_features_in_)], name
    matrix = graph.add("Cast", name, to=TensorProto.DOUBLE)
    return [declare(name, TensorProto.FLOAT, model.n_features_in_)], matrix


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
        inputs.append(declare(name, TensorProto.STRING if is_text else TensorProto.DOUBLE, 1))
        columns.append(name if levels is None else _add_encoder(graph, name, levels, is_text))
    return inputs, graph.add("Concat", *columns, axis=1)


def _add_encoder(graph: Graph, name: str, levels: npt.NDArray[Any], is_text: bool) -> str:
    """Encode categories as their numbers, missing ones as NaN and unknown ones as -1."""
    missing = "" if is_text else np.nan
    keys = levels.astype(object if is_text else np.float64)
    numbers = np.arange(len(levels), dtype=np.float64)
    if missing not in set(keys):
        keys, numbers = np.append(keys, missing), np.append(numbers, np.nan)
    return graph.add(
        "LabelEncoder",
        name,
        domain=ML,
        keys_tensor=keys,
        values_tensor=numbers,
        default_tensor=np.array([UNKNOWN]),
    )


def _are_numbers(levels: npt.NDArray[Any]) -> bool:
    if levels.dtype.kind in "biuf":
        return True
    return levels.dtype == object and all(isinstance(level, int | float | np.number | np.bool_) for level in levels)


def declare(name: str, kind: int, width: int) -> onnx.ValueInfoProto:
    """Declare an input or an output of the graph."""
    return helper.make_tensor_value_info(name, kind, ["n_samples", width])


def finish_model(
    graph: Graph,
    name: str,
    inputs: list[onnx.ValueInfoProto],
    outputs: list[onnx.ValueInfoProto],
    opset: int,
    producer_version: str,
) -> onnx.ModelProto:
    """Return a model of the graph, for the oldest version of ONNX that supports it."""
    opsets = [helper.make_opsetid("", opset)]
    encoders = any(node.op_type == "LabelEncoder" for node in graph.nodes)
    opsets.append(helper.make_opsetid(ML, 4 if encoders else 3))  # LabelEncoder supports doubles from version 4 on
    return helper.make_model(
        helper.make_graph(graph.nodes, name, inputs, outputs, graph.constants),
        opset_imports=opsets,
        ir_version=helper.find_min_ir_version_for(opsets),
        producer_name="fuselearn",
        producer_version=producer_version,
    )


def _attribute(name: str, value: Any) -> AttributeProto:
    if name.endswith("_tensor"):
        return AttributeProto(name=name, type=AttributeProto.TENSOR, t=numpy_helper.from_array(value))
    if isinstance(value, np.ndarray) and value.dtype.kind == "U":
        return AttributeProto(name=name, type=AttributeProto.STRINGS, strings=np.char.encode(value).tolist())
    if isinstance(value, np.ndarray):
        return AttributeProto(name=name, type=AttributeProto.INTS, ints=value.tolist())
    return helper.make_attribute(name, value)
