"""Convert weighted sums of trees or SVMs to nodes of an ONNX graph.

A sum of trees is one operator; its leaves contain coefficient times vote or class fractions. Other models become
separate operators in double precision. Independent models are computed together: all trees as one operator, and all
SVMs of a table and a kernel as one matrix product. A chain is computed label by label, as each model uses the previous
labels as features.

The label probabilities of a HOMER are the products of the probabilities of all groups that contain the label. For its
own decision, a sample descends a hierarchy to the groups whose probability is above 0.5, or at least to the most
probable one. In a graph without branches, all models predict for all samples, and at each node, from the last one up to
the root,

    score of a label = the score from below if the sample descends to its group, else the probability of the group.

Above the root, the probability of having any label decides in the same way whether the sample descends at all.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import singledispatch
from itertools import zip_longest
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from onnx import TensorProto

from fuselearn.fusion import WeightedSum
from fuselearn.io.onnx_graph import Categories, Graph, add_is_largest, add_logistic
from fuselearn.io.onnx_svm import add_coupled, add_machines, add_scaled, refuse_large
from fuselearn.io.onnx_trees import TreeSum, add_exact_sums, add_sums
from fuselearn.learners import CloneModel, LabelClones, LabelTrees, Model, TableCoder, TreeModel
from fuselearn.learners.clones import MultilabelClone
from fuselearn.learners.forests import tree_values
from fuselearn.learners.svm import ClassMachines, LabelMachines
from fuselearn.multilabel.base import MultilabelBase
from fuselearn.multilabel.decisions.base import OwnDecision
from fuselearn.multilabel.ensemble import OnSomeFeatures
from fuselearn.multilabel.methods.binary_relevance import JoinedLabels
from fuselearn.multilabel.methods.chain import Chain
from fuselearn.multilabel.methods.fused import FusedModel
from fuselearn.multilabel.methods.hierarchy import LEAF
from fuselearn.multilabel.methods.homer import HOMERModel
from fuselearn.multilabel.methods.label_trees import LabelForest
from fuselearn.multilabel.methods.log_odds import LEAST_PROBABILITY


class Kind(NamedTuple):
    """How models of a type are exported."""

    add: Callable[[SumExporter, Any, bool], str]
    """Add the scores of a model or, if the last argument is true, the scores for its own decision."""
    parts: Callable[[Any], Sequence[Any] | None] = lambda model: ()
    """List the models and estimators that a model consists of; None if it cannot be exported."""


@singledispatch
def read_categories(estimator: Any) -> Categories:
    """Return the categories of an estimator's features, None for numbers. Unsupported estimators raise an error."""
    if not hasattr(estimator, "_fused_"):
        raise TypeError(f"{type(estimator).__name__} cannot be exported to ONNX by fuselearn.")
    waiting, machines, categories = list(estimator._fused_.models), [], None
    while waiting:
        part = waiting.pop()
        if not isinstance(part, Model):
            categories = read_categories(part)
            continue
        if isinstance(part, LabelMachines):
            machines.append(part)
        parts = KINDS[type(part)].parts(part) if type(part) in KINDS else None
        if parts is None:
            over = f" over {type(estimator._base_estimator()).__name__}" if _is_clone(part) else ""
            raise TypeError(
                f"{type(estimator).__name__}{over} cannot be exported to ONNX; forests, boosted trees, and most "
                "methods over CARTClassifier or SVMClassifier can."
            )
        waiting.extend(parts)
    refuse_large(estimator, _group(machines).values())
    if categories is None:
        coder = estimator._coder_
        categories = (coder if isinstance(coder, TableCoder) else coder.encoder.coder).categories_
    return categories


def add_label_scores(graph: Graph, estimator: MultilabelBase, matrix: str) -> tuple[str, str]:
    """Add the probabilities of the labels, and the scores for a classifier's decision."""
    exporter, rule = SumExporter(graph, estimator, matrix), getattr(estimator, "rule_", None)
    scores = _add_constants(graph, estimator, graph.add("Clip", exporter.add_sum(), 0.0, 1.0))
    decides = isinstance(rule, OwnDecision) and estimator._fused_.deciding() is not estimator._fused_
    return scores, exporter.add_sum(deciding=True) if decides else scores


