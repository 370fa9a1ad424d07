"""Any multi-label classifier with learned thresholds: where honest scores come from, and scikit-learn's contract."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import make_multilabel_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.model_selection import GridSearchCV, KFold, RepeatedKFold, cross_val_predict, cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from fuselearn.multilabel import BinaryRelevanceClassifier, ThresholdedClassifier
from fuselearn.multilabel.decisions import AtLeastOne, PerLabelThresholds

X, Y = make_multilabel_classification(150, 8, n_classes=4, random_state=0)


def bayes():
    return OneVsRestClassifier(GaussianNB())


def forest(n_estimators=30, **kwargs):
    return RandomForestClassifier(n_estimators, random_state=0, **kwargs)


class TestHonestScores:
    def test_out_of_fold(self):
        folds = KFold(3, shuffle=True, random_state=0)
        model = ThresholdedClassifier(bayes(), PerLabelThresholds(0), cv=folds).fit(X, Y)
        scores = np.empty(Y.shape)
        for train, test in folds.split(X):
            for j in range(4):
                scores[test, j] = GaussianNB().fit(X[train], Y[train, j]).predict_proba(X[test])[:, 1]
        expected = PerLabelThresholds(0).fit(scores, Y)
        np.testing.assert_allclose(model.rule_.thresholds_, expected.thresholds_)
        np.testing.assert_array_equal(model.predict(X), expected(model.predict_proba(X)))

    def test_out_of_bag(self):
        model = ThresholdedClassifier(forest(), cv="oob").fit(X, Y)
        kept = forest(oob_score=True).fit(X, Y)
        expected = PerLabelThresholds().fit(kept.oob_decision_function_[:, 1, :], Y)
        np.testing.assert_allclose(model.rule_.thresholds_, expected.thresholds_)
        np.testing.assert_allclose(model.predict_proba(X), np.transpose([p[:, 1] for p in kept.predict_proba(X)]))

    @pytest.mark.parametrize("make", [MultiOutputClassifier, OneVsRestClassifier])
    def test_out_of_bag_of_one_forest_per_label(self, make):
        model = ThresholdedClassifier(make_pipeline(StandardScaler(), make(forest())), cv="oob").fit(X, Y)
        scaled = StandardScaler().fit_transform(X)
        scores = [forest(oob_score=True).fit(scaled, y).oob_decision_function_[:, 1] for y in Y.T]
        expected = PerLabelThresholds().fit(np.transpose(scores), Y)
        np.testing.assert_allclose(model.rule_.thresholds_, expected.thresholds_)

    def test_out_of_bag_rows_that_every_sample_holds_do_not_count(self):
        with pytest.warns(UserWarning, match="OOB"):
            model = ThresholdedClassifier(forest(2), PerLabelThresholds(0), cv="oob").fit(X, Y)
        scores = model.estimator_.oob_decision_function_
        known = scores.any(axis=(1, 2))
        assert 0 < known.sum() < 150
        expected = PerLabelThresholds(0).fit(scores[known, 1], Y[known])
        np.testing.assert_allclose(model.rule_.thresholds_, expected.thresholds_)

    def test_rows_in_several_test_sets_get_the_mean(self):
        folds = RepeatedKFold(n_splits=3, n_repeats=2, random_state=0)
        model = ThresholdedClassifier(bayes(), "cardinality", cv=folds).fit(X, Y)
        tests = list(folds.split(X))
        scores = np.zeros(Y.shape)
        for train, test in tests:
            scores[test] += bayes().fit(X[train], Y[train]).predict_proba(X[test]) / 2
        twice = (scores > model.rule_.threshold_).sum()
        assert abs(twice - Y.sum()) <= 1

    def test_rows_in_no_test_set_do_not_count(self):
        splits = [(np.arange(75), np.arange(75, 150))]
        model = ThresholdedClassifier(bayes(), PerLabelThresholds(0), cv=splits).fit(X, Y)
        scores = bayes().fit(X[:75], Y[:75]).predict_proba(X[75:])
        np.testing.assert_allclose(model.rule_.thresholds_, PerLabelThresholds(0).fit(scores, Y[75:]).thresholds_)

    def test_rules_that_learn_nothing_fit_once(self):
        calls = []

        class Counting(KNeighborsClassifier):
            def fit(self, X, y):
                calls.append(len(X))
                return super().fit(X, y)

        model = ThresholdedClassifier(Counting(), decision="expected_f1").fit(X, Y)
        assert calls == [150]
        assert (model.predict(X).sum(axis=1) > 0).any()

    def test_another_rule_learns_from_kept_bags_and_otherwise_from_folds(self):
        kept = ThresholdedClassifier(forest(), "cardinality", cv="oob").fit(X, Y)
        expected = PerLabelThresholds().fit(forest(oob_score=True).fit(X, Y).oob_decision_function_[:, 1, :], Y)
        np.testing.assert_allclose(kept.with_decision("per_label", X, Y).rule_.thresholds_, expected.thresholds_)
        plain = ThresholdedClassifier(forest(), 0.5, cv="oob", random_state=0).fit(X, Y)
        folds = ThresholdedClassifier(forest(), 0.5, cv=5, random_state=0).fit(X, Y)
        np.testing.assert_array_equal(
            plain.with_decision("per_label", X, Y).rule_.thresholds_,
            folds.with_decision("per_label", X, Y).rule_.thresholds_,
        )

    def test_the_estimator_is_fitted_on_all_rows(self):
        model = ThresholdedClassifier(forest(), decision=0.5).fit(X, Y)
        np.testing.assert_array_equal(model.predict(X), forest().fit(X, Y).predict(X))


class TestAnyEstimator:
    @pytest.mark.parametrize(
        "estimator",
        [
            forest(5),
            KNeighborsClassifier(),
            make_pipeline(StandardScaler(), MLPClassifier(max_iter=50, random_state=0)),
            MultiOutputClassifier(LogisticRegression()),
            ClassifierChain(LogisticRegression()),
            BinaryRelevanceClassifier("tree"),
            make_pipeline(StandardScaler(), OneVsRestClassifier(LogisticRegression())),
        ],
        ids=lambda e: type(e).__name__,
    )
    @pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
    def test_constant_labels_and_labels_with_one_positive(self, estimator):
        """The rare label is constant in a training fold; the others always."""
        rare = (np.arange(150) == 3).astype(int)
        table = np.c_[np.zeros(150, int), Y[:, 0], rare, np.ones(150, int)]
        model = ThresholdedClassifier(estimator, cv=2, random_state=0).fit(X, table)
        scores = model.predict_proba(X)
        assert scores.shape == (150, 4)
        assert ((scores >= 0) & (scores <= 1)).all()
        assert (scores[:, 0] == 0).all()
        assert (scores[:, 3] == 1).all()
        assert model.predict(X)[:, [0, 3]].tolist() == [[0, 1]] * 150
        assert np.mean(model.predict(X)[:, 1] == Y[:, 0]) > 0.7

    def test_constant_labels_do_not_hinder_out_of_bag_scores(self):
        model = ThresholdedClassifier(forest(), cv="oob").fit(X, np.c_[Y, np.ones(150)])
        without = ThresholdedClassifier(forest(), cv="oob").fit(X, Y)
        np.testing.assert_array_equal(model.rule_.thresholds_[:4], without.rule_.thresholds_)
        assert (model.predict(X)[:, 4] == 1).all()

    @pytest.mark.parametrize("cv", [2, "oob"])
    def test_constant_labels_only(self, cv):
        table = np.tile([0, 1], (20, 1))
        model = ThresholdedClassifier(forest(), cv=cv).fit(X[:20], table)
        assert model.estimator_ is None
        np.testing.assert_array_equal(model.predict(X[:20]), table)

    def test_one_label_without_a_word_about_columns(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model = ThresholdedClassifier(forest(), cv=3).fit(X, Y[:, :1])
        assert model.predict(X).shape == (150, 1)

    def test_thresholds_help_a_forest_with_rare_labels(self):
        X, Y = make_multilabel_classification(800, 15, n_classes=8, n_labels=2, random_state=3)
        train, test = slice(0, 400), slice(400, 800)
        half = f1_score(Y[test], forest().fit(X[train], Y[train]).predict(X[test]), average="macro")
        model = ThresholdedClassifier(forest(), cv="oob").fit(X[train], Y[train])
        assert f1_score(Y[test], model.predict(X[test]), average="macro") > half + 0.05


class TestInput:
    @pytest.mark.parametrize("cv", [3, "oob"])
    def test_weights_reach_the_estimator_and_the_rule(self, cv):
        weights = np.random.default_rng(0).integers(1, 4, 150).astype(float)
        plain = ThresholdedClassifier(forest(), cv=cv, random_state=0).fit(X, Y)
        weighted = ThresholdedClassifier(forest(), cv=cv, random_state=0).fit(X, Y, sample_weight=weights)
        assert not np.array_equal(plain.predict_proba(X), weighted.predict_proba(X))
        expected = forest().fit(X, Y, sample_weight=weights).predict_proba(X)[0][:, 1]
        np.testing.assert_allclose(weighted.predict_proba(X)[:, 0], expected)

    def test_rows_without_weight_are_not_there(self):
        weights = (np.arange(150) < 100).astype(float)
        for cv in (2, "oob"):
            model = ThresholdedClassifier(forest(), cv=cv, random_state=0).fit(X, Y, sample_weight=weights)
            np.testing.assert_array_equal(
                model.predict_proba(X), ThresholdedClassifier(forest(), 0.5).fit(X[:100], Y[:100]).predict_proba(X)
            )
        kept = ThresholdedClassifier(forest(), cv="oob").fit(X[:100], Y[:100])
        np.testing.assert_allclose(model.rule_.thresholds_, kept.rule_.thresholds_)

    def test_weights_become_draws_if_the_estimator_takes_none(self):
        weights = np.where(np.arange(150) < 100, 1.0, 1e-9)
        model = ThresholdedClassifier(KNeighborsClassifier(1), cv=2, random_state=0).fit(X, Y, sample_weight=weights)
        assert model.estimator_.n_samples_fit_ == 150

    def test_in_scikit_learns_tools(self):
        model = ThresholdedClassifier(KNeighborsClassifier(), cv=2)
        rules = ["half", "cardinality", AtLeastOne(), 0.3]
        search = GridSearchCV(model, {"decision": rules, "estimator__n_neighbors": [3, 5]}, cv=2).fit(X, Y)
        assert search.best_score_ > 0
        assert cross_val_predict(model, X, Y, cv=2).shape == Y.shape
        assert len(cross_val_score(model, X, Y, cv=2, scoring="roc_auc")) == 2


class TestBadInput:
    @pytest.mark.parametrize(
        ("changes", "error", "sentence"),
        [
            ({"cv": "bags"}, ValueError, "cv must be 'oob', a number of folds"),
            ({"cv": 151}, ValueError, "cv=151 needs at least 151 samples"),
            ({"cv": "oob"}, ValueError, "KNeighborsClassifier has no parameter oob_score"),
            ({"estimator": LinearSVC()}, TypeError, "estimator must have predict_proba, which LinearSVC does not have"),
            ({"estimator": None}, TypeError, "estimator must be a multi-label classifier"),
            (
                {"estimator": ClassifierChain(forest()), "cv": "oob"},
                ValueError,
                "ClassifierChain did not compute out-of-bag probabilities",
            ),
        ],
    )
    def test_parameters_get_a_sentence(self, changes, error, sentence):
        model = ThresholdedClassifier(KNeighborsClassifier()).set_params(**changes)
        with pytest.raises(error, match=sentence):
            model.fit(X, Y)
        assert not hasattr(model, "estimator_")

    def test_drawn_rows_have_no_honest_bags(self):
        class Unweighted(RandomForestClassifier):
            def fit(self, X, y):
                return super().fit(X, y)

        model = ThresholdedClassifier(Unweighted(5), cv="oob")
        with pytest.raises(ValueError, match="Unweighted does not support sample_weight"):
            model.fit(X, Y, sample_weight=np.arange(150.0))
