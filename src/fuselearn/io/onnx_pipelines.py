"""Convert pipelines that end in a model of this library; skl2onnx converts the other steps."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import skl2onnx
from onnx import TensorProto
from skl2onnx.common import data_types as types
from skl2onnx.common.exceptions import MissingConverter, MissingShapeCalculator
from sklearn.base import is_regressor
from sklearn.pipeline import Pipeline

from fuselearn import combine, ensembles, multilabel
from fuselearn.base import ClassifierBase, RegressorBase
from fuselearn.io.onnx_estimators import add_classifier, add_scores, label_values
from fuselearn.io.onnx_graph import Categories, Graph
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
    declared = None
    if X is None:
        if hasattr(pipeline, "feature_names_in_"):
            raise ValueError(
                "Pass X, some samples of the training data: a pipeline does not know the types of its columns."
            )
        declared = [("X", types.DoubleTensorType([None, pipeline.n_features_in_]))]
    last = pipeline[-1]
    if isinstance(last, BASES):
        read_categories(last)  # fail before the steps are converted
    try:
        return skl2onnx.to_onnx(
            pipeline,
            X if X is None or hasattr(X, "columns") else X[:1],
            initial_types=declared,
            target_opset=target_opset,
            options={id(last): {"zipmap": False}}
            if isinstance(last, ClassifierBase | combine.FusedClassifier)
            else None,
        )
    except (MissingConverter, MissingShapeCalculator) as error:
        raise TypeError(f"A step of the pipeline cannot be exported to ONNX. {error}") from error


def _declare_outputs(operator: Any) -> None:
    model, n_samples = operator.raw_operator, operator.inputs[0].get_first_dimension()
    if is_regressor(model):
        operator.outputs[0].type = types.DoubleTensorType([n_samples, 1])
        return
    if isinstance(model, MultilabelBase):
        for output in operator.outputs:
            output.type.shape = [n_samples, model.n_labels_]
        return
    labels = label_values(model)
    if labels.dtype not in (object, np.int64):
        raise TypeError(f"{type(model).__name__} in a pipeline needs classes that are integers or text.")
    kind = types.StringTensorType if labels.dtype == object else types.Int64TensorType
    operator.outputs[0].set_type(kind([n_samples]))
    operator.outputs[1].set_type(types.FloatTensorType([n_samples, len(labels)]))


def _parse_labels(scope: Any, model: Any, inputs: Any, custom_parsers: Any = None) -> Any:
    """Declare the two outputs of a multi-label classifier, both with one column per label."""
    operator = scope.declare_local_operator(f"Fuselearn{type(model).__name__}", model)
    operator.inputs = inputs
    operator.outputs.append(scope.declare_local_variable("label", types.Int64TensorType()))
    operator.outputs.append(scope.declare_local_variable("probabilities", types.FloatTensorType()))
    return operator.outputs


def _add_matrix(graph: Graph, operator: Any, categories: Categories) -> str:
    """Add the nodes that join the inputs of a step into one matrix of doubles."""
    if any(levels is not None for levels in categories):
        raise TypeError(
            f"{type(operator.raw_operator).__name__} with categorical features cannot be exported to ONNX as a step of "
            "a pipeline; export it by itself, or encode the features in the pipeline."
        )
    inputs = [variable.full_name for variable in operator.inputs]
    matrix = inputs[0] if len(inputs) == 1 else graph.add("Concat", *inputs, axis=1)
    return graph.add("Cast", matrix, to=TensorProto.DOUBLE)


def _convert(scope: Any, operator: Any, container: Any) -> None:
    model, graph = operator.raw_operator, Graph(unique=scope.get_unique_variable_name)
    doubles = _add_matrix(graph, operator, read_categories(model))
    outputs = [variable.full_name for variable in operator.outputs]
    if is_regressor(model):
        graph.add("Identity", add_scores(model, graph, doubles), output=outputs[0])
    else:
        add_classifier(graph, model, doubles, *outputs)
    container.nodes.extend(graph.nodes)
    container.initializers.extend(graph.constants)
    container.node_domain_version_pair_sets.update((node.domain, 3 if node.domain else 13) for node in graph.nodes)
