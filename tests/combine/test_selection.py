"""Ensemble selection: against a plain loop, by hand, and what it keeps."""

import numpy as np
import pytest
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.datasets import load_diabetes, load_iris, load_wine, make_classification, make_multilabel_classification
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.metrics import accuracy_score, get_scorer, log_loss, make_scorer, r2_score
from sklearn.model_selection import cross_val_predict, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from fuselearn.combine import EnsembleSelection
from fuselearn.combine.candidates import (
    KnownClasses,
    KnownValues,
    candidates_for_classes,
    candidates_for_numbers,
)
from fuselearn.combine.classes import Classes
from fuselearn.combine.selection import select_greedily

LIBRARY = [
    ("bayes", GaussianNB()),
    *((f"near{k}", KNeighborsClassifier(k)) for k in (1, 5, 20)),
    *((f"tree{d}", DecisionTreeClassifier(max_depth=d, random_state=0)) for d in (1, 2, 4)),
]
NUMBERS = [
    ("line", LinearRegression()),
    ("ridge", Ridge(10)),
    ("near", KNeighborsRegressor()),
    ("tree", DecisionTreeRegressor(max_depth=3, random_state=0)),
]


def plain_selection(answers, score, n_rounds, n_initial=1):
    """Select in plain steps."""
    order = sorted(range(len(answers)), key=lambda k: -score(answers[k]))
    chosen = order[:n_initial]
    path = [score(answers[chosen].mean(axis=0))]
    best = list(chosen)
    while len(chosen) < n_rounds:
        scores = [score(answers[[*chosen, k]].mean(axis=0)) for k in range(len(answers))]
        chosen.append(int(np.argmax(scores)))
        if max(scores) > max(path) + 1e-13:
            best = list(chosen)
        path.append(max(scores))
    return np.bincount(best, minlength=len(answers)), path


class TestGreedySteps:
    @pytest.mark.parametrize("n_initial", [1, 3])
    @pytest.mark.parametrize("scoring", ["neg_log_loss", "accuracy", "f1_macro", "roc_auc_ovr"])
    def test_equal_a_plain_loop(self, scoring, n_initial):
        rng = np.random.default_rng(0)
        truth = np.append(np.arange(3), rng.integers(0, 3, 97))
        answers = rng.dirichlet(np.ones(3), (8, 100)) + 0.3 * np.eye(3)[truth]
        answers /= answers.sum(axis=2, keepdims=True)
        classes = Classes(np.arange(3))
        candidates = candidates_for_classes(scoring, answers, truth, classes, None)
        found = select_greedily(candidates, 12, n_initial)

        def score(mean):
            known = KnownClasses(classes.decode(mean.argmax(axis=-1)), mean, classes.attribute)
            return get_scorer(scoring)(known, np.zeros((100, 1)), truth)

        counts, path = plain_selection(answers, score, 12, n_initial)
        np.testing.assert_allclose(found.path, path, atol=1e-12)
        assert found.counts.tolist() == counts.tolist()

    def test_by_hand(self):
        # The sums of the chosen are (1, 1), (0, -1), (1, 0), (0, -2) and (1, -1).
        target = np.zeros(2)
        answers = np.array([[1.0, 1.0], [-3.0, -3.0], [-1.0, -2.0]])
        found = select_greedily(candidates_for_numbers(None, answers, target, None), 3)
        np.testing.assert_allclose(found.path, [-1.0, -1 / 8, -1 / 18])
        assert found.counts.tolist() == [2, 0, 1]
        found = select_greedily(candidates_for_numbers(None, answers, target, None), 5)
        np.testing.assert_allclose(found.path[3:], [-1 / 8, -1 / 25])
        assert found.counts.tolist() == [3, 0, 2]

    def test_ties_go_to_the_first(self):
        answers = np.array([[2.0], [1.0], [1.0]])
        found = select_greedily(candidates_for_numbers(None, answers, np.zeros(1), None), 4)
        assert found.counts.tolist() == [0, 1, 0]  # more rounds are no better, so the first is kept
        assert found.path.tolist() == [-1.0] * 4

    def test_a_part_of_the_library(self):
        answers = np.array([[0.0], [1.0], [-1.0], [5.0]])
        found = select_greedily(
            candidates_for_numbers(None, answers, np.zeros(1), None), 2, library=np.array([1, 2, 3])
        )
        assert found.counts.tolist() == [0, 1, 1, 0]


