"""The baselines get categories, missing values and classes in the form that each supports."""

import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import hamming_loss

from fuselearn.combine.fused import default_members
from fuselearn.datasets import make_digit_pairs
from reproduction import baselines
from reproduction.experiments import EXPERIMENTS
from reproduction.methods import LABELS, make_methods


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
    model = baselines.EarlyStoppingClassifier(Recorder(), fit_options=baselines._without_log, random_state=0).fit(X, y)
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
    held = baselines.hold_out(codes, 0.2, random_state=0)
    if max(sizes) > 1:
        assert set(codes[~held]) == set(codes)
    assert held.any()
    assert not held.all()


def test_catboost_gets_categories_as_text(fruit):
    X, _ = fruit
    text = baselines._as_text(X)
    assert text["colour"].tolist()[:3] == ["red", "missing", "green"]
    assert text["width"].isna().sum() == 10
    assert baselines._with_categories(text) == {"cat_features": ["colour"], "verbose": False}


def test_logistic_regression_gets_scaled_numbers_and_one_column_per_category(fruit):
    X, y = fruit
    model = baselines.logistic_regression().fit(X, y)
    table = model[:-1].transform(X)
    table = table.toarray() if hasattr(table, "toarray") else table
    assert table.shape == (40, 4)  # the width, and three columns: green, red and missing
    assert table[:, 0].mean() == pytest.approx(0, abs=1e-12)
    assert table[:, 0].std() == pytest.approx(1)
    assert set(np.unique(table[:, 1:])) == {0.0, 1.0}
    assert isinstance(model[-1], LogisticRegression)


def test_greedy_selection_has_the_members_of_the_fused_classifier(fruit):
    expected = [repr(member.estimator) for member in default_members(2, seed=0)]
    assert [repr(member) for _, member in baselines.fused_members(2, seed=0)] == expected
    model = baselines.GreedySelectionClassifier(n_rounds=2, n_estimators=2, random_state=0).fit(*fruit)
    assert len(model.estimator_.library_scores_) == len(expected)
    assert model.classes_.tolist() == [0, 2, 5]


def test_clean_learning_drops_samples_and_may_lose_a_class(fruit):
    pytest.importorskip("cleanlab", reason="the package cleanlab is not installed")
    X, y = fruit
    y = y.copy()
    y[3] = 7  # the only sample of its class, which is no class to cleanlab
    model = baselines.CleanLearningClassifier(
        baselines.one_hot(RandomForestClassifier(n_estimators=10)), random_state=0
    )
    model.fit(X, y)
    assert model.predict_proba(X).shape == (40, len(model.classes_))
    assert set(model.predict(X)) <= set(y)


def test_tabpfn_says_that_its_weights_are_missing(monkeypatch, tmp_path):
    monkeypatch.delenv(baselines.TABPFN_WEIGHTS, raising=False)
    with pytest.raises(ValueError, match=r"set TABPFN_WEIGHTS to the path of tabpfn-v2-classifier\.ckpt; got ''"):
        baselines.tabpfn()


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_an_experiment_s_methods_are_there(name):
    suite, methods, _ = EXPERIMENTS[name]
    assert suite.name == name
    assert set(suite.methods) <= set(methods)
    installed = [method for method in suite.methods if not method.startswith(("CatBoost", "XGBoost", "Clean", "Light"))]
    assert set(installed) <= set(make_methods(installed, methods))


def test_ml_kfhe_cc_fuses_chains_in_random_orders():
    X, Y = make_digit_pairs(300, random_state=0)
    model = LABELS["ML-KFHE-CC"].make()
    assert model.n_estimators == 100, "and the first one"
    model.set_params(n_estimators=8, random_state=0).fit(X[:150], Y[:150])
    assert len({tuple(chain.order_) for chain in model.estimators_}) == len(model.estimators_) == 9
    fused, first = model.predict(X[150:]), model.estimators_[0].predict(X[150:])
    assert hamming_loss(Y[150:], fused) < hamming_loss(Y[150:], first)
    again = LABELS["ML-KFHE-CC"].make().set_params(n_estimators=8, random_state=0).fit(X[:150], Y[:150])
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_a_baseline_without_its_package_says_so(monkeypatch):
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    with pytest.raises(ValueError, match=r"LightGBM needs the package .*: pip install -r reproduction"):
        make_methods(["LightGBM"], EXPERIMENTS["robust"].methods)
    with pytest.raises(ValueError, match=r"--methods must be among Fused, .* got 'Magic'"):
        make_methods(["Magic"], EXPERIMENTS["robust"].methods)


def test_variants_bring_what_they_are_made_from():
    made = make_methods(["E-HOMER", "RF"], EXPERIMENTS["kfhe-homer"].methods)
    assert set(made) == {"E-HOMER", "E-HOMER (mean)", "RF", "RF (label thresholds)"}
