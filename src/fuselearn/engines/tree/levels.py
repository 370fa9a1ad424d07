"""Grow a tree level by level, from counts of samples that may be kept in several places.

Every place counts its samples in the nodes of a level, per feature, code and class (`count_level`). The counts of all
places are added (`merge_bins`), and every node of the level is split (`GrowingTree.split`). Counts are whole numbers,
so their sum depends neither on the places nor on the order. Only bins that hold samples are listed. These are the items
for the one search for a split (`searching`), and keys of nodes are derived as everywhere, so the tree is the one that
`grow_tree` grows from the same samples.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fuselearn._kernels import kernel
from fuselearn.engines.tree.coding import CodedColumns
from fuselearn.engines.tree.growing import TreeSettings, finish, make_limits
from fuselearn.engines.tree.nodes import NODE, Limits, Tree
from fuselearn.engines.tree.predicting import find_leaves
from fuselearn.engines.tree.random import mix
from fuselearn.engines.tree.searching import (
    FACTS,
    Items,
    begin_search,
    describe,
    gain_of,
    make_search,
    next_feature,
    run_of,
    try_feature,
)
from fuselearn.engines.tree.sorting import code_of, word_of
from fuselearn.engines.tree.splitting import FEATURE, Growth, goes_left, is_terminal, write_split
from fuselearn.engines.tree.subsets import category_flag

MOST_COPIES = 2**31 - 1


class Bins(NamedTuple):
    """Samples counted per node, feature and code, for the bins that hold any.

    Bin ``b`` of the ``p``-th node of a level has the key ``p * n_bins + b``; the codes of the first feature come first,
    each feature's code for missing values last. ``counted`` has a column for each class; ``squares`` is the sum of the
    samples' squared counts.
    """

    keys: npt.NDArray[np.int64]
    counted: npt.NDArray[np.int32]
    squares: npt.NDArray[np.int64]


class Level(NamedTuple):
    """A tree as far as it has grown, without class weights, and those of its leaves that are to be split next."""

    nodes: npt.NDArray[np.void]
    subsets: npt.NDArray[np.uint32]
    leaves: npt.NDArray[np.int64]
    n_classes: int


def count_level(
    level: Level,
    codes: npt.NDArray[np.unsignedinteger],
    n_codes: npt.NDArray[np.int32],
    target: npt.NDArray[np.int32],
    counts: npt.NDArray[np.int32],
) -> Bins:
    """Count samples that have reached the leaves of a level.

    Parameters
    ----------
    level : Level
    codes : array of shape (n_samples, n_features)
        Some of the samples, coded as all others are.
    n_codes : int32 array of shape (n_features,)
    target : int32 array of shape (n_samples,)
        Class numbers.
    counts : int32 array of shape (n_samples,)
        How often each sample was drawn.
    """
    places = np.full(len(level.nodes), -1)
    places[level.leaves] = np.arange(len(level.leaves))
    reached = np.where(counts > 0, places[find_leaves(level.nodes, level.subsets, codes, n_codes)], -1)
    return Bins(*_count_bins(codes, n_codes, target, level.n_classes, counts, reached, len(level.leaves)))


def merge_bins(parts: Sequence[Bins]) -> Bins:
    """Add the counts of several places."""
    keys = np.concatenate([part.keys for part in parts])
    if len(keys) == 0:
        return parts[0]
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    firsts = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]]))
    return Bins(
        keys[firsts],
        np.add.reduceat(np.concatenate([part.counted for part in parts])[order], firsts, axis=0),
        np.add.reduceat(np.concatenate([part.squares for part in parts])[order], firsts),
    )


class GrowingTree:
    """A tree that grows by one level at a time.

    Parameters
    ----------
    columns : CodedColumns
        What the codes mean; the codes themselves are not looked at.
    n_classes : int
    settings : TreeSettings
    seed : int
        Seed of the random choices.
    """

    def __init__(self, columns: CodedColumns, n_classes: int, settings: TreeSettings, seed: int) -> None:
        self.columns = columns._replace(
            codes=np.empty((0, len(columns.n_codes)), dtype=np.uint16),
            order=np.empty((len(columns.n_codes), 0), dtype=np.uint32),
        )
        self.settings = settings
        self.limits: Limits | None = None
        nodes = np.zeros(1, dtype=NODE)
        nodes["feature"] = -1
        self.growth = Growth(nodes, np.zeros((1, n_classes)), np.empty(0, dtype=np.uint32), np.array([1, 0]))
        self.leaves = np.zeros(1, dtype=np.int64)
        self.keys = np.array([seed], dtype=np.uint64)
        self.depth = 0

    @property
    def level(self) -> Level:
        """What is to be counted next; it has no leaves if the tree has grown."""
        (n_nodes, n_words), growth = self.growth.used, self.growth
        return Level(growth.nodes[:n_nodes], growth.subsets[:n_words], self.leaves, growth.values.shape[1])

    def class_counts(self, bins: Bins) -> npt.NDArray[np.int64]:
        """Sum the counts of each class in the root, from its bins of the first feature."""
        return bins.counted[bins.keys <= self.columns.n_codes[0]].sum(axis=0, dtype=np.int64)

    def split(self, bins: Bins) -> None:
        """Split the leaves of the level, whose samples have been counted in all places."""
        if self.limits is None:
            self._plant(self.class_counts(bins))
        self._reserve(len(self.leaves))
        self.leaves, self.keys = _split_level(
            self.growth, self.columns, self.leaves, self.keys, self.depth, bins, self.limits
        )
        self.depth += 1

    def finish(self) -> Tree:
        """Prune the tree and return it."""
        return Tree(*finish(self.growth, self.columns.n_codes, self.settings.complexity, self.limits))

    def _plant(self, totals: npt.NDArray[np.int64]) -> None:
        n_copies = int(totals.sum())
        if n_copies > MOST_COPIES:
            raise ValueError(f"{n_copies:,} samples were drawn for a tree; at most {MOST_COPIES:,} are possible.")
        root = self.growth.nodes[:1]
        root["weight"] = root["count"] = n_copies
        root["left"] = root["cut"] = -1
        root["missing_left"] = root["heavier_left"] = True
        self.growth.values[0] = totals
        n_features = len(self.columns.n_codes)
        self.limits = make_limits(self.settings, n_features, self.growth.values[0], float(n_copies), False)

    def _reserve(self, n_splits: int) -> None:
        """Make room for so many more splits."""
        nodes, values, subsets, (n_nodes, n_words) = self.growth
        is_category = self.columns.is_category
        most_words = 0 if is_category is None else (int(self.columns.n_codes[is_category].max()) + 31) // 32
        self.growth = Growth(
            np.concatenate([nodes[:n_nodes], np.empty(2 * n_splits, dtype=NODE)]),
            np.concatenate([values[:n_nodes], np.empty((2 * n_splits, values.shape[1]))]),
            np.concatenate([subsets[:n_words], np.empty(n_splits * most_words, dtype=np.uint32)]),
            self.growth.used,
        )


@kernel
def _count_bins(codes, n_codes, target, n_classes, counts, reached, n_places):  # type: ignore[no-untyped-def]
    """Count the samples that have reached each of a level's nodes, given as places in the level or -1."""
    n_features = len(n_codes)
    starts = np.zeros(n_features + 1, dtype=np.int64)
    for f in range(n_features):
        starts[f + 1] = starts[f] + n_codes[f] + 1
    n_bins = starts[n_features]
    ends = np.zeros(n_places + 1, dtype=np.int64)
    for i in range(len(reached)):
        if reached[i] >= 0:
            ends[reached[i] + 1] += 1
    most = 0
    for place in range(n_places):
        most += min(ends[place + 1] * n_features, n_bins)
        ends[place + 1] += ends[place]
    samples = np.empty(ends[n_places], dtype=np.int64)
    n_listed = ends[:n_places].copy()
    for i in range(len(reached)):
        if reached[i] >= 0:
            samples[n_listed[reached[i]]] = i
            n_listed[reached[i]] += 1

    keys = np.empty(most, dtype=np.int64)
    counted = np.empty((most, n_classes), dtype=np.int32)
    squares = np.empty(most, dtype=np.int64)
    here = np.zeros((n_bins, n_classes), dtype=np.int32)
    squares_here = np.zeros(n_bins, dtype=np.int64)
    filled = np.empty(n_bins, dtype=np.int64)
    n_found = 0
    for place in range(n_places):
        n_filled = 0
        for k in range(ends[place], ends[place + 1]):
            i = samples[k]
            count = np.int64(counts[i])
            for f in range(n_features):
                b = starts[f] + codes[i, f]
                if squares_here[b] == 0:
                    filled[n_filled] = b
                    n_filled += 1
                here[b, target[i]] += counts[i]
                squares_here[b] += count * count
        filled[:n_filled].sort()
        for k in range(n_filled):
            b = filled[k]
            keys[n_found] = place * n_bins + b
            squares[n_found] = squares_here[b]
            squares_here[b] = 0
            for j in range(n_classes):
                counted[n_found, j] = here[b, j]
                here[b, j] = 0
            n_found += 1
    return keys[:n_found].copy(), counted[:n_found].copy(), squares[:n_found].copy()


