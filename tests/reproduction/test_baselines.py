"""The rivals get categories, missing values and classes in the form that each supports."""

import numpy as np
import pandas as pd
import pytest
from fuselearn.lab.running import rivals
from fuselearn.lab.running.methods import METHODS, make_contenders
from fuselearn.lab.running.suites import get_suite
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression


@pytest.fixture
def fruit():
    X = pd.DataFrame(
        {
            "colour": pd.Categorical(["red", None, "green", "red"] * 10),
            "width": [1.0, np.nan, 3.0, 4.0] * 10,
        }
    )
    return X, np.array([0, 2, 5, 5] * 10)


class Recorder(ClassifierMixin, BaseEstimator):
    """Boosting as far as early stopping sees it: keeps what its fit was given."""

    def fit(self, X, y, eval_set, **options):
        self.seen_, self.labels_, self.validation_, self.options_ = X, y, eval_set, options
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        return np.full((len(X), len(self.classes_)), 1 / len(self.classes_))


def test_boosting_stops_on_samples_that_it_does_not_learn_from(fruit):
    X, y = fruit
    model = rivals.EarlyStoppingClassifier(Recorder(), fit_options=rivals._without_log, random_state=0).fit(X, y)
    inner = model.estimator_
    ((X_held, y_held),) = inner.validation_
    assert len(X_held) == 8  # a fifth of 10, of 10 and of 20
    assert sorted([*inner.seen_.index, *X_held.index]) == list(range(40))
    assert set(inner.labels_) == set(y_held) == {0, 1, 2}  # numbered without gaps
    assert inner.options_ == {"verbose": False}
    assert model.classes_.tolist() == [0, 2, 5]
    assert model.predict_proba(X).shape == (40, 3)
    assert set(model.predict(X)) <= {0, 2, 5}


@pytest.mark.parametrize("sizes", [[1, 1], [2, 1, 1], [40, 1], [30, 20, 2]])
def test_a_validation_part_leaves_a_sample_of_each_class_to_learn_from(sizes):
    codes = np.repeat(np.arange(len(sizes)), sizes)
    held = rivals.hold_out(codes, 0.2, random_state=0)
    if max(sizes) > 1:
        assert set(codes[~held]) == set(codes)
    assert held.any()
    assert not held.all()


def test_catboost_gets_categories_as_text(fruit):
    X, _ = fruit
    text = rivals._as_text(X)
    assert text["colour"].tolist()[:3] == ["red", "missing", "green"]
    assert text["width"].isna().sum() == 10
    assert rivals._with_categories(text) == {"cat_features": ["colour"], "verbose": False}


def test_logistic_regression_gets_scaled_numbers_and_one_column_per_category(fruit):
    X, y = fruit
    model = rivals.logistic_regression().fit(X, y)
    table = model[:-1].transform(X)
    table = table.toarray() if hasattr(table, "toarray") else table
    assert table.shape == (40, 4)  # the width, and three columns: green, red and missing
    assert table[:, 0].mean() == pytest.approx(0, abs=1e-12)
    assert table[:, 0].std() == pytest.approx(1)
    assert set(np.unique(table[:, 1:])) == {0.0, 1.0}
    assert isinstance(model[-1], LogisticRegression)


def test_greedy_selection_has_the_members_of_the_fused_classifier(fruit):
    X, y = fruit
    full = X.fillna({"width": 2.0, "colour": "red"})
    for table, has_svm in ((X, False), (full, True)):
        model = rivals.GreedySelectionClassifier(n_rounds=2, n_components=2, random_state=0)
        library = model.fit(table, y).estimator_.library_scores_
        assert ("svm" in library) == has_svm
    assert model.classes_.tolist() == [0, 2, 5]


def test_clean_learning_drops_samples_and_may_lose_a_class(fruit):
    pytest.importorskip("cleanlab", reason="the package cleanlab is not installed")
    X, y = fruit
    y = y.copy()
    y[3] = 7  # the only sample of its class, which is no class to cleanlab
    model = rivals.CleanLearningClassifier(rivals.one_hot(RandomForestClassifier(n_estimators=10)), random_state=0)
    model.fit(X, y)
    assert model.predict_proba(X).shape == (40, len(model.classes_))
    assert set(model.predict(X)) <= set(y)


def test_tabpfn_says_that_its_weights_are_missing(monkeypatch, tmp_path):
    monkeypatch.delenv(rivals.TABPFN_WEIGHTS, raising=False)
    with pytest.raises(ValueError, match=r"set TABPFN_WEIGHTS to the path of tabpfn-v2-classifier\.ckpt; got ''"):
        METHODS["TabPFN"].make()


def test_a_method_without_its_packages_is_missing_by_name(monkeypatch):
    known = {"cleanlab"}
    monkeypatch.setattr("fuselearn.lab.running.methods.is_installed", known.__contains__)
    _, missing = make_contenders(["CleanLearning (LightGBM)", "CatBoost (stopped)", "TabPFN"])
    assert missing == {"CleanLearning (LightGBM)": "lightgbm", "CatBoost (stopped)": "catboost", "TabPFN": "tabpfn"}


def test_robust_compares_the_rivals():
    suite = get_suite("robust")
    assert len(suite.datasets) >= 35
    assert set(suite.methods) <= set(METHODS)
    assert suite.noise == (0.0, 0.05, 0.1, 0.2, 0.3, 0.4)
