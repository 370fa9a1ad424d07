"""Rotation Forest, MadaBoost, BrownBoost and LogitBoost beside the other ensembles, with and without wrong labels.

``python -m benchmarks boosters``: macro F1 of 3 folds on at most 400 samples of each table.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from sklearn.ensemble import RandomForestClassifier

from benchmarks.timing import pick
from fuselearn import ensembles
from fuselearn.lab import ResultStore, Suite, run_suite, summarize

METHODS = {
    "RotationForest": ensembles.RotationForestClassifier(),
    "MadaBoost": ensembles.MadaBoostClassifier(),
    "BrownBoost": ensembles.BrownBoostClassifier(),
    "LogitBoost": ensembles.LogitBoostClassifier(),
    "AdaBoost": ensembles.SAMMEClassifier(),
    "KFHE": ensembles.KFHEClassifier(),
    "Bagging": ensembles.BaggedClassifier(),
    "RandomForest": RandomForestClassifier(),
}
SUITE = Suite(
    "boosters",
    pick(["iris", "wine", "breast_cancer", "digits"], ["iris"]),
    list(METHODS),
    noise=pick([0, 0.2], [0]),
    repeats=1,
    folds=pick(3, 2),
    max_samples=pick(400, 60),
)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, ResultStore(Path(folder) / "results.db") as store:
        run_suite(SUITE, store, estimators=METHODS, n_jobs=pick(-1, 1))
        summary = summarize(store)
    scores = summary.pivot_table(index=["noise", "dataset"], columns="method", values="score")[list(METHODS)]
    print("macro F1\n", scores.round(3).to_string())
    print("\nmean\n", scores.groupby("noise").mean().round(3).to_string())
    print("\nmean rank, 1 is best\n", scores.rank(axis=1, ascending=False).groupby("noise").mean().round(2).to_string())


if __name__ == "__main__":
    main()
