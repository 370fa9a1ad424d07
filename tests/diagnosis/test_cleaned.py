"""The cleaned classifier: which samples it learns from, by hand and on labels that were corrupted on purpose."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_iris, load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from fuselearn import CleanedClassifier, FusedClassifier, KFHEClassifier
from fuselearn.datasets import corrupt_labels
from fuselearn.diagnosis import audit_labels

IRIS = load_iris(return_X_y=True)


class Oracle(ClassifierMixin, BaseEstimator):
    """Read class probabilities off the table."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        return X


class Recorder(ClassifierMixin, BaseEstimator):
    """Keep what it was fitted on."""

    def fit(self, X, y, sample_weight=None):
        self.classes_, self.seen_ = np.unique(y), (X, y, sample_weight)
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])


class TestByHand:
    # Eighty samples of each class, four times from uncertain to certain predictions; every tenth has the other class.
    certainty = 1 - np.geomspace(0.4, 0.01, 20)
    p = np.vstack([np.column_stack([certainty, 1 - certainty]), np.column_stack([1 - certainty, certainty])])
    p = np.tile(p, (4, 1))
    wrong = np.flatnonzero(np.isin(np.arange(160) % 20, (12, 19)))
    y = np.where(np.isin(np.arange(160) % 20, (12, 19)), *np.tile([["b", "a"], ["a", "b"]], 4).repeat(20, axis=1))
    others = np.delete(np.arange(160), wrong)

    def fit(self, **settings):
        return CleanedClassifier(Recorder(), auditor=Oracle(), cv=2, random_state=0, **settings)

    def test_suspects_are_dropped(self):
        model = self.fit().fit(self.p, self.y)
        np.testing.assert_array_equal(np.flatnonzero(model.is_suspect_), self.wrong)
        np.testing.assert_array_equal(np.flatnonzero(model.sample_weight_ == 0), self.wrong)
        X, y, weights = model.estimator_.seen_
        np.testing.assert_array_equal(X, self.p[self.others])
        assert "".join(y) == 4 * (18 * "a" + 18 * "b")
        assert weights is None
        np.testing.assert_allclose(model.label_probability_[[0, 12, 19]], [0.6, 1 - self.certainty[12], 0.01])
        assert model.suggested_[12] == "a"
        assert model.noise_rate_ == 0.1
        np.testing.assert_allclose(model.noise_matrix_, [[0.9, 0.1], [0.1, 0.9]], atol=0.01)

    def test_suspects_that_are_no_clear_cases_are_kept(self):
        p = self.p.copy()
        p[12] = [0.74, 0.26]  # a suspect still, but by 0.48 only
        model = self.fit().fit(p, self.y)
        np.testing.assert_array_equal(np.flatnonzero(model.is_suspect_), self.wrong)
        np.testing.assert_array_equal(np.flatnonzero(model.sample_weight_ == 0), self.wrong[1:])
        assert len(model.estimator_.seen_[0]) == 145

    def test_suspects_count_as_much_as_their_label_is_likely(self):
        model = self.fit(action="reweight").fit(self.p, self.y)
        X, _, weights = model.estimator_.seen_
        assert len(X) == 160
        np.testing.assert_allclose(weights[self.others], 1)
        np.testing.assert_allclose(weights[[19, 39]], 0.01)

    def test_weights_of_the_user(self):
        own = np.arange(1.0, 161.0)
        kept = self.fit().fit(self.p, self.y, sample_weight=own).estimator_.seen_[2]
        np.testing.assert_allclose(kept, own[self.others])
        both = self.fit(action="reweight").fit(self.p, self.y, sample_weight=own).estimator_.seen_[2]
        np.testing.assert_allclose(both[[0, 19, 39]], [1, 0.2, 0.4])

    def test_a_class_keeps_its_most_trusted_sample(self):
        p = np.vstack([np.tile([0.9, 0.1], (8, 1)), [[0.95, 0.05], [0.98, 0.02]]])
        p = np.column_stack([p, np.zeros(10)])
        p[[6, 7]] = [0.2, 0.0, 0.8]
        y = np.array(list("aaaaaaccbb"))
        model = self.fit().fit(p, y)
        assert set(model.estimator_.seen_[1]) == {"a", "b", "c"}


