"""What all growers do at a node: stop or not, send codes left or right, write the split."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fuselearn._kernels import borrowing, inlined, kernel
from fuselearn.engines.tree.random import uniform
from fuselearn.engines.tree.subsets import ABSENT, LEFT, category_flag, write_subset
from fuselearn.engines.tree.targets import is_pure, risk


class Growth(NamedTuple):
    """The buffers a tree grows into; ``used`` counts the nodes and the subset words written so far."""

    nodes: npt.NDArray[np.void]
    values: npt.NDArray[np.float64]
    subsets: npt.NDArray[np.uint32]
    used: npt.NDArray[np.int64]


class Root(NamedTuple):
    """A leaf from which a tree grows on: its number, its depth and the key of its random choices."""

    node: int
    depth: int
    key: np.uint64


# A split under consideration is a row of numbers: its column (-1: none yet), the last code on the left, the first code
# on the right, whether missing values go left, whether there were any, and how many columns have been tried. For a
# category column, an array gives the side of each category instead of the two codes.
FEATURE, LAST_LEFT, FIRST_RIGHT, MISSING_LEFT, HAS_MISSING, N_TRIED = 0, 1, 2, 3, 4, 5
SPLIT_NUMBERS = 6


@borrowing
def make_leaf(nodes, node, weight, count):  # type: ignore[no-untyped-def]
    """Describe a node that has no split (yet)."""
    leaf = nodes[node]
    leaf.threshold = 0.0
    leaf.gain = 0.0
    leaf.weight = weight
    leaf.count = count
    leaf.feature = -1
    leaf.left = -1
    leaf.cut = -1
    leaf.is_category = False
    leaf.missing_left = True
    leaf.heavier_left = True


@inlined
def push(stack, place, node, start, end, depth):  # type: ignore[no-untyped-def]
    """Let a node wait for its split, with its first row, the row after its last one, and its depth."""
    stack[place, 0] = node
    stack[place, 1] = start
    stack[place, 2] = end
    stack[place, 3] = depth


@borrowing
def is_terminal(growth, node, depth, limits):  # type: ignore[no-untyped-def]
    """Return whether a node stays a leaf without a search for a split."""
    sums, weight = growth.values[node], growth.nodes[node].weight
    if growth.nodes[node].count < limits.min_split or depth >= limits.max_depth:
        return True
    return is_pure(sums, weight) or risk(sums, weight, limits.multilabel) <= limits.min_risk


@inlined
def goes_left(code, split, sides, missing_code, is_category):  # type: ignore[no-untyped-def]
    """Send a code of the split's column left or right."""
    if is_category:
        return sides[code] == LEFT
    if code == missing_code:
        return split[MISSING_LEFT] == 1
    return code <= split[LAST_LEFT]


@borrowing
def write_split(growth, columns, node, search, gain, left_weight, left_count):  # type: ignore[no-untyped-def]
    """Turn a leaf into a split with two new leaves.

    The left child's class weights are expected in ``values`` at the first unused node, which becomes the left
    child; the right child's follow by subtraction.
    """
    nodes, values, subsets, used = growth
    split, sides = search.split, search.sides
    f = split[FEATURE]
    left = used[0]
    used[0] += 2
    parent = nodes[node]
    right_weight = parent.weight - left_weight
    make_leaf(nodes, left, left_weight, left_count)
    make_leaf(nodes, left + 1, right_weight, parent.count - left_count)
    for j in range(values.shape[1]):
        values[left + 1, j] = values[node, j] - values[left, j]

    heavier_left = left_weight >= right_weight
    parent.feature = f
    parent.left = left
    parent.gain = gain
    parent.heavier_left = heavier_left
    if category_flag(columns.is_category, f):
        n_codes = columns.n_codes[f]
        parent.is_category = True
        parent.cut = write_subset(subsets, used, n_codes, sides, heavier_left)
        absent = sides[n_codes] == ABSENT
        parent.missing_left = heavier_left if absent else sides[n_codes] == LEFT
    else:
        parent.threshold, parent.cut = place_cut(columns, f, split[LAST_LEFT], split[FIRST_RIGHT])
        learned = split[HAS_MISSING] == 1
        parent.missing_left = split[MISSING_LEFT] == 1 if learned else heavier_left


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
