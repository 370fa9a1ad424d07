"""The estimator learner: clones of any classifier, one per label."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC

from fuselearn._core import draw_counts
from fuselearn.learners import bind, label_target
from fuselearn.learners.clones import append_features

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 3))
Y = (X @ rng.normal(size=(3, 2)) + rng.normal(size=(60, 2)) > 0).astype(np.int8)
COUNTS = rng.poisson(1, 60).astype(np.int32)
NEW = rng.normal(size=(20, 3))
DRAWN = COUNTS > 0
libraries = pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])


def test_classifiers_that_take_weights_get_the_counts():
    learner = bind(GaussianNB(), X)
    expected = [GaussianNB().fit(X[DRAWN], y[DRAWN], sample_weight=COUNTS[DRAWN]).predict_proba(NEW)[:, 1] for y in Y.T]
    actual = learner.train(label_target(Y), COUNTS, 0).scores(learner.prepare(NEW))
    np.testing.assert_array_equal(actual, np.column_stack(expected))


def test_others_get_the_drawn_copies():
    copies = np.repeat(np.arange(60), COUNTS)
    expected = KNeighborsClassifier().fit(X[copies], Y[copies, 0]).predict_proba(NEW)[:, 1]
    block = bind(KNeighborsClassifier(), X).train(label_target(Y), COUNTS, 0)
    np.testing.assert_array_equal(block.scores(NEW)[:, 0], expected)


def _named(frame, values):
    return frame(dict(zip("abc", values.T, strict=True)))


@libraries
def test_some_rows_get_the_answers_that_they_get_among_all(frame):
    table, new, only = _named(frame, X), _named(frame, NEW), np.array([7, 3, 12])
    block = bind(GaussianNB(), table).train(label_target(Y), COUNTS, 0)
    np.testing.assert_array_equal(block.scores(only=only), block.scores()[only])
    np.testing.assert_array_equal(block.scores(new, only=only), block.scores(new)[only])


def test_weights_for_classifiers_that_take_none_are_chances():
    weights = np.where(DRAWN, rng.random(60), 0.0)
    learner = bind(KNeighborsClassifier(), X)
    weighted = learner.train(label_target(Y), DRAWN.astype(np.int32), 5, weights=weights)
    drawn = learner.train(label_target(Y), draw_counts(5, weights, 60), 5)
    np.testing.assert_array_equal(weighted.scores(NEW), drawn.scores(NEW))


def test_classifiers_without_probabilities_vote():
    block = bind(LinearSVC(), X).train(label_target(Y), COUNTS, 0)
    expected = LinearSVC(random_state=0).fit(X[DRAWN], Y[DRAWN, 0], sample_weight=COUNTS[DRAWN]).predict(NEW)
    np.testing.assert_array_equal(block.scores(NEW)[:, 0], expected)


class Shapes(ClassifierMixin, BaseEstimator):
    """Write down the columns that it gets."""

    def fit(self, X, y):
        self.columns_ = list(X.columns) if hasattr(X, "columns") else X.shape[1]
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        assert self.columns_ == (list(X.columns) if hasattr(X, "columns") else X.shape[1])
        return np.zeros(X.shape[0], dtype=int)


@libraries
def test_frames_stay_frames(frame):
    table = frame({"a": X[:, 0], "label 0": X[:, 1], "c": X[:, 2]})
    learner = bind(Shapes(), table)
    assert learner.train(label_target(Y), COUNTS, 0).split()[0].estimator.columns_ == ["a", "label 0", "c"]
    block = learner.extend(Y).train(label_target(Y), COUNTS, 0)
    assert block.split()[0].estimator.columns_ == ["a", "label 0", "c", "label 1", "label 2"]
    block.scores(table, appended=Y)
    block = learner.restrict(np.array([2, 0])).extend(Y[:, :1]).train(label_target(Y), COUNTS, 0)
    assert block.split()[0].estimator.columns_ == ["c", "a", "label 1"]
    block.scores(table, appended=Y[:, :1])


@libraries
def test_appending_to_frames(frame):
    table = append_features(frame({"a": [0.5, 1.5]}), np.array([[1], [0]], dtype=np.int8))
    assert isinstance(table, frame)
    assert table["label 0"].to_list() == [1, 0]
    assert table["a"].to_list() == [0.5, 1.5]


def test_appending_to_frames_with_an_index_and_numbers_as_names():
    table = append_features(pd.DataFrame({1: [0.5, 1.5]}, index=[7, 3]), np.array([[1, 1], [0, 0]]))
    assert table.columns.tolist() == [1, 0, 2]
    assert table.index.tolist() == [7, 3]
    assert table[0].tolist() == [1, 0]


def test_appending_to_sparse_tables():
    table = append_features(sparse.csr_array([[0.5, 0.0]]), np.array([[1]]))
    assert table.format == "csr"
    np.testing.assert_array_equal(table.toarray(), [[0.5, 0.0, 1.0]])


def test_appended_labels_are_features_like_others():
    learner = bind(LogisticRegression(), X)
    block = learner.restrict(np.array([0, 2])).extend(Y[:, :1]).train(label_target(Y[:, 1:]), COUNTS, 0)
    wide = np.hstack([X[:, [0, 2]], Y[:, :1]])
    model = LogisticRegression().fit(wide[DRAWN], Y[DRAWN, 1], sample_weight=COUNTS[DRAWN])
    np.testing.assert_allclose(block.scores()[:, 0], model.predict_proba(wide)[:, 1])
    other = 1 - Y[:, :1]
    np.testing.assert_array_equal(block.scores(appended=other), block.scores(X, appended=other))
    assert (block.scores() != block.scores(appended=other)).any()
