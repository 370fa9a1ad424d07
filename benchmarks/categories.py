"""Measure what category features cost or bring: corrected gains against rpart's rule, and LightGBM where installed.

    python -m benchmarks.categories [DATA]

Three tables of macro F1 by cross-validation. *Noise*: how much a random category feature changes the score of a model.
*Effects*: the score with a category feature whose every category has an effect of its own. *Papers*: the score on the
datasets with categories in DATA, the folder of ``fuselearn.datasets``, if it is given.
"""

from __future__ import annotations

import importlib.util
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.datasets import make_classification
from sklearn.metrics import f1_score
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import TargetEncoder

from benchmarks.timing import pick
from fuselearn import BaggedClassifier, CARTClassifier, KFHEClassifier, SAMMEClassifier
from fuselearn.datasets import load_dataset
from fuselearn.multilabel import PCTForestClassifier

RULES = ("rpart", "corrected")
CARDINALITIES = pick((30, 100, 300, 1_000, "unique"), (5, "unique"))
SIZES = pick({300: 8, 1_000: 4, 5_000: 1}, {60: 1})
EFFECT_SIZES, N_EFFECTS = pick((1_000, 3_000), (100,)), pick(4, 1)
FOLDS = pick(3, 2)
N_MEMBERS = pick(100, 2)
PAPERS = ("car_eval", "cmc", "german", "flags")

Maker = Callable[[str, int], Any]


def _unpruned(rule: str) -> CARTClassifier:
    return CARTClassifier(complexity=None, category_rule=rule)


def _pruned(rule: str) -> CARTClassifier:
    return CARTClassifier(category_rule=rule)


MODELS: dict[str, Maker] = {
    "KFHE": lambda rule, seed: KFHEClassifier(_unpruned(rule), N_MEMBERS, random_state=seed),
    "Bagging": lambda rule, seed: BaggedClassifier(_pruned(rule), N_MEMBERS, random_state=seed),
    "SAMME": lambda rule, seed: SAMMEClassifier(_pruned(rule), N_MEMBERS, random_state=seed),
    "CART": lambda rule, _: _pruned(rule),
    "PCT": lambda rule, seed: PCTForestClassifier(N_MEMBERS, category_rule=rule, random_state=seed),
}


def _encoded(_: str, seed: int) -> Any:
    encode = (TargetEncoder(random_state=seed), make_column_selector(dtype_include="category"))
    return make_pipeline(
        make_column_transformer(encode, remainder="passthrough"),
        KFHEClassifier(_unpruned("rpart"), N_MEMBERS, random_state=seed),
    )


def _lightgbm(_: str, seed: int) -> Any:
    from lightgbm import LGBMClassifier

    return LGBMClassifier(n_jobs=1, verbose=-1, random_state=seed)


def score(make: Callable[[], Any], X: pd.DataFrame, y: np.ndarray, seed: int, *, folds: int = FOLDS) -> float:
    """Return the macro F1 of a model over stratified folds; a PCT forest learns a label for each class."""
    scores = []
    for train, test in StratifiedKFold(folds, shuffle=True, random_state=seed).split(X, y):
        model = make()
        if isinstance(model, PCTForestClassifier):
            labels = np.eye(y.max() + 1, dtype=int)[y]
            predicted = model.fit(X.iloc[train], labels[train]).predict_proba(X.iloc[test]).argmax(axis=1)
        else:
            predicted = model.fit(X.iloc[train], y[train]).predict(X.iloc[test])
        scores.append(f1_score(y[test], predicted, average="macro"))
    return float(np.mean(scores))


