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


@kernels
def test_appended_labels_are_features_like_others(kernel):
    learner = bind(SVMClassifier(scaling=None), X)
    extended = learner.extend(Y[:, :1]).extend(Y[:, 1:2])
    block = extended.with_params(kernel=kernel, **FAST).train(label_target(Y[:, 2:]), COUNTS, 0)
    wide = bind(SVMClassifier(scaling=None), np.hstack([X, Y[:, :2]]))
    other = wide.with_params(kernel=kernel, **FAST).train(label_target(Y[:, 2:]), COUNTS, 0)
    np.testing.assert_allclose(block.scores(), other.scores(), atol=1e-3)

    extra = rng.integers(0, 2, (20, 2))
    expected = other.scores(wide.prepare(np.hstack([NEW, extra])))
    rows = learner.prepare(NEW)
    np.testing.assert_allclose(block.scores(rows, appended=extra), expected, atol=1e-3)
    some = np.array([7, 3])
    np.testing.assert_allclose(block.scores(rows, appended=extra[some], only=some), expected[some], atol=1e-3)


def test_standardised_tables_get_labels_as_minus_one_and_one():
    standard = X / X.std(axis=0)
    given = bind(SVMClassifier(scaling=None), np.hstack([standard, 2 * Y[:, :1] - 1]))
    scaled = bind(SVMClassifier(), X)
    expected = given.with_params(**FAST).train(label_target(Y[:, 1:]), COUNTS, 0).scores()
    actual = scaled.extend(Y[:, :1]).with_params(**FAST).train(label_target(Y[:, 1:]), COUNTS, 0).scores()
    np.testing.assert_allclose(actual, expected, atol=1e-3)


def test_bound_rows_may_get_other_labels_appended(learner):
    block = learner.extend(Y[:, :2]).with_params(**FAST).train(label_target(Y[:, 2:]), COUNTS, 0)
    other = 1 - Y[:, :2]
    from_rows = block.scores(learner.prepare(X), appended=other)
    np.testing.assert_allclose(block.scores(appended=other), from_rows, atol=1e-5)
    assert abs(block.scores() - from_rows).max() > 0.01


@kernels
def test_chosen_columns_and_appended_labels(learner, kernel):
    features, extra = np.array([3, 1]), rng.integers(0, 2, (20, 1))
    chosen = learner.restrict(features)
    block = chosen.extend(Y[:, :1]).with_params(kernel=kernel, **FAST).train(label_target(Y[:, 1:]), COUNTS, 0)
    narrow = bind(SVMClassifier(), X[:, features])
    other = narrow.extend(Y[:, :1]).with_params(kernel=kernel, **FAST).train(label_target(Y[:, 1:]), COUNTS, 0)
    expected = other.scores(narrow.prepare(NEW[:, features]), appended=extra)
    for rows in (chosen.prepare(NEW), chosen.adapt(learner.prepare(NEW))):
        np.testing.assert_array_equal(block.scores(rows, appended=extra), expected)
    prepared = learner.prepare(NEW)
    assert learner.adapt(prepared) is prepared


def test_labels_that_are_constant_on_the_drawn_rows(learner):
    labels = np.column_stack([COUNTS == 0, COUNTS > 0]).astype(np.int8)
    np.testing.assert_array_equal(learner.train(label_target(labels), COUNTS, 0).scores(), np.tile([0.0, 1.0], (70, 1)))


def test_weights_are_costs(learner):
    weights = COUNTS * 0.5
    drawn = (COUNTS > 0).astype(np.int32)
    weighted = learner.with_params(C=2.0, probability="logistic").train(label_target(Y), drawn, 0, weights=weights)
    counted = learner.with_params(C=1.0, probability="logistic").train(label_target(Y), COUNTS, 0)
    np.testing.assert_allclose(weighted.scores(), counted.scores(), atol=1e-3)


def test_only_rows_drawn_count_whatever_their_weights(learner):
    drawn = (np.arange(70) < 35).astype(np.int32)
    with_all, with_some = (
        learner.with_params(probability="logistic").train(label_target(Y), drawn, 0, weights=weights).scores()
        for weights in (np.full(70, 0.5), 0.5 * drawn)
    )
    np.testing.assert_array_equal(with_all, with_some)


@kernels
def test_without_gram_matrices_blocks_answer_for_passed_rows_only(kernel):
    learner = bind(SVMClassifier(), X)
    extended = learner.extend(Y[:, :1])
    blocks = [one.with_params(kernel=kernel).train(label_target(Y[:, 1:]), COUNTS, 0) for one in (learner, extended)]
    rows = learner.prepare(NEW)
    extra = rng.integers(0, 2, (20, 1))
    expected = [block.scores(rows, appended=extra) for block in blocks]
    learner.release()
    rows = learner.prepare(NEW)
    for block, before in zip(blocks, expected, strict=True):
        np.testing.assert_array_equal(block.scores(rows, appended=extra), before)
        with pytest.raises(RuntimeError, match="training data"):
            block.scores()


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
    with pytest.raises(ValueError, match=r"which support vector machines cannot take\. .*SVMClassifier\(impute=True\)"):
        SVMClassifier().fit(gaps, Y[:, 0])
    assert SVMClassifier(impute=True).fit(gaps, Y[:, 0]).score(gaps, Y[:, 0]) == 1.0
    learner = bind(SVMClassifier(impute=True), gaps).restrict(np.array([0, 2]))
    model = learner.train(label_target(Y), np.ones(70, dtype=np.int32), 0)
    assert ((model.scores()[:, 0] > 0.5) == Y[:, 0]).all()
