"""
Weights from training samples
=============================

A weighted sum of members needs weights. Learned from the samples that the members were fitted on, they go to the member
that memorizes these samples. Learned from held-out samples, they go to the members that are right on new ones.
"""

# %%
# Three members, two ways to weigh them
# -------------------------------------
# A line and a shallow tree each fit a part of a noisy problem. A full tree fits every training sample exactly,
# including noise. ``prefit=True`` uses fitted members and learns the weights from the passed samples: here, the
# training samples of the members.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeRegressor

from fuselearn import LinearStackingRegressor
from fuselearn.combine import AveragingRegressor


def draw(n_samples, rng):
    X = rng.uniform(-2, 2, size=(n_samples, 4))
    return X, X[:, 0] + 2.0 * (X[:, 1] > 0.5) + rng.normal(size=n_samples)


rng = np.random.default_rng(0)
(X_train, y_train), (X_test, y_test) = draw(200, rng), draw(5_000, rng)
members = [
    ("line", LinearRegression()),
    ("shallow tree", DecisionTreeRegressor(max_depth=3, random_state=0)),
    ("full tree", DecisionTreeRegressor(random_state=0)),
]
fitted = [(name, member.fit(X_train, y_train)) for name, member in members]
naive = LinearStackingRegressor(fitted, prefit=True).fit(X_train, y_train)
stacked = LinearStackingRegressor(members).fit(X_train, y_train)
print("weights on training samples:", naive.estimator_weights_.round(2))
print("weights on held-out samples:", stacked.estimator_weights_.round(2))

# %%
# Which member is best depends on the samples that are asked
# ----------------------------------------------------------


def mean_squared(model, X, y):
    return np.mean((model.predict(X) - y) ** 2)


equal = AveragingRegressor(fitted, prefit=True).fit(X_train, y_train)
models = dict(fitted) | {"equal weights": equal, "naive weights": naive, "stacking": stacked}
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
places = np.arange(3)
left.bar(places - 0.2, naive.estimator_weights_, width=0.4, color="#d55e00", label="on training samples")
left.bar(places + 0.2, stacked.estimator_weights_, width=0.4, color="#0072b2", label="on held-out samples")
left.set(xticks=places, xticklabels=[name for name, _ in members], ylabel="weight")
left.legend(title="weights learned")
for shift, color, (X, y), label in (
    (-0.2, "#cc79a7", (X_train, y_train), "training samples"),
    (0.2, "#009e73", (X_test, y_test), "new samples"),
):
    errors = [mean_squared(model, X, y) for model in models.values()]
    right.barh(np.arange(len(models)) + shift, errors, height=0.4, color=color, label=label)
    print(label, dict(zip(models, np.round(errors, 2).tolist(), strict=True)))
right.axvline(1.0, color="0.5", linestyle="--", linewidth=1, label="variance of the noise")
right.set(yticks=np.arange(len(models)), yticklabels=models, xlabel="mean squared error", xlim=(0, 3.4))
right.invert_yaxis()
right.legend(loc="upper right")

# %%
# **Summary:** naive weights are [0, 0, 1]: the member without training error gets all the weight, and the sum is as bad
# as that member on new samples. With weights from held-out samples, the same members are better than each alone.
