"""Out-of-fold answers, against scikit-learn's and for splitters that do not cover all rows."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    RepeatedKFold,
    ShuffleSplit,
    StratifiedKFold,
    TimeSeriesSplit,
    cross_val_predict,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from fuselearn.combine.answers import Classes
from fuselearn.combine.members import Member
from fuselearn.combine.out_of_fold import answer_out_of_fold, held_out_answers, make_splits

X, y = load_iris(return_X_y=True)
CLASSES = Classes(np.unique(y))
MEMBERS = [Member("nb", GaussianNB()), Member("near", KNeighborsClassifier(3), [2, 3])]


def out_of_fold(cv, groups=None, members=MEMBERS, **settings):
    splits = make_splits(cv, X, y, groups, classifier=True)
    return answer_out_of_fold(members, X, y, CLASSES.probabilities, splits, **settings)


@pytest.mark.parametrize(
    "cv", [None, 3, StratifiedKFold(4, shuffle=True, random_state=0), KFold(5, shuffle=True, random_state=0)]
)
def test_partitions_give_scikit_learns_answers(cv):
    found = out_of_fold(cv)
    assert found.rows.tolist() == list(range(150))
    for answers, member, columns in zip(found.answers, MEMBERS, ([0, 1, 2, 3], [2, 3]), strict=True):
        expected = cross_val_predict(member.estimator, X[:, columns], y, cv=cv, method="predict_proba")
        np.testing.assert_allclose(answers, expected)


def test_groups():
    groups = np.arange(150) % 7
    found = out_of_fold(GroupKFold(5), groups)
    expected = cross_val_predict(GaussianNB(), X, y, cv=GroupKFold(5), groups=groups, method="predict_proba")
    np.testing.assert_allclose(found.answers[0], expected)


def test_time_ordered_splits_leave_out_the_earliest_rows():
    order = np.random.default_rng(0).permutation(150)
    splits = make_splits(TimeSeriesSplit(4), X, y, None, classifier=True)
    found = answer_out_of_fold(MEMBERS, X[order], y[order], CLASSES.probabilities, splits)
    assert found.rows.tolist() == list(range(30, 150))
    assert found.folds.tolist() == np.repeat([0, 1, 2, 3], 30).tolist()
    early = order[:60]
    expected = GaussianNB().fit(X[early], y[early]).predict_proba(X[order[60:90]])
    np.testing.assert_allclose(found.answers[0, 30:60], expected)


def test_rows_held_out_more_than_once_get_the_mean():
    cv = RepeatedKFold(n_splits=3, n_repeats=2, random_state=0)
    found = out_of_fold(cv)
    splits = list(cv.split(X))
    expected = np.zeros((150, 3))
    for inside, outside in splits:
        expected[outside] += GaussianNB().fit(X[inside], y[inside]).predict_proba(X[outside]) / 2
    np.testing.assert_allclose(found.answers[0], expected)
    assert set(found.folds) == {0, 1, 2}


def test_rows_never_held_out_are_left_out():
    found = out_of_fold(ShuffleSplit(1, test_size=0.2, random_state=0))
    inside, outside = next(ShuffleSplit(1, test_size=0.2, random_state=0).split(X))
    assert found.rows.tolist() == sorted(outside)
    expected = GaussianNB().fit(X[inside], y[inside]).predict_proba(X[found.rows])
    np.testing.assert_allclose(found.answers[0], expected)


def test_a_class_that_a_fold_lacks_gets_nothing():
    found = out_of_fold([(np.arange(100), np.arange(100, 150))])
    assert found.answers.shape == (2, 50, 3)
    assert not found.answers[:, :, 2].any()


def test_splits_may_be_masks():
    inside = np.arange(150) % 3 > 0
    masks, numbers = out_of_fold([(inside, ~inside)]), out_of_fold([(np.flatnonzero(inside), np.flatnonzero(~inside))])
    np.testing.assert_array_equal(masks.answers, numbers.answers)
    np.testing.assert_array_equal(masks.rows, numbers.rows)


def test_row_weights_are_those_of_the_inside():
    weights = np.random.default_rng(0).uniform(0.1, 3, 150)
    inside, outside = np.arange(0, 150, 2), np.arange(1, 150, 2)
    members = [Member("nb", GaussianNB(), passed={"sample_weight": weights})]
    found = out_of_fold([(inside, outside)], members=members)
    expected = GaussianNB().fit(X[inside], y[inside], sample_weight=weights[inside]).predict_proba(X[outside])
    np.testing.assert_allclose(found.answers[0], expected)


def test_fitted_members_answer_about_all_rows():
    members = [Member("nb", GaussianNB().fit(X, y))]
    found = held_out_answers(members, X, y, CLASSES.probabilities, 5, None, classifier=True, prefit=True, n_jobs=None)
    np.testing.assert_array_equal(found.answers[0], members[0].estimator.predict_proba(X))
    assert set(found.folds) == set(range(5))


@pytest.mark.usefixtures("threads")
def test_the_number_of_jobs_does_not_matter():
    members = [*MEMBERS, Member("tree", DecisionTreeClassifier(random_state=0))]
    alone, together = (out_of_fold(3, members=members, n_jobs=n_jobs) for n_jobs in (None, 2))
    np.testing.assert_array_equal(alone.answers, together.answers)


def test_splits_that_hold_out_nothing_are_refused():
    with pytest.raises(ValueError, match="cv holds out no samples"):
        make_splits([(np.arange(150), np.arange(0))], X, y, None, classifier=True)
