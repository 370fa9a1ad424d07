"""Iterative stratification: rows dealt by hand, sizes, shares of labels, and scikit-learn's interface."""

from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.tree import DecisionTreeClassifier

from fuselearn.multilabel import (
    IterativeStratifiedKFold,
    RepeatedIterativeStratifiedKFold,
    iterative_train_test_split,
)
from fuselearn.multilabel.data.labels import read_sparse_labels
from fuselearn.multilabel.data.stratification import deal_rows

label_tables = arrays(np.uint8, st.tuples(st.integers(4, 40), st.integers(1, 8)), elements=st.sampled_from([0, 0, 1]))


def rare_labels(n_rows=600, n_labels=12, seed=0):
    """Labels from half of the rows down to one in fifty."""
    rng = np.random.default_rng(seed)
    return (rng.random((n_rows, n_labels)) < np.geomspace(0.5, 0.02, n_labels)).astype(int)


def fold_numbers(splitter, Y):
    folds = np.full(len(Y), -1)
    for fold, (train, test) in enumerate(splitter.split(np.zeros(len(Y)), Y)):
        assert (folds[test] == -1).all()
        np.testing.assert_array_equal(np.sort(np.r_[train, test]), np.arange(len(Y)))
        folds[test] = fold
    assert (folds >= 0).all()
    return folds


def unevenness(folds, Y):
    """Mean difference between the positives of a label in a fold and an equal share of them."""
    counts = np.stack([Y[folds == fold].sum(axis=0) for fold in np.unique(folds)])
    return np.abs(counts - counts.mean(axis=0)).mean()


def deal_plainly(Y, sizes, rng):
    """Deal rows as Sechidis et al. (2011) describe it, with fractions and lists."""
    n_rows, n_labels = Y.shape
    order, label_order, draws = np.arange(n_rows), np.arange(n_labels), np.zeros(n_rows)
    if rng is not None:
        order, label_order, draws = rng.permutation(n_rows), rng.permutation(n_labels), rng.random(n_rows)
    Y, room, folds = Y[order], list(sizes), [None] * n_rows
    wishes = [[Fraction(int(n) * int(size), n_rows) for size in sizes] for n in Y.sum(axis=0)]

    def put(row, wished):
        neediest = max((wished[f], room[f]) for f in range(len(room)) if room[f] > 0)
        equal = [f for f in range(len(room)) if (wished[f], room[f]) == neediest]
        fold = folds[row] = equal[int(draws[row] * len(equal))]
        room[fold] -= 1
        for label in np.flatnonzero(Y[row]):
            wishes[label][fold] -= 1

    while True:
        left = {label: [r for r in range(n_rows) if folds[r] is None and Y[r, label]] for label in label_order}
        if not any(left.values()):
            break
        rarest = min((label for label in label_order if left[label]), key=lambda label: len(left[label]))
        for row in left[rarest]:
            put(row, wishes[rarest])
    for row in range(n_rows):
        if folds[row] is None:
            put(row, room)
    dealt = np.empty(n_rows, dtype=int)
    dealt[order] = folds
    return dealt


