"""A forest of multi-label trees: its trees, its samples, its out-of-bag scores."""

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier

from fuselearn.datasets import make_digit_pairs
from fuselearn.multilabel import PCTForestClassifier, macro_f1


@pytest.fixture(scope="module")
def pairs():
    X, Y = make_digit_pairs(300, random_state=0)
    return X.to_numpy(), Y.to_numpy()


def test_a_single_tree_on_all_rows_and_columns_knows_its_training_rows(pairs):
    X, Y = pairs
    tree = PCTForestClassifier(1, bootstrap=False, max_features=None).fit(X, Y)
    np.testing.assert_array_equal(tree.predict(X), Y)


def test_the_first_split_is_scikit_learns():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    Y = np.column_stack([X[:, 1] > 0.3, X[:, 1] + X[:, 2] > 0, rng.random(80) < 0.5]).astype(int)
    ours = PCTForestClassifier(1, bootstrap=False, max_features=None, max_depth=2).fit(X, Y)
    theirs = RandomForestClassifier(1, bootstrap=False, max_features=None, max_depth=2, random_state=0).fit(X, Y)
    expected = np.column_stack([p[:, 1] for p in theirs.predict_proba(X)])
    np.testing.assert_allclose(ours.predict_proba(X), expected)


def test_it_is_as_good_as_a_random_forest(pairs):
    X, Y = pairs
    ours = PCTForestClassifier(60, random_state=0).fit(X[:200], Y[:200]).predict_proba(X[200:])
    forest = RandomForestClassifier(60, random_state=0).fit(X[:200], Y[:200])
    theirs = np.column_stack([p[:, 1] for p in forest.predict_proba(X[200:])])
    assert macro_f1(Y[200:], ours > 0.3) == pytest.approx(macro_f1(Y[200:], theirs > 0.3), abs=0.1)


def test_out_of_bag_scores_are_honest(pairs):
    X, _ = pairs
    rng = np.random.default_rng(0)
    noise = (rng.random((300, 2)) < 0.5).astype(int)  # labels that cannot be learned
    forest = PCTForestClassifier(50, random_state=0).fit(X, noise)
    scores = forest.oob_decision_function_
    assert not np.isnan(scores).any()
    assert ((scores > 0.5) == noise).mean() < 0.6 < ((forest.predict_proba(X) > 0.5) == noise).mean()


def test_rules_use_out_of_bag_scores(pairs):
    X, Y = pairs
    plain, matched = (PCTForestClassifier(30, decision=d, random_state=0).fit(X, Y) for d in (0.5, "cardinality"))
    test = make_digit_pairs(100, random_state=1).X.to_numpy()
    assert plain.predict(test).sum() < 0.7 * matched.predict(test).sum()


def test_the_same_seed_gives_the_same_forest_for_any_number_of_jobs(pairs):
    X, Y = pairs
    one, two = (PCTForestClassifier(10, random_state=0, n_jobs=n).fit(X, Y).predict_proba(X) for n in (1, 2))
    np.testing.assert_array_equal(one, two)


def test_categories_and_gaps_are_taken_as_they_are():
    rng = np.random.default_rng(0)
    colour = rng.choice(["red", "green", "blue"], 120)
    size = rng.normal(size=120)
    Y = np.column_stack([colour == "red", size > 0]).astype(int)
    X = pd.DataFrame({"colour": pd.Categorical(colour), "size": np.where(rng.random(120) < 0.1, np.nan, size)})
    forest = PCTForestClassifier(30, max_features=None, random_state=0).fit(X, Y)
    assert (forest.predict(X) == Y).mean() > 0.95
    assert forest.feature_names_in_.tolist() == ["colour", "size"]


def test_weights_are_chances_to_be_drawn(pairs):
    X, Y = pairs
    weights = (np.arange(300) < 100).astype(float)
    weighted = PCTForestClassifier(20, random_state=0).fit(X, Y, weights)
    assert (weighted.predict(X[:100]) == Y[:100]).mean() > (weighted.predict(X[100:]) == Y[100:]).mean() + 0.05


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"n_estimators": 0}, "n_estimators must be at least 1"),
        ({"max_features": 0.0}, "max_features as a share must be above 0"),
        ({"max_depth": 0}, "max_depth must be at least 1"),
        ({"bootstrap": "no"}, "bootstrap must be True or False, not 'no'"),
        ({"bootstrap": False, "max_samples": 0.5}, "max_samples=0.5 has no effect with bootstrap=False"),
    ],
)
def test_bad_parameters_get_a_sentence(parameters, sentence):
    with pytest.raises((ValueError, TypeError), match=sentence):
        PCTForestClassifier(**parameters).fit([[0.0], [1.0]], [[0, 1], [1, 0]])
