"""Export error-correcting codes to ONNX: one sum of trees per bit, and the nearest codeword.

The formulas are those of :mod:`fuselearn.combine.output_codes`, in double precision, since the distances to two
codewords may be close.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from onnx import TensorProto

from fuselearn.combine import ErrorCorrectingCodeClassifier
from fuselearn.combine.output_codes import ROUNDING
from fuselearn.io.onnx_graph import Graph, apply
from fuselearn.io.onnx_sums import add_exact_sums
from fuselearn.io.onnx_trees import TreeSum
from fuselearn.learners import TreeComponent


def add_codewords(
    graph: Graph, model: ErrorCorrectingCodeClassifier, components: list[TreeComponent], matrix: str
) -> str:
    """Add the nodes that turn a matrix of doubles into class probabilities of double precision."""
    bits = add_exact_sums(
        graph,
        model,
        TreeSum(
            [component.tree for component in components],
            [component.tree.shares()[:, 1:] for component in components],
            components[0].n_categories,
            [np.array([bit]) for bit in range(len(components))],
        ),
        matrix,
    )
    distances = _add_distances(graph, model, bits)
    return _add_probabilities(graph, distances, model.code_book_.shape[1], model.decoding)


def _add_distances(graph: Graph, model: ErrorCorrectingCodeClassifier, bits: str) -> str:
    add = partial(apply, graph)
    if model.decoding == "hamming":
        is_one = add("Cast", add("Greater", bits, 0.5), to=TensorProto.DOUBLE)
        bits = add("Where", add("Equal", bits, 0.5), 0.5, is_one)
    if model.decoding == "loss":
        bits = add("Clip", bits, model._least_probability_, 1.0 - model._least_probability_)
        if_one, if_zero = (add("Neg", add("Log", chances)) for chances in (bits, add("Sub", 1.0, bits)))
    else:
        if_one, if_zero = add("Sub", 1.0, bits), bits
    code = model.code_book_.T.astype(np.float64)
    return add("Add", add("MatMul", if_one, code), add("MatMul", if_zero, 1.0 - code))


def _add_probabilities(graph: Graph, distances: str, n_bits: int, decoding: str) -> str:
    add = partial(apply, graph)
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
