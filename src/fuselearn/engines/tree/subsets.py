"""The best split of a category column: which categories go left.

With two classes the categories are ordered by the share of the second class, and the best of the cuts
along that order is the best of all subsets (Breiman et al. 1984). With more classes all subsets of up to
10 categories are tried; beyond that, categories are ordered along the first principal axis of their
class shares (Coppersmith, Hong and Hosking 1999) and the cuts along that order are tried.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import types
from numba.extending import overload

from fuselearn._kernels import kernel
from fuselearn.engines.tree.random import mix

EXHAUSTIVE_CATEGORIES = 10
POWER_STEPS = 30

# Where a category goes if it does not go right, which is 0.
LEFT, ABSENT = np.uint8(1), np.uint8(2)


class Categories(NamedTuple):
    """The categories present in a node, and room for the search; made once per tree, since making arrays takes time.

    The c-th present category has the code ``codes[c]``, the class weights ``sums[c]``, the weight ``weights[c]`` and
    ``counts[c]`` rows; ``sides[c]`` says where it goes. ``left`` and the other arrays are for passing use.
    """

    codes: npt.NDArray[np.int64]
    sums: npt.NDArray[np.float64]
    weights: npt.NDArray[np.float64]
    counts: npt.NDArray[np.int64]
    sides: npt.NDArray[np.uint8]
    positions: npt.NDArray[np.float64]
    order: npt.NDArray[np.int64]
    left: npt.NDArray[np.float64]


@kernel
def make_categories(is_category, n_codes, n_classes):  # type: ignore[no-untyped-def]
    """Make room for the categories of any one column of a table."""
    most = 0
    for f in range(len(n_codes)):
        if category_flag(is_category, f):
            most = max(most, n_codes[f] + 1)
    return Categories(
        np.empty(most, dtype=np.int64),
        np.empty((most, n_classes)),
        np.empty(most),
        np.empty(most, dtype=np.int64),
        np.empty(most, dtype=np.uint8),
        np.empty(most),
        np.empty(most, dtype=np.int64),
        np.empty(n_classes),
    )


@kernel
def best_subset(found, n_present, totals, weight, count, min_leaf, multilabel, random_key):  # type: ignore[no-untyped-def]
    """Search the best subset of the first ``n_present`` categories.

    Writes 1 (left) or 0 (right) into ``found.sides`` and returns the score, that is sum(left**2)/left_weight +
    sum(right**2)/right_weight, or -1 if no subset leaves ``min_leaf`` rows on both sides. A ``random_key`` above zero
    makes the choice random: each category goes left or right by a bit that the key and its code decide.
    """
    if n_present < 2:
        return -1.0
    if random_key > 0:
        return _random_subset(found, n_present, totals, weight, count, min_leaf, random_key)
    # Shares of two classes, or of one label, already lie on a line.
    on_a_line = len(totals) == 1 or (len(totals) == 2 and not multilabel)
    if not on_a_line and n_present <= EXHAUSTIVE_CATEGORIES:
        return _exhaustive(found, n_present, totals, weight, count, min_leaf)
    if on_a_line:
        for c in range(n_present):
            found.positions[c] = found.sums[c, len(totals) - 1] / found.weights[c]
    else:
        _place_on_principal_axis(found, n_present, totals, weight)
    _order_by_position(found.positions, found.order, n_present)
    return _along(found, n_present, totals, weight, count, min_leaf)


@kernel
def _score(left, totals, left_weight, weight):  # type: ignore[no-untyped-def]
    left_squares = 0.0
    right_squares = 0.0
    for j in range(len(totals)):
        left_squares += left[j] * left[j]
        right_squares += (totals[j] - left[j]) * (totals[j] - left[j])
    return left_squares / left_weight + right_squares / (weight - left_weight)


@kernel
def _exhaustive(found, n_present, totals, weight, count, min_leaf):  # type: ignore[no-untyped-def]
    """Try all subsets in the order of a Gray code: each differs from the last by one category."""
    left = found.left
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


@kernel
def _along(found, n_present, totals, weight, count, min_leaf):  # type: ignore[no-untyped-def]
    """Try the cuts along the order of the categories."""
    left = found.left
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


@kernel
def _random_subset(found, n_present, totals, weight, count, min_leaf, random_key):  # type: ignore[no-untyped-def]
    left = found.left
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


@kernel
def _place_on_principal_axis(found, n_present, totals, weight):  # type: ignore[no-untyped-def]
    """Place each category along the first principal axis of the class shares, found by power steps."""
    n_classes = len(totals)
    shares = np.empty((n_present, n_classes))
    heaviest = 0
    for c in range(n_present):
        if found.weights[c] > found.weights[heaviest]:
            heaviest = c
        for j in range(n_classes):
            shares[c, j] = found.sums[c, j] / found.weights[c] - totals[j] / weight
    axis = shares[heaviest].copy()
    for _ in range(POWER_STEPS):
        for c in range(n_present):
            found.positions[c] = 0.0
            for j in range(n_classes):
                found.positions[c] += shares[c, j] * axis[j]
        length = 0.0
        for j in range(n_classes):
            axis[j] = 0.0
            for c in range(n_present):
                axis[j] += found.weights[c] * found.positions[c] * shares[c, j]
            length += axis[j] * axis[j]
        if length == 0.0:
            break
        for j in range(n_classes):
            axis[j] /= np.sqrt(length)


@kernel
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


@kernel
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


def category_flag(is_category, f):  # type: ignore[no-untyped-def]
    """Tell whether column ``f`` is a category column; tables without any have None for the flags."""
    return is_category is not None and is_category[f]


@overload(category_flag, inline="always")
def _category_flag(is_category, f):  # type: ignore[no-untyped-def]
    if isinstance(is_category, types.NoneType):
        return lambda is_category, f: False
    return lambda is_category, f: is_category[f]


def search_subset(  # type: ignore[no-untyped-def]
    is_category, found, n_present, totals, weight, count, multilabel, random_key, min_leaf, f, best, split, sides
):
    """Search the best subset of a node's categories, keep it if its score beats ``best``, return the better score.

    Compiled to nothing for tables without category columns, which spares them the wait.
    """
    raise RuntimeError("compiled only")


@overload(search_subset)
def _search_subset(  # type: ignore[no-untyped-def]
    is_category, found, n_present, totals, weight, count, multilabel, random_key, min_leaf, f, best, split, sides
):
    def nothing(  # type: ignore[no-untyped-def]
        is_category, found, n_present, totals, weight, count, multilabel, random_key, min_leaf, f, best, split, sides
    ):
        return best

    def search(  # type: ignore[no-untyped-def]
        is_category, found, n_present, totals, weight, count, multilabel, random_key, min_leaf, f, best, split, sides
    ):
        score = best_subset(found, n_present, totals, weight, count, min_leaf, multilabel, random_key)
        if score <= best:
            return best
        split[0] = f
        for code in range(len(sides)):
            sides[code] = ABSENT
        for c in range(n_present):
            sides[found.codes[c]] = found.sides[c]
        return score

    return nothing if isinstance(is_category, types.NoneType) else search
