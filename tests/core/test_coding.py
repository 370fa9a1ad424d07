"""Codes are ranks, or bins of about equal size, for dense and sparse tables and when a forest looks numbers up."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from hypothesis.extra.numpy import arrays
from scipy import sparse

from fuselearn._core import NODE, Forest, Tree
from fuselearn.learners.forests import apply_forest, sum_leaf_values
from fuselearn.learners.table import code_columns, code_entries, is_mostly_zero

columns_of_floats = hnp.arrays(
    np.float64,
    st.tuples(st.integers(1, 40), st.integers(1, 3)),
    elements=st.one_of(st.floats(allow_infinity=False, width=64), st.sampled_from([0.0, -0.0, 1.0, np.nan])),
)


def bounds(columns, f):
    part = slice(columns.offsets[f], columns.offsets[f + 1])
    return columns.lower[part], columns.upper[part]


@settings(max_examples=60)
@given(columns_of_floats)
def test_codes_are_ranks_among_the_distinct_values(X):
    columns = code_columns(X)
    for f, x in enumerate(X.T):
        distinct = np.unique(x[~np.isnan(x)])
        expected = np.where(np.isnan(x), len(distinct), np.searchsorted(distinct, x))
        np.testing.assert_array_equal(columns.codes[:, f], expected)
        assert columns.n_codes[f] == len(distinct)
        for bound in bounds(columns, f):
            np.testing.assert_array_equal(bound, distinct)


@settings(max_examples=60)
@given(columns_of_floats, st.integers(2, 6))
def test_bins_hold_their_values_in_order(X, max_bins):
    columns = code_columns(X, max_bins=max_bins)
    for f, x in enumerate(X.T):
        lower, upper = bounds(columns, f)
        assert len(lower) == columns.n_codes[f] <= max_bins
        assert (lower <= upper).all()
        assert (upper[:-1] < lower[1:]).all()
        present = ~np.isnan(x)
        codes = columns.codes[present, f]
        assert (lower[codes] <= x[present]).all()
        assert (x[present] <= upper[codes]).all()
        assert (columns.codes[~present, f] == columns.n_codes[f]).all()


def test_bins_are_about_equally_full():
    x = np.random.default_rng(0).exponential(size=10_000)
    columns = code_columns(x[:, None], max_bins=20)
    sizes = np.bincount(columns.codes[:, 0])
    assert len(sizes) == 20
    np.testing.assert_array_equal(sizes, 500)


@pytest.mark.parametrize("max_bins", [14, 21, 255])
def test_rounding_adds_no_bin(max_bins):
    """With the bounds of bins in floating point, 36 values made 15 of 14 bins, one more than there was room for."""
    for n_values in range(max_bins + 1, max_bins + 60):
        columns = code_columns(np.arange(float(n_values))[:, None], max_bins=max_bins)
        sizes = np.bincount(columns.codes[:, 0])
        assert len(sizes) == columns.n_codes[0] == max_bins
        assert np.ptp(sizes) <= 1


def test_a_value_that_fills_several_bins_takes_them_at_once():
    x = np.concatenate([np.zeros(500), np.arange(1.0, 501.0)])
    columns = code_columns(x[:, None], max_bins=10)
    sizes = np.bincount(columns.codes[:, 0])
    assert sizes.tolist() == [500, 100, 100, 100, 100, 100]


def test_as_many_distinct_values_as_bins_are_kept_apart():
    x = np.repeat(np.arange(10.0), 7)
    np.testing.assert_array_equal(code_columns(x[:, None], max_bins=10).codes[:, 0], x)


def test_up_to_65535_distinct_values_are_kept_apart():
    x = np.random.default_rng(0).permutation(65_535).astype(np.float32)
    columns = code_columns(np.column_stack([x, np.full(65_535, np.nan, dtype=np.float32)]))
    np.testing.assert_array_equal(columns.codes[:, 0], x)
    assert columns.n_codes.tolist() == [65_535, 0]
    assert (columns.codes[:, 1] == 0).all()


def test_more_distinct_values_are_cut_into_255_bins():
    x = np.random.default_rng(0).permutation(65_536).astype(np.float64)
    columns = code_columns(x[:, None])
    assert columns.n_codes[0] == 255
    sizes = np.bincount(columns.codes[:, 0])
    assert sizes.min() >= 256
    assert sizes.max() <= 258


@pytest.mark.parametrize(("n_values", "dtype"), [(255, np.uint8), (256, np.uint16)])
def test_codes_take_as_little_room_as_they_can_with_one_code_for_missing(n_values, dtype):
    expected = np.arange(5_000) % (n_values + 1)
    x = np.where(expected < n_values, expected, np.nan)
    columns = code_columns(x[:, None])
    assert columns.codes.dtype == dtype
    np.testing.assert_array_equal(columns.codes[:, 0], expected)


@pytest.mark.parametrize(
    "arrange", [np.asfortranarray, lambda X: X[::-1][::-1], lambda X: np.repeat(X, 2, axis=1)[:, ::2]]
)
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
def test_tables_of_any_layout_that_cannot_be_written_to_are_coded_alike(arrange, dtype):
    X = np.random.default_rng(0).integers(-3, 4, (50, 3)).astype(dtype)
    arranged = arrange(X)
    arranged.flags.writeable = False
    np.testing.assert_array_equal(code_columns(arranged).codes, code_columns(X).codes)


def test_categories_are_codes_already():
    X = np.array([[2.0, 7.5], [0.0, np.nan], [np.nan, 7.5]])
    columns = code_columns(X, np.array([4, 0], dtype=np.int32))
    assert columns.codes.tolist() == [[2, 0], [0, 1], [4, 0]]
    assert columns.n_codes.tolist() == [4, 1]
    assert columns.is_category.tolist() == [True, False]
    assert code_columns(X).is_category is None


def test_codes_stay_in_range_whatever_the_numbers_are():
    """Kernels use codes as indices. Such numbers are refused before they get here."""
    numbers = np.array([-np.inf, -7.0, -0.5, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 9.0, 1e300, np.inf, np.nan])
    X = np.tile(numbers, 10)[:, None]
    for table, n_categories in ((X, 5), (X, 0), (np.full((4, 1), np.inf), 0), (np.full((4, 1), -np.inf), 3)):
        columns = code_columns(table, np.array([n_categories], dtype=np.int32))
        is_missing = np.isnan(table)
        assert (columns.codes[is_missing] == columns.n_codes[0]).all()
        assert (columns.codes[~is_missing] < columns.n_codes[0]).all()


def test_categories_are_not_binned():
    x = np.arange(100) % 50.0
    columns = code_columns(x[:, None], np.array([50], dtype=np.int32), max_bins=3)
    np.testing.assert_array_equal(columns.codes[:, 0], x)


def test_threads_and_blocks_of_columns_do_not_change_the_codes(monkeypatch):
    X = np.round(np.random.default_rng(0).normal(size=(300, 7)), 1)
    alone = code_columns(X)
    monkeypatch.setattr("fuselearn.learners.table.BLOCK_ELEMENTS", 600)
    for n_threads in (1, 3):
        parts = code_columns(X, n_threads=n_threads)
        for name in ("codes", "n_codes", "offsets", "lower", "upper"):
            np.testing.assert_array_equal(getattr(parts, name), getattr(alone, name))


def test_sparse_columns_are_made_dense_block_by_block(monkeypatch):
    X = np.round(np.random.default_rng(0).normal(size=(300, 7)), 1) * (np.arange(7) % 2)
    X[::5, 3] = np.nan
    monkeypatch.setattr("fuselearn.learners.table.BLOCK_ELEMENTS", 600)
    monkeypatch.setattr(sparse.csc_array, "toarray", refuse_wide(sparse.csc_array.toarray))
    dense, columns = code_columns(X), code_columns(sparse.csc_array(X))
    for name in ("codes", "n_codes", "offsets", "lower", "upper"):
        np.testing.assert_array_equal(getattr(columns, name), getattr(dense, name))


def refuse_wide(toarray):
    def convert(matrix):
        assert matrix.shape[1] <= 2
        return toarray(matrix)

    return convert


def test_the_table_is_left_as_it_was():
    X = np.random.default_rng(0).normal(size=(20, 3))
    before = X.copy()
    code_columns(X)
    np.testing.assert_array_equal(X, before)


@settings(max_examples=60)
@given(columns_of_floats, st.sampled_from([None, 2, 5]), st.integers(0, 1000))
def test_other_samples_get_the_last_code_that_does_not_exceed_them(X, max_bins, seed):
    columns = code_columns(X, max_bins=max_bins)
    others = np.random.default_rng(seed).permuted(np.vstack([X, X[:1] + 1.0, X[:1] - 1.0, X[:1] * 0.5]), axis=0)
    codes = columns.encode(others)
    for f in range(X.shape[1]):
        lower, upper = bounds(columns, f)
        expected = np.maximum(np.searchsorted(lower, others[:, f], side="right") - 1, 0)
        expected[np.isnan(others[:, f])] = len(lower)
        np.testing.assert_array_equal(codes[:, f], expected)
        raised = columns.raise_upper(others, codes)[columns.offsets[f] : columns.offsets[f + 1]]
        largest = [max([upper[c], *others[codes[:, f] == c, f]]) for c in range(len(upper))]
        np.testing.assert_array_equal(raised, largest)


def test_codes_of_another_table_are_refused():
    columns = code_columns(np.arange(4.0).reshape(2, 2))
    with pytest.raises(ValueError, match="codes must not be above n_codes"):
        columns.raise_upper(np.zeros((1, 2)), np.array([[0, 3]], dtype=np.uint8))
    with pytest.raises(ValueError, match="Each sample in X"):
        columns.encode(np.zeros((1, 3)))


VALUES = st.sampled_from([0.0, 0.0, 0.0, -0.0, -1.5, -1.0, 2.0, 2.5, np.nan])
TABLES = arrays(np.float64, st.tuples(st.integers(1, 8), st.integers(1, 5)), elements=VALUES)


def spread(columns):
    """Write the codes of all values, by the entries of the samples and by those of the columns."""
    by_sample, by_column = np.tile(columns.zeros, (2, columns.n_samples, 1))
    starts, features, codes = columns.by_sample
    by_sample[np.repeat(np.arange(columns.n_samples), np.diff(starts)), features] = codes
    starts, samples, codes = columns.by_column
    by_column[samples, np.repeat(np.arange(columns.n_columns), np.diff(starts))] = codes
    assert all((np.diff(codes[a:b].astype(int)) >= 0).all() for a, b in pairwise(starts))
    np.testing.assert_array_equal(by_sample, by_column)
    return by_sample


@given(TABLES)
def test_codes_are_those_of_the_dense_table(X):
    dense = code_columns(X)
    for table in (X, sparse.csr_array(X), sparse.coo_array(X)):
        columns = code_entries(table)
        for name in ("n_codes", "offsets", "lower", "upper"):
            np.testing.assert_array_equal(getattr(columns, name), getattr(dense, name))
        np.testing.assert_array_equal(spread(columns), dense.codes)


def test_columns_with_more_values_than_codes_are_cut_into_the_same_bins():
    rng = np.random.default_rng(0)
    X = np.where(rng.random((80_000, 1)) < 0.95, rng.normal(size=(80_000, 1)), 0.0)
    dense, columns = code_columns(X), code_entries(X)
    np.testing.assert_array_equal(columns.lower, dense.lower)
    np.testing.assert_array_equal(columns.upper, dense.upper)
    np.testing.assert_array_equal(spread(columns), dense.codes)


def test_the_matrix_passed_stays_as_it_is():
    X = sparse.csc_array((np.array([1.0, 2.0, 0.0]), np.array([0, 0, 1]), np.array([0, 3])), shape=(2, 1))
    columns = code_entries(X)
    assert X.nnz == 3
    assert columns.upper.tolist() == [0.0, 3.0]  # twice the same place is the sum, and a zero that is stored is a zero


@pytest.mark.parametrize("as_table", [np.asarray, sparse.csr_array])
def test_whether_a_table_is_sparse_depends_on_its_values(as_table):
    X = np.zeros((10, 10))
    X[0] = 1.0
    X[0, 0] = np.nan
    assert is_mostly_zero(as_table(X))
    X[1, 1] = 1.0
    assert not is_mostly_zero(as_table(X))


numbers = st.floats(allow_nan=False, allow_infinity=False)


def search_tree(thresholds):
    """Make a balanced tree whose leaves are between neighboring thresholds, and count those below each leaf."""
    nodes, n_below = np.zeros(2 * len(thresholds) + 1, dtype=NODE), np.zeros(2 * len(thresholds) + 1)
    nodes["feature"] = nodes["left"] = -1
    n_nodes, waiting = 1, [(0, 0, len(thresholds))]
    while waiting:
        node, first, last = waiting.pop()
        n_below[node] = first
        if first < last:
            middle = (first + last) // 2
            nodes["feature"][node], nodes["threshold"][node], nodes["left"][node] = 0, thresholds[middle], n_nodes
            waiting += [(n_nodes, first, middle), (n_nodes + 1, middle + 1, last)]
            n_nodes += 2
    return Tree(nodes, n_below[:, None], np.empty(0, dtype=np.uint32))


def count_reached(looked_up, thresholds):
    """Count how many thresholds each number reaches: a sample goes right if it is not below."""
    tree = search_tree(thresholds)
    forest = Forest([tree], np.zeros(1, dtype=np.int32))
    counts = sum_leaf_values(forest, tree.values[tree.nodes["feature"] < 0], looked_up[:, None])[:, 0]
    np.testing.assert_array_equal(tree.values[apply_forest(forest, looked_up[:, None])[:, 0], 0], counts)
    return counts


def check(looked_up, ascending):
    expected = np.searchsorted(ascending[ascending < np.inf], looked_up, side="right")
    np.testing.assert_array_equal(count_reached(looked_up, ascending), expected)
    distinct = np.unique(ascending)
    codes = np.maximum(np.searchsorted(distinct[distinct < np.inf], looked_up, side="right") - 1, 0)
    np.testing.assert_array_equal(code_columns(distinct[:, None]).encode(looked_up[:, None])[:, 0], codes)


def around(ascending):
    """Give each number and its two neighbors, in no particular order, several times."""
    with np.errstate(over="ignore"):
        near = np.concatenate([ascending, np.nextafter(ascending, -np.inf), np.nextafter(ascending, np.inf)])
    near = near[np.isfinite(near)]
    return np.random.default_rng(0).permutation(np.tile(near, 4))


@settings(max_examples=100)
@given(st.lists(numbers, min_size=1, max_size=40, unique=True), st.lists(numbers, max_size=20))
def test_any_numbers(ascending, others):
    ascending = np.sort(np.array(ascending))
    check(np.concatenate([others, around(ascending)]), ascending)


@pytest.mark.parametrize("n_ascending", [1, 7, 8, 9, 1_000])
@pytest.mark.parametrize("n_numbers", [0, 1, 50, 5_000])
def test_few_and_many(n_ascending, n_numbers):
    rng = np.random.default_rng(1)
    check(rng.normal(size=n_numbers), np.sort(rng.normal(size=n_ascending)))


@pytest.mark.parametrize("n_thresholds", [65_533, 65_534, 65_535, 70_000])
def test_more_thresholds_than_codes_of_two_bytes(n_thresholds):
    rng = np.random.default_rng(2)
    thresholds = np.sort(rng.normal(size=n_thresholds))
    looked_up = np.concatenate([rng.choice(thresholds, 3_000), rng.normal(size=1_000), thresholds[[0, -1]]])
    expected = np.searchsorted(thresholds, looked_up, side="right")
    np.testing.assert_array_equal(count_reached(looked_up, thresholds), expected)
    looked_up[::3] = np.nan  # no threshold is to the left of nodes that send missing values right
    expected[::3] = n_thresholds
    np.testing.assert_array_equal(count_reached(looked_up, thresholds), expected)


@pytest.mark.parametrize(
    "ascending",
    [
        1.7e308 * np.linspace(-1, 1, 50),
        np.arange(50) * 5e-324,
        np.concatenate([np.arange(30) * 1e-12, 1e9 + np.arange(30)]),
        np.concatenate([np.arange(20.0), [np.inf]]),
        np.full(20, 3.0),
        np.array([-0.0, 0.0, 1.0]),
    ],
    ids=["huge", "tiny", "clustered", "up to infinity", "all equal", "two zeros"],
)
def test_unusual_ranges(ascending):
    check(around(ascending), ascending)


@pytest.mark.parametrize("n_finite", [1, 5, 20])
def test_infinite_numbers(n_finite):
    """Infinity among the thresholds sends all numbers left, infinity included."""
    looked_up = np.tile([-np.inf, -1.0, 3.5, 1e308, np.inf], 30)
    for last in ([], [np.inf]):
        ascending = np.concatenate([np.arange(float(n_finite)), last])
        expected = np.searchsorted(ascending[ascending < np.inf], looked_up, side="right")
        np.testing.assert_array_equal(count_reached(looked_up, ascending), expected)
