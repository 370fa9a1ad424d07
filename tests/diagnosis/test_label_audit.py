"""Label audits: probabilities of a scripted model, counts by hand, and labels that were corrupted on purpose."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import (
    load_breast_cancer,
    load_iris,
    load_wine,
    make_classification,
    make_multilabel_classification,
)
from sklearn.model_selection import GroupKFold, KFold, TimeSeriesSplit
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from fuselearn import FusedClassifier, KFHEClassifier
from fuselearn.combine.fused import default_members
from fuselearn.datasets import corrupt_labels
from fuselearn.diagnosis import audit_labels
from fuselearn.diagnosis.judging import MEMBERS

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
        [[0.9, 0.1, 0.0], [0.3, 0.4, 0.3], [0.2, 0.7, 0.1], [0.05, 0.05, 0.9], [0.6, 0.05, 0.35], [0.1, 0.1, 0.8]]
    )
    given = np.array(["a", "a", "b", "b", "c", "c"])

    def test_by_hand(self, oracle):
        rows = audit_labels(table(self.p), self.given, oracle, cv=2).rows
        assert rows.index.tolist() == [3, 1, 4, 2, 5, 0]
        assert rows["given"].tolist() == ["b", "a", "c", "b", "c", "a"]
        assert rows["suggested"].tolist() == ["c", "b", "a", "a", "a", "b"]
        assert rows["probability"].tolist() == pytest.approx([0.05, 0.3, 0.35, 0.7, 0.8, 0.9])
        assert rows["margin"].tolist() == pytest.approx([-0.85, -0.1, -0.25, 0.5, 0.7, 0.8])

    def test_rows_keep_the_order_of_the_data_where_they_are_not_ranked(self, oracle):
        audit = audit_labels(table(self.p), self.given, oracle, cv=2)
        np.testing.assert_allclose(audit.probabilities, self.p)
        assert audit.probabilities.columns.tolist() == ["a", "b", "c"]

    def test_no_model_has_seen_the_rows_that_it_judges(self, oracle):
        """Twice three folds, with the given labels and with corrected ones."""
        audit_labels(table(np.tile(self.p, (10, 1))), np.tile(self.given, 10), oracle, cv=3, n_repeats=2)
        assert [len(rows) for rows in oracle.trained] == [40] * 12

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


def ladder(wrong):
    """Return probabilities of two classes, from uncertain to certain ones, and labels some of which are wrong.

    Samples 0 to 19 are of the first class, 20 to 39 of the second; the others are copies of these.
    """
    certainty = 1 - np.geomspace(0.4, 0.01, 20)
    p = np.column_stack([certainty, 1 - certainty])
    is_wrong = np.isin(np.arange(20), wrong)
    given = np.where(np.tile(is_wrong, 2), 1, 0) ^ np.repeat([0, 1], 20)
    return np.tile(np.vstack([p, p[:, ::-1]]), (4, 1)), np.tile(given, 4)


class TestWrongOrUnpredictable:
    halves = _halves(np.arange(160))

    def test_contradictions_where_predictions_are_certain_are_wrong_labels(self, oracle):
        p, given = ladder(wrong=[12, 19])
        audit = audit_labels(table(p), given, oracle, cv=self.halves)
        assert sorted(audit.suspects.index % 40) == np.repeat([12, 19, 32, 39], 4).tolist()
        np.testing.assert_allclose(audit.noise_matrix, [[0.9, 0.1], [0.1, 0.9]], atol=0.01)
        assert audit.predictability["contradicted"].tolist() == audit.predictability["suspects"].tolist() == [8, 8]
        assert audit.rows["suspect"].tolist() == [True] * 16 + [False] * 144

    def test_confidence_is_the_probability_that_the_given_one_of_two_labels_is_wrong(self, oracle):
        p, given = ladder(wrong=[12, 19])
        audit = audit_labels(table(p), given, oracle, cv=self.halves)
        confidence = audit.rows["confidence"]
        assert confidence.sum() == pytest.approx(audit.n_wrong, abs=1)
        assert confidence[19] > confidence[12] > 0.9
        assert (confidence[~audit.rows["suspect"]] < 0.1).all()

    def test_pairs_by_hand(self, oracle):
        p, given = ladder(wrong=[12, 19])
        given[19] = 0  # one copy of one class is labeled correctly
        audit = audit_labels(table(p), np.array(["a", "b"])[given], oracle, cv=self.halves)
        assert audit.pairs[["given", "suggested", "suspects"]].to_numpy().tolist() == [["a", "b", 8], ["b", "a", 7]]
        of_a = audit.suspects.query("given == 'a'")
        assert audit.pairs["confidence"].iloc[0] == pytest.approx(of_a["confidence"].mean())

    def test_contradictions_where_predictions_are_uncertain_are_explained_by_that(self, oracle):
        p, given = ladder(wrong=[0, 1])
        audit = audit_labels(table(p), given, oracle, cv=self.halves)
        assert audit.n_wrong == 0
        np.testing.assert_allclose(audit.noise_matrix, np.eye(2), atol=0.01)
        assert audit.predictability[["samples", "contradicted"]].to_numpy().tolist() == [[80, 8], [80, 8]]
        said = audit.describe()
        assert said.startswith("About 0 of 160 labels (0.0%) are likely to be wrong.\n")
        assert "16 labels are contradicted by the models; 16 of these are explained" in said

    def test_skill_by_hand(self, oracle):
        """Errors of .04 in place of .25; the same predictions of shuffled labels have errors of (.04 + .64) / 2."""
        p, given = np.tile([[0.8, 0.2], [0.8, 0.2], [0.2, 0.8], [0.2, 0.8]], (10, 1)), np.tile([0, 0, 1, 1], 10)
        audit = audit_labels(table(p), given, oracle, cv=2)
        np.testing.assert_allclose(audit.predictability["skill"], 0.84)
        assert audit.predictability["predictable"].all()
        shuffled = audit_labels(table(p), np.tile([0, 1], 20), oracle, cv=2)
        np.testing.assert_allclose(shuffled.predictability["skill"], 1 - 0.34 / 0.25)
        assert not shuffled.predictability["predictable"].any()

    @pytest.mark.parametrize("frequencies", [(0.9, 0.1), (0.5, 0.5), (0.6, 0.3, 0.1)])
    def test_nothing_is_said_about_labels_that_do_not_depend_on_the_features(self, frequencies):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(400, 10))
        audit = audit_labels(X, rng.choice(len(frequencies), 400, p=frequencies), random_state=0)
        assert audit.n_wrong == audit.noise_rate == 0
        assert not audit.predictability["predictable"].any()
        assert str(audit) == "nothing can be said about the labels: no class is predicted better than by its frequency"
        np.testing.assert_array_equal(audit.noise_matrix, np.eye(len(frequencies)))

    def test_nothing_is_said_about_one_label_of_two(self):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(400, 5))
        Y = np.column_stack([X[:, 0] > 0, rng.random(400) < 0.1]).astype(int)
        noisy = Y.copy()
        noisy[:20, 0] ^= 1
        audit = audit_labels(X, noisy, random_state=0)
        assert audit.predictability["predictable"].tolist() == [True, False]
        assert (audit.suspects["label"] == 0).all()
        assert np.isin(np.arange(20), audit.suspects.index).mean() >= 0.5
        assert str(audit).endswith("; nothing can be said about 1 of 2 labels, which cannot be predicted")

    def test_correct_classes_are_hardly_suspected(self):
        """On average: of three classes of which a fifth is hard to predict, about 5 % are."""
        all_settings = [
            {},
            {"n_samples": 500},
            {"n_samples": 500, "weights": [0.9]},
            {"n_samples": 600, "n_classes": 3, "n_informative": 5, "flip_y": 0},
        ]
        tables = [make_classification(random_state=seed, **settings) for settings in all_settings for seed in range(5)]
        assert np.mean([audit_labels(X, y, random_state=0).noise_rate for X, y in tables]) < 0.03

    def test_correct_labels_are_hardly_suspected(self):
        all_settings = [{}, {"n_samples": 300, "n_classes": 10, "n_labels": 3}]
        tables = [
            make_multilabel_classification(random_state=k, **settings) for settings in all_settings for k in (0, 1)
        ]
        assert np.mean([audit_labels(X, Y, random_state=0).noise_rate for X, Y in tables]) < 0.03


class TestNumber:
    @pytest.mark.parametrize(("load", "fraction"), [(load_wine, 0.1), (load_wine, 0.2), (load_breast_cancer, 0.2)])
    def test_about_as_many_suspects_as_wrong_labels(self, load, fraction):
        X, y = load(return_X_y=True)
        noisy = corrupt_labels(y, fraction, random_state=0)
        audit = audit_labels(X, noisy, random_state=0)
        wrong = noisy != y
        assert audit.n_wrong == pytest.approx(wrong.sum(), rel=0.15)
        assert wrong[audit.suspects.index].sum() > 0.75 * wrong.sum()

    def test_a_class_all_of_whose_labels_are_wrong(self, oracle):
        """It cannot be predicted, but the classes that are more likely can."""
        p, given = ladder(wrong=[12, 19])
        given[np.arange(160) % 20 == 19] = 2
        p = np.column_stack([p, np.zeros(160)])
        first, last = np.arange(80), np.arange(80, 160)
        audit = audit_labels(table(p), given, oracle, cv=[(first, last), (last, first)])
        assert audit.predictability["predictable"].tolist() == [True, True, False]
        assert sorted(audit.suspects.index % 40) == np.repeat([12, 19, 32, 39], 4).tolist()


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
        assert wrong[audit.suspects.index].mean() > 0.85
        right_again = audit.rows.loc[first[wrong[first]], "suggested"] == y[first[wrong[first]]]
        assert right_again.mean() > 0.9

    def test_the_noise_matrix_says_which_class_is_taken_for_which(self):
        rng = np.random.default_rng(0)
        y = np.repeat([0, 1, 2], 150)
        X = rng.normal(size=(450, 2)) + 4 * np.array([[0, 0], [1, 0], [0, 1]])[y]
        transition = np.array([[0.7, 0.3, 0.0], [0.0, 1.0, 0.0], [0.1, 0.0, 0.9]])
        noisy = corrupt_labels(y, 60 / 450, "class-conditional", transition=transition, random_state=0)
        matrix = audit_labels(X, noisy, GaussianNB(), random_state=0).noise_matrix
        np.testing.assert_allclose(matrix.sum(axis=1), 1.0)
        np.testing.assert_array_equal(matrix.to_numpy() > 0.02, transition > 0)
        corrupt_labels(y, 0.1, "class-conditional", transition=matrix, random_state=0)

    def test_clean_labels(self):
        audit = audit_labels(*IRIS, random_state=0)
        assert audit.n_wrong < 4
        assert str(audit).startswith(f"about {audit.n_wrong} of 150 labels (")
        assert repr(audit) == f"<LabelAudit: {audit}>"

    def test_an_oracle_that_knows_nothing_suspects_nobody(self, oracle):
        audit = audit_labels(table(np.full((6, 3), 1 / 3)), ["a", "b", "c"] * 2, oracle, cv=2)
        np.testing.assert_allclose(audit.noise_matrix.sum(axis=1), 1.0)
        assert (audit.rows["margin"] == 0).all()


class SeveralOracle(ClassifierMixin, BaseEstimator):
    """Read label probabilities off the table."""

    def fit(self, X, Y):
        self.classes_ = [np.arange(2)] * Y.shape[1]
        return self

    def predict_proba(self, X):
        return X


class TestCorrections:
    halves = _halves(np.arange(160))

    def test_suspects_of_enough_confidence_get_the_suggested_label(self, oracle):
        p, given = ladder(wrong=[12, 19])
        y = pd.Series(np.array(["a", "b"])[given], index=np.arange(160) // 2)  # an index with duplicates
        audit = audit_labels(table(p), y, oracle, cv=self.halves)
        ranked = audit.order
        np.testing.assert_array_equal(audit.rows["given"], y.iloc[ranked])
        of_19 = audit.rows["confidence"].to_numpy()[np.isin(ranked % 20, 19)].min()
        for least, corrected in [(0.0, [12, 19]), (of_19, [19]), (1.0, [])]:
            found = audit.corrected_labels(least)
            assert found.index.equals(y.index)
            expected = np.where(np.isin(np.arange(160) % 20, corrected), 1 - given, given)
            np.testing.assert_array_equal(found, np.array(["a", "b"])[expected])

    def test_of_labels(self):
        p, given = ladder(wrong=[12, 19])
        Y = pd.DataFrame({"calm": given, "sad": ladder(wrong=[])[1]}, index=np.arange(160) % 7)
        audit = audit_labels(np.column_stack([p[:, 1], p[:, 1]]), Y, SeveralOracle(), cv=self.halves)
        fixed = audit.corrected_labels(0.5)
        expected = Y.assign(calm=np.where(np.isin(np.arange(160) % 20, [12, 19]), 1 - given, given))
        pd.testing.assert_frame_equal(fixed, expected, check_dtype=False)

    @pytest.mark.parametrize("confidence", [-0.1, 1.1])
    def test_a_confidence_is_a_probability(self, oracle, confidence):
        p, given = ladder(wrong=[])
        with pytest.raises(ValueError, match="confidence"):
            audit_labels(table(p), given, oracle, cv=self.halves).corrected_labels(confidence)


class TestGivenProbabilities:
    halves = _halves(np.arange(160))

    def test_models_are_trained_on_corrected_labels_only(self, oracle):
        p, given = ladder(wrong=[12, 19])
        audit = audit_labels(table(p), given, oracle, cv=self.halves)
        assert len(oracle.trained) == 4
        again = audit_labels(table(p), given, oracle, probabilities=p, cv=self.halves)
        assert len(oracle.trained) == 6
        pd.testing.assert_frame_equal(again.rows, audit.rows)

    @pytest.mark.parametrize("estimator", [None, SeveralOracle()])
    def test_of_labels_and_without_some_samples(self, estimator):
        p, given = ladder(wrong=[12, 19])
        known = np.column_stack([p[:, 1], p[:, 1]])
        known[5] = np.nan
        Y = np.column_stack([given, given])
        audit = audit_labels(np.column_stack([p[:, 1], p[:, 1]]), Y, estimator, probabilities=known, cv=self.halves)
        np.testing.assert_array_equal(audit.probabilities, known)
        assert audit.rows.index[-2:].tolist() == [5, 5]
        assert set(audit.suspects.index % 20) == {12, 19}
        assert len(audit.suspects) >= 30

    def test_held_out_probabilities_of_a_fused_classifier(self):
        X, y = IRIS
        noisy = corrupt_labels(y, 0.2, random_state=0)
        fused = FusedClassifier(n_estimators=10, random_state=0).fit(X, noisy)
        audit = audit_labels(X, noisy, probabilities=fused.held_out_proba_, random_state=0)
        np.testing.assert_array_equal(audit.probabilities, fused.held_out_proba_)
        assert (noisy != y)[audit.suspects.index].mean() > 0.85

    def test_a_fused_classifier_that_is_passed_holds_out_by_itself(self):
        X, y = IRIS
        fused = FusedClassifier([("bayes", GaussianNB()), ("tree", DecisionTreeClassifier(random_state=0))], cv=3)
        audit = audit_labels(X, y, fused, random_state=0)
        seed = int(np.random.default_rng(0).integers(2**31, size=(1,))[0])
        np.testing.assert_array_equal(audit.probabilities, fused.set_params(random_state=seed).hold_out(X, y))


class TestSeveralLabels:
    p = np.array([[0.9, 0.2], [0.1, 0.7], [0.8, 0.6], [0.4, 0.1], [0.7, 0.9], [0.2, 0.3]])
    given = np.array([[1, 0], [0, 1], [0, 1], [1, 0], [1, 0], [0, 0]])

    def test_by_hand(self):
        frame = pd.DataFrame(self.given, columns=["calm", "sad"], index=list("uvwxyz"))
        splits = [([0, 1, 2, 3], [4, 5]), ([2, 3, 4, 5], [0, 1]), ([0, 1, 4, 5], [2, 3])]
        audit = audit_labels(self.p, frame, SeveralOracle(), cv=splits)
        first = audit.rows.iloc[:3]
        assert first.index.tolist() == ["y", "w", "x"]
        assert first["label"].tolist() == ["sad", "calm", "calm"]
        assert first["given"].tolist() == [0, 0, 1]
        assert first["suggested"].tolist() == [1, 1, 0]
        assert first["probability"].tolist() == pytest.approx([0.1, 0.2, 0.4])
        assert len(audit.rows) == 12
        np.testing.assert_allclose(audit.probabilities, self.p)
        assert audit.probabilities.columns.tolist() == ["calm", "sad"]
        # The squared errors of calm are .01, .01, .64, .36, .09 and .04, and .25 each for its frequency.
        expected = {"samples": 3, "skill": pytest.approx(1 - 1.15 / 1.5), "predictable": False, "contradicted": 2}
        assert audit.predictability.loc["calm"].to_dict() == expected | {"suspects": 0}

    def test_labels_that_are_hard_to_predict_are_not_suspected_for_that(self):
        """Nobody can tell who has the first label, so that its ones are unlikely; some of the second are wrong."""
        p, easy = ladder(wrong=[19])
        given = np.column_stack([np.arange(160) % 5 == 0, easy])
        hard = np.tile([0.15, 0.1, 0.1, 0.1, 0.2], 32)
        audit = audit_labels(np.column_stack([hard, p[:, 1]]), given, SeveralOracle(), cv=_halves(np.arange(160)))
        assert audit.suspects["label"].tolist() == [1] * len(audit.suspects)
        assert sorted(audit.suspects.index % 40) == np.repeat([19, 39], 4).tolist()
        assert audit.rows["suspect"].tolist() == [True] * 8 + [False] * 312
        assert audit.rows["probability"].iloc[8:].is_monotonic_increasing

    def test_labels_that_nobody_can_judge(self):
        X, y = IRIS
        Y = np.column_stack([y == 0, np.zeros(150), np.arange(150) == 7, y == 1])
        rows = audit_labels(X, Y, random_state=0).rows
        unknown = rows[rows["probability"].isna()]
        assert unknown["label"].value_counts().to_dict() == {1: 150, 2: 150}
        assert not unknown["suspect"].any()

    def test_each_label_is_a_question_of_its_own(self):
        X, y = IRIS
        Y = np.eye(3, dtype=int)[y]
        noisy = corrupt_labels(Y, 0.05, random_state=0)
        audit = audit_labels(X, noisy, random_state=0)
        wrong = noisy != Y
        first = audit.rows.iloc[: wrong.sum()]
        assert wrong[first.index, first["label"]].mean() > 0.7
        assert wrong[audit.suspects.index, audit.suspects["label"]].mean() > 0.7
        alone = audit_labels(X, noisy[:, 0], random_state=0)
        np.testing.assert_allclose(audit.probabilities[0], alone.probabilities[1])

    @pytest.mark.parametrize("form", [pl.DataFrame, sparse.csr_array, lambda Y: Y.tolist(), lambda Y: Y.astype(bool)])
    def test_labels_of_any_form(self, form):
        X, y = IRIS
        Y = np.eye(3, dtype=int)[y]
        expected = audit_labels(X, Y, DecisionTreeClassifier(), random_state=0).rows["probability"]
        found = audit_labels(X, form(Y), DecisionTreeClassifier(), random_state=0).rows["probability"]
        assert found.tolist() == expected.tolist()


class TestFused:
    def test_the_default_is_what_the_fused_classifier_says_about_held_out_samples(self):
        X, y = IRIS
        splits = _halves(np.arange(150))
        audit = audit_labels(X, y, cv=splits, random_state=0)
        seed = int(np.random.default_rng(0).integers(2**31, size=(1,))[0])
        members = [(m.name, m.estimator) for m in default_members(50, seed) if m.name in MEMBERS]
        fused = FusedClassifier(members, cv=splits, random_state=seed).fit(X, y)
        np.testing.assert_array_equal(audit.probabilities, fused.held_out_proba_)
        assert [name for name, _ in members] == ["forest_leaf3", "extra_trees_leaf3", "svm"]

    def test_missing_values_and_categories(self):
        rng = np.random.default_rng(0)
        X = pd.DataFrame({"colour": pd.Categorical(rng.choice(["red", "blue"], 120)), "size": rng.normal(size=120)})
        y = (X["colour"] == "red").astype(int)
        X.loc[5, "size"] = np.nan
        X.loc[6, "colour"] = None
        noisy = y.copy()
        noisy[[3, 4]] = 1 - y[[3, 4]]
        with pytest.warns(UserWarning, match="Members 'svm': missing values imputed") as warned:
            audit = audit_labels(X, noisy, random_state=0)
        assert len(warned) == 1
        assert {3, 4} <= set(audit.rows.index[:4])

    def test_the_rate_is_the_share_of_the_judged_labels(self):
        X, y = IRIS
        labels = np.where(np.arange(150) == 7, 9, y)
        with pytest.warns(UserWarning, match="cannot be audited"):
            audit = audit_labels(X, labels, GaussianNB(), random_state=0)
        assert audit.noise_rate == audit.n_wrong / 149


class TestFolds:
    @pytest.mark.usefixtures("threads")
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
        with pytest.warns(UserWarning, match=r"50 of 150 samples cannot be audited, .* of their class: 0\.$"):
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
            UserWarning, match=f"1 of 150 samples cannot be audited, .* of their class: {rare}.$"
        ) as said:
            audit = audit_labels(X, labels, GaussianNB(), random_state=0)
        assert len(said) == 1, "scikit-learn's warning about folds says nothing more"
        last = audit.rows.iloc[-1]
        assert (last.name, last["given"], last["suggested"], last["suspect"]) == (7, classes[3], classes[0], False)
        assert np.isnan(last["probability"])
        assert audit.rows.loc[60, "suspect"]
        np.testing.assert_allclose(audit.noise_matrix.loc[classes[3]], [0.0, 0.0, 0.0, 1.0], atol=1e-9)
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


class TestGroups:
    """Ten copies of each sample, whose labels are random: whoever has seen a copy knows the label."""

    rng = np.random.default_rng(0)
    X, y = np.repeat(rng.normal(size=(40, 4)), 10, axis=0), np.repeat(rng.integers(2, size=40), 10)

    @pytest.mark.parametrize("estimator", [None, DecisionTreeClassifier(random_state=0)])
    def test_samples_of_a_group_do_not_judge_each_other(self, estimator):
        leaked = audit_labels(self.X, self.y, estimator, random_state=0)
        assert leaked.predictability["predictable"].all()
        audit = audit_labels(self.X, self.y, estimator, groups=np.arange(400) // 10, random_state=0)
        assert not audit.predictability["predictable"].any()

    def test_of_labels_too(self):
        Y = np.column_stack([self.y, 1 - self.y])
        groups = np.arange(400) // 10
        for estimator in (None, DecisionTreeClassifier(random_state=0)):
            audit = audit_labels(self.X, Y, estimator, groups=groups, random_state=0)
            assert not audit.predictability["predictable"].any()


class TestBadInput:
    def test_settings(self):
        for settings, problem in [
            (
                {"probabilities": np.ones((150, 2))},
                r"probabilities must have the shape \(150, 3\), one column per class",
            ),
            ({"probabilities": np.full((150, 3), -1)}, "probabilities must be between 0 and 1"),
            ({"estimator": LinearSVC()}, "estimator must be a classifier with predict_proba"),
            ({"estimator": KFHEClassifier}, "estimator must be a classifier with predict_proba"),
            ({"cv": 1}, "cv must be at least 2"),
            ({"n_repeats": 0}, "n_repeats must be at least 1"),
            ({"cv": KFold(3), "n_repeats": 2}, "n_repeats applies only if cv is an int"),
            ({"cv": TimeSeriesSplit(3), "estimator": GaussianNB()}, "cv must put every sample into a test set"),
        ]:
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
        with pytest.raises(ValueError, match="inconsistent numbers of samples: 150 and 149"):
            audit_labels(X, np.eye(3)[y[1:]])
        with pytest.raises(ValueError, match="y must hold 0 and 1 only"):
            audit_labels(X, np.eye(3)[y] * 2)
        with pytest.raises(ValueError, match="No label of y can be audited"):
            audit_labels(X, np.tile([0, 1], (150, 1)))

    def test_tables(self):
        with pytest.raises(ValueError, match="X must have shape"):
            audit_labels([1, 2, 3], [0, 1, 0])
