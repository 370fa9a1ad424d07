"""E-HOMER: equal votes, samples of twice the rows, out-of-bag scores."""

import numpy as np
import pytest

from fuselearn._core import draw_counts
from fuselearn.base import prepare_samples
from fuselearn.multilabel import EnsembleHOMERClassifier

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
