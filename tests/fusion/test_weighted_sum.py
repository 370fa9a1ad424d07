"""The weighted sum of models equals the sum written out."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.naive_bayes import GaussianNB

from fuselearn import CARTClassifier
from fuselearn.fusion import WeightedSum
from fuselearn.fusion.problem import output_of
from fuselearn.learners import bind, class_target, label_target

X, y = load_iris(return_X_y=True)


def train(kind, seed):
    counts = np.random.default_rng(seed).poisson(1, len(X)).astype(np.int32)
    estimator = CARTClassifier(complexity=None) if kind == "tree" else GaussianNB()
    return bind(estimator, X).train(class_target(y.astype(np.int32), 3), counts, 0)


@pytest.mark.parametrize("kinds", [("tree", "tree", "tree"), ("bayes", "bayes", "bayes"), ("tree", "bayes", "tree")])
def test_votes_and_scores_are_summed(kinds):
    models = [train(kind, seed) for seed, kind in enumerate(kinds)]
    fused = WeightedSum(models, np.array([0.5, 0.3, 0.2]), 3, ["scores", "votes", "votes"], divisor=2.0)
    votes = [np.eye(3)[model.votes(X)] for model in models]
    expected = (0.5 * models[0].scores(X) + 0.3 * votes[1] + 0.2 * votes[2]) / 2
    np.testing.assert_allclose(fused.scores(X), expected, atol=1e-15)
    np.testing.assert_allclose(fused.scores(X, only=np.array([70, 3])), expected[[70, 3]], atol=1e-15)
    np.testing.assert_array_equal(fused.scores(X, n_threads=2), fused.scores(X))
    for output, model in zip(fused.outputs_of_models(X), models, strict=True):
        assert output.shape == (150, 3)
        assert (output[:, 0] <= 1).all(), model


def test_a_vote_is_one_for_a_single_class():
    model = train("tree", 0)
    votes = output_of(model, "votes", 3, X)
    np.testing.assert_array_equal(votes.sum(axis=1), 1)
    np.testing.assert_array_equal(votes.argmax(axis=1), model.votes(X))
    np.testing.assert_array_equal(output_of(model, "votes", 3, only=np.array([5])), votes[[5]])
    np.testing.assert_array_equal(output_of(model, "scores", 3), model.scores())


def test_labels_are_chosen_above_one_half():
    Y = np.column_stack([y > 0, y > 1]).astype(np.int8)
    model = bind(GaussianNB(), X).train(label_target(Y), np.ones(len(X), dtype=np.int32), 0)
    np.testing.assert_array_equal(output_of(model, "votes", 2, X), model.scores(X) > 0.5)
    np.testing.assert_array_equal(output_of(model, "decisions", 2, X), model.scores(X))
    fused = WeightedSum([model], np.ones(1), 2)
    np.testing.assert_array_equal(fused.deciding().scores(X), model.decisions(X))
    np.testing.assert_array_equal(fused.with_output("votes").scores(X), model.scores(X) > 0.5)
