"""Which wrong labels an audit finds, and how fast: audit_labels against cleanlab, for five kinds of noise.

    pip install cleanlab && python -m benchmarks label_audit

Without cleanlab, ``audit_labels`` alone is measured.

Tables: scikit-learn's, and those of the papers in the folder ``FUSELEARN_DATA`` (others are left out). Of each, 5, 10
and 20 % of the labels are made wrong. Then, averaged over tables and rates,

- AP: average precision of the order in which samples are doubted;
- missed: share of the wrong labels that are not among as many first samples as there are wrong labels;
- found, right: of audit_labels, fraction of the wrong labels that are suspects, and of the suspects that are wrong;
- time: processor time of ``audit_labels`` over that of the other, with one thread each.

A second table has found, right and the number of suspects over that of wrong labels for each kind of noise and each
rate. A third one has, for each least confidence, the fraction of the labels changed by ``corrected_labels`` that are
then correct, and the number of wrong labels that are left over that before. Two lines compare the audit with one that
judges by the held-out probabilities of a ``FusedClassifier``, whose own time is not counted. The last line is the
fraction of the labels of scikit-learn's generated tables, all correct, that are suspects.

The others rank by the probabilities of scikit-learn's random forest, from five folds: cleanlab's quality scores; the
issues that ``find_label_issues`` lists, in its order, before all other samples; and the quality of ``CleanLearning``,
which does the folds by itself.
"""

from __future__ import annotations

import importlib.util
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.datasets import (
    load_breast_cancer,
    load_digits,
    load_iris,
    load_wine,
    make_classification,
    make_multilabel_classification,
)
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import average_precision_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from benchmarks.timing import pick
from fuselearn import FusedClassifier
from fuselearn.datasets import DatasetError, corrupt_labels, load_dataset
from fuselearn.diagnosis import LabelAudit, audit_labels

BUNDLED = {"iris": load_iris, "wine": load_wine, "breast cancer": load_breast_cancer, "digits": load_digits}
PAPERS = ("glass", "sonar", "vertebral", "ionosphere", "knowledge")
MOST_SAMPLES = pick(500, 60)
KINDS = pick(("uniform", "pair", "boundary", "neighbor", "feature-dependent"), ("uniform", "boundary"))
RATES = pick((0.05, 0.1, 0.2), (0.2,))
NEAR_BORDER = "boundary"  # nobody finds these
CONFIDENCES = (0.5, 0.7, 0.8, 0.9, 0.95)
CLASSES: tuple[dict[str, Any], ...] = (
    {},
    {"n_samples": 1000},
    {"n_samples": 600, "n_classes": 3, "n_informative": 5},
    {"n_samples": 500, "class_sep": 0.5},
    {"n_samples": 500, "weights": [0.9]},
    {"n_samples": 500, "flip_y": 0},
    {"n_samples": 500, "flip_y": 0, "class_sep": 0.5},
    {"n_samples": 500, "flip_y": 0, "weights": [0.9]},
)
LABELS: tuple[dict[str, Any], ...] = (
    {},
    {"n_samples": 500},
    {"n_samples": 300, "n_classes": 10, "n_labels": 3},
    {"n_samples": 300, "n_features": 60, "n_classes": 15, "n_labels": 3},
)
N_SEEDS = pick(3, 1)
FUSED = "by FusedClassifier"
OURS, OTHERS = "audit_labels", ("quality scores", "find_label_issues", "CleanLearning")
AUDITS = (OURS, *OTHERS)

Trust = npt.NDArray[np.float64]


def tables() -> Iterator[tuple[str, pd.DataFrame, npt.NDArray[np.intp]]]:
    """Yield names, features and class numbers, of at most `MOST_SAMPLES` samples."""
    for name in pick((*BUNDLED, *PAPERS), ("iris",)):
        try:
            bundled = name in BUNDLED
            X, y = BUNDLED[name](return_X_y=True, as_frame=True) if bundled else load_dataset(name, download=False)
        except DatasetError:
            continue
        rows = np.sort(np.random.default_rng(0).permutation(len(y))[:MOST_SAMPLES])
        yield name, X.iloc[rows].reset_index(drop=True), np.unique(np.asarray(y)[rows], return_inverse=True)[1]


def trust_ours(X: pd.DataFrame, y: npt.NDArray[np.intp]) -> LabelAudit:
    return audit_labels(X, y, random_state=0)


def forest_probabilities(X: pd.DataFrame, y: npt.NDArray[np.intp]) -> npt.NDArray[np.float64]:
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    return cross_val_predict(_forest(), X, y, cv=folds, method="predict_proba")


