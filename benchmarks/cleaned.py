"""Whether leaving out doubtful labels helps: classifiers on all samples, and inside CleanedClassifier.

Macro F1 on correct labels of the 30 % of the samples that are held out, averaged over the small tables of
``label_audit`` and two splits, by the share of wrong labels among the others (uniform noise).
"""

from __future__ import annotations

import warnings
from collections import defaultdict
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import f1_score
from sklearn.model_selection import train_test_split

from benchmarks.label_audit import tables
from benchmarks.timing import pick
from fuselearn import CleanedClassifier, ForestClassifier, FusedClassifier
from fuselearn.datasets import corrupt_labels

RATES = pick((0.0, 0.2), (0.2,))
MOST_SAMPLES = 450
N_SPLITS = pick(2, 1)
ACTIONS = ("all samples", "drop", "reweight")
MODELS: dict[str, Any] = {
    "HistGradientBoosting": HistGradientBoostingClassifier(max_iter=pick(50, 2), random_state=0),
    "forest": ForestClassifier(pick(100, 3), random_state=0),
    "Fused": FusedClassifier(n_estimators=pick(20, 2), random_state=0),
}


def main() -> None:
    warnings.simplefilter("ignore")
    scores = defaultdict(list)
    for name, X, y in tables():
        if len(X) > MOST_SAMPLES:
            continue
        for seed in range(N_SPLITS):
            train, test = train_test_split(np.arange(len(y)), test_size=0.3, random_state=seed, stratify=y)
            for rate in RATES:
                noisy = corrupt_labels(y[train], rate, random_state=seed)
                for title, base in MODELS.items():
                    for action in ACTIONS:
                        model = base if action == ACTIONS[0] else CleanedClassifier(base, action=action, random_state=0)
                        predicted = clone(model).fit(X.iloc[train], noisy).predict(X.iloc[test])
                        scores[title, action, rate].append(f1_score(y[test], predicted, average="macro"))
        print(f"{name}: {len(X)} samples", flush=True)
    print(f"\n| classifier | fitted to | {' | '.join(f'{rate:.0%}' for rate in RATES)} |")
    print("|---" * (2 + len(RATES)) + "|")
    for title in MODELS:
        for action in ACTIONS:
            means = " | ".join(f"{np.mean(scores[title, action, rate]):.3f}" for rate in RATES)
            print(f"| {title} | {action} | {means} |")


if __name__ == "__main__":
    main()
