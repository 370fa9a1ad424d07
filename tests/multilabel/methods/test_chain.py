"""Classifier chains, greedy and probabilistic, against plain programs."""

from __future__ import annotations

import pickle
from itertools import product

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.multioutput import ClassifierChain
from sklearn.tree import DecisionTreeClassifier

from fuselearn import CARTClassifier, SVMClassifier
from fuselearn.learners import bind, label_target
from fuselearn.multilabel import BinaryRelevanceClassifier, ChainClassifier
from fuselearn.multilabel.methods.chain import train_chain

ORDER = [2, 0, 3, 1]
LOGISTIC = SVMClassifier(probability="logistic", gamma=0.2)


def test_true_labels_in_training_and_chosen_ones_in_prediction(labelled, recorder):
    X, Y = labelled
    model = ChainClassifier(recorder, order=ORDER).fit(X, Y)
    for place, (table, target, _) in enumerate(recorder.tables):
        np.testing.assert_array_equal(table, np.hstack([X, Y[:, ORDER[:place]]]))
        np.testing.assert_array_equal(target, Y[:, ORDER[place]])
    # The first model reads the last column of X, and each later one what the one before it has chosen.
    expected = np.repeat(np.where(X[:, -1:] > 0.5, 0.75, 0.25), 4, axis=1)
    np.testing.assert_array_equal(model.predict_proba(X), expected)


def test_what_is_fed_on_does_not_depend_on_the_decision(labelled):
    X, Y = labelled
    chances = [ChainClassifier("tree", decision=d).fit(X, Y).predict_proba(X) for d in (0.5, 0.05, "at_least_one")]
    np.testing.assert_array_equal(chances[0], chances[1])
    np.testing.assert_array_equal(chances[0], chances[2])


def test_chains_are_those_of_scikit_learn(labelled):
    X, Y = labelled
    ours = ChainClassifier(LogisticRegression(), order=ORDER).fit(X, Y)
    theirs = ClassifierChain(LogisticRegression(), order=ORDER).fit(X, Y)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X))
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


def test_trees_are_those_of_a_plain_loop(labelled):
    X, Y = labelled
    tree = CARTClassifier(min_samples_split=4)
    expected = np.empty(Y.shape)
    table, rows = X, X
    for label in ORDER:
        expected[:, label] = tree.fit(table, Y[:, label]).predict_proba(rows)[:, 1]
        table, rows = np.column_stack([table, Y[:, label]]), np.column_stack([rows, expected[:, label] > 0.5])
    model = ChainClassifier(tree, order=ORDER).fit(X, Y)
    np.testing.assert_array_equal(model.predict_proba(X), expected)


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_machines_are_those_of_wider_tables(labelled, kernel):
    X, Y = labelled
    machine = clone(LOGISTIC).set_params(kernel=kernel, scaling=None)
    model = ChainClassifier(machine, order=ORDER).fit(X, Y)
    expected = np.empty(Y.shape)
    table, rows = X, X
    for label in ORDER:
        expected[:, label] = BinaryRelevanceClassifier(machine).fit(table, Y[:, [label]]).predict_proba(rows)[:, 0]
        table, rows = np.column_stack([table, Y[:, label]]), np.column_stack([rows, expected[:, label] > 0.5])
    np.testing.assert_allclose(model.predict_proba(X), expected, atol=2e-3)


@pytest.mark.parametrize("estimator", ["tree", LogisticRegression(), SVMClassifier(C=100.0, kernel="linear")])
def test_a_label_that_follows_from_another_is_predicted_so(labelled, estimator):
    X, _ = labelled
    coin = np.random.default_rng(3).integers(0, 2, 80)
    opposite = np.column_stack([coin, 1 - coin])
    chosen = ChainClassifier(estimator).fit(X[:60], opposite[:60]).predict(X[60:])
    np.testing.assert_array_equal(chosen[:, 1], 1 - chosen[:, 0])


@pytest.mark.parametrize("estimator", [CARTClassifier(), LogisticRegression(), LOGISTIC])
def test_bound_rows_get_what_new_rows_get(labelled, estimator):
    X, Y = labelled
    counts = np.random.default_rng(0).poisson(1, 80).astype(np.int32)
    learner = bind(estimator, X)
    chain = train_chain(learner, Y, counts, 0, order=np.array(ORDER))
    expected = chain.scores(learner.prepare(X))
    np.testing.assert_allclose(chain.scores(), expected, atol=1e-5)
    only = np.flatnonzero(counts == 0)
    np.testing.assert_allclose(chain.scores(only=only), expected[only], atol=1e-5)
    before = learner.train(label_target(Y), counts, 0).scores()  # the learner is as it was
    np.testing.assert_array_equal(before, bind(estimator, X).train(label_target(Y), counts, 0).scores())


