"""
KFHE and forests as label noise rises
=====================================

Accuracy of four ensembles with increasing label noise.
"""

# %%
# Four classifiers, four rates of wrong labels
# --------------------------------------------
# The labels of the test samples are correct.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import StratifiedShuffleSplit

from fuselearn import FusedClassifier, KFHEClassifier
from fuselearn.datasets import corrupt_labels

X, y = load_wine(return_X_y=True)
models = {
    "KFHE-e": KFHEClassifier(n_estimators=30, random_state=0),
    "KFHE-l": KFHEClassifier(n_estimators=30, weighting="linear", random_state=0),
    "random forest": RandomForestClassifier(30, random_state=0),
    "fused": FusedClassifier(n_estimators=10, random_state=0),
}
rates = np.array([0, 0.1, 0.2, 0.3])
scores = {name: np.zeros(len(rates)) for name in models}
splits = list(StratifiedShuffleSplit(2, test_size=0.5, random_state=0).split(X, y))
for name, model in models.items():
    for k, rate in enumerate(rates):
        for seed, (train, test) in enumerate(splits):
            noisy = corrupt_labels(y[train], rate, random_state=seed)
            scores[name][k] += model.fit(X[train], noisy).score(X[test], y[test]) / len(splits)

# %%
# Accuracy on correct labels
# --------------------------

figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
for (name, values), marker in zip(scores.items(), "osD^", strict=True):
    ax.plot(100 * rates, values, marker=marker, label=name)
ax.set(xlabel="wrong training labels in %", ylabel="accuracy on correct labels")
ax.grid(alpha=0.3)
ax.legend()

# %%
# **Summary:** with correct labels, all four are accurate. From 20 % wrong labels, linear weighting (KFHE-l) is more
# robust than exponential weighting, and ``FusedClassifier`` is a safe choice.
