"""RAkEL: which label subsets are chosen, and the votes of their powersets."""

from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuselearn import CARTClassifier, SVMClassifier
from fuselearn.multilabel import LabelPowersetClassifier, RAkELClassifier
from fuselearn.multilabel.methods.rakel import divide_labels, draw_labelsets

TREE = CARTClassifier(min_samples_split=5)


@st.composite
def wishes(draw):
    """Give numbers of labels, labels per set and sets that can be had."""
    n_labels = draw(st.integers(1, 12))
    size = draw(st.integers(1, n_labels))
    return n_labels, size, draw(st.integers(-(-n_labels // size), 2 * comb(n_labels, size)))


@settings(max_examples=50, deadline=None)
@given(wishes(), st.integers(0, 100))
def test_sets_are_different_and_have_all_labels(wish, seed):
    n_labels, size, n_labelsets = wish
    found = draw_labelsets(n_labels, size, n_labelsets, np.random.default_rng(seed))
    assert len(found) == min(n_labelsets, comb(n_labels, size))
    assert len({tuple(labels) for labels in found}) == len(found)
    assert all(len(labels) == size and (np.diff(labels) > 0).all() for labels in found)
    assert set(np.concatenate(found)) == set(range(n_labels))


def test_many_labels_need_no_list_of_all_choices():
    found = draw_labelsets(300, 40, 20, np.random.default_rng(0))
    assert len({tuple(labels) for labels in found}) == 20


def test_every_set_can_be_drawn():
    counts = np.zeros((4, 4))
    for seed in range(60):
        for first, second in draw_labelsets(4, 2, 2, np.random.default_rng(seed)):
            counts[first, second] += 1
    assert (counts[np.triu_indices(4, 1)] > 0).all()


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 12), st.integers(1, 12), st.integers(0, 100))
def test_disjoint_sets_have_each_label_once(n_labels, size, seed):
    parts = divide_labels(n_labels, size, np.random.default_rng(seed))
    assert sorted(np.concatenate(parts)) == list(range(n_labels))
    assert [len(part) for part in parts[:-1]] == [size] * (len(parts) - 1)


@pytest.mark.parametrize("vote", ["class", "probability"])
@pytest.mark.parametrize(
    ("choice", "n_models"),
    [({}, 4), ({"labelset_size": 2, "n_labelsets": 3}, 3), ({"labelset_size": 2, "overlapping": False}, 2)],
)
def test_votes_are_the_mean_of_powersets_that_know_the_label(labelled, choice, n_models, vote):
    X, Y = labelled
    model = RAkELClassifier(TREE, vote=vote, random_state=0, **choice).fit(X, Y)
    assert len(model.labelsets_) == n_models
    total, n_votes = np.zeros(Y.shape), np.zeros(4)
    for labels in model.labelsets_:
        powerset = LabelPowersetClassifier(TREE).fit(X, Y[:, labels])
        total[:, labels] += powerset.predict(X) if vote == "class" else powerset.predict_proba(X)
        n_votes[labels] += 1
    np.testing.assert_allclose(model.predict_proba(X), total / n_votes, atol=1e-12)


def test_twice_as_many_models_as_labels_unless_there_are_fewer_choices(labelled):
    X, _ = labelled
    Y = np.random.default_rng(0).integers(0, 2, (80, 6))
    assert len(RAkELClassifier("tree").fit(X, Y).labelsets_) == 12
    assert len(RAkELClassifier("tree").fit(X, Y[:, :4]).labelsets_) == 4
    assert len(RAkELClassifier("tree", n_labelsets=1000).fit(X, Y).labelsets_) == 20


def test_more_labels_than_there_are_make_a_powerset(labelled):
    X, Y = labelled
    with pytest.warns(UserWarning, match=r"labelset_size=9 exceeds the number of labels, 4"):
        model = RAkELClassifier(TREE, labelset_size=9, vote="probability").fit(X, Y)
    np.testing.assert_array_equal(model.predict_proba(X), LabelPowersetClassifier(TREE).fit(X, Y).predict_proba(X))


def test_the_seed_chooses_the_sets(labelled):
    X, Y = labelled
    settings = {"labelset_size": 2, "n_labelsets": 2, "vote": "probability"}
    scores = [RAkELClassifier(TREE, random_state=seed, **settings).fit(X, Y).predict_proba(X) for seed in range(6)]
    assert any((other != scores[0]).any() for other in scores)


def test_constant_labels_and_weights(labelled):
    X, Y = labelled
    Y = Y.copy()
    Y[:, 1], Y[:, 3] = 0, 1
    weights = np.where(np.arange(80) < 50, 1.5, 0.0)
    Y[50:] = 1 - Y[50:]
    scores = (
        RAkELClassifier(SVMClassifier(probability="logistic"), labelset_size=2, random_state=0)
        .fit(X, Y, weights)
        .predict_proba(X)
    )
    np.testing.assert_array_equal(scores[:, [1, 3]], np.tile([0.0, 1.0], (80, 1)))


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"labelset_size": 2, "n_labelsets": 1}, "cannot cover all 4 labels; use at least 2 sets"),
        ({"overlapping": False, "n_labelsets": 2}, "n_labelsets must be None"),
    ],
)
def test_numbers_of_sets_that_do_not_fit(labelled, parameters, sentence):
    with pytest.raises((ValueError, TypeError), match=sentence):
        RAkELClassifier("tree", **parameters).fit(*labelled)
