"""Export support vector machines to ONNX, as products of matrices in double precision.

The formulas are those of :class:`~fuselearn.sensors.svm.SVMLearner`. Categories become columns of 0 and 1, which are
scaled; a linear machine has one weight per column, and a radial one has one per kernel value,

    exp(-gamma |x - z|^2) = exp(2 gamma (x.z - x.x / 2 - z.z / 2)),

where z is a support vector or, on tables without a Gram matrix, a sample of the Nystroem approximation.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from onnx import TensorProto
from scipy import sparse

from fuselearn.engines.svm import Coupling
from fuselearn.ensembles import SVMClassifier
from fuselearn.io.onnx_graph import Graph, add_logistic, apply, take
from fuselearn.sensors.kernel_table import LARGEST_SCALED, KernelTable
from fuselearn.sensors.numbers import NumberEncoder
from fuselearn.sensors.svm import ClassMachines, LabelMachines

Floats = npt.NDArray[np.float64]

# An ONNX file has at most 2 GB.
MOST_BYTES = 2**30


class Machines(NamedTuple):
    """Support vector machines side by side, including constant ones."""

    weights: Floats  # (n_columns or n_vectors, n_machines), of scaled features or of kernel values
    intercepts: Floats
    slopes: Floats  # of Platt's sigmoid
    offsets: Floats
    constants: Floats  # 0 or 1 if there is no machine, else NaN


def constant_machines(n_inputs: int, constants: Floats) -> Machines:
    """Return machines with the given outputs, whatever the sample."""
    intercepts, slopes, offsets = np.zeros((3, len(constants)))
    return Machines(np.zeros((n_inputs, len(constants))), intercepts, slopes, offsets, constants)


def read_machines(block: LabelMachines) -> Machines:
    """Return trained machines; those of a linear kernel with one weight per column, however they were kept."""
    table, kept = block.table, block.machines
    constants = np.where(block.is_constant, block.constants, np.nan)
    if kept is None:
        return constant_machines(table.n_columns, constants)
    weights, intercepts = kept.coefficients.astype(np.float64), kept.intercepts
    if block.kernel.name == "rbf" and kept.support is None:
        weights = weights @ table.radial_maps[block.kernel.factor].normalization_
    elif block.kernel.name == "linear" and kept.support is not None:
        centre = np.zeros(table.n_columns) if table.centre is None else table.centre
        weights = block.kernel.factor * (weights @ (_dense(table.training_rows()[kept.support]) - centre))
        intercepts = intercepts - weights @ centre
    read = constant_machines(weights.shape[1], constants)
    has_one = ~block.is_constant
    read.weights[:, has_one] = weights.T
    read.intercepts[has_one] = intercepts
    read.slopes[has_one] = kept.slopes
    read.offsets[has_one] = kept.offsets
    return read


def add_scaled(graph: Graph, encoder: NumberEncoder, table: KernelTable, matrix: str) -> str:
    """Add the nodes that turn a matrix of doubles into the scaled columns of a table."""
    add, numbers = partial(apply, graph), _add_numbers(graph, encoder, matrix)
    if table.chosen is not None:
        numbers = take(graph, numbers, table.chosen)
    centred = numbers if table.is_sparse else add("Sub", numbers, table.shift)
    return add("Clip", add("Div", centred, table.scale), -LARGEST_SCALED, LARGEST_SCALED)


def add_linear_chances(graph: Graph, table: KernelTable, probability: str, machines: Machines, scaled: str) -> str:
    """Add the probabilities of linear machines."""
    if not table.is_sparse and (table.is_large or table.n_columns <= table.n_rows):
        # The SVM engine rounds them.
        single = apply(graph, "Cast", scaled, to=TensorProto.FLOAT)
        scaled = apply(graph, "Cast", single, to=TensorProto.DOUBLE)
    return _add_chances(graph, machines, probability, scaled)


def add_svm(graph: Graph, model: SVMClassifier, matrix: str) -> str:
    """Add the nodes that turn a matrix of doubles into class probabilities of double precision."""
    (component,) = model._fused_.components
    assert isinstance(component, ClassMachines), "fit has trained machines"
    block = component.machines
    machines, table = read_machines(block), block.table.root
    scaled = add_scaled(graph, model._coder_.encoder, table, matrix)
    if block.kernel.name == "linear" or block.machines is None:
        chances = add_linear_chances(graph, table, block.probability, machines, scaled)
    else:
        values = _add_radial_values(graph, _read_vectors(block), block.kernel.factor, scaled)
        chances = _add_chances(graph, machines, block.probability, values)
    if component.coupling is not None:
        return _add_coupling(graph, component.coupling, chances)
    return apply(graph, "Concat", apply(graph, "Sub", 1.0, chances), chances, axis=1)


def refuse_large(model: SVMClassifier) -> None:
    """Refuse radial machines with more support vectors than an ONNX file can hold."""
    block = model._fused_.components[0].machines  # type: ignore[attr-defined]
    if block.kernel.name != "rbf" or block.machines is None or block.machines.support is None:
        return
    n_vectors, n_columns = len(block.machines.support), block.table.n_columns
    if 8 * n_vectors * n_columns > MOST_BYTES:
        raise TypeError(
            f"SVMClassifier with {n_vectors} support vectors of {n_columns} features cannot be exported to ONNX, "
            "whose files have at most 2 GB; use kernel='linear'."
        )


def _add_numbers(graph: Graph, encoder: NumberEncoder, matrix: str) -> str:
    """Add the columns of 0 and 1 that categories become; missing and unknown ones are 0 in all of them."""
    widths, is_category = encoder.widths, encoder.coder.n_categories_ > 0
    if not is_category.any():
        return matrix
    spread = take(graph, matrix, np.repeat(np.arange(len(widths)), widths))
    levels = np.concatenate([np.arange(width, dtype=np.float64) for width in widths])
    is_level = apply(graph, "Cast", apply(graph, "Equal", spread, levels), to=TensorProto.DOUBLE)
    return apply(graph, "Where", np.repeat(is_category, widths), is_level, spread)


def _add_radial_values(graph: Graph, vectors: Floats, gamma: float, scaled: str) -> str:
    add = partial(apply, graph)
    squares = add("ReduceSum", add("Mul", scaled, scaled), np.array([1]), keepdims=1)
    products = add("Sub", add("MatMul", scaled, vectors.T.copy()), add("Mul", 0.5, squares))
    halves = add("Sub", products, (vectors**2).sum(axis=1) / 2)  # minus half of the squared distances
    return add("Exp", add("Mul", 2.0 * gamma, add("Min", halves, 0.0)))


def _add_chances(graph: Graph, machines: Machines, probability: str, inputs: str) -> str:
    """Add the machines' probabilities from the numbers that they have weights of."""
    add = partial(apply, graph)
    decisions = add("Add", add("MatMul", inputs, machines.weights), machines.intercepts)
    if probability == "sign":
        chances = add("Cast", add("Greater", decisions, 0.0), to=TensorProto.DOUBLE)
    elif probability == "platt":
        chances = add_logistic(graph, add("Sub", add("Mul", decisions, -machines.slopes), machines.offsets))
    else:
        chances = add_logistic(graph, add("Mul", decisions, 2.0))
    return add("Where", ~np.isnan(machines.constants), np.nan_to_num(machines.constants), chances)


def _add_coupling(graph: Graph, coupling: Coupling, chances: str) -> str:
    """Add :meth:`~fuselearn.engines.svm.Coupling.apply`."""
    add = partial(apply, graph)
    possible = add("Greater", chances, 0.0)
    logarithms = add("Mul", coupling.sharpness, add("Log", add("Where", possible, chances, 1.0)))
    logarithms = add("Where", possible, add("Add", logarithms, coupling.balance * coupling.log_shares), -np.inf)
    largest = add("GatherElements", logarithms, add("ArgMax", logarithms, axis=1, keepdims=1), axis=1)
    known = add("Greater", largest, -np.inf)
    differences = add("Sub", logarithms, add("Where", known, largest, 0.0))
    powers = add("Where", known, add("Exp", differences), coupling.shares)
    return add("Div", powers, add("ReduceSum", powers, np.array([1]), keepdims=1))


def _read_vectors(block: LabelMachines) -> Floats:
    assert block.machines is not None, "constant machines have no vectors"
    support = block.machines.support
    if support is None:
        return _dense(block.table.radial_maps[block.kernel.factor].components_)
    return _dense(block.table.training_rows()[support])


def _dense(rows: Any) -> Floats:
    return rows.toarray() if sparse.issparse(rows) else rows
