"""The packed forest against a plain descent of each tree, for tables whose sizes lie around every block and lane.

Blocks differ in what they hold, so that nothing of one block may be taken for a part of the next.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuselearn._core import ClassTarget, Forest, TreeSettings
from fuselearn.learners.forests import apply_forest, sum_leaf_values
from fuselearn.learners.table import code_columns
from fuselearn.learners.trees import grow_tree

# What the forest divides samples into: groups that descend abreast, values coded at once, leaves summed at once, and
# blocks. Samples are sorted from so many samples and trees on, and threads started from so much work on.
ABREAST, CODED_AT_ONCE, SUMMED_AT_ONCE, BLOCK = 16, 256, 512, 1 << 16
SORTED_SAMPLES, SORTING_TREES = 1024, 8

N_CATEGORIES = 40
UNLIMITED = TreeSettings(min_split=2, min_leaf=1, max_depth=50, complexity=-1.0)
FILLINGS = ("numbers", "gaps", "missing", "unknown", "infinite", "constant")


def around(*boundaries):
    """Give the numbers next to each boundary."""
    return sorted({boundary + step for boundary in boundaries for step in (-1, 0, 1, 3) if boundary + step > 0})


SIZES = around(1, ABREAST, CODED_AT_ONCE, SUMMED_AT_ONCE, SORTED_SAMPLES, BLOCK)
BLOCKS = around(2 * BLOCK)
WIDTHS = around(1, 8)
FORESTS = around(1, SORTING_TREES)


def make_rows(rng, n_rows, n_categories, filling="numbers"):
    """Make numbers and categories, and among them, or in their place, what a block is to be filled with."""
    X = rng.normal(size=(n_rows, len(n_categories))).round(1)
    is_category = n_categories > 0
    X[:, is_category] = rng.integers(0, N_CATEGORIES, (n_rows, is_category.sum()))
    if filling == "gaps":
        X[rng.random(X.shape) < 0.1] = np.nan
    elif filling == "missing":
        X[:] = np.nan
    elif filling == "unknown":
        X[:, is_category] = rng.choice([-1.0, N_CATEGORIES, 1e300, -1e300], (n_rows, is_category.sum()))
    elif filling == "infinite":
        X[:] = rng.choice([-np.inf, np.inf, 0.0, 1e308, -1e308], X.shape)
    elif filling == "constant":
        X[:] = X[:1]
    return X


def grow_forest(rng, n_trees, n_categories):
    """Grow deep trees on noise; a part of them sends missing values alone to the right."""
    X, y = make_rows(rng, 60, n_categories, "gaps"), rng.integers(0, 3, 60).astype(np.int32)
    y[np.isnan(X[:, 0])] = 0
    columns = code_columns(X, n_categories)
    counts = rng.poisson(1.0, (n_trees, 60)).astype(np.int32)
    return [grow_tree(columns, ClassTarget(y, 3), drawn, UNLIMITED) for drawn in counts]


def check(find_leaves, seed, n_rows, n_columns, n_trees, fillings, with_categories, n_threads):
    rng = np.random.default_rng(seed)
    n_categories = np.zeros(n_columns, dtype=np.int32)
    n_categories[1::2] = N_CATEGORIES * with_categories
    trees = grow_forest(rng, n_trees, n_categories)
    # Fillings change where blocks do, or, in a table of one block, where groups of samples do.
    unit = CODED_AT_ONCE * ABREAST if n_rows > BLOCK else ABREAST
    sizes = np.diff([*range(0, n_rows, unit), n_rows])
    X = np.vstack([make_rows(rng, size, n_categories, fillings[k % len(fillings)]) for k, size in enumerate(sizes)])
    expected = np.column_stack([find_leaves(tree, X, n_categories) for tree in trees])

    forest = Forest(trees, n_categories)
    np.testing.assert_array_equal(apply_forest(forest, X, n_threads), expected)
    values = [rng.normal(size=(len(tree.nodes), 2)) for tree in trees]
    leaf_values = np.concatenate([own[tree.nodes["feature"] < 0] for tree, own in zip(trees, values, strict=True)])
    sums = sum_leaf_values(forest, leaf_values, X, n_threads)
    expected_sums = np.zeros((n_rows, 2))
    for t in range(n_trees):
        expected_sums += values[t][expected[:, t]]
    np.testing.assert_array_equal(sums, expected_sums)


tables = {
    "seed": st.integers(0, 10_000),
    "n_columns": st.sampled_from(WIDTHS),
    "n_trees": st.sampled_from(FORESTS),
    "fillings": st.lists(st.sampled_from(FILLINGS), min_size=1, max_size=4),
    "with_categories": st.booleans(),
    "n_threads": st.sampled_from([1, 3]),
}


@settings(max_examples=12)
@given(n_rows=st.sampled_from(SIZES), **tables)
def test_samples_reach_the_leaves_of_the_plain_descent(leaves_by_hand, **table):
    check(leaves_by_hand, **table)


@pytest.mark.parametrize("filling", FILLINGS)
def test_what_one_block_holds_does_not_reach_the_next(leaves_by_hand, filling):
    n_rows = BLOCK + ABREAST + 3
    for with_categories in (False, True):
        check(leaves_by_hand, 0, n_rows, 2, SORTING_TREES, [filling, "numbers"], with_categories, 1)


@pytest.mark.slow
@settings(max_examples=300)
@given(n_rows=st.sampled_from([*SIZES, *BLOCKS]), **tables)
def test_samples_reach_the_leaves_of_the_plain_descent_in_many_tables(leaves_by_hand, **table):
    check(leaves_by_hand, **table)
