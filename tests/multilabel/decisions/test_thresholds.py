"""Learned thresholds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.metrics import f1_score

from fuselearn.datasets import corrupt_labels
from fuselearn.multilabel.decisions import (
    CardinalityThreshold,
    MacroF1Thresholds,
    MicroF1Threshold,
    PerLabelThresholds,
)

coarse = st.sampled_from(np.linspace(0, 1, 11)) | st.floats(0, 1)
tables = st.tuples(st.integers(1, 12), st.integers(1, 4)).flatmap(
    lambda shape: st.tuples(arrays(float, shape, elements=coarse), arrays(np.int64, shape, elements=st.integers(0, 1)))
)
PLAIN = PerLabelThresholds(0, min_positives=1)


def f1(truth, predicted):
    return 2 * (truth * predicted).sum() / max(truth.sum() + predicted.sum(), 1)


def best_f1(truth, scores):
    """Return the best F1 of any threshold."""
    return max(f1(truth, scores > t) for t in np.append(scores.ravel(), 0.0))


def thresholds(rule):
    return rule.thresholds_ if hasattr(rule, "thresholds_") else rule.threshold_


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("rule", [CardinalityThreshold(), MicroF1Threshold(), PLAIN, MacroF1Thresholds(0)], ids=repr)
def test_a_weight_is_a_number_of_copies(simulate, rule, seed):
    scores, Y = simulate(50, seed)
    weights = np.random.default_rng(seed).choice([0, 1, 9], size=50)
    weighted = thresholds(rule.fit(scores, Y, weights))
    copied = thresholds(rule.fit(np.repeat(scores, weights, axis=0), np.repeat(Y, weights, axis=0)))
    np.testing.assert_allclose(weighted, copied)


def test_the_scale_of_the_weights_does_not_matter(simulate):
    scores, Y = simulate(50)
    expected = PerLabelThresholds().fit(scores, Y).thresholds_
    np.testing.assert_allclose(PerLabelThresholds().fit(scores, Y, np.full(50, 1e-6)).thresholds_, expected)


class TestCardinality:
    def test_by_hand(self):
        """Scores are 0.9, 0.8, 0.6, 0.3, 0.3, 0.1; with 4 labels in 3 samples, 3 and 5 are equally good."""
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


class TestMicroF1:
    @settings(max_examples=60)
    @given(tables)
    def test_no_threshold_has_a_better_micro_f1(self, table):
        scores, Y = table
        assert f1(Y, MicroF1Threshold().fit(scores, Y)(scores)) == pytest.approx(best_f1(Y, scores))

    def test_without_labels_it_is_a_half(self):
        assert MicroF1Threshold().fit([[0.2, 0.9]], [[0, 0]]).threshold_ == 0.5

    def test_with_true_probabilities_it_is_half_of_the_f1(self, simulate):
        scores, Y = simulate(20000)
        threshold = MicroF1Threshold().fit(scores, Y).threshold_
        assert threshold == pytest.approx(f1(Y, scores > threshold) / 2, abs=0.02)


class TestPerLabel:
    scores = np.array([[0.9], [0.7], [0.6], [0.4], [0.2]])
    Y = np.array([[1], [0], [1], [0], [0]])

    @pytest.mark.parametrize(
        ("rule", "scale", "expected"),
        [
            (PLAIN, 1, 0.5),  # F1 after 1 to 5 samples: 2/3, 2/4, 4/5, 4/6, 4/7; the best is between 0.6 and 0.4
            (PLAIN, 2, 0.25),
            (PerLabelThresholds(6, towards="half", min_positives=1), 2, 0.5 - 0.25 * 2 / (2 + 6)),
            (PerLabelThresholds(6, towards=0.1, min_positives=1), 2, 0.1 + 0.15 * 2 / (2 + 6)),
        ],
    )
    def test_by_hand(self, rule, scale, expected):
        assert rule.fit(self.scores / scale, self.Y).thresholds_ == pytest.approx([expected])

    @settings(max_examples=60)
    @given(tables)
    def test_no_threshold_has_a_better_f1(self, table):
        scores, Y = table
        for p, y, decided in zip(scores.T, Y.T, PLAIN.fit(scores, Y)(scores).T, strict=True):
            assert f1(y, decided) == pytest.approx(best_f1(y, p))

    @pytest.mark.parametrize(
        ("scores", "Y", "expected"),
        [
            ([0.6, 0.6, 0.1], [1, 0, 0], 0.35),  # a threshold between the first and the second 0.6 would have F1 = 1
            ([0.4, 0.2], [1, 1], 0.1),
        ],
    )
    def test_equal_scores_are_not_separated_and_all_samples_may_be_positive(self, scores, Y, expected):
        assert PLAIN.fit(np.c_[scores], np.c_[Y]).thresholds_ == pytest.approx([expected])

    def test_neighboring_floats_are_separated(self):
        for above, under in ((0.5, np.nextafter(0.5, 0)), (np.nextafter(0.5, 1), 0.5)):
            scores = np.array([[above], [under]])
            assert PLAIN.fit(scores, [[1], [0]])(scores).tolist() == [[1], [0]]

    @pytest.mark.parametrize("shrinkage", [0, 10])
    def test_labels_without_positives_or_without_scores_have_the_common_threshold(self, shrinkage):
        rule = PerLabelThresholds(shrinkage, towards="half", min_positives=1)
        assert rule.fit([[0.9, 0.0], [0.7, 0.0]], [[0, 1], [0, 1]]).thresholds_.tolist() == [0.5, 0.5]

    def test_shrinks_toward_the_threshold_of_the_cardinality_by_default(self, simulate):
        scores, Y = simulate(300)
        common = CardinalityThreshold().fit(scores, Y).threshold_
        alone, positives = PLAIN.fit(scores, Y).thresholds_, Y.sum(axis=0)
        expected = common + (alone - common) * positives / (positives + 10)
        np.testing.assert_allclose(PerLabelThresholds().fit(scores, Y).thresholds_, expected)
        assert (PerLabelThresholds(towards="half").fit(scores, Y).thresholds_[1:] > expected[1:]).all()

    def test_labels_with_few_positives_have_the_common_threshold(self, simulate):
        """One label has four positive samples, the other five."""
        scores, Y = simulate(100)
        Y[:, 1:3] = 0
        Y[:4, 1] = Y[:5, 2] = 1
        common = CardinalityThreshold().fit(scores, Y).threshold_
        guarded, free = PerLabelThresholds(0).fit(scores, Y).thresholds_, PLAIN.fit(scores, Y).thresholds_
        assert guarded[1] == common != free[1]
        np.testing.assert_array_equal(guarded[[0, 2]], free[[0, 2]])

    def test_many_labels_of_one_sample_are_not_predicted_everywhere(self):
        scores, Y = np.random.default_rng(0).beta(1, 30, size=(200, 100)), np.eye(200, 100, dtype=int)
        assert PerLabelThresholds(0).fit(scores, Y)(scores).mean() < 0.02
        assert PLAIN.fit(scores, Y)(scores).mean() > 0.2


class TestMacroF1:
    def test_by_hand(self):
        """The probabilities sum to 1.6: 2 * 0.8 / 2.6 = .615, 2 * 1.4 / 3.6 = .778, 2 * 1.6 / 4.6 = .696."""
        scores, Y = np.array([[0.8], [0.6], [0.2]]), np.array([[1], [0], [0]])
        assert MacroF1Thresholds(0).fit(scores, Y).thresholds_ == pytest.approx([0.4])
        assert CardinalityThreshold().fit(scores, Y).threshold_ == pytest.approx(0.7)
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
        for p, decided in zip(scores.T, MacroF1Thresholds(0).fit(scores, Y)(scores).T, strict=True):
            if (best := best_f1(p, p)) > 0:
                assert f1(p, decided) == pytest.approx(best)

    def test_is_that_of_the_labels_if_there_are_many(self, simulate):
        scores, Y = simulate(20000)
        by_labels = PerLabelThresholds(0).fit(scores, Y).thresholds_
        np.testing.assert_allclose(MacroF1Thresholds(0).fit(scores, Y).thresholds_, by_labels, atol=0.05)

    def test_is_better_than_that_of_few_labels(self, simulate):
        gains = []
        for seed in range(30):
            new, truth = simulate(2000, 1000 + seed)
            rules = [rule.fit(*simulate(60, seed)) for rule in (PerLabelThresholds(), MacroF1Thresholds())]
            by_labels, expected = (f1_score(truth, rule(new), average="macro", zero_division=1) for rule in rules)
            gains.append(expected - by_labels)
        assert np.mean(gains) > 0.01

    def test_labels_without_positives_have_the_common_threshold(self, simulate):
        scores, Y = simulate(50)
        Y[:, 1] = 0
        assert MacroF1Thresholds().fit(scores, Y).thresholds_[1] == CardinalityThreshold().fit(scores, Y).threshold_
        assert MacroF1Thresholds(noise_rate=0.3).fit(scores, Y).thresholds_[1] == 0.5

    def test_forgotten_labels_by_hand(self):
        """Of the best 30 samples 23 have the label, c = .77; probabilities of .8 become 1, and F1 is 1 for those."""
        scores = np.r_[np.full(40, 0.8) + np.arange(40)[::-1] * 1e-6, np.linspace(0.02, 0.01, 40)][:, None]
        Y = np.array([1, 1, 0, 1] * 10 + [0] * 40)[:, None]
        rule = MacroF1Thresholds(0, noise_rate="auto").fit(scores, Y)
        assert rule.label_frequency_ == pytest.approx(23 / 30)
        assert rule.thresholds_ == pytest.approx([0.41])
        assert MacroF1Thresholds(0).fit(scores, Y).label_frequency_ == 1.0

    def test_forgotten_labels_are_found_again(self):
        """Half of the labels are forgotten; the thresholds come from scores of what is left."""
        rng = np.random.default_rng(0)
        scores = rng.beta(0.2, 0.4, size=(4000, 4))
        Y = (rng.random(scores.shape) < scores).astype(int)
        left = corrupt_labels(Y, 0.5, "forgotten", random_state=0)
        aware, unaware = (MacroF1Thresholds(noise_rate=rate).fit(scores / 2, left) for rate in ("auto", 0.0))
        assert aware.label_frequency_ == pytest.approx(0.5, abs=0.05)
        gain = f1_score(Y, aware(scores / 2), average="macro") - f1_score(Y, unaware(scores / 2), average="macro")
        assert gain > 0.01

    def test_unknown_labels_do_not_count(self, simulate):
        scores, Y = simulate(60)
        hidden, kept = Y.astype(float), np.arange(60) % 3 > 0
        hidden[::3, 0] = np.nan
        found = MacroF1Thresholds(0).fit(scores, hidden)(scores[kept])
        expected = MacroF1Thresholds(0).fit(scores[kept], Y[kept])(scores[kept])
        np.testing.assert_array_equal(found[:, 0], expected[:, 0])
