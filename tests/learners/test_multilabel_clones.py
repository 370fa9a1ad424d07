"""Any multi-label classifier as a model: counts as weights or copies, constant labels, forms of probabilities."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from fuselearn._core import draw_counts
from fuselearn.learners import label_target
from fuselearn.learners.clones import MultilabelCloneLearner
from fuselearn.multilabel import HOMERClassifier

rng = np.random.default_rng(0)
X = rng.normal(size=(70, 4)).round(2)
Y = (X @ rng.normal(size=(4, 3)) + rng.normal(size=(70, 3)) > 0.4).astype(np.int8)
COUNTS = rng.poisson(1.5, 70).astype(np.int32)
DRAWN = COUNTS > 0
COPIES = np.repeat(np.arange(70), COUNTS)


def test_counts_are_weights_where_those_are_taken():
    model = MultilabelCloneLearner(X, DecisionTreeClassifier(max_depth=3)).train(label_target(Y), COUNTS, 5)
    tree = DecisionTreeClassifier(max_depth=3, random_state=model.estimator.random_state)
    tree.fit(X[DRAWN], Y[DRAWN], sample_weight=COUNTS[DRAWN])
    np.testing.assert_array_equal(model.scores(), np.column_stack([p[:, 1] for p in tree.predict_proba(X)]))


@pytest.mark.parametrize(
    "estimator",
    [ClassifierChain(LogisticRegression()), MultiOutputClassifier(KNeighborsClassifier()), KNeighborsClassifier()],
)
def test_counts_are_copies_elsewhere(estimator):
    model = MultilabelCloneLearner(X, estimator).train(label_target(Y), COUNTS, 0)
    expected = estimator.fit(X[COPIES], Y[COPIES]).predict_proba(X)
    if isinstance(expected, list):
        expected = np.column_stack([p[:, 1] for p in expected])
    np.testing.assert_allclose(model.scores(), expected)


def test_weights_become_draws_where_they_are_not_taken():
    weights = np.where(np.arange(70) < 35, rng.random(70), 0.0)
    learner = MultilabelCloneLearner(X, KNeighborsClassifier(1))
    model = learner.train(label_target(Y), np.ones(70, np.int32), 0, weights=weights)
    copies = np.repeat(np.arange(70), draw_counts(0, weights, 70))
    np.testing.assert_array_equal(model.estimator._fit_X, X[copies])


def test_classifiers_without_probabilities_choose():
    model = MultilabelCloneLearner(X, RidgeClassifier()).train(label_target(Y), COUNTS, 0)
    assert set(np.unique(model.scores())) == {0.0, 1.0}


@pytest.mark.parametrize(
    "estimator",
    [
        ClassifierChain(LogisticRegression()),
        RandomForestClassifier(5),
        MultiOutputClassifier(LogisticRegression()),
        HOMERClassifier("tree", n_clusters=2),
    ],
)
@pytest.mark.parametrize("n_varying", [0, 1, 2])
def test_constant_labels_are_learned_as_what_they_are(estimator, n_varying):
    labels = np.column_stack([Y[:, :n_varying], np.ones(70), np.zeros(70)]).astype(np.int8)
    scores = MultilabelCloneLearner(X, estimator).train(label_target(labels), COUNTS, 0).scores()
    assert scores.shape == labels.shape
    assert (scores[:, -2] == 1.0).all()
    assert (scores[:, -1] == 0.0).all()
    assert (scores[:, :n_varying].std(axis=0) > 0).all()


def test_seeds_make_the_difference():
    learner = MultilabelCloneLearner(X, RandomForestClassifier(3))
    one, same, other = (learner.train(label_target(Y), COUNTS, seed).scores() for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, same)
    assert not np.array_equal(one, other)


def test_without_the_table_models_need_samples():
    learner = MultilabelCloneLearner(X, DecisionTreeClassifier())
    model = learner.train(label_target(Y), COUNTS, 0)
    expected = model.scores()
    learner.release()
    with pytest.raises(RuntimeError, match="have been released"):
        model.scores()
    np.testing.assert_array_equal(model.scores(X), expected)
