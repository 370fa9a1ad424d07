"""Build ONNX graphs, node by node, without repeating the checks that cost seconds on large tree ensembles."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import AttributeProto, NodeProto, TensorProto, helper, numpy_helper

ML = "ai.onnx.ml"


class Graph:
    """Nodes and constants of an ONNX graph under construction.

    Attributes
    ----------
    nodes : list of NodeProto
    constants : list of TensorProto
    """

    def __init__(self, taken: set[str]) -> None:
        self.nodes: list[NodeProto] = []
        self.constants: list[TensorProto] = []
        self._taken = set(taken)

    def name(self, wanted: str) -> str:
        """Return a name that is not yet used in the graph."""
        name, number = wanted, 1
        while name in self._taken:
            name, number = f"{wanted}_{number}", number + 1
        self._taken.add(name)
        return name

    def add(self, operator: str, inputs: list[str], output: str, *, domain: str = "", **attributes: Any) -> str:
        """Add a node and return the name of its output."""
        node = NodeProto(op_type=operator, domain=domain, name=self.name(operator), input=inputs, output=[output])
        node.attribute.extend(_attribute(name, value) for name, value in attributes.items())
        self.nodes.append(node)
        return output

    def constant(self, wanted: str, values: npt.NDArray[Any]) -> str:
        """Add a constant and return its name."""
        name = self.name(wanted)
        self.constants.append(numpy_helper.from_array(values, name))
        return name


def apply(graph: Graph, operator: str, *operands: str | float | npt.NDArray[Any], **attributes: Any) -> str:
    """Add an operator on named values and constants, and return the name of its output."""
    inputs = [one if isinstance(one, str) else graph.constant("constant", np.asarray(one)) for one in operands]
    return graph.add(operator, inputs, graph.name(operator.lower()), **attributes)


def take(graph: Graph, values: str, columns: npt.NDArray[np.integer]) -> str:
    """Add a selection of columns."""
    places = graph.constant("columns", columns.astype(np.int64))
    return graph.add("Gather", [values, places], graph.name("taken"), axis=1)


def add_logistic(graph: Graph, values: str) -> str:
    """Add 1 / (1 + exp(-values)), in a form that stays above 0 as long as it can."""
    is_negative = apply(graph, "Less", values, 0.0)
    power = apply(graph, "Exp", apply(graph, "Neg", apply(graph, "Abs", values)))
    return apply(graph, "Div", apply(graph, "Where", is_negative, power, 1.0), apply(graph, "Add", 1.0, power))


def add_is_largest(graph: Graph, scores: str, width: int) -> str:
    """Mark the largest score of each sample, the first one in case of ties."""
    best = graph.add("ArgMax", [scores], graph.name("best"), axis=1, keepdims=1)
    return graph.add("Equal", [best, graph.constant("places", np.arange(width))], graph.name("is_best"))


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
