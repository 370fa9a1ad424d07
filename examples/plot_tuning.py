"""
Tuning with GridSearchCV
========================

The estimators work with scikit-learn's parameter searches.
"""

# %%
# Two parameters of KFHE
# ----------------------
# ``estimator__max_depth`` belongs to the trees, ``weighting`` to the filter. 10 % of the training labels are wrong.

import matplotlib.pyplot as plt
import pandas as pd
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import GridSearchCV, train_test_split

from fuselearn import CARTClassifier, KFHEClassifier
from fuselearn.datasets import corrupt_labels

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0, stratify=y)
noisy = corrupt_labels(y_train, 0.1, random_state=0)
search = GridSearchCV(
    KFHEClassifier(CARTClassifier(complexity=None), n_estimators=30, random_state=0),
    {"estimator__max_depth": [1, 2, 3, 4, 6, 8], "weighting": ["exponential", "linear"]},
    cv=3,
    scoring="neg_log_loss",
)
search.fit(X_train, noisy)
print(search.best_params_, round(search.score(X_test, y_test), 3))

# %%
# The score of every pair
# -----------------------

results = pd.DataFrame(search.cv_results_)
figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
for (weighting, rows), marker in zip(results.groupby("param_weighting"), "os", strict=True):
    depths = rows["param_estimator__max_depth"].astype(int)
    ax.errorbar(depths, -rows["mean_test_score"], rows["std_test_score"], marker=marker, capsize=3, label=weighting)
best = search.best_params_["estimator__max_depth"]
ax.annotate("chosen", (best, -search.best_score_), xytext=(0, -28), textcoords="offset points", ha="center",
            arrowprops={"arrowstyle": "->"})  # fmt: skip
ax.set(xlabel="depth of the trees", ylabel="log loss in cross-validation, noisy labels")
ax.legend(title="weighting")

# %%
# **Summary:** parameters interact, so tune them together: with linear weighting, deep trees are worse; with exponential
# weighting, the depth hardly matters.
