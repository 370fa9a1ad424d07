"""The best split of a category column: which categories go left.

With two classes the categories are ordered by the share of the second class, and the best of the cuts
along that order is the best of all subsets (Breiman et al. 1984). With more classes all subsets of up to
10 categories are tried; beyond that, categories are ordered along the first principal axis of their
class shares (Coppersmith, Hong and Hosking 1999) and the cuts along that order are tried. What such a choice among many
subsets gains by chance alone is the business of `chance`.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fuselearn._kernels import borrowing, inner
from fuselearn.engines.tree.chance import pool_single_samples
from fuselearn.engines.tree.random import mix

EXHAUSTIVE_CATEGORIES = 10
POWER_STEPS = 30

# Where a category goes if it does not go right, which is 0.
LEFT, ABSENT = np.uint8(1), np.uint8(2)


class Categories(NamedTuple):
    """The categories present in a node, and room for the search; made once per tree, since making arrays takes time.

    The c-th present category has the code ``codes[c]``, the class weights ``sums[c]``, the weight ``weights[c]``,
    ``counts[c]`` rows, and ``squares[c]``, the sum of their squared weights. It belongs to the group ``groups[c]``;
    ``sides`` says where each group goes. ``left`` and the other arrays are for passing use.
    """

    codes: npt.NDArray[np.int64]
    sums: npt.NDArray[np.float64]
    weights: npt.NDArray[np.float64]
    squares: npt.NDArray[np.float64]
    counts: npt.NDArray[np.int64]
    groups: npt.NDArray[np.int64]
    sides: npt.NDArray[np.uint8]
    positions: npt.NDArray[np.float64]
    order: npt.NDArray[np.int64]
    left: npt.NDArray[np.float64]
    direction: npt.NDArray[np.float64]


@inner
def make_categories(is_category, n_codes, n_classes):  # type: ignore[no-untyped-def]
    """Make buffers for the categories of any one column of a table; None if it has no category columns."""
    if is_category is None:
        return None
    most = 0
    for f in range(len(n_codes)):
        if category_flag(is_category, f):
            most = max(most, n_codes[f] + 1)
    return Categories(
        np.empty(most, dtype=np.int64),
        np.empty((most, n_classes)),
        np.empty(most),
        np.empty(most),
        np.empty(most, dtype=np.int64),
        np.empty(most, dtype=np.int64),
        np.empty(most, dtype=np.uint8),
        np.empty(most),
        np.empty(most, dtype=np.int64),
        np.empty(n_classes),
        np.empty(n_classes),
    )


@borrowing
def best_subset(found, n_present, parent, random_key, limits):  # type: ignore[no-untyped-def]
    """Search the best subset of the first ``n_present`` categories.

    Writes 1 (left) or 0 (right) into ``found.sides`` and returns the score, that is sum(left**2)/left_weight +
    sum(right**2)/right_weight, or -1 if no subset leaves enough rows on both sides. A ``random_key`` above zero
    makes the choice random: each category goes left or right by a bit that the key and its code decide.
    """
    if n_present < 2:
        return -1.0
    totals = parent.totals
    if random_key > 0:
        return _random_subset(found, n_present, parent, limits.min_leaf, random_key)
    # Shares of two classes, or of one label, already lie on a line.
    on_a_line = len(totals) == 1 or (len(totals) == 2 and not limits.multilabel)
    if not on_a_line and n_present <= EXHAUSTIVE_CATEGORIES:
        return _exhaustive(found, n_present, parent, limits.min_leaf)
    if on_a_line:
        for c in range(n_present):
            found.positions[c] = found.sums[c, len(totals) - 1] / found.weights[c]
    else:
        _place_on_principal_axis(found, n_present, parent.totals, parent.weight)
    _order_by_position(found.positions, found.order, n_present)
    return _along(found, n_present, parent, limits.min_leaf)


@borrowing
def _score(left, totals, left_weight, weight):  # type: ignore[no-untyped-def]
    left_squares = 0.0
    right_squares = 0.0
    for j in range(len(totals)):
        left_squares += left[j] * left[j]
        right_squares += (totals[j] - left[j]) * (totals[j] - left[j])
    return left_squares / left_weight + right_squares / (weight - left_weight)


@borrowing
def _exhaustive(found, n_present, parent, min_leaf):  # type: ignore[no-untyped-def]
    """Try all subsets in the order of a Gray code: each differs from the last by one category."""
    left, totals, weight, count = found.left, parent.totals, parent.weight, parent.n_copies
    for j in range(len(totals)):
        left[j] = 0.0
    left_weight = 0.0
    left_count = 0
    best = -1.0
    best_code = 0
    for step in range(1, 1 << (n_present - 1)):
        moved = 0
        while (step >> moved) & 1 == 0:
            moved += 1
        code = step ^ (step >> 1)
        sign = 1 if (code >> moved) & 1 else -1
        for j in range(len(totals)):
            left[j] += sign * found.sums[moved, j]
        left_weight += sign * found.weights[moved]
        left_count += sign * found.counts[moved]
        if left_count >= min_leaf and count - left_count >= min_leaf:
            score = _score(left, totals, left_weight, weight)
            if score > best:
                best = score
                best_code = code
    for c in range(n_present):
        found.sides[c] = (best_code >> c) & 1
    return best


@borrowing
def _along(found, n_present, parent, min_leaf):  # type: ignore[no-untyped-def]
    """Try the cuts along the order of the categories."""
    left, totals, weight, count = found.left, parent.totals, parent.weight, parent.n_copies
    for j in range(len(totals)):
        left[j] = 0.0
    left_weight = 0.0
    left_count = 0
    best = -1.0
    best_size = 0
    for k in range(n_present - 1):
        c = found.order[k]
        for j in range(len(totals)):
            left[j] += found.sums[c, j]
        left_weight += found.weights[c]
        left_count += found.counts[c]
        if left_count >= min_leaf and count - left_count >= min_leaf:
            score = _score(left, totals, left_weight, weight)
            if score > best:
                best = score
                best_size = k + 1
    for k in range(n_present):
        found.sides[found.order[k]] = 1 if k < best_size else 0
    return best


@borrowing
def _random_subset(found, n_present, parent, min_leaf, random_key):  # type: ignore[no-untyped-def]
    left, totals, weight, count = found.left, parent.totals, parent.weight, parent.n_copies
    for j in range(len(totals)):
        left[j] = 0.0
    left_weight = 0.0
    left_count = 0
    for c in range(n_present):
        found.sides[c] = mix(random_key, found.codes[c]) & np.uint64(1)
        if found.sides[c] == 1:
            for j in range(len(totals)):
                left[j] += found.sums[c, j]
            left_weight += found.weights[c]
            left_count += found.counts[c]
    if left_count < max(1, min_leaf) or count - left_count < max(1, min_leaf):
        return -1.0
    return _score(left, totals, left_weight, weight)


@inner
def _place_on_principal_axis(found, n_present, totals, weight):  # type: ignore[no-untyped-def]
    """Place each category along the first principal axis of the class shares, found by power steps.

    A category has few of many classes, so that steps run over the entries that are not zero: as many as there are rows,
    at most. The positions' weighted mean is zero, which is why the axis needs no centring.
    """
    n_classes = len(totals)
    n_entries = 0
    heaviest = 0
    for c in range(n_present):
        if found.weights[c] > found.weights[heaviest]:
            heaviest = c
        for j in range(n_classes):
            n_entries += found.sums[c, j] != 0.0
    starts = np.empty(n_present + 1, dtype=np.int64)
    classes = np.empty(n_entries, dtype=np.int64)
    starts[0] = 0
    n_entries = 0
    for c in range(n_present):
        for j in range(n_classes):
            if found.sums[c, j] != 0.0:
                classes[n_entries] = j
                n_entries += 1
        starts[c + 1] = n_entries
    axis = found.sums[heaviest] / found.weights[heaviest] - totals / weight
    for _ in range(POWER_STEPS):
        centre = 0.0
        for j in range(n_classes):
            centre += totals[j] / weight * axis[j]
        for c in range(n_present):
            position = 0.0
            for k in range(starts[c], starts[c + 1]):
                position += found.sums[c, classes[k]] * axis[classes[k]]
            found.positions[c] = position / found.weights[c] - centre
        for j in range(n_classes):
            axis[j] = 0.0
        for c in range(n_present):
            for k in range(starts[c], starts[c + 1]):
                axis[classes[k]] += found.positions[c] * found.sums[c, classes[k]]
        length = 0.0
        for j in range(n_classes):
            length += axis[j] * axis[j]
        if length == 0.0:
            break
        for j in range(n_classes):
            axis[j] /= np.sqrt(length)


@inner
def _order_by_position(positions, order, n_present):  # type: ignore[no-untyped-def]
    """Sort the categories by insertion, which suits the few that there usually are; equal ones keep their order."""
    if n_present > 64:
        order[:n_present] = np.argsort(positions[:n_present], kind="mergesort")
        return
    for c in range(n_present):
        k = c
        while k > 0 and positions[order[k - 1]] > positions[c]:
            order[k] = order[k - 1]
            k -= 1
        order[k] = c


@borrowing
def write_subset(subsets, used, n_categories, sides, heavier_left):  # type: ignore[no-untyped-def]
    """Write the bits of a category split; categories absent from the node follow the heavier child."""
    first = used[1]
    n_words = (n_categories + 31) // 32
    used[1] += n_words
    for word in range(first, first + n_words):
        subsets[word] = 0
    for c in range(n_categories):
        if sides[c] == LEFT or (sides[c] == ABSENT and heavier_left):
            subsets[first + c // 32] |= np.uint32(1) << np.uint32(c % 32)
    return first


@borrowing
def category_flag(is_category, f):  # type: ignore[no-untyped-def]
    """Return whether column ``f`` is a category column; tables without any have None for the flags."""
    if is_category is None:
        return False
    return is_category[f]


@borrowing
def search_subset(found, n_present, parent, random_key, limits):  # type: ignore[no-untyped-def]
    """Search the best subset of a node's categories; return its score and how many groups of categories there are.

    Categories are groups of one, but for those that `chance` pools.
    """
    n_groups = n_present
    if limits.less_chance and random_key == 0:
        n_groups = pool_single_samples(found, n_present, len(parent.totals))
    else:
        for c in range(n_present):
            found.groups[c] = c
    return best_subset(found, n_groups, parent, random_key, limits), n_groups


@borrowing
def keep_subset(found, n_present, sides):  # type: ignore[no-untyped-def]
    """Write the side of each category of the column into ``sides``."""
    for code in range(len(sides)):
        sides[code] = ABSENT
    for c in range(n_present):
        sides[found.codes[c]] = found.sides[found.groups[c]]
