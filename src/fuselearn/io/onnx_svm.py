"""Export support vector machines to ONNX, as products of matrices in double precision.

The formulas are those of :class:`~fuselearn.learners.svm.SVMLearner`. Categories are one-hot encoded and scaled. A
linear SVM has one weight per feature, and an RBF SVM has one weight per kernel value,

    exp(-gamma |x - z|^2) = exp(2 gamma (x.z - x.x / 2 - z.z / 2)),

where z is a support vector or, on tables without a Gram matrix, a sample of the Nystroem approximation.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from onnx import TensorProto
from scipy import sparse

from fuselearn.io.onnx_graph import Graph, add_logistic
from fuselearn.learners.coupling import Coupling
from fuselearn.learners.kernel_table import LARGEST_SCALED, KernelTable
from fuselearn.learners.svm import LabelMachines
from fuselearn.learners.table import NumberEncoder

Floats = npt.NDArray[np.float64]

# An ONNX file has at most 2 GB.
MOST_BYTES = 2**30


def add_scaled(graph: Graph, encoder: NumberEncoder, table: KernelTable, matrix: str) -> str:
    """Add the nodes that convert a matrix of doubles to the scaled columns of a table."""
    add, numbers = graph.add, _add_numbers(graph, encoder, matrix)
    if encoder.impute:
        is_missing = add("IsNaN", numbers)
        numbers = add("Where", is_missing, encoder.medians, numbers)
        if len(encoder.gaps):
            marks = add("Cast", graph.take(is_missing, encoder.gaps), to=TensorProto.DOUBLE)
            numbers = add("Concat", numbers, marks, axis=1)
    if table.chosen is not None:
        numbers = graph.take(numbers, table.chosen)
    centered = numbers if table.is_sparse else add("Sub", numbers, table.shift)
    return add("Clip", add("Div", centered, table.scale), -LARGEST_SCALED, LARGEST_SCALED)


def add_machines(graph: Graph, blocks: Sequence[LabelMachines], scaled: str, appended: str = "") -> str:
    """Add the probabilities of the SVMs of one kernel and one table.

    Parameters
    ----------
    graph : Graph
    blocks : sequence of LabelMachines
    scaled : str
        The scaled columns of the table.
    appended : str, optional
        The labels that a chain has appended to them, as doubles.

    Returns
    -------
    str
        The name of the probabilities, with one column per SVM.
    """
    add, (table, kernel) = graph.add, (blocks[0].table, blocks[0].kernel)
    if not table.is_sparse and table.collapses(kernel):
        # The SVM engine rounds them.
        scaled = add("Cast", add("Cast", scaled, to=TensorProto.FLOAT), to=TensorProto.DOUBLE)
    if appended:
        scaled = add("Concat", scaled, add("Mul", table.label_width, add("Sub", appended, 0.5)), axis=1)
    is_constant = np.concatenate([block.is_constant for block in blocks])
    trained = [block for block in blocks if block.machines is not None]
    probabilities = _add_probabilities(graph, trained, scaled) if trained else scaled
    spread = graph.take(probabilities, np.maximum(np.cumsum(~is_constant) - 1, 0))  # a constant label gets any column
    return add("Where", is_constant, np.concatenate([block.constants for block in blocks]), spread)


def add_coupled(graph: Graph, coupling: Coupling | None, probabilities: str) -> str:
    """Add class probabilities from those of one SVM per class, or of one for two classes."""
    if coupling is not None:
        return _add_coupling(graph, coupling, probabilities)
    return graph.add("Concat", graph.add("Sub", 1.0, probabilities), probabilities, axis=1)


def refuse_large(model: Any, groups: Iterable[Sequence[LabelMachines]]) -> None:
    """Raise an error if an ONNX file cannot hold all support vectors and weights; groups share a table."""
    n_numbers = 0
    for blocks in groups:
        support = join_support(blocks)
        if support is not None:
            n_numbers += len(support) * (blocks[0].table.n_columns + sum(len(block.constants) for block in blocks))
    if 8 * n_numbers > MOST_BYTES:
        raise TypeError(
            f"{type(model).__name__} with {n_numbers:,} numbers in its support vectors cannot be exported to "
            f"ONNX, where files have at most 2 GB; use kernel='linear'."
        )


def join_support(blocks: Sequence[LabelMachines]) -> npt.NDArray[np.int32] | None:
    """Return the indices of the support vectors of several RBF SVMs; None if there are none."""
    kept = [
        block.machines.support
        for block in blocks
        if block.kernel.name == "rbf" and block.machines is not None and block.machines.support is not None
    ]
    return np.unique(np.concatenate(kept)) if kept else None


def _add_probabilities(graph: Graph, blocks: Sequence[LabelMachines], inputs: str) -> str:
    """Add the probabilities of trained SVMs."""
    add, kernel = graph.add, blocks[0].kernel
    if kernel.name == "rbf":
        support = join_support(blocks)
        inputs = _add_radial_values(graph, _read_vectors(blocks, support), kernel.factor, inputs)
        read = [_read_radial(block, support) for block in blocks]
    else:
        read = [_read_linear(block) for block in blocks]
    weights, intercepts = (np.concatenate(part) for part in zip(*read, strict=True))
    decisions = add("Add", add("MatMul", inputs, weights.T.copy()), intercepts)
    if blocks[0].probability == "sign":
        return add("Cast", add("Greater", decisions, 0.0), to=TensorProto.DOUBLE)
    if blocks[0].probability == "logistic":
        return add_logistic(graph, add("Mul", decisions, 2.0))
    slopes, offsets = (
        np.concatenate([getattr(block.machines, name) for block in blocks]) for name in ("slopes", "offsets")
    )
    return add_logistic(graph, add("Sub", add("Mul", decisions, -slopes), offsets))


def _read_linear(block: Any) -> tuple[Floats, Floats]:
    """Return one weight per column for each trained SVM, and the intercepts."""
    table, kept = block.table, block.machines
    weights = kept.coefficients.astype(np.float64)
    if kept.support is None:
        return np.hstack([weights, kept.extra_weights]), kept.intercepts
    center = np.zeros(table.n_columns) if table.center is None else table.center
    columns, extra = _training_rows(table, kept.support)
    own = block.kernel.factor * (weights @ (columns - center))
    return np.hstack([own, block.kernel.factor * (weights @ extra)]), kept.intercepts - own @ center


def _read_radial(block: Any, support: npt.NDArray[np.int32] | None) -> tuple[Floats, Floats]:
    """Return one weight per support vector, or per sample of the Nystroem approximation, and the intercepts."""
    kept = block.machines
    weights = kept.coefficients.astype(np.float64)
    if support is None:
        return weights @ _radial_map(block).normalization_, kept.intercepts
    spread = np.zeros((len(weights), len(support)))
    spread[:, np.searchsorted(support, kept.support)] = weights
    return spread, kept.intercepts


def _read_vectors(blocks: Sequence[LabelMachines], support: npt.NDArray[np.int32] | None) -> Floats:
    if support is None:
        return _dense(_radial_map(blocks[0]).components_)
    return np.hstack(_training_rows(blocks[0].table, support))


def _radial_map(block: LabelMachines) -> Any:
    return block.table.radial_maps[block.kernel.factor]


def _training_rows(table: KernelTable, support: npt.NDArray[np.int32]) -> tuple[Floats, Floats]:
    """Return the scaled columns of training samples, with the labels that a chain has appended."""
    extra = table.label_width * (table.appended[support].astype(np.float64) - 0.5)
    return _dense(table.root.training_rows()[support]), extra


def _add_numbers(graph: Graph, encoder: NumberEncoder, matrix: str) -> str:
    """Add the one-hot columns of categories; missing and unknown categories are all zeros."""
    widths, is_category = encoder.widths, encoder.coder.n_categories_ > 0
    if not is_category.any():
        return matrix
    spread = graph.take(matrix, np.repeat(np.arange(len(widths)), widths))
    levels = np.concatenate([np.arange(width, dtype=np.float64) for width in widths])
    is_level = graph.add("Cast", graph.add("Equal", spread, levels), to=TensorProto.DOUBLE)
    return graph.add("Where", np.repeat(is_category, widths), is_level, spread)


def _add_radial_values(graph: Graph, vectors: Floats, gamma: float, scaled: str) -> str:
    add = graph.add
    squares = add("ReduceSum", add("Mul", scaled, scaled), np.array([1]), keepdims=1)
    products = add("Sub", add("MatMul", scaled, vectors.T.copy()), add("Mul", 0.5, squares))
    halves = add("Sub", products, (vectors**2).sum(axis=1) / 2)  # minus half of the squared distances
    return add("Exp", add("Mul", 2.0 * gamma, add("Min", halves, 0.0)))


def _add_coupling(graph: Graph, coupling: Coupling, probabilities: str) -> str:
    """Add :meth:`~fuselearn.learners.coupling.Coupling.apply`."""
    add = graph.add
    possible = add("Greater", probabilities, 0.0)
    logarithms = add("Mul", coupling.sharpness, add("Log", add("Where", possible, probabilities, 1.0)))
    logarithms = add("Where", possible, add("Add", logarithms, coupling.balance * coupling.log_shares), -np.inf)
    largest = add("GatherElements", logarithms, add("ArgMax", logarithms, axis=1, keepdims=1), axis=1)
    known = add("Greater", largest, -np.inf)
    differences = add("Sub", logarithms, add("Where", known, largest, 0.0))
    powers = add("Where", known, add("Exp", differences), coupling.shares)
    return add("Div", powers, add("ReduceSum", powers, np.array([1]), keepdims=1))


def _dense(rows: Any) -> Floats:
    return rows.toarray() if sparse.issparse(rows) else rows
