"""Decision rules: thresholds counted by hand and found again by trying every one."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import f1_score

from fuselearn.multilabel.decisions.rules import (
    RULES,
    AtLeastOne,
    CardinalityThreshold,
    DecisionRule,
    ExpectedF1,
    FixedThreshold,
    MacroF1Thresholds,
    MicroF1Threshold,
    PerLabelThresholds,
    make_decision_rule,
)
from fuselearn.multilabel.decisions.thresholds import match_cardinality

LEARNED = ("cardinality", "per_label", "macro_f1", "micro_f1", "known_sets")

coarse = st.sampled_from(np.linspace(0, 1, 11)) | st.floats(0, 1)
tables = st.tuples(st.integers(1, 12), st.integers(1, 4)).flatmap(
    lambda shape: st.tuples(arrays(float, shape, elements=coarse), arrays(np.int64, shape, elements=st.integers(0, 1)))
)


def simulate(n_rows=400, seed=0):
    """Draw probabilities of four labels, three of them rare, and labels that follow them."""
    rng = np.random.default_rng(seed)
    scores = rng.beta(1, [1, 6, 12, 30], size=(n_rows, 4))
    return scores, (rng.random(scores.shape) < scores).astype(int)


def label_f1(truth, predicted):
    return 2 * (truth * predicted).sum() / max(truth.sum() + predicted.sum(), 1)


class TestFixedThreshold:
    def test_is_strict(self):
        assert FixedThreshold()([[0.5, 0.500001, 0.4]]).tolist() == [[0, 1, 0]]
        assert FixedThreshold(0.0)([[0.0, 0.1]]).tolist() == [[0, 1]]

    def test_gives_whole_numbers(self):
        assert FixedThreshold()(np.zeros((0, 3))).dtype == np.int64


class TestCardinality:
    def test_by_hand(self):
        """Scores fall 0.9, 0.8, 0.6, 0.3, 0.3, 0.1; three rows with 4 labels: after 3 and after 5, 3 has the higher."""
        scores = np.array([[0.9, 0.3], [0.8, 0.3], [0.6, 0.1]])
        rule = CardinalityThreshold().fit(scores, [[1, 1], [1, 0], [1, 0]])
        assert rule.threshold_ == pytest.approx(0.45)
        assert rule(scores).sum() == 3

    @settings(max_examples=60)
    @given(tables)
    def test_no_threshold_comes_nearer(self, table):
        scores, Y = table
        predicted = CardinalityThreshold().fit(scores, Y)(scores).sum()
        others = [(scores > t).sum() for t in np.append(np.unique(scores), 0.0)]
        assert abs(predicted - Y.sum()) == np.abs(np.array(others) - Y.sum()).min()

    def test_without_labels_nothing_is_predicted(self):
        scores = np.array([[1.0, 0.2], [0.3, 1.0]])
        assert not CardinalityThreshold().fit(scores, np.zeros((2, 2)))(scores).any()

    def test_on_rows_to_predict(self):
        scores = simulate()[0]
        assert (scores > match_cardinality(scores, 1.25)).sum() == 500

    def test_a_weight_of_two_is_a_row_drawn_twice(self):
        scores, Y = simulate(30)
        weights = np.random.default_rng(0).integers(0, 3, size=30)
        twice = CardinalityThreshold().fit(np.repeat(scores, weights, axis=0), np.repeat(Y, weights, axis=0))
        assert CardinalityThreshold().fit(scores, Y, weights).threshold_ == pytest.approx(twice.threshold_)


class TestMicroF1:
    @settings(max_examples=60)
    @given(tables)
    def test_no_threshold_has_a_better_micro_f1(self, table):
        scores, Y = table
        rule = MicroF1Threshold().fit(scores, Y)
        others = [label_f1(Y, scores > t) for t in np.append(scores.ravel(), 0.0)]
        assert label_f1(Y, rule(scores)) == pytest.approx(max(others))

    def test_without_labels_it_is_a_half(self):
        assert MicroF1Threshold().fit([[0.2, 0.9]], [[0, 0]]).threshold_ == 0.5

    def test_with_true_probabilities_it_is_half_of_the_f1(self):
        scores, Y = simulate(20000)
        threshold = MicroF1Threshold().fit(scores, Y).threshold_
        assert threshold == pytest.approx(label_f1(Y, scores > threshold) / 2, abs=0.02)

    def test_a_weight_of_nine_is_a_row_drawn_nine_times(self):
        scores, Y = simulate(50)
        weights = np.random.default_rng(0).choice([0, 1, 9], size=50)
        drawn = MicroF1Threshold().fit(np.repeat(scores, weights, axis=0), np.repeat(Y, weights, axis=0))
        assert MicroF1Threshold().fit(scores, Y, weights).threshold_ == pytest.approx(drawn.threshold_)


class TestPerLabel:
    scores = np.array([[0.9], [0.7], [0.6], [0.4], [0.2]])
    Y = np.array([[1], [0], [1], [0], [0]])
    unguarded = staticmethod(partial(PerLabelThresholds, min_positives=1))

    def test_by_hand(self):
        """F1 after 1 to 5 rows: 2/3, 2/4, 4/5, 4/6, 4/7. Best between 0.6 and 0.4; two positives: 0.5 stays 0.5."""
        assert self.unguarded(0).fit(self.scores, self.Y).thresholds_ == pytest.approx([0.5])
        lowered = self.unguarded(0).fit(self.scores / 2, self.Y)
        assert lowered.thresholds_ == pytest.approx([0.25])
        shrunk = self.unguarded(6, towards="half").fit(self.scores / 2, self.Y)
        assert shrunk.thresholds_ == pytest.approx([0.5 - 0.25 * 2 / (2 + 6)])

    @settings(max_examples=60)
    @given(tables)
    def test_no_threshold_has_a_better_f1(self, table):
        scores, Y = table
        rule = self.unguarded(0).fit(scores, Y)
        decisions = rule(scores)
        for j in range(Y.shape[1]):
            others = [label_f1(Y[:, j], scores[:, j] > t) for t in np.append(scores[:, j], 0.0)]
            assert label_f1(Y[:, j], decisions[:, j]) == pytest.approx(max(others))

    def test_equal_scores_are_not_parted(self):
        """A threshold between the first and the second 0.6 would have F1 = 1."""
        rule = self.unguarded(0).fit([[0.6], [0.6], [0.1]], [[1], [0], [0]])
        assert rule.thresholds_ == pytest.approx([0.35])

    def test_neighbouring_floats_are_parted(self):
        high = 0.5
        low = np.nextafter(high, 0)
        for above, under in ((high, low), (np.nextafter(high, 1), high)):
            scores = np.array([[above], [under]])
            assert self.unguarded(0).fit(scores, [[1], [0]])(scores).tolist() == [[1], [0]]

    @pytest.mark.parametrize("shrinkage", [0, 10])
    def test_labels_without_positives_or_without_scores_keep_a_half(self, shrinkage):
        scores = np.array([[0.9, 0.0], [0.7, 0.0]])
        rule = self.unguarded(shrinkage, towards="half").fit(scores, [[0, 1], [0, 1]])
        assert rule.thresholds_.tolist() == [0.5, 0.5]

    def test_towards_another_threshold(self):
        """Two positives and a shrinkage of 6 go a quarter of the way from 0.1 to the best threshold, 0.25."""
        assert self.unguarded(6, towards=0.1).fit(self.scores / 2, self.Y).thresholds_ == pytest.approx(
            [0.1 + 0.15 * 2 / (2 + 6)]
        )

    def test_towards_the_threshold_of_the_cardinality(self):
        scores, Y = simulate(300)
        common = CardinalityThreshold().fit(scores, Y).threshold_
        alone = self.unguarded(0).fit(scores, Y).thresholds_
        rule = PerLabelThresholds(20, towards="cardinality").fit(scores, Y)
        positives = Y.sum(axis=0)
        np.testing.assert_allclose(rule.thresholds_, common + (alone - common) * positives / (positives + 20))

    def test_by_default_towards_the_cardinality(self):
        scores, Y = simulate(300)
        named = PerLabelThresholds(10, towards="cardinality").fit(scores, Y).thresholds_
        np.testing.assert_array_equal(PerLabelThresholds().fit(scores, Y).thresholds_, named)
        half = PerLabelThresholds(towards="half").fit(scores, Y).thresholds_
        np.testing.assert_array_equal(half, PerLabelThresholds(towards=0.5).fit(scores, Y).thresholds_)
        assert (half[1:] > named[1:]).all()

    def test_labels_with_few_positives_have_the_common_threshold(self):
        """One label has four positive samples, the other five."""
        scores, Y = simulate(100)
        Y[:, 1:3] = 0
        Y[:4, 1] = Y[:5, 2] = 1
        common = CardinalityThreshold().fit(scores, Y).threshold_
        guarded, free = PerLabelThresholds(0).fit(scores, Y).thresholds_, self.unguarded(0).fit(scores, Y).thresholds_
        assert guarded[1] == common != free[1]
        np.testing.assert_array_equal(guarded[[0, 2]], free[[0, 2]])

    def test_many_labels_of_one_sample_are_not_predicted_everywhere(self):
        rng = np.random.default_rng(0)
        scores = rng.beta(1, 30, size=(200, 100))
        Y = np.eye(200, 100, dtype=int)
        assert PerLabelThresholds(0).fit(scores, Y)(scores).mean() < 0.02
        assert self.unguarded(0).fit(scores, Y)(scores).mean() > 0.2

    def test_labels_without_positives_have_the_common_threshold(self):
        scores, Y = simulate(50)
        Y[:, 1] = 0
        assert PerLabelThresholds(towards=0.3).fit(scores, Y).thresholds_[1] == 0.3
        rule = PerLabelThresholds(towards="cardinality").fit(scores, Y)
        assert rule.thresholds_[1] == CardinalityThreshold().fit(scores, Y).threshold_

    def test_a_label_of_all_rows_gets_a_low_threshold(self):
        rule = self.unguarded(0).fit([[0.4], [0.2]], [[1], [1]])
        assert rule.thresholds_ == pytest.approx([0.1])

    def test_helps_rare_labels(self):
        rule = PerLabelThresholds().fit(*simulate(2000))
        scores, Y = simulate(2000, seed=1)
        half = f1_score(Y, FixedThreshold()(scores), average="macro", zero_division=0)
        assert f1_score(Y, rule(scores), average="macro", zero_division=0) > half + 0.1

    @pytest.mark.parametrize("seed", range(5))
    def test_a_weight_of_nine_is_a_row_drawn_nine_times(self, seed):
        scores, Y = simulate(50, seed)
        weights = np.random.default_rng(seed).choice([0, 1, 9], size=50)
        rule = self.unguarded(0).fit(scores, Y, weights)
        drawn = self.unguarded(0).fit(np.repeat(scores, weights, axis=0), np.repeat(Y, weights, axis=0))
        np.testing.assert_allclose(rule.thresholds_, drawn.thresholds_)

    def test_the_scale_of_the_weights_does_not_matter(self):
        scores, Y = simulate(50)
        np.testing.assert_allclose(
            PerLabelThresholds().fit(scores, Y).thresholds_,
            PerLabelThresholds().fit(scores, Y, np.full(50, 1e-6)).thresholds_,
        )

    def test_another_number_of_labels_gets_a_sentence(self):
        rule = PerLabelThresholds().fit(*simulate(20))
        with pytest.raises(ValueError, match="scores must have 4 labels, as in fit, not 3"):
            rule(np.zeros((2, 3)))


class TestMacroF1:
    def test_by_hand(self):
        """The probabilities sum to 1.6: 2 * 0.8 / 2.6 = .615, 2 * 1.4 / 3.6 = .778, 2 * 1.6 / 4.6 = .696."""
        scores, Y = np.array([[0.8], [0.6], [0.2]]), np.array([[1], [0], [0]])
        assert MacroF1Thresholds(0).fit(scores, Y).thresholds_ == pytest.approx([0.4])
        common = CardinalityThreshold().fit(scores, Y).threshold_
        assert common == pytest.approx(0.7)
        assert MacroF1Thresholds(3).fit(scores, Y).thresholds_ == pytest.approx([0.7 - 0.3 / (1 + 3)])

    def test_flipped_labels_by_hand(self):
        """Of 12 labels with 4 positives a tenth was flipped: 2.8 / 0.8 = 3.5 remain, with a variance of 12 / 64 * 9.

        Two samples have the best expected F1, 2.8 / 3.7; three would have by probabilities that are not corrected.
        """
        scores = np.array([[0.1 + 0.8 * p] for p in (0.8, 0.6, 0.3, *[0.0] * 9)])
        Y = np.array([[1]] * 4 + [[0]] * 8)
        weight = 3.5**2 / (3.5 + 12 * 0.09 / 0.64)
        expected = 0.5 + (0.1 + 0.8 * 0.45 - 0.5) * weight / (weight + 2)
        assert MacroF1Thresholds(noise_rate=0.1).fit(scores, Y).thresholds_ == pytest.approx([expected])

    @settings(max_examples=60)
    @given(tables)
    def test_no_threshold_has_a_better_expected_f1(self, table):
        scores, Y = table
        Y[0] = 1
        decisions = MacroF1Thresholds(0).fit(scores, Y)(scores)
        for p, decided in zip(scores.T, decisions.T, strict=True):
            others = [label_f1(p, p > t) for t in np.append(p, 0.0)]
            if max(others) > 0:
                assert label_f1(p, decided) == pytest.approx(max(others))

    def test_is_that_of_the_labels_if_there_are_many(self):
        scores, Y = simulate(20000)
        by_labels = PerLabelThresholds(0).fit(scores, Y).thresholds_
        np.testing.assert_allclose(MacroF1Thresholds(0).fit(scores, Y).thresholds_, by_labels, atol=0.05)

    def test_is_better_than_that_of_few_labels(self):
        gains = []
        for seed in range(30):
            new, truth = simulate(2000, 1000 + seed)
            rules = [rule.fit(*simulate(60, seed)) for rule in (PerLabelThresholds(), MacroF1Thresholds())]
            by_labels, expected = (f1_score(truth, rule(new), average="macro", zero_division=1) for rule in rules)
            gains.append(expected - by_labels)
        assert np.mean(gains) > 0.01

    def test_labels_without_positives_have_the_common_threshold(self):
        scores, Y = simulate(50)
        Y[:, 1] = 0
        common = CardinalityThreshold().fit(scores, Y).threshold_
        assert MacroF1Thresholds().fit(scores, Y).thresholds_[1] == common
        assert MacroF1Thresholds(noise_rate=0.3).fit(scores, Y).thresholds_[1] == 0.5

    def test_a_weight_of_nine_is_a_row_drawn_nine_times(self):
        scores, Y = simulate(50)
        weights = np.random.default_rng(0).choice([0, 1, 9], size=50)
        drawn = MacroF1Thresholds(0).fit(np.repeat(scores, weights, axis=0), np.repeat(Y, weights, axis=0))
        np.testing.assert_allclose(MacroF1Thresholds(0).fit(scores, Y, weights).thresholds_, drawn.thresholds_)

    def test_unknown_labels_do_not_count(self):
        scores, Y = simulate(60)
        hidden = Y.astype(float)
        hidden[::3, 0] = np.nan
        kept = np.arange(60) % 3 > 0
        found = MacroF1Thresholds(0).fit(scores, hidden)(scores[kept])
        expected = MacroF1Thresholds(0).fit(scores[kept], Y[kept])(scores[kept])
        np.testing.assert_array_equal(found[:, 0], expected[:, 0])

    def test_a_negative_shrinkage_gets_a_sentence(self):
        with pytest.raises(ValueError, match="shrinkage must be a finite number of at least 0"):
            MacroF1Thresholds(-1).fit(*simulate(20))


class TestAtLeastOne:
    def test_the_most_probable_label_if_none(self):
        scores = np.array([[0.3, 0.4, 0.1], [0.6, 0.9, 0.2], [0.2, 0.2, 0.1]])
        assert AtLeastOne()(scores).tolist() == [[0, 1, 0], [1, 1, 0], [1, 0, 0]]

    def test_over_a_rule_that_is_learned(self):
        scores, Y = simulate()
        rule = AtLeastOne("cardinality").fit(scores, Y)
        inner = CardinalityThreshold().fit(scores, Y)
        some = inner(scores).any(axis=1)
        assert 0 < some.sum() < 400
        np.testing.assert_array_equal(rule(scores)[some], inner(scores)[some])
        assert (rule(scores)[~some].sum(axis=1) == 1).all()

    def test_needs_what_the_other_needs(self):
        assert not AtLeastOne().needs_scores
        assert not AtLeastOne(0.3).needs_scores
        assert AtLeastOne("per_label").needs_scores
        with pytest.raises(NotFittedError):
            AtLeastOne("per_label")([[0.1, 0.2]])


class TestExpectedF1:
    def test_unsure_labels_are_better_than_none(self):
        """f(0) = 0.6^3 = 0.216; all three: more than a half of the rows have one or two of them."""
        assert ExpectedF1()([[0.4, 0.4, 0.4]]).all()

    def test_is_best_on_average(self):
        scores, Y = simulate(3000)
        rules = {name: make_decision_rule(name).fit(scores, Y) for name in RULES}
        mean = {name: f1_score(Y, r(scores), average="samples", zero_division=1) for name, r in rules.items()}
        assert max(mean, key=mean.get) == "expected_f1"

    def test_wants_probabilities(self):
        with pytest.raises(ValueError, match=r"probabilities from 0 to 1, not scores from -1 to 0\.5"):
            ExpectedF1()([[-1.0, 0.5]])
        with pytest.raises(ValueError, match="empty must be a number from 0 to 1"):
            ExpectedF1(empty=3)([[0.1, 0.5]])

    def test_rounding_errors_are_no_error(self):
        assert ExpectedF1()([[1 + 1e-12, -1e-12]]).tolist() == [[1, 0]]


class TestEveryRule:
    @pytest.mark.parametrize("name", RULES)
    def test_labels_come_out_as_zeros_and_ones(self, name):
        scores, Y = simulate(40)
        decisions = make_decision_rule(name).fit(scores, sparse.csr_array(Y))(scores)
        assert decisions.shape == (40, 4)
        assert decisions.dtype == np.int64
        assert set(np.unique(decisions)) <= {0, 1}

    @pytest.mark.parametrize("name", RULES)
    def test_neither_fit_nor_apply_changes_the_scores(self, name):
        scores, Y = simulate(40)
        before = scores.copy()
        make_decision_rule(name).fit(scores, Y)(scores)
        np.testing.assert_array_equal(scores, before)

    @pytest.mark.parametrize("name", RULES)
    def test_says_whether_it_needs_scores(self, name):
        rule = make_decision_rule(name)
        assert rule.needs_scores == (name in LEARNED)
        if rule.needs_scores:
            with pytest.raises(NotFittedError):
                rule([[0.1, 0.9]])
        else:
            assert rule([[0.1, 0.9]]).tolist() == [[0, 1]]

    @pytest.mark.parametrize("name", LEARNED)
    def test_rows_without_honest_scores_do_not_count(self, name):
        scores, Y = simulate(60)
        some = scores.copy()
        some[::3] = np.nan
        kept = np.arange(60) % 3 > 0
        rule, expected = make_decision_rule(name).fit(some, Y), make_decision_rule(name).fit(scores[kept], Y[kept])
        np.testing.assert_array_equal(rule(scores), expected(scores))

    def test_clone_forgets_the_thresholds(self):
        rule = PerLabelThresholds(3).fit(*simulate(20))
        copy = clone(rule)
        assert copy.shrinkage == 3
        assert not hasattr(copy, "thresholds_")


class TestMaking:
    def test_numbers_are_thresholds(self):
        assert make_decision_rule(0.2)([[0.1, 0.3]]).tolist() == [[0, 1]]
        assert make_decision_rule(np.float32(0.5)).threshold == 0.5

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

    def test_parameters_get_a_sentence(self):
        with pytest.raises(ValueError, match="shrinkage must be a finite number of at least 0"):
            PerLabelThresholds(-1).fit(*simulate(20))
        with pytest.raises(ValueError, match="towards must be 'cardinality' or 'half', not 'best'"):
            PerLabelThresholds(towards="best").fit(*simulate(20))
        with pytest.raises(ValueError, match="towards must be a number from 0 to 1"):
            PerLabelThresholds(towards=2).fit(*simulate(20))
        with pytest.raises(ValueError, match="min_positives must be at least 1, not 0"):
            PerLabelThresholds(min_positives=0).fit(*simulate(20))
        with pytest.raises(ValueError, match="sample_weight has negative"):
            PerLabelThresholds().fit(*simulate(20), sample_weight=np.full(20, -1.0))

    def test_apply_refuses_nan(self):
        with pytest.raises(ValueError, match="scores has NaN"):
            FixedThreshold()([[0.1, np.nan]])

    def test_the_base_is_no_rule(self):
        with pytest.raises(NotImplementedError):
            DecisionRule()([[0.5]])
