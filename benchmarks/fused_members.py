"""What the fused classifier loses or gains by its second fit and by each choice of members.

Tables of scikit-learn, of the datasets' folder and random ones, at most 1,000 samples; half of each is for training,
with 0, 20 or 40 % wrong labels. Printed for each setting and level: the mean macro F1 on the other half, the Brier
score, the error of ``noise_rate_``, and whether ``noise_interval_`` has the fraction of wrong labels; and the
differences from the first setting with their standard errors.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn import datasets
from sklearn.metrics import f1_score
from sklearn.model_selection import train_test_split

from benchmarks.tables import load_classes
from benchmarks.timing import pick
from fuselearn import CARTClassifier, FusedClassifier, KFHEClassifier, SAMMEClassifier
from fuselearn.combine.fused import default_members
from fuselearn.combine.member_training import Measured
from fuselearn.datasets import corrupt_labels
from fuselearn.fusion.members import squared_error

LEVELS = pick((0.0, 0.2, 0.4), (0.2,))
N_SEEDS = pick(2, 1)
MOST_SAMPLES = pick(1_000, 120)
TABLES = ("balance_scale", "breastcancer", "cmc", "glass", "ilpd", "sonar", "tvowel", "vertebral")

Members = list[tuple[str, Any]]


def list_tables() -> Iterator[tuple[str, Any, Any]]:
    """Yield the name, the features and the class indices of each table."""
    for name, load in (("iris", datasets.load_iris), ("wine", datasets.load_wine), ("digits", datasets.load_digits)):
        yield name, *load(return_X_y=True)
    for name in pick(TABLES, TABLES[:1]):
        yield name, *load_classes(name)
    for number, (n_informative, n_classes, class_sep) in enumerate(((5, 2, 1.0), (10, 3, 1.0), (10, 5, 0.7))):
        settings = {"n_informative": n_informative, "n_classes": n_classes, "class_sep": class_sep}
        yield f"random {number}", *datasets.make_classification(MOST_SAMPLES, random_state=number, **settings)


def list_members(seed: int) -> Members:
    """Return the default members."""
    return [(one.name, one.estimator) for one in default_members(pick(50, 5), seed)]


def list_more_members(seed: int) -> Members:
    """Return the default members, boosting, and a KFHE of trees that look at few features."""
    size: dict[str, Any] = {"n_estimators": pick(50, 5), "random_state": seed}
    deep = CARTClassifier(min_samples_split=6, min_samples_leaf=3, max_depth=None, complexity=None, max_features="sqrt")
    more = [("kfhe_sqrt", KFHEClassifier(deep, **size)), ("samme", SAMMEClassifier(**size))]
    return [*list_members(seed), *more]


def list_fewer_members(seed: int) -> Members:
    """Return the default members without those with leaves of eight samples."""
    return [member for member in list_members(seed) if not member[0].endswith("leaf8")]


class FittedOnce(FusedClassifier):
    """A fused classifier without the second fit."""

    def _choose_again(self, chosen: list[Measured]) -> list[Measured]:
        return []


SETTINGS = {
    "as it is": (FusedClassifier, list_members),
    "fitted once": (FittedOnce, list_members),
    "without leaves of eight": (FusedClassifier, list_fewer_members),
    "two more members": (FusedClassifier, list_more_members),
}


def measure(X: Any, y: Any, level: float, seed: int) -> list[tuple[float, ...]]:
    """Return macro F1, Brier score, the error of the estimated noise rate, and whether its interval holds."""
    samples = np.random.default_rng(seed).permutation(len(y))[:MOST_SAMPLES]
    inside, outside = train_test_split(samples, test_size=0.5, random_state=seed, stratify=y[samples])
    X_train, X_test = (X[part] if isinstance(X, np.ndarray) else X.iloc[part] for part in (inside, outside))
    noisy = corrupt_labels(y[inside], level, random_state=seed)
    found = []
    for kind, members in SETTINGS.values():
        model = kind(members(seed), random_state=seed).fit(X_train, noisy)
        probabilities = model.predict_proba(X_test)
        score = f1_score(y[outside], model.classes_[probabilities.argmax(axis=1)], average="macro")
        error = squared_error(probabilities, np.searchsorted(model.classes_, y[outside]), None)
        rate, (low, high) = float(np.mean(noisy != y[inside])), model.noise_interval_
        found.append((score, error, abs(model.noise_rate_ - rate), float(low <= rate <= high)))
    return found


def main() -> None:
    titles = ("macro F1", "Brier score", "error of noise_rate_", "in noise_interval_")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # classes with fewer samples than folds
        tables = list(list_tables())
        for level in LEVELS:
            runs = itertools.product(tables, range(N_SEEDS))
            found = np.array([measure(X, y, level, seed) for (_, X, y), seed in runs])
            print(f"{level:.0%} wrong, {len(found)} splits".ljust(34), "  ".join(f"{title:>25}" for title in titles))
            for number, name in enumerate(SETTINGS):
                difference = found[:, number] - found[:, 0]
                error = difference.std(axis=0) / np.sqrt(len(found))
                cells = zip(found[:, number].mean(axis=0), difference.mean(axis=0), error, strict=True)
                print(f"{name:<34}", "  ".join(f"{mean:.4f} ({d:+.4f} ± {e:.4f})" for mean, d, e in cells), flush=True)


if __name__ == "__main__":
    main()
