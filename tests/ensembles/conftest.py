"""Base learners that do what a test tells them to, and write down what they were given."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin


class Scripted(ClassifierMixin, BaseEstimator):
    """Predict what a script says, fit by fit, for rows whose number is in the first column.

    ``script[k]`` lists the classes that the k-th fitted clone predicts; the last entry is used from then on.
    ``samples`` collects how often each row was drawn for each fit.
    """

    script = ()
    samples = ()

    def fit(self, X, y, sample_weight):
        counts = np.zeros(len(self.script[0]))
        counts[X[:, 0].astype(int)] = sample_weight
        self.answers_ = np.asarray(self.script[min(len(self.samples), len(self.script) - 1)])
        self.samples.append(counts)
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return self.answers_[X[:, 0].astype(int)]

    def predict_proba(self, X):
        return (self.predict(X)[:, None] == self.classes_).astype(float)


@pytest.fixture
def scripted(monkeypatch):
    """Give a function that makes a scripted learner."""

    def make(*script):
        monkeypatch.setattr(Scripted, "script", script)
        monkeypatch.setattr(Scripted, "samples", [])
        return Scripted()

    return make


@pytest.fixture(scope="session")
def noisy_wine():
    """Wine with one label in five wrong, so that no ensemble explains all rows."""
    from sklearn.datasets import load_wine

    X, y = load_wine(return_X_y=True)
    rng = np.random.default_rng(7)
    wrong = rng.random(len(y)) < 0.2
    return X, np.where(wrong, rng.integers(0, 3, len(y)), y)
