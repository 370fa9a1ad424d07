"""What all decision rules have in common, and rules for a parameter."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import f1_score

from fuselearn.multilabel.decisions import (
    AtLeastOne,
    CardinalityThreshold,
    DecisionRule,
    PerLabelThresholds,
)
from fuselearn.multilabel.decisions.rules import RULES, make_decision_rule

LEARNED = ("cardinality", "per_label", "macro_f1", "micro_f1", "known_sets")


class TestEveryRule:
    @pytest.mark.parametrize("name", RULES)
    def test_predicts_zeros_and_ones_and_leaves_the_scores_alone(self, simulate, name):
        scores, Y = simulate(40)
        before = scores.copy()
        decisions = make_decision_rule(name).fit(scores, sparse.csr_array(Y))(scores)
        assert decisions.shape == (40, 4)
        assert decisions.dtype == np.int64
        assert set(np.unique(decisions)) <= {0, 1}
        np.testing.assert_array_equal(scores, before)

    @pytest.mark.parametrize("name", RULES)
    def test_tells_whether_it_needs_scores(self, name):
        rule = make_decision_rule(name)
        assert rule.needs_scores == (name in LEARNED)
        if rule.needs_scores:
            with pytest.raises(NotFittedError):
                rule([[0.1, 0.9]])
        else:
            assert rule([[0.1, 0.9]]).tolist() == [[0, 1]]

    @pytest.mark.parametrize("name", LEARNED)
    def test_samples_without_out_of_sample_scores_do_not_count(self, simulate, name):
        scores, Y = simulate(60)
        some, kept = scores.copy(), np.arange(60) % 3 > 0
        some[~kept] = np.nan
        rule, expected = make_decision_rule(name).fit(some, Y), make_decision_rule(name).fit(scores[kept], Y[kept])
        np.testing.assert_array_equal(rule(scores), expected(scores))

    def test_a_clone_is_not_fitted(self, simulate):
        copy = clone(PerLabelThresholds(3).fit(*simulate(20)))
        assert copy.shrinkage == 3
        assert not hasattr(copy, "thresholds_")

    def test_the_rule_for_f1_of_samples_is_best_on_average(self, simulate):
        scores, Y = simulate(3000)
        rules = {name: make_decision_rule(name).fit(scores, Y) for name in RULES}
        mean = {name: f1_score(Y, rule(scores), average="samples", zero_division=1) for name, rule in rules.items()}
        assert max(mean, key=mean.get) == "expected_f1"


class TestAtLeastOne:
    def test_the_most_probable_label_if_none(self):
        scores = np.array([[0.3, 0.4, 0.1], [0.6, 0.9, 0.2], [0.2, 0.2, 0.1]])
        assert AtLeastOne()(scores).tolist() == [[0, 1, 0], [1, 1, 0], [1, 0, 0]]

    def test_over_a_rule_that_is_learned(self, simulate):
        scores, Y = simulate()
        rule, inner = AtLeastOne("cardinality").fit(scores, Y), CardinalityThreshold().fit(scores, Y)
        some = inner(scores).any(axis=1)
        assert 0 < some.sum() < 400
        np.testing.assert_array_equal(rule(scores)[some], inner(scores)[some])
        assert (rule(scores)[~some].sum(axis=1) == 1).all()

    def test_needs_what_the_other_needs(self):
        assert not AtLeastOne(0.3).needs_scores
        assert AtLeastOne("per_label").needs_scores
        with pytest.raises(NotFittedError):
            AtLeastOne("per_label")([[0.1, 0.2]])


class TestMaking:
    def test_numbers_are_thresholds_which_are_exceeded(self):
        assert make_decision_rule(0.0)([[0.0, 0.1]]).tolist() == [[0, 1]]
        assert make_decision_rule(np.float32(0.5))([[0.5, 0.500001, 0.4]]).tolist() == [[0, 1, 0]]

    def test_objects_are_copied(self):
        rule = PerLabelThresholds(2)
        made = make_decision_rule(rule)
        assert made is not rule
        assert made.shrinkage == 2

    @pytest.mark.parametrize("spec", ["best", None, True, [0.5]])
    def test_unknown_ones_get_a_sentence(self, spec):
        with pytest.raises(ValueError, match=r"decision must be one of 'half', .* or a DecisionRule, not"):
            make_decision_rule(spec, "decision")

    @pytest.mark.parametrize("threshold", [-0.1, 1.5, np.nan])
    def test_thresholds_are_probabilities(self, threshold):
        with pytest.raises(ValueError, match="rule must be"):
            make_decision_rule(threshold)


class TestBadInput:
    @pytest.mark.parametrize(
        ("scores", "Y", "sentence"),
        [
            (np.zeros(3), np.zeros((3, 1)), "scores must have shape"),
            (np.zeros((3, 2)), np.zeros((3, 3)), r"same shape, not \(3, 2\) and \(3, 3\)"),
            (np.zeros((3, 2)), np.full((3, 2), 2), "Y must hold 0 and 1"),
            (np.full((3, 2), np.nan), np.zeros((3, 2)), "NaN for every sample"),
            (np.full((3, 2), np.inf), np.zeros((3, 2)), "infinite"),
        ],
    )
    def test_fit_gets_a_sentence(self, scores, Y, sentence):
        with pytest.raises(ValueError, match=sentence):
            PerLabelThresholds().fit(scores, Y)

    @pytest.mark.parametrize(
        ("parameters", "sentence"),
        [
            ({"shrinkage": -1}, "shrinkage must be a finite number of at least 0"),
            ({"towards": "best"}, "towards must be 'cardinality' or 'half', not 'best'"),
            ({"towards": 2}, "towards must be a number from 0 to 1"),
            ({"min_positives": 0}, "min_positives must be at least 1, not 0"),
        ],
    )
    def test_parameters_get_a_sentence(self, simulate, parameters, sentence):
        with pytest.raises(ValueError, match=sentence):
            PerLabelThresholds(**parameters).fit(*simulate(20))

    def test_weights_get_a_sentence(self, simulate):
        with pytest.raises(ValueError, match="sample_weight has negative"):
            PerLabelThresholds().fit(*simulate(20), sample_weight=np.full(20, -1.0))

    def test_scores_to_decide_by_get_a_sentence(self, simulate):
        with pytest.raises(ValueError, match="scores has NaN"):
            make_decision_rule("half")([[0.1, np.nan]])
        for name in ("per_label", "known_sets"):
            with pytest.raises(ValueError, match="scores must have 4 labels, as in fit, not 3"):
                make_decision_rule(name).fit(*simulate(20))(np.zeros((2, 3)))

    def test_the_base_is_no_rule(self):
        with pytest.raises(NotImplementedError):
            DecisionRule()([[0.5]])
