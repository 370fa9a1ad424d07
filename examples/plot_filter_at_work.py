"""
The filter at work
==================

How ``KFHEClassifier`` learns: after each classifier, the estimate moves by the gain of one Kalman filter, and a second
one gives more weight to samples that the ensemble gets wrong.
"""

# %%
# Two features and a tenth of wrong labels
# ----------------------------------------
# The measurements are trees of depth 3. With ``warm_start``, each fit adds one classifier, so that the sample weights
# can be recorded; the result equals that of a single fit.

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.animation import FuncAnimation
from sklearn.datasets import make_moons

from fuselearn import CARTClassifier, KFHEClassifier
from fuselearn.datasets import corrupt_labels

X, true = make_moons(200, noise=0.25, random_state=0)
y = corrupt_labels(true, 0.1, random_state=0)
model = KFHEClassifier(CARTClassifier(max_depth=3, complexity=None), warm_start=True, random_state=0)
weights = [model.set_params(n_estimators=n).fit(X, y).sample_weights_.copy() for n in range(1, 16)]

wrong = y != true
ratio = weights[-1][wrong].mean() / weights[-1][~wrong].mean()
print(f"a wrong label has {ratio:.1f} times the weight of a correct one")

# %%
# Frame by frame
# --------------
# ``staged_predict_proba`` yields the estimate after each classifier.

across, up = np.meshgrid(np.linspace(-2, 3, 90), np.linspace(-1.5, 2, 70))
stages = model.staged_predict_proba(np.c_[across.ravel(), up.ravel()])
surfaces = [scores[:, 1].reshape(across.shape) for scores in stages]

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4), width_ratios=(3, 2))
extent = (-2, 3, -1.5, 2)
surface = left.imshow(surfaces[0], extent=extent, origin="lower", cmap="PuOr_r", vmin=0, vmax=1, aspect="auto")
colors, rings = np.where(y == 1, "#b35806", "#542788"), np.where(wrong, "black", "white")
points = left.scatter(*X.T, c=colors, edgecolors=rings)
right.set(xlim=(0, 15), ylim=(0, 1), xlabel="classifier", title="the filter")
lines = [right.plot([], [], label=label)[0] for label in ("gain K", "variance P", "error R")]
right.legend()
figure.tight_layout()


def draw(t):
    surface.set_data(surfaces[t + 1])
    points.set_sizes(4000 * weights[t])
    left.set_title(f"after {t + 1} classifiers (black rings: wrong labels)")
    for line, values in zip(lines, (model.gains_, model.variances_, model.measurement_errors_), strict=True):
        line.set_data(np.arange(1, t + 2), values[: t + 1])


animation = FuncAnimation(figure, draw, frames=len(weights), interval=400)

# %%
# **Summary:** the gain decreases, so that no single classifier can change the estimate much. The largest points, with
# the largest weights in the second filter, are increasingly those with a black ring, the wrong labels.
