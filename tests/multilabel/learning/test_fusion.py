"""The weighted sum of components, worked out by hand."""

import numpy as np
import pytest

from fuselearn.multilabel.learning.fusion import LabelSum


class Fixed:
    """A component that says the same about every row, and has not seen some."""

    def __init__(self, scores, left_out=()):
        self.fixed = np.asarray(scores)
        self.left_out = np.array(left_out, dtype=np.int64)

    def scores(self, rows=None, only=None):
        n_rows = len(only) if rows is None else len(rows)
        return np.tile(self.fixed, (n_rows, 1)) + (0 if rows is None else rows)

    def probabilities(self, rows=None, only=None):
        return self.scores(rows, only) / 2


class Doubling:
    """A learner that prepares rows by doubling them."""

    def prepare(self, X):
        return 2 * X


def test_scores_of_prepared_rows_are_weighted():
    fused = LabelSum([Fixed([0.1, 0.2]), Fixed([0.3, 0.0])], np.array([0.25, 0.75]), Doubling())
    X = np.array([[0.0], [0.1]])
    np.testing.assert_allclose(fused.scores(X), [[0.125, 0.025], [0.225, 0.125]])
    np.testing.assert_allclose(fused.scores(X, n_jobs=2), fused.scores(X))
    np.testing.assert_allclose(fused.voting("score").scores(X), [[0.25, 0.05], [0.45, 0.25]])


def test_votes_are_scores_above_one_half():
    fused = LabelSum([Fixed([0.5, 0.6]), Fixed([0.9, 0.7])], np.array([0.4, 0.6]), Doubling(), "class")
    np.testing.assert_allclose(fused.scores(np.zeros((1, 1))), [[0.6, 1.0]])


@pytest.mark.parametrize(
    ("vote", "expected"), [("probability", [0.1, 0.25]), ("score", [0.2, 0.5]), ("class", [0.0, 0.25])]
)
def test_rows_left_out_are_scored_by_those_who_left_them_out(vote, expected):
    components = [Fixed([0.2], [0, 3]), Fixed([0.6], [1]), Fixed([7 / 15], [1])]
    fused = LabelSum(components, np.array([0.2, 0.2, 0.6]), Doubling(), vote)
    scores = fused.left_out_scores((4, 1))[:, 0]
    np.testing.assert_allclose(scores[:2], expected)
    assert np.isnan(scores[2])
    assert scores[3] == scores[0]
