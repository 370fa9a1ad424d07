"""Coverage and size of prediction sets when labels are wrong: FusedClassifier.predict_set against MAPIE.

    pip install mapie && python -m benchmarks prediction_sets

Without MAPIE, the sets of this library alone are measured.

Tables: those of ``python -m reproduction robust`` with at most 50 features and 10 classes, of scikit-learn, of the
extra ``tables``, and of the folder ``FUSELEARN_DATA`` (others are left out); up to 500 samples, half of them for
training. Up to 40 % of the training labels are made wrong. For each fraction of wrong labels, the mean over the tables
of

- coverage: the fraction of the test samples whose set holds the correct class; 0.9 is asked for;
- size: the number of classes in a set.

The sets of `predict_set` hold at least the most likely class, so that their coverage is not below the accuracy; sets
that may be empty have the coverage asked for, and are what MAPIE's score "lac" returns. "labels as given" does not
correct for wrong labels; PredictionSetClassifier, which estimates nothing, is also told their fraction. MAPIE takes the
mean of five models, trained on four fifths each. For all fractions of wrong labels together, "classes" is the mean of
the coverage of each class, "off" how far the coverage of a table is from 0.9, "empty" the fraction of sets without a
class, and "time" the processor time. The other methods are run on the first split of every third table, and a further
table has the tables that MAPIE's score "aps" takes: those of three and more classes. The first line says how many sets
of a fitted forest differ from those of MAPIE's split conformal prediction, for four coverages.
"""

from __future__ import annotations

import importlib.util
import itertools
import sys
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import train_test_split

from benchmarks.timing import pick
from fuselearn import FusedClassifier
from fuselearn.combine import PredictionSetClassifier
from fuselearn.datasets import DatasetError, corrupt_labels, load_dataset
from fuselearn.datasets.noise import scale_features
from reproduction.experiments import EXPERIMENTS

RATES = pick((0.0, 0.1, 0.2, 0.3, 0.4), (0.0, 0.2))
MOST_SAMPLES = pick(500, 100)
MOST_FEATURES, MOST_CLASSES = 50, 10
N_TREES = pick(50, 5)
COVERAGE = 0.9
LEAST_OF_CLASS = 6
N_SPLITS = pick(4, 1)
LEAST_OF_AGREEMENT = pick(400, 100)
EVERY = 3
"""Other methods than the fused classifier are run on the first split of every third table."""

Sets = npt.NDArray[np.bool_]
Table = tuple[npt.NDArray[np.float64], npt.NDArray[np.intp]]
Found = dict[str, tuple[Sets, float]]
"""Sets and processor time by title."""
Measured = dict[str, dict[tuple[str, int], list[list[float]]]]


def tables() -> Iterator[tuple[str, Table]]:
    """Yield names, features as numbers, and class indices; without classes that are too rare to be split."""
    for name in pick(EXPERIMENTS["robust"].suite.datasets, ("breast_cancer",)):
        try:
            data = load_dataset(name, download=False)
        except DatasetError:
            continue
        y = np.unique(data.y, return_inverse=True)[1]
        drawn = np.random.default_rng(0).permutation(len(y))[:MOST_SAMPLES]
        drawn = drawn[(np.bincount(y[drawn]) >= LEAST_OF_CLASS)[y[drawn]]]
        y = np.unique(y[drawn], return_inverse=True)[1]
        if data.X.shape[1] <= MOST_FEATURES and y.max() < MOST_CLASSES:
            yield name, (scale_features(data.X.iloc[drawn]), y)


def fused() -> FusedClassifier:
    return FusedClassifier(n_estimators=N_TREES, random_state=0)


def forest() -> RandomForestClassifier:
    return RandomForestClassifier(pick(100, 5), min_samples_leaf=3, random_state=0)


def run_fused(X: Any, y: Any, X_test: Any, rate: float) -> Found:
    """Return sets of several kinds from one fit, with the time of the fit and of a kind; the rate is not used."""
    return predict_kinds(
        "FusedClassifier",
        fused(),
        {
            "": {},
            ", may be empty": {"allow_empty": True},
            ", may be empty, labels as given": {"allow_empty": True, "noise_rate": 0.0},
            ", may be empty, per class": {"allow_empty": True, "per_class": True},
        },
        (X, y, X_test),
    )


def run_wrapper(X: Any, y: Any, X_test: Any, rate: float) -> Found:
    """Return the sets of a forest, without and with the fraction of wrong labels."""
    kinds = {
        ", may be empty, labels as given": {"allow_empty": True},
        ", may be empty, fraction known": {"allow_empty": True, "noise_rate": rate},
    }
    return predict_kinds("PredictionSetClassifier(forest)", PredictionSetClassifier(forest()), kinds, (X, y, X_test))


def predict_kinds(name: str, model: Any, kinds: dict[str, dict[str, Any]], data: tuple[Any, Any, Any]) -> Found:
    """Fit a model once, and predict sets with several settings."""
    X, y, X_test = data
    _, fitting = timed(model.fit, X, y)
    found = {}
    for title, settings in kinds.items():
        sets, seconds = timed(model.predict_set, X_test, COVERAGE, **settings)
        found[name + title] = sets, fitting + seconds
    return found


def run_mapie(model: BaseEstimator, X: Any, y: Any, X_test: Any, *, score: str) -> tuple[Sets, float]:
    """Return the sets of MAPIE, and the time."""
    from mapie.classification import CrossConformalClassifier

    start = time.process_time()
    wrapped = CrossConformalClassifier(model, confidence_level=COVERAGE, conformity_score=score, cv=5, random_state=0)
    sets = wrapped.fit_conformalize(X, y).predict_set(X_test)[1][:, :, 0].astype(bool)
    return sets, time.process_time() - start


