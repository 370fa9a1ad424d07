"""What both growers do at a node: stop or not, send codes left or right, write the split."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fuselearn._kernels import inlined, kernel
from fuselearn.engines.tree.random import draw_into, uniform
from fuselearn.engines.tree.subsets import ABSENT, LEFT, write_subset
from fuselearn.engines.tree.targets import is_pure, risk


class Growth(NamedTuple):
    """The buffers a tree grows into; ``used`` counts the nodes and the subset words written so far."""

    nodes: npt.NDArray[np.void]
    values: npt.NDArray[np.float64]
    subsets: npt.NDArray[np.uint32]
    used: npt.NDArray[np.int64]


# A split under consideration is a row of five numbers: its column (-1: none yet), the last code on the left, the
# first code on the right, whether missing values go left, and whether there were any. For a category column, an
# array gives the side of each category instead of the two codes.
FEATURE, LAST_LEFT, FIRST_RIGHT, MISSING_LEFT, HAS_MISSING = 0, 1, 2, 3, 4
SPLIT_NUMBERS = 5


@inlined
def make_leaf(nodes, node, weight, count):  # type: ignore[no-untyped-def]
    """Describe a node that has no split (yet)."""
    nodes[node].threshold = 0.0
    nodes[node].gain = 0.0
    nodes[node].weight = weight
    nodes[node].count = count
    nodes[node].feature = -1
    nodes[node].left = -1
    nodes[node].cut = -1
    nodes[node].is_category = False
    nodes[node].missing_left = True
    nodes[node].heavier_left = True


@inlined
def push(stack, place, node, start, end, depth):  # type: ignore[no-untyped-def]
    """Let a node wait for its split, with its first row, the row after its last one, and its depth."""
    stack[place, 0] = node
    stack[place, 1] = start
    stack[place, 2] = end
    stack[place, 3] = depth


@kernel
def is_terminal(nodes, values, node, depth, limits, multilabel):  # type: ignore[no-untyped-def]
    """Return whether a node stays a leaf without a search for a split."""
    if nodes[node].count < limits.min_split or depth >= limits.max_depth:
        return True
    if is_pure(values[node], nodes[node].weight):
        return True
    return risk(values[node], nodes[node].weight, multilabel) <= limits.min_risk


@inlined
def column_at(position, features, key, max_features):  # type: ignore[no-untyped-def]
    """Return the column that is looked at in turn: the next one or, if not all are looked at, a random other one."""
    if max_features >= len(features):
        return position
    if position == 0:  # start afresh, so that the draw depends on the node alone
        for f in range(len(features)):
            features[f] = f
    return draw_into(features, position, key)


@inlined
def goes_left(code, split, sides, missing_code, is_category):  # type: ignore[no-untyped-def]
    """Send a code of the split's column left or right."""
    if is_category:
        return sides[code] == LEFT
    if code == missing_code:
        return split[MISSING_LEFT] == 1
    return code <= split[LAST_LEFT]


@kernel
def write_split(growth, columns, is_category, node, split, sides, gain, left_weight, left_count):  # type: ignore[no-untyped-def]
    """Turn a leaf into a split with two new leaves, and return the left one.

    The left child's class weights are expected in ``values`` at the first unused node, which becomes the left
    child; the right child's follow by subtraction.
    """
    nodes, values, subsets, used = growth
    f = split[FEATURE]
    left = used[0]
    used[0] += 2
    right_weight = nodes[node].weight - left_weight
    make_leaf(nodes, left, left_weight, left_count)
    make_leaf(nodes, left + 1, right_weight, nodes[node].count - left_count)
    for j in range(values.shape[1]):
        values[left + 1, j] = values[node, j] - values[left, j]

    heavier_left = left_weight >= right_weight
    nodes[node].feature = f
    nodes[node].left = left
    nodes[node].gain = gain
    nodes[node].is_category = is_category
    nodes[node].heavier_left = heavier_left
    if is_category:
        n_codes = columns.n_codes[f]
        nodes[node].cut = write_subset(subsets, used, n_codes, sides, heavier_left)
        absent = sides[n_codes] == ABSENT
        nodes[node].missing_left = heavier_left if absent else sides[n_codes] == LEFT
    else:
        threshold, cut = place_cut(columns, f, split[LAST_LEFT], split[FIRST_RIGHT])
        nodes[node].threshold = threshold
        nodes[node].cut = cut
        learned = split[HAS_MISSING] == 1
        nodes[node].missing_left = split[MISSING_LEFT] == 1 if learned else heavier_left
    return left


@kernel
def place_cut(columns, f, last_left, first_right):  # type: ignore[no-untyped-def]
    """Put the threshold half-way between two codes, and find the last code of the table below it.

    Codes between the two exist where rows of the table were not drawn. If the half-way point falls inside
    such a bin, the bin's lower bound serves, so that codes and values are always split alike.
    """
    start = columns.offsets[f]
    if first_right == columns.n_codes[f]:  # only missing values go right
        return np.inf, first_right - 1
    below = columns.upper[start + last_left]
    above = columns.lower[start + first_right]
    threshold = 0.5 * below + 0.5 * above
    if not below < threshold:  # neighbouring floating-point numbers have no number between them
        threshold = above
    cut, above_cut = last_left, first_right
    while above_cut - cut > 1:
        middle = (cut + above_cut) // 2
        if columns.upper[start + middle] < threshold:
            cut = middle
        else:
            above_cut = middle
    if columns.lower[start + cut + 1] < threshold:
        threshold = columns.lower[start + cut + 1]
    return threshold, cut


@kernel
def random_cut(columns, f, first_code, last_code, key):  # type: ignore[no-untyped-def]
    """Draw a value between the smallest and the largest one, and give the last code that does not exceed it."""
    start = columns.offsets[f]
    smallest = columns.lower[start + first_code]
    value = smallest + uniform(key) * (columns.upper[start + last_code] - smallest)
    below, above = first_code, last_code
    while above - below > 1:
        middle = (below + above) // 2
        if columns.upper[start + middle] <= value:
            below = middle
        else:
            above = middle
    return below
