"""The fused multi-label classifier beside its members and other packages, on the KFHE-HOMER paper's datasets.

``python -m benchmarks fused_multilabel [DATASET...]``, all ten by default (see ``FUSELEARN_DATA``): two of five folds,
five measures, and the mean rank of each method over the datasets. Scores are kept in build/fused_multilabel.csv: a run
that was interrupted goes on where it was. Other packages run in processes of their own, by the Python of
``RIVALS_PYTHON``, this one by default; a rival that is not installed, crashes or needs more than ``RIVALS_SECONDS``
(600) has no score, and the last rank. ``RIVALS_PYTHON=none`` leaves them out.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import accuracy_score, f1_score, hamming_loss, label_ranking_average_precision_score

from benchmarks import multilabel_rivals
from benchmarks.tables import load_labels
from benchmarks.timing import SMALL, pick
from fuselearn.multilabel import (
    EnsembleHOMERClassifier,
    EnsembleOfChainsClassifier,
    FusedMultilabelClassifier,
    IterativeStratifiedKFold,
    KFHEHOMERClassifier,
    PCTForestClassifier,
)
from fuselearn.multilabel.decisions import PerLabelThresholds

FEW: dict[str, Any] = pick({}, {"n_estimators": 2})
DATASETS = ("flags_ml", "emotions", "birds", "genbase", "medical", "scene", "yeast", "enron", "llog", "cal500")
N_FOLDS = pick(2, 1)
STORE = Path("build/fused_multilabel.csv")
# A label that is neither true nor predicted has an F1 of 1, as in published results.
F1_SCORES = [partial(f1_score, average=average, zero_division=1.0) for average in ("macro", "micro")]
MEASURES = {"macro F1": 1, "micro F1": 1, "Hamming loss": -1, "subset accuracy": 1, "LRAP": 1}
OPTIMIZE = ("macro_f1", "micro_f1", "hamming", "subset", "ranking")
DECISIONS = (0.5, "cardinality", "per_label", "expected_f1")

Answer = tuple[Any, Any]
"""Labels and probabilities of the test samples."""


class Fold:
    """A training and a test part, and the answers of methods that share a fit."""

    def __init__(self, X: Any, Y: Any, train: Any, test: Any, seed: int) -> None:
        self.X, self.Y, self.seed = X.iloc[train], Y[train], seed
        self.new, self.truth = X.iloc[test], Y[test]
        one_hot = pd.get_dummies(X).to_numpy(dtype=float)
        self.numbers = one_hot[train], one_hot[test]
        self.fitted: dict[str, Any] = {}

    def fit(self, name: str, make: Callable[[], Any]) -> Any:
        """Return a fitted model, which other methods may have fitted."""
        if name not in self.fitted:
            self.fitted[name] = make().set_params(random_state=self.seed).fit(self.X, self.Y)
        return self.fitted[name]

    def ask(self, model: Any) -> Answer:
        """Ask a fitted model about the test samples."""
        return model.predict(self.new), model.predict_proba(self.new)

    def ask_rival(self, name: str) -> dict[str, Any]:
        """Return the answers of another package, which other methods may have asked for."""
        if name not in self.fitted:
            self.fitted[name] = run_rival(name, self.numbers[0], self.Y, self.numbers[1])
        return self.fitted[name]


def run_rival(name: str, X: Any, Y: Any, new: Any) -> dict[str, Any]:
    """Run a rival in a process of its own; without an answer, an error says why."""
    python = os.environ.get("RIVALS_PYTHON", sys.executable)
    with tempfile.TemporaryDirectory() as folder:
        np.savez(Path(folder) / "data.npz", X=X, Y=Y, new=new)
        command = [python, multilabel_rivals.__file__, name, folder]
        seconds = float(os.environ.get("RIVALS_SECONDS", "600"))
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)
        if done.returncode != 0:
            raise RuntimeError(done.stderr.strip().splitlines()[-1] if done.stderr.strip() else str(done.returncode))
        with np.load(Path(folder) / "answer.npz") as answer:
            return dict(answer)


def ask_fused(optimize: str, fold: Fold) -> Answer:
    model = fold.fit("fused", lambda: FusedMultilabelClassifier(**pick({}, {"n_estimators": 5})))
    return fold.ask(model.with_optimize(optimize, fold.X, fold.Y))


def ask_forest(decision: Any, fold: Fold) -> Answer:
    model = fold.fit("forest", lambda: PCTForestClassifier(pick(200, 2)))
    return fold.ask(model.with_decision(decision, fold.X, fold.Y))


def ask_lightgbm_with_thresholds(fold: Fold) -> Answer:
    answer = fold.ask_rival("LightGBM per label")
    return PerLabelThresholds().fit(answer["held_out"], fold.Y)(answer["scores"]), answer["scores"]


def ask_other(name: str, fold: Fold) -> Answer:
    answer = fold.ask_rival(name)
    return answer["labels"].astype(int), answer["scores"]


OWN: dict[str, Callable[[Fold], Answer]] = {
    **{f"fused, {name}": lambda fold, name=name: ask_fused(name, fold) for name in OPTIMIZE},
    **{f"PCT forest, {rule}": lambda fold, rule=rule: ask_forest(rule, fold) for rule in DECISIONS},
    "PCT extra trees, per_label": lambda fold: fold.ask(
        fold.fit("extra", lambda: PCTForestClassifier(pick(200, 2), splitter="random", decision="per_label"))
    ),
    "KFHE-HOMER": lambda fold: fold.ask(fold.fit("kfhe", lambda: KFHEHOMERClassifier(**FEW))),
    "E-HOMER": lambda fold: fold.ask(fold.fit("e-homer", lambda: EnsembleHOMERClassifier(**FEW))),
    "ECC": lambda fold: fold.ask(fold.fit("ecc", lambda: EnsembleOfChainsClassifier(**FEW))),
}
OTHERS: dict[str, Callable[[Fold], Answer]] = {
    **{name: lambda fold, name=name: ask_other(name, fold) for name in multilabel_rivals.RIVALS},
    "LightGBM per label, thresholds": ask_lightgbm_with_thresholds,
}
METHODS = OWN if SMALL or os.environ.get("RIVALS_PYTHON") == "none" else {**OWN, **OTHERS}


def score(fold: Fold, method: str) -> list[float] | None:
    try:
        labels, scores = METHODS[method](fold)
    except (RuntimeError, subprocess.TimeoutExpired) as error:
        print(f"{method} has no score: {error}", flush=True)
        return None
    measures = [measure(fold.truth, labels) for measure in (*F1_SCORES, hamming_loss, accuracy_score)]
    return [*measures, label_ranking_average_precision_score(fold.truth, scores)]


def run(names: tuple[str, ...]) -> pd.DataFrame:
    """Score what the store lacks, and return its scores of the given datasets."""
    columns = ["dataset", "fold", "method", *MEASURES]
    STORE.parent.mkdir(exist_ok=True)
    if not STORE.exists():
        STORE.write_text(",".join(columns) + "\n", encoding="utf-8")
    known = set(pd.read_csv(STORE)[["dataset", "fold", "method"]].itertuples(index=False, name=None))
    for name in names:
        X, Y = load_labels(name)
        splits = list(IterativeStratifiedKFold(5, shuffle=True, random_state=1).split(X, Y))
        for number in range(N_FOLDS):
            fold = Fold(X, Y, *splits[number], seed=number)
            for method in METHODS:
                if (name, number, method) not in known and (found := score(fold, method)) is not None:
                    line = pd.DataFrame([[name, number, method, *found]])
                    line.to_csv(STORE, mode="a", header=False, index=False)
            print(f"{name}, fold {number}: done", flush=True)
    results = pd.read_csv(STORE)
    return results[results["dataset"].isin(names)]


def print_tables(results: pd.DataFrame) -> None:
    """Print the mean score and the mean rank of each method and measure, and macro F1 by dataset."""
    whole = results.groupby(["method", "dataset"], sort=False)[list(MEASURES)]
    by_dataset = whole.mean()[whole.size() == N_FOLDS]
    cells = {}
    for measure, sign in MEASURES.items():
        table = by_dataset[measure].unstack("dataset").reindex(METHODS)
        ranks = (-sign * table).rank(method="average", na_option="bottom").mean(axis=1)
        means = table.mean(axis=1, skipna=False)
        cells[measure] = means.map("{:.3f}".format) + ranks.map(" ({:.1f})".format)
    print(f"mean score (mean rank of {len(cells[measure])}) over {table.shape[1]} dataset(s)")
    print(pd.DataFrame(cells).reindex(METHODS).to_string())
    print("\nmacro F1")
    print(by_dataset["macro F1"].unstack("dataset").reindex(METHODS).round(3).to_string())


def main(*names: str) -> None:
    warnings.simplefilter("ignore")
    if unknown := set(names) - set(DATASETS):
        sys.exit(f"There is no dataset {', '.join(sorted(unknown))}; choose from {', '.join(DATASETS)}.")
    print_tables(run(names or DATASETS[: pick(None, 1)]))


if __name__ == "__main__":
    main(*sys.argv[1:])
