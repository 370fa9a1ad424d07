"""Fit the ensembles of the page explore.md and write them for its JavaScript: python docs/explore_data.py FOLDER."""

import json
import sys
from pathlib import Path

import numpy as np
from sklearn.datasets import make_moons

from fuselearn import CARTClassifier, KFHEClassifier
from fuselearn.datasets import corrupt_labels

NOISE = (0.0, 0.1, 0.2, 0.3)
N_MEMBERS = 30
COLUMNS, ROWS = 48, 32


def describe_fit(X, true, grid, noise):
    """Fit KFHE to labels with noise, and return what each of its classifiers predicts, and the filter's trace."""
    labels = corrupt_labels(true, noise, random_state=3)
    base = CARTClassifier(max_depth=2, complexity=None)
    model = KFHEClassifier(base, N_MEMBERS, reset="training", random_state=0).fit(X, labels)
    first, *others = model.estimators_
    return {
        "noise": noise,
        "labels": labels.tolist(),
        "start": first.predict_proba(X)[:, 1].tolist(),
        "startGrid": (255 * first.predict_proba(grid)[:, 1]).round().astype(int).tolist(),
        "votes": [pack(h.predict(X)) for h in others],
        "voteGrids": [pack(h.predict(grid)) for h in others],
        "resets": model.resets_.tolist(),
        "gains": model.gains_.tolist(),
        "weights": model.sample_weights_.tolist(),
    }


def pack(bits):
    """Return classes 0 and 1 as hexadecimal digits, four to each."""
    return np.packbits(np.asarray(bits, dtype=np.uint8)).tobytes().hex()


def make_explore_data():
    """Return the samples, a grid around them, and a fit for each rate of noise."""
    X, true = make_moons(40, noise=0.25, random_state=4)
    low, high = X.min(axis=0) - 0.3, X.max(axis=0) + 0.3
    across, up = np.linspace(low[0], high[0], COLUMNS), np.linspace(low[1], high[1], ROWS)
    grid = np.array([(x, y) for y in up for x in across])
    return {
        "X": X.round(4).tolist(),
        "true": true.tolist(),
        "low": low.tolist(),
        "high": high.tolist(),
        "columns": COLUMNS,
        "rows": ROWS,
        "fits": [describe_fit(X, true, grid, noise) for noise in NOISE],
    }


def write_explore_data(folder):
    """Write the data as a script, which a browser loads from a file, too."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    text = json.dumps(make_explore_data(), separators=(",", ":"))
    Path(folder, "explore-data.js").write_text(f"window.exploreData = {text};\n", encoding="utf-8")


if __name__ == "__main__":
    write_explore_data(sys.argv[1])