def test_a_model_grows_with_the_labels_and_not_with_their_square(labelled):
    """The machines of a chain share one array of the labels before them."""
    X, Y = labelled
    sizes = [len(pickle.dumps(ChainClassifier(LOGISTIC).fit(X, np.tile(Y, (1, n))))) for n in (20, 40)]
    assert sizes[1] < 2.2 * sizes[0]


class TestOrder:
    def test_none_is_that_of_the_table(self, labelled):
        assert ChainClassifier("tree").fit(*labelled).order_.tolist() == [0, 1, 2, 3]

    def test_random_orders_follow_the_seed(self, labelled):
        orders = [
            ChainClassifier("tree", order="random", random_state=s).fit(*labelled).order_.tolist() for s in (0, 0, 1, 2)
        ]
        assert orders[0] == orders[1]
        assert len(set(map(tuple, orders))) > 1
        assert sorted(orders[0]) == [0, 1, 2, 3]

    def test_names_and_numbers(self, labelled):
        X, Y = labelled
        frame = pd.DataFrame(Y, columns=list("abcd"))
        for order in (list("cadb"), ORDER, np.array(ORDER), tuple(ORDER)):
            assert ChainClassifier("tree", order=order).fit(X, frame).order_.tolist() == ORDER
        frame.columns = [3, 2, 1, 0]
        assert ChainClassifier("tree", order=[3, 2, 1, 0]).fit(X, frame).order_.tolist() == [0, 1, 2, 3]

    @pytest.mark.parametrize("order", [[0, 1], [0, 1, 2, 2], [1, 2, 3, 4], list("abcd"), "sorted", 3])
    def test_what_is_no_order(self, labelled, order):
        with pytest.raises((ValueError, TypeError), match="order must"):
            ChainClassifier("tree", order=order).fit(*labelled)

    def test_a_single_label(self, labelled):
        X, Y = labelled
        chain, single = (make("tree").fit(X, Y[:, :1]) for make in (ChainClassifier, BinaryRelevanceClassifier))
        np.testing.assert_array_equal(chain.predict_proba(X), single.predict_proba(X))


class TestEstimators:
    @pytest.mark.parametrize("estimator", [CARTClassifier(min_samples_split=4), LogisticRegression()])
    def test_each_expects_the_labels_before_it(self, labelled, estimator):
        X, Y = labelled
        model = ChainClassifier(estimator, order=ORDER).fit(X, Y)
        for place, (label, single) in enumerate(zip(ORDER, model.estimators_, strict=True)):
            wide = np.hstack([X, Y[:, ORDER[:place]]])
            expected = clone(estimator).fit(wide, Y[:, label]).predict_proba(wide)
            np.testing.assert_allclose(single.predict_proba(wide), expected)

    def test_trees_name_labels(self):
        frame = pd.DataFrame({"size": np.arange(40.0) % 7, "colour": ["red", "blue"] * 20})
        coin = np.random.default_rng(0).integers(0, 2, 40)
        labels = pd.DataFrame({"sad": coin, "glad": 1 - coin})
        trees = ChainClassifier("tree").fit(frame, labels).estimators_
        assert trees[1].feature_names_in_.tolist() == ["size", "colour", "label sad"]
        assert trees[1].export_text().startswith("label sad < 0.5: class 1")
        wide = frame.assign(**{"label sad": coin})
        np.testing.assert_array_equal(trees[1].predict(wide), 1 - coin)


BASES = [CARTClassifier(min_samples_split=30, complexity=0.0), LogisticRegression(), SVMClassifier()]


def probabilistic(base, inference="beam", decision="set", **given):
    return ChainClassifier(base, inference=inference, decision=decision, **given)


@pytest.fixture(scope="module")
def noisy(labelled):
    """Give the table with a fifth of its labels flipped, so that no label is certain."""
    X, Y = labelled
    return X, np.where(np.random.default_rng(1).random(Y.shape) < 0.2, 1 - Y, Y)


def list_joint(model, X):
    """Give all label sets, and their probabilities by the models of the chain, from the definition."""
    sets = np.array(list(product([0, 1], repeat=model.n_labels_)))
    joint = np.ones((len(X), len(sets)))
    for number, labels in enumerate(sets):
        for place, (label, single) in enumerate(zip(model.order_, model.estimators_, strict=True)):
            wide = np.hstack([X, np.tile(labels[model.order_[:place]], (len(X), 1))])
            joint[:, number] *= single.predict_proba(wide)[:, labels[label]]
    return sets, joint


