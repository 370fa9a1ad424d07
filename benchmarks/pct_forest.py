"""A forest for all labels at once, against scikit-learn's ``RandomForestClassifier`` on the same labels.

Both grow 100 unpruned trees on bootstrap samples and look at the square root of the columns in each node, with one
thread and with two. Memory is the largest resident memory of a process that fits a forest to 1,000 samples with 500
labels, less that before the fit. Without the data (see ``FUSELEARN_DATA``), tables of the same size are made instead,
whose labels follow a few hidden factors of the columns, as those of a real table do.
"""

from __future__ import annotations

import subprocess
import sys

import numpy as np
from sklearn.ensemble import RandomForestClassifier

from benchmarks.homer import SHAPES, Shape
from benchmarks.tables import load_labels
from benchmarks.timing import best_of_turns, pick, print_limit, print_ratio
from fuselearn import datasets
from fuselearn.multilabel import PCTForestClassifier

TURNS = 3
FACTORS = 8
NOISE = 1.0
AT_LEAST = 4

MANY_LABELS = pick(Shape(1000, 50, 500, 12.5), Shape(60, 5, 6, 2.0))
MOST_MEGABYTES = 200

MEMORY_PROGRAM = """
import sys
from sklearn.ensemble import RandomForestClassifier
from benchmarks.pct_forest import MANY_LABELS, make_table
from fuselearn.multilabel import PCTForestClassifier

def memory(field):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith(field)) / 1024

X, Y = make_table(MANY_LABELS)
kind = {"ours": PCTForestClassifier, "other": RandomForestClassifier}[sys.argv[1]]
kind(2, random_state=0).fit(X[:100], Y[:100])
before = memory("VmRSS")
model = kind(random_state=0, n_jobs=2).fit(X, Y)
print(memory("VmHWM") - before)
"""


def load(name: str) -> tuple[np.ndarray, np.ndarray, str]:
    """Give a dataset as arrays, or a made one of its size, and a name that tells which."""
    try:
        X, Y = load_labels(name)
        return X.to_numpy(dtype=float), Y, name
    except datasets.DatasetError:
        return *make_table(SHAPES[name]), f"{name}-sized"


def make_table(shape: Shape) -> tuple[np.ndarray, np.ndarray]:
    """Draw columns and labels that share hidden factors; common labels are several times as frequent as rare ones."""
    rng = np.random.default_rng(0)
    factors = rng.normal(size=(shape.n_rows, FACTORS))
    X = factors @ rng.normal(size=(FACTORS, shape.n_columns))
    X += NOISE * np.sqrt(FACTORS) * rng.normal(size=X.shape)
    scores = factors @ rng.normal(size=(FACTORS, shape.n_labels)) / np.sqrt(FACTORS)
    scores += NOISE * rng.normal(size=scores.shape)
    frequencies = rng.dirichlet(np.full(shape.n_labels, 2.0)) * shape.cardinality
    cuts = [np.quantile(scores[:, j], 1 - min(0.9, frequencies[j])) for j in range(shape.n_labels)]
    return X, (scores > cuts).astype(int)


def measure_memory(whose: str) -> float:
    """Measure in megabytes what a forest takes in a process of its own."""
    printed = subprocess.run(
        [sys.executable, "-c", MEMORY_PROGRAM, whose], check=True, capture_output=True, text=True
    ).stdout
    return float(printed)


def main() -> None:
    X, Y, title = load("yeast")
    PCTForestClassifier(2, random_state=0).fit(X, Y)
    for n_jobs in (1, 2):
        times = best_of_turns(
            lambda: PCTForestClassifier(100, random_state=0, n_jobs=n_jobs).fit(X, Y),  # noqa: B023
            lambda: RandomForestClassifier(100, random_state=0, n_jobs=n_jobs).fit(X, Y),  # noqa: B023
            TURNS,
        )
        print_ratio(f"PCT forest, 100 trees, {title}, n_jobs={n_jobs}, fit", *times, AT_LEAST)
    claim = f"memory, 1,000 samples, 500 labels (other {measure_memory('other'):.0f} MB)"
    print_limit(claim, measure_memory("ours"), MOST_MEGABYTES, "MB")


if __name__ == "__main__":
    main()
