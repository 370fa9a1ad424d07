"""Whether probabilities of labels sum up to the labels that samples have, and what that costs in macro F1.

For each classifier over support vector machines, on folds of the papers' datasets (see ``FUSELEARN_DATA``; others are
left out):

- F1 and F1 at .5: macro F1 of ``predict``, and of probabilities above 0.5;
- sum: the sum of all probabilities over the number of labels that the test samples have; 1 is right;
- error: the expected calibration error, over ten bins;

and before them, as "raw", the same of what ``predict_proba`` does not give: the scores by which HOMERs decide, which
the R package utiml takes for probabilities (but for llog, where samples without labels have a model of their own here),
and the probabilities of a label powerset's machines divided by their sum. The lines "by sample" keep all drawn copies
of a sample in one fold of Platt's cross-validation; "two folds" calibrates on two instead of five.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.metrics import f1_score

from benchmarks.tables import load_labels
from benchmarks.timing import pick
from fuselearn import SVMClassifier, datasets
from fuselearn.learners.svm import SVMLearner
from fuselearn.multilabel import (
    EnsembleHOMERClassifier,
    HOMERClassifier,
    IterativeStratifiedKFold,
    KFHEHOMERClassifier,
    LabelPowersetClassifier,
)
from fuselearn.multilabel.methods.kfhe_homer import DEFAULT_VARIED

DATASETS = {"flags_ml": 5, "birds": 5, "emotions": 5, "genbase": 2, "medical": 2, "llog": 1, "scene": 1, "yeast": 1}
N_MEMBERS = pick(20, 2)

# A label that is neither true nor predicted has an F1 of 1, as in published results.
macro_f1 = partial(f1_score, average="macro", zero_division=1.0)

Scores = npt.NDArray[np.float64]


class DrawsAsWeights(SVMLearner):
    """Take how often a sample was drawn as its weight, so that it is in one fold of Platt's cross-validation."""

    def train(self, target: Any, counts: Any, seed: int, *, weights: Any = None) -> Any:
        """Train machines on the samples drawn."""
        return super().train(target, counts, seed, weights=counts.astype(np.float64) if weights is None else weights)


class EnsembleBySample(EnsembleHOMERClassifier):
    """E-HOMER whose members are calibrated over samples rather than over drawn copies."""

    def _bind(self, X: Any, n_threads: int | None = None) -> SVMLearner:
        return DrawsAsWeights(X, self._base_estimator(), n_threads or 1)


MODELS = {
    "HOMER": HOMERClassifier(),
    "KFHE-HOMER": KFHEHOMERClassifier(n_estimators=N_MEMBERS),
    "KFHE-HOMER, two folds": KFHEHOMERClassifier(SVMClassifier(cv=2), N_MEMBERS, varied=DEFAULT_VARIED),
    "E-HOMER": EnsembleHOMERClassifier(n_estimators=N_MEMBERS),
    "E-HOMER, by sample": EnsembleBySample(n_estimators=N_MEMBERS),
    "label powerset": LabelPowersetClassifier(),
}


def calibration_error(truth: Any, probabilities: Scores, n_bins: int = 10) -> float:
    """Sum up how far the labels of each bin are from its probabilities, as a share of all."""
    bins = np.minimum((probabilities * n_bins).astype(int), n_bins - 1)
    return float(abs(np.bincount(bins.ravel(), (truth - probabilities).ravel())).sum() / truth.size)


def answer_raw(model: Any, X: Any) -> tuple[Any, Scores]:
    """Return the labels and probabilities that the model would give without conditioning or coupling."""
    if not isinstance(model, LabelPowersetClassifier):
        return model.predict(X), model._sum(model._fused_.deciding(), X)
    machines = model._fused_.models[0].model
    fitted, machines.coupling = machines.coupling, machines.coupling._replace(sharpness=1.0, balance=0.0)
    answer = model.predict(X), model.predict_proba(X)
    machines.coupling = fitted
    return answer


def measure(name: str, n_folds: int, model: Any) -> Iterator[list[float]]:
    X, Y = load_labels(name)
    folds = IterativeStratifiedKFold(5, shuffle=True, random_state=1).split(X, Y)
    for fold, (train, test) in zip(range(n_folds), folds, strict=False):
        model.set_params(random_state=fold).fit(X.iloc[train], Y[train])
        rows, truth, scores = X.iloc[test], Y[test], []
        for labels, given in (answer_raw(model, rows), (model.predict(rows), model.predict_proba(rows))):
            scores += [macro_f1(truth, labels), macro_f1(truth, (given > 0.5).astype(int))]
            scores += [given.sum() / truth.sum(), calibration_error(truth, given)]
        yield scores


def main() -> None:
    warnings.simplefilter("ignore")
    columns = ("F1", "F1 at .5", "sum", "error")
    print(f"| dataset (folds) | model | {' | '.join([f'raw {column}' for column in columns] + [*columns])} |")
    print("|---" * 10 + "|")
    for name, n_folds in pick(DATASETS, {"made": 1}).items():
        for title, model in MODELS.items():
            try:
                means = np.mean(list(measure(name, n_folds, model)), axis=0)
            except datasets.DatasetError:
                continue
            print(f"| {name} ({n_folds}) | {title} | {' | '.join(f'{mean:.3f}' for mean in means)} |", flush=True)


if __name__ == "__main__":
    main()