class TestDealing:
    @given(label_tables, st.integers(2, 4), st.one_of(st.none(), st.integers(0, 5)))
    def test_rows_are_dealt_as_the_paper_describes_it(self, Y, n_folds, seed):
        sizes = np.bincount(np.random.default_rng(1).integers(n_folds, size=len(Y)), minlength=n_folds)
        one, other = (None if seed is None else np.random.default_rng(seed) for _ in range(2))
        folds = deal_rows(read_sparse_labels(Y), sizes, one)
        np.testing.assert_array_equal(folds, deal_plainly(Y.astype(int), sizes, other))

    def test_by_hand(self):
        """Label b has two rows, a four. With two folds of four rows:

        b: row 2 (a, b) to fold 0 by the tie; fold 0 now wishes b 0 and a 1, so row 5 (b) goes to fold 1.
        a: wishes 1 and 2, so row 0 goes to fold 1; now equal, room 3 and 2, so row 1 goes to fold 0;
           wishes 0 and 1, so row 7 goes to fold 1.
        No label: room 2 and 1, so row 3 goes to fold 0; room 1 and 1, so row 4 by the tie to fold 0, row 6 to fold 1.
        """
        Y = np.zeros((8, 2), dtype=int)
        Y[[0, 1, 2, 7], 0] = 1
        Y[[2, 5], 1] = 1
        folds = deal_rows(read_sparse_labels(Y), [4, 4], rng=None)
        assert folds.tolist() == [1, 0, 0, 0, 0, 1, 1, 1]

    def test_wishes_are_fractions_of_unequal_parts(self):
        """Five rows of a label in parts of 3 and 1 quarters wish 3.75 and 1.25: four go to the first."""
        Y = (np.arange(20) < 5).astype(int)[:, None]
        folds = deal_rows(read_sparse_labels(Y), [15, 5], rng=None)
        assert folds[:5].tolist() == [0, 0, 0, 1, 0]
        assert np.bincount(folds).tolist() == [15, 5]

    def test_a_fold_with_one_row_more_does_not_get_all_single_rows(self):
        """Ten labels of one row each, in folds of 11, 10, 10, 10 and 10 rows."""
        Y = np.vstack([np.eye(10, dtype=int), np.zeros((41, 10), dtype=int)])
        for seed in range(5):
            folds = fold_numbers(IterativeStratifiedKFold(5, shuffle=True, random_state=seed), Y)
            counts = np.bincount(folds[:10], minlength=5)
            assert counts.min() >= 1
            assert counts.max() <= 3

    def test_the_rarest_label_is_dealt_first(self):
        """Rows with both labels would all fall into fold 0 or 1 if the frequent label were dealt first."""
        Y = np.zeros((40, 2), dtype=int)
        Y[::2, 0] = 1
        Y[[0, 2, 4, 6], 1] = 1
        for seed in range(5):
            folds = deal_rows(read_sparse_labels(Y), [10] * 4, np.random.default_rng(seed))
            assert sorted(folds[[0, 2, 4, 6]]) == [0, 1, 2, 3]

    def test_rows_that_lost_their_label_to_a_rarer_one_count_no_more(self):
        """Labels b and c have three rows each and share two, a has five.

        b: row 0 to fold 0 by the tie, row 1 (with c) to fold 1, row 2 (with c) by the tie to fold 0.
        Of c one row is left, so it comes before a: its wishes are equal, room is 4 and 5, and row 3 goes to fold 1.
        Row 4 begins a by the tie.
        """
        Y = np.zeros((12, 3), dtype=int)
        Y[[0, 1, 2], 1] = Y[[1, 2, 3], 2] = Y[[4, 5, 6, 7, 8], 0] = 1
        folds = deal_rows(read_sparse_labels(Y), [6, 6], rng=None)
        assert folds[:5].tolist() == [0, 1, 0, 1, 0]

    def test_ties_are_random(self):
        Y = np.ones((1, 1), dtype=int)
        chosen = [deal_rows(read_sparse_labels(Y), [1, 1, 1], np.random.default_rng(s))[0] for s in range(90)]
        assert np.bincount(chosen, minlength=3).min() > 15

    @given(label_tables, st.integers(2, 4), st.one_of(st.none(), st.integers(0, 5)))
    def test_sizes_are_met_whatever_the_labels(self, Y, n_folds, seed):
        sizes = np.bincount(np.random.default_rng(0).integers(n_folds, size=len(Y)), minlength=n_folds)
        rng = None if seed is None else np.random.default_rng(seed)
        folds = deal_rows(read_sparse_labels(Y), sizes, rng)
        np.testing.assert_array_equal(np.bincount(folds, minlength=n_folds), sizes)


