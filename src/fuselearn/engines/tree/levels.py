"""Grow a tree level by level, from counts of samples that are kept elsewhere, see `tallying`.

The bins that hold samples are the items for the one search for a split (`searching`), and keys of nodes are derived as
everywhere, so the tree is the one that `grow_tree` grows from the same samples.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from fuselearn._kernels import kernel
from fuselearn.engines.tree.coding import CodedColumns
from fuselearn.engines.tree.growing import TreeSettings, finish, make_limits
from fuselearn.engines.tree.nodes import NODE, Tree
from fuselearn.engines.tree.random import mix
from fuselearn.engines.tree.searching import (
    FACTS,
    Items,
    begin_search,
    describe,
    gain_of,
    list_features,
    make_search,
    next_feature,
    run_of,
    try_feature,
)
from fuselearn.engines.tree.sorting import code_of, word_of
from fuselearn.engines.tree.splitting import FEATURE, Growth, goes_left, is_terminal, write_split
from fuselearn.engines.tree.subsets import category_flag
from fuselearn.engines.tree.tallying import Bins, Splits

MOST_COPIES = 2**31 - 1


class GrowingTree:
    """A tree that grows by one level at a time, each in several rounds if it has many bins.

    Parameters
    ----------
    columns : CodedColumns
        What the codes mean; the codes themselves are not looked at.
    totals : array of shape (n_classes,)
        How many copies of samples of each class were drawn.
    settings : TreeSettings
    seed : int
        Seed of the random choices.
    """

    def __init__(self, columns: CodedColumns, totals: npt.NDArray[np.int64], settings: TreeSettings, seed: int) -> None:
        n_copies = int(totals.sum())
        if n_copies > MOST_COPIES:
            raise ValueError(f"{n_copies:,} samples were drawn for a tree; at most {MOST_COPIES:,} are possible.")
        self.columns = columns
        self.settings = settings
        nodes = np.zeros(1, dtype=NODE)
        nodes["feature"] = nodes["left"] = nodes["cut"] = -1
        nodes["weight"] = nodes["count"] = n_copies
        nodes["missing_left"] = nodes["heavier_left"] = True
        values = totals[np.newaxis].astype(np.float64)
        self.growth = Growth(nodes, values, np.empty(0, dtype=np.uint32), np.array([1, 0]))
        self.limits = make_limits(settings, len(columns.n_codes), values[0], float(n_copies), False)
        self.depth = -1
        self._begin_level(np.zeros(1, dtype=np.int64), np.array([seed], dtype=np.uint64))

    @property
    def has_grown(self) -> bool:
        """Whether no node is left that may be split."""
        return len(self.leaves) == 0

    def rounds(self, n_bins: int) -> Iterator[npt.NDArray[np.int64]]:
        """Divide the nodes of the level into groups of about so many bins that hold samples, at most."""
        n_features, n_all = len(self.columns.n_codes), int(self.columns.n_codes.sum()) + len(self.columns.n_codes)
        most = np.minimum(self.growth.nodes["count"][self.leaves] * n_features, n_all)
        rounds = most.cumsum() // n_bins
        firsts = np.flatnonzero(np.diff(rounds, prepend=-1))
        for start, end in zip(firsts, [*firsts[1:], len(rounds)], strict=True):
            yield np.arange(start, end)

    def split(self, nodes: npt.NDArray[np.int64], bins: Bins) -> None:
        """Split the nodes of a round, whose samples have been counted in all places."""
        self._reserve(len(nodes))
        part = slice(nodes[0], nodes[-1] + 1)
        n_before = sum(len(leaves) for leaves, _ in self._next)
        self._next.append(
            _split_nodes(
                self.growth, self.columns, self.leaves[part], self.keys[part], self.depth, bins, self.limits,
                self._children[part], n_before,
            )
        )  # fmt: skip

    def end_level(self) -> Splits:
        """Go on to the next level; return what has become of this one."""
        (n_nodes, n_words), growth, children = self.growth.used, self.growth, self._children
        nodes = growth.nodes[:n_nodes][self.leaves]
        self._begin_level(*(np.concatenate(parts) for parts in zip(*self._next, strict=True)))
        return Splits(nodes, growth.subsets[:n_words], children, len(self.leaves))

    def finish(self) -> Tree:
        """Prune the tree and return it."""
        return Tree(*finish(self.growth, self.columns.n_codes, self.settings.complexity, self.limits))

    def _begin_level(self, leaves: npt.NDArray[np.int64], keys: npt.NDArray[np.uint64]) -> None:
        self.leaves, self.keys = leaves, keys
        self.depth += 1
        self._children = np.full((len(leaves), 2), -1)
        self._next: list[tuple[npt.NDArray[np.int64], npt.NDArray[np.uint64]]] = []

    def _reserve(self, n_splits: int) -> None:
        """Make room for so many more splits, or for twice as many nodes as there are."""
        nodes, values, subsets, (n_nodes, n_words) = self.growth
        is_category = self.columns.is_category
        most_words = 0 if is_category is None else (int(self.columns.n_codes[is_category].max()) + 31) // 32
        n_more = max(2 * n_splits, n_nodes)
        if n_nodes + 2 * n_splits > len(nodes):
            nodes = np.concatenate([nodes[:n_nodes], np.empty(n_more, dtype=NODE)])
            values = np.concatenate([values[:n_nodes], np.empty((n_more, values.shape[1]))])
        if n_words + n_splits * most_words > len(subsets):
            more = np.empty(max(n_splits * most_words, n_words), dtype=np.uint32)
            subsets = np.concatenate([subsets[:n_words], more])
        self.growth = Growth(nodes, values, subsets, self.growth.used)


@kernel
def _split_nodes(growth, columns, leaves, keys, depth, bins, limits, places, n_before):  # type: ignore[no-untyped-def]
    """Split leaves at a depth; return those of their children that may be split in turn, and their keys.

    Their places in the next level, in which there are ``n_before`` nodes yet, are written to ``places``.
    """
    n_features, n_classes = len(columns.n_codes), growth.values.shape[1]
    search = make_search(columns, n_classes)
    facts = np.empty(len(bins.numbers), dtype=FACTS)
    items = Items(bins.counted, facts)
    words = np.empty((1, len(bins.numbers) + 1), dtype=np.uint64)
    starts = np.empty(n_features + 1, dtype=np.int64)
    children = np.empty(2 * len(leaves), dtype=np.int64)
    child_keys = np.empty(2 * len(leaves), dtype=np.uint64)
    n_children, line = 0, np.int64(0)
    k = 0
    for place in range(len(leaves)):
        node, key = leaves[place], keys[place]
        parent = describe(growth, node, line, line)
        first = np.int64(0)
        for f in range(n_features):
            starts[f] = k
            while k < bins.ends[place] and bins.numbers[k] - first <= columns.n_codes[f]:
                _describe_bin(bins, k, parent.totals, facts)
                words[0, k] = word_of(bins.numbers[k] - first, k)
                k += 1
            first += columns.n_codes[f] + 1
        starts[n_features] = k
        if is_terminal(growth, node, depth, limits):  # as a root may be
            continue
        begin_search(parent, search, limits)
        list_features(search, limits)
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
                places[place, side] = n_before + n_children
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
    facts[b].squares = bins.squares[b] if len(bins.squares) else 0


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
