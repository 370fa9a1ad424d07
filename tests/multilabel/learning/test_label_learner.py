"""Any multi-label classifier as a component: counts as weights or copies, constant labels, forms of probabilities."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from fuselearn.multilabel import HOMERClassifier
from fuselearn.multilabel.learning.label_learner import MultilabelLearner

rng = np.random.default_rng(0)
X = rng.normal(size=(70, 4)).round(2)
Y = (X @ rng.normal(size=(4, 3)) + rng.normal(size=(70, 3)) > 0.4).astype(np.int8)
COUNTS = rng.poisson(1.5, 70).astype(np.int32)
DRAWN = COUNTS > 0
COPIES = np.repeat(np.arange(70), COUNTS)


def test_counts_are_weights_where_those_are_taken():
    component = MultilabelLearner(X, DecisionTreeClassifier(max_depth=3)).train(Y, COUNTS, 5)
    tree = DecisionTreeClassifier(max_depth=3, random_state=component.model.random_state)
    tree.fit(X[DRAWN], Y[DRAWN], sample_weight=COUNTS[DRAWN])
    np.testing.assert_array_equal(component.scores(), np.column_stack([p[:, 1] for p in tree.predict_proba(X)]))


@pytest.mark.parametrize(
    "estimator",
    [ClassifierChain(LogisticRegression()), MultiOutputClassifier(KNeighborsClassifier()), KNeighborsClassifier()],
)
def test_counts_are_copies_elsewhere(estimator):
    component = MultilabelLearner(X, estimator).train(Y, COUNTS, 0)
    expected = estimator.fit(X[COPIES], Y[COPIES]).predict_proba(X)
    if isinstance(expected, list):
        expected = np.column_stack([p[:, 1] for p in expected])
    np.testing.assert_allclose(component.scores(), expected)


def test_weights_become_draws_where_they_are_not_taken():
    weights = np.where(np.arange(70) < 35, rng.random(70), 0.0)
    component = MultilabelLearner(X, KNeighborsClassifier()).train(Y, np.ones(70, np.int32), 0, weights=weights)
    assert set(range(35, 70)) <= set(component.left_out.tolist())


def test_classifiers_without_probabilities_choose():
    component = MultilabelLearner(X, RidgeClassifier()).train(Y, COUNTS, 0)
    assert set(np.unique(component.scores())) == {0.0, 1.0}


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
    scores = MultilabelLearner(X, estimator).train(labels, COUNTS, 0).scores()
    assert scores.shape == labels.shape
    assert (scores[:, -2] == 1.0).all()
    assert (scores[:, -1] == 0.0).all()
    assert (scores[:, :n_varying].std(axis=0) > 0).all()


def test_seeds_make_the_difference():
    learner = MultilabelLearner(X, RandomForestClassifier(3))
    one, same, other = (learner.train(Y, COUNTS, seed).scores() for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, same)
    assert not np.array_equal(one, other)


def test_unbound_components_need_rows():
    component = MultilabelLearner(X, DecisionTreeClassifier()).train(Y, COUNTS, 0)
    expected = component.scores()
    component.unbind()
    with pytest.raises(RuntimeError, match="no longer has its training data"):
        component.scores()
    np.testing.assert_array_equal(component.scores(X), expected)
