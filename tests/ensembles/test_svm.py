"""Support vector machines as a classifier: scikit-learn's contract, its machines, weights, and ensembles of them."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine
from sklearn.naive_bayes import GaussianNB
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from fuselearn import BaggedClassifier, KFHEClassifier, SAMMEClassifier, SVMClassifier
from fuselearn.combine import ErrorCorrectingCodeClassifier
from fuselearn.learners.svm import SVMLearner

X, y = load_wine(return_X_y=True)
TWO = y < 2
LOGISTIC = SVMClassifier(probability="logistic")


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_two_classes_are_told_apart_as_svc_does(kernel):
    model = SVMClassifier(kernel=kernel, probability="logistic", gamma=0.1, C=2.0).fit(X[TWO], y[TWO])
    Z = StandardScaler().fit_transform(X[TWO])
    other = SVC(kernel=kernel, gamma=0.1, C=2.0 if kernel == "rbf" else 0.2).fit(Z, y[TWO])
    np.testing.assert_allclose(model.decision_function(X[TWO]), 2 * other.decision_function(Z), atol=0.02)


@pytest.mark.parametrize("probability", ["platt", "logistic", "sign"])
@pytest.mark.parametrize("target", [y, TWO])
def test_the_three_answers_agree(probability, target):
    model = SVMClassifier(probability=probability, random_state=0).fit(X, target)
    scores, decisions = model.predict_proba(X), model.decision_function(X)
    np.testing.assert_allclose(scores.sum(axis=1), 1.0)
    if decisions.ndim == 1:
        decisions = np.column_stack([-decisions, decisions])
    np.testing.assert_array_equal(model.classes_[decisions.argmax(axis=1)], model.predict(X))
    np.testing.assert_array_equal(model.classes_[scores.argmax(axis=1)], model.predict(X))


def test_class_weights_are_sample_weights():
    names = np.array(["red", "white", "rose"])[y]
    weights = {"red": 1.0, "white": 5.0, "rose": 0.5}
    by_class = clone(LOGISTIC).set_params(class_weight=weights).fit(X, names)
    by_sample = clone(LOGISTIC).fit(X, names, sample_weight=[weights[name] for name in names])
    np.testing.assert_allclose(by_class.predict_proba(X), by_sample.predict_proba(X), atol=1e-6)
    balanced = clone(LOGISTIC).set_params(class_weight="balanced").fit(X, names)
    shares = len(y) / (3 * np.bincount(y))
    np.testing.assert_allclose(
        balanced.predict_proba(X), clone(LOGISTIC).fit(X, names, shares[y]).predict_proba(X), atol=1e-6
    )


def test_many_samples_are_predicted_in_parts(monkeypatch):
    model = SVMClassifier(random_state=0).fit(X, y)
    fused = KFHEClassifier(LOGISTIC, n_estimators=2, random_state=0).fit(X, y)
    expected = [one.predict_proba(X) for one in (model, fused)]
    monkeypatch.setattr("fuselearn.learners.svm.KERNEL_VALUES", 50 * len(X))
    for one, before in zip((model, fused), expected, strict=True):
        np.testing.assert_allclose(one.predict_proba(X), before, atol=1e-12)


@pytest.mark.parametrize("make", [KFHEClassifier, SAMMEClassifier, BaggedClassifier])
class TestEnsembles:
    def test_all_machines_share_one_table(self, make, monkeypatch):
        bound = []
        init = SVMLearner.__init__
        monkeypatch.setattr(SVMLearner, "__init__", lambda self, *args: (bound.append(self), init(self, *args))[1])
        model = make(LOGISTIC, n_estimators=4, random_state=0).fit(X, y)
        assert len(bound) == 1
        assert bound[0].table._bound is None
        assert model.score(X, y) > 0.97

    def test_members_are_classifiers(self, make):
        model = make(LOGISTIC, n_estimators=3, random_state=0).fit(pd.DataFrame(X).rename(columns=str), y)
        member = model.estimators_[1]
        assert isinstance(member, SVMClassifier)
        assert member.feature_names_in_.tolist() == model.feature_names_in_.tolist()
        assert member.score(pd.DataFrame(X).rename(columns=str), y) > 0.7


def test_the_first_machine_of_kfhe_is_the_classifier_alone():
    model = KFHEClassifier(LOGISTIC, n_estimators=1, random_state=0).fit(X, y)
    np.testing.assert_allclose(model.estimators_[0].predict_proba(X), clone(LOGISTIC).fit(X, y).predict_proba(X))


def test_some_features_per_member():
    iris, species = load_iris(return_X_y=True)
    model = BaggedClassifier(LOGISTIC, 3, max_features=2, random_state=0, oob_score=True).fit(iris, species)
    alone = [model.estimators_[k].predict_proba(iris).argmax(axis=1) for k in range(3)]
    np.testing.assert_allclose(model.predict_proba(iris), np.mean([np.eye(3)[votes] for votes in alone], axis=0))
    assert model.oob_score_ > 0.8


def test_output_codes():
    model = ErrorCorrectingCodeClassifier(LOGISTIC, random_state=0).fit(X, y)
    other = ErrorCorrectingCodeClassifier(GaussianNB(), random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.code_book_, other.code_book_)
    assert model.score(X, y) > 0.97
