"""For each parameter of a public estimator what it refuses, by its name."""

from typing import Any

import numpy as np
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.preprocessing import StandardScaler

from fuselearn import CARTClassifier
from tests.contract.registry import Entry

NOT_A_COUNT = [0, -3, 2.0, "10", None, True]
NOT_A_CHOICE = ["nonsense", 3]
NOT_A_FLAG = ["no", 3]
NOT_POSITIVE = [0, -1.0, np.nan, "much"]
NOT_AN_AMOUNT = [0, 0.0, 1.5, -1, "half a"]

BAD: dict[str, list[Any]] = {
    "C": NOT_POSITIVE,
    "action": NOT_A_CHOICE,
    "any_label": NOT_A_FLAG,
    "auditor": ["tree", LinearRegression()],
    "bag_fraction": [0.0, 1.5],
    "bootstrap": NOT_A_FLAG,
    "callback": [3],
    "category_rule": NOT_A_CHOICE,
    "checkpoint": [3],
    "class_weight": ["even", 3, [1, 2, 3]],
    "clustering": NOT_A_CHOICE,
    "clusterings": [("nonsense",), ("random", "ward"), (), "random", 3],
    "code": ["bch", np.full((3, 2), 7)],
    "complexity": ["high", np.nan],
    "conditional": NOT_A_FLAG,
    "constraint": NOT_A_CHOICE,
    "cv": [1, "many"],
    "decision": ["nonsense", 1.5],
    "decoding": NOT_A_CHOICE,
    "directory": ["missing", 3],
    "estimator": ["forest", LinearRegression(), StandardScaler(), CARTClassifier, 3],
    "estimators": [[], "trees", [("a", 3)], [("a", StandardScaler())]],
    "features_per_subset": NOT_A_COUNT,
    "final_estimator": ["tree", LogisticRegression, 3],
    "gamma": [0, -1.0, np.nan, "much"],
    "inference": NOT_A_CHOICE,
    "k": [0, "few"],
    "kernel": NOT_A_CHOICE,
    "l2": [-1.0, "much"],
    "labelset_size": [0, 2.5, "two"],
    "learning_rate": NOT_POSITIVE,
    "loss": NOT_A_CHOICE,
    "max_bins": [1, 10**6, 2.5],
    "max_depth": [0, 1.5, "deep"],
    "max_features": [0, 1.5, "half", -1],
    "max_samples": [0, 0.0, "all"],
    "method": NOT_A_CHOICE,
    "metric": NOT_A_CHOICE,
    "min_count": [0, 2.5],
    "min_samples_leaf": [0, 2.5],
    "min_samples_split": [1, 0.1],
    "n_bags": NOT_A_COUNT,
    "n_bits": [0, 2.5, "many", True],
    "n_clusters": [0, 2.5, "many"],
    "n_components": [0, 2.5, "many"],
    "n_estimators": NOT_A_COUNT,
    "n_initial": NOT_A_COUNT,
    "n_iter_no_change": [0, 2.5],
    "n_jobs": [0, "many"],
    "n_labelsets": [0, 2.5],
    "n_neighbors": NOT_A_COUNT,
    "n_paths": NOT_A_COUNT,
    "n_rounds": NOT_A_COUNT,
    "n_subsets": [-1, 2.5, None],
    "oob_score": ["good", 3],
    "optimize": NOT_A_CHOICE,
    "order": ["sorted", [0, 0]],
    "overlapping": NOT_A_FLAG,
    "positive_class": ["maybe"],
    "prefit": NOT_A_FLAG,
    "impute": NOT_A_FLAG,
    "probability": NOT_A_CHOICE,
    "random_state": ["seed", -1, 1.5],
    "ratio": [0, -1.0, "much"],
    "reset": NOT_A_CHOICE,
    "rule": NOT_A_CHOICE,
    "sampling": NOT_A_CHOICE,
    "scaling": NOT_A_CHOICE,
    "scoring": ["sharpness", 3],
    "shrinkage": [-1, "much"],
    "smoothing": [-1.0, "much"],
    "splitter": NOT_A_CHOICE,
    "subsample": [0, 1.5],
    "target_error": [0.0, 1.0, -0.1, "some"],
    "tolerance": [0, "some"],
    "trim": [-0.1, 0.5],
    "validation_fraction": [0.0, 0.7, 2],
    "variant": NOT_A_CHOICE,
    "varied": [3, {"nonsense": [1]}],
    "verbose": [-1, "loud"],
    "vote": NOT_A_CHOICE,
    "warm_start": NOT_A_FLAG,
    "weighting": NOT_A_CHOICE,
    "weights": ["nonsense", [1]],
}

# Where a class refuses other values.
OTHERS: dict[tuple[str, str], list[Any]] = {
    ("BaggedRegressor", "estimator"): ["tree", LogisticRegression(), 3],
    ("HOMERClassifier", "n_clusters"): [1, 2.5, "many"],
    ("SVMClassifier", "gamma"): [-1.0, np.nan, "much"],
}

# What the settings of the registry make no use of.
UNUSED = {
    ("AveragingRegressor", "cv"),
    ("EnsembleSelection", "random_state"),
    ("FixedRuleClassifier", "cv"),
    ("FixedRuleClassifier", "k"),
    ("FixedRuleClassifier", "positive_class"),
    ("FusedClassifier", "n_estimators"),
    ("FusedMultilabelClassifier", "n_estimators"),
}


def values_for(entry: Entry, parameter: str) -> list[Any]:
    """Return the values that an estimator refuses."""
    key = entry.kind.__name__, parameter
    if key in UNUSED:
        return []
    return OTHERS[key] if key in OTHERS else BAD[parameter]


def words_for(parameter: str) -> tuple[str, ...]:
    """Return of what a message must say one: scikit-learn's own have other words."""
    return {"random_state": ("seed",), "cv": ("cv", "n_splits")}.get(parameter, (parameter.lower(),))
