"""ML-kNN and BR-kNN by hand and against their formulas written out."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.neighbors import KNeighborsClassifier

from fuselearn.datasets import make_digit_pairs
from fuselearn.multilabel import BRkNNClassifier, MLkNNClassifier
from fuselearn.multilabel.methods.nearest import METRICS, NeighborSearch

X = np.array([[0.0], [1.0], [2.0], [10.0], [11.0]])
Y = np.array([[1], [1], [0], [0], [1]])


def test_ml_knn_by_hand():
    # Of the two nearest others, 1, 1, 2, 1 and 0 have the label.
    model = MLkNNClassifier(2, scaling=None).fit(X, Y)
    assert model.priors_ == pytest.approx([4 / 7])
    assert model.likelihoods_[1] == pytest.approx(np.array([[2, 3, 1]]) / 6)
    assert model.likelihoods_[0] == pytest.approx(np.array([[1, 2, 2]]) / 5)
    # Two of the neighbors of 0.4 have the label, none of those of 6.2.
    two = (4 / 7 * 1 / 6) / (4 / 7 * 1 / 6 + 3 / 7 * 2 / 5)
    none = (4 / 7 * 2 / 6) / (4 / 7 * 2 / 6 + 3 / 7 * 1 / 5)
    assert model.predict_proba([[0.4], [6.2]]).ravel() == pytest.approx([two, none])
    assert model.predict([[0.4], [6.2]]).ravel().tolist() == [0, 1]


def ml_knn(X, Y, k, s, new):
    """Follow the paper's formulas word by word."""
    n, n_labels = Y.shape
    nearest = [sorted(set(range(n)) - {i}, key=lambda j: abs(X[i] - X[j]).sum())[:k] for i in range(n)]
    scores = np.empty((len(new), n_labels))
    for label in range(n_labels):
        y = Y[:, label]
        prior = (s + y.sum()) / (2 * s + n)
        c = {1: np.zeros(k + 1), 0: np.zeros(k + 1)}
        for i in range(n):
            c[y[i]][y[nearest[i]].sum()] += 1
        for row, x in enumerate(new):
            j = y[sorted(range(n), key=lambda i: abs(x - X[i]).sum())[:k]].sum()
            given_1 = (s + c[1][j]) / (s * (k + 1) + c[1].sum())
            given_0 = (s + c[0][j]) / (s * (k + 1) + c[0].sum())
            scores[row, label] = prior * given_1 / (prior * given_1 + (1 - prior) * given_0)
    return np.where(Y.min(axis=0) == Y.max(axis=0), Y[0], scores)  # here labels without a choice are certain


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 999), k=st.integers(1, 6), smoothing=st.sampled_from([0.5, 1.0, 3.0]))
def test_ml_knn_against_its_formulas(seed, k, smoothing):
    rng = np.random.default_rng(seed)
    rows, labels = rng.normal(size=(25, 3)), (rng.random((25, 4)) < 0.4).astype(int)
    new = rng.normal(size=(7, 3))
    model = MLkNNClassifier(k, smoothing=smoothing, metric="manhattan", scaling=None).fit(rows, labels)
    assert model.predict_proba(new) == pytest.approx(ml_knn(rows, labels, k, smoothing, new))


@pytest.mark.parametrize("weights", ["uniform", "distance"])
def test_br_knn_is_scikit_learns_classifier_for_each_label(weights):
    rows, labels = make_digit_pairs(150, random_state=0)
    rows, labels = rows.to_numpy() + np.random.default_rng(0).random(rows.shape), labels.to_numpy()  # no ties
    model = BRkNNClassifier(7, weights=weights, scaling=None).fit(rows[:100], labels[:100])
    reference = KNeighborsClassifier(7, weights=weights).fit(rows[:100], labels[:100])
    # The first 100 are their own neighbors.
    expected = np.column_stack([p[:, 1] for p in reference.predict_proba(rows)])
    # scikit-learn's distance of a sample from itself is not quite 0.
    np.testing.assert_allclose(model.predict_proba(rows), expected, atol=1e-6)
    assert np.array_equal(model.predict(rows), expected > 0.5)


def test_br_knn_predicts_sets_of_the_size_of_its_neighbors():
    """Neighbors of 1 have 2, 2 and 1 labels, in the mean 1.67: two labels, of the fractions 1, 2/3 and 0."""
    rows, labels = [[0.0], [1.0], [2.0], [50.0]], [[1, 1, 0], [1, 0, 0], [1, 1, 0], [0, 0, 1]]
    model = BRkNNClassifier(3, decision="set_size").fit(rows, labels)
    assert model.predict([[1.0]]).tolist() == [[1, 1, 0]]
    one = BRkNNClassifier(1, decision="set_size").fit(rows, labels)
    assert one.predict([[1.1], [49.0]]).tolist() == [[1, 0, 0], [0, 0, 1]]
    assert (
        BRkNNClassifier(4, decision="at_least_one")
        .fit(np.eye(4), np.eye(4, dtype=int))
        .predict(np.eye(4))
        .any(axis=1)
        .all()
    )


