"""The weighted sum of components equals the sum written out."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.naive_bayes import GaussianNB

from fuselearn import CARTClassifier
from fuselearn.learners import class_target, WeightedSum, bind
from fuselearn.fusion.weighted_sum import component_scores

X, y = load_iris(return_X_y=True)


def measure(kind, seed):
    counts = np.random.default_rng(seed).poisson(1, len(X)).astype(np.int32)
    estimator = CARTClassifier(complexity=-1.0) if kind == "tree" else GaussianNB()
    return bind(estimator, X).train(class_target(y.astype(np.int32), 3), counts, 0)


@pytest.mark.parametrize("kinds", [("tree", "tree", "tree"), ("bayes", "bayes", "bayes"), ("tree", "bayes", "tree")])
def test_votes_and_scores_are_summed(kinds):
    components = [measure(kind, seed) for seed, kind in enumerate(kinds)]
    fused = WeightedSum(components, np.array([0.5, 0.3, 0.2]), np.array([False, True, True]))
    votes = [np.eye(3)[component.votes(X)] for component in components]
    expected = 0.5 * components[0].scores(X) + 0.3 * votes[1] + 0.2 * votes[2]
    for component in components:
        component.release()
    np.testing.assert_allclose(fused.scores(X, 3), expected, atol=1e-15)
    np.testing.assert_allclose(fused.scores(X[:1], 3), expected[:1], atol=1e-15)
    np.testing.assert_array_equal(fused.scores(X, 3, n_threads=2), fused.scores(X, 3))


def test_a_vote_is_a_row_with_a_single_one():
    component = measure("tree", 0)
    by_class = component_scores(component, True, 3, X)
    np.testing.assert_array_equal(by_class.sum(axis=1), 1)
    np.testing.assert_array_equal(by_class.argmax(axis=1), component.votes(X))
    np.testing.assert_array_equal(component_scores(component, False, 3), component.scores())
