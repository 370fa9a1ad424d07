"""Export multi-label models to ONNX: sums of trees or of other models, fused models, and decision rules."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import TensorProto

from fuselearn import multilabel
from fuselearn.io.onnx_graph import Graph, add_is_largest, add_logistic, apply, take
from fuselearn.io.onnx_inputs import Categories
from fuselearn.io.onnx_label_sums import add_label_sum, sum_categories
from fuselearn.io.onnx_sums import add_exact_sums
from fuselearn.io.onnx_trees import TreeSum
from fuselearn.multilabel.decisions import AtLeastOne, DecisionRule, KnownSets
from fuselearn.multilabel.decisions.rules import FixedThreshold, make_decision_rule
from fuselearn.multilabel.decisions.sets import LEAST_PROBABILITY as SET_BOUND
from fuselearn.multilabel.decisions.thresholds import LabelThresholds, LearnedThreshold
from fuselearn.multilabel.learning.base import MultilabelClassifier
from fuselearn.multilabel.learning.label_trees import SummedTrees
from fuselearn.multilabel.learning.log_odds import LEAST_PROBABILITY as FUSION_BOUND


def label_categories(model: MultilabelClassifier) -> Categories:
    """Return the categories of a model's features, or refuse a model that cannot be exported."""
    if isinstance(model, SummedTrees) and model._trees_:
        return model._coder_.categories_
    if isinstance(model, multilabel.FusedMultilabelClassifier):
        first, *_ = (label_categories(member) for member in model.estimators_)
        return first
    if isinstance(model, multilabel.ThresholdedClassifier) and isinstance(model.estimator_, MultilabelClassifier):
        return label_categories(model.estimator_)
    if hasattr(model, "_fused_"):
        return sum_categories(model)
    raise TypeError(
        f"{type(model).__name__} cannot be exported to ONNX; forests and boosted trees can, and so can HOMERs, chains "
        "and binary relevance of trees or SVMs, also if they are fused or have learned thresholds."
    )


def add_label_model(graph: Graph, model: MultilabelClassifier, matrix: str, label: str, probabilities: str) -> None:
    """Add the nodes that turn a matrix of doubles into labels and probabilities."""
    scores, deciding = _add_scores(graph, model, matrix)
    graph.add("Cast", [scores], probabilities, to=TensorProto.FLOAT)
    decided = _add_rule(graph, model, model.rule_, deciding)
    graph.add("Cast", [decided], label, to=TensorProto.INT64)


def _add_scores(graph: Graph, model: MultilabelClassifier, matrix: str) -> tuple[str, str]:
    """Add the probabilities of the labels, and the scores by which a model decides."""
    if isinstance(model, SummedTrees):
        scores = deciding = _add_trees(graph, model, matrix)
    elif isinstance(model, multilabel.FusedMultilabelClassifier):
        scores = deciding = _add_fused(graph, model, matrix)
    elif isinstance(model, multilabel.ThresholdedClassifier):
        inner, _ = _add_scores(graph, model.estimator_, matrix)
        places = np.zeros(model.n_labels_, dtype=np.int64)  # labels that the classifier does not know are constant
        places[model._component_.columns] = np.arange(len(model._component_.columns))
        scores = deciding = take(graph, inner, places)
    else:
        scores, deciding = add_label_sum(graph, model, matrix)
    bounded = _add_constants(graph, model, apply(graph, "Clip", scores, 0.0, 1.0))
    return bounded, bounded if deciding == scores else _add_constants(graph, model, deciding)


def _add_fused(graph: Graph, model: multilabel.FusedMultilabelClassifier, matrix: str) -> str:
    """Add what :class:`~fuselearn.multilabel.learning.log_odds.LogOddsFusion` computes."""
    total = ""
    for member, weights in zip(model.estimators_, model.weights_, strict=True):
        scores, _ = _add_scores(graph, member, matrix)
        part = apply(graph, "Mul", _add_log_odds(graph, scores, FUSION_BOUND), weights)
        total = apply(graph, "Add", total or model.intercepts_, part)
    return add_logistic(graph, total)


def _add_log_odds(graph: Graph, scores: str, bound: float) -> str:
    """Add the log-odds of probabilities, none of which is nearer to 0 or 1 than the bound."""
    clipped = apply(graph, "Clip", scores, bound, 1 - bound)
    return apply(graph, "Log", apply(graph, "Div", clipped, apply(graph, "Sub", 1.0, clipped)))


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
    trees, values = zip(*model._trees_with_leaf_values(), strict=True)
    total = add_exact_sums(graph, model, TreeSum(trees, values, model._coder_.n_categories_), matrix)
    if isinstance(model, multilabel.AdaBoostMHClassifier):
        return add_logistic(graph, apply(graph, "Mul", 2.0, total))
    if isinstance(model, multilabel.GradientBoostingMultilabelClassifier):
        return add_logistic(graph, apply(graph, "Add", model._prior_, total))
    return apply(graph, "Div", total, float(len(model._trees_)))


def _add_rule(graph: Graph, model: MultilabelClassifier, rule: DecisionRule, scores: str) -> str:
    """Add a decision rule; its output is true for the labels of a sample."""
    if isinstance(rule, AtLeastOne):
        other = rule.rule_ if rule.needs_scores else make_decision_rule(rule.rule)
        decided = _add_rule(graph, model, other, scores)
        counts = graph.add("Cast", [decided], graph.name("counts"), to=TensorProto.INT64)
        axis = graph.constant("axis", np.array([1]))
        count = graph.add("ReduceSum", [counts, axis], graph.name("count"), keepdims=1)
        none = graph.add("Equal", [count, graph.constant("zero", np.array(0))], graph.name("none"))
        best = add_is_largest(graph, scores, model.n_labels_)
        return graph.add("Or", [decided, graph.add("And", [none, best], graph.name("best"))], graph.name("decided"))
    if isinstance(rule, KnownSets):
        odds = apply(graph, "MatMul", _add_log_odds(graph, scores, SET_BOUND), rule.sets_.T.astype(np.float64))
        best = apply(graph, "ArgMax", apply(graph, "Add", odds, rule.offsets), axis=1, keepdims=0)
        return graph.add("Gather", [graph.constant("sets", rule.sets_), best], graph.name("decided"), axis=0)
    threshold: Any
    if isinstance(rule, FixedThreshold):
        threshold = rule.threshold
    elif isinstance(rule, LearnedThreshold):
        threshold = rule.threshold_
    elif isinstance(rule, LabelThresholds):
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