@kernel
def _split_level(growth, columns, leaves, keys, depth, bins, limits):  # type: ignore[no-untyped-def]
    """Split leaves at a depth; return those of their children that may be split in turn, and their keys."""
    n_features, n_classes = len(columns.n_codes), growth.values.shape[1]
    search = make_search(columns, n_classes)
    facts = np.empty(len(bins.keys), dtype=FACTS)
    items = Items(bins.counted, facts)
    words = np.empty((1, len(bins.keys) + 1), dtype=np.uint64)
    starts = np.empty(n_features + 1, dtype=np.int64)
    children = np.empty(2 * len(leaves), dtype=np.int64)
    child_keys = np.empty(2 * len(leaves), dtype=np.uint64)
    n_children, line = 0, np.int64(0)
    k, first_key = 0, 0
    for place in range(len(leaves)):
        node, key = leaves[place], keys[place]
        parent = describe(growth, node, line, line)
        for f in range(n_features):
            starts[f] = k
            while k < len(bins.keys) and bins.keys[k] - first_key <= columns.n_codes[f]:
                _describe_bin(bins, k, parent.totals, facts)
                words[0, k] = word_of(bins.keys[k] - first_key, k)
                k += 1
            first_key += columns.n_codes[f] + 1
        starts[n_features] = k
        if is_terminal(growth, node, depth, limits):  # as a root may be
            continue
        begin_search(parent, search, limits)
        for position in range(n_features):
            feature = next_feature(columns, parent, search, position, key, limits)
            f = feature.number
            if f < 0:
                break
            run = run_of(words, line, starts[f], starts[f + 1], columns.n_codes[f])
            try_feature(columns, items, parent, search, words, run, feature, limits)
        f = search.split[FEATURE]
        if f < 0:
            continue
        child = growth.used[0]
        left_count = _sum_left(bins.counted, words, starts[f], starts[f + 1], columns, search, growth.values[child])
        write_split(growth, columns, node, search, gain_of(parent, search), float(left_count), left_count)
        for side in range(2):
            if not is_terminal(growth, child + side, depth + 1, limits):
                children[n_children] = child + side
                child_keys[n_children] = mix(key, side)
                n_children += 1
    return children[:n_children].copy(), child_keys[:n_children].copy()


@kernel
def _describe_bin(bins, b, totals, facts):  # type: ignore[no-untyped-def]
    weight, product = 0, 0.0
    for j in range(len(totals)):
        weight += bins.counted[b, j]
        product += bins.counted[b, j] * totals[j]
    facts[b].weight = weight
    facts[b].count = weight
    facts[b].product = product
    facts[b].squares = bins.squares[b]


@kernel
def _sum_left(counted, words, start, end, columns, search, sums):  # type: ignore[no-untyped-def]
    """Sum up the class counts on the left of a split, and return the sum of all."""
    f = search.split[FEATURE]
    is_category, missing_code = category_flag(columns.is_category, f), columns.n_codes[f]
    sums[:] = 0.0
    left_count = 0
    for k in range(start, end):
        if goes_left(code_of(words[0, k]), search.split, search.sides, missing_code, is_category):
            for j in range(len(sums)):
                sums[j] += counted[k, j]
                left_count += counted[k, j]
    return left_count
