"""
Reading the trace of the filter
===============================

The state of the Kalman filter of ``KFHEClassifier`` after each classifier, with correct and with wrong labels.
"""

# %%
# Two fits of the same data
# -------------------------

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from fuselearn import CARTClassifier, KFHEClassifier
from fuselearn.datasets import corrupt_labels

X, y = load_breast_cancer(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0, stratify=y)
fits = {}
for rate in (0.0, 0.2):
    model = KFHEClassifier(CARTClassifier(max_depth=2, complexity=None), n_estimators=60, random_state=0)
    fits[f"{rate:.0%} wrong labels"] = model.fit(X_train, corrupt_labels(y_train, rate, random_state=0))

# %%
# Gain, variance and errors
# -------------------------
# ``plot_trace`` plots the same for one model. ``staged_predict`` provides the error on new samples.

figure, axes = plt.subplots(1, 2, figsize=(9, 3.8), sharey=True, layout="constrained")
for ax, (name, model) in zip(axes, fits.items(), strict=True):
    steps = range(1, model.n_iter_ + 1)
    ax.plot(steps, model.gains_, label="gain K", color="#0072b2")
    ax.plot(steps, model.variances_, label="variance P", color="#009e73", linestyle="--")
    ax.plot(steps, model.measurement_errors_, label="measurement error R", color="#e69f00", linestyle=":")
    ax.plot(model.train_errors_, label="error on the given labels", color="0.5")
    unseen = [(predicted != y_test).mean() for predicted in model.staged_predict(X_test)]
    ax.plot(unseen, label="error on new samples", color="#d55e00")
    for reset in model.resets_:
        ax.axvline(reset, color="0.85", zorder=0)
    ax.set(title=name, xlabel="classifier", ylim=(0, 0.6))
axes[1].legend(fontsize=8)

# %%
# **Summary:** with wrong labels, the measurement error R stays high, and the error on clean test labels is lower than
# on the noisy training labels. Thin vertical lines are resets of the weights.
