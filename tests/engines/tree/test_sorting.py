"""The ways to sort the rows of a node, against NumPy, around the sizes at which one takes over from another."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuselearn.engines.tree import code_columns, sorted_columns
from fuselearn.engines.tree.sorted_columns import lay_out_columns
from fuselearn.engines.tree.sorting import FEW_ROWS, RANKED_ROWS, sort_by_bytes, sort_by_rank, sort_few

few_sizes = st.sampled_from([1, 2, 3, 15, 16, 17, FEW_ROWS - 1, FEW_ROWS])
any_sizes = st.integers(1, 200) | st.sampled_from([63, 64, 65, 127, 128, 129])


def draw_node(seed, n_members, n_values):
    """Make a table of two columns with gaps, and draw the rows of a node from the middle of a longer list."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, n_values, (2 * n_members + 70, 2)).astype(float)
    X[rng.random(X.shape) < 0.1] = np.nan
    return code_columns(X), rng.permutation(len(X)).astype(np.uint64), 5, 5 + n_members


def make_words(codes, rows):
    return (codes[rows].astype(np.uint64) << np.uint64(32)) | rows


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
    codes, rows = columns.codes[:, 1], members[start:end]
    ordered = np.zeros((2, n_members), dtype=np.uint64)
    sort_few(make_words(codes, rows)[None], n_members, np.zeros(FEW_ROWS, dtype=np.uint32), ordered, 1)
    check(ordered[1], codes, rows)
    assert not ordered[0].any()


@settings(max_examples=40)
@given(st.integers(0, 10_000), any_sizes, st.sampled_from([1, 3, 60_000]))
def test_rows_by_rank(seed, n_members, n_values):
    columns, members, start, end = draw_node(seed, n_members, n_values)
    words = np.vstack([members, np.zeros_like(members)])
    marks = np.zeros(len(members) // 64 + 1, dtype=np.uint64)
    sort_by_rank(lay_out_columns(columns), 1, words, start, end, marks)
    check(words[1, :n_members], columns.codes[:, 1], members[start:end])
    assert not marks.any()
    np.testing.assert_array_equal(words[0], members)


@settings(max_examples=40)
@given(st.integers(0, 10_000), any_sizes, st.sampled_from([1, 3, 60_000]))
def test_rows_by_bytes(seed, n_members, n_values):
    columns, members, start, end = draw_node(seed, n_members, n_values)
    codes, rows = columns.codes[:, 1], members[start:end]
    words = np.vstack([rows, make_words(codes, rows)])
    sort_by_bytes(words, 1, n_members, columns.n_codes[1], np.zeros((1, n_members), dtype=np.uint64))
    check(words[1], codes, rows)
    np.testing.assert_array_equal(words[0], rows)


@pytest.mark.parametrize("n_codes", [254, 255, 256, 257])
def test_codes_around_the_largest_byte(n_codes):
    """A column of 255 codes has 255 for missing values, the largest number of one byte."""
    x = np.arange(n_codes + 1, dtype=float)
    x[-1] = np.nan
    columns, rows = code_columns(x[:, None]), np.arange(n_codes + 1, dtype=np.uint64)[::-1]
    assert columns.n_codes[0] == n_codes
    words = make_words(columns.codes[:, 0], rows)[None]
    sort_by_bytes(words, 0, n_codes + 1, columns.n_codes[0], np.zeros_like(words))
    check(words[0], columns.codes[:, 0], rows)


def test_the_largest_codes_and_the_largest_table_that_has_ranks():
    """The largest code, of missing values, and the number of the last row both have 16 bits set."""
    x = np.arange(RANKED_ROWS, dtype=float)
    x[-1] = np.nan
    columns = code_columns(x[::-1, None])
    by_column = lay_out_columns(columns)
    assert sorted_columns.RANKED_ROWS == by_column.ranks.shape[1] == RANKED_ROWS
    members = np.random.default_rng(0).permutation(RANKED_ROWS).astype(np.uint64)
    words = np.vstack([members, np.zeros_like(members)])
    sort_by_rank(by_column, 0, words, 0, RANKED_ROWS, np.zeros(RANKED_ROWS // 64 + 1, dtype=np.uint64))
    check(words[1], columns.codes[:, 0], members)
    words[1] = make_words(columns.codes[:, 0], members)
    sort_by_bytes(words, 1, RANKED_ROWS, columns.n_codes[0], np.zeros((1, RANKED_ROWS), dtype=np.uint64))
    check(words[1], columns.codes[:, 0], members)
