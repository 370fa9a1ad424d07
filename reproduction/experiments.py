"""The experiments: which methods are compared on which data."""

from __future__ import annotations

import dataclasses
import shlex
from collections.abc import Mapping
from typing import Any, NamedTuple

from fuselearn.lab import Suite
from reproduction.methods import KFHE, LABELS, ROBUST, Method

__all__ = ["EXPERIMENTS", "Experiment", "command_line"]


class Experiment(NamedTuple):
    """A suite, the methods to choose from, and what it is for."""

    suite: Suite
    methods: Mapping[str, Method]
    description: str


KFHE_DATASETS = (
    "mushroom", "iris", "glass", "car_eval", "cmc", "tvowel", "dermatology", "balance_scale", "breastcancer", "german",
    "wine", "ilpd", "ionosphere", "knowledge", "vertebral", "sonar", "skulls", "diabetes", "flags",
)  # fmt: skip
"""All but one of the KFHE paper's twenty: physio was not found."""
HOMER_DATASETS = (
    "flags_ml", "yeast", "scene", "emotions", "medical", "enron", "birds", "genbase", "cal500", "llog",
)  # fmt: skip
STUDY_DATASETS = tuple("birds_full" if name == "birds" else name for name in HOMER_DATASETS)
"""The KFHE-HOMER paper's birds are a part of the study's."""
PACKAGED_DATASETS = (
    "australian", "bands", "breast_recurrence", "bupa", "chess", "housevotes", "letter", "magic", "mammographic",
    "marketing", "movement_libras", "phoneme", "pima", "saheart", "spambase", "tae", "texture", "tic_tac_toe",
    "titanic", "appendicitis", "automobile", "ecoli", "fertility", "flare", "haberman", "hepatitis", "hypothyroid",
    "kc1", "lymphography", "newthyroid", "page_blocks", "yeast_sites", "zoo",
)  # fmt: skip

_KFHE = Suite(
    "kfhe",
    KFHE_DATASETS,
    ("KFHE", "KFHE (pruned)", "AdaBoost", "Bagging", "CART"),
    (0.0, 0.05, 0.10, 0.15, 0.20),
    noise_draw="once",
)
_HOMER = Suite(
    "kfhe-homer",
    HOMER_DATASETS,
    (
        "KFHE-HOMER", "E-HOMER", "E-HOMER (mean)", "ML-KFHE-CC", "ECC", "CC", "HOMER-B", "HOMER-K", "RF-PCT",
        "AdaBoost.MH", "RF", "RF (cardinality)", "RF (label thresholds)", "BR-RF", "BR-RF (cardinality)",
        "BR-RF (label thresholds)",
    ),
    repeats=2,
    folds=5,
    task="multilabel",
    zero_division=1,
)  # fmt: skip

EXPERIMENTS: Mapping[str, Experiment] = {
    "kfhe": Experiment(_KFHE, KFHE, "the KFHE paper, with unpruned and with pruned trees"),
    "kfhe-settings": Experiment(
        dataclasses.replace(
            _KFHE,
            name="kfhe-settings",
            methods=("KFHE (2018)", "KFHE-l", "KFHE (printed)", "KFHE pruned (printed)", "KFHE-l (printed)"),
            repeats=3,
        ),
        KFHE,
        "other settings of KFHE: its authors' program of 2018, the linear variant, and the algorithm as printed",
    ),
    "kfhe-homer": Experiment(
        _HOMER, LABELS, "the KFHE-HOMER paper, with the forests that a practitioner would use"
    ),
    "kfhe-homer-authors": Experiment(
        dataclasses.replace(
            _HOMER,
            name="kfhe-homer-authors",
            datasets=("flags_ml", "birds", "emotions"),
            methods=("KFHE-HOMER (authors)", "KFHE-HOMER (authors, scaled)", "KFHE-HOMER (printed)"),
        ),
        LABELS,
        "KFHE-HOMER with the constants of its authors' program, and as it is printed",
    ),
    "robust": Experiment(
        Suite(
            "robust",
            (*KFHE_DATASETS, "breast_cancer", "digits", *PACKAGED_DATASETS),
            (
                "Fused", "Greedy selection", "KFHE", "Bagging", "RandomForest", "RandomForest (leaf 3)", "ExtraTrees",
                "ExtraTrees (leaf 3)", "HistGradientBoosting (stopped)", "LightGBM (stopped)", "XGBoost (stopped)",
                "CatBoost (stopped)", "LogisticRegression", "CleanLearning (RandomForest)", "CleanLearning (LightGBM)",
            ),
            (0.0, 0.05, 0.10, 0.20, 0.30, 0.40),
            repeats=3,
            folds=5,
            max_samples=1000,
        ),
        ROBUST,
        "which classifier to use when labels may be wrong, on tables of the papers, of scikit-learn and of packages",
    ),
    "robust-labels": Experiment(
        Suite(
            "robust-labels",
            HOMER_DATASETS,
            (
                "Fused (labels)", "KFHE-HOMER", "E-HOMER (mean)", "ECC", "RF-PCT", "RF-PCT (label thresholds)",
                "AdaBoost.MH", "MLkNN", "RF", "RF (cardinality)", "RF (label thresholds)",
            ),
            (0.0, 0.05, 0.10, 0.20, 0.30),
            repeats=2,
            folds=5,
            max_samples=1000,
            task="multilabel",
            zero_division=1,
        ),
        LABELS,
        "which multi-label classifier to use when labels may be wrong or forgotten",
    ),
    "multilabel-study": Experiment(
        Suite(
            "multilabel-study",
            STUDY_DATASETS,
            (
                "Fused (labels)", "Fused (micro F1)", "Fused (example F1)", "Fused (Hamming loss)",
                "Fused (subset accuracy)", "Fused (ranking)", "RF-PCT", "RF-PCT (cardinality)",
                "RF-PCT (label thresholds)", "HOMER-B", "MLkNN", "CC", "ECC (trees)", "EBR (trees)",
            ),
            repeats=2,
            folds=3,
            task="multilabel",
        ),
        LABELS,
        "the library's multi-label methods beside the published scores of 28 others",
    ),
}  # fmt: skip


def command_line(suite: Mapping[str, Any], experiment: str) -> str:
    """Return the command that runs an experiment, with the options that differ from its suite."""
    usual = EXPERIMENTS[experiment].suite.definition()
    words = ["python", "-m", "reproduction", experiment]
    for field in ("noise_kind", "noise", "repeats", "folds", "test_folds", "max_samples", "methods", "datasets"):
        value = suite.get(field, usual.get(field))
        if value != usual.get(field):
            text = ",".join(map(str, value)) if isinstance(value, list) else str(value)
            words += [f"--{field.replace('_', '-')}", text]
    return f"FUSELEARN_DATA=DATA {shlex.join(words)}"
