"""
Sets instead of guesses
=======================

Which classes cannot be excluded? With 30 % wrong labels, sets that are calibrated to the labels as they are hold nearly
all classes; the correction for wrong labels brings them back to the size that is needed.
"""

# %%
# Digits with wrong labels
# ------------------------

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from fuselearn import FusedClassifier
from fuselearn.datasets import corrupt_labels

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, train_size=400, random_state=0, stratify=y)
fused = FusedClassifier(n_estimators=30, random_state=0).fit(X_train, corrupt_labels(y_train, 0.3, random_state=0))
print(f"{fused.score(X_test, y_test):.1%} of the most likely classes are correct")

# %%
# Coverage and size
# -----------------
# The sets should contain the correct class for the requested fraction of samples, with as few classes as possible.

asked = np.array([0.9, 0.95, 0.98])
figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.5), layout="constrained")
for title, noise_rate in (("corrected", "auto"), ("labels as given", 0)):
    sets = [fused.predict_set(X_test, coverage, noise_rate=noise_rate, allow_empty=True) for coverage in asked]
    left.plot(asked, [one[np.arange(len(y_test)), y_test].mean() for one in sets], "o-", label=title)
    right.plot(asked, [one.sum(axis=1).mean() for one in sets], "o-", label=title)
left.plot(asked, asked, "k:", label="asked for")
left.set(xlabel="coverage asked for", ylabel="sets with the correct class")
right.set(xlabel="coverage asked for", ylabel="mean size of the sets", ylim=(0, None))
left.legend(frameon=False)

# %%
# Images with several classes
# ---------------------------

sets = fused.predict_set(X_test, 0.95)
figure, axes = plt.subplots(1, 6, figsize=(8, 1.9), layout="constrained")
for ax, sample in zip(axes, np.flatnonzero(sets.sum(axis=1) > 1), strict=False):
    ax.imshow(X_test[sample].reshape(8, 8), cmap="gray_r")
    ax.set_title(" or ".join(map(str, fused.classes_[sets[sample]])), fontsize=9)
    ax.axis("off")

# %%
# **Summary:** accept the prediction if the set has one class, and review the sample if it has several.
