"""Export HOMER's hierarchies to ONNX: products and decisions, given the probabilities of all groups of labels.

The probability of a label is the product of the probabilities of all groups that contain it. For HOMER's own decision,
a sample descends a hierarchy to the groups whose probability is above 0.5, or at least to the most probable one. In a
graph without branches, all models predict for all samples, and at each node, from the last one up to the root,

    score of a label = the score from below if the sample descends to its group, else the probability of the group.

Above the root, the probability of having any label decides in the same way whether the sample descends at all.
"""

from __future__ import annotations

from itertools import zip_longest
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fuselearn.io.onnx_graph import Graph, add_is_largest, take
from fuselearn.multilabel.learning.hierarchy import LEAF
from fuselearn.multilabel.learning.homer_model import HOMERModel

Floats = npt.NDArray[np.float64]


class Member(NamedTuple):
    """A hierarchy, and the positions of its probabilities among those of all members."""

    component: HOMERModel
    starts: npt.NDArray[np.int64]  # the first column of probabilities of each block
    certain: int  # the column of a probability of 1


def add_products(graph: Graph, member: Member, chances: str) -> str:
    """Add the label probabilities of one member: the product over each label's groups, factor by factor."""
    hierarchy, starts = member.component.hierarchy, member.starts
    around: list[list[int]] = [[] for _ in range(member.component.n_labels)]  # the columns of each label's groups
    for number, node in enumerate(hierarchy):
        for g, group in enumerate(node.groups):
            for label in group:
                around[label].append(starts[number] + g)
    if member.component.labelled is not None:
        around = [[starts[-1], *columns] for columns in around]
    product = ""
    for factors in zip_longest(*around, fillvalue=member.certain):
        part = take(graph, chances, np.array(factors))
        product = part if not product else graph.add("Mul", [product, part], graph.name("product"))
    return product


def add_ways_down(graph: Graph, member: Member, chances: str) -> str:
    """Add the decision scores of one member, from its last node up to the root."""
    hierarchy, starts = member.component.hierarchy, member.starts
    scores: dict[int, tuple[str, npt.NDArray[np.int64]]] = {}  # of the labels of a node, in this order
    for number in reversed(range(len(hierarchy))):
        groups, children = hierarchy[number]
        labels = np.concatenate(groups)
        group_of = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
        own = take(graph, chances, starts[number] + np.arange(len(groups)))
        stay = own if len(labels) == len(groups) else take(graph, own, group_of)
        if all(child == LEAF for child in children):
            scores[number] = stay, labels
            continue
        above = graph.add("Greater", [own, graph.constant("half", np.array(0.5))], graph.name("above"))
        goes = graph.add("Or", [above, add_is_largest(graph, own, len(groups))], graph.name("goes"))
        below = [scores.pop(child) for child in children if child != LEAF]
        joined = graph.add("Concat", [stay, *(name for name, _ in below)], graph.name("joined"), axis=1)
        place = {label: k for k, label in enumerate(labels)}  # single labels are unchanged
        place.update({label: len(labels) + k for k, label in enumerate(np.concatenate([order for _, order in below]))})
        down = take(graph, joined, np.array([place[label] for label in labels]))
        scores[number] = graph.add("Where", [take(graph, goes, group_of), down, stay], graph.name("scores")), labels
    name, labels = scores[0]
    ordered = take(graph, name, np.argsort(labels))
    if member.component.labelled is None:
        return ordered
    any_label = take(graph, chances, starts[-1:])
    goes = graph.add("Greater", [any_label, graph.constant("half", np.array(0.5))], graph.name("goes"))
    return graph.add("Where", [goes, ordered, any_label], graph.name("scores"))