class TestClassifiers:
    X, y = load_wine(return_X_y=True)
    names = np.array(["barolo", "grignolino", "barbera"])

    def test_are_chosen_by_out_of_fold_probabilities(self):
        model = EnsembleSelection(LIBRARY, n_rounds=10).fit(self.X, self.y)
        answers = np.stack([cross_val_predict(m, self.X, self.y, cv=5, method="predict_proba") for _, m in LIBRARY])
        counts, path = plain_selection(answers, lambda mean: -log_loss(self.y, mean), 10)
        np.testing.assert_allclose(model.path_[0], path)
        chosen = [name for (name, _), count in zip(LIBRARY, counts, strict=True) if count]
        assert list(model.named_estimators_) == chosen
        np.testing.assert_allclose(model.estimator_weights_, counts[counts > 0] / counts.sum())
        np.testing.assert_allclose(
            list(model.library_scores_.values()), [-log_loss(self.y, table) for table in answers]
        )

    def test_only_chosen_members_are_fitted_and_kept(self):
        model = EnsembleSelection(LIBRARY, n_rounds=3).fit(self.X, self.y)
        assert len(model.estimators_) == len(model.estimator_weights_) < len(LIBRARY)
        assert list(model.library_scores_) == [name for name, _ in LIBRARY]

    @pytest.mark.parametrize(
        "scoring",
        ["accuracy", "roc_auc_ovr", "f1_macro", make_scorer(accuracy_score), lambda e, X, y: e.predict_proba(X).max()],
    )
    def test_any_metric(self, scoring):
        model = EnsembleSelection(LIBRARY, n_rounds=5, scoring=scoring).fit(self.X, self.y)
        assert model.estimator_weights_.sum() == pytest.approx(1)
        assert max(model.path_[0]) >= max(model.library_scores_.values()) - 1e-12

    def test_members_that_know_the_rows_by_heart(self):
        X, y = make_classification(300, 6, flip_y=0.3, random_state=0)
        members = [("heart", KNeighborsClassifier(1)), ("line", LogisticRegression())]
        fitted = [(name, clone(member).fit(X, y)) for name, member in members]
        naive = EnsembleSelection(fitted, prefit=True, n_rounds=10).fit(X, y)
        honest = EnsembleSelection(members, n_rounds=10).fit(X, y)
        assert list(naive.named_estimators_) == ["heart"]
        assert dict(zip(honest.named_estimators_, honest.estimator_weights_, strict=True))["line"] > 0.8

    def test_fitted_members_are_chosen_by_the_rows_given(self):
        fitted = [(name, clone(member).fit(self.X[::2], self.y[::2])) for name, member in LIBRARY]
        model = EnsembleSelection(fitted, prefit=True, n_rounds=10).fit(self.X[1::2], self.y[1::2])
        assert all(any(member is given for _, given in fitted) for member in model.estimators_)
        answers = np.stack([member.predict_proba(self.X[1::2]) for _, member in fitted])
        counts, _ = plain_selection(answers, lambda mean: -log_loss(self.y[1::2], np.maximum(mean, 0)), 10)
        np.testing.assert_allclose(model.estimator_weights_, counts[counts > 0] / counts.sum())

    def test_several_labels(self):
        X, Y = make_multilabel_classification(100, 5, n_classes=3, random_state=0)
        library = [one for one in LIBRARY if one[0] != "bayes"]
        for scoring in (None, "f1_macro"):
            model = EnsembleSelection(library, n_rounds=5, scoring=scoring).fit(X, Y)
            assert model.predict_proba(X).shape == (100, 3)
            np.testing.assert_array_equal(model.predict(X), model.predict_proba(X) > 0.5)

    def test_row_weights_count_in_the_metric(self, says):
        y = np.tile(["a", "b"], 20)
        rows = np.arange(40.0)[:, None]
        members = [(name, says(np.tile(table, (40, 1)))) for name, table in (("a", [0.9, 0.1]), ("b", [0.1, 0.9]))]
        for scoring in ("accuracy", None, make_scorer(accuracy_score)):
            model = EnsembleSelection(members, n_rounds=1, scoring=scoring)
            for heavy in ("a", "b"):
                model.fit(rows, y, sample_weight=np.where(y == heavy, 3.0, 1.0))
                assert list(model.named_estimators_) == [heavy]