def _add_constants(graph: Graph, estimator: MultilabelBase, scores: str) -> str:
    """Set the scores of labels that were constant in training."""
    constants = estimator._constants_
    if np.isnan(constants).all():
        return scores
    return graph.add("Where", ~np.isnan(constants), np.nan_to_num(constants), scores)


def add_log_odds(graph: Graph, scores: str, bound: float) -> str:
    """Add the log-odds of probabilities clipped to the bound."""
    clipped = graph.add("Clip", scores, bound, 1 - bound)
    return graph.add("Log", graph.add("Div", clipped, graph.add("Sub", 1.0, clipped)))


class SumExporter:
    """A weighted sum of models, and the nodes that they share.

    Parameters
    ----------
    graph : Graph
    estimator : estimator
        The fitted estimator that the sum is of.
    matrix : str
        Name of a matrix of doubles, the samples.
    fused : WeightedSum, optional
        By default, that of the estimator.
    """

    def __init__(self, graph: Graph, estimator: Any, matrix: str, fused: WeightedSum | None = None) -> None:
        self.graph = graph
        self.estimator = estimator
        self.matrix = matrix
        self.fused: WeightedSum = estimator._fused_ if fused is None else fused
        self.add = graph.add
        self._scaled: dict[int, str] = {}
        self._chains: dict[int, str] = {}  # the scores of chains, which are added once
        self._starts: dict[int, int] = {}  # the first column of each block's probabilities
        self._certain = 0  # the column of a probability of 1
        blocks = [block for model in self.fused.models for block in _list_blocks(model)]
        self._chances = self._add_side_by_side(blocks) if blocks else ""

    def add_sum(self, *, deciding: bool = False, exact: bool = True) -> str:
        """Add the weighted sum of the models' outputs.

        Parameters
        ----------
        deciding : bool, default=False
            Whether to add the scores for the models' own decisions.
        exact : bool, default=True
            Whether a sum of trees needs double precision.
        """
        fused, total = self.fused.deciding() if deciding else self.fused, ""
        if all(isinstance(model, TreeModel) for model in fused.models):
            return (add_exact_sums if exact else add_sums)(self.graph, self.estimator, sum_trees(fused), self.matrix)
        for model, coefficient, output in zip(fused.models, fused.coefficients, fused.outputs, strict=True):
            part = self.add("Mul", self._add_output(model, output), float(coefficient))
            total = self.add("Add", total, part) if total else part
        return self.add("Div", total, np.asarray(fused.divisor, dtype=np.float64))

    def add_model(self, model: Any, deciding: bool = False) -> str:
        """Add the scores of a model, or the scores for its own decision."""
        return KINDS[type(model)].add(self, model, deciding)

    def _add_output(self, model: Any, output: str) -> str:
        scores = self.add_model(model, output != "scores")
        if output != "votes":
            return scores
        if isinstance(model, ClassMachines):
            chosen = add_is_largest(self.graph, scores, self.fused.n_columns)
        else:
            chosen = self.add("Greater", scores, 0.5)
        return self.add("Cast", chosen, to=TensorProto.DOUBLE)

    def add_block(self, blocks: Sequence[Any], appended: str = "") -> str:
        """Add the probabilities of blocks of one group; a chain has appended labels to their features."""
        first = blocks[0]
        if isinstance(first, LabelMachines):
            root = first.table.root
            if id(root) not in self._scaled:
                self._scaled[id(root)] = add_scaled(self.graph, self.estimator._coder_.encoder, root, self.matrix)
            return add_machines(self.graph, blocks, self._scaled[id(root)], appended)
        trees = [tree for block in blocks for tree in block.trees]
        fractions = [tree.shares()[:, 1:] for tree in trees]
        columns = [np.array([label]) for label in range(len(trees))]
        matrix = self.add("Concat", self.matrix, appended, axis=1) if appended else self.matrix
        tree_sum = TreeSum(trees, fractions, first.n_categories, columns)
        return add_exact_sums(self.graph, self.estimator, tree_sum, matrix)

    def take_block(self, block: Any, deciding: bool = False) -> str:
        """Take the probabilities of a block from those of all."""
        return self.graph.take(self._chances, self._starts[id(block)] + np.arange(_width(block)))

    def _add_side_by_side(self, blocks: Sequence[Any]) -> str:
        """Add the probabilities of all blocks, and behind them a column of ones."""
        parts, n_columns = [], 0
        for group in _group(blocks).values():
            parts.append(self.add_block(group))
            for block in group:
                self._starts[id(block)] = n_columns
                n_columns += _width(block)
        self._certain = n_columns
        one = self.add("Add", self.add("Mul", self.graph.take(parts[0], np.array([0])), 0.0), 1.0)
        return self.add("Concat", *parts, one, axis=1)

    def add_classes(self, model: ClassMachines, deciding: bool) -> str:
        """Add the class probabilities of SVMs."""
        return add_coupled(self.graph, model.coupling, self.take_block(model.machines))

    def add_joined(self, model: JoinedLabels, deciding: bool) -> str:
        """Add the probabilities of models of some labels each, in the order of the labels."""
        return self.graph.take(self.add("Concat", *map(self.add_model, model.models), axis=1), model.order)

    def add_chain(self, model: Chain, deciding: bool) -> str:
        """Add the models of a chain, each of which has the decisions of those before as features."""
        if id(model) not in self._chains:
            found = decided = ""
            for part in model.models:
                probability = self.add_block([part], decided)
                labels = self.add("Cast", self.add("Greater", probability, 0.5), to=TensorProto.DOUBLE)
                found = self.add("Concat", found, probability, axis=1) if found else probability
                decided = self.add("Concat", decided, labels, axis=1) if decided else labels
            self._chains[id(model)] = self.graph.take(found, np.argsort(model.order))
        return self._chains[id(model)]

    def add_forest(self, model: LabelForest, deciding: bool) -> str:
        """Add the sums of the leaves' values, and their conversion to probabilities.

        Learned thresholds are often so close to a probability that single precision is not enough.
        """
        trees, values = zip(*model.trees_with_values(), strict=True)
        tree_sum = TreeSum(trees, values, model.n_categories)
        total = self.add("Add", model.start, add_exact_sums(self.graph, self.estimator, tree_sum, self.matrix))
        total = self.add("Div", total, float(model.divisor))
        return add_logistic(self.graph, total) if model.is_logistic else total

    def add_fused(self, model: FusedModel, deciding: bool) -> str:
        """Add the computation of :class:`~fuselearn.multilabel.methods.log_odds.LogOddsFusion`."""
        total: Any = model.fusion.intercepts
        for member, weights in zip(model.members, model.fusion.weights, strict=True):
            scores, _ = add_label_scores(self.graph, member, self.matrix)
            part = self.add("Mul", add_log_odds(self.graph, scores, LEAST_PROBABILITY), weights)
            total = self.add("Add", total, part)
        return add_logistic(self.graph, total)

    def add_clone(self, model: MultilabelClone, deciding: bool) -> str:
        """Add the probabilities of a classifier of the labels that were not constant, and of the constant ones."""
        scores, _ = add_label_scores(self.graph, model.estimator, self.matrix)
        columns, is_known = np.zeros(len(model.constants), dtype=np.int64), np.zeros(len(model.constants), dtype=bool)
        columns[model.labels], is_known[model.labels] = np.arange(len(model.labels)), True
        return self.add("Where", is_known, self.graph.take(scores, columns), model.constants)

    def add_homer(self, model: HOMERModel, deciding: bool) -> str:
        """Add the probabilities of the labels, or the scores by which a sample descends."""
        starts = np.array([self._starts[id(block)] for block in model.blocks])
        if not deciding:
            return self._add_products(model, starts)
        return self._add_ways_down(model, starts)

    def _add_products(self, model: HOMERModel, starts: npt.NDArray[np.int64]) -> str:
        """Add the product of the probabilities of each label's groups, factor by factor."""
        around: list[list[int]] = [[] for _ in range(model.n_labels)]  # the columns of each label's groups
        for number, node in enumerate(model.hierarchy):
            for g, group in enumerate(node.groups):
                for label in group:
                    around[label].append(starts[number] + g)
        if model.labeled is not None:
            around = [[starts[-1], *columns] for columns in around]
        product = ""
        for factors in zip_longest(*around, fillvalue=self._certain):
            part = self.graph.take(self._chances, np.array(factors))
            product = self.add("Mul", product, part) if product else part
        return product

    def _add_ways_down(self, model: HOMERModel, starts: npt.NDArray[np.int64]) -> str:
        """Add the decision scores, from the last node up to the root."""
        scores: dict[int, tuple[str, npt.NDArray[np.int64]]] = {}  # of the labels of a node, in this order
        for number in reversed(range(len(model.hierarchy))):
            groups, children = model.hierarchy[number]
            labels = np.concatenate(groups)
            group_of = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
            own = self.graph.take(self._chances, starts[number] + np.arange(len(groups)))
            stay = own if len(labels) == len(groups) else self.graph.take(own, group_of)
            if all(child == LEAF for child in children):
                scores[number] = stay, labels
                continue
            best = add_is_largest(self.graph, own, len(groups))
            goes = self.add("Or", self.add("Greater", own, 0.5), best)
            below = [scores.pop(child) for child in children if child != LEAF]
            joined = self.add("Concat", stay, *(name for name, _ in below), axis=1)
            column_of = {label: k for k, label in enumerate(labels)}  # single labels are unchanged
            lower = np.concatenate([order for _, order in below])
            column_of.update({label: len(labels) + k for k, label in enumerate(lower)})
            down = self.graph.take(joined, np.array([column_of[label] for label in labels]))
            scores[number] = self.add("Where", self.graph.take(goes, group_of), down, stay), labels
        name, labels = scores[0]
        ordered = self.graph.take(name, np.argsort(labels))
        if model.labeled is None:
            return ordered
        any_label = self.graph.take(self._chances, starts[-1:])
        return self.add("Where", self.add("Greater", any_label, 0.5), ordered, any_label)


