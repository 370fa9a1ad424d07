"""Metrics of probabilities by hand and against scikit-learn; labels that nobody or everybody has."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn import metrics

from fuselearn.multilabel import (
    coverage,
    label_calibration_error,
    label_ranking_average_precision,
    label_scores,
    macro_auc,
    macro_average_precision,
    micro_auc,
    micro_average_precision,
    multilabel_scores,
    one_error,
    ranking_loss,
)

MEASURES = {
    "one_error": one_error,
    "coverage": coverage,
    "ranking_loss": ranking_loss,
    "label_ranking_average_precision": label_ranking_average_precision,
    "macro_auc": macro_auc,
    "micro_auc": micro_auc,
    "macro_average_precision": macro_average_precision,
    "micro_average_precision": micro_average_precision,
    "calibration_error": label_calibration_error,
}

# Ranks of the labels by probability: 1 2 3 | 3 1 2 | 2 3 1 | 1 2 3; the last sample has no label.
TRUTH = np.array([[1, 0, 1], [0, 1, 0], [1, 1, 0], [0, 0, 0]])
CHANCES = np.array([[0.9, 0.5, 0.1], [0.2, 0.8, 0.3], [0.6, 0.4, 0.7], [0.3, 0.2, 0.1]])

shapes = st.tuples(st.integers(2, 8), st.integers(2, 5))
samples = shapes.flatmap(
    lambda shape: st.tuples(
        arrays(np.int64, shape, elements=st.integers(0, 1)),
        arrays(np.float64, shape, elements=st.sampled_from(np.linspace(0, 1, 9))),
    )
)


def test_orders_of_labels_by_hand():
    assert one_error(TRUTH, CHANCES) == pytest.approx((0 + 0 + 1 + 1) / 4)  # as MEKA: no label, no right first label
    assert coverage(TRUTH, CHANCES) == pytest.approx((2 + 0 + 2 + 0) / 4)
    assert ranking_loss(TRUTH, CHANCES) == pytest.approx((1 / 2 + 0 + 2 / 2 + 0) / 4)
    precision = ((1 / 1 + 2 / 3) / 2, 1, (1 / 2 + 2 / 3) / 2, 1)
    assert label_ranking_average_precision(TRUTH, CHANCES) == pytest.approx(np.mean(precision))


def test_orders_of_samples_by_hand():
    # Label 0: 0.9 0.6 over 0.3 0.2. Label 1: 0.8 and 0.4 against 0.5 and 0.2. Label 2: 0.1 against 0.7, 0.3 and a tie.
    assert macro_auc(TRUTH, CHANCES) == pytest.approx((1 + 3 / 4 + 0.5 / 3) / 3)
    assert macro_average_precision(TRUTH, CHANCES) == pytest.approx((1 + (1 + 2 / 3) / 2 + 1 / 4) / 3)


def test_equally_probable_first_labels_share_the_error():
    assert one_error([[1, 0, 0]], [[0.5, 0.5, 0.1]]) == 0.5
    assert one_error([[1, 1, 0]], [[0.5, 0.5, 0.1]]) == 0


def test_calibration_by_hand():
    # Label 0: the bin of 0.75 has one of two positive, that of 0.15 none. Label 1: probabilities of 1 are all right.
    truth, chances = [[1, 1], [0, 1], [0, 1]], [[0.75, 1.0], [0.75, 1.0], [0.15, 1.0]]
    assert label_calibration_error(truth, chances) == pytest.approx((2 / 3 * 0.25 + 1 / 3 * 0.15 + 0) / 2)
    # Errors of opposite sign cancel within a bin, but not between bins.
    assert label_calibration_error([[1], [0]], [[0.55], [0.45]]) == pytest.approx(0.45)
    assert label_calibration_error([[1], [0]], [[0.5], [0.5]]) == 0


@settings(max_examples=30)
@given(sample=samples)
def test_as_scikit_learn(sample):
    truth, chances = sample
    has_labels = truth.any(axis=1)
    expected = metrics.coverage_error(truth, chances) - has_labels.mean()
    assert coverage(truth, chances) == pytest.approx(expected)
    assert ranking_loss(truth, chances) == pytest.approx(metrics.label_ranking_loss(truth, chances))
    expected = metrics.label_ranking_average_precision_score(truth, chances)
    assert label_ranking_average_precision(truth, chances) == pytest.approx(expected)
    both = truth.any(axis=0) & ~truth.all(axis=0)
    known, scores = truth[:, both], chances[:, both]
    if both.any():
        assert macro_auc(truth, chances) == pytest.approx(metrics.roc_auc_score(known, scores, average="macro"))
        expected = metrics.average_precision_score(known, scores, average="macro")
        assert macro_average_precision(truth, chances) == pytest.approx(expected)
        assert micro_auc(truth, chances) == pytest.approx(metrics.roc_auc_score(truth.ravel(), chances.ravel()))
        expected = metrics.average_precision_score(truth, chances, average="micro")
        assert micro_average_precision(truth, chances) == pytest.approx(expected)


@pytest.mark.parametrize("value", [0, 1])
def test_labels_that_nobody_or_everybody_has_raise_no_warning(value):
    truth, chances = np.full((4, 3), value), CHANCES
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scores = multilabel_scores(truth, truth, chances)
    assert all(np.isnan(scores[name]) for name in MEASURES if "auc" in name or name.endswith("o_average_precision"))
    assert scores["ranking_loss"] == 0
    assert scores["label_ranking_average_precision"] == 1
    assert scores["one_error"] == 1 - value
    assert scores["coverage"] == (2 if value else 0)
    assert np.isfinite(scores["calibration_error"])


def test_a_label_that_nobody_has_is_left_out_of_the_mean():
    truth, chances = np.column_stack([TRUTH, np.zeros(4, dtype=int)]), np.column_stack([CHANCES, [0.0] * 4])
    assert macro_auc(truth, chances) == macro_auc(TRUTH, CHANCES)
    assert macro_average_precision(truth, chances) == macro_average_precision(TRUTH, CHANCES)


def test_one_label():
    truth, chances = [[1], [0], [1]], [[0.9], [0.8], [0.1]]
    scores = multilabel_scores(truth, truth, chances)
    assert (scores["coverage"], scores["ranking_loss"], scores["label_ranking_average_precision"]) == (0, 0, 1)
    assert scores["macro_auc"] == scores["micro_auc"] == 0.5


@pytest.mark.parametrize("name", MEASURES)
def test_all_at_once_and_in_every_form(name):
    assert multilabel_scores(TRUTH, TRUTH, CHANCES)[name] == MEASURES[name](TRUTH, CHANCES)
    by_label = [np.column_stack([1 - p, p]) for p in CHANCES.T]
    assert MEASURES[name](pd.DataFrame(TRUTH), by_label) == MEASURES[name](TRUTH, CHANCES)


def test_the_table_of_labels_has_the_means():
    truth = pd.DataFrame(TRUTH, columns=["sad", "calm", "loud"])
    predicted = pd.DataFrame(CHANCES > 0.5, columns=truth.columns).astype(int)
    table = label_scores(truth, predicted, CHANCES)
    scores = multilabel_scores(truth, predicted, CHANCES)
    assert table.index.tolist() == ["sad", "calm", "loud"]
    assert table.loc["calm", ["positives", "predicted", "correct"]].tolist() == [2, 1, 1]
    assert table.loc["calm", ["precision", "recall"]].tolist() == [1, 0.5]
    for column in ("precision", "recall", "f1", "jaccard", "auc", "average_precision"):
        assert table[column].mean() == pytest.approx(scores[f"macro_{column}"])
    assert table["calibration_error"].mean() == pytest.approx(scores["calibration_error"])
    assert "auc" not in label_scores(truth, predicted)


@pytest.mark.parametrize(
    ("chances", "message"),
    [
        (CHANCES[:, :2], "Expected probabilities of 3 labels"),
        (CHANCES[:2], "Expected probabilities of 4 samples, but there are 2"),
        (np.where(CHANCES > 0.85, np.nan, CHANCES), "probabilities must be finite"),
    ],
)
def test_bad_probabilities_get_a_sentence(chances, message):
    for measure in (one_error, label_calibration_error):
        with pytest.raises(ValueError, match=message):
            measure(TRUTH, chances)


def test_calibration_needs_probabilities_and_the_others_any_score():
    with pytest.raises(ValueError, match=r"must lie between 0 and 1 for the calibration error; .* between 10 and 90"):
        label_calibration_error(TRUTH, 100 * CHANCES)
    assert macro_auc(TRUTH, 100 * CHANCES) == macro_auc(TRUTH, CHANCES)
