"""Every grower against the plainest one, and the plainest one against an exact search in plain Python."""

import pickle
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuselearn.engines.tree import (
    NODE,
    ClassTarget,
    StoragePlan,
    TreeSettings,
    code_columns,
    grow_tree,
    make_label_target,
)
from fuselearn.engines.tree.levels import GrowingTree
from fuselearn.engines.tree.tallying import count_bins, count_classes, descend, list_drawn, merge_bins

ALL = 2**31 - 1


class Problem(NamedTuple):
    """A table, what is to be learned from it, and how."""

    X: np.ndarray
    n_categories: np.ndarray
    y: np.ndarray
    n_classes: int
    counts: np.ndarray
    settings: TreeSettings
    seed: int

    @property
    def has_labels(self):
        return self.y.ndim == 2

    @property
    def target(self):
        return make_label_target(self.y) if self.has_labels else ClassTarget(self.y, self.n_classes)

    def grow(self, columns, **plan):
        return grow_tree(columns, self.target, self.counts, self.settings, seed=self.seed, plan=StoragePlan(**plan))


@st.composite
def problems(draw, widths, may_have_categories):
    """Draw small tables with ties, gaps, constant and empty columns, and samples with few and many copies."""
    seed, n_rows, n_columns = draw(st.integers(0, 10_000)), draw(st.integers(1, 40)), draw(st.sampled_from(widths))
    rng = np.random.default_rng(seed)
    X = rng.integers(0, draw(st.sampled_from([2, 5, 100])), (n_rows, n_columns)) / 4
    n_categories = np.zeros(n_columns, dtype=np.int32)
    if may_have_categories and draw(st.booleans()):
        n_categories[::2] = 6
        X[:, ::2] = rng.integers(0, 6, X[:, ::2].shape)
    X[rng.random(X.shape) < draw(st.sampled_from([0.0, 0.3]))] = np.nan
    for value in (1.0, np.nan):
        X[:, rng.random(n_columns) < draw(st.sampled_from([0.0, 0.3]))] = value
    n_classes = draw(st.sampled_from([1, 2, 3, 17]))
    has_labels = draw(st.booleans())
    y = rng.random((n_rows, n_classes)) < 0.3 if has_labels else rng.integers(0, n_classes, n_rows)
    copies = draw(st.sampled_from([1, 1, 40, 100_000]))
    chosen = TreeSettings(
        min_split=draw(st.sampled_from([2, 5, 5 * copies])),
        min_leaf=draw(st.sampled_from([1, 3, 2 * copies])),
        max_depth=draw(st.sampled_from([1, 3, ALL])),
        complexity=-1.0,
        max_features=draw(st.sampled_from([1, 2, ALL])),
        random_cuts=draw(st.booleans()),
        correct_for_chance=draw(st.booleans()),
    )
    counts = copies * rng.integers(0, 4, n_rows)
    counts[0] = max(counts[0], copies)
    return Problem(X, n_categories, y.astype(np.int32), n_classes, counts.astype(np.int32), chosen, seed)


def grow_plainly(problem):
    """Grow a tree on samples that are kept sorted by all features."""
    columns = code_columns(problem.X, problem.n_categories)
    return columns, problem.grow(columns, times_as_many=10**6)


def grow_otherwise(problem):
    """Grow the same tree in all other ways that are for a problem like this."""
    columns = code_columns(problem.X, problem.n_categories)
    yield "samples gathered in each node", problem.grow(columns, times_as_many=0)
    yield "samples gathered and never counted", problem.grow(columns, times_as_many=0, samples_per_code=1e9)
    yield "samples gathered above sorted ones", problem.grow(columns, times_as_many=10**6, most_sorted=6)
    if not problem.has_labels:
        yield "levels, samples in three places", grow_in_places(problem, columns)
        wide = columns.with_codes(columns.codes.astype(np.uint16))
        counted = {"most_presorted": 0, "times_as_many": 10**6, "samples_per_code": 0.0}
        yield "histograms", problem.grow(wide, **counted, least_histogram=1)
        yield "histograms above sorted samples", problem.grow(columns, **counted, least_histogram=6)
        yield "branches", problem.grow(columns, **counted, least_histogram=1, n_branches=5, least_branch=1)


