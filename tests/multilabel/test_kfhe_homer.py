"""KFHE-HOMER: random shapes, the shared loop, and what is kept of it."""

import pickle

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

from fuselearn.multilabel import HOMERClassifier, KFHEHOMERClassifier

rng = np.random.default_rng(0)
X = rng.normal(size=(120, 6)).round(2)
Y = (X @ rng.normal(size=(6, 16)) + rng.normal(size=(120, 16)) > 1.5).astype(np.int64)
NEW = rng.normal(size=(40, 6)).round(2)


@pytest.fixture(scope="module")
def model():
    return KFHEHOMERClassifier(n_estimators=40, probability="logistic", random_state=0).fit(X, Y)


def test_the_first_homer_is_balanced_and_radial_and_the_others_are_of_all_kinds(model):
    first, *others = model.estimators_
    assert isinstance(first, HOMERClassifier)
    assert (first.clustering, first.kernel) == ("balanced", "rbf")
    assert {homer.clustering for homer in others} == {"balanced", "kmeans", "random"}
    assert {homer.kernel for homer in others} == {"rbf", "linear"}
    assert {homer.n_clusters for homer in model.estimators_} == {2, 3, 4}


def test_the_trace_is_that_of_the_recursion(model):
    estimate, variance = model.estimators_[0].predict_proba(X), 1.0
    for t, homer in enumerate(model.estimators_[1:]):
        z = (estimate + homer.predict_proba(X)) / 2
        error = np.mean((z > 0.5) != Y)
        gain = variance / (variance + error)
        estimate = estimate + gain * (z - estimate)
        variance *= 1 - gain
        assert model.measurement_errors_[t] == pytest.approx(error)
        assert model.gains_[t] == pytest.approx(gain)
    np.testing.assert_allclose(model.predict_proba(X), estimate, atol=1e-6)
    assert model.n_iter_ == 40
    assert len(model.train_errors_) == 41


def test_it_learns(model):
    assert np.mean(model.predict(X) != Y) < 0.5 * min(Y.mean(), 1 - Y.mean())


def test_stages_end_where_prediction_does(model):
    *_, last = model.staged_predict_proba(NEW)
    np.testing.assert_allclose(last, model.predict_proba(NEW))


def test_its_homers_show_their_hierarchies(model):
    assert model.estimators_[3].export_text().startswith("16 labels")
    assert model.plot_trace().axes


def test_threads_change_nothing():
    one, two = (
        KFHEHOMERClassifier(n_estimators=3, random_state=0, n_jobs=n).fit(X, Y).predict_proba(NEW) for n in (1, 2)
    )
    np.testing.assert_array_equal(one, two)


def test_the_order_of_labels_does_not_matter():
    order = np.random.default_rng(1).permutation(16)
    model = KFHEHOMERClassifier(n_estimators=3, random_state=0)
    expected = model.fit(X, Y).predict_proba(NEW)[:, order]
    np.testing.assert_allclose(model.fit(X, Y[:, order]).predict_proba(NEW), expected, atol=1e-12)


@pytest.mark.parametrize("estimator", ["tree", GaussianNB()])
def test_other_base_learners(estimator):
    model = KFHEHOMERClassifier(estimator, n_estimators=3, random_state=0).fit(X, Y)
    assert {homer.estimator for homer in model.estimators_} == {estimator}
    assert model.predict_proba(NEW).shape == (40, 16)


def test_a_saved_model_lets_go_of_the_gram_matrices(model):
    written = pickle.dumps(model)
    np.testing.assert_array_equal(pickle.loads(written).predict_proba(NEW), model.predict_proba(NEW))
    most_coefficients = 41 * 30 * 120 * 8  # HOMERs, models in each, rows, bytes for a coefficient and its place
    assert len(written) < most_coefficients


def test_fitted_rules_use_rows_left_out():
    model = KFHEHOMERClassifier(n_estimators=20, decision="cardinality", probability="logistic", random_state=0)
    model.fit(X, Y)
    assert model.oob_decision_function_.shape == Y.shape
    assert model.predict(X).sum() == pytest.approx(Y.sum(), rel=0.5)


@pytest.mark.parametrize(
    ("parameters", "error", "sentence"),
    [
        ({"clusterings": ()}, TypeError, "clusterings must be a list or tuple"),
        ({"clusterings": "random"}, TypeError, "clusterings must be a list or tuple"),
        ({"clusterings": ("random", "ward")}, ValueError, "Each of clusterings must be .*, not 'ward'"),
        ({"kernels": ("cubic",)}, ValueError, "Each of kernels must be 'rbf' or 'linear', not 'cubic'"),
        ({"C": 0}, ValueError, "C must be above 0"),
        ({"n_estimators": 0}, ValueError, "n_estimators must be at least 1"),
    ],
)
def test_senseless_parameters_get_a_sentence(parameters, error, sentence):
    with pytest.raises(error, match=sentence):
        KFHEHOMERClassifier(**parameters).fit(X, Y)