def timed(work: Callable[..., Any], *arguments: Any, **settings: Any) -> tuple[Any, float]:
    """Return a result and the processor time that it took."""
    start = time.process_time()
    result = work(*arguments, **settings)
    return result, time.process_time() - start


def measure(sets: Sets, truth: npt.NDArray[np.intp], seconds: float) -> list[float]:
    """Return coverage, size, coverage of the classes, distance from what was asked for, empty sets, and time."""
    holds = sets[np.arange(len(truth)), truth]
    coverage, n_classes = float(holds.mean()), float(sets.sum(axis=1).mean())
    by_class = float(np.mean([holds[truth == k].mean() for k in np.unique(truth)]))
    return [coverage, n_classes, by_class, abs(coverage - COVERAGE), float((~sets.any(axis=1)).mean()), seconds]


def list_methods(*, with_mapie: bool) -> list[Callable[..., Found]]:
    """List what is compared: functions of training samples, labels, test samples and fraction of wrong labels."""

    def make(title: str, model: Callable[[], Any], score: str) -> Callable[..., Found]:
        return lambda X, y, X_test, rate: {title: run_mapie(model(), X, y, X_test, score=score)}

    ours = [run_fused, run_wrapper]
    if not with_mapie:
        return ours
    return [
        *ours,
        make("MAPIE, lac (FusedClassifier)", fused, "lac"),
        make("MAPIE, lac (forest)", forest, "lac"),
        make("MAPIE, aps (forest)", forest, "aps"),
    ]


def measure_all(*, with_mapie: bool) -> Measured:
    """Return the measurements by method and split of a table, one for each fraction of wrong labels."""
    found: Measured = defaultdict(lambda: defaultdict(list))
    for (number, (name, (X, y))), seed in itertools.product(enumerate(tables()), range(N_SPLITS)):
        methods = list_methods(with_mapie=with_mapie) if number % EVERY == 0 and seed == 0 else [run_fused]
        inside, outside = train_test_split(np.arange(len(y)), test_size=0.5, stratify=y, random_state=seed)
        for rate, method in itertools.product(RATES, methods):
            noisy = corrupt_labels(y[inside], rate, random_state=seed)
            try:
                sets = method(X[inside], noisy, X[outside], rate)
            except ValueError as error:  # MAPIE, where a class is rare, and for two classes
                print(f"{name}, {rate:.0%}: {error}", file=sys.stderr)
                continue
            for title, (one, seconds) in sets.items():
                found[title][name, seed].append(measure(one, y[outside], seconds))
    return found


def print_means(found: Measured, runs: set[tuple[str, int]]) -> None:
    """Print the means over some splits of the methods that have all of them."""
    columns = [*(f"{rate:.0%} wrong: coverage | size" for rate in RATES), "classes", "off", "empty", "time"]
    n_tables = len({name for name, _ in runs})
    print(f"\n{n_tables} tables, {len(runs)} splits\n\n| | {' | '.join(columns)} |\n{'|---' * (5 + 2 * len(RATES))}|")
    for title, lines in found.items():
        if complete(lines) >= runs:
            means = np.mean([lines[run] for run in sorted(runs)], axis=0)
            cells = [f"{coverage:.3f} | {size:.2f}" for coverage, size, *_ in means]
            *others, seconds = means.mean(axis=0)[2:]
            print(f"| {title} | {' | '.join([*cells, *(f'{x:.3f}' for x in others)])} | {seconds:.2f} s |", flush=True)


def count_differences(X: Any, y: Any) -> int:
    """Return how many sets of a fitted forest differ from MAPIE's, for four coverages."""
    from mapie.classification import SplitConformalClassifier

    inside, calibration, test = np.array_split(np.random.default_rng(0).permutation(len(y)), 3)
    model = forest().fit(X[inside], y[inside])
    ours = PredictionSetClassifier(FrozenEstimator(model)).fit(X[calibration], y[calibration])
    n_differences = 0
    for coverage in pick((0.8, 0.9, 0.95, 0.99), (0.8, 0.9)):
        other = SplitConformalClassifier(model, confidence_level=coverage).conformalize(X[calibration], y[calibration])
        sets = ours.predict_set(X[test], coverage, allow_empty=True)
        n_differences += int((sets != other.predict_set(X[test])[1][:, :, 0]).any(axis=1).sum())
    return n_differences


def complete(lines: dict[tuple[str, int], list[list[float]]]) -> set[tuple[str, int]]:
    """Return the splits with a measurement for each fraction of wrong labels."""
    return {run for run, measured in lines.items() if len(measured) == len(RATES)}


def main() -> None:
    with_mapie = importlib.util.find_spec("mapie") is not None
    if not with_mapie:
        print(
            "MAPIE is not installed; install it with: pip install mapie. The sets of this library alone are measured."
        )
    warnings.simplefilter("ignore")
    if with_mapie:
        n_differences = sum(count_differences(X, y) for _, (X, y) in tables() if len(y) >= LEAST_OF_AGREEMENT)
        print(f"A fitted forest: {n_differences} sets differ from those of MAPIE's split conformal prediction")
    found = measure_all(with_mapie=with_mapie)
    for runs in sorted({frozenset(complete(lines)) for lines in found.values()} - {frozenset()}, key=len, reverse=True):
        print_means(found, set(runs))


if __name__ == "__main__":
    main()
