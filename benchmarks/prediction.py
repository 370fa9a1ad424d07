"""Prediction with 100 trees, against scikit-learn's random forest with 100 trees of the same size."""

from __future__ import annotations

import numpy as np
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier

from benchmarks.timing import best_of_turns, pick, print_ratio
from fuselearn import BaggedClassifier, CARTClassifier


def main() -> None:
    X, y = make_classification(pick(200_000, 200), 30, n_informative=12, n_classes=3, flip_y=0.05, random_state=0)
    tree = CARTClassifier(complexity=None)
    ours = BaggedClassifier(tree, vote="probability", random_state=0, n_jobs=2).fit(X, y)
    forest = RandomForestClassifier(
        min_samples_split=20, min_samples_leaf=7, max_depth=30, random_state=0, n_jobs=2
    ).fit(X, y)
    our_leaves = np.mean([e.get_n_leaves() for e in ours.estimators_])
    forest_leaves = np.mean([e.get_n_leaves() for e in forest.estimators_])
    print(f"  leaves per tree: ours {our_leaves:.0f}, other {forest_leaves:.0f}")
    for n_jobs in (1, 2):
        ours.n_jobs = forest.n_jobs = n_jobs
        ours.predict_proba(X[:1])
        times = best_of_turns(lambda: ours.predict_proba(X), lambda: forest.predict_proba(X), 3)
        print_ratio(f"predict_proba, 200,000 rows, 100 trees, n_jobs={n_jobs}", *times, 5)
        times = best_of_turns(lambda: ours.predict_proba(X[:1]), lambda: forest.predict_proba(X[:1]), 30)
        print_ratio(f"predict_proba, one row, 100 trees, n_jobs={n_jobs}", *times, 10)


if __name__ == "__main__":
    main()
