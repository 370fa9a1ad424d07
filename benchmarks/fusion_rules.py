"""How the members of a fused classifier should be weighed, on tables that the rule was not chosen on.

All rules get the same probabilities of the same members, for held-out training samples with wrong labels and for test
samples with correct ones. ``python -m benchmarks.fusion_rules`` needs the tables of ``fuselearn[tables]``.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata
from sklearn.metrics import accuracy_score, f1_score
from sklearn.model_selection import StratifiedKFold

from benchmarks.tables import load_classes
from benchmarks.timing import SMALL, pick
from fuselearn.combine.candidates import by_confusion, f1_macro
from fuselearn.combine.classes import Classes
from fuselearn.combine.fused import default_members
from fuselearn.combine.members import predict_outside
from fuselearn.combine.selection import select_greedily
from fuselearn.combine.weight_solvers import least_squares_weights, log_loss_weights
from fuselearn.datasets import corrupt_labels
from fuselearn.datasets.registry import registry
from fuselearn.fusion.held_out import average_held_out, deal_splits
from fuselearn.fusion.members import best_exponent, sharpen, squared_error, weigh_members

LEVELS = pick((0.0, 0.1, 0.2, 0.3), (0.2,))
MOST_SAMPLES = 2_500
N_FOLDS, FOLDS_USED = 5, pick(2, 1)

Array = npt.NDArray[np.float64]


class Case(NamedTuple):
    """The outputs of the members; scores have the shape (n_members, n_samples, n_classes)."""

    held_out: Array
    noisy: npt.NDArray[np.intp]
    test: Array
    truth: npt.NDArray[np.intp]

    def calibrate(self) -> Case:
        """Sharpen or soften the scores of each member."""
        exponents = [best_exponent(scores, self.noisy, None) for scores in self.held_out]
        held_out, test = (
            np.stack([sharpen(one, a) for one, a in zip(scores, exponents, strict=True)])
            for scores in (self.held_out, self.test)
        )
        return self._replace(held_out=held_out, test=test)

    def errors(self) -> Array:
        """Return the squared error of each member on held-out samples."""
        return np.array([squared_error(scores, self.noisy, None) for scores in self.held_out])


def by_error(tolerance: float) -> Callable[[Case], Array]:
    return lambda case: weigh_members(case.errors(), tolerance, 0.01)


def by_score(score: Callable[..., float], tolerance: float) -> Callable[[Case], Array]:
    def weigh(case: Case) -> Array:
        scores = np.array([score(case.noisy, one.argmax(axis=1)) for one in case.held_out])
        return weigh_members(1.0 - scores, tolerance, 0.01)

    return weigh


def macro_f1(truth: npt.NDArray[np.intp], chosen: npt.NDArray[np.intp]) -> float:
    return float(f1_score(truth, chosen, average="macro", zero_division=0.0))


def by_likelihood(case: Case) -> Array:
    n_samples = len(case.noisy)
    of_label = case.held_out[:, np.arange(n_samples), case.noisy].T
    return log_loss_weights(of_label, np.full(n_samples, 1 / n_samples), "simplex")


def by_least_squares(case: Case) -> Array:
    n_classes = case.held_out.shape[2]
    answers = case.held_out.reshape(len(case.held_out), -1).T
    weights = least_squares_weights(answers, np.eye(n_classes)[case.noisy].ravel(), "non-negative")
    return weights / weights.sum()


def by_selection(case: Case) -> Array:
    candidates = by_confusion(case.held_out, case.noisy, np.ones(len(case.noisy)), f1_macro)
    counts = select_greedily(candidates, 25).counts
    return counts / counts.sum()


def best_alone(case: Case) -> Array:
    return np.eye(len(case.held_out))[case.errors().argmin()]


def inverse_variances(case: Case) -> Array:
    return (1.0 / case.errors()) / (1.0 / case.errors()).sum()


def mean(case: Case) -> Array:
    return np.full(len(case.held_out), 1.0 / len(case.held_out))


RULES: dict[str, Callable[[Case], Array]] = {
    "squared error, tolerance 0.01 (the default)": by_error(0.01),
    "squared error, tolerance 0.005": by_error(0.005),
    "squared error, tolerance 0.02": by_error(0.02),
    "macro F1, tolerance 0.005": by_score(macro_f1, 0.005),
    "macro F1, tolerance 0.01": by_score(macro_f1, 0.01),
    "accuracy, tolerance 0.01": by_score(accuracy_score, 0.01),
    "likelihood of the mixture": by_likelihood,
    "least squares, non-negative": by_least_squares,
    "greedy selection of 25 by macro F1": by_selection,
    "the best member alone": best_alone,
    "inverse variances": inverse_variances,
    "plain mean": mean,
}


def train_members(name: str, level: float, n_estimators: int) -> list[Case]:
    """Train the members on some folds of a table with wrong labels."""
    table, y = load_classes(name)
    cases = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # classes with fewer samples than folds
        splits = list(StratifiedKFold(N_FOLDS, shuffle=True, random_state=0).split(y, y))
        for fold, (train, test) in enumerate(splits[:FOLDS_USED]):
            X, noisy = table.iloc[train], corrupt_labels(y[train], level, random_state=fold)
            inner = deal_splits(noisy, 4, np.random.default_rng(fold))
            output = Classes(np.arange(y.max() + 1)).probabilities
            members = default_members(n_estimators, fold)
            held_out = [
                average_held_out([predict_outside(one, X, noisy, output, *split) for split in inner], inner, len(X))
                for one in members
            ]
            scores = [output(one.estimator.fit(X, noisy), table.iloc[test]) for one in members]
            cases.append(Case(np.stack(held_out), noisy, np.stack(scores), y[test]))
    return cases


def compare(cases: list[Case]) -> tuple[Array, Array]:
    """Return the macro F1 and the squared error of each rule, with calibration and then without, over the cases."""
    f1s, errors = [], []
    for case in cases:
        fused = [
            np.tensordot(rule(one), one.test, axes=1) for one in (case.calibrate(), case) for rule in RULES.values()
        ]
        f1s.append([macro_f1(case.truth, scores.argmax(axis=1)) for scores in fused])
        errors.append([squared_error(scores, case.truth, None) for scores in fused])
    return np.mean(f1s, axis=0), np.mean(errors, axis=0)


def main(*arguments: str) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="tables; all of fuselearn[tables] of up to 2,500 samples by default")
    parser.add_argument("--estimators", type=int, default=pick(50, 2), help="trees of each ensemble")
    options = parser.parse_args(arguments)
    names = (
        options.names
        or (["made"] if SMALL else [])
        or [name for name, info in registry().items() if info.packaged is not None and info.rows <= MOST_SAMPLES]
    )
    f1s = np.empty((len(names), len(LEVELS), 2 * len(RULES)))
    errors = np.empty_like(f1s)
    for n, name in enumerate(names):
        for k, level in enumerate(LEVELS):
            f1s[n, k], errors[n, k] = compare(train_members(name, level, options.estimators))
        print(f"  {name}", flush=True)
    ranks = np.array([[rankdata(-level) for level in table] for table in f1s.round(6)])
    print(f"\n{len(names)} tables, {FOLDS_USED} of {N_FOLDS} folds, wrong labels 0 / 10 / 20 / 30 %\n")
    print("| weights by | average rank | macro F1 | squared error |\n|---|---|---|---|")
    labels = [*RULES, *(f"{name}, not calibrated" for name in RULES)]
    for r in np.argsort(ranks.mean(axis=(0, 1))):
        columns = (
            " / ".join(f"{value:{form}}" for value in values[:, :, r].mean(axis=0))
            for values, form in ((ranks, ".1f"), (f1s, ".3f"), (errors, ".3f"))
        )
        print(f"| {labels[r]} | {' | '.join(columns)} |")


if __name__ == "__main__":
    main(*sys.argv[1:])
