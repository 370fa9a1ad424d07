"""
HOMER's hierarchy of labels
===========================

HOMER divides labels into groups, and groups into smaller groups, so that each model distinguishes only a few.
"""

# %%
# Labels that occur together
# --------------------------
# A shop's articles: each label belongs to one of four topics, and an article about a topic has several of its labels.

import numpy as np
import pandas as pd
from sklearn.metrics import f1_score

from fuselearn.multilabel import BinaryRelevanceClassifier, HOMERClassifier

topics = {
    "kitchen": ["oven", "pan", "knife", "fridge"],
    "garden": ["rake", "seed", "hose", "fence"],
    "music": ["guitar", "drum", "flute", "score"],
    "travel": ["tent", "map", "boots", "train"],
}
labels = [label for group in topics.values() for label in group]
rng = np.random.default_rng(0)
rows = []
for _ in range(600):
    group = topics[rng.choice(list(topics))]
    rows.append([int(label in group and rng.random() < 0.75) for label in labels])
Y = pd.DataFrame(rows, columns=labels)
X = Y.to_numpy() @ rng.normal(size=(len(labels), 30)) + rng.normal(scale=2.0, size=(600, 30))

# %%
# The hierarchy, as text and as a figure
# --------------------------------------

model = HOMERClassifier(n_clusters=4, random_state=0).fit(X[:400], Y[:400])
print(model.export_text())
for name, classifier in (("HOMER", model), ("one model per label", BinaryRelevanceClassifier().fit(X[:400], Y[:400]))):
    print(f"{name:20}", round(f1_score(Y[400:], classifier.predict(X[400:]), average="macro"), 2))

figure = model.plot()

# %%
# **Summary:** HOMER found the four topics from the co-occurrence of labels alone, and each of its models distinguishes
# labels within one topic.
