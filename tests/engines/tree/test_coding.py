"""Codes are ranks, or bins of about equal size, and can be turned back into values."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from fuselearn.engines.tree import code_columns
from fuselearn.engines.tree.coding import encode_rows, raise_upper

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
    monkeypatch.setattr("fuselearn.engines.tree.coding.BLOCK_ELEMENTS", 600)
    for n_threads in (1, 3):
        parts = code_columns(X, n_threads=n_threads)
        for name in ("codes", "n_codes", "offsets", "lower", "upper"):
            np.testing.assert_array_equal(getattr(parts, name), getattr(alone, name))


def test_sparse_columns_are_made_dense_block_by_block(monkeypatch):
    X = np.round(np.random.default_rng(0).normal(size=(300, 7)), 1) * (np.arange(7) % 2)
    X[::5, 3] = np.nan
    monkeypatch.setattr("fuselearn.engines.tree.coding.BLOCK_ELEMENTS", 600)
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
    codes = encode_rows(others, columns)
    for f in range(X.shape[1]):
        lower, upper = bounds(columns, f)
        expected = np.maximum(np.searchsorted(lower, others[:, f], side="right") - 1, 0)
        expected[np.isnan(others[:, f])] = len(lower)
        np.testing.assert_array_equal(codes[:, f], expected)
        raised = raise_upper(others, codes, columns)[columns.offsets[f] : columns.offsets[f + 1]]
        largest = [max([upper[c], *others[codes[:, f] == c, f]]) for c in range(len(upper))]
        np.testing.assert_array_equal(raised, largest)


def test_codes_of_another_table_are_refused():
    columns = code_columns(np.arange(4.0).reshape(2, 2))
    with pytest.raises(ValueError, match="codes must not be above n_codes"):
        raise_upper(np.zeros((1, 2)), np.array([[0, 3]], dtype=np.uint8), columns)
    with pytest.raises(ValueError, match="Each sample in X"):
        encode_rows(np.zeros((1, 3)), columns)