@pytest.mark.parametrize("kind", [MLkNNClassifier, BRkNNClassifier])
def test_rules_learn_from_the_neighbors_among_the_others(kind):
    rows, labels = make_digit_pairs(120, random_state=0)
    plain = kind(5).fit(rows, labels)
    learned = kind(5, decision="cardinality").fit(rows, labels)
    others = plain.with_decision("cardinality", rows, labels)
    assert np.array_equal(learned.predict(rows), others.predict(rows))
    left_out = [kind(5).fit(rows.drop(index=i), labels.drop(index=i)) for i in range(3)]
    held_out = plain._hold_out(plain._bind_again(rows, labels.to_numpy(), None), 0)[:3]
    found = np.vstack([model.predict_proba(rows.iloc[[i]]) for i, model in enumerate(left_out)])
    assert np.abs(found - held_out).mean() < 0.02


def test_scaling_and_metrics():
    rows = np.array([[0.0, 0.0], [0.1, 1000.0], [5.0, 10.0], [5.1, 990.0]])
    labels = np.array([[1], [1], [0], [0]])
    near = [[0.2, 500.0]]
    assert BRkNNClassifier(2).fit(rows, labels).predict_proba(near) == 1
    assert BRkNNClassifier(2, scaling="minmax").fit(rows, labels).predict_proba(near) == 1
    assert BRkNNClassifier(2, scaling=None).fit(rows, labels).predict_proba([[0.2, 999.0]]) == 0.5
    directions = np.array([[1.0, 0.0], [9.0, 1.0], [0.0, 1.0], [1.0, 9.0]])
    model = BRkNNClassifier(2, metric="cosine", scaling=None).fit(directions, labels)
    assert model.predict_proba([[0.1, 0.0], [0.0, 70.0]]).ravel().tolist() == [1, 0]


@pytest.mark.parametrize("kind", [MLkNNClassifier, BRkNNClassifier])
@pytest.mark.parametrize("scaling", ["standard", "minmax", None])
def test_sparse_samples_stay_sparse_and_mean_the_same(kind, scaling):
    rng = np.random.default_rng(0)
    rows = sparse.random_array((60, 30), density=0.2, random_state=rng, format="csr")
    labels = (rng.random((60, 3)) < 0.4).astype(int)
    model = kind(3, scaling=scaling).fit(rows, labels)
    assert sparse.issparse(model._fused_.models[0].search._rows)
    dense = kind(3, scaling=scaling).fit(rows.toarray(), labels)
    np.testing.assert_allclose(model.predict_proba(rows), dense.predict_proba(rows.toarray()), atol=1e-9)


@pytest.mark.parametrize("metric", METRICS)
def test_of_equally_near_samples_the_first_are_neighbors(metric):
    """Few different samples have many copies; the search by trees, by blocks and of sparse samples finds the same."""
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.integers(1, 3, (200, 2)), np.full(200, 5)]).astype(float)
    by_tree, of_sparse = (NeighborSearch(form(rows), metric, "standard") for form in (np.asarray, sparse.csr_array))
    for found in (by_tree.find(rows, 5), of_sparse.find(sparse.csr_array(rows), 5)):
        for row, indices in zip(rows, found.indices, strict=True):
            assert indices.tolist() == np.flatnonzero((rows == row).all(axis=1))[:5].tolist()
        assert (found.distances == 0).all()
    others = by_tree.find_others(5)
    assert np.array_equal(others.indices, of_sparse.find_others(5).indices)
    for number, indices in enumerate(others.indices):
        same = np.flatnonzero((rows == rows[number]).all(axis=1))
        assert indices.tolist() == same[same != number][:5].tolist()


def test_few_samples():
    assert MLkNNClassifier().fit([[1.0]], [[1, 0]]).predict([[5.0]]).tolist() == [[1, 0]]
    assert BRkNNClassifier().fit([[1.0], [2.0]], [[1], [0]]).predict_proba([[5.0]]).tolist() == [[0.5]]
    with pytest.raises(ValueError, match="one sample is not enough"):
        MLkNNClassifier(decision="per_label").fit([[1.0]], [[1, 0]])


def test_weights_count_in_the_votes_and_in_the_probabilities():
    model = BRkNNClassifier(3).fit([[0.0], [1.0], [2.0]], [[1], [0], [0]], sample_weight=[2.0, 1.0, 1.0])
    assert model.predict_proba([[1.0]]) == 0.5
    model = MLkNNClassifier(2).fit(X, Y, sample_weight=[1, 1, 1, 1, 3])
    assert model.priors_ == pytest.approx([(1 + 5) / (2 + 7)])


def test_missing_values_get_a_sentence():
    frame = pd.DataFrame({"tempo": [1.0, np.nan]})
    with pytest.raises(ValueError, match="Column 'tempo' has missing values, which nearest neighbors do not support"):
        MLkNNClassifier().fit(frame, [[1], [0]])
