"""Export models to ONNX, so that they can be served without fuselearn and without Python.

A trained ensemble of trees is one weighted sum of trees, KFHE included, and becomes one tree ensemble whose leaves hold
coefficient times vote or class shares. Everything is compared in double precision, as fuselearn does. What is no such
sum, such as support vector machines and fused classifiers, is built from operators in double precision.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from fuselearn import __version__
from fuselearn._parameters import check_whole_number
from fuselearn.combine import ErrorCorrectingCodeClassifier, FusedClassifier
from fuselearn.diagnosis.cleaned import CleanedClassifier
from fuselearn.ensembles import CARTClassifier, RotationForestClassifier, SVMClassifier
from fuselearn.ensembles.boosted_classifier import BoostedClassifier
from fuselearn.ensembles.components import ComponentEnsemble
from fuselearn.io.onnx_trees import TreeSum
from fuselearn.learners import TreeComponent
from fuselearn.learners.tree import tree_values
from fuselearn.multilabel.learning.base import MultilabelClassifier

if TYPE_CHECKING:
    import onnx

    from fuselearn.io.onnx_graph import Graph
    from fuselearn.io.onnx_inputs import Categories

OLDEST_OPSET, USUAL_OPSET = 13, 17


def to_onnx(model: Any, X: Any = None, *, target_opset: int | None = None) -> onnx.ModelProto:
    """Export a fitted model to ONNX.

    Labels equal those of ``predict``; probabilities are single-precision numbers that equal those of ``predict_proba``
    within single precision.

    Parameters
    ----------
    model : estimator
        A ``CARTClassifier`` or ``SVMClassifier``; a ``KFHEClassifier``, ``SAMMEClassifier``,
        ``BaggedClassifier``, ``ForestClassifier`` or ``ErrorCorrectingCodeClassifier`` of trees; a
        ``FusedClassifier`` of such sensors; a ``PCTForestClassifier``, ``AdaBoostMHClassifier`` or
        ``GradientBoostingMultilabelClassifier``; HOMERs, chains and binary relevance over SVMs or trees, and
        ensembles of them; a ``FusedMultilabelClassifier`` or ``ThresholdedClassifier`` of such; or a
        scikit-learn pipeline that ends in one, whose other steps skl2onnx converts. Of a search such as
        ``GridSearchCV``, the best estimator is exported, and of a ``CleanedClassifier`` the one that it has
        fitted.
    X : array or DataFrame, optional
        Some samples like those to predict for; only their types matter. With an array of single-precision numbers, the
        exported model takes single precision. Pipelines that were fitted on DataFrames need it.
    target_opset : int, optional
        Version of ONNX's operators, 17 by default.

    Returns
    -------
    onnx.ModelProto
        Its outputs are ``label``, of shape (n_samples,), and ``probabilities``, of shape (n_samples, n_classes). A
        model of numerical features has one input, the matrix ``X`` of double-precision numbers. A model with
        categorical features has one input of shape (n_samples, 1) per feature, with the name of the feature:
        double-precision numbers, or text for categories that are text. A missing number is NaN, a missing text is the
        empty string.

    Raises
    ------
    TypeError
        If a part of the model cannot be exported to ONNX; the message names it.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> import fuselearn
    >>> X, y = load_wine(return_X_y=True)
    >>> model = fuselearn.KFHEClassifier(random_state=0).fit(X, y)
    >>> exported = fuselearn.to_onnx(model)
    >>> [output.name for output in exported.graph.output]
    ['label', 'probabilities']

    Save it with ``onnx.save(exported, "wine.onnx")``; predict with onnxruntime:

    >>> import onnxruntime
    >>> session = onnxruntime.InferenceSession(exported.SerializeToString())
    >>> label, probabilities = session.run(None, {"X": X})
    >>> bool((label == model.predict(X)).all())
    True
    """
    _import_onnx()
    check_is_fitted(model)
    model = take_best(model)
    if isinstance(model, Pipeline):
        from fuselearn.io.onnx_pipelines import convert_pipeline

        return convert_pipeline(model, X, target_opset)
    return _convert(model, X, _check_opset(target_opset))


def take_best(model: Any) -> Any:
    """Return the best estimator of a fitted search, or that of a cleaned classifier; also as the last step."""
    if isinstance(model, Pipeline):
        *others, (name, last) = model.steps
        best = take_best(last)
        if best is last:
            return model
        return Pipeline([*others, *(best.steps if isinstance(best, Pipeline) else [(name, best)])])
    if isinstance(model, CleanedClassifier):
        return take_best(model.estimator_)
    if hasattr(model, "best_params_") and not hasattr(model, "best_estimator_"):
        raise TypeError(f"{type(model).__name__} has no best estimator; set refit=True.")
    return take_best(model.best_estimator_) if hasattr(model, "best_estimator_") else model


def read_categories(model: Any) -> Categories:
    """Return the categories of a classifier's features, None for numbers, or refuse one that cannot be exported."""
    from fuselearn.io.onnx_fused import fused_categories
    from fuselearn.io.onnx_labels import label_categories
    from fuselearn.io.onnx_svm import refuse_large

    if isinstance(model, MultilabelClassifier):
        return label_categories(model)
    if isinstance(model, FusedClassifier):
        return fused_categories(model)
    if isinstance(model, SVMClassifier):
        refuse_large(model, [[component.machines for component in model._fused_.components]])  # type: ignore[attr-defined]
        return model._coder_.encoder.coder.categories_
    if not isinstance(model, CARTClassifier | ComponentEnsemble) or isinstance(model, RotationForestClassifier):
        raise TypeError(f"{type(model).__name__} cannot be exported to ONNX by fuselearn.")
    _read_trees(model)
    return model._coder_.categories_


