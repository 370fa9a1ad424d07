"""
Stacking against selection
==========================

Two ways to combine a library of models: weights for all models, or greedy selection of a few.
"""

# %%
# A library of thirteen classifiers
# ---------------------------------

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fuselearn import BaggedClassifier, CARTClassifier, EnsembleSelection, LinearStackingClassifier

X, y = load_breast_cancer(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0, stratify=y)
library = [(f"{k} neighbors", make_pipeline(StandardScaler(), KNeighborsClassifier(k))) for k in (1, 3, 7, 15)]
library += [
    (f"logistic, C={C:g}", make_pipeline(StandardScaler(), LogisticRegression(C=C, max_iter=500)))
    for C in (0.01, 0.1, 1)
]
library += [(f"tree, depth {depth}", CARTClassifier(max_depth=depth, complexity=None)) for depth in (1, 2, 4)]
library += [(f"{n} bagged trees", BaggedClassifier(n_estimators=n, random_state=0)) for n in (5, 25)]
library += [("naive Bayes", GaussianNB())]

# %%
# Both learn from out-of-fold predictions
# ---------------------------------------

stacked = LinearStackingClassifier(library, cv=3).fit(X_train, y_train)
selected = EnsembleSelection(library, n_rounds=30, cv=3).fit(X_train, y_train)
weights = {"stacking": dict(zip((name for name, _ in library), stacked.estimator_weights_, strict=True))}
weights["selection"] = dict(zip(selected.named_estimators_, selected.estimator_weights_, strict=True))

# %%
# Their weights, and the loss on new samples
# ------------------------------------------

names = [name for name, _ in library]
members = [log_loss(y_test, model.predict_proba(X_test)) for model in stacked.estimators_]
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4.6), sharey=True, layout="constrained")
places = np.arange(len(names))
for shift, (kind, given) in zip((-0.2, 0.2), weights.items(), strict=True):
    left.barh(places + shift, [given.get(name, 0) for name in names], height=0.4, label=kind)
left.set(yticks=places, yticklabels=names, xlabel="weight")
left.legend()
right.scatter(members, places, color="0.4", label="member alone")
for color, (kind, model) in zip(("C0", "C1"), (("stacking", stacked), ("selection", selected)), strict=True):
    right.axvline(log_loss(y_test, model.predict_proba(X_test)), color=color, label=kind)
right.set(xlabel="log loss on new samples", xscale="log")
right.legend(loc="upper right")

# %%
# **Summary:** both drop most of the library and are about as good as its best member, which is unknown in advance.
# Selection uses multiples of one weight, stacking any weights.
