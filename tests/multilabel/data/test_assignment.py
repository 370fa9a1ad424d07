"""Samples and groups assigned to folds: by hand, and as the paper describes it."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse

from fuselearn.multilabel.data.assignment import assign_groups, assign_samples, read_groups

indicators = arrays(np.uint8, st.tuples(st.integers(4, 40), st.integers(1, 8)), elements=st.sampled_from([0, 0, 1]))


def assign(Y, sizes, rng=None):
    return assign_samples(sparse.csr_array(Y), sizes, rng)


def assign_plainly(Y, sizes, rng):
    """Assign samples as Sechidis et al. (2011) describe it, with fractions and lists."""
    n_samples, n_labels = Y.shape
    order, label_order, draws = np.arange(n_samples), np.arange(n_labels), np.zeros(n_samples)
    if rng is not None:
        order, label_order, draws = rng.permutation(n_samples), rng.permutation(n_labels), rng.random(n_samples)
    Y, room, folds = Y[order], list(sizes), [None] * n_samples
    demands = [[Fraction(int(n) * int(size), n_samples) for size in sizes] for n in Y.sum(axis=0)]

    def put(sample, demanded):
        largest = max((demanded[f], room[f]) for f in range(len(room)) if room[f] > 0)
        equal = [f for f in range(len(room)) if (demanded[f], room[f]) == largest]
        fold = folds[sample] = equal[int(draws[sample] * len(equal))]
        room[fold] -= 1
        for label in np.flatnonzero(Y[sample]):
            demands[label][fold] -= 1

    while True:
        left = {label: [i for i in range(n_samples) if folds[i] is None and Y[i, label]] for label in label_order}
        if not any(left.values()):
            break
        rarest = min((label for label in label_order if left[label]), key=lambda label: len(left[label]))
        for sample in left[rarest]:
            put(sample, demands[rarest])
    for sample in range(n_samples):
        if folds[sample] is None:
            put(sample, room)
    assigned = np.empty(n_samples, dtype=int)
    assigned[order] = folds
    return assigned


class TestSamples:
    @given(indicators, st.integers(2, 4), st.one_of(st.none(), st.integers(0, 5)))
    def test_as_in_the_paper_and_of_the_right_sizes(self, Y, n_folds, seed):
        sizes = np.bincount(np.random.default_rng(1).integers(n_folds, size=len(Y)), minlength=n_folds)
        one, other = (None if seed is None else np.random.default_rng(seed) for _ in range(2))
        folds = assign(Y, sizes, one)
        np.testing.assert_array_equal(folds, assign_plainly(Y.astype(int), sizes, other))
        np.testing.assert_array_equal(np.bincount(folds, minlength=n_folds), sizes)

    def test_by_hand(self):
        """Label b has two samples, a four. With two folds of four samples:

        b: sample 2 (a, b) to fold 0 by the tie; fold 0 now demands b 0 and a 1, so sample 5 (b) goes to fold 1.
        a: demands 1 and 2, so sample 0 goes to fold 1; now equal, room 3 and 2, so sample 1 goes to fold 0;
           demands 0 and 1, so sample 7 goes to fold 1.
        No label: room 2 and 1, so sample 3 goes to fold 0; room 1 and 1, so 4 by the tie to fold 0, 6 to fold 1.
        """
        Y = np.zeros((8, 2), dtype=int)
        Y[[0, 1, 2, 7], 0] = Y[[2, 5], 1] = 1
        assert assign(Y, [4, 4]).tolist() == [1, 0, 0, 0, 0, 1, 1, 1]

    def test_demands_are_fractions_of_unequal_parts(self):
        """Five samples of a label in parts of 3 and 1 quarters: demands are 3.75 and 1.25, four go to the first."""
        folds = assign(np.arange(20)[:, None] < 5, [15, 5])
        assert folds[:5].tolist() == [0, 0, 0, 1, 0]
        assert np.bincount(folds).tolist() == [15, 5]

    def test_samples_that_were_assigned_with_a_rarer_label_do_not_count(self):
        """Labels b and c have three samples each and share two, a has five.

        b: sample 0 to fold 0 by the tie, sample 1 (with c) to fold 1, sample 2 (with c) by the tie to fold 0.
        One sample of c is left, so it comes before a: demands are equal, room is 4 and 5, and sample 3 goes to fold 1.
        Sample 4 begins a by the tie.
        """
        Y = np.zeros((12, 3), dtype=int)
        Y[[0, 1, 2], 1] = Y[[1, 2, 3], 2] = Y[[4, 5, 6, 7, 8], 0] = 1
        assert assign(Y, [6, 6])[:5].tolist() == [0, 1, 0, 1, 0]


def test_groups_by_hand():
    """Groups 0 and 1 have most of both labels and of the samples and go to different folds; 2 and 3 balance them."""
    Y = sparse.csr_array([[1, 0], [1, 0], [0, 1], [0, 1], [1, 0], [0, 1]])
    assert assign_groups(Y, np.array([0, 0, 1, 1, 2, 3]), [0.5, 0.5], rng=None).tolist() == [0, 0, 1, 1, 1, 0]


@pytest.mark.parametrize(
    ("groups", "sentence"),
    [
        (None, "groups is None; expected the group of each sample"),
        ([1, 2], r"groups must have one value for each of 3 samples; its shape is \(2,\)"),
        ([1, np.nan, 2], r"groups has 1 missing value\(s\), the first at sample 1"),
        ([None, "a", None], r"groups has 2 missing value\(s\), the first at sample 0"),
    ],
)
def test_bad_groups_get_a_sentence(groups, sentence):
    with pytest.raises(ValueError, match=sentence):
        read_groups(groups, 3)
