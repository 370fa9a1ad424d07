"""
Your own base estimator in thirty lines
=======================================

The Kalman filter fuses any scikit-learn classifier, including your own.
"""

# %%
# A weak classifier of your own
# -----------------------------
# It predicts one class inside a circle and the other class outside. The filter passes the importance of the samples as
# ``sample_weight``.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_moons
from sklearn.utils.validation import check_is_fitted, validate_data

from fuselearn import KFHEClassifier


class CircleClassifier(ClassifierMixin, BaseEstimator):
    """Decide by the distance from a sample that is drawn at random."""

    def __init__(self, random_state=None):
        self.random_state = random_state

    def fit(self, X, y, sample_weight=None):
        X, y = validate_data(self, X, y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        weights = np.ones(len(X)) if sample_weight is None else np.asarray(sample_weight)
        rng = np.random.default_rng(self.random_state)
        self.center_ = X[rng.choice(len(X), p=weights / weights.sum())]
        distances = np.linalg.norm(X - self.center_, axis=1)
        totals = np.array([weights @ (codes == k) for k in range(len(self.classes_))])
        self.radius_, best = 0.0, -np.inf
        for radius in np.quantile(distances, np.linspace(0.05, 0.95, 19)):
            inner = weights * (distances <= radius)
            within = np.array([inner @ (codes == k) for k in range(len(totals))])
            if within.max() + (totals - within).max() > best:
                best, self.radius_ = within.max() + (totals - within).max(), radius
                self.shares_ = np.array([within / within.sum(), (totals - within) / (totals - within).sum()])
        return self

    def predict_proba(self, X):
        check_is_fitted(self)
        outside = np.linalg.norm(validate_data(self, X, reset=False) - self.center_, axis=1) > self.radius_
        return self.shares_[outside.astype(int)]

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


# %%
# One circle, and a hundred under the filter
# ------------------------------------------

X, y = make_moons(300, noise=0.2, random_state=0)
X_new, y_new = make_moons(1000, noise=0.2, random_state=1)
models = {
    "one circle": CircleClassifier(random_state=0).fit(X, y),
    "KFHE on 100 circles": KFHEClassifier(CircleClassifier(), vote="probability", random_state=0).fit(X, y),
}

across, up = np.meshgrid(np.linspace(-2, 3, 150), np.linspace(-1.5, 2, 120))
figure, axes = plt.subplots(1, 2, figsize=(9, 3.8), sharey=True, layout="constrained")
for ax, (name, model) in zip(axes, models.items(), strict=True):
    scores = model.predict_proba(np.c_[across.ravel(), up.ravel()])[:, 1].reshape(across.shape)
    ax.contourf(across, up, scores, levels=20, cmap="PuOr_r", vmin=0, vmax=1)
    ax.contour(across, up, scores, levels=[0.5], colors="black", linewidths=1)
    ax.scatter(*X.T, c=y, cmap="PuOr_r", edgecolors="white", s=18, linewidths=0.5)
    ax.set_title(f"{name}: accuracy {model.score(X_new, y_new):.2f}")

# %%
# **Summary:** a base estimator needs ``fit`` with ``sample_weight`` and ``predict_proba``; the filter does the rest.
