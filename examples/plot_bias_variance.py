"""
Bias and variance
=================

Why bagging wants deep trees and boosting shallow ones.
"""

# %%
# Trees of growing depth, alone, bagged and boosted
# -------------------------------------------------
# ``compare_bias_variance`` trains each model on fresh samples of a known problem and splits its error.

import matplotlib.pyplot as plt
import numpy as np

from fuselearn import BaggedClassifier, CARTClassifier, SAMMEClassifier
from fuselearn.diagnosis import compare_bias_variance


def draw(rng):
    X = rng.uniform(-1, 1, size=(150, 2))
    return X, (X[:, 1] > 0.6 * np.sin(4 * X[:, 0])).astype(int)


X, y = draw(np.random.default_rng(0))
depths = (1, 2, 4, 8)
trees = {depth: CARTClassifier(max_depth=depth, complexity=None) for depth in depths}
families = {
    "one tree": trees,
    "20 bagged trees": {depth: BaggedClassifier(tree, 20) for depth, tree in trees.items()},
    "20 boosted trees": {depth: SAMMEClassifier(tree, 20) for depth, tree in trees.items()},
}
tables = {
    name: compare_bias_variance(models.items(), X, y, label="depth", sampling=draw, n_rounds=20, random_state=0).table
    for name, models in families.items()
}
print(tables["one tree"].round(3))

# %%
# Error = bias + effect of the variance
# -------------------------------------

figure, axes = plt.subplots(1, 3, figsize=(9, 3.4), sharey=True, layout="constrained")
for ax, (name, table) in zip(axes, tables.items(), strict=True):
    places = np.arange(len(depths))
    ax.bar(places, table["bias"], label="bias", color="#0072b2")
    ax.bar(places, table["variance_effect"], bottom=table["bias"], label="variance", color="#e69f00")
    ax.set(title=name, xticks=places, xticklabels=depths, xlabel="depth of the trees")
axes[0].set_ylabel("error")
axes[0].legend()

# %%
# **To take away:** bagging removes variance, so it gains most on deep trees; boosting removes bias, and makes even
# trees of depth 1 or 2 good.
