"""KFHE over multi-label classifiers: the recursion redone from its parts, resets, weights, and out-of-bag scores."""

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.multioutput import ClassifierChain
from sklearn.tree import DecisionTreeClassifier

from fuselearn.multilabel import BinaryRelevanceClassifier, KFHEMultilabelClassifier
from fuselearn.multilabel.decisions import CardinalityThreshold
from fuselearn.multilabel.methods.kfhe import LabelTruth

rng = np.random.default_rng(0)
X = rng.normal(size=(100, 5)).round(2)
Y = (X @ rng.normal(size=(5, 4)) + rng.normal(size=(100, 4)) > 0.7).astype(np.int64)
NEW = rng.normal(size=(30, 5)).round(2)


def answers(model, X):
    return [model._fused_.models[t].scores(X) for t in range(model.n_iter_ + 1)]


def test_blending_worked_out_by_hand():
    estimate = np.array([[0.8, 0.2], [0.3, 0.9]])
    scores = np.array([[0.6, 0.7], [0.9, 0.3]])
    truth = LabelTruth(np.array([0.25, 0.75]), np.array([[True, True], [True, False]]))
    measurement = truth.compare(estimate, SimpleNamespace(decisions=lambda: scores))
    error, own, before = measurement.errors
    np.testing.assert_allclose(measurement.z, [[0.7, 0.45], [0.6, 0.6]])
    np.testing.assert_allclose(measurement.loss, [0.5, 0.5])
    assert error == pytest.approx(0.5)
    assert own == pytest.approx(0.0)
    assert before == pytest.approx(0.25 * 0.5 + 0.75 * 1.0)


def test_a_score_of_one_half_does_not_mean_the_label():
    np.testing.assert_array_equal(LabelTruth(np.ones(1), np.array([[True, False]])).losses(np.full((1, 2), 0.5)), [0.5])


@pytest.mark.parametrize("estimator", [RandomForestClassifier(5), None, BinaryRelevanceClassifier("tree")])
def test_the_trace_is_that_of_the_recursion(estimator):
    model = KFHEMultilabelClassifier(estimator, n_estimators=6, random_state=0).fit(X, Y)
    estimate, variance = answers(model, X)[0], 1.0
    assert model.train_errors_[0] == pytest.approx(np.mean((estimate > 0.5) != Y))
    for t, h in enumerate(answers(model, X)[1:]):
        z = (estimate + h) / 2
        error = np.mean((z > 0.5) != Y)
        gain = variance / (variance + error)
        estimate = estimate + gain * (z - estimate)
        variance *= 1 - gain
        assert model.measurement_errors_[t] == pytest.approx(error)
        assert model.gains_[t] == pytest.approx(gain)
        assert model.variances_[t] == pytest.approx(variance)
        assert model.train_errors_[t + 1] == pytest.approx(np.mean((estimate > 0.5) != Y))
    np.testing.assert_allclose(model.predict_proba(X), estimate)


