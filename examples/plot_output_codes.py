"""
Output codes
============

Ten classes from binary models: an error-correcting code corrects the errors of some of them.
"""

# %%
# The code
# --------
# Each class has a codeword, and each column of the code is a binary problem. ``make_code`` searches for codewords that
# differ in many bits.

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from fuselearn import CARTClassifier
from fuselearn.combine import ErrorCorrectingCodeClassifier

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0, stratify=y)
tree = CARTClassifier(complexity=None)
lengths = [4, 6, 10, 15, 25, 40, 60]
models = [ErrorCorrectingCodeClassifier(tree, n_bits=n, random_state=0).fit(X_train, y_train) for n in lengths]
scores = [model.score(X_test, y_test) for model in models]
single = tree.fit(X_train, y_train).score(X_test, y_test)

# %%
# Longer codes, larger distances, fewer errors
# --------------------------------------------

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
left.imshow(models[3].code_book_, cmap="Blues", vmin=-0.3, vmax=1.3, aspect="auto")
left.set(xlabel="bit", ylabel="digit", yticks=range(10), title=f"{lengths[3]} bits, distance {models[3].min_distance_}")
right.plot(lengths, scores, "o-", label="output code on trees")
right.axhline(single, color="0.5", linestyle="--", label="one tree for ten classes")
for n, score, model in zip(lengths, scores, models, strict=True):
    right.annotate(f"d={model.min_distance_}", (n, score), xytext=(3, -12), textcoords="offset points", fontsize=8)
right.set(xlabel="bits", ylabel="accuracy", xscale="log", xticks=lengths, xticklabels=lengths)
right.minorticks_off()
right.legend()

# %%
# **Summary:** a code with the minimum number of bits is worse than a single tree. With more bits, codewords differ in
# *d* bits, and the same trees make a much better classifier.
