"""scikit-learn's metadata routing: our estimators consume, and our combiners pass on, what is requested."""

import numpy as np
import pytest
import sklearn
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

import fuselearn
from fuselearn.combine import (
    AveragingRegressor,
    EnsembleSelection,
    FixedRuleClassifier,
    LinearStackingClassifier,
    LinearStackingRegressor,
)

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 3))
Y = (X[:, 0] + 0.3 * rng.normal(size=60) > 0).astype(int)
WEIGHTS = rng.uniform(0.5, 2.0, 60)
CONSUMERS = [
    fuselearn.CARTClassifier(),
    fuselearn.KFHEClassifier(n_estimators=3, random_state=0),
    fuselearn.FusedClassifier(n_estimators=2, cv=2, random_state=0),
]


@pytest.fixture(autouse=True)
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


class Recorder(BaseEstimator):
    """A model of the mean that records what its ``fit`` was passed."""

    def __init__(self, calls=None):
        self.calls = calls

    def __sklearn_clone__(self):
        twin = type(self)(self.calls)
        if hasattr(self, "_metadata_request"):
            twin._metadata_request = self._metadata_request
        return twin

    def fit(self, X, y, sample_weight=None, color=None):
        self.calls.append((X, sample_weight, color))
        self.classes_, counts = np.unique(y, return_counts=True)
        self.fractions_, self.mean_ = counts / len(y), np.mean(y)
        return self


class RecordingClassifier(ClassifierMixin, Recorder):
    def predict_proba(self, X):
        return np.tile(self.fractions_, (len(X), 1))

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


class RecordingRegressor(RegressorMixin, Recorder):
    def predict(self, X):
        return np.full(len(X), self.mean_)


COMBINERS = {
    "fixed": (lambda members: FixedRuleClassifier(members, "mean"), RecordingClassifier),
    "by performance": (
        lambda members: FixedRuleClassifier(members, "mean", weights="performance"),
        RecordingClassifier,
    ),
    "stacking": (lambda members: LinearStackingClassifier(members, cv=2), RecordingClassifier),
    "selection": (lambda members: EnsembleSelection(members, cv=2), RecordingClassifier),
    "fused": (lambda members: fuselearn.FusedClassifier(members, cv=2, random_state=0), RecordingClassifier),
    "averaging": (AveragingRegressor, RecordingRegressor),
    "stacked numbers": (lambda members: LinearStackingRegressor(members, cv=2), RecordingRegressor),
}
every_combiner = pytest.mark.parametrize(("make", "kind"), COMBINERS.values(), ids=COMBINERS)


@every_combiner
class TestCombiners:
    def test_members_get_what_they_request_and_nothing_else(self, make, kind):
        weighted, colored = kind([]), kind([])
        weighted.set_fit_request(sample_weight=True, color=False)
        colored.set_fit_request(sample_weight=False, color=True)
        model = make([("weighted", weighted), ("colored", colored)])
        model.fit(X, Y, sample_weight=WEIGHTS, color=X[:, 2])
        assert weighted.calls
        trusted = WEIGHTS * getattr(model, "sample_weights_", 1.0)  # of members that are fitted again
        for seen, weights, color in weighted.calls:
            assert any(np.array_equal(weights, those[places(seen)]) for those in (WEIGHTS, trusted))
            assert color is None
        assert colored.calls
        for seen, weights, color in colored.calls:
            np.testing.assert_array_equal(color, seen[:, 2])
            assert weights is None

    def test_what_is_not_per_sample_is_passed_as_it_is(self, make, kind):
        member = kind([]).set_fit_request(color=True)
        make([("member", member)]).fit(X, Y, color="blue")
        assert {color for _, _, color in member.calls} == {"blue"}

    def test_a_request_that_nobody_has_made_is_an_error(self, make, kind):
        with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
            make([("member", kind([]))]).fit(X, Y, sample_weight=WEIGHTS)
        with pytest.raises(TypeError, match="taste"):
            make([("member", kind([]))]).fit(X, Y, taste=1)

    def test_a_search_passes_metadata_through(self, make, kind):
        member = kind([]).set_fit_request(sample_weight=True, color=True)
        ensemble = make([("member", member)]).set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        search = GridSearchCV(make_pipeline(ensemble), {}, cv=2)
        search.fit(X, Y, sample_weight=WEIGHTS, color=X[:, 2])
        for seen, weights, color in member.calls:
            if not isinstance(ensemble, fuselearn.FusedClassifier):  # it fits members again, with other weights
                np.testing.assert_array_equal(weights, WEIGHTS[places(seen)])
            np.testing.assert_array_equal(color, seen[:, 2])

    def test_without_routing_only_weights_and_groups_are_taken(self, make, kind):
        with sklearn.config_context(enable_metadata_routing=False):
            with pytest.raises(TypeError, match="does not accept 'color'; sklearn"):
                make([("member", kind([]))]).fit(X, Y, color=1)
            member = kind([])
            make([("member", member)]).fit(X, Y, sample_weight=WEIGHTS)
            assert all(weights is not None for _, weights, _ in member.calls)


def places(seen):
    """Return which samples were seen."""
    return np.array([np.flatnonzero((row == X).all(axis=1))[0] for row in seen])


def test_groups_reach_a_combiner_in_a_search():
    groups = np.arange(60) % 6
    combiner = LinearStackingClassifier([("tree", fuselearn.CARTClassifier())], cv=GroupKFold(2))
    search = GridSearchCV(combiner, {}, cv=GroupKFold(2)).fit(X, Y, groups=groups)
    assert search.best_score_ > 0.5


@pytest.mark.usefixtures("threads")
def test_members_are_fitted_by_routing_in_other_threads_too():
    member = make_pipeline(MinMaxScaler(), RecordingClassifier([]).set_fit_request(sample_weight=True))
    model = FixedRuleClassifier([("one", member), ("two", member)], "mean", n_jobs=2)
    model.fit(X, Y, sample_weight=WEIGHTS)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)


@pytest.mark.parametrize("model", CONSUMERS, ids=lambda model: type(model).__name__)
class TestConsumers:
    def test_a_pipeline_in_a_search_passes_weights_on(self, model):
        asked = sklearn.clone(model).set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        search = GridSearchCV(make_pipeline(MinMaxScaler(), asked), {}, cv=2).fit(X, Y, sample_weight=WEIGHTS)
        scaled = MinMaxScaler().fit_transform(X)
        alone = sklearn.clone(model).fit(scaled, Y, sample_weight=WEIGHTS)
        np.testing.assert_array_equal(search.predict_proba(X), alone.predict_proba(scaled))

    def test_weights_that_are_not_requested_are_an_error(self, model):
        with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
            cross_validate(model, X, Y, params={"sample_weight": WEIGHTS}, cv=2)
