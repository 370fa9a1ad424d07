"""HOMER against a plain program that walks the tree row by row, and what it does at the edges."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

from fuselearn.base import prepare_samples
from fuselearn.multilabel import BinaryRelevanceClassifier, HOMERClassifier
from fuselearn.multilabel.methods.hierarchy import LEAF

rng = np.random.default_rng(0)
X = rng.normal(size=(120, 5)).round(2)
Y = (X @ rng.normal(size=(5, 8)) + rng.normal(size=(120, 8)) > 1.5).astype(np.int64)
NEW = rng.normal(size=(60, 5)).round(2)


def plain_chances(model, X, values, new):
    """Train one model, and give the probability of 1 for new rows."""
    if values.min() == values.max():
        return np.full(len(new), float(values[0]))
    return clone(model).fit(X, values).predict_proba(new)[:, 1]


def plain_node(groups, model, X, Y, new):
    """Train the models of one node on the rows that have any of its labels."""
    meta = np.column_stack([Y[:, group].max(axis=1) for group in groups])
    inside = meta.any(axis=1)
    return np.column_stack([plain_chances(model, X[inside], values, new) for values in meta[inside].T])


def decide(model, X):
    """Return the decision scores of new samples."""
    return model._fused_.deciding().scores(prepare_samples(model, X))


def plain_probabilities(hierarchy, model, X, Y, new):
    """Multiply the probabilities of all groups around each label, and that of having any label."""
    probabilities = np.tile(plain_chances(model, X, Y.max(axis=1), new)[:, None], (1, Y.shape[1]))
    for groups, _ in hierarchy:
        for group, column in zip(groups, plain_node(groups, model, X, Y, new).T, strict=True):
            probabilities[:, group] *= column[:, None]
    return probabilities


def plain_scores(hierarchy, model, X, Y, new):
    """Give the scores by which labels are chosen: down the hierarchy for rows that probably have any label."""
    any_label = plain_chances(model, X, Y.max(axis=1), new)[:, None]
    return np.where(any_label > 0.5, plain_homer(hierarchy, model, X, Y, new), any_label)


def plain_homer(hierarchy, model, X, Y, new, number=0):
    """Train one node and all below it, and give the scores of rows that have labels, one row after the other."""
    groups, children = hierarchy[number]
    chances = plain_node(groups, model, X, Y, new)
    scores = np.full((len(new), Y.shape[1]), np.nan)
    for i in range(len(new)):
        has = chances[i] > 0.5
        if not has.any():
            has[chances[i].argmax()] = True
        for g, group in enumerate(groups):
            if children[g] == LEAF or not has[g]:
                scores[i, group] = chances[i, g]
            else:
                below = Y[:, group].any(axis=1)
                deeper = plain_homer(hierarchy, model, X[below], Y[below], new[i : i + 1], children[g])
                scores[i, group] = deeper[0, group]
    return scores


@pytest.mark.parametrize("clustering", ["balanced", "kmeans", "random"])
def test_probabilities_and_labels_are_those_of_a_plain_program(clustering):
    model = HOMERClassifier(GaussianNB(), clustering=clustering, n_clusters=2, random_state=3).fit(X, Y)
    assert not Y.any(axis=1).all()
    expected = plain_probabilities(model._hierarchy(), GaussianNB(), X, Y, NEW)
    np.testing.assert_allclose(model.predict_proba(NEW), expected)
    np.testing.assert_array_equal(model.with_decision(0.5).predict(NEW), expected > 0.5)
    scores = plain_scores(model._hierarchy(), GaussianNB(), X, Y, NEW[:25])
    np.testing.assert_allclose(decide(model, NEW[:25]), scores)
    np.testing.assert_array_equal(model.predict(NEW[:25]), scores > 0.5)


@pytest.mark.parametrize("clustering", ["balanced", "kmeans", "random"])
def test_without_a_model_of_any_label_rows_without_labels_are_not_used(clustering):
    model = HOMERClassifier(GaussianNB(), clustering=clustering, n_clusters=2, any_label=False, random_state=3)
    labelled = Y.any(axis=1)
    model.fit(X, Y)
    np.testing.assert_array_equal(
        model.predict_proba(NEW), clone(model).fit(X[labelled], Y[labelled]).predict_proba(NEW)
    )
    scores = plain_homer(model._hierarchy(), GaussianNB(), X, Y, NEW[:25])
    np.testing.assert_allclose(decide(model, NEW[:25]), scores)
    assert (scores.max(axis=1) > 0.5).sum() > (HOMERClassifier(GaussianNB()).fit(X, Y).predict(NEW[:25])).any(1).sum()


def test_labels_that_rows_get_are_as_probable_as_having_any():
    far = -20.0 * np.ones((1, 5))
    rare = np.where(X[:, [0]] > 1.0, Y, 0)
    model = HOMERClassifier(LogisticRegression(), n_clusters=2, random_state=0).fit(X, rare)
    assert model.predict_proba(far).max() < 0.01
    assert (model.predict(far) == 0).all()


def test_rows_go_down_to_the_most_probable_group_if_none_is_probable():
    # Far from all rows, logistic regression finds no group probable, and yet every row ends in a leaf.
    model = HOMERClassifier(LogisticRegression(), n_clusters=2, any_label=False, random_state=0).fit(X, Y)
    far = -20.0 * np.ones((1, 5))
    expected = plain_homer(model._hierarchy(), LogisticRegression(), X, Y, far)
    np.testing.assert_allclose(decide(model, far), expected)


def test_a_label_that_every_row_of_a_node_has_is_certain():
    labels = np.column_stack([np.ones(120), Y[:, :2]]).astype(int)
    model = HOMERClassifier(n_clusters=2, random_state=0).fit(X, labels)
    assert (model.predict_proba(NEW)[:, 0] == 1.0).all()


@pytest.mark.parametrize("estimator", [None, "tree"])
@pytest.mark.parametrize("clustering", ["balanced", "random"])
def test_labels_that_no_row_has_are_impossible(estimator, clustering):
    labels = Y.copy()
    labels[:, [1, 4, 5, 6]] = 0
    model = HOMERClassifier(estimator, clustering=clustering, n_clusters=2, random_state=0).fit(X, labels)
    (member,) = model._fused_.models
    raw = member.scores(prepare_samples(model, NEW))
    assert (raw[:, [1, 4, 5, 6]] == 0.0).all()
    assert (model.predict(NEW)[:, [1, 4, 5, 6]] == 0).all()
    assert (HOMERClassifier(random_state=0).fit(X, 0 * Y).predict_proba(NEW) == 0.0).all()


def test_a_single_label_is_learned_from_all_rows():
    homer = HOMERClassifier(GaussianNB(), n_clusters=2)
    expected = BinaryRelevanceClassifier(GaussianNB()).fit(X, Y[:, :1]).predict_proba(NEW)
    with pytest.warns(UserWarning, match=r"exceeds the number of labels, 1"):
        np.testing.assert_array_equal(homer.fit(X, Y[:, :1]).predict_proba(NEW), expected)
    np.testing.assert_array_equal(homer.fit(X, Y[:, [0, 0]]).predict_proba(NEW), expected[:, [0, 0]])


def test_with_a_group_per_label_it_is_binary_relevance_on_the_rows_with_labels():
    labelled = Y.any(axis=1)
    assert not labelled.all()
    homer = HOMERClassifier(GaussianNB(), n_clusters=8).fit(X, Y)
    relevance = BinaryRelevanceClassifier(GaussianNB()).fit(X[labelled], Y[labelled])
    any_label = plain_chances(GaussianNB(), X, labelled.astype(int), NEW)
    np.testing.assert_allclose(homer.predict_proba(NEW), any_label[:, None] * relevance.predict_proba(NEW))
    np.testing.assert_array_equal(homer.predict(NEW), (any_label[:, None] > 0.5) * relevance.predict(NEW))
    assert homer.n_models_ == 9
    plain = homer.set_params(any_label=False).fit(X, Y)
    np.testing.assert_array_equal(plain.predict_proba(NEW), relevance.predict_proba(NEW))
    np.testing.assert_array_equal(plain.predict(NEW), relevance.predict(NEW))
    assert plain.n_models_ == 8


def test_more_clusters_than_labels_get_a_sentence():
    with pytest.warns(UserWarning, match=r"n_clusters=9 exceeds the number of labels, 8"):
        HOMERClassifier("tree", n_clusters=9).fit(X, Y)


@pytest.mark.parametrize("clustering", ["balanced", "kmeans", "random"])
def test_the_order_of_labels_does_not_matter(clustering):
    order = np.random.default_rng(1).permutation(8)
    model = HOMERClassifier(clustering=clustering, n_clusters=2, random_state=0)
    expected = model.fit(X, Y).predict_proba(NEW)[:, order]
    np.testing.assert_array_equal(model.fit(X, Y[:, order]).predict_proba(NEW), expected)


def test_fractions_as_weights_count():
    weights = rng.random(120)
    model = HOMERClassifier(GaussianNB(), n_clusters=2, random_state=0)
    weighted = model.fit(X, Y, sample_weight=weights).predict_proba(NEW)
    np.testing.assert_allclose(model.fit(X, Y, sample_weight=7.3 * weights).predict_proba(NEW), weighted)
    assert not np.allclose(model.fit(X, Y).predict_proba(NEW), weighted)


def test_a_saved_model_is_small():
    assert len(pickle.dumps(HOMERClassifier(random_state=0).fit(X, Y))) < 150_000


def test_the_hierarchy_is_shown_with_the_names_of_the_labels():
    labels = pd.DataFrame(Y, columns=list("abcdefgh"))
    model = HOMERClassifier("tree", random_state=0).fit(X, labels)
    lines = model.export_text().splitlines()
    assert lines[0] == "8 labels"
    assert sorted(line.split()[-1] for line in lines if line[-1] != "s") == list("abcdefgh")
    assert sorted(text.get_text() for text in model.plot().axes[0].texts) == list("abcdefgh")
