"""
From CSV to ONNX
================

Read a table, train, save the model, export it, and predict without fuselearn.
"""

# %%
# A table with categories and missing values
# ------------------------------------------

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import onnxruntime
import pandas as pd

import fuselearn
from fuselearn.datasets import read_table

folder = Path(tempfile.mkdtemp())
rng = np.random.default_rng(0)
frame = pd.DataFrame(
    {
        "age": rng.integers(18, 80, 600).astype(float),
        "income": rng.normal(40, 12, 600).round(1),
        "region": rng.choice(["north", "south", "east"], 600),
    }
)
risk = 0.04 * (frame["age"] - 45) + 1.5 * (frame["region"] == "south") - 0.03 * frame["income"]
frame["churned"] = np.where(risk + rng.logistic(size=600) > 0, "yes", "no")
frame.loc[rng.random(600) < 0.1, "income"] = np.nan
frame.to_csv(folder / "customers.csv", index=False)

# %%
# Read, train, save, export
# -------------------------
# Loading a model file runs no code from it; an ONNX file does not need fuselearn.

data = read_table(folder / "customers.csv", target="churned")
model = fuselearn.KFHEClassifier(fuselearn.CARTClassifier(max_depth=4), random_state=0).fit(data.X[:400], data.y[:400])
fuselearn.save(model, folder / "customers.fuse")
loaded = fuselearn.load(folder / "customers.fuse")
exported = folder / "customers.onnx"
exported.write_bytes(fuselearn.to_onnx(model).SerializeToString())

# %%
# Predict with onnxruntime
# ------------------------
# The exported model has one input per feature.

session = onnxruntime.InferenceSession(exported)
new = data.X[400:]
feed = {}
for column in session.get_inputs():
    values = new[[column.name]]
    is_number = column.type == "tensor(double)"
    feed[column.name] = values.to_numpy(float) if is_number else values.astype(object).fillna("").to_numpy()
_, probabilities = session.run(None, feed)
print("largest difference:", np.abs(probabilities - loaded.predict_proba(new)).max())

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
colors = np.where(data.y[400:] == "yes", "#d55e00", "#0072b2")
left.scatter(loaded.predict_proba(new)[:, 1], probabilities[:, 1], c=colors)
left.plot([0, 1], [0, 1], color="0.6", zorder=0)
left.set(xlabel="probability by fuselearn", ylabel="probability by onnxruntime", title="the same model twice")
sizes = {path.suffix: path.stat().st_size / 1024 for path in sorted(folder.iterdir())}
right.bar(list(sizes), list(sizes.values()), color=["0.7", "#009e73", "#e69f00"])
right.set(ylabel="KiB", title="the files")

# %%
# **Summary:** categories and missing values are handled natively, and the exported file predicts the same numbers in
# any ONNX runtime.