def make_numbers(n: int, n_classes: int, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Make a table of numbers, a tenth of whose classes are wrong."""
    X, y = make_classification(
        n, 10, n_informative=5, n_classes=n_classes, n_clusters_per_class=1, flip_y=0.1, random_state=seed
    )
    return pd.DataFrame(X).add_prefix("x"), y


def random_categories(n: int, cardinality: int | str, seed: int) -> pd.Categorical:
    """Draw a category feature that has nothing to do with anything."""
    rng = np.random.default_rng(1_000 + seed)
    values = rng.permutation(n) if cardinality == "unique" else rng.integers(int(cardinality), size=n)
    return pd.Categorical(values.astype(str))


def make_effects(n: int, n_classes: int, n_categories: int, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Make six features of numbers and one of categories, each with a random effect on every class."""
    rng = np.random.default_rng(seed)
    X, category = rng.normal(size=(n, 6)), rng.integers(n_categories, size=n)
    effects = 1.5 * rng.normal(size=(n_categories, n_classes))[category]
    utilities = X @ (0.8 * rng.normal(size=(6, n_classes))) + effects + rng.gumbel(size=(n, n_classes))
    frame = pd.DataFrame(X).add_prefix("x").assign(category=pd.Categorical(category.astype(str)))
    return frame, utilities.argmax(axis=1)


def noise_costs() -> Iterator[str]:
    for n, repeats in SIZES.items():
        for n_classes in (2, 5):
            for name, make in MODELS.items():
                without = np.empty(repeats)
                changes = np.full((len(RULES), len(CARDINALITIES), repeats), np.nan)
                for seed in range(repeats):
                    X, y = make_numbers(n, n_classes, seed)
                    without[seed] = score(lambda: make("rpart", seed), X, y, seed)  # noqa: B023
                    for r, rule in enumerate(RULES):
                        for c, cardinality in enumerate(CARDINALITIES):
                            if cardinality == "unique" or int(cardinality) <= n:
                                table = X.assign(category=random_categories(n, cardinality, seed))
                                reached = score(lambda: make(rule, seed), table, y, seed)  # noqa: B023
                                changes[r, c, seed] = reached - without[seed]
                for r, rule in enumerate(RULES):
                    listed = " ".join("      -" if np.isnan(v) else f"{v:+.4f}" for v in changes[r].mean(axis=1))
                    yield f"{n:>6} {n_classes:>7}  {name:<8} {rule:<10} {without.mean():.4f}  {listed}"


def effects() -> Iterator[str]:
    models: dict[str, Maker] = {f"KFHE {rule}": lambda _, seed, rule=rule: MODELS["KFHE"](rule, seed) for rule in RULES}
    models["KFHE encoded"] = _encoded
    if importlib.util.find_spec("lightgbm"):
        models["LightGBM"] = _lightgbm
    yield f"{'samples':>8} {'classes':>7} {'categories':>10}  " + "  ".join(f"{name:>14}" for name in models)
    for n in EFFECT_SIZES:
        for n_classes in (2, 5):
            for n_categories in (10, 100):
                reached = []
                for make in models.values():
                    tables = [(seed, *make_effects(n, n_classes, n_categories, seed)) for seed in range(N_EFFECTS)]
                    reached.append(np.mean([score(lambda: make("", s), X, y, s) for s, X, y in tables]))  # noqa: B023
                yield f"{n:>8} {n_classes:>7} {n_categories:>10}  " + "  ".join(f"{v:>14.4f}" for v in reached)


def papers() -> Iterator[str]:
    for dataset in PAPERS:
        X, labels = load_dataset(dataset)
        y = np.unique(np.asarray(labels, dtype=str), return_inverse=True)[1]
        for name in ("KFHE", "Bagging", "SAMME", "CART"):
            reached = np.array(
                [
                    [score(lambda: MODELS[name](rule, seed), X, y, seed, folds=5) for seed in range(10)]  # noqa: B023
                    for rule in RULES
                ]
            )
            change = reached[1] - reached[0]
            spread = change.std(ddof=1) / np.sqrt(len(change))
            means = "  ".join(f"{rule} {mean:.4f}" for rule, mean in zip(RULES, reached.mean(axis=1), strict=True))
            yield f"{dataset:<10} {name:<8} {means}  change {change.mean():+.4f} ± {spread:.4f}"


def main(data: str | None = None) -> None:
    warnings.filterwarnings("ignore", message="The least populated class")
    print("Change of macro F1 by a random category feature of so many values", flush=True)
    print(f"samples classes  model    rule       without  {'  '.join(f'{c:>6}' for c in CARDINALITIES)}")
    for line in noise_costs():
        print(line, flush=True)
    print("\nMacro F1 with a category feature that matters", flush=True)
    for line in effects():
        print(line, flush=True)
    if data:
        os.environ["FUSELEARN_DATA"] = data
        print("\nMacro F1 on the papers' datasets with categories, 10 times 5 folds", flush=True)
        for line in papers():
            print(line, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
