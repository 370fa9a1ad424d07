"""Trained HOMERs: samples as counts, answers for training samples and for new ones."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_multilabel_classification

from fuselearn import CARTClassifier, SVMClassifier
from fuselearn.learners import bind
from fuselearn.multilabel import EnsembleHOMERClassifier
from fuselearn.multilabel.methods.homer import HOMERSettings, train_homer

rng = np.random.default_rng(0)
X = rng.normal(size=(90, 4)).round(2)
Y = (X @ rng.normal(size=(4, 7)) + rng.normal(size=(90, 7)) > 1.0).astype(np.int8)
COUNTS = rng.poisson(1.5, 90).astype(np.int32)
SVM = HOMERSettings("balanced", 2, True, {"kernel": "rbf", "probability": "logistic"})


@pytest.fixture(scope="module")
def learner():
    return bind(SVMClassifier(), X)


def test_bound_rows_and_passed_rows_get_the_same_answers(learner):
    model = train_homer(learner, Y, COUNTS, 0, SVM)
    np.testing.assert_allclose(model.decisions(), model.decisions(learner.prepare(X)), atol=1e-6)


def test_some_rows_get_the_answers_that_they_get_among_all(learner):
    model = train_homer(learner, Y, COUNTS, 0, SVM)
    only = np.array([8, 2, 55])
    np.testing.assert_array_equal(model.decisions(only=only), model.decisions()[only])


def test_counts_are_copies():
    copies = np.repeat(np.arange(90), COUNTS)
    other, drawn = (bind(SVMClassifier(scaling=None), table) for table in (X, X[copies]))
    expected = train_homer(drawn, Y[copies], np.ones(len(copies), np.int32), 0, SVM).decisions()
    np.testing.assert_allclose(train_homer(other, Y, COUNTS, 0, SVM).decisions()[copies], expected, atol=5e-3)


def test_a_sample_without_any_label_teaches_that_there_are_none(learner):
    counts = (~Y.any(axis=1)).astype(np.int32)
    assert counts.any()
    assert (train_homer(learner, Y, counts, 0, SVM).decisions() == 0.0).all()


def test_another_seed_gives_another_hierarchy(learner):
    one, other = (train_homer(learner, Y, COUNTS, seed, SVM).hierarchy for seed in (0, 1))
    assert [g.tolist() for g in one[0].groups] != [g.tolist() for g in other[0].groups]


def test_an_unbound_model_answers_for_new_rows_only():
    learner = bind(CARTClassifier(), X)
    model = train_homer(learner, Y, COUNTS, 0, HOMERSettings("random", 3, True, {}))
    expected = model.decisions()
    learner.release()
    with pytest.raises(RuntimeError, match="have been released"):
        model.decisions()
    np.testing.assert_allclose(model.decisions(learner.prepare(X)), expected)


@pytest.mark.parametrize("svm", [SVMClassifier(), SVMClassifier(probability="logistic", scaling="minmax")])
@pytest.mark.parametrize("as_table", [np.asarray, sparse.csr_array])
def test_few_samples_get_the_scores_that_many_get(svm, as_table):
    X, Y = make_multilabel_classification(120, 12, n_classes=7, random_state=0)
    Y = np.column_stack([Y, np.zeros(120), np.arange(120) == 3]).astype(int)
    X = as_table(X)
    varied = {"kernel": ["rbf", "linear"]}
    model = EnsembleHOMERClassifier(svm, 6, varied=varied, random_state=0).fit(X, Y)
    one_by_one = np.vstack([model.predict_proba(X[[sample]]) for sample in range(120)])
    np.testing.assert_allclose(one_by_one, model.predict_proba(X), rtol=0, atol=1e-12)
    scores, decided = model._sum(model._fused_.deciding(), X), model._fused_.deciding()
    few = np.vstack([model._sum(decided, X[[sample]]) for sample in range(120)])
    assert decided.packed is not None
    np.testing.assert_allclose(few, scores, rtol=0, atol=1e-12)
