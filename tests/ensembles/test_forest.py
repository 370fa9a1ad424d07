"""Forests: what they are made of, their agreement with bagging, and with scikit-learn's forests."""

from functools import partial

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_wine, make_classification
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB

from fuselearn import BaggedClassifier, CARTClassifier, ForestClassifier

X, y = load_wine(return_X_y=True)


def test_a_random_forest_is_bagging_of_deep_trees_that_look_at_few_features():
    tree = CARTClassifier(min_samples_split=2, min_samples_leaf=1, max_depth=None, complexity=None, max_features="sqrt")
    bagged = BaggedClassifier(tree, 20, vote="probability", random_state=0).fit(X, y)
    forest = ForestClassifier(20, random_state=0).fit(X, y)
    np.testing.assert_array_equal(forest.predict_proba(X), bagged.predict_proba(X))


def test_the_forest_predicts_the_mean_of_its_trees():
    forest = ForestClassifier(5, min_samples_leaf=4, random_state=0).fit(X, y)
    mean = np.mean([tree.predict_proba(X) for tree in forest], axis=0)
    np.testing.assert_allclose(forest.predict_proba(X), mean, atol=1e-12)
    assert {type(tree) for tree in forest} == {CARTClassifier}


def test_a_forest_by_majority_vote():
    forest = ForestClassifier(7, min_samples_leaf=8, vote="class", random_state=0).fit(X, y)
    votes = np.mean([np.eye(3)[tree.predict(X)] for tree in forest], axis=0)
    np.testing.assert_allclose(forest.predict_proba(X), votes, atol=1e-12)
    with pytest.raises(ValueError, match="vote must be 'class' or 'probability'"):
        ForestClassifier(vote="soft").fit(X, y)


@pytest.mark.parametrize(
    "make",
    [
        partial(ForestClassifier, min_samples_leaf=8, n_jobs=2),
        partial(ForestClassifier, splitter="random", vote="class"),
        partial(BaggedClassifier, max_features=0.5),
        partial(BaggedClassifier, GaussianNB(), vote="probability"),
    ],
)
def test_stages_are_ensembles_of_fewer_members(make):
    model = make(n_estimators=5, random_state=0).fit(X[::2], y[::2])
    scores, classes = list(model.staged_predict_proba(X)), list(model.staged_predict(X))
    assert len(scores) == len(classes) == len(model)
    grown = make(n_estimators=1, warm_start=True, random_state=0)
    for number in range(1, 6):
        grown.set_params(n_estimators=number).fit(X[::2], y[::2])
        np.testing.assert_allclose(scores[number - 1], grown.predict_proba(X), atol=1e-12)
        np.testing.assert_array_equal(classes[number - 1], grown.predict(X))


@pytest.mark.parametrize("splitter", ["best", "random"])
def test_only_trees_with_best_cuts_learn_from_bootstrap_samples(splitter):
    samples = np.arange(40)
    forest = ForestClassifier(5, splitter=splitter, random_state=0).fit(samples[:, None], samples)
    n_known = [len(np.unique(tree.predict(samples[:, None]))) for tree in forest]
    assert all(known < 35 for known in n_known) if splitter == "best" else n_known == [40] * 5


def test_bootstrap_can_be_chosen_for_random_cuts():
    forest = ForestClassifier(30, splitter="random", bootstrap=True, oob_score=True, random_state=0).fit(X, y)
    assert forest.oob_score_ > 0.95


def test_out_of_bag_scores_need_samples_that_are_left_out():
    with pytest.raises(ValueError, match="oob_score needs out-of-bag samples"):
        ForestClassifier(splitter="random", oob_score=True).fit(X, y)


@pytest.mark.parametrize("leaf", [1, 5])
def test_leaves_keep_so_many_samples(leaf):
    forest = ForestClassifier(3, splitter="random", min_samples_leaf=leaf, random_state=0).fit(X, y)
    for tree in forest:
        nodes = tree.tree_.nodes
        assert nodes["count"][nodes["feature"] < 0].min() >= leaf


@pytest.mark.parametrize(
    ("splitter", "rival"), [("best", RandomForestClassifier), ("random", ExtraTreesClassifier)], ids=["best", "random"]
)
@pytest.mark.parametrize("data", ["digits", "noisy"])
def test_it_is_as_good_as_the_forest_of_scikit_learn(splitter, rival, data):
    if data == "digits":
        table, target = load_digits(return_X_y=True)
    else:
        table, target = make_classification(1500, 20, n_informative=8, n_classes=3, flip_y=0.2, random_state=0)
    train, test, known, asked = train_test_split(table, target, test_size=0.5, random_state=0, stratify=target)
    ours = ForestClassifier(100, splitter=splitter, random_state=0).fit(train, known).score(test, asked)
    theirs = rival(100, random_state=0).fit(train, known).score(test, asked)
    assert ours > theirs - 0.02