KINDS: dict[type, Kind] = {
    TreeModel: Kind(SumExporter.take_block),  # a sum of them is one operator
    LabelTrees: Kind(SumExporter.take_block),
    LabelMachines: Kind(SumExporter.take_block),
    ClassMachines: Kind(SumExporter.add_classes, lambda model: (model.machines,)),
    JoinedLabels: Kind(SumExporter.add_joined, lambda model: model.models),
    OnSomeFeatures: Kind(
        lambda exporter, model, deciding: exporter.add_model(model.model, deciding), lambda model: (model.model,)
    ),
    Chain: Kind(SumExporter.add_chain, lambda model: model.models if model.search is None else None),
    HOMERModel: Kind(SumExporter.add_homer, lambda model: model.blocks),
    LabelForest: Kind(SumExporter.add_forest, lambda model: () if model.trees else None),
    FusedModel: Kind(SumExporter.add_fused, lambda model: model.members),
    MultilabelClone: Kind(SumExporter.add_clone, lambda model: None if model.estimator is None else (model.estimator,)),
}


def sum_trees(fused: WeightedSum) -> TreeSum:
    """Return a weighted sum of trees with the values of their nodes."""
    coefficients = fused.coefficients / fused.divisor
    values = [
        tree_values(model.tree, coefficient, output == "votes")
        for model, coefficient, output in zip(fused.models, coefficients, fused.outputs, strict=True)
    ]
    return TreeSum([model.tree for model in fused.models], values, fused.models[0].n_categories)


def _is_clone(model: Any) -> bool:
    return isinstance(model, CloneModel | LabelClones | MultilabelClone)


def _list_blocks(model: Any) -> Iterator[Any]:
    """Yield the trees and SVMs of a model that can be computed together, which excludes those of chains."""
    if isinstance(model, LabelTrees | LabelMachines):
        yield model
    elif not isinstance(model, Chain):
        for part in KINDS[type(model)].parts(model) or ():
            if isinstance(part, Model):
                yield from _list_blocks(part)


def _group(blocks: Iterable[Any]) -> dict[Any, list[Any]]:
    """Group blocks that can be computed together: all trees, and the SVMs of each table and kernel."""
    groups: dict[Any, list[Any]] = defaultdict(list)
    for block in blocks:
        is_tree = isinstance(block, LabelTrees)
        groups["trees" if is_tree else (id(block.table), block.kernel)].append(block)
    return groups


def _width(block: Any) -> int:
    return len(block.trees) if isinstance(block, LabelTrees) else len(block.constants)
