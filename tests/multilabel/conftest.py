"""A small multi-label table, and a base learner that writes down what it was given."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin


@pytest.fixture(scope="session")
def labelled():
    """Give 80 rows of 5 columns and 4 labels: two that follow from columns, one from the first two labels, one rare."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 5)).round(2)
    first, second = X[:, 0] > 0, X[:, 1] + 0.3 * rng.normal(size=80) > 0.3
    rare = np.isin(np.arange(80), [3, 40, 71])
    return X, np.column_stack([first, second, first ^ second, rare]).astype(np.int64)


class Recorder(ClassifierMixin, BaseEstimator):
    """Predict a label from the last column, and keep the tables of all fits."""

    tables = ()

    def fit(self, X, y, sample_weight=None):
        self.classes_ = np.unique(y)
        self.tables.append((X, y, sample_weight))
        return self

    def predict_proba(self, X):
        chance = np.where(X[:, -1] > 0.5, 0.75, 0.25)
        return np.column_stack([1 - chance, chance])

    def predict(self, X):
        return (self.predict_proba(X)[:, 1] > 0.5).astype(int)


@pytest.fixture
def recorder(monkeypatch):
    """Give a fresh recorder; its ``tables`` list the X, y and weights of every clone's fit."""
    monkeypatch.setattr(Recorder, "tables", [])
    return Recorder()
