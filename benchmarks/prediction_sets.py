"""Coverage and size of prediction sets when labels are wrong: FusedClassifier.predict_set against MAPIE.

    pip install mapie && python -m benchmarks prediction_sets

Without MAPIE, the sets of this library alone are measured.

Tables: scikit-learn's, and those of the papers in the folder ``FUSELEARN_DATA`` (others are left out), up to 1,000
samples, half of them for training. Of the training labels, up to 40 % are made wrong; the others are correct. For each
fraction of wrong labels, the mean over tables and splits of

- coverage: the fraction of the test samples whose set holds the correct class; 0.9 is asked for;
- size: the number of classes in a set.

The sets of `predict_set` hold at least the most likely class, so that their coverage is not below the accuracy; sets
that may be empty have the coverage asked for, and are what MAPIE's score "lac" returns. "labels as given" does not
correct for wrong labels. MAPIE trains five models, on four fifths each, of which it takes the mean (cross), or one on
70 % of the samples and calibrates on the others (split). "classes" is the mean over the classes of the coverage, and
"off" that over the tables of how far the coverage is from 0.9, for all fractions of wrong labels together; "empty" is
the fraction of sets without a class, and "time" the processor time.
"""

from __future__ import annotations

import importlib.util
import sys
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

from benchmarks.timing import pick
from fuselearn import FusedClassifier
from fuselearn.combine import PredictionSetClassifier
from fuselearn.datasets import DatasetError, corrupt_labels, load_dataset
from fuselearn.datasets.noise import scale_features

BUNDLED = {"iris": load_iris, "wine": load_wine, "breast cancer": load_breast_cancer, "digits": load_digits}
PAPERS = (
    "mushroom", "glass", "car_eval", "cmc", "tvowel", "dermatology", "balance_scale", "breastcancer", "german", "ilpd",
    "ionosphere", "knowledge", "vertebral", "sonar", "skulls", "diabetes", "flags",
)  # fmt: skip
RATES = pick((0.0, 0.1, 0.2, 0.3, 0.4), (0.0, 0.2))
MOST_SAMPLES = pick(1_000, 100)
N_SPLITS = pick(2, 1)
N_TREES = pick(50, 5)
COVERAGE = 0.9
LEAST_OF_CLASS = 6

Sets = npt.NDArray[np.bool_]
Table = tuple[npt.NDArray[np.float64], npt.NDArray[np.intp]]


def tables() -> Iterator[tuple[str, Table]]:
    """Yield names, features as numbers, and class indices; without classes that are too rare to be split."""
    for name in pick((*BUNDLED, *PAPERS), ("iris",)):
        try:
            is_bundled = name in BUNDLED
            X, y = BUNDLED[name](return_X_y=True, as_frame=True) if is_bundled else load_dataset(name, download=False)
        except DatasetError:
            continue
        drawn = np.random.default_rng(0).permutation(len(y))[:MOST_SAMPLES]
        classes, counts = np.unique(np.asarray(y)[drawn], return_counts=True)
        drawn = drawn[np.isin(np.asarray(y)[drawn], classes[counts >= LEAST_OF_CLASS])]
        yield name, (scale_features(X.iloc[drawn]), np.unique(np.asarray(y)[drawn], return_inverse=True)[1])


def fused(seed: int) -> FusedClassifier:
    return FusedClassifier(n_estimators=N_TREES, random_state=seed)


def forest(seed: int) -> RandomForestClassifier:
    return RandomForestClassifier(pick(100, 5), min_samples_leaf=3, random_state=seed)


def run_ours(make: Callable[[int], Any], X: Any, y: Any, X_test: Any, seed: int) -> dict[str, tuple[Sets, float]]:
    """Return sets of several kinds from one fit, and the time of the fit and of a kind."""
    name = "FusedClassifier" if make is fused else "PredictionSetClassifier(forest)"
    model, fitting = timed((fused(seed) if make is fused else PredictionSetClassifier(make(seed))).fit, X, y)
    kinds: dict[str, dict[str, Any]] = {
        "": {},
        ", may be empty": {"allow_empty": True},
        ", may be empty, labels as given": {"allow_empty": True, "noise_rate": 0.0},
        ", may be empty, per class": {"allow_empty": True, "per_class": True},
    }
    found = {}
    for title, settings in kinds.items():
        sets, seconds = timed(model.predict_set, X_test, COVERAGE, **({"noise_rate": "auto"} | settings))
        found[name + title] = sets, fitting + seconds
    return found


