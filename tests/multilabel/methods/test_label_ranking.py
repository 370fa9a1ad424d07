"""Calibrated label ranking: the samples of each pair, and votes counted by hand."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from fuselearn import CARTClassifier, SVMClassifier
from fuselearn.multilabel import BinaryRelevanceClassifier, CalibratedLabelRankingClassifier
from fuselearn.multilabel.methods.label_ranking import LabelRanking


class Fixed:
    """A component with given probabilities."""

    def __init__(self, *chances):
        self.chances = np.array([chances])

    def scores(self, rows=None, extra=None, only=None):
        return self.chances


PAIRS = [(0, 1), (0, 2), (1, 2)]


def test_votes_by_hand():
    # Against the virtual label, 0 and 1 win and 2 loses, so the virtual label has 1 vote. Label 0 wins against 1 and
    # against 2, label 2 against 1: 3, 1 and 1 votes.
    ranking = LabelRanking(Fixed(0.9, 0.6, 0.2), PAIRS, [Fixed(0.7), Fixed(0.8), Fixed(0.4)], "class")
    np.testing.assert_allclose(ranking.scores(), 0.5 + np.array([[2.25, 0.25, 0.25]]) / 7)


def test_shares_of_votes_by_hand():
    # 0.9 + 0.7 + 0.8, 0.6 + 0.3 + 0.4 and 0.2 + 0.2 + 0.6; and 0.1 + 0.4 + 0.8 of the virtual label.
    ranking = LabelRanking(Fixed(0.9, 0.6, 0.2), PAIRS, [Fixed(0.7), Fixed(0.8), Fixed(0.4)], "probability")
    np.testing.assert_allclose(ranking.scores(), 0.5 + (np.array([[2.4, 1.3, 1.0]]) - 1.3) / 7)


def test_what_is_undecided_is_half_a_vote_for_each():
    # Labels 0 and 1 share the vote of their model, and those of 2, which has no model with them.
    ranking = LabelRanking(Fixed(0.9, 0.6, 0.2), PAIRS[:1], [Fixed(0.5)], "class")
    np.testing.assert_allclose(ranking.scores(), 0.5 + (np.array([[2.0, 2.0, 1.0]]) - 0.75) / 7)


def test_a_pair_learns_from_samples_with_one_of_its_labels(labelled, recorder):
    X, Y = labelled
    model = CalibratedLabelRankingClassifier(recorder).fit(X, Y)
    assert model.pairs_ == [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
    for (first, second), (table, target, _) in zip(model.pairs_, recorder.tables[:6], strict=True):
        rows = Y[:, first] != Y[:, second]
        np.testing.assert_array_equal(table, X[rows])
        np.testing.assert_array_equal(target, Y[rows, first])
    assert [len(table) for table, _, _ in recorder.tables[6:]] == [80] * 4


@pytest.mark.parametrize(
    "base", [CARTClassifier(), LogisticRegression(), SVMClassifier(probability="sign", gamma=0.2, scaling=None)]
)
def test_scores_are_those_of_a_plain_loop(labelled, base):
    X, Y = labelled
    votes = (BinaryRelevanceClassifier(base).fit(X, Y).predict_proba(X) > 0.5).astype(float)
    virtual = (1 - votes).sum(axis=1)
    for i in range(4):
        for j in range(i):
            rows = Y[:, i] != Y[:, j]
            alone = BinaryRelevanceClassifier(base).fit(X[rows], Y[rows][:, [i]])
            wins = alone.predict_proba(X)[:, 0] > 0.5
            votes[:, i] += wins
            votes[:, j] += ~wins
    model = CalibratedLabelRankingClassifier(base).fit(X, Y)
    np.testing.assert_allclose(model.predict_proba(X), 0.5 + (votes - virtual[:, None] + 0.25) / 9)
    np.testing.assert_array_equal(model.predict(X), votes >= virtual[:, None])


def test_labels_that_are_always_together_share_their_votes(labelled):
    X, Y = labelled
    model = CalibratedLabelRankingClassifier("tree").fit(X, Y[:, [0, 0, 1]])
    assert model.pairs_ == [(0, 2), (1, 2)]
    scores = model.predict_proba(X)
    np.testing.assert_array_equal(scores[:, 0], scores[:, 1])
