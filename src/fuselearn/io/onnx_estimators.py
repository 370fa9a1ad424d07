"""Export estimators to ONNX: their sums of models, and the predictions from these sums.

Labels equal those of ``predict``, since comparisons are in double precision, as in fuselearn. The formulas of
error-correcting codes are those of :mod:`fuselearn.combine.output_codes`.
"""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper
from sklearn.base import is_regressor
from sklearn.pipeline import Pipeline

from fuselearn import __version__
from fuselearn.combine import ErrorCorrectingCodeClassifier, FusedClassifier
from fuselearn.combine.code_books import count_bits, read_bits
from fuselearn.combine.output_codes import ROUNDING
from fuselearn.ensembles import LogitBoostClassifier
from fuselearn.fusion import WeightedSum
from fuselearn.fusion.members import LEAST_PROBABILITY
from fuselearn.io.onnx_graph import Categories, Graph, add_inputs, add_is_largest, add_steps, declare
from fuselearn.io.onnx_models import SumExporter, add_label_scores, add_log_odds, read_categories
from fuselearn.learners import LabelTrees, TreeModel
from fuselearn.multilabel import decisions as rules
from fuselearn.multilabel.base import MultilabelBase
from fuselearn.multilabel.decisions.base import FixedThreshold
from fuselearn.multilabel.decisions.rules import make_decision_rule
from fuselearn.multilabel.decisions.sets import LEAST_PROBABILITY as SET_BOUND
from fuselearn.multilabel.decisions.thresholds import LabelThresholds, LearnedThreshold
from fuselearn.multilabel.methods.binary_relevance import JoinedLabels
from fuselearn.multilabel.methods.set_mixture import FOREST_FRACTION, SetMixture


def convert(model: Any, X: Any, opset: int) -> onnx.ModelProto:
    """Export a fitted estimator, or a pipeline that ends in one; ``X`` is as for :func:`fuselearn.to_onnx`."""
    steps, estimator = (model[:-1], model[-1]) if isinstance(model, Pipeline) else ((), model)
    categories = read_categories(estimator)  # fails before anything is converted
    graph = Graph(("variable",) if is_regressor(estimator) else ("label", "probabilities"), opset)
    if len(steps) == 0:
        inputs, matrix = add_inputs(graph, estimator, categories, X)
    elif any(levels is not None for levels in categories):
        raise TypeError(
            f"{type(estimator).__name__} with categorical features cannot be exported to ONNX as a step of a pipeline; "
            "export it by itself, or encode the features in the pipeline."
        )
    else:
        inputs, matrix = add_steps(graph, steps, X)
    if is_regressor(estimator):
        graph.add("Identity", add_scores(estimator, graph, matrix), output="variable")
        outputs = [declare("variable", TensorProto.DOUBLE, 1)]
    else:
        add_classifier(graph, estimator, matrix, "label", "probabilities")
        n_columns = len(estimator.classes_)
        if isinstance(estimator, MultilabelBase):
            label = declare("label", TensorProto.INT64, n_columns)
        else:
            kind = helper.np_dtype_to_tensor_dtype(label_values(estimator).dtype)
            label = helper.make_tensor_value_info("label", kind, ["n_samples"])
        outputs = [label, declare("probabilities", TensorProto.FLOAT, n_columns)]
    opsets = [helper.make_opsetid(domain, version) for domain, version in graph.opsets.items()]
    return helper.make_model(
        helper.make_graph(graph.nodes, type(estimator).__name__, inputs, outputs, graph.constants),
        opset_imports=opsets,
        ir_version=helper.find_min_ir_version_for(opsets, ignore_unknown=True),
        producer_name="fuselearn",
        producer_version=__version__,
    )


def add_classifier(graph: Graph, estimator: Any, matrix: str, label: str, probabilities: str) -> None:
    """Add the nodes that convert a matrix of doubles to labels and probabilities."""
    if isinstance(estimator, MultilabelBase):
        scores, deciding = add_label_scores(graph, estimator, matrix)
        graph.add("Cast", scores, output=probabilities, to=TensorProto.FLOAT)
        rule = estimator.rule_
        mixes = isinstance(rule, SetMixture)
        chosen = add_mixture(rule, graph, matrix, scores) if mixes else add_rule(rule, graph, estimator, deciding)
        graph.add("Cast", chosen, output=label, to=TensorProto.INT64)
        return
    scores = add_scores(estimator, graph, matrix, exact=False)
    graph.add("Cast", scores, output=probabilities, to=TensorProto.FLOAT)
    classes = label_values(estimator)
    if hasattr(estimator, "class_order_"):  # of equally probable classes, the first in this order is predicted
        classes, scores = classes[estimator.class_order_], graph.take(scores, estimator.class_order_)
    graph.add("Gather", classes, graph.add("ArgMax", scores, axis=1, keepdims=0), output=label, axis=0)


