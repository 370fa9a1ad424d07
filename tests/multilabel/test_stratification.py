"""Folds with their fraction of every label, against plain programs and by what they promise."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse
from sklearn import config_context
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.tree import DecisionTreeClassifier

from fuselearn.multilabel import (
    IterativeStratifiedKFold,
    iterative_train_test_split,
)
from fuselearn.multilabel.stratification import assign_groups, assign_samples, read_groups

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
        ([1, 2], r"groups must have one value for each of 3 samples; its shape is \(2,\)"),
        ([1, np.nan, 2], r"groups has 1 missing value\(s\), the first at sample 1"),
        ([None, "a", None], r"groups has 2 missing value\(s\), the first at sample 0"),
    ],
)
def test_bad_groups_get_a_sentence(groups, sentence):
    with pytest.raises(ValueError, match=sentence):
        read_groups(groups, 3)


N = 600
RNG = np.random.default_rng(0)
GROUPS = RNG.choice(90, size=N, p=RNG.dirichlet(np.ones(90)))
# Labels depend on the group, as they do for patients and albums.
GROUPED = (RNG.random((N, 5)) < RNG.beta(1, 4, size=(90, 5))[GROUPS]).astype(int)


def rare_labels(n_samples=N, n_labels=12):
    """Draw labels that from half of the samples down to one in fifty have."""
    return (np.random.default_rng(0).random((n_samples, n_labels)) < np.geomspace(0.5, 0.02, n_labels)).astype(int)


def list_tests(splitter, Y, groups=None):
    """List the test samples of each fold, which with the training samples are all."""
    tests = []
    for train, test in splitter.split(np.zeros(len(Y)), Y, groups):
        np.testing.assert_array_equal(np.sort(np.r_[train, test]), np.arange(len(Y)))
        tests.append(test.tolist())
    return tests


def number_folds(splitter, Y, groups=None):
    """Return the fold of each sample, of which every sample has one."""
    tests = list_tests(splitter, Y, groups)
    np.testing.assert_array_equal(np.sort(np.concatenate(tests)), np.arange(len(Y)))
    folds = np.empty(len(Y), dtype=int)
    for fold, test in enumerate(tests):
        folds[test] = fold
    return folds


def unevenness(folds, Y):
    """Return the mean difference between the positives of a label in a fold and an equal fraction of them."""
    counts = np.stack([Y[folds == fold].sum(axis=0) for fold in np.unique(folds)])
    return np.abs(counts - counts.mean(axis=0)).mean()


class TestFolds:
    @given(indicators, st.integers(2, 4), st.booleans())
    def test_sizes_differ_by_one_at_most(self, Y, n_splits, shuffle):
        sizes = np.bincount(number_folds(IterativeStratifiedKFold(n_splits, shuffle=shuffle), Y))
        assert sizes.max() - sizes.min() <= 1

    def test_far_more_even_than_random_folds(self):
        Y = rare_labels()
        ours = np.mean([unevenness(number_folds(IterativeStratifiedKFold(5, random_state=s), Y), Y) for s in range(5)])
        theirs = [unevenness(number_folds(KFold(5, shuffle=True, random_state=s), Y), Y) for s in range(5)]
        assert ours < np.mean(theirs) / 4

    @pytest.mark.parametrize("n_positive", [1, 2, 4, 5, 6])
    def test_few_positives_are_spread(self, n_positive):
        Y = np.zeros((50, 3), dtype=int)
        Y[:, 0] = np.arange(50) % 2
        Y[3 : 3 + n_positive, 2] = 1
        folds = number_folds(IterativeStratifiedKFold(5, random_state=1), Y)
        counts = np.bincount(folds[Y[:, 2] == 1], minlength=5)
        assert counts.max() - counts.min() <= 1

    def test_a_larger_fold_does_not_get_all_labels_of_one_sample(self):
        """Ten labels of one sample each, in folds of 11, 10, 10, 10 and 10 samples."""
        Y = np.vstack([np.eye(10, dtype=int), np.zeros((41, 10), dtype=int)])
        for seed in range(5):
            folds = number_folds(IterativeStratifiedKFold(5, random_state=seed), Y)
            assert set(np.bincount(folds[:10], minlength=5)) <= {1, 2, 3}

    def test_every_form_of_labels_gives_the_same_folds_and_stays_as_it_is(self):
        Y = rare_labels(100)
        splitter = IterativeStratifiedKFold(4, random_state=0)
        expected = list_tests(splitter, Y)
        stored_zeros = sparse.coo_array((Y.ravel(), np.divmod(np.arange(Y.size), Y.shape[1])), shape=Y.shape)
        named = {f"label {j}": column for j, column in enumerate(Y.T)}
        forms = [
            Y.astype(bool),
            Y.astype(float),
            np.asfortranarray(Y),
            sparse.csr_matrix(Y),
            sparse.csc_array(Y),
            stored_zeros,
            pd.DataFrame(named),
            pd.DataFrame(named).astype(pd.SparseDtype(int)),
            pd.DataFrame(named).astype("Int64"),
            pl.DataFrame(named),
        ]
        for form in forms:
            assert [test.tolist() for _, test in splitter.split(Y, form)] == expected, type(form)
            np.testing.assert_array_equal(form.toarray() if sparse.issparse(form) else form, Y)
        assert [test.tolist() for _, test in splitter.split(Y, Y.tolist())] == expected


class TestGroups:
    def test_no_group_is_in_two_folds_and_labels_keep_their_fractions(self):
        folds = number_folds(IterativeStratifiedKFold(5, random_state=0), GROUPED, GROUPS)
        assert len(set(zip(GROUPS, folds, strict=True))) == len(set(GROUPS))
        for fold in range(5):
            assert np.mean(folds == fold) == pytest.approx(0.2, abs=0.02)
            fractions = GROUPED[folds == fold].sum(axis=0) / GROUPED.sum(axis=0)
            assert fractions == pytest.approx(np.full(5, 0.2), abs=0.035)

    def test_groups_of_one_sample_are_stratified_samples(self):
        folds = number_folds(IterativeStratifiedKFold(5, random_state=0), GROUPED, np.arange(N))
        for fold in range(5):
            fractions = GROUPED[folds == fold].sum(axis=0) / GROUPED.sum(axis=0)
            assert fractions == pytest.approx(np.full(5, 0.2), abs=0.02)

    @given(seed=st.integers(0, 999), n_groups=st.integers(2, 12), n_splits=st.integers(2, 5))
    def test_every_fold_has_samples(self, seed, n_groups, n_splits):
        rng = np.random.default_rng(seed)
        groups = np.concatenate([np.arange(n_groups), rng.integers(0, n_groups, 20)])
        Y = (rng.random((len(groups), 3)) < 0.3).astype(int)
        splitter = IterativeStratifiedKFold(n_splits, random_state=seed)
        if n_groups < n_splits:
            with pytest.raises(ValueError, match=rf"{n_groups} different group\(s\), which cannot be split"):
                splitter.split(Y, Y, groups)
        else:
            folds = number_folds(splitter, Y, groups)
            assert len(set(folds)) == n_splits
            assert len(set(zip(groups, folds, strict=True))) == n_groups

    def test_names_are_groups_too(self):
        splitter = IterativeStratifiedKFold(3, shuffle=False)
        numbers = np.unique(GROUPS.astype(str), return_inverse=True)[1]
        names = pd.Series(GROUPS).map("patient {}".format)
        assert list_tests(splitter, GROUPED, names) == list_tests(splitter, GROUPED, numbers)

    def test_are_routed_by_scikit_learn(self):
        model = DecisionTreeClassifier(max_depth=2, random_state=0)
        cv = IterativeStratifiedKFold(3, random_state=0)
        scores = cross_val_score(model, GROUPED, GROUPED, groups=GROUPS, cv=cv)
        with config_context(enable_metadata_routing=True):
            cv = IterativeStratifiedKFold(3, random_state=0)
            routed = cross_val_score(model, GROUPED, GROUPED, params={"groups": GROUPS}, cv=cv)
        assert routed.tolist() == scores.tolist()


@pytest.mark.parametrize("groups", [None, GROUPS], ids=["samples", "groups"])
class TestSeeds:
    def test_the_seed_decides(self, groups):
        def split(**parameters):
            return list_tests(IterativeStratifiedKFold(3, **parameters), GROUPED, groups)

        for n_repeats in (1, 2):
            assert split(n_repeats=n_repeats, random_state=3) == split(n_repeats=n_repeats, random_state=3)
            assert split(n_repeats=n_repeats, random_state=3) != split(n_repeats=n_repeats, random_state=4)
            assert split(n_repeats=n_repeats) != split(n_repeats=n_repeats)
        rng = np.random.default_rng(0)
        assert split(random_state=rng) != split(random_state=rng)
        assert split(shuffle=False) == split(shuffle=False)

    def test_each_repetition_has_folds_of_its_own(self, groups):
        splitter = IterativeStratifiedKFold(4, n_repeats=3, random_state=0)
        tests = list_tests(splitter, GROUPED, groups)
        assert len(tests) == splitter.get_n_splits() == 12
        assert tests[:4] == list_tests(IterativeStratifiedKFold(4, random_state=0), GROUPED, groups)
        for start in (0, 4, 8):
            np.testing.assert_array_equal(np.sort(np.concatenate(tests[start : start + 4])), np.arange(N))
        assert tests[0] != tests[4] != tests[8]


def test_parameters_get_a_sentence():
    with pytest.raises(ValueError, match="n_splits must be at least 2, not 1"):
        IterativeStratifiedKFold(1)
    with pytest.raises(TypeError, match="n_splits must be an integer"):
        IterativeStratifiedKFold(2.5)
    with pytest.raises(ValueError, match="n_repeats must be at least 1"):
        IterativeStratifiedKFold(2, n_repeats=0)
    with pytest.raises(TypeError, match="shuffle must be True or False"):
        IterativeStratifiedKFold(2, shuffle="yes")
    for useless in ({"random_state": 0}, {"n_repeats": 2}):
        with pytest.raises(ValueError, match="random_state and n_repeats have no effect with shuffle=False"):
            IterativeStratifiedKFold(2, shuffle=False, **useless)
    assert repr(IterativeStratifiedKFold(3)).startswith("IterativeStratifiedKFold(n_repeats=1, n_splits=3,")


class TestTrainTestSplit:
    Y = rare_labels(400)

    def test_sizes_and_fractions(self):
        X = np.arange(400)
        X_train, X_test, Y_train, Y_test = iterative_train_test_split(X, self.Y, test_size=0.2, random_state=0)
        assert (len(X_train), len(X_test)) == (320, 80)
        np.testing.assert_array_equal(np.sort(np.r_[X_train, X_test]), X)
        np.testing.assert_array_equal(self.Y[X_test], Y_test)
        np.testing.assert_array_equal(self.Y[X_train], Y_train)
        assert np.abs(Y_test.sum(axis=0) - 0.2 * self.Y.sum(axis=0)).max() < 2

    @pytest.mark.parametrize(
        ("sizes", "expected"),
        [
            ({}, (300, 100)),
            ({"test_size": 50}, (350, 50)),
            ({"train_size": 0.6}, (240, 160)),
            ({"train_size": 0.5, "test_size": 0.25}, (200, 100)),
            ({"test_size": 0.001}, (399, 1)),
        ],
    )
    def test_sizes_are_those_of_scikit_learn(self, sizes, expected):
        train, test = iterative_train_test_split(self.Y, random_state=0, **sizes)
        assert (len(train), len(test)) == expected

    def test_every_table_keeps_its_type(self):
        tables = [
            np.arange(400),
            list(range(400)),
            sparse.csr_matrix(np.arange(400)[:, None]),
            pd.DataFrame({"a": np.arange(400)}, index=np.arange(400) + 7),
            pd.Series(np.arange(400)),
            pl.DataFrame({"a": np.arange(400)}),
        ]
        parts = iterative_train_test_split(*tables, stratify=sparse.csc_array(self.Y), random_state=1)
        samples = [part.tolist() for part in parts[:2]]
        assert sorted(samples[0] + samples[1]) == list(range(400))
        for i, part in enumerate(parts):
            assert isinstance(part, type(tables[i // 2]))
            values = part.toarray() if sparse.issparse(part) else np.asarray(part)
            assert values.ravel().tolist() == samples[i % 2]
        assert parts[6].index.tolist() == [sample + 7 for sample in samples[0]]

    def test_the_seed_decides(self):
        one, same, other = (iterative_train_test_split(self.Y, random_state=seed)[1].tolist() for seed in (1, 1, 2))
        assert one == same != other

    @pytest.mark.parametrize("sizes", [{"train_size": 450, "test_size": 150}, {"train_size": 200, "test_size": 100}])
    def test_groups_stay_together(self, sizes):
        X = pd.DataFrame({"x": np.arange(N)})
        train, test, Y_train, Y_test = iterative_train_test_split(X, GROUPED, groups=GROUPS, random_state=0, **sizes)
        assert not set(GROUPS[train["x"]]) & set(GROUPS[test["x"]])
        assert len(train) == pytest.approx(sizes["train_size"], abs=15)
        assert len(test) == pytest.approx(sizes["test_size"], abs=15)
        fractions = Y_test.sum(axis=0) / GROUPED.sum(axis=0)
        assert fractions == pytest.approx(np.full(5, len(test) / N), abs=0.04)
        assert np.array_equal(Y_train, GROUPED[train["x"]])

    def test_bad_input_gets_a_sentence(self):
        with pytest.raises(ValueError, match="At least one array"):
            iterative_train_test_split()
        with pytest.raises(ValueError, match="inconsistent numbers of samples"):
            iterative_train_test_split(np.arange(3), self.Y)
        with pytest.raises(ValueError, match="inconsistent numbers of samples"):
            iterative_train_test_split(np.arange(3), stratify=self.Y)
        with pytest.raises(ValueError, match=r"The last array.* has 1 dimension"):
            iterative_train_test_split(self.Y, np.arange(400))
        with pytest.raises(ValueError, match="test_size"):
            iterative_train_test_split(self.Y, test_size=1.5)
        with pytest.raises(ValueError, match=r"there are 1 group\(s\), the largest with 400 of 400 samples"):
            iterative_train_test_split(self.Y, groups=np.zeros(400))


@pytest.mark.parametrize(
    "cv", [IterativeStratifiedKFold(3, random_state=0), IterativeStratifiedKFold(3, n_repeats=2, random_state=0)]
)
def test_works_where_scikit_learn_takes_a_splitter(cv):
    X, Y = np.random.default_rng(0).normal(size=(60, 3)), rare_labels(60, 3)
    tree = DecisionTreeClassifier(random_state=0)
    assert len(cross_val_score(tree, X, Y, cv=cv)) == cv.get_n_splits(X, Y)
    assert GridSearchCV(tree, {"max_depth": [1, 2]}, cv=cv).fit(X, Y).n_splits_ == cv.get_n_splits()


@pytest.mark.parametrize(
    ("n_splits", "n_samples", "Y", "sentence"),
    [
        (2, 3, np.array([0, 1, 1]), "y has 1 dimension"),
        (4, 3, np.ones((3, 2)), "n_splits must be at most the number of samples, 3, not 4"),
        (2, 5, np.ones((3, 2)), "inconsistent numbers of samples"),
    ],
)
def test_bad_input_gets_a_sentence_at_once(n_splits, n_samples, Y, sentence):
    with pytest.raises(ValueError, match=sentence):
        IterativeStratifiedKFold(n_splits).split(np.zeros(n_samples), Y)