def run_mapie(
    model: BaseEstimator, X: Any, y: Any, X_test: Any, *, score: str = "lac", cross: bool = True
) -> tuple[Sets, float]:
    """Return the sets of MAPIE, and the time."""
    from mapie.classification import CrossConformalClassifier, SplitConformalClassifier

    start = time.process_time()
    settings = {"confidence_level": COVERAGE, "conformity_score": score, "random_state": 0}
    if cross:
        wrapped = CrossConformalClassifier(model, cv=5, **settings).fit_conformalize(X, y)
    else:
        X_inside, X_outside, inside, outside = train_test_split(X, y, test_size=0.3, stratify=y, random_state=0)
        wrapped = SplitConformalClassifier(model, prefit=False, **settings)
        wrapped.fit(X_inside, inside).conformalize(X_outside, outside)
    sets = wrapped.predict_set(X_test)[1][:, :, 0].astype(bool)
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


def list_methods(*, with_mapie: bool) -> list[Callable[..., dict[str, tuple[Sets, float]]]]:
    """List what is compared; each returns sets and times by title."""

    def make(title: str, model: Callable[[int], Any], **settings: Any) -> Callable[..., Any]:
        return lambda X, y, X_test, seed: {title: run_mapie(model(seed), X, y, X_test, **settings)}

    ours = [partial(run_ours, fused), partial(run_ours, forest)]
    if not with_mapie:
        return ours
    return [
        *ours,
        make("MAPIE, cross, lac (FusedClassifier)", fused),
        make("MAPIE, split, lac (FusedClassifier)", fused, cross=False),
        make("MAPIE, cross, lac (forest)", forest),
        make("MAPIE, cross, aps (forest)", forest, score="aps"),
        make("MAPIE, split, lac (forest)", forest, cross=False),
        make("MAPIE, split, aps (forest)", forest, cross=False, score="aps"),
        make("MAPIE, split, raps (forest)", forest, cross=False, score="raps"),
    ]


def main() -> None:
    with_mapie = importlib.util.find_spec("mapie") is not None
    if not with_mapie:
        print(
            "MAPIE is not installed; install it with: pip install mapie. The sets of this library alone are measured."
        )
    warnings.simplefilter("ignore")
    found = defaultdict(list)
    for name, (X, y) in tables():
        for seed in range(N_SPLITS):
            inside, outside = train_test_split(np.arange(len(y)), test_size=0.5, stratify=y, random_state=seed)
            for rate in RATES:
                noisy = corrupt_labels(y[inside], rate, random_state=seed)
                if len(np.unique(noisy)) <= y.max():
                    continue
                for method in list_methods(with_mapie=with_mapie):
                    try:
                        sets = method(X[inside], noisy, X[outside], seed=seed)
                    except ValueError as error:  # MAPIE's folds, where a class is rare
                        print(f"{name}, {rate:.0%}: {error}", file=sys.stderr)
                        continue
                    for title, (one, seconds) in sets.items():
                        found[title, rate].append(measure(one, y[outside], seconds))
        print(f"{name}: {len(y)} samples, {y.max() + 1} classes", flush=True)
    columns = [*(f"{rate:.0%} wrong: coverage | size" for rate in RATES), "classes", "off", "empty", "time", "runs"]
    print(f"\n| | {' | '.join(columns)} |\n{'|---' * (6 + 2 * len(RATES))}|")
    for title in dict.fromkeys(title for title, _ in found):
        means = [np.mean(found[title, rate], axis=0) for rate in RATES]
        cells = [f"{value:.3f} | {size:.2f}" for value, size, *_ in means]
        cells += [f"{value:.3f}" for value in np.mean(means, axis=0)[2:5]] + [f"{np.mean(means, axis=0)[5]:.2f} s"]
        cells.append(str(sum(len(found[title, rate]) for rate in RATES)))
        print(f"| {title} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
