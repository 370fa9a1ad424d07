"""Ensembles of chains and of binary relevance: samples, columns, votes, and out-of-bag scores."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.naive_bayes import GaussianNB

from fuselearn import CARTClassifier, SVMClassifier
from fuselearn._core import draw_counts
from fuselearn._parameters import count_draws
from fuselearn.fusion import WeightedSum
from fuselearn.learners import LabelModel, bind
from fuselearn.multilabel import (
    EnsembleHOMERClassifier,
    EnsembleOfBinaryRelevanceClassifier,
    EnsembleOfChainsClassifier,
    EnsembleOfPrunedSetsClassifier,
    KFHEHOMERClassifier,
    KFHEMultilabelClassifier,
    PCTForestClassifier,
    RAkELClassifier,
)
from fuselearn.multilabel.decisions import CardinalityThreshold
from fuselearn.multilabel.methods.binary_relevance import train_relevance
from fuselearn.multilabel.methods.chain import train_chain

TREE = CARTClassifier(min_samples_split=4)
LOGISTIC = SVMClassifier(probability="logistic")
both = pytest.mark.parametrize("make", [EnsembleOfChainsClassifier, EnsembleOfBinaryRelevanceClassifier])


def small(make, **kwargs):
    return make(kwargs.pop("estimator", TREE), kwargs.pop("n_estimators", 5), random_state=0, **kwargs)


def members(make, X, Y, n_draws, n_features, n_estimators=5, estimator=TREE):
    """Give the probabilities and the samples of the members, by a plain loop."""
    for seed in np.random.default_rng(0).integers(2**62, size=n_estimators):
        rng = np.random.default_rng(seed)
        columns = np.arange(X.shape[1])
        if n_features < len(columns):
            columns = np.sort(rng.choice(len(columns), n_features, replace=False))
        counts = draw_counts(int(rng.integers(2**62)), np.ones(len(X)), n_draws)
        learner = bind(estimator, X[:, columns])
        if make is EnsembleOfChainsClassifier:
            order = rng.permutation(Y.shape[1])
            model = train_chain(learner, Y, counts, int(rng.integers(2**31)), order=order)
        else:
            model = train_relevance(learner, Y, counts, int(rng.integers(2**31)))
        yield model.scores(), counts


@pytest.mark.parametrize("vote", ["class", "probability"])
@pytest.mark.parametrize(("max_samples", "max_features"), [(1.0, None), (2.0, 0.5), (50, 3)])
@both
def test_votes_are_the_mean_of_the_members(labelled, make, max_samples, max_features, vote):
    X, Y = labelled
    model = small(make, max_samples=max_samples, max_features=max_features, vote=vote).fit(X, Y)
    n_draws, n_features = {1.0: 80, 2.0: 160, 50: 50}[max_samples], {None: 5, 0.5: 2, 3: 3}[max_features]
    chances = [member for member, _ in members(make, X, Y, n_draws, n_features)]
    votes = [member > 0.5 if vote == "class" else member for member in chances]
    np.testing.assert_allclose(model.predict_proba(X), np.mean(votes, axis=0), atol=1e-12)
    assert len({member.tobytes() for member in chances}) == 5


@pytest.mark.parametrize("vote", ["class", "probability"])
@both
def test_rules_that_learn_get_the_out_of_bag_votes(labelled, make, vote):
    X, Y = labelled
    model = small(make, n_estimators=3, decision="cardinality", vote=vote).fit(X, Y)
    total, n_votes = np.zeros(Y.shape), np.zeros((80, 1))
    for chances, counts in members(make, X, Y, 80, 5, 3):
        total += (chances > 0.5 if vote == "class" else chances) * (counts == 0)[:, None]
        n_votes += (counts == 0)[:, None]
    with np.errstate(invalid="ignore"):
        np.testing.assert_allclose(model.oob_decision_function_, total / n_votes)
    assert np.isnan(model.oob_decision_function_).any()
    assert model.rule_.threshold_ > 0


@both
def test_other_rules_do_without_them(labelled, make):
    assert not hasattr(small(make, decision=0.5).fit(*labelled), "oob_decision_function_")


@both
def test_a_rule_that_learns_does_not_change_the_votes(labelled, make):
    X, Y = labelled
    plain, learned = (small(make, decision=rule).fit(X, Y).predict_proba(X) for rule in (0.5, "per_label"))
    np.testing.assert_array_equal(plain, learned)


@both
def test_if_every_member_has_seen_all_samples_folds_are_left_out(labelled, make):
    X, Y = labelled
    model = small(make, n_estimators=1, max_samples=100.0, decision="cardinality").fit(X[:20], Y[:20])
    assert np.isnan(model.oob_decision_function_).all()
    problem = model._bind_again(X[:20], Y[:20].astype(np.int8), None)
    scores = model._hold_out(problem, model._fold_seed_)
    assert model.rule_.threshold_ == CardinalityThreshold().fit(scores, Y[:20]).threshold_


@pytest.mark.parametrize("estimator", [LOGISTIC, GaussianNB()], ids=str)
@both
def test_other_base_learners_see_the_same_samples_and_columns(labelled, make, estimator):
    X, Y = labelled
    model = small(make, estimator=estimator, n_estimators=3, max_features=0.6, vote="probability").fit(X, Y)
    chances = [member for member, _ in members(make, X, Y, 80, 3, 3, estimator)]
    np.testing.assert_allclose(model.predict_proba(X), np.mean(chances, axis=0), atol=1e-4)


def test_shares_are_rounded_and_draw_at_least_one_row():
    assert [count_draws(share, 10) for share in (0.01, 0.26, 1.0, 2.04)] == [1, 3, 10, 20]


class Fixed(LabelModel):
    """Have the same scores, and twice as large decisions, for all samples."""

    def __init__(self, scores):
        self.fixed = np.array(scores)

    def scores(self, X=None, *, appended=None, only=None):
        return np.tile(self.fixed, (len(X), 1))

    def decisions(self, X=None, *, only=None):
        return 2 * self.scores(X)


@pytest.mark.parametrize(
    ("output", "expected"), [("scores", [0.25, 0.15]), ("decisions", [0.5, 0.3]), ("votes", [0.75, 0.25])]
)
def test_sums_of_probabilities_of_decisions_and_of_votes(output, expected):
    fused = WeightedSum([Fixed([0.1, 0.3]), Fixed([0.3, 0.1])], np.array([0.25, 0.75]), 2, output)
    np.testing.assert_allclose(fused.scores(np.zeros((3, 1))), [expected] * 3)
    np.testing.assert_allclose(fused.scores(np.zeros((3, 1)), 2), [expected] * 3)


EVERY_ENSEMBLE = [
    EnsembleOfChainsClassifier("tree", 4, random_state=0),
    EnsembleOfChainsClassifier("tree", 4, max_features=3, random_state=0),
    EnsembleOfBinaryRelevanceClassifier("tree", 4, random_state=0),
    EnsembleOfPrunedSetsClassifier("tree", 4, random_state=0),
    RAkELClassifier("tree", n_labelsets=4, random_state=0),
    EnsembleHOMERClassifier("tree", 4, random_state=0),
    KFHEHOMERClassifier("tree", 4, random_state=0),
    KFHEMultilabelClassifier(n_estimators=4, random_state=0),
    PCTForestClassifier(4, random_state=0),
]


@pytest.mark.parametrize("model", EVERY_ENSEMBLE, ids=lambda model: type(model).__name__)
def test_members_are_estimators_that_a_callback_gets(labelled, model):
    X, Y = labelled
    given = []
    stopped = clone(model).set_params(callback=lambda number, member: given.append((number, member)) or number == 2)
    stopped.fit(X, Y)
    whole = clone(model).fit(X, Y)
    n_first = len(whole) - 4  # KFHE's first model is no measurement
    assert [number for number, _ in given] == [1, 2]
    assert len(stopped) == len(stopped.estimators_) == n_first + 2
    assert stopped.estimator_weights_.sum() == pytest.approx(1.0)
    for (_, one), other in zip(given, whole.estimators_[n_first:], strict=False):
        np.testing.assert_array_equal(one.predict_proba(X), other.predict_proba(X))
    if not isinstance(model, RAkELClassifier):  # whose members have labels of their own
        answer = "predict" if getattr(model, "vote", "") == "class" else "predict_proba"
        weights, answers = whole.estimator_weights_, [getattr(member, answer)(X) for member in whole.estimators_]
        np.testing.assert_allclose(whole.predict_proba(X), np.tensordot(weights, answers, 1), atol=1e-12)


def test_members_of_rakel_have_labels_of_their_own(labelled):
    X, Y = labelled
    model = RAkELClassifier("tree", n_labelsets=3, random_state=0).fit(X, Y)
    total, n_votes = np.zeros(Y.shape), np.zeros(4)
    for labels, member in zip(model.labelsets_, model.estimators_, strict=True):
        assert member.labels_.tolist() == labels.tolist()
        total[:, labels] += member.predict(X)
        n_votes[labels] += 1
    np.testing.assert_allclose(model.predict_proba(X), total / n_votes)
