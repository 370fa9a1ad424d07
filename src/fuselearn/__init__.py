"""Ensembles that fuse classifiers with a Kalman filter, compatible with scikit-learn."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fuselearn.ensembles import BaggedClassifier, BaggedRegressor, CARTClassifier, KFHEClassifier, SAMMEClassifier
    from fuselearn.io import load, save, to_onnx

__version__ = "0.1.0"

__all__ = [
    "BaggedClassifier",
    "BaggedRegressor",
    "CARTClassifier",
    "KFHEClassifier",
    "SAMMEClassifier",
    "__version__",
    "load",
    "save",
    "to_onnx",
]


def __getattr__(name: str) -> Any:
    """Import the estimators when they are asked for: the command line's help should not wait for numba."""
    if name in ("load", "save", "to_onnx"):
        from fuselearn import io

        return getattr(io, name)
    if name in __all__:
        from fuselearn import ensembles

        return getattr(ensembles, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
