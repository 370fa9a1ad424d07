"""Coded tables hold what they were made of, give other tables, and refuse what is no table."""

import pickle

import numpy as np
import pytest

from fuselearn._core import SparseTable, Table
from fuselearn.learners.table import code_columns, code_entries

NAMES = ("codes", "n_codes", "offsets", "lower", "upper", "is_category")
N_CATEGORIES = np.array([0, 4, 0], dtype=np.int32)


def make_rows(seed=0, n_samples=30):
    rng = np.random.default_rng(seed)
    X = np.column_stack(
        [rng.normal(size=n_samples).round(1), rng.integers(0, 4, n_samples), rng.normal(size=n_samples)]
    )
    X[rng.random(X.shape) < 0.1] = np.nan
    return X


def assert_equal(table, expected):
    for name in NAMES:
        np.testing.assert_array_equal(getattr(table, name), getattr(expected, name), err_msg=name)
    assert table.codes.dtype == expected.codes.dtype
    assert (table.n_samples, table.n_columns) == (expected.n_samples, expected.n_columns)


@pytest.fixture(params=[30, 400], ids=["one byte", "two bytes"])
def table(request):
    return code_columns(make_rows(n_samples=request.param), N_CATEGORIES)


@pytest.mark.parametrize("protocol", [2, 5])
def test_copies_are_equal(table, protocol):
    assert_equal(pickle.loads(pickle.dumps(table, protocol)), table)
    X = np.where(make_rows() > 0, make_rows(), 0.0)
    entries = code_entries(X)
    copied = pickle.loads(pickle.dumps(entries, protocol))
    for kind in ("by_sample", "by_column"):
        for part, expected in zip(getattr(copied, kind), getattr(entries, kind), strict=True):
            np.testing.assert_array_equal(part, expected)
    for name in ("zeros", "n_codes", "offsets", "lower", "upper"):
        np.testing.assert_array_equal(getattr(copied, name), getattr(entries, name))


def test_arrays_are_views_that_outlive_the_table_and_cannot_be_written_to():
    table = code_columns(make_rows())
    codes, lower, expected = table.codes, table.lower, table.codes.copy()
    del table
    np.testing.assert_array_equal(codes, expected)
    for view in (codes, lower):
        with pytest.raises(ValueError, match="read-only"):
            view[0] = 1


def test_the_arrays_that_a_table_is_made_of_are_copied():
    codes, bounds = np.array([[0], [1]], dtype=np.uint8), np.array([0.0, 1.0])
    table = Table(codes, np.array([2], dtype=np.int32), bounds, bounds)
    codes[:], bounds[:] = 7, np.nan
    assert table.codes.tolist() == [[0], [1]]
    assert table.upper.tolist() == [0.0, 1.0]
    assert table.is_category is None


def test_samples_in_the_order_of_their_codes(table):
    np.testing.assert_array_equal(table.order(), np.argsort(table.codes, axis=0, kind="stable").T)
    with pytest.raises(ValueError, match="not kept in order"):
        code_columns(np.zeros((4_001, 1))).order()


def test_some_samples(table):
    samples = np.array([3, 3, 29, 0])
    taken = table.take(samples)
    np.testing.assert_array_equal(taken.codes, table.codes[samples])
    assert_equal(taken, table.with_codes(table.codes[samples]))
    assert table.take(samples[:0]).codes.shape == (0, 3)


@pytest.mark.parametrize("columns", [[0, 2], [2, 1, 1], [1], []])
def test_some_columns(columns):
    X = make_rows()
    chosen = code_columns(X, N_CATEGORIES).select(np.array(columns, dtype=np.int64))
    assert_equal(chosen, code_columns(X[:, columns], N_CATEGORIES[columns]) if columns else chosen)
    assert chosen.n_columns == len(columns)


@pytest.mark.parametrize("n_categories", [N_CATEGORIES, np.zeros(3, dtype=np.int32)])
def test_columns_of_0_and_1_are_coded_as_what_they_are(n_categories):
    X, flags = make_rows(), np.random.default_rng(1).integers(0, 2, (30, 2))
    wider = code_columns(np.hstack([X, flags]), np.append(n_categories, [0, 0]).astype(np.int32))
    assert_equal(code_columns(X, n_categories).append_flags(flags.astype(np.uint8)), wider)


