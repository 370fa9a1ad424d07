"""Probabilistic chains: the joint mode and the marginals, against a search of all label sets."""

from itertools import product

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from fuselearn import CARTClassifier, SVMClassifier
from fuselearn.multilabel import ChainClassifier

ORDER = [2, 0, 3, 1]
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
