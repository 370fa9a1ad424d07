"""Trust in labels: the confident joint and the weights of samples, against numbers computed by hand."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from fuselearn.fusion.members import sharpen
from fuselearn.fusion.trust import (
    EvenNoise,
    bound_noise,
    count_confident,
    separate_noise,
    trust_labels,
    weigh_second_fit,
)

# Labels 0 have the mean probability 0.6 of class 0, labels 1 that of 0.7 of class 1. The fourth sample is confidently
# of class 1; the last one, with 0.45 and 0.55, of none.
OF_FIRST = [0.8, 0.8, 0.7, 0.1, 0.1, 0.2, 0.15, 0.45]
P = np.column_stack([OF_FIRST, 1 - np.array(OF_FIRST)])
LABELS = np.array([0, 0, 0, 0, 1, 1, 1, 1])


def test_the_confident_joint_is_that_computed_by_hand():
    joint = count_confident(P, LABELS)
    assert_allclose(joint.thresholds, [0.6, 0.775])
    assert joint.is_contradicted.tolist() == [False] * 3 + [True] + [False] * 4
    # Four labels each; of label 0 three samples of four are confident of class 0, of label 1 all three.
    assert_allclose(joint.counts, [[3, 1], [0, 4]], atol=2e-3)
    assert joint.contradicted == pytest.approx(1 / 8, abs=1e-3)
    assert_allclose(joint.noise_matrix, [[1, 0], [1 / 5, 4 / 5]], atol=1e-3)


def test_the_weights_are_those_computed_by_hand():
    joint = count_confident(P, LABELS)
    d = np.diag(joint.noise_matrix)[LABELS]
    last = (0.55 / 0.775) / (0.45 / 0.6)  # the label's ratio of probability and threshold, over the largest one
    expected = np.array([1, 1, 1, 0, 1, 1, 1, (1 + last**3) / 2]) / d
    assert_allclose(trust_labels(joint, P, LABELS), expected / expected[expected > 0].mean())


def test_a_class_of_doubtful_labels_keeps_its_samples():
    """Both samples of class 1 are contradicted; without them, no model could learn it."""
    p = np.array([[0.9, 0.1]] * 5 + [[0.85, 0.15]] + [[0.95, 0.05]] * 2)
    labels = np.array([0] * 5 + [1, 0, 1])
    assert (trust_labels(count_confident(p, labels), p, labels) > 0).all()


def test_weights_are_as_copies_of_samples():
    copies = np.array([3, 1, 2, 1, 2, 1, 1, 4])
    weighed = count_confident(P, LABELS, copies.astype(float))
    copied = count_confident(P.repeat(copies, axis=0), LABELS.repeat(copies))
    assert_allclose(weighed.counts, copied.counts)
    assert_allclose(weighed.thresholds, copied.thresholds)


def test_a_class_without_samples_that_count_is_labeled_as_itself():
    joint = count_confident(np.column_stack([P, np.zeros(8)]), LABELS)
    assert_allclose(joint.noise_matrix[2], [0, 0, 1])
    assert np.isfinite(trust_labels(joint, np.column_stack([P, np.zeros(8)]), LABELS)).all()


def test_equal_probabilities_contradict_nothing():
    p = np.full((7, 3), [0.1, 0.2, 0.7])
    assert count_confident(p, np.array([0, 0, 1, 1, 2, 2, 2])).thresholds.tolist() == pytest.approx([0.1, 0.2, 0.7])
    certain = np.full((7, 2), [0.9, 0.1])
    assert not count_confident(certain, np.zeros(7, dtype=int)).is_contradicted.any()


@pytest.mark.parametrize(("contradicted", "weight"), [(0.0, 0.0), (0.049, 0.0), (0.05, 0.05), (0.3, 0.3), (0.9, 0.5)])
def test_the_second_fit_counts_as_much_as_labels_are_contradicted(contradicted, weight):
    assert weigh_second_fit(contradicted) == weight


def test_an_interval_of_few_samples_is_wider():
    noise = EvenNoise(2.0, rate=0.2, least=0.1)
    assert bound_noise(noise, 0.3, 100) == pytest.approx((0.1, 0.3 + 1.645 * 0.0458258), abs=1e-6)
    assert bound_noise(noise, 0.3, 1e6) == pytest.approx((0.1, 0.3), abs=1e-3)
    assert bound_noise(EvenNoise(1.0, 0.0, 0.0), 0.0, 100) == (0.0, 0.0)
    assert bound_noise(EvenNoise(1.0, 0.3, 0.2), 0.1, 1e6) == pytest.approx((0.1, 0.3), abs=1e-3)


class TestNoise:
    """Labels of four classes that follow known probabilities, and a fraction of them drawn at random instead."""

    rng = np.random.default_rng(0)
    correct = rng.dirichlet([0.3] * 4, 20_000)
    labels = (rng.random((20_000, 1)) > correct.cumsum(axis=1)).sum(axis=1)

    def test_samples_that_are_hard_to_classify_are_no_wrong_labels(self):
        noise = separate_noise(self.correct, self.labels)
        assert noise.exponent == 1.0
        assert noise.least <= noise.rate < 0.01

    @pytest.mark.parametrize("fraction", [0.1, 0.4])
    def test_it_finds_the_fraction_of_wrong_labels(self, fraction):
        rng = np.random.default_rng(1)
        noisy = np.where(rng.random(20_000) < fraction, rng.integers(4, size=20_000), self.labels)
        noise = separate_noise(sharpen(self.correct, 0.5), noisy)
        assert noise.rate == pytest.approx(fraction * 3 / 4, abs=0.02)
        assert noise.exponent == pytest.approx(2.0, abs=0.1)
        assert 0.7 * noise.rate < noise.least < noise.rate

    def test_samples_without_weight_do_not_count_nor_does_the_unit_of_weights(self):
        used = np.arange(50) % 3 > 0
        alone = separate_noise(self.correct[:50][used], self.labels[:50][used])
        for unit in (1.0, 0.01):
            assert_allclose(separate_noise(self.correct[:50], self.labels[:50], used * unit), alone)

    def test_even_probabilities_leave_the_prior_ones(self):
        """All labels are correct with a probability of 0.1, or a fraction of up to 0.95 of them was drawn at random."""
        noise = separate_noise(np.full((6, 2), 0.5), np.array([0, 1] * 3))
        mean = 0.1 + 0.9 * np.mean(1 / (1 - np.linspace(0, 0.95, 25)))
        assert noise.rate == pytest.approx((1 - 1 / mean) / 2)
        assert noise.exponent == 1.0

    def test_an_estimate_from_few_samples_is_less_certain(self):
        """Every fifth label is wrong."""
        wrong = (self.labels + (np.arange(20_000) % 5 == 0)) % 4
        few, many = (separate_noise(self.correct[:n], wrong[:n]) for n in (20, 2_000))
        assert many.rate - many.least < 0.05
        assert few.rate - few.least > 0.1
