"""Export fused classifiers to ONNX: the probabilities of each sensor, calibrated and summed with its weight."""

from __future__ import annotations

from functools import partial

import numpy as np

from fuselearn.combine import FusedClassifier
from fuselearn.fusion.members import LEAST_PROBABILITY
from fuselearn.io.onnx_graph import Graph, apply, take
from fuselearn.io.onnx_inputs import Categories
from fuselearn.io.onnx_models import add_probabilities, read_categories


def fused_categories(model: FusedClassifier) -> Categories:
    """Return the categories of the features, as the sensors know them, or refuse a sensor that cannot be exported.

    Features that no sensor sees count as numbers.
    """
    categories: Categories = [None] * getattr(model, "n_features_in_", 0)
    for name, sensor, columns in model._members_:
        try:
            own = read_categories(sensor)
        except TypeError as error:
            raise TypeError(
                f"FusedClassifier cannot be exported to ONNX because of its sensor {name!r}: {error} Leave it out of "
                "estimators; sensors can be SVMClassifier and ensembles of trees, as the default ones are."
            ) from error
        for feature, levels in zip(range(len(own)) if columns is None else columns, own, strict=True):
            categories[feature] = levels
    return categories


def add_fused(graph: Graph, model: FusedClassifier, matrix: str) -> str:
    """Add the nodes that turn a matrix of doubles into class probabilities of double precision."""
    add = partial(apply, graph)
    total = ""
    for member, weight, exponent in zip(model._members_, model.weights_, model._exponents_, strict=True):
        seen = matrix if member.columns is None else take(graph, matrix, member.columns)
        probabilities = add_probabilities(graph, member.model, seen)
        part = add("Mul", weight, _add_sharpened(graph, probabilities, exponent))
        total = part if not total else add("Add", total, part)
    return _add_sharpened(graph, total, model._sharpness_)


def _add_sharpened(graph: Graph, probabilities: str, exponent: float) -> str:
    """Add what :func:`fuselearn.fusion.members.sharpen` computes."""
    add = partial(apply, graph)
    powers = add("Pow", add("Add", probabilities, LEAST_PROBABILITY), float(exponent))
    return add("Div", powers, add("ReduceSum", powers, np.array([1]), keepdims=1))
