"""Iterative stratification: sizes, fractions of labels, groups, and scikit-learn's interface."""

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
    IterativeStratifiedGroupKFold,
    IterativeStratifiedKFold,
    RepeatedIterativeStratifiedGroupKFold,
    RepeatedIterativeStratifiedKFold,
    iterative_train_test_split,
)

indicators = arrays(np.uint8, st.tuples(st.integers(4, 40), st.integers(1, 8)), elements=st.sampled_from([0, 0, 1]))
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
        folds = number_folds(IterativeStratifiedGroupKFold(5, random_state=0), GROUPED, GROUPS)
        assert len(set(zip(GROUPS, folds, strict=True))) == len(set(GROUPS))
        for fold in range(5):
            assert np.mean(folds == fold) == pytest.approx(0.2, abs=0.02)
            fractions = GROUPED[folds == fold].sum(axis=0) / GROUPED.sum(axis=0)
            assert fractions == pytest.approx(np.full(5, 0.2), abs=0.035)

    def test_groups_of_one_sample_are_stratified_samples(self):
        folds = number_folds(IterativeStratifiedGroupKFold(5, random_state=0), GROUPED, np.arange(N))
        for fold in range(5):
            fractions = GROUPED[folds == fold].sum(axis=0) / GROUPED.sum(axis=0)
            assert fractions == pytest.approx(np.full(5, 0.2), abs=0.02)

    @given(seed=st.integers(0, 999), n_groups=st.integers(2, 12), n_splits=st.integers(2, 5))
    def test_every_fold_has_samples(self, seed, n_groups, n_splits):
        rng = np.random.default_rng(seed)
        groups = np.concatenate([np.arange(n_groups), rng.integers(0, n_groups, 20)])
        Y = (rng.random((len(groups), 3)) < 0.3).astype(int)
        splitter = IterativeStratifiedGroupKFold(n_splits, random_state=seed)
        if n_groups < n_splits:
            with pytest.raises(ValueError, match=rf"{n_groups} different group\(s\), which cannot be split"):
                splitter.split(Y, Y, groups)
        else:
            folds = number_folds(splitter, Y, groups)
            assert len(set(folds)) == n_splits
            assert len(set(zip(groups, folds, strict=True))) == n_groups

    def test_names_are_groups_too(self):
        splitter = IterativeStratifiedGroupKFold(3, shuffle=False)
        numbers = np.unique(GROUPS.astype(str), return_inverse=True)[1]
        names = pd.Series(GROUPS).map("patient {}".format)
        assert list_tests(splitter, GROUPED, names) == list_tests(splitter, GROUPED, numbers)

    def test_are_routed_by_scikit_learn(self):
        model = DecisionTreeClassifier(max_depth=2, random_state=0)
        cv = IterativeStratifiedGroupKFold(3, random_state=0)
        scores = cross_val_score(model, GROUPED, GROUPED, groups=GROUPS, cv=cv)
        with config_context(enable_metadata_routing=True):
            cv = RepeatedIterativeStratifiedGroupKFold(3, 1, random_state=0)
            routed = cross_val_score(model, GROUPED, GROUPED, params={"groups": GROUPS}, cv=cv)
        assert routed.tolist() == scores.tolist()

    @pytest.mark.parametrize("make", [IterativeStratifiedKFold, RepeatedIterativeStratifiedKFold])
    def test_are_ignored_with_a_warning_at_once(self, make):
        """As in scikit-learn's StratifiedKFold, the call itself warns, not the first fold."""
        Y = rare_labels(60)
        sentence = rf"groups is ignored by {make.__name__}: a group may be in both"
        with pytest.warns(UserWarning, match=sentence) as caught:
            folds = make(3).split(Y, Y, groups=np.zeros(60))
        assert caught[0].filename == __file__
        assert len(next(folds)) == 2


@pytest.mark.parametrize(
    ("once", "repeated"),
    [
        (IterativeStratifiedKFold, RepeatedIterativeStratifiedKFold),
        (IterativeStratifiedGroupKFold, RepeatedIterativeStratifiedGroupKFold),
    ],
)
class TestSeeds:
    @staticmethod
    def split(splitter):
        groups = GROUPS if "Group" in type(splitter).__name__ else None
        return list_tests(splitter, GROUPED, groups)

    def test_the_seed_decides(self, once, repeated):
        for make in (once, repeated):
            assert self.split(make(3, random_state=3)) == self.split(make(3, random_state=3))
            assert self.split(make(3, random_state=3)) != self.split(make(3, random_state=4))
            assert self.split(make(3)) != self.split(make(3))
        splitter = once(3, random_state=np.random.default_rng(0))
        assert self.split(splitter) != self.split(splitter)
        assert self.split(once(3, shuffle=False)) == self.split(once(3, shuffle=False))

    def test_each_repetition_has_folds_of_its_own(self, once, repeated):
        splitter = repeated(4, 3, random_state=0)
        tests = self.split(splitter)
        assert len(tests) == splitter.get_n_splits() == 12
        assert tests[:4] == self.split(once(4, random_state=0))
        for start in (0, 4, 8):
            np.testing.assert_array_equal(np.sort(np.concatenate(tests[start : start + 4])), np.arange(N))
        assert tests[0] != tests[4] != tests[8]

    def test_parameters_get_a_sentence(self, once, repeated):
        with pytest.raises(ValueError, match="n_splits must be at least 2, not 1"):
            once(1)
        with pytest.raises(TypeError, match="n_splits must be an integer"):
            repeated(2.5)
        with pytest.raises(ValueError, match="n_repeats must be at least 1"):
            repeated(2, 0)
        with pytest.raises(TypeError, match="shuffle must be True or False"):
            once(2, shuffle="yes")
        with pytest.raises(ValueError, match="random_state has no effect with shuffle=False"):
            once(2, shuffle=False, random_state=0)
        assert repr(once(3)) == f"{once.__name__}(n_splits=3, random_state=None, shuffle=True)"


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
        with pytest.raises(ValueError, match="the label array has 1 dimension"):
            iterative_train_test_split(self.Y, np.arange(400))
        with pytest.raises(ValueError, match="test_size"):
            iterative_train_test_split(self.Y, test_size=1.5)
        with pytest.raises(ValueError, match=r"there are 1 group\(s\), the largest with 400 of 400 samples"):
            iterative_train_test_split(self.Y, groups=np.zeros(400))


@pytest.mark.parametrize(
    "cv", [IterativeStratifiedKFold(3, random_state=0), RepeatedIterativeStratifiedKFold(3, 2, random_state=0)]
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
