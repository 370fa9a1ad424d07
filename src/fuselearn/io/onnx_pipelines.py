"""Convert pipelines that end in a model of this library; skl2onnx converts the other steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sklearn.pipeline import Pipeline

from fuselearn import ensembles, multilabel
from fuselearn.combine import ErrorCorrectingCodeClassifier, FusedClassifier
from fuselearn.io.onnx_models import add_classifier, label_values, read_categories

if TYPE_CHECKING:
    import onnx

    from fuselearn.io.onnx_inputs import Categories

CLASSIFIERS: tuple[type, ...] = (
    ensembles.BaggedClassifier,
    ensembles.CARTClassifier,
    ErrorCorrectingCodeClassifier,
    ensembles.ForestClassifier,
    FusedClassifier,
    ensembles.KFHEClassifier,
    ensembles.SAMMEClassifier,
    ensembles.SVMClassifier,
)
LABEL_CLASSIFIERS: tuple[type, ...] = (
    multilabel.AdaBoostMHClassifier,
    multilabel.EnsembleHOMERClassifier,
    multilabel.HOMERClassifier,
    multilabel.KFHEHOMERClassifier,
    multilabel.PCTForestClassifier,
)


def register_converters() -> None:
    """Register the classifiers of this library with skl2onnx, for calls of ``skl2onnx.to_onnx``.

    :func:`fuselearn.to_onnx` calls it automatically.

    Examples
    --------
    >>> import numpy as np
    >>> import skl2onnx
    >>> from fuselearn import CARTClassifier
    >>> from fuselearn.io import register_converters
    >>> register_converters()
    >>> X = np.arange(40.0).reshape(20, 2)
    >>> model = CARTClassifier().fit(X, (X[:, 0] > 20).astype(int))
    >>> exported = skl2onnx.to_onnx(model, X[:1], options={"zipmap": False})
    >>> [answer.name for answer in exported.graph.output]
    ['label', 'probabilities']
    """
    try:
        from skl2onnx import update_registered_converter
    except ImportError as error:
        raise ImportError("Pipelines need skl2onnx; install it with: pip install 'fuselearn[onnx]'") from error
    for kind in CLASSIFIERS:
        update_registered_converter(
            kind, f"Fuselearn{kind.__name__}", _declare_outputs, _convert, options={"zipmap": [True, False, "columns"]}
        )
    for kind in LABEL_CLASSIFIERS:
        update_registered_converter(kind, f"Fuselearn{kind.__name__}", _declare_tables, _convert, parser=_parse_labels)


def convert_pipeline(pipeline: Pipeline, X: Any, target_opset: int | None) -> onnx.ModelProto:
    """Convert a fitted pipeline; ``X`` defines the types of its columns."""
    register_converters()
    import skl2onnx
    from skl2onnx.common.data_types import DoubleTensorType
    from skl2onnx.common.exceptions import MissingConverter, MissingShapeCalculator

    types = None
    if X is None:
        if hasattr(pipeline, "feature_names_in_"):
            raise ValueError(
                "Pass X, some samples of the training data: a pipeline does not know the types of its columns."
            )
        types = [("X", DoubleTensorType([None, pipeline.n_features_in_]))]
    last = pipeline[-1]
    options = None
    if isinstance(last, CLASSIFIERS):
        read_categories(last)  # fail before the steps are converted
        options = {id(last): {"zipmap": False}}
    try:
        return skl2onnx.to_onnx(
            pipeline,
            X if X is None or hasattr(X, "columns") else X[:1],
            initial_types=types,
            target_opset=target_opset,
            options=options,
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
        from onnx import numpy_helper

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
        from onnx import helper

        name = self.name(wanted)
        kind = helper.np_dtype_to_tensor_dtype(values.dtype)
        self._container.add_initializer(name, kind, list(values.shape), values.ravel().tolist())
        return name


def _as_list(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray) else value


def _declare_outputs(operator: Any) -> None:
    from skl2onnx.common.data_types import FloatTensorType, Int64TensorType, StringTensorType

    model = operator.raw_operator
    n_rows = operator.inputs[0].get_first_dimension()
    labels = label_values(model)
    if labels.dtype == object:
        operator.outputs[0].set_type(StringTensorType([n_rows]))
    elif labels.dtype == np.int64:
        operator.outputs[0].set_type(Int64TensorType([n_rows]))
    else:
        raise TypeError(f"{type(model).__name__} in a pipeline needs classes that are integers or text.")
    operator.outputs[1].set_type(FloatTensorType([n_rows, len(labels)]))


def _parse_labels(scope: Any, model: Any, inputs: Any, custom_parsers: Any = None) -> Any:
    """Declare the two outputs of a multi-label classifier, both with one column per label."""
    from skl2onnx.common.data_types import FloatTensorType, Int64TensorType

    operator = scope.declare_local_operator(f"Fuselearn{type(model).__name__}", model)
    operator.inputs = inputs
    operator.outputs.append(scope.declare_local_variable("label", Int64TensorType()))
    operator.outputs.append(scope.declare_local_variable("probabilities", FloatTensorType()))
    return operator.outputs


def _declare_tables(operator: Any) -> None:
    n_rows = operator.inputs[0].get_first_dimension()
    for output in operator.outputs:
        output.type.shape = [n_rows, operator.raw_operator.n_labels_]


def _add_matrix(graph: _Container, operator: Any, categories: Categories) -> str:
    """Add the nodes that join the inputs of a step into one matrix of doubles."""
    from onnx import TensorProto

    if any(levels is not None for levels in categories):
        raise TypeError(
            f"{type(operator.raw_operator).__name__} with categorical features cannot be exported to ONNX as a step of "
            "a pipeline; export it by itself, or encode the features in the pipeline."
        )
    inputs = [variable.full_name for variable in operator.inputs]
    matrix = inputs[0] if len(inputs) == 1 else graph.add("Concat", inputs, graph.name("columns"), axis=1)
    return graph.add("Cast", [matrix], graph.name("doubles"), to=TensorProto.DOUBLE)


def _convert(scope: Any, operator: Any, container: Any) -> None:
    model = operator.raw_operator
    graph = _Container(scope, container)
    doubles = _add_matrix(graph, operator, read_categories(model))
    label, probabilities = (variable.full_name for variable in operator.outputs)
    add_classifier(graph, model, doubles, label, probabilities)  # type: ignore[arg-type]
