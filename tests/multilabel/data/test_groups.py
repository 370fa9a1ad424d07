"""Groups stay together, and the folds of groups have nearly the shares of every label."""

import numpy as np
import pandas as pd
import pytest
from fuselearn.multilabel.data.groups import deal_groups, read_groups
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn import config_context
from sklearn.model_selection import cross_val_score
from sklearn.tree import DecisionTreeClassifier

from fuselearn.multilabel import (
    IterativeStratifiedGroupKFold,
    RepeatedIterativeStratifiedGroupKFold,
    iterative_train_test_split,
)

RNG = np.random.default_rng(0)
N = 600
GROUPS = RNG.choice(90, size=N, p=RNG.dirichlet(np.ones(90)))
# Labels depend on the group, as they do for patients and albums.
Y = (RNG.random((N, 5)) < RNG.beta(1, 4, size=(90, 5))[GROUPS]).astype(int)


def test_no_group_is_in_two_folds_and_labels_keep_their_shares():
    tested = []
    for train, test in IterativeStratifiedGroupKFold(5, random_state=0).split(Y, Y, groups=GROUPS):
        assert not set(GROUPS[train]) & set(GROUPS[test])
        assert np.array_equal(np.sort(np.concatenate([train, test])), np.arange(N))
        assert len(test) == pytest.approx(N / 5, abs=0.02 * N)
        assert Y[test].sum(axis=0) / Y.sum(axis=0) == pytest.approx(np.full(5, 0.2), abs=0.035)
        tested.append(test)
    assert np.array_equal(np.sort(np.concatenate(tested)), np.arange(N))


def test_groups_of_one_sample_are_stratified_samples():
    for _, test in IterativeStratifiedGroupKFold(5, random_state=0).split(Y, Y, groups=np.arange(N)):
        assert Y[test].sum(axis=0) / Y.sum(axis=0) == pytest.approx(np.full(5, 0.2), abs=0.02)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 999), n_groups=st.integers(2, 12), n_splits=st.integers(2, 5))
def test_every_fold_has_samples(seed, n_groups, n_splits):
    rng = np.random.default_rng(seed)
    groups = np.concatenate([np.arange(n_groups), rng.integers(0, n_groups, 20)])
    labels = (rng.random((len(groups), 3)) < 0.3).astype(int)
    if n_groups < n_splits:
        with pytest.raises(ValueError, match="cannot be split"):
            IterativeStratifiedGroupKFold(n_splits).split(labels, labels, groups)
        return
    for train, test in IterativeStratifiedGroupKFold(n_splits, random_state=seed).split(labels, labels, groups):
        assert len(test) > 0
        assert not set(groups[train]) & set(groups[test])


def test_the_least_growth_by_hand():
    # Of both labels and of the size, groups 0 and 1 have most and go to different folds; groups 2 and 3 balance them.
    labels = sparse.csr_array(np.array([[1, 0], [1, 0], [0, 1], [0, 1], [1, 0], [0, 1]]))
    folds = deal_groups(labels, np.array([0, 0, 1, 1, 2, 3]), [0.5, 0.5], rng=None)
    assert folds.tolist() == [0, 0, 1, 1, 1, 0]


def test_seeds_and_repetitions():
    def folds(splitter):
        return [test.tolist() for _, test in splitter.split(Y, Y, groups=GROUPS)]

    repeated = RepeatedIterativeStratifiedGroupKFold(3, 2, random_state=4)
    assert len(folds(repeated)) == repeated.get_n_splits() == 6
    assert folds(repeated) == folds(repeated)
    assert folds(repeated)[:3] == folds(IterativeStratifiedGroupKFold(3, random_state=4))
    assert folds(repeated)[:3] != folds(repeated)[3:]
    ordered = IterativeStratifiedGroupKFold(3, shuffle=False)
    assert folds(ordered) == folds(ordered)
    with pytest.raises(ValueError, match="n_repeats must be at least 1"):
        RepeatedIterativeStratifiedGroupKFold(3, 0)


def test_in_cross_validation_with_names_and_sparse_labels():
    names = pd.Series(GROUPS).map("patient {}".format)
    model = DecisionTreeClassifier(max_depth=2, random_state=0)
    scores = cross_val_score(model, Y, Y, groups=names, cv=IterativeStratifiedGroupKFold(3, random_state=0))
    assert len(scores) == 3
    with config_context(enable_metadata_routing=True):
        cv = RepeatedIterativeStratifiedGroupKFold(3, 1, random_state=0)
        routed = cross_val_score(model, Y, Y, params={"groups": names}, cv=cv)
    assert routed.tolist() == scores.tolist()
    by_name, by_number = (
        [test.tolist() for _, test in IterativeStratifiedGroupKFold(3, shuffle=False).split(Y, labels, groups)]
        for labels, groups in ((sparse.csr_matrix(Y), names), (Y, read_groups(names, N)))
    )
    assert by_name == by_number


def test_a_split_of_groups():
    X = pd.DataFrame({"x": np.arange(N)})
    X_train, X_test, Y_train, Y_test = iterative_train_test_split(X, Y, groups=GROUPS, test_size=0.25, random_state=0)
    assert not set(GROUPS[X_train["x"]]) & set(GROUPS[X_test["x"]])
    assert len(X_train) + len(X_test) == N
    assert len(X_test) == pytest.approx(N / 4, abs=0.02 * N)
    assert Y_test.sum(axis=0) / Y.sum(axis=0) == pytest.approx(np.full(5, 0.25), abs=0.04)
    assert np.array_equal(Y_train, Y[X_train["x"]])
    some = iterative_train_test_split(X, Y, groups=GROUPS, test_size=100, train_size=200, random_state=0)
    assert len(some[0]) == pytest.approx(200, abs=15)
    assert len(some[1]) == pytest.approx(100, abs=15)
    assert not set(GROUPS[some[0]["x"]]) & set(GROUPS[some[1]["x"]])


@pytest.mark.parametrize(
    ("groups", "sentence"),
    [
        (None, "groups is None; expected the group of each sample"),
        (np.zeros(N), r"groups has 1 different group\(s\), which cannot be split into 3 folds"),
        (GROUPS[:-1], r"groups must hold one group for each of the 600 samples; its shape is \(599,\)"),
        (np.where(np.arange(N) == 7, np.nan, GROUPS), r"groups has 1 missing value\(s\), the first at sample 7"),
        ([None, *["a", "b", "c"] * 200][:N], r"groups has 1 missing value\(s\), the first at sample 0"),
    ],
)
def test_groups_that_cannot_be_split_get_a_sentence(groups, sentence):
    with pytest.raises(ValueError, match=sentence):
        IterativeStratifiedGroupKFold(3).split(Y, Y, groups=groups)


def test_one_group_cannot_be_trained_and_tested_on():
    with pytest.raises(ValueError, match=r"there are 1 group\(s\), the largest with 600 of 600 samples"):
        iterative_train_test_split(Y, groups=np.zeros(N))
