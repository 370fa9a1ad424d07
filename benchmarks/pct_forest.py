"""A forest for all labels at once, against scikit-learn's ``RandomForestClassifier`` on the same labels.

Both grow 100 unpruned trees on bootstrap samples and look at the square root of the columns in each node, with one
thread and with two. Without the data (see ``FUSELEARN_DATA``), tables of the same size are made instead, whose labels
follow a few hidden factors of the columns, as those of a real table do.
"""

from __future__ import annotations

import numpy as np
from sklearn.ensemble import RandomForestClassifier

from benchmarks.homer import SHAPES, Shape
from benchmarks.timing import best_of_turns, print_ratio
from fuselearn import datasets
from fuselearn.multilabel import PCTForestClassifier

TURNS = 3
FACTORS = 8
NOISE = 1.0
AT_LEAST = 4


def load(name: str) -> tuple[np.ndarray, np.ndarray, str]:
    """Give a dataset as arrays, or a made one of its size, and a name that tells which."""
    try:
        X, Y = datasets.load(name, download=False)
        return X.to_numpy(dtype=float), Y.to_numpy(dtype=int), name
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


if __name__ == "__main__":
    main()
