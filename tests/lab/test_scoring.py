"""Scores follow PerfMeas's convention, and scikit-learn's where the two agree."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics

from fuselearn.lab.protocol import calibration_error, score_classes, score_labels
from fuselearn.lab.suites import SCORES

N_CLASSES = 4
classes = st.integers(0, N_CLASSES - 1)


def test_macro_f1_by_hand():
    # F1 of class 0: 2*2/(2+3), of class 1: 2*1/(2+1), of class 2 neither in the fold nor predicted.
    scores = score_classes([0, 0, 1, 1], [0, 0, 1, 0], n_classes=3)
    assert scores["macro_f1"] == pytest.approx((4 / 5 + 2 / 3 + 0) / 3)
    assert scores["accuracy"] == 3 / 4
    assert scores["balanced_accuracy"] == pytest.approx((1 + 1 / 2) / 2)
    assert len(scores) == 3


def test_a_class_absent_from_the_fold_lowers_macro_f1_but_not_balanced_accuracy():
    absent = score_classes([0, 1], [0, 1], n_classes=3)
    assert absent["macro_f1"] == pytest.approx(2 / 3)
    assert absent["balanced_accuracy"] == 1


@given(st.lists(st.tuples(classes, classes), min_size=1, max_size=30))
def test_scores_are_scikit_learns_over_all_classes(pairs):
    truth, predicted = np.transpose(pairs)
    scores = score_classes(truth, predicted, N_CLASSES)
    f1 = metrics.f1_score(truth, predicted, labels=range(N_CLASSES), average="macro", zero_division=0)
    recall = metrics.recall_score(truth, predicted, labels=np.unique(truth), average="macro")
    assert scores["macro_f1"] == pytest.approx(f1)
    assert scores["accuracy"] == pytest.approx(metrics.accuracy_score(truth, predicted))
    assert scores["balanced_accuracy"] == pytest.approx(recall)


def test_scores_of_probabilities_are_scikit_learns():
    rng = np.random.default_rng(0)
    truth, p = rng.integers(0, 3, size=40), rng.dirichlet(np.ones(3), size=40)
    scores = score_classes(truth, p.argmax(axis=1), 3, p)
    assert list(scores) == list(SCORES["multiclass"])
    assert scores["log_loss"] == pytest.approx(metrics.log_loss(truth, p, labels=[0, 1, 2]))
    assert scores["auc"] == pytest.approx(metrics.roc_auc_score(truth, p, multi_class="ovr"))
    assert scores["brier"] == pytest.approx(((p - np.eye(3)[truth]) ** 2).sum(axis=1).mean())
    assert score_classes([0, 0], [0, 0], 3, p[:2]).keys() == set(SCORES["multiclass"]) - {"auc"}


def test_log_loss_of_sums_and_of_confident_mistakes():
    def log_loss(truth, row):
        return score_classes([truth], [0], 2, np.array([row]))["log_loss"]

    assert log_loss(0, [0.1, 0.3]) == pytest.approx(np.log(4))
    assert log_loss(1, [1.0, 0.0]) == pytest.approx(-np.log(2**-52))
    assert log_loss(0, [1.0, 0.0]) == pytest.approx(0, abs=1e-15)


@pytest.mark.parametrize("wrong", [-1, 3])
def test_a_prediction_that_is_no_class_is_refused(wrong):
    with pytest.raises(ValueError, match=r"predicted must hold classes from 0 to 2; .* to"):
        score_classes([0, 1], [0, wrong], n_classes=3)


def test_scores_of_labels_by_hand():
    truth = [[1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 0]]
    predicted = [[1, 0, 0], [0, 1, 0], [0, 1, 0], [1, 0, 0]]
    scores = score_labels(truth, predicted, np.full((4, 3), 0.5))
    assert scores["macro_f1"] == pytest.approx((0.5 + 1 + 0) / 3)  # the third label is nowhere
    assert score_labels(truth, predicted, zero_division=1)["macro_f1"] == pytest.approx((0.5 + 1 + 1) / 3)
    assert scores["micro_f1"] == pytest.approx(6 / 8)
    assert scores["accuracy"] == 0.5
    assert scores["hamming_loss"] == pytest.approx(2 / 12)
    assert scores["log_loss"] == pytest.approx(np.log(2))
    assert scores["micro_precision"] == scores["micro_recall"] == pytest.approx(3 / 4)
    assert scores["auc"] == scores["micro_auc"] == 0.5
    # Of three equally probable labels, none to two are right; the ranks of all are 3.
    assert scores["one_error"] == pytest.approx((2 / 3 + 1 / 3 + 2 / 3 + 1) / 4)
    assert scores["coverage"] == pytest.approx(2 * 3 / 4)
    assert set(scores) == set(SCORES["multilabel"])


def test_a_score_that_a_fold_does_not_define_is_missing():
    scores = score_labels([[0, 1]], [[0, 1]], np.array([[0.2, 0.9]]))
    assert scores["micro_auc"] == 1
    assert not {"auc", "macro_average_precision"} & set(scores)
    assert "ranking_loss" not in score_labels([[0, 1]], [[0, 1]])


@pytest.mark.parametrize("wrong", [[[1, 0]], [[1, 0, 2]], [1, 0, 0]])
def test_labels_of_another_shape_or_value_are_refused(wrong):
    with pytest.raises(ValueError, match=r"predicted must hold 0 and 1 in the shape \(1, 3\)"):
        score_labels([[1, 0, 0]], wrong)


def test_calibration_error_by_hand():
    # Bin of 0.9: two of three right, gap 0.9 - 2/3; bin of 0.6: one of one right, gap 0.4; a bin's signs do not cancel.
    probabilities = [[0.9, 0.1], [0.9, 0.1], [0.9, 0.1], [0.4, 0.6]]
    assert calibration_error([0, 0, 1, 1], probabilities) == pytest.approx((3 * (0.9 - 2 / 3) + 0.4) / 4)
    assert calibration_error([0, 1], [[1.0, 0.0], [0.0, 1.0]]) == 0
