"""Convert pipelines that end in a model of this library; skl2onnx converts the other steps."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import skl2onnx
from onnx import TensorProto, helper, numpy_helper
from skl2onnx.common.data_types import (
    DoubleTensorType,
    FloatTensorType,
    Int64TensorType,
    StringTensorType,
)
from skl2onnx.common.exceptions import MissingConverter, MissingShapeCalculator
from sklearn.base import is_regressor
from sklearn.pipeline import Pipeline

from fuselearn import combine, ensembles, multilabel
from fuselearn.base import ClassifierBase, RegressorBase
from fuselearn.io.onnx_estimators import add_classifier, add_scores, label_values
from fuselearn.io.onnx_graph import Categories
from fuselearn.io.onnx_models import read_categories
from fuselearn.multilabel.base import MultilabelBase

BASES = (ClassifierBase, RegressorBase, MultilabelBase, combine.FusedClassifier)


def register() -> None:
    """Register the estimators of this library with skl2onnx, those that cannot be exported, too: they say why."""
    for kind in (getattr(package, name) for package in (ensembles, combine, multilabel) for name in package.__all__):
        if not (isinstance(kind, type) and issubclass(kind, BASES)):
            continue
        settings: dict[str, Any] = {"options": {"zipmap": [True, False, "columns"]}}
        if issubclass(kind, RegressorBase):
            settings = {}
        elif issubclass(kind, MultilabelBase):
            settings = {"parser": _parse_labels}
        skl2onnx.update_registered_converter(
            kind, f"Fuselearn{kind.__name__}", _declare_outputs, _convert, overwrite=True, **settings
        )


def convert_pipeline(pipeline: Pipeline, X: Any, target_opset: int | None) -> onnx.ModelProto:
    """Convert a fitted pipeline; ``X`` defines the types of its columns."""
    register()
    types = None
    if X is None:
        if hasattr(pipeline, "feature_names_in_"):
            raise ValueError(
                "Pass X, some samples of the training data: a pipeline does not know the types of its columns."
            )
        types = [("X", DoubleTensorType([None, pipeline.n_features_in_]))]
    last = pipeline[-1]
    if isinstance(last, BASES):
        read_categories(last)  # fail before the steps are converted
    try:
        return skl2onnx.to_onnx(
            pipeline,
            X if X is None or hasattr(X, "columns") else X[:1],
            initial_types=types,
            target_opset=target_opset,
            options={id(last): {"zipmap": False}}
            if isinstance(last, ClassifierBase | combine.FusedClassifier)
            else None,
        )
    except (MissingConverter, MissingShapeCalculator) as error:
        raise TypeError(f"A step of the pipeline cannot be exported to ONNX. {error}") from error


class _Container:
    """skl2onnx's container of nodes, with the interface of a :class:`~fuselearn.io.onnx_graph.Graph`."""

    def __init__(self, scope: Any, container: Any) -> None:
        self._scope = scope
        self._container = container

    def name(self, wanted: str) -> str:
        return self._scope.get_unique_variable_name(wanted)

    def add(self, operator: str, inputs: list[str], output: str, *, domain: str = "", **attributes: Any) -> str:
        lists = {
            name: numpy_helper.from_array(value) if name.endswith("_tensor") else _as_list(value)
            for name, value in attributes.items()
        }
        name = self._scope.get_unique_operator_name(operator)
        self._container.add_node(
            operator, inputs, [output], op_domain=domain, op_version=3 if domain else 13, name=name, **lists
        )
        return output

    def constant(self, wanted: str, values: npt.NDArray[Any]) -> str:
        name = self.name(wanted)
        kind = helper.np_dtype_to_tensor_dtype(values.dtype)
        self._container.add_initializer(name, kind, list(values.shape), values.ravel().tolist())
        return name


def _as_list(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray) else value


def _declare_outputs(operator: Any) -> None:
    model, n_samples = operator.raw_operator, operator.inputs[0].get_first_dimension()
    if is_regressor(model):
        operator.outputs[0].type = DoubleTensorType([n_samples, 1])
        return
    if isinstance(model, MultilabelBase):
        for output in operator.outputs:
            output.type.shape = [n_samples, model.n_labels_]
        return
    labels = label_values(model)
    if labels.dtype not in (object, np.int64):
        raise TypeError(f"{type(model).__name__} in a pipeline needs classes that are integers or text.")
    kind = StringTensorType if labels.dtype == object else Int64TensorType
    operator.outputs[0].set_type(kind([n_samples]))
    operator.outputs[1].set_type(FloatTensorType([n_samples, len(labels)]))


def _parse_labels(scope: Any, model: Any, inputs: Any, custom_parsers: Any = None) -> Any:
    """Declare the two outputs of a multi-label classifier, both with one column per label."""
    operator = scope.declare_local_operator(f"Fuselearn{type(model).__name__}", model)
    operator.inputs = inputs
    operator.outputs.append(scope.declare_local_variable("label", Int64TensorType()))
    operator.outputs.append(scope.declare_local_variable("probabilities", FloatTensorType()))
    return operator.outputs


def _add_matrix(graph: _Container, operator: Any, categories: Categories) -> str:
    """Add the nodes that join the inputs of a step into one matrix of doubles."""
    if any(levels is not None for levels in categories):
        raise TypeError(
            f"{type(operator.raw_operator).__name__} with categorical features cannot be exported to ONNX as a step of "
            "a pipeline; export it by itself, or encode the features in the pipeline."
        )
    inputs = [variable.full_name for variable in operator.inputs]
    matrix = inputs[0] if len(inputs) == 1 else graph.add("Concat", inputs, graph.name("columns"), axis=1)
    return graph.add("Cast", [matrix], graph.name("doubles"), to=TensorProto.DOUBLE)


def _convert(scope: Any, operator: Any, container: Any) -> None:
    model, graph = operator.raw_operator, _Container(scope, container)
    doubles = _add_matrix(graph, operator, read_categories(model))
    outputs = [variable.full_name for variable in operator.outputs]
    if is_regressor(model):
        graph.add("Identity", [add_scores(model, graph, doubles)], *outputs)
    else:
        add_classifier(graph, model, doubles, *outputs)  # type: ignore[arg-type]
