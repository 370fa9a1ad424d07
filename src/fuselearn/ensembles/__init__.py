"""Ensembles for multi-class data and for regression, and their base estimators: trees and support vector machines."""

from typing import TYPE_CHECKING, Any

from fuselearn.ensembles.bagged_regressor import BaggedRegressor
from fuselearn.ensembles.bagging import BaggedClassifier
from fuselearn.ensembles.brownboost import BrownBoostClassifier
from fuselearn.ensembles.cart import CARTClassifier, CARTRegressor
from fuselearn.ensembles.forest import ForestClassifier
from fuselearn.ensembles.kfhe import KFHEClassifier
from fuselearn.ensembles.logitboost import LogitBoostClassifier
from fuselearn.ensembles.madaboost import MadaBoostClassifier
from fuselearn.ensembles.rotation_forest import RotationForestClassifier
from fuselearn.ensembles.samme import SAMMEClassifier

if TYPE_CHECKING:
    from fuselearn.ensembles.svm import SVMClassifier

__all__ = [
    "BaggedClassifier",
    "BaggedRegressor",
    "BrownBoostClassifier",
    "CARTClassifier",
    "CARTRegressor",
    "ForestClassifier",
    "KFHEClassifier",
    "LogitBoostClassifier",
    "MadaBoostClassifier",
    "RotationForestClassifier",
    "SAMMEClassifier",
    "SVMClassifier",
]


def __getattr__(name: str) -> Any:
    """Import support vector machines on first use, so that ensembles of trees load faster."""
    if name == "SVMClassifier":
        from fuselearn.ensembles.svm import SVMClassifier

        return SVMClassifier
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
