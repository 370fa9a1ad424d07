"""Export weighted sums of multi-label models to ONNX: hierarchies, chains and models per label, of trees or SVMs.

Components that need nothing of each other are computed side by side: all trees are one operator, and all SVMs of a
table and a kernel one product of matrices. A chain is computed place by place, as each model needs the labels before.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
from onnx import TensorProto

from fuselearn.io.onnx_graph import Graph, apply, take
from fuselearn.io.onnx_hierarchies import Member, add_products, add_ways_down
from fuselearn.io.onnx_inputs import Categories
from fuselearn.io.onnx_sums import add_exact_sums
from fuselearn.io.onnx_svm import add_machines, add_scaled, refuse_large
from fuselearn.io.onnx_trees import TreeSum
from fuselearn.learners.svm import LabelMachines, SVMLearner
from fuselearn.learners.tree import LabelTrees, TreeLearner
from fuselearn.multilabel.decisions.rules import OwnDecision
from fuselearn.multilabel.learning.base import MultilabelClassifier
from fuselearn.multilabel.learning.fusion import OnSomeFeatures
from fuselearn.multilabel.learning.homer_model import HOMERModel
from fuselearn.multilabel.methods.binary_relevance import JoinedLabels, Relevance
from fuselearn.multilabel.methods.chain import Chain

MODELS = (Relevance, Chain, HOMERModel)


def sum_categories(model: MultilabelClassifier) -> Categories:
    """Return the categories of a model's features, or refuse a model that cannot be exported."""
    learner = model._fused_.learner
    members = [_unwrap(member) for member in model._fused_.members]
    if not all(isinstance(member, MODELS) for member in members):
        raise TypeError(f"{type(model).__name__} cannot be exported to ONNX: its members predict whole label sets.")
    if not isinstance(learner, SVMLearner | TreeLearner):
        raise TypeError(
            f"{type(model).__name__} over {model._base_estimator()!r} cannot be exported to ONNX; the base learner "
            "must be SVMClassifier or CARTClassifier."
        )
    if isinstance(learner, TreeLearner):
        return learner.coder.categories_
    every = chain.from_iterable(_list_components(member) for member in members)
    refuse_large(model, _group(every).values())
    return learner.encoder.coder.categories_


def add_label_sum(graph: Graph, model: MultilabelClassifier, matrix: str) -> tuple[str, str]:
    """Add the nodes that turn a matrix of doubles into label probabilities and decision scores."""
    exporter, vote = SumExporter(graph, model, matrix), model._fused_.vote
    probabilities = exporter.add(vote)
    if vote == "probability" and isinstance(model.rule_, OwnDecision):
        return probabilities, exporter.add("score")
    return probabilities, probabilities


