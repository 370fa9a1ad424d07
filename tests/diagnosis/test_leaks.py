"""Features that alone predict the target almost perfectly are found, ordinary strong ones are not."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine, make_multilabel_classification

from fuselearn.diagnosis.leaks import find_leaks


@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer, load_digits])
def test_ordinary_features_are_not_suspicious(load):
    X, y = load(return_X_y=True, as_frame=True)
    assert find_leaks(X, y, list(X.columns)) == []


def test_features_of_every_kind_that_give_classes_away():
    rng = np.random.default_rng(0)
    y = pd.Series(rng.choice(["a", "b", "c"], 3_000, p=[0.02, 0.28, 0.7]), name="kind")
    number = y.map({"a": 0, "b": 1, "c": 2})
    X = pd.DataFrame(
        {
            "noise": rng.normal(size=3_000),
            "coded": 10 * number,
            "sharp": number + rng.uniform(0, 0.99, 3_000),
            "word": (y.str.upper() + pd.Series(rng.integers(9, size=3_000)).astype(str)).astype("category"),
            "absent": np.where(number == 1, np.nan, number),
            "nearly": np.where(rng.random(3_000) < 0.1, 0, number),
            "own": [f"r{i}" for i in range(3_000)],
        }
    )
    found = find_leaks(X, y, list(X.columns))
    assert [(feature, target) for feature, target, _ in found] == [(name, "kind") for name in X.columns[[1, 2, 3, 4]]]
    assert all(score > 0.99 for _, _, score in found)


@pytest.mark.parametrize("as_matrix", [False, True])
def test_a_label_is_named(as_matrix):
    X, Y = make_multilabel_classification(500, 8, n_classes=4, random_state=0)
    X = np.column_stack([X, 2 * Y[:, 2]])
    names = [f"f{j}" for j in range(9)]
    given = sparse.csr_array(X) if as_matrix else pd.DataFrame(X, columns=names)
    assert find_leaks(given, pd.DataFrame(Y, columns=list("abcd")), names) == [("f8", "c", 1.0)]


def test_too_few_samples_of_a_class_are_no_evidence():
    y = pd.Series(["a"] * 9 + ["b"] * 50, name="y")
    assert find_leaks(pd.DataFrame({"x": (y == "a").astype(int)}), y, ["x"]) == []
