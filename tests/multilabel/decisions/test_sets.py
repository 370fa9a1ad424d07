"""Rules for whole sets of labels, against a look at every set and every outcome."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from fuselearn.multilabel.decisions import ExpectedF1, KnownSets, sets

probabilities = st.sampled_from([0.0, 0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0]) | st.floats(0, 1)


def draw_sets(n_samples=300, seed=0):
    """Draw one of five label sets for each sample, and scores that lean toward it."""
    rng = np.random.default_rng(seed)
    known = np.array([[1, 0, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 1, 1], [0, 1, 0, 1]])
    Y = known[rng.choice(5, size=n_samples, p=[0.4, 0.3, 0.1, 0.1, 0.1])]
    return 1 / (1 + np.exp(-(2 * Y - 1 + 1.5 * rng.normal(size=Y.shape)))), Y


class TestKnownSets:
    @staticmethod
    def choose(scores, Y, shift, prior):
        """Try the sets one by one."""
        known, counts = np.unique(Y, axis=0, return_counts=True)
        odds = np.log(scores / (1 - scores))
        values = [(odds + shift) @ s + prior * np.log(n / len(Y)) for s, n in zip(known, counts, strict=True)]
        return known[np.argmax(values, axis=0)]

    def test_by_hand(self):
        """The log-odds of 0.6 and 0.7 are 0.41 and 0.85: the second label alone, as no sample has both or none."""
        scores, Y = [[0.9, 0.2], [0.7, 0.1], [0.4, 0.8], [0.1, 0.6]], [[1, 0], [1, 0], [0, 1], [0, 1]]
        rule = KnownSets().fit(scores, Y)
        assert (rule.shift_, rule.prior_) == (0.0, 0.0)
        assert rule([[0.6, 0.7], [0.8, 0.7], [0.1, 0.2]]).tolist() == [[0, 1], [1, 0], [0, 1]]

    def test_the_best_setting_is_taken_and_better_than_a_threshold(self):
        scores, Y = draw_sets()
        rule = KnownSets().fit(scores, Y)
        accuracy = {
            setting: (self.choose(scores, Y, *setting) == Y).all(axis=1).mean()
            for setting in product(sets.SHIFTS, sets.PRIORS)
        }
        assert accuracy[rule.shift_, rule.prior_] == max(accuracy.values())
        new, truth = draw_sets(seed=1)
        np.testing.assert_array_equal(rule(new), self.choose(new, Y, rule.shift_, rule.prior_))
        assert (rule(new) == truth).all(axis=1).mean() > ((new > 0.5) == truth).all(axis=1).mean() + 0.1

    def test_a_set_of_one_sample_does_not_count_for_itself(self):
        """With a shift of 0.5, six labels of 0.4 would be right, but each is that of one sample; six have none."""
        Y = np.vstack([np.eye(6, dtype=int), np.zeros((6, 6), dtype=int)])
        scores = np.where(Y, 0.4, 0.05)
        assert KnownSets().fit(scores, Y).shift_ == 0.0
        assert KnownSets().fit(np.vstack([scores, scores]), np.vstack([Y, Y])).shift_ == 0.5

    def test_parts_do_not_matter(self, monkeypatch):
        scores, Y = draw_sets()
        whole = KnownSets().fit(scores, Y)
        monkeypatch.setattr(sets, "N_CELLS", 12)
        parts = KnownSets().fit(scores, Y)
        assert (parts.shift_, parts.prior_) == (whole.shift_, whole.prior_)
        np.testing.assert_array_equal(parts(scores), whole(scores))

    def test_samples_of_weight_zero_do_not_count(self):
        scores, Y = draw_sets()
        Y[0] = 1
        assert not KnownSets().fit(scores, Y, np.arange(300) > 0)(np.full((1, 4), 0.99)).all()

    def test_sure_labels_and_no_samples_are_no_error(self):
        rule = KnownSets().fit(*draw_sets())
        assert rule(np.array([[1.0, 0.0, 0.0, 0.0]])).tolist() == [[1, 0, 0, 0]]
        assert rule(np.zeros((0, 4))).shape == (0, 4)


class TestExpectedF1:
    @staticmethod
    def expected_f1(chosen, p, empty):
        """Sum over all outcomes."""
        total = 0.0
        for truth in map(np.array, product([0, 1], repeat=len(p))):
            size = truth.sum() + chosen.sum()
            total += np.prod(np.where(truth, p, 1 - p)) * (2 * (truth & chosen).sum() / size if size else empty)
        return total

    @staticmethod
    def expected_f1_of_sizes(p):
        """Compute the expected F1 of the k likeliest labels for k = 1, 2, ... from the distributions of both counts."""

        def distribution(p):
            found = np.ones(1)
            for one in p:
                found = np.convolve(found, [1 - one, one])
            return found

        p = np.sort(p)[::-1]
        values = []
        for k in range(1, len(p) + 1):
            hits, others = np.arange(k + 1)[:, None], np.arange(len(p) - k + 1)
            values.append((np.outer(distribution(p[:k]), distribution(p[k:])) * 2 * hits / (k + hits + others)).sum())
        return np.array(values)

    @settings(max_examples=25)
    @given(st.integers(1, 4).flatmap(lambda n: arrays(float, n, elements=probabilities)), st.sampled_from([0, 0.5, 1]))
    def test_no_set_is_better(self, p, empty):
        [chosen] = ExpectedF1(empty)([p])
        best = max(self.expected_f1(np.array(other), p, empty) for other in product([0, 1], repeat=len(p)))
        assert self.expected_f1(chosen, p, empty) == pytest.approx(best, abs=1e-12)

    @pytest.mark.parametrize("mean", [0.02, 0.2, 0.5, 0.9])
    @pytest.mark.parametrize("n_labels", [30, 90])
    def test_no_size_is_better_with_many_labels(self, mean, n_labels):
        """Where skipping sizes by their bounds matters."""
        p = np.random.default_rng(0).beta(mean, 1 - mean, size=(8, n_labels))
        for sample, size in zip(p, ExpectedF1(empty=0.0)(p).sum(axis=1), strict=True):
            values = self.expected_f1_of_sizes(sample)
            assert values[size - 1] == pytest.approx(values.max(), rel=1e-10)

    def test_sure_labels_are_chosen_and_impossible_ones_never(self):
        p = np.array([[1.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 0.0], [1.0, 1.0, 1.0, 1.0]])
        for empty in (0.0, 1.0):
            np.testing.assert_array_equal(ExpectedF1(empty)(p), p)

    def test_the_likeliest_labels_are_chosen_in_any_order(self):
        p = np.random.default_rng(1).random((50, 12)) ** 3
        chosen = ExpectedF1()(p).astype(bool)
        shuffled = np.random.default_rng(2).permutation(12)
        np.testing.assert_array_equal(ExpectedF1()(p[:, shuffled]), chosen[:, shuffled])
        some = chosen.any(axis=1) & ~chosen.all(axis=1)
        assert (np.where(chosen, p, 1).min(axis=1) > np.where(chosen, 0, p).max(axis=1))[some].all()

    def test_a_sample_is_left_without_labels_only_if_that_counts(self):
        assert not ExpectedF1()(np.full((1, 3), 0.1)).any()
        assert ExpectedF1(empty=0.0)(np.full((1, 3), 0.1)).all()

    def test_flipped_labels_by_hand(self):
        """A tenth of the labels was flipped: .18 and .1 are .1 and 0 without flips."""
        flipped = [[0.18, 0.1], [0.74, 0.5]]
        rule = ExpectedF1(empty=0.0, noise_rate=0.1)
        assert rule.needs_scores
        rule.fit(flipped, [[0, 0], [1, 1]])
        assert rule(flipped).tolist() == ExpectedF1(empty=0.0)([[0.1, 0.0], [0.8, 0.5]]).tolist() == [[1, 0], [1, 1]]
        assert ExpectedF1(empty=0.0)(flipped).tolist() == [[1, 1], [1, 1]]

    def test_needs_probabilities(self):
        with pytest.raises(ValueError, match=r"probabilities from 0 to 1, not scores from -1 to 0\.5"):
            ExpectedF1()([[-1.0, 0.5]])
        with pytest.raises(ValueError, match="empty must be a number from 0 to 1"):
            ExpectedF1(empty=3)([[0.1, 0.5]])
        assert ExpectedF1()([[1 + 1e-12, -1e-12]]).tolist() == [[1, 0]]  # rounding errors are no error
