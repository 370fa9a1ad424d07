"""Label sets by fused probabilities and forests: the formula, what forests add, and when there are none."""

import numpy as np
import pytest
from scipy.special import log_softmax

from fuselearn import ForestClassifier
from fuselearn.multilabel import FusedMultilabelClassifier, PCTForestClassifier
from fuselearn.multilabel.decisions import KnownSets
from fuselearn.multilabel.methods import set_mixture
from fuselearn.multilabel.methods.set_mixture import START, SetMixture


def exclusive(n_samples, seed=0):
    """Make samples with either of two labels, which only the first feature tells, and useless probabilities."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_samples, 3))
    first = X[:, 0] > 0
    return X, np.full((n_samples, 2), 0.5), np.column_stack([first, ~first]).astype(np.int8)


@pytest.fixture(scope="module")
def rule():
    X, scores, Y = exclusive(200)
    scores = np.clip(Y + np.random.default_rng(1).normal(0, 0.6, Y.shape), 0.01, 0.99)
    return SetMixture(20, random_state=0).fit_samples(X, scores, Y, np.ones(200))


def test_forests_add_what_the_probabilities_of_labels_miss():
    X, scores, Y = exclusive(300)
    rule = SetMixture(20, random_state=0).fit_samples(X[:200], scores[:200], Y[:200], np.ones(200))
    assert (rule.decide(scores[200:], X[200:]) == Y[200:]).all(axis=1).mean() > 0.9


def test_forests_of_the_scores_add_what_the_sum_of_log_odds_misses():
    """The first label is true where both probabilities are alike; the features say nothing."""
    rng = np.random.default_rng(0)
    scores, X = rng.choice([0.3, 0.7], (300, 2)), rng.normal(size=(300, 2))
    first = scores[:, 0] == scores[:, 1]
    Y = np.column_stack([first, ~first]).astype(np.int8)
    rule = SetMixture(20, random_state=0).fit_samples(X[:200], scores[:200], Y[:200], np.ones(200))
    assert (rule.decide(scores[200:], X[200:]) == Y[200:]).all()


def test_without_forests_it_decides_as_known_sets():
    rng = np.random.default_rng(0)
    X, scores, Y = rng.normal(size=(80, 2)), rng.random((80, 3)), rng.integers(0, 2, (80, 3)).astype(np.int8)
    rule, known = SetMixture(4, random_state=0).fit_samples(X, scores, Y, np.ones(80)), KnownSets().fit(scores, Y)
    known.shift_, known.prior_, rule.coef_ = 0.0, 0.5, np.array([1.0, 0.0, 0.5, 0.0])
    np.testing.assert_array_equal(rule.decide(scores, X), known(scores))


def test_large_tables_are_decided_in_parts(rule, monkeypatch):
    X, scores, _ = exclusive(50, seed=2)
    whole = rule.decide(scores, X)
    monkeypatch.setattr(set_mixture, "N_CELLS", 6)
    np.testing.assert_array_equal(rule.decide(scores, X), whole)
    assert rule.decide(scores[:0], X[:0]).shape == (0, 2)


def test_the_coefficients_have_the_least_loss():
    rng = np.random.default_rng(0)
    table, own, weights = rng.normal(size=(4, 30, 4)), rng.integers(0, 4, 30), rng.random(30)

    def loss(coef):
        return 5 * ((coef - START) ** 2).sum() - weights @ log_softmax(np.tensordot(coef, table, 1), 1)[range(30), own]

    best = set_mixture._minimize(table, own, weights)
    others = best + rng.normal(0, 0.01, (50, 4))
    assert loss(best) < min(map(loss, others))


def test_a_sample_does_not_count_for_its_own_set(monkeypatch):
    """With the useless forest of a set's frequency, its own sample would make every set look likelier."""
    seen = []
    monkeypatch.setattr(set_mixture, "_minimize", lambda table, *_: seen.append(table) or START)
    X, scores, Y = exclusive(5)
    Y[:] = [[0, 1]] * 3 + [[1, 0]] * 2
    SetMixture(2, random_state=0).fit_samples(X, scores, Y, np.ones(5))
    np.testing.assert_allclose(np.exp(seen[0][2]), [[2 / 4, 2 / 4]] * 3 + [[3 / 4, 1 / 4]] * 2)


class TestFused:
    def test_both_forests_learn_from_the_samples_with_a_weight(self):
        X, _, Y = exclusive(60)
        Y[-1] = 0
        members = [("a", PCTForestClassifier(10, random_state=0))]
        model = FusedMultilabelClassifier(members, optimize="subset", n_estimators=2, random_state=0)
        model.fit(X, Y, np.append(np.ones(59), 0.0))
        assert model.rule_.sets_.tolist() == [[0, 1], [1, 0]]
        assert [forest.splitter for forest in model.rule_.forests_] == ["best", "random"]
        assert {forest.n_estimators for forest in model.rule_.forests_} == {8}
        assert all(isinstance(forest, ForestClassifier) for forest in model.rule_.forests_)
        assert [forest.n_features_in_ for forest in model.rule_.score_forests_] == [2, 2]

    @pytest.mark.parametrize("Y", [np.eye(12, dtype=int), np.tile([1, 0, 1], (12, 1))], ids=["unique", "the same"])
    def test_no_forests_without_several_sets_or_repetition(self, Y):
        members = [("a", PCTForestClassifier(5, random_state=0))]
        model = FusedMultilabelClassifier(members, optimize="subset", random_state=0)
        assert isinstance(model.fit(np.arange(12.0)[:, None], Y).rule_, KnownSets)

    def test_another_rule_of_the_same_model_needs_no_forests(self):
        X, _, Y = exclusive(60)
        members = [("a", PCTForestClassifier(10, random_state=0))]
        model = FusedMultilabelClassifier(members, optimize="subset", random_state=0).fit(X, Y)
        assert isinstance(model.with_decision("known_sets", X, Y).rule_, KnownSets)
        with pytest.raises(ValueError, match="also needs the features of the samples"):
            model.rule_(model.predict_proba(X))
