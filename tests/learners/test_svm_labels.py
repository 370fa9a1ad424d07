"""The SVM learner: tables of any kind as numbers, Gram matrices that are shared, extended or of chosen columns."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from fuselearn import SVMClassifier
from fuselearn.learners import bind, label_target
from fuselearn.learners.table import NumberEncoder

rng = np.random.default_rng(0)
X = rng.normal(size=(70, 4)) * [1, 10, 0.1, 1]
Y = (X @ rng.normal(size=(4, 3)) + rng.normal(size=(70, 3)) > 0).astype(np.int8)
COUNTS = rng.poisson(1, 70).astype(np.int32)
NEW = rng.normal(size=(20, 4)) * [1, 10, 0.1, 1]
FAST = {"probability": "logistic", "gamma": 0.25}
kernels = pytest.mark.parametrize("kernel", ["rbf", "linear"])
libraries = pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])


@pytest.fixture(scope="module")
def learner():
    return bind(SVMClassifier(), X)


def test_standardised_tables_get_labels_as_minus_one_and_one():
    standard = X / X.std(axis=0)
    given = bind(SVMClassifier(scaling=None), np.hstack([standard, 2 * Y[:, :1] - 1]))
    scaled = bind(SVMClassifier(), X)
    expected = given.with_params(**FAST).train(label_target(Y[:, 1:]), COUNTS, 0).scores()
    actual = scaled.extend(Y[:, :1]).with_params(**FAST).train(label_target(Y[:, 1:]), COUNTS, 0).scores()
    np.testing.assert_allclose(actual, expected, atol=1e-3)


def test_only_rows_drawn_count_whatever_their_weights(learner):
    drawn = (np.arange(70) < 35).astype(np.int32)
    with_all, with_some = (
        learner.with_params(probability="logistic").train(label_target(Y), drawn, 0, weights=weights).scores()
        for weights in (np.full(70, 0.5), 0.5 * drawn)
    )
    np.testing.assert_array_equal(with_all, with_some)


@libraries
def test_categories_become_columns(frame):
    encoder = NumberEncoder()
    encoded = encoder.fit_transform(frame({"a": [1.0, 2.0, 3.0], "c": ["x", None, "z"], "b": [4, 5, 6]}))
    np.testing.assert_array_equal(encoded, [[1, 1, 0, 4], [2, 0, 0, 5], [3, 0, 1, 6]])
    np.testing.assert_array_equal(encoder.transform(frame({"a": [0.5], "c": ["new"], "b": [0]})), [[0.5, 0, 0, 0]])
    np.testing.assert_array_equal(encoder.columns_of(np.array([2, 1])), [3, 1, 2])


def test_many_categories_stay_sparse():
    names = [f"name {k:04}" for k in range(1200)]
    encoded = NumberEncoder().fit_transform(pd.DataFrame({"name": names, "a": np.arange(1200.0)}))
    assert sparse.issparse(encoded)
    np.testing.assert_array_equal(encoded[:, :1200].toarray(), np.eye(1200))
    np.testing.assert_array_equal(encoded[:, [1200]].toarray().ravel(), np.arange(1200.0))


@libraries
def test_gaps_are_refused_by_name(frame):
    good, bad = frame({"a": [1.0, 2.0], "b": [1.0, 2.0]}), frame({"a": [1.0, 2.0], "b": [1.0, None]})
    for call in (lambda: bind(SVMClassifier(), bad), lambda: bind(SVMClassifier(), good).prepare(bad)):
        with pytest.raises(ValueError, match="Column 'b' has missing values"):
            call()


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_numbers_that_are_none(value, form, learner):
    bad = X.copy()
    bad[3, 1] = value
    for call in (lambda: bind(SVMClassifier(), form(bad)), lambda: learner.prepare(form(bad))):
        with pytest.raises(ValueError, match=r"Input X contains (NaN|infinity)"):
            call()


@pytest.mark.parametrize("as_table", [np.asarray, sparse.csr_array])
def test_missing_numbers_become_medians_with_a_mark(as_table):
    gaps = np.array([[1.0, 5.0, np.nan], [np.nan, 7.0, np.nan], [3.0, 0.0, np.nan], [8.0, 0.0, np.nan]])
    encoder = NumberEncoder(impute=True)
    dense = (lambda table: table.toarray()) if as_table is sparse.csr_array else np.asarray
    learned = dense(encoder.fit_transform(as_table(gaps)))
    np.testing.assert_array_equal(learned[:, :3], [[1, 5, 0], [3, 7, 0], [3, 0, 0], [8, 0, 0]])
    np.testing.assert_array_equal(learned[:, 3:], [[0, 1], [1, 1], [0, 1], [0, 1]])
    new = dense(encoder.transform(as_table(np.array([[2.0, np.nan, 4.0]]))))
    np.testing.assert_array_equal(new, [[2, 2.5, 4, 0, 0]])  # a feature without gaps in training has no mark
    np.testing.assert_array_equal(encoder.columns_of(np.array([0, 1])), [0, 1, 3])


def test_svms_learn_from_what_is_missing():
    gaps = X.copy()
    gaps[Y[:, 0] == 1, 0] = np.nan
    with pytest.raises(
        ValueError, match=r"which support vector machines do not support\. .*SVMClassifier\(impute=True\)"
    ):
        SVMClassifier().fit(gaps, Y[:, 0])
    assert SVMClassifier(impute=True).fit(gaps, Y[:, 0]).score(gaps, Y[:, 0]) == 1.0
    learner = bind(SVMClassifier(impute=True), gaps).restrict(np.array([0, 2]))
    model = learner.train(label_target(Y), np.ones(70, dtype=np.int32), 0)
    assert ((model.scores()[:, 0] > 0.5) == Y[:, 0]).all()
