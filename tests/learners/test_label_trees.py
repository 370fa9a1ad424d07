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


def test_bound_rows_and_passed_rows_get_the_same_answers(learner):
    block = learner.train(label_target(Y), COUNTS, 0)
    np.testing.assert_array_equal(block.scores(), block.scores(learner.prepare(X)))


def test_some_rows_get_the_answers_that_they_get_among_all(learner):
    only = np.array([7, 3, 30])
    block = learner.train(label_target(Y), COUNTS, 0)
    np.testing.assert_array_equal(block.scores(only=only), block.scores()[only])
    np.testing.assert_array_equal(block.scores(NEW, only=only), block.scores(NEW)[only])


def test_appended_labels_are_features_like_others(learner):
    extended = learner.extend(Y[:, :1]).extend(Y[:, 1:2])
    block = extended.train(label_target(Y[:, 2:]), COUNTS, 0)
    extra = rng.integers(0, 2, (40, 2))
    expected = reference(np.hstack([X, Y[:, :2]]), Y[:, 2], COUNTS, np.hstack([NEW, extra]))
    np.testing.assert_array_equal(block.scores(learner.prepare(NEW), appended=extra)[:, 0], expected)


def test_bound_rows_may_get_other_labels_appended(learner):
    block = learner.extend(Y[:, :2]).train(label_target(Y[:, 2:]), COUNTS, 0)
    rows = learner.prepare(X)
    np.testing.assert_array_equal(block.scores(), block.scores(rows, appended=Y[:, :2]))
    other = 1 - Y[:, :2]
    np.testing.assert_array_equal(block.scores(appended=other), block.scores(rows, appended=other))


def test_a_tree_on_appended_labels_alone(learner):
    block = learner.extend(Y[:, :1]).train(label_target(Y[:, :1]), COUNTS, 0)
    np.testing.assert_array_equal(block.scores(), Y[:, :1])
    np.testing.assert_array_equal(block.scores(appended=1 - Y[:, :1]), 1 - Y[:, :1])


def test_chosen_columns_in_rows_with_all_columns(learner):
    features = np.array([1, 3])
    block = learner.restrict(features).train(label_target(Y), COUNTS, 0)
    expected = np.column_stack([reference(X[:, features], y, COUNTS, NEW[:, features]) for y in Y.T])
    np.testing.assert_array_equal(block.scores(learner.prepare(NEW)), expected)
    np.testing.assert_array_equal(block.scores(), block.scores(X))


def test_chosen_columns_and_appended_labels(learner):
    features, extra = np.array([0, 2]), rng.integers(0, 2, (40, 1))
    block = learner.restrict(features).extend(Y[:, :1]).train(label_target(Y[:, 1:]), COUNTS, 0)
    table, rows = np.hstack([X[:, features], Y[:, :1]]), np.hstack([NEW[:, features], extra])
    expected = np.column_stack([reference(table, y, COUNTS, rows) for y in Y[:, 1:].T])
    np.testing.assert_array_equal(block.scores(NEW, appended=extra), expected)
    np.testing.assert_array_equal(block.scores(), block.scores(X, appended=Y[:, :1]))


def test_labels_that_are_constant_on_the_drawn_rows(learner):
    counts = np.zeros(90, dtype=np.int32)
    counts[:4] = 2
    labels = np.zeros((90, 2), dtype=np.int8)
    labels[4:, 0] = labels[:4, 1] = 1
    probabilities = learner.train(label_target(labels), counts, 0).scores()
    np.testing.assert_array_equal(probabilities, np.tile([0.0, 1.0], (90, 1)))


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


def test_the_order_of_the_labels_does_not_matter():
    learner = bind(CARTClassifier(max_features=1), X)
    straight, turned = (learner.train(label_target(labels), COUNTS, 3).scores() for labels in (Y, Y[:, ::-1]))
    np.testing.assert_array_equal(straight, turned[:, ::-1])


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


def test_blocks_without_training_data_answer_for_passed_rows_only():
    learner = bind(TREE, X)
    block = learner.train(label_target(Y), COUNTS, 0)
    expected = block.scores(NEW)
    learner.release()
    np.testing.assert_array_equal(block.scores(learner.prepare(NEW)), expected)
    with pytest.raises(RuntimeError, match="training data"):
        block.scores()


def test_some_rows_have_the_probabilities_that_they_have_among_all(learner):
    some, extra = np.array([7, 3, 21]), rng.integers(0, 2, (40, 2))
    block = learner.train(label_target(Y), COUNTS, 0)
    np.testing.assert_array_equal(block.scores(only=some), block.scores()[some])
    np.testing.assert_array_equal(block.scores(NEW, only=some), block.scores(NEW)[some])
    block = learner.extend(Y[:, :2]).train(label_target(Y[:, 2:]), COUNTS, 0)
    np.testing.assert_array_equal(block.scores(only=some), block.scores()[some])
    np.testing.assert_array_equal(
        block.scores(NEW, appended=extra[some], only=some), block.scores(NEW, appended=extra)[some]
    )


def test_bad_input(learner):
    with pytest.raises(ValueError, match="Input X contains infinity"):
        learner.prepare(np.array([[0.0, 1.0, np.inf, 2.0]]))
    with pytest.raises(ValueError, match="No sample was drawn"):
        learner.train(label_target(Y), np.zeros(90, dtype=np.int32), 0)
    with pytest.raises(ValueError, match="90 samples"):
        learner.train(label_target(Y[:4]), COUNTS, 0)
    with pytest.raises(ValueError, match="min_samples_split"):
        bind(CARTClassifier(min_samples_split=1), X)
