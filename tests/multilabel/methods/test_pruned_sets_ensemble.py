"""Ensembles of pruned sets: samples without copies, votes, and out-of-bag scores."""

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

from fuselearn import CARTClassifier, SVMClassifier
from fuselearn._core import draw_counts
from fuselearn.multilabel import EnsembleOfPrunedSetsClassifier, PrunedSetsClassifier

TREE = CARTClassifier(min_samples_split=4)


def members(X, Y, n_estimators, vote="class", estimator=TREE, **pruning):
    """Give the votes of the members, and which rows they have seen, by a plain loop."""
    for seed in np.random.default_rng(0).integers(2**62, size=n_estimators):
        drawn = draw_counts(int(np.random.default_rng(seed).integers(2**62)), np.ones(len(X)), len(X)) > 0
        model = PrunedSetsClassifier(estimator, **pruning).fit(X[drawn], Y[drawn])
        yield model.predict(X) if vote == "class" else model.predict_proba(X), drawn


@pytest.mark.parametrize("vote", ["class", "probability"])
@pytest.mark.parametrize(
    ("estimator", "pruning"), [(TREE, {}), (TREE, {"min_count": 6, "n_subsets": 1}), (GaussianNB(), {"min_count": 6})]
)
def test_votes_are_the_mean_of_pruned_sets_on_the_rows_drawn(labelled, vote, estimator, pruning):
    X, Y = labelled
    model = EnsembleOfPrunedSetsClassifier(estimator, 4, vote=vote, random_state=0, **pruning).fit(X, Y)
    votes = [votes for votes, _ in members(X, Y, 4, vote, estimator, **pruning)]
    np.testing.assert_allclose(model.predict_proba(X), np.mean(votes, axis=0), atol=1e-12)


def test_rules_that_learn_get_the_out_of_bag_votes(labelled):
    X, Y = labelled
    model = EnsembleOfPrunedSetsClassifier(TREE, 3, decision="cardinality", random_state=0).fit(X, Y)
    total, n_votes = np.zeros(Y.shape), np.zeros((80, 1))
    for votes, drawn in members(X, Y, 3):
        total += votes * ~drawn[:, None]
        n_votes += ~drawn[:, None]
    with np.errstate(invalid="ignore"):
        np.testing.assert_allclose(model.oob_decision_function_, total / n_votes)


@pytest.mark.parametrize("estimator", [SVMClassifier(probability="logistic"), TREE, GaussianNB()], ids=str)
def test_all_base_learners_take_columns_and_jobs(labelled, estimator):
    X, Y = labelled
    settings = {"max_features": 0.6, "decision": "per_label", "random_state": 0}
    n_jobs = 1 if isinstance(estimator, GaussianNB) else 2  # processes take seconds to start
    alone, together = (EnsembleOfPrunedSetsClassifier(estimator, 3, n_jobs=n, **settings) for n in (None, n_jobs))
    np.testing.assert_array_equal(alone.fit(X, Y).predict_proba(X), together.fit(X, Y).predict_proba(X))
