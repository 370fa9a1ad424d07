"""Export multi-label models to ONNX: sums of trees, hierarchies of linear SVMs, and decision rules."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import TensorProto

from fuselearn import multilabel
from fuselearn.io.onnx_graph import Graph, add_is_largest, add_logistic
from fuselearn.io.onnx_hierarchies import add_hierarchies, refuse_unless_linear
from fuselearn.io.onnx_inputs import Categories
from fuselearn.io.onnx_sums import add_exact_sums
from fuselearn.io.onnx_trees import TreeSum
from fuselearn.multilabel.decisions import rules
from fuselearn.multilabel.learning.base import MultilabelClassifier

HOMERS = (multilabel.HOMERClassifier, multilabel.EnsembleHOMERClassifier, multilabel.KFHEHOMERClassifier)


def label_categories(model: MultilabelClassifier) -> Categories:
    """Return the categories of a model's features, or refuse a model that cannot be exported."""
    if isinstance(model, multilabel.PCTForestClassifier | multilabel.AdaBoostMHClassifier) and model._trees_:
        return model._coder_.categories_
    if isinstance(model, HOMERS):
        refuse_unless_linear(model)
        return model._fused_.learner.encoder.coder.categories_  # type: ignore[attr-defined]
    raise TypeError(
        f"{type(model).__name__} cannot be exported to ONNX; of the multi-label classifiers, PCTForestClassifier, "
        "AdaBoostMHClassifier, and HOMERs of linear SVMs can."
    )


def add_label_model(graph: Graph, model: MultilabelClassifier, matrix: str, label: str, probabilities: str) -> None:
    """Add the nodes that turn a matrix of doubles into labels and probabilities."""
    if isinstance(model, HOMERS):
        scores, deciding = (_add_constants(graph, model, name) for name in add_hierarchies(graph, model, matrix))
    else:
        scores = deciding = _add_constants(graph, model, _add_trees(graph, model, matrix))
    graph.add("Cast", [scores], probabilities, to=TensorProto.FLOAT)
    decided = _add_rule(graph, model, model.rule_, deciding)
    graph.add("Cast", [decided], label, to=TensorProto.INT64)


def _add_constants(graph: Graph, model: MultilabelClassifier, scores: str) -> str:
    """Set the scores of labels that were constant in training."""
    constants = model._constants_
    if np.isnan(constants).all():
        return scores
    is_constant = graph.constant("is_constant", ~np.isnan(constants))
    known = graph.constant("constants", np.nan_to_num(constants))
    return graph.add("Where", [is_constant, known, scores], graph.name("scores"))


def _add_trees(graph: Graph, model: Any, matrix: str) -> str:
    """Add the sums of the leaves' values, and their conversion to probabilities.

    Learned thresholds are often so close to a probability that single precision is not enough.
    """
    values = [model._node_values(tree) for tree in model._trees_]
    total = add_exact_sums(graph, model, TreeSum(model._trees_, values, model._coder_.n_categories_), matrix)
    if isinstance(model, multilabel.AdaBoostMHClassifier):
        return add_logistic(graph, graph.add("Add", [total, total], graph.name("twice")))
    n_trees = graph.constant("n_trees", np.array(float(len(model._trees_))))
    means = graph.add("Div", [total, n_trees], graph.name("means"))
    return graph.add("Min", [means, graph.constant("one", np.array(1.0))], graph.name("means"))


def _add_rule(graph: Graph, model: MultilabelClassifier, rule: rules.DecisionRule, scores: str) -> str:
    """Add a decision rule; its output is true for the labels of a sample."""
    if isinstance(rule, rules.AtLeastOne):
        other = rule.rule_ if rule.needs_scores else rules.make_decision_rule(rule.rule)
        decided = _add_rule(graph, model, other, scores)
        counts = graph.add("Cast", [decided], graph.name("counts"), to=TensorProto.INT64)
        axis = graph.constant("axis", np.array([1]))
        count = graph.add("ReduceSum", [counts, axis], graph.name("count"), keepdims=1)
        none = graph.add("Equal", [count, graph.constant("zero", np.array(0))], graph.name("none"))
        best = add_is_largest(graph, scores, model.n_labels_)
        return graph.add("Or", [decided, graph.add("And", [none, best], graph.name("best"))], graph.name("decided"))
    threshold: Any
    if isinstance(rule, rules.FixedThreshold):
        threshold = rule.threshold
    elif isinstance(rule, rules.LearnedThreshold):
        threshold = rule.threshold_
    elif isinstance(rule, rules.PerLabelThresholds):
        threshold = rule.thresholds_
    else:
        raise TypeError(
            f"{type(model).__name__} with the decision rule {type(rule).__name__} cannot be exported to ONNX."
        )
    return graph.add(
        "Greater",
        [scores, graph.constant("thresholds", np.asarray(threshold, dtype=np.float64))],
        graph.name("decided"),
    )
