"""The most probable label set of training, counted by hand and found by trying every set and setting."""

import numpy as np
import pytest

from fuselearn.multilabel import FixedThreshold, KnownSets
from fuselearn.multilabel.decisions import known_sets


def simulate(n_samples=300, seed=0):
    """Draw one of five label sets for each sample, and scores that lean towards it."""
    rng = np.random.default_rng(seed)
    sets = np.array([[1, 0, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 1, 1], [0, 1, 0, 1]])
    Y = sets[rng.choice(5, size=n_samples, p=[0.4, 0.3, 0.1, 0.1, 0.1])]
    return 1 / (1 + np.exp(-(2 * Y - 1 + 1.5 * rng.normal(size=Y.shape)))), Y


def choose(scores, Y, shift, prior):
    """Try the sets one by one."""
    sets, numbers = np.unique(Y, axis=0, return_counts=True)
    odds = np.log(scores / (1 - scores))
    values = [(odds + shift) @ s + prior * np.log(n / len(Y)) for s, n in zip(sets, numbers, strict=True)]
    return sets[np.argmax(values, axis=0)]


def test_by_hand():
    """The log-odds of 0.6 and 0.7 are 0.41 and 0.85: the second label alone, as no sample has both or none."""
    scores, Y = [[0.9, 0.2], [0.7, 0.1], [0.4, 0.8], [0.1, 0.6]], [[1, 0], [1, 0], [0, 1], [0, 1]]
    rule = KnownSets().fit(scores, Y)
    assert (rule.shift_, rule.prior_) == (0.0, 0.0)
    assert rule([[0.6, 0.7], [0.8, 0.7], [0.1, 0.2]]).tolist() == [[0, 1], [1, 0], [0, 1]]


def test_the_best_setting_is_taken():
    scores, Y = simulate()
    rule = KnownSets().fit(scores, Y)
    shares = {
        (shift, prior): (choose(scores, Y, shift, prior) == Y).all(axis=1).mean()
        for shift in known_sets.SHIFTS
        for prior in known_sets.PRIORS
    }
    assert shares[rule.shift_, rule.prior_] == max(shares.values())
    new = simulate(seed=1)[0]
    np.testing.assert_array_equal(rule(new), choose(new, Y, rule.shift_, rule.prior_))


def test_more_sets_are_right_than_at_a_half():
    rule = KnownSets().fit(*simulate())
    scores, Y = simulate(seed=1)
    assert (rule(scores) == Y).all(axis=1).mean() > (FixedThreshold()(scores) == Y).all(axis=1).mean() + 0.1


def test_a_set_of_one_sample_does_not_speak_for_itself():
    """With a shift of 0.5, six labels of 0.4 would be right, but each is that of one sample; six others have none."""
    Y = np.vstack([np.eye(6, dtype=int), np.zeros((6, 6), dtype=int)])
    scores = np.where(Y, 0.4, 0.05)
    assert KnownSets().fit(scores, Y).shift_ == 0.0
    twice = KnownSets().fit(np.vstack([scores, scores]), np.vstack([Y, Y]))
    assert twice.shift_ == 0.5


def test_parts_do_not_matter(monkeypatch):
    scores, Y = simulate()
    whole = KnownSets().fit(scores, Y)
    monkeypatch.setattr(known_sets, "N_CELLS", 12)
    parts = KnownSets().fit(scores, Y)
    assert (parts.shift_, parts.prior_) == (whole.shift_, whole.prior_)
    np.testing.assert_array_equal(parts(scores), whole(scores))


def test_samples_without_weight_teach_nothing():
    scores, Y = simulate()
    Y[0] = 1
    weights = np.ones(300)
    weights[0] = 0
    assert not KnownSets().fit(scores, Y, weights)(np.full((1, 4), 0.99)).all()


def test_sure_labels_and_no_samples_are_no_error():
    rule = KnownSets().fit(*simulate())
    assert rule(np.array([[1.0, 0.0, 0.0, 0.0]])).tolist() == [[1, 0, 0, 0]]
    assert rule(np.zeros((0, 4))).shape == (0, 4)
    with pytest.raises(ValueError, match="scores must have 4 labels, as in fit, not 3"):
        rule(np.zeros((2, 3)))