def label_values(estimator: Any) -> npt.NDArray[Any]:
    """Return the classes in a type that ONNX supports."""
    classes = estimator.classes_
    kinds = {"i": np.int64, "u": np.int64, "f": np.float64, "U": object, "b": np.bool_}
    if classes.dtype.kind in kinds:
        return classes.astype(kinds[classes.dtype.kind])
    if all(isinstance(label, str) for label in classes):
        return classes
    kind = type(classes[0]).__name__
    raise TypeError(f"{type(estimator).__name__} with classes of type {kind} cannot be exported to ONNX.")


@singledispatch
def add_scores(estimator: Any, graph: Graph, matrix: str, *, exact: bool = True) -> str:
    """Add the nodes that convert a matrix of doubles to class probabilities or values, in double precision if exact."""
    return SumExporter(graph, estimator, matrix).add_sum(exact=exact)


@add_scores.register
def _(estimator: LogitBoostClassifier, graph: Graph, matrix: str, *, exact: bool = True) -> str:
    return graph.add("Softmax", SumExporter(graph, estimator, matrix).add_sum(), axis=1)


@add_scores.register
def _(estimator: FusedClassifier, graph: Graph, matrix: str, *, exact: bool = True) -> str:
    """Add the probabilities of each member, calibrated and summed with its weight."""
    total = ""
    for member, weight, exponent in zip(
        estimator._members_, estimator.estimator_weights_, estimator._exponents_, strict=True
    ):
        seen = matrix if member.columns is None else graph.take(matrix, member.columns)
        sharpened = _add_sharpened(graph, add_scores(member.model, graph, seen), exponent)
        part = graph.add("Mul", weight, sharpened)
        total = graph.add("Add", total, part) if total else part
    return _add_sharpened(graph, total, estimator._sharpness_)


@read_categories.register
def _(estimator: FusedClassifier) -> Categories:
    """Return the categories in the members; features that no member uses count as numbers."""
    categories: Categories = [None] * getattr(estimator, "n_features_in_", 0)
    for member in estimator._members_:
        try:
            own = read_categories(member.model)
        except TypeError as error:
            raise TypeError(
                f"FusedClassifier cannot be exported to ONNX because of its member {member.name!r}: {error} Remove it "
                f"from estimators; members can be SVMClassifier and ensembles of trees, as by default."
            ) from error
        columns = range(len(own)) if member.columns is None else member.columns
        for feature, levels in zip(columns, own, strict=True):
            categories[feature] = levels
    return categories


def _add_sharpened(graph: Graph, probabilities: str, exponent: float) -> str:
    """Add the computation of :func:`fuselearn.fusion.members.sharpen`."""
    powers = graph.add("Pow", graph.add("Add", probabilities, LEAST_PROBABILITY), float(exponent))
    return graph.add("Div", powers, graph.add("ReduceSum", powers, np.array([1]), keepdims=1))


@add_scores.register
def _(estimator: ErrorCorrectingCodeClassifier, graph: Graph, matrix: str, *, exact: bool = True) -> str:
    """Add the probability of each bit, its distances to the codewords, and the probabilities that follow."""
    models, n_bits = estimator._fused_.models, estimator.code_book_.shape[1]
    if all(isinstance(model, TreeModel) for model in models):
        joined: Any = LabelTrees([model.tree for model in models], models[0].n_categories)
    else:
        joined = JoinedLabels([model.machines for model in models], [np.array([bit]) for bit in range(n_bits)])
    bits = SumExporter(graph, estimator, matrix, WeightedSum([joined], np.ones(1), n_bits)).add_sum()
    distances = _add_distances(graph, estimator, bits)
    return _add_class_probabilities(graph, distances, count_bits(estimator.code_book_), estimator.decoding)


def _add_distances(graph: Graph, estimator: ErrorCorrectingCodeClassifier, bits: str) -> str:
    """Add the distances to the codewords; in double precision, since two of them may be close."""
    add = graph.add
    if estimator.decoding == "hamming":
        is_one = add("Cast", add("Greater", bits, 0.5), to=TensorProto.DOUBLE)
        bits = add("Where", add("Equal", bits, 0.5), 0.5, is_one)
    if estimator.decoding == "loss":
        bits = add("Clip", bits, estimator._least_probability_, 1.0 - estimator._least_probability_)
        if_one, if_zero = (add("Neg", add("Log", chances)) for chances in (bits, add("Sub", 1.0, bits)))
    else:
        if_one, if_zero = add("Sub", 1.0, bits), bits
    ones, zeros = (book.T.astype(np.float64) for book in read_bits(estimator.code_book_))
    return add("Add", add("MatMul", if_one, ones), add("MatMul", if_zero, zeros))