@pytest.mark.parametrize("base", BASES[:2])
def test_a_beam_of_all_sets_is_an_exhaustive_search(noisy, base):
    X, Y = noisy
    model = probabilistic(base, n_paths=16, order=ORDER).fit(X[:50], Y[:50])
    sets, joint = list_joint(model, X[50:])
    np.testing.assert_allclose(model.predict_proba(X[50:]), joint @ sets)
    chosen = model.predict(X[50:]) @ [8, 4, 2, 1]  # the number of the set in the list
    np.testing.assert_allclose(joint[np.arange(30), chosen], joint.max(axis=1))


@pytest.mark.parametrize("base", BASES, ids=lambda base: type(base).__name__)
def test_a_beam_of_one_path_is_the_greedy_chain(noisy, base):
    X, Y = noisy
    given = {"order": ORDER, "random_state": 0}
    model = probabilistic(base, n_paths=1, **given).fit(X[:50], Y[:50])
    greedy = ChainClassifier(base, **given).fit(X[:50], Y[:50])
    np.testing.assert_allclose(model.predict_proba(X[50:]), greedy.predict_proba(X[50:]))
    np.testing.assert_array_equal(model.predict(X[50:]), greedy.predict(X[50:]))


def test_a_wider_beam_finds_no_less_probable_sets(noisy):
    X, Y = noisy
    found = []
    for n_paths in (1, 2, 16):
        model = probabilistic(LogisticRegression(), n_paths=n_paths).fit(X, Y)
        _, joint = list_joint(model, X)
        found.append(joint[np.arange(80), model.predict(X) @ [8, 4, 2, 1]])
    assert (found[1] >= found[0] - 1e-12).all()
    assert (found[2] >= found[1] - 1e-12).all()
    assert found[2].sum() > found[0].sum()


def test_random_paths_converge_to_the_exact_marginals_and_the_mode(noisy):
    X, Y = noisy
    errors = []
    for n_paths in (10, 4000):
        model = probabilistic(
            LogisticRegression(), inference="monte_carlo", n_paths=n_paths, order=ORDER, random_state=0
        ).fit(X[:50], Y[:50])
        sets, joint = list_joint(model, X[50:])
        errors.append(abs(model.predict_proba(X[50:]) - joint @ sets).max())
    assert errors[1] < 0.02 < errors[0]
    chosen = model.predict(X[50:]) @ [8, 4, 2, 1]
    np.testing.assert_allclose(joint[np.arange(30), chosen], joint.max(axis=1))


def test_random_paths_follow_the_seed(noisy):
    X, Y = noisy
    chances = [
        probabilistic(LogisticRegression(), inference="monte_carlo", n_paths=5, random_state=seed)
        .fit(X, Y)
        .predict_proba(X)
        for seed in (0, 0, 1)
    ]
    np.testing.assert_array_equal(chances[0], chances[1])
    assert (chances[0] != chances[2]).any()


def test_thresholds_are_of_the_marginals(noisy):
    X, Y = noisy
    model = probabilistic(LogisticRegression(), n_paths=16).fit(X, Y)
    halved = model.with_decision(0.5)
    np.testing.assert_array_equal(halved.predict(X), model.predict_proba(X) > 0.5)
    assert (halved.predict(X) != model.predict(X)).any()


@pytest.mark.parametrize(("inference", "n_paths", "tolerance"), [("beam", 15, 1e-9), ("monte_carlo", 4000, 0.02)])
def test_labels_that_exclude_each_other(inference, n_paths, tolerance):
    # The labels 0, 1 and 2 are exclusive with chances 0.4, 0.3 and 0.3. Greedily, 0 is not chosen, as 0.4 < 0.5.
    X, Y = np.zeros((10, 1)), np.repeat(np.eye(3, dtype=int), [4, 3, 3], axis=0)
    base = DecisionTreeClassifier()
    model = probabilistic(base, inference=inference, n_paths=n_paths, random_state=0).fit(X, Y)
    assert ChainClassifier(base).fit(X, Y).predict(X[:1]).tolist() != [[1, 0, 0]]
    assert model.predict(X[:1]).tolist() == [[1, 0, 0]]
    np.testing.assert_allclose(model.predict_proba(X[:1]), [[0.4, 0.3, 0.3]], atol=tolerance)
