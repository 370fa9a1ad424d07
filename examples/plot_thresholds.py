"""
Several labels, and where to cut
================================

The same forest with different decision rules: a threshold of 0.5 misses rare labels.
"""

# %%
# Images of two digits
# --------------------
# The labels are the digits in an image. Some are made rare, as in most multi-label data.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import f1_score

from fuselearn.datasets import make_digit_pairs
from fuselearn.multilabel import PCTForestClassifier, iterative_train_test_split, label_scores

X, Y = make_digit_pairs(900, random_state=0)
rng = np.random.default_rng(0)
rare = Y.iloc[:, 5:].to_numpy().any(axis=1)
kept = ~rare | (rng.random(len(Y)) < 0.25)
X, Y = X[kept], Y[kept]
X_train, X_test, Y_train, Y_test = iterative_train_test_split(X, Y, test_size=0.5, random_state=0)

# %%
# One fit, three rules
# --------------------
# ``decision`` selects the rule that predicts labels from probabilities. Rules are fitted to out-of-bag probabilities.

rules = {"0.5": 0.5, "one for all labels": "cardinality", "one per label": "per_label"}
predicted = {}
for name, rule in rules.items():
    forest = PCTForestClassifier(decision=rule, random_state=0).fit(X_train, Y_train)
    predicted[name] = forest.predict(X_test)
    print(f"{name:20}", round(f1_score(Y_test, predicted[name], average="macro"), 3))

# %%
# F1 of each label
# ----------------

order = Y_train.mean().sort_values(ascending=False).index
figure, ax = plt.subplots(figsize=(8, 4), layout="constrained")
for shift, (name, labels) in zip((-0.27, 0, 0.27), predicted.items(), strict=True):
    f1 = label_scores(Y_test, labels)["f1"].loc[order]
    ax.bar(np.arange(len(order)) + shift, f1, width=0.27, label=f"threshold {name}")
shares = [f"{label}\n{Y_train[label].mean():.0%}" for label in order]
ax.set(xticks=np.arange(len(order)), xticklabels=shares, ylabel="F1", xlabel="label, and how many samples have it")
ax.legend(ncols=3, loc="upper center", bbox_to_anchor=(0.5, 1.12), frameon=False)

# %%
# **Summary:** the probabilities of rare labels are good, but a threshold of 0.5 ignores them; use a decision rule
# instead.