def _read_trees(model: Any) -> list[TreeComponent]:
    components = [component for component in model._fused_.components if isinstance(component, TreeComponent)]
    if len(components) < len(model._fused_.components):
        raise TypeError(
            f"{type(model).__name__} over {type(model.estimator).__name__} cannot be exported to ONNX; the base "
            "learner must be CARTClassifier."
        )
    return components


def _sum_trees(model: Any, order: npt.NDArray[np.intp]) -> TreeSum:
    """Return a fitted classifier as a sum of trees whose targets are its classes in the given order."""
    components, coefficients = _read_trees(model), model._fused_.coefficients
    if isinstance(model, BoostedClassifier):
        coefficients = coefficients / coefficients.sum()
    return TreeSum(
        [component.tree for component in components],
        [
            tree_values(component.tree, coefficient, votes)[:, order]
            for component, coefficient, votes in zip(components, coefficients, model._fused_.by_class, strict=True)
        ],
        components[0].n_categories,
    )


def class_order(model: Any) -> npt.NDArray[np.intp]:
    """Return the order in which a classifier prefers classes of equal score."""
    return getattr(model, "class_order_", np.arange(len(model.classes_)))


def label_values(model: Any) -> npt.NDArray[Any]:
    """Return the classes in a type that ONNX supports."""
    classes = model.classes_
    if classes.dtype.kind in "iu":
        return classes.astype(np.int64)
    if classes.dtype.kind == "f":
        return classes.astype(np.float64)
    if classes.dtype.kind == "U" or all(isinstance(label, str) for label in classes):
        return classes.astype(object)
    if classes.dtype.kind == "b":
        return classes
    kind = type(classes[0]).__name__
    raise TypeError(f"{type(model).__name__} with classes of type {kind} cannot be exported to ONNX.")


def add_classifier(graph: Graph, model: Any, matrix: str, label: str, probabilities: str) -> None:
    """Add the nodes that turn a matrix of doubles into labels and probabilities."""
    from onnx import TensorProto

    from fuselearn.io.onnx_labels import add_label_model
    from fuselearn.io.onnx_sums import add_sums

    if isinstance(model, MultilabelClassifier):
        add_label_model(graph, model, matrix, label, probabilities)
        return
    order, labels = class_order(model), label_values(model)
    if _is_sum(model):
        scores = add_sums(graph, model, _sum_trees(model, order), matrix)
        graph.add("Gather", [scores, graph.constant("class_places", np.argsort(order))], probabilities, axis=1)
    else:
        scores = add_probabilities(graph, model, matrix)
        graph.add("Cast", [scores], probabilities, to=TensorProto.FLOAT)
    best = graph.add("ArgMax", [scores], graph.name("best"), axis=1, keepdims=0)
    graph.add("Gather", [graph.constant("classes", labels[order]), best], label, axis=0)


def add_probabilities(graph: Graph, model: Any, matrix: str) -> str:
    """Add the nodes that turn a matrix of doubles into class probabilities of double precision."""
    from fuselearn.io.onnx_codes import add_codewords
    from fuselearn.io.onnx_fused import add_fused
    from fuselearn.io.onnx_sums import add_exact_sums
    from fuselearn.io.onnx_svm import add_svm

    if isinstance(model, FusedClassifier):
        return add_fused(graph, model, matrix)
    if isinstance(model, SVMClassifier):
        return add_svm(graph, model, matrix)
    if isinstance(model, ErrorCorrectingCodeClassifier):
        return add_codewords(graph, model, _read_trees(model), matrix)
    return add_exact_sums(graph, model, _sum_trees(model, np.arange(len(model.classes_))), matrix)


def _is_sum(model: Any) -> bool:
    """Return whether a classifier is one sum of trees, which is a single operator of ONNX."""
    return not isinstance(model, FusedClassifier | SVMClassifier | ErrorCorrectingCodeClassifier)


def _convert(model: Any, X: Any, opset: int) -> onnx.ModelProto:
    from onnx import TensorProto, helper

    from fuselearn.io.onnx_graph import Graph, finish_model
    from fuselearn.io.onnx_inputs import add_inputs

    categories = read_categories(model)  # fails before anything is converted
    graph = Graph({"label", "probabilities"})
    inputs, matrix = add_inputs(graph, model, categories, X)
    add_classifier(graph, model, matrix, "label", "probabilities")
    table = ["n_rows", len(model.classes_)]
    if isinstance(model, MultilabelClassifier):
        label = helper.make_tensor_value_info("label", TensorProto.INT64, table)
    else:
        kind = helper.np_dtype_to_tensor_dtype(label_values(model).dtype)
        label = helper.make_tensor_value_info("label", kind, table[:1])
    outputs = [label, helper.make_tensor_value_info("probabilities", TensorProto.FLOAT, table)]
    return finish_model(graph, type(model).__name__, inputs, outputs, opset, __version__)


def _check_opset(target_opset: int | None) -> int:
    import onnx

    if target_opset is None:
        return USUAL_OPSET
    opset = check_whole_number("target_opset", target_opset, OLDEST_OPSET)
    if opset > onnx.defs.onnx_opset_version():
        raise ValueError(
            f"target_opset must be at most {onnx.defs.onnx_opset_version()}, the newest that the installed onnx knows, "
            f"not {opset}."
        )
    return opset


def _import_onnx() -> None:
    try:
        import onnx  # noqa: F401
    except ImportError as error:
        raise ImportError("ONNX export needs onnx; install it with: pip install 'fuselearn[onnx]'") from error
