"""Out-of-bag scores with metrics, scorers and their names."""

import numpy as np
import pytest
from sklearn.metrics import balanced_accuracy_score, log_loss, make_scorer, mean_absolute_error, r2_score, roc_auc_score

from fuselearn.ensembles.out_of_bag import KnownClasses, KnownValues, read_scoring, score_known

SEEN, PREDICTED = np.array([1.0, 2.0, 4.0]), np.array([1.5, 2.0, 3.0])

LABELS = np.array(["no", "yes", "no", "yes"])
PROBABILITIES = np.array([[0.8, 0.2], [0.6, 0.4], [0.7, 0.3], [0.1, 0.9]])
CLASSES = KnownClasses(np.array(["no", "no", "no", "yes"]), PROBABILITIES, np.array(["no", "yes"]))


def mean_error(y_true, y_pred):
    return np.mean(y_pred - y_true)


def test_scores_of_numbers():
    for oob_score, expected in [
        (True, r2_score(SEEN, PREDICTED)),
        ("neg_mean_absolute_error", -0.5),
        (mean_absolute_error, 0.5),
        (make_scorer(mean_absolute_error), 0.5),
        (mean_error, (0.5 - 1.0) / 3),
        (lambda y, p: len(p), 3.0),
        (lambda estimator, X, y: estimator.predict(X).sum(), 6.5),
    ]:
        scorer = read_scoring(oob_score, "r2")
        assert score_known(scorer, KnownValues(PREDICTED), SEEN) == pytest.approx(expected)


def test_scores_of_classes():
    for oob_score, expected in [
        (balanced_accuracy_score, 0.75),
        ("balanced_accuracy", 0.75),
        ("neg_log_loss", -log_loss(LABELS, PROBABILITIES)),
        ("roc_auc", roc_auc_score(LABELS, PROBABILITIES[:, 1])),
        (make_scorer(log_loss, response_method="predict_proba"), log_loss(LABELS, PROBABILITIES)),
    ]:
        scorer = read_scoring(oob_score, "r2")
        assert score_known(scorer, CLASSES, LABELS) == pytest.approx(expected)


def test_no_score():
    assert read_scoring(False, "r2") is None
    assert read_scoring(None, "r2") is None


def test_no_row_left_out():
    assert np.isnan(score_known(read_scoring(True, "r2"), KnownValues(PREDICTED[:0]), SEEN[:0]))


@pytest.mark.parametrize("oob_score", ["good", 3, [r2_score]])
def test_what_is_no_score(oob_score):
    with pytest.raises((TypeError, ValueError), match="oob_score must be True, False, a metric"):
        read_scoring(oob_score, "r2")
