"""An exact CART in plain Python, which judges the engine's trees split by split, and a plain descent."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from fuselearn.engines.tree import TreeSettings, code_columns, grow_tree, labels_target

UNLIMITED = TreeSettings(min_split=2, min_leaf=1, max_depth=2**31 - 1, complexity=-1.0)


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
    class counts on its two sides. In tables of numbers, the first of equally good splits is expected: by column, then
    with missing values on the right, then by cut.
    """

    def __init__(self, tree, X, Y, counts, settings, n_categories=None):
        self.tree, self.X, self.Y, self.counts, self.settings = tree, X, Y, counts, settings
        self.n_categories = np.zeros(X.shape[1], int) if n_categories is None else n_categories

    def check(self):
        """Check the tree from the root on; give the rows' leaves as the thresholds and subsets send them."""
        leaves = np.zeros(len(self.X), dtype=int)
        self._check_node(0, np.arange(len(self.X)), 0, leaves)
        return leaves

    def _check_node(self, node, rows, depth, leaves):
        record = self.tree.nodes[node]
        sums = self._sums(rows)
        assert record["count"] == self.counts[rows].sum()
        assert self.tree.values[node].tolist() == [float(s) for s in sums]
        drawn = rows[self.counts[rows] > 0]
        best = self._first_best(drawn) if self._may_split(drawn, depth) else None
        if record["feature"] < 0:
            leaves[rows] = node
            assert best is None, f"node {node} could have been split"
            return
        f = record["feature"]
        left = goes_left(self.tree, node, self.X[rows, f], self.n_categories[f])
        assert best is not None, f"node {node} should be a leaf"
        drawn_left = left[self.counts[rows] > 0]
        score, feature, first_left = best
        assert self._score(drawn, drawn_left) == score
        if not any(self.n_categories):
            assert record["feature"] == feature
            assert drawn_left.tolist() == first_left.tolist()
        for side, members in enumerate((rows[left], rows[~left])):
            self._check_node(record["left"] + side, members, depth + 1, leaves)

    def _sums(self, rows):
        return [sum(int(self.counts[i]) for i in rows if self.Y[i, j]) for j in range(self.Y.shape[1])]

    def _may_split(self, rows, depth):
        count = self.counts[rows].sum()
        is_pure = all(s in (0, count) for s in self._sums(rows))
        return count >= max(2, self.settings.min_split) and depth < self.settings.max_depth and not is_pure

    def _score(self, rows, left):
        total = Fraction(0)
        for side in (left, ~left):
            members = rows[side]
            count = int(self.counts[members].sum())
            if count < max(1, self.settings.min_leaf):
                return None
            total += Fraction(sum(s * s for s in self._sums(members)), count)
        return total

    def _first_best(self, rows):
        """Give the first of the best splits of some rows, or None if none is better than no split."""
        best = None
        best_score = Fraction(sum(s * s for s in self._sums(rows)), int(self.counts[rows].sum()))
        for f, left in self._all_splits(rows):
            score = self._score(rows, left)
            if score is not None and score > best_score:
                best, best_score = (score, f, left), score
        return best

    def _all_splits(self, rows):
        for f in range(self.X.shape[1]):
            values = self.X[rows, f]
            missing = np.isnan(values)
            present = np.unique(values[~missing])
            if self.n_categories[f]:
                levels = [*present, np.nan] if missing.any() else present
                for size in range(1, len(levels)):
                    for chosen in combinations(levels, size):
                        yield f, np.isin(values, chosen) | (missing & np.isnan(chosen).any())
                continue
            for with_missing in (False, True) if missing.any() else (False,):
                for cut in present:
                    yield f, (values <= cut) | (missing & with_missing)


@pytest.fixture(scope="session")
def leaves_by_hand():
    """Give the plain descent that every other one must agree with."""
    return find_leaves


@pytest.fixture(scope="session")
def unlimited():
    return UNLIMITED


@pytest.fixture(scope="session")
def grow():
    """Code a table and grow a tree on it, with everything but the data left at its default.

    Kernels are compiled for codes of one byte and of two; ``wide`` codes spare a test on small data the wait.
    """

    def grow(X, y, settings=UNLIMITED, counts=None, n_categories=None, n_classes=None, wide=False, **kwargs):
        columns = code_columns(X, n_categories)
        if wide:
            columns = columns._replace(codes=columns.codes.astype(np.uint16))
        target = labels_target(y) if y.ndim == 2 else y.astype(np.int32)
        n_classes = n_classes or (y.shape[1] if y.ndim == 2 else int(y.max()) + 1)
        counts = np.ones(len(X)) if counts is None else counts
        return columns, grow_tree(columns, target, n_classes, counts.astype(np.int32), settings, **kwargs)

    return grow


@pytest.fixture(scope="session")
def judge():
    """Check a tree against every split that its nodes could have had, and give the rows' leaves."""

    def judge(tree, X, y, counts=None, settings=UNLIMITED, n_categories=None):
        Y = y if y.ndim == 2 else np.eye(tree.values.shape[1], dtype=int)[y]
        counts = np.ones(len(X), dtype=int) if counts is None else counts
        return Judge(tree, X, Y, counts, settings, n_categories).check()

    return judge


@pytest.fixture(scope="session")
def assert_same_tree():
    """Compare two trees node by node."""

    def compare(one, other):
        np.testing.assert_array_equal(one.nodes, other.nodes)
        np.testing.assert_array_equal(one.values, other.values)
        np.testing.assert_array_equal(one.subsets, other.subsets)

    return compare
