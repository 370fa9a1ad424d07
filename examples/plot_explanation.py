"""
Why this class
==============

SHAP values show what each feature adds to a probability, for one sample or for all samples.
"""

# %%
# What the forest has learned
# ---------------------------
# ``explain`` returns SHAP values for the plots of the package shap. Each dot is a sample, red if the feature is large.
# Its position shows how much the feature increases or decreases the probability of a malignant tumor.

import matplotlib.pyplot as plt
import shap
from sklearn.datasets import load_breast_cancer

from fuselearn import ForestClassifier
from fuselearn.datasets import corrupt_labels
from fuselearn.diagnosis import audit_labels, explain

data = load_breast_cancer(as_frame=True)
X, true = data.data, data.target_names[data.target]
y = corrupt_labels(true, 0.1, random_state=0)
forest = ForestClassifier(50, min_samples_leaf=3, random_state=0).fit(X, y)
explanation = explain(forest, X)
shap.plots.beeswarm(explanation[:, :, "malignant"], max_display=8, show=False, plot_size=(9, 4))
plt.tight_layout()

# %%
# Why a label is doubted
# ----------------------
# The most suspicious label, and the features that contradict it. They lead from the mean probability of the given
# class, at the bottom, to the probability of the sample, at the top.

audit = audit_labels(X, y, random_state=0)
sample = audit.rows.index[0]
print(audit.rows.iloc[0][["given", "suggested", "confidence"]].to_dict(), "true:", true[sample])
plt.figure()
shap.plots.waterfall(explanation[sample, :, y[sample]], max_display=8, show=False)
plt.gcf().set_size_inches(9, 4)
plt.tight_layout()

# %%
# The values of all features and the mean sum to the probability.

total = explanation[sample, :, y[sample]]
print(round(total.values.sum() + total.base_values, 6), forest.predict_proba(X.loc[[sample]]).round(6))

# %%
# **Summary:** an explanation shows what a model has learned, and why a sample contradicts it.
