"""The search for a node's best split, whatever the samples of the node are kept in.

A node looks at its features one after the other and takes the *items* of each in the order of their codes. With sorted
columns an item is a sample, with a histogram it is a bin, that is all samples with the same code. With L and R the
class weights on the two sides, the best split has the largest score

    sum(L^2) / weight(L) + sum(R^2) / weight(R),

which is Gini's criterion; with several labels per sample the sums are over labels. An item that goes from the right to
the left changes sum(L^2) and sum(L * (L + R)), from which sum(R^2) follows. Missing values, categories, random cuts and
features drawn at random are known here alone.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fuselearn._kernels import borrowing, inner, record
from fuselearn.engines.tree.chance import lessen, point_from_right_to_left, squared_lengths
from fuselearn.engines.tree.random import draw_into, mix
from fuselearn.engines.tree.sorting import code_of, row_of
from fuselearn.engines.tree.splitting import (
    FEATURE,
    FIRST_RIGHT,
    HAS_MISSING,
    LAST_LEFT,
    MISSING_LEFT,
    N_TRIED,
    SPLIT_NUMBERS,
    random_cut,
)
from fuselearn.engines.tree.subsets import Categories, category_flag, keep_subset, make_categories, search_subset
from fuselearn.engines.tree.targets import Target, add_row, sum_of

FACTS = record(
    [
        ("weight", np.float64),
        ("count", np.float64),  # number of samples with their copies
        ("product", np.float64),  # weight times the node's weights of the item's classes
        ("squares", np.float64),  # sum of the samples' squared weights
    ]
)
# The best score so far is a fraction: comparing fractions takes no division and, on small data, is exact.
SCORE, BELOW = 0, 1
NO_KEY = np.uint64(0)


class Items(NamedTuple):
    """What columns are made of: the target of each item, see `targets`, and what is known of it in the node at hand."""

    target: Target
    facts: npt.NDArray[np.void]


class Parent(NamedTuple):
    """The node that is to be split.

    Its class weights, the sum of their squares, their sum, which is the score of a split into two pure children, its
    weight, the number of its samples with their copies, its first sample and the one after its last.
    """

    totals: npt.NDArray[np.float64]
    squares: float
    most: float
    weight: float
    n_copies: int
    start: int
    end: int


class Feature(NamedTuple):
    """A feature that is looked at, and the key of its random choices, which is 0 if there are none."""

    number: int
    key: np.uint64


class Run(NamedTuple):
    """Where the items of a feature are: ``words[line, start:end]``, those with missing values from ``stop`` on.

    Their codes are from ``lowest`` to ``highest``, missing values aside. A slice of the array would do as well, but
    counting the references to it would take a fifth of a small tree's time.
    """

    line: int
    start: int
    stop: int
    end: int
    lowest: int
    highest: int


class Search(NamedTuple):
    """The best split so far, and buffers, made once per tree.

    ``left`` is for class weights, ``features`` for drawing features, ``found`` for categories; it is None if there are
    none.
    """

    split: npt.NDArray[np.int64]
    best: npt.NDArray[np.float64]
    sides: npt.NDArray[np.uint8]
    left: npt.NDArray[np.float64]
    features: npt.NDArray[np.int64]
    found: Categories | None


@inner
def make_search(columns, n_classes):  # type: ignore[no-untyped-def]
    """Make the buffers for the searches in the nodes of a tree."""
    most_codes = 0
    for f in range(len(columns.n_codes)):
        most_codes = max(most_codes, columns.n_codes[f])
    return Search(
        np.empty(SPLIT_NUMBERS, dtype=np.int64),
        np.empty(2),
        np.empty(most_codes + 1, dtype=np.uint8),
        np.empty(n_classes),
        np.empty(len(columns.n_codes), dtype=np.int64),
        make_categories(columns.is_category, columns.n_codes, n_classes),
    )


@inner
def describe(growth, node, start, end):  # type: ignore[no-untyped-def]
    """Describe a node to the search."""
    totals = growth.values[node]
    squares = most = 0.0
    for j in range(len(totals)):
        squares += totals[j] * totals[j]
        most += totals[j]
    return Parent(totals, squares, most, growth.nodes[node].weight, np.int64(growth.nodes[node].count), start, end)


@borrowing
def run_of(words, line, start, end, missing_code):  # type: ignore[no-untyped-def]
    """Describe where sorted items are; there are none in a feature that is constant."""
    stop, lowest = end, code_of(words[line, start])
    if lowest == code_of(words[line, end - 1]):
        return Run(line, start, start, start, lowest, lowest)
    while code_of(words[line, stop - 1]) == missing_code:
        stop -= 1
    return Run(line, start, stop, end, lowest, code_of(words[line, stop - 1]))


@borrowing
def begin_search(parent, search, limits):  # type: ignore[no-untyped-def]
    """Forget the last split. A better one must gain something."""
    search.best[SCORE], search.best[BELOW] = parent.squares + limits.min_gain * parent.weight, parent.weight
    search.split[FEATURE] = -1
    search.split[N_TRIED] = 0


@borrowing
def list_features(search, limits):  # type: ignore[no-untyped-def]
    """List all features, so that a draw among them depends on the node alone."""
    for f in range(len(search.features) if limits.max_features < len(search.features) else 0):
        search.features[f] = f


@borrowing
def has_tried_enough(columns, parent, search, limits):  # type: ignore[no-untyped-def]
    """Return whether there is a split after as many features as wanted, or one that no other can be better than."""
    split, best = search.split, search.best
    # If both children are pure, no other split is better. A subset's score is rounded and might seem to be.
    is_pure = best[SCORE] == parent.most * best[BELOW] and columns.is_category is None
    return split[FEATURE] >= 0 and (is_pure or split[N_TRIED] >= limits.max_features)


@borrowing
def next_feature(columns, parent, search, position, key, limits):  # type: ignore[no-untyped-def]
    """Return the feature to look at in turn; its number is -1 if enough have been looked at.

    If not all features are looked at, it is a random other one. Constant features do not count.
    """
    n_features = len(search.features)
    if has_tried_enough(columns, parent, search, limits):
        return Feature(-1, NO_KEY)
    random_key = mix(key, n_features + position) if limits.random_cuts else NO_KEY
    if limits.max_features < n_features:
        return Feature(draw_into(search.features, position, key), random_key)
    return Feature(position, random_key)


@borrowing
def try_feature(columns, items, parent, search, words, run, feature, limits):  # type: ignore[no-untyped-def]
    """Look for the best split of a feature, and keep it if it is better than the best so far."""
    if run.start == run.end:
        return
    search.split[N_TRIED] += 1
    f, random_key = feature
    if category_flag(columns.is_category, f):
        try_subset(columns.is_category, items, parent, search, words, run, feature, limits)
        return
    if limits.random_cuts:
        cut = random_cut(columns, f, run.lowest, run.highest, random_key)
        try_cut(items, parent, search, words, run, f, cut, limits.min_leaf)
    else:
        try_cuts(items, parent, search, words, run, f, limits.min_leaf)


@borrowing
def gain_of(parent, search):  # type: ignore[no-untyped-def]
    """Return the impurity that the best split removes."""
    return search.best[SCORE] / search.best[BELOW] - parent.squares / parent.weight


@borrowing
def try_cuts(items, parent, search, words, run, f, min_leaf):  # type: ignore[no-untyped-def]
    """Let a feature's items go to the left one by one, and keep the best cut if it is better than the best so far.

    Missing values are the last that may remain on the right; then they go left first.
    """
    target, facts = items
    left, split = search.left, search.split
    line, start, stop, end = run.line, run.start, run.stop, run.end
    best, below = search.best[SCORE], search.best[BELOW]
    has_missing = stop < end
    for missing_left in range(2 if has_missing else 1):
        left_squares = left_products = left_weight = left_count = 0.0
        for j in range(len(left)):
            left[j] = 0.0
        for k in range(stop, end if missing_left else stop):
            i = row_of(words[line, k])
            left_squares += add_row(target, i, facts[i].weight, left)
            left_products += facts[i].product
            left_weight += facts[i].weight
            left_count += facts[i].count
        next_code = code_of(words[line, start])
        for k in range(start, stop if has_missing and not missing_left else stop - 1):
            i = row_of(words[line, k])
            left_squares += add_row(target, i, facts[i].weight, left)
            left_products += facts[i].product
            left_weight += facts[i].weight
            left_count += facts[i].count
            code = next_code
            next_code = code_of(words[line, k + 1])
            if code == next_code or left_count < min_leaf:
                continue
            if parent.n_copies - left_count < min_leaf:
                break
            right_squares = parent.squares - 2.0 * left_products + left_squares
            right_weight = parent.weight - left_weight
            score = left_squares * right_weight + right_squares * left_weight
            product = left_weight * right_weight
            if score * below > best * product:
                best, below = score, product
                split[FEATURE] = f
                split[LAST_LEFT] = code
                split[FIRST_RIGHT] = next_code
                split[MISSING_LEFT] = missing_left
                split[HAS_MISSING] = has_missing
    search.best[SCORE], search.best[BELOW] = best, below


@borrowing
def try_cut(items, parent, search, words, run, f, cut, min_leaf):  # type: ignore[no-untyped-def]
    """Keep the split after the code ``cut`` if it is better than the best so far. Items may come in any order."""
    target, facts = items
    left, totals, split = search.left, parent.totals, search.split
    for j in range(len(left)):
        left[j] = 0.0
    left_weight = left_count = 0.0
    none_right = run.highest <= cut  # but missing values
    last_left, first_right = run.lowest, code_of(words[run.line, run.stop]) if none_right else run.highest
    for k in range(run.start, run.stop):
        i, code = row_of(words[run.line, k]), code_of(words[run.line, k])
        goes_left = np.int64(code <= cut)  # a factor: a wrong guess at a branch would cost more
        add_row(target, i, goes_left * facts[i].weight, left)
        left_weight += goes_left * facts[i].weight
        left_count += goes_left * facts[i].count
        last_left = max(last_left, code if goes_left else last_left)
        first_right = min(first_right, first_right if goes_left else code)
    has_missing = run.stop < run.end
    for missing_left in range(2 if has_missing and not none_right else 1):
        for k in range(run.stop, run.end if missing_left else run.stop):
            i = row_of(words[run.line, k])
            add_row(target, i, facts[i].weight, left)
            left_weight += facts[i].weight
            left_count += facts[i].count
        if left_count < min_leaf or parent.n_copies - left_count < min_leaf:
            continue
        left_squares = right_squares = 0.0
        for j in range(len(left)):
            left_squares += left[j] * left[j]
            right_squares += (totals[j] - left[j]) * (totals[j] - left[j])
        right_weight = parent.weight - left_weight
        score, product = left_squares * right_weight + right_squares * left_weight, left_weight * right_weight
        if score * search.best[BELOW] > search.best[SCORE] * product:
            search.best[SCORE], search.best[BELOW] = score, product
            split[FEATURE] = f
            split[LAST_LEFT] = last_left
            split[FIRST_RIGHT] = first_right
            split[MISSING_LEFT] = missing_left
            split[HAS_MISSING] = has_missing


@borrowing
def try_subset(is_category, items, parent, search, words, run, feature, limits):  # type: ignore[no-untyped-def]
    """Keep the best subset of a feature's categories if it is better than the best split so far."""
    if is_category is None:  # compiled to nothing for tables without categories, which spares them the wait
        return
    target, facts = items
    found, random_key = search.found, feature.key
    n_present = 0
    for k in range(run.start, run.end):
        code, i = code_of(words[run.line, k]), row_of(words[run.line, k])
        if n_present == 0 or code != found.codes[n_present - 1]:
            found.codes[n_present] = code
            found.weights[n_present] = found.squares[n_present] = 0.0
            found.counts[n_present] = 0
            for j in range(found.sums.shape[1]):
                found.sums[n_present, j] = 0.0
            n_present += 1
        add_row(target, i, facts[i].weight, found.sums[n_present - 1])
        found.weights[n_present - 1] += facts[i].weight
        found.squares[n_present - 1] += facts[i].squares
        found.counts[n_present - 1] += np.int64(facts[i].count)
    best = search.best[SCORE] / search.best[BELOW]
    score, n_groups = search_subset(found, n_present, parent, random_key, limits)
    if score > best and limits.less_chance and random_key == 0:
        point_from_right_to_left(found, n_groups, parent)
        lengths = squared_lengths(parent.totals, found.direction)
        if limits.multilabel:  # a sample's labels add up, so that only the sample knows its position
            lengths = 0.0
            for k in range(run.start, run.end):
                i = row_of(words[run.line, k])
                lengths += facts[i].weight * sum_of(target, i, found.direction) ** 2
        score = lessen(found, n_groups, parent, lengths, limits.multilabel, score)
    if score > best:
        best = score
        search.split[FEATURE] = feature.number
        keep_subset(found, n_present, search.sides)
    search.best[SCORE], search.best[BELOW] = best, 1.0
