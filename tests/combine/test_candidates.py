"""Scores of candidates, against the scorers of scikit-learn for the mean with each candidate."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import f1_score, get_scorer, make_scorer

from fuselearn.combine.candidates import (
    KnownClasses,
    KnownValues,
    accuracy,
    by_confusion,
    candidates_for_classes,
    candidates_for_numbers,
)
from fuselearn.combine.classes import Classes

FAST = ["neg_log_loss", "accuracy", "balanced_accuracy", "f1_macro", "f1_micro", "f1_weighted"]
SLOW = ["roc_auc_ovr", "precision_macro", "matthews_corrcoef"]


def known(outputs, classes):
    return KnownClasses(classes.decode(outputs.argmax(axis=-1)), classes.as_table(outputs), classes.attribute)


def draw_classes(seed, n_classes, weighted=False, n_rows=60, n_members=5):
    rng = np.random.default_rng(seed)
    truth = np.append(np.arange(n_classes), rng.integers(0, n_classes, n_rows - n_classes))
    skill = rng.uniform(0, 0.7, (n_members, 1, 1))
    outputs = (1 - skill) * rng.dirichlet(np.ones(n_classes), (n_members, n_rows)) + skill * np.eye(n_classes)[truth]
    return outputs, truth, rng.uniform(0.1, 2, n_rows) if weighted else None


def assert_scores(candidates, expected_of, outputs, rng):
    """Compare the scores after 0, 1, 2, ... members with those of the mean."""
    total, size = np.zeros(candidates.values.shape[1:]), 0
    summed = np.zeros(outputs.shape[1:])
    for _ in range(6):
        members = np.sort(rng.choice(len(outputs), 3, replace=False))
        found = candidates.scores(total, size, members)
        expected = [expected_of((summed + outputs[k]) / (size + 1)) for k in members]
        np.testing.assert_allclose(found, expected, atol=1e-12)
        chosen = rng.integers(len(outputs))
        total, summed, size = total + candidates.values[chosen], summed + outputs[chosen], size + 1


class TestClasses:
    @pytest.mark.parametrize("weighted", [False, True])
    @pytest.mark.parametrize("n_classes", [2, 4])
    @pytest.mark.parametrize("scoring", [*FAST, *SLOW])
    def test_equal_the_scorer(self, scoring, n_classes, weighted):
        rng = np.random.default_rng(0)
        outputs, truth, weights = draw_classes(0, n_classes, weighted)
        classes = Classes(np.array(["a", "b", "c", "d"])[:n_classes])
        target = classes.decode(truth)
        candidates = candidates_for_classes(scoring, outputs, target, classes, weights)

        def expected(mean):
            rows = np.zeros((len(mean), 1))
            return get_scorer(scoring)(known(mean, classes), rows, target, sample_weight=weights)

        assert_scores(candidates, expected, outputs, rng)

    @pytest.mark.parametrize("values", [[0, 1], [-1, 1], [False, True]])
    def test_f1_of_the_positive_class(self, values):
        outputs, truth, _ = draw_classes(0, 2)
        classes = Classes(np.array(values))
        candidates = candidates_for_classes("f1", outputs, classes.decode(truth), classes, None)
        assert_scores(candidates, lambda mean: f1_score(truth, mean.argmax(axis=1)), outputs, np.random.default_rng(0))

    def test_f1_without_a_class_1_is_for_scikit_learn_to_refuse(self):
        outputs, truth, _ = draw_classes(0, 2)
        classes = Classes(np.array(["no", "yes"]))
        candidates = candidates_for_classes("f1", outputs, classes.decode(truth), classes, None)
        with pytest.raises(ValueError, match="pos_label"):
            candidates.scores(np.zeros((60, 2)), 0, np.arange(2))
        named = make_scorer(f1_score, pos_label="yes")
        candidates = candidates_for_classes(named, outputs, classes.decode(truth), classes, None)
        assert candidates.scores(np.zeros((60, 2)), 0, np.arange(2)).shape == (2,)

    def test_no_scoring_is_the_log_loss(self):
        outputs, truth, _ = draw_classes(0, 3)
        classes = Classes(np.arange(3))
        found = [
            candidates_for_classes(scoring, outputs, truth, classes, None).scores(np.zeros(60), 0, np.arange(5))
            for scoring in (None, "neg_log_loss")
        ]
        np.testing.assert_array_equal(*found)

    def test_what_members_rule_out_costs_36(self):
        classes = Classes(np.arange(2))
        outputs = np.eye(2)[[[0, 1], [1, 1]]]
        found = candidates_for_classes(None, outputs, np.array([0, 1]), classes, None).scores(
            np.zeros(2), 0, np.arange(2)
        )
        np.testing.assert_allclose(found, [0, np.log(np.finfo(float).eps) / 2])

    @pytest.mark.parametrize("n_rows", [1, 63, 64, 65, 64 * 16, 64 * 16 + 1, 5000])
    def test_logarithms_of_products(self, n_rows):
        given = np.random.default_rng(0).random((2, n_rows))
        given[:, ::7] = 0
        classes = Classes(np.arange(2))
        outputs = np.stack([given, 1 - given], axis=2)
        candidates = candidates_for_classes(None, outputs, np.zeros(n_rows, dtype=int), classes, None)
        total = np.random.default_rng(1).random(n_rows) * 3
        total[::14] = 0
        expected = np.log(np.maximum((total + given) / 4, np.finfo(float).eps)).mean(axis=1)
        np.testing.assert_allclose(candidates.scores(total, 3, np.arange(2)), expected)

    @given(st.integers(0, 2**32 - 1), st.integers(2, 4), st.integers(0, 6))
    def test_rows_without_doubt_change_nothing(self, seed, n_classes, size):
        rng = np.random.default_rng(seed)
        outputs = rng.integers(0, 4, (4, 30, n_classes)) / 3  # ties are common
        truth = rng.integers(0, n_classes, 30)
        total = outputs[rng.integers(0, 4, size)].sum(axis=0) if size else np.zeros((30, n_classes))
        candidates = by_confusion(outputs, truth, np.ones(30), accuracy)
        expected = ((total + outputs).argmax(axis=2) == truth).mean(axis=1)
        np.testing.assert_allclose(candidates.scores(total, size, np.arange(4)), expected)

    @pytest.mark.parametrize("scoring", [None, "f1_macro", "accuracy", "roc_auc"])
    def test_several_labels(self, scoring):
        rng = np.random.default_rng(0)
        Y = rng.integers(0, 2, (40, 3))
        present = rng.random((4, 40, 3))
        outputs = np.stack([1 - present, present], axis=3)
        classes = Classes(np.array([0, 1]), 3)
        candidates = candidates_for_classes(scoring, outputs, Y, classes, None)
        if scoring is None:
            expected = [np.log(np.where(Y == 1, p, 1 - p)).mean() for p in present]
        else:
            expected = [get_scorer(scoring)(known(a, classes), np.zeros((40, 1)), Y) for a in outputs]
        np.testing.assert_allclose(candidates.scores(np.zeros(candidates.values.shape[1:]), 0, np.arange(4)), expected)

    def test_scorers_without_weights_get_none(self):
        outputs, truth, weights = draw_classes(0, 2, weighted=True)

        def mine(estimator, X, y):
            return float((estimator.predict(X) == y).mean())

        candidates = candidates_for_classes(mine, outputs, truth, Classes(np.arange(2)), weights)
        assert candidates.scores(np.zeros((60, 2)), 0, np.arange(1))[0] == (outputs[0].argmax(axis=1) == truth).mean()


class TestNumbers:
    @pytest.mark.parametrize("weighted", [False, True])
    @pytest.mark.parametrize("n_outputs", [None, 3])
    @pytest.mark.parametrize(
        "scoring",
        [
            "neg_mean_squared_error",
            "neg_root_mean_squared_error",
            "neg_mean_absolute_error",
            "r2",
            "neg_median_absolute_error",
        ],
    )
    def test_equal_the_scorer(self, scoring, n_outputs, weighted):
        rng = np.random.default_rng(0)
        target = rng.normal(size=50 if n_outputs is None else (50, n_outputs))
        outputs = target + rng.normal(size=(5, *target.shape))
        weights = rng.uniform(0.1, 2, 50) if weighted else None
        candidates = candidates_for_numbers(scoring, outputs, target, weights)

        def expected(mean):
            return get_scorer(scoring)(KnownValues(mean), np.zeros((50, 1)), target, sample_weight=weights)

        assert_scores(candidates, expected, outputs, rng)

    def test_no_scoring_is_the_squared_error(self):
        target = np.array([0.0, 2.0])
        candidates = candidates_for_numbers(None, np.array([[1.0, 2.0], [0.0, 5.0]]), target, None)
        np.testing.assert_allclose(candidates.scores(np.zeros(2), 0, np.arange(2)), [-0.5, -4.5])
