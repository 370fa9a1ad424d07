"""Label audits: probabilities of a scripted model, counts by hand, and labels that were corrupted on purpose."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_digits, load_iris
from sklearn.model_selection import GroupKFold, KFold, TimeSeriesSplit
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from fuselearn import KFHEClassifier
from fuselearn.datasets import corrupt_labels
from fuselearn.diagnosis import audit_labels
from fuselearn.diagnosis.label_audit import count_confident

IRIS = load_iris(return_X_y=True)


class Oracle(ClassifierMixin, BaseEstimator):
    """Read class probabilities off the table, and write down which rows were trained on."""

    trained = ()

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.trained.append(set(X[:, 0].astype(int)))
        return self

    def predict_proba(self, X):
        assert not self.trained[-1] & set(X[:, 0].astype(int))
        return X[:, 1:]


@pytest.fixture
def oracle(monkeypatch):
    monkeypatch.setattr(Oracle, "trained", [])
    return Oracle()


def table(probabilities):
    return np.column_stack([np.arange(len(probabilities)), probabilities])


def _halves(rows):
    return [(rows[::2], rows[1::2]), (rows[1::2], rows[::2])]


class TestRanking:
    p = np.array(
        [[0.9, 0.1, 0.0], [0.3, 0.4, 0.3], [0.2, 0.7, 0.1], [0.05, 0.05, 0.9], [0.6, 0.1, 0.3], [0.1, 0.1, 0.8]]
    )
    given = np.array(["a", "a", "b", "b", "c", "c"])

    def test_by_hand(self, oracle):
        rows = audit_labels(table(self.p), self.given, oracle, cv=2).rows
        assert rows.index.tolist() == [3, 4, 1, 2, 5, 0]
        assert rows["given"].tolist() == ["b", "c", "a", "b", "c", "a"]
        assert rows["suggested"].tolist() == ["c", "a", "b", "a", "a", "b"]
        assert rows["probability"].tolist() == pytest.approx([0.05, 0.3, 0.3, 0.7, 0.8, 0.9])
        assert rows["margin"].tolist() == pytest.approx([-0.85, -0.3, -0.1, 0.5, 0.7, 0.8])

    def test_rows_keep_the_order_of_the_data_where_they_are_not_ranked(self, oracle):
        audit = audit_labels(table(self.p), self.given, oracle, cv=2)
        np.testing.assert_allclose(audit.probabilities, self.p)
        assert audit.probabilities.columns.tolist() == ["a", "b", "c"]

    def test_no_model_has_seen_the_rows_that_it_judges(self, oracle):
        audit_labels(table(np.tile(self.p, (10, 1))), np.tile(self.given, 10), oracle, cv=3, n_repeats=2)
        assert [len(rows) for rows in oracle.trained] == [40] * 6

    def test_repeats_are_averaged(self):
        X, y = IRIS
        once = audit_labels(X, y, GaussianNB(), n_repeats=1, random_state=0).probabilities
        often = audit_labels(X, y, GaussianNB(), n_repeats=20, random_state=0).probabilities
        other = audit_labels(X, y, GaussianNB(), n_repeats=20, random_state=1).probabilities
        assert np.abs(often - other).to_numpy().mean() < 0.7 * np.abs(often - once).to_numpy().mean()

    def test_the_index_of_frames_is_kept(self, oracle):
        names = [f"row {k}" for k in range(6)]
        audit = audit_labels(table(self.p), pd.Series(self.given, index=names), oracle, cv=2)
        assert audit.rows.index[0] == "row 3"
        frame = pd.DataFrame(IRIS[0], index=np.arange(150) + 1_000)
        assert audit_labels(frame, IRIS[1], GaussianNB(), random_state=0).rows.index.min() == 1_000


class TestCounts:
    def test_by_hand(self):
        # Thresholds: 0.6 for class 0, 0.55 for class 1.
        p = np.array([[0.9, 0.1], [0.7, 0.3], [0.2, 0.8], [0.45, 0.55], [0.3, 0.7], [0.6, 0.4]])
        given = np.array([0, 0, 0, 1, 1, 1])
        np.testing.assert_allclose(count_confident(p, given), [[2, 1], [1, 2]])

    def test_rows_that_reach_no_threshold_do_not_count(self):
        # The last row of class 1 is below both thresholds, 0.9 and 0.55; the other two stand for all three.
        p = np.array([[0.9, 0.1], [0.9, 0.1], [0.1, 0.9], [0.7, 0.3], [0.55, 0.45]])
        np.testing.assert_allclose(count_confident(p, np.array([0, 0, 1, 1, 1])), [[2, 0], [0, 3]])

    def test_several_thresholds_reached(self):
        p = np.array([[0.5, 0.4, 0.1], [0.4, 0.5, 0.1], [0.1, 0.3, 0.6]])
        counts = count_confident(np.vstack([p, [0.55, 0.45, 0.0]]), np.array([0, 1, 2, 1]))
        assert counts[1, 0] == 1.0

    def test_sums_are_the_sizes_of_the_given_classes(self):
        rng = np.random.default_rng(0)
        p = rng.dirichlet(np.ones(4), 200)
        given = rng.integers(0, 4, 200)
        np.testing.assert_allclose(count_confident(p, given).sum(axis=1), np.bincount(given))


class TestNoise:
    @pytest.mark.parametrize("kind", ["uniform", "pair"])
    @pytest.mark.parametrize("fraction", [0.1, 0.25])
    def test_the_first_rows_are_mostly_wrong(self, kind, fraction):
        X, y = IRIS
        noisy = corrupt_labels(y, fraction, kind, random_state=0)
        audit = audit_labels(X, noisy, random_state=0)
        wrong = noisy != y
        first = audit.rows.index[: wrong.sum()]
        assert wrong[first].mean() > 0.7 > 2 * fraction
        assert audit.n_wrong == pytest.approx(wrong.sum(), abs=8)
        right_again = audit.rows.loc[first[wrong[first]], "suggested"] == y[first[wrong[first]]]
        assert right_again.mean() > 0.9

    def test_on_digits(self):
        X, y = load_digits(return_X_y=True)
        X, y = X[:900], y[:900]
        noisy = corrupt_labels(y, 0.1, random_state=0)
        audit = audit_labels(X, noisy, KFHEClassifier(n_estimators=15, weighting="linear"), random_state=0)
        wrong = noisy != y
        assert wrong[audit.rows.index[:45]].mean() > 0.9
        assert wrong[audit.suspects.index].mean() > 0.7
        assert audit.n_wrong == pytest.approx(90, abs=30)
        assert len(audit.suspects) == audit.n_wrong
        assert isinstance(audit.n_wrong, int)

    def test_the_noise_matrix_says_which_class_is_taken_for_which(self):
        rng = np.random.default_rng(0)
        y = np.repeat([0, 1, 2], 150)
        X = rng.normal(size=(450, 2)) + 4 * np.array([[0, 0], [1, 0], [0, 1]])[y]
        transition = np.array([[0.7, 0.3, 0.0], [0.0, 1.0, 0.0], [0.1, 0.0, 0.9]])
        noisy = corrupt_labels(y, 60 / 450, "class-conditional", transition=transition, random_state=0)
        matrix = audit_labels(X, noisy, GaussianNB(), random_state=0).noise_matrix
        np.testing.assert_allclose(matrix.sum(axis=1), 1.0)
        np.testing.assert_allclose(matrix, transition, atol=0.06)
        corrupt_labels(y, 0.1, "class-conditional", transition=matrix, random_state=0)

    def test_clean_labels(self):
        audit = audit_labels(*IRIS, random_state=0)
        assert audit.n_wrong < 10
        assert str(audit).startswith(f"about {audit.n_wrong} of 150 labels (")
        assert repr(audit) == f"<LabelAudit: {audit}>"

    def test_an_oracle_that_knows_nothing_suspects_nobody(self, oracle):
        audit = audit_labels(table(np.full((6, 3), 1 / 3)), ["a", "b", "c"] * 2, oracle, cv=2)
        np.testing.assert_allclose(audit.noise_matrix.sum(axis=1), 1.0)
        assert (audit.rows["margin"] == 0).all()


class TestFolds:
    def test_the_number_of_jobs_does_not_matter(self):
        alone, together = (
            audit_labels(*IRIS, DecisionTreeClassifier(max_features=1), random_state=1, n_jobs=n_jobs).rows
            for n_jobs in (None, 2)
        )
        pd.testing.assert_frame_equal(alone, together)

    def test_the_seed_decides(self):
        first, same, other = (audit_labels(*IRIS, GaussianNB(), random_state=seed).probabilities for seed in (1, 1, 2))
        pd.testing.assert_frame_equal(first, same)
        assert not first.equals(other)

    def test_splitters_and_groups(self):
        X, y = IRIS
        groups = np.arange(150) % 10
        audit = audit_labels(X, y, GaussianNB(), cv=GroupKFold(5), groups=groups)
        for train, test in GroupKFold(5).split(X, y, groups):
            expected = GaussianNB().fit(X[train], y[train]).predict_proba(X[test])
            np.testing.assert_allclose(audit.probabilities.to_numpy()[test], expected)

    def test_a_class_that_is_missing_in_training_cannot_be_judged(self):
        X, y = IRIS
        with pytest.raises(ValueError, match="cv must not put all samples of a class into one test set"):
            audit_labels(X, y, GaussianNB(), cv=KFold(3))  # sorted by class, so each fold lacks its own
        first_class_alone = [(np.arange(50, 150), np.arange(50)), *_halves(np.arange(50, 150))]
        with pytest.warns(UserWarning, match=r"50 of 150 samples cannot be judged, .* know their class: 0\.$"):
            audit = audit_labels(X, y, GaussianNB(), cv=first_class_alone)
        assert sorted(audit.rows.index[-50:]) == list(range(50))
        assert audit.rows["margin"].isna().sum() == 50

    @pytest.mark.parametrize("classes", [np.array([0, 1, 2, 9]), np.array(["a", "b", "c", "rare"])])
    def test_a_single_sample_of_a_class_is_not_judged(self, classes):
        X, y = IRIS
        labels = classes[y]
        labels[[7, 60]] = classes[3], classes[2]
        rare = repr(classes[3].item())
        with pytest.warns(
            UserWarning, match=f"1 of 150 samples cannot be judged, .* know their class: {rare}.$"
        ) as said:
            audit = audit_labels(X, labels, GaussianNB(), random_state=0)
        assert len(said) == 1, "scikit-learn's warning about folds says nothing more"
        last = audit.rows.iloc[-1]
        assert (last.name, last["given"], last["suggested"], last["suspect"]) == (7, classes[3], classes[0], False)
        assert np.isnan(last["probability"])
        assert audit.rows.loc[60, "suspect"]
        assert audit.noise_matrix.loc[classes[3]].tolist() == [0.0, 0.0, 0.0, 1.0]
        others = audit_labels(np.delete(X, 7, axis=0), np.delete(labels, 7), GaussianNB(), random_state=0)
        assert abs(audit.n_wrong - others.n_wrong) <= 2

    def test_few_samples_of_a_class_are_judged(self):
        X, y = IRIS
        labels = np.where(np.isin(np.arange(150), [100, 101]), 9, y)
        audit = audit_labels(X, labels, GaussianNB(), random_state=0)
        assert audit.rows["margin"].notna().all()

    @pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
    def test_frames(self, frame):
        names = np.array(["ant", "bee", "cat"])[IRIS[1]]
        audit = audit_labels(frame({"a": IRIS[0][:, 2], "b": IRIS[0][:, 3]}), names, random_state=0)
        assert audit.noise_matrix.index.tolist() == ["ant", "bee", "cat"]
        assert audit.rows["given"].isin(["ant", "bee", "cat"]).all()

    @pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csc_matrix, sparse.coo_array])
    def test_sparse_matrices(self, kind):
        X, y = IRIS
        noisy = corrupt_labels(y, 0.1, random_state=0)
        audit = audit_labels(kind(X), noisy, random_state=0)
        assert (noisy != y)[audit.rows.index[:15]].mean() > 0.8
        given = audit_labels(kind(X), noisy, MultinomialNB(), random_state=0)
        pd.testing.assert_frame_equal(given.rows, audit_labels(X, noisy, MultinomialNB(), random_state=0).rows)

    def test_lists(self):
        X, y = IRIS
        listed = audit_labels(X.tolist(), y.tolist(), GaussianNB(), random_state=0)
        pd.testing.assert_frame_equal(listed.rows, audit_labels(X, y, GaussianNB(), random_state=0).rows)


class TestBadInput:
    @pytest.mark.parametrize(
        ("settings", "problem"),
        [
            ({"estimator": LinearSVC()}, "estimator must be a classifier with predict_proba"),
            ({"estimator": KFHEClassifier}, "estimator must be a classifier with predict_proba"),
            ({"cv": 1}, "cv must be at least 2"),
            ({"n_repeats": 0}, "n_repeats must be at least 1"),
            ({"cv": KFold(3), "n_repeats": 2}, "n_repeats applies only if cv is an int"),
            ({"cv": TimeSeriesSplit(3), "estimator": GaussianNB()}, "cv must put every sample into a test set"),
        ],
    )
    def test_settings(self, settings, problem):
        with pytest.raises((TypeError, ValueError), match=problem):
            audit_labels(*IRIS, **settings)

    def test_labels(self):
        X, y = IRIS
        with pytest.raises(ValueError, match="one class only"):
            audit_labels(X, np.zeros(150))
        with pytest.raises(ValueError, match="inconsistent numbers of samples"):
            audit_labels(X, y[1:])
        with pytest.raises(ValueError, match="y contains NaN"):
            audit_labels(X, np.where(y == 0, np.nan, y))
        with pytest.raises(ValueError, match="audit multi-label data one label at a time"):
            audit_labels(X, np.eye(3)[y])

    def test_tables(self):
        with pytest.raises(ValueError, match="X must have shape"):
            audit_labels([1, 2, 3], [0, 1, 0])
