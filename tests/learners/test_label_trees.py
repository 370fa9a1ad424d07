"""The tree learner: one coded table, a tree per label, appended labels and chosen columns."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from fuselearn import CARTClassifier
from fuselearn.learners import bind, label_target

rng = np.random.default_rng(0)
X = rng.normal(size=(90, 4)).round(1)
Y = (X @ rng.normal(size=(4, 3)) + rng.normal(size=(90, 3)) > 0).astype(np.int8)
COUNTS = rng.poisson(1, 90).astype(np.int32)
NEW = rng.normal(size=(40, 4))
TREE = CARTClassifier(min_samples_split=5, complexity=0.0)


@pytest.fixture(scope="module")
def learner():
    return bind(TREE, X)


def reference(table, target, counts, rows, tree=TREE):
    """Give the probabilities of a tree that was grown alone."""
    return tree.fit(table, target, sample_weight=counts).predict_proba(rows)[:, 1]


def test_each_label_gets_the_tree_that_it_would_get_alone(learner):
    block = learner.train(label_target(Y), COUNTS, 0)
    expected = np.column_stack([reference(X, y, COUNTS, NEW) for y in Y.T])
    np.testing.assert_array_equal(block.scores(learner.prepare(NEW)), expected)


def test_appended_labels_are_features_like_others(learner):
    extended = learner.extend(Y[:, :1]).extend(Y[:, 1:2])
    block = extended.train(label_target(Y[:, 2:]), COUNTS, 0)
    extra = rng.integers(0, 2, (40, 2))
    expected = reference(np.hstack([X, Y[:, :2]]), Y[:, 2], COUNTS, np.hstack([NEW, extra]))
    np.testing.assert_array_equal(block.scores(learner.prepare(NEW), appended=extra)[:, 0], expected)


def test_a_tree_on_appended_labels_alone(learner):
    block = learner.extend(Y[:, :1]).train(label_target(Y[:, :1]), COUNTS, 0)
    np.testing.assert_array_equal(block.scores(), Y[:, :1])
    np.testing.assert_array_equal(block.scores(appended=1 - Y[:, :1]), 1 - Y[:, :1])


def test_weights_take_the_place_of_counts(learner):
    weights = rng.random(90)
    ones = np.ones(90, dtype=np.int32)
    block = learner.train(label_target(Y[:, :1]), ones, 0, weights=weights)
    np.testing.assert_array_equal(block.scores(NEW)[:, 0], reference(X, Y[:, 0], weights, NEW))


def test_threads_do_not_matter():
    large, labels = rng.normal(size=(3000, 20)), rng.integers(0, 2, (3000, 3))
    ones = np.ones(3000, dtype=np.int32)
    tree = CARTClassifier(max_features="sqrt", max_depth=5)
    alone, together = (bind(tree, large, n).train(label_target(labels), ones, 7).scores() for n in (1, 2))
    np.testing.assert_array_equal(alone, together)


def test_categories_and_gaps_of_frames():
    frame = pd.DataFrame({"size": X[:, 0], "colour": rng.choice(["red", "blue", "green"], 90)})
    frame.loc[::7, "size"] = np.nan
    labels = np.column_stack([frame["colour"] == "red", frame["size"].isna()]).astype(np.int8)
    learner = bind(TREE, frame)
    block = learner.train(label_target(labels), np.ones(90, dtype=np.int32), 0)
    np.testing.assert_array_equal(block.scores(learner.prepare(frame)), labels)


def test_sparse_tables_are_made_dense(learner):
    thin = X * (np.abs(X) > 1)
    expected = bind(TREE, thin).train(label_target(Y), COUNTS, 0).scores()
    learner = bind(TREE, sparse.csr_array(thin))
    block = learner.train(label_target(Y), COUNTS, 0)
    np.testing.assert_array_equal(block.scores(), expected)
    np.testing.assert_array_equal(block.scores(learner.prepare(sparse.csr_array(thin))), expected)
