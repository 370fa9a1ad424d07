"""Build ONNX graphs node by node, without repeated checks, which take seconds on large tree ensembles.

The inputs of a graph are one matrix of numbers, or one input per feature if some are categorical.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import AttributeProto, NodeProto, TensorProto, helper, numpy_helper
from sklearn.pipeline import Pipeline

from fuselearn._extras import require

ML = "ai.onnx.ml"
UNKNOWN = -1.0

Categories = list[npt.NDArray[Any] | None]


class Graph:
    """An ONNX graph under construction.

    Parameters
    ----------
    outputs : iterable of str
        The names of the outputs, which no other value may have.
    opset : int
        Version of ONNX's operators.

    Attributes
    ----------
    nodes : list of NodeProto
    constants : list of TensorProto
    opsets : dict of str to int
        Versions of the operators of each domain.
    """

    def __init__(self, outputs: Iterable[str], opset: int) -> None:
        self.nodes: list[NodeProto] = []
        self.constants: list[TensorProto] = []
        self.opsets = {"": opset, ML: 3}
        self._taken = set(outputs)

    def name(self, wanted: str) -> str:
        """Return a name that is not yet used in the graph."""
        name, number = wanted, 1
        while name in self._taken:
            name, number = f"{wanted}_{number}", number + 1
        self._taken.add(name)
        return name

    def reserve(self, name: str) -> None:
        """Reserve the name of an input."""
        if self.name(name) != name:
            raise ValueError(f"Feature {name!r} has the name of an output of the exported model; rename it.")

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
    """Add 1 / (1 + exp(-values)) in a numerically stable form."""
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
        graph.reserve(name)
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
    graph.opsets[ML] = max(4, graph.opsets[ML])  # from this version on, it supports doubles
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


def add_steps(graph: Graph, steps: Pipeline, X: Any) -> tuple[list[onnx.ValueInfoProto], str]:
    """Add the steps before the model of a pipeline, as skl2onnx converts them; ``X`` defines the types of inputs."""
    require("ONNX export of a pipeline", "skl2onnx")
    import skl2onnx
    from skl2onnx.common.data_types import DoubleTensorType
    from skl2onnx.common.exceptions import MissingConverter, MissingShapeCalculator

    declared = None
    if X is None:
        if hasattr(steps, "feature_names_in_"):
            raise ValueError("Pass X, some training samples: a pipeline does not store the types of its columns.")
        declared = [("X", DoubleTensorType([None, steps.n_features_in_]))]
    elif not hasattr(X, "columns"):
        X = X[:1]
    try:
        converted = skl2onnx.to_onnx(steps, X, initial_types=declared, target_opset=graph.opsets[""])
    except (MissingConverter, MissingShapeCalculator) as error:
        raise TypeError(f"A step of the pipeline cannot be exported to ONNX. {error}") from error
    part = onnx.compose.add_prefix(converted, "step_").graph
    for value in part.input:  # ONNX 1.17 to 1.20 rename what nodes read even with rename_inputs=False
        prefixed, value.name = value.name, value.name.removeprefix("step_")
        graph.reserve(value.name)
        graph.nodes.append(helper.make_node("Identity", [value.name], [prefixed]))
    graph.nodes.extend(part.node)
    graph.constants.extend(part.initializer)
    for domain in converted.opset_import:
        graph.opsets[domain.domain] = max(domain.version, graph.opsets.get(domain.domain, 1))
    return list(part.input), graph.add("Cast", part.output[0].name, to=TensorProto.DOUBLE)


def _attribute(name: str, value: Any) -> AttributeProto:
    if name.endswith("_tensor"):
        return AttributeProto(name=name, type=AttributeProto.TENSOR, t=numpy_helper.from_array(value))
    if isinstance(value, np.ndarray) and value.dtype.kind == "U":
        return AttributeProto(name=name, type=AttributeProto.STRINGS, strings=np.char.encode(value).tolist())
    if isinstance(value, np.ndarray):
        return AttributeProto(name=name, type=AttributeProto.INTS, ints=value.tolist())
    return helper.make_attribute(name, value)
