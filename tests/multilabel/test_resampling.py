"""Resampling of imbalanced labels: what is cloned, deleted and synthesized."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from fuselearn.multilabel import describe_labels, resample_labels

FREQUENT, RARE, RAREST = 0, 2, 3


@pytest.fixture(scope="module")
def imbalanced():
    """Return 200 samples with labels of about 150, 80, 16 and 8 positives."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    Y = (rng.random((200, 4)) < [0.75, 0.4, 0.08, 0.04]).astype(np.int64)
    X += 2 * Y[:, [3, 2, 1]]
    return X, Y


def mean_ir(Y):
    return describe_labels(Y).mean_imbalance_ratio


@pytest.mark.parametrize("method", ["ros", "rus", "smote"])
def test_labels_become_less_imbalanced_and_seeds_reproduce(imbalanced, method):
    X, Y = imbalanced
    kept = X.copy(), Y.copy()
    first, again, other = (resample_labels(X, Y, method, random_state=seed) for seed in (0, 0, 1))
    assert mean_ir(first[1]) < 0.9 * mean_ir(Y)
    np.testing.assert_array_equal(first[0], again[0])
    np.testing.assert_array_equal(first[1], again[1])
    assert first[0].shape != other[0].shape or (first[0] != other[0]).any()
    np.testing.assert_array_equal(X, kept[0])
    np.testing.assert_array_equal(Y, kept[1])


def test_clones_are_of_minority_labels(imbalanced):
    X, Y = imbalanced
    more, labels = resample_labels(X, Y, "ros", fraction=0.1, random_state=0)
    np.testing.assert_array_equal(more[:200], X)
    assert len(more) == 220
    for sample, given in zip(more[200:], labels[200:], strict=True):
        (original,) = np.flatnonzero((sample == X).all(axis=1))
        np.testing.assert_array_equal(given, Y[original])
        assert given[[RARE, RAREST]].any()


def test_cloning_stops_when_no_label_is_above_the_mean():
    # Of 8 positives and 2, the ratios are 1 and 4, and their mean is 2.5: with 4 positives the ratio is 2.
    Y = np.repeat([[1, 0], [0, 1]], [8, 2], axis=0)
    assert resample_labels(Y, Y, "ros", fraction=10.0)[1].sum(axis=0).tolist() == [8, 4]


def test_samples_of_minority_labels_are_not_deleted(imbalanced):
    X, Y = imbalanced
    fewer, labels = resample_labels(X, Y, "rus", fraction=0.3, random_state=0)
    assert len(fewer) == 140
    np.testing.assert_array_equal(labels[:, [RARE, RAREST]].sum(axis=0), Y[:, [RARE, RAREST]].sum(axis=0))
    n_free = int((~Y[:, [RARE, RAREST]].any(axis=1)).sum())
    assert len(resample_labels(X, Y, "rus", fraction=1.0)[0]) == 200 - n_free


def test_synthetic_samples_are_between_a_sample_and_a_neighbor(imbalanced):
    X, Y = imbalanced
    more, labels = resample_labels(X, Y, "smote", n_neighbors=3, random_state=0)
    np.testing.assert_array_equal(more[:200], X)
    start = 200
    for label in (RARE, RAREST):
        bag = np.flatnonzero(Y[:, label])
        for sample, new, given in zip(bag, more[start:], labels[start:], strict=False):
            others = bag[bag != sample]
            near = others[np.argsort(np.linalg.norm(X[others] - X[sample], axis=1))[:3]]
            low, high = np.minimum(X[near], X[sample]), np.maximum(X[near], X[sample])
            assert ((low <= new) & (new <= high)).all(axis=1).any()
            np.testing.assert_array_equal(given, Y[[sample, *near]].sum(axis=0) > 2)
        start += len(bag)
    assert len(more) == start


def test_labels_without_partners_add_nothing():
    X, Y = np.arange(12.0).reshape(6, 2), np.array([[1, 0], [1, 0], [1, 0], [1, 0], [1, 1], [1, 0]])
    assert len(resample_labels(X, Y, "smote")[0]) == 6


@pytest.mark.parametrize("method", ["ros", "rus", "smote"])
def test_types_of_tables_are_kept(imbalanced, method):
    X, Y = imbalanced
    expected = resample_labels(X, Y, method, random_state=0)
    frames = pd.DataFrame(X, columns=list("abc")), pd.DataFrame(Y, columns=list("wxyz"))
    found = resample_labels(*frames, method, random_state=0)
    for table, frame, values in zip(found, frames, expected, strict=True):
        assert table.columns.tolist() == frame.columns.tolist()
        np.testing.assert_array_equal(table.to_numpy(), values)
    if method != "smote":
        found = resample_labels(sparse.csr_array(X), sparse.csr_array(Y), method, random_state=0)
        np.testing.assert_array_equal(found[0].toarray(), expected[0])


@pytest.mark.parametrize("method", ["ros", "rus", "smote"])
@pytest.mark.parametrize("Y", [np.ones((5, 2), dtype=int), np.zeros((5, 2), dtype=int)])
def test_balanced_labels_stay_as_they_are(method, Y):
    np.testing.assert_array_equal(resample_labels(np.eye(5), Y, method)[1], Y)


def test_bad_input_gets_a_sentence(imbalanced):
    X, Y = imbalanced
    with pytest.raises(ValueError, match="fraction must be"):
        resample_labels(X, Y, "ros", fraction=-0.1)
    with pytest.raises(ValueError, match="fraction must be"):
        resample_labels(X, Y, "rus", fraction=-0.1)
    with pytest.raises(ValueError, match="method must be"):
        resample_labels(X, Y, "mlsmote")
    with pytest.raises(ValueError, match="n_neighbors must be"):
        resample_labels(X, Y, "smote", n_neighbors=0)
    with pytest.raises(TypeError, match="use 'ros'"):
        resample_labels(sparse.csr_array(X), Y, "smote")
    with pytest.raises(ValueError, match="inconsistent numbers"):
        resample_labels(X[:5], Y, "ros")
