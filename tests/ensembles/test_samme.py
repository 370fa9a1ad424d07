"""AdaBoost.SAMME against a plain rendering of adabag's steps."""

import numpy as np
import pytest

from fuselearn import CARTClassifier, SAMMEClassifier
from fuselearn._core import draw_covering_counts


def alpha_of(error, n_classes):
    return np.log((1 - error) / error) + np.log(n_classes - 1)


def plain_samme(fit, y, n_estimators, seed, initial=None, reset="training"):
    """Boost step by step; ``fit(counts)`` gives the predicted classes of all training rows."""
    n, c = len(y), y.max() + 1
    initial = np.full(n, 1 / n) if initial is None else initial
    rng = np.random.default_rng(seed)
    w = initial
    alphas, errors, resets = [], [], []
    n_votes, n_right = np.zeros(n), np.array([initial[y == j].sum() for j in range(c)])[y]
    for t in range(1, n_estimators + 1):
        counts = draw_covering_counts(int(rng.integers(2**62)), w, n, y.astype(np.int32), c, 1)
        wrong = fit(counts) != y
        error = w[wrong].sum()
        errors.append(error)
        n_votes += counts == 0
        n_right += (counts == 0) & ~wrong
        is_lost = reset == "out-of-bag" and w @ (1 - n_right / (1 + n_votes)) >= 1 - 1 / c
        if error >= 1 - 1 / c - 1e-12:
            alphas.append(alpha_of(1 - 1 / c - 0.001, c))
            w = initial
            resets.append(t)
        elif error == 0:
            alphas.append(alpha_of(0.001, c))
            w = initial
            resets.append(t)
        else:
            alphas.append(alpha_of(error, c))
            w = w * np.exp(alphas[-1] * wrong)
            w = w / w.sum()
            if is_lost:
                w = initial
                resets.append(t)
    return alphas, errors, resets, w


def assert_follows(model, alphas, errors, resets, weights):
    np.testing.assert_allclose(model.estimator_errors_, errors, atol=1e-12)
    np.testing.assert_allclose(model.estimator_weights_, alphas, rtol=1e-9)
    np.testing.assert_array_equal(model.resets_, resets)
    np.testing.assert_allclose(model.sample_weights_, weights, atol=1e-12)


class TestAgainstPlainSAMME:
    @pytest.mark.parametrize("reset", ["training", "out-of-bag"])
    @pytest.mark.parametrize("weighted", [False, True])
    def test_trees(self, noisy_wine, weighted, reset):
        X, y = noisy_wine
        y = np.where(np.arange(len(y)) % 4 == 0, (y + 1) % 3, y)
        sample_weight = np.random.default_rng(0).uniform(0.1, 2, len(y)) if weighted else None
        model = SAMMEClassifier(n_estimators=25, reset=reset, random_state=4).fit(X, y, sample_weight=sample_weight)
        tree = CARTClassifier()
        plain = plain_samme(
            lambda counts: tree.fit(X, y, sample_weight=counts).predict(X),
            y, 25, 4, None if sample_weight is None else sample_weight / sample_weight.sum(), reset,
        )  # fmt: skip
        assert_follows(model, *plain)
        assert (len(model.resets_) > 0) == (reset == "out-of-bag")
        assert all(tree.get_n_leaves() > 1 for tree in model.estimators_)

    def test_predictions_are_shares_of_the_weighted_votes(self, noisy_wine):
        X, y = noisy_wine
        model = SAMMEClassifier(n_estimators=15, random_state=4).fit(X, y)
        votes = sum(
            alpha * np.eye(3)[tree.predict(X)]
            for tree, alpha in zip(model.estimators_, model.estimator_weights_, strict=True)
        )
        np.testing.assert_allclose(model.predict_proba(X), votes / votes.sum(axis=1, keepdims=True), atol=1e-12)
        np.testing.assert_array_equal(model.predict(X), votes.argmax(axis=1))

    def test_stages_end_with_the_prediction(self, noisy_wine):
        X, y = noisy_wine
        model = SAMMEClassifier(n_estimators=15, random_state=4).fit(X, y)
        stages = list(model.staged_predict(X))
        assert len(stages) == 15
        np.testing.assert_array_equal(stages[0], model.estimators_[0].predict(X))
        np.testing.assert_array_equal(stages[-1], model.predict(X))

    def test_the_default_tree_is_pruned_as_rpart_prunes(self, noisy_wine):
        model = SAMMEClassifier(n_estimators=1, random_state=0).fit(*noisy_wine)
        assert model.estimators_[0].complexity == 0.01


