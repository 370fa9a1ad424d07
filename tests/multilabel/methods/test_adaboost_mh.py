"""AdaBoost.MH: votes by hand, the bound on its errors, and the plain algorithm on all pairs."""

import numpy as np
import pytest
from scipy import sparse

from fuselearn.datasets import make_digit_pairs
from fuselearn.multilabel import AdaBoostMHClassifier


@pytest.fixture(scope="module")
def pairs():
    X, Y = make_digit_pairs(100, random_state=0)
    return X.to_numpy(), Y.to_numpy()


def boost_plainly(X, Y, n_rounds, sample_weight=1.0):
    """Boost stumps the long way: every threshold of every column, every pair of row and label a line.

    Return the votes, and what each column takes from the exponential loss of each label beyond constant votes.
    """
    n_labels = Y.shape[1]
    losses, total = np.ones(Y.shape) * np.reshape(sample_weight, (-1, 1)), np.zeros(Y.shape)
    gains = np.zeros((n_labels, X.shape[1]))
    for _ in range(n_rounds):
        weights = losses / losses.sum()
        best = (np.inf, None, None)
        for f in range(X.shape[1]):
            for low, high in zip(np.unique(X[:, f])[:-1], np.unique(X[:, f])[1:], strict=True):
                left = X[:, f] < (low + high) / 2
                z = 0.0
                for side in (left, ~left):
                    for label in range(n_labels):
                        mine, has = weights[side, label], Y[side, label] == 1
                        z += np.sqrt(mine[has].sum() * mine[~has].sum())
                if z < best[0] - 1e-15:
                    best = (z, left, f)
        _, left, f = best
        for label in range(n_labels):
            for side, sign in ((left | ~left, 1), (left, -1), (~left, -1)):
                mine, has = losses[side, label], Y[side, label] == 1
                gains[label, f] += sign * 2 * np.sqrt(mine[has].sum() * mine[~has].sum())
        for side in (left, ~left):
            for label in range(n_labels):
                mine, has = weights[side, label], Y[side, label] == 1
                vote = 0.5 * np.log((mine[has].sum() + 1 / Y.size) / (mine[~has].sum() + 1 / Y.size))
                total[side, label] += vote
                losses[side, label] *= np.exp(np.where(has, -vote, vote))
    return total, gains


@pytest.mark.parametrize("weighted", [False, True])
def test_it_is_the_plain_algorithm(weighted):
    rng = np.random.default_rng(0)
    X = rng.integers(6, size=(30, 3)).astype(float)
    Y = (rng.random((30, 3)) < 0.4).astype(int)
    weights = rng.choice([0.0, 0.5, 2.0], 30) if weighted else np.ones(30)
    model = AdaBoostMHClassifier(8).fit(X, Y, weights)
    votes, gains = boost_plainly(X, Y, 8, weights)
    np.testing.assert_allclose(model.predict_proba(X), 1 / (1 + np.exp(-2 * votes)), rtol=1e-9)
    np.testing.assert_allclose(model.feature_importances_, gains / gains.sum(axis=1, keepdims=True), rtol=1e-9)


def test_one_round_by_hand():
    X = np.array([[0.0], [0.0], [1.0], [1.0]])
    Y = np.array([[1, 0], [1, 0], [0, 0], [0, 1]])
    model = AdaBoostMHClassifier(1).fit(X, Y)
    # Every pair weighs 1/8, and so does the smoothing. Left: 2/8 for the first label, 2/8 against the second.
    left = [0.5 * np.log(3), -0.5 * np.log(3)]
    right = [-0.5 * np.log(3), 0.0]
    expected = 1 / (1 + np.exp(-2 * np.array([left, left, right, right])))
    np.testing.assert_allclose(model.predict_proba(X), expected)
    np.testing.assert_array_equal(model.predict(X), [[1, 0], [1, 0], [0, 0], [0, 0]])


def test_importances_by_hand():
    """The stump on column 1 parts label 0 as well as can be; label 1 is constant."""
    X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    Y = np.array([[1, 0], [1, 0], [0, 0], [0, 0]])
    np.testing.assert_array_equal(AdaBoostMHClassifier(1).fit(X, Y).feature_importances_, [[0, 1], [0, 0]])


def test_wrong_pairs_are_at_most_the_product_of_the_sums(pairs):
    X, Y = pairs
    for n_estimators in (1, 5, 40):
        model = AdaBoostMHClassifier(n_estimators).fit(X, Y)
        assert (model.predict(X) != Y).mean() <= np.prod(model.normalizers_)


def test_threads_change_nothing(pairs):
    X, Y = (np.tile(values, (5, 1)) for values in pairs)  # small data are for one thread
    one, three = (AdaBoostMHClassifier(10, n_jobs=n).fit(X, Y).predict_proba(X) for n in (1, 3))
    np.testing.assert_array_equal(one, three)


def test_sparse_tables_have_the_votes_of_their_dense_copy(monkeypatch):
    rng = np.random.default_rng(0)
    X = sparse.random_array((100, 40), density=0.08, random_state=rng, format="csr")
    X.data[::20] = np.nan
    Y = (rng.random((100, 5)) < 0.3).astype(int)
    expected = AdaBoostMHClassifier(20).fit(X.toarray(), Y).predict_proba(X.toarray())
    for table in (X, X.tocsc()):
        np.testing.assert_array_equal(AdaBoostMHClassifier(20).fit(table, Y).predict_proba(table), expected)
    monkeypatch.setattr("fuselearn.learners.table.VALUES_PER_ENTRY", np.inf)  # all values are coded
    np.testing.assert_allclose(AdaBoostMHClassifier(20).fit(X, Y).predict_proba(X), expected, rtol=1e-6)


def test_rows_that_are_all_alike_get_the_shares_of_the_labels():
    X, Y = np.zeros((40, 2)), np.repeat([[1, 0]], 40, axis=0)
    Y[:10] = [0, 1]
    model = AdaBoostMHClassifier(5).fit(X, Y)
    assert model.n_iter_ == 0
    assert not model.feature_importances_.any()
    np.testing.assert_array_equal(model.predict(X[:1]), [[1, 0]])