def _add_class_probabilities(graph: Graph, distances: str, n_bits: int, decoding: str) -> str:
    add = graph.add
    if decoding != "loss" and n_bits == 1:
        return add("Sub", 1.0, distances)
    nearest = add("GatherElements", distances, add("ArgMin", distances, axis=1, keepdims=1), axis=1)
    exponents = add("Sub", nearest, distances)
    is_equal = add("GreaterOrEqual", exponents, add("Mul", -ROUNDING, add("Add", 1.0, nearest)))
    exponents = add("Where", is_equal, 0.0, exponents)
    if decoding != "loss":
        error = add("Div", add("Add", nearest, 0.5), n_bits + 1.0)
        error = add("Min", error, n_bits / (2 * n_bits + 2))
        exponents = add("Mul", exponents, add("Log", add("Div", add("Sub", 1.0, error), error)))
    likelihoods = add("Exp", exponents)
    return add("Div", likelihoods, add("ReduceSum", likelihoods, np.array([1]), keepdims=1))


@singledispatch
def add_rule(rule: Any, graph: Graph, estimator: MultilabelBase, scores: str) -> str:
    """Add a decision rule; its output is true for the labels of a sample."""
    raise TypeError(
        f"{type(estimator).__name__} with the decision rule {type(rule).__name__} cannot be exported to ONNX."
    )


@add_rule.register
def _(rule: FixedThreshold, graph: Graph, estimator: MultilabelBase, scores: str) -> str:
    return graph.add("Greater", scores, float(rule.threshold))


@add_rule.register
def _(rule: LearnedThreshold, graph: Graph, estimator: MultilabelBase, scores: str) -> str:
    return graph.add("Greater", scores, float(rule.threshold_))


@add_rule.register
def _(rule: LabelThresholds, graph: Graph, estimator: MultilabelBase, scores: str) -> str:
    return graph.add("Greater", scores, rule.thresholds_)


@add_rule.register
def _(rule: rules.AtLeastOne, graph: Graph, estimator: MultilabelBase, scores: str) -> str:
    other = rule.rule_ if rule.needs_scores else make_decision_rule(rule.rule)
    decided = add_rule(other, graph, estimator, scores)
    counts = graph.add("Cast", decided, to=TensorProto.INT64)
    has_none = graph.add("Equal", graph.add("ReduceSum", counts, np.array([1]), keepdims=1), 0)
    best = add_is_largest(graph, scores, estimator.n_labels_)
    return graph.add("Or", graph.add("Greater", counts, 0), graph.add("And", has_none, best))


@add_rule.register
def _(rule: rules.KnownSets, graph: Graph, estimator: MultilabelBase, scores: str) -> str:
    best = graph.add("ArgMax", graph.add("Add", add_set_odds(rule, graph, scores), rule.offsets), axis=1, keepdims=0)
    return graph.add("Gather", rule.sets_, best, axis=0)


def add_mixture(rule: SetMixture, graph: Graph, matrix: str, scores: str) -> str:
    """Add the rule that also uses forests whose classes are label sets."""
    add, q = graph.add, rule.frequencies_
    of_label, of_forests, of_frequency, of_score_forests = rule.coef_.tolist()
    odds = add_log_odds(graph, scores, SET_BOUND)
    total = add(
        "Add", add("Mul", add("MatMul", odds, rule.sets_.T.astype(np.float64)), of_label), of_frequency * np.log(q)
    )
    terms = ((rule.forests_, matrix, of_forests), (rule.score_forests_, odds, of_score_forests))
    for forests, features, coefficient in terms:
        known = add("Div", add("Add", *(add_scores(forest, graph, features) for forest in forests)), 2.0)
        mixed = add("Log", add("Add", add("Mul", known, FOREST_FRACTION), (1.0 - FOREST_FRACTION) * q))
        total = add("Add", total, add("Mul", mixed, coefficient))
    return add("Gather", rule.sets_, add("ArgMax", total, axis=1, keepdims=0), axis=0)


def add_set_odds(rule: Any, graph: Graph, scores: str) -> str:
    """Add the sum of log-odds over the labels of each set."""
    return graph.add("MatMul", add_log_odds(graph, scores, SET_BOUND), rule.sets_.T.astype(np.float64))
