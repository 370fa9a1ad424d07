"""The estimator learner with a target of classes: any scikit-learn classifier as a model."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from fuselearn._core import draw_counts
from fuselearn.fusion import Problem
from fuselearn.learners import CloneLearner, class_target

X, numbers = load_iris(return_X_y=True)
CLASSES = np.array(["setosa", "versicolor", "virginica"])
y = CLASSES[numbers]


def pose(learner, target):
    return Problem(learner, target, None, np.random.default_rng(0), None)


def replace_target(problem, groups):
    return replace(problem, target=problem.target.regroup(groups))


def bind(estimator, data=X):
    return pose(CloneLearner(data, estimator, 1), class_target(numbers.astype(np.int32), 3, CLASSES))


@pytest.fixture(scope="module")
def counts():
    return np.random.default_rng(0).poisson(1, 150).astype(np.int32)


def test_a_classifier_that_takes_weights_gets_the_counts(counts):
    model = bind(GaussianNB()).train(counts, 0)
    drawn = counts > 0
    expected = GaussianNB().fit(X[drawn], y[drawn], sample_weight=counts[drawn])
    np.testing.assert_allclose(model.scores(X), expected.predict_proba(X))


def test_a_classifier_that_takes_none_gets_copies_of_the_rows(counts):
    model = bind(KNeighborsClassifier(3)).train(counts, 0)
    rows = np.repeat(np.arange(150), counts)
    expected = KNeighborsClassifier(3).fit(X[rows], y[rows])
    np.testing.assert_allclose(model.scores(X), expected.predict_proba(X))


def test_weights_for_a_classifier_that_takes_none_are_chances(counts):
    weights, problem = np.random.default_rng(1).random(150), bind(KNeighborsClassifier(3))
    weighted = problem.train((counts > 0).astype(np.int32), 5, weights=weights)
    drawn = problem.train(draw_counts(5, np.where(counts > 0, weights, 0.0), 150), 5)
    np.testing.assert_array_equal(weighted.scores(X), drawn.scores(X))


def test_weights_take_the_place_of_counts(counts):
    weights = np.random.default_rng(1).random(150)
    model = bind(GaussianNB()).train(np.ones(150, dtype=np.int32), 0, weights=weights)
    np.testing.assert_allclose(model.scores(), GaussianNB().fit(X, y, sample_weight=weights).predict_proba(X))


def test_classes_that_were_not_drawn_get_score_zero():
    counts = np.where(numbers == 1, 0, 1).astype(np.int32)
    model = bind(LogisticRegression()).train(counts, 0)
    scores = model.scores(X)
    assert scores.shape == (150, 3)
    assert (scores[:, 1] == 0).all()
    np.testing.assert_allclose(scores.sum(axis=1), 1.0)
    assert set(model.votes(X)) == {0, 2}


@pytest.mark.parametrize("estimator", [LogisticRegression(), KNeighborsClassifier(1), RidgeClassifier()])
def test_a_sample_of_one_class_predicts_that_class(estimator):
    model = bind(estimator).train((numbers == 1).astype(np.int32), 0)
    assert (model.votes(X) == 1).all()
    np.testing.assert_array_equal(model.scores(X), np.tile([0.0, 1.0, 0.0], (150, 1)))


def test_votes_are_what_the_classifier_predicts(counts):
    model = bind(LogisticRegression(max_iter=500)).train(counts, 0)
    np.testing.assert_array_equal(CLASSES[model.votes()], model.estimator.predict(X))


def test_without_probabilities_the_votes_are_the_scores(counts):
    model = bind(RidgeClassifier()).train(counts, 0)
    np.testing.assert_array_equal(model.scores(), np.eye(3)[model.votes()])


def test_a_chosen_part_of_the_columns(counts):
    features = np.array([1, 3])
    model = bind(GaussianNB()).train(counts, 0, features=features)
    alone = bind(GaussianNB(), X[:, features]).train(counts, 0)
    np.testing.assert_array_equal(model.scores(X), alone.scores(X[:, features]))
    assert model.estimator.n_features_in_ == 2


def test_frames_reach_the_classifier_with_their_names(counts):
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = bind(GaussianNB(), frame).train(counts, 0, features=np.array([0, 2]))
    assert model.estimator.feature_names_in_.tolist() == ["a", "c"]


def test_every_random_state_is_set_from_the_seed(counts):
    pipeline = make_pipeline(StandardScaler(), DecisionTreeClassifier(max_features=1))
    problem = bind(pipeline)
    one, again, other = (problem.train(counts, seed).estimator for seed in (1, 1, 2))
    state = "decisiontreeclassifier__random_state"
    assert one.get_params()[state] == again.get_params()[state] != other.get_params()[state]
    assert pipeline.get_params()[state] is None


def test_class_weights_mean_the_labels_of_the_user(counts):
    heavy = DecisionTreeClassifier(max_depth=1, class_weight={"setosa": 1, "versicolor": 1000, "virginica": 1})
    assert set(CLASSES[bind(heavy).train(counts, 0).votes()]) >= {"versicolor"}


def test_regrouped_classes_are_0_and_1(counts):
    model = replace_target(bind(GaussianNB()), np.array([1, 0, 1], dtype=np.int8)).train(counts, 0)
    drawn = counts > 0
    expected = GaussianNB().fit(X[drawn], numbers[drawn] != 1, sample_weight=counts[drawn])
    np.testing.assert_allclose(model.scores(X), expected.predict_proba(X))
