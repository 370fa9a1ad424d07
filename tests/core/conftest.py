"""An exact CART in plain Python, which judges the engine's trees split by split, and a plain descent."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from fuselearn._core import ClassTarget, TreeSettings
from fuselearn.learners import trees
from fuselearn.learners.table import code_columns
from fuselearn.learners.trees import grow_tree, make_label_target

UNLIMITED = TreeSettings(min_split=2, min_leaf=1, max_depth=2**31 - 1, complexity=-1.0)
# Up to here the engine compares the fractions that are scores exactly.
EXACT_WEIGHT = 2_000
MASK = 2**64 - 1


def mix(key, salt):
    """Derive a key from a key and a number: the finalizer of SplitMix64."""
    z = (key + 0x9E3779B97F4A7C15 * (salt + 1)) & MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def uniform(key):
    """Turn a key into a number in [0, 1)."""
    return (key >> 11) / 2**53


def draw_into(items, position, key):
    """Swap into a position a random one of the items from there on, and return it."""
    other = position + int(uniform(mix(key, position)) * (len(items) - position))
    items[position], items[other] = items[other], items[position]
    return items[position]


def goes_left(tree, node, values, n_categories):
    """Tell which values of its column a node sends left, as its fields say."""
    record = tree.nodes[node]
    if record["is_category"]:
        known = (values >= 0) & (values < n_categories)
        category = np.where(known, values, 0).astype(np.int64)
        in_subset = tree.subsets[record["cut"] + category // 32] >> (category % 32).astype(np.uint32) & 1 == 1
        left = np.where(known, in_subset, record["heavier_left"])
    else:
        left = (values < record["threshold"]) | (record["threshold"] == np.inf)
    return np.where(np.isnan(values), record["missing_left"], left)


def find_leaves(tree, X, n_categories):
    """Send rows of values down a tree, node by node."""
    leaves = np.empty(len(X), dtype=np.int64)
    waiting = [(0, np.arange(len(X)))]
    while waiting:
        node, rows = waiting.pop()
        feature, child = tree.nodes["feature"][node], tree.nodes["left"][node]
        if feature < 0:
            leaves[rows] = node
            continue
        left = goes_left(tree, node, X[rows, feature], n_categories[feature])
        waiting += [(child, rows[left]), (child + 1, rows[~left])]
    return leaves


class Judge:
    """Check a tree against every split that its nodes could have had.

    Scores are fractions, so that ties are ties: a split scores sum(L^2) / |L| + sum(R^2) / |R|, with L and R the
    class weights on its two sides. In tables of numbers, the first of equally good splits is expected: by column, then
    with missing values on the right, then by cut. Where weights are too large for the engine to compare fractions
    exactly, any split is accepted that is as good as the best but for rounding.
    """

    def __init__(self, tree, X, Y, counts, settings, n_categories=None, weights=None, seed=0):
        self.tree, self.X, self.Y, self.settings, self.seed = tree, X, Y, settings, seed
        self.n_categories = np.zeros(X.shape[1], np.int32) if n_categories is None else n_categories
        self.columns = code_columns(X, self.n_categories)
        # The engine rounds weights to whole numbers and leaves out the rows that this leaves without any.
        self.given = counts if weights is None else weights
        self.weights = counts if weights is None else np.rint(weights * (trees.WEIGHT_SUM / weights.sum())).astype(int)
        self.counts = np.where(self.weights > 0, counts, 0)
        total = int(self.weights[self.counts > 0].sum())
        self.slack = 0 if total * Y.shape[1] <= EXACT_WEIGHT else Fraction(1e-8) * total
        self.min_gain = Fraction(1e-10 * total)

    def check(self):
        """Check the tree from the root on; give the rows' leaves as the thresholds and subsets send them."""
        leaves = np.zeros(len(self.X), dtype=int)
        self._check_node(0, np.arange(len(self.X)), 0, self.seed, leaves)
        return leaves

    def _check_node(self, node, rows, depth, key, leaves):
        record = self.tree.nodes[node]
        drawn = rows[self.counts[rows] > 0]
        assert record["count"] == self.counts[drawn].sum()
        np.testing.assert_allclose(self.tree.values[node], self.given[drawn] @ self.Y[drawn], rtol=1e-12)
        np.testing.assert_allclose(record["weight"], self.given[drawn].sum(), rtol=1e-12)
        best = self._first_best(drawn, key) if self._may_split(drawn, depth) else None
        if record["feature"] < 0:
            leaves[rows] = node
            assert best is None or best[0] <= self._unsplit(drawn) + self.slack, f"node {node} could have been split"
            return
        assert best is not None, f"node {node} should be a leaf"
        f = record["feature"]
        left = goes_left(self.tree, node, self.X[rows, f], self.n_categories[f])
        drawn_left = left[self.counts[rows] > 0]
        score, feature, first_left = best
        assert self._score(drawn, drawn_left) >= score - self.slack
        if not self.slack and not any(self.n_categories):
            assert record["feature"] == feature
            assert drawn_left.tolist() == first_left.tolist()
        for side, members in enumerate((rows[left], rows[~left])):
            self._check_node(record["left"] + side, members, depth + 1, mix(key, side), leaves)

    def _may_split(self, rows, depth):
        sums, weight = self.weights[rows] @ self.Y[rows], self.weights[rows].sum()
        is_pure = np.isin(sums, (0, weight)).all()
        enough = self.counts[rows].sum() >= max(2, self.settings.min_split)
        return enough and depth < self.settings.max_depth and not is_pure

    def _unsplit(self, rows):
        sums = (self.weights[rows] @ self.Y[rows]).tolist()
        return Fraction(sum(s * s for s in sums), int(self.weights[rows].sum()))

    def _score(self, rows, left):
        sides = [rows[left], rows[~left]]
        if min(self.counts[side].sum() for side in sides) < max(1, self.settings.min_leaf):
            return None
        return sum(map(self._unsplit, sides))

    def _first_best(self, rows, key):
        """Give the first of the best splits of some rows, or None if none is better than no split.

        Where only some columns are looked at, the node's key decides which; constant ones do not count.
        """
        best, best_score = None, self._unsplit(rows) + self.min_gain
        n_tried, features = 0, np.arange(self.X.shape[1])
        for position in range(len(features)):
            if n_tried >= self.settings.max_features and best is not None:
                break
            draws = self.settings.max_features < len(features)
            f = int(draw_into(features, position, key)) if draws else position
            if len(np.unique(self.X[rows, f])) < 2:
                continue
            n_tried += 1
            for left in self._splits(rows, f, mix(key, len(features) + position)):
                score = self._score(rows, left)
                if score is not None and score > best_score:
                    best, best_score = (score, f, left), score
        return best

    def _splits(self, rows, f, key):
        values = self.X[rows, f]
        missing = np.isnan(values)
        present = np.unique(values[~missing])
        if self.n_categories[f]:
            levels = [*present, np.nan] if missing.any() else present
            for size in range(1, len(levels)):
                for chosen in combinations(levels, size):
                    yield np.isin(values, chosen) | (missing & np.isnan(chosen).any())
            return
        if self.settings.random_cuts:
            present = self._random_cut(rows, f, key)
        for with_missing in (False, True) if missing.any() else (False,):
            for cut in present:
                yield (values <= cut) | (missing & with_missing)

    def _random_cut(self, rows, f, key):
        """Give the last value below the one cut that the key allows."""
        codes, last = self.columns.codes[rows, f].astype(int), self.columns.n_codes[f]
        present = np.unique(codes[codes < last])
        start = self.columns.offsets[f]
        smallest, largest = self.columns.lower[start + present[0]], self.columns.upper[start + present[-1]]
        value = smallest + uniform(key) * (largest - smallest)
        below = [code for code in range(present[0], present[-1]) if self.columns.upper[start + code] <= value]
        cut = max(below, default=present[0])
        return [self.columns.lower[start + present[present <= cut][-1]]]


