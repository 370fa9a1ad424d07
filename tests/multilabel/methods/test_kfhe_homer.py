"""KFHE-HOMER against the recursion written out in NumPy, and what is kept of it."""

import pickle
from functools import partial

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.naive_bayes import GaussianNB

from fuselearn import SVMClassifier
from fuselearn._core import draw_counts
from fuselearn.base import prepare_samples
from fuselearn.learners import bind
from fuselearn.multilabel import HOMERClassifier, KFHEHOMERClassifier
from fuselearn.multilabel.decisions import PerLabelThresholds
from fuselearn.multilabel.methods.homer import train_homer
from fuselearn.multilabel.methods.kfhe_homer import make_variety

rng = np.random.default_rng(0)
X = rng.normal(size=(120, 6)).round(2)
Y = (X @ rng.normal(size=(6, 16)) + rng.normal(size=(120, 16)) > 1.5).astype(np.int64)
NEW = rng.normal(size=(40, 6)).round(2)


class Contrary(ClassifierMixin, BaseEstimator):
    """Be right about all samples, and wrong about any that were drawn."""

    def fit(self, X, y, sample_weight=None):
        self.classes_ = np.unique(y)
        self.model_ = GaussianNB().fit(X, y, sample_weight)
        self.flips_ = sample_weight is not None and np.ptp(sample_weight) > 0
        return self

    def predict_proba(self, X):
        chances = self.model_.predict_proba(X)
        return chances[:, ::-1] if self.flips_ else chances

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


def hamming(scores):
    return np.mean((scores > 0.5) != Y, axis=1)


def run_plainly(model, sample_weight=None):
    """Draw samples, train HOMERs and run both filters as the paper has it; return the trace and the HOMERs' scores."""
    n = len(X)
    first_seed, *seeds = np.random.default_rng(0).integers(2**62, size=model.n_estimators + 1).tolist()
    learner = bind(model._base_estimator(), X)
    train = partial(train_homer, learner, Y.astype(np.int8))
    variety = make_variety(model, 16)
    shares = np.full(n, 1 / n) if sample_weight is None else sample_weight / sample_weight.sum()
    all_samples = np.ones(n, np.int32)
    first = train(all_samples, first_seed, variety.choose_first(first_seed), weights=sample_weight)

    estimate, variance = first.decisions(), 1.0  # y and P of the model filter
    weights, weight_variance = shares, 1.0
    components, samples, trace = [first], [], []
    for seed in seeds:
        trace.append({"train_error": shares @ hamming(estimate), "is_reset": False})
        counts = draw_counts(seed, weights, 2 * n)
        component = train(counts, seed, variety.choose(seed))
        if model.reset and shares @ hamming(component.decisions()) >= 0.5:
            weights, weight_variance = shares, 1.0
            counts = draw_counts(seed + 1, weights, 2 * n)
            component = train(counts, seed + 1, variety.choose(seed + 1))
            trace[-1]["is_reset"] = True
        components.append(component)
        samples.append(counts)

        measurement = (estimate + component.decisions()) / 2
        losses = hamming(measurement)
        error = shares @ losses
        gain, weight_gain = variance / (variance + error), weight_variance / (weight_variance + error)
        estimate = estimate + gain * (measurement - estimate)
        variance = (1 - gain) * variance
        if model.weighting == "exponential":
            measured = weights * np.exp(losses + 1 / n)
        else:
            measured = shares + weights * losses
            measured = measured / measured.sum()
        weights = weights + weight_gain * (measured - weights)
        weights = weights / weights.sum()
        weight_variance = (1 - weight_gain) * weight_variance
        trace[-1].update(error=error, gain=gain, variance=variance)
    columns = {name: np.array([step[name] for step in trace]) for name in trace[0]}
    return estimate, weights, columns, components, samples, learner


