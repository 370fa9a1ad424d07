"""Ensembles that fuse classifiers with a Kalman filter, compatible with scikit-learn."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fuselearn.combine import (
        EnsembleSelection,
        FixedRuleClassifier,
        FusedClassifier,
        LinearStackingClassifier,
        LinearStackingRegressor,
    )
    from fuselearn.diagnosis import CleanedClassifier
    from fuselearn.ensembles import (
        BaggedClassifier,
        BaggedRegressor,
        CARTClassifier,
        ForestClassifier,
        KFHEClassifier,
        SAMMEClassifier,
        SVMClassifier,
    )
    from fuselearn.io import load, save, to_onnx
    from fuselearn.multilabel import (
        FusedMultilabelClassifier,
        HOMERClassifier,
        KFHEHOMERClassifier,
        KFHEMultilabelClassifier,
    )
    from fuselearn.versions import show_versions

__version__ = "0.2.0"

__all__ = [
    "BaggedClassifier",
    "BaggedRegressor",
    "CARTClassifier",
    "CleanedClassifier",
    "EnsembleSelection",
    "FixedRuleClassifier",
    "ForestClassifier",
    "FusedClassifier",
    "FusedMultilabelClassifier",
    "HOMERClassifier",
    "KFHEClassifier",
    "KFHEHOMERClassifier",
    "KFHEMultilabelClassifier",
    "LinearStackingClassifier",
    "LinearStackingRegressor",
    "SAMMEClassifier",
    "SVMClassifier",
    "__version__",
    "load",
    "save",
    "show_versions",
    "to_onnx",
]

_PACKAGES: dict[str, set[str]] = {
    "combine": {
        "EnsembleSelection", "FixedRuleClassifier", "FusedClassifier",
        "LinearStackingClassifier", "LinearStackingRegressor",
    },
    "datasets": set(),
    "diagnosis": {"CleanedClassifier"},
    "ensembles": {
        "BaggedClassifier", "BaggedRegressor", "CARTClassifier", "ForestClassifier", "KFHEClassifier",
        "SAMMEClassifier", "SVMClassifier",
    },
    "fusion": set(),
    "io": {"load", "save", "to_onnx"},
    "lab": set(),
    "multilabel": {
        "FusedMultilabelClassifier", "HOMERClassifier", "KFHEHOMERClassifier",
        "KFHEMultilabelClassifier",
    },
    "scale": set(),
    "versions": {"show_versions"},
}  # fmt: skip


def __getattr__(name: str) -> Any:
    """Import names on first access, so that the command line prints its help without importing scikit-learn."""
    if name in _PACKAGES:
        return import_module(f"{__name__}.{name}")
    for package, names in _PACKAGES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{package}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, *_PACKAGES})
