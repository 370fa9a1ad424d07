"""What members say, as arrays: classes aligned by label, and every form of label probabilities."""

import numpy as np
import pytest
from sklearn.datasets import make_multilabel_classification
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.multioutput import MultiOutputClassifier
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

from fuselearn.combine.classes import Classes, label_probabilities, read_class_target, require_method
from fuselearn.combine.members import Member

LETTERS = Classes(np.array(["a", "b", "c"]))
ROWS = np.arange(2.0)[:, None]


class TestOneColumn:
    def test_votes(self, says):
        model = says([[0.1, 0.9, 0.0], [0.4, 0.3, 0.3]]).fit(ROWS, ["a", "b", "c"])
        assert LETTERS.votes(model, ROWS).tolist() == [[0, 1, 0], [1, 0, 0]]

    def test_probabilities_in_another_order(self, says):
        model = says([[0.7, 0.2, 0.1]], ["c", "a", "b"]).fit(ROWS, None)
        assert LETTERS.probabilities(model, ROWS[:1]).tolist() == [[0.2, 0.1, 0.7]]

    def test_classes_that_a_member_has_not_seen(self, says):
        model = says([[0.7, 0.3]], ["a", "c"]).fit(ROWS, None)
        assert LETTERS.probabilities(model, ROWS[:1]).tolist() == [[0.7, 0.0, 0.3]]

    def test_rankings_of_two_classes(self):
        X, y = np.arange(20.0)[:, None], np.repeat(["n", "y"], 10)
        model = LinearSVC().fit(X, y)
        ranking = Classes(np.array(["n", "y"])).rankings(model, X)
        np.testing.assert_array_equal(
            ranking, np.stack([-model.decision_function(X), model.decision_function(X)], axis=1)
        )

    def test_decisions_that_are_not_about_classes_are_refused(self):
        X, y = np.arange(40.0)[:, None], np.arange(40) // 10
        pairs = SVC(decision_function_shape="ovo").fit(X, y)
        with pytest.raises(ValueError, match="SVC returns 6 scores per sample for its 4 classes"):
            Classes(np.arange(4)).rankings(pairs, X)
        assert Classes(np.arange(4)).rankings(OneVsOneClassifier(LinearSVC()).fit(X, y), X).shape == (40, 4)

    def test_unknown_labels_are_refused(self):
        for label in ("d", "A", "aa"):
            with pytest.raises(
                ValueError, match=rf"Members have the classes \['a', 'b', 'c'\], but a prediction contains '{label}'"
            ):
                LETTERS.encode(np.array(["a", label]))
        with pytest.raises(ValueError, match="a prediction contains 3"):
            LETTERS.encode(np.array([3]))

    def test_encoding_and_decoding(self):
        labels = np.array(["c", "a", "a", "b"])
        assert LETTERS.encode(labels).tolist() == [2, 0, 0, 1]
        assert LETTERS.decode(LETTERS.encode(labels)).tolist() == labels.tolist()


class TestLabels:
    X, Y = make_multilabel_classification(80, 5, n_classes=3, random_state=0)
    labels = Classes(np.array([0, 1]), 3)

    def test_every_form_gives_the_same_table(self):
        one_array = OneVsRestClassifier(LogisticRegression(max_iter=300)).fit(self.X, self.Y)
        a_list = MultiOutputClassifier(LogisticRegression(max_iter=300)).fit(self.X, self.Y)
        np.testing.assert_allclose(label_probabilities(one_array, self.X), label_probabilities(a_list, self.X))

    def test_answers_have_two_classes_per_label(self):
        model = OneVsRestClassifier(LogisticRegression(max_iter=300)).fit(self.X, self.Y)
        answers = self.labels.probabilities(model, self.X)
        assert answers.shape == (80, 3, 2)
        np.testing.assert_allclose(answers.sum(axis=2), 1)
        np.testing.assert_array_equal(answers[:, :, 1], model.predict_proba(self.X))

    def test_constant_labels(self):
        Y = self.Y.copy()
        Y[:, 0], Y[:, 1] = 1, 0
        model = DecisionTreeClassifier(max_depth=2).fit(self.X, Y)
        found = label_probabilities(model, self.X)
        np.testing.assert_array_equal(found[:, :2], [[1, 0]] * 80)
        np.testing.assert_array_equal(found[:, 2], model.predict_proba(self.X)[2][:, 1])

    def test_rankings_around_zero(self):
        model = RidgeClassifier().fit(self.X, self.Y)
        ranking = self.labels.rankings(model, self.X)
        np.testing.assert_array_equal(ranking.argmax(axis=2), model.predict(self.X))

    def test_endings(self):
        assert self.labels.endings == ["_0_0", "_0_1", "_1_0", "_1_1", "_2_0", "_2_1"]
        assert LETTERS.endings == ["_a", "_b", "_c"]


class TestTargets:
    def test_lengths(self):
        for y in ([0, 1], [[0, 1], [1, 0]]):
            with pytest.raises(ValueError, match="inconsistent numbers of samples: 3 and 2"):
                read_class_target(y, 3)


def test_missing_methods_are_named():
    with pytest.raises(ValueError, match="'svc' has no predict_proba, which stacking needs"):
        require_method([Member("svc", LinearSVC())], ("predict_proba",), "stacking")
    require_method([Member("svc", LinearSVC())], ("predict_proba", "decision_function"), "borda")