class SumExporter:
    """The members of a sum, and the nodes that they share.

    Parameters
    ----------
    graph : Graph
    model : MultilabelClassifier
    matrix : str
        Name of a matrix of doubles.
    """

    def __init__(self, graph: Graph, model: MultilabelClassifier, matrix: str) -> None:
        self.graph = graph
        self.model = model
        self.matrix = matrix
        self._scaled: dict[int, str] = {}
        members = [_unwrap(member) for member in model._fused_.members]
        together = [one for member in members if not isinstance(member, Chain) for one in _list_components(member)]
        self._starts: dict[int, int] = {}  # the first column of each component's probabilities
        self._certain = 0  # the column of a probability of 1
        self._chances = self._add_components(together) if together else ""
        self._answers: dict[int, str] = {}  # those of chains, which answer once only

    def add(self, vote: str) -> str:
        """Add the weighted sum of the members' probabilities, scores or votes."""
        fused, total = self.model._fused_, ""
        add = partial(apply, self.graph)
        for member, coefficient in zip(fused.members, fused.coefficients, strict=True):
            answer = self._ask(_unwrap(member), by_itself=vote != "probability")
            if vote == "class":
                answer = add("Cast", add("Greater", answer, 0.5), to=TensorProto.DOUBLE)
            part = add("Mul", answer, float(coefficient))
            total = part if not total else add("Add", total, part)
        return add("Div", total, np.asarray(fused.divisor, dtype=np.float64))

    def _ask(self, member: Any, *, by_itself: bool) -> str:
        if isinstance(member, Chain):
            if id(member) not in self._answers:
                self._answers[id(member)] = self._add_chain(member)
            return self._answers[id(member)]
        if isinstance(member, Relevance):
            parts = [self._starts[id(part)] + np.arange(_width(part)) for part in _list_components(member)]
            columns = np.concatenate(parts)
            if isinstance(member.component, JoinedLabels):
                columns = columns[member.component.order]
            return take(self.graph, self._chances, columns)
        starts = np.array([self._starts[id(block)] for block in member.blocks])
        own = Member(member, starts, self._certain)
        return (add_ways_down if by_itself else add_products)(self.graph, own, self._chances)

    def _add_chain(self, member: Chain) -> str:
        """Add the models of a chain, each of which has the decisions of those before as features."""
        add, found, decided = partial(apply, self.graph), "", ""
        for component in member.components:
            chance = self._add_block([component], decided)
            labels = add("Cast", add("Greater", chance, 0.5), to=TensorProto.DOUBLE)
            found = add("Concat", found, chance, axis=1) if found else chance
            decided = add("Concat", decided, labels, axis=1) if decided else labels
        return take(self.graph, found, np.argsort(member.order))

    def _add_components(self, components: Sequence[Any]) -> str:
        """Add the probabilities of components side by side, and behind them a column of ones."""
        parts, n_columns = [], 0
        for group in _group(components).values():
            parts.append(self._add_block(group))
            for component in group:
                self._starts[id(component)] = n_columns
                n_columns += _width(component)
        self._certain = n_columns
        one = apply(self.graph, "Add", apply(self.graph, "Mul", take(self.graph, parts[0], np.array([0])), 0.0), 1.0)
        return apply(self.graph, "Concat", *parts, one, axis=1)

    def _add_block(self, components: Sequence[Any], appended: str = "") -> str:
        """Add the probabilities of components of one group; a chain has appended labels to their features."""
        first = components[0]
        if isinstance(first, LabelMachines):
            return add_machines(self.graph, components, self._scale(first), appended)
        trees = [tree for component in components for tree in component.trees]
        shares = [tree.shares()[:, 1:] for tree in trees]
        columns = [np.array([place]) for place in range(len(trees))]
        matrix = apply(self.graph, "Concat", self.matrix, appended, axis=1) if appended else self.matrix
        return add_exact_sums(self.graph, self.model, TreeSum(trees, shares, first.n_categories, columns), matrix)

    def _scale(self, block: LabelMachines) -> str:
        """Return the scaled columns of a block's table, which are added once."""
        root, learner = block.table.root, self.model._fused_.learner
        assert isinstance(learner, SVMLearner), "others have no machines"
        if id(root) not in self._scaled:
            self._scaled[id(root)] = add_scaled(self.graph, learner.encoder, root, self.matrix)
        return self._scaled[id(root)]


def _unwrap(member: Any) -> Any:
    """Return the model of a member on some features; its components know their features."""
    return member.model if isinstance(member, OnSomeFeatures) else member


def _list_components(member: Any) -> Iterator[Any]:
    if isinstance(member, Relevance):
        component = member.component
        yield from component.components if isinstance(component, JoinedLabels) else [component]
    else:
        yield from member.components if isinstance(member, Chain) else member.blocks


def _group(components: Iterable[Any]) -> dict[Any, list[Any]]:
    """Group components that can be computed together: all trees, and the machines of each table and kernel."""
    groups: dict[Any, list[Any]] = defaultdict(list)
    for component in components:
        is_tree = isinstance(component, LabelTrees)
        groups["trees" if is_tree else (id(component.table), component.kernel)].append(component)
    return groups


def _width(component: Any) -> int:
    return len(component.trees) if isinstance(component, LabelTrees) else len(component.constants)
