"""Multi-label models in ONNX: sums of trees, hierarchies of linear machines, and the rules that decide on labels."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from onnx import TensorProto

from fuselearn.io.onnx_graph import ML, Graph, add_is_largest, add_logistic, take
from fuselearn.io.onnx_hierarchies import add_hierarchies, refuse_unless_linear
from fuselearn.io.onnx_trees import TreeSum, describe_trees
from fuselearn.multilabel import AdaBoostMHClassifier, PCTForestClassifier
from fuselearn.multilabel.base import MultilabelClassifier
from fuselearn.multilabel.decisions import (
    AtLeastOne,
    CardinalityThreshold,
    DecisionRule,
    FixedThreshold,
    PerLabelThresholds,
    make_decision_rule,
)
from fuselearn.multilabel.homer import HOMERBase
from fuselearn.sensors import TableCoder


def find_coder(model: MultilabelClassifier) -> TableCoder:
    """Give what knows the columns of a model, or refuse a model that ONNX cannot hold."""
    if isinstance(model, PCTForestClassifier | AdaBoostMHClassifier) and model._trees_:
        return model._coder_
    if isinstance(model, HOMERBase):
        refuse_unless_linear(model)
        return model._fused_.sensor.learner.encoder.coder  # type: ignore[attr-defined]
    raise TypeError(
        f"{type(model).__name__} cannot be written in ONNX; of the multi-label classifiers, PCTForestClassifier, "
        "AdaBoostMHClassifier, and HOMERs of linear machines can."
    )


def add_label_model(graph: Graph, model: MultilabelClassifier, matrix: str, label: str, probabilities: str) -> None:
    """Add the nodes that turn a matrix of doubles into labels and probabilities."""
    if isinstance(model, HOMERBase):
        scores = add_hierarchies(graph, model, matrix)
    else:
        scores = _add_trees(graph, model, matrix)
    graph.add("Cast", [scores], probabilities, to=TensorProto.FLOAT)
    decided = _add_rule(graph, model, model.rule_, scores)
    graph.add("Cast", [decided], label, to=TensorProto.INT64)


def _add_trees(graph: Graph, model: Any, matrix: str) -> str:
    """Add the sums of the leaves' values, exact to double precision, and what makes probabilities of them.

    Learned thresholds often lie next to a probability, so that single precision, which the operator's output has, would
    not do.
    """
    parts = split_exactly([model._node_values(tree) for tree in model._trees_])
    tree_sum = TreeSum(model._trees_, parts, model._coder_.n_categories_)
    summed = graph.add("TreeEnsembleRegressor", [matrix], graph.name("sums"), domain=ML, **describe_trees(tree_sum))
    doubles = graph.add("Cast", [summed], graph.name("sums"), to=TensorProto.DOUBLE)
    total = ""
    for first in range(0, parts[0].shape[1], model.n_labels_):
        part = take(graph, doubles, first + np.arange(model.n_labels_))
        total = part if not total else graph.add("Add", [total, part], graph.name("total"))
    if isinstance(model, AdaBoostMHClassifier):
        return add_logistic(graph, graph.add("Add", [total, total], graph.name("twice")))
    n_trees = graph.constant("n_trees", np.array(float(len(model._trees_))))
    means = graph.add("Div", [total, n_trees], graph.name("means"))
    return graph.add("Min", [means, graph.constant("one", np.array(1.0))], graph.name("means"))


def split_exactly(values: list[npt.NDArray[np.float64]]) -> list[npt.NDArray[np.float64]]:
    """Split numbers into parts whose sums over all arrays lose nothing in single precision.

    The first part of each number is a multiple of a power of two, which is so large that no sum of such multiples has
    more than 24 binary digits. The second part is a multiple of a smaller one, and the third is what remains.

    Parameters
    ----------
    values : list of arrays of shape (n_nodes, n_labels)

    Returns
    -------
    list of arrays of shape (n_nodes, n_parts n_labels)
        The arrays as they are if the first parts are all there is.
    """
    rests, parts = values, []
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


def _add_rule(graph: Graph, model: MultilabelClassifier, rule: DecisionRule, scores: str) -> str:
    """Add a decision rule; its output is true for the labels that a row gets."""
    if isinstance(rule, AtLeastOne):
        other = rule.rule_ if rule.needs_scores else make_decision_rule(rule.rule)
        decided = _add_rule(graph, model, other, scores)
        counts = graph.add("Cast", [decided], graph.name("counts"), to=TensorProto.INT64)
        axis = graph.constant("axis", np.array([1]))
        count = graph.add("ReduceSum", [counts, axis], graph.name("count"), keepdims=1)
        none = graph.add("Equal", [count, graph.constant("zero", np.array(0))], graph.name("none"))
        best = add_is_largest(graph, scores, model.n_labels_)
        return graph.add("Or", [decided, graph.add("And", [none, best], graph.name("best"))], graph.name("decided"))
    threshold: Any
    if isinstance(rule, FixedThreshold):
        threshold = rule.threshold
    elif isinstance(rule, CardinalityThreshold):
        threshold = rule.threshold_
    elif isinstance(rule, PerLabelThresholds):
        threshold = rule.thresholds_
    else:
        raise TypeError(
            f"{type(model).__name__} with the decision rule {type(rule).__name__} cannot be written in ONNX."
        )
    return graph.add(
        "Greater",
        [scores, graph.constant("thresholds", np.asarray(threshold, dtype=np.float64))],
        graph.name("decided"),
    )