@pytest.fixture(scope="session")
def leaves_by_hand():
    """Give the plain descent that every other one must agree with."""
    return find_leaves


@pytest.fixture(scope="session")
def unlimited():
    return UNLIMITED


@pytest.fixture(scope="session")
def grow():
    """Code a table and grow a tree on it, with everything but the data left at its default."""

    def grow(X, y, settings=UNLIMITED, counts=None, n_categories=None, n_classes=None, **kwargs):
        columns = code_columns(X, n_categories)
        n_classes = n_classes or int(y.max()) + 1
        target = make_label_target(y) if y.ndim == 2 else ClassTarget(y.astype(np.int32), n_classes)
        counts = np.ones(len(X)) if counts is None else counts
        return columns, grow_tree(columns, target, counts.astype(np.int32), settings, **kwargs)

    return grow


@pytest.fixture(scope="session")
def judge():
    """Check a tree against every split that its nodes could have had, and give the rows' leaves."""

    def judge(tree, X, y, counts=None, settings=UNLIMITED, n_categories=None, **kwargs):
        Y = y if y.ndim == 2 else np.eye(tree.values.shape[1], dtype=int)[y]
        counts = np.ones(len(X), dtype=int) if counts is None else counts
        return Judge(tree, X, Y, counts, settings, n_categories, **kwargs).check()

    return judge


@pytest.fixture(scope="session")
def assert_same_tree():
    """Compare two trees node by node."""

    def compare(one, other):
        np.testing.assert_array_equal(one.nodes, other.nodes)
        np.testing.assert_array_equal(one.values, other.values)
        np.testing.assert_array_equal(one.subsets, other.subsets)

    return compare