class TestResets:
    y = np.arange(30) % 3
    X = np.arange(30.0)[:, None]
    bad = (y + 1) % 3
    half = np.where(np.arange(30) < 15, y, bad)
    good = np.where(np.arange(30) < 25, y, bad)

    def test_the_classifier_stays_and_the_weights_start_again(self, scripted):
        script = (self.good, self.bad, self.half, self.y, self.good)
        learner = scripted(*script)
        model = SAMMEClassifier(learner, 5, random_state=1).fit(self.X, self.y)
        assert model.resets_.tolist() == [2, 4]
        assert len(model.estimators_) == len(learner.samples) == 5
        answers, drawn = iter(script), []

        def fit(counts):
            drawn.append(counts)
            return next(answers)

        assert_follows(model, *plain_samme(fit, self.y, 5, 1))
        np.testing.assert_array_equal(learner.samples, drawn)

    def test_no_error_counts_as_an_error_of_a_thousandth(self, scripted):
        model = SAMMEClassifier(scripted(self.y), 2, random_state=1).fit(self.X, self.y)
        np.testing.assert_allclose(model.estimator_weights_, np.log(999) + np.log(2))
        np.testing.assert_allclose(model.sample_weights_, 1 / 30)
        assert model.estimator_errors_.tolist() == [0.0, 0.0]

    def test_an_guessing_error_or_more_counts_as_just_below_guessing(self, scripted):
        guessing = np.where(np.arange(30) < 10, self.y, self.bad)
        for answer in (self.bad, guessing):
            model = SAMMEClassifier(scripted(answer), 2, random_state=1).fit(self.X, self.y)
            error = 2 / 3 - 0.001
            np.testing.assert_allclose(model.estimator_weights_, np.log((1 - error) / error) + np.log(2), rtol=1e-6)
            assert model.resets_.tolist() == [1, 2]
            assert (model.estimator_weights_ > 0).all()

    def test_resets_return_to_the_given_weights(self, scripted):
        weights = np.arange(1.0, 31.0)
        model = SAMMEClassifier(scripted(self.y), 3, random_state=1).fit(self.X, self.y, sample_weight=weights)
        np.testing.assert_allclose(model.sample_weights_, weights / weights.sum())

    def test_weights_by_hand(self, scripted):
        # Five of thirty rows are wrong, err = 1/6 and alpha = log(5) + log(2): their weights grow tenfold.
        model = SAMMEClassifier(scripted(self.good), 1, random_state=1).fit(self.X, self.y)
        np.testing.assert_allclose(model.estimator_weights_, np.log(10))
        np.testing.assert_allclose(model.sample_weights_, np.where(np.arange(30) < 25, 1, 10) / 75)


class TestTies:
    @pytest.mark.parametrize(("n_rows", "winner"), [((6, 14), "b"), ((14, 6), "a"), ((10, 10), "a")])
    def test_the_class_with_most_training_rows_wins(self, scripted, n_rows, winner):
        y = np.repeat(["a", "b"], n_rows)
        X = np.arange(20.0)[:, None]
        # Both are right about all training rows, and so weigh the same; they differ about row 20.
        learner = scripted(np.append(y, "a"), np.append(y, "b"))
        model = SAMMEClassifier(learner, 2, random_state=0).fit(X, y)
        assert model.predict_proba([[20.0]]).tolist() == [[0.5, 0.5]]
        assert model.predict([[20.0]]).tolist() == [winner]
        assert [stage.tolist() for stage in model.staged_predict([[20.0]])] == [["a"], [winner]]


def test_what_has_no_split_at_all_is_not_tried_for_ever():
    model = SAMMEClassifier(n_estimators=2, random_state=0).fit(np.zeros((30, 1)), np.arange(30) % 2)
    assert [tree.get_n_leaves() for tree in model.estimators_] == [1, 1]
    assert model.predict_proba(np.zeros((1, 1))).shape == (1, 2)