class TestFolds:
    @given(label_tables, st.integers(2, 4), st.booleans())
    def test_every_row_is_in_one_fold_and_sizes_differ_by_one_at_most(self, Y, n_splits, shuffle):
        sizes = np.bincount(fold_numbers(IterativeStratifiedKFold(n_splits, shuffle=shuffle), Y))
        assert sizes.max() - sizes.min() <= 1

    def test_far_more_even_than_random_folds(self):
        Y = rare_labels()
        ours = np.mean([unevenness(fold_numbers(IterativeStratifiedKFold(5, random_state=s), Y), Y) for s in range(5)])
        theirs = np.mean([unevenness(fold_numbers(KFold(5, shuffle=True, random_state=s), Y), Y) for s in range(5)])
        assert ours < theirs / 4

    @pytest.mark.parametrize("n_positive", [1, 2, 4, 5, 6])
    def test_few_positives_are_spread(self, n_positive):
        Y = np.zeros((50, 3), dtype=int)
        Y[:, 0] = np.arange(50) % 2
        Y[3 : 3 + n_positive, 2] = 1
        folds = fold_numbers(IterativeStratifiedKFold(5, random_state=1), Y)
        counts = np.bincount(folds[Y[:, 2] == 1], minlength=5)
        assert counts.max() - counts.min() <= 1

    def test_labels_that_are_nowhere_or_everywhere(self):
        Y = rare_labels(53, 3)
        padded = np.c_[np.zeros(53), Y, np.ones(53)].astype(int)
        folds = fold_numbers(IterativeStratifiedKFold(5, random_state=0), padded)
        assert unevenness(folds, Y) < 0.6

    def test_without_any_label_folds_are_random(self):
        folds = fold_numbers(IterativeStratifiedKFold(5, random_state=0), np.zeros((50, 2), dtype=int))
        assert np.bincount(folds).tolist() == [10] * 5
        assert len(np.unique(folds[:10])) > 2

    def test_the_seed_decides(self):
        Y = rare_labels()

        def deal(seed):
            return fold_numbers(IterativeStratifiedKFold(5, random_state=seed), Y)

        np.testing.assert_array_equal(deal(3), deal(3))
        assert not np.array_equal(deal(3), deal(4))
        assert not np.array_equal(deal(None), deal(None))

    def test_a_generator_moves_on(self):
        Y = rare_labels()
        splitter = IterativeStratifiedKFold(5, random_state=np.random.default_rng(0))
        assert not np.array_equal(fold_numbers(splitter, Y), fold_numbers(splitter, Y))

    def test_without_shuffling_nothing_is_random(self):
        Y = rare_labels()
        splitter = IterativeStratifiedKFold(5, shuffle=False)
        np.testing.assert_array_equal(fold_numbers(splitter, Y), fold_numbers(splitter, Y))

    def test_every_form_of_labels_gives_the_same_folds(self):
        Y = rare_labels(100)
        splitter = IterativeStratifiedKFold(4, random_state=0)
        expected = [test.tolist() for _, test in splitter.split(Y, Y)]
        stored_zeros = sparse.coo_array((Y.ravel(), np.divmod(np.arange(Y.size), Y.shape[1])), shape=Y.shape)
        named = {f"label {j}": column for j, column in enumerate(Y.T)}
        forms = [
            Y.astype(bool),
            Y.astype(float),
            Y.tolist(),
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


class TestRepeats:
    def test_each_repeat_is_a_whole_deal_of_its_own(self):
        Y = rare_labels(103)
        splitter = RepeatedIterativeStratifiedKFold(4, 3, random_state=0)
        tests = [test for _, test in splitter.split(Y, Y)]
        assert len(tests) == splitter.get_n_splits() == 12
        for repeat in range(3):
            rows = np.concatenate(tests[4 * repeat : 4 * repeat + 4])
            np.testing.assert_array_equal(np.sort(rows), np.arange(103))
        assert tests[0].tolist() != tests[4].tolist() != tests[8].tolist()

    def test_the_seed_decides(self):
        Y = rare_labels(60)

        def deal(seed):
            return [test.tolist() for _, test in RepeatedIterativeStratifiedKFold(3, 2, random_state=seed).split(Y, Y)]

        assert deal(1) == deal(1)
        assert deal(1) != deal(2)


class TestTrainTestSplit:
    Y = rare_labels(400)

    def test_sizes_and_shares(self):
        X = np.arange(400)
        X_train, X_test, Y_train, Y_test = iterative_train_test_split(X, self.Y, test_size=0.2, random_state=0)
        assert len(X_train) == 320
        assert len(X_test) == 80
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
        rows = parts[0].tolist(), parts[1].tolist()
        assert sorted(rows[0] + rows[1]) == list(range(400))
        for i, table in enumerate(tables):
            for j in (0, 1):
                part = parts[2 * i + j]
                assert isinstance(part, type(table))
                values = part.toarray() if sparse.issparse(part) else np.asarray(part)
                assert values.ravel().tolist() == rows[j]
        assert parts[6].index.tolist() == [row + 7 for row in rows[0]]

    def test_the_seed_decides(self):
        def deal(seed):
            return iterative_train_test_split(np.arange(400), self.Y, random_state=seed)[1].tolist()

        assert deal(1) == deal(1)
        assert deal(1) != deal(2)

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


class TestScikitLearn:
    X, Y = np.random.default_rng(0).normal(size=(60, 3)), rare_labels(60, 3)

    @pytest.mark.parametrize(
        "cv", [IterativeStratifiedKFold(3, random_state=0), RepeatedIterativeStratifiedKFold(3, 2, random_state=0)]
    )
    def test_works_where_scikit_learn_takes_a_splitter(self, cv):
        tree = DecisionTreeClassifier(random_state=0)
        assert len(cross_val_score(tree, self.X, self.Y, cv=cv)) == cv.get_n_splits(self.X, self.Y)
        search = GridSearchCV(tree, {"max_depth": [1, 2]}, cv=cv).fit(self.X, self.Y)
        assert search.n_splits_ == cv.get_n_splits()

    def test_it_prints_its_parameters(self):
        assert (
            repr(IterativeStratifiedKFold(3)) == "IterativeStratifiedKFold(n_splits=3, random_state=None, shuffle=True)"
        )

    @pytest.mark.parametrize("make", [IterativeStratifiedKFold, RepeatedIterativeStratifiedKFold])
    def test_groups_are_ignored_with_a_warning_at_once(self, make):
        """As in scikit-learn's StratifiedKFold, the call itself warns, not the first fold."""
        sentence = rf"groups is ignored by {make.__name__}: a group may be in both"
        with pytest.warns(UserWarning, match=sentence) as caught:
            folds = make(3).split(self.X, self.Y, groups=np.zeros(60))
        assert caught[0].filename == __file__
        assert len(next(folds)) == 2

    def test_bad_labels_are_refused_at_once(self):
        with pytest.raises(ValueError, match="y has 1 dimension"):
            IterativeStratifiedKFold(3).split(self.X, self.Y[:, 0])


class TestBadInput:
    @pytest.mark.parametrize(
        ("Y", "sentence"),
        [
            (None, "y is None; expected a table"),
            (np.array([0, 1, 1]), "y has 1 dimension.*StratifiedKFold"),
            (np.zeros((2, 2, 2)), "y has 3 dimension"),
            (np.zeros((3, 0)), "3 sample.s. and 0 label"),
            (np.zeros((0, 3)), "0 sample.s. and 3 label"),
            (np.array([[0, 1], [0, 2], [1, 0]]), "y must hold 0 and 1 only, but it has 2 in row 1, column 1"),
            (np.array([[0, 1], [np.nan, 0], [1, 0]]), "it has NaN in row 1, column 0"),
            (np.array([[0, 1], [0.5, 0], [1, 0]]), "it has 0.5"),
            (np.array([["a", "b"], ["b", "c"]]), "must hold 0 and 1, not values of type"),
            ([["a", "b"], ["c"]], "MultiLabelBinarizer"),
            (sparse.csr_array([[0, 3], [1, 0]]), "y must hold 0 and 1 only, but it has 3"),
            (sparse.csr_array([[0, np.nan], [1, 0]]), "it has NaN"),
            (
                pd.DataFrame({"sad": [0, 1], "calm": [1, -1]}),
                "column 'calm' of y must hold 0 and 1 only, but it has -1",
            ),
            (pl.DataFrame({"sad": [0, 1], "calm": [1, None]}), "column 'calm' of y .* NaN"),
        ],
    )
    def test_labels_get_a_sentence(self, Y, sentence):
        X = np.zeros(2 if Y is None else len(Y) if isinstance(Y, list) else Y.shape[0])
        with pytest.raises(ValueError, match=sentence):
            next(IterativeStratifiedKFold(2).split(X, Y))

    def test_parameters_get_a_sentence(self):
        with pytest.raises(ValueError, match="n_splits must be at least 2, not 1"):
            IterativeStratifiedKFold(1)
        with pytest.raises(TypeError, match="n_splits must be an integer"):
            RepeatedIterativeStratifiedKFold(2.5)
        with pytest.raises(ValueError, match="n_repeats must be at least 1"):
            RepeatedIterativeStratifiedKFold(2, 0)
        with pytest.raises(TypeError, match="shuffle must be True or False"):
            IterativeStratifiedKFold(2, shuffle="yes")
        with pytest.raises(ValueError, match="random_state has no effect with shuffle=False"):
            IterativeStratifiedKFold(2, shuffle=False, random_state=0)

    def test_more_folds_than_rows(self):
        with pytest.raises(ValueError, match="n_splits must be at most the number of samples, 3, not 4"):
            next(IterativeStratifiedKFold(4).split(np.zeros(3), np.ones((3, 2))))

    def test_tables_of_different_length(self):
        with pytest.raises(ValueError, match="inconsistent numbers of samples"):
            next(IterativeStratifiedKFold(2).split(np.zeros(5), np.ones((3, 2))))


def test_the_callers_labels_are_not_changed():
    for Y in (rare_labels(50), sparse.csr_array(rare_labels(50))):
        before = Y.copy()
        list(IterativeStratifiedKFold(5).split(np.zeros(50), Y))
        assert (before != Y).sum() == 0
