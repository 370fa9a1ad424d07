"""KFHE as one would write it in an hour, on scikit-learn's tree: the rival of the small-data benchmark."""

from __future__ import annotations

import numpy as np
from sklearn.tree import DecisionTreeClassifier


class PlainKFHE:
    """The same algorithm as ``KFHEClassifier`` (exponential weighting, class votes), without resets."""

    def __init__(self, n_estimators: int = 100, random_state: int = 0) -> None:
        self.n_estimators = n_estimators
        self.random_state = random_state

    def fit(self, X, y):  # type: ignore[no-untyped-def]
        """Train on class numbers from 0 on."""
        rng = np.random.default_rng(self.random_state)
        n_rows, n_classes = len(y), int(y.max()) + 1
        tree = self._tree(rng).fit(X, y)
        estimate = tree.predict_proba(X)
        variance = weight_variance = 1.0
        weights = np.full(n_rows, 1 / n_rows)
        self.trees, self.gains = [tree], []
        for _ in range(self.n_estimators):
            drawn = rng.choice(n_rows, n_rows, p=weights)
            tree = self._tree(rng).fit(X[drawn], y[drawn])
            votes = np.zeros((n_rows, n_classes))
            votes[np.arange(n_rows), tree.predict(X)] = 1
            measurement = (votes + estimate) / 2
            wrong = measurement.argmax(axis=1) != y
            error = wrong.mean()
            gain = variance / (variance + error) if variance + error > 0 else 0.0
            estimate = estimate + gain * (measurement - estimate)
            variance -= gain * variance
            measured_weights = weights * np.exp(wrong + 1 / n_rows)
            weight_gain = weight_variance / (weight_variance + error) if weight_variance + error > 0 else 0.0
            weights = weights + weight_gain * (measured_weights - weights)
            weight_variance -= weight_gain * weight_variance
            weights /= weights.sum()
            self.trees.append(tree)
            self.gains.append(gain)
            if gain == 0:
                break
        return self

    @staticmethod
    def _tree(rng):  # type: ignore[no-untyped-def]
        return DecisionTreeClassifier(
            min_samples_split=20, min_samples_leaf=7, max_depth=30, random_state=int(rng.integers(2**31))
        )