class TestOnData:
    @pytest.mark.parametrize("action", ["drop", "reweight"])
    def test_a_tree_no_longer_learns_wrong_labels_by_heart(self, action):
        X, y = load_wine(return_X_y=True)
        noisy = corrupt_labels(y, 0.2, random_state=1)
        tree = DecisionTreeClassifier(random_state=0)
        assert tree.fit(X, noisy).score(X, y) == pytest.approx(0.8, abs=0.01)
        model = CleanedClassifier(tree, action=action, random_state=0).fit(X, noisy)
        assert model.estimator_.random_state == 0
        assert (model.score(X, y) > 0.9) == (action == "drop"), "a tree of pure leaves cares little for weights"

    def test_the_audit_is_that_of_audit_labels(self):
        X, y = IRIS
        noisy = corrupt_labels(y, 0.1, random_state=0)
        model = CleanedClassifier(GaussianNB(), random_state=3).fit(X, noisy)
        audit = audit_labels(X, noisy, random_state=3)
        assert np.flatnonzero(model.is_suspect_).tolist() == sorted(audit.suspects.index)
        np.testing.assert_array_equal(model.label_probability_, audit.rows["probability"].sort_index())
        np.testing.assert_array_equal(model.noise_matrix_, audit.noise_matrix)
        kept = model.sample_weight_ > 0
        assert (kept | model.is_suspect_).all()
        expected = GaussianNB().fit(X[kept], noisy[kept]).predict_proba(X)
        np.testing.assert_array_equal(model.predict_proba(X), expected)

    def test_the_default_is_a_fused_classifier(self):
        model = CleanedClassifier(random_state=0).fit(*IRIS)
        assert isinstance(model.estimator_, FusedClassifier)
        assert model.estimator_.random_state is not None
        assert model.score(*IRIS) > 0.9

    def test_sparse_matrices(self):
        X, y = IRIS
        model = CleanedClassifier(LogisticRegression(max_iter=1000), random_state=0).fit(sparse.csr_array(X), y)
        assert model.score(sparse.csr_array(X), y) > 0.9
        with pytest.raises(TypeError, match=r"GaussianNB needs a dense array: use X.toarray\(\)"):
            CleanedClassifier(GaussianNB()).fit(sparse.csr_array(X), y)

    def test_the_only_sample_of_a_class(self):
        X, y = IRIS
        labels = np.where(np.arange(150) == 7, 9, y)
        with pytest.warns(UserWarning, match="1 of 150 samples cannot be audited"):
            model = CleanedClassifier(GaussianNB(), action="reweight", random_state=0).fit(X, labels)
        assert np.isnan(model.label_probability_[7])
        assert not model.is_suspect_[7]
        assert 9 in model.classes_


class TestFiles:
    def test_exports_what_its_estimator_exports(self):
        from fuselearn import to_onnx

        onnxruntime = pytest.importorskip("onnxruntime")
        X, y = IRIS
        model = CleanedClassifier(KFHEClassifier(n_estimators=3), random_state=0).fit(X, y)
        session = onnxruntime.InferenceSession(to_onnx(model).SerializeToString())
        np.testing.assert_array_equal(session.run(None, {"X": X})[0], model.predict(X))


class TestBadInput:
    def test_settings(self):
        for model, problem in [
            (CleanedClassifier(GaussianNB), "estimator must be a classifier"),
            (CleanedClassifier("tree"), "estimator must be a classifier"),
            (CleanedClassifier(action="delete"), "action must be 'drop' or 'reweight', not 'delete'"),
            (CleanedClassifier(auditor=LinearSVC()), "auditor must be a classifier with predict_proba"),
            (
                CleanedClassifier(KNeighborsClassifier(), action="reweight"),
                "action='reweight' needs an estimator that supports sample_weight; KNeighborsClassifier does not",
            ),
            (CleanedClassifier(cv=1), "cv must be at least 2"),
        ]:
            with pytest.raises((TypeError, ValueError), match=problem):
                model.fit(*IRIS)

    def test_weights_that_the_estimator_does_not_take(self):
        with pytest.raises(ValueError, match="sample_weight needs an estimator that supports sample_weight"):
            CleanedClassifier(KNeighborsClassifier()).fit(*IRIS, sample_weight=np.ones(150))

    def test_several_labels(self):
        with pytest.raises(ValueError, match="1d array"):
            CleanedClassifier().fit(IRIS[0], np.eye(3)[IRIS[1]])

    def test_methods_are_those_of_the_estimator(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = CleanedClassifier(LinearSVC(), random_state=0).fit(*IRIS)
        assert not hasattr(model, "predict_proba")
        assert model.decision_function(IRIS[0]).shape == (150, 3)
        assert not hasattr(CleanedClassifier(GaussianNB()), "decision_function")
