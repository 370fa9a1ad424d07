"""Multi-label scores by hand, and against scikit-learn where the conventions agree."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse
from sklearn.metrics import (
    accuracy_score,
    f1_score,
    hamming_loss,
    jaccard_score,
    label_ranking_loss,
    make_scorer,
    precision_score,
    recall_score,
)
from sklearn.model_selection import cross_val_score
from sklearn.tree import DecisionTreeClassifier

from fuselearn.multilabel import (
    example_f1,
    label_jaccard,
    label_precision,
    label_recall,
    macro_f1,
    micro_f1,
    multilabel_scores,
)

AVERAGES = {macro_f1: "macro", micro_f1: "micro", example_f1: "samples"}
RATIOS = {label_precision: precision_score, label_recall: recall_score, label_jaccard: jaccard_score}

pairs = st.tuples(st.integers(1, 8), st.integers(2, 5)).flatmap(
    lambda shape: st.tuples(*[arrays(np.int64, shape, elements=st.integers(0, 1))] * 2)
)

# Label 0: TP 1, FP 1, FN 0. Label 1: TP 0, FN 2. Label 2: empty. Label 3: TP 3.
TRUTH = np.array([[1, 1, 0, 1], [0, 1, 0, 1], [0, 0, 0, 1]])
PREDICTED = np.array([[1, 0, 0, 1], [1, 0, 0, 1], [0, 0, 0, 1]])


def test_by_hand():
    assert macro_f1(TRUTH, PREDICTED) == pytest.approx((2 / 3 + 0 + 1 + 1) / 4)
    assert macro_f1(TRUTH, PREDICTED, empty=0.0) == pytest.approx((2 / 3 + 0 + 0 + 1) / 4)
    assert micro_f1(TRUTH, PREDICTED) == pytest.approx(8 / (8 + 1 + 2))
    assert example_f1(TRUTH, PREDICTED) == pytest.approx((4 / 5 + 2 / 4 + 1) / 3)


def test_a_label_that_is_wrongly_predicted_or_missed_is_not_empty():
    assert macro_f1([[0], [0]], [[1], [0]]) == 0
    assert macro_f1([[1], [0]], [[0], [0]]) == 0


@pytest.mark.parametrize("score", AVERAGES)
def test_nothing_to_find_and_nothing_found(score):
    nothing = np.zeros((3, 2), dtype=int)
    assert score(nothing, nothing) == 1
    assert score(nothing, nothing, empty=0.0) == 0
    assert score(nothing, nothing, empty=0.5) == 0.5


@pytest.mark.parametrize("score", AVERAGES)
@pytest.mark.parametrize("empty", [0.0, 1.0])
@settings(max_examples=20)
@given(pair=pairs)
def test_as_scikit_learn(score, empty, pair):
    expected = f1_score(*pair, average=AVERAGES[score], zero_division=empty)
    assert score(*pair, empty=empty) == pytest.approx(expected)


def test_precision_recall_and_jaccard_by_hand():
    assert label_precision(TRUTH, PREDICTED) == pytest.approx((1 / 2 + 0 + 1 + 1) / 4)
    assert label_recall(TRUTH, PREDICTED) == pytest.approx((1 + 0 + 1 + 1) / 4)
    assert label_jaccard(TRUTH, PREDICTED, average="macro") == pytest.approx((1 / 2 + 0 + 1 + 1) / 4)
    assert label_jaccard(TRUTH, PREDICTED, average="micro") == pytest.approx(4 / 7)
    assert label_jaccard(TRUTH, PREDICTED) == pytest.approx((2 / 3 + 1 / 3 + 1) / 3)  # MEKA's accuracy


def test_only_what_is_neither_true_nor_predicted_is_empty():
    """As in Mulan: nothing predicted where something is true has a precision of 0, not of 1."""
    truth, predicted = [[1, 0, 0]], [[0, 1, 0]]
    for score in RATIOS:
        assert score(truth, predicted, average="macro") == pytest.approx(1 / 3)
        assert score(truth, predicted, average="macro", empty=0.0) == 0


@pytest.mark.parametrize("score", RATIOS)
@pytest.mark.parametrize("average", ["macro", "micro", "samples"])
@settings(max_examples=20)
@given(pair=pairs)
def test_ratios_as_scikit_learn(score, average, pair):
    expected = RATIOS[score](*pair, average=average, zero_division=0.0)
    assert score(*pair, average=average, empty=0.0) == pytest.approx(expected)
    name = f"{average.replace('samples', 'example')}_{score.__name__.removeprefix('label_')}"
    assert multilabel_scores(*pair, empty=0.0)[name] == pytest.approx(expected)


def test_one_label_is_a_label_and_not_two_classes():
    truth, predicted = [[1], [0], [0]], [[1], [1], [0]]
    assert macro_f1(truth, predicted) == pytest.approx(2 / 3)
    assert multilabel_scores(truth, predicted, [[0.9], [0.8], [0.1]])["ranking_loss"] == 0


@settings(max_examples=20)
@given(pair=pairs, seed=st.integers(0, 9))
def test_all_at_once(pair, seed):
    probabilities = np.random.default_rng(seed).random(pair[0].shape)
    scores = multilabel_scores(*pair, probabilities)
    for score in AVERAGES:
        assert scores[score.__name__] == pytest.approx(score(*pair))
    assert scores["hamming_loss"] == pytest.approx(hamming_loss(*pair))
    assert scores["subset_accuracy"] == pytest.approx(accuracy_score(*pair))
    assert scores["ranking_loss"] == pytest.approx(label_ranking_loss(pair[0], probabilities))


def test_every_form_of_labels():
    names = list("abcd")
    expected = multilabel_scores(TRUTH, PREDICTED)
    assert multilabel_scores(sparse.csr_array(TRUTH), pd.DataFrame(PREDICTED, columns=names)) == expected
    assert multilabel_scores(TRUTH.tolist(), PREDICTED.astype(bool)) == expected


def test_labels_in_another_order_are_not_compared():
    """Column by column, perfect predictions would score 0.5."""
    truth = pd.DataFrame({"sad": [1, 0], "calm": [1, 1]})
    with pytest.raises(
        ValueError, match=r"different label names or another order: \['sad', 'calm'\] and \['calm', 'sad'\]"
    ):
        macro_f1(truth, truth[["calm", "sad"]])
    assert macro_f1(truth, pd.DataFrame(truth.to_numpy())) == 1  # numbers are no names


def test_as_a_scorer():
    X = np.random.default_rng(0).normal(size=(30, 2))
    scores = cross_val_score(DecisionTreeClassifier(), X, (X > 0).astype(int), cv=3, scoring=make_scorer(macro_f1))
    assert (scores > 0.7).all()


def test_bad_input_gets_a_sentence():
    with pytest.raises(ValueError, match=r"same shape, not \(3, 4\) and \(3, 2\)"):
        macro_f1(TRUTH, PREDICTED[:, :2])
    with pytest.raises(ValueError, match="Y_pred must hold 0 and 1 only"):
        macro_f1(TRUTH, PREDICTED * 0.5)
    with pytest.raises(ValueError, match="average must be 'macro' or 'micro' or 'samples', not 'weighted'"):
        label_recall(TRUTH, PREDICTED, average="weighted")
    with pytest.raises(ValueError, match="empty must be a number from 0 to 1"):
        macro_f1(TRUTH, PREDICTED, empty=2)
    with pytest.raises(ValueError, match="Expected probabilities of 4 labels"):
        multilabel_scores(TRUTH, PREDICTED, np.zeros((3, 3)))
