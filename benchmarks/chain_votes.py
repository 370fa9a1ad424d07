"""Ensembles of chains by number of chains, type of vote and decision, on two of five folds of the papers' datasets."""

from __future__ import annotations

import warnings
from functools import partial
from itertools import product

import numpy as np
import pandas as pd
from sklearn.metrics import accuracy_score, f1_score, hamming_loss, label_ranking_average_precision_score

from benchmarks.tables import load_labels
from benchmarks.timing import pick
from fuselearn.multilabel import EnsembleOfChainsClassifier, IterativeStratifiedKFold

DATASETS = pick(("flags_ml", "emotions", "birds", "genbase", "scene"), ("made",))
SIZES = pick((10, 25, 50), (2,))
N_FOLDS = 2
# A label that is neither true nor predicted has an F1 of 1, as in published results.
F1_SCORES = [partial(f1_score, average=average, zero_division=1.0) for average in ("macro", "micro")]
COLUMNS = ["macro F1", "micro F1", "Hamming loss", "subset accuracy", "LRAP"]


def main(*names: str) -> None:
    warnings.simplefilter("ignore")
    scores = {}
    for name in names or DATASETS:
        X, Y = load_labels(name)
        folds = IterativeStratifiedKFold(5, shuffle=True, random_state=1).split(X, Y)
        for fold, (train, test) in zip(range(N_FOLDS), folds, strict=False):
            for vote, n_chains in product(("class", "probability"), SIZES):
                model = EnsembleOfChainsClassifier(n_estimators=n_chains, vote=vote, random_state=fold)
                model.fit(X.iloc[train], Y[train])
                given, truth = model.predict_proba(X.iloc[test]), Y[test]
                precision = label_ranking_average_precision_score(truth, given)
                for decision in (0.5, "cardinality"):
                    labels = model.with_decision(decision, X.iloc[train], Y[train]).predict(X.iloc[test])
                    measures = [*F1_SCORES, hamming_loss, accuracy_score]
                    scores[vote, n_chains, decision, name, fold] = [m(truth, labels) for m in measures] + [precision]
    index = pd.MultiIndex.from_tuples(scores, names=["vote", "chains", "decision", "dataset", "fold"])
    table = pd.DataFrame(np.array(list(scores.values())), index, COLUMNS)
    print(table.groupby(["vote", "chains", "decision"], sort=False).mean().round(3).to_string())


if __name__ == "__main__":
    main()
