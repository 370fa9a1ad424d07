"""
Forests do not overfit as they grow
===================================

More trees improve a forest until its error converges. More rounds of boosting keep fitting wrong labels.
"""

# %%
# The error after each tree
# -------------------------
# ``staged_predict`` yields the predictions of the first member, of the first two, and so on, without refitting. 30 % of
# the training labels are wrong; the test labels are correct.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split

from fuselearn import CARTClassifier, ForestClassifier, SAMMEClassifier
from fuselearn.datasets import corrupt_labels

X, y = make_classification(
    3_000, 20, n_informative=6, n_classes=3, n_clusters_per_class=1, flip_y=0.0, class_sep=1.0, random_state=0
)
X_train, X_test, y_train, y_test = train_test_split(X, y, train_size=500, random_state=0, stratify=y)
noisy = corrupt_labels(y_train, 0.3, random_state=0)
n_estimators = 400
models = {
    "random forest": ForestClassifier(n_estimators, random_state=0),
    "extremely randomized trees": ForestClassifier(n_estimators, splitter="random", random_state=0),
    "forest of trees of depth 2": ForestClassifier(n_estimators, max_depth=2, random_state=0),
    "AdaBoost (SAMME), trees of depth 2": SAMMEClassifier(CARTClassifier(max_depth=2), n_estimators, random_state=0),
}
errors = {
    name: [np.mean(stage != y_test) for stage in model.fit(X_train, noisy).staged_predict(X_test)]
    for name, model in models.items()
}

# %%
# The curves of forests fall and stay
# -----------------------------------

figure, ax = plt.subplots(figsize=(8, 4), layout="constrained")
for name, curve in errors.items():
    ax.plot(np.arange(1, len(curve) + 1), curve, label=name, linestyle="--" if "AdaBoost" in name else "-")
    print(f"{name:35} least {min(curve):.3f} after {np.argmin(curve) + 1:3} trees, at the end {curve[-1]:.3f}")
ax.set(xscale="log", xlabel="trees", ylabel="error on new samples", ylim=(0, None))
ax.legend()

# %%
# **Summary:** the number of trees of a forest need not be tuned, since its error converges. Boosting has an optimal
# number of rounds. The trees of a forest should be deep: averaging does not reduce the bias of shallow trees.