def test_the_first_classifier_sees_every_row_once():
    tree = DecisionTreeClassifier(max_depth=3)
    model = KFHEMultilabelClassifier(tree, n_estimators=1, random_state=0).fit(X, Y)
    first = model.estimators_[0]
    expected = DecisionTreeClassifier(max_depth=3, random_state=first.random_state).fit(X, Y)
    for ours, theirs in zip(first.predict_proba(NEW), expected.predict_proba(NEW), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_weights_of_rows_follow_their_losses():
    model = KFHEMultilabelClassifier(None, n_estimators=1, random_state=0).fit(X, Y)
    first, second = answers(model, X)
    losses = np.mean(((first + second) / 2 > 0.5) != Y, axis=1)
    gain = model.gains_[0]
    expected = (1 - gain) / 100 + gain * np.exp(losses + 1 / 100) / 100
    np.testing.assert_allclose(model.sample_weights_, expected / expected.sum())


def test_stages_end_where_prediction_does():
    model = KFHEMultilabelClassifier(n_estimators=4, random_state=0).fit(X, Y)
    stages = list(model.staged_predict_proba(NEW))
    assert len(stages) == model.n_iter_ + 1
    np.testing.assert_allclose(stages[0], answers(model, NEW)[0])
    np.testing.assert_allclose(stages[-1], model.predict_proba(NEW))
    assert model.estimator_weights_.sum() == pytest.approx(1.0)


class Contrarian(BinaryRelevanceClassifier):
    """Be right about all rows, and wrong about any sample."""

    def fit(self, X, y, sample_weight=None):
        is_all = sample_weight is None or (sample_weight == 1).all()
        return super().fit(X, y if is_all else 1 - y, sample_weight)


def test_classifiers_worse_than_guessing_are_replaced_once():
    model = KFHEMultilabelClassifier(Contrarian("tree"), n_estimators=3, random_state=0).fit(X, Y)
    np.testing.assert_array_equal(model.resets_, [1, 2, 3])
    kept = KFHEMultilabelClassifier(Contrarian("tree"), n_estimators=3, reset=None, random_state=0).fit(X, Y)
    assert len(kept.resets_) == 0


def test_twice_as_many_rows_are_drawn_as_there_are(recorder):
    chain = ClassifierChain(recorder)
    KFHEMultilabelClassifier(chain, n_estimators=1, random_state=0).fit(X, Y)
    assert [len(y) for _, y, _ in recorder.tables] == [100] * 4 + [200] * 4
    recorder.tables.clear()
    KFHEMultilabelClassifier(chain, n_estimators=1, max_samples=0.5, random_state=0).fit(X, Y)
    assert [len(y) for _, y, _ in recorder.tables] == [100] * 4 + [50] * 4


def test_rows_without_weight_are_never_drawn(recorder):
    marked = np.column_stack([X, np.arange(100)])
    weights = np.where(np.arange(100) < 60, 1.0, 0.0)
    KFHEMultilabelClassifier(ClassifierChain(recorder), n_estimators=2, random_state=0).fit(marked, Y, weights)
    assert all(table[:, 5].max() < 60 for table, _, _ in recorder.tables)


def test_rules_are_fitted_on_rows_that_a_classifier_has_not_seen(recorder):
    """A row's score is the mean over those that have not seen it, by their coefficients; the first has seen all."""
    marked = np.column_stack([np.arange(100), X])
    chain = ClassifierChain(recorder)
    model = KFHEMultilabelClassifier(chain, n_estimators=3, decision="cardinality", random_state=0).fit(marked, Y)
    samples = [table[:, 0] for table, _, _ in recorder.tables[4::4]]  # a chain fits four labels
    total, known = np.zeros(Y.shape), np.zeros((100, 1))
    for numbers, scores, coefficient in zip(
        samples, answers(model, marked)[1:], model.estimator_weights_[1:], strict=True
    ):
        left_out = ~np.isin(np.arange(100), numbers)[:, None]
        total += coefficient * scores * left_out
        known += coefficient * left_out
    expected = np.divide(total, known, out=np.full(Y.shape, np.nan), where=known > 0)
    assert 0 < np.isnan(expected).any(axis=1).sum() < 100
    np.testing.assert_allclose(model.oob_decision_function_, expected)
    assert model.rule_.threshold_ == CardinalityThreshold().fit(expected, Y).threshold_


def test_a_classifier_that_never_learns_is_no_obstacle():
    """Its scores are the shares of the labels in its sample, and their blend is what every row gets."""
    model = KFHEMultilabelClassifier(DummyClassifier(), n_estimators=2, random_state=0).fit(X, Y)
    shares = [[prior[1] for prior in one.class_prior_] for one in model.estimators_]
    np.testing.assert_allclose(shares[0], Y.mean(axis=0))
    np.testing.assert_allclose(model.predict_proba(NEW), np.tile(model.estimator_weights_ @ shares, (30, 1)))