@pytest.mark.parametrize(
    ("settings", "weighted"),
    [
        ({"estimator": "tree"}, False),
        ({"estimator": "tree"}, True),
        ({"estimator": "tree", "weighting": "linear"}, False),
        ({"estimator": GaussianNB()}, False),
        ({"estimator": SVMClassifier(probability="logistic"), "varied": {"kernel": ["rbf", "linear"]}}, False),
        ({"estimator": Contrary(), "any_label": False}, False),
        ({"estimator": Contrary(), "any_label": False, "reset": None}, False),
    ],
    ids=str,
)
def test_it_is_the_recursion_written_out(settings, weighted):
    sample_weight = np.random.default_rng(1).choice([0.5, 2.5], 120) if weighted else None
    decision = PerLabelThresholds(0)
    # Clones take their time: a hierarchy of 16 labels has some thirty. Contrary ones need four measurements to reset.
    n_estimators = 2 if isinstance(settings["estimator"], GaussianNB) else 4
    model = KFHEHOMERClassifier(n_estimators=n_estimators, decision=decision, random_state=0, **settings)
    model.fit(X, Y, sample_weight)
    estimate, weights, trace, components, samples, learner = run_plainly(model, sample_weight)

    np.testing.assert_allclose(model.gains_, trace["gain"])
    np.testing.assert_allclose(model.variances_, trace["variance"])
    np.testing.assert_allclose(model.measurement_errors_, trace["error"])
    np.testing.assert_allclose(model.train_errors_[:-1], trace["train_error"])
    np.testing.assert_array_equal(model.resets_, np.flatnonzero(trace["is_reset"]) + 1)
    assert trace["is_reset"].any() == (isinstance(model.estimator, Contrary) and model.reset is not None)
    np.testing.assert_allclose(model.sample_weights_, weights)
    np.testing.assert_allclose(model._fused_.deciding().scores(prepare_samples(model, X)), estimate, atol=1e-6)

    rows = learner.prepare(NEW)
    scores, chances = (
        [answer(rows, only=np.arange(len(NEW))) for answer in answers]
        for answers in zip(*((component.decisions, component.scores) for component in components), strict=True)
    )
    blended = np.tensordot(model.estimator_weights_, scores, 1)
    np.testing.assert_array_equal(model.with_decision("path").predict(NEW), blended > 0.5)
    np.testing.assert_allclose(model.predict_proba(NEW), np.tensordot(model.estimator_weights_, chances, 1), atol=1e-12)
    stages = list(model.staged_predict_proba(NEW))
    expected = chances[0]
    for stage, gain, own in zip(stages, [0.0, *trace["gain"]], chances, strict=True):
        expected = (1 - gain / 2) * expected + gain / 2 * own
        np.testing.assert_allclose(stage, expected, atol=1e-12)

    total, known = np.zeros(Y.shape), np.zeros((120, 1))
    for component, counts, coefficient in zip(components[1:], samples, model.estimator_weights_[1:], strict=True):
        left_out = (counts == 0)[:, None]
        total += coefficient * component.scores() * left_out
        known += coefficient * left_out
    expected = np.divide(total, known, out=np.full(Y.shape, np.nan), where=known > 0)
    np.testing.assert_allclose(model.oob_decision_function_, expected, atol=1e-12)
    np.testing.assert_allclose(model.rule_.thresholds_, decision.fit(expected, Y, sample_weight).thresholds_)


@pytest.fixture(scope="module")
def model():
    return KFHEHOMERClassifier(
        SVMClassifier(probability="logistic"), 40, varied={"kernel": ["rbf", "linear"]}, random_state=0
    ).fit(X, Y)


def test_the_first_homer_is_balanced_and_radial_and_the_others_are_of_all_kinds(model):
    first, *others = model.estimators_
    assert isinstance(first, HOMERClassifier)
    assert (first.clustering, first.estimator.kernel) == ("balanced", "rbf")
    assert {homer.clustering for homer in others} == {"balanced", "kmeans", "random"}
    assert {homer.estimator.kernel for homer in others} == {"rbf", "linear"}
    assert {homer.n_clusters for homer in model.estimators_} == {2, 3, 4}


def test_it_learns(model):
    assert np.mean(model.predict(X) != Y) < 0.5 * min(Y.mean(), 1 - Y.mean())


def test_its_homers_show_their_hierarchies(model):
    assert model.estimators_[3].export_text().startswith("16 labels")
    drawn = [line.get_ydata() for axes in model.plot_trace().axes for line in axes.lines]
    assert any(np.array_equal(line, model.gains_) for line in drawn)


def test_a_saved_model_lets_go_of_the_gram_matrices(model):
    written = pickle.dumps(model)
    np.testing.assert_array_equal(pickle.loads(written).predict_proba(NEW), model.predict_proba(NEW))
    most_coefficients = 41 * 30 * 120 * 8  # HOMERs, models in each, rows, bytes for a coefficient and its place
    assert len(written) < most_coefficients
