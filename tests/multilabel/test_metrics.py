"""Multi-label metrics by hand, and against scikit-learn where the conventions agree."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse
from sklearn import metrics

from fuselearn.multilabel import label_scores, multilabel_scores

NAN = np.nan
# Label 0: TP 1, FP 1, FN 0. Label 1: TP 0, FN 2. Label 2: empty. Label 3: TP 3.
TRUTH = np.array([[1, 1, 0, 1], [0, 1, 0, 1], [0, 0, 0, 1]])
PREDICTED = np.array([[1, 0, 0, 1], [1, 0, 0, 1], [0, 0, 0, 1]])
# Ranks of the labels by probability: 1 2 3 | 3 1 2 | 2 3 1 | 1 2 3; the last sample has no label.
RANKED = np.array([[1, 0, 1], [0, 1, 0], [1, 1, 0], [0, 0, 0]])
SCORES = np.array([[0.9, 0.5, 0.1], [0.2, 0.8, 0.3], [0.6, 0.4, 0.7], [0.3, 0.2, 0.1]])

tables = st.tuples(st.integers(2, 8), st.integers(2, 5)).flatmap(
    lambda shape: st.tuples(
        *[arrays(np.int64, shape, elements=st.integers(0, 1))] * 2,
        arrays(np.float64, shape, elements=st.sampled_from(np.linspace(0, 1, 9))),
    )
)


def score(name, truth, probabilities):
    return multilabel_scores(truth, np.zeros(np.shape(truth)), probabilities)[name]


class TestPredictions:
    def test_by_hand(self):
        scores = multilabel_scores(TRUTH, PREDICTED, empty=1.0)
        expected = {
            "macro_f1": (2 / 3 + 0 + 1 + 1) / 4,
            "micro_f1": 8 / (8 + 1 + 2),
            "example_f1": (4 / 5 + 2 / 4 + 1) / 3,
            "macro_precision": (1 / 2 + 0 + 1 + 1) / 4,
            "macro_recall": (1 + 0 + 1 + 1) / 4,
            "macro_jaccard": (1 / 2 + 0 + 1 + 1) / 4,
            "micro_jaccard": 4 / 7,
            "example_jaccard": (2 / 3 + 1 / 3 + 1) / 3,  # MEKA's accuracy
            "subset_accuracy": 1 / 3,
            "hamming_loss": 3 / 12,
        }
        assert {name: scores[name] for name in expected} == pytest.approx(expected)
        assert multilabel_scores(TRUTH, PREDICTED)["macro_f1"] == pytest.approx((2 / 3 + 0 + 0 + 1) / 4)

    @pytest.mark.parametrize("empty", [0.0, 0.5, 1.0])
    def test_only_what_is_neither_true_nor_predicted_is_empty(self, empty):
        """As in Mulan: nothing predicted where something is true has a precision of 0, not of 1."""
        scores = multilabel_scores([[1, 0, 0]], [[0, 1, 0]], empty=empty)
        nothing = multilabel_scores(np.zeros((3, 2)), np.zeros((3, 2)), empty=empty)
        for name in ("f1", "jaccard", "precision", "recall"):
            assert scores[f"macro_{name}"] == pytest.approx(empty / 3)
            assert scores[f"micro_{name}"] == scores[f"example_{name}"] == 0
            assert {nothing[f"{kind}_{name}"] for kind in ("macro", "micro", "example")} == {empty}

    @settings(max_examples=30)
    @given(table=tables)
    def test_as_scikit_learn(self, table):
        truth, predicted, _ = table
        scores, perfect = multilabel_scores(truth, predicted), multilabel_scores(truth, predicted, empty=1.0)
        for kind, average in (("macro", "macro"), ("micro", "micro"), ("example", "samples")):
            for name in ("f1", "jaccard", "precision", "recall"):
                metric = getattr(metrics, f"{name}_score")
                expected = metric(truth, predicted, average=average, zero_division=0.0)
                assert scores[f"{kind}_{name}"] == pytest.approx(expected)
                if name in ("f1", "jaccard"):
                    expected = metric(truth, predicted, average=average, zero_division=1.0)
                    assert perfect[f"{kind}_{name}"] == pytest.approx(expected)
        assert scores["hamming_loss"] == pytest.approx(metrics.hamming_loss(truth, predicted))
        assert scores["subset_accuracy"] == pytest.approx(metrics.accuracy_score(truth, predicted))

    def test_rare_labels_count_as_in_scikit_learn(self):
        rng = np.random.default_rng(0)
        truth, predicted = rng.random((2, 80, 60)) < 0.01
        assert not (truth | predicted).any(axis=0).all()
        scores = multilabel_scores(truth, predicted)
        for kind, average in (("macro", "macro"), ("micro", "micro"), ("example", "samples")):
            expected = metrics.f1_score(truth, predicted, average=average, zero_division=0)
            assert scores[f"{kind}_f1"] == pytest.approx(expected)

    def test_labels_in_another_order_are_not_compared(self):
        """Column by column, perfect predictions would score 0.5."""
        truth = pd.DataFrame({"sad": [1, 0], "calm": [1, 1]})
        with pytest.raises(ValueError, match=r"another order: \['sad', 'calm'\] and \['calm', 'sad'\]"):
            multilabel_scores(truth, truth[["calm", "sad"]])
        assert multilabel_scores(truth, pd.DataFrame(truth.to_numpy()))["macro_f1"] == 1  # numbers are no names


class TestProbabilities:
    def test_by_hand(self):
        scores = multilabel_scores(RANKED, RANKED, SCORES)
        expected = {
            "one_error": (0 + 0 + 1 + 1) / 4,  # as MEKA: no label, no right first label
            "coverage": (2 + 0 + 2 + 0) / 4,
            "ranking_loss": (1 / 2 + 0 + 2 / 2 + 0) / 4,
            "label_ranking_average_precision": ((1 / 1 + 2 / 3) / 2 + 1 + (1 / 2 + 2 / 3) / 2 + 1) / 4,
            # Label 0: 0.9 0.6 over 0.3 0.2. Label 1: 0.8 0.4 against 0.5 0.2. Label 2: 0.1 against 0.7, 0.3 and a tie.
            "macro_auc": (1 + 3 / 4 + 0.5 / 3) / 3,
            "macro_average_precision": (1 + (1 + 2 / 3) / 2 + 1 / 4) / 3,
        }
        assert {name: scores[name] for name in expected} == pytest.approx(expected)

    def test_equally_probable_first_labels_share_the_error(self):
        assert score("one_error", [[1, 0, 0]], [[0.5, 0.5, 0.1]]) == 0.5
        assert score("one_error", [[1, 1, 0]], [[0.5, 0.5, 0.1]]) == 0

    def test_calibration_by_hand(self):
        # Label 0: the bin of 0.75 has one of two positive, that of 0.15 none. Label 1: all probabilities are right.
        truth, probabilities = [[1, 1], [0, 1], [0, 1]], [[0.75, 1.0], [0.75, 1.0], [0.15, 1.0]]
        assert score("calibration_error", truth, probabilities) == pytest.approx((2 / 3 * 0.25 + 1 / 3 * 0.15 + 0) / 2)
        # Errors of opposite sign cancel within a bin, but not between bins.
        assert score("calibration_error", [[1], [0]], [[0.55], [0.45]]) == pytest.approx(0.45)
        assert score("calibration_error", [[1], [0]], [[0.5], [0.5]]) == 0

    @settings(max_examples=30)
    @given(table=tables)
    def test_as_scikit_learn(self, table):
        truth, _, scores = table
        found = multilabel_scores(truth, truth, scores)
        expected = {
            "coverage": metrics.coverage_error(truth, scores) - truth.any(axis=1).mean(),
            "ranking_loss": metrics.label_ranking_loss(truth, scores),
            "label_ranking_average_precision": metrics.label_ranking_average_precision_score(truth, scores),
        }
        both = truth.any(axis=0) & ~truth.all(axis=0)
        if both.any():
            curves = {"auc": metrics.roc_auc_score, "average_precision": metrics.average_precision_score}
            for name, metric in curves.items():
                expected[f"macro_{name}"] = metric(truth[:, both], scores[:, both], average="macro")
                expected[f"micro_{name}"] = metric(truth.ravel(), scores.ravel())
        assert {name: found[name] for name in expected} == pytest.approx(expected)

    @pytest.mark.parametrize("value", [0, 1])
    def test_labels_of_no_sample_or_of_all_raise_no_warning(self, value):
        truth = np.full((4, 3), value)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            scores = multilabel_scores(truth, truth, SCORES)
        for name in ("macro_auc", "micro_auc", "macro_average_precision", "micro_average_precision"):
            assert np.isnan(scores[name])
        names = ("ranking_loss", "label_ranking_average_precision", "one_error", "coverage")
        assert [scores[name] for name in names] == [0, 1, 1 - value, 2 * value]
        assert np.isfinite(scores["calibration_error"])

    def test_a_label_of_no_sample_does_not_count_in_the_mean(self):
        more = np.column_stack([RANKED, np.zeros(4, dtype=int)]), np.column_stack([SCORES, np.zeros(4)])
        scores, expected = multilabel_scores(more[0], more[0], more[1]), multilabel_scores(RANKED, RANKED, SCORES)
        for name in ("macro_auc", "macro_average_precision"):
            assert scores[name] == expected[name]

    def test_one_label_is_a_label_and_not_two_classes(self):
        scores = multilabel_scores([[1], [0], [1]], [[1], [1], [0]], [[0.9], [0.8], [0.1]])
        names = ("macro_f1", "coverage", "ranking_loss", "label_ranking_average_precision", "macro_auc", "micro_auc")
        assert [scores[name] for name in names] == [0.5, 0, 0, 1, 0.5, 0.5]


class TestUnknownLabels:
    Y = np.array([[1, 0, NAN], [NAN, 1, 1], [0, NAN, 0], [NAN, NAN, NAN]])
    PREDICTED = np.array([[1, 1, 1], [0, 1, 0], [0, 1, 1], [1, 1, 1]])
    SCORES = np.array([[0.9, 0.6, 0.8], [0.3, 0.7, 0.2], [0.1, 0.9, 0.6], [0.9, 0.8, 0.7]])

    def test_by_hand(self):
        """Label 0: one hit. Label 1: one hit, one false positive. Label 2: one miss, one false positive."""
        scores = multilabel_scores(self.Y, self.PREDICTED, self.SCORES)
        expected = {
            "macro_f1": (1 + 2 / 3 + 0) / 3,
            "micro_f1": 2 * 2 / (3 + 4),
            "example_f1": (2 / 3 + 2 / 3 + 0) / 3,  # the last sample has no known label
            "subset_accuracy": 0.0,
            "hamming_loss": 3 / 6,
            "one_error": 1 / 3,
            "macro_auc": (1.0 + 1.0 + 0.0) / 3,
            "micro_auc": metrics.roc_auc_score([1, 0, 1, 1, 0, 0], [0.9, 0.6, 0.7, 0.2, 0.1, 0.6]),
        }
        assert {name: scores[name] for name in expected} == pytest.approx(expected)
        assert label_scores(self.Y, self.PREDICTED, self.SCORES)["predicted"].tolist() == [1, 2, 1]

    def test_rankings_are_those_of_each_sample_without_unknown_labels(self):
        rng = np.random.default_rng(0)
        Y, scores = rng.integers(0, 2, (50, 6)).astype(float), rng.integers(0, 5, (50, 6)) / 5
        Y[rng.random(Y.shape) < 0.3] = NAN
        found = multilabel_scores(Y, np.zeros(Y.shape), scores)
        samples = [(Y[i, known], scores[i, known]) for i, known in enumerate(~np.isnan(Y)) if known.sum() > 1]
        assert len(samples) == 50
        names = ("ranking_loss", "label_ranking_average_precision", "one_error", "coverage")
        alone = [multilabel_scores([y], [y], [p]) for y, p in samples]
        assert {name: found[name] for name in names} == pytest.approx(
            {name: np.mean([one[name] for one in alone]) for name in names}
        )

    def test_labels_that_are_unknown_altogether_do_not_count(self):
        Y, predicted = [[1, NAN], [0, NAN]], [[1, 1], [1, 0]]
        assert multilabel_scores(Y, predicted)["macro_f1"] == pytest.approx(2 / 3)
        assert np.isnan(label_scores(Y, predicted).loc[1, "f1"])
        assert score("calibration_error", Y, [[0.8, 0.5], [0.1, 0.5]]) == pytest.approx((0.2 + 0.1) / 2)


def test_every_form_of_labels_and_probabilities():
    expected = multilabel_scores(RANKED, SCORES > 0.5, SCORES)
    by_label = [np.column_stack([1 - p, p]) for p in SCORES.T]
    predicted = pd.DataFrame(SCORES > 0.5, columns=list("abc"))
    assert multilabel_scores(sparse.csr_array(RANKED), predicted, by_label) == expected
    assert multilabel_scores(RANKED.tolist(), (SCORES > 0.5).astype(int), SCORES.tolist()) == expected
    assert score("one_error", RANKED, by_label) == expected["one_error"]
    assert score("calibration_error", pd.DataFrame(RANKED), by_label) == expected["calibration_error"]


def test_the_scores_of_labels_have_the_means():
    truth = pd.DataFrame(RANKED, columns=["sad", "calm", "loud"])
    predicted = pd.DataFrame(SCORES > 0.5, columns=truth.columns).astype(int)
    table = label_scores(truth, predicted, SCORES)
    scores = multilabel_scores(truth, predicted, SCORES)
    assert table.index.tolist() == ["sad", "calm", "loud"]
    assert table.loc["calm", ["positives", "predicted", "correct"]].tolist() == [2, 1, 1]
    assert table.loc["calm", ["precision", "recall"]].tolist() == [1, 0.5]
    for column in ("precision", "recall", "f1", "jaccard", "auc", "average_precision"):
        assert table[column].mean() == pytest.approx(scores[f"macro_{column}"])
    assert table["calibration_error"].mean() == pytest.approx(scores["calibration_error"])
    assert "auc" not in label_scores(truth, predicted)


@pytest.mark.parametrize(
    ("Y_pred", "probabilities", "empty", "message"),
    [
        (RANKED[:, :2], None, 1.0, r"same shape, not \(4, 3\) and \(4, 2\)"),
        (RANKED * 0.5, None, 1.0, "Y_pred must hold 0 and 1 only"),
        (RANKED, None, 2, "empty must be a number from 0 to 1"),
        (RANKED, SCORES[:, :2], 1.0, "Expected probabilities of 3 labels"),
        (RANKED, SCORES[:2], 1.0, "Expected probabilities of 4 samples, got 2"),
        (RANKED, np.where(SCORES > 0.85, NAN, SCORES), 1.0, "probabilities must be finite"),
        (RANKED, 100 * SCORES, 1.0, "must be between 0 and 1 for the calibration error; they are between 10 and 90"),
    ],
)
def test_bad_input_gets_a_sentence(Y_pred, probabilities, empty, message):
    with pytest.raises(ValueError, match=message):
        multilabel_scores(RANKED, Y_pred, probabilities, empty=empty)
