"""Gradient boosting with vector leaves: scores and time beside XGBoost's vector leaves and LightGBM per label.

``python -m benchmarks gradient_boosting [DATASET...]``: two of five folds of datasets of the KFHE-HOMER paper (see
``FUSELEARN_DATA``), flags_ml, emotions, birds and yeast by default. The others run by the Python of ``RIVALS_PYTHON``,
with their defaults. Seconds are those of one processor, for one fit, without the folds on which thresholds are learned.
"""

from __future__ import annotations

import sys
import time
import warnings
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import hamming_loss, label_ranking_average_precision_score

from benchmarks.fused_multilabel import F1_SCORES, Fold, run_rival
from benchmarks.tables import load_labels
from benchmarks.timing import SMALL, pick
from fuselearn.multilabel import GradientBoostingMultilabelClassifier, IterativeStratifiedKFold
from fuselearn.multilabel.decisions import PerLabelThresholds

DATASETS = pick(("flags_ml", "emotions", "birds", "yeast"), ("made",))
N_FOLDS, N_ROUNDS = pick((2, 200), (1, 3))


def measure(fold: Fold, labels: Any, scores: Any, seconds: Any) -> list[float]:
    measures = [measure(fold.truth, labels) for measure in (*F1_SCORES, hamming_loss)]
    return [*measures, label_ranking_average_precision_score(fold.truth, scores), float(seconds)]


def score_ours(fold: Fold) -> dict[str, list[float]]:
    start = time.process_time()
    model = GradientBoostingMultilabelClassifier(N_ROUNDS, decision=0.5, random_state=fold.seed, n_jobs=1).fit(
        fold.X, fold.Y
    )
    seconds = time.process_time() - start
    scores = {}
    for decision in ("cardinality", 0.5, "per_label", "micro_f1"):
        decided = model.with_decision(decision, fold.X, fold.Y)
        scores[f"ours, {decision}"] = measure(fold, *fold.ask(decided), seconds)
    return scores


def score_rivals(fold: Fold) -> dict[str, list[float]]:
    xgboost = run_rival("XGBoost, vector leaves", fold.numbers[0], fold.Y, fold.numbers[1])
    lightgbm = run_rival("LightGBM per label", fold.numbers[0], fold.Y, fold.numbers[1])
    cut = PerLabelThresholds().fit(lightgbm["held_out"], fold.Y)(lightgbm["scores"])
    return {
        "XGBoost, vector leaves": measure(fold, xgboost["labels"], xgboost["scores"], xgboost["seconds"]),
        "LightGBM per label": measure(fold, lightgbm["labels"], lightgbm["scores"], lightgbm["seconds"]),
        "LightGBM per label, thresholds": measure(fold, cut, lightgbm["scores"], lightgbm["seconds"]),
    }


def main(*names: str) -> None:
    warnings.simplefilter("ignore")
    columns = ["macro F1", "micro F1", "Hamming loss", "LRAP", "seconds"]
    tables = []
    for name in names or DATASETS:
        X, Y = load_labels(name)
        splits = list(IterativeStratifiedKFold(5, shuffle=True, random_state=1).split(X, Y))
        folds = [Fold(X, Y, *splits[number], seed=number) for number in range(N_FOLDS)]
        found = [score_ours(fold) | ({} if SMALL else score_rivals(fold)) for fold in folds]
        cells = np.mean([list(scores.values()) for scores in found], axis=0)
        tables.append(pd.DataFrame(cells, list(found[0]), columns))
        print(f"{name}\n{tables[-1].round(3).to_string()}\n", flush=True)
    print(f"mean of {len(tables)} dataset(s)\n{sum(tables[1:], tables[0]).div(len(tables)).round(3).to_string()}")


if __name__ == "__main__":
    main(*sys.argv[1:])
