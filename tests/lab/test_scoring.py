"""Scores follow PerfMeas's convention, and scikit-learn's where the two agree."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics

from fuselearn.lab.running.scoring import brier_score, calibration_error, log_loss, score_fold, score_labels

N_CLASSES = 4
classes = st.integers(0, N_CLASSES - 1)


def test_macro_f1_by_hand():
    # F1 of class 0: 2*2/(2+3), of class 1: 2*1/(2+1), of class 2 neither in the fold nor predicted.
    scores = score_fold([0, 0, 1, 1], [0, 0, 1, 0], n_classes=3)
    assert scores.macro_f1 == pytest.approx((4 / 5 + 2 / 3 + 0) / 3)
    assert scores.accuracy == 3 / 4
    assert scores.balanced_accuracy == pytest.approx((1 + 1 / 2) / 2)
    assert scores.log_loss is None


def test_a_class_absent_from_the_fold_lowers_macro_f1_but_not_balanced_accuracy():
    perfect = score_fold([0, 1], [0, 1], n_classes=2)
    absent = score_fold([0, 1], [0, 1], n_classes=3)
    assert perfect.macro_f1 == 1
    assert absent.macro_f1 == pytest.approx(2 / 3)
    assert absent.balanced_accuracy == 1


@given(st.lists(st.tuples(classes, classes), min_size=1, max_size=30))
def test_scores_are_scikit_learns_over_all_classes(pairs):
    truth, predicted = np.transpose(pairs)
    scores = score_fold(truth, predicted, N_CLASSES)
    assert scores.macro_f1 == pytest.approx(
        metrics.f1_score(truth, predicted, labels=range(N_CLASSES), average="macro", zero_division=0)
    )
    assert scores.accuracy == pytest.approx(metrics.accuracy_score(truth, predicted))
    recalls = metrics.recall_score(truth, predicted, labels=np.unique(truth), average="macro")
    assert scores.balanced_accuracy == pytest.approx(recalls)


def test_log_loss_is_scikit_learns():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, size=40)
    probabilities = rng.dirichlet(np.ones(3), size=40)
    expected = metrics.log_loss(truth, probabilities, labels=[0, 1, 2])
    assert log_loss(truth, probabilities) == pytest.approx(expected)


def test_log_loss_divides_by_the_sum_of_the_row():
    assert log_loss([0], [[1.0, 3.0]]) == pytest.approx(np.log(4))


def test_a_confident_mistake_costs_much_but_not_infinity():
    assert log_loss([1], [[1.0, 0.0]]) == pytest.approx(-np.log(2**-52))
    assert log_loss([0], [[1.0, 0.0]]) == pytest.approx(0, abs=1e-15)


@pytest.mark.parametrize("wrong", [-1, 3])
def test_a_prediction_that_is_no_class_is_refused(wrong):
    with pytest.raises(ValueError, match=r"predicted must hold classes from 0 to 2; .* to"):
        score_fold([0, 1], [0, wrong], n_classes=3)


def test_scores_of_labels_by_hand():
    truth = [[1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 0]]
    predicted = [[1, 0, 0], [0, 1, 0], [0, 1, 0], [1, 0, 0]]
    scores = score_labels(truth, predicted, np.full((4, 3), 0.5))
    assert scores.macro_f1 == pytest.approx((0.5 + 1 + 1) / 3)  # the third label is nowhere, and counts as 1
    assert scores.micro_f1 == pytest.approx(6 / 8)
    assert scores.accuracy == 0.5
    assert scores.hamming_loss == pytest.approx(2 / 12)
    assert scores.log_loss == pytest.approx(np.log(2))
    assert scores.balanced_accuracy is None
    assert scores.micro_precision == scores.micro_recall == pytest.approx(3 / 4)
    assert scores.auc == scores.micro_auc == 0.5
    # Of three equally probable labels, none to two are right; the ranks of all are 3.
    assert scores.one_error == pytest.approx((2 / 3 + 1 / 3 + 2 / 3 + 1) / 4)
    assert scores.coverage == pytest.approx(2 * 3 / 4)


def test_a_score_that_a_fold_does_not_define_is_missing():
    scores = score_labels([[0, 1]], [[0, 1]], np.array([[0.2, 0.9]]))
    assert (scores.auc, scores.micro_auc) == (None, 1)
    assert scores.macro_average_precision is None
    assert score_labels([[0, 1]], [[0, 1]]).ranking_loss is None


@pytest.mark.parametrize("wrong", [[[1, 0]], [[1, 0, 2]], [1, 0, 0]])
def test_labels_of_another_shape_or_value_are_refused(wrong):
    with pytest.raises(ValueError, match=r"predicted must hold 0 and 1 in the shape \(1, 3\)"):
        score_labels([[1, 0, 0]], wrong)


def test_auc_is_the_mean_over_the_classes_that_occur():
    chances = np.array([[0.8, 0.1, 0.1], [0.4, 0.5, 0.1], [0.5, 0.4, 0.1], [0.1, 0.8, 0.1]])
    scores = score_fold([0, 0, 1, 1], [0, 1, 0, 1], 3, chances)
    assert scores.auc == pytest.approx(0.75)
    assert score_fold([0, 0], [0, 0], 3, chances[:2]).auc is None
    assert score_fold([0, 1], [0, 1], 2).auc is None


def test_brier_score_of_two_classes_is_twice_scikit_learns():
    rng = np.random.default_rng(0)
    truth, p = rng.integers(0, 2, size=50), rng.random(50)
    assert brier_score(truth, np.column_stack([1 - p, p])) == pytest.approx(2 * metrics.brier_score_loss(truth, p))


def test_calibration_error_by_hand():
    # Bin of 0.9: two of three right, gap 0.9 - 2/3; bin of 0.6: one of one right, gap 0.4; a bin's signs do not cancel.
    probabilities = [[0.9, 0.1], [0.9, 0.1], [0.9, 0.1], [0.4, 0.6]]
    assert calibration_error([0, 0, 1, 1], probabilities) == pytest.approx((3 * (0.9 - 2 / 3) + 0.4) / 4)
    assert calibration_error([0, 1], [[1.0, 0.0], [0.0, 1.0]]) == 0


def test_a_fold_has_the_scores_of_its_probabilities():
    scores = score_fold([0, 1], [0, 1], 2, np.array([[0.8, 0.2], [0.4, 0.6]]))
    assert scores.brier == pytest.approx((0.08 + 0.32) / 2)
    assert scores.calibration_error == pytest.approx(0.3)
    assert score_fold([0, 1], [0, 1], 2).brier is None