def trust_scores(y: npt.NDArray[np.intp], probabilities: npt.NDArray[np.float64]) -> Trust:
    from cleanlab.rank import get_label_quality_scores

    return get_label_quality_scores(y, probabilities)


def trust_issues(y: npt.NDArray[np.intp], probabilities: npt.NDArray[np.float64]) -> Trust:
    from cleanlab.filter import find_label_issues

    trust = trust_scores(y, probabilities)
    issues = find_label_issues(y, probabilities, return_indices_ranked_by="self_confidence", n_jobs=1)
    trust[issues] = np.arange(len(issues)) - len(issues)
    return trust


def trust_clean_learning(X: pd.DataFrame, y: npt.NDArray[np.intp]) -> Trust:
    from cleanlab.classification import CleanLearning

    learner = CleanLearning(_forest(), seed=0, find_label_issues_kwargs={"n_jobs": 1})
    return learner.find_label_issues(X.to_numpy(), y)["label_quality"].to_numpy()


def _forest() -> RandomForestClassifier:
    return RandomForestClassifier(random_state=0)


def timed(work: Callable[..., Any], *arguments: Any) -> tuple[Any, float]:
    """Return a result and the processor time that it took."""
    start = time.process_time()
    result = work(*arguments)
    return result, time.process_time() - start


def run_others(X: pd.DataFrame, y: npt.NDArray[np.intp]) -> dict[str, tuple[Trust, float]]:
    """Return what cleanlab says, and its processor time."""
    probabilities, seconds = timed(forest_probabilities, X, y)
    scores, scoring = timed(trust_scores, y, probabilities)
    issues, finding = timed(trust_issues, y, probabilities)
    return {
        "quality scores": (scores, seconds + scoring),
        "find_label_issues": (issues, seconds + finding),
        "CleanLearning": timed(trust_clean_learning, X, y),
    }


def measure(trust: Trust, seconds: float, wrong: npt.NDArray[np.bool_]) -> list[float]:
    """Return the average precision, the share of wrong labels that are missed, and the processor time."""
    first = np.argsort(trust, kind="stable")[: wrong.sum()]
    return [float(average_precision_score(wrong, -trust)), 1.0 - float(wrong[first].mean()), seconds]


def measure_suspects(suspects: npt.NDArray[np.bool_], wrong: npt.NDArray[np.bool_]) -> list[float]:
    """Return the fractions of wrong labels suspected and of suspects wrong, and the ratio of their numbers."""
    both, n_wrong = np.count_nonzero(suspects & wrong), max(1, wrong.sum())
    return [both / n_wrong, both / max(1, suspects.sum()), suspects.sum() / n_wrong]


def measure_corrections(audit: LabelAudit, noisy: npt.NDArray[np.intp], correct: npt.NDArray[np.intp]) -> list[int]:
    """Return, for each least confidence, the numbers of labels changed, of these right, and of wrong ones left."""
    counts = []
    for confidence in CONFIDENCES:
        fixed = audit.corrected_labels(confidence).to_numpy()
        is_changed = fixed != noisy
        counts += [is_changed.sum(), (is_changed & (fixed == correct)).sum(), (fixed != correct).sum()]
    return counts


def measure_all(*, with_others: bool) -> dict[tuple[str, str], list[list[float]]]:
    """Return the measurements of each kind of noise and each audit, one for each table and rate."""
    found = defaultdict(list)
    for name, X, y in tables():
        for kind in KINDS:
            for rate in RATES:
                noisy = corrupt_labels(y, rate, kind, X=X, random_state=0)
                wrong, (classes, numbers) = noisy != y, np.unique(noisy, return_inverse=True)  # a class may be gone
                audit, seconds = timed(trust_ours, X, numbers)
                ours = audit.rows.sort_index()
                measured = measure(ours["probability"].to_numpy(), seconds, wrong)
                measured += measure_suspects(ours["suspect"].to_numpy(), wrong)
                correct = np.where(np.isin(y, classes), np.searchsorted(classes, y), -1)
                found[kind, OURS].append([*measured, wrong.sum(), *measure_corrections(audit, numbers, correct)])
                fused = FusedClassifier(random_state=0).hold_out(X, numbers)
                audit, seconds = timed(partial(audit_labels, X, numbers, probabilities=fused, random_state=0))
                ours = audit.rows.sort_index()
                measured = measure(ours["probability"].to_numpy(), seconds, wrong)
                found[kind, FUSED].append(measured + measure_suspects(ours["suspect"].to_numpy(), wrong))
                if with_others:
                    for title, (trust, seconds) in run_others(X, numbers).items():
                        found[kind, title].append(measure(trust, seconds, wrong))
        print(f"{name}: {len(X)} samples, {X.shape[1]} features, {y.max() + 1} classes", flush=True)
    return found