def grow_in_places(problem, columns):
    """Grow a tree level by level from the counts of three places, one of which may be empty."""
    places = np.array_split(np.arange(len(problem.y)), sorted([problem.seed % 7, problem.seed % 11]))
    coded = [(columns.codes[samples], np.arange(len(columns.n_codes)), columns.n_codes) for samples in places]
    targets = [problem.y[samples] for samples in places]
    drawn = [list_drawn(problem.counts[samples]) for samples in places]
    totals = sum(count_classes(own, y, problem.n_classes) for own, y in zip(drawn, targets, strict=True))
    most_kept = (0, 60, 10**6)[problem.seed % 3]  # counts of parents are never, sometimes or always subtracted from
    growing_tree = GrowingTree(columns, totals, problem.settings, problem.seed, most_kept)
    squared = problem.settings.correct_for_chance and columns.is_category is not None
    while not growing_tree.has_grown:
        for nodes in growing_tree.rounds(1 + problem.seed % 100):
            counted = [
                count_bins(own, *codes, y, problem.n_classes, growing_tree.counted_nodes(*nodes), squared)
                for own, codes, y in zip(drawn, coded, targets, strict=True)
            ]
            growing_tree.split(*nodes, pickle.loads(pickle.dumps(merge_bins(counted[::-1]))))
        splits = pickle.loads(pickle.dumps(growing_tree.end_level()))
        drawn = [descend(own, *codes, splits) for own, codes in zip(drawn, coded, strict=True)]
    return growing_tree.finish()


def list_nodes(tree, n_codes, node=0):
    """List nodes from the root on, left before right."""
    record = tree.nodes[node]
    split = tuple(record[name] for name in ("feature", "threshold", "missing_left", "heavier_left", "count", "weight"))
    words = []
    if record["is_category"]:
        words = tree.subsets[record["cut"] : record["cut"] + (n_codes[record["feature"]] + 31) // 32].tolist()
    listed = [(*split, words, tree.values[node].tolist())]
    if record["feature"] >= 0:
        for child in (record["left"], record["left"] + 1):
            listed += list_nodes(tree, n_codes, child)
    return listed


def check_growers(problem):
    columns, expected = grow_plainly(problem)
    listed = list_nodes(expected, columns.n_codes)
    for name, tree in grow_otherwise(problem):
        assert list_nodes(tree, columns.n_codes) == listed, name
        for field in NODE.names:  # in the same places, though growers make them in different orders
            np.testing.assert_array_equal(tree.nodes[field], expected.nodes[field], name)


def check_plain_grower(judge, problem):
    columns, tree = grow_plainly(problem)
    leaves = judge(tree, problem.X, problem.y, problem.counts, problem.settings, seed=problem.seed)
    np.testing.assert_array_equal(tree.apply(columns), leaves)


def check_weights(judge, problem, scale):
    """Weights need not be counts, or anywhere near them."""
    weights = scale * np.random.default_rng(problem.seed).exponential(size=len(problem.X)).round(1) + 1e-300
    columns = code_columns(problem.X)
    tree = grow_tree(columns, problem.target, problem.counts, problem.settings, weights=weights, seed=problem.seed)
    judge(tree, problem.X, problem.y, problem.counts, problem.settings, weights=weights, seed=problem.seed)


narrow = problems(range(1, 6), False)
wide = problems([1, 2, 5, 15, 16, 17, 33], True)
scales = st.sampled_from([1e-6, 1.0, 1e9])


@settings(max_examples=60)
@given(narrow)
def test_the_plain_grower_finds_the_best_splits(judge, problem):
    check_plain_grower(judge, problem)


@settings(max_examples=80)
@given(wide)
def test_all_growers_grow_the_plain_tree(problem):
    check_growers(problem)


def test_what_was_constant_in_one_branch_is_not_in_the_next():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (400, 8)) / 4
    y = rng.integers(0, 2, 400).astype(np.int32)
    chosen = TreeSettings(min_split=2, min_leaf=1, max_depth=ALL, complexity=-1.0, max_features=2)
    no_categories = np.zeros(8, dtype=np.int32)
    check_growers(Problem(X, no_categories, y, 2, np.ones(400, dtype=np.int32), chosen, 0))


@settings(max_examples=40)
@given(narrow.filter(lambda problem: not problem.has_labels), scales)
def test_weighted_samples_are_split_best(judge, problem, scale):
    check_weights(judge, problem, scale)


@pytest.mark.slow
@settings(max_examples=1_000)
@given(narrow)
def test_the_plain_grower_finds_the_best_splits_of_many_tables(judge, problem):
    check_plain_grower(judge, problem)


@pytest.mark.slow
@settings(max_examples=1_000)
@given(wide)
def test_all_growers_grow_the_plain_tree_on_many_tables(problem):
    check_growers(problem)


@pytest.mark.slow
@settings(max_examples=500)
@given(narrow, scales)
def test_weighted_samples_of_many_tables_are_split_best(judge, problem, scale):
    check_weights(judge, problem, scale)
