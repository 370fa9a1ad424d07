"""
Finding wrong labels
====================

Some handwritten digits get a wrong label; ``audit_labels`` finds them with held-out predictions.
"""

# %%
# Sixty wrong labels among six hundred
# ------------------------------------

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from fuselearn.datasets import corrupt_labels
from fuselearn.diagnosis import audit_labels

X, true = load_digits(return_X_y=True)
X, true = X[:600], true[:600]
y = corrupt_labels(true, 0.1, random_state=0)
audit = audit_labels(X, y, random_state=0)
print(audit)

# %%
# How many suspects are wrong
# ---------------------------
# ``audit.rows`` is sorted, with the most suspicious labels first.

ranking = audit.rows.index.to_numpy()
found = np.cumsum(y[ranking] != true[ranking])
n_wrong = found[-1]
print(f"{found[n_wrong - 1]} of the {n_wrong} wrong labels are among the first {n_wrong} suspects.")

# %%
# The twelve most doubtful labels, and the search as a whole
# ----------------------------------------------------------

figure = plt.figure(figsize=(9, 4), layout="constrained")
left, right = figure.subfigures(1, 2, width_ratios=(5, 4))
for ax, i in zip(left.subplots(3, 4).flat, ranking, strict=False):
    ax.imshow(X[i].reshape(8, 8), cmap="gray_r")
    ax.set_title(f"labeled {y[i]}", fontsize=9, color="tab:red" if y[i] != true[i] else "black")
    ax.axis("off")
curve = right.subplots()
curve.plot(np.arange(1, len(found) + 1), found, label="audit")
curve.plot([0, len(found)], [0, n_wrong], "--", color="0.5", label="looking at samples by chance")
curve.axvline(len(audit.suspects), color="0.7", linewidth=1)
curve.set(xlabel="labels looked at", ylabel="wrong labels found", xlim=(0, 200), ylim=(0, None))
curve.legend(loc="lower right")

# %%
# **Summary:** reviewing the most suspicious tenth of the labels finds nearly all wrong labels.