class TestBags:
    X, y = load_wine(return_X_y=True)

    def test_are_averaged(self):
        model = EnsembleSelection(LIBRARY, n_rounds=6, n_bags=5, random_state=0).fit(self.X, self.y)
        assert len(model.path_) == 5
        assert model.estimator_weights_.sum() == pytest.approx(1)
        assert len(model.estimators_) > 1

    def test_have_at_least_one_member(self):
        model = EnsembleSelection(LIBRARY, n_rounds=6, n_initial=4, n_bags=3, bag_fraction=0.01, random_state=0)
        assert model.fit(self.X, self.y).estimator_weights_.sum() == pytest.approx(1)


class TestRegressors:
    X, y = load_diabetes(return_X_y=True)

    @pytest.mark.parametrize("scoring", [None, "r2", "neg_mean_absolute_error", "neg_median_absolute_error"])
    def test_are_chosen_by_out_of_fold_predictions(self, scoring):
        model = EnsembleSelection(NUMBERS, n_rounds=8, scoring=scoring).fit(self.X, self.y)
        answers = np.stack([cross_val_predict(member, self.X, self.y, cv=5) for _, member in NUMBERS])

        def score(mean):
            return get_scorer(scoring or "neg_mean_squared_error")(KnownValues(mean), np.zeros((442, 1)), self.y)

        counts, path = plain_selection(answers, score, 8)
        np.testing.assert_allclose(model.path_[0], path)
        np.testing.assert_allclose(model.estimator_weights_, counts[counts > 0] / counts.sum())
        alone = [member.predict(self.X) for member in model.estimators_]
        np.testing.assert_allclose(model.predict(self.X), model.estimator_weights_ @ alone)
        assert model.score(self.X, self.y) == r2_score(self.y, model.predict(self.X))

    def test_scikit_learn_knows_what_it_is(self):
        assert is_regressor(EnsembleSelection(NUMBERS))
        assert not is_classifier(EnsembleSelection(NUMBERS))
        assert is_classifier(EnsembleSelection(LIBRARY))
        assert not hasattr(EnsembleSelection(NUMBERS), "predict_proba")
        assert not hasattr(EnsembleSelection(NUMBERS).fit(self.X, self.y), "classes_")
        assert cross_val_score(EnsembleSelection(LIBRARY, n_rounds=3), *load_iris(return_X_y=True), cv=3).mean() > 0.9


class TestBadInput:
    X, y = load_iris(return_X_y=True)

    @pytest.mark.parametrize(
        ("settings", "sentence"),
        [
            ({"n_initial": 60}, "n_initial must be at most n_rounds, 50, not 60"),
            ({"bag_fraction": 1.5}, "bag_fraction must be above 0 and at most 1"),
            ({"scoring": "sharpness"}, "sharpness"),
            ({"estimators": [("svc", LinearSVC())]}, "'svc' has no predict_proba, which ensemble selection needs"),
            ({"estimators": [("a", GaussianNB()), ("b", Ridge())]}, "'b' must be a classifier"),
            ({"estimators": [("b", Ridge()), ("a", GaussianNB())]}, "'a' must be a regressor"),
        ],
    )
    def test_settings_are_refused_before_any_work(self, settings, sentence):
        model = EnsembleSelection(LIBRARY).set_params(**settings)
        with pytest.raises((ValueError, TypeError), match=sentence):
            model.fit(np.full((150, 4), np.nan), self.y)
        with pytest.raises(NotFittedError):
            model.predict(self.X)

    def test_metrics_that_are_not_defined(self):
        with pytest.raises(ValueError, match="scoring returns NaN for the member 'bayes'"):
            EnsembleSelection(LIBRARY, scoring=lambda e, X, y: np.nan).fit(self.X, self.y)
