"""Members that say what a test tells them to, and write down what they were given."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin


class SaysClasses(ClassifierMixin, BaseEstimator):
    """Give row i the i-th line of ``table``: probabilities of the classes, whose largest is predicted.

    The number of a row is in its first column. Without ``classes`` those of the target are taken.
    """

    def __init__(self, table=(), classes=None):
        self.table = table
        self.classes = classes

    def fit(self, X, y, sample_weight=None):
        self.classes_ = np.unique(y) if self.classes is None else np.asarray(self.classes)
        self.y_ = np.asarray(y)
        self.sample_weight_ = sample_weight
        return self

    def predict_proba(self, X):
        return np.asarray(self.table, dtype=float)[np.asarray(X)[:, 0].astype(int)]

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


class SaysNumbers(RegressorMixin, BaseEstimator):
    """Give row i the i-th of ``numbers``."""

    def __init__(self, numbers=()):
        self.numbers = numbers

    def fit(self, X, y):
        self.y_ = np.asarray(y)
        return self

    def predict(self, X):
        return np.asarray(self.numbers, dtype=float)[np.asarray(X)[:, 0].astype(int)]


@pytest.fixture
def says():
    """Give a function that makes classifiers with given probabilities for rows 0, 1, ..."""
    return SaysClasses


@pytest.fixture
def says_numbers():
    """Give a function that makes regressors with given predictions for rows 0, 1, ..."""
    return SaysNumbers
