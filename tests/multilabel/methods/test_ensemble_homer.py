"""E-HOMER, and the settings that HOMERs of an ensemble choose from."""

from __future__ import annotations

import numpy as np
import pytest

from fuselearn import SVMClassifier
from fuselearn._core import draw_counts
from fuselearn.base import prepare_samples
from fuselearn.multilabel import EnsembleHOMERClassifier, KFHEHOMERClassifier
from fuselearn.multilabel.methods.kfhe_homer import HOMERVariety, list_cluster_numbers

rng = np.random.default_rng(0)
X = rng.normal(size=(100, 5)).round(2)
Y = (X @ rng.normal(size=(5, 6)) + rng.normal(size=(100, 6)) > 1.0).astype(np.int64)
NEW = rng.normal(size=(40, 5)).round(2)


def test_probabilities_are_averaged():
    model = EnsembleHOMERClassifier(n_estimators=7, random_state=0).fit(X, Y)
    mean = np.mean([homer.predict_proba(NEW) for homer in model.estimators_], axis=0)
    np.testing.assert_allclose(model.predict_proba(NEW), mean)
    scores = np.mean(
        [homer._fused_.deciding().scores(prepare_samples(homer, NEW)) for homer in model.estimators_], axis=0
    )
    np.testing.assert_array_equal(model.predict(NEW), scores > 0.5)
    np.testing.assert_array_equal(model.with_decision(0.5).predict(NEW), mean > 0.5)


def test_votes_are_counted():
    model = EnsembleHOMERClassifier(n_estimators=7, vote="class", random_state=0).fit(X, Y)
    shares = np.mean([homer.predict(NEW) for homer in model.estimators_], axis=0)
    np.testing.assert_allclose(model.predict_proba(NEW), shares)
    np.testing.assert_array_equal(model.predict(NEW), shares > 0.5)


@pytest.mark.parametrize("vote", ["class", "probability"])
def test_out_of_bag_scores_leave_out_who_has_seen_the_row(vote):
    model = EnsembleHOMERClassifier("tree", n_estimators=15, vote=vote, decision="cardinality", random_state=0)
    model.fit(X, Y)
    seeds = np.random.default_rng(0).integers(2**62, size=15)
    left_out = [np.flatnonzero(draw_counts(int(seed), np.ones(100), 200) == 0) for seed in seeds]
    answer = "predict" if vote == "class" else "predict_proba"
    samples = [(out, getattr(homer, answer)(X)) for out, homer in zip(left_out, model.estimators_, strict=True)]
    for row in range(0, 100, 9):
        seen_by_others = [scores[row] for left_out, scores in samples if row in left_out]
        expected = np.array(seen_by_others).mean(axis=0) if seen_by_others else np.full(6, np.nan)
        np.testing.assert_allclose(model.oob_decision_function_[row], expected)


def test_a_prefix_of_the_ensemble_is_a_smaller_ensemble():
    small, large = (EnsembleHOMERClassifier(n_estimators=n, random_state=0).fit(X, Y).estimators_ for n in (2, 4))
    for one, other in zip(small, large, strict=False):
        np.testing.assert_array_equal(one.predict_proba(NEW), other.predict_proba(NEW))


VARIETY = HOMERVariety(("balanced", "random"), range(2, 5), [{"kernel": "rbf"}, {"kernel": "linear"}], True)


@pytest.mark.parametrize(("n_labels", "most"), [(1, 2), (3, 2), (6, 2), (8, 2), (9, 3), (14, 3), (174, 13)])
def test_clusters_number_from_two_to_the_root_of_the_labels(n_labels, most):
    assert list(list_cluster_numbers(n_labels)) == list(range(2, most + 1))


def test_settings_are_chosen_uniformly_and_on_their_own():
    chosen = [VARIETY.choose(seed) for seed in range(2400)]
    numbers = {}
    for clustering, n_clusters, _, params in chosen:
        key = clustering, n_clusters, params["kernel"]
        numbers[key] = numbers.get(key, 0) + 1
    assert len(numbers) == 12
    assert max(abs(number - 200) for number in numbers.values()) < 60  # more than four standard deviations


def test_the_first_homer_chooses_its_number_of_clusters_only():
    chosen = [VARIETY.choose_first(seed) for seed in range(50)]
    assert {(settings.clustering, settings.params["kernel"]) for settings in chosen} == {("balanced", "rbf")}
    assert {settings.n_clusters for settings in chosen} == {2, 3, 4}


@pytest.fixture(scope="module")
def labelled():
    rng = np.random.default_rng(0)
    return rng.normal(size=(40, 3)), rng.integers(0, 2, (40, 3))


def varied_values(model, names):
    return {tuple(getattr(homer.estimator, name) for name in names) for homer in model.estimators_}


def test_each_kernel_may_have_its_own_factor(labelled):
    varied = [{"kernel": ["rbf"], "gamma": [0.5]}, {"kernel": ["linear"], "gamma": [1.0]}]
    model = EnsembleHOMERClassifier(SVMClassifier(C=2.0), 8, varied=varied, random_state=0).fit(*labelled)
    assert varied_values(model, ("kernel", "gamma", "C")) == {("rbf", 0.5, 2.0), ("linear", 1.0, 2.0)}


@pytest.mark.parametrize("make", [EnsembleHOMERClassifier, KFHEHOMERClassifier])
def test_machines_vary_their_kernel_unless_one_was_given(make, labelled):
    default, given = (make(machine, 8, random_state=0).fit(*labelled) for machine in (None, SVMClassifier()))
    assert varied_values(default, ["kernel"]) == {("rbf",), ("linear",)}
    assert varied_values(given, ["kernel"]) == {("rbf",)}


def test_parameters_of_any_base_learner_may_vary(labelled):
    X, Y = labelled
    model = EnsembleHOMERClassifier("tree", 8, varied={"max_depth": [1, 2]}, random_state=0).fit(X, Y)
    assert varied_values(model, ["max_depth"]) == {(1,), (2,)}
    first = model.estimators_[0]
    np.testing.assert_array_equal(first.predict_proba(X), first.with_decision(0.5).predict_proba(X))


@pytest.mark.parametrize(
    ("varied", "sentence"),
    [
        ({"gamma": [0.5, -1.0]}, "gamma must be a finite number of at least 0, not -1"),
        ({"depth": [1]}, "varied has parameters that SVMClassifier does not have: .*'depth'"),
        ({"scaling": ["minmax"]}, "scaling cannot differ"),
        ({"kernel": "rbf"}, "varied must be a dict of lists"),
        ("kernel", "varied must be a dict of lists"),
    ],
)
def test_what_cannot_vary(varied, sentence, labelled):
    with pytest.raises((ValueError, TypeError), match=sentence):
        EnsembleHOMERClassifier(n_estimators=4, varied=varied, random_state=0).fit(*labelled)
