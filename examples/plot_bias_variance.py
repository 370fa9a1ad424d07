"""
Bias and variance
=================

Bagging reduces the variance of deep trees, boosting the bias of shallow trees.
"""

# %%
# Models as darts
# ---------------
# Each dart is a regressor trained on a fresh sample of the same problem; its coordinates are its errors at two points.
# Bias is the distance between the mean of all darts, the cross, and the center of the target. Variance is the spread of
# the darts around their mean.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.tree import DecisionTreeRegressor

from fuselearn import BaggedClassifier, BaggedRegressor, CARTClassifier, SAMMEClassifier
from fuselearn.diagnosis import compare_bias_variance

POINTS = np.array([0.8, 3.9])


def throw(model, rng):
    x = rng.uniform(0, 6, 80)
    model.fit(x[:, None], np.sin(2 * x) + rng.normal(scale=0.5, size=80))
    return model.predict(POINTS[:, None]) - np.sin(2 * POINTS)


players = {
    "shallow tree:\nbias and variance": DecisionTreeRegressor(max_depth=2),
    "30 bagged shallow trees:\nbias": BaggedRegressor(DecisionTreeRegressor(max_depth=2), 30, random_state=0),
    "full tree:\nvariance": DecisionTreeRegressor(random_state=0),
    "30 bagged full trees:\nlittle of both": BaggedRegressor(DecisionTreeRegressor(), 30, random_state=0),
}
rng = np.random.default_rng(0)
figure, axes = plt.subplots(1, 4, figsize=(9, 2.8), sharex=True, sharey=True, layout="constrained")
for ax, (name, model) in zip(axes, players.items(), strict=True):
    darts = np.array([throw(model, rng) for _ in range(60)])
    for radius in (0.4, 0.8, 1.2, 1.6):
        ax.add_patch(plt.Circle((0, 0), radius, fill=False, color="0.8"))
    ax.scatter(*darts.T, s=8, color="#0072b2")
    ax.plot(*darts.mean(axis=0), "X", color="#d55e00", markeredgecolor="white", markersize=10)
    ax.set(title=name, aspect="equal", xlim=(-1.8, 1.8), ylim=(-1.8, 1.8), xticks=[], yticks=[])
    squared_bias, variance = (darts.mean(axis=0) ** 2).mean(), darts.var(axis=0).mean()
    print(f"{name.partition(':')[0]:24} squared bias {squared_bias:.2f}  variance {variance:.2f}")

# %%
# Trees of growing depth, alone, bagged and boosted
# -------------------------------------------------
# ``compare_bias_variance`` trains each model on fresh samples of a known problem and splits its error.


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
    name: compare_bias_variance(models.items(), X, y, label="depth", sampling=draw, n_rounds=20, random_state=0)
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
# **Summary:** bagging reduces variance, so it improves deep trees most. Boosting reduces bias, so even trees of depth 1
# or 2 suffice.
