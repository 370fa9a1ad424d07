"""The ways to sort the rows of a node, against NumPy, around the sizes at which one takes over from another."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from fuselearn.engines.tree import code_columns, sampled
from fuselearn.engines.tree.sampled import lay_out_columns
from fuselearn.engines.tree.sorting import FEW_ROWS, RANKED_ROWS, sort_by_bytes, sort_by_rank, sort_few

few_sizes = st.sampled_from([1, 2, 3, 15, 16, 17, FEW_ROWS - 1, FEW_ROWS])
any_sizes = st.integers(1, 200) | st.sampled_from([63, 64, 65, 127, 128, 129])


def draw_node(seed, n_members, n_values):
    """Make a table of two columns with gaps, and draw the rows of a node from the middle of a longer list."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, n_values, (2 * n_members + 70, 2)).astype(float)
    X[rng.random(X.shape) < 0.1] = np.nan
    columns = code_columns(X)
    members = rng.permutation(len(X)).astype(np.uint32)
    return columns, members, 5, 5 + n_members


def check(ordered, codes, rows):
    """Sorted words hold the codes in order, and each row once, with its own code."""
    found_codes, found_rows = ordered >> np.uint64(32), (ordered & np.uint64(2**32 - 1)).astype(int)
    np.testing.assert_array_equal(found_codes, np.sort(codes[rows]))
    np.testing.assert_array_equal(np.sort(found_rows), np.sort(rows))
    np.testing.assert_array_equal(codes[found_rows], found_codes)


@settings(max_examples=40)
@given(st.integers(0, 10_000), few_sizes, st.sampled_from([1, 3, 60_000]))
def test_few_rows(seed, n_members, n_values):
    columns, members, start, end = draw_node(seed, n_members, n_values)
    ordered = np.zeros(n_members, dtype=np.uint64)
    keys = np.zeros(FEW_ROWS, dtype=np.uint32)
    codes = columns.codes[:, 1]
    differ = sort_few(columns.codes, 1, members, start, end, keys, ordered)
    assert differ == (len(np.unique(codes[members[start:end]])) > 1)
    if differ:
        check(ordered, codes, members[start:end])


@settings(max_examples=40)
@given(st.integers(0, 10_000), any_sizes, st.sampled_from([1, 3, 60_000]))
def test_rows_by_rank(seed, n_members, n_values):
    columns, members, start, end = draw_node(seed, n_members, n_values)
    by_column = lay_out_columns(columns)
    marks = np.zeros(len(members) // 64 + 1, dtype=np.uint64)
    ordered = np.zeros(n_members, dtype=np.uint64)
    sort_by_rank(by_column.ranks[1], by_column.keys[1], members, start, end, marks, ordered)
    check(ordered, columns.codes[:, 1], members[start:end])
    assert not marks.any()


@settings(max_examples=40)
@given(st.integers(0, 10_000), any_sizes, st.sampled_from([1, 3, 60_000]))
def test_rows_by_bytes(seed, n_members, n_values):
    columns, members, start, end = draw_node(seed, n_members, n_values)
    ordered, aside = np.zeros((2, n_members), dtype=np.uint64)
    codes = np.ascontiguousarray(columns.codes[:, 1])
    sort_by_bytes(codes, members, start, end, aside, ordered)
    check(ordered, codes, members[start:end])


def test_the_largest_codes_and_the_largest_table_that_has_ranks():
    """The largest code, of missing values, and the number of the last row both have 16 bits set."""
    x = np.arange(RANKED_ROWS, dtype=float)
    x[-1] = np.nan
    columns = code_columns(x[::-1, None])
    by_column = lay_out_columns(columns)
    assert sampled.RANKED_ROWS == by_column.ranks.shape[1] == RANKED_ROWS
    members = np.random.default_rng(0).permutation(RANKED_ROWS).astype(np.uint32)
    marks = np.zeros(RANKED_ROWS // 64 + 1, dtype=np.uint64)
    ordered, aside = np.zeros((2, RANKED_ROWS), dtype=np.uint64)
    sort_by_rank(by_column.ranks[0], by_column.keys[0], members, 0, RANKED_ROWS, marks, ordered)
    check(ordered, columns.codes[:, 0], members)
    sort_by_bytes(by_column.codes[0], members, 0, RANKED_ROWS, aside, ordered)
    check(ordered, columns.codes[:, 0], members)