def test_other_largest_values():
    table = code_columns(make_rows())
    assert_equal(table.with_upper(table.upper), table)
    np.testing.assert_array_equal(table.with_upper(table.upper + 1.0).upper, table.upper + 1.0)


CODES, N_CODES, BOUNDS = np.array([[0, 1], [2, 0]], dtype=np.uint8), np.array([2, 2], dtype=np.int32), np.arange(4.0)


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ((CODES + np.uint8(1), N_CODES, BOUNDS, BOUNDS), "column 0 has the code 3"),
        ((CODES, N_CODES[:1], BOUNDS[:2], BOUNDS[:2]), "Each sample in codes must be as long as n_codes"),
        ((CODES, N_CODES, BOUNDS[:3], BOUNDS), "lower must be as long as"),
        ((CODES, N_CODES, BOUNDS, BOUNDS[:3]), "upper must be as long as"),
        ((CODES, -N_CODES, BOUNDS, BOUNDS), "n_codes must hold numbers from 0 to 65535"),
        ((CODES, N_CODES, BOUNDS, BOUNDS, np.array([True])), "is_category must be as long as"),
    ],
)
def test_arrays_that_do_not_fit_together_are_refused(arguments, match):
    with pytest.raises(ValueError, match=match):
        Table(*arguments)


@pytest.mark.parametrize(
    ("position", "wrong"),
    [
        (0, CODES.astype(np.int64)),
        (0, CODES[0]),
        (1, N_CODES.astype(np.int64)),
        (2, BOUNDS.astype(np.float32)),
        (3, [0.0] * 4),
        (4, np.zeros(2, dtype=np.int8)),
    ],
)
def test_arrays_of_another_kind_are_refused(position, wrong):
    arguments = [CODES, N_CODES, BOUNDS, BOUNDS, np.zeros(2, dtype=np.bool_)]
    arguments[position] = wrong
    with pytest.raises(TypeError, match="must be an array of"):
        Table(*arguments)


STARTS, COLUMNS, ENTRIES = np.array([0, 1, 3]), np.array([1, 0, 1], np.uint32), np.array([0, 1, 2], np.uint16)


@pytest.mark.parametrize(
    ("name", "wrong", "match"),
    [
        ("starts", np.array([0, 4, 3]), "starts must ascend"),
        ("starts", np.array([1, 1, 3]), "starts must ascend"),
        ("starts", np.array([], dtype=np.int64), "starts must ascend"),
        ("columns", np.array([1, 1, 1], np.uint32), "columns must ascend within each sample"),
        ("columns", np.array([2, 0, 1], np.uint32), "columns must ascend within each sample"),
        ("columns", np.array([1, 0], np.uint32), "codes must be as long as columns"),
        ("codes", np.array([0, 1, 3], np.uint16), "codes must not be above n_codes"),
        ("zeros", np.array([0, 2], np.int32), "zeros must hold a code of each column"),
        ("zeros", np.array([0, -1], np.int32), "zeros must hold a code of each column"),
    ],
)
def test_entries_that_do_not_fit_are_refused(name, wrong, match):
    arguments = {
        "starts": STARTS, "columns": COLUMNS, "codes": ENTRIES, "zeros": np.ones(2, dtype=np.int32),
        "n_codes": N_CODES, "lower": BOUNDS, "upper": BOUNDS,
    }  # fmt: skip
    SparseTable(**arguments)
    with pytest.raises(ValueError, match=match):
        SparseTable(**{**arguments, name: wrong})


@pytest.mark.parametrize(
    ("method", "wrong", "match"),
    [
        ("take", np.array([30]), "samples must hold numbers from 0 to 29"),
        ("take", np.array([-1]), "samples must hold"),
        ("select", np.array([3]), "columns must hold numbers from 0 to 2"),
        ("append_flags", np.full((30, 1), 2, dtype=np.uint8), "flags must hold numbers from 0 to 1"),
        ("append_flags", np.zeros((29, 1), dtype=np.uint8), "flags must be as long as the table"),
        ("with_codes", np.full((1, 3), 200, dtype=np.uint8), "codes must not be above n_codes"),
        ("with_upper", np.zeros(1), "upper must be as long as"),
    ],
)
def test_other_tables_are_refused(method, wrong, match):
    with pytest.raises(ValueError, match=match):
        getattr(code_columns(make_rows()), method)(wrong)