def print_numbers(found: dict[tuple[str, str], list[list[float]]]) -> None:
    """Print found, right, and suspects over wrong labels, for each rate."""
    print(f"\n| noise | {' | '.join(f'{rate:.0%}: found | right | suspects / wrong' for rate in RATES)} |")
    print("|---" * (1 + 3 * len(RATES)) + "|")
    for kinds in (*((kind,) for kind in KINDS), tuple(kind for kind in KINDS if kind != NEAR_BORDER)):
        lines = np.array([found[kind, OURS] for kind in kinds])
        lines = lines.reshape(-1, len(RATES), lines.shape[-1])  # the rates vary fastest
        cells = " | ".join(f"{value:.3f}" for value in lines.mean(axis=0)[:, 3:6].ravel())
        print(f"| {kinds[0] if len(kinds) == 1 else f'all but {NEAR_BORDER}'} | {cells} |", flush=True)


def print_corrections(found: dict[tuple[str, str], list[list[float]]]) -> None:
    """Print what corrections are worth, over all tables and kinds of noise but that near the border."""
    print(f"\n| confidence | {' | '.join(f'{rate:.0%}: right | wrong labels left' for rate in RATES)} |")
    print("|---" * (1 + 2 * len(RATES)) + "|")
    lines = np.array([line for kind in KINDS if kind != NEAR_BORDER for line in found[kind, OURS]])
    sums = lines.reshape(-1, len(RATES), lines.shape[1])[:, :, 6:].sum(axis=0)
    for k, confidence in enumerate(CONFIDENCES):
        changed, right, left = sums[:, 1 + 3 * k : 4 + 3 * k].T
        numbers = np.column_stack([right / np.maximum(1, changed), left / np.maximum(1, sums[:, 0])])
        print(f"| {confidence} | {' | '.join(f'{value:.3f}' for value in numbers.ravel())} |", flush=True)


def print_fused(found: dict[tuple[str, str], list[list[float]]]) -> None:
    """Compare judging by the members of the audit, and by a fused classifier, over all kinds of noise."""
    print()
    for title in (OURS, FUSED):
        lines = np.array([line[:6] for kind in KINDS for line in found[kind, title]])
        names = ("AP", "missed", "seconds", "found", "right", "suspects / wrong")
        means = ", ".join(f"{name} {value:.3f}" for name, value in zip(names, lines.mean(axis=0), strict=True))
        print(f"{title}: {means}", flush=True)


def print_correct() -> None:
    """Print the mean fraction of correct labels that are suspects."""
    rates = {}
    for make, several in ((make_classification, CLASSES), (make_multilabel_classification, LABELS)):
        generated = [make(random_state=seed, **settings) for seed in range(N_SEEDS) for settings in several]
        rates[make.__name__] = np.mean([audit_labels(X, y, random_state=0).noise_rate for X, y in generated])
    print("\nsuspects among correct labels: " + ", ".join(f"{name} {rate:.3f}" for name, rate in rates.items()))


def main() -> None:
    with_others = importlib.util.find_spec("cleanlab") is not None
    if not with_others:
        print("cleanlab is not installed; install it with: pip install cleanlab. audit_labels is measured alone.")
    warnings.simplefilter("ignore")
    found = measure_all(with_others=with_others)
    audits = AUDITS if with_others else (OURS,)
    titles = [*(f"{t}: AP" for t in audits), *(f"{t}: missed" for t in audits), f"{OURS}: found", f"{OURS}: right"]
    print(f"\n| noise | {' | '.join(titles)} |")
    print("|---" * (1 + len(titles)) + "|")
    for kind in (*KINDS, "all"):
        kinds = KINDS if kind == "all" else (kind,)
        means = {t: np.mean([line for k in kinds for line in found[k, t]], axis=0) for t in audits}
        cells = [f"{means[t][column]:.3f}" for column in (0, 1) for t in audits]
        cells += [f"{means[OURS][column]:.3f}" for column in (3, 4)]
        print(f"| {kind} | {' | '.join(cells)} |", flush=True)
    print_numbers(found)
    print_corrections(found)
    print_fused(found)
    print_correct()
    if with_others:
        spent = {t: sum(line[2] for kind in KINDS for line in found[kind, t]) for t in audits}
        print("\ntime: " + ", ".join(f"{spent[OURS] / spent[t]:.2f} of {t}" for t in OTHERS))


if __name__ == "__main__":
    main()
